"""simulated_loop: an event loop whose time is a simulated world's and whose transports are its network's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVarTuple

from amqp_sansio.testing.simulate import Process, Program, World, discard

if TYPE_CHECKING:
    from contextvars import Context

    from amqp_sansio.testing.simulate import Line, Timer

_Ts = TypeVarTuple("_Ts")
_HIGH_WATER: Final = 64 * 1024
_CLOSED: Final = "the peer closed the transport"


def simulated(main: Callable[[], Coroutine[Any, Any, object]], *, name: str = "") -> Program:
    """Return a program for a world that runs an asyncio program, unchanged, in an event loop of its own.

    Its `connect` reaches the broker that the URL's host names. When the process crashes, its tasks are dropped with it.

    >>> from amqp_sansio.testing.simulate import World
    >>> from amqp_sansio_asyncio import connect
    >>> async def consume(work: Callable[[bytes], object]) -> None:
    ...     async with connect("amqp://broker/") as connection, connection.open_channel() as channel:
    ...         async for delivery in channel.consume("jobs"):
    ...             work(delivery.body)
    ...             await delivery.accept()
    >>> with World() as world:
    ...     world.declare("jobs", b"1")
    ...     process = world.start(simulated(lambda: consume(world.worked), name="consumer"))
    ...     world.run()
    ...     print(world.ledger.worked)
    {b'1': 1}
    """

    async def program(process: Process) -> object:
        loop = SimulatedLoop(process, is_hosted=True)
        task, done = loop.create_task(main()), process.event()
        task.add_done_callback(lambda _: done.wake())
        await done
        return task.result()

    program.__name__ = name or getattr(main, "__name__", "program")
    return program


def simulated_loop(world: World) -> SimulatedLoop:
    """Return an event loop that steps a world whenever it would wait; run one program at a time with it.

    >>> async def sleep() -> float:
    ...     await asyncio.sleep(3600)
    ...     return asyncio.get_running_loop().time()
    >>> with World() as world, asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
    ...     runner.run(sleep())
    3600.0
    """
    return SimulatedLoop(Process(world, "asyncio"), is_hosted=False)


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop of a process in a world. It has no threads, signals, files, subprocesses and TLS, and no network
    but the world's.

    `is_hosted`: the world takes the loop's turns; else the loop the world's steps.
    """

    def __init__(self, process: Process, *, is_hosted: bool) -> None:
        super().__init__()
        self.process = process
        self._is_hosted = is_hosted
        self._is_woken = False
        self._world_timers: dict[asyncio.TimerHandle, Timer] = {}
        # asyncio's base class asks it for what is ready.
        self._selector = self
        process.at_end(self._end)

    # asyncio.

    def time(self) -> float:
        return self.process.now

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if self.is_closed() and not self.process.is_alive:
            # Objects of a process that has ended may still be destroyed.
            handle = asyncio.Handle(callback, args, self, context)
            handle.cancel()
            return handle
        self._wake()
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = super().call_at(when, callback, *args, context=context)
        self._world_timers[handle] = self.process.call_at(when, lambda: self._due(handle))
        return handle

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.Protocol],
        host: str = "",
        port: int = 0,
        *,
        ssl: object = None,
        **_: object,
    ) -> tuple[asyncio.Transport, asyncio.Protocol]:
        """Connect to the broker called `host`. Raises OSError: ConnectionRefusedError while it is down."""
        if ssl:
            raise NotImplementedError("the simulated network has no TLS; use an amqp:// URL")
        while not self.process.world.is_reachable(host):
            await asyncio.sleep(1.0)
        protocol = protocol_factory()
        return SimulatedTransport(self, protocol, host, port), protocol

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Note an error that nobody takes in the world's trace."""
        if not self.is_closed():
            error = context.get("exception")
            self.process.world.note(f"{context.get('message')}{f': {error!r}' if error else ''}", self.process)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none: the loop has no threads."""

    # For the base class.

    def select(self, timeout: float | None) -> list[Any]:
        """Let the world go on if this loop drives it, until there is something to do."""
        if not self._is_hosted:
            world = self.process.world
            if timeout == 0 and world.is_busy:
                world.step()
            while not self._is_woken and timeout != 0:
                if not world.step():
                    raise RuntimeError("the program waits for something that never comes")
            self._is_woken = False
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none: `select` returns nothing."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        timer = self._world_timers.pop(handle, None)
        if timer is not None:
            timer.cancel()

    # Internals.

    def _due(self, handle: asyncio.TimerHandle) -> None:
        self._world_timers.pop(handle, None)
        self._wake()

    def _wake(self) -> None:
        if not self._is_woken and not self.is_closed():
            self._is_woken = True
            if self._is_hosted:
                self.process.call_soon(self._turn)

    def _turn(self) -> None:
        """Run everything that is ready, once."""
        if not self.is_closed():
            super().call_soon(self.stop)
            self._is_woken = False
            self.run_forever()

    def _end(self) -> None:
        if not self.is_closed():
            for task in asyncio.all_tasks(self):
                coroutine = task.get_coro()
                assert isinstance(coroutine, Coroutine)
                discard(coroutine)
            self.close()


class SimulatedTransport(asyncio.Transport):
    """A client's end of a line, as a transport of asyncio."""

    def __init__(self, loop: SimulatedLoop, protocol: asyncio.Protocol, host: str, port: int) -> None:
        super().__init__({"peername": (host, port), "sockname": (loop.process.name, loop.process.world.number())})
        self.is_over = False
        self._loop = loop
        self._protocol = protocol
        self._is_closing = False
        self._is_paused = False
        self._is_held_up = False
        self._received = b""
        self._unsent = bytearray()
        self._line: Line = loop.process.open_line(host, self)
        loop.call_soon(protocol.connection_made, self)

    # asyncio.

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self._loop.call_soon(self._deliver)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_closing:
            self._unsent += data
            self._send()

    def can_write_eof(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing: the limits are the world's."""

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._send()

    def abort(self, reason: str = "the transport was aborted") -> None:
        if not self.is_over:
            self._leave(None, is_reset=True)

    # End: for the line.

    @property
    def room(self) -> int:
        return 0 if self._is_paused or self._received else _HIGH_WATER

    def receive(self, octets: bytes) -> None:
        self._received += octets
        self._loop.call_soon(self._deliver)

    def writable(self) -> None:
        self._send()

    def ended(self, reason: str, *, is_reset: bool) -> None:
        self._loop.call_soon(self._on_end, reason, is_reset)

    # Internals.

    def _deliver(self) -> None:
        if self._received and not self._is_paused and not self._is_closing:
            octets, self._received = self._received, b""
            self._protocol.data_received(octets)
        self._line.down.wake()

    def _on_end(self, reason: str, is_reset: bool) -> None:
        if self.is_over:
            return
        if is_reset:
            self._leave(ConnectionResetError(reason), is_reset=True)
        elif not self._protocol.eof_received():
            self.close()

    def _send(self) -> None:
        if self.is_over:
            return
        room = self._line.up.room
        if room > 0 and self._unsent:
            self._line.up.send(bytes(self._unsent[:room]))
            del self._unsent[:room]
        if self._is_closing and not self._unsent:
            self._leave(None, is_reset=False)
        elif self._is_held_up is not (len(self._unsent) > _HIGH_WATER):
            self._is_held_up = not self._is_held_up
            self._loop.call_soon(self._protocol.pause_writing if self._is_held_up else self._protocol.resume_writing)

    def _leave(self, error: Exception | None, *, is_reset: bool) -> None:
        self.is_over = self._is_closing = True
        self._line.down.stop()
        self._line.up.finish("the connection was reset" if is_reset else _CLOSED, is_reset=is_reset)
        if not self._loop.is_closed():
            self._loop.call_soon(self._protocol.connection_lost, error)


__all__ = ["SimulatedLoop", "SimulatedTransport", "simulated", "simulated_loop"]
