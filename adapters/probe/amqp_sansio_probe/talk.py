"""A conversation with a server of 0-9-1, or of 0-8, which names its methods and their arguments alike.

The server's octets are read by an observer, one side only.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, ClassVar, Final

from amqp_sansio import NEED_DATA, Observed, amqp_0_8
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import FieldValue
from amqp_sansio.observer import Observer

from .conversation import Conversation, Reading
from .conversation import Login as Login
from .conversation import Names as Names
from .conversation import Patience as Patience
from .conversation import Piece as Piece
from .transport import Transport
from .verdicts import Seen, Surprise, Verdict, judged

HEADER: Final = b"AMQP\x00\x00\x09\x01"
FRAME_END: Final = b"\xce"
METHOD: Final = 1
CONTENT_HEADER: Final = 2
BODY: Final = 3
HEARTBEAT: Final = 8
BASIC: Final = 60
SPARE: Final = 9
"""A channel that no case opens: it tells whether a silent connection is still served."""
OVERHEAD: Final = 8


def frame(kind: int, channel: int, payload: bytes, end: bytes = FRAME_END) -> bytes:
    """Return the octets of a frame."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + end


def method_frame(channel: int, method: amqp.spec.Method) -> bytes:
    """Return the octets of a method's frame."""
    return frame(METHOD, channel, method.encode(amqp.spec.RABBIT.tables))


def header_frame(
    channel: int, size: int, properties: amqp.BasicProperties | None = None, *, weight: int = 0, class_id: int = BASIC
) -> bytes:
    """Return the octets of a content header's frame."""
    about = (properties or amqp.BasicProperties()).encode(amqp.spec.RABBIT.tables)
    return frame(CONTENT_HEADER, channel, struct.pack(">HHQ", class_id, weight, size) + about)


