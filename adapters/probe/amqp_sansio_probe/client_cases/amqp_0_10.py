"""Cases for clients of 0-10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec

from ..client_case import ClientSuite
from ..host_0_10 import SMALLEST, Host_0_10
from ..programs import Order
from ..talk_0_10 import frame
from ..verdicts import Seen, Verdict, judged
from . import common

SUITE: Final[ClientSuite[Host_0_10]] = ClientSuite("0-10")

OPEN: Final = Order("open")
PUBLISH: Final = Order("publish 1")
CONSUME: Final = Order("consume 1 accept")


# The opening.


@SUITE.case("wire/header-client-first", "must", "A client begins with the protocol header.", "AMQP 1 1 0 10", OPEN)
def _header(host: Host_0_10) -> Seen:
    host.opened()
    host.end_in_order()
    return judged(host.said.startswith(b"AMQP\x01\x01\x00\x0a"), f"first octets: {host.said[:8].hex(' ')}")


@SUITE.case(
    "connection.start/client-support",
    "must",
    "A client that doesn't support the server's version ends the connection, and sends nothing more.",
    "the end of the connection",
    OPEN,
    variant="another-header",
)
def _other_version(host: Host_0_10) -> Seen:
    return common.answered_by_another_header(host)


SUITE.case("wire/header-retry", "may", common.RETRY, "the end of the connection", OPEN, variant="another-header")(
    common.answered_by_another_header
)
SUITE.case("connection.start-ok/locale-offered", "note", common.LOCALE, "en_US", OPEN)(common.names_a_locale)


@SUITE.case(
    "connection.start-ok/required-fields",
    "should",
    "A client says who it is: product, version, platform, copyright and information.",
    "these properties",
    OPEN,
)
def _properties(host: Host_0_10) -> Seen:
    host.opened()
    host.end_in_order()
    given = None if host.start_ok is None else host.start_ok.client_properties
    if given is None:
        return Seen(Verdict.BREAKS, "no properties")
    missing = [each for each in ("product", "version", "platform", "copyright", "information") if each not in given]
    return judged(not missing, f"without {', '.join(missing)}" if missing else f"{given['product']}")


@SUITE.case(
    "connection.start-ok/security",
    "should",
    "A client that knows none of the offered mechanisms doesn't log in.",
    "the end of the connection",
    OPEN,
    variant="none-is-known",
)
def _no_mechanism(host: Host_0_10) -> Seen:
    host.mechanisms = ("X-PROBE-NONE",)
    host.held.add("connection.start-ok")
    unit = host.wait("connection.start-ok")
    host.is_judged = False
    if not host.seen:
        return Seen(Verdict.BREAKS, host.described())
    if unit is not None:
        return Seen(Verdict.BREAKS, f"connection.start-ok with mechanism {unit.content.mechanism!r}")
    return judged(host.has_ended, "the connection is ended" if host.has_ended else "the connection stays open")


@SUITE.case(
    "connection.tune-ok/channel-upper-limit",
    "must",
    "A client agrees on no more channels than the server proposes.",
    "channel-max of at most 5",
    OPEN,
    variant="offer-of-5",
)
def _channels(host: Host_0_10) -> Seen:
    host.tune = spec.ConnectionTune(5, 65_535, 0, 0)
    return _agreed(host, lambda tuned: tuned.channel_max, 1, 5, "channel-max")


@SUITE.case(
    "connection.tune-ok/minimum",
    "must",
    "No frame size below 4,096 is agreed on; a client takes the server's proposal of it.",
    "max-frame-size 4,096",
    OPEN,
    variant="offer-of-4096",
)
def _smallest(host: Host_0_10) -> Seen:
    host.tune = spec.ConnectionTune(255, SMALLEST, 0, 0)
    return _agreed(host, lambda tuned: tuned.max_frame_size, SMALLEST, SMALLEST, "max-frame-size")


@SUITE.case(
    "connection.tune-ok/heartbeat-range",
    "must",
    "A client agrees on an interval of heartbeats between the server's bounds.",
    "heartbeat 50 to 60",
    OPEN,
    variant="50-to-60",
)
def _heartbeat(host: Host_0_10) -> Seen:
    host.tune = spec.ConnectionTune(255, 65_535, 50, 60)
    return _agreed(host, lambda tuned: tuned.heartbeat, 50, 60, "heartbeat")


@SUITE.case(
    "connection.tune-ok/no-heartbeat-min",
    "must",
    "Where the server names no bounds for heartbeats, a client agrees on none.",
    "connection.tune-ok without heartbeat",
    OPEN,
    variant="no-bounds",
)
def _no_heartbeat(host: Host_0_10) -> Seen:
    host.tune = spec.ConnectionTune(255, 65_535)
    host.opened()
    host.end_in_order()
    if host.tuned is None:
        return Seen(Verdict.BREAKS, "no connection.tune-ok")
    return judged(host.tuned.heartbeat is None, f"heartbeat {host.tuned.heartbeat}")


def _agreed(
    host: Host_0_10, of: Callable[[spec.ConnectionTuneOk], int | None], least: int, most: int, name: str
) -> Seen:
    host.opened()
    host.end_in_order()
    number = None if host.tuned is None else of(host.tuned)
    return judged(number is not None and least <= number <= most, f"{name} {number}")


# Frames.


@SUITE.case(
    "connection.tune-ok/max-frame-size",
    "must",
    "No frame is larger than the agreed size, with its header of 12 octets.",
    "frames of at most 4,096 octets",
    Order("publish 1", size=20_000),
    variant="body-of-20000-octets",
)
def _frames(host: Host_0_10) -> Seen:
    host.tune = spec.ConnectionTune(255, SMALLEST, 0, 0)
    unit = host.take("message.transfer")
    largest = max([len(each) for each in host.frames()])
    text = f"the largest frame has {largest} octets; the body {unit.body_size}"
    return judged(largest <= SMALLEST and unit.body_size == 20_000, text)


@SUITE.case("wire/controls-track0", "must", "Controls are on track 0.", "track 0 in frames of controls", PUBLISH)
def _controls(host: Host_0_10) -> Seen:
    return _tracks(host, of_commands=False)


@SUITE.case(
    "wire/commands-track1", "must", "Commands and their content are on track 1.", "track 1 in their frames", PUBLISH
)
def _commands(host: Host_0_10) -> Seen:
    return _tracks(host, of_commands=True)


def _tracks(host: Host_0_10, *, of_commands: bool) -> Seen:
    host.take("message.transfer")
    tracks = [each[5] & 0x0F for each in host.frames() if (each[1] != 0) == of_commands]
    return judged({*tracks} == {int(of_commands)}, f"{len(tracks)} frames on tracks {sorted({*tracks})}")


@SUITE.case(
    "wire/frame-reserved-zero", "must", "The reserved fields of a frame are zero.", "zeros in every frame", PUBLISH
)
def _reserved(host: Host_0_10) -> Seen:
    host.take("message.transfer")
    frames = host.frames()
    wrong = [each for each in frames if each[0] & 0xF0 or each[4] or each[5] & 0xF0 or any(each[8:12])]
    return judged(bool(frames) and not wrong, f"{len(wrong)} of {len(frames)} frames have others")


@SUITE.case(
    "wire/frame-size<12 malformed",
    "note",
    "A frame that claims fewer octets than its header has is malformed.",
    "connection.close 501, or the end of the connection",
    OPEN,
    variant="of-4",
)
def _short(host: Host_0_10) -> Seen:
    host.opened()
    host.hears("opened")
    host.is_judged = False
    host.send(frame(size=4), watched=False)
    return host.gives_up()


# Messages.


@SUITE.case(
    "wire/frame-flags",
    "note",
    "A segment may come in any number of frames, and is one.",
    "a body of 1,000 octets",
    CONSUME,
    variant="frames-of-30-octets",
)
def _joined(host: Host_0_10) -> Seen:
    host.deliver(host.consumer(), b"x" * 1000, largest=30)
    line = host.hears("received")
    size = -1 if line is None else len(str(line.get("body", "")))
    return judged(size == 1000, host.described() if line is None else f"a body of {size} octets")


@SUITE.case(
    "wire/body-opaque", "note", "A message may have no body.", "a message without octets", CONSUME, variant="empty"
)
def _empty(host: Host_0_10) -> Seen:
    host.deliver(host.consumer(), b"")
    line = host.hears("received")
    return judged(line is not None and line.get("body") == "", "no message" if line is None else "a message")


@SUITE.case(
    "wire/header-any-order",
    "must",
    "The properties of a message come in any order.",
    "the message",
    CONSUME,
    variant="message-first",
)
def _order(host: Host_0_10) -> Seen:
    host.deliver(host.consumer(), b"m", turned=True)
    line = host.hears("received")
    return judged(line is not None and line.get("body") == "m", host.described() if line is None else "the message")


@SUITE.case(
    "message.delivery-properties/redelivered-hint",
    "should",
    "A redelivered message is a message; the program sees the flag.",
    "redelivered is told",
    CONSUME,
    variant="told",
)
def _redelivered(host: Host_0_10) -> Seen:
    host.deliver(host.consumer(), b"m", redelivered=True)
    line = host.hears("received")
    text = "no message" if line is None else f"redelivered: {line.get('redelivered')}"
    return judged(line is not None and line.get("redelivered") is True, text)


@SUITE.case(
    "message.accept/acquisition",
    "must",
    "A client accepts the messages that it has, each once.",
    "message.accept of the three ids, once each",
    Order("consume 3 accept"),
    variant="ids",
)
def _accepted(host: Host_0_10) -> Seen:
    consumer = host.consumer()
    sent = [host.deliver(consumer, b"m") for _ in range(3)]
    accepted: list[int] = []
    while len(accepted) < len(sent):
        unit = host.wait("message.accept", "message.reject", "message.release")
        if unit is None or unit.event != "message.accept" or unit.channel != consumer[0]:
            return Seen(Verdict.BREAKS, f"accepted: {accepted}; {host.described()}")
        accepted += _ids(unit.content.transfers)
    return judged(sorted(accepted) == sent, f"accepted: {', '.join(map(str, accepted))}; sent: {sent}")


@SUITE.case(
    "message.reject/acquisition",
    "must",
    "A message that the program doesn't want is rejected, by its id.",
    "message.reject of the message",
    Order("consume 1 reject"),
    variant="rejected",
)
def _rejected(host: Host_0_10) -> Seen:
    number = host.deliver(host.consumer(), b"m")
    unit = host.wait("message.reject", "message.release", "message.accept")
    if unit is None or unit.event == "message.accept":
        return Seen(Verdict.BREAKS, host.described())
    ids = _ids(unit.content.transfers)
    verdict = Verdict.CONFORMS if unit.event == "message.reject" else Verdict.OTHER_CODE
    return Seen(verdict if ids == [number] else Verdict.BREAKS, f"{unit.event} of {ids}; sent: {number}")


def _ids(commands: amqp.SequenceSet | None) -> list[int]:
    """Return the first ids of a set: no case has many."""
    return [] if commands is None else [number for number in range(100) if number in commands]


@SUITE.case(
    "message.cancel/post-cancel",
    "must",
    "Messages may still come until message.cancel is completed; a client takes them in its stride.",
    "an end in order",
    CONSUME,
    variant="in-flight",
)
def _in_flight(host: Host_0_10) -> Seen:
    consumer = host.consumer()
    ends = ("message.cancel", "session.request-timeout", "session.detach", "connection.close")
    host.held |= {*ends}
    host.deliver(consumer, b"m")
    unit = host.take(*ends)
    host.deliver(consumer, b"late")
    host.deliver(consumer, b"later", largest=30)
    host.held.clear()
    host.answer(unit)
    status = host.exits()
    text = f"{unit.event} with two messages in between; exit status {status} {host.program.complaint()}"
    return judged(status == 0, text)


@SUITE.case(
    "queue/name",
    "note",
    "A client names the queue for its replies, from 1 to 255 octets, with a letter, a digit or _ at first.",
    "a name, and the reply",
    Order("rpc"),
    variant="for-replies",
)
def _rpc(host: Host_0_10) -> Seen:
    reply_to = host.answer_request()
    line = host.hears("reply")
    body = None if line is None else line.get("body")
    named = 1 <= len(reply_to.encode()) <= 255 and (reply_to[0].isalnum() or reply_to[0] == "_")
    return judged(named and body == "answer", f"reply-to {reply_to!r}; the reply: {body!r}")


@SUITE.case("message.message-properties/id-unique", "must", common.UNIQUE, "different ids", Order("publish 3"))
def _ids_of_messages(host: Host_0_10) -> Seen:
    ids: list[object] = []
    for _ in range(3):
        given = host.take("message.transfer").properties
        about = given.message_properties if isinstance(given, amqp.Headers) else None
        ids.append(None if about is None else about.message_id)
    return common.are_unique(ids)


# Sessions.


@SUITE.case(
    "session.completed/known-completed-reply",
    "must",
    "Who is told of completions, and asked for a timely reply, says that it knows.",
    "session.known-completed",
    PUBLISH,
)
def _known(host: Host_0_10) -> Seen:
    # The program waits for its message's completion: the session stays for as long as this takes.
    host.held |= {"message.transfer", "execution.sync", "session.detach"}
    unit = host.take("message.transfer")
    commands = amqp.SequenceSet([(0, 0)])
    host.say(unit.channel, spec.SessionCompleted(commands, timely_reply=True))
    answer = host.wait("session.known-completed")
    host.let_go()
    return judged(answer is not None, "session.known-completed" if answer is not None else host.described())


@SUITE.case(
    "session.confirmed/on-flush",
    "note",
    "session.flush for confirmed asks for session.confirmed.",
    "session.confirmed with the id of the message",
    CONSUME,
)
def _confirmed(host: Host_0_10) -> Seen:
    consumer = host.consumer()
    host.held |= {"message.cancel", "session.detach", "connection.close"}
    number = host.deliver(consumer, b"m")
    host.take("message.accept")
    host.say(consumer[0], spec.SessionFlush(confirmed=True))
    answer = host.wait("session.confirmed")
    host.let_go()
    fine = answer is not None and answer.content.commands is not None and number in answer.content.commands
    return judged(fine, host.described() if answer is None else f"session.confirmed {answer.content.commands!r}")


@SUITE.case(
    "execution.sync/complete",
    "note",
    "execution.sync is completed when all commands before it are.",
    "session.completed with its id",
    CONSUME,
)
def _sync(host: Host_0_10) -> Seen:
    consumer = host.consumer()
    host.held |= {"message.cancel", "session.detach", "connection.close"}
    number = host.command(consumer[0], spec.ExecutionSync(), sync=True)
    return _completes(host, consumer, number)


@SUITE.case(
    "session/sync-bit",
    "note",
    "A command with the flag sync is to be reported as completed as soon as it is.",
    "session.completed with the id of the message",
    CONSUME,
    variant="message.transfer",
)
def _sync_bit(host: Host_0_10) -> Seen:
    consumer = host.consumer()
    host.held |= {"message.cancel", "session.detach", "connection.close"}
    return _completes(host, consumer, host.deliver(consumer, b"m", sync=True), sends=False)


def _completes(host: Host_0_10, consumer: tuple[int, str], number: int, *, sends: bool = True) -> Seen:
    """Judge whether the client reports a command as completed; `sends`: the program waits for a message besides."""

    def told() -> bool:
        return any(
            each.event == "session.completed" and each.content.commands is not None and number in each.content.commands
            for each in host.seen
        )

    done = host.until(lambda: told() or host.has_ended) and told()
    if sends and not host.has_ended:
        host.deliver(consumer, b"m")
    host.let_go()
    return judged(done, f"session.completed with {number}" if done else host.described())


@SUITE.case(
    "session/attachment",
    "must",
    "A control on a channel that has no session is answered with session.detached, not-attached.",
    "session.detached with the code 3",
    CONSUME,
    variant="flush",
)
def _unattached(host: Host_0_10) -> Seen:
    consumer = host.consumer()
    channel = consumer[0] + 1
    host.send(frame(spec.SessionFlush(completed=True).encode_assembly(), channel=channel), watched=False)
    unit = host.wait("session.detached", "connection.close")
    host.is_judged = False
    if unit is None or unit.event != "session.detached":
        return Seen(Verdict.BREAKS, host.described())
    fine = unit.channel == channel and unit.content.code == 3
    return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, f"session.detached {unit.content.code}")


@SUITE.case(
    "session/exception-then-detach",
    "note",
    "Behind an exception the session is detached; the program learns of it.",
    "the code 404, or a failure of the program",
    CONSUME,
    variant="told",
)
def _exception(host: Host_0_10) -> Seen:
    consumer = host.consumer()
    answer = host.fail(consumer[0], 404, "probe: not found")
    if answer is None:
        return Seen(Verdict.BREAKS, f"no session.detached; {host.described()}")
    return host.learns("404", "not found", "not-found")


@SUITE.case(
    "session/state-kept",
    "note",
    "A session that nobody keeps is lost with its connection: what wasn't completed is in doubt.",
    "unknown, or a failure of the program",
    PUBLISH,
    variant="reset",
)
def _in_doubt(host: Host_0_10) -> Seen:
    host.held |= {"message.transfer", "execution.sync"}
    host.take("message.transfer")
    host.serve(host.patience.quiet)
    return host.loses()


# Closing.


@SUITE.case(
    "connection.close-ok/reporting",
    "should",
    "An error of the connection ends all of it; the program learns of it.",
    "the code 320, or a failure of the program",
    OPEN,
    variant="told",
)
def _told(host: Host_0_10) -> Seen:
    host.opened()
    host.hears("opened")
    if host.hang_up(320, "probe: forced") is None:
        return Seen(Verdict.BREAKS, f"no connection.close-ok; {host.described()}")
    return host.learns("320", "forced")


@SUITE.case(
    "connection.heartbeat/2x",
    "may",
    "A client that hears nothing for two intervals may end the connection.",
    "the end of the connection within 15 seconds",
    OPEN,
    variant="silent-server",
)
def _silent(host: Host_0_10) -> Seen:
    host.tune = spec.ConnectionTune(255, 65_535, 1, 1)
    host.opened()
    if host.tuned is None or not host.tuned.heartbeat:
        host.end_in_order()
        return Seen(Verdict.INFORMATIONAL, "the client agrees on no heartbeats")
    host.hears("opened")
    host.is_judged = False
    host.held |= {"connection.close"}
    at = host.transport.now()
    ended = host.ends(15.0)
    after = host.transport.now() - at
    return judged(ended, f"after {after:.1f} s" if ended else f"not within {after:.1f} s")
