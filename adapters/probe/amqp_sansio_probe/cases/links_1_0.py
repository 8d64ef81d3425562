"""Cases of 1.0: links, their termini, and their credit."""

from __future__ import annotations

from typing import Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from ..case import Suite
from ..talk_1_0 import MANY, Link, Talk10
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk10)

_NODE: Final = ("1.0/node",)
_BROKEN_SESSION: Final = "end with an error"

# Attaching.


@SUITE.on_a_channel(
    "transport/link/attach-answer",
    "note",
    "An attach is answered by an attach of the same name, in the other role.",
    "attach, as sender, of that name",
    needs=_NODE,
)
def _answer(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.asking(spec.RECEIVER, source=amqp.Source(address), target=amqp.Target())
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    fine = unit.event == "attach" and unit.content.role is spec.SENDER
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "transport/link/terminus-refused",
    "must",
    "A link whose terminus isn't there is attached without it, then detached with an error.",
    "attach with a null terminus, then detach with an error",
    variant="source",
)
def _no_source(talk: Talk10) -> Seen:
    source, target = amqp.Source(talk.names.name()), amqp.Target()
    return _refused(talk, talk.asking(spec.RECEIVER, source=source, target=target), "source")


@SUITE.on_a_channel(
    "transport/link/terminus-refused",
    "must",
    "A link whose terminus isn't there is attached without it, then detached with an error.",
    "attach with a null terminus, then detach with an error",
    variant="target",
)
def _no_target(talk: Talk10) -> Seen:
    source, target = amqp.Source(), amqp.Target(talk.names.name())
    return _refused(talk, talk.asking(spec.SENDER, source=source, target=target), "target")


def _refused(talk: Talk10, link: Link, terminus: str) -> Seen:
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    if unit.event != "attach":
        return Seen(Verdict.OTHER_CODE, f"{talk.described(unit)}: no attach before it")
    told = getattr(unit.content, terminus)
    detached = talk.of(link)
    if detached is None:
        if told is None:
            return Seen(Verdict.BREAKS, f"a null {terminus}, and no detach: {talk.ending()}")
        return Seen(Verdict.INFORMATIONAL, f"it makes the {terminus}")
    text = talk.described(detached)
    if told is not None:
        return Seen(Verdict.BREAKS, f"the {terminus} isn't null; {text}")
    if detached.event != "detach":
        return Seen(Verdict.OTHER_CODE, f"{text}: by {detached.event}, not detach")
    return judged(detached.content.error is not None, text)


@SUITE.on_a_channel(
    "transport/error/not-found",
    "note",
    "The error for a node that isn't there is not-found.",
    "detach with amqp:not-found",
)
def _not_found(talk: Talk10) -> Seen:
    link = talk.asking(spec.RECEIVER, source=amqp.Source(talk.names.name()), target=amqp.Target())
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    if unit.event == "attach":
        unit = talk.of(link)
    if unit is None:
        return Seen(Verdict.INFORMATIONAL, "it makes the node")
    error = unit.content.error
    fine = error is not None and str(error.condition) == "amqp:not-found"
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "transport/attach/initial-delivery-count",
    "must",
    "The sender's attach has the initial delivery-count.",
    "attach with initial-delivery-count",
    needs=_NODE,
)
def _count(talk: Talk10) -> Seen:
    link = talk.receiver(talk.node())
    told = link.answer.initial_delivery_count
    return Seen(Verdict.BREAKS if told is None else Verdict.CONFORMS, f"initial-delivery-count {told}")


