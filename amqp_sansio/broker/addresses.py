"""Node addresses as users of RabbitMQ 4, RabbitMQ 3 and Qpid write them.

| address | target | source |
|---|---|---|
| `/queues/Q` | the queue | the queue |
| `/exchanges/E/K`, `/exchanges/E` | the exchange, with key K or an empty key | see below |
| `/queue/Q` | the queue, created as durable if there is none | the same |
| `/amq/queue/Q` | the queue | the queue |
| `/exchange/E/K`, `/exchange/E` | the exchange, with key K or the message's subject | see below |
| `/topic/K` | exchange amq.topic with that key | see below |
| `/management` | the management node | the management node |
| `N` | the queue of that name, else the exchange | the same |
| `E/K` | the queue of that name, else exchange E with key K | the same |
| `amqp://HOST/ADDRESS`, `amqps:`, `sb:` | the node of ADDRESS, which is any of these | the same |

An exchange as a source is a private queue of the link, bound with the key. In addresses that begin with a slash, names
and keys are percent-encoded.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from .._ground.record import record

if TYPE_CHECKING:
    from .model.vhost import VirtualHost

MANAGEMENT: Final = "/management"
_TOPICS: Final = "amq.topic"
_HEX: Final = 16
_SCHEMES: Final = frozenset({"amqp", "amqps", "sb"})


class NodeKind(Enum):
    """The kind of node that an address names."""

    QUEUE = "queue"
    EXCHANGE = "exchange"
    MANAGEMENT = "management"
    ANONYMOUS = "anonymous"
    """No address: each message names its destination (`properties.to`)."""


@record
class Node:
    """The node named by an address: a queue or exchange `name`, with the routing `key` for an exchange (None: no key).

    `creates`: the queue is created if there is none.
    """

    kind: NodeKind
    name: str = ""
    key: str | None = None
    creates: bool = False


class BadAddress(Exception):
    """A malformed address; the text says why."""


def parse(address: str) -> Node | None:
    """Return the node of an address that begins with a slash; None for a plain name. Raises BadAddress.

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
    """Return the node of an address in a virtual host, None if there is none. Raises BadAddress.

    With `auto_create`, an unused plain name means a queue to be created. Not so a name that begins with "$", or has a
    part that does ("$cbs", "q/$management"): it's that of a service, and what is sent there may be a token.
    """
    if "://" in address and address not in vhost.queues:
        address = in_uri(address)
    node = parse(address)
    if node is None:
        return _plain(vhost, address, auto_create)
    if node.kind is NodeKind.QUEUE:
        creates = node.creates and not is_service(node.name)
        return node if creates or node.name in vhost.queues else None
    if node.kind is NodeKind.EXCHANGE:
        return node if node.name and node.name in vhost.exchanges else None
    return node


def in_uri(address: str) -> str:
    """Return the address in a URI, whose host is this broker's; any other address as it is.

    >>> in_uri("amqps://host:5671/orders"), in_uri("sb://host//queues/a"), in_uri("orders"), in_uri("http://host/a")
    ('orders', '/queues/a', 'orders', 'http://host/a')
    """
    scheme, separator, rest = address.partition("://")
    return rest.partition("/")[2] if separator and scheme.lower() in _SCHEMES else address


def _plain(vhost: VirtualHost, name: str, auto_create: bool) -> Node | None:
    if name in vhost.queues:
        return Node(NodeKind.QUEUE, name)
    if name and name in vhost.exchanges:
        return Node(NodeKind.EXCHANGE, name)
    exchange, slash, key = name.partition("/")
    if slash and exchange and exchange in vhost.exchanges:
        return Node(NodeKind.EXCHANGE, exchange, key)
    if not auto_create or not name or is_service(name):
        return None
    return Node(NodeKind.QUEUE, name, creates=True)


def is_service(name: str) -> bool:
    """Whether a name is that of a service of some broker, which no queue may stand in for.

    >>> is_service("$cbs"), is_service("orders/$management"), is_service("us$")
    (True, True, False)
    """
    return name.startswith("$") or "/$" in name


def decoded(text: str) -> str:
    """Decode a percent-encoded name (RFC 3986 section 2.1). Raises BadAddress if it is malformed or not UTF-8.

    >>> decoded("caf%C3%A9")
    'café'
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
    """Encode a name for an address: all but letters, digits and "-._~" percent-encoded.

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
