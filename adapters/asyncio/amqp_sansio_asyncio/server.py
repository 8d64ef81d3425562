"""`serve`: an asyncio server that logs clients in and hands their connections to the application
(0-9-1 section 2.2.4, 0-10 class 1, 1.0 part 2 section 2.2).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import ssl as ssl_module
from collections.abc import Awaitable, Callable, Collection, Container, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, overload

from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.client.opening import Opening
from amqp_sansio.client.settings import random_name
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import Signal
from amqp_sansio.metrics import Sample
from amqp_sansio.negotiation import Accepted, Acceptor, Refused
from amqp_sansio.sasl import Credentials
from amqp_sansio.versions import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version

from .arrivals import HANDSHAKE, UNOPENED, Arrivals, Entrance, Entrant
from .authentication import Login
from .recording import RecordedConnection, Recorder, RecordTarget, recorder_for
from .server_connection import ServerConnection, ServerDriver

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_10 import Config as Config_0_10
    from amqp_sansio.amqp_1_0 import Config as Config_1_0

    from .amqp_0_10.server import ServerConnection as ServerConnection_0_10
    from .amqp_0_10.session_registry import SessionKeeper
    from .amqp_1_0.server import ServerConnection as ServerConnection_1_0
    from .serving import ServingDriver

AnyServerConnection: TypeAlias = "ServerConnection | ServerConnection_1_0 | ServerConnection_0_10"
"""A client of any version, as the server sees it."""
AnyConfig: TypeAlias = "Config | Config_1_0 | Config_0_10"
"""A server's configuration for one version."""
Handler: TypeAlias = Callable[[ServerConnection], Awaitable[object]]
"""Serves one client; the connection is closed when it returns."""
Handler_1_0: TypeAlias = "Callable[[ServerConnection_1_0], Awaitable[object]]"
"""Serves one client of 1.0; the connection is closed when it returns."""
Handler_0_10: TypeAlias = "Callable[[ServerConnection_0_10], Awaitable[object]]"
"""Serves one client of 0-10; the connection is closed when it returns."""
AnyHandler: TypeAlias = "Callable[[AnyServerConnection], Awaitable[object]]"
"""Serves one client of any version; the connection is closed when it returns."""
Authenticate: TypeAlias = Callable[[ServerConnection, Credentials], "bool | Awaitable[bool]"]
"""Checks a client's credentials."""
Authenticate_1_0: TypeAlias = "Callable[[ServerConnection_1_0, Credentials], bool | Awaitable[bool]]"
"""Checks the credentials of a client of 1.0."""
Authenticate_0_10: TypeAlias = "Callable[[ServerConnection_0_10, Credentials], bool | Awaitable[bool]]"
"""Checks the credentials of a client of 0-10."""
AnyAuthenticate: TypeAlias = "Callable[[AnyServerConnection, Credentials], bool | Awaitable[bool]]"
"""Checks the credentials of a client of any version."""

_OlderHandler: TypeAlias = "Callable[[ServerConnection | ServerConnection_1_0], Awaitable[object]]"
_OlderAuthenticate: TypeAlias = (
    "Callable[[ServerConnection | ServerConnection_1_0, Credentials], bool | Awaitable[bool]]"
)
# A server without 0-10 doesn't load its connections.

_logger = logging.getLogger("amqp_sansio_asyncio")

GUEST: Final[Mapping[str, str]] = {"guest": "guest"}
_HEADER_SIZE: Final = 8
_CLOSING: Final = "the server is closing"


