"""Octets of 1.0: frames, right or wrong, and what an endpoint sent, taken apart."""

from struct import Struct
from typing import Any

from amqp_sansio.amqp_1_0.codec.composite import decode_frame_body
from amqp_sansio.amqp_1_0.codec.odd import OddRecord
from amqp_sansio.amqp_1_0.spec import Close, Composite, Open

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


def _body(octets: bytes, size: int) -> tuple[Any, int]:
    """The body of the first frame, odd fields and all."""
    try:
        return decode_frame_body(octets, 8, size)
    except OddRecord as odd:
        return odd.record, odd.stop


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
        body, at = (None, 8) if size == 8 else _body(octets, size)
        found.append(Sent(b"", kind, channel, body, octets[at:size], size))
        octets = octets[size:]
    return found


def read_close(sent: Sent) -> str:
    """The condition of a close, which says why."""
    assert (sent.name, sent.channel) == ("close", 0)
    assert sent.body.error.description
    return str(sent.body.error.condition)


CLOSE_OK = octets_of(Close())
