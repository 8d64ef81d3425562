"""Cases for clients of 0-9-1."""

from __future__ import annotations

import struct
from typing import Final

from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import spec

from ..client_case import ClientSuite
from ..host_0_9_1 import ClassicHost
from ..programs import Order
from ..talk import BODY, METHOD, frame, header_frame, method_frame
from ..verdicts import Seen, Verdict, judged
from . import common

SUITE: Final[ClientSuite[ClassicHost]] = ClientSuite("0-9-1")

OPEN: Final = Order("open")
PUBLISH: Final = Order("publish 1")
CONSUME: Final = Order("consume 1 accept")


# The opening.


@SUITE.case("wire/header-client-first", "must", "A client begins with the protocol header.", "AMQP 0 0 9 1", OPEN)
def _header(host: ClassicHost) -> Seen:
    host.opened()
    host.end_in_order()
    return judged(host.said.startswith(host.HEADERS), f"first octets: {host.said[:8].hex(' ')}")


@SUITE.case(
    "connection.start/client-support",
    "must",
    "A client that doesn't support the server's version ends the connection, and sends nothing more.",
    "the end of the connection",
    OPEN,
    variant="version-0-1",
)
def _other_version(host: ClassicHost) -> Seen:
    host.held.add("protocol-header")
    host.take("protocol-header")
    # A server may name no higher version than the header does.
    host.send_start(version=(0, 1))
    return common.goes_no_further(host)


@SUITE.case(
    "connection.start-ok/mechanism-notnull",
    "must",
    "A client names one of the offered mechanisms.",
    "a mechanism of the offer",
    OPEN,
)
def _mechanism(host: ClassicHost) -> Seen:
    host.opened()
    host.end_in_order()
    name = host.start_ok.mechanism if host.start_ok is not None else ""
    return judged(name in ("PLAIN", "AMQPLAIN"), f"mechanism {name!r}")


@SUITE.case(
    "connection.start-ok/best-mechanism",
    "should",
    "A client that knows none of the offered mechanisms doesn't log in.",
    "the end of the connection",
    OPEN,
    variant="none-is-known",
)
def _no_mechanism(host: ClassicHost) -> Seen:
    host.held.add("protocol-header")
    host.held.add("connection.start-ok")
    host.take("protocol-header")
    host.send_start(b"X-PROBE-NONE")
    unit = host.wait("connection.start-ok")
    host.is_judged = False
    if unit is not None:
        return Seen(Verdict.BREAKS, f"connection.start-ok with mechanism {unit.content.mechanism!r}")
    return judged(host.has_ended, "the connection is ended" if host.has_ended else "the connection stays open")


@SUITE.case(
    "connection.start-ok/client-properties",
    "should",
    "A client says who it is: product, version, platform, copyright and information.",
    "these properties",
    OPEN,
)
def _properties(host: ClassicHost) -> Seen:
    host.opened()
    host.end_in_order()
    if host.start_ok is None:
        return Seen(Verdict.BREAKS, "no connection.start-ok")
    given = host.start_ok.client_properties
    missing = [each for each in ("product", "version", "platform", "copyright", "information") if each not in given]
    return judged(not missing, f"without {', '.join(missing)}" if missing else f"{given['product']}")


@SUITE.case(
    "connection.tune-ok/channel-max-le",
    "must",
    "A client agrees on no more channels than the server proposes.",
    "channel-max 1 to 5",
    OPEN,
    variant="offer-of-5",
)
def _channels(host: ClassicHost) -> Seen:
    number = common.agreed_channels(host, 5)
    return judged(1 <= number <= 5, f"channel-max {number}")


@SUITE.case(
    "wire/frame-oversize-send",
    "must",
    "No frame is larger than the agreed size, and that counts the 8 octets around the payload.",
    "frames of at most 4,096 octets",
    Order("publish 1", size=20_000),
    variant="body-of-20000-octets",
)
def _frames(host: ClassicHost) -> Seen:
    host.tune = spec.ConnectionTune(2047, 4096, 0)
    unit = host.take("basic.publish")
    agreed = 0 if host.tuned is None else host.tuned.frame_max
    largest = max([size for _, _, size in host.frames()])
    text = f"frame-max {agreed}; the largest frame has {largest} octets; the body {unit.body_size}"
    return judged(0 < agreed <= 4096 and largest <= agreed and unit.body_size == 20_000, text)


# Publishing.


