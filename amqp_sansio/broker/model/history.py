"""History: what happened to messages, kept for whoever asks, as records in their order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

from ..._core.record import record

if TYPE_CHECKING:
    from .content import Content
    from .entry import Message
    from .owner import Owner

Kind = Literal[
    "published", "routed", "unroutable", "refused", "delivered", "got", "accepted", "rejected", "released", "expired",
    "dead-lettered", "dropped", "purged",
]  # fmt: skip


@record
class Happened:
    """One thing that happened to a message.

    | `kind` | when |
    |---|---|
    | `published` | a client published it, `connection` says who |
    | `routed` | it came into `queue` |
    | `unroutable` | no queue took it |
    | `refused` | `queue` was full and refused it |
    | `delivered`, `got` | from `queue` to `consumer`, or fetched; `redelivered` says whether it's marked so |
    | `accepted`, `rejected`, `released` | it was settled |
    | `expired` | it waited too long in `queue` |
    | `dead-lettered` | it left `queue` for an exchange, `reason` says why |
    | `dropped` | it left `queue` for good, unsettled, `reason` says why |
    | `purged` | by a purge of `queue` |

    `number` counts the publishes of the broker: what belongs to one message has one number (a dead-lettered message is
    a publish of its own). `connection` is the number of the connection's owner, `user` who it was. `at` are seconds on
    the broker's clock.
    """

    kind: Kind
    at: float
    vhost: str
    number: int
    exchange: str
    routing_key: str
    content: Content
    queue: str = ""
    consumer: str = ""
    connection: int = 0
    user: str = ""
    redelivered: bool = False
    reason: str = ""


class History:
    """The last `limit` records; `dropped` counts those that made room."""

    __slots__ = ("dropped", "limit", "records")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.records: deque[Happened] = deque()
        self.dropped = 0

    def add(
        self,
        kind: Kind,
        at: float,
        vhost: str,
        message: Message,
        owner: Owner | None = None,
        *,
        queue: str = "",
        consumer: str = "",
        redelivered: bool = False,
        reason: str = "",
    ) -> None:
        """Keep a record."""
        connection, user = (0, "") if owner is None else (owner.connection, owner.user)
        self.records.append(
            Happened(
                kind, at, vhost, message.number, message.exchange, message.routing_key, message.content, queue,
                consumer, connection, user, redelivered, reason,
            )
        )  # fmt: skip
        if len(self.records) > self.limit:
            self.records.popleft()
            self.dropped += 1
