"""docs/conversions.md: the parts of a message that each of the 4 x 4 conversions keeps, found by converting."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from amqp_sansio import amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.methods import BasicProperties
from amqp_sansio._classic.codec.table import RABBIT, RABBIT_0_8, Table, Timestamp, Typed
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.types import encode_value
from amqp_sansio.amqp_0_10.codec.values import Struct32
from amqp_sansio.amqp_1_0.codec import values
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.conversion import as_0_10, as_1_0, as_classic, read
from amqp_sansio.broker.conversion.common import ANNOTATION_PREFIX, HEADER_PREFIX, Common
from amqp_sansio.broker.model.content import Content, Death, Message
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tools.docs.pages import run

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
RULES = {AMQP_0_8: RABBIT_0_8, AMQP_0_9_1: RABBIT}
SAME, KEPT, CARRIED = "same octets", "kept", "carried"

_UUID = UUID("550e8400-e29b-41d4-a716-446655440000")
_DEATHS = (Death("jobs", "rejected", 2, "shop", ("orders",), 1_700_000_000.0),)
_SYMBOL = values.Symbol


class Sample(NamedTuple):
    """A possible part of a message: a name, a message that has it, and a test for it."""

    name: str
    content: Content
    see: Callable[[Content], Any] = lambda content: said(read(content))


def said(common: Common) -> str:
    """Return the whole content of a message in canonical order, including the kind of every value."""
    return repr(
        (
            sorted(common.properties.items()),
            sorted(map(repr, common.headers)),
            sorted(map(repr, common.annotations)),
            (common.footer, common.form, common.body, common.deaths, common.expirations),
        )
    )


def convert(content: Content, target: Version) -> Content:
    """Return the message in the target's version."""
    message = Message(content, "shop", "orders", 1)
    if target is AMQP_1_0:
        return as_1_0(message)
    if target is AMQP_0_10:
        return as_0_10(message)
    return as_classic(message, target, RULES[target])


def classic(version: Version, body: bytes = b"hello", **properties: Any) -> ClassicContent:
    """Make a message of 0-8 or 0-9-1."""
    raw = BasicProperties(**properties).encode(RULES[version])
    return ClassicContent(version, raw, RULES[version], body)


def content_0_10(body: bytes = b"hello", **sections: Any) -> Content_0_10:
    """Make a message of 0-10."""
    message = amqp_0_10.Message(body, **sections)
    return Content_0_10(message.headers, body)


def content_1_0(body: Any = b"hello", **sections: Any) -> Content_1_0:
    """Make a message of 1.0."""
    return Content_1_0(amqp_1_0.Message(body, **sections).encode())


