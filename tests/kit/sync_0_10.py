"""A small 0-10 broker on a real loopback socket, made of the engine's server role, one thread for each connection.

Queues are in memory and shared by its connections, the default exchange routes to the queue of that name, others by
their bindings. Sessions with a timeout are kept when their connection goes, with their subscriptions and what isn't
settled. A test bends it with the server's attributes, with `script`, which sees every event first, and with
`Session.do`, which runs something in the connection's thread.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from time import monotonic
from typing import Any

from amqp_sansio import AMQP_0_10, Closed, EndpointClosed, Event, Scope, Signal
from amqp_sansio.amqp_0_10 import (
    Acquired,
    Branches,
    Command,
    CommandReceived,
    Config,
    CreditChanged,
    DeliveryProperties,
    DetachCode,
    DtxCommit,
    DtxEnd,
    DtxForget,
    DtxGetTimeout,
    DtxPrepare,
    DtxRecover,
    DtxRollback,
    DtxSelect,
    DtxSetTimeout,
    DtxStart,
    ExchangeBind,
    ExecutionError,
    Message,
    MessageAccept,
    MessageAcquire,
    MessageCancel,
    MessageFlush,
    MessageReceived,
    MessageReject,
    MessageRelease,
    MessageSubscribe,
    NoCredit,
    QueueDeclare,
    QueueDelete,
    QueueQuery,
    QueueQueryResult,
    Resumed,
    SequenceSet,
    SessionClosed,
    SessionRequested,
    SessionState,
    TxCommit,
    TxRollback,
    TxSelect,
    Xid,
)
from tests.kit import sync_server
from tests.kit.sync_server import WAIT, wait_until

TX = "tx"
_DTX = (
    *(DtxSelect, DtxStart, DtxEnd, DtxCommit, DtxForget, DtxGetTimeout),
    *(DtxPrepare, DtxRecover, DtxRollback, DtxSetTimeout),
)


_numbers = count()


class Item:
    """A message in a queue; `number` is its place when it's put back."""

    def __init__(self, message: Message, redelivered: bool = False) -> None:
        self.number = next(_numbers)
        self.message = message
        self.redelivered = redelivered

    @property
    def content(self) -> Message:
        """The message as it's sent."""
        if not self.redelivered:
            return self.message
        old = self.message.delivery_properties
        fields: dict[str, Any] = {name: getattr(old, name) for name in DeliveryProperties.__match_args__}
        fields["redelivered"] = True
        return Message(
            self.message.body,
            delivery_properties=DeliveryProperties(**fields),
            message_properties=self.message.headers.message_properties,
        )


class Sent:
    """A message that was sent to a client and isn't settled, and the queue that it came from."""

    def __init__(self, queue: str, item: Item, acquired: bool) -> None:
        self.queue = queue
        self.item = item
        self.acquired = acquired


class Work:
    """What a transaction does: when it's committed, and when it's rolled back."""

    def __init__(self) -> None:
        self.commit: list[Callable[[], object]] = []
        self.rollback: list[Callable[[], object]] = []

    def end(self, *, committed: bool) -> None:
        """Do it, or undo it."""
        for each in self.commit if committed else self.rollback:
            each()
        self.commit.clear()
        self.rollback.clear()


class Attached:
    """A session as the broker knows it, whether it's attached or not."""

    def __init__(self, name: bytes, peer: Session, core: Any) -> None:
        self.name = name
        self.peer: Session | None = peer
        self.core = core
        self.state: SessionState | None = None
        self.subscriptions: dict[str, MessageSubscribe] = {}
        self.unsettled: dict[int, Sent] = {}
        self.seen: dict[str, set[int]] = {}
        self.tx: Work | None = None


