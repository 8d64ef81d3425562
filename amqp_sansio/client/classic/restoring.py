"""Restoring of 0-8 and 0-9-1: what a client declared, its channels and consumers, and what was under way.

`Topology` keeps what is declared now. `Restoring` declares it again, one step after the other: channels, exchanges,
queues, bindings, prefetch, consumers, and at last the calls and publishes that were in doubt. `Recall` and `Republish`
say how one of these is made again. A declaration that the server refuses ends a channel that nobody else uses.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from ...amqp_0_9_1 import BasicProperties
from ...errors import AmqpError, LimitExceeded
from ...events import By, CloseReport, Pending
from ..recovery import TRIES, Again, InDoubt, Recovered, Repeated, Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...amqp_0_8 import Connection as Connection08
    from ...amqp_0_9_1 import Channel as CoreChannel
    from ...amqp_0_9_1 import Connection as Connection091
    from ...amqp_0_9_1 import Method
    from ..recovery import Recovery


class Inbox(Protocol):
    """A consumer to be started again."""

    ended: bool
    started: bool
    starting: Pending[Any] | None
    tag: str

    @property
    def channel(self) -> State: ...
    @property
    def queue(self) -> str: ...
    def follow(self) -> None: ...
    def resume(self) -> None: ...


class State(Protocol):
    """A channel to be opened again; see `ChannelState`."""

    core: CoreChannel
    last_queue: str
    mode: str
    prefetch: Any
    sent: deque[InDoubt]

    @property
    def client(self) -> Client: ...
    @property
    def number(self) -> int: ...
    @property
    def inboxes(self) -> Mapping[str, Inbox]: ...
    def method(self, name: str, **fields: Any) -> Any: ...
    def use(self, core: CoreChannel) -> None: ...
    def consumer_cancelled(self, tag: str) -> None: ...


class Client(Protocol):
    """The client whose connection is restored; see `ClassicClient`."""

    core: Connection091 | Connection08
    doubts: list[InDoubt]
    kept: int
    recovery: Recovery | None
    redo: deque[Again]
    resent: int
    restoring: Restoring | None
    topology: Topology

    @property
    def channels(self) -> Mapping[int, State]: ...
    def after(self, seconds: float) -> Pending[None]: ...
    def answer(self, pending: Pending[Any], result: object) -> None: ...
    def drop_channel(self, number: int, report: CloseReport) -> None: ...
    def fail(self, pending: Pending[Any], error: AmqpError) -> None: ...
    def redo_calls(self) -> Pending[None] | None: ...
    def reopen(self, pending: Pending[Any]) -> None: ...
    def restoring_done(self, event: Callable[[str, int], Recovered]) -> None: ...


RESOURCE_LOCKED: Final = 405
_NOT_AGAIN: Final = frozenset({"tx.commit"})
"""Calls that end with their connection: nobody knows whether they were carried out."""


def replaced(method: Method, **changes: object) -> Any:
    """Return a method with other arguments."""
    fields: dict[str, Any] = {name: getattr(method, name) for name in method.__match_args__}
    fields.update(changes)
    return type(method)(**fields)


class Topology:
    """The exchanges, queues and bindings that this client has declared and not deleted.

    `limit` is the most of them together. `named` are the queues whose names the server has chosen. `renamed` has
    today's name of each of these by all that it had before.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.exchanges: dict[str, Method] = {}
        self.queues: dict[str, Method] = {}
        self.bindings: dict[tuple[object, ...], Method] = {}
        self.named: set[str] = set()
        self.renamed: dict[str, str] = {}

    def check_room(self, method: Method) -> None:
        """Raise LimitExceeded before a declaration for which there is no room."""
        size = len(self.exchanges) + len(self.queues) + len(self.bindings)
        if size >= self.limit and method.NAME in _DECLARING:
            text = f"{size} exchanges, queues and bindings are kept for recovery, RecoveryPolicy.declared allows"
            raise LimitExceeded(f"{method.NAME}: {text} {self.limit}; delete some, or allow more")

    def resolved(self, method: Any, last_queue: str) -> Any:
        """Return a method with the names of today: an empty one is the channel's last queue, wherever that is now."""
        queue = getattr(method, "queue", None)
        if queue is None or method.NAME == "queue.declare":
            return method
        name = queue or last_queue
        name = self.renamed.get(name, name)
        return method if name == queue else replaced(method, queue=name)

    def answered(self, state: State, method: Any, reply: Any) -> None:
        """Note a method that the server has carried out."""
        name = method.NAME
        if name == "queue.declare":
            queue = method.queue if reply is None else reply.queue
            state.last_queue = queue
            if not method.passive:
                self.queues[queue] = method
                if not method.queue:
                    self.named.add(queue)
        elif name == "exchange.declare":
            if not method.passive:
                self.exchanges[method.exchange] = method
        elif name in ("queue.bind", "exchange.bind"):
            self.bindings[_binding(method)] = method
        elif name in ("queue.unbind", "exchange.unbind"):
            self.bindings.pop(_binding(method), None)
        elif name == "queue.delete":
            self.forget_queue(method.queue)
        elif name == "exchange.delete":
            self.exchanges.pop(method.exchange, None)
            gone = ("source", method.exchange), ("exchange", method.exchange), ("destination", method.exchange)
            self._unbind(*gone)

    def forget_queue(self, queue: str) -> None:
        """Note that a queue is deleted, and its bindings with it."""
        self.queues.pop(queue, None)
        self.named.discard(queue)
        self._unbind(("queue", queue))

    def rename(self, old: str, new: str) -> None:
        """Let all that points to a queue follow to its new name."""
        self.queues[new] = self.queues.pop(old)
        self.named.discard(old)
        self.named.add(new)
        for before, name in list(self.renamed.items()):
            if name == old:
                self.renamed[before] = new
        self.renamed[old] = new
        if len(self.renamed) > self.limit:
            del self.renamed[next(iter(self.renamed))]
        methods = [self.resolved(method, "") for method in self.bindings.values()]
        self.bindings = {_binding(method): method for method in methods}

    def _unbind(self, *gone: tuple[str, str]) -> None:
        for key, method in list(self.bindings.items()):
            if any(getattr(method, field, None) == name for field, name in gone):
                del self.bindings[key]


