"""Every command of the model, as records for `Broker.apply(command, now)`.

Each documents the result of `apply`. A command that fails raises `Fault` and changes nothing. Its consequences for
others, deliveries above all, are in `Broker.effects` afterwards.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..._ground.record import record
from .options import NO_ARGUMENTS as NO_ARGUMENTS
from .options import Lifetime as Lifetime
from .owner import Command as Command

if TYPE_CHECKING:
    from .consumer import Consumer, Window
    from .content import Content, Filter, Measure
    from .entry import Entry
    from .owner import Owner, Transaction


class Outcome(Enum):
    """The decision about an acquired message."""

    ACCEPT = "accept"
    """Consumed: it leaves the queue."""
    REJECT = "reject"
    """Refused for good: it leaves the queue, for the dead-letter or alternate exchange if there is one."""
    RELEASE = "release"
    """Returned: it goes to its place in the queue."""


# Owners.


@record
class OpenOwner(Command):
    """Open an owner: a connection of `user` in a virtual host, or with `parent` a channel, session or link.

    Returns the Owner. Faults: NOT_FOUND.
    """

    vhost: str = "/"
    user: str = ""
    parent: Owner | None = None


@record
class CloseOwner(Command):
    """Close an owner and everything below it; see `Owner` for the consequences. Returns None.

    With `redelivered` false, returned messages aren't marked (0-10, 1.0: messages never seen). Messages settled in
    another owner's transaction pass to `heir`, in case it is rolled back; without an heir they return then.
    """

    owner: Owner
    redelivered: bool = True
    heir: Owner | None = None


# Exchanges.


@record
class DeclareExchange(Command):
    """Create an exchange, or check that the existing one has these properties. Returns the Exchange.

    `type` is "direct", "fanout", "topic", "headers", "system", "failover", or a registered one that begins with "x-".
    `compare` names the properties that must be equal if it exists: of "type", "durable", "auto_delete", "internal",
    "alternate", "arguments". `passive` only checks that it exists. `reserved` refuses names that begin with "amq."
    unless the exchange exists.

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

    Faults: NOT_FOUND, IN_USE (`if_unused` with bindings), USED_AS_ALTERNATE (if `alternates` is set), DEFAULT_EXCHANGE,
    RESERVED_NAME (one of the broker's), NAME_MISSING.
    """

    owner: Owner
    name: str
    if_unused: bool = False
    alternates: bool = False


@record
class BindExchange(Command):
    """Bind exchange `destination` to `source`, which forwards matching messages. Returns whether the binding is new.

    Faults: NOT_FOUND, DEFAULT_EXCHANGE, NOT_ALLOWED, BAD_ARGUMENT.
    """

    owner: Owner
    destination: str
    source: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS


@record
class UnbindExchange(Command):
    """Remove an exchange binding. Returns None. Faults: NOT_FOUND, BINDING_NOT_FOUND, DEFAULT_EXCHANGE."""

    owner: Owner
    destination: str
    source: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS


# Queues.


@record
class DeclareQueue(Command):
    """Create a queue, or check that the existing one has these properties. Returns the Queue.

    With an empty `name` the broker generates one. `exclusive_to` is the only owner that may use the queue; the queue is
    deleted with it. `arguments` are those of `QueueOptions`; unknown ones are ignored, or refused with `strict`.
    `compare` names the properties that must be equal if it exists: of "durable", "exclusive", "auto_delete",
    "alternate", "arguments". `lifetime` (1.0) says when a dynamic node is deleted, with `owner` as its creating link.

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
    """(0-10) The end of the owner deletes an exclusive queue only if it is `auto_delete`, which has no other effect on
    it; otherwise the queue becomes usable by everybody. An existing queue that is exclusive to nobody becomes exclusive
    to `exclusive_to`, unless others consume from it (LOCKED)."""
    expires_at_head: bool = False
    """A message expires only when it is the next one (RabbitMQ); else wherever it is."""
    delivery_limit: int | None = None
    """The limit of a quorum queue whose arguments have none."""


@record
class DeleteQueue(Command):
    """Delete a queue and end its consumers (`Cancelled`). Returns the number of messages that were in it.

    Faults: NOT_FOUND, LOCKED, IN_USE, NOT_EMPTY, NAME_MISSING.
    """

    owner: Owner
    name: str
    if_unused: bool = False
    if_empty: bool = False


@record
class PurgeQueue(Command):
    """Drop all available messages; acquired ones stay. Returns how many were dropped.

    Faults: NOT_FOUND, LOCKED, NAME_MISSING.
    """

    owner: Owner
    name: str


@record
class Bind(Command):
    """Bind a queue to an exchange. Returns whether the binding is new.

    With `by_arguments`, bindings that differ only in their arguments are distinct (0-9-1); otherwise the second one
    changes nothing (0-10). Faults: NOT_FOUND, LOCKED, DEFAULT_EXCHANGE, NOT_ALLOWED, BAD_ARGUMENT, NAME_MISSING, LIMIT.
    """

    owner: Owner
    queue: str
    exchange: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS
    by_arguments: bool = True


@record
class Unbind(Command):
    """Remove a binding. Returns None. Faults: NOT_FOUND, BINDING_NOT_FOUND, LOCKED, DEFAULT_EXCHANGE, NAME_MISSING."""

    owner: Owner
    queue: str
    exchange: str
    routing_key: str = ""
    arguments: Mapping[str, Any] = NO_ARGUMENTS
    by_arguments: bool = True


@record
class LinkQueue(Command):
    """Count a link of 1.0 as a user of a queue, for `Lifetime`. Returns None. Faults: NOT_FOUND, LOCKED."""

    owner: Owner
    name: str


@record
class UnlinkQueue(Command):
    """Undo `LinkQueue`. Returns None, also if the queue no longer exists."""

    owner: Owner
    name: str


# Consuming.


@record
class Subscribe(Command):
    """Deliver the messages of a queue to a consumer. Returns the Consumer; `Deliver` effects follow, now and later.

    See `Consumer` for the arguments. `exclusive` demands to be the only consumer. `cursors` (`Consumer.cursors`) makes
    a browser continue at the point where another one stopped. Faults: NOT_FOUND, LOCKED, EXCLUSIVE, LIMIT.
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
    """End a consumer. Messages delivered to it stay with its owner. Returns None; no `Cancelled` follows."""

    consumer: Consumer


@record
class Grant(Command):
    """Add credit to a window. An unlimited window stays unlimited. Returns None."""

    window: Window
    messages: int = 0
    octets: int = 0


@record
class SetWindow(Command):
    """Set the remaining credit of a window; None for no limit. Returns None."""

    window: Window
    messages: int | None
    octets: int | None = None


@record
class ChangeWindows(Command):
    """Count a consumer's deliveries in other windows from now on, because its session (0-10) or link (1.0) has moved.

    Returns None.
    """

    consumer: Consumer
    windows: tuple[Window, ...]


@record
class Get(Command):
    """Acquire the first message of a queue that a filter accepts. Returns its Entry, or None if there is none.

    With `settles` it is settled at once. A queue remembers how far the last filter has looked, so filters that accept
    the same should be equal. Faults: NOT_FOUND, LOCKED, EXCLUSIVE, NAME_MISSING.
    """

    owner: Owner
    queue: str
    settles: bool = False
    filter: Filter | None = None


@record
class Acquire(Command):
    """Acquire messages that were shown to a browsing consumer (0-10 message.acquire).

    Returns those that were still available, as a tuple of Entry.
    """

    owner: Owner
    entries: tuple[Entry, ...]
    consumer: Consumer | None = None


# Messages.


@record
class Publish(Command):
    """Publish a message. Returns a `Published`, or None in a transaction, whose commit routes it.

    With `alternates`, an unroutable message goes to the exchange's alternate, and with `chained` on to the alternate's
    own. `rerouted` treats the message as unroutable in any case (0-10 delivery-properties.immediate). `promised`: the
    sender was told that the message will be accepted, so a queue that has filled up meanwhile takes it nevertheless.

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
    also: tuple[str, ...] = ()
    """More routing keys (RabbitMQ's headers CC and BCC): each queue gets the message once."""
    delay: float = 0.0
    """Seconds after which the message is routed; an exchange that delays reads them in the headers."""


@record
class Published:
    """The result of a publish.

    `routed`: a queue took the message. `consumed`: a consumer received it at once, for `immediate`; otherwise no copy
    stays in queues (0-8 section 1.8.3.8). `refused`: a queue is full and refuses (overflow "reject-publish").
    """

    routed: bool
    consumed: bool
    refused: bool


@record
class Settle(Command):
    """Settle messages that the owner holds, all with the same outcome. Returns None.

    RELEASE and REJECT: `delivery_failed` counts against the delivery limit and marks as redelivered; `redelivered` only
    marks (0-10 set-redelivered, 0-9-1 requeue). `excluded` bars the consumer that had the message from receiving it
    again (1.0 undeliverable-here). `content` replaces the message's (1.0 modified with annotations, rejected with an
    error). In a transaction, everything takes effect at the commit. `unsaid`: the consumer's version can't express the
    message; it is dead-lettered as at a delivery limit, and never returns to a queue where this happened.

    Faults: ILLEGAL_STATE for an entry that the owner doesn't hold, or that is settled in an open transaction.
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
    """Begin a transaction. Returns it. It is rolled back when its owner ends; without an owner it outlives all.

    Faults: NOT_FOUND, LIMIT.
    """

    owner: Owner | None = None
    vhost: str = "/"


@record
class Commit(Command):
    """Perform everything published and settled in a transaction, in order. Returns the list of its mandatory messages
    that no queue took and its immediate ones that no consumer received; `Message.mandatory` distinguishes them. It is
    complete when nothing of the commit is left to later turns. Faults: ILLEGAL_STATE if the transaction has ended."""

    transaction: Transaction


@record
class Rollback(Command):
    """Discard everything published and settled in a transaction. Messages stay with their owners, unsettled.

    Returns None. Faults: ILLEGAL_STATE if the transaction has ended.
    """

    transaction: Transaction