@SUITE.case(
    "rabbitmq/basic.ack.server",
    "note",
    "Each message is confirmed; the program learns it of each.",
    "accepted, 3 times",
    Order("publish 3"),
    variant="acks",
)
def _acks(host: ClassicHost) -> Seen:
    return host.judge_outcomes("accepted", "accepted", "accepted")


@SUITE.case(
    "rabbitmq/basic.ack.server",
    "note",
    "An acknowledgement with multiple confirms all messages up to its tag.",
    "accepted, 5 times",
    Order("publish 5"),
    variant="multiple",
)
def _multiple(host: ClassicHost) -> Seen:
    host.held.add("basic.publish")
    done = 0
    while done < 5:
        count = host.quiet("basic.publish", done + 1)
        if count == done:
            break
        done = count
        host.say(host.seen[-1].channel, spec.BasicAck(done, multiple=True))
    return host.judge_outcomes(*["accepted"] * 5)


@SUITE.case(
    "rabbitmq/basic.nack.publisher",
    "should",
    "A publisher handles basic.nack: the program learns that the server didn't take the message.",
    "accepted, rejected, accepted",
    Order("publish 3"),
)
def _nack(host: ClassicHost) -> Seen:
    host.held.add("basic.publish")
    for tag in (1, 2, 3):
        unit = host.wait("basic.publish")
        if unit is None:
            break
        host.say(unit.channel, spec.BasicNack(tag) if tag == 2 else spec.BasicAck(tag))
    return host.judge_outcomes("accepted", "rejected", "accepted")


@SUITE.case(
    "rabbitmq/return-312",
    "note",
    "A message that can't be routed is returned before it is confirmed; the program learns which one.",
    "accepted, returned, accepted",
    Order("publish 3"),
    variant="told",
)
def _returned(host: ClassicHost) -> Seen:
    host.held.add("basic.publish")
    for tag in (1, 2, 3):
        unit = host.wait("basic.publish")
        if unit is None:
            break
        if tag == 2:
            about = spec.BasicReturn(312, "NO_ROUTE", unit.content.exchange, unit.content.routing_key)
            host.send(host.content(unit.channel, about, unit.body or b"", unit.properties))
        host.say(unit.channel, spec.BasicAck(tag))
    return host.judge_outcomes("accepted", "returned", "accepted")


@SUITE.case(
    "rabbitmq/confirm.no-time",
    "should",
    "Without a confirmation a publisher assumes nothing: behind a reset the message is in doubt.",
    "unknown, or a failure of the program",
    PUBLISH,
    variant="reset",
)
def _in_doubt(host: ClassicHost) -> Seen:
    host.held.add("basic.publish")
    host.take("basic.publish")
    host.serve(host.patience.quiet)
    return host.loses()


@SUITE.case(
    "channel.flow-ok/echo",
    "note",
    "A peer confirms channel.flow, and sends no content until it may go on.",
    "channel.flow-ok, and the messages behind the next channel.flow",
    Order("publish 3"),
    variant="stop",
)
def _flow(host: ClassicHost) -> Seen:
    host.held.add("confirm.select")
    unit = host.wait("confirm.select", "basic.publish")
    if unit is None or unit.event != "confirm.select":
        return Seen(Verdict.INFORMATIONAL, "the program publishes without confirms: it can't be stopped before")
    host.say(unit.channel, spec.ChannelFlow(active=False))
    host.published[unit.channel] = 0
    host.say(unit.channel, spec.ConfirmSelectOk())
    answer = host.wait("channel.flow-ok")
    host.serve(host.patience.quiet)
    early = sum(each.event == "basic.publish" for each in host.seen)
    host.say(unit.channel, spec.ChannelFlow(active=True))
    host.serve(host.patience.quiet)
    if answer is None:
        return Seen(Verdict.BREAKS, "no channel.flow-ok")
    if early:
        return Seen(Verdict.BREAKS, f"channel.flow-ok, and {early} messages nevertheless")
    host.wait("channel.flow-ok", seconds=host.patience.quiet)
    return host.judge_outcomes("accepted", "accepted", "accepted")


# Consuming.


@SUITE.case(
    "wire/content-join",
    "must",
    "The pieces of a body are one message, however it is cut.",
    "a body of 1,000 octets",
    CONSUME,
    variant="100-frames",
)
def _joined(host: ClassicHost) -> Seen:
    host.deliver(host.consumer(), b"x" * 1000, pieces=100)
    line = host.hears("received")
    size = -1 if line is None else len(str(line.get("body", "")))
    return judged(size == 1000, "no message" if line is None else f"a body of {size} octets")


