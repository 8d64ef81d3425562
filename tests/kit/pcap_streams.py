"""Frames of 0-8 and 0-9-1 out of captures: reassembled streams, cut by a walker of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from amqp_sansio._classic.codec.dialect import Dialect, get_dialect
from amqp_sansio.capture import StreamData, StreamGap, read_segments, reassemble, sort_key

METHOD = 1
HEADER = 2

_HEADERS = {b"AMQP\x01\x01\x08\x00": "0-8", b"AMQP\x01\x01\x09\x01": "0-8", b"AMQP\x00\x00\x09\x01": "0-9-1"}


class Frame(NamedTuple):
    """One whole frame of one direction of a connection."""

    dialect: Dialect
    kind: int
    channel: int
    payload: bytes


def frames(path: Path) -> Iterator[Frame]:
    """The method and content header frames of a capture, of both directions of each connection.

    A connection counts when a client's protocol header was captured. A direction ends at the first
    gap and at the first frame that isn't one: half of a frame, or octets that were made wrong on
    purpose.
    """
    broker = "qpid" if "brokerj" in path.name else "rabbit"
    segments = sorted(read_segments([path.read_bytes()]), key=sort_key)  # type: ignore[arg-type]
    streams: dict[tuple[str, str], bytearray] = {}
    broken: set[tuple[str, str]] = set()
    for item in reassemble(segments):  # type: ignore[arg-type]
        if isinstance(item, (StreamData, StreamGap)):
            key = (item.connection, item.sender)
            if isinstance(item, StreamGap):
                broken.add(key)
            elif key not in broken:
                streams.setdefault(key, bytearray()).extend(item.data)
    versions = {
        connection: _HEADERS[bytes(data[:8])]
        for (connection, _), data in streams.items()
        if bytes(data[:8]) in _HEADERS
    }
    for (connection, _), data in streams.items():
        if connection in versions:
            dialect = get_dialect(f"{versions[connection]}-{broker}")
            yield from _walk(dialect, bytes(data))


def _walk(dialect: Dialect, data: bytes) -> Iterator[Frame]:
    pos = 8 if data[:4] == b"AMQP" else 0
    while pos + 8 <= len(data):
        size = int.from_bytes(data[pos + 3 : pos + 7], "big")
        end = pos + 7 + size
        if data[pos] not in (1, 2, 3, 8) or end >= len(data) or data[end] != 0xCE:
            return
        if data[pos] in (METHOD, HEADER):
            channel = int.from_bytes(data[pos + 1 : pos + 3], "big")
            yield Frame(dialect, data[pos], channel, data[pos + 7 : end])
        pos = end + 1
