"""azure-eventhub for Python as tests use it: producers and readers, blocking and asyncio, by the same calls."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from inspect import isawaitable
from threading import Lock, Thread
from typing import Any, Final

from azure.eventhub import EventHubConsumerClient, EventHubProducerClient
from azure.eventhub._eventprocessor.in_memory_checkpoint_store import InMemoryCheckpointStore
from azure.eventhub.aio import EventHubConsumerClient as AioConsumerClient
from azure.eventhub.aio import EventHubProducerClient as AioProducerClient
from azure.eventhub.aio._eventprocessor.in_memory_checkpoint_store import (
    InMemoryCheckpointStore as AioInMemoryCheckpointStore,
)

# Their types name few of their options.
Producer: Any = EventHubProducerClient
Consumer: Any = EventHubConsumerClient
AioProducer: Any = AioProducerClient
AioConsumer: Any = AioConsumerClient

PATIENCE: Final = 30.0
"""Seconds that a test waits for what has to happen."""
CLIENT_OPTIONS: Final = (
    "checkpoint_store",
    "connection_verify",
    "custom_endpoint_address",
    "load_balancing_interval",
    "load_balancing_strategy",
    "partition_ownership_expiration_interval",
    "retry_total",
    "transport_type",
)
"""Options of a reader that its client takes, and not the call that receives."""
OPTIONS: Final[dict[str, Any]] = {"retry_total": 0, "auth_timeout": 20}


class Heard:
    """What a reader was told, in its order: `(partition, event)`, errors, and the partitions that it has."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.batches: list[list[Any]] = []
        self.errors: list[BaseException] = []
        self.metrics: list[Any] = []
        self.has: set[str] = set()
        self.silences = 0
        self.checkpoints = False

    def bodies(self, partition: str | None = None) -> list[str]:
        """The bodies, of one partition or of all."""
        return [event.body_as_str() for where, event in list(self.events) if partition in (None, where)]


class Reading(ABC):
    """A consumer client that receives until `stop`; `heard` grows meanwhile."""

    def __init__(self, connection_string: str, group: str = "$Default", **options: Any) -> None:
        self.heard = Heard()
        self.heard.checkpoints = options.pop("checkpoints", False)
        self.batch = options.pop("batch", False)
        self.client_options: dict[str, Any] = {**OPTIONS, "load_balancing_interval": 0.3}
        self.client_options.update({each: options.pop(each) for each in CLIENT_OPTIONS if each in options})
        self.options: dict[str, Any] = {"starting_position": "-1", **options}
        self.place = connection_string, group
        self.lock = Lock()
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()

    @abstractmethod
    def run(self) -> None:
        """Receive."""

    @abstractmethod
    def close(self) -> None:
        """Have it end."""

    def until(self, condition: Callable[[Heard], object]) -> Heard:
        """Wait until what was heard fulfils a condition."""
        end = time.monotonic() + PATIENCE
        while not condition(self.heard):
            assert time.monotonic() < end, (self.heard.events, self.heard.errors, self.heard.has)
            time.sleep(0.01)
        return self.heard

    def stop(self) -> Heard:
        """End it; return all that it heard."""
        self.close()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()
        return self.heard

    def note(self, context: Any, found: Any) -> bool:
        """Note what has come; return whether to set a checkpoint."""
        heard = self.heard
        if not found:
            heard.silences += 1
            return False
        if isinstance(found, list):
            heard.batches.append(found)
            heard.events += [(context.partition_id, each) for each in found]
        else:
            heard.events.append((context.partition_id, found))
        if self.options.get("track_last_enqueued_event_properties"):
            heard.metrics.append(context.last_enqueued_event_properties)
        return heard.checkpoints


class SyncReading(Reading):
    """With the blocking client."""

    def run(self) -> None:
        connection_string, group = self.place
        self.client = Consumer.from_connection_string(connection_string, consumer_group=group, **self.client_options)
        receive: Any = self.client.receive_batch if self.batch else self.client.receive
        name = "on_event_batch" if self.batch else "on_event"
        receive(
            **{name: self.on_events},
            on_error=self.on_error,
            on_partition_initialize=self.on_initialize,
            on_partition_close=self.on_close,
            **self.options,
        )

    def on_events(self, context: Any, found: Any) -> None:
        if self.note(context, found):
            context.update_checkpoint(found[-1] if isinstance(found, list) else found)

    def on_error(self, context: Any, error: BaseException) -> None:
        self.heard.errors.append(error)

    def on_initialize(self, context: Any) -> None:
        self.heard.has.add(context.partition_id)

    def on_close(self, context: Any, reason: Any) -> None:
        self.heard.has.discard(context.partition_id)

    def close(self) -> None:
        self.client.close()


