"""Hints: what usually lies behind the classic ways in which connections end."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...endpoint import Side
from .states import Connection as State

if TYPE_CHECKING:
    from ..endpoint.connection import Connection

_TLS_RECORDS: Final = (0x15, 0x16)
_LOOKED_AT: Final = 5
"""How many first octets tell what a stream is."""

_BY_TEXT: Final = (
    ("PRECONDITION_FAILED - unknown delivery tag", "the delivery was settled before, or on another channel"),
    ("PRECONDITION_FAILED - inequivalent arg", "it exists with other arguments; compare them, also their wire types"),
    ("RESOURCE_LOCKED", "another connection holds it exclusively"),
    ("frame_too_large", "a frame was larger than the agreed frame-max"),
)
_LOGIN_METHODS: Final = (11, 21)
_BY_CODE: Final = {
    312: "no queue is bound for this routing key",
    320: "the server is shutting down or an operator closed the connection",
    403: "the user lacks the permission, or the password is wrong",
    404: "the queue or exchange does not exist in this virtual host",
    405: "another connection holds it exclusively",
    406: "it exists with other properties, or the state doesn't allow it",
    501: "the peer could not read a frame; two writers on one connection, or a frame above frame-max",
    504: "a channel was used that isn't open, often one the server closed before",
    505: "frames of two messages were mixed on one channel; publish from one place at a time",
    530: "the virtual host does not exist, or the operation is not allowed to this user",
}


def for_close(code: int, text: str, class_id: int = 0, method_id: int = 0) -> str:
    """The usual cause behind a peer's close that blames a method."""
    if class_id == 10 and method_id in _LOGIN_METHODS:
        return "the user doesn't exist, the password is wrong, or the mechanism isn't allowed"
    for part, hint in _BY_TEXT:
        if part in text:
            return hint
    return _BY_CODE.get(code, "")


def for_octets(connection: Connection) -> str:
    """The usual cause of octets that are no AMQP, read from how the stream began."""
    return of_first_octets(connection.first_octets(_LOOKED_AT))


def of_first_octets(first: bytes) -> str:
    """The usual cause of a stream that begins with `first`."""
    if len(first) >= 2 and first[0] in _TLS_RECORDS and first[1] == 3:
        return "these are TLS records on a connection without TLS; use amqps, or the other port"
    if first[:5] == b"HTTP/" or first[:4] in (b"GET ", b"POST", b"HEAD", b"PUT "):
        return "this is HTTP, perhaps the management port"
    if first[:4] == b"AMQP":
        return f"the peer speaks protocol {'-'.join(str(octet) for octet in first[4:8])}"
    return ""


def for_lost(connection: Connection, kind: str) -> str:
    """The usual cause of a transport that vanished in this state."""
    if kind == "silent":
        return "the peer or the network is dead, or its process is stopped"
    return "" if connection.role is Side.SERVER else of_state(connection._joint.state)


def of_state(state: State) -> str:
    """The usual cause of a server that hangs up in this state."""
    if state is State.HEADER_SENT:
        return "the server hung up on the protocol header; it may want TLS, or not be AMQP"
    if state in (State.AUTHENTICATING, State.CHALLENGED, State.STARTED):
        return "the server hung up during the login: wrong user, password or mechanism"
    if state in (State.TUNED, State.OPENING):
        return "the server hung up before open-ok: the virtual host is missing or forbidden, or the tuning was refused"
    return ""
