"""Frontend_1_0: a client of 1.0, between its engine and the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...._ground.invariants import ensure
from ....amqp_1_0 import (
    CreditChanged,
    Delivery,
    LinkClosed,
    LinkFailed,
    LinkRequested,
    Resumed,
    SessionRequested,
    Source,
    Symbol,
    TransactionRequested,
    Updated,
)
from ....amqp_1_0.codec.conditions import CONNECTION_FORCED, NOT_FOUND, RESOURCE_DELETED, UNAUTHORIZED_ACCESS
from ....amqp_1_0.codec.performatives import TransactionalState
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
from ...addresses import NodeKind
from ...model.commands import CloseOwner, OpenOwner, Outcome, Settle
from ...model.effects import Cancelled, Deliver
from ...model.faults import Fault, Postponed
from . import attaching, filters
from .coordination import Coordination
from .errors import condition_of, short
from .links import LinkFrontend, Termini
from .management import Management
from .own_nodes import OwnNodes
from .sources import OutgoingLink
from .targets import IncomingLink
from .termini import ANONYMOUS_RELAY, LINK_PAIR

if TYPE_CHECKING:
    from ....amqp_1_0 import Connection
    from ....events import Pending
    from ...model.effects import Effect
    from ...model.entry import Entry
    from ...nodes import Attachment
    from ..frontend import ClientContext, HubContext
    from .links import NodeLink

CAPABILITIES: Final = (ANONYMOUS_RELAY, LINK_PAIR, *filters.CAPABILITIES)
"""Capabilities that the broker's open offers."""
_VHOST: Final = "vhost:"
_DEFAULT_VHOST: Final = "/"
_TOKENS: Final = 3
"""Tokens of a selector, read or ordered, for a step of a turn."""


