"""Azure's services for tests: `ServiceBus`, an embedded broker that is a namespace of Service Bus."""

from __future__ import annotations

import os
import ssl as ssl_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar

from amqp_sansio_azure import AzureNamespace, settings_for
from amqp_sansio_azure.certificate import self_signed
from amqp_sansio_azure.servicebus import Options, Queue, Rule, ServiceBusNamespace, SqlFilter, Topic
from amqp_sansio_azure.servicebus.administration import Administration
from amqp_sansio_azure.servicebus.config import load_config
from amqp_sansio_azure.servicebus.http_server import AdministrationServer
from amqp_sansio_azure.servicebus.messages import ACTIVE, DEFERRED, SCHEDULED
from amqp_sansio_azure.servicebus.stores import Store

from .embedded import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from .clock import Clock
    from .faults import Faults

_T = TypeVar("_T")


class Azure:
    """A namespace on a port of 127.0.0.1, with a clock that the test advances: `with ... as it`, or `start`, `stop`.

    `arguments` are those of `EmbeddedBroker`, but for users and settings.
    """

    def __init__(self, namespace: AzureNamespace, **arguments: Any) -> None:
        users = {rule.name: rule.key for rule in namespace.rules.values()}
        self.broker: Final = EmbeddedBroker(
            settings=settings_for(namespace), users=users, namespace=namespace, **arguments
        )
        """The broker that serves it."""
        self._rule = next(iter(namespace.rules.values()))
        self.clock: Final[Clock] = self.broker.clock
        """The service's time: locks, times to live, schedules, idle links, tokens."""
        self.faults: Final[Faults] = self.broker.faults
        """Injects faults."""

    def start(self) -> Self:
        """Listen; returns when clients can connect. Raises OSError."""
        self.broker.start()
        return self

    def stop(self) -> None:
        """Close every connection and the port."""
        self.broker.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self.broker.port

    @property
    def connection_string(self) -> str:
        """The connection string of its first access rule, as the emulator's: without TLS."""
        return (
            f"Endpoint=sb://127.0.0.1:{self.port};SharedAccessKeyName={self._rule.name};"
            f"SharedAccessKey={self._rule.key};UseDevelopmentEmulator=true;"
        )

    def call(self, function: Callable[[], _T]) -> _T:
        """Call a function in the broker's thread, and have its effects sent to clients."""

        def run() -> _T:
            service = self.broker.service
            service.hub.now = max(service.hub.now, service.clock.time())
            try:
                return function()
            finally:
                service.settle()

        return self.broker.call(run)


class ServiceBus(Azure):
    """Service Bus for a test: queues, topics and subscriptions are made with it, by its users' SDKs, or from a file.

    `config` is a configuration file of Microsoft's emulator, or what one contains. With `checks_tokens` shared access
    signatures are held against `rules`, otherwise any token is taken. Further arguments are those of `EmbeddedBroker`.

    >>> with ServiceBus() as service_bus:
    ...     service_bus.queue("orders", lock_duration=30, max_delivery_count=3).active
    0
    """

    def __init__(
        self,
        *,
        config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        namespace: ServiceBusNamespace | None = None,
        **arguments: Any,
    ) -> None:
        self.namespace: Final = ServiceBusNamespace() if namespace is None else namespace
        """Its entities, which belong to the broker's thread while it runs: see `call`."""
        super().__init__(self.namespace, **arguments)
        self._http: AdministrationServer | None = None
        """The administration without TLS, once somebody has asked for it."""
        self._https: AdministrationServer | None = None
        """The administration over HTTPS, once somebody has asked for it."""
        self._identity: Identity | None = None
        """The certificate of HTTPS with its key, from then on."""
        if config is not None:
            load_config(self.namespace, config)

    def stop(self) -> None:
        for each in (self._http, self._https):
            if each is not None and self.broker.is_running:
                self.broker.run(each.close)
        self._http = self._https = None
        if self._identity is not None:
            self._identity.remove()
        self._identity = None
        super().stop()

    @property
    def administration_port(self) -> int:
        """The port of the administration over HTTP (no TLS), which listens from the first use of this on."""
        if self._http is None:
            self._http = self._administration(None)
        return self._http.port

    @property
    def administration_connection_string(self) -> str:
        """The connection string for administration clients, which use HTTPS whatever it says, on a port of its own that
        listens from the first use of this on. They have to trust `certificate`.

        >>> with ServiceBus() as service_bus:
        ...     ServiceBusAdministrationClient.from_connection_string(
        ...         service_bus.administration_connection_string, connection_verify=service_bus.certificate
        ...     ).create_queue("orders")
        """
        if self._https is None:
            self._https = self._administration(self._shown().context())
        return self.connection_string.replace(f":{self.port};", f":{self._https.port};")

    @property
    def certificate(self) -> str:
        """The path of the certificate of the administration over HTTPS, as PEM: it signs itself, for localhost and
        127.0.0.1, and is another one each time. The file is there until the stop."""
        return str(self._shown().certificate)

    def _administration(self, ssl: ssl_module.SSLContext | None) -> AdministrationServer:
        made = AdministrationServer(Administration(self.namespace), self.broker.service.settle)

        async def start() -> None:
            await made.start("127.0.0.1", 0, ssl=ssl)

        self.broker.run(start)
        return made

    def _shown(self) -> Identity:
        if self._identity is None:
            self._identity = Identity()
        return self._identity

    def queue(self, name: str, **options: Any) -> Entity:
        """Return a queue, made with these options (`amqp_sansio_azure.servicebus.Options`) if it isn't there.

        Raises ValueError for options of a queue that is there, and for an unusable name.
        """
        return self._entity(name, lambda: self.namespace.add_queue(name, Options(**options)), options)

    def topic(self, name: str, **options: Any) -> TopicView:
        """Return a topic, made with these options if it isn't there. Raises ValueError as `queue`."""

        def make() -> None:
            found = self.namespace.topics.get(name.lower())
            if found is None:
                self.namespace.add_topic(name, Options(**options))
            elif options:
                raise ValueError(f"topic {name!r} is there already")

        self._do(make)
        return TopicView(self, name)

    def subscription(self, topic: str, name: str, *, sql: str | None = None, **options: Any) -> Entity:
        """Return a subscription, made with these options if it isn't there; `sql` is the filter of its only rule.

        Raises ValueError as `queue`, and for a condition that doesn't parse.
        """
        path = f"{topic}/Subscriptions/{name}"

        def make() -> Queue:
            rules = None if sql is None else (Rule("$Default", SqlFilter(sql)),)
            return self.namespace.add_subscription(topic, name, Options(**options), rules)

        return self._entity(path, make, {**options, **({} if sql is None else {"sql": sql})})

    def delete(self, path: str) -> None:
        """Delete an entity; links to it are detached. Raises LookupError if it isn't there."""

        def delete() -> None:
            if path.lower() not in self.namespace.queues and path.lower() not in self.namespace.topics:
                raise LookupError(f"there is no entity {path!r}")
            self.namespace.delete(path)

        self._do(delete)

    def _entity(self, path: str, make: Callable[[], Queue], options: Mapping[str, Any]) -> Entity:
        def find() -> None:
            if path.lower() not in self.namespace.queues:
                make()
            elif options:
                raise ValueError(f"entity {path!r} is there already")

        self._do(find)
        return Entity(self, path)

    def _do(self, function: Callable[[], _T]) -> _T:
        """Call a function where the namespace belongs to: in the broker's thread, if that runs."""
        return self.call(function) if self.broker.is_running else function()


