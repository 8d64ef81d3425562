"""Cases of 1.0: transactions."""

from __future__ import annotations

from typing import Any, Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from ..case import Suite
from ..talk_1_0 import Arrived, Link, Talk10
from ..verdicts import Seen, Surprise, Verdict, judged

SUITE: Final = Suite(Talk10)

_TX: Final = ("1.0/node", "1.0/transactions")
_COORDINATOR: Final = ("1.0/transactions",)


def _ask(talk: Talk10, control: Link, body: spec.Composite) -> int:
    """Send a declare or a discharge; return the number of its delivery."""
    # An amqp-value whose value is the composite.
    payload = b"\x00\x53\x77" + body.encode()
    number = talk.sessions[control.channel].next_delivery_id
    talk.say(talk.transferring(control), channel=control.channel, payload=payload)
    return number


def _declared(talk: Talk10, control: Link) -> bytes:
    """Declare a transaction, and return its id. Raises Surprise."""
    unit = talk.outcome(_ask(talk, control, spec.Declare()), control.channel)
    state = getattr(unit.content, "state", None) if unit is not None else None
    if not isinstance(state, spec.Declared) or not isinstance(state.txn_id, bytes):
        raise Surprise(f"no transaction: {talk.described(unit)}")
    return state.txn_id


def _discharge(talk: Talk10, control: Link, txn_id: bytes, *, fail: bool = False) -> Seen:
    """Discharge a transaction, and judge whether that is accepted."""
    return talk.accepts(_ask(talk, control, spec.Discharge(txn_id, fail)), control)


def _done(talk: Talk10, control: Link, txn_id: bytes, *, fail: bool = False) -> None:
    seen = _discharge(talk, control, txn_id, fail=fail)
    if seen.verdict is not Verdict.CONFORMS:
        raise Surprise(f"the discharge isn't accepted: {seen.text}")


def _post(talk: Talk10, link: Link, txn_id: bytes, body: bytes = b"hello", **fields: Any) -> int:
    return talk.put(link, body, state=spec.TransactionalState(txn_id), **fields)


def _retire(talk: Talk10, arrived: Arrived, txn_id: bytes, outcome: amqp.DeliveryState | None = None) -> None:
    state = spec.TransactionalState(txn_id, outcome or amqp.Accepted())
    talk.say(spec.Disposition(spec.RECEIVER, arrived.number, settled=True, state=state))


@SUITE.on_a_channel(
    "transactions/declare/declared",
    "note",
    "A declare is answered by the outcome declared, with the transaction's id.",
    "declared, with an id",
    needs=_COORDINATOR,
)
def _declare(talk: Talk10) -> Seen:
    control = talk.controller()
    unit = talk.outcome(_ask(talk, control, spec.Declare()))
    if unit is None:
        return talk.silence()
    fine = unit.event == "disposition" and isinstance(unit.content.state, spec.Declared)
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "transactions/txn-id-size",
    "note",
    "The id of a transaction has no more than 32 octets.",
    "32 octets at the most",
    needs=_COORDINATOR,
)
def _size(talk: Talk10) -> Seen:
    size = len(_declared(talk, talk.controller()))
    return judged(0 < size <= 32, f"{size} octets")


@SUITE.on_a_channel(
    "transactions/declare/settled-detach",
    "should",
    "A declare that comes settled can't be answered: the link is detached.",
    "detach with an error",
    needs=_COORDINATOR,
)
def _settled(talk: Talk10) -> Seen:
    control = talk.controller()
    talk.say(talk.transferring(control, settled=True), payload=b"\x00\x53\x77" + spec.Declare().encode())
    return talk.fails("detach")


@SUITE.on_a_channel(
    "transactions/declare/body",
    "note",
    "The message to a coordinator is an amqp-value with a declare or a discharge.",
    "rejected, or detach with an error",
    needs=_COORDINATOR,
)
def _body(talk: Talk10) -> Seen:
    control = talk.controller()
    unit = talk.outcome(talk.put(control, b"hello"))
    if unit is None:
        return talk.silence()
    taken = unit.event == "disposition" and isinstance(unit.content.state, (amqp.Accepted, spec.Declared))
    return Seen(Verdict.BREAKS if taken else Verdict.CONFORMS, talk.described(unit))


