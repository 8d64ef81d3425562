"""Cases of 1.0: transfers, their settlement, outcomes, and what becomes of a message."""

from __future__ import annotations

from typing import Any, Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from ..case import Suite
from ..talk_1_0 import MANY, Arrived, Talk10
from ..verdicts import Seen, Surprise, Verdict, judged

SUITE: Final = Suite(Talk10)

_NODE: Final = ("1.0/node",)

# Deliveries of the server.

_THREE = (b"1", b"2", b"3")


def _three(talk: Talk10) -> list[Arrived]:
    """Take three messages."""
    link = talk.receiver(talk.filled(*_THREE), credit=3)
    return [talk.arrives(link) for _ in _THREE]


@SUITE.on_a_channel(
    "transport/transfer/delivery-id",
    "must",
    "The first transfer of a delivery has its id, one more than the one before.",
    "three ids in a row",
    needs=_NODE,
)
def _ids(talk: Talk10) -> Seen:
    ids = [each.transfers[0].delivery_id for each in _three(talk)]
    fine = None not in ids and [(each or 0) - (ids[0] or 0) for each in ids] == [0, 1, 2]
    return judged(fine, f"delivery-ids {ids}")


@SUITE.on_a_channel(
    "transport/transfer/delivery-tag",
    "must",
    "The first transfer of a delivery has its tag.",
    "a tag in each",
    needs=_NODE,
)
def _tags(talk: Talk10) -> Seen:
    tags = [each.transfers[0].delivery_tag for each in _three(talk)]
    return Seen(Verdict.BREAKS if None in tags else Verdict.CONFORMS, f"tags {tags}")


@SUITE.on_a_channel(
    "transport/delivery/tag-unique",
    "must",
    "The unsettled deliveries of a link have different tags.",
    "three different tags",
    needs=_NODE,
)
def _unique(talk: Talk10) -> Seen:
    tags = [each.transfers[0].delivery_tag for each in _three(talk)]
    return judged(len({*tags}) == 3, f"tags {tags}")


@SUITE.on_a_channel(
    "transport/delivery/tag-size",
    "note",
    "A tag has no more than 32 octets.",
    "tags of 32 octets, at the most",
    needs=_NODE,
)
def _tag_size(talk: Talk10) -> Seen:
    sizes = [len(each.transfers[0].delivery_tag or b"") for each in _three(talk)]
    return judged(max(sizes) <= 32, f"tags of {sizes} octets")


@SUITE.on_a_channel(
    "transport/transfer/message-format",
    "must",
    "The first transfer of a delivery has its format.",
    "message-format 0 in each",
    needs=_NODE,
)
def _format(talk: Talk10) -> Seen:
    formats = [each.transfers[0].message_format for each in _three(talk)]
    return judged(formats == [0, 0, 0], f"message-formats {formats}")


@SUITE.on_a_channel(
    "transport/connection/ordered",
    "must",
    "The frames of a connection keep their order: messages come as they went.",
    "50 messages in order",
    needs=_NODE,
)
def _order(talk: Talk10) -> Seen:
    bodies = [b"%d" % place for place in range(50)]
    address = talk.node()
    sender = talk.sender(address)
    for each in bodies:
        talk.store(sender, each)
    return talk.holds(address, *bodies)


# Transfers to the server.