@overload
def serve(
    handler: Handler_1_0,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    version: Literal[Version.AMQP_1_0],
    config: Config_1_0 | None = None,
    ssl: ssl_module.SSLContext | None = None,
    authenticate: Mapping[str, str] | Authenticate_1_0 = GUEST,
    vhosts: Container[str] | None = ("/",),
    origins: Collection[str] = (),
    record: RecordTarget | None = None,
    record_secrets: bool = False,
) -> Opening[Server]: ...
@overload
def serve(
    handler: Handler_0_10,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    version: Literal[Version.AMQP_0_10],
    config: Config_0_10 | None = None,
    ssl: ssl_module.SSLContext | None = None,
    authenticate: Mapping[str, str] | Authenticate_0_10 = GUEST,
    vhosts: Container[str] | None = ("/",),
    origins: Collection[str] = (),
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    sessions: SessionKeeper | None = None,
) -> Opening[Server]: ...
@overload
def serve(
    handler: Handler,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    version: Literal[Version.AMQP_0_9_1] = AMQP_0_9_1,
    config: Config | None = None,
    configs: Mapping[Version, Config] | None = None,
    ssl: ssl_module.SSLContext | None = None,
    authenticate: Mapping[str, str] | Authenticate = GUEST,
    vhosts: Container[str] | None = ("/",),
    origins: Collection[str] = (),
    record: RecordTarget | None = None,
    record_secrets: bool = False,
) -> Opening[Server]: ...
@overload
def serve(
    handler: _OlderHandler,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    configs: Mapping[Version, Config | Config_1_0],
    ssl: ssl_module.SSLContext | None = None,
    authenticate: Mapping[str, str] | _OlderAuthenticate = GUEST,
    vhosts: Container[str] | None = ("/",),
    origins: Collection[str] = (),
    record: RecordTarget | None = None,
    record_secrets: bool = False,
) -> Opening[Server]: ...
@overload
def serve(
    handler: AnyHandler,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    configs: Mapping[Version, AnyConfig],
    ssl: ssl_module.SSLContext | None = None,
    authenticate: Mapping[str, str] | AnyAuthenticate = GUEST,
    vhosts: Container[str] | None = ("/",),
    origins: Collection[str] = (),
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    sessions: SessionKeeper | None = None,
) -> Opening[Server]: ...
def serve(
    handler: Callable[[Any], Awaitable[object]],
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    version: Version = AMQP_0_9_1,
    config: AnyConfig | None = None,
    configs: Mapping[Version, AnyConfig] | None = None,
    ssl: ssl_module.SSLContext | None = None,
    authenticate: Mapping[str, str] | Callable[[Any, Credentials], bool | Awaitable[bool]] = GUEST,
    vhosts: Container[str] | None = ("/",),
    origins: Collection[str] = (),
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    sessions: SessionKeeper | None = None,
) -> Opening[Server]:
    """Serve AMQP clients: `async with serve(handler) as server`, or `await` it and close it later.

    `handler(connection)` runs in its own task for each client that has logged in and opened one of `vhosts` (None:
    any); its connection is a `ServerConnection`, in 0-10 a `ServerConnection_0_10`, whose detached sessions are kept by
    `sessions`, or in 1.0 a `ServerConnection_1_0`, whose virtual host is NAME if the open's hostname is "vhost:NAME",
    else "/". `authenticate` maps users to passwords, or is called with the connection and the credentials; the default
    is guest with the password guest. With a mapping, a configuration of 1.0 that names no mechanisms offers PLAIN;
    without `authenticate` it is open to all who use no SASL. `config` is for `version`, `configs` has one for each
    supported version, the preferred one first. Port 0 takes a free one; see `Server.port`. `record` writes every
    connection to one pcapng file. `origins` are those of pages in browsers that may connect by WebSocket, such as
    "https://app.example", beside pages of the server's own address.

    Raises OSError if it can't listen, ValueError for SCRAM without a mapping of users.

    >>> from amqp_sansio.events import Opened
    >>> async def handle(connection: ServerConnection) -> None:
    ...     async for event in connection:
    ...         if isinstance(event, Opened):
    ...             print("channel", event.channel)
    >>> async def example() -> int:
    ...     async with serve(handle) as server:
    ...         return server.port
    """
    if config is not None and configs is not None:
        raise ValueError("serve takes config (for one version) or configs (by version), not both")
    versions = dict(configs) if configs is not None else {version: config or _default(version)}
    _check(versions, users=authenticate is not GUEST and not callable(authenticate))
    if callable(authenticate) and any(_uses_scram(each) for each in versions.values()):
        raise ValueError("SCRAM needs the users' passwords: give authenticate a mapping")
    Acceptor(versions)
    server = Server(handler, versions, Login(authenticate, vhosts), sessions, origins)
    return Opening(lambda: server.start(host, port, ssl, (record, record_secrets)))


