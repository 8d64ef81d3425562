"""Cases of 0-9-1: opening and closing a connection."""

from __future__ import annotations

from typing import Final

from amqp_sansio.amqp_0_9_1 import spec

from ..case import Suite
from ..talk import BODY, Talk, frame, header_frame, method_frame
from ..verdicts import Seen, Verdict, judged

SUITE: Final = Suite(Talk)


def _start(talk: Talk) -> spec.ConnectionStart:
    start = talk.greet()
    # The handshake goes no further: there is nothing to close.
    talk.is_judged = False
    return start


@SUITE.case(
    "connection.start/protocol-name",
    "must",
    "The version of connection.start is the one that the client asked for.",
    "connection.start with version 0.9",
)
def _version(talk: Talk) -> Seen:
    start = _start(talk)
    version = f"{start.version_major}.{start.version_minor}"
    return judged(version == "0.9", f"version {version}")


@SUITE.case(
    "connection.start/mechanisms-notnull", "must", "A server offers at least one mechanism.", "a list of mechanisms"
)
def _mechanisms(talk: Talk) -> Seen:
    offered = _start(talk).mechanisms.decode("ascii", "replace")
    return judged(offered.split(), offered or "none")


@SUITE.case("connection.start/locale-en_us", "must", "A server offers the locale en_US.", "a list with en_US")
def _locales(talk: Talk) -> Seen:
    offered = _start(talk).locales.decode("ascii", "replace")
    return judged("en_US" in offered.split(), offered or "none")


@SUITE.case(
    "connection.start/server-properties",
    "should",
    "The server's properties have at least host or product, version, platform, copyright and information.",
    "product, version, platform, copyright, information",
)
def _properties(talk: Talk) -> Seen:
    given = _start(talk).server_properties
    missing = [each for each in ("product", "version", "platform", "copyright", "information") if each not in given]
    if missing:
        return Seen(Verdict.BREAKS, f"without {', '.join(missing)}")
    return Seen(Verdict.CONFORMS, f"{given['product']} {given['version']}")


@SUITE.case(
    "connection.start-ok/mechanism-not-offered",
    "must",
    "A client that picks a mechanism that wasn't offered is sent away without a login.",
    "the end of the connection, with or without connection.close",
)
def _mechanism(talk: Talk) -> Seen:
    talk.greet()
    talk.respond("X-NOT-OFFERED", b"")
    unit = talk.wait(("connection.tune", "connection.secure"))
    if unit is not None and unit.event != "connection.close":
        return Seen(Verdict.BREAKS, talk.described(unit))
    if unit is None and not talk.has_ended:
        return Seen(Verdict.BREAKS, "the connection stays open")
    return Seen(Verdict.CONFORMS, talk.described(unit))


@SUITE.case("connection.tune/propose", "must", "After the login a server proposes limits.", "connection.tune")
def _tune(talk: Talk) -> Seen:
    tune = talk.authenticate()
    talk.is_judged = False
    return Seen(
        Verdict.CONFORMS, f"channel-max {tune.channel_max}, frame-max {tune.frame_max}, heartbeat {tune.heartbeat}"
    )


@SUITE.case(
    "connection.tune/frame-min",
    "must",
    "No frame-max below 4,096 is proposed or agreed on.",
    "a proposal of 0, or 4,096 and more",
)
def _frame_min(talk: Talk) -> Seen:
    size = talk.authenticate().frame_max
    talk.is_judged = False
    return judged(size == 0 or size >= 4096, f"frame-max {size}")


@SUITE.case(
    "connection.tune-ok/frame-min",
    "must",
    "No frame-max below 4,096 is proposed or agreed on.",
    "connection.close, or the end of the connection",
)
def _too_small(talk: Talk) -> Seen:
    talk.authenticate()
    talk.accept(frame_max=1024)
    talk.say(0, spec.ConnectionOpen(talk.login_as.vhost))
    return _not_opened(talk)