_DECLARING: Final = frozenset({"exchange.declare", "queue.declare", "queue.bind", "exchange.bind"})


def _binding(method: Any) -> tuple[object, ...]:
    if hasattr(method, "queue"):
        return "queue", method.queue, method.exchange, method.routing_key, repr(method.arguments)
    return "exchange", method.destination, method.source, method.routing_key, repr(method.arguments)


class Recall(Repeated[State]):
    """A call that is made again if its connection is lost; `original` is the caller's pending then."""

    __slots__ = ("method",)

    def __init__(self, state: State, method: Method) -> None:
        super().__init__(state)
        self.method = method

    def answered(self, pending: Pending[Any]) -> None:
        """Note what was declared, and tell the caller."""
        result: Any = pending.result
        if self.method.NAME == "tx.commit":
            self.state.sent.clear()
        self.state.client.topology.answered(self.state, self.method, result)
        self.complete(result)

    def lost(self, pending: Pending[Any]) -> bool:
        """Wait for the next connection, unless there is nothing to do on it, or only the caller knows."""
        client, name = self.state.client, self.method.NAME
        if name in _NOT_AGAIN:
            return False
        self.adopt(pending)
        if name == "basic.cancel":
            # A consumer is gone with its connection.
            tag: str = getattr(self.method, "consumer_tag")  # noqa: B009
            self.complete(self.state.method("basic.cancel-ok", consumer_tag=tag))
        else:
            client.redo.append(self)
        return True

    def redo(self) -> None:
        """Make the call on the channel of today; the channel itself has been opened."""
        state = self.state
        if self.method.NAME in _RESTORED:
            self.complete(None)
            return
        pending = state.core.call(state.client.topology.resolved(self.method, state.last_queue))
        if pending.done:
            self.answered(pending)
        else:
            pending.again = self


