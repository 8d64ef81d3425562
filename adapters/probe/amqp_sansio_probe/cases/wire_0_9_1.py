"""Cases of 0-9-1: headers, frames, content and heartbeats."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import BODY, CONTENT_HEADER, HEADER, HEARTBEAT, METHOD, Talk, frame, header_frame, method_frame
from ..verdicts import Seen, Verdict, judged
from .headers import HTTP, REFUSED, refuses_header

SUITE: Final = Suite(Talk)

_HEADER = "A server that doesn't take a protocol header answers with one that it takes, and ends the connection."


@SUITE.case("wire/header-unsupported", "must", _HEADER, REFUSED, variant="version")
def _version(talk: Talk) -> Seen:
    return refuses_header(talk, b"AMQP\x09\x09\x09\x09")


@SUITE.case("wire/header-unsupported", "must", _HEADER, REFUSED, variant="http")
def _http(talk: Talk) -> Seen:
    return refuses_header(talk, HTTP)


_MALFORMED = "connection.close 501, or the end of the connection"


for _variant, _octets in (
    ("method", frame(METHOD, 1, spec.BasicQos(0, 1).encode(spec.RABBIT.tables), b"\x00")),
    ("heartbeat", frame(HEARTBEAT, 0, b"", b"\x00")),
):

    @SUITE.on_a_channel(
        "wire/frame-end-check",
        "must",
        "A frame whose last octet isn't 0xce is a fatal error; the connection ends.",
        _MALFORMED,
        variant=_variant,
    )
    def _frame_end(talk: Talk, octets: bytes = _octets) -> Seen:
        talk.send(octets)
        return talk.connection_error(501, silent=True)


@SUITE.on_a_channel("wire/frame-type-unknown", "must", "A frame of an unknown type is a fatal error.", _MALFORMED)
def _frame_type(talk: Talk) -> Seen:
    talk.send(frame(7, 1, b"hello"))
    return talk.connection_error(501, silent=True)


@SUITE.case(
    "wire/frame-oversize-receive",
    "must",
    "A frame larger than the negotiated frame-max is an error of the connection, 501.",
    _MALFORMED,
)
def _oversize(talk: Talk) -> Seen:
    talk.login(frame_max=4096)
    talk.channel()
    size = 8192
    start = method_frame(1, spec.BasicPublish(routing_key="nobody")) + header_frame(1, size)
    talk.send(start + frame(BODY, 1, bytes(size)))
    return talk.connection_error(501, silent=True)


_ZERO = "Methods of the class connection belong on channel 0: 503. All others belong on another channel."


@SUITE.on_a_channel("wire/channel-zero", "must", _ZERO, "connection.close 503 or 504", variant="channel-method-on-0")
def _channel_method_on_zero(talk: Talk) -> Seen:
    talk.say(0, spec.ChannelOpen())
    return _only_in_grammar(talk.connection_error(503, 504))


def _only_in_grammar(seen: Seen) -> Seen:
    """The grammar has channels that aren't zero for all methods, but no reaction: who passes over it isn't strict."""
    return Seen(Verdict.NON_STRICT, seen.text) if seen.verdict is Verdict.BREAKS else seen


@SUITE.on_a_channel("wire/channel-zero", "must", _ZERO, "connection.close 503 or 504", variant="connection-method-on-1")
def _connection_method_on_one(talk: Talk) -> Seen:
    talk.say(1, spec.ConnectionOpen("/"))
    return talk.connection_error(503, 504)


@SUITE.on_a_channel(
    "wire/heartbeat-invalid", "must", "A heartbeat frame on another channel than 0 is an error, 501.", _MALFORMED
)
def _heartbeat_channel(talk: Talk) -> Seen:
    talk.send(frame(HEARTBEAT, 1, b""))
    return talk.connection_error(501, silent=True)


@SUITE.on_a_channel(
    "wire/content-incomplete",
    "must",
    "A method in the middle of a content on its channel is an unexpected frame: 505.",
    "connection.close 505",
    variant="method-for-header",
)
def _method_for_header(talk: Talk) -> Seen:
    talk.say(1, spec.BasicPublish(routing_key="nobody"), spec.BasicQos(0, 1))
    return talk.connection_error(505)


@SUITE.on_a_channel(
    "wire/content-incomplete",
    "must",
    "A body where a content header must stand is an unexpected frame: 505.",
    "connection.close 505",
    variant="body-for-header",
    may_harm=True,
)
def _body_for_header(talk: Talk) -> Seen:
    talk.send(method_frame(1, spec.BasicPublish(routing_key="nobody")) + frame(BODY, 1, b"hello"))
    return talk.connection_error(505)


@SUITE.on_a_channel(
    "wire/content-incomplete",
    "must",
    "A content header without a method before it is an unexpected frame: 505.",
    "connection.close 505",
    variant="header-for-method",
)
def _header_for_method(talk: Talk) -> Seen:
    talk.send(header_frame(1, 5))
    return talk.connection_error(505)


@SUITE.on_a_channel(
    "wire/content-weight", "must", "The weight of a content header is zero.", "connection.close 501, 502 or 505"
)
def _weight(talk: Talk) -> Seen:
    talk.send(method_frame(1, spec.BasicPublish(routing_key="nobody")) + header_frame(1, 0, weight=1))
    return talk.connection_error(501, 502, 505)


@SUITE.on_a_channel(
    "wire/content-class", "must", "A content header is of the class of its method.", "connection.close 501 or 505"
)
def _class(talk: Talk) -> Seen:
    talk.send(method_frame(1, spec.BasicPublish(routing_key="nobody")) + header_frame(1, 0, class_id=61))
    return talk.connection_error(501, 505)


@SUITE.on_a_channel(
    "wire/content-body-size",
    "note",
    "The bodies of a content have as many octets as its header says.",
    "connection.close 501 or 505",
)
def _body_size(talk: Talk) -> Seen:
    start = method_frame(1, spec.BasicPublish(routing_key="nobody"))
    talk.send(start + header_frame(1, 3) + frame(BODY, 1, b"hello"))
    return talk.connection_error(501, 505)


@SUITE.on_a_channel(
    "wire/content-channel-zero",
    "must",
    "Content on channel 0 is a channel error of the connection: 504.",
    "connection.close 504 (or 501, 503, 505)",
)
def _content_on_zero(talk: Talk) -> Seen:
    talk.send(header_frame(0, 5))
    return talk.connection_error(504)


@SUITE.on_a_channel(
    "wire/content-join",
    "must",
    "A content may come in any number of body frames, and is the same message.",
    "the message, whole",
)
def _join(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    start = method_frame(1, spec.BasicPublish(routing_key=queue)) + header_frame(1, 5)
    talk.send(start + b"".join([frame(BODY, 1, bytes([octet])) for octet in b"hello"]))
    return _comes_back(talk, queue, b"hello")


@SUITE.on_a_channel(
    "wire/content-parts", "note", "A content with a body of size 0 has no body frames.", "the empty message"
)
def _empty(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(body=b"", routing_key=queue)
    return _comes_back(talk, queue, b"")


@SUITE.on_a_channel(
    "content/body-untouched", "must", "A server doesn't change the body of a message.", "each octet as it was"
)
def _untouched(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    body = bytes(range(256)) * 40
    talk.publish(body=body, routing_key=queue)
    return _comes_back(talk, queue, body)


def _comes_back(talk: Talk, queue: str, body: bytes) -> Seen:
    talk.counts(queue, 1)
    unit = talk.get(queue)
    if unit is None:
        return Seen(Verdict.BREAKS, "no message in the queue")
    same = unit.body == body
    return judged(same, f"a body of {len(unit.body or b'')} octets")


@SUITE.on_a_channel(
    "content/header-add-only",
    "must",
    "A server changes no property of a message; it may add some.",
    "every property as it was",
)
def _properties(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    sent = amqp.BasicProperties(
        content_type="text/plain",
        content_encoding="gzip",
        headers=amqp.Table({"x": 1, "name": "value", "deep": {"list": [1, "two"]}}),
        delivery_mode=1,
        priority=3,
        correlation_id="c",
        reply_to="r",
        message_id="m",
        timestamp=1_700_000_000,
        type="t",
        app_id="a",
    )
    talk.publish(properties=sent, routing_key=queue)
    talk.counts(queue, 1)
    unit = talk.get(queue)
    if unit is None:
        return Seen(Verdict.BREAKS, "no message in the queue")
    names = [name for name, _ in sent.FIELDS if getattr(sent, name) is not None and name != "headers"]
    changed = [each for each in names if getattr(unit.properties, each) != getattr(sent, each)]
    headers: Mapping[str, object] = unit.properties.headers or {}
    changed += [f"headers.{key}" for key, value in (sent.headers or {}).items() if headers.get(key) != value]
    if changed:
        return Seen(Verdict.BREAKS, f"changed: {', '.join(changed)}")
    return Seen(Verdict.CONFORMS, f"{len(names)} properties and the headers as they were")


@SUITE.on_a_channel(
    "rabbitmq/table-tags",
    "note",
    "Field tables have the tags of RabbitMQ's and Qpid's column of the errata; values keep type and value.",
    "every value as it was",
)
def _tags(talk: Talk) -> Seen:
    queue = talk.declare(exclusive=True)
    values = {
        "t": True,
        "I": -5,
        "l": 2**40,
        "d": 0.5,
        "D": Decimal("3.25"),
        "S": "text",
        "x": b"\x00\xff",
        "V": None,
        "F": {"inner": 1},
        "A": [1, "two", None],
    }
    talk.publish(properties=amqp.BasicProperties(headers=amqp.Table(values)), routing_key=queue)
    talk.counts(queue, 1)
    unit = talk.get(queue)
    if unit is None:
        return Seen(Verdict.BREAKS, "no message in the queue")
    headers: Mapping[str, object] = unit.properties.headers or {}
    changed = [key for key, value in values.items() if key not in headers or headers[key] != value]
    if changed:
        return Seen(Verdict.BREAKS, f"changed: {', '.join(changed)}")
    return Seen(Verdict.CONFORMS, f"{len(values)} kinds of values as they were")


@SUITE.on_a_channel(
    "security/length-check",
    "note",
    "A length inside of a method that reaches beyond its frame is refused.",
    "connection.close 501 or 502, or the end of the connection",
    variant="short-string",
)
def _length(talk: Talk) -> Seen:
    # queue.declare whose name claims 200 octets and has three.
    talk.send(frame(METHOD, 1, struct.pack(">HHHB", 50, 10, 0, 200) + b"abc"))
    return talk.connection_error(501, 502, silent=True)


@SUITE.case(
    "wire/heartbeat-start-server",
    "should",
    "A server sends heartbeats once they are agreed on.",
    "a heartbeat, or other octets, within two intervals of a second",
)
def _heartbeat(talk: Talk) -> Seen:
    talk.login(heartbeat=1)
    unit = talk.wait(("heartbeat",), seconds=2.5)
    if unit is not None and unit.event == "heartbeat":
        return Seen(Verdict.CONFORMS, "a heartbeat")
    return Seen(Verdict.BREAKS, f"{talk.described(unit)} in 2.5 s")


@SUITE.case(
    "wire/heartbeat-timeout",
    "should",
    "A server that hears nothing for two intervals ends the connection.",
    "the end of the connection within eight intervals of a second",
)
def _silence(talk: Talk) -> Seen:
    talk.login(heartbeat=1)
    talk.is_judged = False
    unit = talk.until(lambda each: each.event == "connection.close", 8.0)
    if talk.has_ended or unit is not None:
        return Seen(Verdict.CONFORMS, talk.described(unit))
    return Seen(Verdict.BREAKS, "the connection stays open for 8 s")


@SUITE.case(
    "wire/header-all-eight",
    "should",
    "A protocol header is judged when all of its eight octets are there.",
    "connection.start to a header that comes octet by octet",
    variant="one-by-one",
)
def _octet_by_octet(talk: Talk) -> Seen:
    for octet in HEADER:
        talk.send(bytes([octet]))
    talk.is_judged = False
    return talk.answers("connection.start", 0)


_BOUNDED = "Whatever lengths a client claims, the server goes on serving others."
_ANY = "any answer, or none, and a new connection is served"


def _survived(talk: Talk) -> Seen:
    """Tell what the server does; whether it harmed others, the look at it after each case finds."""
    talk.is_judged = False
    unit = talk.wait(("basic.return",), 1, 2.0)
    if unit is None and not talk.has_ended and talk.answers_still():
        return Seen(Verdict.INFORMATIONAL, "it is taken, and the connection is served as before")
    return Seen(Verdict.INFORMATIONAL, talk.described(unit))


def _with_headers(table: bytes) -> bytes:
    """Return a publish to nobody whose property `headers` are these octets, with no body."""
    about = struct.pack(">HHQH", 60, 0, 0, 0x2000) + table
    return method_frame(1, spec.BasicPublish(routing_key="nobody")) + frame(CONTENT_HEADER, 1, about)


@SUITE.on_a_channel("security/length-check", "note", _BOUNDED, _ANY, variant="tables-10000-deep", may_harm=True)
def _deep(talk: Talk) -> Seen:
    table = struct.pack(">I", 0)
    for _ in range(10_000):
        table = struct.pack(">I", len(table) + 3) + b"\x01aF" + table
    talk.send(_with_headers(table))
    return _survived(talk)


@SUITE.on_a_channel("security/length-check", "note", _BOUNDED, _ANY, variant="array-of-2-GiB", may_harm=True)
def _array(talk: Talk) -> Seen:
    entry = b"\x01aA" + struct.pack(">I", 2**31 - 1)
    talk.send(_with_headers(struct.pack(">I", len(entry)) + entry))
    return _survived(talk)


@SUITE.on_a_channel("security/length-check", "note", _BOUNDED, _ANY, variant="10000-empty-bodies", may_harm=True)
def _empty_bodies(talk: Talk) -> Seen:
    start = method_frame(1, spec.BasicPublish(routing_key="nobody")) + header_frame(1, 5)
    talk.send(start + frame(BODY, 1, b"") * 10_000 + frame(BODY, 1, b"hello"))
    return _survived(talk)


@SUITE.case("security/length-check", "note", _BOUNDED, _ANY, variant="20000-keys-before-login", may_harm=True)
def _keys(talk: Talk) -> Seen:
    talk.greet()
    about = b"".join([b"\x04" + struct.pack(">I", place) + b"V" for place in range(20_000)])
    table = struct.pack(">I", len(about)) + about
    tail = b"\x05PLAIN" + struct.pack(">I", 0) + b"\x05en_US"
    talk.send(frame(METHOD, 0, struct.pack(">HH", 10, 11) + table + tail))
    return _survived(talk)


@SUITE.on_a_channel("security/length-check", "note", _BOUNDED, _ANY, variant="10000-unread-answers", may_harm=True)
def _unread(talk: Talk) -> Seen:
    asked = method_frame(1, spec.ChannelFlow(True))
    for _ in range(10):
        talk.send(asked * 1_000)
    return _survived(talk)


@SUITE.case("wire/header-all-eight", "should", _BOUNDED, _ANY, variant="header-without-its-end", may_harm=True)
def _slow(talk: Talk) -> Seen:
    talk.is_judged = False
    talk.send(HEADER[:7])
    talk.rest(2.0)
    wrong = talk.another().finish()
    return Seen(Verdict.INFORMATIONAL, wrong or f"another is served meanwhile; this one: {talk.ending()}")
