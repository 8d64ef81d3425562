"""Cases of 1.0: open and close, time-outs, and sessions with their windows."""

from __future__ import annotations

from typing import Final

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec

from ..case import Suite
from ..talk_1_0 import HEADER, MANY, SASL, SASL_HEADER, SMALLEST, WINDOW, Talk10, frame
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk10)

_CLOSED: Final = "a close with an error, or the end of the connection"
_PASSED: Final = f"{_CLOSED}; passing over it isn't strict"
_NODE: Final = ("1.0/node",)

# Opening.


@SUITE.case("transport/connection/open-first", "must", "The first performative of a connection is open.", _PASSED)
def _begin_first(talk: Talk10) -> Seen:
    talk.authenticate()
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW))
    unit = talk.wait(("begin",), seconds=2 * talk.patience.answer)
    if unit is None:
        return Seen(Verdict.CONFORMS if talk.has_ended else Verdict.NON_STRICT, talk.ending())
    fine = unit.event == "close" and unit.content.error is not None
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel("transport/connection.state/opened", "note", "A connection is opened once.", _CLOSED)
def _twice(talk: Talk10) -> Seen:
    talk.say(talk.opening())
    return talk.fails("close", silent=True)


@SUITE.case(
    "transport/connection/pipelined",
    "may",
    "A client may send its open, and more, before it has the answers.",
    "open and begin",
)
def _pipelined(talk: Talk10) -> Seen:
    init = frame(spec.SaslInit("PLAIN", talk.login_as.plain), kind=SASL)
    begins = frame(talk.opening()) + frame(spec.Begin(None, 0, WINDOW, WINDOW))
    talk.send(SASL_HEADER + init + HEADER + begins)
    unit = talk.wait(("begin",))
    fine = unit is not None and unit.event == "begin"
    return judged(fine, talk.described(unit))


@SUITE.case("transport/open/container-id", "must", "The open names its container.", "a name that isn't empty")
def _container(talk: Talk10) -> Seen:
    talk.login()
    name = talk.peer.container_id
    return judged(name, repr(name))


@SUITE.case(
    "transport/open/max-frame-size-min",
    "must",
    "A peer takes frames of 512 octets: it announces no fewer.",
    "512 at the least",
)
def _frame_min(talk: Talk10) -> Seen:
    talk.login()
    most = talk.peer.max_frame_size
    return judged(most >= SMALLEST, str(most))


@SUITE.case(
    "transport/connection/within-limits",
    "must",
    "A peer sends no frame above the size that the other announced.",
    "a message of 3,000 octets in frames of 512 and less",
    needs=_NODE,
)
def _small_frames(talk: Talk10) -> Seen:
    talk.login(max_frame_size=SMALLEST)
    talk.session()
    address = talk.filled(bytes(3_000))
    link = talk.receiver(address, credit=MANY)
    sizes: list[int] = []
    while (unit := talk.of(link, "transfer")) is not None and unit.event == "transfer":
        sizes.append(unit.octets)
        if not unit.content.more:
            break
    fine = bool(sizes) and max(sizes) <= SMALLEST
    return judged(fine, f"frames of {sizes} octets" if sizes else "no message")


@SUITE.case("transport/open/channel-max", "must", "No channel above the announced one is used.", _CLOSED)
def _channel(talk: Talk10) -> Seen:
    talk.login()
    most = talk.peer.channel_max
    if most == 0xFFFF:
        return Seen(Verdict.INFORMATIONAL, "it takes every channel")
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW), channel=most + 1)
    return talk.fails("close", "amqp:connection:framing-error", "amqp:not-allowed", channel=most + 1, silent=True)