class Server:
    """A listening server. `close` it, or leave its context."""

    def __init__(
        self,
        handler: Callable[[Any], Awaitable[object]],
        configs: Mapping[Version, AnyConfig],
        login: Login,
        sessions: SessionKeeper | None = None,
        origins: Collection[str] = (),
    ) -> None:
        self._handler = handler
        """The application's, called with each connection that is open."""
        self._sessions = sessions
        """Keeps sessions of 0-10; made when one is needed."""
        self._configs = configs
        """Of each version that is spoken."""
        self._origins = origins
        """Origins of pages in browsers that may open a WebSocket."""
        self._login = login
        """Decides who may come in."""
        self._listener: asyncio.Server | None = None
        """None before it listens, and once it is closed."""
        self._recorder: Recorder | None = None
        """Of all connections; None: nothing is recorded."""
        self._owns_recorder = False
        """Whether the recording was opened here, and is closed with the server."""
        self._accepting: set[_Accepting] = set()
        """Clients whose version isn't known yet."""
        self._arrivals: Arrivals | None = None
        """Connections that haven't logged in."""
        self._tasks: dict[asyncio.Task[None], ServingDriver[Any]] = {}
        """The handler's tasks with their drivers, until they end."""
        self._begun = 0
        """Counts connections, for metrics."""
        self._logged_in = 0
        """Counts clients that have logged in."""
        self._failures = 0
        """Counts handlers that have ended with an error."""

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening sockets; none once it is closed."""
        return tuple(self._listener.sockets) if self._listener is not None else ()

    @property
    def port(self) -> int:
        """The port it listens on. Raises RuntimeError if it is closed."""
        if not self.sockets:
            raise RuntimeError("the server is closed")
        return int(self.sockets[0].getsockname()[1])

    @property
    def connections(self) -> int:
        """Number of clients, including those still logging in or leaving."""
        return len(self._accepting) + len(self._tasks)

    def metrics(self) -> list[Sample]:
        """Return the server's counters and gauges; what clients do is counted by the handler that serves them."""
        opened = sum([driver.core.is_open for driver in self._tasks.values()])
        return [
            Sample("amqp_server_connections", opened, "Connections that are open"),
            Sample("amqp_server_connections_total", self._begun, "Connections that began"),
            Sample("amqp_server_logins_total", self._logged_in, "Clients that have logged in"),
            Sample("amqp_server_handlers_failed_total", self._failures, "Handlers that ended with an error"),
        ]

    async def serve_forever(self) -> None:
        """Wait until it is closed or this task is cancelled."""
        if self._listener is not None:
            await self._listener.serve_forever()

    async def close(self, *, timeout: float = 10.0) -> None:
        """Stop listening, close every connection (320 or amqp:connection:forced), and wait for the handlers, at most
        `timeout` seconds.
        """
        if self._listener is None:
            return
        listener, self._listener = self._listener, None
        listener.close()
        if self._arrivals is not None:
            self._arrivals.close()
        for accepting in list(self._accepting):
            accepting.abort()
        for driver in self._tasks.values():
            driver.force_close(_CLOSING)
        if self._tasks:
            _, late = await asyncio.wait(list(self._tasks), timeout=timeout)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        await listener.wait_closed()
        if self._sessions is not None:
            self._sessions.close()
        if self._recorder is not None and self._owns_recorder:
            self._recorder.close()

    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # For the module's functions.

    async def start(
        self, host: str, port: int, ssl: ssl_module.SSLContext | None, record: tuple[RecordTarget | None, bool]
    ) -> Server:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._recorder, self._owns_recorder = recorder_for(*record)
        try:
            configs = self._configs.values()
            self._arrivals = Arrivals(
                UNOPENED,
                self._new,
                ssl=ssl,
                handshake_timeout=min(HANDSHAKE, *[each.handshake_timeout for each in configs]),
                close_timeout=min(each.close_timeout for each in configs),
                origins=self._origins,
            )
            self._listener = await loop.create_server(self._arrivals.enter, host, port)
        except BaseException:
            if self._recorder is not None and self._owns_recorder:
                self._recorder.close()
            raise
        return self

    def accepted(self, accepting: _Accepting, driver: ServingDriver[Any], connection: AnyServerConnection) -> None:
        """Serve a client whose version is known."""
        self._accepting.discard(accepting)
        task = driver.loop.create_task(self._run(driver, connection, accepting.entrance))
        self._tasks[task] = driver
        task.add_done_callback(self._forget)

    def sessions(self) -> SessionKeeper:
        """The keeper of 0-10's sessions."""
        if self._sessions is None:
            from .amqp_0_10.session_registry import SessionKeeper

            self._sessions = SessionKeeper()
        return self._sessions

    # Internals.

    def _new(self, entrance: Entrance, transport: asyncio.Transport) -> _Accepting:
        self._begun += 1
        # Each connection needs a different nonce (RFC 5802 section 5.1).
        configs = {version: _with_nonce(config) for version, config in self._configs.items()}
        accepting = _Accepting(self, configs, self._recorder, entrance)
        self._accepting.add(accepting)
        accepting.ended = self._accepting.discard
        return accepting

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    async def _run(self, driver: ServingDriver[Any], connection: AnyServerConnection, entrance: Entrance) -> None:
        try:
            if await self._login.open(connection, driver):
                entrance.leave()
                self._logged_in += 1
                await self._handler(connection)
        except EndpointClosed:
            # A client that leaves while it is being answered isn't the handler's error.
            if connection.is_open:
                self._failed(driver)
        except Exception:
            self._failed(driver)
        finally:
            driver.force_close(_CLOSING)
            await driver.wait_lost()
            entrance.leave()
            driver.handler_ended()

    def _failed(self, driver: ServingDriver[Any]) -> None:
        self._failures += 1
        _logger.exception("the handler of a connection failed")
        driver.fail()


