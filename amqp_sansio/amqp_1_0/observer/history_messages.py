"""What transfers and dispositions mean to messages, with and without transactions (1.0 part 2 section 2.6.12,
part 3 section 3.4, part 4 section 4.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..._core.outcomes import MessageRecord
from ...errors import CodecError
from ..model.link_state import FREE
from .history_state import (
    CLIENT,
    SERVER,
    Delivery,
    LinkHistory,
    SessionHistory,
    Transaction,
    UnderWay,
    outcome_name,
    side_of,
)

if TYPE_CHECKING:
    from ..._core.observation import Observed
    OneZeroHistory = Any

T = TypeVar("T")

Messages = Sequence[MessageRecord]
_NONE: Final[Messages] = ()

_SERIALS: Final = 1 << 32
_SMALL: Final = 1024
"""A message of so many octets is held whole."""

_BODY_SECTIONS: Final = ("data", "amqp-sequence", "amqp-value")


def transfer(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    """A frame of a delivery; the last one makes it a message."""
    if event.unit not in ("content", "part", "partial"):
        return _NONE
    side = side_of(event)
    session = history.session(side, event.channel)
    link = session.handles[side].get(frame.handle)
    if link is None:
        link = history.unseen_link(session, side, frame.handle)
    elif link.sender != side:
        # Receivers can't send; what they send belongs to no link that there is.
        link = LinkHistory(None, side)
    if link.under_way is not None and frame.delivery_id not in (None, link.under_way.number):
        link.drop()
    way = link.under_way or UnderWay()
    way.take(frame)
    if event.unit == "part":
        link.under_way = way
        if way.number is not None and link.places[side] is not None:
            session.under_way[side][way.number] = way
        return _NONE
    link.drop()
    known = link.open.get(way.tag) if way.resume and way.tag is not None else None
    if event.unit == "partial":
        if known is None or not frame.aborted:
            return _NONE
        known.forget()
        return _end(history, known, known.told or "settled", event)
    if known is not None:
        done = _resumed(history, event, session, known, way)
    elif link.coordinator:
        return _request(history, event, session, link, way)
    else:
        known, done = _message(history, event, session, link, way)
    for each, (word, state, settled) in way.words.items():
        if known is not None and known.session is session:
            done = [*done, *_update(history, word, known, state, settled, each)]
    return done


def _message(
    history: OneZeroHistory, event: Observed, session: SessionHistory, link: LinkHistory, way: UnderWay
) -> tuple[Delivery | None, Messages]:
    message = event.properties
    if way.resume and not event.body_size and (message is None or not message.encode()):
        # It has no octets: it says what became of a delivery that another connection has carried.
        return None, _NONE
    record = _record(history, event, link, way)
    delivery = Delivery(record, event.seq, link, way.tag)
    transaction = _of_state(history, way.state)
    if transaction is not None:
        transaction.members[delivery.seq] = delivery
        delivery.transaction = transaction
        delivery.acquired = delivery.sender != transaction.controller
    else:
        delivery.told = outcome_name(way.state)
        delivery.final = delivery.told is not None
    if way.settled:
        if transaction is None:
            record.settle(delivery.told or "settled")
            return None, (record,)
        delivery.gone = True
        delivery.promised = "accepted"
        return None, history.keep(delivery)
    if way.number is None:
        # Nothing can refer to it by number; a resumed transfer can, by tag.
        link.open[delivery.key] = delivery
        return None, history.keep(delivery)
    return delivery, _put(history, delivery, session, way.number)


def _put(
    history: OneZeroHistory, delivery: Delivery, session: SessionHistory, number: int
) -> list[MessageRecord]:
    """Book a delivery; give those that it drives out."""
    before = delivery.put(session, number)
    done: list[MessageRecord] = [] if before is None else history.give_up(before)
    numbered = session.deliveries[delivery.sender]
    if len(numbered) > history.limits.unsettled:
        oldest = numbered[next(iter(numbered))]
        oldest.forget()
        done += history.give_up(oldest)
    return done


def _record(
    history: OneZeroHistory, event: Observed, link: LinkHistory, way: UnderWay
) -> MessageRecord:
    kind = "publish" if link.sender == CLIENT else "deliver"
    known, anonymous, tag, name = link.address, link.anonymous, way.number, link.name

    def fill(record: MessageRecord, event: Observed, content: Any) -> None:
        subject = to = redelivered = None
        message = event.properties
        if message is not None:
            try:
                header = message.header
                redelivered = header is not None and bool(header.delivery_count)
                properties = message.properties
                if properties is not None:
                    subject, to = properties.subject, properties.to
            except CodecError:
                # What can't be read is no part of the record; the observer reports it.
                pass
        address = known
        if address is None and anonymous and isinstance(to, str):
            address = to
        record.fill(
            kind, address=address, routing_key=subject, tag=tag, redelivered=redelivered, link=name
        )
        record.properties = _without_body(message)

    return MessageRecord(event, history.version, fill)


def _without_body(message: Any) -> Any:
    """A message's sections up to the body, to be held in its place; None where they can't be told apart."""
    if message is None:
        return None
    payload = message.encode()
    if len(payload) <= _SMALL:
        return message
    try:
        body = [start for name, start, _ in message.sections if name in _BODY_SECTIONS]
    except CodecError:
        return None
    return message.from_wire(payload[: body[0]]) if body else message


def _resumed(
    history: OneZeroHistory,
    event: Observed,
    session: SessionHistory,
    delivery: Delivery,
    way: UnderWay,
) -> Messages:
    """A suspended delivery goes on under another delivery-id (1.0 part 2 section 2.6.13)."""
    history.kept.pop(delivery.seq, None)
    delivery.unnumber()
    done = [] if way.number is None else _put(history, delivery, session, way.number)
    return [*done, *_update(history, event, delivery, way.state, way.settled, delivery.sender)]


def disposition(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    """One side's word on deliveries of the session (1.0 part 2 section 2.7.6)."""
    side = side_of(event)
    session = history.session(side, event.channel)
    sender = 1 - side if frame.role else side
    deliveries = session.deliveries[sender]
    first = frame.first
    span = 0 if frame.last is None else (frame.last - first) % _SERIALS
    steps = min(span + 1, len(deliveries) + len(session.under_way[sender]))
    # As in the engine's rules; the observer has a row for what is too much.
    if steps > FREE and session.allowance[sender] < (0 if frame.settled else steps):
        return _NONE
    found = _within(deliveries, first, span)
    steps -= len(found) if frame.settled else 0
    session.allowance[sender] -= steps if steps > FREE else 0
    for way in _within(session.under_way[sender], first, span):
        way.words[side] = (event, frame.state, frame.settled)
    if not span:
        one = deliveries.get(first)
        return (
            _NONE if one is None else _update(history, event, one, frame.state, frame.settled, side)
        )
    done: list[MessageRecord] = []
    for delivery in found:
        done += _update(history, event, delivery, frame.state, frame.settled, side)
    return done


