"""Metrics: what a client's connection has done so far, as plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from ..metrics import Sample
from ..metrics import snapshot as _snapshot

_COUNTERS: Final = (
    ("opened", "amqp_client_connections_opened_total", "Connections opened, those of recovery too", ()),
    ("lost", "amqp_client_connections_lost_total", "Connections lost that recovery opens again", ()),
    ("recovered", "amqp_client_reconnects_total", "Lost connections that are open again", ()),
    ("failed_attempts", "amqp_client_reconnects_failed_total", "Attempts of recovery that failed", ()),
    ("published", "amqp_client_published_total", "Messages sent, each time they were", ()),
    ("confirmed", "amqp_client_outcomes_total", "Messages whose outcome came", (("outcome", "accepted"),)),
    ("refused", "amqp_client_outcomes_total", "Messages whose outcome came", (("outcome", "rejected"),)),
    ("returned", "amqp_client_outcomes_total", "Messages whose outcome came", (("outcome", "returned"),)),
    ("in_doubt", "amqp_client_in_doubt_total", "Messages lost with a connection and reported as in doubt", ()),
    ("delivered", "amqp_client_delivered_total", "Messages that arrived", ()),
    ("accepted", "amqp_client_settled_total", "Messages settled here", (("outcome", "accepted"),)),
    ("rejected", "amqp_client_settled_total", "Messages settled here", (("outcome", "rejected"),)),
    ("released", "amqp_client_settled_total", "Messages settled here", (("outcome", "released"),)),
    ("modified", "amqp_client_settled_total", "Messages settled here", (("outcome", "modified"),)),
    ("blocked_seconds", "amqp_client_blocked_seconds_total", "Seconds for which the server took no publishes", ()),
    ("octets_in", "amqp_client_received_octets_total", "Octets received, above TLS", ()),
    ("octets_out", "amqp_client_sent_octets_total", "Octets given to the transport, above TLS", ()),
)
_GAUGES: Final = (
    ("is_open", "amqp_client_connections", "Connections that are open"),
    ("channels", "amqp_client_channels", "Channels open, or sessions in 0-10 and 1.0"),
    ("is_blocked", "amqp_client_blocked", "Whether the server takes no publishes"),
    ("is_recovering", "amqp_client_recovering", "Whether a lost connection is being opened again"),
)


class Live(Protocol):
    """What a client knows of its connection at the moment."""

    @property
    def is_open(self) -> bool: ...
    @property
    def is_blocked(self) -> bool: ...
    @property
    def is_recovering(self) -> bool: ...
    @property
    def channel_count(self) -> int: ...
    @property
    def published_count(self) -> int: ...
    @property
    def accepted_count(self) -> int: ...


class Metrics:
    """The counters and gauges of one connection, from `connection.metrics`; they go on when it recovers.

    Each counter is an attribute or a property, and only rises. `channels`, `is_open`, `is_blocked` and `is_recovering`
    are as of now.

    >>> Metrics().snapshot()["amqp_client_published_total"]
    0
    """

    __slots__ = (
        "_live",
        "blocked_seconds",
        "confirmed",
        "delivered",
        "failed_attempts",
        "in_doubt",
        "lost",
        "modified",
        "octets_in",
        "octets_out",
        "opened",
        "recovered",
        "refused",
        "rejected",
        "released",
        "returned",
        "sent",
        "taken",
    )

    def __init__(self, live: Live | None = None) -> None:
        # Connections that came open, the first one and those of recovery.
        self.opened = 0
        # Connections that were lost and recovered, or tried to.
        self.lost = 0
        # Times that all was restored.
        self.recovered = 0
        # Attempts to connect again that failed.
        self.failed_attempts = 0
        # Messages that were sent, each time; without those that channels of 0-8 and 0-9-1 count until they end.
        self.sent = 0
        # Messages that the server took, where it tells.
        self.confirmed = 0
        # Messages that the server rejected.
        self.refused = 0
        # Messages that came back: unroutable ones, and those of 0-10 and 1.0 without an error.
        self.returned = 0
        # Messages of which nobody knows whether the server took them.
        self.in_doubt = 0
        # Messages that arrived.
        self.delivered = 0
        # Deliveries that were accepted here; without those that open channels count themselves.
        self.taken = 0
        # Deliveries that were rejected for good.
        self.rejected = 0
        # Deliveries that were given back for others.
        self.released = 0
        # Deliveries that were given back with a note (1.0).
        self.modified = 0
        # The time for which the server took no publishes, as of the last octets that came.
        self.blocked_seconds = 0.0
        # That came, before TLS was added.
        self.octets_in = 0
        # That were given out to be written, before TLS.
        self.octets_out = 0
        # The client, for what is as of now; None: all of that is 0.
        self._live = live

    @property
    def published(self) -> int:
        """Messages that were sent, each time they were."""
        return self.sent + (0 if self._live is None else self._live.published_count)

    @property
    def accepted(self) -> int:
        """Messages that were accepted here."""
        return self.taken + (0 if self._live is None else self._live.accepted_count)

    @property
    def is_open(self) -> bool:
        """Whether the connection is open."""
        return self._live is not None and self._live.is_open

    @property
    def channels(self) -> int:
        """Channels that are open; in 0-10 and 1.0 sessions."""
        return self._live.channel_count if self._live is not None and self._live.is_open else 0

    @property
    def is_blocked(self) -> bool:
        """Whether the server takes no publishes at the moment."""
        return self._live is not None and self._live.is_blocked

    @property
    def is_recovering(self) -> bool:
        """Whether the connection is lost, and is being opened again."""
        return self._live is not None and self._live.is_recovering

    def samples(self) -> list[Sample]:
        """Return every value with its name, what it counts, and its labels."""
        return [
            *[Sample(name, int(getattr(self, field)), told) for field, name, told in _GAUGES],
            *[Sample(name, getattr(self, field), told, labels) for field, name, told, labels in _COUNTERS],
        ]

    def snapshot(self) -> dict[str, float]:
        """Return the values by their names in Prometheus' style, with labels in braces."""
        return _snapshot(self.samples())

    # For the parts of the client.

    def outcome(self, state: object, count: int) -> None:
        """Count messages of which the server has told what became."""
        field = _OUTCOMES.get(type(state).__name__)
        if field is not None:
            setattr(self, field, getattr(self, field) + count)

    def settled(self, outcome: str, count: int = 1) -> None:
        """Count messages that were settled here, with this outcome."""
        field = _SETTLED.get(outcome)
        if field is not None:
            setattr(self, field, getattr(self, field) + count)


OnMetrics: TypeAlias = Callable[[Metrics], object]
"""Called when the state of a connection has changed: open, lost, open again, blocked, unblocked, closed."""

_OUTCOMES: Final = {
    "Accepted": "confirmed",
    "Rejected": "refused",
    "Returned": "returned",
    "Released": "returned",
    "Modified": "returned",
}
_SETTLED: Final = {"accepted": "taken", "rejected": "rejected", "released": "released", "modified": "modified"}


__all__ = ["Metrics", "OnMetrics"]
