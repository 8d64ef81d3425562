"""A simulated world whose connections are recorded: captures of faults, at the time of the world, in no time."""

from __future__ import annotations

from typing import Any, Literal

from amqp_sansio.capture import PcapngWriter, Segment, read_segments
from amqp_sansio.testing.simulate import World
from amqp_sansio.testing.simulate.network import End, Line

START = 1_700_000_000_000_000_000
"""When the time of a world begins, in nanoseconds."""

_Side = Literal["client", "server"]


class _Tap:
    """Hands on what arrives at an end of a line, and records it."""

    def __init__(self, world: RecordedWorld, number: int, sender: _Side, end: End) -> None:
        self._world = world
        self._number = number
        self._sender: _Side = sender
        self._end = end

    @property
    def room(self) -> int:
        return self._end.room

    def receive(self, octets: bytes) -> None:
        self._world.data(self._number, self._sender, octets)
        self._end.receive(octets)

    def writable(self) -> None:
        self._end.writable()

    def ended(self, reason: str, *, is_reset: bool) -> None:
        self._world.finish(self._number, self._sender, is_reset)
        self._end.ended(reason, is_reset=is_reset)


class RecordedWorld(World):
    """A world whose octets are recorded where they arrive."""

    def __init__(self, **arguments: Any) -> None:
        self._writer = PcapngWriter()
        self._octets = [self._writer.header()]
        self._open: set[int] = set()
        super().__init__(**arguments)

    def open_line(self, host: str, port: int, end: End, client: str = "") -> Line:
        line = super().open_line(host, port, end, client)
        number, octets = self._writer.open(f"10.0.0.1:{40_000 + line.number}", "10.0.0.2:5672", self.now_ns)
        self._octets.append(octets)
        self._open.add(number)
        line.up.target = _Tap(self, number, "client", line.up.target)
        line.down.target = _Tap(self, number, "server", line.down.target)
        return line

    @property
    def now_ns(self) -> int:
        return START + round(self.now * 1e9)

    def data(self, number: int, sender: _Side, octets: bytes) -> None:
        if number in self._open:
            self._octets.append(self._writer.data(number, sender, octets, self.now_ns))

    def finish(self, number: int, by: _Side, is_reset: bool) -> None:
        if number in self._open:
            self._open.discard(number)
            self._octets.append(self._writer.close(number, by, self.now_ns, is_reset))

    @property
    def recording(self) -> bytes:
        """The pcapng file so far."""
        return b"".join(self._octets)

    def segments(self) -> list[Segment]:
        found = read_segments(self.recording, file="world.pcapng")
        return [each for each in found if isinstance(each, Segment)]
