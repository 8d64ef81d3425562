"""Classes that only 0-8 has: access, dtx, tunnel and test. RabbitMQ's 0-9-1 still answers access.request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...model.commands import Begin
from .errors import INVALID_PATH, RESOURCE_LOCKED, Refusal

if TYPE_CHECKING:
    from .channel import ChannelFrontend, ClassicChannel

REALMS: Final = ("/data",)
"""The realms that every virtual host has."""
_ADD, _MIN, _MAX = range(3)
"""The operations of class test; the specification names them without numbers."""
_INTEGERS: Final = (1 << 64) - 1
_CHECKSUM: Final = (1 << 32) - 1
_GRANTS: Final = "access"


# Access.


class Grants:
    """Tickets for a realm of a virtual host: by channel (its owner's number), whether the ticket is exclusive."""

    __slots__ = ("holders",)

    def __init__(self) -> None:
        self.holders: dict[tuple[str, str], dict[int, bool]] = {}


def _grants(front: ChannelFrontend) -> Grants:
    grants: Grants | None = front.hub.shared.get(_GRANTS)
    if grants is None:
        grants = front.hub.shared[_GRANTS] = Grants()
    return grants


def _access_request(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    """Grant a ticket. RabbitMQ grants all of them, under one number."""
    if front.is_rabbit or not front.is_old:
        return front.named["access.request-ok"](1)
    realm = method.realm
    if realm not in REALMS:
        text = f"no realm '{realm}' in vhost '{channel.owner.vhost.name}'"
        raise Refusal(INVALID_PATH, text)
    holders = _grants(front).holders.setdefault((channel.owner.vhost.name, realm), {})
    others = [exclusive for number, exclusive in holders.items() if number != channel.owner.number]
    if others and (method.exclusive or any(others)):
        text = f"realm '{realm}' in vhost '{channel.owner.vhost.name}' is in use by others"
        raise Refusal(RESOURCE_LOCKED, text)
    number = channel.owner.number
    holders[number] = holders.get(number, False) or method.exclusive
    channel.tickets += 1
    return front.named["access.request-ok"](channel.tickets)


def end_channel(front: ChannelFrontend, channel: ClassicChannel) -> None:
    """Remove the tickets of a closed channel."""
    grants: Grants | None = front.hub.shared.get(_GRANTS)
    if grants is not None and channel.tickets:
        for key, holders in list(grants.holders.items()):
            holders.pop(channel.owner.number, None)
            if not holders:
                del grants.holders[key]


# Distributed transactions.


def _dtx_select(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    return front.named["dtx.select-ok"]()


def _dtx_start(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    """Begin a distributed transaction on the channel.

    0-8 has no method that ends one: the channel's end rolls back what its coordinator hasn't ended.
    """
    if channel.transaction is not None or channel.published or channel.own_consumers:
        raise Refusal(RESOURCE_LOCKED, f"channel {channel.number} works already; dtx.start comes before anything else")
    channel.transaction = front.hub.apply(Begin(channel.owner))
    return front.named["dtx.start-ok"]()


# Tunnel and test.


def _tunnel_request(front: ChannelFrontend, channel: ClassicChannel, method: Any, properties: Any, body: bytes) -> None:
    """Ignore another protocol's message: it has no answer, and this broker nowhere to forward it."""


def _combined(numbers: list[int], operation: int) -> int:
    if operation == _ADD:
        return sum(numbers) & _INTEGERS
    return min(numbers) if operation == _MIN else max(numbers)


def _joined(texts: list[bytes], operation: int) -> bytes:
    if operation == _ADD:
        return b"".join(texts)
    return min(texts) if operation == _MIN else max(texts)


def _test_integer(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    numbers = [method.integer_1, method.integer_2, method.integer_3, method.integer_4]
    return front.named["test.integer-ok"](_combined(numbers, method.operation))


def _test_string(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    texts = [method.string_1.encode("utf-8", "surrogateescape"), method.string_2]
    return front.named["test.string-ok"](_joined(texts, method.operation))


def _test_table(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    """Apply one operation to all integers of a table, and another to all its strings."""
    values: list[Any] = list(method.table.values())
    numbers = [each for each in values if isinstance(each, int) and not isinstance(each, bool)]
    texts = [each.encode("utf-8", "surrogateescape") if isinstance(each, str) else each for each in values]
    octets = [each for each in texts if isinstance(each, bytes)]
    integer = _combined(numbers, method.integer_op) & _INTEGERS if numbers else 0
    return front.named["test.table-ok"](integer, _joined(octets, method.string_op) if octets else b"")


def _test_content(front: ChannelFrontend, channel: ClassicChannel, method: Any, properties: Any, body: bytes) -> Any:
    """Send content back with the sum of its octets."""
    return front.named["test.content-ok"](sum(body) & _CHECKSUM), properties, body


METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "access.request": _access_request,
    "dtx.select": _dtx_select,
    "dtx.start": _dtx_start,
    "tunnel.request": _tunnel_request,
    "test.integer": _test_integer,
    "test.string": _test_string,
    "test.table": _test_table,
    "test.content": _test_content,
}
