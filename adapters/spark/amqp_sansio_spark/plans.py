"""What a task reads: parts of files, and a flow of many files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.recorded.tables import PORTS, FlowReplay

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from amqp_sansio_arrow.files import CaptureFile

    from .options import Options

WINDOW: Final = 10_000
"""Segments of a flow buffered for each file, because captures have packets slightly out of order."""


class Piece(NamedTuple):
    """A part of a file that begins and ends at record boundaries; most files have only one."""

    path: str
    name: str
    start: int
    stop: int
    """The end of the piece; for the last one, the file's size when the read was planned."""
    size: int
    """The size of the whole file, at that time."""
    state: bytes = b""
    """The state of a `BulkReader` at `start`; empty at the file's beginning."""
    number: int = 0
    """Its number in the file, from 0."""
    of: int = 1
    """The number of pieces read of the file."""

    @property
    def last(self) -> bool:
        """Whether it is the last piece of the file."""
        return self.stop == self.size


class Setting(NamedTuple):
    """How tasks replay flows: the arguments of `FlowReplay` that are the same for all."""

    body: str = "size"
    skew_ns: int = 0
    servers: frozenset[str] = frozenset()
    ports: frozenset[int] = frozenset(PORTS)

    def flow(
        self,
        flow: str,
        *,
        tables: Collection[str] | Mapping[str, Collection[str]] | None = None,
        events: Collection[str] | None = None,
    ) -> FlowReplay:
        """Return the replay of a flow."""
        return FlowReplay(
            flow,
            tables=tables,
            events=events,
            body=self.body,
            skew_ns=self.skew_ns,
            servers=self.servers,
            ports=self.ports,
        )


class Plan(NamedTuple):
    """The input of a task: the flow, and the files with the time of their first segment."""

    flow: str
    files: tuple[tuple[int, CaptureFile, int], ...]
    options: Options
    setting: Setting = Setting()
    window: int = WINDOW
