"""Hints that hold in every version: how a stream of something else begins."""

from __future__ import annotations

from .._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import Enum
    from typing import Final

LOGIN_FAILED: Final = "the user doesn't exist, the password is wrong, or the mechanism isn't allowed"
HUNG_UP: Final = {
    "header": "the server hung up on the protocol header; it may want TLS, or not be AMQP",
    "login": "the server hung up during the login: wrong user, password or mechanism",
    "tuned": "the server hung up before open-ok: the virtual host is missing or forbidden, or the tuning was refused",
}
"""The usual cause of a server that hangs up in this phase of the opening, before 1.0."""
LEFT: Final = {
    "header": "the client left before the server answered its protocol header; it may only have looked whether the "
    "port is open, as a load balancer does",
    "login": "the client left during the login: it has no mechanism that the server offers, or it only looked whether "
    "the port is open",
    "tuned": "the client left between the login and open-ok",
}
"""The usual cause of a client that ends a connection in this phase of the opening."""
NOTHING_SAID: Final = (
    "neither side sent anything; somebody only looked whether the port is open, as a load balancer does"
)
_PHASES: Final = {
    "header sent": "header",
    **dict.fromkeys(("started", "authenticating", "challenged"), "login"),
    **dict.fromkeys(("tuned", "opening"), "tuned"),
}
"""The phases by the connection's states."""
_TLS_RECORDS: Final = (0x15, 0x16)


def header_numbers(header: bytes) -> str:
    """The numbers of a protocol header, such as "0-0-9-1"."""
    return "-".join(map(str, header[4:]))


def of_state(state: Enum, causes: Mapping[str, str] = HUNG_UP) -> str:
    """The usual cause of a server that hangs up in this state of a connection before 1.0."""
    return causes.get(_PHASES.get(state.value, ""), "")


def of_first_octets(first: bytes) -> str:
    """The usual cause of a stream that begins with `first`."""
    if first[:4] == b"AMQP":
        return f"the peer speaks protocol {header_numbers(first[:8])}"
    return of_foreign(first, b"HTTP/")


def of_foreign(first: bytes, http: bytes = b"HTTP") -> str:
    """Name a stream that begins with `first` and isn't AMQP; "" if it is unknown. `http` is how HTTP answers begin.

    >>> of_foreign(b"GET / HT")
    'this is HTTP, perhaps the management port'
    """
    if len(first) >= 2 and first[0] in _TLS_RECORDS and first[1] == 3:
        return "these are TLS records on a connection without TLS; use amqps, or the other port"
    if first.startswith((http, b"GET ", b"POST", b"HEAD", b"PUT ")):
        return "this is HTTP, perhaps the management port"
    return ""