_RESTORED: Final = frozenset({"channel.open", "confirm.select", "tx.select", "tx.rollback"})
"""Calls that nobody makes again: restoring has made them, or the end of the connection."""


Published: TypeAlias = "tuple[bytes, str, str, bool, bool, BasicProperties | None, State]"
"""A publish whose outcome is under way: body, exchange, routing key, mandatory, immediate, properties, channel.

It stands for its `Republish` as `pending.again`, since most are never needed.
"""


class Republish(Repeated[State]):
    """An unconfirmed publish, which is made again if its connection is lost, or reported."""

    __slots__ = ("body", "exchange", "immediate", "mandatory", "properties", "routing_key", "tries")

    def __init__(self, published: Published) -> None:
        self.body, self.exchange, self.routing_key, self.mandatory, self.immediate, self.properties, state = published
        super().__init__(state)
        self.tries = 1

    def answered(self, pending: Pending[Any]) -> None:
        """Tell the caller its outcome."""
        self.complete(pending.result)

    def lost(self, pending: Pending[Any]) -> bool:
        """Wait for the next connection, or report the message."""
        client = self.state.client
        assert client.recovery is not None
        if client.recovery.policy.in_doubt == "report":
            client.doubts.append(InDoubt((self.exchange, self.routing_key), self.body, self.properties))
            return False
        self.adopt(pending)
        client.redo.append(self)
        return True

    def redo(self) -> None:
        """Publish it once more, with a header that counts."""
        self.tries += 1
        pending = self.state.core.publish(
            self.body,
            exchange=self.exchange,
            routing_key=self.routing_key,
            mandatory=self.mandatory,
            immediate=self.immediate,
            properties=_counted(self.properties, self.tries),
        )
        assert pending is not None
        pending.again = self
        self.state.client.resent += 1

    def release(self) -> None:
        self.state.client.kept -= len(self.body)


def _counted(properties: BasicProperties | None, tries: int) -> BasicProperties:
    if properties is None:
        return BasicProperties(headers={TRIES: tries})
    return properties.replace(headers={**(properties.headers or {}), TRIES: tries})