@SUITE.case(
    "connection.tune-ok/channel-max-limit",
    "must",
    "A client that agrees on more channels than proposed loses the connection, without a negotiated close.",
    "the end of the connection; a close before it counts as another code",
)
def _too_many_channels(talk: Talk) -> Seen:
    proposed = talk.authenticate().channel_max
    if proposed in (0, 65_535):
        talk.is_judged = False
        return Seen(Verdict.INFORMATIONAL, f"channel-max {proposed}: there is no more to ask for")
    talk.accept(channel_max=proposed + 1)
    talk.say(0, spec.ConnectionOpen(talk.login_as.vhost))
    return _not_opened(talk, silent=True)


@SUITE.case(
    "connection.tune-ok/frame-max-limit",
    "must",
    "A client that agrees on larger frames than proposed loses the connection, without a negotiated close.",
    "the end of the connection; a close before it counts as another code",
)
def _too_large(talk: Talk) -> Seen:
    proposed = talk.authenticate().frame_max
    if proposed in (0, 2**32 - 1):
        talk.is_judged = False
        return Seen(Verdict.INFORMATIONAL, f"frame-max {proposed}: there is no more to ask for")
    talk.accept(frame_max=proposed + 1)
    talk.say(0, spec.ConnectionOpen(talk.login_as.vhost))
    return _not_opened(talk, silent=True)