class Talk(Reading[Observed]):
    """One connection to a server of 0-9-1. Channel 1 is the one that most cases use."""

    VERSION: ClassVar[str] = "0-9-1"
    HEADER: ClassVar[bytes] = HEADER
    RECORDS: ClassVar[ModuleType] = amqp.spec
    """Has the records of the version's methods."""
    ABOUT: ClassVar[Mapping[str, FieldValue]] = {
        "product": "amqp-sansio probe",
        "capabilities": {
            "authentication_failure_close": True,
            "basic.nack": True,
            "connection.blocked": True,
            "consumer_cancel_notify": True,
            "exchange_exchange_bindings": True,
            "publisher_confirms": True,
        },
    }
    """The client's properties."""

    def __init__(
        self,
        transport: Transport,
        login: Login,
        names: Names,
        patience: Patience,
        opened: Callable[[], Conversation] | None = None,
    ) -> None:
        super().__init__(transport, login, names, patience, opened)
        self.start: amqp.spec.ConnectionStart | None = None
        self.tune = amqp.spec.ConnectionTune()
        self.channel_max = 0
        self.frame_max = 0
        self._observer = Observer(client="client")
        self._observer.receive_data(self.HEADER, "client", 0)
        self._units()

    def say(self, channel: int, *methods: amqp.spec.Method) -> None:
        """Send methods."""
        self.send(b"".join([method_frame(channel, each) for each in methods]))

    def publish(
        self, channel: int = 1, body: bytes = b"hello", properties: amqp.BasicProperties | None = None, **arguments: Any
    ) -> None:
        """Send a message, in as many body frames as the negotiated size asks for."""
        largest = (self.frame_max or 131_072) - OVERHEAD
        bodies = [frame(BODY, channel, body[at : at + largest]) for at in range(0, len(body), largest)]
        first = method_frame(channel, self.RECORDS.BasicPublish(**arguments))
        self.send(first + header_frame(channel, len(body), properties) + b"".join(bodies))

    def read(self, octets: bytes, at_ns: int) -> Iterable[Observed]:
        self._observer.receive_data(octets, "server", at_ns)
        return self._units()

    def _units(self) -> list[Observed]:
        found: list[Observed] = []
        while (event := self._observer.next_event()) is not NEED_DATA:
            if not isinstance(event, Observed):
                continue
            if isinstance(event.content, bytes) and event.event not in ("protocol-header", "heartbeat"):
                self.garbled = f"{event.event} that can't be decoded"
            else:
                found.append(event)
        return found

    def wait(self, names: Iterable[str], channel: int | None = None, seconds: float | None = None) -> Observed | None:
        """Take the first unit with one of the names; a close of the connection or of that channel is one, too."""
        known = {*names, "connection.close"}

        def wanted(unit: Observed) -> bool:
            if unit.event in known and (channel is None or unit.channel in (channel, 0)):
                return True
            return unit.event == "channel.close" and unit.channel == channel

        unit = self.until(wanted, seconds)
        if unit is not None and unit.event == "connection.close":
            self.is_over = True
            self.say(0, self.RECORDS.ConnectionCloseOk())
        elif unit is not None and unit.event == "channel.close":
            self.say(unit.channel, self.RECORDS.ChannelCloseOk())
        return unit

    def quiet(self, *names: str, channel: int = 1) -> Observed | None:
        """Return a unit with one of these names, or a close, that comes though nothing should.

        Asks a question on the spare channel first: what comes before its answer was caused by what was sent before it.
        """
        if self.answers_still():
            return self.wait(names, channel, self.patience.quiet)
        return self.wait(names, channel, 0)

    # Steps that only prepare a case.

    def take(self, name: str, channel: int = 0) -> Observed:
        """Take a unit that the case can't go on without. Raises Surprise."""
        unit = self.wait((name,), channel)
        if unit is None or unit.event != name:
            raise Surprise(f"no {name}: {self.described(unit)}")
        return unit

    def call(self, method: amqp.spec.RequestMethod[Any], channel: int = 1) -> Any:
        """Send a method and return its reply. Raises Surprise."""
        self.say(channel, method)
        return self.take(reply_of(method), channel).content

    def greet(self) -> amqp.spec.ConnectionStart:
        """Send the protocol header; take connection.start."""
        self.send(self.HEADER)
        start: amqp.spec.ConnectionStart = self.take("connection.start").content
        self.start = start
        return start

    def respond(self, mechanism: str = "PLAIN", response: bytes | None = None) -> None:
        """Send connection.start-ok."""
        given = self.login_as.plain if response is None else response
        self.say(0, self.RECORDS.ConnectionStartOk(amqp.Table(self.ABOUT), mechanism, given, "en_US"))

    def authenticate(self) -> amqp.spec.ConnectionTune:
        """Log in up to the server's connection.tune."""
        self.greet()
        self.respond()
        tune: amqp.spec.ConnectionTune = self.take("connection.tune").content
        self.tune = tune
        return tune

    def accept(self, channel_max: int | None = None, frame_max: int | None = None, heartbeat: int = 0) -> None:
        """Send connection.tune-ok, with what the server proposes where nothing is given, and no heartbeats."""
        self.channel_max = self.tune.channel_max if channel_max is None else channel_max
        self.frame_max = self.tune.frame_max if frame_max is None else frame_max
        self.say(0, self.RECORDS.ConnectionTuneOk(self.channel_max, self.frame_max, heartbeat))

    def login(self, channel_max: int | None = None, frame_max: int | None = None, heartbeat: int = 0) -> Talk:
        """Log in and open the virtual host."""
        self.authenticate()
        self.accept(channel_max, frame_max, heartbeat)
        self.call(self.RECORDS.ConnectionOpen(self.login_as.vhost), 0)
        self.open_at = self.transport.now()
        return self

    def begin(self) -> None:
        self.login()
        self.channel()

    def channel(self, number: int = 1) -> int:
        """Open a channel."""
        self.call(self.RECORDS.ChannelOpen(), number)
        return number

    def declare(self, channel: int = 1, **arguments: Any) -> str:
        """Declare a queue with a name of its own."""
        name = self.names.queue()
        self.call(self.RECORDS.QueueDeclare(name, **arguments), channel)
        return name

    def filled(self, messages: int = 1) -> str:
        """Declare an exclusive queue, and publish messages to it; they are there, or the wait for them is over."""
        queue = self.declare(exclusive=True)
        for _ in range(messages):
            self.publish(routing_key=queue)
        self.counts(queue, messages)
        return queue

    def exchange(self, kind: str = "direct", channel: int = 1, **arguments: Any) -> str:
        """Declare an exchange with a name of its own."""
        name = self.names.exchange()
        self.call(self.RECORDS.ExchangeDeclare(name, kind, **arguments), channel)
        return name

    def get(self, queue: str, channel: int = 1, no_ack: bool = True) -> Observed | None:
        """Get a message; None if the queue is empty."""
        self.say(channel, self.RECORDS.BasicGet(queue, no_ack))
        unit = self.wait(("basic.get-ok", "basic.get-empty"), channel)
        if unit is None or unit.event not in ("basic.get-ok", "basic.get-empty"):
            raise Surprise(f"no answer to basic.get: {self.described(unit)}")
        return unit if unit.event == "basic.get-ok" else None

    def counts(self, queue: str, messages: int, channel: int = 1) -> bool:
        """Whether a queue comes to have so many messages ready, which a publish or a requeue may take a moment for."""
        deadline = self.transport.now() + self.patience.answer
        while True:
            if self.ready(queue, channel) == messages:
                return True
            if self.transport.now() >= deadline:
                return False
            self.rest(0.02)

    def ready(self, queue: str, channel: int = 1) -> int:
        """Return how many messages of a queue are ready now."""
        count: int = self.call(self.RECORDS.QueueDeclare(queue, passive=True), channel).message_count
        return count

    # Judgements.

    def answers_still(self) -> bool:
        """Whether the connection is served: a channel can be opened on it, or is open already."""
        if self.is_over or self.has_ended:
            return False
        number = SPARE if not self.channel_max or self.channel_max >= SPARE else self.channel_max
        self.say(number, self.RECORDS.ChannelOpen())
        unit = self.until(lambda each: each.channel == number and each.event == "channel.open-ok", self.patience.answer)
        if unit is None:
            return False
        self.say(number, self.RECORDS.ChannelClose(200, "asked"))
        return (
            self.until(lambda each: each.channel == number and each.event == "channel.close-ok", self.patience.answer)
            is not None
        )

    def described(self, unit: Observed | None) -> str:
        """Say what the peer did instead."""
        if unit is not None:
            if unit.event in ("connection.close", "channel.close"):
                return f"{unit.event} {unit.content.reply_code} {unit.content.reply_text!r}"
            where = f" on channel {unit.channel}" if unit.channel else ""
            return f"{unit.event}{where}"
        return self.ending()

    def connection_error(self, *codes: int, silent: bool = False) -> Seen:
        """Judge whether the server closes the connection with one of the codes.

        `silent`: it may end it without connection.close.
        """
        unit = self.reaction(lambda seconds: self.wait(("channel.close",), seconds=seconds))
        if unit is None:
            if not self.has_ended:
                return self.silence()
            seen = f"the connection is {self.transport.how_it_ended} without connection.close"
            return Seen(Verdict.CONFORMS if silent else Verdict.UNCLEAN, seen)
        if unit.event == "channel.close":
            self.say(unit.channel, self.RECORDS.ChannelCloseOk())
        return self._closes(unit, codes, ("connection.close",))

    def ended_without_close(self) -> Seen:
        """Judge whether the server ends the connection without a negotiated close."""
        unit = self.reaction(lambda seconds: self.wait((), seconds=seconds))
        if unit is not None:
            return Seen(Verdict.OTHER_CODE, f"{self.described(unit)}, then the end")
        if self.has_ended:
            return Seen(Verdict.CONFORMS, self.described(None))
        return self.silence()

    def channel_error(self, *codes: int, channel: int = 1) -> Seen:
        """Judge whether the server closes the channel with one of the codes, and nothing more."""
        unit = self.reaction(lambda seconds: self.wait((), channel, seconds))
        return self._closes(unit, codes, ("channel.close",))

    def refuses(
        self,
        method: amqp.spec.RequestMethod[Any],
        *codes: int,
        channel: int = 1,
        by: tuple[str, ...] = ("channel.close",),
    ) -> Seen:
        """Send a method, and judge whether a close refuses it; its reply would be the breach."""
        self.say(channel, method)
        name = reply_of(method)
        unit = self.reaction(lambda seconds: self.wait((name,), channel, seconds))
        if unit is not None and unit.event == name:
            return Seen(Verdict.BREAKS, f"{name}: it is done")
        return self._closes(unit, codes, by)

    def _closes(self, unit: Observed | None, codes: tuple[int, ...], by: tuple[str, ...]) -> Seen:
        """Judge a close, or the lack of one: `by` has the closes that are right."""
        if unit is None and self.has_ended and "connection.close" in by:
            return Seen(Verdict.UNCLEAN, f"the connection is {self.transport.how_it_ended} without connection.close")
        if unit is None:
            return self.silence()
        text = self.described(unit)
        if unit.event not in by:
            scopes = "the connection, not the channel"
            if unit.event == "channel.close":
                scopes = "the channel, not the connection"
            return Seen(Verdict.OTHER_CODE, f"{text}: {scopes}")
        return Seen(Verdict.CONFORMS if unit.content.reply_code in codes else Verdict.OTHER_CODE, text)

    def answers_to(self, method: amqp.spec.RequestMethod[Any], channel: int = 1) -> Seen:
        """Send a method, and judge whether the server answers with its reply."""
        self.say(channel, method)
        return self.answers(reply_of(method), channel)

    def answers(self, name: str, channel: int = 1) -> Seen:
        """Judge whether the server answers with this method."""
        unit = self.reaction(lambda seconds: self.wait((name,), channel, seconds))
        if unit is None:
            return self.silence()
        return judged(unit.event == name, self.described(unit))

    def holds_one(self, queue: str) -> Seen:
        """Judge whether one message comes into a queue, and no more."""
        self.counts(queue, 1)
        self.rest()
        count = self.ready(queue)
        return judged(count == 1, f"messages: {count}")

    # The end.

    def _part(self) -> str:
        self.say(0, self.RECORDS.ConnectionClose(200, "done"))
        unit = self.until(lambda each: each.event in ("connection.close-ok", "connection.close"))
        if unit is None:
            return "the end: no connection.close-ok" if not self.has_ended else ""
        if unit.event == "connection.close":
            self.say(0, self.RECORDS.ConnectionCloseOk())
            return f"the end: {self.described(unit)} instead of connection.close-ok"
        # Who asked for the close ends the connection: connection.close-ok tells that it may.
        self.said_goodbye = True
        return ""

    def sweep(self, names: Names) -> None:
        self.login()
        # Exclusive queues go with their connection. A channel for each: what is gone already may close it.
        methods = [self.RECORDS.QueueDelete(each) for each in names.queues]
        methods += [self.RECORDS.ExchangeDelete(each) for each in names.exchanges]
        for place, method in enumerate(methods, 1):
            self.channel(place)
            self.say(place, method)
            self.wait((reply_of(method),), place)
        if not methods:
            self.channel()
        self.finish()


