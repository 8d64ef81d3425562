"""OneZeroFrontend: a client of 1.0, between its engine and the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import (
    CreditChanged,
    Delivery,
    LinkClosed,
    LinkFailed,
    LinkRequested,
    Resumed,
    SessionRequested,
    Symbol,
    TransactionalState,
    TransactionRequested,
    Updated,
)
from ....amqp_1_0.codec.conditions import (
    CONNECTION_FORCED,
    NOT_FOUND,
    RESOURCE_DELETED,
    RESOURCE_LIMIT_EXCEEDED,
    UNAUTHORIZED_ACCESS,
)
from ....errors import CodecError, EndpointClosed, LocalProtocolError, Scope
from ....events import (
    AuthenticationRequested,
    By,
    Closed,
    Event,
    Failed,
    OpenRequested,
    ScramKeysRequested,
    Settled,
    Signal,
)
from ....sasl import Credentials
from ...model.commands import CloseOwner, DeclareQueue, OpenOwner, Outcome, Settle
from ...model.effects import Cancelled, Deliver
from ...model.faults import Fault
from ..frontend import Frontend
from . import attaching
from .addresses import NodeKind
from .coordination import Coordination
from .errors import Refusal, condition_of, refusal_of, short
from .links import Termini
from .management import Management
from .sources import OutgoingLink
from .targets import IncomingLink
from .termini import ANONYMOUS_RELAY, LEGACY_FILTERS, LINK_PAIR, NO_LOCAL, SELECTOR

if TYPE_CHECKING:
    from ....amqp_1_0 import Connection
    from ....events import Handle
    from ...client import Client
    from ...hub import Hub
    from ...model.effects import Effect
    from ...model.owner import Owner
    from .links import NodeLink
    from .termini import Expiry

CAPABILITIES: Final = (ANONYMOUS_RELAY, LINK_PAIR, LEGACY_FILTERS, NO_LOCAL, SELECTOR)
"""What the broker's open offers."""
_VHOST: Final = "vhost:"
_DEFAULT_VHOST: Final = "/"
_RABBITMQ: Final = "RabbitMQ"