class Restoring(Steps):
    """The steps after a connection is open again. Each makes one call, and its answer begins the next."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.failures: list[tuple[str, str]] = []
        self.renamed: list[tuple[str, str]] = []
        self._work: CoreChannel | None = None
        self._step: tuple[str, Any] = ("start", None)
        self._missing: set[str] = set()
        topology, states = client.topology, list(client.channels.values())
        inboxes = [inbox for state in states for inbox in state.inboxes.values() if inbox.started]
        self._steps: deque[tuple[str, Any]] = deque(
            [
                *(("channel", state) for state in states),
                *(("exchange", name) for name in topology.exchanges),
                *(("queue", name) for name in topology.queues),
                *(("binding", key) for key in topology.bindings),
                *(("prefetch", state) for state in states),
                *((kind, inbox) for inbox in inboxes for kind in ("look", "consumer")),
                ("redo", None),
            ]
        )

    def next(self) -> None:
        """Do what comes next until there is something to wait for."""
        while self._steps:
            self._step = self._steps.popleft()
            kind, item = self._step
            try:
                pending = self._DO[kind](self, item)
            except AmqpError as error:
                self._note(error)
                continue
            if pending is not None:
                pending.again = self
                return
        if self._work is not None and self._work.is_open:
            self._work.close()
        self.client.restoring_done(self._event)

    # For the client.

    def answered(self, pending: Pending[Any]) -> None:
        """Go on after an answer."""
        if self.client.restoring is not self:
            return  # The connection was lost once more.
        kind, item = self._step
        if kind == "queue" and item in self.client.topology.named:
            reply: Any = pending.result
            self._renamed(item, reply.queue)
        self.next()

    def failed(self, pending: Pending[Any]) -> None:
        """Note what can't be restored; go on, or try a queue again that the lost connection still has."""
        error = pending.error
        if error is None or self.client.restoring is not self:
            return
        report = getattr(error, "report", None)
        kind, item = self._step
        if kind == "queue" and isinstance(report, CloseReport) and report.code == RESOURCE_LOCKED:
            self._steps.appendleft(self._step)
            assert self.client.recovery is not None
            timer = self.client.after(self.client.recovery.policy.first_delay)
            self._step = ("pause", None)
            timer.again = self
            return
        if kind == "look":
            self._missing.add(item.queue)
        self._note(error)
        self.next()

    # Steps.

    def _channel(self, state: State) -> Pending[Any] | None:
        if self.client.channels.get(state.core.number) is not state:
            return None
        try:
            core = self.client.core.open_channel(state.core.number)
        except AmqpError as error:
            self.client.drop_channel(state.number, CloseReport(By.TRANSPORT, 0, f"not opened again: {error}"))
            raise
        state.use(core)
        assert core.opening is not None
        return core.call(state.method(state.mode)) if state.mode else core.opening

    def _exchange(self, name: str) -> Pending[Any] | None:
        return self._declare(self.client.topology.exchanges.get(name))

    def _queue(self, name: str) -> Pending[Any] | None:
        return self._declare(self.client.topology.queues.get(name))

    def _bind(self, key: tuple[object, ...]) -> Pending[Any] | None:
        renamed = self.client.topology.renamed
        queue = key[1]
        if isinstance(queue, str) and queue in renamed:
            key = (key[0], renamed[queue], *key[2:])
        return self._declare(self.client.topology.bindings.get(key))

    def _prefetch(self, state: State) -> Pending[Any] | None:
        if state.prefetch is None or not state.core.is_open:
            return None
        return state.core.call(state.prefetch)

    def _look(self, inbox: Inbox) -> Pending[Any] | None:
        """See whether a queue is there that this client hasn't declared: a missing one would end the channel."""
        inbox.follow()
        if inbox.ended or inbox.queue in self.client.topology.queues or inbox.queue.startswith("amq.rabbitmq."):
            return None
        return self._working.call(inbox.channel.method("queue.declare", queue=inbox.queue, passive=True))

    def _consumer(self, inbox: Inbox) -> Pending[Any] | None:
        state = inbox.channel
        if inbox.ended or state.inboxes.get(inbox.tag) is not inbox:
            return None
        if inbox.queue in self._missing:
            state.consumer_cancelled(inbox.tag)
            return None
        inbox.resume()
        return inbox.starting

    def _redo(self, _: object) -> Pending[Any] | None:
        pending = self.client.redo_calls()
        if pending is not None:
            self._steps.append(("redo", None))
        return pending

    _DO: ClassVar[dict[str, Callable[[Restoring, Any], Pending[Any] | None]]] = {
        "channel": _channel,
        "exchange": _exchange,
        "queue": _queue,
        "binding": _bind,
        "prefetch": _prefetch,
        "look": _look,
        "consumer": _consumer,
        "redo": _redo,
    }

    # Internals.

    @property
    def _working(self) -> CoreChannel:
        """A channel that may end with a refused declaration."""
        if self._work is None or not (self._work.is_open or self._work.report is None):
            try:
                self._work = self.client.core.open_channel()
            except AmqpError:
                # All numbers are in use; then a refusal ends one of them.
                return next(iter(self.client.channels.values())).core
        return self._work

    def _declare(self, method: Method | None) -> Pending[Any] | None:
        if method is None:
            return None
        pending = self._working.call(method)
        return None if pending.done else pending

    def _renamed(self, old: str, new: str) -> None:
        topology = self.client.topology
        self.renamed.append((old, new))
        if new != old:
            topology.rename(old, new)
        for state in self.client.channels.values():
            if state.last_queue == old:
                state.last_queue = new

    def _note(self, error: AmqpError) -> None:
        kind, item = self._step
        name = getattr(item, "tag", None) or getattr(item, "number", None) or item
        self.failures.append((f"{kind} {name}", str(error)))

    def _event(self, address: str, attempts: int) -> Recovered:
        client = self.client
        doubts, client.doubts = tuple(client.doubts), []
        resent, client.resent = client.resent, 0
        return Recovered(address, attempts, doubts, resent, tuple(self.renamed), tuple(self.failures))


__all__ = ["Recall", "Republish", "Restoring", "Topology"]
