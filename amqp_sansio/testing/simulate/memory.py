"""Memory: the octets that each end of a world keeps, against the most that its limits allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...broker.snapshot import dumps

if TYPE_CHECKING:
    from ...broker import Hub
    from ...client.driving import BaseClient
    from ...limits import Limits

IDLE: Final = 100_000
"""Octets of a pickled connection or broker that keeps nothing."""
OBJECT: Final = 500
"""Octets of a pickled delivery, call or consumer, without its content."""


def allowed(limits: Limits) -> int:
    """Return the most octets that a pickled connection may have."""
    octets = limits.unparsed + limits.message + limits.bodies + limits.header + limits.backlog_hard
    objects = limits.requests + limits.calls + limits.unsettled + limits.unconfirmed + limits.consumers + limits.replay
    return IDLE + octets + limits.replay_octets + OBJECT * objects


def excess_of_client(client: BaseClient[Any]) -> str:
    """Return a text about what a client keeps against its limits, "" if that is within them."""
    limits = client.config.limits
    size, most = len(dumps(client.core)), allowed(limits)
    if size > most:
        return f"a client's connection has {size} octets, its limits allow {most}"
    if client.kept > client.kept_high + limits.message:
        return f"a client keeps {client.kept} octets in doubt, in_doubt_octets allows {client.kept_high}"
    return ""


def excess_of_broker(hub: Hub) -> str:
    """Return a text about what a broker keeps against its limits, "" if that is within them.

    Sessions and links that outlive their connections are owners too.
    """
    limits = hub.settings.limits
    one = allowed(hub.settings.connection_limits) + 2 * limits.backlog_high
    most = IDLE + 2 * limits.memory_high + one * (len(hub.clients) + len(hub.model.owners))
    size = len(dumps(hub))
    return f"a broker has {size} octets, its limits allow {most}" if size > most else ""


__all__ = ["allowed", "excess_of_broker", "excess_of_client"]
