"""Restoring of 0-8 and 0-9-1: what a client declared, its channels and consumers, and what was under way.

`Topology` keeps what is declared now. `Restoring` declares it again, one step after the other: channels, exchanges,
queues, bindings, prefetch, consumers, and at last the calls and publishes that were in doubt. `Recall` and `Republish`
say how one of these is made again. A declaration that the server refuses ends a channel that nobody else uses.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from ...amqp_0_9_1 import BasicProperties
from ...errors import AmqpError
from ...events import Again, By, CloseReport, Pending
from ..recovery import TRIES, InDoubt, Recovered, Repeated, Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...amqp_0_8 import Connection as Connection08
    from ...amqp_0_9_1 import Channel as CoreChannel
    from ...amqp_0_9_1 import Connection as Connection091
    from ...amqp_0_9_1.spec import Method
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
    def lost(self) -> None: ...
    def resume(self) -> None: ...
    def resumed(self, tag: str) -> Any: ...


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
    def note(self, text: str, *, warns: bool = False) -> None: ...
    def redo_calls(self) -> Pending[None] | None: ...
    def reopen(self, pending: Pending[Any]) -> None: ...
    def restoring_done(self, event: Callable[[str, int], Recovered]) -> None: ...
    def stop(self, timer: Pending[None]) -> None: ...


ACCESS_REFUSED: Final = 403
NOT_FOUND: Final = 404
RESOURCE_LOCKED: Final = 405
_HELD: Final = frozenset({ACCESS_REFUSED, RESOURCE_LOCKED})
"""What a server answers while an earlier connection holds a queue, or is its exclusive consumer; or another client."""
_NOT_AGAIN: Final = frozenset({"tx.commit"})
"""Calls that end with their connection: nobody knows whether they were carried out."""


def replaced(method: Method, **changes: object) -> Any:
    """Return a method with other arguments."""
    fields: dict[str, Any] = {name: getattr(method, name) for name in method.__match_args__}
    fields.update(changes)
    return type(method)(**fields)


class Topology:
    """The exchanges, queues and bindings that this client has declared, and that are there as far as it knows.

    What the server ends by itself leaves it too: an auto-delete queue with its last consumer here, an auto-delete
    exchange with its last binding, a queue whose consumer the server cancels.
    """

    def __init__(self, limit: int) -> None:
        # Most exchanges, queues and bindings together; above it the oldest are forgotten.
        self.limit = limit
        # The methods that declared them, by name, in their order.
        self.exchanges: dict[str, Method] = {}
        # The same of queues, under the names that they have today.
        self.queues: dict[str, Method] = {}
        # The methods that bound queues or exchanges, by all that makes a binding one.
        self.bindings: dict[tuple[object, ...], Method] = {}
        # Queues whose names the server has chosen: they get another one on a new connection.
        self.named: set[str] = set()
        # The name of today of each of these, by all that it had before.
        self.renamed: dict[str, str] = {}
        # How many had to go for others; recovery can't bring these back.
        self.forgotten = 0
        # Exclusive, auto-delete and expiring queues: those of them without a consumer are forgotten first.
        self._fleeting: dict[str, None] = {}
        # How many consumers here each queue has.
        self._consumers: dict[str, int] = {}
        # The bindings of each queue or exchange, by its end of the binding: what goes with it is found without a
        # search.
        self._places: dict[tuple[str, str], dict[tuple[object, ...], None]] = {}

    def _make_room(self) -> bool:
        """Forget what is likeliest to be gone, or else the oldest, until there is room; return whether there is."""
        while len(self.exchanges) + len(self.queues) + len(self.bindings) >= self.limit:
            self.forgotten += 1
            unused = next((each for each in self._fleeting if each not in self._consumers), None)
            if unused is not None:
                self.forget_queue(unused)
            elif self.queues:
                self.forget_queue(next(iter(self.queues)))
            elif self.bindings:
                self._drop_binding(next(iter(self.bindings)))
            elif self.exchanges:
                self._forget_exchange(next(iter(self.exchanges)))
            else:
                return False
        return True

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
            if not method.passive and (queue in self.queues or self._make_room()):
                self.queues[queue] = method
                if method.exclusive or method.auto_delete or "x-expires" in (method.arguments or ()):
                    self._fleeting[queue] = None
                if not method.queue:
                    self.named.add(queue)
        elif name == "exchange.declare":
            if not method.passive and (method.exchange in self.exchanges or self._make_room()):
                self.exchanges[method.exchange] = method
        elif name in ("queue.bind", "exchange.bind"):
            if _binding(method) in self.bindings or self._make_room():
                self._add_binding(method)
        elif name in ("queue.unbind", "exchange.unbind"):
            self._drop_binding(_binding(method))
        elif name == "queue.delete":
            self.forget_queue(method.queue)
        elif name == "exchange.delete":
            self._forget_exchange(method.exchange)

    def consumer_began(self, queue: str) -> None:
        """Note that this client consumes from a queue."""
        self._consumers[queue] = self._consumers.get(queue, 0) + 1

    def consumer_ended(self, queue: str) -> None:
        """Note that one of its consumers has ended: an auto-delete queue ends with the last one (0-9-1, queue.declare,
        auto-delete)."""
        queue = self.renamed.get(queue, queue)
        left = self._consumers.pop(queue, 0) - 1
        if left > 0:
            self._consumers[queue] = left
        elif getattr(self.queues.get(queue), "auto_delete", False):
            self.forget_queue(queue)

    def forget_queue(self, queue: str) -> None:
        """Note that a queue is gone, and its bindings with it."""
        self.queues.pop(queue, None)
        self._fleeting.pop(queue, None)
        self.named.discard(queue)
        self._unbind(("queue", queue))

    def bindings_of(self, queue: str) -> list[tuple[object, ...]]:
        """Return the keys of a queue's bindings."""
        return list(self._places.get(("queue", queue), ()))

    def rename(self, old: str, new: str) -> None:
        """Let all that points to a queue follow to its new name."""
        self.queues[new] = self.queues.pop(old)
        if old in self._fleeting:
            del self._fleeting[old]
            self._fleeting[new] = None
        if old in self._consumers:
            self._consumers[new] = self._consumers.pop(old)
        self.named.discard(old)
        self.named.add(new)
        for before, name in list(self.renamed.items()):
            if name == old:
                self.renamed[before] = new
        self.renamed[old] = new
        if len(self.renamed) > self.limit:
            del self.renamed[next(iter(self.renamed))]
        methods = [self.resolved(method, "") for method in self.bindings.values()]
        self.bindings.clear()
        self._places.clear()
        for method in methods:
            self._add_binding(method)

    def _add_binding(self, method: Method) -> None:
        key = _binding(method)
        self.bindings[key] = method
        for place in _ends(method):
            self._places.setdefault(place, {})[key] = None

    def _drop_binding(self, key: tuple[object, ...]) -> None:
        method = self.bindings.pop(key, None)
        if method is None:
            return
        for place in _ends(method):
            others = self._places[place]
            del others[key]
            if not others:
                del self._places[place]
        source = str(getattr(method, "source", None) or getattr(method, "exchange", ""))
        left = ("source", source) in self._places or ("exchange", source) in self._places
        if not left and getattr(self.exchanges.get(source), "auto_delete", False):
            self._forget_exchange(source)

    def _forget_exchange(self, name: str) -> None:
        self.exchanges.pop(name, None)
        self._unbind(("source", name), ("exchange", name), ("destination", name))

    def _unbind(self, *places: tuple[str, str]) -> None:
        for place in places:
            for key in list(self._places.get(place, ())):
                self._drop_binding(key)