@SUITE.case(
    "wire/content-body-size",
    "note",
    "A message may have no body.",
    "a message without octets",
    CONSUME,
    variant="empty",
)
def _empty(host: ClassicHost) -> Seen:
    host.deliver(host.consumer(), b"")
    line = host.hears("received")
    return judged(line is not None and line.get("body") == "", "no message" if line is None else "a message")


@SUITE.case(
    "basic.get-ok/must-ack",
    "note",
    "A message is acknowledged once, with its delivery-tag, on its channel.",
    "basic.ack with the tags 1, 2 and 3, once each",
    Order("consume 3 accept"),
    variant="tags",
)
def _tags(host: ClassicHost) -> Seen:
    consumer = host.consumer()
    sent = [host.deliver(consumer, b"m") for _ in range(3)]
    acked: list[int] = []
    while len(acked) < len(sent):
        unit = host.wait("basic.ack", "basic.nack", "basic.reject")
        if unit is None or unit.event != "basic.ack" or unit.channel != consumer[0]:
            return Seen(Verdict.BREAKS, f"acknowledged: {acked}; {host.described()}")
        acked += (
            range(len(acked) + 1, unit.content.delivery_tag + 1)
            if unit.content.multiple
            else [unit.content.delivery_tag]
        )
    return judged(acked == sent, f"acknowledged: {', '.join(map(str, acked))}")


@SUITE.case(
    "domain/delivery-tag.channel-scope",
    "must",
    "A delivery-tag means something on its channel alone: that is where the message is acknowledged.",
    "acknowledgements of tags that were delivered, on the channel of their delivery",
    Order("consume 2 accept"),
)
def _channel_of_tags(host: ClassicHost) -> Seen:
    consumer = host.consumer()
    sent = [host.deliver(consumer, b"m") for _ in range(2)]

    def settled() -> list[tuple[int, int]]:
        names = ("basic.ack", "basic.nack", "basic.reject")
        return [(each.channel, each.content.delivery_tag) for each in host.seen if each.event in names]

    host.until(lambda: host.has_ended or any(tag == sent[-1] for _, tag in settled()))
    found = settled()
    wrong = [each for each in found if each[0] != consumer[0] or each[1] not in sent]
    text = ", ".join([f"{tag} on channel {channel}" for channel, tag in found])
    return judged(found and not wrong, f"{text or 'none'}; delivered on channel {consumer[0]}")


@SUITE.case(
    "basic.get-ok/must-ack",
    "note",
    "A message that the program doesn't want is rejected, with its delivery-tag.",
    "basic.reject or basic.nack without requeue",
    Order("consume 1 reject"),
    variant="rejected",
)
def _rejected(host: ClassicHost) -> Seen:
    host.deliver(host.consumer(), b"m")
    unit = host.wait("basic.reject", "basic.nack", "basic.ack")
    if unit is None or unit.event == "basic.ack":
        return Seen(Verdict.BREAKS, host.described())
    return judged(
        not unit.content.requeue and unit.content.delivery_tag == 1, f"{unit.event} of {unit.content.delivery_tag}"
    )


@SUITE.case(
    "domain/redelivered.signal",
    "should",
    "A redelivered message is a message; the program sees the flag.",
    "redelivered is told",
    CONSUME,
    variant="told",
)
def _redelivered(host: ClassicHost) -> Seen:
    host.deliver(host.consumer(), b"m", redelivered=True)
    line = host.hears("received")
    text = "no message" if line is None else f"redelivered: {line.get('redelivered')}"
    return judged(line is not None and line.get("redelivered") is True, text)


