"""The addresses of the commands that listen: parsed, bound, compared, and written into a file for whoever waits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from amqp_sansio.capture import endpoint
from amqp_sansio_asyncio.listening import Address, bind_sockets, close_all

from .errors import CommandError, describe
from .files import write_whole


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT` or `[IPv6]:PORT`. Raises CommandError for anything else."""
    host, colon, port = text.rpartition(":")
    if "//" in text:
        raise CommandError(f"{text}: expected HOST:PORT, not a URL")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise CommandError(f"{text}: write an IPv6 address as [ADDRESS]:PORT")
    if not colon or not host or not port.isdecimal():
        raise CommandError(f"{text}: expected HOST:PORT")
    if len(port) > 5 or int(port) > 65535:
        raise CommandError(f"{text}: a port is from 0 to 65535")
    try:
        host.encode("idna")
    except UnicodeError:
        raise CommandError(f"{text}: {host!r} can't be the name of a host") from None
    return host, int(port)


class Listening:
    """The listening sockets of a command."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        """Bound and listening, in the order of the addresses; a name that stands for several has one for each."""
        self.asked: list[str] = []
        """For each address that was asked for, what it is: a free port has its number, a name its first address."""

    def __str__(self) -> str:
        return " and ".join([named(each.getsockname()) for each in self.sockets])


@asynccontextmanager
async def listening(addresses: Iterable[Address], *, allow_remote: bool) -> AsyncGenerator[Listening]:
    """Listen at all of them while the block runs. Raises CommandError."""
    where = Listening()
    try:
        for host, port in addresses:
            try:
                new = await bind_sockets(host, port, allow_remote=allow_remote)
            except OSError as error:
                raise CommandError(describe(error)) from None
            except ValueError as error:
                raise CommandError(f"{error}: --allow-remote") from None
            where.sockets += new
            where.asked.append(named(new[0].getsockname()))
        yield where
    finally:
        close_all(where.sockets)


async def check_upstream(upstream: Address, sockets: Sequence[socket.socket]) -> None:
    """Raise CommandError for an upstream that can't be found, or at which the proxy itself listens."""
    if not upstream[1]:
        raise CommandError(f"upstream {endpoint(*upstream)}: nobody listens at port 0")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(*upstream, type=socket.SOCK_STREAM)
    except OSError as error:
        raise CommandError(f"upstream {endpoint(*upstream)}: {describe(error)}") from None
    own = [_plain(each.getsockname()) for each in sockets]
    if any([leads_to(_plain(address), own, _is_local) for *_, address in found]):
        raise CommandError(f"upstream {endpoint(*upstream)}: the proxy itself listens there")


def leads_to(upstream: Address, listening: Iterable[Address], is_local: Callable[[str], bool]) -> bool:
    """Return whether a connection to `upstream` arrives at one of the listening addresses; hosts are numbers.

    `is_local` says whether an address is one of this machine, which matters where it listens on all of them.

    >>> leads_to(("127.0.0.1", 5672), [("0.0.0.0", 5672)], lambda host: host.startswith("127."))
    True
    """
    target = _canonical(upstream[0])
    if target.is_unspecified:
        # A connection to it goes to this machine itself.
        target = ip_address("127.0.0.1" if target.version == 4 else "::1")
    for host, port in listening:
        own = _canonical(host)
        everywhere = own.is_unspecified and own.version == target.version and is_local(str(target))
        if port == upstream[1] and (own == target or everywhere):
            return True
    return False


def announce(path: Path, addresses: Sequence[str]) -> None:
    """Write a file with a line for each address: a program that waits for it reads it as soon as it exists.

    Raises OSError.
    """
    write_whole(path, "\n".join([*addresses, ""]))


def named(address: Sequence[object]) -> str:
    """Return a socket address as texts and recordings write it."""
    return endpoint(*_plain(address))


def _plain(address: Sequence[object]) -> Address:
    """Return a socket address without the parts that only IPv6 has."""
    return str(address[0]).partition("%")[0], int(str(address[1]))


def _canonical(host: str) -> IPv4Address | IPv6Address:
    """Return an address; IPv4 inside of IPv6 is IPv4."""
    found = ip_address(host)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _is_local(host: str) -> bool:
    """Return whether this machine has the address: only its own can be bound."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((host, 0))
        except OSError:
            return False
    return True
