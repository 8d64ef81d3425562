"""The network: lines between two ends, whose octets arrive whole, in pieces, late, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

Address: TypeAlias = tuple[str, int]
"""A host's name or address, and a port."""
CAPACITY: Final = 256 * 1024
"""Octets under way in one direction; above it the sender has to wait, as with a socket's buffers."""
CLOSED: Final = "the peer closed the transport"
RESET: Final = "the connection was reset"


class Job(Protocol):
    """Something that can be done in one step."""

    def run(self) -> object: ...


class Call:
    """A function as a job."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def run(self) -> None:
        self._function()


class Timer:
    """A job at a time; `cancel` it if it needn't be done."""

    __slots__ = ("is_cancelled", "job")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.is_cancelled = False

    def cancel(self) -> None:
        """Let nothing happen at its time."""
        self.is_cancelled = True


class Scheduler(Protocol):
    """The part of a world that does jobs, one after the other, and has its time, in seconds."""

    now: float

    def soon(self, job: Job) -> None: ...
    def at(self, when: float, job: Job) -> Timer: ...
    def piece(self, most: int) -> int: ...


class End(Protocol):
    """The endpoint at one end of a line."""

    @property
    def room(self) -> int:
        """Octets that it takes now."""
        ...

    def receive(self, octets: bytes) -> None:
        """Take octets, at most `room`."""
        ...

    def writable(self) -> None:
        """Note that the line takes octets again."""
        ...

    def ended(self, reason: str, *, is_reset: bool) -> None:
        """Note that no more octets come: the peer closed the line, or it was reset."""
        ...


class ServerEnd(End, Protocol):
    """The end of a line at the side that listens."""

    def attach(self, line: Line) -> None:
        """Begin to listen on a line."""
        ...


class Listener:
    """A program that listens on `address`. `admit` returns its end of a new line, which is attached then.

    While `is_open` is false it has its address, and refuses clients.
    """

    def __init__(self, address: Address, admit: Callable[[], ServerEnd], forget: Callable[[Listener], object]) -> None:
        self.address = address
        self.admit = admit
        self.is_open = True
        self._forget = forget

    def close(self) -> None:
        """Refuse clients from now on; lines that are there stay. A second call does nothing."""
        self._forget(self)


class Alarm:
    """Calls a job at the nearest of the deadlines that it is told."""

    __slots__ = ("_deadline", "_job", "_scheduler", "_timer")

    def __init__(self, scheduler: Scheduler, job: Job) -> None:
        self._scheduler = scheduler
        self._job = job
        self._timer: Timer | None = None
        self._deadline: float | None = None

    def set(self, deadline: float | None) -> None:
        """Replace the deadline, in seconds; None: never."""
        if deadline == self._deadline:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._deadline = deadline
        self._timer = None if deadline is None else self._scheduler.at(deadline, self)

    def run(self) -> None:
        self._timer = None
        self._deadline = None
        self._job.run()