@SUITE.case(
    "wire/table-tags",
    "note",
    "A table has fields of many types; a message whose headers have all of them arrives.",
    "the message",
    CONSUME,
    variant="in-headers",
)
def _headers(host: ClassicHost) -> Seen:
    fields = (
        (b"bool", b"t\x01"),
        (b"int8", b"b\xff"),
        (b"int16", b"s\xff\xfe"),
        (b"int32", b"I\xff\xff\xff\xfe"),
        (b"int64", b"l\xff\xff\xff\xff\xff\xff\xff\xfe"),
        (b"float", b"f\x3f\x80\x00\x00"),
        (b"double", b"d\x3f\xf0\x00\x00\x00\x00\x00\x00"),
        (b"decimal", b"D\x02\x00\x00\x00\x7b"),
        (b"text", b"S\x00\x00\x00\x02hi"),
        (b"time", b"T\x00\x00\x00\x00\x65\x53\xf1\x00"),
        (b"void", b"V"),
        (b"octets", b"x\x00\x00\x00\x02\x00\xff"),
        (b"array", b"A\x00\x00\x00\x05I\x00\x00\x00\x01"),
        (b"table", b"F\x00\x00\x00\x04\x01at\x01"),
    )
    table = b"".join([bytes([len(name)]) + name + value for name, value in fields])
    properties = struct.pack(">HI", 1 << 13, len(table)) + table
    consumer = host.consumer()
    method = spec.BasicDeliver(consumer[1], 1, False, "", "probe")
    header = frame(2, consumer[0], struct.pack(">HHQ", 60, 0, 1) + properties)
    host.send(method_frame(consumer[0], method) + header + frame(BODY, consumer[0], b"m"))
    line = host.hears("received")
    return judged(line is not None, host.described() if line is None else "the message")


@SUITE.case(
    "rabbitmq/basic.cancel.notify",
    "note",
    "A server cancels a consumer whose queue is gone; the program learns of it.",
    "cancelled is told, or an error",
    CONSUME,
)
def _cancelled(host: ClassicHost) -> Seen:
    consumer = host.consumer()
    host.serve(host.patience.quiet)
    host.say(consumer[0], spec.BasicCancel(consumer[1], no_wait=True))
    line = host.hears("cancelled", "closed")
    if line is not None:
        return Seen(Verdict.CONFORMS, f"told: {line['event']}")
    status = host.exits()
    if status:
        return Seen(Verdict.CONFORMS, f"the program fails: {host.program.complaint()}")
    return Seen(Verdict.BREAKS, "the program ends as after a success" if status == 0 else "the program waits on")


@SUITE.case(
    "basic.cancel/in-flight",
    "note",
    "Messages may still come until basic.cancel-ok; a client takes them in its stride.",
    "an end in order",
    CONSUME,
)
def _in_flight(host: ClassicHost) -> Seen:
    consumer = host.consumer()
    host.held |= {"basic.cancel", "channel.close", "connection.close"}
    host.deliver(consumer, b"m")
    unit = host.take("basic.cancel", "channel.close", "connection.close")
    host.deliver(consumer, b"late")
    host.deliver(consumer, b"later", pieces=2)
    host.held.clear()
    host.answer(unit)
    status = host.exits()
    return judged(
        status == 0, f"{unit.event} with two messages in between; exit status {status} {host.program.complaint()}"
    )


@SUITE.case(
    "method/sync-reply",
    "note",
    "The server names a queue that is declared without a name; the client uses that name.",
    "a consumer of the queue, and a reply",
    Order("rpc"),
    variant="server-named-queue",
)
def _rpc(host: ClassicHost) -> Seen:
    reply_to = host.answer_request()
    line = host.hears("reply")
    body = None if line is None else line.get("body")
    return judged(body == "answer", f"reply-to {reply_to!r}; the reply: {body!r}")


# Closing.


@SUITE.case(
    "connection.close/answer",
    "must",
    "A peer answers connection.close with connection.close-ok, and sends nothing behind it.",
    "connection.close-ok",
    OPEN,
)
def _close(host: ClassicHost) -> Seen:
    host.opened()
    host.hears("opened")
    return judged(host.hang_up(320, "CONNECTION_FORCED") is not None, host.described())


@SUITE.case(
    "connection.close/answer",
    "must",
    "A peer answers connection.close with connection.close-ok, and sends nothing behind it.",
    "connection.close-ok",
    CONSUME,
    variant="in-the-middle-of-a-body",
)
def _close_in_body(host: ClassicHost) -> Seen:
    channel, tag = host.consumer()
    method = method_frame(channel, spec.BasicDeliver(tag, 1, False, "", "probe"))
    host.send(method + header_frame(channel, 100) + frame(BODY, channel, b"half"))
    return judged(host.hang_up(320, "CONNECTION_FORCED") is not None, host.described())


@SUITE.case(
    "connection/error-scope",
    "note",
    "An error of the connection ends all of it; the program learns of it.",
    "the code 320, or a failure of the program",
    OPEN,
    variant="told",
)
def _told(host: ClassicHost) -> Seen:
    host.opened()
    host.hears("opened")
    host.hang_up(320, "CONNECTION_FORCED")
    return host.learns("320", "FORCED")


