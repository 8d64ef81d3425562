"""Cases of 0-10: headers, frames, the connection, and sessions."""

from __future__ import annotations

import struct
from typing import Final

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.record import encode_headers

from ..case import Suite
from ..talk_0_10 import BODY, COMMAND, HEADER, HEADERS, Talk010, frame
from ..verdicts import Seen, Verdict, judged
from .headers import HTTP, REFUSED, refuses_header

SUITE: Final = Suite(Talk010)

_CLOSED: Final = "connection.close 501, or the end of the connection"
_SOCKET: Final = "the end of the connection, with or without connection.close"
_DECLARE: Final = ("0-10/declare",)

# Protocol headers.

_UNSUPPORTED = "A server that doesn't take a protocol header answers with one that it takes, and ends the connection."


@SUITE.case("wire/header-unsupported", "must", _UNSUPPORTED, REFUSED, variant="version")
def _version(talk: Talk010) -> Seen:
    return refuses_header(talk, b"AMQP\x01\x01\x09\x09")


@SUITE.case("wire/header-unsupported", "must", _UNSUPPORTED, REFUSED, variant="http")
def _http(talk: Talk010) -> Seen:
    return refuses_header(talk, HTTP)


@SUITE.case(
    "wire/header-supported",
    "must",
    "A server that takes the protocol header answers with the same, and begins the connection.",
    "the header, then connection.start",
)
def _same(talk: Talk010) -> Seen:
    talk.send(HEADER)
    talk.is_judged = False
    unit = talk.wait(("connection.start",))
    fine = talk.said.startswith(HEADER) and unit is not None and unit.event == "connection.start"
    return judged(fine, f"{talk.said[:8].hex()}, then {talk.described(unit)}")


@SUITE.case(
    "wire/header-client-first",
    "must",
    "The client sends its header first, and the server waits for all of it.",
    "connection.start to a header that comes octet by octet",
)
def _octet_by_octet(talk: Talk010) -> Seen:
    for octet in HEADER:
        talk.send(bytes([octet]))
    talk.is_judged = False
    unit = talk.wait(("connection.start",))
    fine = unit is not None and unit.event == "connection.start"
    return judged(fine, talk.described(unit))


# Frames.


@SUITE.on_a_channel("wire/frame-size<12 malformed", "note", "A frame has its head of 12 octets, at the least.", _CLOSED)
def _size(talk: Talk010) -> Seen:
    talk.send(frame(size=11))
    return talk.connection_error(501, silent=True)


@SUITE.on_a_channel(
    "wire/frame-reserved-zero",
    "must",
    "The reserved octets of a frame are zero.",
    f"{_CLOSED}; taking them isn't strict",
)
def _reserved(talk: Talk010) -> Seen:
    control = spec.SessionFlush(completed=True).encode_assembly()
    talk.send(frame(control, spare=1, tail=0xFF))
    return _strict(talk)


def _strict(talk: Talk010) -> Seen:
    """Judge whether what is malformed is refused; the specification says only what is valid."""
    unit = talk.wait(("session.completed",))
    if unit is None:
        if talk.has_ended or not talk.answers_still():
            return judged(talk.has_ended, talk.ending())
        return Seen(Verdict.NON_STRICT, "it isn't refused")
    if unit.event != "connection.close":
        return Seen(Verdict.NON_STRICT, f"it isn't refused: {talk.described(unit)}")
    return Seen(Verdict.CONFORMS if unit.content.reply_code == 501 else Verdict.OTHER_CODE, talk.described(unit))


_TRACK = f"{_CLOSED}; passing over it, or taking it, isn't strict"


@SUITE.on_a_channel("wire/controls-track0", "must", "Controls are on track 0.", _TRACK)
def _control_track(talk: Talk010) -> Seen:
    talk.send(frame(spec.SessionFlush(completed=True).encode_assembly(), track=1))
    return _strict(talk)


@SUITE.on_a_channel("wire/commands-track1", "must", "Commands are on track 1.", _TRACK)
def _command_track(talk: Talk010) -> Seen:
    talk.send(frame(spec.ExecutionSync().encode_segment(), COMMAND, track=0))
    return _strict(talk)


