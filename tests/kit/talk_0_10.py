"""Conversations of 0-10 under observation, written as records: what each side sends, and what the lifecycle says."""

from __future__ import annotations

from typing import Any, Self

from amqp_sansio import Limits
from amqp_sansio.amqp_0_10 import (
    Command,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
    Control,
    DeliveryProperties,
    FileProperties,
    FileStage,
    MessageProperties,
    MessageSubscribe,
    MessageTransfer,
    SequenceSet,
    SessionAttach,
    SessionAttached,
    SessionCommandPoint,
    SessionCompleted,
    Struct,
    encode_headers,
)
from amqp_sansio.amqp_0_10.codec.frames import (
    BODY,
    COMMAND,
    CONTROL,
    HEADER,
    PROTOCOL_HEADER,
    encode_assembly,
)
from amqp_sansio.lifecycle import Lifecycle, MessageRecord
from amqp_sansio.observer import Observed, Observer, ObserverEvent, Skipped, Violation
from tests.kit.observing import CLIENT, SERVER, Arrival, take

SECOND = 1_000_000_000


def frames(record: Control | Command[Any], channel: int = 0, *, sync: bool = False) -> bytes:
    """The frame of a control, or of a command without a message."""
    if isinstance(record, Control):
        return encode_assembly(channel, [(CONTROL, record.encode_assembly())])
    return encode_assembly(channel, [(COMMAND, record.encode_segment(sync=sync))])


def transfer(
    destination: str = "",
    body: bytes | None = b"",
    *structs: Struct,
    channel: int = 0,
    largest: int = 65_535,
    **fields: Any,
) -> bytes:
    """The frames of a message.transfer with its message; without structs it has a routing key."""
    structs = structs or (DeliveryProperties(routing_key="key"), MessageProperties())
    return content(MessageTransfer(destination, **fields), body, *structs, channel=channel, largest=largest)


def stage(body: bytes | None = b"", **fields: Any) -> bytes:
    """The frames of a file.stage; `fields` are those of the file's properties."""
    return content(FileStage(), body, FileProperties(**fields))


def content(
    command: Command[Any], body: bytes | None, *structs: Struct, channel: int = 0, largest: int = 65_535
) -> bytes:
    """The frames of a command with its message."""
    segments = [(COMMAND, command.encode_segment()), (HEADER, encode_headers(structs))]
    if body is not None:
        segments.append((BODY, body))
    return encode_assembly(channel, segments, largest)


def completed(*ids: int) -> SessionCompleted:
    """session.completed of some ids."""
    return SessionCompleted(SequenceSet.of(*ids))


class Talk010:
    """A conversation of 0-10. Each `client` or `server` call is one arrival, one second after the last.

    `late` tells the observer nothing beforehand. `messages` are the records of those whose outcome is known, in the
    order in which they came out.
    """

    def __init__(self, *, late: bool = False, body: str = "keep", limits: Limits | None = None) -> None:
        self.observer = Observer(client=None if late else CLIENT, body=body, limits=limits)
        self.lifecycle = Lifecycle(limits)
        self.events: list[ObserverEvent] = []
        self.messages: list[MessageRecord] = []
        self.arrivals: list[Arrival] = []
        self.now = 0

    def client(self, *what: Control | Command[Any] | bytes, channel: int = 0) -> Self:
        """The client sends controls and commands on a channel, or octets."""
        return self.send(CLIENT, _octets(what, channel))

    def server(self, *what: Control | Command[Any] | bytes, channel: int = 0) -> Self:
        """The server sends controls and commands on a channel, or octets."""
        return self.send(SERVER, _octets(what, channel))

    def send(self, sender: str, octets: bytes) -> Self:
        """Octets arrive."""
        self.arrivals.append((sender, octets))
        self.now += SECOND
        self.observer.receive_data(octets, sender, self.now)
        return self._take()

    def gap(self, sender: str, octets: int) -> Self:
        """Octets are missing."""
        self.arrivals.append((sender, octets))
        self.now += SECOND
        self.observer.receive_gap(sender, octets, self.now)
        return self._take()

    def finish(self) -> Self:
        """The conversation is over."""
        self.now += SECOND
        self.observer.finish(self.now)
        self._take()
        self.messages += self.lifecycle.finish()
        return self

    def _take(self) -> Self:
        for event in take(self.observer):
            self.events.append(event)
            self.messages += self.lifecycle.observe(event)
        return self

    # What happens in most conversations.

    def headers(self) -> Self:
        """Both protocol headers."""
        return self.client(PROTOCOL_HEADER).server(PROTOCOL_HEADER)

    def open(self, **tuned: Any) -> Self:
        """Everything up to connection.open-ok; `tuned` are the fields of connection.tune-ok."""
        self.headers().server(ConnectionStart({"product": "X"}, ["PLAIN"], ["en_US"]))
        self.client(ConnectionStartOk({"product": "Y"}, "PLAIN", b"\0ann\0pw", "en_US"))
        self.server(ConnectionTune(16, 65_535, 0, 60))
        self.client(ConnectionTuneOk(**{"channel_max": 16, **tuned}), ConnectionOpen("/"))
        return self.server(ConnectionOpenOk())

    def session(self, channel: int = 0, name: bytes = b"s", *, number: int = 0) -> Self:
        """A session that both sides have attached, whose first commands have the id `number`."""
        point = SessionCommandPoint(number, 0)
        self.client(SessionAttach(name), point, channel=channel)
        return self.server(SessionAttached(name), point, channel=channel)

    def subscribe(self, destination: str = "d", queue: str = "q", accept_mode: int = 0) -> Self:
        """The client subscribes; this is a command."""
        return self.client(MessageSubscribe(queue, destination, accept_mode, 0))

    # What came of it.

    @property
    def observed(self) -> list[Observed]:
        """The units."""
        return [event for event in self.events if isinstance(event, Observed)]

    @property
    def rules(self) -> list[str]:
        """The broken rules, without the version."""
        return [event.rule.removeprefix("0-10/") for event in self.events if isinstance(event, Violation)]

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Octets and reason of what became no unit."""
        return [(event.octets, event.reason) for event in self.events if isinstance(event, Skipped)]

    def outcomes(self) -> list[tuple[str, int | None, str | None]]:
        """Kind, tag and outcome of each message that is done, in the order of their units."""
        done = sorted(self.messages, key=lambda message: message.seq)
        return [(message.kind, message.tag, message.outcome) for message in done]


def _octets(what: tuple[Control | Command[Any] | bytes, ...], channel: int) -> bytes:
    return b"".join([each if isinstance(each, bytes) else frames(each, channel) for each in what])
