"""Cases of 0-8."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from amqp_sansio import amqp_0_8 as amqp
from amqp_sansio.amqp_0_8 import spec

from ..case import Suite
from ..talk import BODY, CONTENT_HEADER, HEARTBEAT, METHOD, Talk08, frame, header_frame, method_frame
from ..verdicts import Seen, Verdict, judged
from .headers import HTTP, REFUSED, refuses_header

SUITE: Final = Suite(Talk08)

_MALFORMED: Final = "connection.close 501, or the end of the connection"
_SOCKET: Final = "the end of the connection, without connection.close"
_DECLARE: Final = ("0-8/declare",)
_BY_CONNECTION: Final = ("connection.close",)
_BY_CHANNEL: Final = ("channel.close",)

Making: TypeAlias = Callable[[Talk08], spec.RequestMethod[Any]]

# Headers and frames.

_UNSUPPORTED = "A server that doesn't take a protocol header answers with one that it takes, and ends the connection."


@SUITE.case("wire/header-unsupported", "must", _UNSUPPORTED, REFUSED, variant="version")
def _version(talk: Talk08) -> Seen:
    return refuses_header(talk, b"AMQP\x01\x01\x63\x63")


@SUITE.case("wire/header-unsupported", "must", _UNSUPPORTED, REFUSED, variant="http")
def _http(talk: Talk08) -> Seen:
    return refuses_header(talk, HTTP)


@SUITE.case(
    "connection.start/version<=requested",
    "must",
    "connection.start doesn't name a later version than the client asked for.",
    "a version up to 8-0",
)
def _start_version(talk: Talk08) -> Seen:
    start = talk.greet()
    talk.is_judged = False
    # The printed specification has 8-0, some servers 0-8 for the same.
    named = (start.version_major, start.version_minor)
    fine = named in ((8, 0), (0, 8)) or named < (8, 0)
    return judged(fine, f"{named[0]}-{named[1]}")


@SUITE.case("connection.start/mechanisms-notnull", "must", "connection.start has mechanisms.", "at least one mechanism")
def _mechanisms(talk: Talk08) -> Seen:
    talk.is_judged = False
    names = talk.greet().mechanisms.decode("ascii", "replace")
    return judged(names.split(), names or "none")


@SUITE.case("connection.start/locale-en_US", "must", "The locale en_US is offered.", "en_US among the locales")
def _locales(talk: Talk08) -> Seen:
    talk.is_judged = False
    names = talk.greet().locales.decode("ascii", "replace")
    return judged("en_US" in names.split(), names or "none")


@SUITE.case(
    "connection.start-ok/mechanism-not-offered", "must", "A mechanism that isn't offered ends the connection.", _SOCKET
)
def _mechanism(talk: Talk08) -> Seen:
    talk.greet()
    talk.respond("X-PROBE")
    return talk.ended_without_close()


@SUITE.case("connection.tune/accept-4096", "must", "Frames of 4,096 octets are always possible.", "4,096 or 0")
def _tune(talk: Talk08) -> Seen:
    talk.is_judged = False
    most = talk.authenticate().frame_max
    return judged(not most or most >= 4_096, str(most))


@SUITE.case("connection.tune/propose", "must", "The server proposes limits after the login.", "connection.tune")
def _proposes(talk: Talk08) -> Seen:
    talk.greet()
    talk.respond()
    talk.is_judged = False
    return talk.answers("connection.tune", 0)


for _variant, _octets in (
    ("method", frame(METHOD, 1, spec.BasicQos(0, 1).encode(spec.SPEC.tables), b"\x00")),
    ("heartbeat", frame(HEARTBEAT, 0, b"", b"\x00")),
):

    @SUITE.on_a_channel(
        "wire/frame-end-check",
        "must",
        "A frame whose last octet isn't 0xce is a fatal error; the connection ends.",
        _MALFORMED,
        variant=_variant,
    )
    def _frame_end(talk: Talk08, octets: bytes = _octets) -> Seen:
        talk.send(octets)
        return talk.connection_error(501, silent=True)


@SUITE.on_a_channel("wire/frame-type-unknown", "must", "A frame of an unknown type is a fatal error.", _MALFORMED)
def _frame_type(talk: Talk08) -> Seen:
    talk.send(frame(9, 1, b"hello"))
    return talk.connection_error(501, silent=True)


@SUITE.case(
    "wire/frame-oversize-receive", "must", "A frame above the agreed size is an error of the connection.", _MALFORMED
)
def _oversize(talk: Talk08) -> Seen:
    talk.login(frame_max=4_096)
    talk.channel()
    size = 8_192
    start = method_frame(1, talk.ticketed(1, spec.BasicPublish(routing_key="nobody"))) + header_frame(1, size)
    talk.send(start + frame(BODY, 1, bytes(size)))
    return talk.connection_error(501, silent=True)


@SUITE.on_a_channel(
    "wire/heartbeat-invalid", "must", "A heartbeat on another channel than 0 is an error, 501.", _MALFORMED
)
def _heartbeat(talk: Talk08) -> Seen:
    talk.send(frame(HEARTBEAT, 1, b""))
    seen = talk.connection_error(501, silent=True)
    # The sentence with the reaction stands under heartbeats, but speaks of trace frames.
    return Seen(Verdict.NON_STRICT, seen.text) if seen.verdict is Verdict.BREAKS else seen


@SUITE.on_a_channel(
    "wire/content-incomplete",
    "must",
    "A method in the middle of a content on its channel is an unexpected frame.",
    "connection.close 505, or 501",
    variant="method-for-header",
)
def _incomplete(talk: Talk08) -> Seen:
    talk.say(1, spec.BasicPublish(routing_key="nobody"), spec.BasicQos(0, 1))
    return talk.connection_error(505, 501)


@SUITE.on_a_channel(
    "wire/content-incomplete",
    "must",
    "A body where a content header must stand is an unexpected frame.",
    "connection.close 505, or 501",
    variant="body-for-header",
    may_harm=True,
)
def _no_header(talk: Talk08) -> Seen:
    talk.send(method_frame(1, talk.ticketed(1, spec.BasicPublish(routing_key="nobody"))) + frame(BODY, 1, b"hello"))
    return talk.connection_error(505, 501)


@SUITE.on_a_channel(
    "wire/content-class", "must", "A content header is of the class of its method.", "connection.close 501 or 505"
)
def _class(talk: Talk08) -> Seen:
    talk.send(
        method_frame(1, talk.ticketed(1, spec.BasicPublish(routing_key="nobody"))) + header_frame(1, 0, class_id=61)
    )
    return talk.connection_error(501, 505)


@SUITE.on_a_channel(
    "wire/content-channel-zero", "must", "Content isn't on channel 0.", "connection.close 504 (or 501, 503, 505)"
)
def _zero(talk: Talk08) -> Seen:
    talk.send(header_frame(0, 5))
    return talk.connection_error(504, 501, 503, 505)


@SUITE.on_a_channel(
    "wire/content-join",
    "must",
    "A content may come in any number of body frames, and is the same message.",
    "the message, whole",
    needs=_DECLARE,
)
def _join(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    start = method_frame(1, talk.ticketed(1, spec.BasicPublish(routing_key=queue))) + header_frame(1, 5)
    talk.send(start + b"".join([frame(BODY, 1, bytes([octet])) for octet in b"hello"]))
    return _comes_back(talk, queue, b"hello")


@SUITE.on_a_channel(
    "content/body-untouched",
    "must",
    "A server doesn't change the body of a message.",
    "each octet as it was",
    needs=_DECLARE,
)
def _untouched(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    body = bytes(range(256)) * 40
    talk.publish(body=body, routing_key=queue)
    return _comes_back(talk, queue, body)


def _comes_back(talk: Talk08, queue: str, body: bytes) -> Seen:
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
    needs=_DECLARE,
)
def _properties(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    fields: dict[str, Any] = {
        "content_type": "text/plain",
        "headers": amqp.Table({"x": "1", "n": 5}),
        "delivery_mode": 1,
        "priority": 3,
        "correlation_id": "c",
        "reply_to": "r",
        "message_id": "m",
        "type": "t",
        "app_id": "a",
    }
    about = amqp.BasicProperties(**fields)
    octets = struct.pack(">HHQ", 60, 0, 5) + about.encode(spec.SPEC.tables)
    start = method_frame(1, talk.ticketed(1, spec.BasicPublish(routing_key=queue))) + frame(CONTENT_HEADER, 1, octets)
    talk.send(start + frame(BODY, 1, b"hello"))
    talk.counts(queue, 1)
    unit = talk.get(queue)
    if unit is None:
        return Seen(Verdict.BREAKS, "no message in the queue")
    came = unit.properties
    changed = [name for name, value in fields.items() if name != "headers" and getattr(came, name, None) != value]
    headers: Mapping[str, object] = getattr(came, "headers", None) or {}
    changed += [f"headers.{key}" for key, value in fields["headers"].items() if headers.get(key) != value]
    return Seen(Verdict.BREAKS if changed else Verdict.CONFORMS, f"changed: {', '.join(changed) or 'none'}")


@SUITE.on_a_channel(
    "security/length-check",
    "note",
    "A length inside of a method that reaches beyond its frame is refused.",
    "connection.close 501 or 502, or the end of the connection",
)
def _length(talk: Talk08) -> Seen:
    # queue.declare whose name claims 200 octets and has three.
    talk.send(frame(METHOD, 1, struct.pack(">HHHB", 50, 10, 0, 200) + b"abc"))
    return talk.connection_error(501, 502, silent=True)


# Connection and channels.


@SUITE.on_a_channel("connection.close/handshake", "note", "connection.close is answered.", "connection.close-ok")
def _close(talk: Talk08) -> Seen:
    talk.is_over = True
    seen = talk.answers_to(spec.ConnectionClose(200, "done"), 0)
    talk.said_goodbye = seen.verdict is Verdict.CONFORMS
    return seen


@SUITE.on_a_channel(
    "channel.open/already-open", "must", "A channel is opened once.", "connection.close 504, or an error of the channel"
)
def _twice(talk: Talk08) -> Seen:
    talk.say(1, spec.ChannelOpen())
    unit = talk.wait(("channel.open-ok",), 1)
    if unit is None:
        return talk.silence() if not talk.has_ended else Seen(Verdict.UNCLEAN, talk.ending())
    fine = unit.event in ("connection.close", "channel.close")
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel("channel.flow/react", "should", "channel.flow is answered.", "channel.flow-ok")
def _flow(talk: Talk08) -> Seen:
    return talk.answers_to(spec.ChannelFlow(True))


@SUITE.on_a_channel(
    "channel.close/discard", "must", "A channel can be opened again behind its close.", "channel.open-ok"
)
def _again(talk: Talk08) -> Seen:
    talk.call(spec.ChannelClose(200, "done"))
    return talk.answers_to(spec.ChannelOpen())


@SUITE.on_a_channel("access.request/data-realm", "must", "There is a realm /data.", "access.request-ok, active, for it")
def _realm(talk: Talk08) -> Seen:
    return talk.answers_to(spec.AccessRequest("/data", active=True, write=True, read=True))


@SUITE.on_a_channel(
    "access.request/unknown-realm",
    "must",
    "Access to a realm that isn't there is refused: 402.",
    "channel.close 402; giving access to it isn't strict",
)
def _no_realm(talk: Talk08) -> Seen:
    seen = talk.refuses(spec.AccessRequest("/data/probe-none", active=True), 402)
    # Realms have gone from 0-9 on: a server of both knows one.
    return Seen(Verdict.NON_STRICT, seen.text) if seen.verdict is Verdict.BREAKS else seen


@SUITE.on_a_channel(
    "access.request/realm-prefix",
    "must",
    "The name of a realm begins with /data or /admin: 403.",
    "connection.close 403; giving access to it isn't strict",
)
def _prefix(talk: Talk08) -> Seen:
    seen = talk.refuses(spec.AccessRequest("probe", active=True), 403, by=_BY_CONNECTION)
    return Seen(Verdict.NON_STRICT, seen.text) if seen.verdict is Verdict.BREAKS else seen


# What is refused: the rule, its clause, the method, the code, and the closes that are right.

_REFUSALS: Final[tuple[tuple[str, str, str, Making, tuple[int, ...], tuple[str, ...]], ...]] = (
    (
        "exchange.declare/amq-prefix",
        "must",
        "Names that begin with amq. are the server's.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange("amq."), "direct"),
        (403,),
        _BY_CHANNEL,
    ),
    (
        "exchange.declare/type-mismatch",
        "must",
        "An exchange can't be declared again with another type.",
        lambda talk: spec.ExchangeDeclare(talk.exchange("direct"), "fanout"),
        (507, 530),
        _BY_CONNECTION,
    ),
    (
        "exchange.declare/type-unknown",
        "must",
        "A type that the server hasn't is refused.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange(), "x-none"),
        (503,),
        _BY_CONNECTION,
    ),
    (
        "exchange.declare/passive-not-found",
        "must",
        "A passive declare of an exchange that isn't there is refused.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange(), "direct", passive=True),
        (404,),
        _BY_CHANNEL,
    ),
    (
        "exchange.delete/not-found",
        "must",
        "An exchange that isn't there can't be deleted.",
        lambda talk: spec.ExchangeDelete(talk.names.exchange()),
        (404,),
        _BY_CHANNEL,
    ),
    (
        "exchange.delete/if-unused-in-use",
        "should",
        "With if-unused, an exchange that has bindings stays.",
        lambda talk: spec.ExchangeDelete(_bound(talk)[1], True),
        (405, 406, 530),
        _BY_CHANNEL,
    ),
    (
        "queue.declare/amq-prefix",
        "must",
        "Names that begin with amq. are the server's.",
        lambda talk: spec.QueueDeclare(talk.names.queue("amq.")),
        (403,),
        _BY_CONNECTION,
    ),
    (
        "queue.declare/passive-not-found",
        "must",
        "A passive declare of a queue that isn't there is refused.",
        lambda talk: spec.QueueDeclare(talk.names.queue(), passive=True),
        (404,),
        _BY_CHANNEL,
    ),
    (
        "queue.bind/queue-not-found",
        "must",
        "A queue that isn't there can't be bound.",
        lambda talk: spec.QueueBind(talk.names.queue(), "amq.direct", "k"),
        (404,),
        _BY_CHANNEL,
    ),
    (
        "queue.bind/exchange-not-found",
        "must",
        "Nothing can be bound to an exchange that isn't there.",
        lambda talk: spec.QueueBind(talk.declare(exclusive=True), talk.names.exchange(), "k"),
        (404,),
        _BY_CHANNEL,
    ),
    (
        "queue.bind/no-current-queue",
        "must",
        "Binding no queue needs one that was declared before on the channel.",
        lambda talk: spec.QueueBind("", "amq.direct", "k"),
        (530,),
        _BY_CONNECTION,
    ),
    (
        "queue.purge/no-current-queue",
        "must",
        "Purging no queue needs one that was declared before on the channel.",
        lambda talk: spec.QueuePurge(""),
        (530,),
        _BY_CONNECTION,
    ),
    (
        "queue.purge/not-found",
        "must",
        "A queue that isn't there can't be purged.",
        lambda talk: spec.QueuePurge(talk.names.queue()),
        (404,),
        _BY_CHANNEL,
    ),
    (
        "queue.delete/no-current-queue",
        "must",
        "Deleting no queue needs one that was declared before on the channel.",
        lambda talk: spec.QueueDelete(""),
        (530,),
        _BY_CONNECTION,
    ),
    (
        "queue.delete/not-found",
        "must",
        "A queue that isn't there can't be deleted.",
        lambda talk: spec.QueueDelete(talk.names.queue()),
        (404,),
        _BY_CHANNEL,
    ),
    (
        "queue.delete/if-unused",
        "must",
        "With if-unused, a queue that has a consumer stays.",
        lambda talk: spec.QueueDelete(_consumed(talk), if_unused=True),
        (405, 406, 530),
        _BY_CHANNEL,
    ),
    (
        "queue.delete/if-empty",
        "note",
        "With if-empty, a queue that has messages stays.",
        lambda talk: spec.QueueDelete(talk.filled(), if_empty=True),
        (405, 406, 530),
        _BY_CHANNEL,
    ),
    (
        "basic.consume/no-current-queue",
        "must",
        "Consuming from no queue needs one that was declared before on the channel.",
        lambda talk: spec.BasicConsume(""),
        (530,),
        _BY_CONNECTION,
    ),
    (
        "basic.consume/tag-in-use",
        "must",
        "A consumer's tag is used once on a channel.",
        lambda talk: spec.BasicConsume(_consumed(talk), "tag"),
        (530,),
        _BY_CONNECTION,
    ),
    (
        "basic.get/no-current-queue",
        "must",
        "Getting from no queue needs one that was declared before on the channel.",
        lambda talk: spec.BasicGet(""),
        (530,),
        _BY_CONNECTION,
    ),
    (
        "tx.commit/fail",
        "note",
        "Nothing can be committed on a channel that isn't transactional.",
        lambda talk: spec.TxCommit(),
        (406, 503, 530),
        _BY_CHANNEL,
    ),
    (
        "tx.rollback/fail",
        "note",
        "Nothing can be rolled back on a channel that isn't transactional.",
        lambda talk: spec.TxRollback(),
        (406, 503, 530),
        _BY_CHANNEL,
    ),
)


def _bound(talk: Talk08) -> tuple[str, str]:
    queue, exchange = talk.declare(exclusive=True), talk.exchange("direct")
    talk.call(spec.QueueBind(queue, exchange, "k"))
    return queue, exchange


def _consumed(talk: Talk08) -> str:
    queue = talk.declare(exclusive=True)
    talk.call(spec.BasicConsume(queue, "tag"))
    return queue


for _rule, _level, _clause, _making, _codes, _by in _REFUSALS:

    @SUITE.on_a_channel(
        _rule, _level, _clause, f"{_by[0]} {' or '.join([str(each) for each in _codes])}", needs=_DECLARE
    )
    def _refuses(
        talk: Talk08, making: Making = _making, codes: tuple[int, ...] = _codes, by: tuple[str, ...] = _by
    ) -> Seen:
        return talk.refuses(making(talk), *codes, by=by)


# Exchanges and queues.


for _kind in ("direct", "fanout"):

    @SUITE.on_a_channel(
        "exchange/mandatory-types",
        "must",
        "A server has exchanges of the types direct and fanout.",
        "exchange.declare-ok",
        variant=_kind,
        needs=_DECLARE,
    )
    def _has(talk: Talk08, kind: str = _kind) -> Seen:
        return talk.answers_to(spec.ExchangeDeclare(talk.names.exchange(), kind))


@SUITE.on_a_channel(
    "exchange/topic", "should", "A server has exchanges of the type topic.", "exchange.declare-ok", needs=_DECLARE
)
def _topic(talk: Talk08) -> Seen:
    return talk.answers_to(spec.ExchangeDeclare(talk.names.exchange(), "topic"))


@SUITE.on_a_channel(
    "queue.declare/default-binding",
    "must",
    "A queue is bound to the default exchange by its name.",
    "the message",
    needs=_DECLARE,
)
def _default(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(routing_key=queue)
    return talk.holds_one(queue)


@SUITE.on_a_channel(
    "queue.declare/server-named", "must", "A queue without a name gets a unique one.", "two names", needs=_DECLARE
)
def _named(talk: Talk08) -> Seen:
    names = [talk.call(spec.QueueDeclare(exclusive=True)).queue for _ in range(2)]
    fine = all(names) and names[0] != names[1]
    return judged(fine, ", ".join(names))


@SUITE.on_a_channel(
    "queue.declare/durable-both",
    "must",
    "A server has durable and transient queues.",
    "queue.declare-ok",
    needs=_DECLARE,
)
def _durable(talk: Talk08) -> Seen:
    return talk.answers_to(spec.QueueDeclare(talk.names.queue(), durable=True))


@SUITE.on_a_channel(
    "queue.declare/exclusive-other-owner",
    "must",
    "Another connection may not use an exclusive queue.",
    "channel.close 405",
    needs=_DECLARE,
)
def _exclusive(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    other = talk.another()
    return other.refuses(spec.QueueDeclare(queue, passive=True), 405)


@SUITE.on_a_channel(
    "queue.declare-ok/count-zero-new", "note", "A new queue has no messages.", "a count of 0", needs=_DECLARE
)
def _new(talk: Talk08) -> Seen:
    count = talk.call(spec.QueueDeclare(talk.names.queue(), exclusive=True)).message_count
    return Seen(Verdict.BREAKS if count else Verdict.CONFORMS, f"messages: {count}")


@SUITE.on_a_channel(
    "queue.bind/duplicate-ok",
    "must",
    "A binding that is there already is taken, and changes nothing.",
    "one message",
    needs=_DECLARE,
)
def _duplicate(talk: Talk08) -> Seen:
    queue, exchange = _bound(talk)
    talk.call(spec.QueueBind(queue, exchange, "k"))
    talk.publish(exchange=exchange, routing_key="k")
    return talk.holds_one(queue)


@SUITE.on_a_channel("queue.purge/empties", "must", "Purging empties a queue.", "no message", needs=_DECLARE)
def _purged(talk: Talk08) -> Seen:
    queue = talk.filled(2)
    talk.call(spec.QueuePurge(queue))
    count = talk.ready(queue)
    return Seen(Verdict.BREAKS if count else Verdict.CONFORMS, f"messages: {count}")


# Messages.


@SUITE.on_a_channel(
    "basic.publish/blank-default", "must", "No exchange is the default exchange.", "the message", needs=_DECLARE
)
def _blank(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(exchange="", routing_key=queue)
    return talk.holds_one(queue)


@SUITE.on_a_channel(
    "basic.publish/mandatory",
    "should",
    "A mandatory message that can't be routed is returned.",
    "basic.return",
    needs=_DECLARE,
)
def _mandatory(talk: Talk08) -> Seen:
    talk.publish(exchange="amq.direct", routing_key=talk.names.name(), mandatory=True)
    return talk.answers("basic.return")


@SUITE.on_a_channel(
    "basic.publish/exchange-not-found",
    "note",
    "A message to an exchange that isn't there ends the channel.",
    "channel.close 404",
    needs=_DECLARE,
)
def _nowhere(talk: Talk08) -> Seen:
    talk.publish(exchange=talk.names.name(), routing_key="k")
    return talk.channel_error(404)


@SUITE.on_a_channel(
    "domain/delivery-tag.nonzero", "must", "Delivery tags begin with 1.", "delivery-tag 1", needs=_DECLARE
)
def _tag(talk: Talk08) -> Seen:
    queue = talk.filled(1)
    unit = talk.get(queue, no_ack=False)
    tag = None if unit is None else unit.content.delivery_tag
    return judged(tag, f"delivery-tag {tag}")


@SUITE.on_a_channel(
    "basic.ack/unknown-tag",
    "must",
    "Acknowledging what wasn't delivered ends the channel.",
    "channel.close",
    needs=_DECLARE,
)
def _ack(talk: Talk08) -> Seen:
    talk.say(1, spec.BasicAck(77))
    return talk.channel_error(406, 404)


@SUITE.on_a_channel(
    "basic.qos/window-ceiling",
    "must",
    "No more is delivered than the window has room for.",
    "2 of 5 messages",
    needs=_DECLARE,
)
def _window(talk: Talk08) -> Seen:
    queue = talk.filled(5)
    talk.call(spec.BasicQos(0, 2, False))
    talk.call(spec.BasicConsume(queue, "tag"))
    for _ in range(2):
        talk.take("basic.deliver", 1)
    unit = talk.quiet("basic.deliver")
    return judged(unit is None, f"2 messages, then {talk.described(unit)}")


@SUITE.on_a_channel(
    "basic/ack-modes",
    "must",
    "A message that isn't acknowledged is there again when its channel closes, and one that is isn't.",
    "1 of 2 messages",
    needs=_DECLARE,
)
def _acks(talk: Talk08) -> Seen:
    queue = talk.filled(2)
    talk.channel(2)
    first = talk.get(queue, 2, no_ack=False)
    talk.get(queue, 2, no_ack=False)
    talk.say(2, spec.BasicAck(1 if first is None else first.content.delivery_tag))
    talk.call(spec.ChannelClose(200, "done"), 2)
    return talk.holds_one(queue)


@SUITE.on_a_channel(
    "basic.recover/redelivered",
    "must",
    "What is recovered is delivered again, and says so.",
    "basic.deliver with redelivered",
    needs=_DECLARE,
)
def _recover(talk: Talk08) -> Seen:
    queue = talk.filled(1)
    talk.call(spec.BasicConsume(queue, "tag"))
    talk.take("basic.deliver", 1)
    talk.say(1, spec.BasicRecover(True))
    unit = talk.wait(("basic.deliver",), 1)
    if unit is None:
        return talk.silence()
    if unit.event != "basic.deliver":
        return Seen(Verdict.BREAKS, talk.described(unit))
    told = unit.content.redelivered
    return judged(told, f"redelivered {told}".lower())


@SUITE.on_a_channel(
    "basic.cancel/no-effect", "note", "Behind the answer to a cancel no message comes.", "no message", needs=_DECLARE
)
def _cancel(talk: Talk08) -> Seen:
    queue = _consumed(talk)
    talk.call(spec.BasicCancel("tag"))
    talk.publish(routing_key=queue)
    unit = talk.quiet("basic.deliver")
    return judged(unit is None, talk.described(unit))


@SUITE.on_a_channel(
    "tx.commit/new-tx",
    "note",
    "What is sent in a transaction is there behind its commit.",
    "no message before the commit, and the message after",
    needs=(*_DECLARE, "0-8/tx"),
)
def _commit(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.TxSelect())
    talk.publish(routing_key=queue)
    talk.rest()
    early = talk.ready(queue)
    talk.call(spec.TxCommit())
    fine = talk.counts(queue, 1) and early == 0
    return judged(fine, f"messages: {early} before")


@SUITE.on_a_channel(
    "tx.rollback/scope",
    "note",
    "What is sent in a transaction that is rolled back is nowhere.",
    "no message",
    needs=(*_DECLARE, "0-8/tx"),
)
def _rollback(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.call(spec.TxSelect())
    talk.publish(routing_key=queue)
    talk.call(spec.TxRollback())
    talk.call(spec.TxCommit())
    talk.rest()
    count = talk.ready(queue)
    return Seen(Verdict.BREAKS if count else Verdict.CONFORMS, f"messages: {count}")


# Robustness.


@SUITE.on_a_channel(
    "security/length-check",
    "note",
    "Whatever lengths a client claims, the server goes on serving others.",
    "any answer, or none, and a new connection is served",
    variant="tables-10000-deep",
    may_harm=True,
)
def _deep(talk: Talk08) -> Seen:
    table = struct.pack(">I", 0)
    for _ in range(10_000):
        table = struct.pack(">I", len(table) + 3) + b"\x01aF" + table
    about = struct.pack(">HHQH", 60, 0, 0, 0x2000) + table
    talk.send(
        method_frame(1, talk.ticketed(1, spec.BasicPublish(routing_key="nobody"))) + frame(CONTENT_HEADER, 1, about)
    )
    talk.is_judged = False
    unit = talk.wait(("basic.return",), 1, 2.0)
    if unit is None and not talk.has_ended and talk.answers_still():
        return Seen(Verdict.INFORMATIONAL, "it is taken, and the connection is served as before")
    return Seen(Verdict.INFORMATIONAL, talk.described(unit))


# What is answered.

_ANSWERED: Final[tuple[tuple[str, str, str, Making], ...]] = (
    (
        "exchange.declare/durable-both",
        "must",
        "A server has durable and transient exchanges.",
        lambda talk: spec.ExchangeDeclare(talk.names.exchange(), "direct", durable=True),
    ),
    (
        "exchange.direct/two-instances",
        "must",
        "There is an exchange amq.direct.",
        lambda talk: spec.ExchangeDeclare("amq.direct", "direct", passive=True),
    ),
    (
        "queue.declare/exclusive-both",
        "must",
        "A server has exclusive and shared queues.",
        lambda talk: spec.QueueDeclare(talk.names.queue(), exclusive=True),
    ),
    (
        "queue.declare/arguments-ignored-if-passive",
        "note",
        "A passive declare doesn't look at the arguments.",
        lambda talk: spec.QueueDeclare(
            talk.declare(exclusive=True), passive=True, arguments=amqp.Table({"probe": "1"})
        ),
    ),
    (
        "queue.declare/current-queue",
        "note",
        "The last queue that was declared on a channel is meant by no name.",
        lambda talk: spec.QueuePurge("" if talk.declare(exclusive=True) else "none"),
    ),
    (
        "exchange.delete/if-unused-only",
        "should",
        "With if-unused, an exchange without bindings is deleted.",
        lambda talk: spec.ExchangeDelete(talk.exchange("direct"), True),
    ),
)

for _rule, _level, _clause, _making in _ANSWERED:

    @SUITE.on_a_channel(_rule, _level, _clause, "its answer", needs=_DECLARE)
    def _answers(talk: Talk08, making: Making = _making) -> Seen:
        return talk.answers_to(making(talk))


@SUITE.on_a_channel(
    "queue.declare-ok/name-notnull", "must", "queue.declare-ok names the queue.", "the name", needs=_DECLARE
)
def _name(talk: Talk08) -> Seen:
    name = talk.names.queue()
    told = talk.call(spec.QueueDeclare(name, exclusive=True)).queue
    return judged(told == name, told or "no name")


@SUITE.on_a_channel(
    "queue.purge/unacked-kept",
    "must",
    "Purging doesn't take what is delivered and not acknowledged.",
    "the message, behind the end of its channel",
    needs=_DECLARE,
)
def _kept(talk: Talk08) -> Seen:
    queue = talk.filled(2)
    talk.channel(2)
    talk.get(queue, 2, no_ack=False)
    talk.call(spec.QueuePurge(queue))
    talk.call(spec.ChannelClose(200, "done"), 2)
    return talk.holds_one(queue)


@SUITE.on_a_channel(
    "basic.consume/exclusive-busy",
    "must",
    "A queue with a consumer has no exclusive one beside it.",
    "channel.close 403",
    needs=_DECLARE,
)
def _busy(talk: Talk08) -> Seen:
    return talk.refuses(spec.BasicConsume(_consumed(talk), "another", exclusive=True), 403)


@SUITE.on_a_channel("basic.consume/server-tag", "note", "A consumer without a tag gets one.", "a tag", needs=_DECLARE)
def _server_tag(talk: Talk08) -> Seen:
    tag = talk.call(spec.BasicConsume(talk.declare(exclusive=True))).consumer_tag
    return judged(tag, tag or "none")


@SUITE.on_a_channel(
    "basic.ack/multiple-zero",
    "note",
    "Acknowledging 0 with multiple is about everything.",
    "no message, behind the end of the channel",
    needs=_DECLARE,
)
def _all(talk: Talk08) -> Seen:
    queue = talk.filled(2)
    talk.channel(2)
    for _ in range(2):
        talk.get(queue, 2, no_ack=False)
    talk.say(2, spec.BasicAck(0, True))
    talk.call(spec.ChannelClose(200, "done"), 2)
    talk.rest()
    count = talk.ready(queue)
    return Seen(Verdict.BREAKS if count else Verdict.CONFORMS, f"messages: {count}")


@SUITE.on_a_channel(
    "basic.publish/immediate",
    "should",
    "An immediate message that no consumer takes is returned.",
    "basic.return",
    needs=_DECLARE,
)
def _immediate(talk: Talk08) -> Seen:
    queue = talk.declare(exclusive=True)
    talk.publish(routing_key=queue, immediate=True)
    return talk.answers("basic.return")


@SUITE.on_a_channel(
    "exchange.topic/wildcards",
    "note",
    "A topic exchange routes by words: * is one, # any number.",
    "the messages whose keys fit",
    needs=_DECLARE,
)
def _wildcards(talk: Talk08) -> Seen:
    exchange = talk.exchange("topic")
    fits = {"a.*": ("a.b",), "a.#": ("a", "a.b", "a.b.c"), "#.c": ("c", "a.b.c")}
    queues = {pattern: talk.declare(exclusive=True) for pattern in fits}
    for pattern, queue in queues.items():
        talk.call(spec.QueueBind(queue, exchange, pattern))
    for key in ("a", "c", "a.b", "a.b.c", "b.a"):
        talk.publish(exchange=exchange, routing_key=key)
    wrong = [pattern for pattern, queue in queues.items() if not talk.counts(queue, len(fits[pattern]))]
    return Seen(Verdict.BREAKS if wrong else Verdict.CONFORMS, f"wrong: {', '.join(wrong) or 'none'}")


@SUITE.case("connection.start/locales-notnull", "must", "connection.start has locales.", "at least one locale")
def _has_locales(talk: Talk08) -> Seen:
    talk.is_judged = False
    names = talk.greet().locales.decode("ascii", "replace")
    return judged(names.split(), names or "none")