@SUITE.on_a_channel(
    "wire/frame-flags",
    "note",
    "A segment begins by a frame that says so.",
    _CLOSED,
    variant="body-without-command",
    may_harm=True,
)
def _no_command(talk: Talk010) -> Seen:
    talk.send(frame(b"hello", BODY, flags=0x07))
    return talk.connection_error(501, silent=True)


@SUITE.on_a_channel(
    "wire/frame-flags",
    "note",
    "A segment may come in any number of frames, and is one.",
    "the message, whole",
    variant="octet-by-octet",
    needs=_DECLARE,
)
def _joined(talk: Talk010) -> Seen:
    queue = talk.declare()
    command = spec.MessageTransfer("", 1, 0).encode_segment(sync=True)
    header = encode_headers((amqp.DeliveryProperties(routing_key=queue),))
    parts = [frame(command, COMMAND, flags=0x0B), frame(header, HEADERS, flags=0x03)]
    body = b"hello"
    for place, octet in enumerate(body):
        flags = 4 | (2 if not place else 0) | (1 if place == len(body) - 1 else 0)
        parts.append(frame(bytes([octet]), BODY, flags=flags))
    talk.send(b"".join(parts))
    return talk.holds(queue, body)


@SUITE.case(
    "wire/channel0",
    "must",
    "Channel 0 is always there, and can be used.",
    "session.attached on it, with no other channel",
)
def _channel(talk: Talk010) -> Seen:
    talk.login(channel_max=1)
    talk.say(spec.SessionAttach(talk.names.name().encode()))
    return _says(talk, "session.attached")


@SUITE.case("connection.tune-ok/max-frame-size", "must", "A frame above the negotiated size is an error: 501.", _CLOSED)
def _oversize(talk: Talk010) -> Seen:
    talk.login(max_frame_size=4_096)
    talk.attach()
    talk.send(frame(bytes(5_000), COMMAND))
    return talk.connection_error(501, silent=True)


@SUITE.on_a_channel(
    "wire/struct-spare-flags",
    "must",
    "The flags of fields that a struct hasn't are 0.",
    f"{_CLOSED}; taking them isn't strict",
)
def _flags(talk: Talk010) -> Seen:
    # session.flush of what is completed, with the flags of fields that there aren't.
    talk.send(frame(b"\x02\x0c\xfc\xff"))
    return _strict(talk)


@SUITE.on_a_channel("wire/struct-code", "must", "The code of a control is one that there is.", _CLOSED)
def _code(talk: Talk010) -> Seen:
    talk.send(frame(b"\x02\x7f\x00\x00"))
    return talk.connection_error(501, 503, silent=True)


@SUITE.on_a_channel(
    "wire/header-unknown-pass",
    "must",
    "A struct of a message's header that isn't known is handed on.",
    "the message with the struct",
    needs=_DECLARE,
)
def _unknown(talk: Talk010) -> Seen:
    queue = talk.declare()
    routed = encode_headers((amqp.DeliveryProperties(routing_key=queue),))
    unknown = struct.pack(">IH", 6, 0x7F01) + b"abcd"
    command = spec.MessageTransfer("", 1, 0).encode_segment(sync=True)
    talk.send(
        frame(command, COMMAND, flags=0x0B) + frame(routed + unknown, HEADERS, flags=0x03) + frame(b"x", BODY, flags=7)
    )
    talk.subscribe(queue, credit=1)
    unit = talk.arrives()
    structs = [each for each in unit.headers.others if isinstance(each, amqp.spec.Struct32)]
    fine = any(each.code == 0x7F01 for each in structs)
    return judged(fine, f"{len(structs)} structs that aren't known")


@SUITE.on_a_channel(
    "wire/header-any-order",
    "must",
    "The structs of a message's header come in any order.",
    "the message",
    needs=_DECLARE,
)
def _any_order(talk: Talk010) -> Seen:
    queue = talk.declare()
    headers = (amqp.MessageProperties(content_type="text/plain"), amqp.DeliveryProperties(routing_key=queue))
    talk.command(spec.MessageTransfer("", 1, 0), headers=headers, body=b"hello")
    return talk.holds(queue, b"hello")


