"""`serve`: an asyncio server that logs clients in and hands their connections to the application
(0-9-1 section 2.2.4).
"""

from __future__ import annotations

import asyncio
import hmac
import inspect
import logging
import secrets
import socket
import ssl as ssl_module
from collections.abc import Awaitable, Callable, Container, Mapping
from typing import Final, TypeAlias

from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import (
    AuthenticationRequested,
    Opened,
    OpenRequested,
    ScramKeysRequested,
    Signal,
)
from amqp_sansio.negotiation import Acceptor, Refused
from amqp_sansio.sasl import Credentials, ScramKeys, decoy_scram_keys, scram_keys
from amqp_sansio.versions import AMQP_0_9_1, Version

from .opening import Opening
from .recording import RecordedConnection, Recorder, RecordTarget, recorder_for
from .server_connection import ServerConnection, ServerDriver
from .settings import replace

Handler: TypeAlias = Callable[[ServerConnection], Awaitable[object]]
"""Serves one client; the connection is closed when it returns."""
Authenticate: TypeAlias = Callable[[ServerConnection, Credentials], "bool | Awaitable[bool]"]
"""Decides whether a client is who it says."""

_logger = logging.getLogger("amqp_sansio_asyncio")

GUEST: Final[Mapping[str, str]] = {"guest": "guest"}
_HEADER_SIZE: Final = 8
_CLOSING = "CONNECTION_FORCED - the server is closing"


def serve(
    handler: Handler,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    config: Config | None = None,
    configs: Mapping[Version, Config] | None = None,
    ssl: ssl_module.SSLContext | None = None,
    authenticate: Mapping[str, str] | Authenticate = GUEST,
    vhosts: Container[str] | None = ("/",),
    record: RecordTarget | None = None,
    record_secrets: bool = False,
) -> Opening[Server]:
    """Serve AMQP clients: `async with serve(handler) as server`, or `await` it and close it later.

    `handler(connection)` runs in a task of its own for each client that has logged in and opened
    one of `vhosts` (None: whichever it names). `authenticate` has the users and their passwords, or
    is called with the connection and the credentials; the default is guest with the password guest.
    `config` is for 0-9-1, `configs` has one for each version, the preferred one first. Port 0 takes
    a free one; see `Server.port`. `record` writes every connection to one pcapng file.

    Raises OSError when it can't listen, ValueError for SCRAM without a mapping of users.
    """
    if config is not None and configs is not None:
        raise ValueError("serve takes config (for 0-9-1) or configs (by version), not both")
    versions = dict(configs) if configs is not None else {AMQP_0_9_1: config or Config()}
    if callable(authenticate) and any(_uses_scram(each) for each in versions.values()):
        raise ValueError("SCRAM needs the users' passwords: give authenticate a mapping")
    Acceptor(versions)
    server = Server(handler, versions, authenticate, vhosts)
    return Opening(lambda: server.start(host, port, ssl, (record, record_secrets)))


class Server:
    """A listening server. `close` it, or leave its context."""

    def __init__(
        self,
        handler: Handler,
        configs: Mapping[Version, Config],
        authenticate: Mapping[str, str] | Authenticate,
        vhosts: Container[str] | None,
    ) -> None:
        self._handler = handler
        self._configs = configs
        self._login = _Login(authenticate, vhosts)
        self._listener: asyncio.Server | None = None
        self._recorder: Recorder | None = None
        self._owns_recorder = False
        self._accepting: set[_Accepting] = set()
        self._tasks: dict[asyncio.Task[None], ServerDriver] = {}

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening sockets; none once it's closed."""
        return tuple(self._listener.sockets) if self._listener is not None else ()

    @property
    def port(self) -> int:
        """The port it listens on. Raises RuntimeError when it's closed."""
        if not self.sockets:
            raise RuntimeError("the server is closed")
        return int(self.sockets[0].getsockname()[1])

    @property
    def connections(self) -> int:
        """How many clients there are, with those that are still logging in or leaving."""
        return len(self._accepting) + len(self._tasks)

    async def serve_forever(self) -> None:
        """Wait until it is closed or this task is cancelled."""
        if self._listener is not None:
            await self._listener.serve_forever()

    async def close(self, *, timeout: float = 10.0) -> None:
        """Stop listening, close every connection with 320 (connection forced), and wait for the
        handlers, `timeout` seconds at most.
        """
        if self._listener is None:
            return
        listener, self._listener = self._listener, None
        listener.close()
        for accepting in list(self._accepting):
            accepting.abort()
        for driver in self._tasks.values():
            driver.close(320, _CLOSING)
        if self._tasks:
            _, late = await asyncio.wait(list(self._tasks), timeout=timeout)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        await listener.wait_closed()
        if self._recorder is not None and self._owns_recorder:
            self._recorder.close()

    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # What the module's functions use.

    async def start(
        self,
        host: str,
        port: int,
        ssl: ssl_module.SSLContext | None,
        record: tuple[RecordTarget | None, bool],
    ) -> Server:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._recorder, self._owns_recorder = recorder_for(*record)
        try:
            self._listener = await loop.create_server(self._new, host, port, ssl=ssl)
        except BaseException:
            if self._recorder is not None and self._owns_recorder:
                self._recorder.close()
            raise
        return self

    def accepted(self, accepting: _Accepting, driver: ServerDriver) -> None:
        """A client speaks one of the versions."""
        self._accepting.discard(accepting)
        task = driver.loop.create_task(self._run(driver))
        self._tasks[task] = driver
        task.add_done_callback(self._forget)

    # Inside.

    def _new(self) -> _Accepting:
        # Every connection has a nonce of its own (RFC 5802 section 5.1).
        configs = {version: _with_nonce(config) for version, config in self._configs.items()}
        accepting = _Accepting(self, configs, self._recorder)
        self._accepting.add(accepting)
        accepting.ended = self._accepting.discard
        return accepting

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)

    async def _run(self, driver: ServerDriver) -> None:
        connection = ServerConnection(driver)
        try:
            if await self._login.open(connection, driver):
                await self._handler(connection)
        except EndpointClosed:
            # A client that leaves while it is being answered is no fault of the handler's.
            if connection.is_open:
                self._failed(driver)
        except Exception:
            self._failed(driver)
        finally:
            driver.close(320, _CLOSING)
            await driver.wait_lost()

    def _failed(self, driver: ServerDriver) -> None:
        _logger.exception("the handler of a connection failed")
        driver.close(541, "INTERNAL_ERROR - the server failed")


