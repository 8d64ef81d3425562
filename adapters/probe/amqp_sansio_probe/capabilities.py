"""What the peer is and can do, asked before any case runs."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import Final, NamedTuple, TypeVar

from amqp_sansio import amqp_0_8, amqp_0_10
from amqp_sansio import amqp_0_9_1 as amqp

from .conversation import Conversation, Login, Names, Patience
from .talk import HEADER, Talk, Talk08
from .talk_0_10 import Talk010
from .talk_1_0 import Talk10
from .transport import OVERSLEPT, Opener, Transport, Watched
from .verdicts import ATTEMPTS, Surprise, Unusable

HEADERS: Final = {
    "0-9-1": (HEADER,),
    "1.0": (b"AMQP\x00\x01\x00\x00", b"AMQP\x03\x01\x00\x00"),
    "0-10": (b"AMQP\x01\x01\x00\x0a",),
    "0-8": (b"AMQP\x01\x01\x08\x00", b"AMQP\x01\x01\x00\x08"),
}
"""The headers with which each version begins."""
_ADDRESSES: Final = ("/queue/{}",)
"""Addresses that make a queue: RabbitMQ's, before 4.0."""
C = TypeVar("C", bound=Conversation)
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")
_SPEAKS_HTTP: Final = "the peer speaks HTTP, not AMQP"
_SPEAKS_TLS: Final = "the peer speaks TLS: try amqps"


class Capabilities(NamedTuple):
    """The peer: its names, the versions that it speaks, its mechanisms, and what it can do.

    `unopened` has the versions that it speaks and in which no connection can be opened, with the reasons. What it can
    do in other versions than 0-9-1 has the version before it: `1.0/node`. `address` is that of a queue which 1.0 makes
    by naming it, with {} for the name, where there are no dynamic nodes.
    """

    product: str = ""
    version: str = ""
    versions: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    can: frozenset[str] = frozenset()
    unopened: tuple[tuple[str, str], ...] = ()
    address: str = ""

    def lacks(self, needs: tuple[str, ...]) -> str:
        """Return the first thing that is needed and not there, or ""."""
        for version, reason in self.unopened:
            if version in needs:
                return f"{version}: {reason}"
        return next((each for each in needs if each not in self.can and each not in self.versions), "")

    def __str__(self) -> str:
        return f"{self.product or 'unnamed'} {self.version}".strip()


def find_capabilities(opener: Opener, login: Login, patience: Patience) -> Capabilities:
    """Ask the peer on connections of their own. Raises Unusable if nothing can be probed: for its first version."""
    versions = tuple(
        [
            name
            for name, headers in HEADERS.items()
            if any(_is_so(opener, partial(_speaks, header=each, patience=patience)) for each in headers)
        ]
    )
    if not versions:
        raise Unusable(_other(opener, patience))
    found: list[Capabilities] = []
    unopened: list[tuple[str, str]] = []
    for version in versions:
        try:
            found.append(_found(version, opener, login, patience))
        except Unusable as error:
            unopened.append((version, str(error)))
    if not found:
        raise Unusable(unopened[0][1])
    can = frozenset[str]().union(*[each.can for each in found])
    address = ""
    if "1.0" in versions and "1.0/node" not in can and "declare" in can:
        address = next(
            (each for each in _ADDRESSES if _is_so(opener, partial(_makes, each, login=login, patience=patience))), ""
        )
    return Capabilities(
        next((each.product for each in found if each.product), ""),
        next((each.version for each in found if each.version), ""),
        versions,
        tuple(dict.fromkeys([name for each in found for name in each.mechanisms])),
        can | {"1.0/node"} if address else can,
        tuple(unopened),
        address,
    )


