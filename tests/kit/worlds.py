"""Where a scenario runs: on asyncio or the blocking adapter in a simulated world, or on asyncio, trio, Twisted or the
blocking adapter with sockets and real time.

A scenario is a coroutine over the client's API. The blocking adapter has the same methods without `await`: there it
gets a `StandIn` for each object, whose calls begin when they are awaited and are over then.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import pytest
import trio
import trio.testing
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.protocol import connectionDone
from twisted.internet.selectreactor import SelectReactor

import amqp_sansio_asyncio
import amqp_sansio_sync
from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version, messaging
from amqp_sansio.client.amqp_0_10 import publishing, subscription
from amqp_sansio.client.amqp_0_10 import session as session_0_10
from amqp_sansio.client.amqp_0_10 import transaction as transaction_0_10
from amqp_sansio.client.amqp_0_10.connection import Connection as Connection010
from amqp_sansio.client.amqp_1_0 import receiver, requester, sender, session, transaction
from amqp_sansio.client.amqp_1_0.connection import Connection as Connection10
from amqp_sansio.client.classic import channel, connection, consumer
from amqp_sansio.client.inbox import EventStream
from amqp_sansio.client.opening import Opening
from amqp_sansio.testing.simulate import World as SimulatedWorld
from amqp_sansio_asyncio import messaging as asyncio_messaging
from amqp_sansio_asyncio.simulated import simulated, simulated_loop
from amqp_sansio_sync import amqp_0_10 as sync_0_10
from amqp_sansio_sync import amqp_1_0 as sync_1_0
from amqp_sansio_sync import messaging as sync_messaging
from amqp_sansio_sync.simulated import inside
from amqp_sansio_sync.system import current
from examples import any_version, trio_client, twisted_client
from tests.kit.scripted import ScriptedBroker
from tests.kit.world_broker import WorldBroker

_T = TypeVar("_T")
_R = TypeVar("_R", covariant=True)

SECONDS = 30.0
"""How long a scenario may take, and what it waits for."""
TURN = 0.001
"""Seconds between two looks at what is waited for."""
IDLE_TURNS = 10
"""Turns of an event loop without a step of the world after which nobody has anything to do before time passes."""
MAKERS: dict[Version, Any] = {
    AMQP_0_8: any_version.version_0_8,
    AMQP_0_9_1: any_version.classic,
    AMQP_0_10: any_version.version_0_10,
    AMQP_1_0: any_version.version_1_0,
}


class Started(Protocol[_R]):
    """Something that runs beside the scenario; `await` it for its result."""

    @property
    def done(self) -> bool: ...
    def __await__(self) -> Generator[Any, None, _R]: ...


class World:
    """How a scenario connects, does several things at once, and waits."""

    name = ""
    has_threads = False
    is_adapter = False
    """Whether it is one of the project's adapters, not an example's."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything of it."""

    def broker(self, **options: Any) -> ScriptedBroker:
        """A broker that its clients reach; enter its context."""
        return ScriptedBroker(**options)

    @contextmanager
    def beside(self, program: Callable[[], Coroutine[Any, Any, object]]) -> Generator[None]:
        """Run a program of asyncio beside the scenarios, for the time of this context; then it is cancelled."""
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[object]]] = Future()

        async def main() -> None:
            task = asyncio.ensure_future(program())
            ready.set_result((asyncio.get_running_loop(), task))
            await asyncio.wait([task])

        thread = threading.Thread(target=lambda: asyncio.run(main()))
        thread.start()
        loop, task = ready.result()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(task.cancel)
            thread.join()
        if not task.cancelled():
            task.result()

    def now(self) -> float:
        """The time that its waits take, in seconds."""
        return monotonic()

    def run(self, scenario: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
        """Run a scenario to its end."""
        raise NotImplementedError

    def connect(self, url: str, version: Version = AMQP_0_9_1, **options: Any) -> Opening[connection.Connection]:
        """A connection of 0-9-1 or 0-8."""
        return cast("Opening[connection.Connection]", self._connect(url, version, options))

    def connect_0_10(self, url: str, **options: Any) -> Opening[Connection010]:
        """A connection of 0-10."""
        return cast("Opening[Connection010]", self._connect(url, AMQP_0_10, options))

    def connect_1_0(self, url: str, **options: Any) -> Opening[Connection10]:
        """A connection of 1.0."""
        return cast("Opening[Connection10]", self._connect(url, AMQP_1_0, options))

    def connect_any(self, url: str, **options: Any) -> Opening[messaging.Connection]:
        """A connection for neutral messages, of asyncio or the blocking adapter."""
        raise NotImplementedError

    def start(self, what: Awaitable[_T]) -> Started[_T]:
        """Begin something beside the scenario."""
        raise NotImplementedError

    async def gather(self, *what: Awaitable[_T]) -> list[_T]:
        """Do all of these at once."""
        return [await each for each in [self.start(each) for each in what]]

    async def give_up(self, what: Awaitable[object], seconds: float = 0.0) -> None:
        """Begin something, and give it up before its answer is taken: by a cancellation, or a timeout."""
        raise NotImplementedError

    async def within(self, seconds: float, what: Awaitable[_T]) -> _T:
        """Do one thing of the client. Raises TimeoutError after `seconds`."""
        raise NotImplementedError

    async def turn(self) -> None:
        """Let others go on, if there is one thread only."""
        raise NotImplementedError

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        end = self.now() + SECONDS
        while not condition():
            assert self.now() < end, "it didn't happen in time"
            await self.pause(TURN)

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        raise NotImplementedError

    def _connect(self, url: str, version: Version, options: dict[str, Any]) -> Any:
        raise NotImplementedError


async def _of(what: Awaitable[_T]) -> _T:
    return await what


class AdapterWorld(World):
    """An adapter in a simulated world, with its time and its network."""

    is_adapter = True

    def __init__(self) -> None:
        self.simulated = SimulatedWorld()

    def close(self) -> None:
        self.simulated.close()

    def broker(self, **options: Any) -> ScriptedBroker:
        return WorldBroker(self.simulated, **options)

    @contextmanager
    def beside(self, program: Callable[[], Coroutine[Any, Any, object]]) -> Generator[None]:
        process = self.simulated.start(simulated(program, name="beside"), restarts=False)
        yield
        process.end("the test is over")

    def now(self) -> float:
        return self.simulated.now


class AsyncioWorld(AdapterWorld):
    """asyncio in a simulated world, with its time and its network; one event loop for each scenario."""

    name = "asyncio"

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so, which is looked at after each step of the world."""
        end = self.now() + SECONDS
        idle = 0
        while not condition():
            assert self.now() < end, "it didn't happen in time"
            idle = 0 if self.simulated.is_busy else idle + 1
            await (self.turn() if idle < IDLE_TURNS else self.pause(TURN))

    def run(self, scenario: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
        with asyncio.Runner(loop_factory=lambda: simulated_loop(self.simulated)) as runner:
            runner.run(asyncio.wait_for(scenario, seconds))

    def connect_any(self, url: str, **options: Any) -> Opening[messaging.Connection]:
        return asyncio_messaging.connect(url, **options)

    def start(self, what: Awaitable[_T]) -> Started[_T]:
        return _AsyncioTask(asyncio.ensure_future(_of(what)))

    async def give_up(self, what: Awaitable[object], seconds: float = 0.0) -> None:
        task = asyncio.ensure_future(_of(what))
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    async def within(self, seconds: float, what: Awaitable[_T]) -> _T:
        async with asyncio.timeout(seconds):
            return await what

    async def turn(self) -> None:
        await asyncio.sleep(0)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def _connect(self, url: str, version: Version, options: dict[str, Any]) -> Any:
        return amqp_sansio_asyncio.connect(url, version=version, **options)


class RealAsyncioWorld(AsyncioWorld):
    """asyncio as it is, one event loop for each scenario."""

    broker = World.broker
    beside = World.beside
    now = World.now
    until = World.until

    def run(self, scenario: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
        asyncio.run(asyncio.wait_for(scenario, seconds))


class _AsyncioTask(Generic[_T]):
    def __init__(self, future: asyncio.Future[_T]) -> None:
        self._future = future

    @property
    def done(self) -> bool:
        return self._future.done()

    def __await__(self) -> Generator[Any, None, _T]:
        return self._future.__await__()


class _Outcome(Generic[_T]):
    """A result or an error to come, kept until it is awaited; `wait` waits for its end."""

    def __init__(self, wait: Callable[[], Awaitable[object]]) -> None:
        self.done = False
        self._wait = wait
        self._result: Any = None
        self._error: BaseException | None = None

    async def take(self, what: Awaitable[_T]) -> None:
        """Do it. An error is kept; a cancellation goes on."""
        try:
            self._result = await what
        except (Exception, pytest.fail.Exception) as error:
            self._error = error
        finally:
            self.done = True

    def __await__(self) -> Generator[Any, None, _T]:
        return self._result_of().__await__()

    async def _result_of(self) -> _T:
        await self._wait()
        return self.result()

    def result(self) -> _T:
        """Its result. Raises its error."""
        if self._error is not None:
            raise self._error
        return cast("_T", self._result)


class TrioWorld(World):
    """trio, with the client of the examples."""

    name = "trio"

    def __init__(self) -> None:
        self._nursery: trio.Nursery | None = None

    def run(self, scenario: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
        async def main() -> None:
            outcome: _Outcome[None] = _Outcome(self.turn)
            with trio.fail_after(seconds):
                async with trio.open_nursery() as self._nursery:
                    await outcome.take(scenario)
                    self._nursery.cancel_scope.cancel()
            outcome.result()

        trio.run(main)

    @property
    def nursery(self) -> trio.Nursery:
        """The scenario's tasks."""
        assert self._nursery is not None
        return self._nursery

    def start(self, what: Awaitable[_T]) -> Started[_T]:
        over = trio.Event()
        outcome: _Outcome[_T] = _Outcome(over.wait)

        async def take() -> None:
            await outcome.take(what)
            over.set()

        self.nursery.start_soon(take)
        return outcome

    async def give_up(self, what: Awaitable[object], seconds: float = 0.0) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_of, what)
            await (trio.sleep(seconds) if seconds else trio.testing.wait_all_tasks_blocked())
            nursery.cancel_scope.cancel()

    async def within(self, seconds: float, what: Awaitable[_T]) -> _T:
        with trio.move_on_after(seconds):
            return await what
        raise TimeoutError

    async def turn(self) -> None:
        await trio.testing.wait_all_tasks_blocked()

    async def pause(self, seconds: float) -> None:
        await trio.sleep(seconds)

    def _connect(self, url: str, version: Version, options: dict[str, Any]) -> Any:
        return Opening(partial(trio_client.connect, self.nursery, url, MAKERS[version], **options))


