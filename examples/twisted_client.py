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

from amqp_sansio import Pending
from amqp_sansio.client.base_driver import BaseDriver
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


class Driver(BaseDriver, Protocol):
    """The protocol of one connection; its callers wait for deferreds."""

    def __init__(self, reactor: Any, client: BaseClient[Any]) -> None:
        super().__init__(client)
        self._reactor = reactor
        self._timer: Any = None
        self.tcp: Any = None

    # Called by Twisted.

    def makeConnection(self, transport: Any) -> None:
        self.tcp = transport
        self.tcp.registerProducer(self, True)
        self.transport_opened()

    def dataReceived(self, data: bytes) -> None:
        self.received(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        text = reason.getErrorMessage()
        if text == connectionDone.getErrorMessage():
            self.received_end()
        self.transport_lost(text)

    def pauseProducing(self) -> None:
        self.pause_sending()

    stopProducing = pauseProducing

    def resumeProducing(self) -> None:
        self.resume_sending()

    # Called by the driver's turns.

    def now(self) -> float:
        return monotonic()

    def wait(self, pending: Pending[Any]) -> Deferred[None]:
        deferred: Deferred[None] = Deferred()
        if pending.waiters is not None:
            pending.waiters.append(deferred)
        return deferred

    def wake(self, waiter: Deferred[None]) -> None:
        # In a turn of its own: who is woken may call anything of the client.
        self._reactor.callLater(0, _fire, waiter)

    def give_way(self) -> Deferred[None]:
        turn: Deferred[None] = Deferred()
        self.wake(turn)
        return turn

    def turn_soon(self) -> None:
        self._reactor.callLater(0, self.turn)

    def turn_at(self, deadline: float | None) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if deadline is not None:
            self._timer = self._reactor.callLater(max(0.0, deadline - monotonic()), self.turn)

    def ring(self) -> None:
        self._reactor.callFromThread(self.turn)

    def send(self, octets: bytes) -> None:
        self.tcp.write(octets)

    def read(self, reads: bool) -> None:
        if reads:
            self.tcp.resumeProducing()
        else:
            self.tcp.pauseProducing()

    def close(self) -> None:
        self.tcp.loseConnection()

    def abort(self) -> None:
        self.tcp.abortConnection()

    def log(self, text: str, warns: bool) -> None:
        _logger.log(logging.WARNING if warns else logging.INFO, "%s", text)


def _fire(deferred: Deferred[None]) -> None:
    if not deferred.called:
        deferred.callback(None)


async def main(reactor: Any, url: str = "amqp://127.0.0.1") -> None:
    """Use a broker."""
    async with await connect(reactor, url, any_version.classic) as connection:
        await any_version.use(connection)


if __name__ == "__main__":
    react(main, sys.argv[1:])