@SUITE.case(
    "transport/open/channel-max",
    "must",
    "No channel above the announced one is used.",
    "begin on channel 0, where the client takes no other",
    variant="of-the-client",
)
def _own_channel(talk: Talk10) -> Seen:
    talk.login(channel_max=0)
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW))
    begun = talk.until(lambda each: each.event in ("begin", "close"))
    if begun is None or begun.event != "begin":
        return Seen(Verdict.BREAKS, talk.described(begun))
    # The channel in the octets, not the number that the client has for the session.
    place = talk.said.rfind(b"\x00\x53\x11")
    channel = int.from_bytes(talk.said[place - 2 : place])
    return judged(place > 0 and not channel, f"channel {channel}")


@SUITE.case(
    "transport/open/idle-time-out-zero", "note", "An idle time-out of 0 is none.", "open, and the connection is served"
)
def _no_time_out(talk: Talk10) -> Seen:
    talk.login(idle_time_out=0)
    fine = talk.answers_still()
    return judged(fine, "served" if fine else talk.ending())


@SUITE.case(
    "transport/connection/idle-exceeded",
    "should",
    "A peer sends something within the other's idle time-out, or closes the connection with an error.",
    "no second without a frame, in three",
)
def _idle(talk: Talk10) -> Seen:
    talk.login(idle_time_out=1_000)
    began = talk.transport.now()
    longest, last = 0.0, began
    while (now := talk.transport.now()) < began + 3.0 and not talk.has_ended:
        unit = talk.until(lambda each: True, 0.05)
        now = talk.transport.now()
        longest = max(longest, now - last)
        last = now if unit is not None else last
        if unit is not None and unit.event == "close":
            return Seen(Verdict.INFORMATIONAL, f"it refuses a time-out of a second: {talk.described(unit)}")
    if talk.has_ended:
        return Seen(Verdict.BREAKS, talk.ending())
    return judged(longest <= 1.1, f"at most {longest:.2f} s without a frame")


@SUITE.case(
    "transport/connection/idle-close",
    "should",
    "A peer that hears nothing for its own time-out closes the connection.",
    "the end of the connection, where its time-out is 4 s or less",
)
def _silent(talk: Talk10) -> Seen:
    talk.login()
    announced = talk.peer.idle_time_out
    if announced is None or announced > 4_000:
        told = "none" if announced is None else f"{announced / 1000:g} s"
        return Seen(Verdict.INFORMATIONAL, f"its time-out is {told}: not waited for")
    talk.is_judged = False
    unit = talk.until(lambda each: each.event == "close", 2.5 * announced / 1000)
    fine = unit is not None or talk.has_ended
    return judged(fine, talk.described(unit))


# Closing.


@SUITE.on_a_channel("transport/connection/close-written", "must", "A close is answered by a close.", "close")
def _close(talk: Talk10) -> Seen:
    talk.say(spec.Close())
    talk.is_over = True
    unit = talk.until(lambda each: each.event == "close")
    talk.said_goodbye = unit is not None
    fine = unit is not None and unit.content.error is None
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel("transport/close/nothing-after", "must", "Nothing follows a close.", "close, and then only the end")
def _nothing(talk: Talk10) -> Seen:
    talk.say(spec.Close())
    talk.is_over = True
    if talk.until(lambda each: each.event == "close") is None:
        return Seen(Verdict.BREAKS, talk.ending())
    talk.said_goodbye = True
    unit = talk.until(lambda each: True, talk.patience.quiet)
    return judged(unit is None, talk.described(unit))


@SUITE.on_a_channel(
    "transport/connection/close-channel", "should", "A close is on channel 0, and ends every session.", "close"
)
def _close_sessions(talk: Talk10) -> Seen:
    talk.session(1)
    talk.say(spec.Close())
    talk.is_over = True
    unit = talk.until(lambda each: each.event == "close")
    talk.said_goodbye = unit is not None
    place = talk.said.rfind(b"\x00\x53\x18")
    channel = int.from_bytes(talk.said[place - 2 : place]) if place > 0 else -1
    return judged(channel == 0, f"{talk.described(unit)}, channel {channel}")