@SUITE.on_a_channel(
    "wire/body-opaque", "note", "A server doesn't read the body of a message.", "each octet as it was", needs=_DECLARE
)
def _opaque(talk: Talk010) -> Seen:
    body = bytes(range(256)) * 400
    queue = talk.filled(body)
    talk.subscribe(queue, credit=1)
    got = talk.arrives().body
    return judged(got == body, f"{len(got)} octets")


@SUITE.on_a_channel(
    "wire/mandatory-types",
    "must",
    "Values of the types that every peer has are handed on.",
    "each value as it was",
    needs=_DECLARE,
)
def _types(talk: Talk010) -> Seen:
    values = {"text": "x", "number": 5, "large": 2**40, "negative": -7, "yes": True, "map": {"a": 1}, "list": [1, "b"]}
    queue = talk.declare()
    talk.store(queue, about=amqp.MessageProperties(application_headers=values))
    talk.subscribe(queue, credit=1)
    about = talk.arrives().headers.message_properties
    came = (about.application_headers if about is not None else None) or {}
    changed = [name for name, value in values.items() if came.get(name) != value]
    return Seen(Verdict.BREAKS if changed else Verdict.CONFORMS, f"changed: {', '.join(changed) or 'none'}")


# The connection.


@SUITE.case(
    "connection.start/required-fields", "should", "connection.start has mechanisms and locales.", "at least one of each"
)
def _fields(talk: Talk010) -> Seen:
    talk.is_judged = False
    start = talk.greet()
    locales = [str(each) for each in start.locales or ()]
    fine = bool(talk.mechanisms) and bool(locales)
    text = f"mechanisms {', '.join(talk.mechanisms) or 'none'}, locales {', '.join(locales) or 'none'}"
    return judged(fine, text)


@SUITE.case("connection.start/required-support", "must", "The locale en_US is offered.", "en_US among the locales")
def _locale(talk: Talk010) -> Seen:
    talk.is_judged = False
    locales = [str(each) for each in talk.greet().locales or ()]
    return judged("en_US" in locales, ", ".join(locales) or "none")


def _hung_up(talk: Talk010) -> Seen:
    unit = talk.wait(("connection.tune", "connection.open-ok", "connection.secure"))
    if unit is None and talk.has_ended:
        return Seen(Verdict.CONFORMS, talk.ending())
    if unit is None:
        return Seen(Verdict.BREAKS, f"stuck: {talk.ending()}")
    return judged(unit.event == "connection.close", talk.described(unit))


@SUITE.case("connection.start-ok/validity", "must", "A mechanism that isn't offered ends the connection.", _SOCKET)
def _mechanism(talk: Talk010) -> Seen:
    talk.greet()
    talk.respond("X-PROBE")
    return _hung_up(talk)


@SUITE.case("connection.tune/minimum", "must", "Frames of 4,096 octets are always possible.", "4,096 at the least")
def _minimum(talk: Talk010) -> Seen:
    talk.is_judged = False
    most = talk.authenticate().max_frame_size
    return judged(most is None or most >= 4_096, str(most))


@SUITE.case(
    "connection.tune/permitted-range",
    "must",
    "The longest delay of heartbeats isn't below the shortest, and isn't there without it.",
    "heartbeat-min, and heartbeat-max no less; or neither",
)
def _range(talk: Talk010) -> Seen:
    talk.is_judged = False
    tune = talk.authenticate()
    least, most = tune.heartbeat_min, tune.heartbeat_max
    fine = most is None or (least is not None and least <= most)
    return judged(fine, f"heartbeat-min {least}, heartbeat-max {most}")


@SUITE.case(
    "connection.tune-ok/channel-upper-limit", "must", "A client takes no more channels than are offered.", _SOCKET
)
def _channels(talk: Talk010) -> Seen:
    most = talk.authenticate().channel_max
    if not most or most == 0xFFFF:
        talk.is_judged = False
        return Seen(Verdict.INFORMATIONAL, f"it offers {most}: no more are possible")
    talk.accept(channel_max=most + 1)
    talk.say(spec.ConnectionOpen(talk.login_as.vhost))
    return _hung_up(talk)