def _classic_samples(version: Version) -> list[Sample]:
    def with_(**properties: Any) -> ClassicContent:
        return classic(version, **properties)

    odd = b"caf\xe9".decode("utf-8", "surrogateescape")
    twice = Table.from_wire(b"\1aI\0\0\0\1\1aI\0\0\0\2", RULES[version])
    return [
        Sample("body", with_()),
        Sample("content-type, content-encoding", with_(content_type="text/plain", content_encoding="gzip")),
        Sample("content-type that isn't ASCII", with_(content_type="text/caf\u00e9")),
        Sample("delivery-mode 2", with_(delivery_mode=2)),
        Sample("delivery-mode 1", with_(delivery_mode=1)),
        Sample("delivery-mode of another number", with_(delivery_mode=7)),
        Sample("priority", with_(priority=9)),
        Sample("priority 4", with_(priority=4)),
        Sample("correlation-id", with_(correlation_id="order-7")),
        Sample("correlation-id that isn't UTF-8", with_(correlation_id=odd)),
        Sample("message-id", with_(message_id="m-1")),
        Sample("message-id, a UUID as text", with_(message_id=str(_UUID))),
        Sample("message-id, a UUID as a URN", with_(message_id=f"urn:uuid:{_UUID}")),
        Sample("reply-to, a queue", with_(reply_to="answers")),
        Sample("reply-to that isn't UTF-8", with_(reply_to=odd)),
        Sample("expiration", with_(expiration="60000")),
        Sample("expiration above 32 bits", with_(expiration="4294967296")),
        Sample("expiration that is no number", with_(expiration="soon")),
        Sample("timestamp", with_(timestamp=1_700_000_000)),
        Sample("timestamp beyond 1.0's milliseconds", with_(timestamp=1 << 62)),
        Sample("type", with_(type="order")),
        Sample("user-id", with_(user_id="guest")),
        Sample("app-id", with_(app_id="shop")),
        Sample("cluster-id", with_(cluster_id="east")),
        Sample("headers: text, numbers, booleans, bytes, void", with_(headers=_PLAIN)),
        Sample("headers: timestamps, decimals", with_(headers={"a": Timestamp(1_700_000_000), "b": Decimal("9.95")})),
        Sample("headers: tables, arrays", with_(headers={"a": {"b": [1, "c", {"d": None}]}})),
        Sample("headers: text that isn't UTF-8", with_(headers={"a": odd})),
        Sample("headers: a name that isn't UTF-8", with_(headers={odd: 1})),
        Sample("headers: a name of x-opt-", with_(headers={"x-opt-trace": "1"})),
        Sample("headers: a timestamp beyond 64 bits of milliseconds", with_(headers={"a": Timestamp(1 << 63)})),
        Sample("headers: a name twice", with_(headers=twice), _raw_properties),
        Sample("deaths", with_(expiration="5").with_deaths(_DEATHS)),
    ]


_PLAIN = {
    "a": "text",
    **{tag: Typed(tag, 7) for tag in "bBsuIil"},
    "t": True,
    "x": b"\xff",
    "V": None,
    "d": 0.5,
    "f": Typed("f", 0.5),
}


def _raw_properties(content: Content) -> Any:
    return content.raw_properties if isinstance(content, ClassicContent) else None


