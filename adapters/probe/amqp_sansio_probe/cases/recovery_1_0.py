"""Cases of 1.0: links that are detached and attached again, and filters of sources."""

from __future__ import annotations

from typing import Any, Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from ..case import Suite
from ..talk_1_0 import MANY, Arrived, Link, Talk10
from ..verdicts import Seen, Surprise, Verdict, judged

SUITE: Final = Suite(Talk10)

_NODE: Final = ("1.0/node",)
_RECOVERY: Final = ("1.0/node", "1.0/recovery")


def _detached(talk: Talk10, *bodies: bytes) -> tuple[Link, list[Arrived]]:
    """Take messages without settling them, and detach their link. Raises Surprise."""
    link = talk.receiver(talk.filled(*bodies), credit=len(bodies))
    found = [talk.arrives(link) for _ in bodies]
    unit = talk.leave(link, closed=False)
    if unit is None or unit.event != "detach" or unit.content.closed:
        raise Surprise(f"the link isn't suspended: {talk.described(unit)}")
    return link, found


def _tag(arrived: Arrived) -> bytes:
    return arrived.transfers[0].delivery_tag or b""


@SUITE.on_a_channel(
    "transport/link/detached-deliveries",
    "note",
    "Detaching a link settles nothing: its deliveries are unsettled when it is attached again.",
    "attach whose unsettled map has the delivery",
    needs=_RECOVERY,
)
def _kept(talk: Talk10) -> Seen:
    link, found = _detached(talk, b"hello")
    told = talk.resumed(link, *found).answer.unsettled or {}
    fine = _tag(found[0]) in told
    return judged(fine, f"{len(told)} unsettled deliveries")


@SUITE.on_a_channel(
    "transport/link/unsettled-on-attach",
    "must",
    "An attach has the deliveries that are unsettled on its side, as long as its terminus lives.",
    "attach whose unsettled map has two of three deliveries, the third being settled",
    needs=_RECOVERY,
)
def _map(talk: Talk10) -> Seen:
    link = talk.receiver(talk.filled(b"1", b"2", b"3"), credit=3)
    found = [talk.arrives(link) for _ in range(3)]
    talk.settle(found[0])
    if not talk.answers_still() or talk.leave(link, closed=False) is None:
        return talk.silence()
    told = talk.resumed(link, *found[1:]).answer.unsettled or {}
    fine = {*told} == {_tag(each) for each in found[1:]}
    return judged(fine, f"{len(told)} unsettled deliveries")


@SUITE.on_a_channel(
    "transport/link/recover",
    "note",
    "A link that was detached can be attached again by its name.",
    "attach, and the messages that weren't sent before",
    needs=_RECOVERY,
)
def _again(talk: Talk10) -> Seen:
    address = talk.filled(b"1", b"2")
    link = talk.receiver(address, credit=1)
    talk.settle(talk.arrives(link))
    talk.leave(link, closed=False)
    again = talk.resumed(link)
    talk.grant(again, MANY)
    found = talk.next(again)
    fine = found is not None and found.message.body == b"2"
    return judged(fine, "the message" if found else talk.ending())


@SUITE.on_a_channel(
    "transport/resume/both",
    "must",
    "A delivery that both sides have unsettled is resumed by the sender.",
    "a transfer with that tag, and resume set",
    needs=_RECOVERY,
)
def _resumed(talk: Talk10) -> Seen:
    link, found = _detached(talk, b"hello")
    again = talk.resumed(link, *found)
    talk.grant(again, MANY)
    unit = talk.of(again, "transfer")
    if unit is None or unit.event != "transfer":
        return Seen(Verdict.BREAKS, f"no transfer: {talk.described(unit)}")
    fine = unit.content.resume and unit.content.delivery_tag == _tag(found[0])
    return judged(fine, f"resume {unit.content.resume}".lower())


@SUITE.on_a_channel(
    "resume/tag1-unknown-at-receiver",
    "must",
    "A delivery that isn't in the receiver's map is sent as a new one.",
    "the message, whole, in a delivery that isn't resumed",
    needs=_RECOVERY,
)
def _unknown(talk: Talk10) -> Seen:
    link, _ = _detached(talk, b"hello")
    again = talk.resumed(link)
    talk.grant(again, MANY)
    found = talk.next(again)
    if found is None or found.message.body != b"hello":
        return Seen(Verdict.BREAKS, f"no message: {talk.ending()}")
    resumed = any(each.resume for each in found.transfers)
    return Seen(Verdict.BREAKS if resumed else Verdict.CONFORMS, f"the message, resume {resumed}".lower())