@SUITE.on_a_channel(
    "transactions/posting/invisible",
    "note",
    "What is posted in a transaction isn't there before its discharge.",
    "no message before the discharge, and the message after",
    needs=_TX,
)
def _posted(talk: Talk10) -> Seen:
    address = talk.node()
    control, link = talk.controller(), talk.sender(address)
    txn_id = _declared(talk, control)
    _post(talk, link, txn_id)
    receiver = talk.receiver(address, credit=1)
    early = talk.next(receiver, 0.5)
    if early is not None:
        return Seen(Verdict.BREAKS, "the message, before the discharge")
    _done(talk, control, txn_id)
    found = talk.next(receiver)
    return judged(found is not None, "the message" if found else talk.ending())


@SUITE.on_a_channel(
    "transactions/txn-work/state",
    "note",
    "The outcome of what is posted tells the transaction.",
    "disposition with transactional-state, accepted",
    needs=_TX,
)
def _outcome(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    control = talk.controller()
    txn_id = _declared(talk, control)
    unit = talk.outcome(_post(talk, link, txn_id))
    if unit is None:
        return talk.silence()
    state = getattr(unit.content, "state", None)
    fine = isinstance(state, spec.TransactionalState) and state.txn_id == txn_id
    fine = fine and isinstance(getattr(state, "outcome", None), amqp.Accepted)
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "transactions/posting/outcome-first",
    "must",
    "The outcome of what is posted is told before its transaction is discharged.",
    "the disposition of the message, then that of the discharge",
    needs=_TX,
)
def _in_order(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    control = talk.controller()
    txn_id = _declared(talk, control)
    posted = _post(talk, link, txn_id)
    asked = _ask(talk, control, spec.Discharge(txn_id, False))
    done: list[int] = []
    while len(done) < 2:
        unit = talk.wait(("disposition",), 0)
        if unit is None or unit.event != "disposition":
            return Seen(Verdict.BREAKS, talk.described(unit))
        last = unit.content.first if unit.content.last is None else unit.content.last
        done += [each for each in (posted, asked) if unit.content.first <= each <= last]
    told = "the message's first" if done[0] == posted else "the discharge's first"
    return judged(done[0] == posted, told)


@SUITE.on_a_channel(
    "transactions/discharge/rollback-always",
    "must",
    "A discharge that fails is always done: nothing of the transaction stays.",
    "accepted, and no message",
    needs=_TX,
)
def _rollback(talk: Talk10) -> Seen:
    address = talk.node()
    control, link = talk.controller(), talk.sender(address)
    txn_id = _declared(talk, control)
    _post(talk, link, txn_id)
    seen = _discharge(talk, control, txn_id, fail=True)
    if seen.verdict is not Verdict.CONFORMS:
        return seen
    return talk.holds(address)


@SUITE.on_a_channel(
    "transactions/error/unknown-id",
    "note",
    "A discharge of a transaction that isn't there fails: unknown-id.",
    "rejected with amqp:transaction:unknown-id",
    needs=_COORDINATOR,
)
def _unknown(talk: Talk10) -> Seen:
    return _fails(talk, talk.controller(), b"probe")


@SUITE.on_a_channel(
    "transactions/discharge/failed",
    "must",
    "A discharge that can't be done fails: the coordinator rejects it, or ends the link with an error.",
    "rejected, or detach with an error",
    needs=_COORDINATOR,
)
def _twice(talk: Talk10) -> Seen:
    control = talk.controller()
    txn_id = _declared(talk, control)
    _done(talk, control, txn_id)
    return _fails(talk, control, txn_id)


def _fails(talk: Talk10, control: Link, txn_id: bytes) -> Seen:
    unit = talk.outcome(_ask(talk, control, spec.Discharge(txn_id, False)))
    if unit is None:
        return talk.silence()
    state = getattr(unit.content, "state", None)
    error = state.error if isinstance(state, amqp.Rejected) else getattr(unit.content, "error", None)
    if error is None:
        return Seen(Verdict.BREAKS, talk.described(unit))
    fine = str(error.condition) == "amqp:transaction:unknown-id"
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, f"{unit.event} {error.condition}")