class Direction:
    """The octets on their way to one end of a line. `held_until` is the time before which none arrives, `back` the
    other direction. `hold` stops them at an octet."""

    __slots__ = (
        "_allowed",
        "_buffer",
        "_capacity",
        "_end",
        "_is_refused",
        "_is_scheduled",
        "_scheduler",
        "_was_full",
        "back",
        "held_until",
        "is_over",
        "sender",
        "target",
    )

    back: Direction

    def __init__(self, scheduler: Scheduler, target: End, sender: End, capacity: int = CAPACITY) -> None:
        self._scheduler = scheduler
        self._capacity = capacity
        self.target = target
        self.sender = sender
        self.held_until = 0.0
        self.is_over = False
        self._allowed: int | None = None
        self._buffer = bytearray()
        self._end: tuple[str, bool] | None = None
        self._is_scheduled = False
        self._was_full = False
        self._is_refused = False

    def __len__(self) -> int:
        """Octets under way."""
        return len(self._buffer)

    @property
    def room(self) -> int:
        """Octets that may be sent now."""
        return self._capacity - len(self._buffer)

    def send(self, octets: bytes) -> None:
        """Send octets; behind an end they are lost. If the target has left, the sender learns of a reset; until then
        they take room, as in a socket that isn't told yet."""
        if not octets or self._end is not None:
            return
        if self.is_over:
            self.back.refuse()
        self._buffer += octets
        self._was_full = self._was_full or len(self._buffer) >= self._capacity
        self.wake()

    def finish(self, reason: str, *, is_reset: bool = False, keep: int | None = None) -> None:
        """Let the target find the end behind the octets under way, of which the first `keep` arrive, by default all."""
        if self._end is None and not self.is_over:
            if keep is not None:
                del self._buffer[keep:]
            self._end = reason, is_reset
            self.wake()

    def hold(self, octets: int = 0) -> None:
        """Let so many octets arrive from now on, and then nothing until `release`, as if the target didn't read."""
        self._allowed = octets

    def release(self) -> None:
        """Let octets arrive again behind a `hold`."""
        self._allowed = None
        self.wake()

    def stop(self) -> None:
        """Let nothing arrive any more: the target has ended the line itself."""
        self.is_over = True
        self._buffer.clear()
        if self._was_full:
            self._was_full = False
            self._scheduler.soon(Call(self.sender.writable))

    def refuse(self) -> None:
        """Let the target find a reset behind what is on its way: its peer has left, and it has sent more octets."""
        if not self._is_refused:
            self._is_refused = True
            if self.is_over:
                self._scheduler.soon(Call(self._reset))

    def wake(self) -> None:
        """Schedule a step, if there is anything to hand over, or octets that nobody takes."""
        if not self._is_scheduled and (self._buffer or (self._end is not None and not self.is_over)):
            self._is_scheduled = True
            if self.held_until > self._scheduler.now:
                self._scheduler.at(self.held_until, self)
            else:
                self._scheduler.soon(self)

    def run(self) -> None:
        """Hand over some octets, or the end."""
        self._is_scheduled = False
        if self.is_over:
            self.stop()
            return
        if self.held_until > self._scheduler.now:
            self.wake()
            return
        if self._buffer:
            room = min(self.target.room, len(self._buffer))
            if self._allowed is not None:
                room = min(room, self._allowed)
            if room <= 0:
                return  # The target wakes this when it reads again, or `release` does.
            size = self._scheduler.piece(room)
            octets = bytes(self._buffer[:size])
            del self._buffer[:size]
            if self._allowed is not None:
                self._allowed -= size
            self.target.receive(octets)
            if self._was_full and len(self._buffer) <= self._capacity // 2:
                self._was_full = False
                self.sender.writable()
            self.wake()
        elif self._end is not None and self._allowed != 0:
            self.is_over = True
            reason, is_reset = self._end
            self.target.ended(reason, is_reset=is_reset)
            if self._is_refused and not is_reset:
                self._reset()

    def _reset(self) -> None:
        self.target.ended(RESET, is_reset=True)


class Line:
    """A connection of the network between a client's end and a server's: `up` leads to the server, `down` from it.

    `client` and `server` are the addresses of the two, `capacity` the octets under way in each direction.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        number: int,
        ends: tuple[End, End],
        addresses: tuple[Address, Address],
        capacity: int = CAPACITY,
    ) -> None:
        self.number = number
        self.client = addresses[0]
        self.server = addresses[1]
        self.up = Direction(scheduler, ends[1], ends[0], capacity)
        self.down = Direction(scheduler, ends[0], ends[1], capacity)
        self.up.back = self.down
        self.down.back = self.up

    @property
    def is_over(self) -> bool:
        """Whether both ends have left it."""
        return self.up.is_over and self.down.is_over

    def cut(self, reason: str, up: int | None = None, down: int | None = None) -> None:
        """Reset it: of the octets under way the first `up` and `down` arrive, by default all; a `hold` ends."""
        self.up.release()
        self.down.release()
        self.up.finish(reason, is_reset=True, keep=up)
        self.down.finish(reason, is_reset=True, keep=down)

    def hold(self, until: float) -> None:
        """Let nothing arrive before a time."""
        for direction in (self.up, self.down):
            direction.held_until = max(direction.held_until, until)
