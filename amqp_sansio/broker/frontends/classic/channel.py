"""ClassicChannel: the broker's state of one channel, beside the engine's; ChannelFrontend: what all channels share."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ...._classic.model.channel_state import take_up_to
from ...._ground.invariants import ensure
from ...contents.classic import ClassicContent
from ...model.commands import SetWindow
from ...model.consumer import Window
from ...model.content import Filter
from ...model.states import State
from ...rabbitmq import RELEASES
from ..frontend import Frontend
from .contents import ClassContent
from .errors import speaks_rabbit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...._classic.endpoint.channel import Channel
    from ...._classic.endpoint.connection import Connection
    from ....events import Pending
    from ...model.consumer import Consumer
    from ...model.content import Message
    from ...model.entry import Entry
    from ...model.owner import Owner, Transaction
    from ...rabbitmq import Release
    from ..frontend import HubContext
    from .errors import Refusal

BASIC: Final = 60
FILE: Final = 70
STREAM: Final = 80


class ClassFilter(Filter):
    """Accepts messages of one content class: a class's methods fetch only its own content (0-8, class queue)."""

    __slots__ = ("class_id",)

    def __init__(self, class_id: int) -> None:
        self.class_id = class_id

    def accepts(self, message: Message) -> bool:
        """Whether it is of the class; messages of other versions count as basic."""
        return class_of(message) == self.class_id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClassFilter) and other.class_id == self.class_id

    def __hash__(self) -> int:
        return hash((ClassFilter, self.class_id))


def class_of(message: Message) -> int:
    """Return the content class of a message."""
    content = message.content
    return content.class_id if isinstance(content, ClassContent) else BASIC


class ClassicConsumer:
    """A consumer of a channel: its tag, the class whose methods it uses, and the model's consumer."""

    __slots__ = ("channel", "class_id", "model", "settles", "tag")

    def __init__(self, channel: ClassicChannel, tag: str, class_id: int, settles: bool) -> None:
        self.channel = channel
        self.tag = tag
        self.class_id = class_id
        self.settles = settles
        """Whether deliveries need no acknowledgement."""
        self.model: Consumer | None = None


class Files:
    """The staged files of a channel: `arriving` are being sent by the client, by the call that waits for them; `staged`
    are complete and unpublished; `leaving` are waiting deliveries, of which the first is in progress with `call`."""

    __slots__ = ("arriving", "call", "leaving", "names", "octets", "staged")

    def __init__(self) -> None:
        self.arriving: dict[Pending[Any], str] = {}
        self.staged: dict[str, tuple[Any, bytes]] = {}
        self.octets = 0
        self.leaving: deque[tuple[ClassicConsumer, Entry, str]] = deque()
        self.call: Pending[Any] | None = None
        self.names = 0


