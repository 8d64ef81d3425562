"""Arrivals: connections whose clients haven't logged in, bounded in number and, behind TLS, by time.

A TLS handshake that isn't ended holds some hundred KiB, and nobody knows yet who it is for. So the handshake begins
here, where the transport below it is known and can be cut off. Here, too, a client's first octets tell whether it wants
AMQP or a WebSocket with AMQP in it: one port takes both.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, cast

from amqp_sansio.websocket import WebSocketError, asks_for_websocket, server_stream

from .websocket import Carrier

if TYPE_CHECKING:
    import ssl as ssl_module

    from amqp_sansio.websocket import WebSocketStream

_logger = logging.getLogger("amqp_sansio_asyncio")

UNOPENED: Final = 1024
"""Connections of a server (`serve`) that may be logging in at the same time."""

HANDSHAKE: Final = 10.0
"""Seconds that a TLS handshake may take, at most `Config.handshake_timeout`: it goes a few times to and fro."""


class Arrivals:
    """The connections of a server that aren't open yet, the oldest first, at most `most`.

    One more cuts off the oldest: a client that means it has logged in long before, and those who only occupy places
    lose them.
    """

    def __init__(
        self,
        most: int,
        make: Callable[[Entrance, asyncio.Transport], Entrant | None],
        *,
        ssl: ssl_module.SSLContext | None = None,
        handshake_timeout: float = 30.0,
        close_timeout: float = 10.0,
        origins: Collection[str] = (),
    ) -> None:
        self.make = make
        """Makes the protocol of a client that has come in; None: the server has closed."""
        self.ssl = ssl
        """For TLS; None: octets are AMQP's from the first on."""
        self.handshake_timeout = handshake_timeout
        """Seconds for the handshake of TLS."""
        self.close_timeout = close_timeout
        """Seconds that the end of TLS may take."""
        self.origins = origins
        """Origins of pages that may open a WebSocket, see `amqp_sansio.websocket.server_stream`."""
        self._most = most
        """Above so many the oldest is cut off (`BrokerLimits.unopened`)."""
        self._waiting: dict[Entrance, None] = {}
        """Those that haven't logged in, the oldest first."""

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self) -> Entrance:
        """Return the protocol of a new connection."""
        return Entrance(self)

    def add(self, entrance: Entrance) -> None:
        """Add a connection."""
        if len(self._waiting) >= self._most:
            oldest = next(iter(self._waiting))
            _logger.warning("%d connections haven't logged in: the oldest is cut off", len(self._waiting))
            oldest.cut()
        self._waiting[entrance] = None

    def discard(self, entrance: Entrance) -> None:
        """Remove a connection that is open, or gone."""
        self._waiting.pop(entrance, None)

    def close(self) -> None:
        """Cut off those that nobody else knows of: behind TLS, before the end of their handshake."""
        for entrance in list(self._waiting):
            if not entrance.is_inside:
                entrance.cut()


class Entrant(asyncio.Protocol):
    """The protocol of a connection that has come in."""

    def transport_changed(self, transport: asyncio.Transport) -> None:
        """Use this transport from now on: it is inside the one before, on which nothing was sent yet."""
        raise NotImplementedError


class Entrance(asyncio.Protocol):
    """The protocol of a transport until its TLS handshake has ended and its first octets are there; `Arrivals.make`
    gives the one of the connection, which knows the transport as soon as it is secure.
    """

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        """Where it counts until its client has logged in."""
        self._transport: asyncio.Transport | None = None
        """The one below TLS, which can be cut off at any time."""
        self._inner: asyncio.Transport | None = None
        """The transport above TLS."""
        self._handshake: asyncio.Task[None] | None = None
        """The task of TLS, kept so that it isn't collected."""
        self._following: Entrant | None = None
        """The protocol that takes the transport over; None before."""
        self._early = bytearray()
        """Octets that came before the next protocol had the transport."""
        self._has_ended = False
        """Whether the client's stream ended before that."""
        self._is_lost = False
        """Whether the transport was lost before that."""

    @property
    def is_inside(self) -> bool:
        """Whether the next protocol has the transport."""
        return self._following is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Custom transports need not derive from asyncio's class.
        made = cast(asyncio.Transport, transport)
        self._transport = made
        self._arrivals.add(self)
        if self._arrivals.ssl is None:
            self._pass_on(made)
        else:
            made.pause_reading()
            self._handshake = asyncio.get_running_loop().create_task(self._secure(made, self._arrivals.ssl))

    def data_received(self, data: bytes) -> None:
        # Some may come with the end of the TLS handshake, before there is anybody to take them.
        self._early += data
        if self._following is not None:
            self._decide(self._following)

    def eof_received(self) -> bool | None:
        self._has_ended = True
        if self._following is None:
            return None
        self._give(self._following)
        return self._following.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self.leave()
        if self._following is not None:
            self._following.connection_lost(exc)

    def pause_writing(self) -> None:
        if self._following is not None:
            self._following.pause_writing()

    def resume_writing(self) -> None:
        if self._following is not None:
            self._following.resume_writing()

    def leave(self) -> None:
        """Give up its place: the connection is open, or gone."""
        self._arrivals.discard(self)

    def cut(self) -> None:
        """End the transport, and whatever is above it."""
        self.leave()
        if self._transport is not None:
            self._transport.abort()

    async def _secure(self, transport: asyncio.Transport, context: ssl_module.SSLContext) -> None:
        arrivals = self._arrivals
        try:
            secure = await asyncio.get_running_loop().start_tls(
                transport,
                self,
                context,
                server_side=True,
                ssl_handshake_timeout=arrivals.handshake_timeout,
                ssl_shutdown_timeout=arrivals.close_timeout,
            )
        except (OSError, asyncio.CancelledError) as error:
            # The client left, or speaks no TLS (ssl.SSLError), or took too long.
            _logger.debug("a TLS handshake failed: %s", error)
            self.cut()
            return
        if secure is None or self._is_lost:
            self.cut()
        else:
            self._pass_on(secure)

    def _pass_on(self, transport: asyncio.Transport) -> None:
        following = self._arrivals.make(self, transport)
        if following is None:
            self.cut()
            return
        self._following = following
        self._inner = transport
        following.connection_made(transport)
        if self._early:
            self._decide(following)
        if self._has_ended and not following.eof_received():
            transport.close()

    def _decide(self, following: Entrant) -> None:
        """Give the transport to the connection, or to a WebSocket around it, once it is known which one."""
        wants = asks_for_websocket(bytes(self._early))
        if wants is None:
            return
        stream = _stream(self._arrivals.origins) if wants else None
        if stream is None:
            self._give(following)
            return
        assert self._inner is not None
        carrier = Carrier(stream, following, close_timeout=self._arrivals.close_timeout)
        carrier.adopt(self._inner)
        following.transport_changed(carrier)
        carrier.data_received(self._taken())

    def _give(self, following: Entrant) -> None:
        assert self._inner is not None
        self._inner.set_protocol(following)
        early = self._taken()
        if early:
            following.data_received(early)

    def _taken(self) -> bytes:
        early = bytes(self._early)
        self._early.clear()
        return early


def _stream(origins: Collection[str]) -> WebSocketStream | None:
    """Return a server's end of a WebSocket, None without the library for it."""
    try:
        return server_stream(origins)
    except WebSocketError as error:
        _logger.warning("a client asks for a WebSocket: %s", error)
        return None


__all__ = ["HANDSHAKE", "UNOPENED", "Arrivals", "Entrance", "Entrant"]