class OneZeroFrontend(Frontend):
    """One connection. `links` are its termini by channel and handle, `senders` those on which the broker sends by name,
    `consumers` the same by their numbers in the model; `unfinished` are deliveries to settle when they are all sent.
    `is_rabbitmq`: the broker goes by that name, and messages have the annotations that clients expect of it then.
    """

    __slots__ = (
        "_connection_owner", "client", "consumers", "container", "coordination", "is_rabbitmq", "links", "management",
        "senders", "unfinished", "user", "vhost",
    )  # fmt: skip

    connection: Connection

    def __init__(self, hub: Hub, number: int, connection: Connection, client: Client) -> None:
        Frontend.__init__(self, hub, number, connection)
        self.client = client
        self.user = self.vhost = self.container = ""
        self._connection_owner: Owner | None = None
        self.links: dict[tuple[int, int], NodeLink] = {}
        self.senders: dict[str, OutgoingLink] = {}
        self.consumers: dict[int, OutgoingLink] = {}
        self.unfinished: dict[tuple[OutgoingLink, bytes], object] = {}
        self.is_rabbitmq = hub.settings.product == _RABBITMQ
        self.coordination = Coordination(self)
        self.management = Management(self)

    # What Hub and Client call.

    def take_events(self) -> None:
        hub = self.hub
        while not isinstance(event := self.next_event(), Signal):
            handler = _HANDLERS.get(type(event))
            if handler is None:
                continue
            try:
                handler(self, event)
            except EndpointClosed:
                # It came before the end of what it was for, and nobody waits for the answer.
                pass
            except (LocalProtocolError, CodecError) as error:
                self._give_up(error)
            hub.settle()

    def perform(self, effect: Effect) -> None:
        if isinstance(effect, Deliver):
            link = self.consumers.get(effect.consumer.number)
            if link is not None:
                try:
                    link.deliver(effect.entry)
                except (LocalProtocolError, CodecError, EndpointClosed) as error:
                    self._give_up(error)
            elif effect.consumer.acquires and effect.entry.owner is effect.consumer.owner:
                self.hub.apply(Settle(effect.consumer.owner, (effect.entry,), Outcome.RELEASE))
        elif isinstance(effect, Cancelled):
            gone = self.consumers.pop(effect.consumer.number, None)
            if gone is not None:
                gone.consumer = None

    def caught_up(self) -> None:
        for each in list(self.outgoing):
            try:
                each.go_on()
            except (LocalProtocolError, CodecError, EndpointClosed) as error:
                self._give_up(error)

    def block(self, reason: str) -> None:
        """Links get no more credit until `unblock`."""

    def unblock(self) -> None:
        for each in self.links.values():
            if isinstance(each, IncomingLink):
                each.give_credit()

    def node_deleted(self, kind: str, name: str) -> None:
        for place, each in list(self.links.items()):
            node = each.node
            uses_queue = isinstance(each, OutgoingLink | IncomingLink) and each.queue == name
            uses_exchange = node.kind is NodeKind.EXCHANGE and node.name == name
            if uses_queue if kind == "queue" else uses_exchange:
                self.drop(place)
                Termini.of(self.hub).forget(each)
                if each.link.is_attached and self.connection.is_open:
                    text = f"{kind} {name!r} in virtual host {self.vhost!r} was deleted"
                    each.link.close(RESOURCE_DELETED, short(text))

    def shut_down(self, text: str) -> None:
        self.connection.close(CONNECTION_FORCED, text)

    def describe(self) -> tuple[str, str]:
        return self.user, self.vhost

    # What the links use.

    @property
    def connection_owner(self) -> Owner:
        """The owner of the connection; there is one once it's open."""
        assert self._connection_owner is not None
        return self._connection_owner

    @property
    def owner(self) -> Owner:
        """The same."""
        return self.connection_owner

    @property
    def auto_create(self) -> bool:
        """Whether a plain address that nothing has is a queue to be made."""
        return self.hub.settings.auto_create

    @property
    def outgoing(self) -> list[OutgoingLink]:
        """The links on which the broker sends."""
        return [each for each in self.links.values() if isinstance(each, OutgoingLink)]

    def link(self, channel: int, handle: int) -> Any:
        """The engine's link, None when it's gone."""
        try:
            return self.connection.session(channel).link(handle)
        except EndpointClosed:
            return None

    def new_owner(self, expiry: Expiry) -> Owner:
        """An owner for what a link has; of its own where it may outlive the connection. Raises Refusal at the bound."""
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
        """The durable queue of an address that makes one. Raises Refusal."""
        if name in self.connection_owner.vhost.queues:
            return
        try:
            self.hub.apply(DeclareQueue(self.connection_owner, name, durable=True, compare=()))
        except Fault as fault:
            raise refusal_of(fault) from None

    def add(self, node_link: NodeLink) -> None:
        """A link is attached."""
        link = node_link.link
        self.links[(link.session.channel, link.handle)] = node_link
        if isinstance(node_link, OutgoingLink):
            self.senders[link.name] = node_link
        Termini.of(self.hub).attach(node_link)

    def drop(self, place: tuple[int, int]) -> NodeLink | None:
        """A link isn't attached any more, or its terminus is somebody else's."""
        found = self.links.pop(place, None)
        if found is not None:
            name = found.link_key[2]
            if self.senders.get(name) is found:
                del self.senders[name]
        return found

    # Events.

    def on_scram_keys(self, event: ScramKeysRequested) -> None:
        """SCRAM needs the keys of a user."""
        keys = self.hub.settings.scram_keys(event.mechanism, event.user)
        self.connection.provide_scram_keys(keys)

    def on_authenticate(self, event: AuthenticationRequested) -> None:
        """A client says who it is."""
        reason = self._login(event.credentials)
        if reason:
            self.connection.refuse_authentication(reason)
        else:
            self.connection.accept_authentication()

    def _login(self, credentials: Credentials) -> str:
        """Why somebody isn't let in, "" when it is."""
        client = self.client
        verdict = self.hub.settings.authenticate(
            credentials, is_secure=client.is_secure, peer_name=client.peer_name
        )
        self.user = verdict.user
        return "" if verdict.user else verdict.reason or "the login was refused"

    def on_open(self, event: OpenRequested) -> None:
        """A client wants into a virtual host."""
        connection, hub = self.connection, self.hub
        if hub.is_closing:
            connection.refuse_open(CONNECTION_FORCED, "the broker is shutting down")
            return
        if not self.user:
            # Without SASL nobody says who it is.
            reason = self._login(Credentials("ANONYMOUS"))
            if reason:
                connection.refuse_open(UNAUTHORIZED_ACCESS, short(reason))
                return
        name = event.vhost.removeprefix(_VHOST) if event.vhost.startswith(_VHOST) else _DEFAULT_VHOST
        may_not = hub.settings.may_open(self.user, name)
        if may_not == "refused":
            text = f"user {self.user!r} may not use virtual host {name!r}"
            connection.refuse_open(UNAUTHORIZED_ACCESS, short(text))
            return
        try:
            owner = hub.apply(OpenOwner(name, self.user)) if not may_not else None
        except Fault:
            owner = None
        if owner is None:
            connection.refuse_open(NOT_FOUND, short(f"there is no virtual host {name!r}"))
            return
        peer = connection.peer_open
        self.container = "" if peer is None else peer.container_id
        self.vhost = name
        self._connection_owner = owner
        hub.own(owner, self)
        offered = tuple([Symbol(each) for each in connection.config.offered_capabilities])
        connection.accept_open(offered_capabilities=tuple(dict.fromkeys((*offered, *CAPABILITIES))))

    def on_session(self, event: SessionRequested) -> None:
        """Sessions are let in."""
        self.connection.session(event.channel).accept()

    def on_attach(self, event: LinkRequested) -> None:
        """A link is wanted."""
        attaching.answer(self, event)

    def on_deliver(self, event: Delivery) -> None:
        """A message has come."""
        link = self.links.get((event.channel, event.link))
        if isinstance(link, IncomingLink):
            link.receive(event)
        elif link is None:
            self.management.receive(event)

    def on_transact(self, event: TransactionRequested) -> None:
        """A transaction is declared or discharged."""
        self.coordination.request(event)

    def on_credit(self, event: CreditChanged) -> None:
        """A client gives or takes credit."""
        self._finish()
        link = self.links.get((event.channel, event.link))
        if isinstance(link, OutgoingLink):
            if self.coordination.acquire(link, event):
                link.credit_changed(event)
        else:
            self.management.credit_changed(event)

    def on_settle(self, event: Settled) -> None:
        """Deliveries are settled."""
        state = event.state
        for link, handles in self._by_link(event.handles):
            if isinstance(state, TransactionalState):
                self.coordination.retire(link, handles, state)
            else:
                link.settled([each.key[2] for each in handles], state)

    def _by_link(self, handles: tuple[Handle[Any], ...]) -> Iterator[tuple[OutgoingLink, tuple[Any, ...]]]:
        """What the broker has sent of these deliveries, by the link that is there for it."""
        groups: dict[str, list[Any]] = {}
        for handle in handles:
            if handle.key[1] == "out":
                groups.setdefault(str(handle.key[0]), []).append(handle)
        for name, found in groups.items():
            link = self.senders.get(name) or self._suspended(name)
            if link is not None:
                yield link, tuple(found)

    def _suspended(self, name: str) -> OutgoingLink | None:
        """The source of a link that was detached here and not closed: what is said of its deliveries counts (part 2
        section 2.7.6)."""
        found = Termini.of(self.hub).kept.get((self.vhost, self.container, name, True))
        here = found is not None and found.place[0] == self.number
        return found if here and isinstance(found, OutgoingLink) else None

    def on_update(self, event: Updated) -> None:
        """Something is said of deliveries that aren't settled."""
        state: Any = event.state
        for link, handles in self._by_link(event.handles):
            if isinstance(state, TransactionalState):
                self.coordination.retire(link, handles, state)
            elif getattr(state, "OUTCOME", False):
                # It is decided before all of it was sent.
                for handle in handles:
                    link.later(handle.key[2], state)

    def on_resume(self, event: Resumed) -> None:
        """A link was resumed; what neither end has any more has the default outcome."""
        link = self.links.get((event.channel, event.link))
        if isinstance(link, OutgoingLink):
            link.settled(list(event.lost), None)

    def _finish(self) -> None:
        """Settle deliveries of which all is sent meanwhile."""
        waiting, self.unfinished = self.unfinished, {}
        for (link, tag), state in waiting.items():
            link.later(tag, state)

    def on_link_closed(self, event: LinkClosed) -> None:
        """A link is detached."""
        self._link_is_over(event.channel, event.link, resumable=event.resumable)
        self.management.link_closed(event)

    def on_failed(self, event: Failed) -> None:
        """The client has broken a rule. What ends with that is over now, whether it answers or not."""
        if event.by is not By.LOCAL:
            return
        if isinstance(event, LinkFailed):
            self._link_is_over(event.channel, event.link, resumable=False)
        elif event.scope is Scope.SESSION:
            self._links_are_over(event.channel)
            Termini.of(self.hub).session_ended(self.number, event.channel)
        else:
            self._is_over()

    def on_closed(self, event: Closed) -> None:
        """A session or the connection has ended."""
        if event.scope is Scope.SESSION:
            Termini.of(self.hub).session_ended(self.number, event.channel)
        else:
            self._is_over()

    def _is_over(self) -> None:
        """The connection has ended, with all its links."""
        owner = self._connection_owner
        if owner is None or owner.is_closed:
            return
        self._links_are_over()
        Termini.of(self.hub).connection_ended(self.number)
        self.hub.apply(CloseOwner(owner))
        self.hub.disown(owner)

    def _links_are_over(self, channel: int | None = None) -> None:
        """All links of a session have ended, or of the connection."""
        for place in (*self.links, *self.coordination.places):
            if channel in (None, place[0]):
                self._link_is_over(*place, resumable=True)

    def _link_is_over(self, channel: int, link: int, *, resumable: bool) -> None:
        found = self.drop((channel, link))
        if found is not None:
            self.unfinished = {
                key: state for key, state in self.unfinished.items() if key[0] is not found
            }
            Termini.of(self.hub).detach(found, closed=not resumable)
        else:
            self.coordination.control_link_closed(channel, link)

    def _give_up(self, error: Exception) -> None:
        """Something can't be said to this client: it ends, the others don't notice."""
        if self.connection.is_open:
            self.connection.close(condition_of(error), short(str(error)))
        self._is_over()


_HANDLERS: Final[Mapping[type[Event], Callable[[OneZeroFrontend, Any], None]]] = {
    ScramKeysRequested: OneZeroFrontend.on_scram_keys,
    AuthenticationRequested: OneZeroFrontend.on_authenticate,
    OpenRequested: OneZeroFrontend.on_open,
    SessionRequested: OneZeroFrontend.on_session,
    LinkRequested: OneZeroFrontend.on_attach,
    Delivery: OneZeroFrontend.on_deliver,
    TransactionRequested: OneZeroFrontend.on_transact,
    CreditChanged: OneZeroFrontend.on_credit,
    Settled: OneZeroFrontend.on_settle,
    Updated: OneZeroFrontend.on_update,
    Resumed: OneZeroFrontend.on_resume,
    LinkClosed: OneZeroFrontend.on_link_closed,
    LinkFailed: OneZeroFrontend.on_failed,
    Failed: OneZeroFrontend.on_failed,
    Closed: OneZeroFrontend.on_closed,
}
