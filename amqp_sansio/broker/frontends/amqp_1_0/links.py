"""NodeLink: what both kinds of link have here: the owner of its things, and how it survives a detach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ....amqp_1_0 import TerminusExpiryPolicy
from ...model.commands import CloseOwner
from ...model.timers import Alarm
from .addresses import NodeKind

if TYPE_CHECKING:
    from ....amqp_1_0 import LinkState
    from ...hub import Hub
    from ...model.exchange import Exchange
    from ...model.owner import Owner
    from ...model.queue import Queue
    from ...model.vhost import VirtualHost
    from .addresses import Node
    from .frontend import OneZeroFrontend
    from .termini import Expiry

LinkKey = tuple[str, str, str, bool]
"""The virtual host, container-id and name of a link, and whether the broker sends on it (part 2 section 2.6.1)."""


class NodeLink(ABC):
    """One terminus of the broker, with a link attached to it or not.

    `entity` is the queue or exchange that its node is, None for one that isn't in the model. `state` is what is saved
    of its last link while none is attached, `place` the number of the connection, and the channel, on which that was.
    `front` and `link` are those of the connection while one is attached.
    """

    __slots__ = ("entity", "expiry", "front", "hub", "link", "link_key", "node", "owner", "place", "state")

    front: OneZeroFrontend
    link: Any

    def __init__(
        self, front: OneZeroFrontend, link: Any, owner: Owner, node: Node, expiry: Expiry
    ) -> None:
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
        """The name of the link for the model, the same for all its attachments."""
        return f"{self.link_key[1]}:{self.link_key[2]}"

    @property
    def is_attached(self) -> bool:
        """Whether a client is there."""
        return self.state is None

    @property
    def has_node(self) -> bool:
        """Whether its node is still there, and not another one of the same name."""
        return self.entity is entity_of(self.node, self.owner.vhost)

    @abstractmethod
    def stop(self) -> None:
        """Nothing more is delivered or taken: the link is detached."""

    @abstractmethod
    def end(self) -> None:
        """The terminus is gone."""

    def suspend(self) -> None:
        """Keep the terminus while nobody is attached to it."""
        self.stop()
        self.state = self.link.saved_state()
        gone: Any = None
        self.front = self.link = gone
        self.hub.own(self.owner, None)

    def take_over(self, front: OneZeroFrontend, link: Any) -> None:
        """Another attachment of the same link."""
        self.front = front
        self.link = link
        self.place = (front.number, link.session.channel)
        self.hub.own(self.owner, front)

    def destroy(self) -> None:
        """Give up the terminus and all it has. What is settled in a transaction of its connection stays there."""
        self.end()
        front: Any = self.hub.fronts.get(self.place[0])
        self.hub.apply(CloseOwner(self.owner, heir=None if front is None else front.connection_owner))
        self.hub.disown(self.owner)


def entity_of(node: Node, vhost: VirtualHost) -> Queue | Exchange | None:
    """What the model has of a node."""
    if node.kind is NodeKind.QUEUE:
        return vhost.queues.get(node.name)
    return vhost.exchanges.get(node.name) if node.kind is NodeKind.EXCHANGE else None


class Termini:
    """The termini of all connections, by link: `hub.shared["1.0"]`.

    `attached` are those with a link, `kept` those without one, until they expire (part 3 section 3.5.6).
    """

    def __init__(self) -> None:
        self.attached: dict[LinkKey, NodeLink] = {}
        self.kept: dict[LinkKey, NodeLink] = {}
        self.names = 0
        self._passing: dict[int, dict[LinkKey, NodeLink]] = {}
        """Those kept that go with their connection, by its number; some may not be kept any more."""

    @property
    def lasting(self) -> int:
        """How many may outlive their connections."""
        known = (*self.kept.values(), *self.attached.values())
        return sum([each.expiry.outlives_connection for each in known])

    @staticmethod
    def of(hub: Hub) -> Termini:
        """Those of a hub."""
        found: Termini | None = hub.shared.get("1.0")
        if found is None:
            found = hub.shared["1.0"] = Termini()
        return found

    def attach(self, node_link: NodeLink) -> None:
        """A link is attached."""
        self.kept.pop(node_link.link_key, None)
        self.attached[node_link.link_key] = node_link
        node_link.hub.clear_alarm(("1.0", node_link.link_key))

    def detach(self, node_link: NodeLink, *, closed: bool) -> None:
        """A link is gone; its terminus stays unless it was closed."""
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
        """Whatever it is, it's over."""
        key = node_link.link_key
        for each in (self.attached, self.kept):
            if each.get(key) is node_link:
                del each[key]
        node_link.hub.clear_alarm(("1.0", key))
        node_link.destroy()

    def session_ended(self, number: int, channel: int) -> None:
        """A session is over: what was kept for it begins to expire."""
        for each in list(self.kept.values()):
            if each.place == (number, channel) and each.expiry.policy == TerminusExpiryPolicy.SESSION_END:
                self._begin_to_expire(each)

    def connection_ended(self, number: int) -> None:
        """A connection is over; what can't be without it goes."""
        self._passing.pop(number, None)
        for each in list(self.kept.values()):
            if each.place[0] != number:
                continue
            if not each.expiry.outlives_connection:
                self.forget(each)
            elif each.expiry.policy == TerminusExpiryPolicy.CONNECTION_CLOSE:
                self._begin_to_expire(each)

    def _make_room(self, node_link: NodeLink) -> None:
        """A connection keeps so many termini without a link as a session may have links; the oldest goes. Those that
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
    """The time of a terminus without a link is over."""

    __slots__ = ("key",)

    def __init__(self, key: LinkKey) -> None:
        self.key = key

    def ring(self, hub: Hub) -> None:
        termini = Termini.of(hub)
        found = termini.kept.get(self.key)
        if found is not None:
            termini.forget(found)