class Identity:
    """A certificate of a test's own, with its key, in files, which is how the module ssl takes them."""

    def __init__(self) -> None:
        made = self_signed(os.urandom(32))
        self._folder = TemporaryDirectory(prefix="amqp-sansio-")
        """Nobody else may look into it."""
        self.certificate: Final = Path(self._folder.name, "certificate.pem")
        """The file of the certificate, which clients trust."""
        self._key = Path(self._folder.name, "key.pem")
        self.certificate.write_text(made.certificate)
        self._key.write_text(made.key)

    def context(self) -> ssl_module.SSLContext:
        """Return the context of a server."""
        context = ssl_module.create_default_context(ssl_module.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate, self._key)
        return context

    def remove(self) -> None:
        """Remove the files."""
        self._folder.cleanup()


class Entity:
    """A queue or subscription, as a test sees it: numbers of messages by state, in it and in its dead letters."""

    def __init__(self, service_bus: ServiceBus, path: str) -> None:
        self._service_bus = service_bus
        self.path = path
        """Its path, such as `orders` or `news/Subscriptions/all`."""

    @property
    def active(self) -> int:
        """Messages to be received, also locked ones."""
        return self._count(lambda queue: queue.store.count(ACTIVE))

    @property
    def locked(self) -> int:
        """Messages under a lock."""
        return self._count(lambda queue: queue.store.locked)

    @property
    def deferred(self) -> int:
        """Messages that were deferred."""
        return self._count(lambda queue: queue.store.count(DEFERRED))

    @property
    def scheduled(self) -> int:
        """Messages that wait for their time."""
        return self._count(lambda queue: queue.store.count(SCHEDULED))

    @property
    def dead_letters(self) -> int:
        """Messages in the dead-letter queue."""
        return self._count(lambda queue: len(queue.dead_letters.messages))

    @property
    def receivers(self) -> int:
        """Links that receive from it."""
        return self._count(lambda queue: queue.store.takers)

    def purge(self) -> int:
        """Remove every message; return how many there were."""
        return self._count(lambda queue: queue.store.purge())

    def _count(self, function: Callable[[Queue], int]) -> int:
        service_bus = self._service_bus

        def look() -> int:
            found = service_bus.namespace.queues.get(self.path.lower())
            if found is None:
                raise LookupError(f"there is no entity {self.path!r}")
            return function(found)

        return service_bus.call(look)

    def __repr__(self) -> str:
        return f"<Entity {self.path}>"


class TopicView:
    """A topic, as a test sees it."""

    def __init__(self, service_bus: ServiceBus, name: str) -> None:
        self._service_bus = service_bus
        self.name = name
        """Its name."""

    def subscription(self, name: str, *, sql: str | None = None, **options: Any) -> Entity:
        """Return a subscription of it; see `ServiceBus.subscription`."""
        return self._service_bus.subscription(self.name, name, sql=sql, **options)

    @property
    def scheduled(self) -> int:
        """Messages that wait for their time."""
        return self._service_bus.call(lambda: self._topic().count(SCHEDULED))

    def _topic(self) -> Store:
        found: Topic | None = self._service_bus.namespace.topics.get(self.name.lower())
        if found is None:
            raise LookupError(f"there is no topic {self.name!r}")
        return found


__all__ = ["Azure", "Entity", "ServiceBus", "TopicView"]
