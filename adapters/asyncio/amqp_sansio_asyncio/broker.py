"""`serve_broker`: the broker of `amqp_sansio.broker` on a port, for clients of every version.

It keeps everything in memory and is for tests, demonstrations and embedding, not for production.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import ssl as ssl_module
from collections.abc import Collection, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.broker import Hub, Settings, User
from amqp_sansio.client.opening import Opening
from amqp_sansio.uri import AmqpUri

from .arrivals import HANDSHAKE, Arrivals, Entrance
from .broker_driver import BrokerDriver, certificate_name
from .clock import time_of_day
from .listening import Listener, close_all, listen, listen_on
from .recording import Recorder, RecordTarget, recorder_for, shown

if TYPE_CHECKING:
    from amqp_sansio.broker import Namespace
    from amqp_sansio.broker.model.commands import Command
    from amqp_sansio.metrics import Sample

    from .clock import Clock, Timer
    from .faults import Faults
    from .management import ManagementServer

_logger = logging.getLogger("amqp_sansio_asyncio")

_CLOSING: Final = "the broker is shutting down"


def serve_broker(
    settings: Settings | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    sockets: Sequence[socket.socket] | None = None,
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    allow_remote: bool = False,
    clock: Clock | None = None,
    faults: Faults | None = None,
    namespace: Namespace | None = None,
    management_port: int | None = None,
    origins: Collection[str] = (),
) -> Opening[BrokerServer]:
    """Serve a broker: `async with serve_broker() as broker`, or `await` it and close it later.

    One port takes clients of every version in `settings`, inside a WebSocket too where the extra `websocket` is
    installed. Port 0 takes a free one; see `BrokerServer.port` and `url`. A name has an address in each family of IP,
    all on the same port. `sockets` that listen already, those of `bind_sockets` or of a supervisor, stand for `host`,
    `port` and `allow_remote`; they are closed with the broker.
    With `ssl` everything goes through TLS; a context that asks for client certificates lets their holders log in by
    EXTERNAL, in the certificate's name. `record` writes every connection to one pcapng file, above TLS; of a client
    that doesn't log in it takes 16 KiB, and nothing after its connection was refused. `clock` provides the broker's
    time, by default the event loop's. `faults` injects faults. `namespace` has nodes of one's own for clients of 1.0
    (`amqp_sansio.broker.nodes`). With `management_port` RabbitMQ's management API is served there, by HTTP without TLS
    on the broker's host, as far as docs/management.md says; 0 takes a free port (`BrokerServer.management_url`).
    `origins` are those of pages in browsers that may connect by WebSocket, such as "https://app.example", beside pages
    of the broker's own address.

    Settings without a seed get a random one, those without `urls` the listening address, those without an `epoch` the
    time of day. A host that others could reach is refused, unless `allow_remote`: the default user has a default
    password.

    Raises OSError if it can't listen or the recording can't be written, ValueError for a host that isn't a loopback
    address.

    >>> async def example() -> str:
    ...     async with serve_broker() as broker:
    ...         return broker.url
    """
    server = BrokerServer(settings or Settings(), clock, faults, namespace, origins)
    return Opening(
        lambda: server.start(host, port, sockets, ssl, (record, record_secrets), allow_remote, management_port)
    )


class BrokerServer:
    """A serving broker. `close` it, or leave its context."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None,
        faults: Faults | None,
        namespace: Namespace | None = None,
        origins: Collection[str] = (),
    ) -> None:
        self._settings = settings if settings.seed else settings.but(seed=secrets.token_bytes(32))
        """With a seed and the port filled in, once it listens."""
        self._given_clock = clock
        """None: the event loop is the clock."""
        self._namespace = namespace
        """The nodes of one's own that its hub has; None: none."""
        self._origins = origins
        """Origins of pages in browsers that may open a WebSocket."""
        self._hub: Hub | None = None
        """The broker itself; None before it listens."""
        self._listener: Listener | None = None
        """None before it listens, and once it is closed."""
        self._owns_recorder = False
        """Whether the recording was opened here, and is closed with the server."""
        self._is_secure = False
        """Whether clients speak TLS, for the URL."""
        self._address = ("", 0)
        """Host and port of the first socket."""
        self._management: ManagementServer | None = None
        """None while the management API isn't served."""
        self._beginning = asyncio.Lock()
        """Several who ask for it at once get the same one."""
        self._drivers: dict[int, BrokerDriver] = {}
        """By the hub's number of the client: transports that aren't gone."""
        self._turn_scheduled = False
        """Whether a turn follows in this turn of the event loop: one is enough for all arrivals."""
        self._timer: Timer | None = None
        """For the hub's next deadline."""
        self.recorder: Recorder | None = None
        """Of all connections; None: nothing is recorded."""
        self.faults: Faults | None = faults
        """What tests do to connections; None: nothing."""
        self.clock: Clock
        """Of the hub and of all drivers."""

    @property
    def hub(self) -> Hub:
        """The broker itself, with all its clients. After changing it, call `turn_soon`."""
        if self._hub is None:
            raise RuntimeError("the broker isn't being served yet")
        return self._hub

    @property
    def settings(self) -> Settings:
        """Its settings, with their seed and its addresses."""
        return self._settings

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening sockets; none once it is closed."""
        return tuple(self._listener.sockets) if self._listener is not None else ()

    @property
    def host(self) -> str:
        """The address it listens on, also after closing."""
        return self._address[0]

    @property
    def port(self) -> int:
        """The port it listens on, also after closing."""
        return self._address[1]

    @property
    def url(self) -> str:
        """The URL for its first user and first virtual host, with the password."""
        return self._url("amqps" if self._is_secure else "amqp")

    @property
    def websocket_url(self) -> str:
        """The same for clients that come by a WebSocket; it is one port. Both ends need the extra `websocket`."""
        return self._url("amqps+ws" if self._is_secure else "amqp+ws")

    @property
    def management_url(self) -> str:
        """Where the management API is, without a path, user and password. Raises RuntimeError if it isn't served."""
        if self._management is None:
            raise RuntimeError("the management API isn't served: give serve_broker a management_port")
        return f"http://{shown((near(self._management.host), self._management.port), '')}"

    @property
    def connections(self) -> int:
        """Number of clients, including those still logging in or leaving."""
        return len(self._drivers)

    def metrics(self) -> list[Sample]:
        """Return the broker's counters and gauges; see `amqp_sansio.metrics`."""
        return self.hub.metrics()

    def line(self, number: int) -> BrokerDriver:
        """Return the transport of the hub's client `number`. Raises KeyError if it is gone."""
        return self._drivers[number]

    def apply(self, command: Command) -> Any:
        """Carry out a command of `amqp_sansio.broker.commands` now; see there for results.

        Its effects reach clients in the next turn of the event loop. Raises Fault.
        """
        hub = self.hub
        hub.now = max(hub.now, self.clock.time())
        result = hub.apply(command)
        self.settle()
        return result

    def settle(self) -> None:
        """Send clients the effects of a change of the hub, in the next turn of the event loop."""
        self.hub.settle()
        self.turn_soon()

    async def serve_management(
        self,
        port: int = 0,
        host: str = "",
        *,
        sockets: Sequence[socket.socket] | None = None,
        allow_remote: bool = False,
    ) -> None:
        """Serve the management API too, on the broker's host if none is given; a second call does nothing.

        Sockets that listen already stand for `port`, `host` and `allow_remote`; they are closed with the broker. Raises
        OSError, ValueError for a host that isn't a loopback address unless `allow_remote`, and RuntimeError once the
        broker is closed.
        """
        async with self._beginning:
            if self.is_closing or self._management is not None:
                close_all(sockets or ())
            if self.is_closing:
                raise RuntimeError("the broker is closed")
            if self._management is None:
                from .management import ManagementServer  # Brokers without it don't load it.

                management = ManagementServer(self)
                await management.start(host or self.host, port, sockets=sockets, allow_remote=allow_remote)
                self._management = management

    async def serve_forever(self) -> None:
        """Wait until it is closed or this task is cancelled."""
        if self._listener is not None:
            await self._listener.serve_forever()

    async def close(self, *, timeout: float = 10.0) -> None:
        """Stop listening, close every connection (320, amqp:connection:forced), and wait for the clients' answers, at
        most `timeout` seconds.
        """
        if self._listener is None:
            return
        listener, self._listener = self._listener, None
        listener.close()
        if self._management is not None:
            await self._management.close()
        self.hub.shut_down(_CLOSING)
        self._turn()
        waiting = [driver.lost for driver in self._drivers.values()]
        if waiting:
            await asyncio.wait(waiting, timeout=timeout)
            late = list(self._drivers.values())
            for driver in late:
                driver.cut()
            if late:
                await asyncio.wait([driver.lost for driver in late])
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Since Python 3.12 this waits for transports too, including one that never ends its TLS handshake.
        with suppress(TimeoutError):
            await asyncio.wait_for(listener.wait_closed(), timeout)
        if self.recorder is not None and self._owns_recorder:
            self.recorder.close()

    async def __aenter__(self) -> BrokerServer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # For `serve_broker` and the drivers.

    @property
    def is_closing(self) -> bool:
        """Whether new clients are refused."""
        return self._listener is None

    async def start(
        self,
        host: str,
        port: int,
        sockets: Sequence[socket.socket] | None,
        ssl: ssl_module.SSLContext | None,
        record: tuple[RecordTarget | None, bool],
        allow_remote: bool,
        management_port: int | None = None,
    ) -> BrokerServer:
        """Listen, or accept on the sockets, which are closed if that fails."""
        loop = asyncio.get_running_loop()
        self.clock = loop if self._given_clock is None else self._given_clock
        config = self._settings.any_config
        arrivals = Arrivals(
            self._settings.limits.unopened,
            self.admit,
            ssl=ssl,
            handshake_timeout=min(config.handshake_timeout, HANDSHAKE),
            close_timeout=config.close_timeout,
            origins=self._origins,
        )
        if sockets is None:
            self._listener = await listen(arrivals.enter, host, port, allow_remote=allow_remote)
        else:
            self._listener = await listen_on(arrivals.enter, sockets)
        try:
            self.recorder, self._owns_recorder = recorder_for(*record)
            self._is_secure = ssl is not None
            self._address = self._listener.sockets[0].getsockname()[:2]
            self._settings = self._filled_in(self._settings)
            self._hub = Hub(self._settings, self._namespace)
            await self._listener.start_serving()
            if management_port is not None:
                # A host that isn't a loopback address was allowed before.
                await self.serve_management(management_port, allow_remote=True)
        except BaseException:
            self._listener.close()
            self._listener = None
            if self.recorder is not None and self._owns_recorder:
                self.recorder.close()
            raise
        return self

    def admit(self, entrance: Entrance, transport: asyncio.Transport) -> BrokerDriver | None:
        """Create the driver of a new client; None once the server was told to close."""
        if self.is_closing:
            return None
        loop = asyncio.get_running_loop()
        is_secure = transport.get_extra_info("sslcontext") is not None
        name = certificate_name(transport.get_extra_info("peercert"))
        client = self.hub.connect(is_secure=is_secure, peer_name=name)
        driver = BrokerDriver(loop, client, self, entrance)
        self._drivers[client.number] = driver
        return driver

    def turn_soon(self) -> None:
        """Write the hub's octets for clients, and set its timer, at the end of this turn of the event loop."""
        if not self._turn_scheduled:
            self._turn_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def dismiss(self, driver: BrokerDriver) -> None:
        """Remove a client whose transport is gone; others may get its messages."""
        self._drivers.pop(driver.core.number, None)
        self.hub.forget(driver.core.number)
        self.turn_soon()

    # Internals.

    def _url(self, scheme: str) -> str:
        settings = self._settings
        name, user = next(iter(settings.users.items()), ("", ""))
        password = user.password if isinstance(user, User) else user
        host = near(self.host)
        path = "/" if "+ws" in scheme else ""
        uri = AmqpUri(scheme, host, self.port, name or None, password or None, settings.vhosts[0], path=path)
        return uri.format()

    def _turn(self) -> None:
        self._turn_scheduled = False
        hub = self.hub
        drivers = self._drivers
        for client in hub.take_dirty():
            driver = drivers.get(client.number)
            if driver is None:
                continue
            try:
                driver.look()
            except Exception:
                # Continue with the others.
                _logger.exception("a client of the broker is cut off: serving it failed")
                driver.cut()
        for warning in hub.take_warnings():
            _logger.warning("%s", warning)
        if hub.is_dirty:
            # A fast reader waits until the others have had their turn.
            self.turn_soon()
        deadline = hub.next_deadline
        timer = self._timer
        if deadline is not None and (timer is None or deadline < timer.when()):
            if timer is not None:
                timer.cancel()
            self._timer = self.clock.call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self.hub.handle_timeout(self.clock.time())
        self._turn()

    def _filled_in(self, settings: Settings) -> Settings:
        """Return the settings with the address and time filled in."""
        kind = "tls" if self._is_secure else "tcp"
        urls = settings.urls or tuple([f"amqp:{kind}:{shown(each.getsockname(), '')}" for each in self.sockets])
        now = time_of_day(asyncio.get_running_loop())
        return settings.but(urls=urls, epoch=settings.epoch or now - self.clock.time())


def near(host: str) -> str:
    """Return an address for who is on the same machine."""
    return host if not ip_address(host.partition("%")[0]).is_unspecified else "127.0.0.1"


__all__ = ["BrokerServer", "serve_broker"]
