"""Hints: what usually lies behind the classic ways in which connections of AMQP 1.0 end."""

from __future__ import annotations

from collections.abc import Mapping

from ..._checking import TYPE_CHECKING
from ..._core.hints import of_foreign
from ..._ground.close_report import NO_INFO, Info
from ...versions import version_of
from ..codec.frames import AMQP_HEADER, SASL_HEADER, TLS_HEADER
from ..codec.types import Array

if TYPE_CHECKING:
    from typing import Any, Final

    from ..codec.performatives import Error

LOOKED_AT: Final = 8
"""How many first octets tell what a stream is."""

_BY_CONDITION: Final = {
    "amqp:unauthorized-access": "the user lacks the permission, or the password is wrong",
    "amqp:not-found": "the node or virtual host does not exist",
    "amqp:connection:forced": "the server is shutting down or an operator closed the connection",
    "amqp:connection:framing-error": "the peer could not read a frame: two writers on one connection, a frame above "
    "max-frame-size, or a channel above channel-max",
    "amqp:decode-error": "the peer could not read a value; compare the types with the specification",
    "amqp:resource-limit-exceeded": "the peer saw nothing for its idle-time-out, or one of its limits is reached",
    "amqp:not-allowed": "the virtual host does not exist, or the operation is not allowed to this user",
}
OUTCOMES: Final = {
    1: "auth: the credentials were refused",
    2: "sys: a system error",
    3: "sys-perm: a system error that somebody must mend",
    4: "sys-temp: a system error that may pass",
}
"""The codes of sasl-outcome other than 0 (part 5 section 5.3.3.6)."""
_OFF: Final = "in RabbitMQ 3 the plug-in rabbitmq_amqp1_0 is off"


def of_first_octets(first: bytes) -> str:
    """The usual cause of a stream that begins with `first`.

    >>> of_first_octets(b"HTTP/1.1")
    'this is HTTP, perhaps the management port'
    """
    if first[:4] == b"AMQP" and len(first) >= 8:
        return f"the peer {speaks(first[:8])}"
    return of_foreign(first)


_LAYERS: Final = {
    SASL_HEADER: ("wants SASL", "give Config.sasl a mechanism, Anonymous() when no user is needed"),
    TLS_HEADER: ("wants TLS", "use amqps, or Config.tls"),
    AMQP_HEADER: ("wants no SASL", "leave Config.sasl out"),
}
"""Of a peer that answers with a header of this version: what it does, and what to do then."""
_ADVICE: Final = {
    SASL_HEADER: "let the client log in by a SASL mechanism, ANONYMOUS when no user is needed",
    TLS_HEADER: "let the client connect with TLS",
    AMQP_HEADER: "let the client connect without SASL",
}


def speaks(header: bytes) -> str:
    """Say what a peer does that sends this protocol header."""
    if header in _LAYERS:
        return _LAYERS[header][0]
    version = version_of(header)
    if version is not None:
        return f"speaks {version.label}"
    return f"speaks protocol {'-'.join(str(octet) for octet in header[4:8])}"


def for_server_header(header: bytes) -> str:
    """Advise about a server that answers with another protocol header than was sent."""
    if header in _LAYERS:
        return _LAYERS[header][1]
    off = f"; {_OFF}" if header == b"AMQP\x00\x00\x09\x01" else ""
    return f"connect with the version the server offers{off}"


def observed_layer(header: bytes) -> str:
    """Advise the user of any client about a server that answers with another protocol header than was sent."""
    return _ADVICE.get(header) or for_server_header(header)


def for_close(condition: str, info: Mapping[str, object]) -> str:
    """The usual cause behind a peer's close, with the `info` of its error."""
    return for_redirect(condition, info) or _BY_CONDITION.get(condition, "")


def for_redirect(condition: str, info: Mapping[str, object]) -> str:
    """Where a peer sends this end (part 2 sections 2.8.16 and 2.8.18); "" where it doesn't.

    >>> for_redirect("amqp:connection:redirect", {"network-host": "h", "port": 5673, "hostname": "v"})
    'connect to h, port 5673, as host v'
    >>> for_redirect("amqp:link:redirect", {"address": "q2"})
    'attach to address q2'
    """
    if condition not in ("amqp:connection:redirect", "amqp:link:redirect"):
        return ""
    host, port, name, address = [info.get(each) for each in ("network-host", "port", "hostname", "address")]
    parts = ["attach" if condition == "amqp:link:redirect" else "connect"]
    if address is not None:
        parts.append(f"to address {address}")
    if host is not None:
        parts.append(f"{'at' if address is not None else 'to'} {host}{'' if port is None else f', port {port}'}")
    elif address is None:
        parts.append("elsewhere; the error doesn't say where")
    return f"{' '.join(parts)}{'' if name is None else f', as host {name}'}"


def info_of(error: Error) -> Info:
    """What an error says beside its condition and description, in plain values."""
    return Info({str(key): _plain(value) for key, value in error.info.items()}) if error.info else NO_INFO


def _plain(value: object) -> Any:
    whole: Any = value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and value.__class__ is not bool:
        return int(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(each) for key, each in whole.items()}
    if isinstance(value, (list, tuple, Array)):
        return [_plain(each) for each in whole]
    return whole


def of_stage(stage: str, mechanism: str) -> str:
    """The usual cause of a server that hangs up in this stage of the opening."""
    if stage == "FIRST":
        return f"the server hung up on the protocol header; it may want TLS, or not speak 1.0 ({_OFF})"
    if stage == "SASL":
        return "the server hung up during the login: wrong user, password or mechanism"
    if stage in ("HEADER", "OPENING"):
        after = " after the login" if mechanism else "; it may want SASL"
        return f"the server hung up before its open{after}: the virtual host is missing or forbidden"
    return ""
