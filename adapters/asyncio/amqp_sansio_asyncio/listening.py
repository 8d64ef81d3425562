"""`bind_sockets` makes listening sockets for addresses and names; a `Listener` accepts from all of them."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl as ssl_module
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Any, Final, Protocol, TypeAlias, TypeVar

Address: TypeAlias = tuple[str, int]
"""A host, by its name or number, and a port."""
_Numbers: TypeAlias = tuple[Any, ...]
"""An address with its host as a number; in IPv6 it has four parts."""
BACKLOG: Final = 1024
"""Clients that may wait to be accepted; tests may open many at once."""
_TRIES: Final = 20
"""Free ports that are tried for a name: another program may have the port in the other family."""
_MISSING: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, None})
"""What a system answers that has no such family, or not this address of the family; asyncio leaves out the number."""


async def bind_sockets(host: str, port: int = 0, *, allow_remote: bool = False) -> list[socket.socket]:
    """Return sockets that listen at `host`; a name may have an address in each family of IP, "" means all addresses.

    Port 0 takes a free one, the same for each address. An address that this system doesn't have is left out if there is
    another one. `serve_broker` takes the sockets.

    Raises OSError with the address in its text, and then no socket is open; ValueError for an address that isn't a
    loopback one, unless `allow_remote`.

    >>> async def example() -> list[str]:
    ...     return [each.getsockname()[0] for each in await bind_sockets("localhost", 5672)]
    """
    numbers = await _resolve((host, port), allow_remote=allow_remote)

    async def open_one(each: _Numbers, chosen: int) -> tuple[socket.socket, int]:
        opened = listen_at(each, chosen)
        return opened, opened.getsockname()[1]

    try:
        return await _open_all(numbers, port, open_one)
    except OSError as error:
        text = f"{_shown((host, port))}: {(error.strerror or str(error)).lower()}"
        raise OSError(error.errno, text) from None


def close_all(sockets: Sequence[socket.socket]) -> None:
    """Close them."""
    for each in sockets:
        each.close()


async def _resolve(address: Address, *, allow_remote: bool) -> list[_Numbers]:
    """Return the addresses of a host, as the system writes them. Raises as `bind_sockets`."""
    host, port = address
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise socket.gaierror(error.errno, f"{_shown(address)}: {(error.strerror or str(error)).lower()}") from None
    numbers = list(dict.fromkeys([each[4] for each in found]))
    remote = [each for each in numbers if not ip_address(str(each[0]).partition("%")[0]).is_loopback]
    if remote and not allow_remote:
        raise ValueError(f"{host or 'every address'} can be reached from other machines, which isn't allowed")
    return numbers


class _Closing(Protocol):
    def close(self) -> None: ...


_Opened = TypeVar("_Opened", bound=_Closing)


async def _open_all(
    numbers: Sequence[_Numbers], port: int, open_one: Callable[[_Numbers, int], Awaitable[tuple[_Opened, int]]]
) -> list[_Opened]:
    """Return what `open_one` opens, with its port, at each of these addresses, or at those that this system has.

    All have one port; another is tried if a free one is taken in the other family. Raises OSError, and nothing is open.
    """
    for tried in range(1, _TRIES + 1):
        opened: list[_Opened] = []
        chosen = port
        missing: OSError | None = None
        try:
            for each in numbers:
                try:
                    one, chosen = await open_one(each, chosen)
                except OSError as error:
                    if error.errno not in _MISSING:
                        raise
                    missing = error
                else:
                    opened.append(one)
            if not opened and missing is not None:
                raise missing
        except BaseException as error:
            for one in opened:
                one.close()
            is_taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if is_taken and not port and tried < _TRIES:
                continue
            raise
        return opened
    raise AssertionError("the last try returns or raises")


def listen_at(numbers: _Numbers, port: int) -> socket.socket:
    """Return a socket that listens at one address. Raises OSError."""
    is_ipv6 = len(numbers) > 2
    listening = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # A port whose last connections are in TIME-WAIT; on Windows the option would share a port that is in use.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_ipv6:
            # Each family has a socket of its own, also where one socket could have both.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.setblocking(False)
        listening.bind((numbers[0], port, *numbers[2:]))
        listening.listen(BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def _shown(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Listener:
    """Accepts connections on several sockets, which it closes at its end: an `asyncio.Server` for each."""

    def __init__(self, servers: Sequence[asyncio.Server]) -> None:
        self._servers = tuple(servers)
        """One for each socket."""
        self._closed = asyncio.Event()
        """Set by `close`, for those who wait until then."""

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening sockets, in the order of their addresses; none once it is closed."""
        return tuple([each for server in self._servers for each in server.sockets])

    async def start_serving(self) -> None:
        """Accept connections."""
        for server in self._servers:
            await server.start_serving()

    async def serve_forever(self) -> None:
        """Wait until it is closed or this task is cancelled."""
        await self._closed.wait()

    def close(self) -> None:
        """Accept no more."""
        self._closed.set()
        for server in self._servers:
            server.close()

    async def wait_closed(self) -> None:
        """Wait until the sockets are closed, since Python 3.12 also for the connections."""
        for server in self._servers:
            await server.wait_closed()


async def listen(
    factory: Callable[[], asyncio.BaseProtocol],
    host: str,
    port: int,
    *,
    ssl: ssl_module.SSLContext | None = None,
    handshake: float | None = None,
    allow_remote: bool = False,
) -> Listener:
    """Return a listener at `host`, as `bind_sockets` finds it, on the network of the event loop; it doesn't accept yet.

    `handshake` are the seconds that a client has for that of TLS, by default asyncio's. Raises as `bind_sockets`.
    """
    loop = asyncio.get_running_loop()
    tls: dict[str, Any] = _tls(ssl, handshake)

    async def open_one(each: _Numbers, chosen: int) -> tuple[asyncio.Server, int]:
        at = str(each[0])
        if len(each) > 3 and each[3]:
            at = f"{at}%{each[3]}"
        server = await loop.create_server(factory, at, chosen, backlog=BACKLOG, start_serving=False, **tls)
        return server, server.sockets[0].getsockname()[1]

    return Listener(await _open_all(await _resolve((host, port), allow_remote=allow_remote), port, open_one))


async def listen_on(
    factory: Callable[[], asyncio.BaseProtocol],
    sockets: Sequence[socket.socket],
    *,
    ssl: ssl_module.SSLContext | None = None,
    handshake: float | None = None,
) -> Listener:
    """Return a listener on bound sockets, which doesn't accept yet. Closes them if that fails."""
    loop = asyncio.get_running_loop()
    tls: dict[str, Any] = _tls(ssl, handshake)
    servers: list[asyncio.Server] = []
    try:
        for each in sockets:
            servers.append(await loop.create_server(factory, sock=each, backlog=BACKLOG, start_serving=False, **tls))
    except BaseException:
        for server in servers:
            server.close()
        close_all(sockets)
        raise
    return Listener(servers)


def _tls(ssl: ssl_module.SSLContext | None, handshake: float | None) -> dict[str, Any]:
    """Return the arguments of a server of asyncio, which takes a limit with TLS alone."""
    return {"ssl": ssl} if ssl is None or handshake is None else {"ssl": ssl, "ssl_handshake_timeout": handshake}


__all__ = ["Address", "Listener", "bind_sockets", "close_all", "listen", "listen_at", "listen_on"]