@SUITE.case(
    "connection.close/discard",
    "must",
    "Behind its connection.close a client discards everything but the answer.",
    "an end in order",
    CONSUME,
)
def _discard(host: ClassicHost) -> Seen:
    consumer = host.consumer()
    host.deliver(consumer, b"m")
    host.held |= {"connection.close"}
    host.take("connection.close")
    is_closed = any(each.event == "channel.close" and each.channel == consumer[0] for each in host.seen)
    late = host.content(consumer[0], spec.BasicDeliver(consumer[1], 2, False, "", "probe"), b"late")
    host.send(late, watched=False)
    host.held.clear()
    host.say(0, host.RECORDS.ConnectionCloseOk())
    status = host.exits()
    text = f"exit status {status} {host.program.complaint()}".rstrip()
    if is_closed and status != 0:
        # No server sends anything on a channel that is closed; the sentence speaks of whatever is received.
        return Seen(Verdict.NON_STRICT, f"{text}; its channel was closed before")
    return judged(status == 0, text)


@SUITE.case(
    "method/sync-reply",
    "note",
    "Behind channel.close a client sends channel.close-ok, and nothing more on that channel.",
    "channel.close-ok",
    Order("publish 3"),
    variant="channel.close-while-publishing",
)
def _channel_close(host: ClassicHost) -> Seen:
    host.held.add("basic.publish")
    unit = host.take("basic.publish")
    host.say(unit.channel, spec.ChannelClose(404, "NOT_FOUND - no exchange", 60, 40))
    answer = host.wait("channel.close-ok")
    if answer is None:
        return Seen(Verdict.BREAKS, f"no channel.close-ok; {host.described()}")
    host.serve(host.patience.quiet)
    names = [each.event for each in host.seen if each.channel == unit.channel]
    late = names[names.index("channel.close-ok") + 1 :]
    again = not late or late[0] == "channel.open"
    return judged(again, "channel.close-ok" if again else f"channel.close-ok, then {', '.join(late)}")


@SUITE.case(
    "constant/soft-vs-hard",
    "note",
    "An error of a channel leaves the connection; the program learns of it.",
    "the code 404, or a failure of the program",
    PUBLISH,
    variant="told",
)
def _channel_told(host: ClassicHost) -> Seen:
    host.held.add("basic.publish")
    unit = host.take("basic.publish")
    host.say(unit.channel, spec.ChannelClose(404, "NOT_FOUND - no exchange", 60, 40))
    seen = host.learns("404", "NOT_FOUND")
    if "accepted" in host.outcomes():
        return Seen(Verdict.BREAKS, f"the message counts as accepted; {seen.text}")
    return seen


@SUITE.case(
    "rabbitmq/connection.blocked",
    "note",
    "A server says when it takes no messages and when it does again; the program can learn of both.",
    "blocked and unblocked are told",
    OPEN,
)
def _blocked(host: ClassicHost) -> Seen:
    host.opened()
    host.hears("opened")
    host.say(0, spec.ConnectionBlocked("low on memory"))
    one = host.hears("blocked")
    host.say(0, spec.ConnectionUnblocked())
    other = host.hears("unblocked") if one is not None else None
    host.end_in_order()
    return judged(one is not None and other is not None, f"blocked: {one is not None}, unblocked: {other is not None}")


# Damage.


@SUITE.case(
    "wire/frame-end-check",
    "must",
    "A frame whose last octet isn't 0xce is a fatal error.",
    "connection.close 501, or the end of the connection",
    OPEN,
    variant="connection.start",
)
def _frame_end(host: ClassicHost) -> Seen:
    host.held.add("protocol-header")
    host.take("protocol-header")
    start = host.RECORDS.ConnectionStart(*host.NUMBERS, amqp.Table({}), b"PLAIN", b"en_US")
    host.is_judged = False
    host.send(frame(METHOD, 0, start.encode(spec.RABBIT.tables), b"\x00"), watched=False)
    return host.gives_up()


@SUITE.case(
    "wire/frame-type-unknown",
    "must",
    "A frame of an unknown type is a fatal error.",
    "connection.close 501, or the end of the connection",
    OPEN,
)
def _frame_type(host: ClassicHost) -> Seen:
    host.opened()
    host.hears("opened")
    host.is_judged = False
    host.send(frame(9, 0, b"probe"), watched=False)
    return host.gives_up()


