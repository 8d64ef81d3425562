"""Owner and Transaction: what ends with a connection, channel, session or link, and the commands that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .faults import Fault, FaultKind
from .states import TransactionState

if TYPE_CHECKING:
    from .consumer import Consumer
    from .entry import Entry
    from .queue import Queue
    from .search import Search
    from .vhost import VirtualHost


class Command:
    """The base of all commands."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()


class Owner:
    """A node in the tree of what a client has opened. `OpenOwner` creates it, `CloseOwner` ends it with its children.

    At its end, in this order: its consumers are cancelled, its transactions rolled back, its messages returned to their
    places in their queues, marked as redelivered, and its exclusive queues deleted.
    """

    __slots__ = (
        "children",
        "connection",
        "consumers",
        "created",
        "exclusive",
        "held",
        "is_closed",
        "links",
        "number",
        "parent",
        "searched",
        "transactions",
        "user",
        "vhost",
    )

    def __init__(self, number: int, vhost: VirtualHost, parent: Owner | None, user: str) -> None:
        self.number = number
        """Unique in the broker."""
        self.vhost = vhost
        """The virtual host that its names are of."""
        self.parent = parent
        """The one that it ends with; None: it stands for a connection."""
        self.connection: int = number if parent is None else parent.connection
        """The number of the topmost owner."""
        self.is_closed = False
        """Set once, when its end begins, which may take several turns."""
        self.searched: Search | None = None
        """Its place in the queue where it has looked for a message last."""
        self.links: dict[str, tuple[Queue, int]] = {}
        """The queues that its 1.0 links use, with the number of links (`LinkQueue`); deleted ones too, until the links
        end."""
        self.user = user
        """The name that has logged in, for texts."""
        self.children: dict[int, Owner] = {}
        """Those that end with it, by number."""
        self.consumers: dict[int, Consumer] = {}
        """Those that end with it, by number."""
        self.held: dict[Entry, None] = {}
        """Messages that it has acquired, in that order."""
        self.created: dict[str, Queue] = {}
        """The dynamic nodes that it created as their link."""
        self.exclusive: dict[str, Queue] = {}
        """Queues that only it, and those below it, may use, by name."""
        self.transactions: dict[int, Transaction] = {}
        """Open ones that end with it, by number."""

    def is_within(self, other: Owner) -> bool:
        """Whether it is `other` or below it."""
        each: Owner | None = self
        while each is not None:
            if each is other:
                return True
            each = each.parent
        return False

    def find_queue(self, name: str) -> Queue:
        """Return the queue of that name if it may use it. Raises Fault: NAME_MISSING, NOT_FOUND, LOCKED."""
        if not name:
            raise Fault(FaultKind.NAME_MISSING, "a queue's name is needed here", "queue")
        queue = self.vhost.queues.get(name)
        if queue is None:
            raise Fault(FaultKind.NOT_FOUND, f"no queue {name!r} in vhost {self.vhost.name!r}", "queue")
        if queue.exclusive_to is not None:
            self.check(queue)
        return queue

    def check(self, queue: Queue) -> None:
        """Refuse a queue that is exclusive to another owner. Raises Fault LOCKED."""
        if queue.exclusive_to is not None and not self.is_within(queue.exclusive_to):
            text = (
                f"cannot obtain exclusive access to locked queue {queue.name!r} in vhost {queue.vhost.name!r}. "
                "It could be originally declared on another connection or the exclusive property value does not "
                "match that of the original declaration."
            )
            raise Fault(FaultKind.LOCKED, text, "queue")

    @property
    def root(self) -> Owner:
        """The topmost owner above it, or itself."""
        each = self
        while each.parent is not None:
            each = each.parent
        return each

    def __repr__(self) -> str:
        return f"<Owner {self.number} of {self.user!r} in {self.vhost.name!r}>"


class Transaction:
    """The commands that wait for a commit; the end of its owner, if it has one, ends it."""

    __slots__ = ("number", "octets", "owner", "state", "vhost", "work")

    def __init__(self, number: int, vhost: VirtualHost, owner: Owner | None) -> None:
        self.number = number
        """Unique in the broker."""
        self.vhost = vhost
        """Where its commands are carried out."""
        self.owner = owner
        """The one that it ends with; None: it outlives connections (0-10 dtx)."""
        self.state = TransactionState.ACTIVE
        """Set to COMMITTED or ROLLED_BACK once, by the table."""
        self.work: list[Command] = []
        """Its publishes and settlements, in order."""
        self.octets = 0
        """Octets of the contents of its publishes."""

    def __repr__(self) -> str:
        return f"<Transaction {self.number}, {self.state.value}>"
