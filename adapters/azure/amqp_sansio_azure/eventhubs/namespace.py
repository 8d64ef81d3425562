"""EventHubsNamespace: a namespace with event hubs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.amqp_1_0.codec.conditions import NOT_FOUND, NOT_IMPLEMENTED
from amqp_sansio.amqp_1_0.spec import Coordinator
from amqp_sansio.broker.nodes import Refusal

from ..conditions import ARGUMENT_OUT_OF_RANGE
from ..namespace import DEFAULT_RULE, AzureNamespace, Clocks
from ..timers import Due
from ..tokens import LISTEN, MANAGE, SEND, AccessRule, check
from .hubs import EventHub
from .management import MANAGEMENT, ManagementNode
from .nodes import ConsumerNode, ProducerNode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from amqp_sansio.amqp_1_0.spec import Attach
    from amqp_sansio.broker.nodes import Attachment, Node, NodeHub, Peer

    from .partitions import Retention

IDLE: Final = 1800.0
"""Seconds after which Event Hubs detaches a link without messages."""
MESSAGE_SIZE: Final = 1024 * 1024
"""Octets of a message, or of a batch."""
_RETAINED: Final = "retained"


class EventHubsNamespace(AzureNamespace):
    """A namespace of Event Hubs.

    >>> namespace = EventHubsNamespace("clicks-ns")
    >>> namespace.add_hub("clicks", partitions=4, consumer_groups=["audit"])
    <EventHub clicks: 4 partitions>
    """

    links_idle_as = ("AmqpEventHubPublisher", "AmqpEventHubConsumer")

    def __init__(
        self,
        name: str = "emulatorns1",
        *,
        rules: Iterable[AccessRule] = (DEFAULT_RULE,),
        checks_tokens: bool = False,
        clocks: Clocks | None = None,
        max_message_size: int = MESSAGE_SIZE,
    ) -> None:
        super().__init__(name, rules=rules, checks_tokens=checks_tokens, clocks=clocks or Clocks(idle=IDLE))
        self.max_message_size = max_message_size
        """Octets of a message, or of a batch: a link's max-message-size."""
        self.hubs: dict[str, EventHub] = {}
        """Event hubs by their names in lower case."""
        self._management = ManagementNode(self)
        self._links: dict[Attachment, EventHub] = {}
        self._watched: set[EventHub] = set()

    def add_hub(
        self, name: str, partitions: int = 1, *, consumer_groups: Iterable[str] = (), retention: Retention | None = None
    ) -> EventHub:
        """Make an event hub. Raises ValueError if there is one of that name, and for a bad name or number."""
        if name.lower() in self.hubs:
            raise ValueError(f"event hub {name!r} is there already")
        created = self.milliseconds if self.is_served else 0
        hub = EventHub(name, partitions, consumer_groups=consumer_groups, retention=retention, created=created)
        self.hubs[name.lower()] = hub
        return hub

    def remove_hub(self, name: str) -> None:
        """Delete an event hub; links to it are detached. Raises LookupError if it isn't there."""
        hub = self.hubs.pop(name.lower(), None)
        if hub is None:
            raise LookupError(f"there is no event hub {name!r}")
        self._watched.discard(hub)
        self.timers.clear((_RETAINED, hub.name))
        gone = self.no_entity(hub.name)
        for link in [link for link, its in self._links.items() if its is hub]:
            link.detach(gone.condition, gone.text)

    def hub_named(self, name: str) -> EventHub | None:
        """Return an event hub, None if there is none."""
        return self.hubs.get(name.lower())

    # As a namespace.

    def begin(self, hub: NodeHub) -> None:
        super().begin(hub)
        for each in self.hubs.values():
            each.created = each.created or self.milliseconds

    def restart(self, now: float) -> None:
        super().restart(now)
        for hub in self.hubs.values():
            for group in hub.groups.values():
                group.clear()

    def entity_kind(self, path: str) -> str:
        return "eventhub"

    def joined(self, link: Attachment, path: str) -> None:
        super().joined(link, path)
        hub = self.hub_named(path.partition("/")[0])
        if hub is not None:
            self._links[link] = hub

    def left(self, link: Attachment) -> None:
        self._links.pop(link, None)
        super().left(link)

    def find(self, peer: Peer, attach: Attach) -> Node | None:
        if isinstance(attach.target, Coordinator):
            raise self.refusal(NOT_IMPLEMENTED, "Event Hubs has no transactions over AMQP.")
        return super().find(peer, attach)

    def node_at(self, path: str, attach: Attach) -> Node | None:
        if path.lower() == MANAGEMENT:
            return self._management
        name, *rest = path.split("/")
        hub = self.hub_named(name)
        if hub is None:
            return None
        words = [each.lower() for each in rest[::2]]
        values = rest[1::2]
        if len(words) != len(values):
            return None
        if attach.role:
            if words != ["consumergroups", "partitions"] or values[0].lower() not in hub.groups:
                return None
            partition = hub.partition(values[1])
            if partition is None:
                raise self.no_partition(hub, path)
            return ConsumerNode(self, hub, hub.groups[values[0].lower()], partition, path)
        if not words:
            return ProducerNode(self, hub, path)
        if words == ["partitions"]:
            partition = hub.partition(values[0])
            if partition is None:
                raise self.no_partition(hub, path)
            return ProducerNode(self, hub, path, partition)
        if words == ["publishers"] and values[0]:
            return ProducerNode(self, hub, path, publisher=values[0])
        return None

    # For its nodes.

    def may_read(self, peer: Peer, path: str, token: str) -> bool:
        """Return whether a client may read of an entity: with any right, or with a token in its request."""
        if any(self.allows(peer, each, path) for each in (LISTEN, SEND, MANAGE)):
            return True
        if not token:
            return False
        try:
            if self.checks_tokens:
                check(token, path, self.rules, self.unix_time)
        except Refusal:
            return False
        # The SDK for Java puts none to $cbs for this alone.
        self.timers.clear(("token", peer.number))
        return True

    def no_entity(self, path: str) -> Refusal:
        """Return the refusal of what isn't there."""
        text = f"The messaging entity 'sb://{self.name}/{path[:100]}' could not be found."
        return self.refusal(NOT_FOUND, text, path)

    def no_partition(self, hub: EventHub, path: str) -> Refusal:
        """Return the refusal of a partition that isn't there."""
        return self.refusal(
            ARGUMENT_OUT_OF_RANGE,
            "The specified partition is invalid for an EventHub partition sender or receiver. It should be between 0 "
            f"and {len(hub.partitions) - 1}.",
            path,
        )

    def grown(self, hub: EventHub) -> None:
        """Note that events have come, whose time will be over."""
        when = None if hub in self._watched else hub.next_trim
        if when is not None:
            self._watched.add(hub)
            after = max(1.0, when / 1000 - self.unix_time)
            self.timers.set((_RETAINED, hub.name), self.now + after, _Retained(self, hub))

    def expire_events(self, hub: EventHub) -> None:
        """Remove a hub's events whose time is over, and look again when that of the next one is."""
        self._watched.discard(hub)
        hub.trim(self.milliseconds)
        self.grown(hub)


class _Retained(Due):
    """The time of a hub's oldest event is over."""

    __slots__ = ("hub", "namespace")

    def __init__(self, namespace: EventHubsNamespace, hub: EventHub) -> None:
        self.namespace = namespace
        self.hub = hub

    def ring(self, now: float) -> None:
        self.namespace.expire_events(self.hub)


__all__ = ["IDLE", "MESSAGE_SIZE", "EventHubsNamespace"]
