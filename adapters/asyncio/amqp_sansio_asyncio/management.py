"""ManagementServer: RabbitMQ's management API of a served broker on a port; `amqp_sansio.broker.management` answers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from amqp_sansio.broker.management import Answer, Line, Management, Request
from amqp_sansio.broker.management.requests import LARGEST_BODY

from .http_server import HttpAnswer, HttpBounds, HttpRequest, HttpServer

if TYPE_CHECKING:
    from amqp_sansio.broker import Hub

    from .broker_driver import BrokerDriver
    from .clock import Clock

_CONNECTIONS: Final = 128
"""Most requests at a time."""
_SECONDS: Final = 30.0
"""Seconds that an answer may take; a later one becomes 503."""
_JSON: Final = {"Content-Type": "application/json", "Cache-Control": "no-cache"}


class ManagedBroker(Protocol):
    """The part of a served broker that its management uses."""

    clock: Clock

    @property
    def hub(self) -> Hub: ...

    def line(self, number: int) -> BrokerDriver: ...

    def turn_soon(self) -> None: ...


class ManagementServer:
    """Serves the management API of a broker, in its event loop, by HTTP without TLS."""

    def __init__(self, broker: ManagedBroker) -> None:
        self._broker = broker
        """The broker that is managed."""
        self._api = Management(broker.hub, self._line)
        """Answers, without I/O."""
        self._server = HttpServer(
            self._answer,
            HttpBounds(body=LARGEST_BODY, connections=_CONNECTIONS),
            hint="this is the management API of an AMQP broker, by HTTP/1.1",
        )
        """Reads and writes."""
        self.host = ""
        """The address that it listens on, the first one of several."""
        self.port = 0
        """The port that it listens on, also after closing."""

    async def start(
        self, host: str, port: int, *, sockets: Sequence[socket.socket] | None = None, allow_remote: bool = False
    ) -> None:
        """Listen. Raises OSError, and ValueError for a host that isn't a loopback address unless `allow_remote`."""
        self.port = await self._server.start(host, port, sockets=sockets, allow_remote=allow_remote)
        self.host = str(self._server.sockets[0].getsockname()[0])

    async def close(self) -> None:
        """Stop listening, and cut the connections."""
        await self._server.close()

    async def _answer(self, asked: HttpRequest) -> HttpAnswer:
        broker = self._broker
        hub = broker.hub
        work = self._api.begin(Request(asked.method, asked.target, asked.headers, asked.body))
        try:
            async with asyncio.timeout(_SECONDS):
                while True:
                    hub.now = max(hub.now, broker.clock.time())
                    answer = work.go_on()
                    broker.turn_soon()
                    if answer is not None:
                        return _http(answer)
                    # The clients, and what is left of the work, have their turn.
                    await asyncio.sleep(0)
        except TimeoutError:
            return HttpAnswer(503)
        finally:
            work.abandon()
            broker.turn_soon()

    def _line(self, number: int) -> Line:
        try:
            transport = self._broker.line(number).transport
        except KeyError:
            transport = None
        if transport is None:
            return Line("", 0, "", 0)
        ours, theirs = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        return Line(str(ours[0]), int(ours[1]), str(theirs[0]), int(theirs[1]))


def _http(answer: Answer) -> HttpAnswer:
    headers = {**answer.headers, **(_JSON if answer.has_content else {})}
    return HttpAnswer(answer.status, answer.octets, headers)


__all__ = ["ManagementServer"]
