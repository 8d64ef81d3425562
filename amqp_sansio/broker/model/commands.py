"""Everything that can be asked of the model, as records: `Broker.apply(command, now)`.

Each says what `apply` returns. A command that isn't carried out raises `Fault`, and nothing has changed. What it brings
about for others, deliveries above all, is in `Broker.effects` afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from ..._core.record import record

if TYPE_CHECKING:
    from .consumer import Consumer, Filter, Measure, Window
    from .content import Content
    from .entry import Entry
    from .owner import Owner
    from .transaction import Transaction

NO_ARGUMENTS: Final[Mapping[str, Any]] = {}


class Outcome(Enum):
    """What becomes of a message that was acquired."""

    ACCEPT = "accept"
    """It is done with, and leaves the queue."""
    REJECT = "reject"
    """It was refused for good: it leaves the queue, for the dead-letter or alternate exchange if there is one."""
    RELEASE = "release"
    """It goes back to its place in the queue."""


class Lifetime(Enum):
    """When a dynamic node of 1.0 goes (part 3 section 5)."""

    ON_CLOSE = "on-close"
    ON_NO_LINKS = "on-no-links"
    ON_NO_MESSAGES = "on-no-messages"
    ON_NO_LINKS_OR_MESSAGES = "on-no-links-or-messages"


class Command:
    """The base of all commands."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()


# Who asks.


@record
class OpenOwner(Command):
    """Somebody came: a connection of `user` in a virtual host, or with `parent` a channel, session or link.

    Returns the Owner. Faults: NOT_FOUND.
    """

    vhost: str = "/"
    user: str = ""
    parent: Owner | None = None


@record
class CloseOwner(Command):
    """It is gone, with all that is below it; see `Owner` for what follows. Returns None.

    With `redelivered` false (0-10 and 1.0, for what was never seen) the messages that go back aren't marked. What
    another's transaction has decided of is the `heir`'s, should that be rolled back; without one it goes back then.
    """

    owner: Owner
    redelivered: bool = True
    heir: Owner | None = None


# Exchanges.


@record
class DeclareExchange(Command):
    """Make an exchange, or see to it that it is as said. Returns the Exchange.

    `type` is "direct", "fanout", "topic", "headers", "system", "failover" or one that begins with "x-" and was
    registered. `compare` names what has to be the same when it exists: of "type", "durable", "auto_delete", "internal",
    "alternate", "arguments". `passive` looks only whether it exists. `reserved`: names that begin with "amq." are
    refused unless it exists.

    Faults: NOT_FOUND (passive; the alternate), INEQUIVALENT, TYPE_UNKNOWN, RESERVED_NAME, NAME_MISSING,
    DEFAULT_EXCHANGE, BAD_ARGUMENT, NOT_ALLOWED (a second failover exchange), LIMIT.
    """

    owner: Owner
    name: str
    type: str = "direct"
    passive: bool = False
    durable: bool = False
    auto_delete: bool = False
    internal: bool = False
    alternate: str | None = None
    arguments: Mapping[str, Any] = NO_ARGUMENTS
    compare: tuple[str, ...] = ("type", "durable", "auto_delete", "internal", "alternate", "arguments")
    reserved: bool = True


@record
class DeleteExchange(Command):
    """Delete an exchange with its bindings. Returns None.

    Faults: NOT_FOUND, IN_USE (`if_unused` with bindings), USED_AS_ALTERNATE (where `alternates` are looked after),
    DEFAULT_EXCHANGE, RESERVED_NAME (one of the broker's), NAME_MISSING.
    """

    owner: Owner
    name: str
    if_unused: bool = False
    alternates: bool = False


@record
class BindExchange(Command):
    """Bind exchange `destination` to `source`: what matches goes on to it. Returns whether the binding is new.

    Faults: NOT_FOUND, DEFAULT_EXCHANGE, NOT_ALLOWED, BAD_ARGUMENT.
    """

    owner: Owner
    destination: str
    source: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS


@record
class UnbindExchange(Command):
    """Undo `BindExchange`. Returns None. Faults: NOT_FOUND, BINDING_NOT_FOUND, DEFAULT_EXCHANGE."""

    owner: Owner
    destination: str
    source: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS


