"""Inside: the stream of a WebSocket, as a socket that doesn't block, over another one."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqp_sansio.websocket import PIECE, client_stream

from .transport import CHUNK

if TYPE_CHECKING:
    from amqp_sansio.uri import AmqpUri

    from .transport import Stream

_BLOCKED: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_TURNS: Final = 16
"""Reads of one call that bring nothing of the stream, such as pings."""


class Inside:
    """A client's end of a WebSocket over `below`, for the URL `uri`. Raises WebSocketError without the library.

    What `send` was given and couldn't write in whole is given to it again, as its caller does with all that it didn't
    take: only then does it count as taken.
    """

    __slots__ = ("_below", "_count", "_out", "_ready", "_stream", "_uri")

    def __init__(self, below: Stream, uri: AmqpUri) -> None:
        self._below = below
        """What carries the frames: a connected socket, plain or TLS, that doesn't block."""
        self._stream = client_stream(uri)
        """Makes frames of octets and octets of frames; it says when either side has ended the WebSocket."""
        self._uri = uri
        """Where the WebSocket is, to name it in an error."""
        self._out = bytearray()
        """Octets of frames that the stream below hasn't taken yet; nothing is added before they are gone."""
        self._ready = bytearray()
        """Octets that have come in frames, and that `recv` hasn't returned yet."""
        self._count = 0
        """Octets of the caller's in what isn't written yet."""

    def shake_hands(self, ready: Callable[[], object]) -> None:
        """Ask for the WebSocket, and wait until it is there; `ready` returns when `below` may be read. Raises OSError,
        ConnectionRefusedError for a server that says no.
        """
        stream = self._stream
        while True:
            try:
                self._flush()
                if stream.is_open:
                    return
                if stream.is_over:
                    raise ConnectionRefusedError(f"no WebSocket at {self._uri}: {stream.failure}")
                ready()
                self._take(self._below.recv(CHUNK))
            except TimeoutError:
                raise TimeoutError(f"no WebSocket at {self._uri}: no answer in time") from None
            except _BLOCKED:
                ready()

    @property
    def can_receive(self) -> bool:
        """Whether `recv` has octets, or an end, without the stream below."""
        return bool(self._ready) or self._stream.is_over

    def recv(self, size: int, /) -> bytes:
        """Return octets of the stream, b"" at its end. Raises OSError where there are none."""
        for _ in range(_TURNS):
            if self._ready:
                octets = bytes(self._ready[:size])
                del self._ready[:size]
                return octets
            if self._stream.is_over:
                if self._stream.failure:
                    raise ConnectionResetError(self._stream.failure)
                return b""
            self._take(self._below.recv(CHUNK))
            with suppress(*_BLOCKED):
                self._flush()
        raise BlockingIOError

    def send(self, octets: bytes | memoryview, /) -> int:
        """Write octets of the stream; return how many were taken. Raises OSError where none were."""
        if not self._count:
            piece = octets[:PIECE]
            self._stream.send(piece)
            self._count = len(piece)
        self._flush()
        count, self._count = self._count, 0
        return count

    def end(self) -> None:
        """Say the end, as far as the stream below takes it now."""
        self._stream.end()
        with suppress(OSError):
            self._flush()

    # Internals.

    def _take(self, octets: bytes) -> None:
        if octets:
            self._ready += self._stream.receive_data(octets)
        else:
            self._stream.receive_eof()

    def _flush(self) -> None:
        # No more is taken before that is written: pongs for a server that reads nothing would fill the memory.
        while self._out or self._stream.has_data:
            if not self._out:
                self._out += self._stream.data_to_send()
            del self._out[: self._below.send(bytes(self._out[:CHUNK]))]


__all__ = ["Inside"]
