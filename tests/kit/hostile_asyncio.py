"""One hostile server against a client of the asyncio adapter, on the event loop of a simulated world.

`run(seed)` raises AssertionError for an exception that isn't documented, for a call that waits beyond its timeout, and
for what is left behind. Nothing sleeps: the clock jumps to the next thing that is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from inspect import isawaitable
from typing import Any, Final

from amqp_sansio import EndpointClosed
from amqp_sansio.testing.simulate import Process, World
from amqp_sansio_asyncio import Consumer, connect
from amqp_sansio_asyncio.simulated import SimulatedLoop
from tests.kit.hostile_program import Program
from tests.kit.hostile_servers import HostileServer
from tests.kit.hostile_world import WorldEnd

HANDSHAKE: Final = 5.0
CLOSE: Final = 2.0
CALL: Final = 4.0
"""Seconds that the client gives each call."""
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


class Attempt:
    """One client program against one server; `notes` say how far it came."""

    def __init__(self, server: HostileServer) -> None:
        self.server = server
        self.end: WorldEnd | None = None
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.drivers: list[Any] = []

    async def connector(self, factory: Callable[[], asyncio.Protocol]) -> None:
        """Connect a client, and note its protocol."""

        def noted() -> asyncio.Protocol:
            protocol = factory()
            self.drivers.append(protocol)
            return protocol

        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        assert isinstance(loop.process.world, World)
        self.end = WorldEnd(loop.process.world, self.server)
        await loop.create_connection(noted, "127.0.0.1", self.end.port)

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


__all__ = ["CLOSE", "Attempt", "run", "run_main"]
