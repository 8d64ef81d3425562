"""Facing: one real endpoint of AMQP 1.0 that faces a peer whose octets the test makes up."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from amqp_sansio import By, Closed, CloseHint, Failed, RemoteProtocolError, Scope
from amqp_sansio._core.sasl_exchange import configured_mechanisms
from amqp_sansio.amqp_1_0 import Close, Composite, Open, SaslMechanisms, Symbol, decode_frame_body
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.endpoint import Side
from tests.kit.facing import BOTH_SIDES, CLIENT, SERVER, Faced
from tests.kit.pair_1_0 import Application, connection_of

if TYPE_CHECKING:
    from typing import Self

AMQP_HEADER = b"AMQP\x00\x01\x00\x00"
TLS_HEADER = b"AMQP\x02\x01\x00\x00"
SASL_HEADER = b"AMQP\x03\x01\x00\x00"
EMPTY = b"\x00\x00\x00\x08\x02\x00\x00\x00"

_FRAME = Struct(">IBBH")


def octets_of(
    body: Composite | bytes = b"",
    channel: int = 0,
    payload: bytes = b"",
    *,
    kind: int = 0,
    doff: int = 2,
    size: int | None = None,
    extended: bytes = b"",
) -> bytes:
    """A frame, right or wrong."""
    octets = extended + (body if isinstance(body, bytes) else body.encode()) + payload
    return _FRAME.pack(8 + len(octets) if size is None else size, doff, kind, channel) + octets


def sasl(body: Composite | bytes) -> bytes:
    return octets_of(body, kind=1)


def their_open(**changes: Any) -> Open:
    """An open as the made-up peer sends it."""
    values: dict[str, Any] = {"container_id": "peer", **changes}
    return Open(**values)


class Sent:
    """What the endpoint sent: a protocol header, or a frame with its record (None: empty) and payload."""

    def __init__(self, header: bytes, kind: int, channel: int, body: Any, payload: bytes, size: int) -> None:
        self.header = header
        self.kind = kind
        self.channel = channel
        self.body = body
        self.payload = payload
        self.size = size

    @property
    def name(self) -> str:
        """The performative's name, "empty", or the header's protocol id."""
        if self.header:
            return f"header {self.header[4]}"
        return "empty" if self.body is None else str(self.body.NAME)


def parse(octets: bytes) -> list[Sent]:
    """The headers and frames in `octets`, which must be whole."""
    found: list[Sent] = []
    while octets:
        if octets[:4] == b"AMQP":
            found.append(Sent(octets[:8], 0, 0, None, b"", 8))
            octets = octets[8:]
            continue
        size, doff, kind, channel = _FRAME.unpack_from(octets)
        assert doff == 2
        assert size <= len(octets)
        body, at = (None, 8) if size == 8 else decode_frame_body(octets, 8, size)
        found.append(Sent(b"", kind, channel, body, octets[at:size], size))
        octets = octets[size:]
    return found


class Facing(Faced[Connection]):
    """An endpoint of 1.0."""

    def __init__(self, side: Side, config: Config | None = None, *, application: Application | None = None) -> None:
        """An endpoint whose peer has sent nothing yet."""
        super().__init__(side, connection_of(side, config), application)

    @classmethod
    def opened(cls, side: Side, config: Config | None = None, peer: Open | None = None) -> Self:
        """An endpoint of an open connection without SASL; `peer` is the open that it got."""
        facing = cls(side, config)
        facing.feed(AMQP_HEADER + octets_of(peer or their_open()))
        if side is SERVER:
            facing.end.accept_open()
            facing.settle()
        assert facing.end.is_open, facing.events
        return facing.forget()

    @classmethod
    def in_sasl(cls, side: Side, config: Config) -> Facing:
        """An endpoint in the SASL layer; a client has got the mechanisms that it knows itself."""
        facing = cls(side, config)
        facing.feed(SASL_HEADER)
        if side is CLIENT:
            names = tuple([Symbol(each.name) for each in configured_mechanisms(config)])
            facing.feed(sasl(SaslMechanisms(names)))
        return facing

    def sent(self) -> list[Sent]:
        """The headers and frames written since `forget`."""
        return parse(self.out)

    def closes(self, condition: str, rule: str) -> RemoteProtocolError:
        """Check that the endpoint found a fault, told it with a close, and ends at the peer's close."""
        (failed,) = self.of(Failed)
        error = failed.error
        assert isinstance(error, RemoteProtocolError)
        assert (failed.by, failed.scope) == (By.LOCAL, Scope.CONNECTION)
        assert (error.condition, error.rule) == (condition, f"1.0/{rule}"), error
        close = self.sent()[-1]
        assert (close.name, close.channel) == ("close", 0)
        assert close.body.error.condition == condition
        assert close.body.error.description
        assert self.hint() is CloseHint.KEEP
        assert not self.end.is_open
        self.forget()
        self.feed(octets_of(Close()))
        closed = self.of(Closed)[-1]
        assert closed.scope is Scope.CONNECTION
        assert (closed.report.by, closed.report.condition) == (By.LOCAL, condition)
        assert self.hint() is CloseHint.CLOSE_WHEN_SENT
        assert self.out == b""
        return error

    def ends(self, rule: str) -> RemoteProtocolError:
        """Check that the endpoint found a fault before any frame could say so, and wants the transport closed."""
        (failed,) = self.of(Failed)
        error = failed.error
        assert isinstance(error, RemoteProtocolError)
        assert error.rule == f"1.0/{rule}", error
        assert isinstance(self.events[-1], Closed)
        assert self.end.close_hint is CloseHint.CLOSE_WHEN_SENT
        return error


__all__ = [
    "AMQP_HEADER", "BOTH_SIDES", "CLIENT", "EMPTY", "SASL_HEADER", "SERVER", "TLS_HEADER", "Facing", "Sent",
    "octets_of", "parse", "sasl", "their_open",
]  # fmt: skip