class Session(sync_server.Session):
    """One connection of the server. `events` has everything that happened, `core` is the engine's end."""

    server: Server

    def __init__(self, server: Server, connected: socket.socket) -> None:
        self.attached: dict[int, Attached] = {}
        super().__init__(server, connected)

    def handle(self, event: Event) -> None:
        """Do what a broker does about an event."""
        with self.server.lock:
            self._handle(event)

    def handle_all(self, events: Iterable[Event]) -> None:
        """Do it about events that were held back, in the connection's thread."""

        def handle() -> None:
            for event in events:
                self.handle(event)

        self.do(handle)

    def pump(self, queue: str) -> None:
        """Send what waits in a queue to its subscribers on this connection."""
        with self.server.lock:
            for attached in list(self.attached.values()):
                for destination, subscribe in list(attached.subscriptions.items()):
                    if subscribe.queue == queue:
                        self._send(attached, destination, subscribe)

    # Inside.

    def _run(self) -> None:
        super()._run()
        core = self.core
        if core is not None:
            core.connection_lost("the transport is gone", monotonic())
            while not isinstance(event := core.next_event(), Signal):
                self.events.append(event)
                # What can't be completed any more is when the session is resumed.
                with suppress(EndpointClosed):
                    self.handle(event)

    def _handle(self, event: Event) -> None:
        if isinstance(event, SessionRequested):
            self._requested(event)
        elif isinstance(event, SessionClosed):
            self._detached(event)
        elif isinstance(event, Resumed):
            self._resumed(event)
        elif isinstance(event, MessageReceived):
            self._received(event)
        elif isinstance(event, CommandReceived):
            self._execute(event)
        elif isinstance(event, CreditChanged):
            attached = self.attached[event.channel]
            subscribe = attached.subscriptions.get(event.destination)
            if subscribe is not None:
                self._send(attached, event.destination, subscribe)
        elif not isinstance(event, Closed) or event.scope is Scope.CONNECTION:
            super().handle(event)

    # Sessions.

    def _requested(self, event: SessionRequested) -> None:
        server = self.server
        known = server.known.get(event.name)
        if known is None:
            core = self.core.accept_session(event.channel)
            self.attached[event.channel] = server.known[event.name] = Attached(event.name, self, core)
        elif known.peer is not None and not event.force:
            self.core.refuse_session(event.channel, DetachCode.SESSION_BUSY)
        elif known.peer is not None:
            # It's answered when the other connection has let go of it.
            server.waiting[event.name] = (self, event)
            known.peer.soon(known.peer.drop_later)
        else:
            known.core = self.core.accept_session(event.channel, known.state)
            known.peer = self
            known.state = None
            self.attached[event.channel] = known
            for subscribe in known.subscriptions.values():
                self.server.changed(subscribe.queue or "")

    def _resumed(self, event: Resumed) -> None:
        attached = self.attached[event.channel]
        for each in event.incomplete:
            number = getattr(each, "command_id", -1)
            if (attached.name, number) in self.server.done:
                attached.core.complete(number)

    def drop_later(self) -> None:
        """Another connection has taken a session of this one."""
        self._stop()

    def _detached(self, event: SessionClosed) -> None:
        server = self.server
        attached = self.attached.pop(event.channel)
        attached.peer = None
        if event.resumable and server.keeping:
            attached.state = attached.core.detached_state()
        else:
            self._forget(attached)
        waiting = server.waiting.pop(attached.name, None)
        if waiting is not None:
            peer, request = waiting
            peer.soon(lambda: peer.handle(request))

    def _forget(self, attached: Attached) -> None:
        server = self.server
        del server.known[attached.name]
        if attached.tx is not None:
            attached.tx.end(committed=False)
        server.branches.close_session(attached.name)
        self._decide()
        for sent in reversed(attached.unsettled.values()):
            if sent.acquired:
                sent.item.redelivered = True
                server.put(sent.queue, sent.item, back=True)

    # Messages that come.

    def _received(self, event: MessageReceived) -> None:
        server = self.server
        server.received.append(event)
        core = self.attached[event.channel].core
        properties = event.headers.delivery_properties
        key = (properties.routing_key if properties else None) or ""
        if event.destination and event.destination not in server.exchanges:
            error = ExecutionError(404, f"no exchange {event.destination!r}")
            core.fail(error, event.command_id, field="destination")
            return
        if key in server.holding:
            return
        outcome = server.outcomes.get(key, "accept")
        queues = server.routes(event.destination, key)
        unroutable = not queues and not (properties and properties.discard_unroutable)
        if event.accepts and (unroutable or outcome == "reject"):
            core.reject(event.command_id, code=1 if unroutable else 0, text="not here")
            return
        if outcome == "release":
            core.release(event.command_id)
            return
        work = self._work(self.attached[event.channel])
        for queue in queues:
            item = Item(event.message)
            if work is None:
                server.put(queue, item)
            else:
                work.commit.append(partial(server.put, queue, item))
        server.done.add((self.attached[event.channel].name, event.command_id))
        if event.accepts and server.accepting:
            core.accept(event.command_id)
        else:
            core.complete(event.command_id)

    # Messages that go.

    def _send(self, attached: Attached, destination: str, subscribe: MessageSubscribe) -> None:
        queue = subscribe.queue or ""
        waiting = self.server.queues.get(queue)
        core = attached.core
        if waiting is None or not core.is_attached:
            return
        browses = bool(subscribe.acquire_mode)
        seen = attached.seen.setdefault(destination, set())
        for item in list(waiting):
            if browses and id(item) in seen:
                continue
            try:
                sent = core.transfer(
                    destination,
                    item.content,
                    accept_mode=subscribe.accept_mode or 0,
                    acquire_mode=subscribe.acquire_mode or 0,
                )
            except NoCredit:
                return
            seen.add(id(item))
            if not browses:
                waiting.remove(item)
            if sent.outcome is not None:
                attached.unsettled[sent.command_id] = Sent(queue, item, not browses)

    # Commands.

    def _execute(self, event: CommandReceived) -> None:
        attached = self.attached[event.channel]
        command: Any = event.command
        self.server.executed.append(command)
        result: Any = None
        try:
            execute = self._dtx if isinstance(command, _DTX) else self._do
            result = execute(attached, command)
        except ExecutionError as error:
            attached.core.fail(error, event.command_id)
            return
        attached.core.complete(event.command_id, result)
        if isinstance(command, _DTX):
            self._decide()

    def _do(self, attached: Attached, command: Command[Any]) -> Any:
        server = self.server
        match command:
            case QueueDeclare(queue=queue):
                if command.passive and queue not in server.queues:
                    raise ExecutionError(404, f"no queue {queue!r}")
                server.queues.setdefault(queue or "", deque())
            case QueueDelete(queue=queue):
                server.queues.pop(queue or "", None)
            case QueueQuery(queue=queue):
                waiting = server.queues.get(queue or "")
                if waiting is None:
                    return QueueQueryResult()
                return QueueQueryResult(queue=queue, message_count=len(waiting))
            case ExchangeBind(queue=queue, exchange=exchange, binding_key=key):
                if exchange not in server.exchanges:
                    raise ExecutionError(404, f"no exchange {exchange!r}")
                server.bindings.setdefault((exchange or "", key or ""), []).append(queue or "")
            case MessageSubscribe(queue=queue, destination=destination):
                if queue not in server.queues:
                    raise ExecutionError(404, f"no queue {queue!r}")
                attached.subscriptions[destination or ""] = command
            case MessageCancel(destination=destination):
                attached.subscriptions.pop(destination or "", None)
            case MessageFlush(destination=destination):
                subscribe = attached.subscriptions[destination or ""]
                self._send(attached, destination or "", subscribe)
            case MessageAccept(transfers=ids):
                self._accept_all(attached, ids or ())
            case MessageReject(transfers=ids):
                for number in ids or ():
                    server.dead.append(attached.unsettled.pop(number).item)
            case MessageRelease(transfers=ids):
                for number in sorted(ids or (), reverse=True):
                    sent = attached.unsettled.pop(number)
                    if sent.acquired:
                        sent.item.redelivered |= bool(command.set_redelivered)
                        server.put(sent.queue, sent.item, back=True)
            case MessageAcquire(transfers=ids):
                return Acquired(SequenceSet.of(*[n for n in ids or () if self._acquire(attached, n)]))
            case TxSelect():
                attached.tx = Work()
            case TxCommit():
                assert attached.tx is not None
                attached.tx.end(committed=True)
            case TxRollback():
                assert attached.tx is not None
                attached.tx.end(committed=False)
            case _:
                raise ExecutionError(540, f"{command.NAME} isn't done here")
        return None

    def _work(self, attached: Attached) -> Work | None:
        if attached.tx is not None:
            return attached.tx
        xid = self.server.branches.mark_work(attached.name)
        return None if xid is None else self.server.works.setdefault(xid, Work())

    def _accept_all(self, attached: Attached, ids: Iterable[int]) -> None:
        work = self._work(attached)
        for number in ids:
            sent = attached.unsettled.pop(number)
            self.server.accepted.append(sent.item.message.body)
            if work is not None:
                work.rollback.append(partial(attached.unsettled.__setitem__, number, sent))

    def _acquire(self, attached: Attached, number: int) -> bool:
        sent = attached.unsettled[number]
        waiting = self.server.queues.get(sent.queue, ())
        if sent.item not in waiting:
            return False
        waiting.remove(sent.item)  # type: ignore[union-attr]
        sent.acquired = True
        return True

    def _dtx(self, attached: Attached, command: Command[Any]) -> Any:
        return self.server.branches.execute(attached.name, command, monotonic())

    def _decide(self) -> None:
        """Do what has become of branches."""
        server = self.server
        for xid, outcome in server.branches.take_outcomes():
            committed = outcome == "committed"
            server.works.pop(xid, Work()).end(committed=committed)
            for attached in server.known.values():
                if attached.peer is self and attached.core.is_attached:
                    attached.core.decide(xid, committed=committed)