@SUITE.on_a_channel(
    "transport/link/adjust-report",
    "must",
    "The answer says which terminus the link has.",
    "attach whose source has the address",
    variant="address",
    needs=_NODE,
)
def _names(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.receiver(address)
    return judged(link.address == address, link.address or "no address")


@SUITE.on_a_channel(
    "transport/link/handle-in-use",
    "must",
    "Attaching with a handle in use is answered by a close with the session's error handle-in-use.",
    "close or end with amqp:session:handle-in-use",
    needs=_NODE,
)
def _in_use(talk: Talk10) -> Seen:
    address = talk.node()
    used = talk.receiver(address).handle
    second = talk.asking(spec.RECEIVER, handle=used, source=amqp.Source(address), target=amqp.Target())
    unit = talk.attach(second)
    if unit is None:
        return Seen(Verdict.UNCLEAN, talk.ending()) if talk.has_ended else talk.silence()
    return talk.ended_by(unit, "close", "amqp:session:handle-in-use", also=("end",))


for _variant, _asked in (
    ("transfer", spec.Transfer(9, 0, b"t", 0)),
    ("flow", spec.Flow(0, 1, 0, 1, 9, 0, 1)),
    ("detach", spec.Detach(9)),
):

    @SUITE.on_a_channel(
        "transport/link/unattached-handle",
        "must",
        "Whatever comes with a handle that isn't attached ends the session: unattached-handle.",
        "end with amqp:session:unattached-handle",
        variant=_variant,
    )
    def _unattached(talk: Talk10, asked: spec.Performative = _asked) -> Seen:
        talk.say(asked)
        seen = talk.fails("end", "amqp:session:unattached-handle")
        if seen.verdict is Verdict.BREAKS and isinstance(asked, spec.Detach):
            # A detach leaves nothing that can't be processed; only the list of errors has it.
            return Seen(Verdict.NON_STRICT, seen.text)
        return seen


@SUITE.on_a_channel(
    "transport/link/steal",
    "must",
    "A link that is attached on another session can be taken from the first, which then ends: stolen.",
    "detach with amqp:link:stolen on the first session; or the second attach is refused",
    needs=_NODE,
)
def _stolen(talk: Talk10) -> Seen:
    address = talk.node()
    first = talk.receiver(address)
    talk.session(1)
    second = talk.asking(spec.RECEIVER, 1, name=first.name, source=amqp.Source(address), target=amqp.Target())
    answer = talk.attach(second)
    if answer is None:
        return talk.silence()
    refused = answer.event != "attach" or answer.content.source is None
    if refused and answer.event not in ("end", "close"):
        answer = talk.of(second)
    unit = talk.of(first, seconds=talk.patience.quiet if refused else None)
    if unit is None and refused:
        # It can be stolen, but needn't.
        return Seen(Verdict.INFORMATIONAL, f"the second attach is refused: {talk.described(answer)}")
    if unit is None:
        seen = talk.silence()
        return Seen(seen.verdict, f"both links are attached; to the first, {seen.text}")
    error = unit.content.error
    if error is None or unit.event != "detach":
        return Seen(Verdict.BREAKS, talk.described(unit))
    fine = str(error.condition) == "amqp:link:stolen"
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "transport/link/name-unique",
    "must",
    "Links of one name in the two directions are two links.",
    "attach, to both",
    needs=_NODE,
)
def _directions(talk: Talk10) -> Seen:
    address = talk.node()
    first = talk.receiver(address)
    second = talk.asking(spec.SENDER, name=first.name, source=amqp.Source(), target=amqp.Target(address))
    talk.say(second.asked)
    unit = talk.wait(("attach", "detach"), 0)
    if unit is None:
        return talk.silence()
    fine = unit.event == "attach" and unit.content.target is not None
    return judged(fine, talk.described(unit))


# Detaching.


for _closed in (True, False):

    @SUITE.on_a_channel(
        "transport/link/detach",
        "must",
        "Giving up a handle is told by a detach.",
        "detach",
        variant="closed" if _closed else "not-closed",
        needs=_NODE,
    )
    def _detach(talk: Talk10, closed: bool = _closed) -> Seen:
        unit = talk.leave(talk.receiver(talk.node()), closed=closed)
        if unit is None:
            return talk.silence()
        return judged(unit.event == "detach", talk.described(unit))


@SUITE.on_a_channel(
    "transport/link/close",
    "note",
    "A detach that closes is answered by one that closes.",
    "detach with closed=true",
    variant="answer",
    needs=_NODE,
)
def _closes(talk: Talk10) -> Seen:
    unit = talk.leave(talk.receiver(talk.node()))
    if unit is None:
        return talk.silence()
    fine = unit.event == "detach" and unit.content.closed
    return judged(fine, f"{talk.described(unit)}, closed {fine}".lower())