@SUITE.on_a_channel(
    "transport/connection.state/discarding",
    "must",
    "A peer that closed with an error passes over what comes until the other's close.",
    "close with an error, and nothing more but the end",
)
def _discarding(talk: Talk10) -> Seen:
    talk.say(spec.Attach("probe", 0, spec.SENDER), channel=77)
    if talk.until(lambda each: each.event == "close") is None:
        return Seen(Verdict.INCONCLUSIVE, f"no close, which the case needs: {talk.ending()}")
    talk.is_over = True
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW), channel=3)
    unit = talk.until(lambda each: each.event != "empty", talk.patience.quiet)
    if not talk.has_ended:
        talk.say(spec.Close())
    return judged(unit is None, f"{talk.described(unit)} behind the close")


# Sessions.


@SUITE.case(
    "transport/session/remote-channel-answer",
    "must",
    "The answer to a begin names the channel of that begin.",
    "begin with remote-channel 5",
)
def _answer(talk: Talk10) -> Seen:
    talk.login()
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW), channel=5)
    unit = talk.wait(("begin",))
    if unit is None:
        return talk.silence()
    if unit.event != "begin":
        return Seen(Verdict.BREAKS, talk.described(unit))
    named = unit.content.remote_channel
    return judged(named == 5, f"remote-channel {named}")


@SUITE.on_a_channel("transport/session/end-pair", "note", "An end is answered by an end.", "end")
def _end(talk: Talk10) -> Seen:
    talk.say(spec.End())
    unit = talk.until(lambda each: each.event in ("end", "close"))
    talk.sessions.clear()
    if unit is None:
        return talk.silence()
    return judged(unit.event == "end", talk.described(unit))


@SUITE.on_a_channel(
    "transport/session.state/unmapped",
    "note",
    "A frame on a channel without a session is an error of the connection.",
    _CLOSED,
    variant="attach",
)
def _unmapped(talk: Talk10) -> Seen:
    talk.say(spec.Attach("probe", 0, spec.SENDER, source=amqp.Source(), target=amqp.Target("probe")), channel=5)
    return talk.fails("close", channel=5, silent=True)


@SUITE.on_a_channel(
    "transport/session.state/unmapped",
    "note",
    "A frame on a channel without a session is an error of the connection.",
    _CLOSED,
    variant="end",
)
def _end_of_none(talk: Talk10) -> Seen:
    talk.say(spec.End(), channel=5)
    return talk.fails("close", channel=5, silent=True)


@SUITE.on_a_channel(
    "transport/session.state/mapped",
    "note",
    "A second begin on the channel of a session is an error.",
    "a close or an end with an error",
)
def _begun(talk: Talk10) -> Seen:
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW))
    return talk.fails("close", silent=True, also=("end",))


@SUITE.on_a_channel(
    "transport/session.state/end-rcvd", "note", "A channel can be used again behind the end of its session.", "begin"
)
def _again(talk: Talk10) -> Seen:
    talk.say(spec.End())
    if talk.until(lambda each: each.event == "end") is None:
        return Seen(Verdict.INCONCLUSIVE, f"no end: {talk.ending()}")
    talk.sessions.clear()
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW))
    unit = talk.wait(("begin",), 0)
    fine = unit is not None and unit.event == "begin"
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "transport/session.state/discarding",
    "must",
    "A peer that ended a session with an error passes over what comes on it until the other's end.",
    "end with an error, and nothing more for the session",
)
def _ended(talk: Talk10) -> Seen:
    talk.say(spec.Flow(0, WINDOW, 0, WINDOW, 99, 0, 1))
    unit = talk.until(lambda each: each.event in ("end", "close"))
    if unit is None or unit.event != "end":
        talk.is_over = talk.is_over or unit is not None
        return Seen(Verdict.INCONCLUSIVE, f"no end, which the case needs: {talk.described(unit)}")
    talk.say(talk.flow(echo=True), spec.Attach("probe", 0, spec.RECEIVER, source=amqp.Source("probe")))
    after = talk.until(lambda each: each.event != "empty", talk.patience.quiet)
    talk.say(spec.End())
    talk.sessions.clear()
    return judged(after is None, f"{talk.described(after)} behind the end")


