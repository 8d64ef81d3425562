"""The drivers of `serve_broker`: one for each client's transport; the hub's clients do all the work."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, cast

from amqp_sansio.broker import Client
from amqp_sansio.endpoint import CloseHint
from amqp_sansio.events import By

from .arrivals import Entrant
from .driver import Driver

if TYPE_CHECKING:
    from .arrivals import Entrance
    from .clock import Clock, Timer
    from .faults import Faults
    from .recording import Recorder

_logger = logging.getLogger("amqp_sansio_asyncio")

_KEEP: Final = CloseHint.KEEP
_NO_LINGER: Final = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
"""SO_LINGER of zero seconds: close with a RST. The members of the structure are shorts on Windows."""


class Host(Protocol):
    """The part of a driver's server that it uses."""

    recorder: Recorder | None
    clock: Clock
    faults: Faults | None

    @property
    def is_closing(self) -> bool:
        """Whether new clients are refused."""
        ...

    def turn_soon(self) -> None:
        """Serve all clients that the hub names, at the end of this turn of the event loop."""
        ...

    def dismiss(self, driver: BrokerDriver) -> None:
        """Remove a client whose transport is gone."""
        ...


class BrokerDriver(Driver[Client], Entrant):
    """The asyncio protocol of one client of a broker.

    The server's turn writes the octets of the hub's client, once for everything received in one turn of the event loop.
    While the broker is full, or the transport's buffer is, nothing is read.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, core: Client, host: Host, entrance: Entrance) -> None:
        super().__init__(loop, core, host.recorder, host.clock)
        self._host = host
        """The server, which takes its turns."""
        self._entrance: Entrance | None = entrance
        """Its place among those that haven't logged in."""
        self._faults = host.faults
        """What tests do to this connection; None: nothing."""
        self._on_hold = False
        """Whether reading is paused because the broker is full."""
        self._is_ended = False
        """Whether nothing more can be written, not even octets delayed by faults."""
        self._peer: object = None
        """The client's address, which TLS forgets when the transport is gone."""

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._faults is not None and not self._faults.connected(self):
            self.transport = cast(asyncio.Transport, transport)
            self.cut()
            return
        self._peer = transport.get_extra_info("peername")
        super().connection_made(transport)
        # The timeout for the protocol header starts here.
        self.write()

    def data_received(self, data: bytes) -> None:
        if self._faults is not None:
            data = self._faults.received(self, data)
            if not data:
                return
        super().data_received(data)

    def eof_received(self) -> bool | None:
        transport = self.transport
        if self._faults is None or transport is None or not transport.can_write_eof():
            return super().eof_received()
        self._faults.received_end(self, self._end_received)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self._entrance is not None:
            self._entrance.leave()
        super().connection_lost(exc)
        report = self.core.report
        if report is not None and report.by is By.LOCAL and not self.core.hub.is_closing:
            _logger.warning("the broker closed the connection of %s: %s", self._peer, report)
        if self._faults is not None:
            self._faults.lost(self)
        self._host.dismiss(self)

    # Called by the base class.

    def take_events(self) -> None:
        core = self.core
        core.next_event()
        if self._entrance is not None and core.is_open:
            self._entrance.leave()
            self._entrance = None
        while self._held and self.feed_held():
            core.next_event()

    def must_pause(self) -> bool:
        return self._on_hold or super().must_pause()

    def settle(self) -> None:
        core = self.core
        if core.close_hint is not _KEEP:
            self._close_transport()
        else:
            if core.send_backlog:
                core.hub.touch(core.number)
            self.arm()
            self.update_reading()
        if core.hub.is_dirty:
            self._host.turn_soon()

    def write(self) -> None:
        if self._faults is None:
            super().write()
            return
        transport = self.transport
        if transport is None or transport.is_closing() or self.lingering:
            return
        data = self.core.data_to_send(self.clock.time())
        if data:
            self.put(self._faults.sending(self, data))
        self.arm()

    def hang_up(self, end: Callable[[], None]) -> None:
        if self._faults is None:
            end()
        else:
            self.lingering = True
            self._faults.sending_end(self, partial(self._end, end))

    # Called by the server.

    def look(self) -> None:
        """Handle changes caused by other clients, or by time."""
        core = self.core
        self.take_events()
        if core.close_hint is not _KEEP:
            self._close_transport()
            return
        if not self.write_paused:
            self.write()
        self.update_reading()

    def resume_writing(self) -> None:
        self.write_paused = False
        self.core.hub.touch(self.core.number)
        self._host.turn_soon()

    # Line: for faults.

    @property
    def number(self) -> int:
        """The number of the hub's client."""
        return self.core.number

    def give(self, data: bytes) -> None:
        """Give the broker octets, as if the client had just sent them."""
        if data and not self.lost.done() and not self.lingering:
            super().data_received(data)

    def put(self, data: bytes) -> None:
        """Give the client octets, ahead of everything queued for it."""
        transport = self.transport
        if data and transport is not None and not transport.is_closing() and not self._is_ended:
            self.send(transport, data)

    def cut(self) -> None:
        """End the transport with a RST."""
        transport = self.transport
        if transport is None:
            return
        self.note_end(ours=True)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            with suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        transport.abort()

    def hold(self, held: bool) -> None:
        """Read nothing while `held`."""
        self._on_hold = held
        self.update_reading()

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` after that many seconds of the broker's clock."""
        return self.clock.call_at(self.clock.time() + seconds, callback)

    # Internals.

    def _end_received(self) -> None:
        transport = self.transport
        if transport is not None and not transport.is_closing():
            super().eof_received()
            self.hang_up(transport.close)

    def _end(self, end: Callable[[], None]) -> None:
        transport = self.transport
        if transport is not None and not transport.is_closing():
            self._is_ended = True
            end()

    def on_timer(self) -> None:
        if self.reading_paused and not self._held and not self.core.is_behind:
            # An unread client can't be heard; its silence counts only if it is unread because it doesn't read.
            self.core.receive_data(b"", self.clock.time())
        super().on_timer()


def certificate_name(certificate: object) -> str:
    """Return the name in a certificate, as given by `ssl.SSLSocket.getpeercert`: its common name, else its first
    alternative name; "" if there is none.

    >>> certificate_name({"subject": ((("organizationName", "us"),), (("commonName", "me"),))})
    'me'
    >>> certificate_name({"subjectAltName": (("email", "me@example.org"),)})
    'me@example.org'
    """
    if not isinstance(certificate, Mapping):
        return ""
    fields = cast("Mapping[str, object]", certificate)
    subject = cast("Iterable[Iterable[tuple[str, str]]]", fields.get("subject", ()))
    for parts in subject:
        for name, value in parts:
            if name == "commonName" and value:
                return value
    for _, value in cast("Iterable[tuple[str, str]]", fields.get("subjectAltName", ())):
        if value:
            return value
    return ""


__all__ = ["BrokerDriver", "Host", "certificate_name"]