class Talk08(Talk):
    """One connection to a server of 0-8."""

    VERSION: ClassVar[str] = "0-8"
    HEADER: ClassVar[bytes] = b"AMQP\x01\x01\x08\x00"
    RECORDS: ClassVar[ModuleType] = amqp_0_8.spec
    ABOUT: ClassVar[Mapping[str, FieldValue]] = {"product": "amqp-sansio probe"}

    def __init__(
        self,
        transport: Transport,
        login: Login,
        names: Names,
        patience: Patience,
        opened: Callable[[], Conversation] | None = None,
    ) -> None:
        super().__init__(transport, login, names, patience, opened)
        self.tickets: dict[int, int] = {}
        """The access ticket of each channel."""

    def say(self, channel: int, *methods: amqp.spec.Method) -> None:
        """Send methods, each with the channel's ticket if it has none."""
        super().say(channel, *[self.ticketed(channel, each) for each in methods])

    def ticketed(self, channel: int, method: amqp.spec.Method) -> amqp.spec.Method:
        """Return a method with the channel's ticket, if it is one that has a ticket."""
        ticket = self.tickets.get(channel, 0)
        if not ticket or getattr(method, "ticket", None) != 0:
            return method
        return type(method)(*[ticket if name == "ticket" else getattr(method, name) for name in method.__match_args__])

    def publish(
        self, channel: int = 1, body: bytes = b"hello", properties: amqp.BasicProperties | None = None, **arguments: Any
    ) -> None:
        arguments.setdefault("ticket", self.tickets.get(channel, 0))
        super().publish(channel, body, properties, **arguments)

    def channel(self, number: int = 1) -> int:
        """Open a channel, and ask for access on it. Raises Surprise."""
        super().channel(number)
        wanted = amqp_0_8.spec.AccessRequest("/data", active=True, passive=True, write=True, read=True)
        self.tickets[number] = self.call(wanted, number).ticket
        return number


def reply_of(method: amqp.spec.RequestMethod[Any]) -> str:
    """Return the name of a request's reply."""
    return f"{method.NAME}-ok"