def _not_opened(talk: Talk, *, silent: bool = False) -> Seen:
    unit = talk.wait(("connection.open-ok",))
    if unit is not None and unit.event == "connection.open-ok":
        return Seen(Verdict.BREAKS, "connection.open-ok: it is accepted")
    if unit is None and not talk.has_ended:
        return Seen(Verdict.BREAKS, "the connection stays open, and isn't opened")
    exact = unit is None or not silent
    return Seen(Verdict.CONFORMS if exact else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.case(
    "connection/pre-open-error",
    "must",
    "Before connection.open-ok an error ends the connection without a close.",
    "the end of the connection; a close before it counts as another code",
    variant="channel-open-for-start-ok",
)
def _early_channel(talk: Talk) -> Seen:
    talk.greet()
    talk.say(1, spec.ChannelOpen())
    return talk.ended_without_close()


@SUITE.case(
    "connection/pre-open-error",
    "must",
    "Before connection.open-ok an error ends the connection without a close.",
    "the end of the connection; a close before it counts as another code",
    variant="open-for-tune-ok",
)
def _early_open(talk: Talk) -> Seen:
    talk.authenticate()
    talk.say(0, spec.ConnectionOpen(talk.login_as.vhost))
    return talk.ended_without_close()


@SUITE.case(
    "connection.open/vhost-permission",
    "should",
    "A virtual host that the client may not use, or that isn't there, is refused.",
    "connection.close 530, 402 or 403",
)
def _vhost(talk: Talk) -> Seen:
    talk.authenticate()
    talk.accept()
    talk.say(0, spec.ConnectionOpen(f"probe-{talk.names.queue()}"))
    unit = talk.wait(("connection.open-ok",))
    if unit is not None and unit.event == "connection.open-ok":
        return Seen(Verdict.BREAKS, "connection.open-ok")
    if unit is None:
        return Seen(Verdict.UNCLEAN if talk.has_ended else Verdict.BREAKS, talk.described(unit))
    known = unit.content.reply_code in (402, 403, 530)
    return Seen(Verdict.CONFORMS if known else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "connection.open/one-vhost",
    "must",
    "A connection works with one virtual host: there is no second connection.open.",
    "connection.close 503 or 530",
)
def _second_open(talk: Talk) -> Seen:
    talk.say(0, spec.ConnectionOpen(talk.login_as.vhost))
    return talk.connection_error(503, 530, 504)


@SUITE.case(
    "connection.tune/channel-max-highest",
    "note",
    "The agreed channel-max is the highest number of a channel.",
    "connection.close 504 or 530 to channel 11 of 10",
)
def _highest(talk: Talk) -> Seen:
    _with_ten_channels(talk)
    talk.say(11, spec.ChannelOpen())
    return _not_opened_above(talk)


@SUITE.case(
    "connection/limits-exceeded",
    "must",
    "A client that goes beyond an agreed limit loses the connection.",
    "connection.close 504 or 530 to an eleventh channel of 10",
    variant="channel-max",
)
def _limit(talk: Talk) -> Seen:
    _with_ten_channels(talk)
    for number in range(1, 11):
        talk.channel(number)
    talk.say(11, spec.ChannelOpen())
    return _not_opened_above(talk)


def _with_ten_channels(talk: Talk) -> None:
    talk.login(channel_max=10)


def _not_opened_above(talk: Talk) -> Seen:
    unit = talk.wait(("channel.open-ok",), 11)
    if unit is not None and unit.event == "channel.open-ok":
        return Seen(Verdict.BREAKS, "channel.open-ok on channel 11 of 10")
    if unit is None:
        return Seen(Verdict.UNCLEAN, talk.described(None)) if talk.has_ended else talk.silence()
    known = unit.content.reply_code in (504, 530)
    return Seen(Verdict.CONFORMS if known else Verdict.OTHER_CODE, talk.described(unit))


@SUITE.on_a_channel(
    "connection.close/handshake",
    "must",
    "connection.close is answered with connection.close-ok, the last method of the connection.",
    "connection.close-ok, and no method after it",
)
def _close(talk: Talk) -> Seen:
    talk.say(0, spec.ConnectionClose(200, "done"))
    talk.is_over = True
    unit = talk.wait(("connection.close-ok",))
    if unit is None or unit.event != "connection.close-ok":
        return Seen(Verdict.BREAKS, talk.described(unit))
    talk.said_goodbye = True
    later = talk.until(lambda each: True, talk.patience.quiet)
    text = "connection.close-ok" if later is None else f"connection.close-ok, then {talk.described(later)}"
    return judged(later is None, text)


@SUITE.on_a_channel(
    "connection.close/answer",
    "must",
    "connection.close is answered whatever else the client was at.",
    "connection.close-ok",
    variant="within-content",
)
def _close_within_content(talk: Talk) -> Seen:
    start = method_frame(1, spec.BasicPublish(routing_key="nobody")) + header_frame(1, 100)
    talk.send(start + frame(BODY, 1, b"half"))
    talk.say(0, spec.ConnectionClose(200, "done"))
    talk.is_over = True
    unit = talk.wait(("connection.close-ok",))
    if unit is None:
        return Seen(Verdict.BREAKS, talk.described(None))
    talk.said_goodbye = unit.event == "connection.close-ok"
    return judged(talk.said_goodbye, talk.described(unit))


@SUITE.on_a_channel(
    "connection.close/discard",
    "must",
    "What comes after connection.close, but for its answer, is discarded.",
    "no queue is declared after the server's close",
)
def _discard(talk: Talk) -> Seen:
    other = talk.another()
    name = talk.names.queue()
    # The second channel.open is the error; what follows it in the same octets comes after the server's close.
    talk.say(1, spec.ChannelOpen(), spec.QueueDeclare(name, durable=True))
    seen = talk.connection_error(504)
    if seen.verdict not in (Verdict.CONFORMS, Verdict.OTHER_CODE):
        return Seen(Verdict.INCONCLUSIVE, f"no close to discard after: {seen.text}")
    other.say(1, spec.QueueDeclare(name, passive=True))
    unit = other.wait(("queue.declare-ok",), 1)
    if unit is not None and unit.event == "queue.declare-ok":
        return Seen(Verdict.BREAKS, "the queue is there")
    return Seen(Verdict.CONFORMS, f"the queue isn't there: {other.described(unit)}")


@SUITE.on_a_channel(
    "constant/soft-vs-hard",
    "note",
    "A channel's error closes the channel; the connection and its other channels go on.",
    "channel.close, and channel 2 answers",
)
def _soft(talk: Talk) -> Seen:
    talk.channel(2)
    talk.say(1, spec.QueueDeclare(talk.names.queue(), passive=True))
    seen = talk.channel_error(404)
    if seen.verdict is not Verdict.CONFORMS:
        return seen
    after = talk.answers_to(spec.BasicQos(0, 1), 2)
    return Seen(after.verdict, f"{seen.text}; on channel 2 {after.text}")
