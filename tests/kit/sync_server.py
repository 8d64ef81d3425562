"""A small server on a real loopback socket, made of the engine's server role, one thread for each connection.

Queues are in memory and shared by its connections; the default exchange routes to the queue of that name. A test bends
it with `script`, which sees every event first, and with `Session.do`, which runs something in the connection's thread.
"""

from __future__ import annotations

import queue
import select
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Acceptor,
    AuthenticationRequested,
    Closed,
    CloseHint,
    Event,
    OpenRequested,
    Refused,
    ScramKeysRequested,
    Signal,
    amqp_0_8,
    amqp_0_9_1,
)
from amqp_sansio.amqp_0_9_1 import BasicProperties, Config, Method, MethodReceived, Published, Request
from amqp_sansio.sasl import scram_keys

_T = TypeVar("_T")

WAIT = 20.0
"""Seconds until something that has to happen is given up."""


@dataclass
class Item:
    """A message in a queue."""

    exchange: str
    routing_key: str
    raw_properties: bytes
    body: bytes
    redelivered: bool = False


@dataclass
class Subscription:
    """A consumer and how many of its deliveries aren't settled."""

    channel: int
    tag: str
    queue: str
    no_ack: bool
    prefetch: int
    unsettled: int = 0


@dataclass
class Unsettled:
    """A message that was sent to the client."""

    queue: str
    item: Item
    subscription: Subscription | None


Script = Callable[["Session", Event], bool]


