"""HttpServer: a small server of HTTP/1.1 (RFC 9110, RFC 9112), a request for each connection, everything bounded.

The broker's management API, its live page and the administration of the Azure double are served by it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl as ssl_module
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NamedTuple

from .listening import Listener, listen, listen_on

_logger = logging.getLogger("amqp_sansio_asyncio")

_PHRASES: Final = {each.value: each.phrase for each in HTTPStatus}
_LONGEST_LENGTH: Final = 9
"""Digits of a body's length."""
_NO_HEADERS: Final[Mapping[str, str]] = {}
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class HttpBounds(NamedTuple):
    """Limits of a server: octets of a head and of a body, seconds for a request and for its answer, connections.

    A head or body that is larger is refused with 431 or 413; a connection that is one too many, and a client that is
    slower, are cut off.
    """

    head: int = 16_384
    body: int = 65_536
    seconds: float = 10.0
    connections: int = 32


class HttpRequest(NamedTuple):
    """A request: its method, its target, its fields by name in small letters, and its body."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class HttpAnswer(NamedTuple):
    """An answer: its status, its body, and fields beside those that every answer has."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = _NO_HEADERS


class HttpRefusal(Exception):
    """A request that isn't handled: the status of its answer, and a line that says why. A handler may raise it."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        super().__init__(text)
        self.status = status
        """Of the answer."""
        self.headers = headers
        """Of the answer, beside those that every refusal has."""


Handler = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class HttpServer:
    """Serves a handler, in the event loop. A client of another protocol is told `hint`; every answer has `headers`."""

    def __init__(
        self,
        handler: Handler,
        bounds: HttpBounds | None = None,
        *,
        hint: str = "this is HTTP/1.1",
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self._handler = handler
        """Answers requests."""
        self._bounds = bounds or HttpBounds()
        """The limits of requests and connections."""
        self._hint = hint
        """The line for a client that doesn't speak HTTP."""
        self._headers = headers
        """Of every answer, beside its own."""
        self._listener: Listener | None = None
        """None before it listens, and once it is closed."""
        self._tasks: set[asyncio.Task[None]] = set()
        """The connections under way."""

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening sockets; none once it is closed."""
        return () if self._listener is None else tuple(self._listener.sockets)

    async def start(
        self,
        host: str,
        port: int,
        *,
        sockets: Sequence[socket.socket] | None = None,
        ssl: ssl_module.SSLContext | None = None,
        allow_remote: bool = False,
    ) -> int:
        """Listen; return the port. Sockets that listen already stand for `host` and `port`; with `ssl` it is HTTPS.

        Raises OSError, and ValueError for a host that isn't a loopback address unless `allow_remote`.
        """
        if sockets is None:
            listener = await listen(
                self._new_protocol, host, port, ssl=ssl, handshake=self._bounds.seconds, allow_remote=allow_remote
            )
        else:
            listener = await listen_on(self._new_protocol, sockets, ssl=ssl, handshake=self._bounds.seconds)
        self._listener = listener
        await listener.start_serving()
        found: int = listener.sockets[0].getsockname()[1]
        return found

    async def close(self) -> None:
        """Stop listening, and cut the connections."""
        if self._listener is None:
            return
        listener, self._listener = self._listener, None
        listener.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await listener.wait_closed()

    def _new_protocol(self) -> asyncio.StreamReaderProtocol:
        """Return the protocol of a new client, as `asyncio.start_server` makes it."""
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(self._bounds.head), self._begin)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= self._bounds.connections:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client that is slow or gone is cut off.
        with suppress(TimeoutError, OSError, asyncio.IncompleteReadError):
            try:
                is_head = False
                try:
                    async with asyncio.timeout(self._bounds.seconds):
                        request = await self._read(reader, writer)
                    is_head = request.method == "HEAD"
                    answer = await self._handler(request)
                except HttpRefusal as refusal:
                    answer = _refusal(refusal)
                async with asyncio.timeout(self._bounds.seconds):
                    writer.write(self._written(answer, is_head=is_head))
                    await writer.drain()
                    writer.close()
                    await writer.wait_closed()
            except (TimeoutError, OSError, asyncio.IncompleteReadError):
                raise
            except Exception:
                _logger.exception("an HTTP request isn't answered: handling it failed")
                writer.write(self._written(_refusal(HttpRefusal(500, "handling the request failed"))))
                writer.close()
                await writer.wait_closed()
            finally:
                writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HttpRequest:
        bounds = self._bounds
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise HttpRefusal(431, f"a request has at most {bounds.head} octets") from None
        request, length = parse_head(head, self._hint)
        if length > bounds.body:
            raise HttpRefusal(413, f"a body has at most {bounds.body} octets")
        if length and request.headers.get("expect", "").lower() == "100-continue":
            writer.write(_CONTINUE)
        return request._replace(body=await reader.readexactly(length))

    def _written(self, answer: HttpAnswer, *, is_head: bool = False) -> bytes:
        return written(answer._replace(headers={**self._headers, **answer.headers}), is_head=is_head)


def parse_head(head: bytes, hint: str = "this is HTTP/1.1") -> tuple[HttpRequest, int]:
    """Return a request without its body, and the body's length, from its octets up to the empty line.

    Raises HttpRefusal: 400 for what is no request of HTTP/1, for other than one Host (RFC 9112 section 3.2), for a line
    that is folded or has no name, and for a body whose length isn't one number.

    >>> parse_head(b"GET /api HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")[0].target
    '/api'
    """
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1]:
        raise HttpRefusal(400, hint)
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise HttpRefusal(400, "a line of the head isn't a field")
        name, value = name.lower(), value.strip()
        if name in fields and name in ("host", "content-length"):
            raise HttpRefusal(400, f"a request has one {name.title()} header")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    if "host" not in fields and words[2] != "HTTP/1.0":
        raise HttpRefusal(400, "a request has one Host header")
    length = fields.get("content-length", "0")
    if "transfer-encoding" in fields or not (length.isascii() and length.isdecimal()):
        raise HttpRefusal(400, "a body's length is one number in Content-Length")
    if len(length) > _LONGEST_LENGTH:
        raise HttpRefusal(413, f"a body of {length[:40]} octets")
    return HttpRequest(words[0], words[1], fields, b""), int(length)


def written(answer: HttpAnswer, *, is_head: bool = False) -> bytes:
    """Return an answer's octets; `is_head`: without its body."""
    fields = {**answer.headers, "Content-Length": str(len(answer.body)), "Connection": "close"}
    if answer.status == 204:
        del fields["Content-Length"]
    first = f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, 'Unknown')}"
    lines = [first, *[f"{name}: {value}" for name, value in fields.items()]]
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    return head if is_head else head + answer.body


def _refusal(refusal: HttpRefusal) -> HttpAnswer:
    headers = {**refusal.headers, "Content-Type": "text/plain; charset=utf-8"}
    return HttpAnswer(refusal.status, f"{refusal}\n".encode(), headers)


__all__ = ["Handler", "HttpAnswer", "HttpBounds", "HttpRefusal", "HttpRequest", "HttpServer", "parse_head", "written"]
