"""A small 1.0 broker for the adapter's tests: queues by address, dynamic nodes, transactions."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Coordinator,
    CreditChanged,
    Declare,
    Declared,
    Delivery,
    DeliveryState,
    Error,
    LinkClosed,
    LinkRequested,
    Message,
    Rejected,
    SessionRequested,
    Source,
    Target,
    TransactionalState,
    TransactionRequested,
)
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.amqp_1_0.codec.conditions import NOT_FOUND
from amqp_sansio.events import Abandoned, Event, Settled
from amqp_sansio_asyncio import (
    OneZeroConnection,
    OneZeroServerConnection,
    Receiver,
    Sender,
    Server,
    Session,
    connect,
    serve,
)
from tests.kit.asyncio_broker import url_of

UNKNOWN_TRANSACTION = "amqp:transaction:unknown-id"


class Nodes:
    """Queues that are made when they are first named; nodes named "no..." don't exist.

    `outcomes` are what the next messages get instead of Accepted. `credit` is what each producer gets; `hold`: messages
    are neither accepted nor queued. `seen` are all events.
    """

    def __init__(self, credit: int = 100) -> None:
        self.credit = credit
        self.hold = False
        self.queues: dict[str, deque[bytes]] = {}
        self.outcomes: deque[DeliveryState] = deque()
        self.refuse_commit: Error | None = None
        self.consumers: list[tuple[OneZeroServerConnection, CoreSender, str]] = []
        self.sent: dict[object, tuple[str, bytes]] = {}
        self.open: dict[object, list[Callable[[bool], None]]] = {}
        self.seen: list[Event] = []
        self.connections: list[OneZeroServerConnection] = []
        self._names = 0

    def bodies(self, name: str) -> list[Any]:
        """What is in a queue."""
        return [Message.from_wire(payload).body for payload in self.queues.get(name, ())]

    async def handle(self, connection: OneZeroServerConnection) -> None:
        """Serve one client."""
        self.connections.append(connection)
        async for event in connection:
            self.seen.append(event)
            self.take(connection, event)
            self.push()
            await connection.drain()

    def take(self, connection: OneZeroServerConnection, event: Event) -> None:
        """Do what an event wants."""
        match event:
            case SessionRequested():
                connection.session(event.channel).accept()
            case LinkRequested():
                self.attach(connection, event)
            case Delivery():
                link = connection.link(event.channel, event.link)
                assert isinstance(link, CoreReceiver)
                self.received(link, event)
            case TransactionRequested():
                link = connection.link(event.channel, event.link)
                assert isinstance(link, CoreReceiver)
                link.update([event.delivery], self.transact(event.request), settled=True)
                link.flow(self.credit)
            case CreditChanged():
                if event.drain:
                    self.push()
                    link = connection.link(event.channel, event.link)
                    assert isinstance(link, CoreSender)
                    link.drained()
            case Settled():
                for handle in event.handles:
                    self.settled(self.sent.pop(handle.key, None), event.state)
            case Abandoned():
                for handle in event.handles:
                    self.settled(self.sent.pop(handle.key, None), None)
            case LinkClosed():
                self.consumers = [each for each in self.consumers if each[1].report is None]
            case _:
                pass

    def attach(self, connection: OneZeroServerConnection, event: LinkRequested) -> None:
        """Answer an attach."""
        link = connection.link(event.channel, event.link)
        if isinstance(link, CoreSender):
            source = event.attach.source
            assert isinstance(source, Source)
            name = self.name_of(source)
            if name.startswith("no"):
                link.refuse_attach(NOT_FOUND, f"there is no node {name!r}")
                return
            link.accept_attach(source=Source(address=name) if source.dynamic else None)
            self.consumers.append((connection, link, name))
            return
        target = event.attach.target
        if isinstance(target, Coordinator):
            link.accept_attach()
        else:
            assert isinstance(target, Target)
            name = self.name_of(target)
            if name.startswith("no"):
                link.refuse_attach(NOT_FOUND, f"there is no node {name!r}")
                return
            link.accept_attach(target=Target(address=name) if target.dynamic else None)
        if self.credit:
            link.flow(self.credit)

    def name_of(self, terminus: Source | Target) -> str:
        """The node's name; a dynamic one gets its own."""
        if terminus.dynamic:
            self._names += 1
            return f"dynamic-{self._names}"
        return str(terminus.address or "")

    def received(self, link: CoreReceiver, event: Delivery) -> None:
        """A message came from a producer."""
        if self.hold:
            return
        assert isinstance(link.target, Target)
        address = str(link.target.address or event.message.to or "")
        state: DeliveryState = self.outcomes.popleft() if self.outcomes else Accepted()
        given = event.state
        transaction = given.txn_id if isinstance(given, TransactionalState) else None

        def queue(commit: bool) -> None:
            if commit and isinstance(state, Accepted):
                self.queues.setdefault(address, deque()).append(event.payload)

        if transaction is None:
            queue(True)
        else:
            self.open[transaction].append(queue)
        if not event.settled:
            told = state if transaction is None else TransactionalState(transaction, state)
            link.update([event], told)
        if self.credit:
            link.top_up(self.credit)

    def settled(self, sent: tuple[str, bytes] | None, state: object) -> None:
        """A consumer settled what it was sent, or went away."""
        if sent is None:
            return
        name, payload = sent

        def put_back(commit: bool) -> None:
            done = isinstance(outcome, (Accepted, Rejected))
            if not (commit and done):
                self.queues.setdefault(name, deque()).appendleft(payload)

        outcome = state
        if isinstance(state, TransactionalState):
            outcome = state.outcome
            self.open[state.txn_id].append(put_back)
        else:
            put_back(True)

    def transact(self, request: object) -> DeliveryState:
        """Declare or discharge."""
        if isinstance(request, Declare):
            self._names += 1
            name = self._names.to_bytes(4)
            self.open[name] = []
            return Declared(name)
        name = getattr(request, "txn_id")  # noqa: B009
        if name not in self.open:
            return Rejected(Error(UNKNOWN_TRANSACTION, "no such transaction"))
        commit = not getattr(request, "fail")  # noqa: B009
        refused = self.refuse_commit if commit else None
        for step in self.open.pop(name):
            step(commit and refused is None)
        return Accepted() if refused is None else Rejected(refused)

    def push(self) -> None:
        """Send what is queued to who has credit."""
        for connection, link, name in list(self.consumers):
            queue = self.queues.get(name)
            while queue and link.is_open and link.credit:
                payload = queue.popleft()
                handle = link.send(payload)
                if not handle.done:
                    self.sent[handle.key] = (name, payload)
                connection.flush()


@asynccontextmanager
async def nodes(credit: int = 100, **options: Any) -> AsyncGenerator[tuple[Server, Nodes]]:
    """The broker, listening."""
    made = Nodes(credit)
    async with serve(made.handle, version=AMQP_1_0, **options) as server:
        yield server, made


@asynccontextmanager
async def peer(credit: int = 100, **options: Any) -> AsyncGenerator[tuple[OneZeroConnection, Nodes]]:
    """A client of a broker of its own."""
    async with nodes(credit) as (server, made):
        opening = connect(url_of(server), version=AMQP_1_0, **options)
        async with opening as connection:
            yield connection, made


def core_link(made: Nodes, kind: type[CoreSender] | type[CoreReceiver]) -> CoreSender | CoreReceiver:
    """The server's end of the last link of that kind."""
    core = made.connections[-1].core
    found = [link for number in core.sessions for link in core.session(number).links if isinstance(link, kind)]
    return found[-1]


async def opened(session: Session, name: str = "jobs") -> tuple[Sender, Receiver]:
    """A sender and a receiver with manual credit on one node."""
    sender = await session.open_sender(name)
    return sender, await session.open_receiver(name, credit=0)


__all__ = ["Nodes", "core_link", "nodes", "opened", "peer"]