@SUITE.on_a_channel(
    "resume/tag3-receiver-terminal",
    "must",
    "A delivery for which the receiver tells an outcome is resumed, so that it has an id, and not sent again.",
    "a transfer that resumes it without octets, and no message in the queue",
    needs=_RECOVERY,
)
def _terminal(talk: Talk10) -> Seen:
    link, found = _detached(talk, b"hello")
    asked = link.asked.replace(unsettled={_tag(found[0]): amqp.Accepted()})
    again = talk.attached(Link(asked, link.channel))
    talk.grant(again, MANY)
    payload, resumed = b"", 0
    while (unit := talk.of(again, "transfer", seconds=talk.patience.quiet)) is not None and unit.event == "transfer":
        payload += unit.payload
        resumed += bool(unit.content.resume)
        if not unit.content.settled:
            talk.say(spec.Disposition(spec.RECEIVER, unit.content.delivery_id, settled=True, state=amqp.Accepted()))
    if payload:
        return Seen(Verdict.BREAKS, f"{len(payload)} octets of the message again")
    if not resumed:
        return Seen(Verdict.BREAKS, "no transfer that resumes it")
    talk.leave(again)
    return talk.holds(link.address)


@SUITE.on_a_channel(
    "transport/resume/target-only",
    "must",
    "A delivery that only the receiver has unsettled is forgotten: the sender's map doesn't have it.",
    "attach whose unsettled map doesn't have the tag",
    needs=_RECOVERY,
)
def _made_up(talk: Talk10) -> Seen:
    link = talk.receiver(talk.node())
    talk.leave(link, closed=False)
    asked = link.asked.replace(unsettled={b"made-up": None})
    again = talk.attached(Link(asked, link.channel))
    told = again.answer.unsettled or {}
    return Seen(Verdict.BREAKS if b"made-up" in told else Verdict.CONFORMS, f"{len(told)} unsettled deliveries")


