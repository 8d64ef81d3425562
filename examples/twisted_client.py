"""A client for Twisted: the pure client of `amqp_sansio.client`, and a protocol that moves its octets.

Run it with `python -m examples.twisted_client [URL]`: it sends itself three messages.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.task import react
from twisted.python.failure import Failure

from amqp_sansio import CloseHint, Pending, Signal
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.uri import parse
from examples import any_version

_C = TypeVar("_C")
_logger = logging.getLogger("twisted_client")


async def connect(reactor: Any, url: str, make: Callable[..., tuple[BaseClient[Any], _C]], **options: Any) -> _C:
    """Connect to a broker, and return its connection when it is open. Await it in a coroutine of `ensureDeferred`.

    `make` is the version's function in `any_version`, `options` are fields of its `Config`. Raises Twisted's
    ConnectError if there is no transport, EndpointClosed if the server refuses.
    """
    uri = parse(url)
    client, connection = make(uri, **options)
    driver = Driver(reactor, client)
    seconds = uri.connection_timeout or client.config.handshake_timeout
    endpoint: Any = HostnameEndpoint(reactor, uri.host, uri.port, seconds)
    await endpoint.connect(_Factory(driver))
    try:
        await client.result(client.opened)
    except BaseException:
        if driver.tcp is not None:
            driver.tcp.abortConnection()
        raise
    return connection


class _Factory(Factory):
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def buildProtocol(self, addr: IAddress | None) -> Driver:
        return self._driver


class Driver(Protocol):
    """The protocol of one connection; its callers wait for deferreds."""

    congested = False  # Twisted's transports take everything, and tell to pause.

    def __init__(self, reactor: Any, client: BaseClient[Any]) -> None:
        self._reactor = reactor
        self._client = client
        self.tcp: Any = None
        self._held = b""
        self._is_reading = True
        self._can_write = True
        self._next_turn: Any = None
        self._timer: Any = None
        client.attach(self)

    def makeConnection(self, transport: Any) -> None:
        self.tcp = transport
        self.tcp.registerProducer(self, True)
        self._turn()

    def dataReceived(self, data: bytes) -> None:
        self._held += data
        self._turn()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.tcp = None
        text = reason.getErrorMessage()
        if text == connectionDone.getErrorMessage():
            self._client.receive_eof(monotonic())
        self._client.connection_lost(text, monotonic())
        self._turn()
        self._client.transport_ended(text)
        self._wake()

    def pauseProducing(self) -> None:
        self._can_write = False

    stopProducing = pauseProducing

    def resumeProducing(self) -> None:
        self._can_write = True
        self._turn()

    def wait(self, pending: Pending[Any]) -> Deferred[None]:
        deferred: Deferred[None] = Deferred()
        if pending.waiters is not None:
            pending.waiters.append(deferred)
        return deferred

    def flush_soon(self) -> None:
        if self._next_turn is None:
            self._next_turn = self._reactor.callLater(0, self._turn)

    flush_later = reading_changed = flush_soon

    async def pace(self) -> None:
        if self._can_write:
            self._write()
            turn: Deferred[None] = Deferred()
            self._reactor.callLater(0, _fire, turn)
            await turn

    def close_soon(self) -> None:
        self._write()
        self.flush_soon()

    def ring(self) -> None:
        self._reactor.callFromThread(self._turn, True)

    def _turn(self, has_dropped: bool = False) -> None:
        """Hand over octets, take events, wake those who wait for what happened, write, and set the timer."""
        client = self._client
        self._next_turn = None
        client.handle_timeout(monotonic())
        if has_dropped:
            client.take_dropped()
        while True:
            while not isinstance(event := client.next_event(), Signal):
                text = client.untaken(event)
                if text:
                    _logger.warning("%s", text)
            size = min(client.receive_budget, len(self._held))
            if not size:
                break
            client.receive_data(self._held[:size], monotonic())
            self._held = self._held[size:]
        if self._can_write:
            self._write()
        else:
            # A caller's time begins although nothing can be written.
            client.start_timers(monotonic())
        self._wake()
        if self.tcp is not None:
            self._follow(self.tcp)

    def _follow(self, tcp: Any) -> None:
        """Let the transport and the timer do what the client wants of them."""
        client = self._client
        if client.close_hint is CloseHint.CLOSE_NOW:
            tcp.abortConnection()
        elif client.close_hint is CloseHint.CLOSE_WHEN_SENT:
            self._write()
            tcp.loseConnection()
        reads = not self._held and client.receive_budget > 0
        if reads is not self._is_reading:
            self._is_reading = reads
            if reads:
                # The peer couldn't be heard meanwhile, so its silence starts anew.
                client.receive_data(b"", monotonic())
                tcp.resumeProducing()
            else:
                tcp.pauseProducing()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if client.next_deadline is not None:
            self._timer = self._reactor.callLater(max(0.0, client.next_deadline - monotonic()), self._turn)

    def _write(self) -> None:
        if self.tcp is not None:
            self.tcp.write(self._client.data_to_send(monotonic()))

    def _wake(self) -> None:
        # In a turn of their own: who is woken may call anything of the client.
        for pending in self._client.completed():
            for deferred in pending.waiters or ():
                self._reactor.callLater(0, _fire, deferred)


def _fire(deferred: Deferred[None]) -> None:
    if not deferred.called:
        deferred.callback(None)


async def main(reactor: Any, url: str = "amqp://127.0.0.1") -> None:
    """Use a broker."""
    async with await connect(reactor, url, any_version.classic) as connection:
        await any_version.use(connection)


if __name__ == "__main__":
    react(main, sys.argv[1:])
