"""Death: why a message left a queue for its dead-letter exchange."""

from __future__ import annotations

from ..._core.record import record


@record
class Death:
    """How often (`count`) messages of one history left `queue` for `reason`.

    `reason` is "rejected", "expired", "maxlen", "delivery_limit" or "orphaned" (its queue was deleted). `exchange` and
    `routing_keys` are those with which it came into the queue, `time` the seconds since the epoch of the first time as
    the model's clock has them.
    """

    queue: str
    reason: str
    count: int
    exchange: str
    routing_keys: tuple[str, ...]
    time: float
