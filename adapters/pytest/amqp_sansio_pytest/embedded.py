"""EmbeddedBroker: a broker in a thread of this process, on a real socket, or in a simulated world."""

from __future__ import annotations

import asyncio
import ssl as ssl_module
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from amqp_sansio.amqp_0_9_1 import BasicProperties, get_dialect
from amqp_sansio.broker import Settings, User
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model import commands
from amqp_sansio.uri import AmqpUri
from amqp_sansio.versions import AMQP_0_9_1
from amqp_sansio_asyncio.recording import RecordTarget

from .clock import Clock
from .faults import Faults
from .history import HistoryView
from .hosting import Hosting, InThread, InWorld
from .service import Service
from .topology import Definitions, Preloaded, preload
from .views import Connection, ExchangeView, QueueView, StoredMessage
from .waiting import until
from .watched import Watched, consumed, published

if TYPE_CHECKING:
    from typing import Self

    from amqp_sansio.broker import Namespace
    from amqp_sansio.broker.model.entry import Entry
    from amqp_sansio.testing.simulate import World

T = TypeVar("T")

GUEST: Final[Mapping[str, str | User]] = {"guest": "guest"}
SEED: Final = b"amqp_sansio_pytest, the same every time"
"""A test double needs no secrecy, and tests see the same in every run."""
_KEPT: Final = 100_000


