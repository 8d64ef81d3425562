"""The live page of `amqp-sansio broker --page`: a small HTTP server for reading only (RFC 9110, RFC 9112)."""

from __future__ import annotations

import asyncio
import io
import json
import time
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Final, cast
from urllib.parse import parse_qs, urlsplit

from amqp_sansio.broker import Settings
from amqp_sansio.capture import endpoint
from amqp_sansio_asyncio import BrokerServer
from amqp_sansio_asyncio.http_server import HttpAnswer, HttpBounds, HttpRefusal, HttpRequest, HttpServer
from amqp_sansio_asyncio.listening import Address, bind_sockets
from amqp_sansio_report.live import LivePage, look
from amqp_sansio_report.traffic import Traffic, TrafficView

from .errors import describe_fault

if TYPE_CHECKING:
    from typing_extensions import Buffer

_HISTORY: Final = 1000
"""Records of what happens to messages that a broker with a page keeps."""
_HISTORY_OCTETS: Final = 16 << 20
_HEAD: Final = 8192
"""Most octets of a request's head."""
_CLIENTS: Final = 32
"""Most connections at a time."""
_AGE: Final = 1.0
"""Seconds for which a drawn page is good."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Tap(io.RawIOBase):
    """A binary file for a recording: shows it to a `Traffic`, and writes it to a file, if there is one."""

    def __init__(self, file: Path | None) -> None:
        self._traffic = Traffic()
        """The octets of each connection, within bounds."""
        self._lock = Lock()
        """The page is drawn in another thread."""
        self._file = None if file is None else file.open("ab")
        """Takes the recording too; None: none does."""

    def write(self, octets: Buffer) -> int:
        data = bytes(octets)
        with self._lock:
            self._traffic.feed(data)
        if self._file is not None:
            self._file.write(data)
            self._file.flush()
        return len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()

    def view(self, chosen: str) -> TrafficView:
        """Return what `Traffic.view` does."""
        with self._lock:
            return self._traffic.view(chosen)


class PageServer:
    """Serves the page of a broker, which records to `target` and has the settings of `with_history`.

    `record` is a file to which the recording is appended, too. A request has `patience` seconds, and its answer as
    many; only so many are served at a time. The broker's state is taken at most once per second, and drawn in a thread.
    Raises OSError for a file that can't be opened.
    """

    def __init__(self, record: Path | None = None, *, patience: float = 10.0) -> None:
        self._tap = _Tap(record)
        """Takes the broker's recording."""
        self._broker: BrokerServer
        """Set when it starts to serve."""
        self._page: LivePage
        """Keeps the snapshots."""
        self._drawing = asyncio.Lock()
        """One page is drawn at a time."""
        self._drawn: dict[tuple[str, str, str], bytes] = {}
        """Pages of the latest snapshot, by what they show."""
        self._taken = float("-inf")
        """When that was taken, in seconds."""
        self._names: set[str] | None = None
        """Hosts that a request may name; None: any."""
        self._server = HttpServer(
            self._answer,
            HttpBounds(head=_HEAD, body=0, seconds=patience, connections=_CLIENTS),
            hint="this is the page of an AMQP broker: open it with a browser",
            headers=_HEADERS,
        )
        """Reads and writes."""
        self.url = ""
        """Where it is, once it serves."""

    @property
    def target(self) -> IO[bytes]:
        """The target of the broker's recording."""
        return cast("IO[bytes]", self._tap)

    @staticmethod
    def with_history(settings: Settings) -> Settings:
        """Return a broker's settings with a history for the last messages."""
        return settings.but(history=_HISTORY, history_octets=_HISTORY_OCTETS)

    async def start(self, broker: BrokerServer, address: Address, *, allow_remote: bool = False) -> None:
        """Listen. Raises OSError, and ValueError for an address that isn't a loopback one unless `allow_remote`."""
        self._broker = broker
        self._page = LivePage(endpoint(broker.host.partition("%")[0], broker.port))
        host, port = address
        try:
            sockets = await bind_sockets(host, port, allow_remote=allow_remote)
        except ValueError:
            text = f"{host} can be reached from other machines, which could read the messages on the page"
            raise ValueError(text) from None
        addresses = [str(each.getsockname()[0]) for each in sockets]
        is_local = all([ip_address(each.partition("%")[0]).is_loopback for each in addresses])
        # Another name for this address may be one that a foreign page has chosen (DNS rebinding).
        self._names = {"localhost", host.lower()} if is_local else None
        chosen = await self._server.start(host, port, sockets=sockets)
        shown = addresses[0] if host == "localhost" else host
        self.url = f"http://{endpoint(shown.partition('%')[0], chosen)}/"

    async def close(self) -> None:
        """Stop listening, and cut the connections."""
        await self._server.close()

    def end_recording(self) -> None:
        """Close the recording's file; the broker is closed before."""
        self._tap.close()

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        self._check_host(request.headers.get("host", ""))
        if request.method not in ("GET", "HEAD"):
            text = "the page is for reading: GET and HEAD"
            raise HttpRefusal(HTTPStatus.METHOD_NOT_ALLOWED, text, {"Allow": "GET, HEAD"})
        try:
            kind, body = await self._content(request.target)
        except HttpRefusal:
            raise
        except Exception as error:
            # The broker goes on, whatever it is that can't be drawn.
            raise HttpRefusal(HTTPStatus.INTERNAL_SERVER_ERROR, describe_fault(error)) from error
        return HttpAnswer(HTTPStatus.OK, body, {"Content-Type": f"{kind}; charset=utf-8"})

    def _check_host(self, host: str) -> None:
        """Refuse a request by another name than the page's own (RFC 9112 section 3.2). Addresses can't be rebound."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            name = ""
        if self._names is None or name in self._names:
            return
        try:
            ip_address(name)
        except ValueError:
            raise HttpRefusal(
                HTTPStatus.MISDIRECTED_REQUEST, f"the page isn't served by that name: open {self.url}"
            ) from None

    async def _content(self, target: str) -> tuple[str, bytes]:
        parts = urlsplit(target)
        if parts.path not in ("/", "/live"):
            raise HttpRefusal(HTTPStatus.NOT_FOUND, f"there is nothing here: the page is {self.url}")
        values = {name: some[-1] for name, some in parse_qs(parts.query).items()}
        wanted = parts.path, values.get("connection", ""), values.get("changes", "")
        async with self._drawing:
            loop = asyncio.get_running_loop()
            if loop.time() - self._taken >= _AGE:
                state = look(self._broker.hub, time.time_ns(), self._addresses())
                await asyncio.to_thread(self._page.take, state)
                self._taken = loop.time()
                self._drawn.clear()
            body = self._drawn.get(wanted)
            if body is None:
                if len(self._drawn) >= _CLIENTS:
                    self._drawn.clear()
                body = self._drawn[wanted] = await asyncio.to_thread(self._draw, *wanted)
        return ("text/html" if parts.path == "/" else "application/json"), body

    def _draw(self, path: str, connection: str, changes: str) -> bytes:
        view = self._tap.view(connection)
        if path == "/":
            return self._page.html(view).encode()
        seen = int(changes) if changes.isdecimal() and len(changes) < 16 else -1
        return json.dumps(self._page.told(view, seen), separators=(",", ":")).encode()

    def _addresses(self) -> dict[int, str]:
        """Return the addresses of the broker's clients: a driver's label ends with it."""
        broker = self._broker
        found: dict[int, str] = {}
        for number in broker.hub.clients:
            with suppress(KeyError):  # Its transport is gone.
                found[number] = broker.line(number).label.rpartition("-")[2]
        return found


__all__ = ["PageServer"]