class ClassicChannel:
    """A channel of a client.

    `engine` is the engine's channel, `entries` the unacknowledged deliveries by tag, `undecided` those that a
    transaction settles when it commits. `window` limits the acknowledging consumers by what they hold, `flow` all
    consumers (channel.flow). `prefetch` applies to each consumer that starts later, as (messages, octets), 0 for no
    limit. `current` is the queue that an empty name means.
    """

    __slots__ = (
        "committed",
        "current",
        "engine",
        "entries",
        "files",
        "flow",
        "flow_stopped",
        "held_up",
        "is_watched",
        "marks",
        "number",
        "own_consumers",
        "owner",
        "prefetch",
        "published",
        "replies",
        "settled_to",
        "shared",
        "shortest_wait",
        "tags",
        "tickets",
        "transaction",
        "undecided",
        "window",
    )

    def __init__(self, number: int, owner: Owner, engine: Channel) -> None:
        self.number = number
        self.owner = owner
        self.engine: Any = engine
        self.entries: dict[int, Entry] = {}
        self.undecided: dict[int, Entry] = {}
        self.settled_to = 0
        """Every tag up to it is settled."""
        self.own_consumers: dict[str, ClassicConsumer] = {}
        self.window = Window(refills=True)
        self.flow = Window()
        self.flow_stopped = False
        self.held_up = False
        """Whether the client was told to stop publishing (channel.flow)."""
        self.prefetch = 0, 0
        self.shared = 0, 0
        """The prefetch shared by all its consumers."""
        self.current = ""
        self.published = False
        self.replies = ""
        """The address for direct replies; "" while nobody consumes them."""
        self.tags = 0
        self.tickets = 0
        self.transaction: Transaction | None = None
        self.committed: Sequence[Message] | None = None
        """What a commit returns that isn't done yet."""
        self.files: Files | None = None
        self.marks: list[tuple[float, int]] = []
        """When deliveries with tags from a number on began, for `timeouts`."""
        self.is_watched = False
        self.shortest_wait = 0.0
        """Seconds that the delivery may take whose end is watched for."""

    def new_tag(self) -> str:
        """Return a consumer tag that is unused on the channel."""
        while True:
            self.tags += 1
            tag = f"amq.ctag-{self.owner.number}.{self.tags}"
            if tag not in self.own_consumers:
                return tag

    def kept(self) -> tuple[Iterable[Entry], ...]:
        """Return the unsettled messages that its client has or is about to receive."""
        leaving = () if self.files is None else self.files.leaving
        files = [entry for consumer, entry, _ in leaving if not consumer.settles]
        return self.entries.values(), self.undecided.values(), files

    def check(self, front: ChannelFrontend) -> None:
        """Check that the model, the engine and the broker know the same of the channel. For tests; raises
        AssertionError."""
        where = f"channel {self.number} of {front!r}"
        engine = self.engine
        if engine.is_open:
            acquired = {tag for tag, each in self.entries.items() if each.state is State.ACQUIRED}
            lost = acquired - set(engine.unsettled)
            ensure(not lost, where, "deliveries that the broker waits for wait in the engine", lost)
            most = front.connection.config.limits.unsettled
            ensure(len(self.entries) <= most, where, "`Limits.unsettled` bounds deliveries", len(self.entries))
            tags = {tag for tag, each in self.own_consumers.items() if each.model is not None}
            ensure(tags <= set(engine.consumers), where, "consumers of the broker are the engine's", tags)
        leaving = [] if self.files is None else [each[1] for each in self.files.leaving]
        mine = {*self.entries.values(), *self.undecided.values(), *leaving}
        strange = set(self.owner.held) - mine
        ensure(not strange, where, "what the owner holds was sent, or is about to be", strange)
        limit = self.shared[0]
        if limit and not self.flow_stopped:
            left = limit - used_in(self.window, self.owner.held)
            ensure(
                self.window.messages == left, where, "`window` has the rest of the prefetch", self.window.messages, left
            )
        for tag, consumer in self.own_consumers.items():
            ensure(consumer.tag == tag, where, "each consumer is kept by its tag", tag, consumer.tag)
            model = consumer.model
            known = model is not None and self.owner.consumers.get(model.number) is model
            ensure(known, where, "each consumer is one of the model", tag)

    def take(self, tags: Iterable[int]) -> list[tuple[int, Entry]]:
        """Remove and return the deliveries with these tags, as far as they are there."""
        entries = self.entries
        return [(tag, entry) for tag in tags if (entry := entries.pop(tag, None)) is not None]

    def take_up_to(self, tag: int) -> list[tuple[int, Entry]]:
        """Remove and return the deliveries up to a tag, 0 for all."""
        taken = take_up_to(self.entries, self.settled_to, tag)
        self.settled_to = max(self.settled_to, tag)
        return taken


def outstanding(kept: Iterable[Iterable[Entry]]) -> tuple[int, int]:
    """Return the number of messages that consumers must settle, and their octets; fetched ones don't count."""
    messages = octets = 0
    for entries in kept:
        for entry in entries:
            if entry.consumer is not None and entry.state is State.ACQUIRED:
                messages += 1
                octets += entry.message.content.size
    return messages, octets


def used_in(window: Window, held: Iterable[Entry]) -> int:
    """Return how many of the messages that somebody has came through a window."""
    return sum([each.consumer is not None and window in each.consumer.windows for each in held])


def left_of(limit: int, used: int) -> int | None:
    """Return the rest of a window of `limit`, 0 for no limit."""
    return limit - used if limit else None


