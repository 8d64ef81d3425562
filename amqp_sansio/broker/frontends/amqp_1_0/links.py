"""NodeLink: the common part of both kinds of link: its owner in the model, and how it survives a detach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Protocol

from ...._ground.invariants import ensure
from ....amqp_1_0.codec.conditions import RESOURCE_LIMIT_EXCEEDED, TerminusExpiryPolicy
from ....errors import EndpointClosed
from ...addresses import NodeKind
from ...model.commands import CloseOwner, DeclareQueue, OpenOwner
from ...model.faults import Fault
from ..frontend import Alarm, Frontend, Lasting
from .errors import Refusal, refusal_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ....amqp_1_0 import Connection, Delivery, LinkState
    from ....amqp_1_0.codec.performatives import TransactionalState
    from ...addresses import Node
    from ...model.consumer import Consumer
    from ...model.entry import Entry
    from ...model.exchange import Exchange
    from ...model.owner import Owner
    from ...model.queue import Queue
    from ...model.vhost import VirtualHost
    from ..frontend import ClientContext, HubContext
    from .selector import Parsing
    from .termini import Expiry

_RABBITMQ: Final = "RabbitMQ"

LinkKey = tuple[str, str, str, bool]
"""The virtual host, container-id and name of a link, and whether the broker sends on it (part 2 section 2.6.1)."""


class Sending(Protocol):
    """The part of a link on which the broker sends that its front end uses: an `OutgoingLink`."""

    consumer: Consumer | None

    def deliver(self, entry: Entry) -> None: ...

    def later(self, tag: bytes, state: object) -> None: ...


class LinkFrontend(Frontend):
    """The half of the front end that links, transactions and management use.

    `links` are its termini by channel and handle; `consumers` those the broker sends on, by their number in the model.
    `unfinished` are deliveries to settle once they are sent. `is_rabbitmq`: the broker uses that name, and adds the
    annotations that clients expect with it.
    """

    __slots__ = (
        "_connection_owner",
        "client",
        "compiling",
        "consumers",
        "container",
        "is_rabbitmq",
        "links",
        "unfinished",
        "user",
        "vhost",
    )

    connection: Connection

    def __init__(self, hub: HubContext, number: int, connection: Connection, client: ClientContext) -> None:
        super().__init__(hub, number, connection)
        self.client = client
        self.user = ""
        self.vhost = ""
        self.container = ""
        self._connection_owner: Owner | None = None
        self.links: dict[tuple[int, int], NodeLink] = {}
        self.consumers: dict[int, Sending] = {}
        self.unfinished: dict[tuple[Sending, bytes], object] = {}
        self.compiling: dict[str, Parsing] = {}
        """Selectors of the attach that is being answered, by their text."""
        self.is_rabbitmq = hub.settings.product == _RABBITMQ

    @property
    def connection_owner(self) -> Owner:
        """The owner of the connection, set once it is open."""
        assert self._connection_owner is not None
        return self._connection_owner

    @property
    def has_owner(self) -> bool:
        """Whether the connection has been opened."""
        return self._connection_owner is not None

    def open_as(self, owner: Owner) -> None:
        """Open the connection, with its owner in the model."""
        self._connection_owner = owner
        self.hub.own(owner, self)

    def owners(self) -> list[Owner]:
        """Return that of the connection, once it is open: `Termini` has those of the links."""
        owner = self._connection_owner
        return [] if owner is None or owner.is_closed else [owner]

    def check(self) -> None:
        """As every front end's, and that its links are those of the engine, by their places."""
        super().check()
        if not self.owners():
            ensure(not self.consumers, self, "there are no consumers without an open connection", list(self.consumers))
            return
        for place, node in self.links.items():
            ensure(node.front is self, self, "a link is this connection's", place)
            here = node.link.session.channel, node.link.handle
            ensure(here == place, self, "each link is kept by its channel and handle", place, here)
            ensure(node.is_attached, self, "no link is detached", place)

    @property
    def auto_create(self) -> bool:
        """Whether an unused plain address means a queue to be created."""
        return self.hub.settings.auto_create

    def link(self, channel: int, handle: int) -> Any:
        """Return the engine's link, None if it is gone."""
        try:
            return self.connection.session(channel).link(handle)
        except EndpointClosed:
            return None

    def new_owner(self, expiry: Expiry) -> Owner:
        """Return the owner of a link's messages; its own if it may outlive the connection. May raise Refusal."""
        if expiry.outlives_connection:
            limit = self.hub.settings.limits.kept_links
            if Termini.of(self.hub).lasting >= limit:
                text = f"{limit} links may outlive their connections, BrokerLimits.kept_links allows no more"
                raise Refusal(RESOURCE_LIMIT_EXCEEDED, text)
        parent = None if expiry.outlives_connection else self.connection_owner
        owner: Owner = self.hub.apply(OpenOwner(self.vhost, self.user, parent))
        self.hub.own(owner, self)
        return owner

    def make_queue(self, name: str) -> None:
        """Create the durable queue of an address that implies one. Raises Refusal."""
        if name in self.connection_owner.vhost.queues:
            return
        try:
            self.hub.apply(DeclareQueue(self.connection_owner, name, durable=True, compare=()))
        except Fault as fault:
            raise refusal_of(fault) from None

    @abstractmethod
    def taken(self) -> Iterable[Entry]:
        """Return the messages that transactions have taken over from links."""

    @abstractmethod
    def add(self, node_link: NodeLink) -> None:
        """Add an attached link."""

    @abstractmethod
    def drop(self, place: tuple[int, int]) -> NodeLink | None:
        """Remove a link that was detached, or whose terminus another one has taken."""

    @abstractmethod
    def post(self, link: NodeLink, event: Delivery, state: TransactionalState) -> None:
        """Publish a received message once its transaction succeeds."""

    @abstractmethod
    def acquired(self, link: NodeLink, tag: bytes, entry: Entry) -> None:
        """Record a message sent in the transaction of its link."""


