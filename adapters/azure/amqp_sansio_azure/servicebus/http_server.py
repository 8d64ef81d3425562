"""AdministrationServer: the administration of a namespace on a port, by HTTP/1.1, a request for each connection."""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Callable

from amqp_sansio_asyncio.http_server import HttpAnswer, HttpBounds, HttpRequest, HttpServer

from .administration import LARGEST, Administration


class AdministrationServer:
    """Serves an `Administration` in the event loop that its namespace belongs to; `changed` is called after each."""

    def __init__(self, administration: Administration, changed: Callable[[], object]) -> None:
        self._administration = administration
        """Answers, without I/O."""
        self._changed = changed
        """Called behind each request."""
        self._server = HttpServer(self._answer, HttpBounds(body=LARGEST))
        """Reads and writes."""
        self.port = 0
        """The port it listens on."""

    async def start(
        self, host: str, port: int, *, ssl: ssl_module.SSLContext | None = None, allow_remote: bool = False
    ) -> None:
        """Listen, for HTTPS with `ssl`. Raises OSError, and ValueError as `bind_sockets`."""
        self.port = await self._server.start(host, port, ssl=ssl, allow_remote=allow_remote)

    async def close(self) -> None:
        """Listen no more."""
        await self._server.close()

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        authorization = request.headers.get("authorization", "")
        try:
            status, body = self._administration.answer(
                request.method, request.target, request.body, authorization, updates="if-match" in request.headers
            )
        finally:
            self._changed()
        return HttpAnswer(status, body, {"Content-Type": "application/xml; charset=utf-8"})


__all__ = ["AdministrationServer"]