class Frontend_1_0(LinkFrontend):
    """One connection. `senders` are the links that the broker sends on, by name."""

    __slots__ = ("coordination", "management", "own_nodes", "senders")

    def __init__(self, hub: HubContext, number: int, connection: Connection, client: ClientContext) -> None:
        super().__init__(hub, number, connection, client)
        self.senders: dict[str, OutgoingLink] = {}
        self.own_nodes = OwnNodes(self)
        self.coordination = Coordination(self, self.own_nodes)
        self.management = Management(self)

    # Called by Hub and Client.

    def take_events(self) -> None:
        hub = self.hub
        while not isinstance(event := self.next_event(), Signal):
            handler = _HANDLERS.get(type(event))
            if handler is None:
                continue
            self.ledger.room -= 1
            try:
                handler(self, event)
            except Postponed:
                self.postpone(event)
                hub.settle()
                return
            except EndpointClosed:
                # It arrived before its link or session ended, and nobody waits for the answer.
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
        self.own_nodes.caught_up()

    def block(self, reason: str) -> None:
        """Grant links no more credit until `unblock`."""

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

    def check(self) -> None:
        """As every front end's, and of its transactions and consumers."""
        super().check()
        if not self.has_owner or self.connection_owner.is_closed:
            return
        self.coordination.check()
        numbers = {each.consumer.number for each in self.outgoing if each.consumer is not None}
        ensure(set(self.consumers) == numbers, self, "`consumers` has those of its links", set(self.consumers), numbers)
        waiting, pairs = len(self.management.waiting), len(self.management.requests) + len(self.management.responses)
        ensure(waiting <= pairs, self, "answers wait for links of management", waiting, pairs)

    # Used by links.

    def taken(self) -> list[Entry]:
        """Return what transactions have acquired or retired."""
        works = self.coordination.work.values()
        return [entry for work in works for books in (work.acquired, work.retired) for entry in books.values()]

    @property
    def outgoing(self) -> list[OutgoingLink]:
        """The links on which the broker sends."""
        return [each for each in self.links.values() if isinstance(each, OutgoingLink)]

    def post(self, link: NodeLink, event: Delivery, state: TransactionalState) -> None:
        if isinstance(link, IncomingLink):
            self.coordination.post(link, event, state)

    def acquired(self, link: NodeLink, tag: bytes, entry: Entry) -> None:
        if isinstance(link, OutgoingLink):
            self.coordination.acquired(link, tag, entry)

    def add(self, node_link: NodeLink) -> None:
        link = node_link.link
        self.links[(link.session.channel, link.handle)] = node_link
        if isinstance(node_link, OutgoingLink):
            self.senders[link.name] = node_link
        Termini.of(self.hub).attach(node_link)

    def drop(self, place: tuple[int, int]) -> NodeLink | None:
        found = self.links.pop(place, None)
        if found is not None:
            name = found.link_key[2]
            if self.senders.get(name) is found:
                del self.senders[name]
        return found

    # Events.

    def on_scram_keys(self, event: ScramKeysRequested) -> None:
        """Supply the SCRAM keys of a user."""
        keys = self.hub.settings.scram_keys(event.mechanism, event.user)
        self.connection.provide_scram_keys(keys)

    def on_authenticate(self, event: AuthenticationRequested) -> None:
        """Authenticate a client."""
        reason = self._login(event.credentials)
        if reason:
            self.connection.refuse_authentication(reason)
        else:
            self.connection.accept_authentication()

    def _login(self, credentials: Credentials) -> str:
        """Return why a user is refused, "" if not."""
        client = self.client
        verdict = self.hub.settings.authenticate(credentials, is_secure=client.is_secure, peer_name=client.peer_name)
        self.user = verdict.user
        return "" if verdict.user else verdict.reason or "the login was refused"

    def on_open(self, event: OpenRequested) -> None:
        """Answer a client's open of a virtual host."""
        connection, hub = self.connection, self.hub
        if hub.is_closing:
            connection.refuse_open(CONNECTION_FORCED, "the broker is shutting down")
            return
        if not self.user:
            # Without SASL, the client is anonymous.
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
        self.open_as(owner)
        offered = tuple([Symbol(each) for each in connection.config.offered_capabilities])
        connection.accept_open(offered_capabilities=tuple(dict.fromkeys((*offered, *CAPABILITIES))))
        self.own_nodes.opened()

    def on_session(self, event: SessionRequested) -> None:
        """Accept a session."""
        self.connection.session(event.channel).accept()

    def on_attach(self, event: LinkRequested) -> None:
        """Answer an attach, once its selectors are compiled: a long one takes several turns."""
        source: Any = event.attach.source
        if isinstance(source, Source) and source.filter:
            ledger = self.ledger
            most = self.hub.settings.limits.selector
            room = max(1, ledger.room) * _TOKENS
            left = filters.compile_more(source.filter, self.compiling, room, most)
            ledger.room -= (room - left) // _TOKENS
            if not left:
                raise Postponed
        try:
            attaching.answer(self, self.management, self.own_nodes, event)
        finally:
            self.compiling.clear()

    def on_deliver(self, event: Delivery) -> None:
        """Handle a received message."""
        link = self.links.get((event.channel, event.link))
        if isinstance(link, IncomingLink):
            link.receive(event)
        elif link is None:
            own = self.own_nodes.at(event.channel, event.link)
            if own is None:
                self.management.receive(event)
            elif isinstance(event.state, TransactionalState):
                self.coordination.post_to_node(own, event, event.state)
            else:
                self.own_nodes.receive(own, event)

    def on_transact(self, event: TransactionRequested) -> None:
        """Handle the declare or discharge of a transaction."""
        self.coordination.request(event)

    def on_credit(self, event: CreditChanged) -> None:
        """Handle a change of credit."""
        self._finish()
        link = self.links.get((event.channel, event.link))
        if isinstance(link, OutgoingLink):
            if self.coordination.acquire(link, event):
                link.credit_changed(event)
        elif (own := self.own_nodes.at(event.channel, event.link)) is not None:
            self.own_nodes.credit_changed(own, event)
        else:
            self.management.credit_changed(event)

    def on_settle(self, event: Settled) -> None:
        """Handle settled deliveries."""
        state = event.state
        for own, pendings in self._at_own_nodes(event.pendings):
            self._decide(own, pendings, state, settled=True)
        for link, pendings in self._by_link(event.pendings):
            if isinstance(state, TransactionalState):
                self.coordination.retire(link, pendings, state)
            else:
                link.settled([each.key[2] for each in pendings], state)

    def _by_link(self, pendings: tuple[Pending[Any], ...]) -> Iterator[tuple[OutgoingLink, tuple[Any, ...]]]:
        """Group deliveries by their outgoing link."""
        groups: dict[str, list[Any]] = {}
        for pending in pendings:
            if pending.key[1] == "out":
                groups.setdefault(str(pending.key[0]), []).append(pending)
        for name, found in groups.items():
            link = self.senders.get(name) or self._suspended(name)
            if link is not None:
                yield link, tuple(found)

    def _at_own_nodes(self, pendings: tuple[Any, ...]) -> list[tuple[Attachment, tuple[Any, ...]]]:
        """Group deliveries by their link to a node of the namespace."""
        if self.own_nodes.peer is None:
            return []
        groups: dict[str, list[Any]] = {}
        for pending in pendings:
            if pending.key[1] == "out":
                groups.setdefault(str(pending.key[0]), []).append(pending)
        found = [(self.own_nodes.sender(name), tuple(each)) for name, each in groups.items()]
        return [(own, each) for own, each in found if own is not None]

    def _decide(self, own: Attachment, pendings: tuple[Any, ...], state: Any, *, settled: bool) -> None:
        if isinstance(state, TransactionalState):
            self.coordination.retire_at_node(own, pendings, state)
        else:
            self.own_nodes.decide(own, pendings, state, settled=settled)

    def _suspended(self, name: str) -> OutgoingLink | None:
        """Return the source of a link that was detached here but not closed: outcomes of its deliveries count (part 2
        section 2.7.6)."""
        found = Termini.of(self.hub).kept.get((self.vhost, self.container, name, True))
        here = found is not None and found.place[0] == self.number
        return found if here and isinstance(found, OutgoingLink) else None

    def on_update(self, event: Updated) -> None:
        """Handle states of unsettled deliveries."""
        state: Any = event.state
        for own, pendings in self._at_own_nodes(event.pendings):
            self._decide(own, pendings, state, settled=False)
        for link, pendings in self._by_link(event.pendings):
            if isinstance(state, TransactionalState):
                self.coordination.retire(link, pendings, state)
            elif getattr(state, "OUTCOME", False):
                # Its outcome came before all of it was sent.
                for pending in pendings:
                    link.later(pending.key[2], state)

    def on_resume(self, event: Resumed) -> None:
        """Settle a resumed link: deliveries that neither end knows any more get the default outcome."""
        link = self.links.get((event.channel, event.link))
        if isinstance(link, OutgoingLink):
            link.settled(list(event.lost), None)

    def _finish(self) -> None:
        """Settle deliveries that have been sent completely by now."""
        waiting, self.unfinished = self.unfinished, {}
        for (link, tag), state in waiting.items():
            link.later(tag, state)

    def on_link_closed(self, event: LinkClosed) -> None:
        """Handle the detach of a link."""
        self._link_is_over(event.channel, event.link, resumable=event.resumable)
        self.management.link_closed(event)

    def on_failed(self, event: Failed) -> None:
        """End everything affected by a client's protocol error now, whether it answers or not."""
        if event.by is not By.LOCAL:
            return
        if isinstance(event, LinkFailed):
            self._link_is_over(event.channel, event.link, resumable=False)
        elif event.scope is Scope.SESSION:
            self._links_are_over(event.channel)
            self.own_nodes.is_over(event.channel)
            Termini.of(self.hub).session_ended(self.number, event.channel)
        else:
            self._is_over()

    def on_closed(self, event: Closed) -> None:
        """Handle the end of a session or the connection."""
        if event.scope is Scope.SESSION:
            self.own_nodes.is_over(event.channel)
            Termini.of(self.hub).session_ended(self.number, event.channel)
        else:
            self._is_over()

    def _is_over(self) -> None:
        """End all links, since the connection has ended."""
        if not self.has_owner or self.connection_owner.is_closed:
            return
        self._links_are_over()
        self.own_nodes.is_over()
        Termini.of(self.hub).connection_ended(self.number)
        self.hub.apply(CloseOwner(self.connection_owner))
        self.hub.disown(self.connection_owner)

    def _links_are_over(self, channel: int | None = None) -> None:
        """End all links of a session, or of the connection."""
        for place in (*self.links, *self.coordination.places):
            if channel in (None, place[0]):
                self._link_is_over(*place, resumable=True)

    def _link_is_over(self, channel: int, link: int, *, resumable: bool) -> None:
        found = self.drop((channel, link))
        if found is not None:
            if isinstance(found, OutgoingLink):
                self.unfinished = {key: state for key, state in self.unfinished.items() if key[0] is not found}
            Termini.of(self.hub).detach(found, closed=not resumable)
        elif not self.own_nodes.link_closed(channel, link):
            self.coordination.control_link_closed(channel, link)

    def _give_up(self, error: Exception) -> None:
        """Close a connection to whose client an answer can't be sent, without effect on others."""
        if self.connection.is_open:
            self.connection.close(condition_of(error), short(str(error)))
        self._is_over()


_HANDLERS: Final[Mapping[type[Event], Callable[[Frontend_1_0, Any], None]]] = {
    ScramKeysRequested: Frontend_1_0.on_scram_keys,
    AuthenticationRequested: Frontend_1_0.on_authenticate,
    OpenRequested: Frontend_1_0.on_open,
    SessionRequested: Frontend_1_0.on_session,
    LinkRequested: Frontend_1_0.on_attach,
    Delivery: Frontend_1_0.on_deliver,
    TransactionRequested: Frontend_1_0.on_transact,
    CreditChanged: Frontend_1_0.on_credit,
    Settled: Frontend_1_0.on_settle,
    Updated: Frontend_1_0.on_update,
    Resumed: Frontend_1_0.on_resume,
    LinkClosed: Frontend_1_0.on_link_closed,
    LinkFailed: Frontend_1_0.on_failed,
    Failed: Frontend_1_0.on_failed,
    Closed: Frontend_1_0.on_closed,
}
