"""A conversation with a server of 0-10."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from amqp_sansio import AMQP_0_10, AmqpError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.record import decode_command, decode_control, encode_headers

from .conversation import Conversation, Login, Names, Patience, Reading
from .transport import Transport
from .verdicts import Seen, Surprise, Verdict, judged

HEADER: Final = AMQP_0_10.header
CONTROL: Final = 0
COMMAND: Final = 1
HEADERS: Final = 2
BODY: Final = 3
WHOLE: Final = 0x0F
"""Flags: first and last segment, first and last frame."""
SPARE: Final = 9
"""A channel that no case uses: it tells whether a silent connection is still served."""
MANY: Final = 100
"""Credit that is more than a case needs."""
_HEAD: Final = struct.Struct(">BBHBBHI")
_FIRST_SEGMENT: Final = 8
_LAST_SEGMENT: Final = 4
_FIRST_FRAME: Final = 2
_LAST_FRAME: Final = 1


def frame(
    payload: bytes = b"",
    kind: int = CONTROL,
    channel: int = 0,
    *,
    flags: int = WHOLE,
    track: int | None = None,
    size: int | None = None,
    spare: int = 0,
    tail: int = 0,
) -> bytes:
    """Return the octets of a frame, right or wrong."""
    on = int(kind != CONTROL) if track is None else track
    return _HEAD.pack(flags, kind, 12 + len(payload) if size is None else size, spare, on, channel, tail) + payload


def assembly(segments: Sequence[tuple[int, bytes]], channel: int, largest: int) -> bytes:
    """Return the frames of segments, none of more than `largest` octets."""
    parts: list[bytes] = []
    room = largest - 12
    for place, (kind, octets) in enumerate(segments):
        pieces = [octets[at : at + room] for at in range(0, max(len(octets), 1), room)]
        for number, piece in enumerate(pieces):
            flags = _FIRST_SEGMENT * (place == 0) + _LAST_SEGMENT * (place == len(segments) - 1)
            flags += _FIRST_FRAME * (number == 0) + _LAST_FRAME * (number == len(pieces) - 1)
            parts.append(frame(piece, kind, channel, flags=flags))
    return b"".join(parts)


class Told(NamedTuple):
    """A protocol header, or a control or command with all of its segments."""

    event: str
    channel: int
    content: Any
    number: int
    """The command's id; -1: it is none."""
    headers: amqp.Headers
    body: bytes