class _Watching:
    """Opens connections whose waits are measured."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._opened: list[Watched] = []

    def __call__(self) -> Transport:
        self._opened.append(Watched(self._opener(), lambda: False))
        return self._opened[-1]

    @property
    def is_late(self) -> bool:
        """Whether a wait on one of them was so long that the silence behind it says nothing."""
        return any(each.overslept > OVERSLEPT for each in self._opened)


def _is_so(opener: Opener, ask: Callable[[Opener], bool]) -> bool:
    """Ask, and ask again where the answer is no and the machine was late."""
    for _ in range(ATTEMPTS):
        watching = _Watching(opener)
        if ask(watching):
            return True
        if not watching.is_late:
            break
    return False


def _found(version: str, opener: Opener, login: Login, patience: Patience) -> Capabilities:
    """Return what the peer can do in a version, asked again where the machine was late. Raises Unusable."""
    for _ in range(ATTEMPTS - 1):
        watching = _Watching(opener)
        try:
            return _FINDERS[version](watching, login, patience)
        except Unusable:
            if not watching.is_late:
                raise
    return _FINDERS[version](opener, login, patience)


def _makes(address: str, opener: Opener, login: Login, patience: Patience) -> bool:
    """Whether 1.0 makes a queue by naming it so, which 0-9-1 can delete."""
    names = Names(Random(0), address)
    talk = Talk10(opener(), login, names, patience)
    sweeping: Talk | None = None
    try:
        talk.begin()
        _passes_1_0(talk)
        talk.finish()
        sweeping = Talk(opener(), login, names, patience)
        sweeping.sweep(names)
    except Surprise:
        return False
    finally:
        talk.close()
        if sweeping is not None:
            sweeping.close()
    return True


def _find_0_9_1(opener: Opener, login: Login, patience: Patience) -> Capabilities:
    start = _login(opener, login, patience)
    given = start.server_properties
    declared = given.get("capabilities")
    can = {
        "consumer-cancel-notify": "consumer_cancel_notify",
        "nack": "basic.nack",
        "exchange-bindings": "exchange_exchange_bindings",
    }
    found = {ours for ours, theirs in can.items() if isinstance(declared, amqp.Table) and declared.get(theirs) is True}
    tries: tuple[tuple[str, Callable[[Talk], object]], ...] = (
        ("declare", lambda talk: talk.declare(exclusive=True)),
        ("ttl", lambda talk: talk.declare(exclusive=True, arguments=amqp.Table({"x-message-ttl": 60_000}))),
        ("confirms", lambda talk: talk.call(amqp.spec.ConfirmSelect())),
        ("tx", lambda talk: talk.call(amqp.spec.TxSelect())),
    )
    found |= {name for name, step in tries if _can(Talk, opener, login, patience, step)}
    return Capabilities(
        str(given.get("product", "")),
        str(given.get("version", "")),
        mechanisms=tuple(start.mechanisms.decode("ascii", "replace").split()),
        can=frozenset(found),
    )


def _find_1_0(opener: Opener, login: Login, patience: Patience) -> Capabilities:
    talk = Talk10(opener(), login, Names(Random(0)), patience)
    try:
        talk.greet()
        if "PLAIN" not in talk.mechanisms:
            raise Unusable(f"the peer doesn't offer PLAIN in 1.0, only {', '.join(talk.mechanisms)}")
        talk.close()
        talk = Talk10(opener(), login, Names(Random(0)), patience)
        talk.login()
        talk.finish()
        about = talk.peer.properties or {}
    except Surprise as error:
        raise Unusable(f"a connection of 1.0 can't be opened: {error}") from None
    finally:
        talk.close()
    tries: tuple[tuple[str, Callable[[Talk10], object]], ...] = (
        ("1.0/node", _passes_1_0),
        ("1.0/transactions", lambda talk: talk.controller()),
        ("1.0/recovery", _recovers_1_0),
    )
    found = {name for name, step in tries if _can(Talk10, opener, login, patience, step)}
    return Capabilities(
        str(about.get("product", "")), str(about.get("version", "")), mechanisms=talk.mechanisms, can=frozenset(found)
    )


def _passes_1_0(talk: Talk10) -> None:
    """Have a message pass through a queue of the connection's own. Raises Surprise."""
    talk.arrives(talk.receiver(talk.filled(b"hello"), credit=1))


def _recovers_1_0(talk: Talk10) -> None:
    """Have a link keep an unsettled delivery while it is detached. Raises Surprise."""
    address = talk.filled(b"hello")
    link = talk.receiver(address, credit=1)
    found = talk.arrives(link)
    talk.leave(link, closed=False)
    again = talk.resumed(link, found)
    if not again.answer.unsettled:
        raise Surprise("the delivery is forgotten")


def _find_0_10(opener: Opener, login: Login, patience: Patience) -> Capabilities:
    talk = Talk010(opener(), login, Names(Random(0)), patience)
    try:
        about = talk.greet().server_properties or {}
        if "PLAIN" not in talk.mechanisms:
            raise Unusable(f"the peer doesn't offer PLAIN in 0-10, only {', '.join(talk.mechanisms)}")
        talk.close()
        talk = Talk010(opener(), login, Names(Random(0)), patience)
        talk.login()
        talk.finish()
        mechanisms = talk.mechanisms
    except Surprise as error:
        raise Unusable(f"a connection of 0-10 can't be opened: {error}") from None
    finally:
        talk.close()
    tries: tuple[tuple[str, Callable[[Talk010], object]], ...] = (
        ("0-10/declare", lambda talk: talk.declare(exclusive=True, auto_delete=True)),
        ("0-10/tx", lambda talk: talk.call(amqp_0_10.spec.TxSelect())),
        ("0-10/dtx", lambda talk: talk.call(amqp_0_10.spec.DtxSelect())),
    )
    found = {name for name, step in tries if _can(Talk010, opener, login, patience, step)}
    return Capabilities(
        str(about.get("product", "")), str(about.get("version", "")), mechanisms=mechanisms, can=frozenset(found)
    )


