"""A small 1.0 server on a real loopback socket, made of the engine's server role, one thread for each connection.

Every address is a queue in memory, shared by all connections: it takes everything, and routes it to who receives from
the same address. It makes dynamic nodes, coordinates transactions, and keeps links that were suspended. A test bends
it with the server's attributes, with `script`, which sees every event first, and with `Session.do`, which runs
something in the connection's thread.
"""

from __future__ import annotations

import socket
import ssl
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from amqp_sansio import (
    AMQP_1_0,
    AuthenticationRequested,
    Closed,
    Event,
    OpenRequested,
    Pending,
    Scope,
    ScramKeysRequested,
    Settled,
    Signal,
)
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Config,
    CreditChanged,
    Declare,
    Declared,
    Delivery,
    DeliveryState,
    Error,
    LinkClosed,
    LinkRequested,
    LinkState,
    Message,
    Modified,
    NoCredit,
    Properties,
    Rejected,
    Released,
    SessionRequested,
    Source,
    Symbol,
    Target,
    TransactionalState,
    TransactionRequested,
)
from amqp_sansio.amqp_1_0.codec.conditions import NOT_FOUND, TRANSACTION_UNKNOWN_ID
from amqp_sansio.sasl import scram_keys
from tests.kit import sync_server
from tests.kit.sync_server import WAIT, wait_until


class Unsettled(NamedTuple):
    """A message that was sent to the client, and where it came from."""

    address: str
    payload: bytes


class Work:
    """What is done in one transaction: when it's committed, and when it's rolled back."""

    def __init__(self, session: Serving) -> None:
        self.session = session
        self.commit: list[Callable[[], object]] = []
        self.rollback: list[Callable[[], object]] = []


