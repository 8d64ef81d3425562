"""A small 0-10 broker for the adapter's tests: queues, direct exchanges, subscriptions, tx, dtx, sessions that last."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from amqp_sansio import AMQP_0_10
from amqp_sansio.amqp_0_10 import (
    Acquired,
    Branches,
    Command,
    CommandReceived,
    CreditChanged,
    DeliveryProperties,
    ExchangeBind,
    ExchangeBound,
    ExchangeBoundResult,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeQuery,
    ExchangeQueryResult,
    ExchangeUnbind,
    ExecutionError,
    Message,
    MessageAcquire,
    MessageCancel,
    MessageFlush,
    MessageReceived,
    MessageSubscribe,
    NoCredit,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
    QueueQueryResult,
    Released,
    Resumed,
    SequenceSet,
    SessionClosed,
    SessionRequested,
    SessionState,
    TxCommit,
    TxRollback,
    Xid,
)
from amqp_sansio.amqp_0_10 import Session as CoreSession
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import Abandoned, Event, Pending, Settled
from amqp_sansio_asyncio import Server, SessionKeeper, connect, serve
from amqp_sansio_asyncio.amqp_0_10 import Connection, ServerConnection
from tests.kit.asyncio_broker import url_of

NOT_FOUND = 404
NOT_ALLOWED = 530
Owner = tuple[str, bytes]
"""A session: its user and its name."""


class Entry:
    """A message in a queue; `number` tells it from others."""

    def __init__(self, number: int, message: Message) -> None:
        self.number = number
        self.message = message


class Sub:
    """A subscription: where it is attached, or None; `browsed` are the numbers of what it has seen."""

    def __init__(self, owner: Owner, command: MessageSubscribe) -> None:
        self.owner = owner
        self.destination = command.destination or ""
        self.queue = command.queue or ""
        self.accept_mode = command.accept_mode or 0
        self.acquire_mode = command.acquire_mode or 0
        self.browsed: set[int] = set()


class Node:
    """A broker.

    `executed` are the bodies of the messages that were taken from clients, `rejected` those that clients have refused.
    `hold`: messages of clients are taken, not yet executed; `go` executes them. `seen` are all events, `connections`
    all clients there were. `ahead`: so many seconds the clock of its branches is fast.
    """

    def __init__(self) -> None:
        self.queues: dict[str, deque[Entry]] = {}
        self.exchanges: dict[str, str] = {"": "direct", "amq.direct": "direct"}
        self.bindings: dict[tuple[str, str], set[str]] = {}
        self.subs: dict[tuple[Owner, str], Sub] = {}
        self.attached: dict[Owner, tuple[ServerConnection, CoreSession]] = {}
        self.sent: dict[tuple[str, object], tuple[str, Entry]] = {}
        self.work: dict[object, list[Callable[[], None]]] = {}
        self.branches = Branches()
        self.ahead = 0.0
        self.executed: list[bytes] = []
        self.rejected: list[bytes] = []
        self.hold = False
        self.held: list[tuple[Owner, MessageReceived]] = []
        self.seen: list[Event] = []
        self.connections: list[ServerConnection] = []
        self.expired: list[SessionState] = []
        self.keeper = SessionKeeper(expired=self.expire)
        self._numbers = count(1)

    def bodies(self, queue: str) -> list[bytes]:
        """What is in a queue."""
        return [each.message.body for each in self.queues.get(queue, ())]

    def core(self, name: bytes = b"", user: str = "guest") -> CoreSession:
        """The server's end of a session; of the last one without a name."""
        if not name:
            return list(self.attached.values())[-1][1]
        return self.attached[user, name][1]

    def cut(self) -> None:
        """Lose the transport of the last client."""
        transport = self.connections[-1]._driver.transport  # pyright: ignore[reportPrivateUsage]
        assert transport is not None
        transport.abort()

    def put(self, queue: str, body: bytes) -> None:
        """Put a message in a queue."""
        self.queues.setdefault(queue, deque()).append(Entry(next(self._numbers), Message(body)))
        self.push()

    def go(self) -> None:
        """Execute what was held."""
        self.hold = False
        held, self.held = self.held, []
        for owner, event in held:
            self.published(owner, event)
            self.attached[owner][0].flush()

    # Events.

    async def handle(self, connection: ServerConnection) -> None:
        """Serve one client."""
        self.connections.append(connection)
        async for event in connection:
            self.seen.append(event)
            try:
                if isinstance(event, SessionRequested):
                    await connection.accept_session(event)
                else:
                    self.take(connection, event)
            except EndpointClosed:
                # What it was about will be there again when the session goes on.
                continue
            self.push()
            await connection.drain()

    def take(self, connection: ServerConnection, event: Event) -> None:
        """Do what an event wants."""
        user = connection.user
        match event:
            case Resumed(channel=channel, incomplete=incomplete):
                session = connection.session(channel)
                self.attached[user, session.name] = connection, session
                for each in incomplete:
                    self.take(connection, each)
            case CommandReceived():
                session = connection.session(event.channel)
                self.attached[user, session.name] = connection, session
                try:
                    result = self.execute((user, session.name), session, event)
                except ExecutionError as error:
                    session.fail(error, event.command_id)
                else:
                    session.complete(event.command_id, result)
                    self.settle_branches()
            case MessageReceived():
                session = connection.session(event.channel)
                owner = user, session.name
                self.attached[owner] = connection, session
                if self.hold:
                    self.held.append((owner, event))
                else:
                    self.published(owner, event)
            case CreditChanged():
                self.push()
            case Settled():
                for handle in event.pendings:
                    self.settled(user, handle, event.state)
            case Abandoned():
                for handle in event.pendings:
                    self.settled(user, handle, Released())
            case SessionClosed():
                self.attached.pop((user, event.name), None)
                self.held = [each for each in self.held if each[0] != (user, event.name)]
                if not event.resumable:
                    self.forget((user, event.name))
            case _:
                pass

    def forget(self, owner: Owner) -> None:
        """A session is over."""
        self.subs = {key: sub for key, sub in self.subs.items() if sub.owner != owner}
        self.work.pop(owner, None)
        self.branches.close_session(owner)

    def expire(self, user: str, state: SessionState) -> None:
        """Nobody has resumed a session."""
        self.expired.append(state)
        for handle in state.pending:
            self.settled(user, handle, Released())
        self.forget((user, state.name))
        self.push()

    # Commands.

    def execute(self, owner: Owner, session: CoreSession, event: CommandReceived) -> Any:
        """Execute a command; its result."""
        command: Command[Any] = event.command
        match command:
            case QueueDeclare(queue=name):
                if command.passive and name not in self.queues:
                    raise ExecutionError(NOT_FOUND, f"there is no queue {name!r}")
                self.queues.setdefault(name or "", deque())
            case QueueDelete(queue=name):
                self.queue(name)
                del self.queues[name or ""]
            case QueuePurge(queue=name):
                self.queue(name).clear()
            case QueueQuery(queue=name):
                if name not in self.queues:
                    return QueueQueryResult()
                users = sum([sub.queue == name for sub in self.subs.values()])
                return QueueQueryResult(name, message_count=len(self.queues[name]), subscriber_count=users)
            case ExchangeDeclare(exchange=name):
                if command.type != "direct":
                    raise ExecutionError(NOT_FOUND, f"there are no exchanges of type {command.type!r}")
                self.exchanges[name or ""] = "direct"
            case ExchangeDelete(exchange=name):
                self.exchange(name)
                del self.exchanges[name or ""]
            case ExchangeQuery(name=name):
                if name not in self.exchanges:
                    return ExchangeQueryResult(not_found=True)
                return ExchangeQueryResult(self.exchanges[name])
            case ExchangeBind(queue=queue, exchange=name, binding_key=key):
                self.exchange(name)
                self.queue(queue)
                self.bindings.setdefault((name or "", key or ""), set()).add(queue or "")
            case ExchangeUnbind(queue=queue, exchange=name, binding_key=key):
                self.exchange(name)
                self.bindings.get((name or "", key or ""), set()).discard(queue or "")
            case ExchangeBound(queue=queue, exchange=name, binding_key=key):
                bound = queue in self.bindings.get((name or "", key or ""), ())
                return ExchangeBoundResult(exchange_not_found=name not in self.exchanges, key_not_matched=not bound)
            case MessageSubscribe(queue=name):
                self.queue(name)
                if command.exclusive and any(each.queue == name for each in self.subs.values()):
                    raise ExecutionError(NOT_ALLOWED, f"queue {name!r} is in use")
                sub = Sub(owner, command)
                self.subs[owner, sub.destination] = sub
            case MessageCancel(destination=name):
                self.subs.pop((owner, name or ""), None)
            case MessageFlush():
                self.push()
            case MessageAcquire():
                return Acquired(SequenceSet.of(*self.acquire(owner, event.pendings)))
            case TxCommit():
                steps, self.work[owner] = self.work[owner], []
                for step in steps:
                    step()
            case TxRollback():
                self.work[owner] = []
            case _ if command.NAME.startswith("dtx."):
                now = asyncio.get_running_loop().time() + self.ahead
                self.branches.handle_timeout(now)
                return self.branches.execute(owner, command, now)
            case _ if command.NAME == "tx.select":
                self.work[owner] = []
            case _ if command.NAME in ("message.accept", "message.reject", "message.release"):
                self.branches.mark_work(owner)
            case _:
                raise ExecutionError(540, f"{command.NAME} isn't done here")
        return None

    def queue(self, name: str | None) -> deque[Entry]:
        """A queue. Raises ExecutionError when there is none."""
        found = self.queues.get(name or "")
        if found is None:
            raise ExecutionError(NOT_FOUND, f"there is no queue {name!r}")
        return found

    def exchange(self, name: str | None) -> None:
        """Raises ExecutionError when there is no such exchange."""
        if name not in self.exchanges:
            raise ExecutionError(NOT_FOUND, f"there is no exchange {name!r}")

    def published(self, owner: Owner, event: MessageReceived) -> None:
        """A client has sent a message."""
        session = self.attached[owner][1]
        name = event.destination
        if name not in self.exchanges:
            session.fail(ExecutionError(NOT_FOUND, f"there is no exchange {name!r}"), event.command_id)
            return
        key = event.message.delivery_properties.routing_key or ""
        queues = {key} & set(self.queues) if name == "" else self.bindings.get((name, key), set())
        self.executed.append(event.body)

        def enqueue() -> None:
            for queue in queues:
                entry = Entry(next(self._numbers), event.message)
                self.queues[queue].append(entry)
            self.push()

        xid = self.branches.mark_work(owner)
        work = self.work.get(xid if xid is not None else owner)
        if xid is not None and work is None:
            work = self.work[xid] = []
        if not queues and event.accepts:
            session.reject(event.command_id, code=1, text="unroutable")
            return
        if work is not None:
            work.append(enqueue)
            session.complete(event.command_id)
        else:
            session.complete(event.command_id)
            enqueue()

    def settle_branches(self) -> None:
        """Do what the branches' outcomes want."""
        for xid, outcome in self.branches.take_outcomes():
            steps = self.work.pop(xid, [])
            for _, session in list(self.attached.values()):
                session.decide(xid, committed=outcome == "committed")
            if outcome == "committed":
                for step in steps:
                    step()

    def acquire(self, owner: Owner, handles: tuple[Pending[Any], ...]) -> list[int]:
        """Take messages out of their queues; the numbers of those that were there."""
        found: list[int] = []
        for handle in handles:
            queue, entry = self.sent[owner[0], handle.key]
            if entry in self.queues[queue]:
                self.queues[queue].remove(entry)
                number = handle.key[2]
                assert isinstance(number, int)
                found.append(number)
        return found

    def settled(self, user: str, handle: Pending[Any], state: object) -> None:
        """A client has said what becomes of a message, or is gone."""
        found = self.sent.pop((user, handle.key), None)
        if found is None:
            return
        name, entry = found
        queue = self.queues.get(name, deque())
        if entry in queue:
            return  # It was only looked at.
        if isinstance(state, Released):
            properties = entry.message.delivery_properties
            entry.message = Message(
                entry.message.body,
                delivery_properties=DeliveryProperties(redelivered=True, routing_key=properties.routing_key),
            )
            queue.appendleft(entry)
        elif type(state).__name__ == "Rejected":
            self.rejected.append(entry.message.body)

    def push(self) -> None:
        """Send what is queued to who has credit."""
        for sub in list(self.subs.values()):
            where = self.attached.get(sub.owner)
            if where is None or where[1].report is not None:
                continue
            while self.push_one(sub, *where):
                where[0].flush()

    def push_one(self, sub: Sub, connection: ServerConnection, session: CoreSession) -> bool:
        """Send one message; whether that was possible."""
        queue = self.queues.get(sub.queue, deque())
        entries = [each for each in queue if each.number not in sub.browsed] if sub.acquire_mode else queue
        if not entries or not connection.is_open or not session.is_attached:
            return False
        entry = entries[0]
        try:
            sent = session.transfer(
                sub.destination, entry.message, accept_mode=sub.accept_mode, acquire_mode=sub.acquire_mode
            )
        except (NoCredit, EndpointClosed):
            return False
        if sub.acquire_mode:
            sub.browsed.add(entry.number)
        else:
            queue.popleft()
        if sent.outcome is not None:
            self.sent[sub.owner[0], sent.outcome.key] = sub.queue, entry
        return True


@asynccontextmanager
async def node(**options: Any) -> AsyncGenerator[tuple[Server, Node]]:
    """The broker, listening, with a queue "jobs"."""
    made = Node()
    made.queues["jobs"] = deque()
    async with serve(made.handle, version=AMQP_0_10, sessions=made.keeper, **options) as server:
        yield server, made


@asynccontextmanager
async def peer(**options: Any) -> AsyncGenerator[tuple[Connection, Node]]:
    """A client of a broker of its own."""
    async with node() as (server, made), connect(url_of(server), version=AMQP_0_10, **options) as connection:
        yield connection, made


XID = Xid(1, b"global", b"branch")

__all__ = ["NOT_FOUND", "XID", "Node", "node", "peer"]
