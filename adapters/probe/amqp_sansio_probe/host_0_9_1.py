"""Servers of 0-9-1 and 0-8 for clients under test."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, ClassVar, Final

from amqp_sansio import Observed, amqp_0_8
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import FieldValue

from .host import MethodHost, Patience
from .listening import Accepted
from .programs import QUEUE, Program
from .talk import BODY, HEADER, HEARTBEAT, frame, header_frame, method_frame
from .verdicts import Surprise

_CAPABILITIES: Final = (
    *("authentication_failure_close", "basic.nack", "connection.blocked", "consumer_cancel_notify"),
    *("exchange_exchange_bindings", "publisher_confirms"),
)
_GENERATED: Final = "amq.gen-probe"
"""The name of a queue that the server names."""
TICKET: Final = 7
"""The access ticket of 0-8, where a case says no other."""
_PLAIN_REPLIES: Final = frozenset(
    {
        *("exchange.declare", "exchange.delete", "exchange.bind", "exchange.unbind", "queue.bind", "queue.unbind"),
        *("queue.purge", "queue.delete", "basic.qos", "basic.recover", "tx.select", "tx.commit", "tx.rollback"),
        *("channel.open", "channel.close", "channel.flow", "connection.open", "connection.close"),
    }
)
"""Methods whose reply has no field that matters."""


class ClassicHost(MethodHost):
    """Answers each method with its reply, and confirms what is published on a channel with confirms."""

    PUBLISH = "basic.publish"
    OVER = "CONNECTION_FORCED - the case is over"
    HEADERS: ClassVar[tuple[bytes, ...]] = (HEADER,)
    """The protocol headers that it takes; it answers others with the first."""
    NUMBERS: ClassVar[tuple[int, int]] = (0, 9)
    """The version of connection.start."""
    RECORDS: ClassVar[ModuleType] = amqp.spec
    """Has the records of the version's methods."""
    EXTENSIONS: ClassVar[Mapping[str, FieldValue]] = {"capabilities": dict.fromkeys(_CAPABILITIES, True)}
    """What the server's properties have besides who it is."""

    def __init__(self, transport: Accepted, program: Program, patience: Patience) -> None:
        super().__init__(transport, program, patience)
        self.tune = amqp.spec.ConnectionTune(2047, 131_072, 0)
        """The server's proposal."""
        self.tuned: amqp.spec.ConnectionTuneOk | None = None
        """The values that the client agreed on; None before that."""
        self.start_ok: amqp.spec.ConnectionStartOk | None = None
        self.ticket = TICKET
        """The ticket of each access, in 0-8."""
        self.published: dict[int, int] = {}
        """Messages that came on each channel with confirms."""
        self._tag = 0
        self._closing: set[int] = set()
        """Channels that the server closes, until the client's channel.close-ok."""
        self._answers: Mapping[str, Callable[[Observed], None]] = {
            "connection.start-ok": self._logs_in,
            "connection.tune-ok": self._tunes,
            "queue.declare": self._declares,
            "basic.consume": self._consumes,
            "basic.cancel": self._cancels,
            "basic.get": self._gets,
            "confirm.select": self._confirms,
            "basic.publish": self._publishes,
            "access.request": self._gives_access,
        }

    # Octets.

    def say(self, channel: int, *methods: amqp.spec.Method) -> None:
        """Send methods. Behind channel.close nothing on the channel is answered but by its channel.close-ok."""
        if any(each.NAME == "channel.close" for each in methods):
            self._closing.add(channel)
        self.send(b"".join([method_frame(channel, each) for each in methods]))

    def content(
        self,
        channel: int,
        method: amqp.spec.Method,
        body: bytes,
        properties: amqp.BasicProperties | None = None,
        *,
        pieces: int = 1,
    ) -> bytes:
        """Return the octets of a method with a message, its body cut into frames."""
        size = max(-(-len(body) // pieces), 1)
        parts = [frame(BODY, channel, body[at : at + size]) for at in range(0, len(body), size)]
        return method_frame(channel, method) + header_frame(channel, len(body), properties) + b"".join(parts)

    def deliver(
        self,
        consumer: tuple[int, str],
        body: bytes,
        properties: amqp.BasicProperties | None = None,
        *,
        redelivered: bool = False,
        pieces: int = 1,
    ) -> int:
        """Deliver a message to a consumer; return its delivery-tag."""
        self._tag += 1
        method = self.RECORDS.BasicDeliver(consumer[1], self._tag, redelivered, "", QUEUE)
        self.send(self.content(consumer[0], method, body, properties, pieces=pieces))
        return self._tag

    def heartbeat(self) -> None:
        """Send a heartbeat."""
        self.send(frame(HEARTBEAT, 0, b""))

    def beat_until(self, done: Callable[[], bool], seconds: float) -> None:
        """Serve the client until something is so, for at most so long, with a heartbeat each second."""
        at = self.transport.now()
        beats: list[int] = []

        def look() -> bool:
            if self.transport.now() - at > len(beats):
                beats.append(0)
                self.heartbeat()
            return self.has_ended or done()

        self.until(look, seconds)

    # Answers.

    def answer(self, unit: Observed) -> None:
        content: Any = unit.content
        if isinstance(content, bytes):
            self._greet(unit)
        elif unit.channel in self._closing:
            self._goes_on_closing(unit)
        elif unit.event in _PLAIN_REPLIES:
            if not getattr(content, "no_wait", False):
                self.say(unit.channel, self._reply(unit.event))
            if unit.event == "connection.close":
                self.asked_for_the_end = True
        elif (special := self._answers.get(unit.event)) is not None:
            special(unit)

    def _goes_on_closing(self, unit: Observed) -> None:
        if unit.event == "channel.close-ok":
            self._closing.discard(unit.channel)
        elif unit.event == "channel.close":
            self.say(unit.channel, self._reply("channel.close"))

    def _greet(self, unit: Observed) -> None:
        if unit.event != "protocol-header":
            return
        if unit.content not in self.HEADERS:
            self.send(self.HEADERS[0])
            raise Surprise(f"the client begins with {bytes(unit.content)!r}")
        self.send_start()

    def _reply(self, name: str) -> amqp.spec.Method:
        words = "".join([part.capitalize() for part in name.replace("-", ".").split(".")])
        method: amqp.spec.Method = getattr(self.RECORDS, f"{words}Ok")()
        return method

    def send_start(self, mechanisms: bytes = b"PLAIN AMQPLAIN", version: tuple[int, int] | None = None) -> None:
        """Send connection.start, with its own version if no other is given."""
        major, minor = version or self.NUMBERS
        about = {
            "product": "amqp-sansio probe",
            "version": "0",
            "platform": "probe",
            "copyright": "",
            "information": "",
            **self.EXTENSIONS,
        }
        self.say(0, self.RECORDS.ConnectionStart(major, minor, amqp.Table(about), mechanisms, b"en_US"))

    def _logs_in(self, unit: Observed) -> None:
        self.start_ok = unit.content
        self.say(0, self.tune)

    def _tunes(self, unit: Observed) -> None:
        self.tuned = unit.content

    def _declares(self, unit: Observed) -> None:
        if not unit.content.no_wait:
            self.say(unit.channel, self.RECORDS.QueueDeclareOk(unit.content.queue or _GENERATED, 0, 0))

    def _consumes(self, unit: Observed) -> None:
        if not unit.content.no_wait:
            self.say(unit.channel, self.RECORDS.BasicConsumeOk(unit.content.consumer_tag or "probe-1"))

    def _cancels(self, unit: Observed) -> None:
        if not unit.content.no_wait:
            self.say(unit.channel, self.RECORDS.BasicCancelOk(unit.content.consumer_tag))

    def _gets(self, unit: Observed) -> None:
        self.say(unit.channel, self.RECORDS.BasicGetEmpty())

    def _confirms(self, unit: Observed) -> None:
        self.published[unit.channel] = 0
        if not unit.content.no_wait:
            self.say(unit.channel, amqp.spec.ConfirmSelectOk())

    def _publishes(self, unit: Observed) -> None:
        if unit.channel in self.published:
            self.published[unit.channel] += 1
            self.say(unit.channel, amqp.spec.BasicAck(self.published[unit.channel]))

    def _gives_access(self, unit: Observed) -> None:
        self.say(unit.channel, amqp_0_8.spec.AccessRequestOk(self.ticket))

    def product(self) -> tuple[str, str]:
        if self.start_ok is None:
            return "", ""
        given = self.start_ok.client_properties
        return str(given.get("product", "")), str(given.get("version", ""))

    def answer_request(self) -> str:
        """Answer the client's request, behind an answer that is another's; return the queue for it. Raises Surprise."""
        request = self.take("basic.publish")
        properties = request.properties or amqp.BasicProperties()
        consumed = [each for each in self.seen if each.event == "basic.consume"]
        if not properties.reply_to or not consumed:
            raise Surprise(f"reply-to {properties.reply_to!r}, consumers: {len(consumed)}")
        consumer = (consumed[-1].channel, consumed[-1].content.consumer_tag or "probe-1")
        self.deliver(consumer, b"of another", amqp.BasicProperties(correlation_id="another"))
        self.deliver(consumer, b"answer", amqp.BasicProperties(correlation_id=properties.correlation_id))
        return str(properties.reply_to)

    # Steps of cases.

    def consumer(self) -> tuple[int, str]:
        """Serve the client until it consumes; return its channel and consumer-tag. Raises Surprise."""
        unit = self.take("basic.consume")
        return unit.channel, unit.content.consumer_tag or "probe-1"

    def deliver_one(self) -> None:
        self.deliver(self.consumer(), b"m")

    def say_close(self, code: int, text: str) -> None:
        self.say(0, self.RECORDS.ConnectionClose(code, text))

    # Judgements.

    def frames(self) -> list[tuple[int, int, int]]:
        """Return type, channel and whole size of each frame that the client sent."""
        octets = self.said
        found: list[tuple[int, int, int]] = []
        at = 8
        while at + 7 <= len(octets):
            kind, channel, size = struct.unpack_from(">BHI", octets, at)
            found.append((kind, channel, size + 8))
            at += size + 8
        return found


class ClassicHost08(ClassicHost):
    """Answers each method of 0-8 with its reply; every access gets the same ticket."""

    # The second is py-amqplib's, which brokers of 0-8 take as the first.
    HEADERS: ClassVar[tuple[bytes, ...]] = (b"AMQP\x01\x01\x08\x00", b"AMQP\x01\x01\x09\x01")
    NUMBERS: ClassVar[tuple[int, int]] = (8, 0)
    RECORDS: ClassVar[ModuleType] = amqp_0_8.spec
    EXTENSIONS: ClassVar[Mapping[str, FieldValue]] = {}