def _samples_0_10() -> list[Sample]:
    def delivery(**fields: Any) -> Content_0_10:
        return content_0_10(delivery_properties=amqp_0_10.DeliveryProperties(**fields))

    def message(**fields: Any) -> Content_0_10:
        return content_0_10(message_properties=amqp_0_10.MessageProperties(**fields))

    def typed(**types: Any) -> Content_0_10:
        headers = {name: spec.Typed(name.replace("_", "-"), value) for name, value in types.items()}
        return content_0_10(application_headers=headers)

    def delivered(*names: str) -> Callable[[Content], Any]:
        return lambda content: [
            getattr(content.delivery_properties, name) for name in names if isinstance(content, Content_0_10)
        ]

    answers = spec.ReplyTo("amq.direct", "answers")
    numbers = dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"), 7)
    return [
        Sample("body", content_0_10()),
        Sample("content-type, content-encoding", message(content_type="text/plain", content_encoding="gzip")),
        Sample("body of content-type amqp/map", _MAP),
        Sample("body of content-type amqp/list", _LIST),
        Sample("body of content-type amqp/map that isn't one", content_0_10(b"no map", content_type="amqp/map")),
        Sample("content-length", message(content_length=5), _content_length),
        Sample("delivery-mode persistent", delivery(delivery_mode=2)),
        Sample("delivery-mode non-persistent", delivery(delivery_mode=1)),
        Sample("priority", delivery(priority=9)),
        Sample("priority 4", delivery(priority=4)),
        Sample("ttl", delivery(ttl=60_000)),
        Sample("ttl above 32 bits", delivery(ttl=1 << 32)),
        Sample("timestamp", delivery(timestamp=1_700_000_000)),
        Sample(
            "exchange, routing-key",
            delivery(exchange="shop", routing_key="orders"),
            delivered("exchange", "routing_key"),
        ),
        Sample("redelivered", delivery(redelivered=True), delivered("redelivered")),
        Sample(
            "discard-unroutable, immediate",
            delivery(discard_unroutable=True, immediate=True),
            delivered("discard_unroutable", "immediate"),
        ),
        Sample("expiration", delivery(expiration=1_700_000_000), delivered("expiration")),
        Sample("resume-id, resume-ttl", delivery(resume_id="r", resume_ttl=1), delivered("resume_id", "resume_ttl")),
        Sample("message-id", message(message_id=_UUID)),
        Sample("correlation-id", message(correlation_id=b"order-7")),
        Sample("correlation-id that isn't UTF-8", message(correlation_id=b"\xff")),
        Sample("correlation-id above 255 octets", message(correlation_id=b"c" * 300)),
        Sample("reply-to, routing key alone", message(reply_to=spec.ReplyTo(None, "answers"))),
        Sample("reply-to, exchange and routing key", message(reply_to=answers)),
        Sample("user-id", message(user_id=b"guest")),
        Sample("user-id above 255 octets", message(user_id=b"u" * 300)),
        Sample("app-id", message(app_id=b"shop")),
        Sample("subject (qpid.subject)", content_0_10(application_headers={"qpid.subject": "order"})),
        Sample(
            "headers: text, numbers, booleans, bytes, void",
            typed(str16="a", boolean=True, vbin32=b"\xff", void=None, float=0.5, double=0.5, **numbers),
        ),
        Sample("headers: uint64 above 63 bits, uuid, char", typed(uint64=1 << 63, uuid=_UUID, char_utf32="c")),
        Sample(
            "headers: datetime, dec32, dec64",
            typed(datetime=1_700_000_000, dec32=Decimal("9.95"), dec64=Decimal("9.95")),
        ),
        Sample("headers: maps, lists", content_0_10(application_headers={"a": {"b": [1, "c", {"d": None}]}})),
        Sample("headers: arrays", typed(array=[1, 2])),
        Sample("headers: struct32", content_0_10(application_headers={"a": Struct32(0x9901, b"\xff")})),
        Sample("further structs of the header segment", content_0_10(others=(Struct32(0x9901, b"\xff"),)), _others),
        Sample("deaths", delivery(ttl=5).with_deaths(_DEATHS)),
    ]


_MAP_OCTETS = encode_value({"a": 1, "b": ["c", None]})[1:]
_LIST_OCTETS = encode_value([1, "c", {"d": True}])[1:]
_MAP = content_0_10(_MAP_OCTETS, content_type="amqp/map")
_LIST = content_0_10(_LIST_OCTETS, content_type="amqp/list")


def _content_length(content: Content) -> Any:
    return content.message_properties.content_length if isinstance(content, Content_0_10) else None


def _others(content: Content) -> Any:
    return content.header_segment.others if isinstance(content, Content_0_10) else None