class Serving(ABC):
    """What a queueing peer does on one connection, whatever carries its octets; `core` is the engine's end."""

    def __init__(self, server: Node, core: Any = None) -> None:
        self.server = server
        self.core = core
        self.links: dict[tuple[int, int], Any] = {}
        self.unsettled: dict[Pending[Any], Unsettled] = {}

    @abstractmethod
    def changed(self, address: str) -> None:
        """Look at an address, now or soon."""

    def handle(self, event: Event) -> None:
        """Do what a queueing peer does about an event."""
        with self.server.lock:
            self._handle(event)

    def pump(self, address: str) -> None:
        """Send what waits at an address to who receives from it on this connection."""
        with self.server.lock:
            for link in list(self.links.values()):
                if link.role == "sender" and own_address(link) == address and link.is_open:
                    self._send(link, address)

    # Inside.

    def _send(self, link: Any, address: str) -> None:
        waiting = self.server.node(address)
        while waiting and link.credit:
            payload = waiting.popleft()
            try:
                handle = link.send(payload)
            except NoCredit:
                waiting.appendleft(payload)
                break
            if not handle.done:
                self.unsettled[handle] = Unsettled(address, payload)
        if link.drain_wanted and not waiting:
            link.drained()

    def _handle(self, event: Event) -> None:
        core, server = self.core, self.server
        if isinstance(event, AuthenticationRequested):
            credentials = event.credentials
            known = server.users.get(credentials.user)
            if credentials.password is None or credentials.password == known:
                core.accept_authentication()
            else:
                core.refuse_authentication()
        elif isinstance(event, ScramKeysRequested):
            password = server.users.get(event.user)
            keys = None if password is None else scram_keys(password, b"0123456789abcdef")
            core.provide_scram_keys(keys)
        elif isinstance(event, OpenRequested):
            if event.vhost in server.unknown_hosts:
                core.refuse_open(NOT_FOUND, f"no host {event.vhost!r}")
            else:
                core.accept_open()
        elif isinstance(event, SessionRequested):
            core.session(event.channel).accept()
        elif isinstance(event, LinkRequested):
            self._attach(event)
        elif isinstance(event, Delivery):
            self._received(event)
        elif isinstance(event, CreditChanged):
            link = self.links.get((event.channel, event.link))
            if link is not None:
                self.pump(own_address(link))
        elif isinstance(event, Settled):
            for handle in event.pendings:
                self._outcome(self.unsettled.pop(handle, None), event.state)
        elif isinstance(event, TransactionRequested):
            self._coordinate(event)
        elif isinstance(event, LinkClosed):
            self._detached(event.channel, event.link, event.resumable)
        elif isinstance(event, Closed) and event.scope is Scope.CONNECTION:
            for txn_id, work in list(server.transactions.items()):
                if work.session is self:
                    self._discharge(txn_id, fail=True)

    def _attach(self, event: LinkRequested) -> None:
        server, attach = self.server, event.attach
        link = self.core.session(event.channel).link(event.link)
        mine = attach.source if attach.role else attach.target
        address = getattr(mine, "address", None)
        if address in server.refused or (attach.role and mine is None):
            link.refuse_attach(NOT_FOUND, f"there is no node {address!r}")
            return
        terminus: Any = None
        if getattr(mine, "dynamic", False):
            server.made += 1
            made = f"temporary.{server.made}"
            server.node(made)
            terminus = (Source if attach.role else Target)(address=made, dynamic=True)
        state = self._resumed(link, attach.unsettled is not None)
        self.links[event.channel, event.link] = link
        if attach.role:
            link.accept_attach(source=terminus, state=state)
        else:
            link.accept_attach(target=terminus, state=state)
            if server.credit:
                link.flow(server.credit)

    def _resumed(self, link: Any, wanted: bool) -> LinkState | None:
        """What was kept of a link; when the client doesn't want it, its messages go back."""
        state = self.server.suspended.pop((link.name, link.role), None)
        if state is None or link.role == "receiver":
            return state if wanted else None
        address = str(getattr(state.source, "address", ""))
        for each in state.unsettled:
            handle: Pending[Any] = Pending((link.name, "out", each.delivery_tag))
            held = Unsettled(address, each.payload or b"")
            if wanted:
                self.unsettled[handle] = held
            else:
                self._outcome(held, Released())
        return state if wanted else None

    def _detached(self, channel: int, number: int, resumable: bool) -> None:
        link = self.links.pop((channel, number), None)
        if link is None:
            return
        keep = resumable and self.server.keeping
        if keep:
            self.server.suspended[link.name, link.role] = link.saved_state()
        gone = [each for each in self.unsettled if each.key[:2] == (link.name, "out")]
        for handle in reversed(gone):
            held = self.unsettled.pop(handle)
            if not (keep or self.server.forgetful):
                self._outcome(held, Released())

    def _received(self, event: Delivery) -> None:
        server = self.server
        link = self.links[event.channel, event.link]
        server.received.append(event)
        address = own_address(link) or event.message.to or ""
        if server.hold or address in server.holding:
            return
        outcome = server.coming.popleft() if server.coming else server.outcomes.get(address, Accepted())
        state: DeliveryState = outcome
        work = None
        if isinstance(event.state, TransactionalState):
            work = server.transactions.get(bytes(event.state.txn_id))  # type: ignore[arg-type]
            if work is None:
                state = outcome = Rejected(Error(TRANSACTION_UNKNOWN_ID, "no such transaction"))
            else:
                state = TransactionalState(event.state.txn_id, outcome)
        if isinstance(outcome, Accepted):
            if work is not None:
                work.commit.append(lambda: self._route(address, event.payload))
            else:
                self._route(address, event.payload)
        if not event.settled:
            link.update([event], state)
        if server.credit:
            link.top_up(server.credit)

    def _route(self, address: str, payload: bytes) -> None:
        service = self.server.services.get(address)
        if service is not None:
            request = Message.from_wire(payload)
            reply = service(request)
            found = (reply.properties or Properties()).replace(correlation_id=request.message_id)
            address, payload = str(request.reply_to), reply.replace(properties=found).encode()
        self.server.put(address, payload)

    def _outcome(self, held: Unsettled | None, state: object) -> None:
        if held is None or isinstance(state, Accepted):
            return
        if isinstance(state, TransactionalState):
            work = self.server.transactions.get(bytes(state.txn_id))  # type: ignore[arg-type]
            if work is None:
                self._outcome(held, Released())
            else:
                work.commit.append(lambda: self._outcome(held, state.outcome))
                work.rollback.append(lambda: self._outcome(held, Released()))
        else:
            self._ended(held, state)

    def _ended(self, held: Unsettled, state: object) -> None:
        """A message has its outcome."""
        if isinstance(state, Rejected) or (isinstance(state, Modified) and state.undeliverable_here):
            self.server.dead.append(held)
        else:
            self.server.put(held.address, held.payload, first=True)

    def _coordinate(self, event: TransactionRequested) -> None:
        server = self.server
        link = self.links[event.channel, event.link]
        state: DeliveryState
        if isinstance(event.request, Declare):
            if server.refuse_transactions:
                state = Rejected(Error(Symbol("amqp:not-allowed"), "no transactions today"))
            else:
                server.made += 1
                txn_id = b"txn-%d" % server.made
                server.transactions[txn_id] = Work(self)
                state = Declared(txn_id)
        else:
            txn_id = bytes(event.request.txn_id)  # type: ignore[arg-type]
            if txn_id not in server.transactions:
                state = Rejected(Error(TRANSACTION_UNKNOWN_ID, "no such transaction"))
            elif server.refuse_commit is not None and not event.request.fail:
                self._discharge(txn_id, fail=True)
                state = Rejected(server.refuse_commit)
            else:
                self._discharge(txn_id, fail=bool(event.request.fail))
                state = Accepted()
        link.update([event.delivery], state, settled=True)
        link.top_up(server.credit or 1)

    def _discharge(self, txn_id: bytes, *, fail: bool) -> None:
        work = self.server.transactions.pop(txn_id)
        for each in work.rollback if fail else work.commit:
            each()