@SUITE.case(
    "connection.tune-ok/frame-upper-limit", "must", "A client takes no larger frames than are offered.", _SOCKET
)
def _frames(talk: Talk010) -> Seen:
    most = talk.authenticate().max_frame_size
    if not most or most == 0xFFFF:
        talk.is_judged = False
        return Seen(Verdict.INFORMATIONAL, f"it offers {most}: no larger ones are possible")
    talk.accept(max_frame_size=most + 1)
    talk.say(spec.ConnectionOpen(talk.login_as.vhost))
    return _hung_up(talk)


@SUITE.case("connection.tune-ok/minimum", "must", "A client takes frames of 4,096 octets at the least.", _SOCKET)
def _too_small(talk: Talk010) -> Seen:
    talk.authenticate()
    talk.accept(max_frame_size=1_024)
    talk.say(spec.ConnectionOpen(talk.login_as.vhost))
    seen = _hung_up(talk)
    return Seen(Verdict.NON_STRICT, seen.text) if seen.verdict is Verdict.BREAKS and not talk.is_over else seen


@SUITE.case(
    "connection.heartbeat/2x",
    "may",
    "A server that agreed to heartbeats sends them.",
    "connection.heartbeat, or other octets, within three intervals",
)
def _heartbeat(talk: Talk010) -> Seen:
    tune = talk.authenticate()
    if tune.heartbeat_min is None:
        talk.is_judged = False
        return Seen(Verdict.INFORMATIONAL, "it has none")
    interval = max(tune.heartbeat_min, 1)
    if interval > 2:
        talk.is_judged = False
        return Seen(Verdict.INFORMATIONAL, f"they are {interval} s apart: not waited for")
    talk.accept(heartbeat=interval)
    talk.say(spec.ConnectionOpen(talk.login_as.vhost))
    talk.take("connection.open-ok")
    unit = talk.until(lambda each: each.event == "connection.heartbeat", 3.0 * interval)
    return judged(unit is not None, talk.described(unit))


# Sessions.


@SUITE.case(
    "session/attachment",
    "must",
    "Commands on a channel without a session are refused: not-attached.",
    "session.detached 3",
)
def _not_attached(talk: Talk010) -> Seen:
    talk.login()
    talk.command(spec.ExecutionSync())
    return talk.detached(spec.DetachCode.NOT_ATTACHED.value)


@SUITE.on_a_channel(
    "session.attach/one-transport",
    "must",
    "A session that is attached can't be attached on another connection: session-busy.",
    "session.detached 1",
)
def _busy(talk: Talk010) -> Seen:
    other = talk.opening_another()
    other.login()
    other.say(spec.SessionAttach(talk.session_names[0]))
    unit = other.wait(("session.attached",))
    if unit is not None and unit.event == "session.attached":
        return Seen(Verdict.BREAKS, "session.attached")
    fine = (
        unit is not None
        and unit.event == "session.detached"
        and unit.content.code == spec.DetachCode.SESSION_BUSY.value
    )
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE if unit else Verdict.BREAKS, other.described(unit))


@SUITE.on_a_channel(
    "session.attach/one-session",
    "must",
    "A channel with a session takes no other: transport-busy.",
    "session.detached 2",
)
def _transport(talk: Talk010) -> Seen:
    talk.say(spec.SessionAttach(talk.names.name().encode()))
    unit = talk.wait(("session.attached",))
    if unit is not None and unit.event == "session.attached":
        return Seen(Verdict.BREAKS, "session.attached")
    if unit is None:
        # The rule is that there aren't two: it is kept by the end of the connection, but nothing says why.
        return Seen(Verdict.UNCLEAN, talk.ending()) if talk.has_ended else talk.silence()
    fine = unit.event == "session.detached" and unit.content.code == spec.DetachCode.TRANSPORT_BUSY.value
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "session.attach/scoping",
    "must",
    "Sessions of different names are different, on the channels of one connection too.",
    "session.attached, on another channel",
)
def _another(talk: Talk010) -> Seen:
    talk.say(spec.SessionAttach(talk.names.name().encode()), channel=1)
    unit = talk.wait(("session.attached",), 1)
    fine = unit is not None and unit.event == "session.attached"
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "session.request-timeout/granted",
    "must",
    "A server tells which time-out a session has, when it is asked for one.",
    "session.timeout",
)
def _time_out(talk: Talk010) -> Seen:
    talk.say(spec.SessionRequestTimeout(60))
    unit = talk.wait(("session.timeout",))
    if unit is None:
        return talk.silence()
    fine = unit.event == "session.timeout"
    return judged(fine, f"{unit.event} {getattr(unit.content, 'timeout', '')}")


