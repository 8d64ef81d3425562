"""Programs of a world: async functions that are stepped, each in a process that can crash and be started again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from ...client.connecting import new_connection
from ...client.opening import Opening
from ...client.settings import version_named
from ...sasl import Plain
from ...uri import parse
from ...versions import AMQP_0_9_1, AMQP_1_0, Version
from .clients import ClientEnd
from .network import Call, End, Scheduler
from .tasks import Machine, Pause, Task

if TYPE_CHECKING:
    from ...uri import AmqpUri
    from .network import Line, Timer

_T = TypeVar("_T")
DEFAULT_URL = "amqp://guest:guest@broker/"
CONNECT_SECONDS = 30.0
"""Seconds after which a connection attempt is given up that nobody answers."""


Program: TypeAlias = "Callable[[Process], Coroutine[Any, Any, object]]"
"""An async function that is given its process."""


class Leaving(End, Protocol):
    """A process's end of a line."""

    @property
    def is_over(self) -> bool: ...
    def abort(self, reason: str) -> None: ...


class Surroundings(Scheduler, Machine, Protocol):
    """The part of a world that processes use."""

    def open_line(self, host: str, end: End) -> Line: ...
    def is_reachable(self, host: str) -> bool: ...
    def note(self, text: str, process: Process | None = None) -> None: ...
    def number(self) -> int: ...
    @property
    def is_busy(self) -> bool: ...
    def step(self) -> bool: ...


class Process:
    """One run of a program. A crash ends it: its connections are reset, and nothing that it still does counts.

    `name` is the program's, `number` counts its runs from 1.
    """

    def __init__(self, world: Surroundings, name: str, number: int = 1) -> None:
        self.world = world
        self.name = name
        self.number = number
        self.is_alive = True
        self.tasks: list[Task[Any]] = []
        self._ends: list[Leaving] = []
        self._closers: list[Callable[[], object]] = []

    @property
    def now(self) -> float:
        """The world's time, in seconds."""
        return self.world.now

    def connect(
        self, url: str | AmqpUri = DEFAULT_URL, *, version: Version | str = AMQP_0_9_1, **options: Any
    ) -> Opening[Any]:
        """Connect to a broker of the world: `async with process.connect() as connection`.

        The URL's host is the broker's name. `options` are those of asyncio's `connect`, and so is the connection that
        is returned; without options the login is PLAIN, and there are no heartbeats. Raises ConnectionRefusedError
        while the broker is down, TimeoutError if it can't be reached, EndpointClosed if it refuses.
        """
        given = version_named(version)
        return Opening(lambda: self._connect(parse(url) if isinstance(url, str) else url, given, options))

    async def sleep(self, seconds: float) -> None:
        """Wait for a time."""
        pause = Pause()
        self.world.at(self.world.now + seconds, pause)
        await pause

    def start(self, coroutine: Coroutine[Any, Any, _T]) -> Task[_T]:
        """Run a coroutine beside this one; `await` the task for its result."""
        task = Task(self.world, coroutine, self)
        self.tasks.append(task)
        task.resume()
        return task

    def end(self, reason: str) -> None:
        """End everything of it, at once."""
        self.is_alive = False
        before = self.world.enter(self)
        try:
            for end in self._ends:
                end.abort(reason)
            for callback in self._closers:
                callback()
            for task in self.tasks:
                task.close()
        finally:
            self.world.enter(before)

    # For event loops.

    def event(self) -> Pause:
        """Return something to await, which ends when its `wake` is called."""
        return Pause()

    def call_soon(self, function: Callable[[], object]) -> None:
        """Call a function in a step of its own, unless the process has ended by then."""
        self.world.soon(Call(lambda: self._call(function)))

    def call_at(self, when: float, function: Callable[[], object]) -> Timer:
        """Do the same at a time."""
        return self.world.at(when, Call(lambda: self._call(function)))

    def at_end(self, callback: Callable[[], object]) -> None:
        """Have `callback` called when the process ends."""
        self._closers.append(callback)

    def open_line(self, host: str, end: Leaving) -> Line:
        """Connect an end to the broker called `host`, until the process ends. Raises as `World.is_reachable`."""
        self._ends = [each for each in self._ends if not each.is_over]
        self._ends.append(end)
        return self.world.open_line(host, end)

    # Internals.

    def _call(self, function: Callable[[], object]) -> None:
        if self.is_alive:
            before = self.world.enter(self)
            try:
                function()
            finally:
                self.world.enter(before)

    async def _connect(self, uri: AmqpUri, version: Version, options: dict[str, Any]) -> Any:
        seconds = uri.connection_timeout or CONNECT_SECONDS
        begun = self.world.now
        while not self.world.is_reachable(uri.host):
            if self.world.now >= begun + seconds:
                raise TimeoutError(f"no connection to {uri} within {seconds:g} seconds")
            await self.sleep(min(1.0, begun + seconds - self.world.now))
        defaults: dict[str, Any] = {"sasl": Plain(uri.user or "guest", uri.password or "guest")}
        if uri.heartbeat is None:
            defaults["idle_time_out" if version is AMQP_1_0 else "heartbeat"] = 0
        client, connection = new_connection(version, uri, defaults | options, self._draw)
        end = ClientEnd(self.world, client)
        end.attach(self.open_line(uri.host, end))
        try:
            await client.wait(client.opened)
            client.opened.result  # noqa: B018
        except BaseException:
            end.abort("its opening was given up")
            raise
        return connection

    def _draw(self, octets: int) -> str:
        return f"{self.name}-{self.world.number()}"

    def __repr__(self) -> str:
        state = "" if self.is_alive else ", ended"
        return f"<Process {self.number} of {self.name!r}{state}>"