class EmbeddedBroker:
    """A broker for one test: `with EmbeddedBroker() as broker:`, or `start` and `stop`.

    It listens on 127.0.0.1, on a free port unless `port` is given, and speaks every version of AMQP there. It runs in
    its own thread, so clients may block, use an event loop, or run in another process; the methods of the broker and of
    all its parts may be called from any thread.

    With `world` it runs in a simulated world instead, without a thread, a port of the machine and real time: programs
    of that world reach it by its `url`, and its clock is the world's. Then the methods take steps of the world, and
    `timeout`s are in its seconds.

    | argument | meaning |
    |---|---|
    | `users` | passwords (or `amqp_sansio.broker.User`s) by name; guest with the password guest |
    | `vhosts` | the virtual hosts |
    | `clock` | "virtual": the broker's time moves only by `clock.advance`; "real": it runs |
    | `definitions` | the argument for `preload` |
    | `history` | number of records kept of what happened |
    | `settings` | an `amqp_sansio.broker.Settings` with everything else; the arguments above override it |
    | `rabbitmq` | the release of RabbitMQ that it is for clients of 0-9-1, such as "3.13" (`Settings.rabbitmq`) |
    | `ssl` | a server's context, for TLS |
    | `record` | a pcapng file for all octets |
    | `world` | an `amqp_sansio.testing.simulate.World` to run in |
    | `namespace` | nodes of one's own for clients of 1.0 (`amqp_sansio.broker.nodes`) |
    | `origins` | of pages in browsers that may connect by WebSocket, beside those of the broker's own address |

    >>> with EmbeddedBroker(definitions={"queues": ["jobs"]}) as broker:
    ...     broker.publish(b"hello", routing_key="jobs")
    ...     broker.queue("jobs").ready, broker.get("jobs").body
    True
    (1, b'hello')
    """

    def __init__(
        self,
        *,
        users: Mapping[str, str | User] = GUEST,
        vhosts: tuple[str, ...] = ("/",),
        clock: Literal["virtual", "real"] = "virtual",
        definitions: Definitions | None = None,
        history: int = _KEPT,
        settings: Settings | None = None,
        rabbitmq: str | None = None,
        port: int = 0,
        ssl: ssl_module.SSLContext | None = None,
        record: RecordTarget | None = None,
        record_secrets: bool = False,
        world: World | None = None,
        namespace: Namespace | None = None,
        origins: Collection[str] = (),
    ) -> None:
        if clock not in ("virtual", "real"):
            raise ValueError(f'the clock is "virtual" or "real", not {clock!r}')
        base = settings or Settings()
        changes: dict[str, object] = {} if rabbitmq is None else {"rabbitmq": rabbitmq}
        self._settings = base.but(
            users=dict(users), vhosts=tuple(vhosts), history=history, seed=base.seed or SEED, **changes
        )
        self._definitions = definitions
        self._listen = (port, ssl, record, record_secrets, namespace, origins)
        self._hosting: Hosting = InThread() if world is None else InWorld(world)
        self._service: Service | None = None
        self.clock: Final = Clock(self, virtual=clock == "virtual" and world is None)
        """The broker's time."""
        self.faults: Final = Faults(self)
        """Injects faults."""
        self.history: Final = HistoryView(self)
        """Records of what happened to messages."""
        self.published: Final = Watched(self, self.history, published)
        """What clients and the test have published, and publish while a test waits for it."""
        self.consumed: Final = Watched(self, self.history, consumed)
        """What consumers got: by whom, and how it was settled. `where` has the filter `outcome`, too."""
        self.errors: Final[list[BaseException]] = []
        """Exceptions in the broker itself: each is a bug in it, and fails a test that uses the fixture."""

    # Start and stop.

    def start(self) -> Self:
        """Listen; returns when clients can connect. Raises OSError, RuntimeError if it runs already, and everything
        that `preload` raises."""
        if self._hosting.is_running:
            raise RuntimeError("the broker runs already")
        try:
            self._hosting.start(self._begin, self._failed)
            if self._definitions is not None:
                self.preload(self._definitions)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Close every connection and the port. A second call does nothing."""
        self._hosting.stop(_nothing if self._service is None else self._service.stop)
        self._service = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_running(self) -> bool:
        """Whether clients can connect."""
        return self._service is not None

    # Addresses.

    @property
    def port(self) -> int:
        """The port it listens on. Raises RuntimeError if it isn't running."""
        return self.service.server.port

    @property
    def url(self) -> str:
        """The URL for its first user and first virtual host. Raises RuntimeError if it isn't running."""
        return self.service.server.url

    @property
    def management_url(self) -> str:
        """Where RabbitMQ's management API is, as far as docs/management.md says: `http://127.0.0.1:PORT`, without a
        user and password. It is served from the first time on that somebody asks. Raises RuntimeError if the broker
        isn't running.
        """
        server = self.service.server
        self.run(server.serve_management)
        return server.management_url

    def url_for(self, user: str | None = None, vhost: str | None = None) -> str:
        """Return the URL for another user or virtual host. Raises LookupError for an unknown user."""
        name = next(iter(self._settings.users)) if user is None else user
        if name not in self._settings.users:
            raise LookupError(f"the broker has no user {name!r}")
        known = self._settings.users[name]
        return AmqpUri(
            "amqp" if self._listen[1] is None else "amqps",
            "127.0.0.1",
            self.port,
            name,
            known.password if isinstance(known, User) else known,
            self._settings.vhosts[0] if vhost is None else vhost,
        ).format()

    # Content.

    def queue(self, name: str, *, vhost: str | None = None) -> QueueView:
        """Return a view of a queue, which need not exist yet."""
        return QueueView(self, name, self._vhost(vhost))

    def exchange(self, name: str, *, vhost: str | None = None) -> ExchangeView:
        """Return a view of an exchange, which need not exist yet; "" is the default exchange."""
        return ExchangeView(self, name, self._vhost(vhost))

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of the queues of the first virtual host."""
        return self.call(lambda: tuple(self.service.vhost(self._vhost(None)).queues))

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Its clients, including those still logging in or leaving."""

        def found() -> tuple[Connection, ...]:
            return tuple(
                [
                    Connection(each.number, each.version, *(each.front.describe() if each.front else ("", "")))
                    for each in self.service.hub.clients.values()
                ]
            )

        return self.call(found)

    def messages(self, queue: str, *, vhost: str | None = None) -> tuple[StoredMessage, ...]:
        """Return the messages in a queue, available or acquired, without changing anything. Raises `NoSuchNode`."""
        return self.queue(queue, vhost=vhost).messages

    def publish(
        self,
        body: bytes | str,
        *,
        exchange: str = "",
        routing_key: str = "",
        properties: BasicProperties | None = None,
        headers: Mapping[str, Any] | None = None,
        vhost: str | None = None,
    ) -> bool:
        """Publish a message as a client of 0-9-1 would, and return whether a queue took it.

        `headers` are short for `properties` with these headers. Raises TypeError for both at once, ValueError if the
        broker refuses it, for example because the exchange doesn't exist.
        """
        if properties is not None and headers is not None:
            raise TypeError("give properties or headers, not both")
        if headers is not None:
            properties = BasicProperties(headers=dict(headers))
        tables = get_dialect("0-9-1-rabbit").tables
        octets = (properties or BasicProperties()).encode(tables)
        content = ClassicContent(AMQP_0_9_1, octets, tables, body.encode() if isinstance(body, str) else bytes(body))
        name = self._vhost(vhost)

        def publish() -> bool:
            done: commands.Published = self.service.apply(
                commands.Publish(self.service.owner(name), exchange, routing_key, content)
            )
            return done.routed

        return self.call(publish)

    def get(self, queue: str, *, vhost: str | None = None) -> StoredMessage | None:
        """Take the next message out of a queue, for good; None if none is available. Raises `NoSuchNode`."""
        name = self._vhost(vhost)
        view = self.queue(queue, vhost=name)

        def get() -> StoredMessage | None:
            service = self.service
            if queue not in service.vhost(name).queues:
                return None
            entry: Entry | None = service.apply(commands.Get(service.owner(name), queue, settles=True))
            return None if entry is None else StoredMessage(entry)

        _ = view.ready
        return self.call(get)

    def preload(self, definitions: Definitions, *, vhost: str | None = None) -> Preloaded:
        """Declare exchanges, queues and bindings from a mapping, or from a JSON file as exported by RabbitMQ.

        In short: `{"exchanges": {"orders": "topic"}, "queues": ["jobs"], "bindings": [("orders", "jobs", "order.#")]}`.
        Queues and exchanges have the defaults of RabbitMQ's tools: durable, not deleted automatically. Users,
        permissions, policies and the like are ignored, and listed in `Preloaded.ignored`.

        Raises ValueError for invalid definitions or those that the broker refuses, OSError for an unreadable file.
        """
        name = self._vhost(vhost)
        return self.call(lambda: preload(self.service, definitions, name))

    def restart(self) -> None:
        """Restart the broker, which keeps durable queues with their persistent messages.

        Every connection is cut before; the port stays the same.
        """
        self.run(self._restart)

    # Waiting.

    def wait_for(self, condition: Callable[[EmbeddedBroker], T], *, timeout: float = 5.0) -> T:
        """Wait until a function of this broker returns something true, and return that.

        `timeout` is in real seconds, in a simulated world in the world's. Raises AssertionError after it, and
        RuntimeError in an event loop, which it would hold up: there use `wait_until`.

        >>> broker.wait_for(lambda broker: broker.queue("jobs").consumers)
        1
        """
        look = _Look(self, condition)
        if not self.wait(look, timeout):
            raise AssertionError(look.failure(timeout))
        return look.found[0]

    async def wait_until(self, condition: Callable[[EmbeddedBroker], T], *, timeout: float = 5.0) -> T:
        """Do the same as `wait_for` in a coroutine of asyncio or trio, whose loop goes on meanwhile.

        `timeout` is in seconds of the loop's clock. Raises AssertionError after it.

        >>> await broker.wait_until(lambda broker: broker.queue("jobs").consumers)
        1
        """
        look = _Look(self, condition)
        if not await until(look, timeout):
            raise AssertionError(look.failure(timeout))
        return look.found[0]

    def now(self) -> float:
        """Return the seconds of the clock that waits go by: the machine's, in a simulated world the world's."""
        return self._hosting.now()

    def wait(self, condition: Callable[[], object], timeout: float) -> bool:
        """Wait until a function returns something true; return False if it doesn't within `timeout` seconds.

        Raises RuntimeError in an event loop of real time.
        """
        return self._hosting.wait(condition, timeout)

    # In the broker's thread.

    @property
    def service(self) -> Service:
        """The serving broker, which belongs to its own thread: see `call`. Raises RuntimeError if it isn't running."""
        if self._service is None:
            raise RuntimeError("the broker isn't running: use it in a with statement, or call start()")
        return self._service

    def call(self, function: Callable[[], T]) -> T:
        """Call a function in the broker's thread, after all received octets are handled, and return its result."""
        service = self.service

        async def run() -> T:
            await service.quiet()
            return function()

        return self.run(run)

    def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the broker's event loop, and return its result.

        Raises RuntimeError if the broker isn't running, or if it is called from the broker's own thread.
        """
        if self._service is None:
            raise RuntimeError("the broker isn't running: use it in a with statement, or call start()")
        return self._hosting.run(make)

    # Internals.

    def _vhost(self, name: str | None) -> str:
        return self._settings.vhosts[0] if name is None else name

    async def _restart(self) -> None:
        service = self.service
        for client in list(service.hub.clients.values()):
            service.server.line(client.number).cut()
        await service.quiet()
        service.hub.restart(service.clock.time())
        service.settle()

    async def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        service = Service(loop, virtual=self.clock.is_virtual)
        await service.start(self._settings, *self._listen)
        self._service = service

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.errors.append(error)
        loop.default_exception_handler(context)

    def __repr__(self) -> str:
        where = f"on port {self.port}" if self.is_running else "not running"
        return f"<EmbeddedBroker {where}>"


class _Look(Generic[T]):
    """A look at a condition; `found` has what it gave last."""

    def __init__(self, broker: EmbeddedBroker, condition: Callable[[EmbeddedBroker], T]) -> None:
        self._broker = broker
        self._condition = condition
        self.found: list[T] = []

    def __call__(self) -> T:
        self.found[:] = [self._condition(self._broker)]
        return self.found[0]

    def failure(self, timeout: float) -> str:
        return f"it hasn't come true within {timeout} s; it gives {self.found[0]!r}"


async def _nothing() -> None:
    """There is nothing to end."""


__all__ = ["EmbeddedBroker"]