class TwistedWorld(World):
    """Twisted, one reactor for each scenario, with the client of the examples."""

    name = "twisted"

    def __init__(self) -> None:
        self._reactor = SelectReactor()

    def run(self, scenario: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
        reactor: Any = self._reactor
        outcome: _Outcome[None] = _Outcome(self.turn)
        running = ensureDeferred(outcome.take(scenario))
        running.addErrback(lambda failure: None)  # It was cancelled.
        late = reactor.callLater(seconds, running.cancel)
        running.addBoth(lambda _: reactor.callLater(0, reactor.stop))
        reactor.run(installSignalHandlers=False)
        assert late.active(), "the scenario takes too long"
        for each in reactor.removeAll():
            each.connectionLost(connectionDone)
        outcome.result()

    def start(self, what: Awaitable[_T]) -> Started[_T]:
        over: Deferred[None] = Deferred()
        outcome: _Outcome[_T] = _Outcome(lambda: _forked(over))
        running = ensureDeferred(outcome.take(what))
        running.addBoth(lambda _: self._reactor.callLater(0, over.callback, None))
        return outcome

    async def give_up(self, what: Awaitable[object], seconds: float = 0.0) -> None:
        outcome: _Outcome[object] = _Outcome(self.turn)
        running = ensureDeferred(outcome.take(what))
        await self.pause(seconds)
        running.cancel()
        assert outcome.done

    async def within(self, seconds: float, what: Awaitable[_T]) -> _T:
        running = ensureDeferred(cast("Coroutine[Any, Any, _T]", _of(what)))
        late = self._reactor.callLater(seconds, running.cancel)
        try:
            return await running
        except BaseException:
            if late.active():
                raise
            raise TimeoutError from None
        finally:
            if late.active():
                late.cancel()

    async def turn(self) -> None:
        await self.pause(0)

    async def pause(self, seconds: float) -> None:
        over: Deferred[None] = Deferred()
        self._reactor.callLater(seconds, _fire, None, over)
        await over

    def _connect(self, url: str, version: Version, options: dict[str, Any]) -> Any:
        return Opening(partial(twisted_client.connect, self._reactor, url, MAKERS[version], **options))


def _forked(over: Deferred[None]) -> Deferred[None]:
    """A deferred of its own for each who waits."""
    fork: Deferred[None] = Deferred()
    if over.called:
        fork.callback(None)
    else:
        over.addCallback(_fire, fork)
    return fork


def _fire(_: object, fork: Deferred[None]) -> None:
    if not fork.called:
        fork.callback(None)


class SyncWorld(AdapterWorld):
    """The blocking adapter in a simulated world, with a thread of it for everything that is done at once."""

    name = "sync"
    has_threads = True
    seconds = SECONDS
    """Seconds that a thread may take."""

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so, which is looked at after each step of the world."""
        end = self.now() + SECONDS
        while not condition():
            assert self.now() < end, "it didn't happen in time"
            if not self.simulated.is_busy or not self.simulated.step():
                await self.pause(TURN)

    def run(self, scenario: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
        self.seconds = seconds
        begun = self.now()
        with inside(self.simulated):
            _drive(scenario)
        assert self.now() - begun < seconds, "the scenario takes too long"

    def connect_any(self, url: str, **options: Any) -> Opening[messaging.Connection]:
        return cast("Opening[messaging.Connection]", _Call(lambda _: sync_messaging.connect(url, **options)))

    def start(self, what: Awaitable[_T]) -> Started[_T]:
        return _Thread(what, self.seconds)

    async def give_up(self, what: Awaitable[object], seconds: float = 0.0) -> None:
        try:
            await self.within(seconds, what)
        except TimeoutError:
            return
        raise AssertionError("it was answered at once")

    async def within(self, seconds: float, what: Awaitable[_T]) -> _T:
        assert isinstance(what, _Call), "only one call of the client can be bounded"
        return cast("_T", what.call(seconds))

    async def turn(self) -> None:
        pass

    async def pause(self, seconds: float) -> None:
        current().sleep(seconds)

    def _connect(self, url: str, version: Version, options: dict[str, Any]) -> Any:
        return _Call(lambda _: amqp_sansio_sync.connect(url, version=version, **options))


class RealSyncWorld(SyncWorld):
    """The blocking adapter as it is, with a thread of the machine for everything that is done at once."""

    broker = World.broker
    beside = World.beside
    now = World.now
    until = World.until

    def run(self, scenario: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
        self.seconds = seconds
        started = self.start(scenario)
        assert isinstance(started, _Thread)
        started.thread.join(seconds)
        assert started.done, "the scenario takes too long"
        _drive(started)


def _drive(what: Awaitable[_T]) -> _T:
    """The result of something that never suspends."""
    try:
        suspended = what.__await__().send(None)
    except StopIteration as end:
        return cast("_T", end.value)
    raise AssertionError(f"a blocking call waits for {suspended!r}")


class _Thread(Generic[_T]):
    def __init__(self, what: Awaitable[_T], seconds: float) -> None:
        self._seconds = seconds
        self._outcome: _Outcome[_T] = _Outcome(self._joined)
        self.thread = current().start(lambda: _drive(self._outcome.take(what)), "scenario")

    @property
    def done(self) -> bool:
        return self._outcome.done

    def __await__(self) -> Generator[Any, None, _T]:
        return self._outcome.__await__()

    async def _joined(self) -> None:
        self.thread.join(self._seconds)
        assert self.done, "it takes too long"


class _Call:
    """A blocking call that begins when it is awaited, or entered; `call` takes its timeout, None for none."""

    def __init__(self, call: Callable[[float | None], Any]) -> None:
        self._call = call
        self._entered: Any = None

    def call(self, seconds: float | None) -> Any:
        return _stand_in(self._call(seconds))

    def __await__(self) -> Generator[Any, None, Any]:
        return self.call(None)
        yield

    async def __aenter__(self) -> Any:
        self._entered = await self
        return self._entered

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object:
        return await self._entered.__aexit__(kind, error, trace)


class StandIn:
    """An object of the blocking adapter, as its like of the client is used."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.thing, name)
        if not inspect.ismethod(value):
            return _stand_in(value) if type(value) in LIKES or isinstance(value, dict) else value
        like = getattr(LIKES[type(self.thing)], name)
        waits = inspect.iscoroutinefunction(like) or str(like.__annotations__.get("return")).startswith("Opening")
        bounds = {"timeout", "open_timeout"} & set(inspect.signature(value).parameters)

        def call(*arguments: Any, **named: Any) -> Any:
            inner = [_inner(each) for each in arguments]
            options = {key: _inner(each) for key, each in named.items()}

            def now(seconds: float | None) -> Any:
                return value(*inner, **options, **({min(bounds): seconds} if bounds and seconds is not None else {}))

            return _Call(now) if waits else _stand_in(now(None))

        return call

    def __setattr__(self, name: str, value: object) -> None:
        if name == "thing":
            super().__setattr__(name, value)
        else:
            setattr(self.thing, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandIn) and bool(self.thing == other.thing)

    def __hash__(self) -> int:
        return hash(self.thing)

    def __repr__(self) -> str:
        return repr(self.thing)

    def __await__(self) -> Generator[Any, None, Any]:
        return _Call(self.thing.result).__await__()

    def __aiter__(self) -> StandIn:
        iter(self.thing)
        return self

    def __anext__(self) -> _Call:
        return _Call(self._next)

    def _next(self, seconds: float | None) -> Any:
        before, self.thing.timeout = self.thing.timeout, seconds
        try:
            return next(self.thing)
        except StopIteration:
            raise StopAsyncIteration from None
        finally:
            self.thing.timeout = before

    async def __aenter__(self) -> StandIn:
        self.thing.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object:
        return cast("object", self.thing.__exit__(kind, error, trace))


def _inner(thing: object) -> Any:
    return thing.thing if isinstance(thing, StandIn) else thing


class _Context:
    """A context of the blocking adapter, such as a batch."""

    def __init__(self, inner: AbstractContextManager[Any]) -> None:
        self._inner = inner

    async def __aenter__(self) -> Any:
        return _stand_in(self._inner.__enter__())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object:
        return self._inner.__exit__(kind, error, trace)


def _stand_in(thing: Any) -> Any:
    if type(thing) in LIKES:
        return StandIn(thing)
    if isinstance(thing, list):
        return [*map(_stand_in, cast("list[object]", thing))]
    if isinstance(thing, dict):
        return {key: _stand_in(value) for key, value in cast("dict[object, object]", thing).items()}
    return _Context(thing) if hasattr(thing, "__enter__") and not hasattr(thing, "close") else thing


LIKES: dict[type[Any], type[Any]] = {
    amqp_sansio_sync.Connection: connection.Connection,
    amqp_sansio_sync.Channel: channel.Channel,
    amqp_sansio_sync.Confirmation: channel.Confirmation,
    amqp_sansio_sync.Consumer: consumer.Consumer,
    amqp_sansio_sync.Delivery: consumer.Delivery,
    amqp_sansio_sync.EventStream: EventStream,
    sync_1_0.Connection: Connection10,
    sync_1_0.Session: session.Session,
    sync_1_0.Sender: sender.Sender,
    sync_1_0.SentDelivery: sender.SentDelivery,
    sync_1_0.Receiver: receiver.Receiver,
    sync_1_0.ReceivedDelivery: receiver.ReceivedDelivery,
    sync_1_0.Transaction: transaction.Transaction,
    sync_1_0.Requester: requester.Requester,
    sync_0_10.Connection: Connection010,
    sync_0_10.Session: session_0_10.Session,
    sync_0_10.SentMessage: publishing.SentMessage,
    sync_0_10.ReceivedMessage: subscription.ReceivedMessage,
    sync_0_10.Subscription: subscription.Subscription,
    sync_0_10.Transaction: transaction_0_10.Transaction,
    sync_0_10.Branch: transaction_0_10.Branch,
    **{getattr(sync_messaging, name): getattr(messaging, name) for name in sync_messaging.__all__ if name != "connect"},
}
"""The blocking classes, and the client's that each is like."""

VIRTUAL_WORLDS: tuple[type[World], ...] = (AsyncioWorld, SyncWorld)
"""Worlds without sockets, threads and real time."""
REAL_WORLDS: tuple[type[World], ...] = (RealAsyncioWorld, TrioWorld, TwistedWorld, RealSyncWorld)

__all__ = [
    "REAL_WORLDS",
    "VIRTUAL_WORLDS",
    "AsyncioWorld",
    "RealAsyncioWorld",
    "RealSyncWorld",
    "Started",
    "SyncWorld",
    "TrioWorld",
    "TwistedWorld",
    "World",
]