def _within(numbered: dict[int, T], first: int, span: int) -> list[T]:
    """What has a delivery-id from `first` to `span` more, which are serial numbers (RFC 1982)."""
    if not numbered:
        return []
    if span < len(numbered):
        numbers = [(first + step) % _SERIALS for step in range(span + 1)]
        return [numbered[number] for number in numbers if number in numbered]
    return [each for number, each in numbered.items() if (number - first) % _SERIALS <= span]


def _update(
    history: OneZeroHistory,
    event: Observed,
    delivery: Delivery,
    state: Any,
    settled: bool,
    side: int,
) -> Messages:
    """`side` says that a delivery is in a state, and whether it has settled it."""
    if delivery.record is None:
        return _answer(history, event, delivery, state, settled, side)
    transaction = _of_state(history, state)
    if transaction is not None:
        if delivery.transaction is not transaction:
            _leave(delivery)
            transaction.members[delivery.seq] = delivery
            delivery.transaction = transaction
        state = state.outcome
    name = outcome_name(state)
    own = side == delivery.sender
    if name is not None and (own or not delivery.final):
        if delivery.transaction is not None:
            delivery.promised = name
        else:
            delivery.told, delivery.final = name, own
        delivery.error = _error_text(state)
    if not settled:
        return _NONE
    delivery.forget()
    if delivery.transaction is not None:
        delivery.gone = True
        kept: Messages = history.keep(delivery)
        return kept
    return _end(
        history, delivery, delivery.told or delivery.link.default_outcome or "settled", event
    )


def _end(
    history: OneZeroHistory, delivery: Delivery, outcome: str, event: Observed
) -> list[MessageRecord]:
    """It's over: `event` has settled it."""
    _leave(delivery)
    history.kept.pop(delivery.seq, None)
    record = delivery.record
    if record is None:
        return []
    record.settle(outcome, event)
    if delivery.error is not None:
        record.explain(None, delivery.error)
    return [record]


def _leave(delivery: Delivery) -> None:
    if delivery.transaction is not None:
        delivery.transaction.members.pop(delivery.seq, None)
        delivery.transaction = None
    delivery.promised = None