@SUITE.case(
    "session.command-point/newly-attached",
    "must",
    "The id of a new session's first command is told before it: unknown-ids.",
    "session.detached 4",
)
def _no_point(talk: Talk010) -> Seen:
    talk.login()
    talk.say(spec.SessionAttach(talk.names.name().encode()))
    talk.take("session.attached")
    number = talk.command(spec.ExecutionSync())
    unit = talk.done(number)
    if unit is None:
        return talk.silence()
    if unit.event == "session.completed":
        return Seen(Verdict.BREAKS, "it is done")
    fine = unit.event == "session.detached" and unit.content.code == spec.DetachCode.UNKNOWN_IDS.value
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "session.expected/only-on-flush",
    "note",
    "A session tells which command it expects when it is asked by flush.",
    "session.expected",
)
def _expected(talk: Talk010) -> Seen:
    talk.call(spec.ExecutionSync())
    talk.say(spec.SessionFlush(expected=True))
    return _says(talk, "session.expected")


@SUITE.on_a_channel(
    "session.expected/next-command",
    "must",
    "session.expected has the id of the command that comes next.",
    "session.expected with 2, behind the commands 0 and 1",
)
def _next(talk: Talk010) -> Seen:
    for _ in range(2):
        talk.call(spec.ExecutionSync())
    talk.say(spec.SessionFlush(expected=True))
    unit = talk.wait(("session.expected",))
    if unit is None:
        return talk.silence()
    ids = getattr(unit.content, "commands", None)
    fine = ids is not None and 2 in ids and 0 not in ids and 1 not in ids
    return judged(fine, f"{unit.event} {ids}")


def _says(talk: Talk010, name: str) -> Seen:
    unit = talk.wait((name,))
    if unit is None:
        return talk.silence()
    return judged(unit.event == name, talk.described(unit))


@SUITE.on_a_channel(
    "session.confirmed/on-flush", "note", "A session tells what it confirms, asked by flush.", "session.confirmed"
)
def _confirmed(talk: Talk010) -> Seen:
    talk.call(spec.ExecutionSync())
    talk.say(spec.SessionFlush(confirmed=True))
    return _says(talk, "session.confirmed")


@SUITE.on_a_channel(
    "session.completed/known-completed-reply",
    "must",
    "A completed that asks for a reply is answered by known-completed.",
    "session.known-completed",
    needs=_DECLARE,
)
def _known(talk: Talk010) -> Seen:
    queue = talk.filled(b"hello")
    talk.subscribe(queue, credit=1)
    unit = talk.arrives()
    talk.say(spec.SessionCompleted(amqp.SequenceSet.of(unit.number), True))
    return _says(talk, "session.known-completed")


@SUITE.on_a_channel(
    "session/sync-bit",
    "note",
    "A command with the sync bit is told as completed without another question.",
    "session.completed with the command",
)
def _sync(talk: Talk010) -> Seen:
    return talk.does(spec.ExecutionSync())


@SUITE.on_a_channel(
    "execution.sync/complete",
    "note",
    "execution.sync is done when every command before it is.",
    "session.completed with both commands",
    needs=_DECLARE,
)
def _synced(talk: Talk010) -> Seen:
    first = talk.command(spec.QueueDeclare(talk.names.queue()), sync=False)
    number = talk.command(spec.ExecutionSync())
    unit = talk.done(number)
    if unit is None:
        return talk.silence()
    ids = getattr(unit.content, "commands", None)
    fine = ids is not None and first in ids
    return judged(fine, f"{unit.event} {ids}")


