"""One hostile server against a client of the asyncio adapter, in memory, on the event loop of a simulated world.

`run(seed)` raises AssertionError for an exception that isn't documented, for a call that waits beyond its timeout, and
for what is left behind. Nothing sleeps: the clock jumps to the next thing that is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from inspect import isawaitable
from typing import Any, Final

from amqp_sansio import EndpointClosed
from amqp_sansio.testing.simulate import Process, World
from amqp_sansio_asyncio import Consumer, connect
from amqp_sansio_asyncio.simulated import SimulatedLoop
from tests.kit.hostile_program import Program
from tests.kit.hostile_servers import Act, Deafen, End, HostileServer, Send, Wait

HANDSHAKE: Final = 5.0
CLOSE: Final = 2.0
CALL: Final = 4.0
"""Seconds that the client gives each call."""
LATENCY: Final = 0.01
"""Seconds until the server hears: who talks without end must not stop the time."""
ROUNDS: Final = 50_000
"""Turns of the event loop, after which it's said to turn for ever."""
DOCUMENTED: Final[tuple[type[Exception], ...]] = (EndpointClosed, TimeoutError)
"""What any call of an open connection may raise; the timeout is the test's own."""
CONNECTING: Final = (EndpointClosed, OSError)


class _BoundedLoop(SimulatedLoop):
    """An event loop of a simulated world that doesn't turn for ever."""

    turns = 0

    def select(self, timeout: float | None) -> list[Any]:
        self.turns += 1
        assert self.turns < ROUNDS, "the event loop turns for ever"
        return super().select(timeout)


def run_main(main: Coroutine[Any, Any, None]) -> None:
    """Run a program in a world of its own. Raises RuntimeError if it waits for ever, AssertionError if it turns so."""
    with World() as world:

        def loop() -> _BoundedLoop:
            return _BoundedLoop(Process(world, "client"), is_hosted=False)

        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(main)


