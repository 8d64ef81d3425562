"""A user of the blocking adapter: in every version the same few things, by the same names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Accepted, Version, amqp_1_0
from amqp_sansio.broker import Settings
from amqp_sansio_sync import connect
from amqp_sansio_sync.simulated import SimulatedSystem
from amqp_sansio_sync.system import Thread, current
from tests.kit.scripted import ScriptedBroker

WAIT: Final = 20.0
"""Seconds until something that has to happen is given up."""
VERSIONS: Final = (AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for another thread."""
    system = current()
    end = system.now() + WAIT
    while not condition():
        assert system.now() < end, "it didn't happen in time"
        system.sleep(0.001)


def keepers() -> int:
    """The threads that send heartbeats."""
    system = current()
    threads = system.threads if isinstance(system, SimulatedSystem) else threading.enumerate()
    return sum(each.name == "amqp-sansio-keeper" for each in threads)


def started(work: Callable[..., object], *arguments: object) -> Thread:
    """Start a thread: one of the machine, or one of the world that the test runs in."""
    return current().start(lambda: work(*arguments), "worker")


def finished(*threads: Thread) -> None:
    """Wait for the end of threads."""
    for thread in threads:
        thread.join(3 * WAIT)
        assert not thread.is_alive()


Made = Callable[..., ScriptedBroker]
"""Makes a broker that a test reaches: one of its world, or one of the machine."""


@contextmanager
def brisk(made: Made, **options: Any) -> Generator[ScriptedBroker]:
    """A broker with the queue "jobs" that ends a connection after two seconds of silence; `made` makes brokers."""
    with made(clock="real", settings=Settings(heartbeat=1.0), **options) as broker:
        broker.fill("jobs")
        yield broker


class SyncUser:
    """A connection of one version, and on it `channel`: a channel, or a session.

    >>> with SyncUser(broker, AMQP_1_0) as user:
    ...     outcome = user.publish(b"hello")
    """

    def __init__(self, broker: ScriptedBroker, version: Version, url: str = "", **options: Any) -> None:
        self.version = version
        self.connection: Any = connect(url or broker.url, version=version, timeout=WAIT, **options)
        self._of_channel()

    def _of_channel(self) -> None:
        self.channel: Any = self.open()
        self._senders: dict[str, Any] = {}
        self.consumer: Any = None

    def open(self, timeout: float = WAIT, **options: Any) -> Any:
        """Open a channel with confirms, or a session."""
        connection = self.connection
        if self.version is AMQP_0_10:
            return connection.open_session(open_timeout=timeout, **options)
        if self.version is AMQP_1_0:
            return connection.open_session(timeout=timeout, **options)
        return connection.open_channel(confirm=self.version is not AMQP_0_8, timeout=timeout, **options)

    @property
    def accepted(self) -> object:
        """The outcome of a message that the broker has taken."""
        return amqp_1_0.Accepted() if self.version is AMQP_1_0 else Accepted()

    def another(self) -> SyncUser:
        """A user with a channel of its own on the same connection."""
        other = object.__new__(SyncUser)
        other.version = self.version
        other.connection = self.connection
        other._of_channel()
        return other

    def publish(self, body: bytes, to: str = "jobs", **options: Any) -> Any:
        """Publish to a queue: the outcome, or what becomes it."""
        if self.version is not AMQP_1_0:
            return self.channel.publish(body, routing_key=to, **options)
        if to not in self._senders:
            self._senders[to] = self.channel.open_sender(to, timeout=WAIT)
        return self._senders[to].send(body, **options)

    def consume(self, queue: str = "jobs", credit: int = 5, timeout: float | None = WAIT, **options: Any) -> Any:
        """Consume a queue; `consumer` is the last one."""
        if self.version is AMQP_0_10:
            self.consumer = self.channel.subscribe(queue, credit=credit, timeout=WAIT, **options)
        elif self.version is AMQP_1_0:
            self.consumer = self.channel.open_receiver(queue, credit=credit, timeout=WAIT, **options)
        else:
            self.consumer = self.channel.consume(queue, prefetch=credit, timeout=WAIT, **options)
        self.consumer.timeout = timeout
        return self.consumer

    def together(self) -> AbstractContextManager[Any]:
        """What publishes several at once: a batch, or a transaction; `publish_in` takes its value."""
        if self.version in (AMQP_0_8, AMQP_0_9_1):
            batch: AbstractContextManager[Any] = self.channel.batch()
            return batch
        transaction: AbstractContextManager[Any] = self.channel.transaction(timeout=WAIT)
        return transaction

    def publish_in(self, together: Any, body: bytes) -> None:
        """Publish in a context of `together`."""
        options: dict[str, Any] = {"transaction": together} if self.version is AMQP_1_0 else {}
        if self.version in (AMQP_0_8, AMQP_0_9_1):
            options["wait"] = False
        self.publish(body, timeout=WAIT, **options)

    def take(self) -> bytes:
        """Take one message that is there, and accept it."""
        classic = self.version in (AMQP_0_8, AMQP_0_9_1)
        delivery = self.channel.get("jobs", timeout=WAIT) if classic else self.consumer.fetch(timeout=WAIT)
        if delivery is None:
            return b""
        delivery.accept()
        body: bytes = delivery.body
        return body

    def sync(self) -> None:
        """Wait until the broker has taken everything before."""
        if self.version is AMQP_0_10:
            self.channel.sync(WAIT)
        else:
            self.open().close(timeout=WAIT)

    def close(self, **options: Any) -> Any:
        """Close the connection."""
        return self.connection.close(**options)

    def __enter__(self) -> SyncUser:
        self.connection.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.connection.__exit__(*error)


__all__ = [
    "VERSIONS",
    "WAIT",
    "Made",
    "SyncUser",
    "brisk",
    "each_version",
    "finished",
    "keepers",
    "started",
    "wait_until",
]
