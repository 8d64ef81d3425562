"""Well-formed inputs for each target, the basis of mutations: recorded traffic, sessions of this library's own client
with its hub, and examples of the strategies in `amqp_sansio.testing` for a seed.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, CodecError, Side, Version
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio._classic.codec.table_encode import encode_table
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.amqp_0_10.codec.types import encode_value
from amqp_sansio.amqp_1_0.codec.values import encode
from amqp_sansio.capture import Segment, read_segments, reassemble, sort_key
from amqp_sansio.capture.records import Item, StreamData
from amqp_sansio.testing import amqp_0_8, amqp_0_9_1, amqp_0_10
from amqp_sansio.testing import amqp_1_0 as one
from amqp_sansio.versions import version_of as version_of_header

from .ends import VERSIONS, record
from .targets import Pieces, packed, version_of

ROOT: Final = Path(__file__).resolve().parents[2]
MOST: Final = 20_000
"""Octets of one input. More of a capture adds nothing but time."""
_SELECTORS: Final = (
    "a = 1 AND NOT b IN ('red', 'blue') OR c IS NOT NULL",
    "b LIKE '%l\\_e%' ESCAPE '\\' AND a BETWEEN -1 AND 0x1F",
    "(a + 2) * 3.5e1 / 4 - a % 2 >= -d OR amqp.properties.subject <> ''",
    'JMSPriority > 4 AND JMSType = "x" AND a.b = TRUE',
)


def captures() -> list[Path]:
    """Return the capture files: those of the repository, and the big set if available."""
    carried = ROOT / "tests" / "data" / "captures"
    big = Path(os.environ.get("AMQP_SANSIO_CAPTURES", ROOT.parent / "shared" / "captures"))
    found = {path.name: path for folder in (big, carried) for path in folder.glob("*.pcap*")}
    return [found[name] for name in sorted(found)]


def drawn(strategy: st.SearchStrategy[Any], seed: int, count: int) -> list[Any]:
    """Return the first examples of a strategy for a seed."""
    found: list[Any] = []

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    @hypothesis_seed(seed)
    @given(strategy)
    def take(value: Any) -> None:
        found.append(value)

    take()
    return found


class Seeds:
    """The basic inputs, by target; each is made on demand, and depends only on the seed."""

    def __init__(self, seed: int, drawn_each: int = 60) -> None:
        self._seed = seed
        self._each = drawn_each
        self._found: dict[str, list[bytes]] = {}

    def of(self, target: str) -> list[bytes]:
        """Return the inputs of a target; for frames also those of `frames-LABEL-SIDE`."""
        found = self._found.get(target)
        if found is None:
            found = self._found[target] = [octets[:MOST] for octets in self._make(target) if octets]
        return found

    def _make(self, target: str) -> Iterator[bytes]:
        kind, _, _ = target.partition("-")
        version = version_of(target)
        match kind:
            case "frames":
                sent_by = Side.CLIENT if target.endswith("client") else Side.SERVER
                yield from self._draw(_FRAMES[version](sent_by))
            case "client":
                yield recorded(version)[1]
                yield from _streams(version, 1)
            case "server" | "hub":
                yield recorded(version)[0]
                yield from _streams(version, 0)
            case "observer":
                yield packed(recorded(version)[2])
                yield from [packed(pieces) for pieces in _connections().get(version, [])]
            case "capture":
                files = [path.read_bytes() for path in captures()]
                small = [octets for octets in files if len(octets) <= MOST]
                yield from small
                yield from [gzip.compress(octets, mtime=0) for octets in small[::4]]
            case "selector":
                yield from [text.encode() for text in _SELECTORS]
            case _:
                yield from self._values(target)

    def _values(self, target: str) -> Iterator[bytes]:
        if target.startswith("table-"):
            name = target.removeprefix("table-")
            rules = get_dialect(name).tables
            testing = amqp_0_8 if name.startswith("0-8") else amqp_0_9_1
            tables = testing.tables(get_dialect(name))
            yield from self._draw(tables, lambda table: encode_table(table, rules)[4:])
        elif target == "value-0-10":
            yield from self._draw(amqp_0_10.values() | amqp_0_10.maps(), encode_value)
        elif target == "struct-0-10":
            yield from self._draw(amqp_0_10.structs(), lambda struct: encode_headers((struct,))[4:])
        elif target == "headers-0-10":
            yield from self._draw(amqp_0_10.headers(), encode_headers)
        elif target in ("control-0-10", "command-0-10"):
            # Without the header of their frame.
            frames = self.of("frames-0-10-client") + self.of("frames-0-10-server")
            wanted = int(target.startswith("command"))
            yield from [frame[12:] for frame in frames if len(frame) > 12 and frame[1] == wanted]
        elif target == "value-1.0":
            yield from self._draw(one.values() | one.maps(), encode)
        else:
            yield from [frame[8:] for side in ("client", "server") for frame in self.of(f"frames-1.0-{side}")]

    def _draw(self, strategy: st.SearchStrategy[Any], encode: Callable[[Any], bytes] = bytes) -> Iterator[bytes]:
        for value in drawn(strategy, self._seed, self._each):
            try:
                yield encode(value)
            except CodecError:
                continue


_FRAMES: Final[dict[Version, Callable[[Side], st.SearchStrategy[bytes]]]] = {
    AMQP_0_8: lambda side: amqp_0_8.frames(sent_by=side),
    AMQP_0_9_1: lambda side: amqp_0_9_1.frames(sent_by=side),
    AMQP_0_10: lambda side: amqp_0_10.frames(sent_by=side),
    VERSIONS[-1]: lambda side: one.frames(),
}


@cache
def recorded(version: Version) -> tuple[bytes, bytes, Pieces]:
    """Return a conversation of this library's client and hub: the client's octets, the hub's, both in order."""
    return record(version)


@cache
def _connections() -> dict[Version, list[Pieces]]:
    """Return every recorded connection, as the pieces that both sides sent, by version."""
    found: dict[Version, list[Pieces]] = {}
    for path in captures():
        if path.suffix != ".pcap":
            continue
        segments = [each for each in read_segments(path.read_bytes()) if isinstance(each, Segment)]
        by_flow: dict[str, list[Segment]] = {}
        for segment in sorted(segments, key=sort_key):
            by_flow.setdefault(segment.flow, []).append(segment)
        for flow in by_flow.values():
            _sort_in(found, reassemble(flow))
    return found


def _sort_in(found: dict[Version, list[Pieces]], items: Iterator[Item] | list[Item]) -> None:
    connections: dict[str, list[StreamData]] = {}
    for item in items:
        if isinstance(item, StreamData):
            connections.setdefault(item.connection, []).append(item)
    for stream in connections.values():
        client = next((item.sender for item in stream if item.data.startswith(b"AMQP")), None)
        if client is None:
            continue
        opening = next(item.data for item in stream if item.sender == client)
        version = version_of_header(bytes(opening[:8]))
        if version is not None:
            pieces = [(int(item.sender != client), bytes(item.data)) for item in stream]
            if sum(len(octets) for _, octets in pieces) <= MOST:
                found.setdefault(version, []).append(pieces)


def _streams(version: Version, side: int) -> list[bytes]:
    connections = _connections().get(version, [])
    return [b"".join([octets for kind, octets in pieces if kind == side]) for pieces in connections]


__all__ = ["MOST", "Seeds", "drawn", "recorded"]
