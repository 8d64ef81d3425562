"""Segments in the order that a replay wants, in bounded memory: what is too much waits in a temporary file.

A replay takes the segments of one flow after another, each flow's in the order of their time, while captures mix all
flows. `SortedSegments` holds some of them, writes them as a sorted run when they are too many, and merges the runs.
"""

from __future__ import annotations

import heapq
import marshal
import weakref
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import IO, Any, Final, TypeAlias

from amqp_sansio.capture import Segment
from amqp_sansio.capture.records import SYN
from amqp_sansio.recorded.tables import servers_of

MEMORY: Final = 256 << 20
"""Octets of segments that are held, by default."""
_EACH: Final = 600
"""About the octets of a segment in memory, besides its payload."""
_BLOCK: Final = 128
"""Most segments that are read at a time from a run."""
_BLOCK_OCTETS: Final = 256 << 10
"""Octets of payload after which a block ends, if it has fewer segments."""
_RUNS: Final = 64
"""Runs that are merged into one, so that the blocks held of all runs are few."""
_SIZE: Final = 8
"""Octets of the number before a block: its size."""

_Way: TypeAlias = tuple[str, int, str, int, str]
_Values: TypeAlias = tuple[Any, ...]
_TIME: Final = attrgetter("ts_ns", "file", "packet")
_VALUES: Final = attrgetter(
    *("ts_ns", "file", "packet", "src", "sport", "dst", "dport", "seq", "ack", "flags", "wire_len", "payload", "point")
)


class SortedSegments:
    """Segments of captures, added in any order, by flow and time.

    Between calls, every segment added is either in `_flows` or in exactly one of `_runs`, and the runs are parts of
    `_file`, each sorted. Use it as a context manager, or call `close`: the file is deleted then.
    """

    def __init__(self, memory: int = MEMORY) -> None:
        if memory < 1:
            raise ValueError(f"memory is at least 1 octet, not {memory}")
        self._most = memory
        self._octets = 0
        """An estimate of what `_flows` takes."""
        self._flows: dict[str, list[Segment]] = {}
        self._ways: dict[_Way, list[Segment]] = {}
        """The list in `_flows` for each direction: a flow is named once for each, not for each of its segments."""
        self._runs: list[tuple[int, int]] = []
        """Where each run begins and ends in the file."""
        self._file: IO[bytes] | None = None
        self.servers: set[str] = set()
        """The endpoints that a SYN shows to be servers, as `amqp_sansio.recorded.tables.servers_of` names them."""

    def __enter__(self) -> SortedSegments:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, segment: Segment) -> None:
        """Take a segment. Raises OSError if the temporary file can't be written."""
        way = (segment.src, segment.sport, segment.dst, segment.dport, segment.point)
        same = self._ways.get(way)
        if same is None:
            same = self._ways[way] = self._flows.setdefault(segment.flow, [])
        same.append(segment)
        if segment.flags & SYN:
            self.servers |= servers_of((segment,))
        self._octets += _EACH + len(segment.payload)
        if self._octets >= self._most:
            self._spill()

    def flows(self) -> Iterator[tuple[str, Iterator[Segment]]]:
        """Yield the name of each flow, in order, with its segments in the order of their time.

        The segments of a flow are to be taken before the next flow is. It can be called several times.
        """
        if not self._runs:
            for flow in sorted(self._flows):
                yield flow, iter(sorted(self._flows[flow], key=_TIME))
            return
        if self._flows:
            self._spill()
        yield from _merged(self._readers())

    def close(self) -> None:
        """Forget all segments, and delete the temporary file."""
        self._forget()
        self.servers.clear()
        self._runs.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _forget(self) -> None:
        self._flows.clear()
        self._ways.clear()
        self._octets = 0

    def _spill(self) -> None:
        """Write the segments that are held as a run; merge the runs if there are many."""
        flows = self._flows
        self._write((flow, iter(sorted(flows[flow], key=_TIME))) for flow in sorted(flows))
        self._forget()
        if len(self._runs) >= _RUNS:
            # The old runs stay in the file as octets that nobody reads: at most as many again for each factor of 64.
            readers = self._readers()
            self._runs.clear()
            self._write(_merged(readers))

    def _write(self, flows: Iterable[tuple[str, Iterator[Segment]]]) -> None:
        file = self._file
        if file is None:
            # Few captures need it, and a command's start shouldn't wait for its import.
            import tempfile

            file = self._file = tempfile.TemporaryFile(prefix="amqp-sansio-")  # noqa: SIM115
            # Who reads the flows several times may not know the last one.
            weakref.finalize(self, file.close)
        begin = end = file.seek(0, 2)
        for flow, segments in flows:
            for block in _blocks(segments):
                octets = marshal.dumps((flow, block))
                # Runs are read between two blocks, so the position isn't where it was.
                file.seek(end)
                end += file.write(len(octets).to_bytes(_SIZE, "big") + octets)
        self._runs.append((begin, end))

    def _readers(self) -> list[_Run]:
        assert self._file is not None
        return [_Run(self._file, begin, end) for begin, end in self._runs]


class _Run:
    """A sorted part of the file that is being read: `flow` is that of the next block, None at the end."""

    def __init__(self, file: IO[bytes], begin: int, end: int) -> None:
        self.flow: str | None = None
        self._file = file
        self._at = begin
        """Where the block after the held one begins."""
        self._end = end
        self._block: list[_Values] = []
        """The values of the next block's segments."""
        self._load()

    def _load(self) -> None:
        if self._at >= self._end:
            self.flow = None
            self._block = []
            return
        self._file.seek(self._at)
        size = int.from_bytes(self._file.read(_SIZE), "big")
        self.flow, self._block = marshal.loads(self._file.read(size))
        self._at += _SIZE + size

    def segments(self) -> Iterator[Segment]:
        """Yield the segments of `flow`, and go on to the next one."""
        flow = self.flow
        while self.flow == flow:
            block = self._block
            self._load()
            for values in block:
                yield Segment(*values)


def _merged(runs: list[_Run]) -> Iterator[tuple[str, Iterator[Segment]]]:
    """Yield the flows of all runs in order, each with the segments of all runs that have it."""
    while True:
        flow = min([run.flow for run in runs if run.flow is not None], default=None)
        if flow is None:
            return
        having = [run for run in runs if run.flow == flow]
        if len(having) == 1:
            yield flow, having[0].segments()
        else:
            yield flow, heapq.merge(*[run.segments() for run in having], key=_TIME)


def _blocks(segments: Iterator[Segment]) -> Iterator[list[_Values]]:
    block: list[_Values] = []
    octets = 0
    for segment in segments:
        block.append(_VALUES(segment))
        octets += len(segment.payload)
        if len(block) >= _BLOCK or octets >= _BLOCK_OCTETS:
            yield block
            block, octets = [], 0
    if block:
        yield block


__all__ = ["MEMORY", "SortedSegments"]
