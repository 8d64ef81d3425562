"""Addresses of nodes as users of RabbitMQ 4, RabbitMQ 3 and Qpid write them.

| address | target | source |
|---|---|---|
| `/queues/Q` | the queue | the queue |
| `/exchanges/E/K`, `/exchanges/E` | the exchange, with that key; without one an empty key | see below |
| `/queue/Q` | the queue, made durable if there is none | the same |
| `/amq/queue/Q` | the queue | the queue |
| `/exchange/E/K`, `/exchange/E` | the exchange, with that key; without one the message's subject | see below |
| `/topic/K` | exchange amq.topic with that key | see below |
| `/management` | the management node | the management node |
| `N` | the queue of that name, else the exchange | the same |
| `E/K` | the queue of that name, else exchange E with key K | the same |

A source that is an exchange is a queue of the link's own, bound with the key. In addresses that begin with a slash,
names and keys are percent-encoded.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from ...._core.record import record

if TYPE_CHECKING:
    from ...model.vhost import VirtualHost

MANAGEMENT: Final = "/management"
_TOPICS: Final = "amq.topic"
_HEX: Final = 16


class NodeKind(Enum):
    """What an address names."""

    QUEUE = "queue"
    EXCHANGE = "exchange"
    MANAGEMENT = "management"
    ANONYMOUS = "anonymous"
    """No address: each message says where it goes (`properties.to`)."""


@record
class Node:
    """What an address names: a queue or exchange `name`, with the routing `key` for an exchange (None: none was given).

    `creates`: the queue is made if there is none.
    """

    kind: NodeKind
    name: str = ""
    key: str | None = None
    creates: bool = False


class BadAddress(Exception):
    """An address that isn't well-formed; the text says why."""


def parse(address: str) -> Node | None:
    """The node that an address with a slash in front names; None for a plain name. Raises BadAddress.

    >>> parse("/exchanges/amq.direct/a%2Fb")
    Node(kind=<NodeKind.EXCHANGE: 'exchange'>, name='amq.direct', key='a/b', creates=False)
    """
    if not address.startswith("/"):
        return None
    if address == MANAGEMENT:
        return Node(NodeKind.MANAGEMENT)
    kind, *rest = address[1:].split("/")
    if kind == "amq" and rest[:1] == ["queue"]:
        kind, rest = "queues", rest[1:]
    if kind in ("queues", "queue"):
        if len(rest) == 1 and rest[0]:
            return Node(NodeKind.QUEUE, decoded(rest[0]), creates=kind == "queue")
    elif kind in ("exchanges", "exchange"):
        if 1 <= len(rest) <= 2 and rest[0]:
            absent = "" if kind == "exchanges" else None
            key = decoded(rest[1]) if len(rest) == 2 else absent
            return Node(NodeKind.EXCHANGE, decoded(rest[0]), key)
    elif kind == "topic" and len(rest) == 1 and rest[0]:
        return Node(NodeKind.EXCHANGE, _TOPICS, decoded(rest[0]))
    raise BadAddress(
        f"address {address!r} names no node; known are /queues/NAME, /exchanges/NAME/KEY, /exchanges/NAME and, "
        "of RabbitMQ 3, /queue/NAME, /amq/queue/NAME, /exchange/NAME/KEY, /topic/KEY, with percent-encoded names"
    )


def find(vhost: VirtualHost, address: str, *, auto_create: bool = False) -> Node | None:
    """The node that an address names in a virtual host, None where there is none. Raises BadAddress.

    With `auto_create` a plain name that nothing has yet is a queue that is to be made.
    """
    node = parse(address)
    if node is None:
        return _plain(vhost, address, auto_create)
    if node.kind is NodeKind.QUEUE:
        return node if node.creates or node.name in vhost.queues else None
    if node.kind is NodeKind.EXCHANGE:
        return node if node.name and node.name in vhost.exchanges else None
    return node


def _plain(vhost: VirtualHost, name: str, auto_create: bool) -> Node | None:
    if name in vhost.queues:
        return Node(NodeKind.QUEUE, name)
    if name and name in vhost.exchanges:
        return Node(NodeKind.EXCHANGE, name)
    exchange, slash, key = name.partition("/")
    if slash and exchange and exchange in vhost.exchanges:
        return Node(NodeKind.EXCHANGE, exchange, key)
    return Node(NodeKind.QUEUE, name, creates=True) if auto_create and name else None


def decoded(text: str) -> str:
    """A percent-encoded name (RFC 3986 section 2.1). Raises BadAddress for what isn't UTF-8 or not well encoded.

    >>> decoded("caf%C3%A9")
    'caf\u00e9'
    """
    if "%" not in text:
        return text
    first, *others = text.split("%")
    octets = bytearray(first.encode())
    for each in others:
        digits = each[:2]
        if len(digits) < 2 or not digits.isalnum():
            raise BadAddress(f"{text!r} has a percent sign without two hexadecimal digits behind it")
        try:
            octets.append(int(digits, _HEX))
        except ValueError:
            raise BadAddress(f"{text!r} has a percent sign without two hexadecimal digits behind it") from None
        octets += each[2:].encode()
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise BadAddress(f"{text!r} doesn't decode to UTF-8") from None


def encoded(text: str) -> str:
    """A name as it stands in an address: all but letters, digits and "-._~" percent-encoded.

    >>> encoded("a/b")
    'a%2Fb'
    """
    plain = b"-._~"
    return "".join(
        [
            chr(octet) if octet in plain or (octet < 0x80 and chr(octet).isalnum()) else f"%{octet:02X}"
            for octet in text.encode("utf-8", "surrogatepass")
        ]
    )