def _ends(binding: Any) -> list[tuple[str, str]]:
    """Return both ends of a binding, each with the name of its field."""
    fields = ("queue", "exchange") if hasattr(binding, "queue") else ("source", "destination")
    return [(field, getattr(binding, field)) for field in fields]


def _binding(method: Any) -> tuple[object, ...]:
    if hasattr(method, "queue"):
        return "queue", method.queue, method.exchange, method.routing_key, repr(method.arguments)
    return "exchange", method.destination, method.source, method.routing_key, repr(method.arguments)


class Recall(Repeated[State]):
    """A call that is made again if its connection is lost; `original` is the caller's pending then."""

    __slots__ = ("method",)

    def __init__(self, state: State, method: Method) -> None:
        super().__init__(state)
        # The request, as it was sent.
        self.method = method

    def answered(self, pending: Pending[Any]) -> None:
        """Note what was declared, and tell the caller."""
        result: Any = pending.result
        if self.method.NAME == "tx.commit":
            self.state.sent.clear()
        client, topology = self.state.client, self.state.client.topology
        before = topology.forgotten
        topology.answered(self.state, self.method, result)
        if topology.forgotten and not before:
            text = f"{topology.limit} exchanges, queues and bindings are kept for recovery: others are forgotten"
            client.note(f"{text}, and not declared again after a loss; see RecoveryPolicy.declared", warns=True)
        self.complete(result)

    def failed(self, pending: Pending[Any]) -> None:
        report = getattr(pending.error, "report", None)
        queue = getattr(self.method, "queue", "")
        if queue and isinstance(report, CloseReport) and report.code == NOT_FOUND:
            self.state.client.topology.forget_queue(queue)
        super().failed(pending)

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
        # The message, which is kept until its outcome is known: `kept` of the client counts it.
        self.body, self.exchange, self.routing_key, self.mandatory, self.immediate, self.properties, state = published
        super().__init__(state)
        # How often it was sent; the policy bounds that.
        self.tries = 1

    def answered(self, pending: Pending[Any]) -> None:
        """Tell the caller its outcome."""
        self.complete(pending.result)

    def lost(self, pending: Pending[Any]) -> bool:
        """Wait for the next connection, or report the message."""
        client = self.state.client
        assert client.recovery is not None
        if self.is_doubtful(client.recovery.policy, pending, self.tries):
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
    """The steps after a connection is open again. Each makes one call, and its answer begins the next.

    A queue or a consumer that somebody else holds, perhaps the lost connection, is left out and tried again at the end,
    for `RecoveryPolicy.patience` seconds. Then the rest goes on, and what is held is tried until the policy's deadline.
    """

    def __init__(self, client: Client) -> None:
        # What is restored; it has one at a time.
        self.client = client
        # What the server refused, and its words, for `Recovered`.
        self.failures: list[tuple[str, str]] = []
        # What somebody else holds: the kind of step, its item, and the server's words.
        self.held: list[tuple[str, Any, str]] = []
        # Queues among these: their bindings and consumers wait too.
        self._held_queues: set[str] = set()
        # The channel that a refusal has ended and that is opened again before the next step.
        self._reopening: State | None = None
        # Of the pause before what is held is tried again.
        self._timer: Pending[None] | None = None
        # Seconds of these pauses so far.
        self._waited = 0.0
        # How often it was tried: the pauses grow with it.
        self._turns = 0
        # Whether the patience is over: the connection is back for its users, and only what is held goes on.
        self._is_late = False
        # Old and new names of queues that the server names.
        self.renamed: list[tuple[str, str]] = []
        # A channel for declarations, which a refusal may end: made when it is needed.
        self._work: CoreChannel | None = None
        # The one under way: its kind, and what it is about.
        self._step: tuple[str, Any] = ("start", None)
        # Queues that aren't there, so that their consumers can't be started.
        self._missing: set[str] = set()
        topology, states = client.topology, list(client.channels.values())
        inboxes = [inbox for state in states for inbox in state.inboxes.values() if inbox.started]
        # What is left, in order: channels, exchanges, queues, bindings, prefetch, consumers.
        self._steps: deque[tuple[str, Any]] = deque(
            [
                *(("channel", state) for state in states),
                *(("exchange", name) for name in topology.exchanges),
                *(("queue", name) for name in topology.queues),
                *(("binding", key) for key in topology.bindings),
                *(("prefetch", state) for state in states),
                *((kind, inbox) for inbox in inboxes for kind in ("look", "consumer")),
            ]
        )

    def next(self) -> None:
        """Do what comes next until there is something to wait for."""
        while True:
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
            if self._step[0] == "end":
                break
            if self.held and self._wait():
                return
            self._steps.append(("end", None) if self._is_late else ("redo", None))
        if self._work is not None and self._work.is_open:
            self._work.close()
        if self._is_late:
            self._end_late()
            return
        self._is_late = True
        self.client.restoring_done(self._event)
        if self.held:
            # The rest goes on.
            self.client.restoring = self
            self._step = ("start", None)
            self.next()

    # For the client.

    def end(self) -> None:
        """End with the connection."""
        self.client.restoring = None
        if self._timer is not None:
            self.client.stop(self._timer)

    def answered(self, pending: Pending[Any]) -> None:
        """Go on after an answer."""
        if self.client.restoring is not self:
            return  # The connection was lost once more.
        kind, item = self._step
        if kind == "pause":
            held, self.held = self.held, []
            self._steps.extend(("probe" if self._is_late and each == "consumer" else each, on) for each, on, _ in held)
        elif kind == "queue":
            if item in self._held_queues:
                self._held_queues.discard(item)
                self._steps.extend(("binding", key) for key in self.client.topology.bindings_of(item))
                self._steps.extend(("consumer", inbox) for inbox in self._consumers_of(item))
            if item in self.client.topology.named:
                reply: Any = pending.result
                self._renamed(item, reply.queue)
        elif kind == "probe":
            self._steps.extendleft([("consumer", item), ("unprobe", item)])
        self.next()

    def failed(self, pending: Pending[Any]) -> None:
        """Note what can't be restored and go on; try again what the lost connection may still hold."""
        error = pending.error
        if error is None or self.client.restoring is not self:
            return
        report = getattr(error, "report", None)
        kind, item = self._step
        if kind in ("queue", "consumer", "probe") and isinstance(report, CloseReport) and report.code in _HELD:
            if kind == "queue":
                self._held_queues.add(item)
            self.held.append(("consumer" if kind == "probe" else kind, item, str(error)))
            if kind == "consumer":
                self._reopening = item.channel  # The refusal ends it: see `reopens`.
                return
        else:
            if kind == "look":
                self._missing.add(item.queue)
            self._note(error)
        self.next()

    def reopens(self, state: State) -> bool:
        """Note that a channel has ended; return whether it lives on, because it ended with a consumer that somebody
        holds."""
        if self._reopening is not state:
            return False
        self._reopening = None
        held = [each for _, each, _ in self.held]
        for inbox in state.inboxes.values():
            inbox.lost()
        others = [each for each in state.inboxes.values() if each.started and each not in held]
        begun = [each for each in others if ("consumer", each) not in self._steps]
        self._steps.extendleft([("consumer", each) for each in begun])
        self._steps.extendleft([("prefetch", state), ("channel", state)])
        self.next()
        return True

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
        if key[0] == "queue" and key[1] in self._held_queues:
            return None
        return self._declare(self.client.topology.bindings.get(key))

    def _prefetch(self, state: State) -> Pending[Any] | None:
        if state.prefetch is None or not state.core.is_open:
            return None
        return state.core.call(state.prefetch)

    def _look(self, inbox: Inbox) -> Pending[Any] | None:
        """See whether a queue is there that this client hasn't declared: a missing one would end the channel."""
        inbox.follow()
        queues = self.client.topology.queues
        if inbox.ended or inbox.queue in queues or inbox.queue.startswith("amq.rabbitmq."):
            return None
        return self._working.call(inbox.channel.method("queue.declare", queue=inbox.queue, passive=True))

    def _consumer(self, inbox: Inbox) -> Pending[Any] | None:
        state = inbox.channel
        if inbox.ended or state.inboxes.get(inbox.tag) is not inbox or inbox.queue in self._held_queues:
            return None
        if inbox.queue in self._missing:
            state.consumer_cancelled(inbox.tag)
            return None
        inbox.resume()
        return inbox.starting

    def _redo(self, _: object) -> Pending[Any] | None:
        pending = self.client.redo_calls()
        self._steps.append(("end", None) if pending is None else ("redo", None))
        return pending

    def _probe(self, inbox: Inbox) -> Pending[Any] | None:
        """See whether a consumer would be refused, which would end its channel with all that is on it."""
        if inbox.ended or inbox.channel.inboxes.get(inbox.tag) is not inbox:
            return None
        work = self._working
        work.call(inbox.channel.method("basic.qos", prefetch_count=1))
        return work.call(inbox.resumed(_PROBE))

    def _unprobe(self, inbox: Inbox) -> Pending[Any] | None:
        return self._working.call(inbox.channel.method("basic.cancel", consumer_tag=_PROBE))

    def _nothing(self, _: object) -> None:
        """Do nothing."""

    _DO: ClassVar[dict[str, Callable[[Restoring, Any], Pending[Any] | None]]] = {
        "channel": _channel,
        "exchange": _exchange,
        "queue": _queue,
        "binding": _bind,
        "prefetch": _prefetch,
        "look": _look,
        "consumer": _consumer,
        "redo": _redo,
        "probe": _probe,
        "unprobe": _unprobe,
        "end": _nothing,
    }

    # Internals.

    @property
    def _working(self) -> CoreChannel:
        """A channel that may end with a refused declaration."""
        if self._work is None or not (self._work.is_open or self._work.report is None):
            try:
                self._work = self.client.core.open_channel()
            except AmqpError:
                # If all numbers are in use, a refusal ends one of them.
                state = next(iter(self.client.channels.values()), None)
                if state is None:
                    raise
                return state.core
        return self._work

    def _wait(self) -> bool:
        """Begin to wait before what is held is tried again; return whether it is worth while."""
        assert self.client.recovery is not None
        policy = self.client.recovery.policy
        limit = policy.deadline
        if not self._is_late:
            limit = policy.patience if limit is None else min(policy.patience, limit / 2)
        if limit is not None and self._waited >= limit:
            return False
        delay = min(policy.first_delay * policy.factor**self._turns, policy.ceiling)
        if limit is not None:
            delay = min(delay, limit - self._waited)
        self._turns += 1
        self._waited += delay
        self._timer = self.client.after(delay)
        self._step = ("pause", None)
        self._timer.again = self
        return True

    def _end_late(self) -> None:
        """Give up what is still held, and end."""
        self.client.restoring = None
        for kind, item, reason in self.held:
            inboxes = self._consumers_of(item) if kind == "queue" else [item]
            self.client.note(f"{kind} {_name(item)} isn't restored: {reason}", warns=True)
            if kind == "queue":
                self.client.topology.forget_queue(item)
            for inbox in inboxes:
                inbox.channel.consumer_cancelled(inbox.tag)

    def _consumers_of(self, queue: str) -> list[Inbox]:
        inboxes = [inbox for state in self.client.channels.values() for inbox in state.inboxes.values()]
        return [each for each in inboxes if each.started and each.queue == queue]

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
        self.failures.append((f"{kind} {_name(item)}", str(error)))
        if self._is_late:
            self.client.note(f"{kind} {_name(item)} isn't restored: {error}", warns=True)

    def _event(self, address: str, attempts: int) -> Recovered:
        client = self.client
        doubts, client.doubts = tuple(client.doubts), []
        resent, client.resent = client.resent, 0
        held = [(f"{kind} {_name(item)}", f"{reason}; it is tried again") for kind, item, reason in self.held]
        return Recovered(address, attempts, doubts, resent, tuple(self.renamed), (*self.failures, *held))


_PROBE: Final = "amqp-sansio-probe"


def _name(item: Any) -> object:
    return getattr(item, "tag", None) or getattr(item, "number", None) or item


__all__ = ["Recall", "Republish", "Restoring", "Topology"]