@SUITE.on_a_channel(
    "accepted/no-resume",
    "note",
    "A delivery of the client's that was accepted isn't unsettled at the server.",
    "attach without unsettled deliveries",
    needs=_RECOVERY,
)
def _sender(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    talk.store(link)
    talk.leave(link, closed=False)
    again = talk.attached(Link(link.asked, link.channel))
    told = again.answer.unsettled or {}
    return Seen(Verdict.BREAKS if told else Verdict.CONFORMS, f"{len(told)} unsettled deliveries")


@SUITE.on_a_channel(
    "transport/transfer/resume-unknown",
    "must",
    "A resumed delivery whose tag isn't in the receiver's map is passed over.",
    "no message",
    needs=_RECOVERY,
)
def _ignored(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.sender(address)
    talk.leave(link, closed=False)
    again = Link(link.asked.replace(unsettled={b"made-up": None}), link.channel)
    talk.attached(again)
    number = talk.put(again, delivery_tag=b"made-up", resume=True)
    unit = talk.outcome(number, seconds=talk.patience.quiet)
    seen = talk.holds(address)
    return Seen(seen.verdict, f"{seen.text}; {talk.described(unit)}")


@SUITE.on_a_channel(
    "transport/disposition/detached-links",
    "must",
    "A disposition is also about deliveries whose link is detached and not closed.",
    "no message in the queue",
    needs=_RECOVERY,
)
def _behind(talk: Talk10) -> Seen:
    link, found = _detached(talk, b"hello")
    talk.settle(*found)
    again = talk.resumed(link)
    told = again.answer.unsettled or {}
    talk.leave(again)
    if told:
        return Seen(Verdict.BREAKS, f"{len(told)} unsettled deliveries")
    return talk.holds(link.address)


# Filters.


def _filtered(talk: Talk10, address: str, name: str, filters: amqp.Described) -> Link | None:
    """Attach a receiver with a filter; None if the server doesn't take it. Raises Surprise."""
    source = amqp.Source(address, filter={amqp.Symbol(name): filters})
    link = talk.receiver(address, credit=MANY, source=source)
    kept = link.answer.source
    taken = isinstance(kept, amqp.Source) and bool(kept.filter) and name in [str(each) for each in kept.filter or {}]
    return link if taken else None


def _has(talk: Talk10, name: str, filters: amqp.Described, messages: tuple[amqp.Message, ...], *bodies: bytes) -> Seen:
    """Judge whether of these messages those with these bodies come through a filter."""
    address = talk.node()
    sender = talk.sender(address)
    link = _filtered(talk, address, name, filters)
    if link is None:
        return Seen(Verdict.INFORMATIONAL, "it doesn't take this filter")
    for each in messages:
        talk.store(sender, each)
    got = [each.message.body for each in talk.count(link, len(bodies))]
    text = f"messages: {', '.join([repr(each) for each in got]) or 'none'}"
    return judged(got == [*bodies], text)


def _filter(code: int, value: Any) -> amqp.Described:
    return amqp.Described(spec.ULong(code), value)


_NUMBERED: Final = tuple([amqp.Message(b"%d" % number, application_properties={"n": number}) for number in range(4)])


@SUITE.on_a_channel(
    "filters/selector/names",
    "should",
    "A selector's identifiers are the application properties.",
    "the messages that the selector fits",
    needs=_NODE,
)
def _selector(talk: Talk10) -> Seen:
    return _has(talk, "selector", _filter(0x468C00000004, "n >= 1 AND n < 3"), _NUMBERED, b"1", b"2")


@SUITE.on_a_channel(
    "filters/selector/types",
    "must",
    "A selector compares values of their types.",
    "the messages that the selector fits",
    needs=_NODE,
)
def _types(talk: Talk10) -> Seen:
    messages = tuple([amqp.Message(name, application_properties={"s": name.decode()}) for name in (b"a", b"b")])
    return _has(talk, "selector", _filter(0x468C00000004, "s = 'b'"), messages, b"b")


@SUITE.on_a_channel(
    "filter-set/and",
    "note",
    "A message comes through if every filter of the set takes it.",
    "the messages that the filter fits",
    needs=_NODE,
)
def _both(talk: Talk10) -> Seen:
    address = talk.node()
    sender = talk.sender(address)
    filters = {
        amqp.Symbol("one"): _filter(0x468C00000004, "n >= 1"),
        amqp.Symbol("two"): _filter(0x468C00000004, "n < 3"),
    }
    try:
        link = talk.receiver(address, credit=MANY, source=amqp.Source(address, filter=filters))
    except Surprise as error:
        return Seen(Verdict.INFORMATIONAL, f"it doesn't take two selectors: {error}")
    kept = link.answer.source
    if not isinstance(kept, amqp.Source) or len(kept.filter or {}) != 2:
        return Seen(Verdict.INFORMATIONAL, "it doesn't take two selectors")
    for each in _NUMBERED:
        talk.store(sender, each)
    got = [each.message.body for each in talk.count(link, 2)]
    return judged(got == [b"1", b"2"], f"messages: {got}")


@SUITE.on_a_channel(
    "filters/no-local", "note", "With this filter a connection doesn't get its own messages.", "no message", needs=_NODE
)
def _no_local(talk: Talk10) -> Seen:
    return _has(talk, "no-local", _filter(0x468C00000003, []), (amqp.Message(b"own"),))


@SUITE.on_a_channel(
    "source.filter/receiver-checks",
    "must",
    "The answer tells the filters that are in place, for the receiver to check.",
    "attach without a filter that nobody knows; telling it all the same isn't strict",
    needs=_NODE,
)
def _none(talk: Talk10) -> Seen:
    address = talk.node()
    unknown = amqp.Described(amqp.Symbol("probe:none:string"), "x")
    link = talk.asking(
        spec.RECEIVER, source=amqp.Source(address, filter={amqp.Symbol("probe"): unknown}), target=amqp.Target()
    )
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    kept = link.answer.source
    if unit.event != "attach" or not isinstance(kept, amqp.Source):
        return Seen(Verdict.INFORMATIONAL, f"it refuses the link: {talk.described(talk.of(link))}")
    told = [str(each) for each in kept.filter or {}]
    # The MUST is the receiver's, that checks.
    return Seen(Verdict.NON_STRICT if told else Verdict.CONFORMS, f"filters: {', '.join(told) or 'none'}")