@SUITE.on_a_channel(
    "transport/session/error", "must", "An error of a session ends it, with what went wrong.", "end with an error"
)
def _session_error(talk: Talk10) -> Seen:
    talk.say(spec.Flow(0, WINDOW, 0, WINDOW, 99, 0, 1))
    return talk.fails("end")


@SUITE.on_a_channel(
    "transport/session/handle-max",
    "must",
    "No handle above the announced one is attached: that is a framing error.",
    _CLOSED,
)
def _handle(talk: Talk10) -> Seen:
    most = talk.sessions[0].answer.handle_max
    if most == 0xFFFFFFFF:
        return Seen(Verdict.INFORMATIONAL, "it takes every handle")
    asked = talk.asking(spec.RECEIVER, handle=most + 1, source=amqp.Source("probe"), target=amqp.Target()).asked
    talk.say(asked)
    return talk.fails("close", "amqp:connection:framing-error", silent=True, also=("end",))


# The session's window.


@SUITE.case(
    "transport/session.window/remote-incoming",
    "must",
    "No more transfers are sent than the other's incoming window has room for.",
    "1 of 3 messages, until the window is opened",
    needs=_NODE,
)
def _window(talk: Talk10) -> Seen:
    talk.begin()
    address = talk.filled(b"1", b"2", b"3")
    talk.session(1, incoming_window=1)
    link = talk.receiver(address, 1, credit=MANY)
    if talk.next(link) is None:
        return Seen(Verdict.BREAKS, f"no message: {talk.ending()}")
    return talk.no_more(link, "1 message")


@SUITE.case(
    "transport/session.window/on-flow",
    "must",
    "A flow of the session opens the window again.",
    "the messages that the window held back",
    needs=_NODE,
)
def _opened(talk: Talk10) -> Seen:
    talk.begin()
    address = talk.filled(b"1", b"2", b"3")
    talk.session(1, incoming_window=1)
    link = talk.receiver(address, 1, credit=MANY)
    talk.arrives(link)
    talk.say(talk.flow(1, incoming_window=WINDOW), channel=1)
    more = [talk.next(link) for _ in range(2)]
    fine = None not in more
    return judged(fine, "all messages" if fine else talk.ending())


@SUITE.on_a_channel(
    "transport/flow/next-incoming-id",
    "must",
    "A flow tells the id of the next transfer that is expected, once the other's begin is there.",
    "next-incoming-id as the client's begin said",
)
def _next_id(talk: Talk10) -> Seen:
    talk.session(1, next_outgoing_id=70)
    talk.say(talk.flow(1, echo=True), channel=1)
    unit = talk.wait(("flow",), 1)
    if unit is None:
        return Seen(Verdict.INCONCLUSIVE, f"no flow, which the case needs: {talk.ending()}")
    if unit.event != "flow":
        return Seen(Verdict.BREAKS, talk.described(unit))
    told = unit.content.next_incoming_id
    return judged(told == 70, f"next-incoming-id {told}")


@SUITE.on_a_channel(
    "transport/flow/echo", "note", "A flow that asks for an echo is answered by a flow.", "flow", variant="session"
)
def _echo(talk: Talk10) -> Seen:
    talk.say(talk.flow(echo=True))
    unit = talk.wait(("flow",), 0)
    if unit is None:
        return talk.silence()
    return judged(unit.event == "flow", talk.described(unit))