class _Accepting(asyncio.Protocol):
    """A client that has not yet said which version it speaks."""

    def __init__(
        self, server: Server, configs: Mapping[Version, Config], recorder: Recorder | None
    ) -> None:
        self._server = server
        self._acceptor = Acceptor(configs)
        self._timeout = min(config.handshake_timeout for config in configs.values())
        self._recorder = recorder
        self._tap: RecordedConnection | None = None
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._seen = 0
        self.ended: Callable[[_Accepting], None] = lambda _: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._timeout, self.abort)
        if self._recorder is not None:
            extra = transport.get_extra_info
            self._tap = self._recorder.open(extra("peername"), extra("sockname"))

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
        driver = ServerDriver(loop, result.connection, self._tap)  # type: ignore[arg-type]
        self._tap = None
        transport.set_protocol(driver)
        self._server.accepted(self, driver)
        driver.connection_made(transport)
        if rest:
            driver.data_received(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._tap is not None:
            self._tap.close(
                "client" if self._seen < _HEADER_SIZE else "server", reset=exc is not None
            )
        self.ended(self)

    def abort(self) -> None:
        """Drop a client that says nothing."""
        if self._transport is not None:
            self._transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Login:
    """Decides who may come in, and to which virtual hosts."""

    def __init__(
        self, authenticate: Mapping[str, str] | Authenticate, vhosts: Container[str] | None
    ) -> None:
        self._authenticate = authenticate
        self._vhosts = vhosts
        self._secret = secrets.token_bytes(16)
        self._keys: dict[tuple[str, str], ScramKeys] = {}

    async def open(self, connection: ServerConnection, driver: ServerDriver) -> bool:
        """Answer a client's opening; whether it is in."""
        core = driver.core
        while True:
            event = await driver.next()
            if event is None:
                return False
            if isinstance(event, ScramKeysRequested):
                core.provide_scram_keys(self._scram_keys(event.mechanism, event.user))
            elif isinstance(event, AuthenticationRequested):
                connection.user = event.credentials.user or event.credentials.authzid
                try:
                    if await self._may_enter(connection, event.credentials):
                        core.accept_authentication()
                    else:
                        core.refuse_authentication("ACCESS_REFUSED - login was refused")
                except EndpointClosed:
                    return False
            elif isinstance(event, OpenRequested):
                if self._vhosts is None or event.vhost in self._vhosts:
                    core.accept_open()
                else:
                    core.refuse_open(530, f"NOT_ALLOWED - there is no virtual host {event.vhost!r}")
            elif isinstance(event, Opened):
                driver.schedule_flush()
                return True

    async def _may_enter(self, connection: ServerConnection, credentials: Credentials) -> bool:
        if callable(self._authenticate):
            answer = self._authenticate(connection, credentials)
            return bool(await answer if inspect.isawaitable(answer) else answer)
        if credentials.authzid not in ("", credentials.user):
            return False
        if credentials.mechanism.startswith("SCRAM-"):
            return True  # The core has verified the proof.
        password = self._authenticate.get(credentials.user)
        if password is None or credentials.password is None:
            return False
        return hmac.compare_digest(password.encode(), credentials.password.encode())

    def _scram_keys(self, mechanism: str, user: str) -> ScramKeys | None:
        digest = "sha1" if mechanism == "SCRAM-SHA-1" else "sha256"
        if callable(self._authenticate):
            return None
        password = self._authenticate.get(user)
        if password is None:
            return decoy_scram_keys(user, self._secret, digest=digest)
        keys = self._keys.get((user, digest))
        if keys is None:
            keys = scram_keys(password, secrets.token_bytes(16), digest=digest)
            self._keys[user, digest] = keys
        return keys


def _with_nonce(config: Config) -> Config:
    return replace(config, nonce=secrets.token_urlsafe(24)) if _uses_scram(config) else config


def _uses_scram(config: Config) -> bool:
    return any(name.startswith("SCRAM-") for name in config.mechanisms)


__all__ = ["Authenticate", "Handler", "Server", "serve"]