class Session:
    """One connection of the server. `events` has everything that happened, `core` is the engine's end.

    It doesn't read while `reading` is false, doesn't write while `writing` is, and when it's `stubborn` it doesn't read
    before all that it has to say is written.
    """

    def __init__(self, server: Server, connected: socket.socket) -> None:
        self.server = server
        self.socket = connected
        self.core: Any = None
        self.events: list[Event] = []
        self.reading = True
        self.writing = True
        self.stubborn = False
        self.ended = threading.Event()
        self.received = self.sent = 0
        self.last_received = monotonic()
        self.longest_silence = 0.0
        self._subscriptions: list[Subscription] = []
        self._prefetch: dict[int, int] = {}
        self._unsettled: dict[tuple[int, int], Unsettled] = {}
        self._tasks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._wakes, self._waker = socket.socketpair()
        self._waker.setblocking(False)  # what doesn't fit wakes no more than what is there
        self._unsent = b""
        self.thread = threading.Thread(target=self._run, name="test-server-session", daemon=True)

    # For tests, from any thread.

    def do(self, task: Callable[[], _T]) -> _T:
        """Run `task` in the connection's thread; its result or exception."""
        results: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

        def run() -> None:
            try:
                results.put((True, task()))
            except Exception as error:
                results.put((False, error))

        self._tasks.put(run)
        with suppress(OSError):  # when the connection has ended
            self._waker.send(b"\0")
        wait_until(lambda: not results.empty() or self.ended.is_set())
        if self.ended.is_set():
            self.thread.join(WAIT)
        if results.empty():
            raise OSError("the connection has ended")
        good, result = results.get()
        if not good:
            raise result
        return result  # type: ignore[no-any-return]

    def soon(self, task: Callable[[], object]) -> None:
        """Run `task` in the connection's thread, some time; not at all when the connection has ended."""
        self._tasks.put(task)
        with suppress(OSError):
            self._waker.send(b"\0")

    def of(self, kind: type[_T]) -> list[_T]:
        """The events of a kind so far."""
        return [event for event in list(self.events) if isinstance(event, kind)]

    def drop(self, reset: bool = True) -> None:
        """Close the socket without a word; with `reset` what is under way is lost."""
        linger = (1).to_bytes(4, "little") + bytes(4)
        if reset:
            self.do(lambda: self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger))
        self.do(self._stop)

    # The loop.

    def _run(self) -> None:
        try:
            self.socket = self.server.wrap(self.socket)
            self.socket.setblocking(False)
            while not self.ended.is_set():
                self._step()
        except (OSError, ValueError):
            self._stop()  # the client is gone, or was refused below AMQP
        finally:
            for each in (self.socket, self._wakes, self._waker):
                each.close()
            self.ended.set()

    def _step(self) -> None:
        core = self.core
        if core is not None:
            while not isinstance(event := core.next_event(), Signal):
                self.events.append(event)
                script = self.server.script
                if script is None or not script(self, event):
                    self.handle(event)
            self._write()
            if core.close_hint is CloseHint.CLOSE_NOW or (
                core.close_hint is CloseHint.CLOSE_WHEN_SENT and not self._unsent
            ):
                self._stop()
                return
        self._wait()

    def _write(self) -> None:
        while self.writing:
            self._unsent = self._unsent or self.core.data_to_send(monotonic(), 1 << 16)
            if not self._unsent:
                return
            try:
                count = self.socket.send(self._unsent)
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return
            self._unsent = self._unsent[count:]
            self.sent += count

    def _wait(self) -> None:
        core = self.core
        budget = 1 << 16 if core is None else core.receive_budget
        readers: list[socket.socket] = [self._wakes]
        mute = self.stubborn and core is not None and bool(self._unsent or core.send_backlog)
        if self.reading and budget > 0 and not mute:
            readers.append(self.socket)
        deadline = None if core is None else core.next_deadline
        pause = None if deadline is None else max(0.0, deadline - monotonic())
        if isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            pause = 0.0
        writers = [self.socket] if self._unsent and self.writing else []
        ready, _, _ = select.select(readers, writers, [], pause)
        if self._wakes in ready:
            self._wakes.recv(4096)
            with suppress(queue.Empty):
                while True:
                    self._tasks.get_nowait()()
        if self.socket.fileno() >= 0 and self.socket in readers:
            self._read(min(budget, 1 << 16))
        now = monotonic()
        if core is not None and core.next_deadline is not None and core.next_deadline <= now:
            core.handle_timeout(now)

    def _read(self, budget: int) -> None:
        try:
            octets = self.socket.recv(budget)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        now = monotonic()
        self.longest_silence = max(self.longest_silence, now - self.last_received)
        self.last_received = now
        self.received += len(octets)
        if self.core is not None:
            if octets:
                self.core.receive_data(octets, now)
            else:
                self.core.receive_eof(now)
        elif not octets:
            self._stop()
        else:
            self._accept(octets, now)

    def _accept(self, octets: bytes, now: float) -> None:
        acceptor = self.server.acceptor
        self.server.acceptor = Acceptor(self.server.configs)
        acceptor.receive_data(octets, now)
        result = acceptor.result()
        if isinstance(result, Refused):
            self.socket.send(result.reply)
            self._stop()
        elif not isinstance(result, Signal):
            self.core = result.connection

    def _stop(self) -> None:
        self.ended.set()
        self.socket.close()

    # What a broker does.

    def handle(self, event: Event) -> None:
        """Do what a broker does about an event."""
        core = self.core
        if isinstance(event, AuthenticationRequested):
            credentials = event.credentials
            known = self.server.users.get(credentials.user)
            if credentials.password is None or credentials.password == known:
                core.accept_authentication()
            else:
                core.refuse_authentication()
        elif isinstance(event, ScramKeysRequested):
            password = self.server.users.get(event.user)
            salt = b"0123456789abcdef"
            keys = None if password is None else scram_keys(password, salt)
            core.provide_scram_keys(keys)
        elif isinstance(event, OpenRequested):
            if event.vhost == "/":
                core.accept_open()
            else:
                core.refuse_open()
        elif isinstance(event, Request):
            self._answer(event.channel, event.method)
        elif isinstance(event, Published):
            self._published(event)
        elif isinstance(event, MethodReceived):
            self._settle(event.channel, event.method)
        elif isinstance(event, Closed):
            for each in [each for each in self._subscriptions if event.channel in (0, each.channel)]:
                self._subscriptions.remove(each)
            gone = [key for key in self._unsettled if event.channel in (0, key[0])]
            self._requeue([self._unsettled.pop(key) for key in gone])

    def _answer(self, number: int, method: Any) -> None:
        channel = self.core.channel(number) if number else self.core
        named = self.core.dialect.named
        queues = self.server.queues
        name = method.NAME
        if name == "queue.declare":
            if method.passive and method.queue not in queues:
                channel.close(404, f"NOT_FOUND - no queue '{method.queue}'", cause=method)
                return
            held = queues.setdefault(method.queue or "generated", deque())
            channel.reply(named["queue.declare-ok"](method.queue or "generated", len(held), 0))
        elif name == "basic.qos":
            self._prefetch[number] = method.prefetch_count
            channel.reply(named["basic.qos-ok"]())
        elif name == "basic.consume":
            if method.queue not in queues:
                channel.close(404, f"NOT_FOUND - no queue '{method.queue}'", cause=method)
                return
            tag = method.consumer_tag or f"server-{len(self._subscriptions)}"
            channel.reply(named["basic.consume-ok"](tag))
            prefetch = self._prefetch.get(number, 0)
            self._subscriptions.append(Subscription(number, tag, method.queue, method.no_ack, prefetch))
            self._pump(method.queue)
        elif name == "basic.cancel":
            channel.reply(named["basic.cancel-ok"](method.consumer_tag))
            self.end_consumer(number, method.consumer_tag)
        elif name == "basic.get":
            self._get(channel, method, queues.get(method.queue))
        else:
            channel.reply(named[f"{name}-ok"]())

    def end_consumer(self, number: int, tag: str) -> None:
        """Forget a consumer."""
        self._subscriptions = [each for each in self._subscriptions if (each.channel, each.tag) != (number, tag)]

    def _get(self, channel: Any, method: Any, held: deque[Item] | None) -> None:
        named = self.core.dialect.named
        if not held:
            channel.reply(named["basic.get-empty"]())
            return
        item = held.popleft()
        tag = channel.last_tag + 1
        ok = named["basic.get-ok"](tag, item.redelivered, item.exchange, item.routing_key, len(held))
        channel.reply(ok, self._properties(item), item.body)
        if not method.no_ack:
            self._unsettled[channel.number, tag] = Unsettled(method.queue, item, None)

    def _published(self, event: Published) -> None:
        channel = self.core.channel(event.channel)
        held = self.server.queues.get(event.routing_key)
        if event.exchange:
            publish = self.core.dialect.named["basic.publish"]()
            channel.close(404, f"NOT_FOUND - no exchange '{event.exchange}'", cause=publish)
            return
        if held is None:
            if event.mandatory:
                back = self.core.dialect.named["basic.return"]
                channel.send(
                    back(312, "NO_ROUTE", event.exchange, event.routing_key),
                    BasicProperties.from_wire(event.raw_properties, event.tables),
                    event.body,
                )
        else:
            held.append(Item("", event.routing_key, event.raw_properties, event.body))
            self._pump(event.routing_key)
        if event.number and self.server.confirming:
            channel.confirm(event.number)

    def _pump(self, name: str) -> None:
        held = self.server.queues[name]
        for each in self._subscriptions:
            while held and each.queue == name:
                if each.prefetch and not each.no_ack and each.unsettled >= each.prefetch:
                    break
                item = held.popleft()
                channel = self.core.channel(each.channel)
                channel.deliver(
                    item.body, consumer_tag=each.tag, exchange=item.exchange, routing_key=item.routing_key,
                    redelivered=item.redelivered, properties=self._properties(item),
                )  # fmt: skip
                if not each.no_ack:
                    each.unsettled += 1
                    self._unsettled[each.channel, channel.last_tag] = Unsettled(name, item, each)

    def _settle(self, number: int, method: Any) -> None:
        if method.NAME not in ("basic.ack", "basic.nack", "basic.reject"):
            return
        last = method.delivery_tag
        multiple = getattr(method, "multiple", False)
        keys = [
            key for key in self._unsettled if key[0] == number and (key[1] == last or (multiple and key[1] <= last))
        ]
        settled = [self._unsettled.pop(key) for key in keys]
        for each in settled:
            if each.subscription is not None:
                each.subscription.unsettled -= 1
        if getattr(method, "requeue", False):
            self._requeue(settled)
        for name in {each.queue for each in settled}:
            self._pump(name)

    def _requeue(self, back: list[Unsettled]) -> None:
        for each in reversed(back):
            each.item.redelivered = True
            self.server.queues[each.queue].appendleft(each.item)

    def _properties(self, item: Item) -> BasicProperties:
        return BasicProperties.from_wire(item.raw_properties, self.core.dialect.tables)