@SUITE.on_a_channel(
    "session/exception-then-detach",
    "note",
    "An exception is followed by the end of its session.",
    "execution.exception, then session.detach or session.detached",
)
def _detached(talk: Talk010) -> Seen:
    number = talk.command(spec.QueueDelete(talk.names.name()))
    first = talk.until(lambda each: each.event in ("execution.exception", "session.completed", "connection.close"))
    if first is None or first.event != "execution.exception":
        return Seen(Verdict.BREAKS, f"{talk.described(first)} of command {number}")
    after = talk.until(lambda each: each.event in ("session.detach", "session.detached", "connection.close"))
    fine = after is not None and after.event != "connection.close"
    if after is not None and after.event == "session.detach":
        talk.say(spec.SessionDetached(talk.session_names.pop(0, b""), 0))
    return judged(fine, talk.described(after))


@SUITE.on_a_channel(
    "execution.result/always", "must", "A command with a result has it told.", "execution.result", needs=_DECLARE
)
def _result(talk: Talk010) -> Seen:
    queue = talk.declare()
    number = talk.command(spec.QueueQuery(queue))
    unit = talk.wait(("execution.result",))
    if unit is None:
        return talk.silence()
    fine = unit.event == "execution.result" and unit.content.command_id == number
    return judged(fine, talk.described(unit))


@SUITE.on_a_channel(
    "session/exactly-once",
    "must",
    "A command that is sent again behind a lost connection is done once.",
    "one message, where the server kept the session",
    needs=_DECLARE,
)
def _once(talk: Talk010) -> Seen:
    queue = talk.declare()
    name = talk.names.name().encode()
    other = talk.opening_another()
    other.login()
    other.attach(0, name)
    other.say(spec.SessionRequestTimeout(60))
    told = other.wait(("session.timeout",))
    granted = getattr(told.content, "timeout", 0) if told is not None else 0
    other.store(queue)
    other.is_judged = False
    other.close()
    again = talk.opening_another()
    again.login()
    again.session_names[0] = name
    again.say(spec.SessionAttach(name))
    again.take("session.attached")
    expected = again.until(lambda each: each.event in ("session.expected", "session.command-point"), 0.5)
    again.say(spec.SessionFlush(expected=True))
    expected = again.until(lambda each: each.event == "session.expected") or expected
    ids = getattr(expected.content, "commands", None) if expected is not None else None
    if not ids or 0 in ids:
        return Seen(Verdict.INFORMATIONAL, f"it forgot the session; its time-out was {granted}")
    again.say(spec.SessionCommandPoint(0, 0))
    again.publish(queue)
    again.call(spec.ExecutionSync())
    count = talk.ready(queue)
    return judged(count == 1, f"messages: {count}")


# Robustness.

_BOUNDED = "Whatever a client claims, the server goes on serving others."
_ANY = "any answer, or none, and a new connection is served"


def _survived(talk: Talk010) -> Seen:
    """Tell what the server does; whether it harmed others, the look at it after each case finds."""
    talk.is_judged = False
    unit = talk.wait(("connection.tune",), seconds=2.0)
    if unit is None and not talk.has_ended and talk.answers_still():
        return Seen(Verdict.INFORMATIONAL, "it is taken, and the connection is served as before")
    return Seen(Verdict.INFORMATIONAL, talk.described(unit))


def _with_headers(talk: Talk010, octets: bytes) -> Seen:
    """Send a message whose application-headers are these octets; before the login no frame may be so large."""
    command = spec.MessageTransfer("", 1, 0).encode_segment(sync=True)
    table = struct.pack(">I", len(octets)) + octets
    # message-properties with its ninth field alone, behind a size, a code and flags.
    properties = struct.pack(">IHH", 4 + len(table), 0x0403, 0x0001) + table
    talk.send(frame(command, COMMAND, flags=0x0B) + frame(properties, HEADERS, flags=0x03) + frame(b"x", BODY, flags=7))
    return _survived(talk)


@SUITE.on_a_channel("wire/map-distinct", "must", _BOUNDED, _ANY, variant="5000-keys", may_harm=True)
def _keys(talk: Talk010) -> Seen:
    entries = b"".join([b"\x04" + struct.pack(">I", place) + b"\xf0" for place in range(5_000)])
    return _with_headers(talk, struct.pack(">I", 5_000) + entries)


@SUITE.on_a_channel("wire/struct32", "must", _BOUNDED, _ANY, variant="maps-4000-deep", may_harm=True)
def _deep(talk: Talk010) -> Seen:
    value = struct.pack(">I", 0)
    for _ in range(4_000):
        value = struct.pack(">I", 1) + b"\x01a\xa8" + struct.pack(">I", len(value)) + value
    return _with_headers(talk, value)