def _find_0_8(opener: Opener, login: Login, patience: Patience) -> Capabilities:
    talk = Talk08(opener(), login, Names(Random(0)), patience)
    try:
        start = talk.greet()
        talk.close()
        talk = Talk08(opener(), login, Names(Random(0)), patience)
        talk.login()
        talk.finish()
    except Surprise as error:
        raise Unusable(f"a connection of 0-8 can't be opened: {error}") from None
    finally:
        talk.close()
    tries: tuple[tuple[str, Callable[[Talk08], object]], ...] = (
        ("0-8/declare", lambda talk: talk.declare(exclusive=True)),
        ("0-8/tx", lambda talk: talk.call(amqp_0_8.spec.TxSelect())),
    )
    return Capabilities(
        str(start.server_properties.get("product", "")),
        str(start.server_properties.get("version", "")),
        mechanisms=tuple(start.mechanisms.decode("ascii", "replace").split()),
        can=frozenset({name for name, step in tries if _can(Talk08, opener, login, patience, step)}),
    )


_FINDERS: Final[Mapping[str, Callable[[Opener, Login, Patience], Capabilities]]] = {
    "0-9-1": _find_0_9_1,
    "1.0": _find_1_0,
    "0-10": _find_0_10,
    "0-8": _find_0_8,
}


def _speaks(opener: Opener, header: bytes, patience: Patience) -> bool:
    """Whether the peer goes on after a header: with the same header, or with a frame. Raises Unusable."""
    said = _heard(opener, header, patience)
    if said.startswith(b"HTTP/"):
        raise Unusable(_SPEAKS_HTTP)
    if said.startswith(_TLS_RECORDS):
        raise Unusable(_SPEAKS_TLS)
    if said.startswith(b"AMQP"):
        return said[:8] == header
    # A frame of a classic version: a method on channel 0.
    return said.startswith(b"\x01\x00\x00") and header[4:5] in (b"\x00", b"\x01")


def _heard(opener: Opener, octets: bytes, patience: Patience) -> bytes:
    """Return the first octets that the peer says to some, on a connection of their own. Raises Unusable."""
    transport = opener()
    said = b""
    try:
        transport.send(octets)
        deadline = transport.now() + patience.answer
        while len(said) < 8 and (left := deadline - transport.now()) > 0:
            more = transport.receive(left)
            if not more:
                break
            said += more
    finally:
        transport.close()
    return said


def _other(opener: Opener, patience: Patience) -> str:
    """Say what a peer speaks that knows no header: a server of HTTP or TLS may wait for more, or end in silence."""
    if _heard(opener, b"GET / HTTP/1.0\r\n\r\n", patience).startswith(b"HTTP/"):
        return _SPEAKS_HTTP
    hello = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    if _heard(opener, hello.read(), patience).startswith(_TLS_RECORDS):
        return _SPEAKS_TLS
    return "the peer speaks no version of AMQP that is known here"


def _new(opener: Opener, login: Login, patience: Patience) -> Talk:
    return Talk(opener(), login, Names(Random(0)), patience)


def _login(opener: Opener, login: Login, patience: Patience) -> amqp.spec.ConnectionStart:
    talk = _new(opener, login, patience)
    try:
        start = talk.greet()
        if "PLAIN" not in start.mechanisms.decode("ascii", "replace").split():
            raise Unusable(f"the peer doesn't offer PLAIN, only {start.mechanisms.decode('ascii', 'replace')}")
        talk.respond()
        if talk.wait(("connection.tune",), 0) is None or talk.is_over:
            raise Unusable(f"the login of {login.user} is refused")
        talk.close()
        talk = _new(opener, login, patience)
        talk.login()
        talk.finish()
        return start
    except Surprise as error:
        raise Unusable(f"the connection can't be opened: {error}") from None
    finally:
        talk.close()


def _can(kind: type[C], opener: Opener, login: Login, patience: Patience, step: Callable[[C], object]) -> bool:
    return _is_so(opener, partial(_takes, kind, login=login, patience=patience, step=step))


def _takes(kind: type[C], opener: Opener, login: Login, patience: Patience, step: Callable[[C], object]) -> bool:
    talk = kind(opener(), login, Names(Random(0)), patience)
    try:
        talk.begin()
        step(talk)
        talk.finish()
    except Surprise:
        return False
    finally:
        talk.close()
    return True