@SUITE.on_a_channel(
    "transactions/posting/partial-discharge",
    "must",
    "A transaction with a delivery whose last transfer hasn't come can't be discharged: the control link ends.",
    "detach with amqp:transaction:rollback",
    needs=_TX,
)
def _partial(talk: Talk10) -> Seen:
    control, link = talk.controller(), talk.sender(talk.node())
    txn_id = _declared(talk, control)
    state = spec.TransactionalState(txn_id)
    talk.say(talk.transferring(link, more=True, state=state), payload=amqp.Message(b"hello").encode()[:4])
    unit = talk.outcome(_ask(talk, control, spec.Discharge(txn_id, False)))
    if unit is None:
        return talk.silence()
    error = getattr(unit.content, "error", None)
    if error is None:
        accepted = isinstance(getattr(unit.content, "state", None), amqp.Accepted)
        return Seen(Verdict.BREAKS if accepted else Verdict.OTHER_CODE, talk.described(unit))
    fine = unit.event == "detach" and str(error.condition) == "amqp:transaction:rollback"
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "transactions/control-link-closed",
    "note",
    "When the control link closes, what isn't discharged is rolled back.",
    "no message",
    needs=_TX,
)
def _closed(talk: Talk10) -> Seen:
    address = talk.node()
    control, link = talk.controller(), talk.sender(address)
    txn_id = _declared(talk, control)
    _post(talk, link, txn_id)
    talk.leave(control)
    return talk.holds(address)


@SUITE.on_a_channel(
    "transactions/retirement/rollback",
    "note",
    "A message that is accepted in a transaction goes with its discharge.",
    "no message left",
    variant="commit",
    needs=_TX,
)
def _retired(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    control = talk.controller()
    txn_id = _declared(talk, control)
    link = talk.receiver(address, credit=1)
    _retire(talk, talk.arrives(link), txn_id)
    _done(talk, control, txn_id)
    talk.leave(link)
    return talk.holds(address)


@SUITE.on_a_channel(
    "transactions/retirement/rollback",
    "note",
    "A message that is accepted in a transaction which is rolled back is neither gone nor settled.",
    "the message, behind the end of its link",
    needs=_TX,
)
def _rolled_back(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    control = talk.controller()
    txn_id = _declared(talk, control)
    link = talk.receiver(address, credit=1)
    found = talk.arrives(link)
    state = spec.TransactionalState(txn_id, amqp.Accepted())
    talk.say(spec.Disposition(spec.RECEIVER, found.number, settled=False, state=state))
    _done(talk, control, txn_id, fail=True)
    talk.leave(link)
    return talk.holds(address, b"hello")


@SUITE.on_a_channel(
    "transactions/posting/invisible",
    "note",
    "What is posted settled is part of the transaction all the same.",
    "no message before the discharge, and the message after",
    variant="settled",
    needs=_TX,
)
def _posted_settled(talk: Talk10) -> Seen:
    address = talk.node()
    control, link = talk.controller(), talk.sender(address)
    txn_id = _declared(talk, control)
    _post(talk, link, txn_id, settled=True)
    receiver = talk.receiver(address, credit=1)
    if talk.next(receiver, 0.5) is not None:
        return Seen(Verdict.BREAKS, "the message, before the discharge")
    _done(talk, control, txn_id)
    found = talk.next(receiver)
    return judged(found is not None, "the message" if found else talk.ending())


@SUITE.on_a_channel(
    "transactions/capability/multi-txns",
    "note",
    "A coordinator that says so takes several transactions on one session.",
    "two transactions with different ids",
    needs=_COORDINATOR,
)
def _many(talk: Talk10) -> Seen:
    control = talk.controller()
    told = getattr(control.answer.target, "capabilities", ())
    if "amqp:multi-txns-per-ssn" not in [str(each) for each in told]:
        return Seen(Verdict.INFORMATIONAL, "it doesn't say so")
    first, second = _declared(talk, control), _declared(talk, control)
    return judged(first != second, f"{first.hex()}, {second.hex()}")


@SUITE.on_a_channel(
    "transactions/error/unknown-id",
    "note",
    "Posting in a transaction that isn't there is an error.",
    "detach, end or close with an error, or a rejected message",
    variant="posting",
    needs=_TX,
)
def _unknown_post(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    unit = talk.outcome(_post(talk, link, b"probe"))
    if unit is None:
        return talk.silence()
    accepted = unit.event == "disposition" and isinstance(unit.content.state, amqp.Accepted)
    return Seen(Verdict.BREAKS if accepted else Verdict.CONFORMS, talk.described(unit))
