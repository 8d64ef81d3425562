"""One hostile server against a client of the asyncio adapter, in memory, on an event loop whose time is made up.

`run(seed)` raises AssertionError for an exception that isn't documented, for a call that waits beyond its timeout, and
for what is left behind. Nothing sleeps: the clock jumps to the next thing that is due.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from amqp_sansio import AMQP_0_8, AMQP_0_10, AMQP_1_0, CodecError, EndpointClosed
from amqp_sansio.amqp_0_10 import QueueDeclare as TenQueueDeclare
from amqp_sansio_asyncio import connect
from tests.kit.hostile_servers import Act, Deafen, End, HostileServer, Send, Wait

_T = TypeVar("_T")

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


class _NoWaiting(selectors.DefaultSelector):
    """Waits for nothing: the time passes that it should have waited."""

    now = 0.0
    turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.turns += 1
        assert self.turns < ROUNDS, "the event loop turns for ever"
        found = super().select(0)
        if not found:
            assert timeout is not None, "nothing is due any more, and somebody waits: that's for ever"
            self.now += max(timeout, 0.0)
        return found


class MadeUpTime(asyncio.SelectorEventLoop):
    """An event loop in which no time is lost."""

    def __init__(self) -> None:
        self._made_up = _NoWaiting()
        super().__init__(self._made_up)

    def time(self) -> float:
        return self._made_up.now


class Line(asyncio.Transport):
    """A transport whose other end is a hostile server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol, server: HostileServer) -> None:
        super().__init__({"sockname": ("127.0.0.1", 1), "peername": ("127.0.0.1", 2)})
        self._loop = loop
        self._protocol = protocol
        self._server = server
        self._acts: deque[Act] = deque()
        self._going = self._paused = self._ended = self._deaf = self._closing = False
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
        server = self.server
        begun = loop.time()
        try:
            connection = await self.connect()
        except CONNECTING as error:
            self.notes.append(f"connect: {type(error).__name__}")
            assert loop.time() - begun <= 2 * HANDSHAKE + CLOSE + 1, "connect takes too long"
        else:
            program = {AMQP_1_0: self._one, AMQP_0_10: self._ten}.get(server.version, self._classic)
            try:
                await program(connection)
            finally:
                begun = loop.time()
                report = await connection.close()
                assert loop.time() - begun <= CLOSE + 0.001, "close takes too long"
            assert report is connection.report
            assert not connection.is_open
        (driver,) = self.drivers
        assert driver.lost.done(), "the transport is left behind"
        assert not driver.waiting, f"somebody waits still: {driver.waiting}"
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not others, others
        assert not self.problems, self.problems

    async def step(self, what: str, call: Awaitable[_T], *more: type[Exception]) -> _T | None:
        """Do one thing, for CALL seconds at most."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            async with asyncio.timeout(CALL):
                result = await call
        except (*DOCUMENTED, *more) as error:
            self.notes.append(f"{what}: {type(error).__name__}")
            result = None
        else:
            self.notes.append(what)
        assert loop.time() - begun <= CALL + CLOSE + 0.001, f"{what} takes too long"
        return result

    async def _settle(self, source: Any, what: str) -> None:
        for _ in range(3):
            delivery = await self.step(what, _next(source), StopAsyncIteration)
            if delivery is None:
                return
            try:
                repr((delivery, delivery.body, _headers(delivery)))
            except CodecError:
                self.notes.append("damaged")
            await self.step("accept", delivery.accept())

    async def _classic(self, connection: Any) -> None:
        old = self.server.version is AMQP_0_8
        events = connection.events()
        channel = await self.step("open", _opened(connection.open_channel(confirm=not old)))
        if channel is None:
            return
        named = connection.core.dialect.named
        await self.step("declare", channel.call(named["queue.declare"](queue="jobs")))
        for body in (b"1", b"2" * 300):
            await self.step("publish", channel.publish(body, routing_key="jobs", mandatory=True))
        consumer = channel.consume("jobs", prefetch=2)
        if await self.step("consume", _started(consumer)):
            await self._settle(consumer, "next")
        await self.step("cancel", consumer.close())
        await self.step("get", channel.get("jobs"))
        await self.step("close", channel.close())
        events.close()

    async def _ten(self, connection: Any) -> None:
        session = await self.step("open", _opened(connection.open_session("s", timeout=5)))
        if session is None:
            return
        await self.step("declare", session.call(TenQueueDeclare(queue="jobs")))
        for body in (b"1", b"2" * 300):
            await self.step("publish", session.publish(body, routing_key="jobs"))
        subscription = await self.step("subscribe", _opened(session.subscribe("jobs", credit=2)))
        if subscription is not None:
            await self._settle(subscription, "next")
            await self.step("fetch", subscription.fetch(timeout=1.0))
            await self.step("cancel", subscription.close())
        await self.step("sync", session.sync())
        await self.step("close", session.close())

    async def _one(self, connection: Any) -> None:
        session = await self.step("open", _opened(connection.open_session()))
        if session is None:
            return
        sender = await self.step("sender", _opened(session.open_sender("jobs")))
        if sender is not None:
            for body in (b"1", b"2" * 300):
                await self.step("send", sender.send(body))
        receiver = await self.step("receiver", _opened(session.open_receiver("jobs", credit=2)))
        if receiver is not None:
            await self._settle(receiver, "next")
            await self.step("fetch", receiver.fetch(timeout=1.0))
            await self.step("close", receiver.close())
        await self.step("close", session.close())


async def _next(source: Any) -> Any:
    return await anext(source)


async def _opened(opening: Any) -> Any:
    return await opening


async def _started(consumer: Any) -> bool:
    await consumer.start()
    return True


def _headers(delivery: Any) -> object:
    for name in ("properties", "headers", "message"):
        found = getattr(delivery, name, None)
        if found is not None:
            return repr(found)
    return None


def run(seed: int) -> list[str]:
    """Play one script; how far the client came. Raises AssertionError."""
    attempt = Attempt(HostileServer(seed))
    logger = logging.getLogger("amqp_sansio_asyncio")
    before, logger.disabled = logger.disabled, True
    try:
        with asyncio.Runner(loop_factory=MadeUpTime) as runner:
            runner.run(attempt.main())
    except BaseException as error:
        told = f"seed {seed}, {attempt.server.version.label}, {attempt.server.attacks}, {attempt.notes}"
        raise AssertionError(f"{told}: {error!r}") from error
    finally:
        logger.disabled = before
    return attempt.notes


__all__ = ["CLOSE", "Attempt", "Line", "MadeUpTime", "run"]