@SUITE.on_a_channel("wire/mandatory-types", "must", _BOUNDED, _ANY, variant="array-of-2-to-the-32-voids", may_harm=True)
def _voids(talk: Talk010) -> Seen:
    array = b"\x01a\xaa" + struct.pack(">IBI", 5, 0xF0, 2**32 - 1)
    return _with_headers(talk, struct.pack(">I", 1) + array)


@SUITE.on_a_channel("wire/frame-flags", "note", _BOUNDED, _ANY, variant="10000-empty-frames", may_harm=True)
def _empty(talk: Talk010) -> Seen:
    command = spec.MessageTransfer("", 1, 0).encode_segment()
    talk.send(frame(command, COMMAND, flags=0x0B) + frame(b"", BODY, flags=0x06))
    for _ in range(10):
        talk.send(frame(b"", BODY, flags=0x04) * 1_000)
    talk.send(frame(b"", BODY, flags=0x05))
    return _survived(talk)


@SUITE.on_a_channel("session.confirmed/on-flush", "note", _BOUNDED, _ANY, variant="10000-unread-answers", may_harm=True)
def _unread(talk: Talk010) -> Seen:
    asked = frame(spec.SessionFlush(True, True, True).encode_assembly())
    for _ in range(10):
        talk.send(asked * 1_000)
    return _survived(talk)


@SUITE.case("wire/header-client-first", "must", _BOUNDED, _ANY, variant="header-without-its-end", may_harm=True)
def _slow(talk: Talk010) -> Seen:
    talk.is_judged = False
    talk.send(HEADER[:7])
    talk.rest(2.0)
    wrong = talk.another().finish()
    return Seen(Verdict.INFORMATIONAL, wrong or f"another is served meanwhile; this one: {talk.ending()}")


# More of sessions.


@SUITE.on_a_channel(
    "session.attach/idempotence",
    "must",
    "Attaching a session where it is attached already succeeds.",
    "session.attached",
)
def _already(talk: Talk010) -> Seen:
    talk.say(spec.SessionAttach(talk.session_names[0]))
    return _says(talk, "session.attached")


@SUITE.on_a_channel(
    "session.attach/force",
    "note",
    "An attach by force takes a session from another connection.",
    "session.attached there, and the end of it here",
)
def _force(talk: Talk010) -> Seen:
    other = talk.opening_another()
    other.login()
    other.say(spec.SessionAttach(talk.session_names[0], True))
    unit = other.wait(("session.attached",))
    if unit is None or unit.event != "session.attached":
        return Seen(Verdict.BREAKS, other.described(unit))
    lost = talk.wait(("session.detach", "session.detached"))
    return judged(lost is not None, f"here: {talk.described(lost)}")


@SUITE.case(
    "session.expected/empty-iff-new",
    "must",
    "A session of which nothing is known expects nothing.",
    "session.expected without commands",
)
def _new(talk: Talk010) -> Seen:
    talk.login()
    talk.say(spec.SessionAttach(talk.names.name().encode()))
    talk.take("session.attached")
    talk.say(spec.SessionFlush(expected=True))
    unit = talk.wait(("session.expected",))
    if unit is None:
        return talk.silence()
    ids = getattr(unit.content, "commands", None)
    fine = unit.event == "session.expected" and not ids
    return judged(fine, f"{unit.event} {ids}")


@SUITE.on_a_channel(
    "session.completed/exclude-known",
    "must",
    "What is known to be completed isn't told again.",
    "session.completed with 1, and without 0",
)
def _excluded(talk: Talk010) -> Seen:
    for _ in range(2):
        talk.call(spec.ExecutionSync())
    talk.answers_still()
    talk.forget()
    talk.say(spec.SessionKnownCompleted(amqp.SequenceSet.of(0)), spec.SessionFlush(completed=True))
    unit = talk.wait(("session.completed",))
    if unit is None:
        return talk.silence()
    ids = getattr(unit.content, "commands", None) or ()
    fine = unit.event == "session.completed" and 0 not in ids and 1 in ids
    return judged(fine, f"{unit.event} {ids}")
