"""Rows of capture files: what `tables` and `write` turn into Arrow."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from amqp_sansio.capture import CaptureDamage, NotACapture, Segment, read_segments
from amqp_sansio.recorded.tables import BODIES, Row, damage_row, replay_flows, skew_of

from .clocks import corrected, parse_offsets
from .compressed import installed
from .files import find_captures, read_octets, without_others
from .sorting import MEMORY, SortedSegments

Captures: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
"""Files, folders and patterns."""


class Reading:
    """Captures, and how they are read.

    Files in folders and patterns that are no captures are left out. Raises ValueError for a wrong argument,
    FileNotFoundError if nothing is found.
    """

    def __init__(
        self,
        captures: Captures,
        *,
        body: str = "size",
        clock_skew: float = 0.0,
        clock_offset: str = "",
        memory: int = MEMORY,
    ) -> None:
        if body not in BODIES:
            raise ValueError(f"body is none, size or base64, not {body!r}")
        paths = [os.fspath(path) for path in ([captures] if isinstance(captures, (str, os.PathLike)) else captures)]
        self.files = without_others(find_captures(paths), paths)[0]
        self._body = body
        self._skew_ns = skew_of(clock_skew)
        self._clocks = parse_offsets(clock_offset)
        self._memory = memory

    @property
    def skew_ns(self) -> int:
        """The largest difference between the clocks of captures, in nanoseconds."""
        return self._skew_ns

    def rows(self, tables: Mapping[str, Collection[str]]) -> Iterator[Row]:
        """Yield the rows of one pass. Raises OSError, and NotACapture for the first file that isn't one."""
        damaged: list[CaptureDamage] = []
        with SortedSegments(self._memory) as segments:
            for each in self._read():
                if isinstance(each, Segment):
                    segments.add(each)
                else:
                    damaged.append(each)
            if "violations" in tables:
                yield from [damage_row(each, tuple(tables["violations"])) for each in damaged]
            yield from replay_flows(
                segments.flows(), tables=tables, body=self._body, skew_ns=self._skew_ns, servers=segments.servers
            )

    def _read(self) -> Iterable[Segment | CaptureDamage]:
        for file in self.files:
            offset_ns = self._clocks.of(file.name)
            try:
                for each in read_segments(read_octets(file.path), file=file.name, inflaters=installed()):
                    yield corrected(each, offset_ns) if offset_ns else each
            except NotACapture as error:
                raise NotACapture(f"{file.path}: {str(error).removeprefix(f'{file.name}: ')}") from None


__all__: Final = ["Captures", "Reading"]