class NodeLink(ABC):
    """One terminus of the broker, with or without an attached link.

    `entity` is its queue or exchange, None if it isn't in the model. While detached, `state` is the saved state of its
    last link, and `place` the number of that link's connection, and the channel. While attached, `front` and `link` are
    those of the connection.
    """

    __slots__ = ("entity", "expiry", "front", "hub", "link", "link_key", "node", "owner", "place", "state")

    front: LinkFrontend
    link: Any

    def __init__(self, front: LinkFrontend, link: Any, owner: Owner, node: Node, expiry: Expiry) -> None:
        self.hub = front.hub
        self.front = front
        self.link = link
        self.owner = owner
        self.node = node
        self.entity = entity_of(node, owner.vhost)
        self.expiry = expiry
        self.link_key: LinkKey = (front.vhost, front.container, link.name, not link.ROLE)
        self.place = (front.number, link.session.channel)
        self.state: LinkState | None = None

    @property
    def key(self) -> str:
        """The link's name in the model, the same for all its attachments."""
        return f"{self.link_key[1]}:{self.link_key[2]}"

    @property
    def is_attached(self) -> bool:
        """Whether a client is attached."""
        return self.state is None

    @property
    def has_node(self) -> bool:
        """Whether its node still exists, rather than another one of the same name."""
        return self.entity is entity_of(self.node, self.owner.vhost)

    @abstractmethod
    def stop(self) -> None:
        """Stop deliveries and credit, because the link is detached."""

    @abstractmethod
    def end(self) -> None:
        """End the terminus."""

    def check(self) -> None:
        """Check that its owner is one of the model. For tests; raises AssertionError."""
        where = f"terminus {self.link_key}"
        ensure(not self.owner.is_closed, where, "its owner isn't closed")
        ensure(self.hub.model.owners.get(self.owner.number) is self.owner, where, "its owner is one of the model")

    def suspend(self) -> None:
        """Keep the terminus without a link."""
        self.stop()
        self.state = self.link.saved_state()
        gone: Any = None
        self.front = gone
        self.link = gone
        self.hub.own(self.owner, None)

    def take_over(self, front: LinkFrontend, link: Any) -> None:
        """Continue with another attachment of the same link."""
        self.front = front
        self.link = link
        self.place = (front.number, link.session.channel)
        self.hub.own(self.owner, front)

    def destroy(self) -> None:
        """Give up the terminus and everything it has. Work settled in a transaction of its connection stays there."""
        self.end()
        front: Any = self.hub.fronts.get(self.place[0])
        self.hub.apply(CloseOwner(self.owner, heir=None if front is None else front.connection_owner))
        self.hub.disown(self.owner)


def entity_of(node: Node, vhost: VirtualHost) -> Queue | Exchange | None:
    """Return the model's entity for a node."""
    if node.kind is NodeKind.QUEUE:
        return vhost.queues.get(node.name)
    return vhost.exchanges.get(node.name) if node.kind is NodeKind.EXCHANGE else None


