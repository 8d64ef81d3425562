"""Programs of a world: async functions that are stepped, each in a process that can crash and be started again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from ...client.connecting import new_connection
from ...client.opening import Opening
from ...client.recovery import RecoveryPolicy, policy_of
from ...client.settings import version_named
from ...errors import EndpointClosed
from ...messaging import Addresses, Offer
from ...messaging import Connection as Messaging
from ...sasl import Plain
from ...uri import AmqpUri, parse
from ...versions import AMQP_0_9_1, AMQP_1_0, Version
from .clients import ClientEnd
from .network import Call, End, Job, Listener, Scheduler, ServerEnd
from .tasks import Cancelled, Machine, Pause, Task

if TYPE_CHECKING:
    from ...client.connection import AnyConnection
    from ...client.driving import BaseClient
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


class LeavingServerEnd(Leaving, ServerEnd, Protocol):
    """A process's end of a line that another process has opened."""


class Surroundings(Scheduler, Machine, Protocol):
    """The part of a world that processes use."""

    def open_line(self, host: str, port: int, end: End, client: str = "") -> Line: ...
    def listen(self, host: str, port: int, admit: Callable[[], ServerEnd]) -> Listener: ...
    def is_reachable(self, host: str, port: int = 0) -> bool: ...
    def address_of(self, host: str) -> str: ...
    def is_known(self, host: str) -> bool: ...
    def note(self, text: str, process: Process | None = None) -> None: ...
    def number(self) -> int: ...
    def lot(self) -> int: ...
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
        self.held_until = 0.0
        """The time before which it does nothing: its code waits, its connections don't."""
        self.pause: Callable[[float], None] = self._pass_time
        """Called by `time.sleep` in its code."""
        self.tasks: list[Task[Any]] = []
        self._ends: list[Leaving] = []
        self._closers: list[Callable[[], object]] = []

    @property
    def now(self) -> float:
        """The world's time, in seconds."""
        return self.world.now

    @property
    def clients(self) -> list[BaseClient[Any]]:
        """Its clients, but for those of an event loop of its own."""
        return list(dict.fromkeys([each.client for each in self._ends if isinstance(each, ClientEnd)]))

    def connect(
        self,
        url: str | AmqpUri | Sequence[str | AmqpUri] = DEFAULT_URL,
        *,
        version: Version | str = AMQP_0_9_1,
        recover: bool | RecoveryPolicy = False,
        **options: Any,
    ) -> Opening[Any]:
        """Connect to a broker of the world: `async with process.connect() as connection`.

        The URL's host is the broker's name. The arguments are those of asyncio's `connect`, and so is the connection
        that is returned; without options the login is PLAIN, and there are no heartbeats. Raises ConnectionRefusedError
        while the broker is down, TimeoutError if it can't be reached, EndpointClosed if it refuses.
        """
        given = version_named(version)
        policy = policy_of(recover)
        urls = [url] if isinstance(url, (str, AmqpUri)) else [*url]
        uris = [
            parse(each) if isinstance(each, str) else each for each in (*urls, *(policy.addresses if policy else ()))
        ]
        return Opening(lambda: self._connect(uris, given, policy, options))

    def messaging(
        self,
        url: str | AmqpUri | Sequence[str | AmqpUri] = DEFAULT_URL,
        *,
        version: Version | str | None = None,
        addresses: Addresses | None = None,
        **options: Any,
    ) -> Opening[Messaging]:
        """Connect as `amqp_sansio_asyncio.messaging.connect` does: neutral messages, for a broker of any version."""
        offer = Offer(url, version, addresses)
        return Opening(lambda: offer.connect(self.connect, options, self.timeout))

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncGenerator[None]:
        """Enter a context of at most so many seconds, as asyncio.timeout. Raises TimeoutError at its end."""
        task = self.world.running
        expired: list[float] = []
        timer: Timer | None = None
        if seconds is not None and task is not None:

            def expire() -> None:
                expired.append(self.world.now)
                task.cancel()

            timer = self.call_at(self.world.now + seconds, expire)
        try:
            yield
        except Cancelled:
            if expired:
                raise TimeoutError(f"it took more than {seconds} seconds") from None
            raise
        finally:
            if timer is not None:
                timer.cancel()

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

    def holds(self, job: Job) -> bool:
        """Whether it does nothing before `held_until`; the job is done then."""
        if self.held_until > self.world.now:
            self.world.at(self.held_until, job)
            return True
        return False

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

    def open_line(self, host: str, port: int, end: Leaving) -> Line:
        """Connect an end to the broker called `host`, or to the program that listens there, until the process ends.
        Raises as `World.is_reachable`."""
        line = self.world.open_line(host, port, end, self.name)
        self._keep(end)
        return line

    def listen(self, host: str, port: int, admit: Callable[[], LeavingServerEnd]) -> Listener:
        """Listen as `World.listen` does, until the process ends, which resets the lines too."""

        def admitted() -> LeavingServerEnd:
            end = admit()
            self._keep(end)
            return end

        listener = self.world.listen(host, port, admitted)
        self.at_end(listener.close)
        return listener

    # Internals.

    def _pass_time(self, seconds: float) -> None:
        """Let the time of the world pass: code that isn't in a thread of its own holds everything up."""
        self.world.now += seconds

    def _keep(self, end: Leaving) -> None:
        self._ends = [each for each in self._ends if not each.is_over]
        self._ends.append(end)

    def _call(self, function: Callable[[], object]) -> None:
        if self.is_alive and not self.holds(Call(lambda: self._call(function))):
            before = self.world.enter(self)
            try:
                function()
            finally:
                self.world.enter(before)

    async def _connect(
        self, uris: list[AmqpUri], version: Version, policy: RecoveryPolicy | None, options: dict[str, Any]
    ) -> Any:
        for place, uri in enumerate(uris):
            client, connection = self._make(uri, version, options)
            end = ClientEnd(self.world, client)
            if policy is not None:
                self._recover(end, [*uris[place:], *uris[:place]], version, policy, options)
            try:
                await self._open(end, uri)
                await client.wait(client.opened)
                client.opened.result  # noqa: B018
            except (OSError, EndpointClosed):
                if place == len(uris) - 1:
                    raise
                continue
            finally:
                if not client.opened.done or client.opened.error is not None:
                    client.forgo_recovery()
                    end.abort("its opening was given up")
            return connection
        raise ValueError("connect needs at least one URL")

    def _recover(
        self, end: ClientEnd, uris: list[AmqpUri], version: Version, policy: RecoveryPolicy, options: dict[str, Any]
    ) -> None:
        client = end.client
        client.recover(policy, tuple(map(str, uris)), self.world.lot())

        def reconnect(place: int) -> None:
            client.reconnect(self._make(uris[place], version, options)[0].core)
            self.start(reopen(ClientEnd(self.world, client, reconnect), uris[place]))

        async def reopen(end: ClientEnd, uri: AmqpUri) -> None:
            try:
                await self._open(end, uri)
            except OSError as error:
                end.not_connected(str(error))

        end.reconnect_by(reconnect)

    async def _open(self, end: ClientEnd, uri: AmqpUri) -> None:
        seconds = uri.connection_timeout or CONNECT_SECONDS
        begun = self.world.now
        self._keep(end)
        while not self.world.is_reachable(uri.host, uri.port):
            if self.world.now >= begun + seconds:
                raise TimeoutError(f"no connection to {uri} within {seconds:g} seconds")
            await self.sleep(min(1.0, begun + seconds - self.world.now))
        end.attach(self.world.open_line(uri.host, uri.port, end, self.name))

    def _make(
        self, uri: AmqpUri, version: Version, options: dict[str, Any]
    ) -> tuple[BaseClient[Any], AnyConnection[Any]]:
        defaults: dict[str, Any] = {"sasl": Plain(uri.user or "guest", uri.password or "guest")}
        if uri.heartbeat is None:
            defaults["idle_time_out" if version is AMQP_1_0 else "heartbeat"] = 0
        return new_connection(version, uri, defaults | options, self._draw)

    def _draw(self, octets: int) -> str:
        return f"{self.name}-{self.world.number()}"

    def __repr__(self) -> str:
        state = "" if self.is_alive else ", ended"
        return f"<Process {self.number} of {self.name!r}{state}>"
