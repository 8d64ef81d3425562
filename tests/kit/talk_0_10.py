"""Conversations of 0-10 under observation, written as records: what each side sends, and what the lifecycle says."""

from typing import Any, Self

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.frames import BODY, COMMAND, CONTROL, HEADER, PROTOCOL_HEADER, encode_assembly
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.observer import Skipped, Violation
from tests.kit.observing import Conversation


def frames(record: spec.Control | spec.Command[Any], channel: int = 0, *, sync: bool = False) -> bytes:
    """The frame of a control, or of a command without a message."""
    if isinstance(record, spec.Control):
        return encode_assembly(channel, [(CONTROL, record.encode_assembly())])
    return encode_assembly(channel, [(COMMAND, record.encode_segment(sync=sync))])


def transfer(
    destination: str = "",
    body: bytes | None = b"",
    *structs: spec.Struct,
    channel: int = 0,
    largest: int = 65_535,
    **fields: Any,
) -> bytes:
    """The frames of a message.transfer with its message; without structs it has a routing key."""
    structs = structs or (amqp.DeliveryProperties(routing_key="key"), amqp.MessageProperties())
    return content(spec.MessageTransfer(destination, **fields), body, *structs, channel=channel, largest=largest)


def stage(body: bytes | None = b"", **fields: Any) -> bytes:
    """The frames of a file.stage; `fields` are those of the file's properties."""
    return content(spec.FileStage(), body, spec.FileProperties(**fields))


def content(
    command: spec.Command[Any], body: bytes | None, *structs: spec.Struct, channel: int = 0, largest: int = 65_535
) -> bytes:
    """The frames of a command with its message."""
    segments = [(COMMAND, command.encode_segment()), (HEADER, encode_headers(structs))]
    if body is not None:
        segments.append((BODY, body))
    return encode_assembly(channel, segments, largest)


def completed(*ids: int) -> spec.SessionCompleted:
    """session.completed of some ids."""
    return spec.SessionCompleted(amqp.SequenceSet.of(*ids))


class Talk010(Conversation):
    """A conversation of 0-10, written as controls and commands."""

    def octets(self, what: spec.Control | spec.Command[Any] | bytes, channel: int = 0) -> bytes:
        """The frame of a control or command, or the octets themselves."""
        return what if isinstance(what, bytes) else frames(what, channel)

    # What happens in most conversations.

    def headers(self) -> Self:
        """Both protocol headers."""
        return self.client(PROTOCOL_HEADER).server(PROTOCOL_HEADER)

    def open(self, **tuned: Any) -> Self:
        """Everything up to connection.open-ok; `tuned` are the fields of connection.tune-ok."""
        self.headers().server(spec.ConnectionStart({"product": "X"}, ["PLAIN"], ["en_US"]))
        self.client(spec.ConnectionStartOk({"product": "Y"}, "PLAIN", b"\0ann\0pw", "en_US"))
        self.server(spec.ConnectionTune(16, 65_535, 0, 60))
        self.client(spec.ConnectionTuneOk(**{"channel_max": 16, **tuned}), spec.ConnectionOpen("/"))
        return self.server(spec.ConnectionOpenOk())

    def session(self, channel: int = 0, name: bytes = b"s", *, number: int = 0) -> Self:
        """A session that both sides have attached, whose first commands have the id `number`."""
        point = spec.SessionCommandPoint(number, 0)
        self.client(spec.SessionAttach(name), point, channel=channel)
        return self.server(spec.SessionAttached(name), point, channel=channel)

    def subscribe(self, destination: str = "d", queue: str = "q", accept_mode: int = 0) -> Self:
        """The client subscribes; this is a command."""
        return self.client(spec.MessageSubscribe(queue, destination, accept_mode, 0))

    # What came of it.

    @property
    def rules(self) -> list[str]:
        """The broken rules, without the version."""
        return [event.rule.removeprefix("0-10/") for event in self.events if isinstance(event, Violation)]

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Octets and reason of what became no unit."""
        return [(event.octets, event.reason) for event in self.events if isinstance(event, Skipped)]