class AioReading(Reading):
    """With the client for asyncio, in a loop and thread of its own."""

    def run(self) -> None:
        asyncio.run(self.receive())

    async def receive(self) -> None:
        connection_string, group = self.place
        self.loop = asyncio.get_running_loop()
        self.client = AioConsumer.from_connection_string(connection_string, consumer_group=group, **self.client_options)
        receive: Any = self.client.receive_batch if self.batch else self.client.receive
        name = "on_event_batch" if self.batch else "on_event"
        self.task = asyncio.create_task(
            receive(
                **{name: self.on_events},
                on_error=self.on_error,
                on_partition_initialize=self.on_initialize,
                on_partition_close=self.on_close,
                **self.options,
            )
        )
        async with self.client:
            await asyncio.wait([self.task])

    async def on_events(self, context: Any, found: Any) -> None:
        if self.note(context, found):
            await context.update_checkpoint(found[-1] if isinstance(found, list) else found)

    async def on_error(self, context: Any, error: BaseException) -> None:
        self.heard.errors.append(error)

    async def on_initialize(self, context: Any) -> None:
        self.heard.has.add(context.partition_id)

    async def on_close(self, context: Any, reason: Any) -> None:
        self.heard.has.discard(context.partition_id)

    def close(self) -> None:
        async def close() -> None:
            # It sleeps between its balancings, and only wakes up by itself.
            self.task.cancel()

        asyncio.run_coroutine_threadsafe(close(), self.loop).result(PATIENCE)


class Sdk(ABC):
    """One of the two APIs."""

    reading: type[Reading]
    store: Callable[[], Any]
    tells_of_refused_links = True
    """Whether `on_error` hears of a link that was refused with another condition than amqp:link:stolen."""

    @abstractmethod
    def producer(self, connection_string: str, **options: Any) -> Any:
        """A context manager of a producer, whose methods block."""

    @contextmanager
    def read(self, connection_string: str, group: str = "$Default", **options: Any) -> Generator[Reading]:
        """A reader that ends with the block."""
        reading = self.reading(connection_string, group, **options)
        try:
            yield reading
        finally:
            if reading.thread.is_alive():
                reading.stop()

    def refused(self, said: str, connection_string: str, group: str = "$Default", **options: Any) -> None:
        """Check that a reader is refused, as far as this client says so."""
        if self.tells_of_refused_links:
            with self.read(connection_string, group, **{"partition_id": "0", **options}) as reading:
                heard = reading.until(lambda heard: heard.errors)
            assert said in str(heard.errors[0]) and not heard.events

    def send(self, connection_string: str, *events: Any, **where: Any) -> None:
        """Send events as a list."""
        with self.producer(connection_string) as producer:
            producer.send_batch(list(events), **where)


class Sync(Sdk):
    """azure.eventhub"""

    reading = SyncReading
    store = InMemoryCheckpointStore

    @contextmanager
    def producer(self, connection_string: str, **options: Any) -> Generator[Any]:
        with Producer.from_connection_string(connection_string, **{**OPTIONS, **options}) as producer:
            yield producer


class Aio(Sdk):
    """azure.eventhub.aio"""

    reading = AioReading
    store = AioInMemoryCheckpointStore
    # Its `_receive_task` takes the error of an attach for the end of the consumer, and it attaches again.
    tells_of_refused_links = False

    @contextmanager
    def producer(self, connection_string: str, **options: Any) -> Generator[Any]:
        loop = asyncio.new_event_loop()
        thread = Thread(target=loop.run_forever, daemon=True)
        thread.start()
        blocking = Blocking(loop, AioProducer, options)
        try:
            blocking.begin(connection_string)
            yield blocking
            blocking.close()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            loop.close()


class Blocking:
    """The methods of an asyncio client as blocking ones."""

    def __init__(self, loop: asyncio.AbstractEventLoop, kind: Any, options: dict[str, Any]) -> None:
        self._loop = loop
        self._kind = kind
        self._options = options
        self._client: Any = None

    def begin(self, connection_string: str) -> None:
        """Make the client where it belongs: in the loop's thread."""

        async def make() -> Any:
            return self._kind.from_connection_string(connection_string, **{**OPTIONS, **self._asynchronous()})

        self._client = self._wait(make())

    def _asynchronous(self) -> dict[str, Any]:
        """The options, with coroutines for callbacks."""

        def awaited(function: Callable[..., Any]) -> Callable[..., Awaitable[None]]:
            async def call(*arguments: Any) -> None:
                function(*arguments)

            return call

        return {name: awaited(value) if name.startswith("on_") else value for name, value in self._options.items()}

    def _wait(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result(PATIENCE)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)

        def call(*arguments: Any, **options: Any) -> Any:
            result = found(*arguments, **options)
            return self._wait(result) if isawaitable(result) else result

        return call if callable(found) else found


BOTH: Final[dict[str, Callable[[], Sdk]]] = {"sync": Sync, "aio": Aio}
