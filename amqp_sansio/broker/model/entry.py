"""Message and Entry: what was published, and its place in one queue (1.0 part 3 section 2.2, 0-10 class 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._core.state_table import Table, TableEnum

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .consumer import Consumer
    from .content import Content
    from .owner import Owner
    from .queue import Hold, Queue
    from .transaction import Transaction


MESSAGE_OCTETS: Final = 256
"""What a message takes beside its content: one without any takes room too."""
PLACE_OCTETS: Final = 256
"""What each of its places in queues takes."""
FRAMES_OCTETS: Final = 128
"""What the frames of a delivery take beside the content, more or less: a client's unread ones count with it."""


class State(TableEnum):
    """Where a message is in a queue, as 1.0 part 3 section 2.2 names it; the older versions mean the same."""

    AVAILABLE = "available"
    ACQUIRED = "acquired"
    ARCHIVED = "archived"


class EntryInput(TableEnum):
    """What happens to a message in a queue."""

    ACQUIRE = "acquire"
    ACCEPT = "accept"
    REJECT = "reject"
    RELEASE = "release"
    EXPIRE = "expire"
    DROP = "drop"
    """Purged, pushed out by a length limit, or gone with its queue."""


_AVAILABLE, _ACQUIRED, _ARCHIVED = State

MESSAGE: Final[Table[State, EntryInput]] = {
    _AVAILABLE: {EntryInput.ACQUIRE: _ACQUIRED, EntryInput.EXPIRE: _ARCHIVED, EntryInput.DROP: _ARCHIVED},
    _ACQUIRED: {
        EntryInput.ACCEPT: _ARCHIVED,
        EntryInput.REJECT: _ARCHIVED,
        EntryInput.RELEASE: _AVAILABLE,
        EntryInput.DROP: _ARCHIVED,
    },
    _ARCHIVED: {},
}
"""The life of a message in one queue. An acquired message doesn't expire; a purge leaves it alone."""


class Message:
    """What was published: its content, and where to. `number` counts the publishes of a broker."""

    __slots__ = (
        "content", "converted", "copies", "exchange", "immediate", "mandatory", "number", "octets", "publisher",
        "routing_key",
    )  # fmt: skip

    def __init__(
        self,
        content: Content,
        exchange: str,
        routing_key: str,
        number: int,
        publisher: int = 0,
        mandatory: bool = False,
        immediate: bool = False,
    ) -> None:
        self.content = content
        self.exchange = exchange
        self.routing_key = routing_key
        self.number = number
        self.publisher = publisher
        """The number of the connection's owner, for no-local."""
        self.mandatory = mandatory
        self.immediate = immediate
        self.octets = content.octets
        """What is kept of it."""
        self.converted: tuple[Hashable, Content] | None = None
        """What `conversion` made of it last, and for whom, while several queues have it."""
        self.copies = 0
        """In how many queues it is."""

    def __repr__(self) -> str:
        return f"<Message {self.number} to {self.exchange!r} with {self.routing_key!r}>"


class Entry:
    """A message in a queue, with its state there.

    `redelivered`: it may have been delivered before. `delivery_count`: how often a delivery of it failed.
    `owner` and `consumer` have it while it is acquired (`consumer` None: it was got or acquired by name).
    `transaction` has decided of it and isn't over. `expires`: the second at which it goes, None: never. `key` is its
    value in a queue of last values, `group` its message group; `hold` is that group's holder while it is with that.
    """

    __slots__ = (
        "consumer", "delivery_count", "excluded", "expires", "group", "hold", "key", "linked", "message", "owner",
        "position", "priority", "queue", "redelivered", "state", "transaction",
    )  # fmt: skip

    def __init__(
        self, message: Message, queue: Queue, position: int, priority: int, expires: float | None
    ) -> None:
        self.message = message
        self.queue = queue
        self.position = position
        self.priority = priority
        self.expires = expires
        self.state = _AVAILABLE
        self.redelivered = False
        self.delivery_count = 0
        self.linked = True
        self.owner: Owner | None = None
        self.consumer: Consumer | None = None
        self.transaction: Transaction | None = None
        self.excluded: tuple[tuple[int, str], ...] = ()
        """The places of consumers that it isn't delivered to any more (1.0 undeliverable-here)."""
        self.key: Hashable = None
        self.group: Hashable = None
        self.hold: Hold | None = None

    def __repr__(self) -> str:
        return f"<Entry {self.position} of {self.queue.name!r}, {self.state.value}>"