class Server:
    """Listens on `port` of 127.0.0.1. `sessions` are its connections in the order they came."""

    def __init__(
        self,
        *,
        config: Config | None = None,
        tls: ssl.SSLContext | None = None,
        script: Script | None = None,
        versions: tuple[Any, ...] = (AMQP_0_9_1, AMQP_0_8),
    ) -> None:
        self.configs: dict[Any, Any] = {
            version: config or (amqp_0_8 if version is AMQP_0_8 else amqp_0_9_1).Config() for version in versions
        }
        self.start(tls, script)

    def start(self, tls: ssl.SSLContext | None, script: Script | None) -> None:
        """Listen."""
        self.acceptor = Acceptor(self.configs)
        self.tls = tls
        self.script = script
        self.users = {"guest": "guest"}
        self.queues: dict[str, deque[Item]] = {}
        self.confirming = True
        self.sessions: list[Session] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="test-server", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The URL of user guest, with TLS where there is TLS."""
        scheme = "amqps" if self.tls is not None else "amqp"
        return f"{scheme}://guest:guest@127.0.0.1:{self.port}/"

    def session(self) -> Session:
        """The newest connection."""
        wait_until(lambda: bool(self.sessions))
        return self.sessions[-1]

    def wrap(self, connected: socket.socket) -> socket.socket:
        """Put TLS on a new connection, where there is TLS."""
        if self.tls is None:
            return connected
        connected.settimeout(WAIT)
        return self.tls.wrap_socket(connected, server_side=True)

    def close(self) -> None:
        """Drop every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(WAIT)
        for session in self.sessions:
            with suppress(OSError):
                session.drop()
            session.thread.join(WAIT)

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return  # closed
            session = self.new_session(connected)
            # A message that an earlier thread routes is offered to the sessions of this list.
            self.sessions.append(session)
            session.thread.start()

    def new_session(self, connected: socket.socket) -> Session:
        """What serves a connection."""
        return Session(self, connected)


@contextmanager
def running(**options: Any) -> Generator[Server]:
    """A server for one test."""
    server = Server(**options)
    try:
        yield server
    finally:
        server.close()


def wait_until(condition: Callable[[], bool], seconds: float = WAIT) -> None:
    """Wait for another thread. Raises AssertionError when it takes too long."""
    deadline = monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert monotonic() < deadline, "it didn't happen in time"
        pause.wait(0.005)


def is_method(event: Event, name: str) -> bool:
    """Whether an event carries the method of that name."""
    method = getattr(event, "method", None)
    return isinstance(method, Method) and name == method.NAME
