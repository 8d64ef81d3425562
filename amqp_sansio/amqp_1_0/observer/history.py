"""OneZeroHistory: what becomes of the messages on a connection of 1.0, from the units that were observed.

Each delivery is one message, whatever the number of its transfers, and is settled by dispositions of either side, by
the discharge of a transaction, or when it was sent (1.0 part 2 section 2.6.12, part 4 section 4.4).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import AMQP_HEADER, SASL_HEADER, TLS_HEADER
from ..model import hints
from .history_messages import Messages, discharge, disposition, error_text, resuming, transfer
from .history_state import (
    CLIENT,
    SERVER,
    Delivery,
    LinkHistory,
    SessionHistory,
    Transaction,
    side_of,
)

if TYPE_CHECKING:
    from ..._core.observation import Observed
    from ..._core.outcomes import MessageRecord
    from ...limits import Limits
    from ...versions import Version

_NONE: Final[Messages] = ()
_NAMES: Final = ("client", "server")

_REFUSALS: Final = {
    1: "auth: the credentials are wrong",
    2: "sys: the server couldn't check them",
    3: "sys-perm: the server can't check them",
    4: "sys-temp: the server can't check them at the moment",
}
"""What a login ends with that didn't succeed (1.0 part 5 section 5.3.3.6)."""


class OneZeroHistory:
    """Folds the units of one connection. `facts` has what `ConnectionRecord` tells.

    `sessions` are those of each side, by its channels. `kept` are deliveries without a delivery-id: of suspended links,
    and settled ones whose transaction isn't over. `transactions` are by controller and id.
    """

    __slots__ = (
        "facts", "headers", "kept", "limits", "links", "opens", "sessions", "stage", "transactions", "version",
    )  # fmt: skip

    def __init__(self, version: Version, limits: Limits) -> None:
        self.version = version
        self.limits = limits
        self.facts: dict[str, Any] = {"hint": ""}
        self.stage = "FIRST"
        self.headers: deque[bytes] = deque(maxlen=_HEADERS)
        self.opens: list[Any] = [None, None]
        self.sessions: tuple[dict[int, SessionHistory], dict[int, SessionHistory]] = ({}, {})
        self.links: dict[tuple[int, str], LinkHistory] = {}
        self.kept: dict[int, Delivery] = {}
        self.transactions: dict[tuple[int, object], Transaction] = {}

    def observe(self, event: Observed) -> Messages:
        """Take a unit; give the messages whose outcome is known now."""
        handler = _HANDLERS.get(event.event)
        if handler is None:
            return _NONE
        if event.content.__class__ is bytes and event.unit != "header":
            return _NONE
        done = handler(self, event, event.content)
        for sessions in self.sessions:
            if len(sessions) > self.limits.channels:
                done = [*done, *_session_over(self, next(iter(sessions.values())))]
        return done

    def missed(self, sender: Side) -> Messages:
        """Something that `sender` sent wasn't seen: its deliveries under way are lost, and transactions aren't sure."""
        side = CLIENT if sender is Side.CLIENT else SERVER
        for session in self.sessions[side].values():
            for link in session.handles[side].values():
                link.drop()
        done: list[MessageRecord] = []
        for transaction in self.transactions.values():
            done += self._abandon(transaction)
        self.transactions = {}
        return done

    def finish(self) -> Messages:
        """Give the messages that are open."""
        found: dict[int, Delivery] = dict(self.kept)
        for sessions in self.sessions:
            for session in sessions.values():
                for deliveries in session.deliveries:
                    found.update({each.seq: each for each in deliveries.values()})
        for link in self.links.values():
            found.update({each.seq: each for each in link.open.values()})
        done: list[MessageRecord] = []
        for _, delivery in sorted(found.items()):
            done += self.give_up(delivery)
        self.sessions, self.links, self.kept, self.transactions = ({}, {}), {}, {}, {}
        if "closed_by" not in self.facts and not self.facts["hint"]:
            self.facts["hint"] = hints.of_stage(self.stage, self.facts.get("mechanism") or "")
        return done

    # The books, as the handlers use them.

    def session(self, side: int, channel: int) -> SessionHistory:
        """The session on a side's channel.

        Where its begin wasn't seen, it's taken for the other half of what the other side has on the channel of the same
        number, if that half is without another.
        """
        session = self.sessions[side].get(channel)
        if session is None:
            session = self.sessions[1 - side].get(channel)
            if session is None or session.channels[side] is not None:
                session = SessionHistory()
            self.place(session, side, channel)
        return session

    def place(self, session: SessionHistory, side: int, channel: int) -> None:
        """A session has this channel on this side."""
        session.channels[side] = channel
        self.sessions[side][channel] = session

    def unseen_link(self, session: SessionHistory, side: int, handle: int) -> LinkHistory:
        """A link that sends, whose attach wasn't seen."""
        link = LinkHistory(None, side)
        handles = session.handles[side]
        if len(handles) >= self.limits.consumers:
            handles[next(iter(handles))].unplace(side)
        link.places[side] = (session, handle)
        handles[handle] = link
        return link

    def transaction(self, key: object, controller: int, link: LinkHistory | None) -> Transaction:
        """Book a new transaction; beyond the limit the oldest is forgotten, and its messages stay open."""
        transactions = self.transactions
        if len(transactions) >= self.limits.calls:
            oldest = transactions.pop(next(iter(transactions)))
            oldest.undeclare()
            for delivery in oldest.members.values():
                delivery.transaction = None
        found = transactions[controller, key] = Transaction(key, controller, link)
        return found

    def declare(self, key: object, controller: int, link: LinkHistory | None) -> Messages:
        """A transaction has got its id; one that had it before is over, nobody knows how."""
        before = self.transactions.pop((controller, key), None)
        done = self._abandon(before) if before is not None else []
        self.transaction(key, controller, link)
        return done

    def _abandon(self, transaction: Transaction) -> list[MessageRecord]:
        """Nobody knows how a transaction ended; what a side has settled in it is open for good."""
        transaction.undeclare()
        done: list[MessageRecord] = []
        for delivery in list(transaction.members.values()):
            if delivery.gone:
                delivery.forget()
                done += self.give_up(delivery)
            else:
                delivery.transaction = delivery.promised = None
        return done

    def keep(self, delivery: Delivery) -> Messages:
        """Hold a delivery that has no delivery-id; beyond the limit the oldest comes out as it is."""
        self.kept[delivery.seq] = delivery
        if len(self.kept) <= self.limits.unsettled:
            return _NONE
        oldest = self.kept[next(iter(self.kept))]
        oldest.forget()
        return self.give_up(oldest)

    def give_up(self, delivery: Delivery) -> list[MessageRecord]:
        """Nothing settles it any more; what was told of it holds."""
        self.kept.pop(delivery.seq, None)
        if delivery.transaction is not None:
            delivery.transaction.members.pop(delivery.seq, None)
            delivery.transaction = None
        record = delivery.record
        if record is None:
            return []
        record.outcome = delivery.told
        if delivery.told is not None and delivery.error is not None:
            record.explain(None, delivery.error)
        return [record]

    def close_link(self, link: LinkHistory) -> Messages:
        """A link is no more: its open deliveries stay open."""
        if self.links.get((link.sender, link.name or "")) is link:
            del self.links[link.sender, link.name or ""]
        done: list[MessageRecord] = []
        for delivery in list(link.open.values()):
            if delivery.transaction is None:
                delivery.forget()
                done += self.give_up(delivery)
        return done


