"""A server of 0-10 for clients under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from amqp_sansio import Observed
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.record import encode_headers

from .host import MethodHost, Patience
from .listening import Accepted
from .programs import QUEUE, Program
from .talk_0_10 import BODY, COMMAND, HEADER, HEADERS, assembly, frame
from .verdicts import Surprise

SMALLEST: Final = 4096
"""Octets of a frame that every peer takes."""


class Host_0_10(MethodHost):
    """Answers each control, completes each command, and accepts what is published."""

    PUBLISH = "message.transfer"

    def __init__(self, transport: Accepted, program: Program, patience: Patience) -> None:
        super().__init__(transport, program, patience)
        self.mechanisms: tuple[str, ...] = ("PLAIN", "ANONYMOUS")
        self.tune = spec.ConnectionTune(255, 65_535, 0, 0)
        """The server's proposal."""
        self.tuned: spec.ConnectionTuneOk | None = None
        """The values that the client agreed on; None before that."""
        self.start_ok: spec.ConnectionStartOk | None = None
        self.sessions: dict[int, bytes] = {}
        """The names of the attached sessions, by channel."""
        self.credit: dict[tuple[int, str], set[int]] = {}
        """The units, messages (0) and octets (1), in which a subscription has credit, by channel and destination."""
        self._outgoing: dict[int, int] = {}
        """The id of the server's next command, by channel."""
        self._done: dict[int, list[tuple[int, int]]] = {}
        """The ids of the client's commands that are completed, by channel."""
        self._answers: Mapping[str, Callable[[Observed], None]] = {
            "connection.start-ok": self._logs_in,
            "connection.tune-ok": self._tunes,
            "connection.open": lambda unit: self.say(0, spec.ConnectionOpenOk()),
            "connection.close": self._closes,
            "session.attach": self._attaches,
            "session.detach": self._detaches,
            "session.request-timeout": lambda unit: self.say(unit.channel, spec.SessionTimeout(unit.content.timeout)),
            "session.flush": self._flushes,
            "session.completed": self._is_told_of_completions,
        }

    # Octets.

    def say(self, channel: int, *controls: spec.Control) -> None:
        """Send controls."""
        self.send(b"".join([frame(each.encode_assembly(), channel=channel) for each in controls]))

    def command(
        self,
        channel: int,
        command: spec.Command[Any],
        headers: Sequence[spec.Struct] = (),
        body: bytes = b"",
        *,
        sync: bool = False,
        largest: int = SMALLEST,
    ) -> int:
        """Send a command with its content, in frames of at most so many octets; return its id."""
        segments = [(COMMAND, command.encode_segment(sync=sync))]
        if headers:
            segments.append((HEADERS, encode_headers(tuple(headers))))
        if body:
            segments.append((BODY, body))
        number = self._outgoing.get(channel)
        if number is None:
            raise Surprise(f"the client has no session on channel {channel}: {self.described()}")
        self._outgoing[channel] = number + 1
        self.send(assembly(segments, channel, largest))
        return number

    def deliver(
        self,
        consumer: tuple[int, str],
        body: bytes,
        about: amqp.MessageProperties | None = None,
        *,
        redelivered: bool = False,
        sync: bool = False,
        turned: bool = False,
        largest: int = SMALLEST,
    ) -> int:
        """Send a message to a subscription; return its id. `turned`: its properties come in the other order."""
        delivery = amqp.DeliveryProperties(redelivered=redelivered, exchange="", routing_key=QUEUE)
        headers: list[spec.Struct] = [delivery, about or amqp.MessageProperties(content_length=len(body))]
        if turned:
            headers.reverse()
        transfer = spec.MessageTransfer(consumer[1], 0, 0)
        return self.command(consumer[0], transfer, headers, body, sync=sync, largest=largest)

    # Answers.

    def answer(self, unit: Observed) -> None:
        if isinstance(unit.content, bytes):
            self._greet(unit)
        elif isinstance(unit.content, spec.Command):
            self._does(unit)
        elif (answer := self._answers.get(unit.event)) is not None:
            answer(unit)

    def _greet(self, unit: Observed) -> None:
        if unit.event != "protocol-header":
            return
        self.send(HEADER)
        if unit.content != HEADER:
            raise Surprise(f"the client begins with {bytes(unit.content)!r}")
        about = {"product": "amqp-sansio probe", "version": "0", "platform": "probe"}
        self.say(0, spec.ConnectionStart(about, self.mechanisms, ("en_US",)))

    def _logs_in(self, unit: Observed) -> None:
        self.start_ok = unit.content
        self.say(0, self.tune)

    def _tunes(self, unit: Observed) -> None:
        self.tuned = unit.content

    def _closes(self, unit: Observed) -> None:
        self.asked_for_the_end = True
        self.say(0, spec.ConnectionCloseOk())

    def _attaches(self, unit: Observed) -> None:
        self.sessions[unit.channel] = unit.content.name
        self._outgoing[unit.channel] = 0
        self._done[unit.channel] = []
        self.say(unit.channel, spec.SessionAttached(unit.content.name), spec.SessionCommandPoint(0, 0))

    def _detaches(self, unit: Observed) -> None:
        self.sessions.pop(unit.channel, None)
        self.say(unit.channel, spec.SessionDetached(unit.content.name, 0))

    def _flushes(self, unit: Observed) -> None:
        done = self._done.get(unit.channel, [])
        if unit.content.completed:
            self.say(unit.channel, spec.SessionCompleted(amqp.SequenceSet(done)))
        if unit.content.confirmed:
            self.say(unit.channel, spec.SessionConfirmed(amqp.SequenceSet(done)))
        if unit.content.expected:
            # Of a new session nothing is expected.
            following = done[-1][1] + 1 if done else 0
            self.say(unit.channel, spec.SessionExpected(amqp.SequenceSet([(following, following)] if done else [])))

    def _is_told_of_completions(self, unit: Observed) -> None:
        if unit.content.timely_reply:
            self.say(unit.channel, spec.SessionKnownCompleted(unit.content.commands))

    def _does(self, unit: Observed) -> None:
        """Complete a command, with its result if it has one; accept a message."""
        channel = unit.channel
        if channel not in self.sessions or not isinstance(unit, amqp.ObservedCommand):
            return
        number = unit.command_id
        if number is None:
            return
        done = self._done[channel]
        begin = done.pop()[0] if done and done[-1][1] + 1 == number else number
        done.append((begin, number))
        command = unit.content
        if isinstance(command, spec.MessageFlow):
            self.credit.setdefault((channel, command.destination or ""), set()).add(command.unit or 0)
        result = _RESULTS.get(unit.event)
        if result is not None:
            self.command(channel, spec.ExecutionResult(number, result))
        if isinstance(command, spec.MessageTransfer) and not command.accept_mode:
            self.command(channel, spec.MessageAccept(amqp.SequenceSet([(number, number)])))
        self.say(channel, spec.SessionCompleted(amqp.SequenceSet(done)))

    def product(self) -> tuple[str, str]:
        given = None if self.start_ok is None else self.start_ok.client_properties
        return str((given or {}).get("product", "")), str((given or {}).get("version", ""))

    def answer_request(self) -> str:
        """Answer the client's request, behind an answer that is another's; return the queue for it. Raises Surprise."""
        request = self.take("message.transfer")
        about: amqp.MessageProperties | None = None
        if isinstance(request.properties, amqp.Headers):
            about = request.properties.message_properties
        reply_to = None if about is None else about.reply_to
        consumed = [each for each in self.seen if each.event == "message.subscribe"]
        if about is None or reply_to is None or not consumed:
            raise Surprise(f"reply-to {reply_to!r}, subscriptions: {len(consumed)}")
        consumer = self._with_credit(consumed[-1])
        self.deliver(consumer, b"of another", amqp.MessageProperties(correlation_id=b"another"))
        self.deliver(consumer, b"answer", amqp.MessageProperties(correlation_id=about.correlation_id))
        return reply_to.routing_key or ""

    # Steps of cases.

    def consumer(self) -> tuple[int, str]:
        """Serve the client until it subscribes and gives credit; return channel and destination. Raises Surprise."""
        return self._with_credit(self.take("message.subscribe"))

    def _with_credit(self, subscribed: Observed) -> tuple[int, str]:
        consumer = (subscribed.channel, str(subscribed.content.destination or ""))
        if not self.until(lambda: self.credit.get(consumer, set()) == {0, 1} or self.has_ended) or self.has_ended:
            raise Surprise(f"no credit: {self.described()}")
        return consumer

    def deliver_one(self) -> None:
        self.deliver(self.consumer(), b"m")

    def say_close(self, code: int, text: str) -> None:
        self.say(0, spec.ConnectionClose(code, text))

    def fail(self, channel: int, code: int, text: str) -> Observed | None:
        """End a session by an exception; return the client's session.detached, None if it doesn't come."""
        name = self.sessions.pop(channel, None)
        if name is None:
            raise Surprise(f"the client's session on channel {channel} is over: {self.described()}")
        self.command(channel, spec.ExecutionException(code, 0, description=text))
        self.say(channel, spec.SessionDetach(name))
        return self.wait("session.detached")

    # Judgements.

    def frames(self) -> list[bytes]:
        """Return the frames that the client sent."""
        octets = self.said[8:]
        found: list[bytes] = []
        while len(octets) >= 12:
            size = max(int.from_bytes(octets[2:4]), 12)
            found.append(octets[:size])
            octets = octets[size:]
        return found


_RESULTS: Final[Mapping[str, spec.Struct]] = {
    "queue.query": spec.QueueQueryResult(QUEUE, message_count=0, subscriber_count=0),
    "exchange.query": spec.ExchangeQueryResult("direct"),
    "exchange.bound": spec.ExchangeBoundResult(),
}
"""The results of commands that have one."""
