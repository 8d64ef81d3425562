"""ServiceBusNamespace: queues, topics and subscriptions by name, with their nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from amqp_sansio.amqp_1_0.codec.conditions import NOT_FOUND, RESOURCE_LIMIT_EXCEEDED
from amqp_sansio.broker.nodes import Attachment, Node

from ..conditions import ENTITY_ALREADY_EXISTS
from ..namespace import DEFAULT_RULE, AzureNamespace, Clocks
from ..tokens import LISTEN, MANAGE, SEND, AccessRule
from .management import ManagementNode
from .messages import Arrival
from .nodes import EntityNode
from .rules import Rule
from .stores import Options, Store
from .topics import Subscription, Topic

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0.spec import Attach

MANAGEMENT: Final = "/$management"
DEAD_LETTERS: Final = "/$DeadLetterQueue"
TRANSFER: Final = "/$Transfer"
SUBSCRIPTIONS: Final = "/Subscriptions/"
_NAME: Final = 260
_SUBSCRIPTION: Final = 50


class Queue:
    """A queue or subscription, with its sub-queues: `store`, `dead_letters` and `transfer_dead_letters`."""

    def __init__(self, name: str, store: Store, dead_letters: Store, transfer_dead_letters: Store) -> None:
        self.name = name
        self.store = store
        self.dead_letters = dead_letters
        self.transfer_dead_letters = transfer_dead_letters

    @property
    def stores(self) -> tuple[Store, ...]:
        """All three."""
        return self.store, self.dead_letters, self.transfer_dead_letters


class ServiceBusNamespace(AzureNamespace):
    """A namespace of Service Bus.

    `most_entities` bounds its queues, topics and subscriptions; `session_wait` are the seconds that a client waits for
    the next session unless it says how long.
    """

    def __init__(
        self,
        name: str = "sbemulatorns",
        *,
        rules: Iterable[AccessRule] = (DEFAULT_RULE,),
        checks_tokens: bool = False,
        clocks: Clocks | None = None,
        session_wait: float = 65.0,
        most_entities: int = 10_000,
    ) -> None:
        super().__init__(name, rules=rules, checks_tokens=checks_tokens, clocks=clocks)
        self.session_wait = session_wait
        self.most_entities = most_entities
        self.queues: dict[str, Queue] = {}
        """Queues and subscriptions, by their path in lower case."""
        self.topics: dict[str, Topic] = {}
        """By name in lower case."""
        self._nodes: dict[str, Node] = {}
        self._tokens = 0
        self._seed = b"\0" * 8

    # Entities.

    def add_queue(self, name: str, options: Options | None = None) -> Queue:
        """Make a queue. Raises Refusal if there is an entity of that name, ValueError for an unusable name."""
        self._check_new(name)
        return self._add(name, options or Options())

    def add_topic(self, name: str, options: Options | None = None) -> Topic:
        """Make a topic. Raises Refusal if there is an entity of that name, ValueError for an unusable name."""
        self._check_new(name)
        topic = self.topics[name.lower()] = Topic(self, name, options or Options())
        self._add_nodes(topic, takes_messages=True, gives_messages=False)
        return topic

    def add_subscription(
        self, topic: str, name: str, options: Options | None = None, rules: tuple[Rule, ...] | None = None
    ) -> Queue:
        """Make a subscription; without `rules` it gets everything. Raises Refusal, ValueError."""
        found = self.topics.get(topic.lower())
        if found is None:
            raise self.refusal(NOT_FOUND, f"The messaging entity '{topic[:100]}' could not be found.", topic)
        if not name or len(name) > _SUBSCRIPTION or "/" in name:
            raise ValueError(f"a subscription's name has 1 to {_SUBSCRIPTION} characters and no slash, not {name!r}")
        path = f"{found.path}{SUBSCRIPTIONS}{name}"
        self._check_room(path)
        made = self._add(path, options or Options(), is_subscription=True, rules=rules)
        assert isinstance(made.store, Subscription)
        found.subscriptions[name.lower()] = made.store
        return made

    def update_queue(self, path: str, options: Options) -> Queue:
        """Give a queue or subscription other options; links to it stay. Raises Refusal if it isn't there."""
        queue = self.queues.get(path.strip("/").lower())
        if queue is None:
            raise self.refusal(NOT_FOUND, f"The messaging entity '{path[:100]}' could not be found.", path)
        queue.store.update(options)
        below = Options(lock_duration=options.lock_duration, max_message_size=options.max_message_size)
        for each in (queue.dead_letters, queue.transfer_dead_letters):
            each.update(below)
        return queue

    def update_topic(self, path: str, options: Options) -> Topic:
        """Give a topic other options; links to it stay. Raises Refusal if it isn't there."""
        topic = self.topics.get(path.strip("/").lower())
        if topic is None:
            raise self.refusal(NOT_FOUND, f"The messaging entity '{path[:100]}' could not be found.", path)
        topic.update(options)
        return topic

    def delete(self, path: str) -> None:
        """Delete a queue, a topic with its subscriptions, or a subscription. Raises Refusal if it isn't there."""
        key = path.strip("/").lower()
        topic = self.topics.pop(key, None)
        if topic is not None:
            for name in list(topic.subscriptions):
                self.delete(f"{topic.path}{SUBSCRIPTIONS}{name}")
            self._close(topic)
            return
        queue = self.queues.pop(key, None)
        if queue is None:
            raise self.refusal(NOT_FOUND, f"The messaging entity '{path[:100]}' could not be found.", path)
        if isinstance(queue.store, Subscription):
            above, _, name = key.rpartition(SUBSCRIPTIONS.lower())
            owner = self.topics.get(above)
            if owner is not None:
                owner.subscriptions.pop(name, None)
        for store in queue.stores:
            self._close(store)

    def store(self, path: str) -> Store | None:
        """Return the store of an entity or sub-queue by its path; None if it isn't there."""
        node = self._nodes.get(path.strip("/").lower())
        return node.store if isinstance(node, EntityNode) else None

    # As an Azure namespace.

    def node_at(self, path: str, attach: Attach) -> Node | None:
        return self._nodes.get(path.lower())

    def entity_kind(self, path: str) -> str:
        return "Topic" if path.lower().partition(SUBSCRIPTIONS.lower())[0] in self.topics else "Queue"

    def restart(self, now: float) -> None:
        """Entities and their messages stay, as in the service."""

    # For stores and nodes.

    def new_token(self) -> bytes:
        """Return a lock token: 16 octets, in the order of a delivery-tag."""
        if not self._tokens and self.is_served:
            self._seed = self.hub.settings.octets("locks")[:8]
        self._tokens += 1
        return self._tokens.to_bytes(8, "big") + self._seed

    def forward(self, path: str, arrival: Arrival, origin: int, hops: int) -> bool:
        """Put a message into another entity; return whether it took it."""
        store = self.store_for_sending(path)
        if store is None or store.options.status in ("Disabled", "SendDisabled"):
            return False
        if store.options.requires_session and arrival.session_id is None:
            return False
        store.put(arrival, origin=origin, hops=hops)
        return True

    def store_for_sending(self, path: str) -> Store | None:
        """Return the store of a queue or topic; None for another path."""
        key = path.strip("/").lower()
        queue = self.queues.get(key)
        if queue is not None and not isinstance(queue.store, Subscription):
            return queue.store
        return self.topics.get(key)

    def has_claim(self, link: Attachment, path: str) -> None:
        """Raise Refusal unless the client has any right at an entity."""
        if not any(self.allows(link.peer, right, path) for right in (SEND, LISTEN, MANAGE)):
            self.require(link.peer, MANAGE, path)

    # Internals.

    def _add(
        self, path: str, options: Options, *, is_subscription: bool = False, rules: tuple[Rule, ...] | None = None
    ) -> Queue:
        below = Options(lock_duration=options.lock_duration, max_message_size=options.max_message_size)
        dead = Store(self, path + DEAD_LETTERS, below)
        transfer = Store(self, path + TRANSFER + DEAD_LETTERS, below)
        store = Subscription(self, path, options, dead, rules) if is_subscription else Store(self, path, options, dead)
        queue = self.queues[path.lower()] = Queue(path, store, dead, transfer)
        self._add_nodes(store, takes_messages=not is_subscription)
        for each in (dead, transfer):
            self._add_nodes(each, takes_messages=False)
        return queue

    def _add_nodes(self, store: Store, *, takes_messages: bool, gives_messages: bool = True) -> None:
        node = EntityNode(self, store, takes_messages=takes_messages)
        node.gives_messages = gives_messages
        self._nodes[store.path.lower()] = node
        self._nodes[(store.path + MANAGEMENT).lower()] = ManagementNode(self, store)

    def _close(self, store: Store) -> None:
        self._nodes.pop(store.path.lower(), None)
        self._nodes.pop((store.path + MANAGEMENT).lower(), None)
        store.close()

    def _check_new(self, name: str) -> None:
        bad = not name or len(name) > _NAME or name.strip("/") != name or "$" in name or SUBSCRIPTIONS in f"/{name}/"
        if bad:
            raise ValueError(f"entity name {name[:60]!r} is empty, too long, or has a slash at an end, or a $")
        self._check_room(name)

    def _check_room(self, path: str) -> None:
        key = path.lower()
        if key in self.queues or key in self.topics:
            text = f"The messaging entity '{path[:100]}' already exists."
            raise self.refusal(ENTITY_ALREADY_EXISTS, text, path)
        if len(self.queues) + len(self.topics) >= self.most_entities:
            raise self.refusal(
                RESOURCE_LIMIT_EXCEEDED, f"the namespace has {self.most_entities} entities already", path
            )


__all__ = ["MANAGEMENT", "Queue", "ServiceBusNamespace"]
