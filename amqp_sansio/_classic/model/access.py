"""Access tickets of 0-8: which a channel was granted, and what each entitles to (class access of the 0-8 XML).

Real brokers grant every ticket and check none, so this binds the dialect of the specification only.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ...errors import Scope
from ..codec.violation import ACCESS_REFUSED, NOT_ALLOWED, Violation

if TYPE_CHECKING:
    from typing import Any, Final

    from ..codec.method import Method
    from .channel_state import ChannelState

_RIGHTS: Final = {
    **dict.fromkeys(("basic.consume", "basic.get", "file.consume", "queue.purge", "stream.consume"), "read"),
    **dict.fromkeys(("basic.publish", "file.publish", "stream.publish"), "write"),
    **dict.fromkeys(("exchange.declare", "exchange.delete"), "active"),
}
"""The right that a method needs, by its name."""

_TICKETED: Final = frozenset((*_RIGHTS, "queue.bind", "queue.declare", "queue.delete"))


def check_ticket(channel: ChannelState, method: Method) -> None:
    """Refuse a method whose ticket its channel wasn't granted, or was granted for something else. Raises Violation."""
    if method.NAME not in _TICKETED or channel.assumed:
        return
    fields: Any = method
    ticket: int = fields.ticket
    rights = channel.tickets.get(ticket) if channel.tickets is not None else None
    if rights is None:
        text = f"{method.NAME} with ticket {ticket}, which channel {channel.number} wasn't granted"
        raise Violation(NOT_ALLOWED, text, rule="access.request-ok/channel-scope")
    wanted = _RIGHTS.get(method.NAME)
    if method.NAME == "exchange.declare" and fields.passive:
        wanted = "passive"
    if wanted is not None and wanted not in rights:
        text = f"{method.NAME} needs a ticket for {wanted} access, ticket {ticket} is for "
        text += " ".join(rights) or "nothing"
        raise Violation(ACCESS_REFUSED, text, rule=f"{method.NAME}/ticket", scope=Scope.CHANNEL)


def grant_ticket(channel: ChannelState, request: object, ticket: int) -> None:
    """Remember a ticket that the server granted for a request of the client."""
    if channel.tickets is None:
        channel.tickets = {}
    rights = [name for name in ("passive", "active", "write", "read") if getattr(request, name)]
    channel.tickets[ticket] = tuple(rights)