class Line(asyncio.Transport):
    """A transport whose other end is a hostile server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol, server: HostileServer) -> None:
        super().__init__({"sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)})
        self._loop = loop
        self._protocol = protocol
        self._server = server
        self._acts: deque[Act] = deque()
        self._going = False
        self._paused = False
        self._ended = False
        self._deaf = False
        self._closing = False
        self._unread = 0
        self._under_way = bytearray()
        self._full = False

    def start(self) -> None:
        """The connection is there."""
        self._protocol.connection_made(self)
        self._take(self._server.connected(self._loop.time()))

    def deafen(self) -> None:
        """The server reads no more."""
        self._deaf = True

    # What the driver calls.

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self._ended, "something is written behind the end"
        assert data
        if self._deaf:
            self._unread += len(data)
            if self._unread > 65_536 and not self._full:
                self._full = True
                self._protocol.pause_writing()
            return
        if not self._under_way:
            self._loop.call_later(LATENCY, self._hear)
        self._under_way += data

    def is_closing(self) -> bool:
        return self._closing

    def can_write_eof(self) -> bool:
        return True

    def pause_reading(self) -> None:
        assert not self._paused, "it's paused already"
        self._paused = True

    def resume_reading(self) -> None:
        assert self._paused, "it isn't paused"
        self._paused = False
        self._go_on()

    def is_reading(self) -> bool:
        return not self._paused

    def get_write_buffer_size(self) -> int:
        return self._unread

    def close(self) -> None:
        # What the server doesn't read is waited for, as sockets do.
        self._closing = True
        if not self._unread:
            self._end(None)

    def abort(self) -> None:
        self._end(None)

    # The server.

    def _hear(self) -> None:
        data = bytes(self._under_way)
        self._under_way.clear()
        if not (self._ended or self._deaf):
            self._take(self._server.received(data, self._loop.time()))

    def _take(self, acts: list[Act]) -> None:
        self._acts += acts
        self._go_on()

    def _go_on(self) -> None:
        if not self._going and self._acts and not (self._paused or self._closing):
            self._going = True
            self._loop.call_soon(self._act)

    def _act(self) -> None:
        self._going = False
        if self._closing or self._paused:
            return
        act = self._acts.popleft()
        if isinstance(act, Send):
            if act.octets:
                self._protocol.data_received(act.octets)
        elif isinstance(act, Wait):
            self._going = True
            self._loop.call_later(act.seconds, self._act_again)
            return
        elif isinstance(act, Deafen):
            self.deafen()
        else:
            self._end_of_stream(act)
        self._go_on()

    def _act_again(self) -> None:
        self._going = False
        self._take(self._server.received(b"", self._loop.time()))

    def _end_of_stream(self, end: End) -> None:
        if end.reset:
            self._end(ConnectionResetError("reset by the server"))
        elif not self._protocol.eof_received():
            self.close()

    def _end(self, error: Exception | None) -> None:
        self._closing = True
        if not self._ended:
            self._ended = True
            self._loop.call_soon(self._protocol.connection_lost, error)


class Attempt:
    """One client program against one server; `notes` say how far it came."""

    def __init__(self, server: HostileServer) -> None:
        self.server = server
        self.line: Line | None = None
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.drivers: list[Any] = []

    async def connector(self, factory: Callable[[], asyncio.Protocol]) -> None:
        """Connect a client."""
        protocol = factory()
        self.drivers.append(protocol)
        self.line = Line(asyncio.get_running_loop(), protocol, self.server)
        self.line.start()

    async def connect(self) -> Any:
        """Connect the client."""
        options: dict[str, Any] = {"handshake_timeout": HANDSHAKE, "close_timeout": CLOSE}
        return await connect(
            "amqp://guest:guest@server", version=self.server.version, connector=self.connector, **options
        )

    async def main(self) -> None:
        """Connect, use the connection, and close it."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.problems.append(repr(context)))
        begun = loop.time()
        try:
            connection = await self.connect()
        except CONNECTING as error:
            self.notes.append(f"connect: {type(error).__name__}")
            assert loop.time() - begun <= 2 * HANDSHAKE + CLOSE + 1, "connect takes too long"
        else:
            try:
                await self._use(connection)
            finally:
                begun = loop.time()
                report = await connection.close()
                assert loop.time() - begun <= CLOSE + 0.001, "close takes too long"
            assert report is connection.report
            assert not connection.is_open
        (driver,) = self.drivers
        assert driver.lost.done(), "the transport is left behind"
        waiting = getattr(driver, "waiting", None) or getattr(driver.core, "_waiting", None)
        assert not waiting, f"somebody waits still: {waiting}"
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not others, others
        assert not self.problems, self.problems

    async def _use(self, connection: Any) -> None:
        steps = Program(self.server.version, self.notes, 1.0).steps(connection)
        result: Any = None
        while True:
            try:
                what, call = steps.send(result)
            except StopIteration:
                return
            result = await self._step(what, call)

    async def _step(self, what: str, call: Callable[[], Any]) -> Any:
        """Do one thing, for CALL seconds at most."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        ended = (StopAsyncIteration,) if what == "next" else ()
        try:
            async with asyncio.timeout(CALL):
                result = call()
                if isinstance(result, Consumer):
                    await result.start()
                elif isawaitable(result):
                    result = await result
        except (*DOCUMENTED, *ended) as error:
            self.notes.append(f"{what}: {type(error).__name__}")
            result = None
        else:
            self.notes.append(what)
        assert loop.time() - begun <= CALL + CLOSE + 0.001, f"{what} takes too long"
        return result


def run(seed: int) -> list[str]:
    """Play one script; how far the client came. Raises AssertionError."""
    attempt = Attempt(HostileServer(seed))
    logger = logging.getLogger("amqp_sansio_asyncio")
    before, logger.disabled = logger.disabled, True
    try:
        run_main(attempt.main())
    except BaseException as error:
        told = f"seed {seed}, {attempt.server.version.label}, {attempt.server.attacks}, {attempt.notes}"
        raise AssertionError(f"{told}: {error!r}") from error
    finally:
        logger.disabled = before
    return attempt.notes


__all__ = ["CLOSE", "Attempt", "Line", "run", "run_main"]