class Talk010(Reading[Told]):
    """One connection to a server of 0-10. The session on channel 0 is the one that most cases use."""

    VERSION: ClassVar[str] = "0-10"

    def __init__(
        self,
        transport: Transport,
        login: Login,
        names: Names,
        patience: Patience,
        opened: Callable[[], Conversation] | None = None,
    ) -> None:
        super().__init__(transport, login, names, patience, opened)
        self.start = spec.ConnectionStart()
        self.tune = spec.ConnectionTune()
        self.frame_max = 65_535
        self.session_names: dict[int, bytes] = {}
        """The names of the sessions, by channel."""
        self._outgoing: dict[int, int] = {}
        """The id of the client's next command, by channel."""
        self._incoming: dict[int, int] = {}
        self._octets = b""
        self._open: dict[tuple[int, int], dict[int, bytes]] = {}
        """The segments of what is yet to be whole, by channel and track."""

    # Octets.

    def say(self, *controls: spec.Control, channel: int = 0) -> None:
        """Send controls."""
        self.send(b"".join([frame(each.encode_assembly(), channel=channel) for each in controls]))

    def command(
        self,
        command: spec.Command[Any],
        channel: int = 0,
        *,
        headers: tuple[spec.Struct, ...] = (),
        body: bytes = b"",
        sync: bool = True,
    ) -> int:
        """Send a command with its content; return its id."""
        segments = [(COMMAND, command.encode_segment(sync=sync))]
        if headers:
            segments.append((HEADERS, encode_headers(headers)))
        if body:
            segments.append((BODY, body))
        self.send(assembly(segments, channel, self.frame_max))
        number = self._outgoing.get(channel, 0)
        self._outgoing[channel] = number + 1
        return number

    def read(self, octets: bytes, at_ns: int) -> Iterable[Told]:
        self._octets += octets
        found: list[Told] = []
        while len(self._octets) >= 8:
            if self._octets.startswith(b"AMQP"):
                found.append(Told("header", 0, self._octets[:8], -1, amqp.Headers(b""), b""))
                self._octets = self._octets[8:]
                continue
            if len(self._octets) < _HEAD.size:
                break
            flags, kind, size, _, track, channel, _ = _HEAD.unpack_from(self._octets)
            if size < _HEAD.size:
                self.garbled = f"a frame of {size} octets"
                self._octets = b""
                break
            if len(self._octets) < size:
                break
            payload, self._octets = self._octets[12:size], self._octets[size:]
            if flags & _FIRST_SEGMENT and flags & _FIRST_FRAME:
                self._open[channel, track] = {}
            segments = self._open.setdefault((channel, track), {})
            segments[kind] = segments.get(kind, b"") + payload
            if flags & _LAST_SEGMENT and flags & _LAST_FRAME:
                found += self._told(channel, self._open.pop((channel, track)))
        return found

    def _told(self, channel: int, segments: dict[int, bytes]) -> Sequence[Told]:
        headers, body = amqp.Headers(segments.get(HEADERS, b"")), segments.get(BODY, b"")
        try:
            if CONTROL in segments:
                octets = segments[CONTROL]
                control = decode_control(octets, 0, len(octets))
                if isinstance(control, spec.SessionCommandPoint):
                    self._incoming[channel] = control.command_id or 0
                return (Told(control.NAME, channel, control, -1, headers, body),)
            octets = segments.get(COMMAND, b"")
            number = self._incoming.get(channel, 0)
            self._incoming[channel] = number + 1
            command, _ = decode_command(octets, 0, len(octets))
        except AmqpError as error:
            self.garbled = f"what can't be decoded: {error}"
            return ()
        return (Told(command.NAME, channel, command, number, headers, body),)

    def wait(
        self,
        names: Iterable[str],
        channel: int = 0,
        seconds: float | None = None,
        fits: Callable[[Told], bool] = lambda unit: True,
    ) -> Told | None:
        """Take the first unit with one of the names, and that fits.

        One that ends the connection or the session is one, too: connection.close, execution.exception, session.detach
        and session.detached.
        """
        known = {*names}
        ends = ("execution.exception", "session.detach", "session.detached")

        def wanted(unit: Told) -> bool:
            if unit.event == "connection.close" or (unit.event in ends and unit.channel == channel):
                return True
            return unit.event in known and unit.channel == channel and fits(unit)

        unit = self.until(wanted, seconds)
        if unit is not None and unit.event == "connection.close" and not self.is_over:
            self.is_over = True
            self.say(spec.ConnectionCloseOk())
        elif unit is not None and unit.event in ends:
            self._detached(unit)
        return unit

    def _detached(self, unit: Told) -> None:
        """Answer a session.detach; take the one that follows an exception."""
        name = self.session_names.pop(unit.channel, b"")
        if unit.event == "execution.exception":
            after = self.until(
                lambda each: each.channel == unit.channel and each.event in ("session.detach", "session.detached")
            )
            if after is None:
                return
            unit = after
        if unit.event == "session.detach":
            self.say(spec.SessionDetached(name, 0), channel=unit.channel)

    # Steps that only prepare a case.

    def take(self, name: str, channel: int = 0) -> Told:
        """Take a unit that the case can't go on without. Raises Surprise."""
        unit = self.wait((name,), channel)
        if unit is None or unit.event != name:
            raise Surprise(f"no {name}: {self.described(unit)}")
        return unit

    def greet(self) -> spec.ConnectionStart:
        """Exchange the protocol headers; take connection.start. Raises Surprise."""
        self.send(HEADER)
        self.take("header")
        self.start = self.take("connection.start").content
        return self.start

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that the server offers."""
        return tuple([str(each) for each in self.start.mechanisms or ()])

    def respond(self, mechanism: str = "PLAIN") -> None:
        """Send connection.start-ok."""
        about = {"product": "amqp-sansio probe"}
        self.say(spec.ConnectionStartOk(about, mechanism, self.login_as.plain, "en_US"))

    def authenticate(self) -> spec.ConnectionTune:
        """Log in up to the server's connection.tune. Raises Surprise."""
        self.greet()
        self.respond()
        self.tune = self.take("connection.tune").content
        return self.tune

    def accept(self, **fields: Any) -> None:
        """Send connection.tune-ok, with what the server proposes where nothing is given, and no heartbeats."""
        values: dict[str, Any] = {
            "channel_max": self.tune.channel_max,
            "max_frame_size": self.tune.max_frame_size,
            **fields,
        }
        self.frame_max = values["max_frame_size"] or 65_535
        self.say(spec.ConnectionTuneOk(**values))

    def login(self, **fields: Any) -> None:
        """Log in, and open the virtual host. Raises Surprise."""
        self.authenticate()
        self.accept(**fields)
        self.say(spec.ConnectionOpen(self.login_as.vhost))
        self.take("connection.open-ok")
        self.open_at = self.transport.now()

    def attach(self, channel: int = 0, name: bytes | None = None) -> bytes:
        """Attach a session, and begin its commands with the id 0; return its name. Raises Surprise."""
        given = self.names.name().encode() if name is None else name
        self.session_names[channel] = given
        self.say(spec.SessionAttach(given), channel=channel)
        self.take("session.attached", channel)
        self.say(spec.SessionCommandPoint(0, 0), channel=channel)
        self._outgoing[channel] = 0
        return given

    def begin(self) -> None:
        self.login()
        self.attach()

    def done(self, number: int, channel: int = 0, seconds: float | None = None) -> Told | None:
        """Take the session.completed that has a command; or what comes instead."""
        return self.wait(
            ("session.completed",),
            channel,
            seconds,
            lambda unit: unit.content.commands is not None and number in unit.content.commands,
        )

    def call(self, command: spec.Command[Any], channel: int = 0) -> Any:
        """Have a command done, and return its result, None if it has none. Raises Surprise."""
        number = self.command(command, channel)
        found: Any = None
        if command.RESULT:
            unit = self.wait(("execution.result",), channel, None, lambda each: bool(each.content.command_id == number))
            if unit is None or unit.event != "execution.result":
                raise Surprise(f"no result of {command.NAME}: {self.described(unit)}")
            found = unit.content.value
        unit = self.done(number, channel)
        if unit is None or unit.event != "session.completed":
            raise Surprise(f"{command.NAME} isn't done: {self.described(unit)}")
        return found

    def declare(self, channel: int = 0, **fields: Any) -> str:
        """Declare a queue with a name of its own. Raises Surprise."""
        name = self.names.queue()
        self.call(spec.QueueDeclare(name, **fields), channel)
        return name

    def exchange(self, kind: str = "direct", channel: int = 0, **fields: Any) -> str:
        """Declare an exchange with a name of its own. Raises Surprise."""
        name = self.names.exchange()
        self.call(spec.ExchangeDeclare(name, kind, **fields), channel)
        return name

    def publish(
        self,
        key: str,
        body: bytes = b"hello",
        exchange: str = "",
        channel: int = 0,
        *,
        about: amqp.MessageProperties | None = None,
        **fields: Any,
    ) -> int:
        """Send a message; return the id of its transfer."""
        headers: list[spec.Struct] = [amqp.DeliveryProperties(routing_key=key, **fields)]
        if about is not None:
            headers.append(about)
        return self.command(spec.MessageTransfer(exchange, 1, 0), channel, headers=tuple(headers), body=body)

    def store(self, key: str, body: bytes = b"hello", exchange: str = "", channel: int = 0, **fields: Any) -> None:
        """Send a message, and have it taken. Raises Surprise."""
        unit = self.done(self.publish(key, body, exchange, channel, **fields), channel)
        if unit is None or unit.event != "session.completed":
            raise Surprise(f"the message isn't taken: {self.described(unit)}")

    def filled(self, *bodies: bytes) -> str:
        """Declare a queue with these messages. Raises Surprise."""
        queue = self.declare()
        for each in bodies:
            self.store(queue, each)
        return queue

    def subscribe(self, queue: str, channel: int = 0, *, credit: int = 0, destination: str = "d", **fields: Any) -> str:
        """Subscribe to a queue, with explicit accepts, and so many messages of credit. Raises Surprise."""
        values: dict[str, Any] = {"accept_mode": 0, "acquire_mode": 0, **fields}
        self.call(spec.MessageSubscribe(queue, destination, **values), channel)
        self.call(spec.MessageSetFlowMode(destination, 0), channel)
        if credit:
            self.grant(credit, destination, channel)
        return destination

    def grant(self, credit: int, destination: str = "d", channel: int = 0) -> None:
        """Grant messages of credit, and octets without a bound. Raises Surprise."""
        self.call(spec.MessageFlow(destination, 1, 0xFFFFFFFF), channel)
        self.call(spec.MessageFlow(destination, 0, credit), channel)

    def next(self, destination: str = "d", channel: int = 0, seconds: float | None = None) -> Told | None:
        """Take the next message of a subscription; None if none comes."""
        unit = self.wait(
            ("message.transfer",), channel, seconds, lambda each: bool(each.content.destination == destination)
        )
        return unit if unit is not None and unit.event == "message.transfer" else None

    def arrives(self, destination: str = "d", channel: int = 0) -> Told:
        """Take the next message of a subscription. Raises Surprise."""
        unit = self.next(destination, channel)
        if unit is None:
            raise Surprise(f"no message: {self.ending()}")
        return unit

    def messages(self, wanted: int, destination: str = "d", channel: int = 0) -> list[Told]:
        """Take messages until there are as many as wanted, and those that still come then."""
        found: list[Told] = []
        while (
            each := self.next(destination, channel, None if len(found) < wanted else self.patience.quiet)
        ) is not None:
            found.append(each)
        return found

    def query(self, queue: str, channel: int = 0) -> spec.QueueQueryResult:
        """Ask about a queue. Raises Surprise."""
        found = self.call(spec.QueueQuery(queue), channel)
        return found if isinstance(found, spec.QueueQueryResult) else spec.QueueQueryResult()

    def ready(self, queue: str, channel: int = 0) -> int:
        """Return how many messages a queue has."""
        return self.query(queue, channel).message_count or 0

    # Judgements.

    def answers_still(self) -> bool:
        """Whether the connection is served: a session can be attached and detached on it."""
        if self.is_over or self.has_ended:
            return False
        channel = min(SPARE, self.tune.channel_max or SPARE)
        name = self.names.name().encode()
        self.say(spec.SessionAttach(name), channel=channel)
        if self.until(lambda each: each.event == "session.attached" and each.channel == channel) is None:
            return False
        self.say(spec.SessionDetach(name), channel=channel)
        return self.until(lambda each: each.event == "session.detached" and each.channel == channel) is not None

    def described(self, unit: Told | None) -> str:
        """Say what the peer did instead."""
        if unit is None:
            return self.ending()
        if unit.event == "header":
            return f"the header {unit.content.hex()}"
        if unit.event == "connection.close":
            return f"connection.close {unit.content.reply_code} {unit.content.reply_text!r}"
        if unit.event == "execution.exception":
            return f"execution.exception {unit.content.error_code} {unit.content.description!r}"
        if unit.event == "session.detached":
            return f"session.detached {unit.content.code}"
        return unit.event

    def refuses(self, command: spec.Command[Any], *codes: int, channel: int = 0) -> Seen:
        """Send a command, and judge whether an exception with one of the codes refuses it."""
        return self.exception(self.command(command, channel), *codes, channel=channel)

    def exception(self, number: int, *codes: int, channel: int = 0) -> Seen:
        """Judge whether a command ends its session by an exception with one of the codes."""
        unit = self.reaction(lambda seconds: self.done(number, channel, seconds))
        if unit is None:
            return self.silence()
        if unit.event == "session.completed":
            return Seen(Verdict.BREAKS, "it is done")
        text = self.described(unit)
        if unit.event == "connection.close":
            return Seen(Verdict.OTHER_CODE, f"{text}: the connection, not the session")
        if unit.event != "execution.exception":
            return Seen(Verdict.OTHER_CODE, f"{text}: no exception")
        return Seen(Verdict.CONFORMS if unit.content.error_code in codes else Verdict.OTHER_CODE, text)

    def does(self, command: spec.Command[Any], channel: int = 0) -> Seen:
        """Send a command, and judge whether it is done."""
        number = self.command(command, channel)
        unit = self.reaction(lambda seconds: self.done(number, channel, seconds))
        if unit is None:
            return self.silence()
        fine = unit.event == "session.completed"
        return judged(fine, self.described(unit))

    def connection_error(self, *codes: int, silent: bool = False) -> Seen:
        """Judge whether the server closes the connection with one of the codes.

        `silent`: it may end it without connection.close.
        """
        unit = self.reaction(lambda seconds: self.wait((), seconds=seconds))
        if unit is None:
            if not self.has_ended:
                return self.silence()
            seen = f"the connection is {self.transport.how_it_ended} without connection.close"
            return Seen(Verdict.CONFORMS if silent else Verdict.UNCLEAN, seen)
        text = self.described(unit)
        if unit.event != "connection.close":
            return Seen(Verdict.OTHER_CODE, f"{text}: the session, not the connection")
        return Seen(Verdict.CONFORMS if unit.content.reply_code in codes else Verdict.OTHER_CODE, text)

    def detached(self, *codes: int, channel: int = 0) -> Seen:
        """Judge whether the server detaches a session with one of the codes."""
        unit = self.reaction(lambda seconds: self.wait((), channel, seconds))
        if unit is None:
            return self.silence() if not self.has_ended else Seen(Verdict.UNCLEAN, self.ending())
        text = self.described(unit)
        if unit.event == "connection.close":
            return Seen(Verdict.OTHER_CODE, f"{text}: the connection, not the session")
        fine = unit.event == "session.detached" and unit.content.code in codes
        return Seen(Verdict.CONFORMS if fine else Verdict.OTHER_CODE, text)

    def no_more(self, text: str, destination: str = "d", channel: int = 0) -> Seen:
        """Judge whether no more messages come."""
        served = self.answers_still()
        unit = self.next(destination, channel, self.patience.quiet if served else 0)
        if unit is None and served:
            return Seen(Verdict.CONFORMS, text)
        return Seen(Verdict.BREAKS, f"{text}, and {'a message more' if unit else self.ending()}")

    def holds(self, queue: str, *bodies: bytes) -> Seen:
        """Judge whether a queue has these messages, and no others; they are taken from it."""
        self.attach(2)
        self.subscribe(queue, 2, credit=MANY, accept_mode=1)
        got = [each.body for each in self.messages(len(bodies), channel=2)]
        text = f"messages: {', '.join([repr(each) for each in got]) or 'none'}"
        return judged(got == [*bodies], text)

    # The end.

    def _part(self) -> str:
        self.say(spec.ConnectionClose(200, "done"))
        unit = self.until(lambda each: each.event in ("connection.close-ok", "connection.close"))
        if unit is None:
            return "the end: no connection.close-ok" if not self.has_ended else ""
        if unit.event == "connection.close":
            self.say(spec.ConnectionCloseOk())
            return f"the end: {self.described(unit)} instead of connection.close-ok"
        self.said_goodbye = True
        return ""

    def sweep(self, names: Names) -> None:
        self.login()
        # A session for each: what is gone already ends it.
        commands: list[spec.Command[Any]] = [spec.QueueDelete(each) for each in names.queues]
        commands += [spec.ExchangeDelete(each) for each in reversed(names.exchanges)]
        for command in commands:
            self.attach()
            if (unit := self.done(self.command(command))) is not None and unit.event == "session.completed":
                self.say(spec.SessionDetach(self.session_names.pop(0, b"")))
                self.until(lambda each: each.event == "session.detached" and each.channel == 0)
        if not commands:
            self.attach()
        self.finish()