@SUITE.on_a_channel(
    "transport/transfer/rcv-first",
    "must",
    "A receiver of the mode first settles a delivery on its own.",
    "disposition that settles, as accepted",
    needs=_NODE,
)
def _first(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    unit = talk.outcome(talk.put(link))
    if unit is None:
        return talk.silence()
    if unit.event != "disposition":
        return Seen(Verdict.BREAKS, talk.described(unit))
    settled = unit.content.settled
    return judged(settled, f"{talk.described(unit)}, {'settled' if settled else 'unsettled'}")


@SUITE.on_a_channel(
    "transport/transfer/rcv-second",
    "must",
    "A receiver of the mode second tells the outcome, and settles behind the sender.",
    "disposition that doesn't settle, if the server takes the mode",
    needs=_NODE,
)
def _second(talk: Talk10) -> Seen:
    address = talk.node()
    try:
        link = talk.sender(address, rcv_settle_mode=1)
    except Surprise as error:
        return Seen(Verdict.INFORMATIONAL, f"it doesn't take the mode: {error}")
    if link.answer.rcv_settle_mode != 1:
        return Seen(Verdict.INFORMATIONAL, "it changes the mode to first")
    number = talk.put(link)
    unit = talk.outcome(number)
    if unit is None:
        return talk.silence()
    if unit.event != "disposition" or unit.content.settled:
        return Seen(Verdict.BREAKS, f"{talk.described(unit)}, settled")
    talk.say(spec.Disposition(spec.SENDER, number, settled=True, state=unit.content.state))
    return Seen(Verdict.CONFORMS, f"{talk.described(unit)}, unsettled")


@SUITE.on_a_channel(
    "transport/disposition/role",
    "must",
    "A disposition says by its role which side's deliveries it is about.",
    "disposition in the role of the receiver",
    needs=_NODE,
)
def _role(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    number = talk.put(link)
    unit = talk.wait(("disposition",), 0)
    if unit is None:
        return talk.silence()
    if unit.event != "disposition":
        return Seen(Verdict.BREAKS, talk.described(unit))
    fine = unit.content.role is spec.RECEIVER and unit.content.first == number
    return judged(fine, f"role {'receiver' if unit.content.role else 'sender'}")


@SUITE.on_a_channel(
    "transport/transfer/settled-default",
    "must",
    "A transfer that doesn't say settled isn't.",
    "disposition",
    needs=_NODE,
)
def _default(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    return talk.accepts(talk.put(link, settled=None), link)


@SUITE.on_a_channel(
    "transport/settle-mode/sender",
    "note",
    "A settled delivery needs no answer, and is taken.",
    "the message in the queue",
    needs=_NODE,
)
def _settled(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.sender(address)
    talk.put(link, settled=True)
    return talk.holds(address, b"hello")


@SUITE.on_a_channel(
    "transport/transfer/more",
    "note",
    "A delivery may come in any number of transfers, and is one message.",
    "the message, whole",
    needs=_NODE,
)
def _more(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.sender(address)
    payload = amqp.Message(b"hello").encode()
    number = talk.sessions[0].next_delivery_id
    for place in range(len(payload)):
        more = place < len(payload) - 1
        talk.say(talk.transferring(link, begins=not place, more=more), payload=payload[place : place + 1])
    unit = talk.outcome(number)
    if unit is None or unit.event != "disposition":
        return Seen(Verdict.BREAKS, talk.described(unit))
    return talk.holds(address, b"hello")


@SUITE.on_a_channel(
    "transport/transfer/interleave-links",
    "may",
    "The transfers of deliveries on two links may alternate.",
    "both messages, whole",
    needs=_NODE,
)
def _interleaved(talk: Talk10) -> Seen:
    address = talk.node()
    links = [talk.sender(address) for _ in range(2)]
    payload = amqp.Message(b"hello").encode()
    half = len(payload) // 2
    for more, part in ((True, payload[:half]), (False, payload[half:])):
        for link in links:
            talk.say(talk.transferring(link, begins=more, more=more), payload=part)
    return talk.holds(address, b"hello", b"hello")


@SUITE.on_a_channel(
    "transport/transfer/aborted",
    "must",
    "A delivery that is aborted is as if it had never been sent.",
    "no message but the next",
    needs=_NODE,
)
def _aborted(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.sender(address)
    payload = amqp.Message(b"aborted").encode()
    talk.say(talk.transferring(link, more=True), payload=payload[:4])
    talk.say(talk.transferring(link, begins=False, aborted=True))
    talk.put(link, b"whole", settled=True)
    return talk.holds(address, b"whole")


@SUITE.on_a_channel(
    "transport/transfer/aborted-payload",
    "must",
    "What an aborting transfer carries is passed over.",
    "no message but the next",
    needs=_NODE,
)
def _aborted_payload(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.sender(address)
    payload = amqp.Message(b"aborted").encode()
    talk.say(talk.transferring(link, more=True), payload=payload[:4])
    talk.say(talk.transferring(link, begins=False, aborted=True), payload=payload[4:])
    talk.put(link, b"whole", settled=True)
    return talk.holds(address, b"whole")


for _field in ("delivery_id", "delivery_tag"):

    @SUITE.on_a_channel(
        "transport/error/invalid-field",
        "note",
        "A first transfer without an id, or without a tag, can't be taken.",
        "detach, end or close with an error",
        variant=_field.replace("_", "-"),
        needs=_NODE,
    )
    def _lacking(talk: Talk10, field: str = _field) -> Seen:
        link = talk.sender(talk.node())
        lacking: dict[str, Any] = {field: None}
        talk.put(link, **lacking)
        return talk.fails("detach", also=("end", "close"), silent=True)


@SUITE.on_a_channel(
    "transport/disposition/range",
    "note",
    "A disposition is about all deliveries from its first to its last.",
    "none of three messages left",
    needs=_NODE,
)
def _range(talk: Talk10) -> Seen:
    address = talk.filled(*_THREE)
    link = talk.receiver(address, credit=3)
    found = [talk.arrives(link) for _ in _THREE]
    state = amqp.Accepted()
    talk.say(spec.Disposition(spec.RECEIVER, found[0].number, found[-1].number, settled=True, state=state))
    talk.leave(link)
    return talk.holds(address)


@SUITE.on_a_channel(
    "transport/delivery/settle-once",
    "note",
    "A delivery is settled once: another disposition means nothing for it.",
    "served as before",
    needs=_NODE,
)
def _settled_already(talk: Talk10) -> Seen:
    link = talk.receiver(talk.filled(b"hello"), credit=1)
    found = talk.arrives(link)
    talk.settle(found)
    talk.settle(found)
    fine = talk.answers_still()
    unit = talk.wait(("detach",), 0, 0)
    return judged(fine and unit is None, "served as before" if fine and unit is None else talk.described(unit))


# Outcomes.


@SUITE.on_a_channel(
    "node/accepted-rejected-archive", "note", "An accepted message is gone.", "no message left", needs=_NODE
)
def _accepted(talk: Talk10) -> Seen:
    return _after(talk, amqp.Accepted())[0]


@SUITE.on_a_channel(
    "node/released-modified-available", "note", "A released message is there again.", "the message", needs=_NODE
)
def _released(talk: Talk10) -> Seen:
    return _after(talk, amqp.Released(), b"hello")[0]


@SUITE.on_a_channel(
    "released/no-count",
    "must",
    "Releasing a message doesn't count as a failed delivery.",
    "the message, with a delivery-count of 0",
    needs=_NODE,
)
def _released_count(talk: Talk10) -> Seen:
    return _counted(_after(talk, amqp.Released(), b"hello"), 0)


@SUITE.on_a_channel(
    "modified/delivery-failed",
    "must",
    "Modifying a message with delivery-failed counts as a failed delivery.",
    "the message, with a delivery-count of 1",
    needs=_NODE,
)
def _failed(talk: Talk10) -> Seen:
    return _counted(_after(talk, amqp.Modified(delivery_failed=True), b"hello"), 1)


@SUITE.on_a_channel(
    "header.delivery-count/rule",
    "note",
    "Modifying a message without delivery-failed doesn't count.",
    "the message, with a delivery-count of 0",
    needs=_NODE,
)
def _not_failed(talk: Talk10) -> Seen:
    return _counted(_after(talk, amqp.Modified(delivery_failed=False), b"hello"), 0)


def _after(talk: Talk10, state: amqp.DeliveryState, *bodies: bytes) -> tuple[Seen, list[Arrived]]:
    """Settle a message so, and judge what is in the queue then."""
    address = talk.filled(b"hello")
    link = talk.receiver(address, credit=1)
    talk.settle(talk.arrives(link), state=state)
    talk.leave(link)
    again = talk.receiver(address, credit=MANY)
    found = talk.count(again, len(bodies))
    talk.settle(*found)
    text = f"{len(found)} messages"
    fine = [each.message.body for each in found] == [*bodies]
    return judged(fine, text), found


def _counted(after: tuple[Seen, list[Arrived]], wanted: int) -> Seen:
    seen, found = after
    if seen.verdict is not Verdict.CONFORMS:
        return seen
    count = found[0].message.delivery_count
    return judged(count == wanted, f"delivery-count {count}")


@SUITE.on_a_channel(
    "modified/undeliverable-here",
    "must",
    "A message that is undeliverable at a link isn't sent there again.",
    "no message on the link, and the message on another",
    needs=_NODE,
)
def _undeliverable(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    link = talk.receiver(address, credit=MANY)
    talk.settle(talk.arrives(link), state=amqp.Modified(delivery_failed=True, undeliverable_here=True))
    unit = talk.quiet(link)
    if unit is not None:
        return Seen(Verdict.BREAKS, f"{talk.described(unit)} on the same link")
    return talk.holds(address, b"hello")


@SUITE.on_a_channel(
    "modified/annotations-merge",
    "note",
    "Annotations of a modified outcome are added to the message's.",
    "the message with the annotation",
    needs=_NODE,
)
def _annotated(talk: Talk10) -> Seen:
    state = amqp.Modified(message_annotations={amqp.Symbol("x-opt-probe"): "added"})
    seen, found = _after(talk, state, b"hello")
    if seen.verdict is not Verdict.CONFORMS:
        return seen
    value = found[0].message.message_annotations.get("x-opt-probe")
    return judged(value == "added", f"x-opt-probe: {value!r}")


@SUITE.on_a_channel(
    "header.first-acquirer/meaning",
    "note",
    "Only the first link that acquires a message may be told that it is the first.",
    "first-acquirer isn't set on the second delivery",
    needs=_NODE,
)
def _acquirer(talk: Talk10) -> Seen:
    address = talk.node()
    talk.store(talk.sender(address), amqp.Message(b"hello", header=amqp.Header(first_acquirer=True)))
    link = talk.receiver(address, credit=2)
    first = talk.arrives(link)
    talk.settle(first, state=amqp.Modified(delivery_failed=True))
    again = talk.arrives(link)
    told = [each.message.first_acquirer for each in (first, again)]
    return Seen(Verdict.BREAKS if told[1] else Verdict.CONFORMS, f"first-acquirer {told}".lower())


@SUITE.on_a_channel(
    "node/acquired-until-settled",
    "note",
    "A message that one receiver has isn't sent to another before it is settled.",
    "no message for the second",
    needs=_NODE,
)
def _acquired(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    talk.arrives(talk.receiver(address, credit=1))
    return talk.no_more(talk.receiver(address, credit=1), "no message for the second")


@SUITE.on_a_channel(
    "source/copy",
    "note",
    "A source that copies leaves the messages in the queue.",
    "the message, and again, if the server takes the mode",
    needs=_NODE,
)
def _copy(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    link = talk.receiver(address, credit=1, source=amqp.Source(address, distribution_mode=amqp.Symbol("copy")))
    source = link.answer.source
    mode = source.distribution_mode if isinstance(source, amqp.Source) else None
    found = talk.arrives(link)
    talk.settle(found)
    talk.leave(link)
    if mode != "copy":
        return Seen(Verdict.INFORMATIONAL, f"its mode is {mode}")
    return talk.holds(address, b"hello")


# Messages.


def _passes(talk: Talk10, message: amqp.Message) -> amqp.Message:
    address = talk.node()
    talk.store(talk.sender(address), message)
    return talk.arrives(talk.receiver(address, credit=1)).message


_FULL: Final[dict[str, Any]] = {
    "message_annotations": {amqp.Symbol("x-opt-probe"): "kept"},
    "properties": amqp.Properties(
        message_id="m",
        user_id=b"guest",
        to="t",
        subject="s",
        reply_to="r",
        correlation_id="c",
        content_type="text/plain",
        creation_time=amqp.Timestamp(1_700_000_000_000),
        group_id="g",
        group_sequence=7,
        reply_to_group_id="h",
    ),
    "application_properties": {"name": "value", "number": 5, "yes": True, "nothing": None},
}


def _full() -> amqp.Message:
    # Without a user-id, which a server may compare with who logs in.
    properties = _FULL["properties"].replace(user_id=None)
    return amqp.Message(b"hello", **{**_FULL, "properties": properties})


@SUITE.on_a_channel(
    "message/bare-immutable",
    "must",
    "Nobody changes the bare message: properties, application properties and body.",
    "each of their octets as it was",
    needs=_NODE,
)
def _bare(talk: Talk10) -> Seen:
    sent = amqp.Message.from_wire(_full().encode())
    came = _passes(talk, sent)
    same = came.bare == sent.bare
    text = "as they were" if same else f"{sent.bare.hex()} became {came.bare.hex()}"
    return judged(same, text)


@SUITE.on_a_channel(
    "properties/unaltered", "must", "Nobody changes the properties.", "each property as it was", needs=_NODE
)
def _properties(talk: Talk10) -> Seen:
    sent = _full()
    came = _passes(talk, sent).properties
    wanted = sent.properties
    if came is None or wanted is None:
        return Seen(Verdict.BREAKS, "no properties")
    names = wanted.__match_args__
    changed = [each for each in names if getattr(came, each) != getattr(wanted, each)]
    return Seen(Verdict.BREAKS if changed else Verdict.CONFORMS, f"changed: {', '.join(changed) or 'none'}")


@SUITE.on_a_channel(
    "message-annotations/propagate", "must", "Message annotations are handed on.", "the annotation", needs=_NODE
)
def _annotations(talk: Talk10) -> Seen:
    value = _passes(talk, _full()).message_annotations.get("x-opt-probe")
    return judged(value == "kept", f"x-opt-probe: {value!r}")


@SUITE.on_a_channel(
    "delivery-annotations/hop",
    "note",
    "Delivery annotations are for the next hop only.",
    "no such annotation",
    needs=_NODE,
)
def _hop(talk: Talk10) -> Seen:
    message = amqp.Message(b"hello", delivery_annotations={amqp.Symbol("x-opt-probe"): "hop"})
    value = _passes(talk, message).delivery_annotations.get("x-opt-probe")
    return judged(value is None, f"x-opt-probe: {value!r}")


@SUITE.on_a_channel(
    "application-properties/values",
    "note",
    "Application properties are of simple types, and are handed on.",
    "each value as it was",
    needs=_NODE,
)
def _application(talk: Talk10) -> Seen:
    sent = _full()
    came = _passes(talk, sent).application_properties
    changed = [key for key, value in sent.application_properties.items() if came.get(key) != value]
    return Seen(Verdict.BREAKS if changed else Verdict.CONFORMS, f"changed: {', '.join(changed) or 'none'}")


@SUITE.on_a_channel(
    "header/absent-defaults",
    "must",
    "A message without a header is as one whose header has the defaults.",
    "the message: not durable, priority 4, no ttl",
    needs=_NODE,
)
def _defaults(talk: Talk10) -> Seen:
    came = _passes(talk, amqp.Message(b"hello"))
    seen = (came.durable, came.priority, came.ttl)
    return judged(seen == (False, 4, None), f"durable {seen[0]}, priority {seen[1]}, ttl {seen[2]}".lower())


@SUITE.on_a_channel(
    "header.durable/no-loss",
    "must",
    "A durable message is taken, or refused; it doesn't become another.",
    "the message, durable; or another outcome than accepted",
    needs=_NODE,
)
def _durable(talk: Talk10) -> Seen:
    address = talk.node()
    link = talk.sender(address)
    number = talk.put(link, amqp.Message(b"hello", header=amqp.Header(durable=True)))
    unit = talk.outcome(number)
    if unit is None:
        return talk.silence()
    if unit.event != "disposition" or not isinstance(unit.content.state, amqp.Accepted):
        return Seen(Verdict.CONFORMS, f"it is refused: {talk.described(unit)}")
    durable = talk.arrives(talk.receiver(address, credit=1)).message.durable
    return judged(durable, "durable" if durable else "no longer durable")


@SUITE.on_a_channel(
    "header.ttl/expire", "note", "A message whose time to live is over isn't delivered.", "no message", needs=_NODE
)
def _expired(talk: Talk10) -> Seen:
    address = talk.node()
    talk.store(talk.sender(address), amqp.Message(b"hello", header=amqp.Header(ttl=1)))
    talk.rest(0.2)
    return talk.holds(address)


for _name, _body in (
    ("data", amqp.Data(b"hello")),
    ("value", amqp.AmqpValue({"a": [1, None, "x"]})),
    ("sequence", amqp.AmqpSequence([1, "two"])),
):

    @SUITE.on_a_channel(
        "message/body-choice",
        "note",
        "A body is of data, of sequences, or of one value, and stays so.",
        "the body's octets as they were",
        variant=_name,
        needs=_NODE,
    )
    def _kind(talk: Talk10, body: Any = _body) -> Seen:
        sent = amqp.Message.from_wire(amqp.Message(body).encode())
        came = _passes(talk, sent)
        same = came.bare == sent.bare
        text = "as it was" if same else f"{sent.bare.hex()} became {came.bare.hex()}"
        return judged(same, text)


@SUITE.on_a_channel(
    "message/body-choice",
    "note",
    "A body is of data, of sequences, or of one value, and stays so.",
    "the body, 200,000 octets long",
    variant="large",
    needs=_NODE,
)
def _large(talk: Talk10) -> Seen:
    body = bytes(range(256)) * 782
    came = _passes(talk, amqp.Message(body)).body
    return judged(came == body, f"{len(came)} octets")


@SUITE.on_a_channel(
    "annotations/unknown",
    "must",
    "An annotation that isn't known, and isn't one that may be ignored, ends the link: not-implemented.",
    "detach with amqp:not-implemented; or the message is taken, where the server knows the annotation",
    needs=_NODE,
)
def _unknown(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    number = talk.put(link, amqp.Message(b"hello", message_annotations={amqp.Symbol("probe-unknown"): 1}))
    unit = talk.outcome(number)
    if unit is None:
        return talk.silence()
    if unit.event == "disposition":
        # Which annotations a server knows can't be told from outside: it may know this one.
        return Seen(Verdict.INFORMATIONAL, f"{talk.described(unit)}: it is taken")
    error = unit.content.error
    fine = error is not None and str(error.condition) == "amqp:not-implemented" and unit.event == "detach"
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "message/section-order",
    "note",
    "The sections of a message have their order.",
    "another outcome than accepted, or an error",
    needs=_NODE,
)
def _sections(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    # The body before the header.
    payload = b"\x00\x53\x75\xa0\x01x" + b"\x00\x53\x70\x45"
    number = talk.sessions[0].next_delivery_id
    talk.say(talk.transferring(link), payload=payload)
    unit = talk.outcome(number)
    if unit is None:
        return talk.silence()
    if unit.event == "disposition" and isinstance(unit.content.state, amqp.Accepted):
        return Seen(Verdict.INFORMATIONAL, "it is taken")
    return Seen(Verdict.CONFORMS, talk.described(unit))


# Between deliveries.


@SUITE.on_a_channel(
    "node/acquire-before-transfer",
    "note",
    "A message is acquired by the link that it is sent on, and by no other.",
    "two messages for two receivers, each once",
    needs=_NODE,
)
def _shared(talk: Talk10) -> Seen:
    address = talk.filled(b"1", b"2")
    links = [talk.receiver(address, credit=1) for _ in range(2)]
    got = sorted([talk.arrives(each).message.body for each in links])
    return judged(got == [b"1", b"2"], f"messages: {got}")


@SUITE.on_a_channel(
    "node/default-outcome",
    "note",
    "A delivery that is settled without an outcome has the source's default outcome.",
    "the message again, where that is released",
    needs=_NODE,
)
def _default_outcome(talk: Talk10) -> Seen:
    address = talk.filled(b"hello")
    source = amqp.Source(address, default_outcome=amqp.Released())
    link = talk.receiver(address, credit=1, source=source)
    kept = link.answer.source
    if not isinstance(kept, amqp.Source) or not isinstance(kept.default_outcome, amqp.Released):
        return Seen(Verdict.INFORMATIONAL, "its default outcome is another")
    talk.say(spec.Disposition(spec.RECEIVER, talk.arrives(link).number, settled=True))
    talk.leave(link)
    return talk.holds(address, b"hello")


@SUITE.case(
    "transport/transfer/no-interleave",
    "must",
    "The transfers of one delivery aren't mixed with those of another on its link.",
    "three messages of 2,000 octets, each whole, in frames of 512",
    needs=_NODE,
)
def _whole(talk: Talk10) -> Seen:
    talk.login(max_frame_size=512)
    talk.session()
    bodies = [bytes([place]) * 2_000 for place in range(3)]
    link = talk.receiver(talk.filled(*bodies), credit=3)
    got = [talk.arrives(link).message.body for _ in bodies]
    return judged(got == bodies, f"messages of {[len(each) for each in got]} octets")


@SUITE.on_a_channel(
    "transport/transfer/batchable",
    "note",
    "A batchable delivery is answered as any other, if later.",
    "disposition, accepted",
    needs=_NODE,
)
def _batchable(talk: Talk10) -> Seen:
    link = talk.sender(talk.node())
    return talk.accepts(talk.put(link, batchable=True), link)
