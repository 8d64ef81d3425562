"""A message node on the core as an AMQP 1.0 server: real sockets, one thread, queues made when they are named.

Addresses that stand for a behaviour are those of tests/interop/peers/proton_node.py. PLAIN and SCRAM-SHA-256 take
guest with the password guest, ANONYMOUS takes anybody.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any

from amqp_sansio import CloseHint, Event, Scope, Signal
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Config,
    Connection,
    Coordinator,
    CreditChanged,
    Declare,
    Declared,
    Delivery,
    Error,
    LinkClosed,
    LinkRequested,
    LinkState,
    Message,
    Modified,
    Receiver,
    Rejected,
    Released,
    Sender,
    SessionRequested,
    Symbol,
    TransactionalState,
    TransactionRequested,
)
from amqp_sansio.events import (
    AuthenticationRequested,
    Closed,
    OpenRequested,
    ScramKeysRequested,
    Settled,
)
from amqp_sansio.sasl import scram_keys

OUTCOMES: dict[str, Any] = {
    "rejecting": Rejected(Error(Symbol("amqp:not-allowed"), "never here", {Symbol("why"): "by intent"})),
    "releasing": Released(),
    "modifying": Modified(True, True, {Symbol("x-opt-by"): "core"}),
}
CREDIT = 100


class _Peer:
    """One connection: the core's end, the socket, and what its links have to do with queues."""

    def __init__(self, node: ServerNode, transport: socket.socket, config: Config) -> None:
        self.node = node
        self.transport = transport
        self.connection = Connection.server(config)
        self.out = b""
        self.held: dict[tuple[object, ...], tuple[Sender, str, Message]] = {}
        self.is_gone = False
        self.links: dict[str, Sender | Receiver] = {}
        self.transactions: dict[bytes, list[Callable[[bool], None]]] = {}

    def pump(self) -> None:
        """Take all events and write what can be written."""
        connection = self.connection
        while not isinstance(event := connection.next_event(), Signal):
            self.node.events.append(event)
            self.handle(event)
        self.write()

    def write(self) -> None:
        connection = self.connection
        try:
            while True:
                self.out = self.out or connection.data_to_send(time.monotonic(), 262_144)
                if not self.out:
                    break
                self.out = self.out[self.transport.send(self.out) :]
        except BlockingIOError:
            return
        except OSError as error:
            connection.connection_lost(str(error), time.monotonic())
        if connection.close_hint is not CloseHint.KEEP:
            self.is_gone = True

    def read(self) -> None:
        connection = self.connection
        budget = connection.receive_budget
        if not budget:
            return
        try:
            octets = self.transport.recv(min(budget, 262_144))
        except BlockingIOError:
            return
        except OSError as error:
            connection.connection_lost(str(error), time.monotonic())
            return
        if octets:
            connection.receive_data(octets, time.monotonic())
        else:
            connection.receive_eof(time.monotonic())

    def link(self, channel: int, handle: int) -> Sender | Receiver:
        return self.connection.session(channel).link(handle)

    def handle(self, event: Event) -> None:
        connection = self.connection
        match event:
            case AuthenticationRequested(mechanism=mechanism, credentials=credentials):
                known = (credentials.user, credentials.password) == ("guest", "guest")
                if mechanism == "ANONYMOUS" or known:
                    connection.accept_authentication()
                else:
                    connection.refuse_authentication("wrong password")
            case ScramKeysRequested(user=user):
                keys = scram_keys("guest", b"salt of the node")
                connection.provide_scram_keys(keys if user == "guest" else None)
            case OpenRequested():
                connection.accept_open()
            case SessionRequested(channel=channel):
                connection.session(channel).accept()
            case LinkRequested(channel=channel, link=handle):
                self.attached(self.link(channel, handle))
            case CreditChanged(channel=channel, link=handle):
                link = self.link(channel, handle)
                if isinstance(link, Sender):
                    self.node.dispatch(address_of(link))
            case Delivery(channel=channel, link=handle):
                self.delivered(self.link(channel, handle), event)
            case TransactionRequested(channel=channel, link=handle):
                self.transaction(self.link(channel, handle), event)
            case Settled(handles=handles, state=state):
                for each in handles:
                    self.settled(each.key, state)
            case LinkClosed(name=name, resumable=True) if self.node.resumes:
                self.keep(name)
            case LinkClosed():
                self.node.forget(self, lambda link: link.report is not None)
            case Closed(scope=Scope.CONNECTION):
                self.node.forget(self, lambda link: True)
                self.is_gone = True
            case _:
                pass

    def keep(self, name: str) -> None:
        """Keep what a link that may be resumed has unsettled."""
        link = self.links.pop(name)
        held = {key: value for key, value in self.held.items() if value[0] is link}
        for key in held:
            del self.held[key]
        self.node.kept[name] = (link.saved_state(), held)
        self.node.consumers = [each for each in self.node.consumers if each[1] is not link]

    def resumed(self, link: Sender | Receiver) -> None:
        state, held = self.node.kept.pop(link.name)
        link.accept_attach(state=state)
        if isinstance(link, Sender):
            self.held.update({key: (link, *value[1:]) for key, value in held.items()})
            self.node.consumers.append((self, link))
        else:
            link.flow(CREDIT)

    def attached(self, link: Sender | Receiver) -> None:
        asked = link.requested
        assert asked is not None
        self.links[link.name] = link
        if asked.unsettled is not None and link.name in self.node.kept:
            self.resumed(link)
            return
        is_sender = isinstance(link, Sender)
        terminus: Any = asked.source if is_sender else asked.target
        if isinstance(terminus, Coordinator):
            link.accept_attach()
            assert isinstance(link, Receiver)
            link.flow(CREDIT)
            return
        address = terminus.address
        if address == "absent":
            link.refuse_attach("amqp:not-found", "no such node", {Symbol("node"): "absent"})
        elif address == "ending":
            link.session.close("amqp:internal-error", "the session ends here")
        elif address == "closing":
            self.connection.close("amqp:connection:forced", "closed by intent")
        elif isinstance(link, Sender):
            source = asked.source
            if terminus.dynamic:
                source = self.node.dynamic(terminus)
            link.accept_attach(source=source)
            self.node.consumers.append((self, link))
        else:
            target = asked.target
            if terminus.dynamic:
                target = self.node.dynamic(terminus)
            link.accept_attach(target=target)
            link.flow(CREDIT)

    def delivered(self, link: Sender | Receiver, delivery: Delivery) -> None:
        assert isinstance(link, Receiver)
        address = address_of(link) or delivery.message.to
        outcome = OUTCOMES.get(address, Accepted())
        said = delivery.state
        if isinstance(said, TransactionalState) and isinstance(said.txn_id, bytes):
            self.transactions[said.txn_id].append(
                lambda commits: self.node.put(address, delivery.message) if commits else None
            )
            link.update([delivery], TransactionalState(said.txn_id, outcome))
        else:
            if outcome == Accepted():
                self.node.put(address, delivery.message)
            if not delivery.settled:
                link.update([delivery], outcome)
        link.top_up(CREDIT)

    def transaction(self, link: Sender | Receiver, event: TransactionRequested) -> None:
        assert isinstance(link, Receiver)
        request = event.request
        if isinstance(request, Declare):
            txn_id = b"t%d" % next(self.node.numbers)
            self.transactions[txn_id] = []
            link.update([event.delivery], Declared(txn_id), settled=True)
            return
        known = request.txn_id if isinstance(request.txn_id, bytes) else b""
        work = self.transactions.pop(known, None)
        if work is None:
            error = Error(Symbol("amqp:transaction:unknown-id"), "no such transaction")
            link.update([event.delivery], Rejected(error), settled=True)
            return
        for act in work:
            act(not request.fail)
        link.update([event.delivery], Accepted(), settled=True)

    def send(self, link: Sender, message: Message) -> None:
        handle = link.send(message)
        if not handle.done:
            self.held[handle.key] = (link, address_of(link), message)

    def settled(self, key: tuple[object, ...], state: object) -> None:
        if key not in self.held:
            return
        _, address, message = self.held.pop(key)
        if isinstance(state, TransactionalState):
            txn_id = state.txn_id if isinstance(state.txn_id, bytes) else b""
            outcome = state.outcome
            self.transactions[txn_id].append(
                lambda commits: self.ended(address, message, outcome if commits else Released())
            )
        else:
            self.ended(address, message, state)

    def ended(self, address: str, message: Message, state: object) -> None:
        """A message of a queue has its outcome."""
        if isinstance(state, Rejected):
            self.node.put(f"dead.{address}", message)
        elif isinstance(state, (Released, Modified)):
            self.node.put(address, _changed(message, state), first=True)