_HEADERS: Final = 8
"""Protocol headers of a client that wait for an answer: there are three layers at most."""

_STAGES: Final = {SASL_HEADER: "SASL", AMQP_HEADER: "HEADER", TLS_HEADER: "TLS"}
"""Where the opening stands when the server has agreed to a layer, for the hint about a connection that ends there."""


# The connection.


def _header(history: OneZeroHistory, event: Observed, header: bytes) -> Messages:
    if event.sender is Side.CLIENT:
        history.headers.append(header)
        return _NONE
    asked = history.headers.popleft() if history.headers else header
    if header != asked:
        history.facts.update(
            closed_by="server",
            close_text=f"the server answered with its own protocol header, {_numbers(header)}",
            hint=hints.for_server_header(header),
        )
    elif history.stage == "FIRST":
        history.stage = _STAGES.get(header, history.stage)
    return _NONE


def _numbers(header: bytes) -> str:
    return "-".join([str(octet) for octet in header[4:]])


def _init(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    history.facts["mechanism"] = str(frame.mechanism)
    if frame.mechanism == "PLAIN" and frame.initial_response is not None:
        parts = frame.initial_response.split(b"\0")
        if len(parts) == 3:
            history.facts["user"] = parts[1].decode("utf-8", "surrogateescape")
    return _NONE


def _outcome(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    if frame.code == 0:
        history.stage = "HEADER"
    else:
        history.facts.update(
            closed_by="server",
            close_text=f"the server refused the login ({_REFUSALS.get(frame.code, frame.code)})",
            hint=hints.of_stage("SASL", history.facts.get("mechanism") or ""),
        )
    return _NONE


def _open(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    side = side_of(event)
    facts = history.facts
    history.opens[side] = frame
    if side == CLIENT:
        facts["vhost"] = frame.hostname
    else:
        history.stage = "OPEN"
    facts["container" if side == CLIENT else "server_container"] = frame.container_id
    for name in ("product", "version"):
        try:
            value = None if frame.properties is None else frame.properties.get(name)
        except CodecError:
            break
        if isinstance(value, str):
            facts[f"{_NAMES[side]}_{name}"] = str(value)
    opens = [each for each in history.opens if each is not None]
    facts["channel_max"] = min([each.channel_max for each in opens])
    facts["frame_max"] = min([each.max_frame_size for each in opens])
    timeouts = [each.idle_time_out for each in opens if each.idle_time_out]
    facts["heartbeat"] = -(-min(timeouts) // 1000) if timeouts else 0
    return _NONE


def _close(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    if "closed_by" in history.facts:
        return _NONE
    history.facts["closed_by"] = event.sender.value
    if frame.error is not None:
        condition = str(frame.error.condition)
        history.facts.update(
            close_text=error_text(frame.error),
            close_condition=condition,
            hint=hints.for_close(condition),
        )
    return _NONE


# Sessions and links.


def _begin(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    side, channel = side_of(event), event.channel
    done: list[MessageRecord] = []
    before = history.sessions[side].pop(channel, None)
    if before is not None:
        done += _session_over(history, before)
    session = None
    if frame.remote_channel is not None:
        session = history.sessions[1 - side].get(frame.remote_channel)
        if session is not None and session.channels[side] is not None:
            # It has this half already: the frames between its end and this begin weren't seen.
            done += _session_over(history, session)
            session = None
        if session is None:
            session = SessionHistory()
            history.place(session, 1 - side, frame.remote_channel)
    history.place(session or SessionHistory(), side, channel)
    return done


def _end(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    side = side_of(event)
    session = history.sessions[side].pop(event.channel, None)
    if session is None:
        return _NONE
    session.ended[side] = True
    return _session_over(history, session) if session.over else _NONE


def _session_over(history: OneZeroHistory, session: SessionHistory) -> list[MessageRecord]:
    """Nothing refers to its delivery-ids any more; links that outlive it are suspended."""
    for side, channel in enumerate(session.channels):
        if channel is not None and history.sessions[side].get(channel) is session:
            del history.sessions[side][channel]
    links = {id(link): link for handles in session.handles for link in handles.values()}
    for link in links.values():
        for side in (CLIENT, SERVER):
            place = link.places[side]
            if place is not None and place[0] is session:
                link.unplace(side)
    done: list[MessageRecord] = []
    deliveries = [each for book in session.deliveries for each in book.values()]
    for delivery in sorted(deliveries, key=_order):
        link = delivery.link
        links[id(link)] = link
        if delivery.record is not None and (
            link.outlives_session or delivery.transaction is not None
        ):
            delivery.unnumber()
            done += history.keep(delivery)
        else:
            delivery.forget()
            done += history.give_up(delivery)
    for link in links.values():
        if not link.open and link.places == [None, None]:
            done += history.close_link(link)
    return done


def _order(delivery: Delivery) -> int:
    return delivery.seq


def _attach(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    side = side_of(event)
    session = history.session(side, event.channel)
    sender = 1 - side if frame.role else side
    done: list[MessageRecord] = []
    link = history.links.get((sender, frame.name))
    if link is None or link.closed[side]:
        # A link that this side has closed is another one, though the other side hasn't answered yet.
        link = history.links[sender, frame.name] = LinkHistory(frame.name, sender)
    if link.places[side] is not None:
        link.unplace(side)
    before = session.handles[side].get(frame.handle)
    if before is not None:
        before.unplace(side)
    link.attach(side, frame, session)
    if all(link.anew):
        link.anew = [False, False]
        done += resuming(history, event, link)
    if len(history.links) > history.limits.consumers:
        oldest = next(iter(history.links.values()))
        oldest.unplace(CLIENT)
        oldest.unplace(SERVER)
        done += history.close_link(oldest)
    return done


def _detach(history: OneZeroHistory, event: Observed, frame: Any) -> Messages:
    side = side_of(event)
    link = history.session(side, event.channel).handles[side].get(frame.handle)
    if link is None:
        return _NONE
    link.unplace(side)
    link.closed[side] = link.closed[side] or frame.closed
    done: list[MessageRecord] = []
    if link.coordinator and side != link.sender:
        # The coordinator rolls back what isn't discharged (1.0 part 4 section 4.1).
        for key, transaction in list(link.declared.items()):
            if frame.error is not None or not transaction.ending:
                history.transactions.pop((link.sender, key), None)
                done += discharge(history, transaction, False, event)
    if link.places == [None, None] and (any(link.closed) or not link.open):
        done += history.close_link(link)
    return done


_HANDLERS: Final[dict[str, Callable[[OneZeroHistory, Observed, Any], Messages]]] = {
    "protocol-header": _header,
    "sasl-init": _init,
    "sasl-outcome": _outcome,
    "open": _open,
    "close": _close,
    "begin": _begin,
    "end": _end,
    "attach": _attach,
    "detach": _detach,
    "transfer": transfer,
    "disposition": disposition,
}
"""What a unit means to messages and connection, by its name."""
