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

from amqp_sansio import CloseHint, Pending, Signal
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
    nursery.start_soon(driver.run)
    try:
        await client.result(client.opened)
    except BaseException:
        driver.stop()
        raise
    return connection


class Driver:
    """Three tasks of one connection: one reads, one writes, one keeps the time."""

    congested = False  # The client bounds its own backlog.

    def __init__(self, client: BaseClient[Any], stream: trio.abc.Stream) -> None:
        self._client = client
        self._stream = stream
        self._token = trio.lowlevel.current_trio_token()
        self._scope = trio.CancelScope()
        self._octets, self._room, self._earlier = trio.Event(), trio.Event(), trio.Event()
        self._armed = inf
        self._is_sending = False
        self._taken = b""
        self._reason = "the transport was closed"
        client.attach(self)

    async def run(self) -> None:
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    for task in (self._read, self._write, self._keep_time):
                        nursery.start_soon(task)
                    self._turn()
        finally:
            self._client.connection_lost(self._reason, trio.current_time())
            self._turn()
            self._client.transport_ended(self._reason)
            self._wake()
            await trio.aclose_forcefully(self._stream)

    def stop(self, reason: str = "") -> None:
        self._reason = reason or self._reason
        self._scope.cancel()

    def wait(self, pending: Pending[Any]) -> Awaitable[None]:
        event = trio.Event()
        if pending.waiters is not None:
            pending.waiters.append(event)
        return event.wait()

    def flush_soon(self) -> None:
        self._octets.set()
        if self._is_sending:
            self._client.start_timers(trio.current_time())
            self._arm()

    flush_later = flush_soon

    def close_soon(self) -> None:
        self._taken += self._client.data_to_send(trio.current_time())
        self.flush_soon()

    async def pace(self) -> None:
        if not self._is_sending:
            self._octets.set()
            await trio.lowlevel.checkpoint()

    def reading_changed(self) -> None:
        self._room.set()

    def ring(self) -> None:
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._take_dropped)

    async def _read(self) -> None:
        client = self._client
        while True:
            if not client.receive_budget:
                await self._room.wait()
                self._room = trio.Event()
                # The peer couldn't be heard meanwhile, so its silence starts anew.
                client.receive_data(b"", trio.current_time())
                continue
            try:
                data = await self._stream.receive_some(min(client.receive_budget, READ_SIZE))
            except trio.BrokenResourceError as error:
                return self.stop(str(error.__cause__ or error))
            if not data:
                client.receive_eof(trio.current_time())
                self._turn()
                return self.stop("the peer closed the transport")
            client.receive_data(data, trio.current_time())
            self._turn()

    async def _write(self) -> None:
        client = self._client
        while True:
            await self._octets.wait()
            self._octets = trio.Event()
            while data := self._taken or client.data_to_send(trio.current_time(), READ_SIZE):
                self._taken = b""
                self._wake()
                self._arm()
                self._is_sending = True
                try:
                    await self._stream.send_all(data)
                except trio.BrokenResourceError:
                    await trio.sleep_forever()  # What the peer said last is still to be read, and then its end.
                finally:
                    self._is_sending = False
            self._wake()
            self._arm()
            if client.close_hint is not CloseHint.KEEP:
                return self.stop()

    async def _keep_time(self) -> None:
        while True:
            deadline = self._client.next_deadline
            self._armed = inf if deadline is None else deadline
            with trio.move_on_at(self._armed):
                await self._earlier.wait()
                self._earlier = trio.Event()
                continue
            self._client.handle_timeout(trio.current_time())
            self._turn()

    def _turn(self) -> None:
        """Take events, wake those who wait for what happened, and have octets written."""
        while not isinstance(event := self._client.next_event(), Signal):
            text = self._client.untaken(event)
            if text:
                _logger.warning("%s", text)
        self._wake()
        if self._client.close_hint is CloseHint.CLOSE_NOW:
            self.stop()
        self._octets.set()
        self._arm()

    def _wake(self) -> None:
        for pending in self._client.completed():
            for event in pending.waiters or ():
                event.set()

    def _arm(self) -> None:
        deadline = self._client.next_deadline
        if deadline is not None and deadline < self._armed:
            self._earlier.set()

    def _take_dropped(self) -> None:
        self._client.take_dropped()
        self._wake()


async def main(url: str) -> None:
    """Use a broker."""
    async with trio.open_nursery() as nursery, await connect(nursery, url, any_version.classic) as connection:
        await any_version.use(connection)


if __name__ == "__main__":
    trio.run(main, sys.argv[1] if len(sys.argv) > 1 else "amqp://127.0.0.1")