def _samples_1_0() -> list[Sample]:
    def header(**fields: Any) -> Content_1_0:
        return content_1_0(header=amqp_1_0.Header(**fields))

    def properties(**fields: Any) -> Content_1_0:
        return content_1_0(properties=amqp_1_0.Properties(**fields))

    def application(**named: Any) -> Content_1_0:
        return content_1_0(application_properties=named)

    def annotation(key: Any, value: Any) -> Content_1_0:
        return content_1_0(message_annotations={key: value})

    described = values.Described(_SYMBOL("example:url"), "http://example.org/")
    return [
        Sample("body: one data section", content_1_0()),
        Sample("body: several data sections", content_1_0(amqp_1_0.Data(b"a", b"b")), _parts),
        Sample("body: amqp-value, string", content_1_0("hello")),
        Sample("body: amqp-value, binary", content_1_0(amqp_1_0.AmqpValue(b"hello"))),
        Sample("body: amqp-value, null", content_1_0(amqp_1_0.AmqpValue(None))),
        Sample("body: amqp-value, map", content_1_0({"a": 1, "b": ["c", None]})),
        Sample("body: amqp-value, list", content_1_0(amqp_1_0.AmqpValue([1, "c", {"d": True}]))),
        Sample("body: amqp-value, map with keys that aren't strings", content_1_0({1: "a"})),
        Sample("body: amqp-value of another type", content_1_0(described)),
        Sample("body: amqp-sequence", content_1_0(amqp_1_0.AmqpSequence([1, 2], ["a"]))),
        Sample("message format other than 0", Content_1_0(b"any octets", 0x100)),
        Sample("header.durable", header(durable=True)),
        Sample("header.priority", header(priority=9)),
        Sample("header.ttl", header(ttl=60_000)),
        Sample("header.first-acquirer, delivery-count", header(first_acquirer=True, delivery_count=2), _delivery),
        Sample("delivery annotations", content_1_0(delivery_annotations={"x-opt-a": 1}), _delivery_annotations),
        Sample("message annotations: x-opt-", annotation("x-opt-trace", "1")),
        Sample("message annotations: x-opt-, of a type of 1.0's own", annotation("x-opt-url", described)),
        Sample("message annotations: other keys", content_1_0(message_annotations={"a": 1, values.ULong(7): [1]})),
        Sample("message-id, string", properties(message_id="m-1")),
        Sample("message-id, a URN as string", properties(message_id=f"urn:uuid:{_UUID}")),
        Sample("message-id, uuid", properties(message_id=_UUID)),
        Sample("message-id, ulong", properties(message_id=7)),
        Sample("message-id, ulong above 63 bits", properties(message_id=1 << 63)),
        Sample("message-id, binary", properties(message_id=b"\xff")),
        Sample("message-id, binary that is UTF-8", properties(message_id=b"m-1")),
        Sample("message-id above 255 octets", properties(message_id="m" * 300)),
        Sample("correlation-id, string", properties(correlation_id="order-7")),
        Sample("correlation-id, uuid", properties(correlation_id=_UUID)),
        Sample("correlation-id, binary", properties(correlation_id=b"\xff")),
        Sample("user-id", properties(user_id=b"guest")),
        Sample("to", properties(to="/queues/jobs")),
        Sample("subject", properties(subject="order")),
        Sample("subject above 255 octets", properties(subject="s" * 300)),
        Sample("reply-to, a queue by name", properties(reply_to="answers")),
        Sample("reply-to, /queues/Q", properties(reply_to="/queues/answers"), _reply_to),
        Sample("reply-to, /exchanges/E/K", properties(reply_to="/exchanges/amq.direct/answers")),
        Sample("reply-to, another address", properties(reply_to="/nowhere")),
        Sample("content-type, content-encoding", properties(content_type="text/plain", content_encoding="gzip")),
        Sample("creation-time, whole seconds", properties(creation_time=1_700_000_000_000)),
        Sample("creation-time, milliseconds", properties(creation_time=1_700_000_000_001)),
        Sample("absolute-expiry-time", properties(absolute_expiry_time=1_700_000_000_001)),
        Sample(
            "group-id, group-sequence, reply-to-group-id",
            properties(group_id="g", group_sequence=1, reply_to_group_id="r"),
        ),
        Sample(
            "application properties: text, numbers, booleans, binary, null",
            application(
                s="a", t=True, x=b"\xff", v=None, f=values.Float(0.5), d=0.5, b=values.Byte(7), u=values.UInt(7), i=7
            ),
        ),
        Sample(
            "application properties: other types",
            application(
                u=_UUID,
                c=values.Char("c"),
                s=_SYMBOL("s"),
                t=values.Timestamp(1),
                n=values.ULong(1 << 63),
                d=Decimal("9.95"),
            ),
        ),
        Sample("application properties: a name above 255 octets", content_1_0(application_properties={"n" * 300: 1})),
        Sample("footer", content_1_0(footer={"x-opt-crc": b"\x01"})),
        Sample("deaths", header(ttl=5).with_deaths(_DEATHS)),
    ]


def _parts(content: Content) -> Any:
    return content.message.typed_body if isinstance(content, Content_1_0) else None


def _delivery(content: Content) -> Any:
    if not isinstance(content, Content_1_0):
        return None
    return content.header.first_acquirer, content.header.delivery_count