def address_of(link: Sender | Receiver) -> str:
    """The node's address on a link of the node; "" for the anonymous terminus."""
    terminus = link.source if isinstance(link, Sender) else link.target
    return str(getattr(terminus, "address", None) or "")


def _changed(message: Message, state: Released | Modified) -> Message:
    if isinstance(state, Released):
        return message
    from amqp_sansio.amqp_1_0 import Header

    header = message.header or Header()
    failures = message.delivery_count + bool(state.delivery_failed)
    changed = Header(header.durable, header.priority, header.ttl, False, failures)
    annotations = {**message.message_annotations, **(state.message_annotations or {})}
    return message.replace(header=changed, message_annotations=annotations)


class ServerNode:
    """The node; `port` is where it listens while the block lasts. `events` is what the core told of all connections.

    With `resumes` it keeps links that lose their connection, by name.
    """

    def __init__(self, *, resumes: bool = False, **options: Any) -> None:
        self.resumes = resumes
        self.kept: dict[str, tuple[LinkState, dict[Any, Any]]] = {}
        mechanisms = ("SCRAM-SHA-256", "PLAIN", "ANONYMOUS")
        options = {"container_id": "core-node", "mechanisms": mechanisms, "max_frame_size": 4096, **options}
        self._options = options
        self.queues: dict[str, deque[Message]] = {}
        self.consumers: list[tuple[_Peer, Sender]] = []
        self.events: deque[Event] = deque(maxlen=50_000)
        self.numbers = count(1)
        self.failure: BaseException | None = None
        self._peers: list[_Peer] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._waker, self._woken = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="core-node")

    def __enter__(self) -> ServerNode:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._waker.send(b"x")
        self._thread.join(20)
        for each in (self._listener, self._waker, self._woken, self._selector):
            each.close()
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while self._turn():
                pass
        except BaseException as error:
            self.failure = error
        for peer in self._peers:
            peer.transport.close()

    def _turn(self) -> bool:
        deadlines = [each.connection.next_deadline for each in self._peers]
        due = min((each for each in deadlines if each is not None), default=None)
        wait = None if due is None else max(0.0, due - time.monotonic())
        for key, events in self._selector.select(wait):
            if key.fileobj is self._woken:
                return False
            if key.fileobj is self._listener:
                self._accept()
            elif events & selectors.EVENT_READ:
                key.data.read()
        for peer in self._peers:
            deadline = peer.connection.next_deadline
            if deadline is not None and deadline <= time.monotonic():
                peer.connection.handle_timeout(time.monotonic())
        for peer in list(self._peers):
            peer.pump()
        for peer in list(self._peers):
            # What one connection brought may be another's to send.
            peer.pump()
            if peer.is_gone and not peer.out:
                self._selector.unregister(peer.transport)
                peer.transport.close()
                self._peers.remove(peer)
                continue
            interest = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.out else 0)
            self._selector.modify(peer.transport, interest, peer)
        return True

    def _accept(self) -> None:
        transport, _ = self._listener.accept()
        transport.setblocking(False)
        nonce = f"node{next(self.numbers)}"
        peer = _Peer(self, transport, Config(nonce=nonce, **self._options))
        self._peers.append(peer)
        self._selector.register(transport, selectors.EVENT_READ, peer)

    # The queues.

    def dynamic(self, terminus: Any) -> Any:
        """The terminus of a node that is made now."""
        kind: Any = terminus.__class__
        values: dict[str, Any] = {name: getattr(terminus, name) for name in kind.__match_args__}
        return kind(**{**values, "address": f"temporary.{next(self.numbers)}"})

    def put(self, address: str, message: Message, *, first: bool = False) -> None:
        """Add a message to a queue."""
        queue = self.queues.setdefault(address, deque())
        if first:
            queue.appendleft(message)
        else:
            queue.append(message)
        self.dispatch(address)

    def dispatch(self, address: str) -> None:
        """Give messages to consumers with credit; those that drain lose the rest of theirs."""
        queue = self.queues.setdefault(address, deque())
        for peer, link in self.consumers:
            if address_of(link) != address or not link.is_open:
                continue
            while queue and link.credit > 0:
                peer.send(link, queue.popleft())
            if not queue and link.drain_wanted:
                link.drained()

    def forget(self, peer: _Peer, which: Callable[[Sender], bool]) -> None:
        """Take consumers away; what they held goes back."""
        gone = [link for owner, link in self.consumers if owner is peer and which(link)]
        self.consumers = [each for each in self.consumers if each[0] is not peer or each[1] not in gone]
        for link in gone:
            held = [key for key, (owner, _, _) in peer.held.items() if owner is link]
            for key in reversed(held):
                _, address, message = peer.held.pop(key)
                self.put(address, message, first=True)