# Queues.


@record
class DeclareQueue(Command):
    """Make a queue, or see to it that it is as said. Returns the Queue.

    `name` "" has the broker make one up. `exclusive_to` is the owner that has it for itself, and with which it goes.
    `arguments` are those of `QueueOptions`; unknown ones are kept and ignored, unless `strict` refuses them.
    `compare` names what has to be the same when it exists: of "durable", "exclusive", "auto_delete", "alternate",
    "arguments". `lifetime` (1.0) says when a dynamic node goes, with `owner` as its creating link.

    Faults: NOT_FOUND (passive; the alternate), INEQUIVALENT, LOCKED, RESERVED_NAME, BAD_ARGUMENT, UNKNOWN_ARGUMENT,
    LIMIT.
    """

    owner: Owner
    name: str = ""
    passive: bool = False
    durable: bool = False
    auto_delete: bool = False
    exclusive_to: Owner | None = None
    alternate: str | None = None
    arguments: Mapping[str, Any] = NO_ARGUMENTS
    compare: tuple[str, ...] = ("durable", "exclusive", "auto_delete", "alternate", "arguments")
    strict: bool = False
    reserved: bool = True
    lifetime: Lifetime | None = None
    outlives: bool = False
    """(0-10) Its owner's end deletes an exclusive queue only if it's `auto_delete`, which means nothing else for it;
    without it the queue is anybody's from then on."""


@record
class DeleteQueue(Command):
    """Delete a queue; its consumers end (`Cancelled`). Returns the number of messages that were in it.

    Faults: NOT_FOUND, LOCKED, IN_USE, NOT_EMPTY, NAME_MISSING.
    """

    owner: Owner
    name: str
    if_unused: bool = False
    if_empty: bool = False


@record
class PurgeQueue(Command):
    """Drop all messages that are available; those that are acquired stay. Returns how many there were.

    Faults: NOT_FOUND, LOCKED, NAME_MISSING.
    """

    owner: Owner
    name: str


@record
class Bind(Command):
    """Bind a queue to an exchange. Returns whether the binding is new.

    `by_arguments`: bindings that differ in their arguments alone are two (0-9-1); else the second changes nothing
    (0-10). Faults: NOT_FOUND, LOCKED, DEFAULT_EXCHANGE, NOT_ALLOWED, BAD_ARGUMENT, NAME_MISSING, LIMIT.
    """

    owner: Owner
    queue: str
    exchange: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS
    by_arguments: bool = True


@record
class Unbind(Command):
    """Undo `Bind`. Returns None. Faults: NOT_FOUND, BINDING_NOT_FOUND, LOCKED, DEFAULT_EXCHANGE, NAME_MISSING."""

    owner: Owner
    queue: str
    exchange: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS
    by_arguments: bool = True


@record
class LinkQueue(Command):
    """A link of 1.0 uses a queue from now on, which `Lifetime` counts. Returns None. Faults: NOT_FOUND, LOCKED."""

    owner: Owner
    name: str


@record
class UnlinkQueue(Command):
    """It doesn't any more. Returns None; also when the queue is gone."""

    owner: Owner
    name: str


# Consuming.


@record
class Subscribe(Command):
    """Deliver the messages of a queue to a consumer. Returns the Consumer; `Deliver` effects follow, now and later.

    See `Consumer` for the arguments. `exclusive`: it wants to be the only one. `cursors`: a browser goes on where one
    with these (`Consumer.cursors`) stopped. Faults: NOT_FOUND, LOCKED, EXCLUSIVE, LIMIT.
    """

    owner: Owner
    queue: str
    key: Hashable
    windows: tuple[Window, ...] = ()
    acquires: bool = True
    settles: bool = False
    exclusive: bool = False
    no_local: bool = False
    priority: int = 0
    filter: Filter | None = None
    cursors: tuple[int, ...] = ()
    measure: Measure | None = None


@record
class Cancel(Command):
    """End a consumer. What was delivered to it stays with its owner. Returns None; no `Cancelled` follows."""

    consumer: Consumer