@SUITE.on_a_channel(
    "transport/flow/no-handle",
    "must",
    "A flow without a handle has no fields of a link.",
    "flow of the session, with no delivery-count, link-credit and available",
)
def _no_link(talk: Talk10) -> Seen:
    talk.say(talk.flow(echo=True))
    unit = talk.wait(("flow",), 0, None, lambda each: each.content.handle is None)
    if unit is None:
        return Seen(Verdict.INCONCLUSIVE, f"no flow, which the case needs: {talk.ending()}")
    if unit.event != "flow":
        return Seen(Verdict.BREAKS, talk.described(unit))
    about = unit.content
    given = [name for name in ("delivery_count", "link_credit", "available") if getattr(about, name) is not None]
    return Seen(Verdict.BREAKS if given else Verdict.CONFORMS, f"has {', '.join(given) or 'none of them'}")


@SUITE.case(
    "transport/connection/open-channel-0",
    "note",
    "The open is on channel 0.",
    f"{_CLOSED}; taking another isn't strict",
)
def _open_elsewhere(talk: Talk10) -> Seen:
    talk.authenticate()
    talk.say(talk.opening(), channel=3)
    unit = talk.wait(("close",))
    if unit is None:
        taken = not talk.has_ended and talk.answers_still()
        return Seen(Verdict.NON_STRICT, "it is taken") if taken else Seen(Verdict.CONFORMS, talk.ending())
    return judged(unit.content.error is not None, talk.described(unit))


@SUITE.case(
    "transport/connection/idle-unsupported",
    "should",
    "A peer that can't keep a time-out closes the connection, and says so.",
    "close with an error for a time-out of 1 ms, or frames as often as that",
)
def _too_often(talk: Talk10) -> Seen:
    talk.authenticate()
    talk.say(talk.opening(idle_time_out=1))
    unit = talk.wait(("close",), seconds=0.5)
    if unit is None:
        return Seen(Verdict.CONFORMS if talk.has_ended else Verdict.INFORMATIONAL, "it takes a time-out of 1 ms")
    return judged(unit.content.error is not None, talk.described(unit))


@SUITE.case(
    "transport/session/lowest-channel",
    "should",
    "A new session has the lowest channel that is free.",
    "the server's channel 0 for the first session, whatever the client's is",
)
def _lowest(talk: Talk10) -> Seen:
    talk.login()
    talk.say(spec.Begin(None, 0, WINDOW, WINDOW), channel=5)
    if talk.wait(("begin",)) is None:
        return talk.silence()
    place = talk.said.rfind(b"\x00\x53\x11")
    channel = int.from_bytes(talk.said[place - 2 : place])
    return judged(channel == 0, f"channel {channel}")


@SUITE.on_a_channel(
    "transport/session.window/on-receive",
    "note",
    "Each transfer that comes raises the id that is expected next.",
    "next-incoming-id 3 further than at the beginning",
    needs=_NODE,
)
def _received(talk: Talk10) -> Seen:
    address = talk.node()
    began = talk.sessions[0].next_outgoing_id
    sender = talk.sender(address)
    for _ in range(3):
        talk.store(sender)
    talk.say(talk.flow(echo=True))
    unit = talk.wait(("flow",), 0, None, lambda each: each.content.next_incoming_id == began + 3)
    fine = unit is not None and unit.event == "flow"
    return judged(fine, "3 further" if fine else talk.described(unit))


@SUITE.on_a_channel(
    "transport/session.window/on-send",
    "note",
    "Each transfer that is sent raises the id of the next.",
    "next-outgoing-id 2 further than at the begin",
    needs=_NODE,
)
def _sent(talk: Talk10) -> Seen:
    address = talk.filled(b"1", b"2")
    session = talk.session(1)
    link = talk.receiver(address, 1, credit=2)
    for _ in range(2):
        talk.arrives(link)
    wanted = (session.answer.next_outgoing_id + 2) & 0xFFFFFFFF
    talk.say(talk.flow(1, echo=True), channel=1)
    unit = talk.wait(("flow",), 1, None, lambda each: each.content.next_outgoing_id == wanted)
    fine = unit is not None and unit.event == "flow"
    return judged(fine, "2 further" if fine else talk.described(unit))