def _delivery_annotations(content: Content) -> Any:
    return dict(content.message.delivery_annotations) if isinstance(content, Content_1_0) else None


def _reply_to(content: Content) -> Any:
    return content.message.reply_to if isinstance(content, Content_1_0) else None


def samples(version: Version) -> list[Sample]:
    """Return all samples of a version."""
    if version is AMQP_1_0:
        return _samples_1_0()
    return _samples_0_10() if version is AMQP_0_10 else _classic_samples(version)


_LOSSES = {
    ("delivery-mode 1", AMQP_1_0): "not durable; comes back without a delivery mode",
    ("delivery-mode non-persistent", AMQP_1_0): "not durable; comes back without a delivery mode",
    ("priority 4", AMQP_1_0): "4 is the default: comes back without a priority",
    ("headers: a timestamp beyond 64 bits of milliseconds", AMQP_0_10): "the number of seconds",
    ("headers: a timestamp beyond 64 bits of milliseconds", AMQP_1_0): "the number of seconds",
    ("headers: text that isn't UTF-8", None): "its octets, as bytes",
    ("headers: a name twice", None): "the entry that counts",
    ("content-length", None): "written anew",
    ("redelivered", None): "written anew at each delivery",
    ("discard-unroutable, immediate", None): "lost: for the broker only",
    ("expiration", None): "lost: ttl counts",
    ("resume-id, resume-ttl", None): "lost: of the transfer, not of the message",
    ("user-id above 255 octets", AMQP_0_8): "lost",
    ("user-id above 255 octets", AMQP_0_9_1): "lost",
    ("headers: struct32", None): "its octets, as bytes",
    ("further structs of the header segment", None): "lost",
    ("body: several data sections", None): "joined",
    ("header.first-acquirer, delivery-count", None): "written anew at each delivery",
    ("delivery annotations", None): "lost: for one hop only",
    ("message-id, ulong above 63 bits", AMQP_0_8): "its digits, as text",
    ("message-id, ulong above 63 bits", AMQP_0_9_1): "its digits, as text",
    ("reply-to, /queues/Q", None): "the same queue, by its plain name",
}
"""The losses, with the reason, by sample and target version (None: every other version)."""


def outcome(sample: Sample, source: Version, target: Version) -> str:
    """Return the outcome of a conversion. Raises LookupError for an unexplained loss."""
    there = convert(sample.content, target)
    if there is sample.content:
        return SAME
    if sample.see(convert(there, source)) == sample.see(sample.content):
        if isinstance(there, ClassicContent) and there.raw_properties == _raw_properties(sample.content):
            return SAME
        return CARRIED if _carries(there) else KEPT
    found = _LOSSES.get((sample.name, target)) or _LOSSES.get((sample.name, None))
    if found is None:
        raise LookupError(f"from {source.label} to {target.label} is lost: {sample.name}")
    return found


def _carries(content: Content) -> bool:
    if isinstance(content, Content_1_0):
        return any([str(key).startswith(ANNOTATION_PREFIX) for key in content.annotations])
    return any([name.startswith(HEADER_PREFIX) for name in content.headers])