@record
class Grant(Command):
    """Give a window more room, on top of what it has. Returns None. No limit stays no limit."""

    window: Window
    messages: int = 0
    octets: int = 0


@record
class SetWindow(Command):
    """Set what is left of a window, None for no limit. Returns None."""

    window: Window
    messages: int | None
    octets: int | None = None


@record
class ChangeWindows(Command):
    """Count a consumer's deliveries in other windows from now on: its session (0-10) or link (1.0) goes on elsewhere.

    Returns None.
    """

    consumer: Consumer
    windows: tuple[Window, ...]


@record
class Get(Command):
    """Acquire the first message of a queue. Returns its Entry, or None when there is none available.

    With `settles` it is settled at once. Faults: NOT_FOUND, LOCKED, EXCLUSIVE, NAME_MISSING.
    """

    owner: Owner
    queue: str
    settles: bool = False


@record
class Acquire(Command):
    """Acquire messages that a browsing consumer has seen (0-10 message.acquire).

    Returns those that were available, as a tuple of Entry.
    """

    owner: Owner
    entries: tuple[Entry, ...]
    consumer: Consumer | None = None


# Messages.


@record
class Publish(Command):
    """Publish a message. Returns a `Published`; in a transaction None, its fate is known at the commit.

    `alternates`: what matches nothing goes to the exchange's alternate; with `chained` on to the alternate's own.
    `rerouted`: it counts as matching nothing, whatever it matches (0-10 delivery-properties.immediate).
    `promised`: its sender was told that it will be taken, so that a queue that is full by then takes it all the same.

    Faults: NOT_FOUND, INTERNAL.
    """

    owner: Owner
    exchange: str
    routing_key: str
    content: Content
    mandatory: bool = False
    immediate: bool = False
    transaction: Transaction | None = None
    alternates: bool = True
    chained: bool = False
    rerouted: bool = False
    promised: bool = False


@record
class Published:
    """What became of a publish.

    `routed`: a queue took it. `consumed`: a consumer got it at once, for `immediate`, without which nothing of it
    stays in queues (0-8 section 1.8.3.8). `refused`: a queue is full and says so (overflow "reject-publish").
    """

    routed: bool
    consumed: bool
    refused: bool


@record
class Settle(Command):
    """Decide about messages that the owner has, all alike. Returns None.

    RELEASE and REJECT: `delivery_failed` counts against the delivery limit and marks as redelivered (`redelivered` only
    marks, for 0-10's set-redelivered and 0-9-1's requeue). `excluded`: the consumer it came to doesn't get it again
    (1.0 undeliverable-here). `content` replaces the message's (1.0 modified with annotations, rejected with an error).
    In a transaction it counts from the commit on. `unsaid`: REJECT is the broker's own, because the message can't be
    said to its consumer: it dies as at a delivery limit, and doesn't come back to a queue where that happened.

    Faults: ILLEGAL_STATE for an entry that isn't the owner's, or that is decided of in a transaction.
    """

    owner: Owner
    entries: tuple[Entry, ...]
    outcome: Outcome
    redelivered: bool = False
    delivery_failed: bool = False
    excluded: bool = False
    content: Content | None = None
    transaction: Transaction | None = None
    unsaid: bool = False


# Transactions.


@record
class Begin(Command):
    """Begin a transaction. Returns it. With an owner it is rolled back when the owner ends; None: it outlives all.

    Faults: NOT_FOUND, LIMIT.
    """

    owner: Owner | None = None
    vhost: str = "/"


@record
class Commit(Command):
    """Do all that was published and settled in a transaction, in its order. Returns the tuple of its mandatory messages
    that no queue took, and of its immediate ones that no consumer got: `Message.mandatory` tells the first from the
    second. Faults: ILLEGAL_STATE when it is over."""

    transaction: Transaction


@record
class Rollback(Command):
    """Forget all that was published and settled in a transaction: messages stay with their owners, undecided.

    Returns None. Faults: ILLEGAL_STATE when it is over.
    """

    transaction: Transaction