class Server(sync_server.Server):
    """Listens on `port` of 127.0.0.1. `sessions` are its connections in the order they came.

    `known` are the sessions of 0-10 by name. What is published with a routing key in `holding` isn't executed, those in
    `outcomes` have "reject" or "release". `accepting`: it says accept before it's done, else completion has to do.
    `received` has all messages published, `accepted` the bodies of those that clients took, `dead` what they rejected.
    """

    sessions: list[Session]  # type: ignore[assignment]

    def __init__(
        self,
        *,
        config: Config | None = None,
        tls: ssl.SSLContext | None = None,
        script: sync_server.Script | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.known: dict[bytes, Attached] = {}
        self.waiting: dict[bytes, tuple[Session, SessionRequested]] = {}
        self.exchanges = {"amq.direct"}
        self.bindings: dict[tuple[str, str], list[str]] = {}
        self.holding: set[str] = set()
        self.outcomes: dict[str, str] = {}
        self.accepting = False
        self.received: list[MessageReceived] = []
        self.done: set[tuple[bytes, int]] = set()
        self.executed: list[Command[Any]] = []
        self.accepted: list[bytes] = []
        self.dead: list[Item] = []
        self.branches = Branches()
        self.works: dict[Xid, Work] = {}
        self.keeping = True
        self.configs = {AMQP_0_10: config or Config(mechanisms=("PLAIN", "SCRAM-SHA-256"), nonce="0123456789")}
        self.start(tls, script)
        self.queues: dict[str, deque[Item]] = {"jobs": deque()}  # type: ignore[assignment]

    def new_session(self, connected: socket.socket) -> Session:
        return Session(self, connected)

    def session(self) -> Session:
        """The newest connection."""
        wait_until(lambda: bool(self.sessions))
        return self.sessions[-1]

    def attached(self, name: bytes) -> Attached:
        """A session that is attached."""
        wait_until(lambda: name in self.known and self.known[name].peer is not None)
        return self.known[name]

    def routes(self, exchange: str, key: str) -> list[str]:
        """The queues of what is published to an exchange with a routing key."""
        if exchange:
            return list(self.bindings.get((exchange, key), ()))
        return [key] if key in self.queues else []

    def put(self, queue: str, item: Item, *, back: bool = False) -> None:
        """Put a message into a queue; `back`: where it came from."""
        waiting = self.queues.get(queue)
        if waiting is None:
            return
        if back:
            behind = [each for each in waiting if each.number > item.number]
            waiting.insert(len(waiting) - len(behind), item)
        else:
            waiting.append(item)
        self.changed(queue)

    def fill(self, queue: str, *bodies: bytes) -> None:
        """Put messages with these bodies into a queue, made when it isn't there."""
        with self.lock:
            waiting = self.queues.setdefault(queue, deque())
            waiting.extend([Item(Message(body, routing_key=queue)) for body in bodies])
            self.changed(queue)

    def bodies(self, queue: str) -> list[bytes]:
        """The bodies of the messages that wait in a queue."""
        with self.lock:
            return [item.message.body for item in self.queues[queue]]

    def changed(self, queue: str) -> None:
        """Have every connection look at a queue."""
        for session in self.sessions:
            session.soon(partial(session.pump, queue))


@contextmanager
def running(**options: Any) -> Generator[Server]:
    """A server for one test."""
    server = Server(**options)
    try:
        yield server
    finally:
        server.close()


__all__ = ["WAIT", "Attached", "Item", "Server", "Session", "running", "wait_until"]