class Termini(Lasting):
    """The termini of all connections, by link: `hub.shared["1.0"]`.

    `attached` have a link; `kept` have none, and expire (part 3 section 3.5.6).
    """

    def __init__(self) -> None:
        self.attached: dict[LinkKey, NodeLink] = {}
        self.kept: dict[LinkKey, NodeLink] = {}
        self.names = 0
        self._passing: dict[int, dict[LinkKey, NodeLink]] = {}
        """By connection number, kept termini that end with their connection; some entries may be stale."""

    def owners(self) -> list[Owner]:
        """Return those of all termini, attached or not."""
        return [each.owner for each in (*self.attached.values(), *self.kept.values())]

    def check(self) -> None:
        """Check each terminus, and that it is known as what it is."""
        both = set(self.attached) & set(self.kept)
        ensure(not both, "termini", "none is both attached and kept", both)
        for attached, termini in ((True, self.attached), (False, self.kept)):
            for key, node in termini.items():
                ensure(node.link_key == key, "termini", "each is kept by its key", key, node.link_key)
                ensure(node.is_attached == attached, "termini", "a terminus is attached, or it has a saved state", key)
                node.check()
        for key, node in self.attached.items():
            place = node.link.session.channel, node.link.handle
            ensure(node.front.links.get(place) is node, "termini", "an attached one is known by its connection", key)

    @property
    def lasting(self) -> int:
        """Number of termini that may outlive their connections."""
        known = (*self.kept.values(), *self.attached.values())
        return sum([each.expiry.outlives_connection for each in known])

    @staticmethod
    def of(hub: HubContext) -> Termini:
        """Return those of a hub."""
        found: Termini | None = hub.shared.get("1.0")
        if found is None:
            found = hub.shared["1.0"] = Termini()
        return found

    def attach(self, node_link: NodeLink) -> None:
        """Add a terminus with an attached link."""
        self.kept.pop(node_link.link_key, None)
        self.attached[node_link.link_key] = node_link
        node_link.hub.clear_alarm(("1.0", node_link.link_key))

    def detach(self, node_link: NodeLink, *, closed: bool) -> None:
        """Detach a link; its terminus stays unless it was closed."""
        key = node_link.link_key
        if self.attached.get(key) is not node_link:
            return
        del self.attached[key]
        if closed:
            node_link.destroy()
            return
        node_link.suspend()
        self.kept[key] = node_link
        self._make_room(node_link)
        if node_link.expiry.policy == TerminusExpiryPolicy.LINK_DETACH:
            self._begin_to_expire(node_link)

    def forget(self, node_link: NodeLink) -> None:
        """End a terminus in any state."""
        key = node_link.link_key
        for each in (self.attached, self.kept):
            if each.get(key) is node_link:
                del each[key]
        node_link.hub.clear_alarm(("1.0", key))
        node_link.destroy()

    def session_ended(self, number: int, channel: int) -> None:
        """Start the expiry of termini kept until a session ended."""
        for each in list(self.kept.values()):
            if each.place == (number, channel) and each.expiry.policy == TerminusExpiryPolicy.SESSION_END:
                self._begin_to_expire(each)

    def connection_ended(self, number: int) -> None:
        """End the termini that end with their connection."""
        self._passing.pop(number, None)
        for each in list(self.kept.values()):
            if each.place[0] != number:
                continue
            if not each.expiry.outlives_connection:
                self.forget(each)
            elif each.expiry.policy == TerminusExpiryPolicy.CONNECTION_CLOSE:
                self._begin_to_expire(each)

    def _make_room(self, node_link: NodeLink) -> None:
        """Keep as many detached termini per connection as a session may have links, and end the oldest. Termini that
        may outlive it are counted when they are attached (`BrokerLimits.kept_links`)."""
        number = node_link.place[0]
        if node_link.expiry.outlives_connection:
            return
        here = self._passing.setdefault(number, {})
        here[node_link.link_key] = node_link
        if len(here) <= self._most(node_link):
            return
        for key, each in list(here.items()):
            if self.kept.get(key) is not each or each.place[0] != number:
                del here[key]
        while len(here) > self._most(node_link):
            self.forget(here.pop(next(iter(here))))

    @staticmethod
    def _most(node_link: NodeLink) -> int:
        return node_link.hub.settings.connection_limits.consumers

    def _begin_to_expire(self, node_link: NodeLink) -> None:
        timeout = node_link.expiry.timeout
        if timeout <= 0:
            self.forget(node_link)
        else:
            hub = node_link.hub
            hub.set_alarm(("1.0", node_link.link_key), hub.now + timeout, Expires(node_link.link_key))


class Expires(Alarm):
    """Alarm for the expiry of a detached terminus."""

    __slots__ = ("key",)

    def __init__(self, key: LinkKey) -> None:
        self.key = key

    def ring(self, hub: HubContext) -> None:
        termini = Termini.of(hub)
        found = termini.kept.get(self.key)
        if found is not None:
            termini.forget(found)