def own_address(link: Any) -> str:
    """The address of the server's own node on a link; "" for none."""
    terminus = link.source if link.role == "sender" else link.target
    return str(getattr(terminus, "address", None) or "")


class Node:
    """What all connections of a server share. `serving` are those in the order they came.

    `nodes` are the queues by their address; addresses in `refused` aren't there, what goes to those in `holding`, or
    with `hold` to any, gets no outcome. The next messages get the outcomes in `coming`, then those to addresses in
    `outcomes` that one. `services` answer requests. `credit` is what each sender gets (0: the test gives it).
    `refuse_commit` is why a commit fails. `keeping` says whether suspended links are kept, in `suspended`.
    With `forgetful` nothing is put back that a closed link leaves unsettled, as RabbitMQ 3 does.
    """

    def __init__(self, credit: int = 100) -> None:
        self.lock = threading.RLock()
        self.users = {"guest": "guest"}
        self.nodes: dict[str, deque[bytes]] = {}
        self.refused: set[object] = set()
        self.unknown_hosts: set[str] = set()
        self.hold = False
        self.holding: set[str] = set()
        self.coming: deque[DeliveryState] = deque()
        self.outcomes: dict[str, DeliveryState] = {}
        self.services: dict[str, Callable[[Message], Message]] = {}
        self.received: list[Delivery] = []
        self.dead: list[Unsettled] = []
        self.transactions: dict[bytes, Work] = {}
        self.refuse_transactions = False
        self.refuse_commit: Error | None = None
        self.suspended: dict[tuple[str, str], LinkState] = {}
        self.keeping = True
        self.forgetful = False
        self.credit = credit
        self.made = 0

    @property
    def serving(self) -> Iterable[Serving]:
        """The connections."""
        raise NotImplementedError

    def node(self, address: str) -> deque[bytes]:
        """The queue of an address."""
        with self.lock:
            return self.nodes.setdefault(address, deque())

    def put(self, address: str, payload: bytes, *, first: bool = False) -> None:
        """Put a message at an address; `first`: before all others."""
        with self.lock:
            waiting = self.node(address)
            (waiting.appendleft if first else waiting.append)(payload)
            self.changed(address)

    def fill(self, address: str, *bodies: bytes) -> None:
        """Put messages with these bodies at an address."""
        with self.lock:
            self.node(address).extend([Message(body).encode() for body in bodies])
            self.changed(address)

    def bodies(self, address: str) -> list[Any]:
        """The bodies of the messages that wait at an address."""
        with self.lock:
            return [Message.from_wire(payload).body for payload in self.node(address)]

    def changed(self, address: str) -> None:
        """Have every connection look at an address."""
        for session in self.serving:
            session.changed(address)


class Session(Serving, sync_server.Session):
    """One connection in a thread of its own. `events` has everything that happened."""

    server: Server

    def __init__(self, server: Server, connected: socket.socket) -> None:
        self._changed: set[str] = set()
        Serving.__init__(self, server)
        sync_server.Session.__init__(self, server, connected)

    def changed(self, address: str) -> None:
        """Look at an address, some time."""
        with self.server.lock:
            if address not in self._changed:
                self._changed.add(address)
                self.soon(partial(self.pump, address))

    def pump(self, address: str) -> None:
        """As the base's, and the next change is looked at anew."""
        with self.server.lock:
            self._changed.discard(address)
            super().pump(address)

    def _run(self) -> None:
        super()._run()
        core = self.core
        if core is not None:
            core.connection_lost("the transport is gone", monotonic())
            while not isinstance(event := core.next_event(), Signal):
                self.events.append(event)
                self.handle(event)


class Server(Node, sync_server.Server):
    """Listens on `port` of 127.0.0.1."""

    sessions: list[Session]  # type: ignore[assignment]

    def __init__(
        self,
        *,
        config: Config | None = None,
        tls: ssl.SSLContext | None = None,
        script: sync_server.Script | None = None,
        credit: int = 100,
    ) -> None:
        Node.__init__(self, credit)
        self.configs = {AMQP_1_0: config or Config(container_id="test-server", mechanisms=("PLAIN",))}
        self.start(tls, script)

    @property
    def serving(self) -> Iterable[Serving]:
        """The connections."""
        return self.sessions

    def new_session(self, connected: socket.socket) -> Session:
        return Session(self, connected)

    def session(self) -> Session:
        """The newest connection."""
        wait_until(lambda: bool(self.sessions))
        return self.sessions[-1]


@contextmanager
def running(**options: Any) -> Generator[Server]:
    """A server for one test."""
    server = Server(**options)
    try:
        yield server
    finally:
        server.close()


def url_of(server: Server, *, user: str = "guest:guest@", rest: str = "/") -> str:
    """Where the server is, for a user, with the URL's path and query."""
    scheme = "amqps" if server.tls is not None else "amqp"
    return f"{scheme}://{user}127.0.0.1:{server.port}{rest}"


__all__ = ["WAIT", "Server", "Session", "Unsettled", "running", "url_of", "wait_until"]
