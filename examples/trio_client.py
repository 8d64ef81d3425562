"""A client for trio: the pure client of `amqp_sansio.client`, and a driver that moves its octets and tells it the time.

Run it with `python -m examples.trio_client [URL]`: it sends itself three messages.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

import trio

from amqp_sansio import Pending
from amqp_sansio.client.base_driver import BaseDriver
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.uri import parse
from examples import any_version

_C = TypeVar("_C")
READ_SIZE = 65536
_logger = logging.getLogger("trio_client")


async def connect(
    nursery: trio.Nursery, url: str, make: Callable[..., tuple[BaseClient[Any], _C]], **options: Any
) -> _C:
    """Connect to a broker, and return its connection when it is open; the tasks of the connection run in `nursery`.

    `make` is the version's function in `any_version`, `options` are fields of its `Config`. Raises OSError or
    TooSlowError if there is no transport, EndpointClosed if the server refuses.
    """
    uri = parse(url)
    client, connection = make(uri, **options)
    with trio.fail_after(uri.connection_timeout or client.config.handshake_timeout):
        stream = await trio.open_tcp_stream(uri.host, uri.port)
    driver = Driver(client, stream)
    driver.transport_opened()
    nursery.start_soon(driver.run)
    try:
        await client.result(client.opened)
    except BaseException:
        driver.abort()
        raise
    return connection


class Driver(BaseDriver):
    """Three tasks of one connection: one reads, one writes, one takes the turns."""

    send_size = READ_SIZE

    def __init__(self, client: BaseClient[Any], stream: trio.abc.Stream) -> None:
        super().__init__(client)
        self._stream = stream
        self._token = trio.lowlevel.current_trio_token()
        self._tasks = trio.CancelScope()
        self._timer = trio.CancelScope()
        self._due = trio.Event()
        self._may_read = trio.Event()
        self._may_read.set()
        self._has_octets = trio.Event()
        self._octets = b""
        self._closes = False
        self._reason = "the transport was closed"

    async def run(self) -> None:
        try:
            with self._tasks:
                async with trio.open_nursery() as nursery:
                    for task in (self._read, self._write, self._take_turns):
                        nursery.start_soon(task)
        finally:
            self.transport_lost(self._reason)
            await trio.aclose_forcefully(self._stream)

    async def _read(self) -> None:
        while True:
            await self._may_read.wait()
            try:
                data = await self._stream.receive_some(READ_SIZE)
            except trio.BrokenResourceError as error:
                return self._stop(str(error.__cause__ or error))
            if not data:
                self.received_end()
                return self._stop("the peer closed the transport")
            self.received(data)

    async def _write(self) -> None:
        while True:
            await self._has_octets.wait()
            self._has_octets = trio.Event()
            octets, self._octets = self._octets, b""
            try:
                await self._stream.send_all(octets)
            except trio.BrokenResourceError:
                return  # What the peer said last is still to be read, and then its end.
            if self._octets:
                continue
            if self._closes:
                return self._stop()
            self.resume_sending()

    async def _take_turns(self) -> None:
        while True:
            with self._timer:
                await self._due.wait()
            self._due = trio.Event()
            self._timer = trio.CancelScope()
            self.turn()

    def _stop(self, reason: str = "") -> None:
        self._reason = reason or self._reason
        self._tasks.cancel()

    # Called by the driver's turns.

    def now(self) -> float:
        return trio.current_time()

    def wait(self, pending: Pending[Any]) -> Awaitable[None]:
        event = trio.Event()
        if pending.waiters is not None:
            pending.waiters.append(event)
        return event.wait()

    def wake(self, waiter: trio.Event) -> None:
        waiter.set()

    def give_way(self) -> Awaitable[None]:
        return trio.lowlevel.checkpoint()

    def turn_soon(self) -> None:
        self._due.set()

    def turn_at(self, deadline: float | None) -> None:
        self._timer.deadline = inf if deadline is None else deadline

    def ring(self) -> None:
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self.turn_soon)

    def send(self, octets: bytes) -> None:
        self._octets += octets
        self._has_octets.set()
        self.pause_sending()

    def read(self, reads: bool) -> None:
        if reads:
            self._may_read.set()
        else:
            self._may_read = trio.Event()

    def close(self) -> None:
        self._closes = True
        self._has_octets.set()

    def abort(self) -> None:
        self._stop()

    def log(self, text: str, warns: bool) -> None:
        _logger.log(logging.WARNING if warns else logging.INFO, "%s", text)


async def main(url: str) -> None:
    """Use a broker."""
    async with trio.open_nursery() as nursery, await connect(nursery, url, any_version.classic) as connection:
        await any_version.use(connection)


if __name__ == "__main__":
    trio.run(main, sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1")
