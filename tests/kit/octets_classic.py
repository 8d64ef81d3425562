"""Octets of 0-8 and 0-9-1: frames, right or wrong, and what an endpoint sent, taken apart."""

from struct import Struct
from typing import Any

from amqp_sansio._classic.codec.dialect import Dialect

METHOD, HEADER, BODY, TRACE, HEARTBEAT = 1, 2, 3, 7, 8

_FRAME = Struct(">BHI")
_CONTENT = Struct(">HHQ")


def frame(kind: int, channel: int, payload: bytes = b"", end: int = 0xCE) -> bytes:
    """Any frame, right or wrong."""
    return _FRAME.pack(kind, channel, len(payload)) + payload + bytes((end,))


def header(channel: int, class_id: int, size: int, properties: bytes = b"\0\0", weight: int = 0) -> bytes:
    """A content header frame."""
    return frame(HEADER, channel, _CONTENT.pack(class_id, weight, size) + properties)


def body(channel: int, octets: bytes) -> bytes:
    return frame(BODY, channel, octets)


class Sent:
    """One frame that the endpoint sent: `method` is set for method frames, `payload` always."""

    def __init__(self, dialect: Dialect, kind: int, channel: int, payload: bytes) -> None:
        self.kind = kind
        self.channel = channel
        self.payload = payload
        self.method: Any = dialect.decode_method(payload) if kind == METHOD else None

    @property
    def name(self) -> str:
        """The method's name, or what kind of frame it is."""
        if self.method is not None:
            return str(self.method.NAME)
        return {HEADER: "header", BODY: "body", HEARTBEAT: "heartbeat"}[self.kind]


def frames_of(dialect: Dialect, octets: bytes) -> list[Sent]:
    """The frames in `octets`, which must be whole."""
    found: list[Sent] = []
    while octets:
        kind, channel, size = _FRAME.unpack_from(octets)
        assert octets[7 + size] == 0xCE
        found.append(Sent(dialect, kind, channel, octets[7 : 7 + size]))
        octets = octets[8 + size :]
    return found


def read_close(sent: Sent) -> int:
    """The code of a connection.close, which says why."""
    assert (sent.name, sent.channel) == ("connection.close", 0)
    assert sent.method.reply_text
    code: int = sent.method.reply_code
    return code
