"""History: records of what happened to messages, in order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

from ..._ground.record import record

if TYPE_CHECKING:
    from .content import Content, Message
    from .owner import Owner

Kind = Literal[
    "published",
    "routed",
    "unroutable",
    "refused",
    "delivered",
    "got",
    "accepted",
    "rejected",
    "released",
    "expired",
    "dead-lettered",
    "dropped",
    "withheld",
    "unreadable",
    "purged",
]


@record
class Happened:
    """One thing that happened to a message.

    | `kind` | when |
    |---|---|
    | `published` | a client published it; `connection` is that client |
    | `routed` | it entered `queue` |
    | `unroutable` | no queue took it |
    | `refused` | `queue` was full and refused it |
    | `delivered`, `got` | from `queue` to `consumer`, or fetched; `redelivered` is its flag |
    | `accepted`, `rejected`, `released` | it was settled |
    | `expired` | its time to live in `queue` ended |
    | `dead-lettered` | it left `queue` for an exchange, for `reason` |
    | `dropped` | it left `queue` for good, unsettled, for `reason` |
    | `withheld` | it can't be sent to `consumer`, for `reason`, and waits for another one |
    | `unreadable` | a client sent it, and no queue got it, because it isn't a message of its version, for `reason` |
    | `purged` | by a purge of `queue` |

    `number` counts the publishes of the broker; all records of a message share it (a dead-lettered message is a new
    publish). `connection` is the number of the connection's owner, `user` its user. `at` is in seconds of the broker's
    clock.
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
    """The last records of what happened to messages."""

    __slots__ = ("dropped", "limit", "most_octets", "octets", "records")

    def __init__(self, limit: int, most_octets: int | None = None) -> None:
        self.limit = limit
        """Most records; the oldest are discarded for new ones."""
        self.most_octets = most_octets
        """Most octets of their contents, each counted in every record; None: any number."""
        self.records: deque[Happened] = deque()
        """The oldest first."""
        self.dropped = 0
        """How many were discarded so far: the number of the first one that is left."""
        self.octets = 0
        """Of the contents of those that are kept."""

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
        """Append a record."""
        connection, user = (0, "") if owner is None else (owner.connection, owner.user)
        self.records.append(
            Happened(
                kind,
                at,
                vhost,
                message.number,
                message.exchange,
                message.routing_key,
                message.content,
                queue,
                consumer,
                connection,
                user,
                redelivered,
                reason,
            )
        )
        most = self.most_octets
        if most is None:
            if len(self.records) > self.limit:
                self.records.popleft()
                self.dropped += 1
            return
        self.octets += message.octets
        while self.records and (len(self.records) > self.limit or self.octets > most):
            self.octets -= self.records.popleft().content.octets
            self.dropped += 1
