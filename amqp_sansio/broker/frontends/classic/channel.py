"""ClassicChannel: what the broker keeps of one channel beside what the engine does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...._classic.model.channel_state import take_up_to
from ...model.consumer import Filter, Window
from ...model.entry import State
from .contents import ClassContent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...._classic.endpoint.channel import Channel
    from ...model.consumer import Consumer
    from ...model.entry import Entry, Message
    from ...model.owner import Owner
    from ...model.transaction import Transaction
    from .files import Files

BASIC: Final = 60
FILE: Final = 70
STREAM: Final = 80


class ClassFilter(Filter):
    """The messages of one content class: a class's methods fetch its own content only (0-8, class queue)."""

    __slots__ = ("class_id",)

    def __init__(self, class_id: int) -> None:
        self.class_id = class_id

    def accepts(self, message: Message) -> bool:
        """Whether it is of the class; what came by other versions counts as basic."""
        return class_of(message) == self.class_id


def class_of(message: Message) -> int:
    """The content class of a message."""
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
        """Whether what is delivered needs no acknowledgement."""
        self.model: Consumer | None = None


class ClassicChannel:
    """A channel of a client.

    `engine` is the engine's end of it, `entries` the deliveries that wait for an acknowledgement by their tags,
    `undecided` those that a transaction settles when it commits. `window` counts what acknowledging consumers have
    and holds them up, `flow` all consumers (channel.flow). `prefetch` is what consumers get each that begin from now
    on, as (messages, octets), 0 for no limit. `current` is the queue that an empty name means.
    """

    __slots__ = (
        "current",
        "engine",
        "entries",
        "files",
        "flow",
        "flow_stopped",
        "held_up",
        "number",
        "own_consumers",
        "owner",
        "prefetch",
        "published",
        "replies",
        "settled_to",
        "shared",
        "tags",
        "tickets",
        "transaction",
        "undecided",
        "window",
    )  # fmt: skip

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
        """What all its consumers have together."""
        self.current = ""
        self.published = False
        self.replies = ""
        """The address to which replies come directly; "" while nobody consumes them."""
        self.tags = self.tickets = 0
        self.transaction: Transaction | None = None
        self.files: Files | None = None

    def new_tag(self) -> str:
        """A consumer tag that the channel doesn't have."""
        while True:
            self.tags += 1
            tag = f"amq.ctag-{self.owner.number}.{self.tags}"
            if tag not in self.own_consumers:
                return tag

    def kept(self) -> tuple[Iterable[Entry], ...]:
        """What its client has, or is about to get, and hasn't settled yet."""
        leaving = () if self.files is None else self.files.leaving
        files = [entry for consumer, entry, _ in leaving if not consumer.settles]
        return self.entries.values(), self.undecided.values(), files

    def take_up_to(self, tag: int) -> list[tuple[int, Entry]]:
        """Remove and return the deliveries up to a tag, 0 for all."""
        taken = take_up_to(self.entries, self.settled_to, tag)
        self.settled_to = max(self.settled_to, tag)
        return taken


def outstanding(kept: Iterable[Iterable[Entry]]) -> tuple[int, int]:
    """How many messages consumers have to settle, and their octets; what was got doesn't count."""
    messages = octets = 0
    for entries in kept:
        for entry in entries:
            if entry.consumer is not None and entry.state is State.ACQUIRED:
                messages += 1
                octets += entry.message.content.size
    return messages, octets


def left_of(limit: int, used: int) -> int | None:
    """What is left of a window of `limit`, 0 for no limit."""
    return limit - used if limit else None
