"""AdministrationServer: the administration of a namespace on a port, by HTTP/1.1, a request for each connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from .administration import LARGEST, Administration

_HEAD: Final = 16_384
"""Octets of a request's head."""
_SECONDS: Final = 10.0
"""How long a request may take to arrive."""
_MOST: Final = 32
"""Requests at a time; further ones are answered with 503."""


class AdministrationServer:
    """Serves an `Administration` in the event loop that its namespace belongs to; `changed` is called after each."""

    def __init__(self, administration: Administration, changed: Callable[[], object]) -> None:
        self._administration = administration
        self._changed = changed
        self._server: asyncio.Server | None = None
        self._busy = 0
        self.port = 0
        """The port it listens on."""

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._busy += 1
        try:
            if self._busy > _MOST:
                answer = 503, b""
            else:
                async with asyncio.timeout(_SECONDS):
                    answer = await self._answer(reader)
            writer.write(_written(*answer))
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            # The client is gone, or never said all.
            pass
        finally:
            self._busy -= 1
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except asyncio.LimitOverrunError:
            return 431, b""
        first, *lines = head.split("\r\n")
        words = first.split(" ")
        fields = {name.strip().lower(): value.strip() for name, _, value in [line.partition(":") for line in lines]}
        length = fields.get("content-length", "0")
        if len(words) != 3 or not length.isdecimal() or len(length) > 9 or "transfer-encoding" in fields:
            return 400, b""
        if int(length) > LARGEST:
            return 413, b""
        body = await reader.readexactly(int(length))
        try:
            return self._administration.answer(
                words[0], words[1], body, fields.get("authorization", ""), updates="if-match" in fields
            )
        finally:
            self._changed()


def _written(status: int, body: bytes) -> bytes:
    known = {each.value: each.phrase for each in HTTPStatus}
    head = (
        f"HTTP/1.1 {status} {known.get(status, 'Unknown')}\r\nContent-Type: application/xml; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


__all__ = ["AdministrationServer"]
