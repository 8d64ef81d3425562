"""Clients of 1.0 at a Hub, with what tests do on their links; and an owner that the test uses the model by."""

from __future__ import annotations

from typing import Any

from amqp_sansio import Event
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.broker import Namespace
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.model.commands import Bind, DeclareExchange, DeclareQueue, OpenOwner, Publish
from amqp_sansio.broker.model.owner import Owner
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.settings import Settings
from amqp_sansio.events import Pending
from amqp_sansio.sasl import ClientMechanism, Plain
from tests.kit import hub

GUEST = Plain("guest", "guest")


class User(hub.User[amqp.Connection]):
    """A client of 1.0; nothing is answered by itself."""

    world: World

    def __init__(self, world: hub.World[Any], config: amqp.Config, **options: Any) -> None:
        super().__init__(world, amqp.Connection.client(config), **options)

    def session(self) -> amqp.Session:
        """A session that is open."""
        session = self.end.open_session()
        self.world.pump()
        assert session.is_open, self.events
        return session

    def sender(self, target: Any, session: amqp.Session | None = None, **options: Any) -> amqp.Sender:
        link = (session or self.session()).open_sender(target, **options)
        self.world.pump()
        assert link.is_open, self.failures()
        return link

    def receiver(self, source: Any, session: amqp.Session | None = None, **options: Any) -> amqp.Receiver:
        link = (session or self.session()).open_receiver(source, **options)
        self.world.pump()
        assert link.is_open, self.failures()
        return link

    def refused(self, link: amqp.Sender | amqp.Receiver) -> str:
        """The condition with which a link was refused or ended."""
        self.world.pump()
        assert not link.is_open
        failed = [each for each in self.of(amqp.LinkFailed) if each.name == link.name]
        return str(failed[-1].error.condition)

    def failures(self) -> list[Event]:
        """What went wrong."""
        return [each for each in self.events if "Failed" in type(each).__name__ or "Closed" in type(each).__name__]

    def take(self, link: amqp.Receiver | None = None) -> list[amqp.Delivery]:
        """The deliveries since the last `take`, of one link or all."""
        self.world.pump()
        place = None if link is None else (link.session.channel, link.handle)
        return self.pick(amqp.Delivery, lambda event: place in (None, (event.channel, event.link)))

    def bodies(self, link: amqp.Receiver | None = None) -> list[Any]:
        """The bodies of the deliveries since the last `take`."""
        return [each.body for each in self.take(link)]

    def send(self, link: amqp.Sender, *bodies: Any, **options: Any) -> list[Any]:
        """Send messages; the outcomes."""
        handles = [
            link.send(each if isinstance(each, amqp.Message) else amqp.Message(each), **options) for each in bodies
        ]
        self.world.pump()
        return [each.result if each.done else None for each in handles]

    def controller(self, session: amqp.Session) -> amqp.Controller:
        return amqp.Controller(self.sender(spec.Coordinator(), session))

    def declare(self, controller: amqp.Controller) -> bytes:
        """Begin a transaction."""
        handle: Pending[Any] = controller.declare()
        self.world.pump()
        txn_id: bytes = handle.result.txn_id
        return txn_id

    def discharge(self, controller: amqp.Controller, txn_id: bytes, *, fail: bool = False) -> Any:
        """End it; the outcome."""
        handle = controller.discharge(txn_id, fail=fail)
        self.world.pump()
        return handle.result if handle.done else None

    def closed(self, link: amqp.Sender | amqp.Receiver) -> bool:
        """Whether the client was told that a link ended."""
        self.world.pump()
        return any([each.name == link.name for each in self.of(amqp.LinkClosed)])


class World(hub.World[User]):
    """A hub with its users, and an owner that the test uses the model by."""

    def __init__(self, namespace: Namespace | None = None, **settings: Any) -> None:
        super().__init__(Settings(**settings), namespace)
        self.owner: Owner = self.hub.apply(OpenOwner("/", "test"))

    def user(self, **changes: Any) -> User:
        """A client that isn't pumped yet."""
        login: ClientMechanism | None = changes.pop("sasl", GUEST)
        place = {name: changes.pop(name) for name in ("is_secure", "peer_name") if name in changes}
        values: dict[str, Any] = {"container_id": f"c{len(self.users)}", "sasl": login, **changes}
        return User(self, amqp.Config(**values), **place)

    def connect(self, **changes: Any) -> User:
        user = self.user(**changes)
        self.pump()
        assert user.end.is_open, user.events
        return user

    def queue(self, name: str, **options: Any) -> Queue:
        """A queue made by the test."""
        found: Queue = self.hub.apply(DeclareQueue(self.owner, name, **options))
        self.hub.settle()
        return found

    def exchange(self, name: str, type: str = "direct", **options: Any) -> None:
        """An exchange made by the test."""
        self.hub.apply(DeclareExchange(self.owner, name, type, **options))

    def bind(self, queue: str, exchange: str, key: str = "", **options: Any) -> None:
        """A binding made by the test."""
        self.hub.apply(Bind(self.owner, queue, exchange, key, **options))

    def put(self, queue: str, *bodies: Any) -> None:
        """Messages put into a queue by the test."""
        for body in bodies:
            message = body if isinstance(body, amqp.Message) else amqp.Message(body)
            content = Content_1_0(message.encode())
            self.hub.apply(Publish(self.owner, "", queue, content))
        self.hub.settle()
        self.pump()

    def ready(self, name: str) -> list[Any]:
        """The bodies of the available messages of a queue."""
        queue = self.hub.model.vhosts["/"].queues[name]
        contents: list[Any] = [each.message.content for each in queue.available()]
        return [each.message.body for each in contents]

    def state(self, name: str) -> tuple[int, int]:
        """How many messages of a queue are available and acquired."""
        queue = self.hub.model.vhosts["/"].queues[name]
        return queue.ready, queue.unsettled

    def refork(self) -> None:
        """Replace everything by what its pickle gives; the clients' links have to be looked up again."""
        self.__dict__.update(self.copied().__dict__)
        for each in self.users:
            each.world = self


def browsing(address: str, **options: Any) -> amqp.Source:
    return amqp.Source(address, distribution_mode=amqp.spec.conditions.COPY, **options)