def _error_text(state: Any) -> str | None:
    error = getattr(state, "error", None)
    if error is None:
        return None
    return error_text(error)


def error_text(error: Any) -> str:
    """An error's condition, and its description where it has one."""
    return f"{error.condition}: {error.description}" if error.description else str(error.condition)


# What attaches say of deliveries when a link is resumed.


def resuming(history: OneZeroHistory, event: Observed, link: LinkHistory) -> Messages:
    """Both sides have attached again: what their maps say of open deliveries (1.0 part 2 section 2.6.13)."""
    sender, receiver = link.halves[link.sender], link.halves[1 - link.sender]
    if not link.open or sender is None or receiver is None:
        return _NONE
    theirs, own = _states(receiver), _states(sender)
    for states, final in ((theirs, False), (own, True)):
        for tag, state in (states or {}).items():
            delivery, name = link.open.get(tag), outcome_name(state)
            if delivery is None or delivery.transaction is not None or name is None:
                continue
            if final or not delivery.final:
                delivery.told, delivery.final = name, final
    if own is None or sender.incomplete_unsettled:
        return _NONE
    done: list[MessageRecord] = []
    for delivery in list(link.open.values()):
        if delivery.transaction is None and delivery.tag is not None and delivery.tag not in own:
            # The sender has forgotten it, which is what settling is.
            delivery.forget()
            outcome = delivery.told or link.default_outcome or "settled"
            done += _end(history, delivery, outcome, event)
    return done


def _states(attach: Any) -> dict[bytes, Any] | None:
    """An attach's unsettled map, None without one that can be read."""
    if attach.unsettled is None:
        return None
    try:
        return {tag: state for tag, state in attach.unsettled.items() if isinstance(tag, bytes)}
    except CodecError:
        return None


# Transactions.


def _request(
    history: OneZeroHistory, event: Observed, session: SessionHistory, link: LinkHistory, way: UnderWay
) -> Messages:
    """A declare or a discharge (1.0 part 4 sections 4.2 and 4.3)."""
    try:
        body: Any = None if event.properties is None else event.properties.body
    except CodecError:
        return _NONE
    request = Delivery(None, event.seq, link, way.tag)
    if getattr(body, "NAME", "") == "discharge":
        request.request = (body.txn_id, bool(body.fail))
        found = _transaction(history, body.txn_id)
        if found is not None:
            found.ending = True
    if way.number is None or way.settled:
        return _NONE
    return _put(history, request, session, way.number)


def _answer(
    history: OneZeroHistory,
    event: Observed,
    request: Delivery,
    state: Any,
    settled: bool,
    side: int,
) -> Messages:
    """The coordinator's word on a declare or a discharge."""
    done: Messages = _NONE
    name = getattr(state, "NAME", "")
    if side != request.sender and name:
        if name == "declared":
            done = history.declare(state.txn_id, request.sender, request.link)
        elif request.request is not None and name in ("accepted", "rejected"):
            key, fail = request.request
            request.request = None
            transaction = history.transactions.pop((request.sender, key), None)
            if transaction is not None:
                done = discharge(history, transaction, name == "accepted" and not fail, event)
    if settled:
        request.forget()
    return done


def _of_state(history: OneZeroHistory, state: Any) -> Transaction | None:
    """The transaction that a delivery state names; one that wasn't seen declared is taken for the client's."""
    if getattr(state, "NAME", "") != "transactional-state":
        return None
    found = _transaction(history, state.txn_id)
    if found is None:
        found = history.transaction(state.txn_id, CLIENT, None)
    return found


def _transaction(history: OneZeroHistory, key: object) -> Transaction | None:
    transactions: dict[tuple[int, object], Transaction] = history.transactions
    return transactions.get((CLIENT, key)) or transactions.get((SERVER, key))


def discharge(
    history: OneZeroHistory, transaction: Transaction, committed: bool, event: Observed
) -> list[MessageRecord]:
    """A transaction is over (1.0 part 4 section 4.4): `event` says so."""
    transaction.undeclare()
    done: list[MessageRecord] = []
    for delivery in list(transaction.members.values()):
        outcome = delivery.promised
        if not committed:
            delivery.error = None
            if delivery.sender == transaction.controller or delivery.acquired:
                outcome = "released"
            else:
                outcome = delivery.link.default_outcome or "released" if delivery.gone else None
        _leave(delivery)
        if outcome is None and delivery.gone:
            outcome = delivery.told or delivery.link.default_outcome or "settled"
        if outcome is None:
            continue
        delivery.forget()
        done += _end(history, delivery, outcome, event)
    return done