@SUITE.on_a_channel(
    "transport/link/handle-reuse",
    "note",
    "A handle can be used again behind the detaches of its link.",
    "attach",
    needs=_NODE,
)
def _handle_again(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.receiver(address)
    if talk.leave(link) is None:
        return Seen(Verdict.INCONCLUSIVE, f"no detach: {talk.ending()}")
    again = talk.asking(spec.RECEIVER, handle=link.handle, source=amqp.Source(address), target=amqp.Target())
    unit = talk.attach(again)
    if unit is None:
        return talk.silence()
    return judged(unit.event == "attach", talk.described(unit))


@SUITE.on_a_channel(
    "transport/link/close",
    "note",
    "A link that is closed is gone: attaching it anew is a new link.",
    "attach without unsettled deliveries",
    needs=_NODE,
)
def _new(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    link = talk.receiver(address, credit=1)
    talk.arrives(link)
    talk.leave(link)
    again = talk.attached(talk.asking(spec.RECEIVER, name=link.name, source=amqp.Source(address), target=amqp.Target()))
    told = again.answer.unsettled
    return Seen(Verdict.BREAKS if told else Verdict.CONFORMS, f"{len(told or ())} unsettled deliveries")


@SUITE.on_a_channel(
    "transport/session/ends-with-connection",
    "note",
    "What a link held without settling it is available again when its session ends.",
    "the message, for another session",
    needs=_NODE,
    variant="session-ends",
)
def _ends(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    talk.session(1)
    talk.arrives(talk.receiver(address, 1, credit=1))
    talk.say(spec.End(), channel=1)
    if talk.until(lambda each: each.event == "end" and each.channel == 1) is None:
        return Seen(Verdict.INCONCLUSIVE, f"no end: {talk.ending()}")
    return talk.holds(address, b"hello")


# Settle modes.


@SUITE.on_a_channel(
    "transport/link/adjust-report",
    "must",
    "The answer says which settle modes the link has.",
    "attach with the modes that the server keeps; then deliveries in them",
    needs=_NODE,
)
def _modes(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    link = talk.receiver(address, credit=1, snd_settle_mode=1)
    mode = link.answer.snd_settle_mode
    settled = bool(talk.arrives(link).transfers[-1].settled)
    fine = {0: not settled, 1: settled, 2: True}[mode]
    text = f"snd-settle-mode {mode}, and the delivery is {'settled' if settled else 'unsettled'}"
    return judged(fine, text)


for _mode, _word in ((1, "settled"), (0, "unsettled")):

    @SUITE.on_a_channel(
        f"transport/transfer/settled-mode-{_word}",
        "must",
        f"In the sender's settle mode {_word}, every delivery is sent so.",
        f"deliveries that are {_word}, if the server takes the mode",
        needs=_NODE,
    )
    def _mode_kept(talk: Talk10, mode: int = _mode) -> Seen:
        address = talk.filled(b"1", b"2")
        link = talk.receiver(address, credit=MANY, snd_settle_mode=mode)
        found = talk.count(link, 2)
        if len(found) < 2:
            return Seen(Verdict.INCONCLUSIVE, f"{len(found)} of 2 messages")
        settled = [any(part.settled for part in each.transfers) for each in found]
        if link.answer.snd_settle_mode != mode:
            return Seen(Verdict.INFORMATIONAL, f"it changes the mode to {link.answer.snd_settle_mode}")
        fine = all(settled) if mode else not any(settled)
        return judged(fine, f"settled: {settled}".lower())


@SUITE.on_a_channel(
    "transport/attach/max-message-size",
    "note",
    "A message above the size that the receiver announced isn't sent.",
    "detach with amqp:link:message-size-exceeded, or the message stays",
    needs=_NODE,
)
def _too_large(talk: Talk10) -> Seen:
    address = talk.filled(bytes(2_000))
    link = talk.receiver(address, credit=1, max_message_size=1_000)
    found = talk.next(link, 1.0)
    if found is not None:
        return Seen(Verdict.BREAKS, f"a message of {len(found.payload)} octets, where 1,000 are taken")
    return Seen(Verdict.CONFORMS, "the message isn't sent")


# Dynamic nodes.


@SUITE.on_a_channel(
    "source.address/dynamic-sender",
    "must",
    "A server that makes a dynamic source names it.",
    "attach whose source has an address",
    needs=_NODE,
)
def _dynamic(talk: Talk10) -> Seen:
    names: list[str] = []
    for _ in range(2):
        link = talk.asking(spec.RECEIVER, source=amqp.Source(dynamic=True), target=amqp.Target())
        unit = talk.attach(link)
        if unit is None:
            return talk.silence()
        if unit.event != "attach" or unit.content.source is None:
            return Seen(Verdict.INFORMATIONAL, f"it makes none: {talk.described(unit)}")
        names.append(link.address)
    fine = all(names) and names[0] != names[1]
    return judged(fine, ", ".join(names))


@SUITE.on_a_channel(
    "target.address/dynamic-receiver",
    "must",
    "A server that makes a dynamic target names it.",
    "attach whose target has an address, or one that is refused",
    needs=_NODE,
)
def _dynamic_target(talk: Talk10) -> Seen:
    link = talk.asking(spec.SENDER, source=amqp.Source(), target=amqp.Target(dynamic=True))
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    if unit.event != "attach" or unit.content.target is None:
        return Seen(Verdict.INFORMATIONAL, f"it makes none: {talk.described(unit)}")
    return judged(link.address, link.address or "no address")


@SUITE.on_a_channel(
    "lifetime/delete-on-close",
    "note",
    "A node that was made for a link goes when the link is closed.",
    "attaching to it is refused",
    needs=_NODE,
)
def _lifetime(talk: Talk10) -> Seen:
    properties = {"lifetime-policy": spec.DeleteOnClose()}
    source = amqp.Source(dynamic=True, dynamic_node_properties=properties)
    link = talk.asking(spec.RECEIVER, source=source, target=amqp.Target())
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    address = link.address
    if unit.event != "attach" or not address:
        return Seen(Verdict.INFORMATIONAL, f"it makes none: {talk.described(unit)}")
    talk.leave(link)
    again = talk.asking(spec.RECEIVER, source=amqp.Source(address), target=amqp.Target())
    unit = talk.attach(again)
    if unit is None:
        return talk.silence()
    gone = unit.event != "attach" or unit.content.source is None
    return judged(gone, "it is gone" if gone else "it is still there")


# Credit.


@SUITE.on_a_channel(
    "transport/flow/link-credit",
    "must",
    "No more deliveries are sent than there is credit for.",
    "2 of 5 messages",
    needs=_NODE,
)
def _credit(talk: Talk10) -> Seen:
    address = talk.filled(b"1", b"2", b"3", b"4", b"5")
    link = talk.receiver(address, credit=2)
    for _ in range(2):
        talk.arrives(link)
    return talk.no_more(link, "2 messages")


@SUITE.on_a_channel("transport/flow/no-credit", "note", "Without credit nothing is sent.", "no message", needs=_NODE)
def _none(talk: Talk10) -> Seen:
    link = talk.receiver(talk.filled(b"hello"))
    return talk.no_more(link, "no message")


@SUITE.on_a_channel(
    "transport/flow/credit-decrease",
    "must",
    "Credit can be taken back.",
    "no message behind a flow with a credit of 0",
    needs=_NODE,
)
def _decrease(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.receiver(address, credit=5)
    talk.grant(link, 0)
    if not talk.answers_still():
        return talk.silence()
    talk.store(talk.sender(address))
    return talk.no_more(link, "no message")


@SUITE.on_a_channel(
    "transport/flow/delivery-count-receiver",
    "must",
    "Credit counts from the delivery-count of the flow, not from its coming.",
    "1 more message of 5, where the flow counts from the beginning",
    needs=_NODE,
)
def _counts(talk: Talk10) -> Seen:
    address = talk.filled(b"1", b"2", b"3", b"4", b"5")
    link = talk.receiver(address, credit=2)
    began = link.count
    for _ in range(2):
        talk.arrives(link)
    talk.grant(link, 3, delivery_count=began)
    if talk.next(link) is None:
        return Seen(Verdict.BREAKS, f"no third message: {talk.ending()}")
    return talk.no_more(link, "3 messages")


def _drained(talk: Talk10, messages: int) -> Seen:
    address = talk.filled(*[b"hello"] * messages)
    link = talk.receiver(address)
    began = link.count
    talk.grant(link, 5, drain=True)
    for _ in range(messages):
        talk.arrives(link)
    told = ""
    # A flow from before the drain may come first.
    while (unit := talk.of(link, "flow", seconds=talk.patience.soon if told else None)) is not None:
        if unit.event != "flow":
            return Seen(Verdict.BREAKS, talk.described(unit))
        used = ((unit.content.delivery_count or 0) - began) & 0xFFFFFFFF
        left = unit.content.link_credit
        told = f"delivery-count {used} further, link-credit {left}"
        if used == 5 and not left:
            return Seen(Verdict.CONFORMS, told)
    return Seen(Verdict.BREAKS, told) if told else talk.silence()


for _variant, _messages in (("empty-queue", 0), ("two-messages", 2)):

    @SUITE.on_a_channel(
        "transport/flow/drain",
        "must",
        "A sender that is asked to drain sends what it has, uses up its credit, and tells so by a flow.",
        "flow with a delivery-count as if all credit were used, and a credit of 0",
        variant=_variant,
        needs=_NODE,
    )
    def _drain(talk: Talk10, messages: int = _messages) -> Seen:
        return _drained(talk, messages)


@SUITE.on_a_channel(
    "transport/flow/drain-meaning",
    "note",
    "Drained credit is gone: what comes later isn't sent.",
    "no message behind the drain",
    needs=_NODE,
)
def _gone(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.receiver(address)
    talk.grant(link, 5, drain=True)
    unit = talk.of(link, "flow")
    if unit is None or unit.event != "flow":
        return Seen(Verdict.INCONCLUSIVE, f"the drain isn't answered: {talk.described(unit)}")
    talk.store(talk.sender(address))
    return talk.no_more(link, "no message")


@SUITE.on_a_channel(
    "transport/flow/echo",
    "note",
    "A flow that asks for an echo is answered by a flow.",
    "flow of the link",
    variant="link",
    needs=_NODE,
)
def _echo(talk: Talk10) -> Seen:
    link = talk.receiver(talk.node())
    talk.grant(link, 1, echo=True)
    unit = talk.of(link, "flow")
    if unit is None:
        return talk.silence()
    return judged(unit.event == "flow", talk.described(unit))


@SUITE.on_a_channel(
    "transport/flow/delivery-count-sender",
    "must",
    "A flow of the sender tells how many deliveries it has sent.",
    "delivery-count 2 further than at the attach",
    needs=_NODE,
)
def _sender_count(talk: Talk10) -> Seen:
    link = talk.receiver(talk.filled(b"1", b"2"), credit=2)
    began = link.count
    for _ in range(2):
        talk.arrives(link)
    talk.grant(link, 0, echo=True)
    # A flow that answers the grant, from before the deliveries, may come first.
    unit = talk.of(link, "flow")
    while unit is not None and unit.event == "flow" and unit.content.link_credit:
        unit = talk.of(link, "flow")
    if unit is None:
        return talk.silence()
    if unit.event != "flow":
        return Seen(Verdict.BREAKS, talk.described(unit))
    told = unit.content.delivery_count
    fine = told is not None and (told - began) & 0xFFFFFFFF == 2
    return judged(fine, f"delivery-count {told}, {began} at the attach")


@SUITE.on_a_channel(
    "transport/error/transfer-limit",
    "note",
    "A transfer beyond the credit ends the link: transfer-limit-exceeded.",
    "detach with amqp:link:transfer-limit-exceeded",
    needs=_NODE,
)
def _overrun(talk: Talk10) -> Seen:
    link = talk.sender(talk.node(), credit=False)
    first = talk.until(lambda each: each.event == "flow" and each.content.handle == link.theirs, 1.0)
    credit = 0 if first is None else first.content.link_credit or 0
    if credit > 5_000:
        return Seen(Verdict.INFORMATIONAL, f"it grants {credit}: too many to overrun")
    for _ in range(credit + 1):
        talk.put(link, settled=True)
    unit = talk.wait(("detach",), 0, 1.0)
    if unit is None:
        # It may have granted more meanwhile.
        return Seen(Verdict.INFORMATIONAL, f"{credit + 1} messages are taken, where {credit} were granted")
    error = unit.content.error
    fine = unit.event == "detach" and error is not None and "transfer-limit" in str(error.condition)
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


# What a server chooses, and tells.


@SUITE.on_a_channel(
    "transport/link/lowest-handle",
    "should",
    "A new link has the lowest handle that is free.",
    "handle 0 for the first link of a session, and 1 for the second",
    needs=_NODE,
)
def _lowest(talk: Talk10) -> Seen:
    address = talk.node()
    talk.session(1)
    handles = [talk.receiver(address, 1).theirs for _ in range(2)]
    return judged(handles == [0, 1], f"handles {handles}")


@SUITE.on_a_channel(
    "transport/link/error-detach",
    "must",
    "An error of a link ends it by a detach that has the error, and closes it.",
    "detach with an error, and closed",
)
def _error(talk: Talk10) -> Seen:
    link = talk.asking(spec.RECEIVER, source=amqp.Source(talk.names.name()), target=amqp.Target())
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    if unit.event == "attach":
        unit = talk.of(link)
    if unit is None:
        return Seen(Verdict.INFORMATIONAL, "it makes the node")
    if unit.event != "detach":
        return Seen(Verdict.OTHER_CODE, f"{talk.described(unit)}: by {unit.event}, not detach")
    fine = unit.content.error is not None and unit.content.closed
    return judged(fine, f"{talk.described(unit)}, closed {unit.content.closed}")


@SUITE.on_a_channel(
    "source.address/dynamic-name",
    "should",
    "The name of a dynamic node tells the container and the link that it is for.",
    "an address with the link's name",
    needs=_NODE,
)
def _named(talk: Talk10) -> Seen:
    link = talk.asking(spec.RECEIVER, source=amqp.Source(dynamic=True), target=amqp.Target())
    unit = talk.attach(link)
    if unit is None:
        return talk.silence()
    if unit.event != "attach" or not link.address:
        return Seen(Verdict.INFORMATIONAL, f"it makes none: {talk.described(unit)}")
    return judged(link.name in link.address, link.address)


@SUITE.on_a_channel(
    "source.distribution-mode/sender-sets",
    "must",
    "A sender that has several distribution modes tells which one a link has.",
    "attach with move or copy; or without, if there is one mode",
    needs=_NODE,
)
def _told_mode(talk: Talk10) -> Seen:
    address = talk.node()
    told: list[str | None] = []
    for asked in (None, "move", "copy"):
        mode = None if asked is None else amqp.Symbol(asked)
        source = talk.receiver(address, source=amqp.Source(address, distribution_mode=mode)).answer.source
        found = source.distribution_mode if isinstance(source, amqp.Source) else None
        told.append(None if found is None else str(found))
    several = len({*told} - {None}) > 1
    return Seen(Verdict.BREAKS if several and None in told else Verdict.CONFORMS, f"modes {told}")


@SUITE.on_a_channel(
    "lifetime/delete-on-no-links",
    "note",
    "A node with this lifetime stays as long as it has a link.",
    "the node is there behind the first link, and gone behind the last",
    needs=_NODE,
)
def _no_links(talk: Talk10) -> Seen:
    properties = {amqp.Symbol("lifetime-policy"): spec.DeleteOnNoLinks()}
    source = amqp.Source(dynamic=True, dynamic_node_properties=properties)
    first = talk.asking(spec.RECEIVER, source=source, target=amqp.Target())
    unit = talk.attach(first)
    if unit is None:
        return talk.silence()
    if unit.event != "attach" or not first.address:
        return Seen(Verdict.INFORMATIONAL, f"it makes none: {talk.described(unit)}")
    second = talk.receiver(first.address)
    talk.leave(first)
    third = talk.receiver(first.address)
    talk.leave(second)
    talk.leave(third)
    again = talk.asking(spec.RECEIVER, source=amqp.Source(first.address), target=amqp.Target())
    unit = talk.attach(again)
    if unit is None:
        return talk.silence()
    gone = unit.event != "attach" or unit.content.source is None
    return judged(gone, "gone" if gone else "it is still there")
