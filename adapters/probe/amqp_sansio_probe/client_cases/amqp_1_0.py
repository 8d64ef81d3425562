"""Cases for clients of 1.0."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Final

from amqp_sansio import Observed
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from ..client_case import ClientSuite
from ..host_1_0 import REPLIES, Host_1_0, amqp_frame
from ..programs import Order
from ..verdicts import Seen, Verdict, judged

SUITE: Final[ClientSuite[Host_1_0]] = ClientSuite("1.0")

OPEN: Final = Order("open")
PUBLISH: Final = Order("publish 1")
CONSUME: Final = Order("consume 1 accept")


# The opening.


@SUITE.case(
    "transport/version/client-first", "must", "A client begins with a protocol header.", "AMQP 3 1 0 0 or 0 1 0 0", OPEN
)
def _header(host: Host_1_0) -> Seen:
    host.opened()
    host.end_in_order()
    first = host.said[:8]
    return judged(first in (b"AMQP\x03\x01\x00\x00", b"AMQP\x00\x01\x00\x00"), f"first octets: {first.hex(' ')}")


@SUITE.case(
    "security/sasl/mechanism-unsupported",
    "must",
    "A client that knows none of the offered mechanisms ends the connection.",
    "the end of the connection",
    OPEN,
)
def _no_mechanism(host: Host_1_0) -> Seen:
    host.mechanisms = ("X-PROBE-NONE",)
    host.held.add("sasl-init")
    unit = host.take("protocol-header")
    if unit.content[4] != 3:
        host.end_in_order()
        return Seen(Verdict.INFORMATIONAL, "the client speaks no SASL")
    host.is_judged = False
    init = host.wait("sasl-init")
    if init is not None:
        return Seen(Verdict.BREAKS, f"sasl-init with mechanism {init.content.mechanism}")
    return judged(host.has_ended, "the connection is ended" if host.has_ended else "the connection stays open")


@SUITE.case(
    "security/sasl/outcome-codes",
    "note",
    "A login is refused by the outcome of SASL; the program learns of it, and the client sends nothing more.",
    "an error of the program, and the end of the connection",
    OPEN,
    variant="auth",
)
def _refused(host: Host_1_0) -> Seen:
    host.code = 1
    init = host.wait("sasl-init")
    if init is None:
        host.end_in_order()
        return Seen(Verdict.INFORMATIONAL, "the client speaks no SASL")
    host.is_judged = False
    seen = host.learns("auth", "refused", "SASL", "sasl", "credentials")
    late = [each.event for each in host.seen if each.event in ("open", "begin", "attach")]
    return Seen(Verdict.BREAKS, f"{', '.join(late)} behind the outcome") if late else seen


@SUITE.case("transport/open/container-id", "must", "A client's open names its container.", "a name", OPEN)
def _container(host: Host_1_0) -> Seen:
    host.opened()
    host.end_in_order()
    name = None if host.opened_as is None else host.opened_as.container_id
    return judged(bool(name), f"container-id {name!r}")


@SUITE.case(
    "transport/open/channel-max",
    "must",
    "A client begins no session on a channel above the server's channel-max.",
    "channel 0",
    PUBLISH,
    variant="of-0",
)
def _channel_max(host: Host_1_0) -> Seen:
    host.open = spec.Open("probe", max_frame_size=65_536, channel_max=0)
    host.take("transfer")
    channels = {each.channel for each in host.seen if each.event == "begin"}
    return judged(channels == {0}, f"channels: {', '.join(map(str, sorted(channels)))}")


@SUITE.case(
    "transport/open/max-frame-size",
    "must",
    "No frame is larger than the size that the peer takes.",
    "frames of at most 512 octets",
    Order("publish 1", size=20_000),
    variant="of-512",
)
def _frame_size(host: Host_1_0) -> Seen:
    host.open = spec.Open("probe", max_frame_size=512, channel_max=255)
    unit = host.take("transfer")
    while unit.content.more:
        unit = host.take("transfer")
    opening = next((size for size in host.frames()), 0)
    largest = max(host.frames())
    return judged(largest <= 512, f"frames: {len(host.frames())}, the largest {largest}, the first {opening} octets")


# Sending.


@SUITE.case(
    "transport/disposition/range",
    "note",
    "A disposition settles all deliveries from its first to its last.",
    "accepted, 5 times",
    Order("publish 5"),
)
def _range(host: Host_1_0) -> Seen:
    host.held.add("settle")
    done = 0
    while done < 5:
        count = host.quiet("transfer", done + 1)
        if count == done:
            break
        ids = [each.delivery_id for each in host.transfers()[done:]]
        numbers = [each for each in ids if each is not None]
        host.settle(host.link(sender=True).channel, min(numbers), max(numbers), amqp.Accepted())
        done = count
    return host.judge_outcomes(*["accepted"] * 5)


def _second(host: Host_1_0, state: amqp.DeliveryState, word: str) -> Seen:
    host.held.add("settle")
    for place in range(3):
        unit = host.wait("transfer")
        if unit is None:
            break
        number = unit.content.delivery_id or 0
        host.settle(unit.channel, number, number, state if place == 1 else amqp.Accepted())
    return host.judge_outcomes("accepted", word, "accepted")


@SUITE.case(
    "rejected/count",
    "note",
    "A rejected message isn't taken; the program learns it.",
    "accepted, rejected, accepted",
    Order("publish 3"),
    variant="told",
)
def _rejected(host: Host_1_0) -> Seen:
    return _second(host, amqp.Rejected(amqp.Error("amqp:precondition-failed", "no")), "rejected")


@SUITE.case(
    "node/released-modified-available",
    "note",
    "A released message isn't taken; the program learns it.",
    "accepted, released, accepted",
    Order("publish 3"),
    variant="released",
)
def _released(host: Host_1_0) -> Seen:
    return _second(host, amqp.Released(), "released")


@SUITE.case(
    "node/released-modified-available",
    "note",
    "A modified message isn't taken; the program learns it.",
    "accepted, modified, accepted",
    Order("publish 3"),
    variant="modified",
)
def _modified(host: Host_1_0) -> Seen:
    return _second(host, amqp.Modified(delivery_failed=True), "modified")


@SUITE.case(
    "transport/flow/link-credit",
    "must",
    "A sender sends no more deliveries than its credit.",
    "2 transfers, and the others behind more credit",
    Order("publish 4"),
    variant="of-2",
)
def _credit(host: Host_1_0) -> Seen:
    host.credit = 2
    count = host.quiet("transfer", 2)
    if count > 2:
        return Seen(Verdict.BREAKS, f"{count} transfers with a credit of 2")
    host.flow(host.link(sender=True), 2)
    return host.judge_outcomes(*["accepted"] * 4)


@SUITE.case(
    "transport/flow/drain",
    "must",
    "A sender that has nothing to send uses up the credit of a drain, and says so.",
    "flow without credit, its delivery-count advanced",
    PUBLISH,
    variant="nothing-to-send",
)
def _drain(host: Host_1_0) -> Seen:
    host.held.add("settle")
    host.held.add("flow")
    unit = host.take("transfer")
    link = host.link(sender=True)
    count = link.delivery_count
    host.forget("flow")
    host.flow(link, 10, drain=True)
    flow = host.wait("flow")
    number = unit.content.delivery_id or 0
    host.held.clear()
    host.settle(unit.channel, number, number, amqp.Accepted())
    if flow is None:
        return Seen(Verdict.BREAKS, "no flow")
    told = flow.content
    fine = told.delivery_count == count + 10 and not told.link_credit
    return judged(fine, f"flow with credit {told.link_credit}, delivery-count {told.delivery_count} from {count}")


@SUITE.case(
    "transport/session.window/remote-incoming",
    "must",
    "A sender keeps the session's window.",
    "2 transfers, and the others behind a larger window",
    Order("publish 1", size=4_000),
    variant="of-2",
)
def _window(host: Host_1_0) -> Seen:
    host.open = spec.Open("probe", max_frame_size=1024, channel_max=255)
    host.window = 2
    count = host.quiet("transfer", 2)
    if count > 2:
        return Seen(Verdict.BREAKS, f"{count} transfers with a window of 2")
    host.window = 2048
    host.flow(host.link(sender=True), 10)
    return host.judge_outcomes("accepted")


@SUITE.case("transport/flow/echo", "note", "A flow that asks for an echo is answered with a flow.", "flow", PUBLISH)
def _echo(host: Host_1_0) -> Seen:
    host.held.add("settle")
    unit = host.take("transfer")
    link = host.link(sender=True)
    host.forget("flow")
    host.flow(link, 10, echo=True)
    flow = host.wait("flow")
    number = unit.content.delivery_id or 0
    host.held.clear()
    host.settle(unit.channel, number, number, amqp.Accepted())
    return judged(flow is not None, "no flow" if flow is None else f"flow, credit {flow.content.link_credit}")


@SUITE.case(
    "transport/delivery/guarantees",
    "note",
    "A delivery without an outcome is in doubt, behind a reset too.",
    "unknown, or a failure of the program",
    PUBLISH,
    variant="reset",
)
def _in_doubt(host: Host_1_0) -> Seen:
    host.held.add("settle")
    host.take("transfer")
    host.serve(host.patience.quiet)
    return host.loses()


# Receiving.


@SUITE.case(
    "transport/transfer/more",
    "note",
    "The transfers of a delivery are one message.",
    "a body of 1,000 octets",
    CONSUME,
    variant="50-frames",
)
def _joined(host: Host_1_0) -> Seen:
    host.deliver(host.receiver(), b"x" * 1000, pieces=50)
    line = host.hears("received")
    size = -1 if line is None else len(str(line.get("body", "")))
    return judged(size == 1000, "no message" if line is None else f"a body of {size} octets")


@SUITE.case(
    "transport/transfer/aborted",
    "must",
    "An aborted delivery is discarded, and not settled; the next one is a message.",
    "one message, the second",
    CONSUME,
)
def _aborted(host: Host_1_0) -> Seen:
    link = host.receiver()
    host.deliver(link, b"aborted" * 10, pieces=3, aborted=True)
    if link.credit <= 0:
        host.until(lambda: link.credit > 0 or host.has_ended)
    if link.credit <= 0:
        return Seen(Verdict.INCONCLUSIVE, "the client gives no further credit")
    host.deliver(link, b"whole")
    line = host.hears("received")
    body = None if line is None else line.get("body")
    return judged(body == "whole", f"the message: {body!r}")


@SUITE.case(
    "transport/transfer/rcv-first",
    "must",
    "A receiver settles a delivery with its outcome.",
    "accepted, settled",
    CONSUME,
)
def _accepts(host: Host_1_0) -> Seen:
    return _outcome(host, amqp.Accepted)


@SUITE.case(
    "rejected/error-annotation",
    "note",
    "A program that rejects a message tells the server so.",
    "rejected",
    Order("consume 1 reject"),
    variant="rejected",
)
def _rejects(host: Host_1_0) -> Seen:
    return _outcome(host, amqp.Rejected)


def _outcome(host: Host_1_0, wanted: type[amqp.Accepted] | type[amqp.Rejected]) -> Seen:
    number = host.deliver(host.receiver(), b"m")
    unit = host.wait("disposition")
    if unit is None:
        return Seen(Verdict.BREAKS, f"no disposition; {host.described()}")
    told = unit.content
    fine = isinstance(told.state, wanted) and told.first == number and told.role == spec.RECEIVER
    name = "no outcome" if told.state is None else told.state.NAME
    return judged(fine, f"{name} of {told.first}, {'settled' if told.settled else 'not settled'}")


@SUITE.case(
    "message/section-order",
    "note",
    "A message may have any of its sections.",
    "the message",
    CONSUME,
    variant="all-sections",
)
def _sections(host: Host_1_0) -> Seen:
    message = amqp.Message(
        b"m",
        header=amqp.Header(durable=True, priority=3, ttl=60_000, delivery_count=2),
        delivery_annotations={amqp.Symbol("x-probe"): 1},
        message_annotations={amqp.Symbol("x-opt-probe"): [1, "two", None]},
        properties=amqp.Properties(message_id=7, subject="s", content_type="text/plain"),
        application_properties={"a": 1, "b": "text", "c": True, "d": 1.5},
        footer={amqp.Symbol("x-probe-end"): b"\x00"},
    )
    host.deliver(host.receiver(), message)
    line = host.hears("received")
    return judged(line is not None and line.get("body") == "m", host.described() if line is None else "the message")


@SUITE.case(
    "transport/frame/empty", "note", "An empty frame is nothing but a sign of life.", "the message behind it", CONSUME
)
def _empty(host: Host_1_0) -> Seen:
    link = host.receiver()
    host.send(amqp_frame(0) * 3)
    host.deliver(link, b"m")
    line = host.hears("received")
    return judged(line is not None, host.described() if line is None else "the message")


@SUITE.case(
    "source.address/dynamic-receiver",
    "must",
    "A client that asks for an address of the server's choice names none itself, and uses the server's.",
    "an attach without an address, a request with the server's for its reply, and the reply",
    Order("rpc"),
    variant="rpc",
)
def _rpc(host: Host_1_0) -> Seen:
    reply_to = host.answer_request()
    line = host.hears("reply")
    body = None if line is None else line.get("body")
    sources = [each.content.source for each in host.seen if each.event == "attach"]
    dynamic = [each for each in sources if isinstance(each, amqp.Source) and each.dynamic]
    if not dynamic:
        return Seen(Verdict.INFORMATIONAL, f"no dynamic source, reply-to {reply_to!r}; the reply: {body!r}")
    fine = body == "answer" and reply_to == REPLIES and dynamic[0].address is None
    return judged(fine, f"address {dynamic[0].address!r}, reply-to {reply_to!r}; the reply: {body!r}")


# Errors and ends.


@SUITE.case(
    "transport/error/not-found",
    "note",
    "An attach without the asked terminus, and a detach behind it, refuse a link; the program learns why.",
    "detach, and amqp:not-found told",
    PUBLISH,
    variant="sender",
)
def _refuses(host: Host_1_0) -> Seen:
    return _refuse(host, sender=True)


@SUITE.case(
    "transport/error/not-found",
    "note",
    "An attach without the asked terminus, and a detach behind it, refuse a link; the program learns why.",
    "detach, and amqp:not-found told",
    CONSUME,
    variant="receiver",
)
def _refuses_receiver(host: Host_1_0) -> Seen:
    return _refuse(host, sender=False)


def _refuse(host: Host_1_0, *, sender: bool) -> Seen:
    host.held.add("attach")
    unit = host.take("attach")
    theirs: spec.Attach = unit.content
    while (theirs.role == spec.SENDER) is not sender:
        host.answer(unit)
        unit = host.take("attach")
        theirs = unit.content
    answer = spec.Attach(theirs.name, theirs.handle, not theirs.role, initial_delivery_count=None if sender else 0)
    detach = spec.Detach(theirs.handle, closed=True, error=amqp.Error("amqp:not-found", "no such node"))
    host.say(unit.channel, answer, detach)
    seen = host.learns("not-found", "no such node")

    def is_gone(each: Observed) -> bool:
        return each.event in ("end", "close") or (each.event == "detach" and each.content.handle == theirs.handle)

    # A program may print before its library says it.
    host.until(lambda: host.has_ended or any(is_gone(each) for each in host.seen))
    return seen if any(is_gone(each) for each in host.seen) else Seen(Verdict.BREAKS, f"no detach; {seen.text}")


@SUITE.case(
    "transport/link/detach",
    "must",
    "A detach is answered with a detach; the program learns of its error.",
    "detach, and amqp:resource-deleted told",
    CONSUME,
    variant="told",
)
def _detached(host: Host_1_0) -> Seen:
    link = host.receiver()
    error = amqp.Error("amqp:resource-deleted", "the queue is deleted")
    host.links.pop((link.channel, link.handle))
    host.say(link.channel, spec.Detach(link.handle, closed=True, error=error))
    answer = host.wait("detach")
    seen = host.learns("resource-deleted", "deleted")
    if answer is None and not any(each.event in ("end", "close") for each in host.seen):
        return Seen(Verdict.BREAKS, f"no detach; {seen.text}")
    # Only the answer is a MUST.
    return Seen(Verdict.NON_STRICT, f"detach; {seen.text}") if seen.verdict is Verdict.BREAKS else seen


@SUITE.case(
    "transport/session/end-pair",
    "note",
    "An end is answered with an end; the program learns of its error.",
    "end, and amqp:resource-limit-exceeded told",
    CONSUME,
    variant="told",
)
def _ended(host: Host_1_0) -> Seen:
    link = host.receiver()
    host.held.add("end")
    host.say(link.channel, spec.End(amqp.Error("amqp:resource-limit-exceeded", "too many sessions")))
    host.links.clear()
    answer = host.wait("end")
    seen = host.learns("resource-limit-exceeded", "too many sessions")
    if answer is None and not any(each.event == "close" for each in host.seen):
        return Seen(Verdict.BREAKS, f"no end; {seen.text}")
    return seen


@SUITE.case(
    "transport/close/nothing-after",
    "must",
    "A close is answered with a close, and nothing comes behind it.",
    "close",
    OPEN,
)
def _close(host: Host_1_0) -> Seen:
    host.opened()
    host.hears("opened")
    return judged(host.hang_up("amqp:connection:forced", "maintenance") is not None, host.described())


@SUITE.case(
    "transport/close/nothing-after",
    "must",
    "A close is answered with a close, and nothing comes behind it.",
    "close",
    CONSUME,
    variant="in-the-middle-of-a-delivery",
)
def _close_in_delivery(host: Host_1_0) -> Seen:
    link = host.receiver()
    first = spec.Transfer(link.handle, 0, b"0", 0, more=True)
    host.send(amqp_frame(link.channel, first, amqp.Message(b"whole").encode()[:6]))
    return judged(host.hang_up("amqp:connection:forced", "maintenance") is not None, host.described())


@SUITE.case(
    "transport/error/connection-forced",
    "note",
    "The error of a close is for the program.",
    "amqp:connection:forced told",
    OPEN,
    variant="told",
)
def _told(host: Host_1_0) -> Seen:
    host.opened()
    host.hears("opened")
    host.hang_up("amqp:connection:forced", "maintenance")
    return host.learns("forced", "maintenance")


# Damage.


@SUITE.case(
    "transport/link/unattached-handle",
    "must",
    "A flow on a handle without a link is answered by the end of the session.",
    "end with an error, or close, or the end of the connection",
    CONSUME,
)
def _unattached(host: Host_1_0) -> Seen:
    link = host.receiver()
    host.is_judged = False
    host.flow(replace(link, handle=99), 0)
    unit = host.wait("end", "close")
    if unit is not None:
        error = unit.content.error
        return Seen(Verdict.CONFORMS, f"{unit.event}, {'no error' if error is None else error.condition}")
    return judged(host.has_ended, host.described())


@SUITE.case(
    "transport/error/decode-error",
    "note",
    "A performative that can't be decoded is an error of the connection.",
    "close with an error, or the end of the connection",
    OPEN,
    variant="unknown-type",
)
def _undecodable(host: Host_1_0) -> Seen:
    host.opened()
    host.hears("opened")
    host.is_judged = False
    host.send(amqp_frame(0, b"\x00\x53\x11\xc0\x03\x01\x3f\x3f"), watched=False)
    return host.gives_up()


@SUITE.case(
    "transport/error/framing-error",
    "note",
    "A client bounds what it keeps of a frame before the sizes are agreed on.",
    "the end of the connection",
    OPEN,
    variant="frame-of-2-GiB-before-open",
)
def _huge(host: Host_1_0) -> Seen:
    host.held.add("open")
    host.take("open")
    host.is_judged = False
    host.send(struct.pack(">IBBH", 2**31 - 1, 2, 0, 0) + bytes(65_536), watched=False)
    return host.gives_up()


@SUITE.case(
    "transport/frame/doff",
    "note",
    "A frame whose data begins inside its header is malformed.",
    "close with an error, or the end of the connection",
    OPEN,
    variant="of-1",
)
def _doff(host: Host_1_0) -> Seen:
    host.opened()
    host.hears("opened")
    host.is_judged = False
    host.send(struct.pack(">IBBH", 8, 1, 0, 0), watched=False)
    return host.gives_up()


# Idle time-outs.


@SUITE.case(
    "transport/connection/idle-empty-when",
    "should",
    "A client that has nothing to send sends empty frames within the peer's idle time-out.",
    "a frame at least each second",
    OPEN,
)
def _idle(host: Host_1_0) -> Seen:
    host.open = spec.Open("probe", max_frame_size=65_536, channel_max=255, idle_time_out=1_000)
    host.opened()
    host.hears("opened")
    host.gaps.clear()
    host.serve(4.0)
    longest = max([*host.gaps, host.transport.now() - host.last_at])
    host.end_in_order()
    # A quarter more, for a machine that is late.
    return judged(longest <= 1.25, f"the longest silence is {longest:.1f} s")


@SUITE.case(
    "transport/connection/idle-half",
    "should",
    "A client keeps the peer's idle time-out also while its program works on a message.",
    "a frame at least every 2 seconds",
    Order("consume 1 accept", busy=4.0),
    variant="busy-for-4-seconds",
)
def _busy(host: Host_1_0) -> Seen:
    host.open = spec.Open("probe", max_frame_size=65_536, channel_max=255, idle_time_out=2_000)
    link = host.receiver()
    host.gaps.clear()
    host.deliver(link, b"m")
    at = host.transport.now()
    host.until(lambda: host.has_ended or any(each.event == "disposition" for each in host.seen), 8.0)
    longest = max([*host.gaps, host.transport.now() - max(host.last_at, at)])
    return judged(longest <= 2.0, f"the longest silence is {longest:.1f} s")


@SUITE.case(
    "transport/connection/idle-exceeded",
    "should",
    "A client whose own idle time-out passes ends the connection.",
    "close, or the end of the connection",
    OPEN,
)
def _silent(host: Host_1_0) -> Seen:
    host.opened()
    host.hears("opened")
    limit = None if host.opened_as is None else host.opened_as.idle_time_out
    if not limit or limit > 5_000:
        host.end_in_order()
        return Seen(Verdict.INFORMATIONAL, f"idle-time-out {limit}: it isn't waited for")
    host.is_judged = False
    host.held.add("close")
    at = host.transport.now()
    ended = host.until(lambda: host.has_ended or any(each.event == "close" for each in host.seen), 3 * limit / 1000)
    return judged(ended, f"idle-time-out {limit} ms, after {host.transport.now() - at:.1f} s")
