"""Carrier: a WebSocket between an asyncio transport and the protocol of a connection, for both ends.

To the transport below it is a protocol, to the protocol above it a transport, so that drivers know nothing of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from amqp_sansio.uri import AmqpUri
    from amqp_sansio.websocket import WebSocketStream

_logger = logging.getLogger("amqp_sansio_asyncio")


class Carrier(asyncio.Transport, asyncio.Protocol):
    """Carries the octets of `following` in the WebSocket `stream`.

    A client's begins with the transport, asks for the WebSocket, and has `opened` done when the server has agreed, or
    failed with an OSError. A server's is `adopt`ed with a transport that a connection has already.
    """

    def __init__(
        self,
        stream: WebSocketStream,
        following: asyncio.BaseProtocol,
        *,
        close_timeout: float,
        opened: asyncio.Future[None] | None = None,
        shown: str = "",
    ) -> None:
        super().__init__()
        self._stream = stream
        """Makes frames of octets and octets of frames; it says when either side has ended the WebSocket."""
        self._following = cast(asyncio.Protocol, following)
        """What gets the octets inside; `set_protocol` puts another in its place."""
        self._close_timeout = close_timeout
        """Seconds that the other side has to say its end before the transport is cut."""
        self.opened = opened
        """Client: done once the server has agreed, failed when it didn't; None: a server's end, which is open at
        once."""
        self._shown = shown
        """The URI that was asked for, to name it in an error."""
        self._raw: asyncio.Transport | None = None
        """What carries the frames; None until the connection is made."""
        self._is_joined = opened is None
        """Whether `following` has been told of its transport."""
        self._is_closing = False
        """Set once, by whichever is first: our own close or abort, or the other side's end; no octets are passed on
        then."""
        self._is_ended = False
        """Whether `following` has been told of the end of the stream."""
        self._write_paused = False
        """Between the transport's calls of `pause_writing` and `resume_writing`: pongs wait meanwhile."""
        self._timer: asyncio.TimerHandle | None = None
        """Cuts the transport when `_close_timeout` is over; set when we say our end, cancelled when the transport is
        gone."""

    # The protocol of the transport below.

    def adopt(self, transport: asyncio.Transport) -> None:
        """Server: take over a transport."""
        self._raw = transport
        transport.set_protocol(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = cast(asyncio.Transport, transport)
        self._put()

    def data_received(self, data: bytes) -> None:
        octets = self._stream.receive_data(data)
        if not self._is_joined and self._stream.is_open:
            self._is_joined = True
            self._following.connection_made(self)
            if self.opened is not None and not self.opened.done():
                self.opened.set_result(None)
        self._put()
        if octets and not self._is_ended and not self._is_closing:
            self._following.data_received(octets)
        if self._stream.is_over:
            self._end()

    def eof_received(self) -> bool | None:
        self._stream.receive_eof()
        self._end()
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._refuse(str(exc or "the transport was closed"))
        if self._is_joined:
            self._following.connection_lost(exc)

    def pause_writing(self) -> None:
        self._write_paused = True
        if self._is_joined:
            self._following.pause_writing()

    def resume_writing(self) -> None:
        self._write_paused = False
        self._put()
        if self._is_joined:
            self._following.resume_writing()

    # The transport of the protocol above.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport below knows; "websocket" is the `WebSocketStream`."""
        if name == "websocket":
            return self._stream
        return default if self._raw is None else self._raw.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._following = cast(asyncio.Protocol, protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._following

    def is_closing(self) -> bool:
        return self._is_closing or self._raw is None or self._raw.is_closing()

    def close(self) -> None:
        """Say the end, and close the transport when the other side has said its own, or after `close_timeout`."""
        if self._is_closing:
            return
        self._is_closing = True
        self._say_end()
        if self._raw is not None and (self._stream.is_over or not self._is_joined):
            self._raw.close()

    def abort(self) -> None:
        self._is_closing = True
        if self._raw is not None:
            self._raw.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._stream.send(bytes(data))
        self._put()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._say_end()

    def pause_reading(self) -> None:
        if self._raw is not None:
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        if self._raw is not None:
            self._raw.resume_reading()

    def is_reading(self) -> bool:
        return self._raw is not None and self._raw.is_reading()

    def get_write_buffer_size(self) -> int:
        return 0 if self._raw is None else self._raw.get_write_buffer_size()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (0, 0) if self._raw is None else self._raw.get_write_buffer_limits()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._raw is not None:
            self._raw.set_write_buffer_limits(high, low)

    # Internals.

    def _put(self) -> None:
        """Write what the WebSocket has to say. Pongs wait while the transport is full, the stream's octets don't."""
        raw = self._raw
        if raw is None or raw.is_closing():
            return
        if self._stream.has_data and not (self._write_paused and self._stream.only_answers):
            raw.write(self._stream.data_to_send())
        if self._stream.wants_close:
            raw.close()

    def _say_end(self) -> None:
        self._stream.end()
        self._put()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._close_timeout, self.abort)

    def _end(self) -> None:
        """The other side has said its end, or there is no WebSocket."""
        if self._is_ended:
            return
        self._is_ended = True
        failure = self._stream.failure
        if failure:
            self._refuse(failure)
            if self._is_joined:
                _logger.info("%s the WebSocket ended: %s", self.get_extra_info("peername"), failure)
        self._put()
        # A transport that was closed tells of no end, as asyncio's own don't.
        if self._is_joined and not self._is_closing and self._following.eof_received():
            return
        self._is_closing = True
        if self._raw is not None:
            self._raw.close()

    def _refuse(self, text: str) -> None:
        if self.opened is not None and not self.opened.done():
            self.opened.set_exception(ConnectionRefusedError(f"no WebSocket at {self._shown}: {text}"))


async def connect_inside(
    uri: AmqpUri,
    protocol: asyncio.BaseProtocol,
    close_timeout: float,
    open_transport: Callable[[Callable[[], asyncio.Protocol]], Any],
) -> None:
    """Open a transport, and on it a WebSocket with a connection in it. Raises OSError, and WebSocketError without the
    library."""
    from amqp_sansio.websocket import client_stream

    opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    carrier = Carrier(client_stream(uri), protocol, close_timeout=close_timeout, opened=opened, shown=str(uri))
    try:
        await open_transport(lambda: carrier)
        await opened
    except BaseException:
        carrier.abort()
        if opened.done() and not opened.cancelled():
            opened.exception()  # Prevents asyncio's warning about an exception never retrieved.
        raise


__all__ = ["Carrier", "connect_inside"]