class ChannelFrontend(Frontend):
    """The half of the front end that the methods of channels use.

    `channels` are the open ones by number, `consumers` all consumers by the model's number. `is_rabbit`: RabbitMQ's
    behaviour applies where it differs from the specification; otherwise all channels share `window`.
    """

    __slots__ = (
        "channels",
        "consumers",
        "dialect",
        "is_old",
        "is_rabbit",
        "named",
        "owner",
        "tables",
        "user",
        "version",
        "whole",
        "window",
    )

    def __init__(self, hub: HubContext, number: int, connection: Connection) -> None:
        super().__init__(hub, number, connection)
        self.use_dialect()
        self.is_old = self.version.label == "0-8"
        self.user = ""
        self.owner: Owner | None = None
        self.channels: dict[int, ClassicChannel] = {}
        self.consumers: dict[int, ClassicConsumer] = {}
        self.window = Window(refills=True)
        """Shared by the acknowledging consumers of all channels (basic.qos with global, in the specifications)."""
        self.whole = 0, 0

    def use_dialect(self) -> None:
        """Adopt the engine's dialect, which may depend on the client's properties."""
        self.dialect = self.connection.dialect
        self.named: Mapping[str, type[Any]] = self.dialect.named
        self.version = self.dialect.version
        self.tables = self.dialect.tables
        self.is_rabbit = speaks_rabbit(self.dialect)

    @property
    def release(self) -> Release:
        """The release of RabbitMQ that the broker is."""
        return RELEASES[self.hub.settings.rabbitmq]

    def owners(self) -> list[Owner]:
        """Return the owner of the connection, once it is open, and those of its channels."""
        if self.owner is None or self.owner.is_closed:
            return []
        return [self.owner, *[each.owner for each in self.channels.values()]]

    def check(self) -> None:
        """As every front end's, and of its channels."""
        super().check()
        if self.owner is None or self.owner.is_closed:
            nothing = not self.channels and not self.consumers
            ensure(nothing, self, "there are no channels without an open connection", list(self.channels))
            return
        found: dict[int, ClassicConsumer] = {}
        for number, channel in self.channels.items():
            ensure(channel.number == number, self, "each channel is kept by its number", number, channel.number)
            if channel.engine.is_open:
                same = number in self.connection.channels and self.connection.channel(number) is channel.engine
                ensure(same, self, "an open channel is the engine's", number)
            channel.check(self)
            found.update({each.model.number: each for each in channel.own_consumers.values() if each.model})
        ensure(
            self.consumers == found, self, "`consumers` has those of all channels", list(self.consumers), list(found)
        )
        if self.whole[0]:
            held = [each for channel in self.channels.values() for each in channel.owner.held]
            left = self.whole[0] - used_in(self.window, held)
            ensure(self.window.messages == left, self, "`window` has the rest for all", self.window.messages, left)

    @abstractmethod
    def deliver(self, consumer: ClassicConsumer, entry: Entry, redelivered: bool = False) -> None:
        """Send a message to a consumer of this connection."""

    @abstractmethod
    def refuse(self, channel: ClassicChannel | None, refusal: Refusal, cause: Any = None) -> None:
        """Close a channel or the connection because of a failed request."""

    def content_of(self, message: Message) -> ClassicContent:
        """Return a message's content in this version."""
        content = message.content
        if type(content) is ClassicContent and content.tables.name == self.tables.name:
            return content
        from ...conversion import as_classic

        return as_classic(message, self.version, self.tables)

    def add_consumer(self, consumer: ClassicConsumer, model: Any) -> None:
        """Add a consumer."""
        consumer.model = model
        self.consumers[model.number] = consumer
        consumer.channel.own_consumers[consumer.tag] = consumer

    def remove_consumer(self, consumer: ClassicConsumer) -> None:
        """Remove a consumer."""
        consumer.channel.own_consumers.pop(consumer.tag, None)
        if consumer.model is not None:
            self.consumers.pop(consumer.model.number, None)

    def set_window(self, channel: ClassicChannel) -> None:
        """Set the window of a channel according to its qos."""
        messages, octets = outstanding(channel.kept())
        limit = channel.shared
        channel.window.idle_octets = limit[1] or None
        self.hub.apply(SetWindow(channel.window, left_of(limit[0], messages), left_of(limit[1], octets)))

    def set_whole_window(self) -> None:
        """Set the window of the whole connection according to its qos."""
        kept = [each for channel in self.channels.values() for each in channel.kept()]
        messages, octets = outstanding(kept)
        limit = self.whole
        self.window.idle_octets = limit[1] or None
        self.hub.apply(SetWindow(self.window, left_of(limit[0], messages), left_of(limit[1], octets)))