def page() -> str:
    """Return the whole page."""
    lines = [*_INTRODUCTION]
    for source in VERSIONS:
        lines += [
            "",
            f"## From {source.label}",
            "",
            "| of the message | " + " | ".join([f"to {target.label}" for target in VERSIONS]) + " |",
            "|---" * (len(VERSIONS) + 1) + "|",
        ]
        for sample in samples(source):
            cells = [outcome(sample, source, target) for target in VERSIONS]
            lines.append(f"| {sample.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


_INTRODUCTION = (
    "# Conversions",
    "",
    "Written by `python -m tools.docs.conversions`, which converts a message for every line, there and back; a test "
    "compares the two.",
    "",
    "The broker keeps a message in the encoding in which it was published. Consumers of the same version get the same "
    "octets; for another version it is converted (`amqp_sansio.broker.conversion`). Every well-formed message can be "
    "converted. The octets of the body stay the same, unless the table below says that they are an encoded value.",
    "",
    "## Properties",
    "",
    "| 0-8, 0-9-1 | 0-10 | 1.0 |",
    "|---|---|---|",
    "| content-type, content-encoding | message-properties | properties (symbols; the encoding for data only) |",
    "| headers | application-headers | application-properties; tables and arrays, which those can't have, in "
    "the message "
    "annotation x-opt-amqp-headers |",
    "| delivery-mode | delivery-mode | header.durable |",
    "| priority | priority | header.priority |",
    "| expiration, text of milliseconds | ttl | header.ttl, up to 32 bits |",
    "| message-id: text, `urn:uuid:` for a UUID, digits for a ulong | message-id, a UUID | message-id |",
    "| correlation-id, as message-id | correlation-id, octets | correlation-id |",
    "| reply-to: a queue's name, or /exchanges/E/K | reply-to: exchange and routing key | reply-to: as in 0-9-1, or "
    "/queues/Q |",
    "| timestamp, seconds | timestamp, seconds | creation-time, milliseconds |",
    "| type | application header qpid.subject | subject |",
    "| user-id, up to 255 octets | user-id | user-id |",
    "| app-id | app-id | carried |",
    "| cluster-id | carried | carried |",
    "| carried | carried | to, group-id, group-sequence, reply-to-group-id, absolute-expiry-time |",
    "| headers of the same name, x-opt- | the same | message annotations x-opt- |",
    "| header x-death | application header x-death | message annotation x-opt-deaths |",
    "",
    "*Carried* values have no place in the other version, or don't fit there exactly: they are too long, or of a type "
    "that it lacks or can't express. Such a value is (in addition to the nearest one that the version can express, if "
    "any) in the header `x-amqp-NAME` of 0-8, 0-9-1 and 0-10, or in the message annotation `x-opt-amqp-NAME` of 1.0, "
    "and is restored from there when the message is converted back. "
    "`x-amqp-message-annotations`, "
    "`x-amqp-application-properties` and `x-amqp-footer` hold the octets of a map of 1.0. A user id is never "
    "carried: it "
    "would pass for one that the broker has checked.",
    "",
    "## Bodies of 1.0",
    "",
    "| in 1.0 | in the older versions | content type, if there is none | header x-amqp-body |",
    "|---|---|---|---|",
    "| data | the octets; of several sections joined | | |",
    "| amqp-value, string | UTF-8 | text/plain | string |",
    "| amqp-value, binary | the octets | | binary |",
    "| amqp-value, null | empty | | null |",
    "| amqp-value, map with strings as keys | a map of 0-10, after its size | amqp/map | |",
    "| amqp-value, list | a list of 0-10, after its size | amqp/list | |",
    "| anything else | the octets of the body's sections | amqp/1.0 | sections |",
    "| of another message format, N | the octets of the message | amqp/1.0 | format N |",
    "",
    "amqp/map and amqp/list are those of Qpid's clients: such bodies become an amqp-value in 1.0.",
    "",
    "## Damage, dialects",
    "",
    "Damaged properties, headers or sections are left out in another version; the body is kept. If not even the "
    "sections of a message of 1.0 can be told apart, all of it is the body. Values nested deeper than the other "
    "version allows are left out.",
    "",
    "Between 0-8 and 0-9-1, and between dialects whose tables have the same types, the octets are the same. A "
    "dialect whose tables lack a type gets the nearest one: text for numbers that don't fit and for floats, no entry "
    "for void, a table with the names i1, i2 and so on for an array. Names that can't have a hyphen get an underscore.",
    "",
    "## Words in the tables",
    "",
    "*same octets*: nothing is changed. *kept*: expressed in the other version, and the same when converted back. "
    "*carried*: the same when converted back, see above. Any other text is the result.",
)


if __name__ == "__main__":
    sys.exit(run("conversions.md", page))
