"""Owner: what exclusive queues, consumers and acquired messages belong to: a connection, channel, session or link."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .consumer import Consumer
    from .entry import Entry
    from .queue import Queue
    from .transaction import Transaction
    from .vhost import VirtualHost


class Owner:
    """A place in the tree of what a client has opened. `OpenOwner` makes one, `CloseOwner` ends it with its children.

    When it ends its consumers are cancelled, its transactions rolled back, the messages that it has go back to their
    queues in their places, marked as redelivered, and its exclusive queues are deleted, in this order.
    """

    __slots__ = (
        "children", "connection", "consumers", "created", "exclusive", "held", "is_closed", "links", "number", "parent",
        "transactions", "user", "vhost",
    )  # fmt: skip

    def __init__(self, number: int, vhost: VirtualHost, parent: Owner | None, user: str) -> None:
        self.number = number
        self.vhost = vhost
        self.parent = parent
        self.connection: int = number if parent is None else parent.connection
        """The number of the topmost owner."""
        self.is_closed = False
        self.links: dict[str, int] = {}
        """The queues that it uses by links of 1.0, and how often (`LinkQueue`)."""
        self.user = user
        self.children: dict[int, Owner] = {}
        self.consumers: dict[int, Consumer] = {}
        self.held: dict[Entry, None] = {}
        self.created: dict[str, Queue] = {}
        """The dynamic nodes whose creating link it is."""
        self.exclusive: dict[str, Queue] = {}
        self.transactions: dict[int, Transaction] = {}

    def is_within(self, other: Owner) -> bool:
        """Whether it is `other` or below it."""
        each: Owner | None = self
        while each is not None:
            if each is other:
                return True
            each = each.parent
        return False

    @property
    def root(self) -> Owner:
        """The topmost owner above it, or itself."""
        each = self
        while each.parent is not None:
            each = each.parent
        return each

    def __repr__(self) -> str:
        return f"<Owner {self.number} of {self.user!r} in {self.vhost.name!r}>"