@SUITE.case(
    "wire/content-incomplete",
    "must",
    "A method in the place of a content header is an error of the connection.",
    "connection.close 505, or the end of the connection",
    CONSUME,
    variant="method-for-header",
)
def _incomplete(host: ClassicHost) -> Seen:
    channel, tag = host.consumer()
    host.is_judged = False
    deliver = method_frame(channel, spec.BasicDeliver(tag, 1, False, "", "probe"))
    host.send(deliver + deliver, watched=False)
    return host.gives_up()


@SUITE.case(
    "wire/content-body-size",
    "note",
    "A body has as many octets as its header announces.",
    "connection.close 501, or the end of the connection",
    CONSUME,
    variant="longer-than-announced",
)
def _too_long(host: ClassicHost) -> Seen:
    channel, tag = host.consumer()
    host.is_judged = False
    deliver = method_frame(channel, spec.BasicDeliver(tag, 1, False, "", "probe"))
    host.send(deliver + header_frame(channel, 3) + frame(BODY, channel, b"longer"), watched=False)
    return host.gives_up()


@SUITE.case(
    "security/length-check",
    "note",
    "A client bounds what it keeps of a frame before the sizes are agreed on.",
    "the end of the connection",
    OPEN,
    variant="frame-of-2-GiB-before-tune",
)
def _huge(host: ClassicHost) -> Seen:
    host.held.add("protocol-header")
    host.take("protocol-header")
    host.is_judged = False
    host.send(struct.pack(">BHI", METHOD, 0, 2**31 - 1) + bytes(65_536), watched=False)
    return host.gives_up()


# Heartbeats.


@SUITE.case(
    "wire/heartbeat-interval",
    "should",
    "A client sends heartbeats at the agreed interval, also while its program works on a message.",
    "octets at least every 2 seconds",
    Order("consume 1 accept", busy=4.0),
    variant="busy-for-4-seconds",
)
def _busy(host: ClassicHost) -> Seen:
    host.tune = spec.ConnectionTune(2047, 131_072, 1)
    consumer = host.consumer()
    if host.tuned is None or host.tuned.heartbeat == 0:
        host.deliver(consumer, b"m")
        return Seen(Verdict.INFORMATIONAL, "the client agrees on no heartbeats")
    host.deliver(consumer, b"m")
    host.gaps.clear()
    at = host.transport.now()
    host.beat_until(lambda: any(each.event == "basic.ack" for each in host.seen), 8.0)
    longest = max(host.gaps, default=host.transport.now() - at)
    # Twice the interval is what a server waits for at least.
    return judged(longest <= 2.0 * host.tuned.heartbeat, f"the longest silence is {longest:.1f} s")


@SUITE.case(
    "wire/heartbeat-timeout",
    "should",
    "A client that hears nothing for two intervals ends the connection.",
    "the end of the connection within 15 seconds",
    OPEN,
    variant="silent-server",
)
def _silent(host: ClassicHost) -> Seen:
    host.tune = spec.ConnectionTune(2047, 131_072, 1)
    host.opened()
    if host.tuned is None or host.tuned.heartbeat == 0:
        host.end_in_order()
        return Seen(Verdict.INFORMATIONAL, "the client agrees on no heartbeats")
    host.hears("opened")
    host.is_judged = False
    host.held |= {"connection.close"}
    at = host.transport.now()
    ended = host.ends(15.0)
    after = host.transport.now() - at
    return judged(ended, f"after {after:.1f} s" if ended else f"not within {after:.1f} s")


@SUITE.case(
    "wire/heartbeat-any-octet",
    "note",
    "Any traffic is as good as a heartbeat.",
    "the connection is kept",
    Order("consume 8 accept"),
)
def _traffic(host: ClassicHost) -> Seen:
    host.tune = spec.ConnectionTune(2047, 131_072, 1)
    consumer = host.consumer()
    for number in range(8):
        host.deliver(consumer, str(number).encode())
        host.serve(0.6)
        if host.has_ended:
            break

    def count() -> int:
        return sum(each.get("event") == "received" for each in host.told)

    # The program may be at the last one still.
    host.until(lambda: count() == 8 or host.program.status() is not None)
    return judged(count() == 8, f"{count()} of 8 messages in 5 seconds without heartbeats")