class _Accepting(Entrant):
    """A client whose version isn't known yet."""

    def __init__(
        self, server: Server, configs: Mapping[Version, AnyConfig], recorder: Recorder | None, entrance: Entrance
    ) -> None:
        self._server = server
        """Takes the connection once its version is known."""
        self.entrance = entrance
        """Its place among those that haven't logged in."""
        self._acceptor = Acceptor(configs)
        """Reads the protocol header."""
        self._timeout = min(config.handshake_timeout for config in configs.values())
        """Seconds for the header."""
        self._recorder = recorder
        """Of the server; it opens `_tap`."""
        self._tap: RecordedConnection | None = None
        """Takes the octets of both sides; the connection's driver goes on with it."""
        self._transport: asyncio.Transport | None = None
        """Cut off when the time is over, or the server closes."""
        self._timer: asyncio.TimerHandle | None = None
        """Cuts the transport when no header has come within `_timeout`; cancelled when one has, or at the end."""
        self._seen = 0
        """Octets of the header so far."""
        self.ended: Callable[[_Accepting], None] = lambda _: None
        """Called when the transport is gone before the version is known."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._timeout, self.abort)
        if self._recorder is not None:
            extra = transport.get_extra_info
            self._tap = self._recorder.open(extra("peername"), extra("sockname"))

    def transport_changed(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        assert transport is not None
        if transport.is_closing():
            return
        loop = asyncio.get_running_loop()
        first, rest = data[: _HEADER_SIZE - self._seen], data[_HEADER_SIZE - self._seen :]
        self._seen += len(first)
        if self._tap is not None:
            self._tap.client_sent(first)
        self._acceptor.receive_data(first, loop.time())
        result = self._acceptor.result()
        if isinstance(result, Signal):
            return
        self._stop_timer()
        if isinstance(result, Refused):
            if self._tap is not None:
                self._tap.server_sent(result.reply)
            transport.write(result.reply)
            transport.close()
            return
        driver, connection = _face(loop, result, self._tap, self._server)
        self._tap = None
        transport.set_protocol(driver)
        self._server.accepted(self, driver, connection)
        driver.connection_made(transport)
        if rest:
            driver.data_received(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.entrance.leave()
        if self._tap is not None:
            self._tap.close("client" if self._seen < _HEADER_SIZE else "server", reset=exc is not None)
        self.ended(self)

    def abort(self) -> None:
        """Drop a silent client."""
        if self._transport is not None:
            self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _face(
    loop: asyncio.AbstractEventLoop, accepted: Accepted, tap: RecordedConnection | None, server: Server
) -> tuple[ServingDriver[Any], AnyServerConnection]:
    """Create the driver and the application's view of a client, in the client's version."""
    core: Any = accepted.connection
    if accepted.version is AMQP_1_0:
        from .amqp_1_0.server import ServerConnection as ServerConnection_1_0
        from .amqp_1_0.server import ServerDriver as ServerDriver_1_0

        newer = ServerDriver_1_0(loop, core, tap)
        return newer, ServerConnection_1_0(newer)
    if accepted.version is AMQP_0_10:
        from .amqp_0_10.server import ServerConnection as ServerConnection_0_10
        from .amqp_0_10.server import ServerDriver as ServerDriver_0_10

        ten = ServerDriver_0_10(loop, core, tap, server.sessions())
        return ten, ServerConnection_0_10(ten)
    driver = ServerDriver(loop, core, tap)
    return driver, ServerConnection(driver)


def _default(version: Version) -> AnyConfig:
    if version is AMQP_1_0:
        from amqp_sansio.amqp_1_0 import Config as Config_1_0

        # By default users log in by PLAIN.
        return Config_1_0(mechanisms=("PLAIN",))
    if version is AMQP_0_10:
        from amqp_sansio.amqp_0_10 import Config as Config_0_10

        return Config_0_10()
    return Config()


def _check(configs: dict[Version, AnyConfig], *, users: bool) -> None:
    """Refuse configurations of other versions; generate 1.0's name if it has none, and let its users log in."""
    for version, config in configs.items():
        if type(config) is not type(_default(version)):
            text = f"the configuration for AMQP {version.label} is another version's Config"
            raise ValueError(text)
        if version is AMQP_1_0:
            newer = cast("Config_1_0", config)
            if newer.tls:
                raise ValueError("Config.tls begins TLS inside the connection; give serve an `ssl` context")
            changes: dict[str, Any] = {}
            if not newer.container_id:
                changes["container_id"] = random_name(secrets.token_urlsafe)
            if users and not newer.mechanisms:
                # Without mechanisms it would offer ANONYMOUS, which no user and password can pass.
                changes["mechanisms"] = ("PLAIN",)
            if changes:
                configs[version] = _replaced(newer, **changes)


def _replaced(config: AnyConfig, **changes: Any) -> AnyConfig:
    """Return a configuration of any version with `changes`."""
    names: tuple[str, ...] = getattr(config, "__match_args__")  # noqa: B009
    fields: dict[str, Any] = {name: getattr(config, name) for name in names}
    return type(config)(**{**fields, **changes})


def _with_nonce(config: AnyConfig) -> AnyConfig:
    needed = any(config.registry.needs_nonce(name) for name in config.mechanisms)
    return _replaced(config, nonce=secrets.token_urlsafe(24)) if needed else config


def _uses_scram(config: AnyConfig) -> bool:
    return any(name.startswith("SCRAM-") for name in config.mechanisms)


__all__ = [
    "AnyAuthenticate",
    "AnyHandler",
    "Authenticate",
    "Authenticate_0_10",
    "Authenticate_1_0",
    "Handler",
    "Handler_0_10",
    "Handler_1_0",
    "Server",
    "serve",
]
