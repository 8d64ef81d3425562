"""Real 1.0 clients on a Hub, joined in memory, with a clock that the test moves."""

from __future__ import annotations

from typing import Any

from amqp_sansio import CloseHint, Event, Signal
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker import snapshot
from amqp_sansio.broker.client import Client
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.hub import Hub
from amqp_sansio.broker.model.commands import Bind, DeclareExchange, DeclareQueue, OpenOwner, Publish
from amqp_sansio.broker.model.queue import Owner, Queue
from amqp_sansio.broker.settings import Settings
from amqp_sansio.events import Pending
from amqp_sansio.sasl import ClientMechanism, Plain

STEPS = 10_000
GUEST = Plain("guest", "guest")


class User:
    """A client's engine that faces the hub. `events` are all it took; nothing is answered by itself."""

    def __init__(self, world: World, config: amqp.Config, *, is_secure: bool = False, peer_name: str = "") -> None:
        self.world = world
        self.end = amqp.Connection.client(config)
        self.client: Client = world.hub.connect(is_secure=is_secure, peer_name=peer_name)
        self.events: list[Event] = []
        self.reads = True
        self.is_cut = False

    def turn(self) -> bool:
        """One exchange of octets; whether anything moved."""
        world = self.world
        moved = False
        while not isinstance(event := self.end.next_event(), Signal):
            self.events.append(event)
            moved = True
        if self.is_cut:
            return moved
        octets = self.end.data_to_send(world.now)
        if octets:
            self.client.receive_data(octets, world.now)
            moved = True
        self.client.next_event()
        if self.reads:
            octets = self.client.data_to_send(world.now)
            if octets:
                self.end.receive_data(octets, world.now)
                moved = True
        if self.end.close_hint is not CloseHint.KEEP and not self.end.send_backlog:
            self.cut("hung up")
            moved = True
        elif self.client.close_hint is not CloseHint.KEEP and not self.client.send_backlog:
            self.end.receive_eof(world.now)
            self.cut("hung up")
            moved = True
        return moved

    def cut(self, reason: str = "reset") -> None:
        """The transport is gone."""
        self.is_cut = True
        self.client.connection_lost(reason, self.world.now)
        self.client.next_event()
        self.end.connection_lost(reason, self.world.now)

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

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one class so far."""
        return [each for each in self.events if isinstance(each, kind)]

    def take(self, link: amqp.Receiver | None = None) -> list[amqp.Delivery]:
        """The deliveries since the last `take`, of one link or all."""
        self.world.pump()
        found = [
            each
            for each in self.of(amqp.Delivery)
            if link is None or (each.channel, each.link) == (link.session.channel, link.handle)
        ]
        self.events = [each for each in self.events if not any([each is one for one in found])]
        return found

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
        return amqp.Controller(self.sender(amqp.Coordinator(), session))

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


class World:
    """A hub with its users, and an owner that the test uses the model by."""

    def __init__(self, **settings: Any) -> None:
        self.hub = Hub(Settings(**settings))
        self.now = 0.0
        self.users: list[User] = []
        self.owner: Owner = self.hub.apply(OpenOwner("/", "test"))

    def user(self, **changes: Any) -> User:
        """A client that isn't pumped yet."""
        login: ClientMechanism | None = changes.pop("sasl", GUEST)
        place = {name: changes.pop(name) for name in ("is_secure", "peer_name") if name in changes}
        values: dict[str, Any] = {"container_id": f"c{len(self.users)}", "sasl": login, **changes}
        user = User(self, amqp.Config(**values), **place)
        self.users.append(user)
        return user

    def connect(self, **changes: Any) -> User:
        user = self.user(**changes)
        self.pump()
        assert user.end.is_open, user.events
        return user

    def pump(self) -> None:
        """Let everything be exchanged; the clock stands still."""
        for _ in range(STEPS):
            moved = [each.turn() for each in self.users]
            for client in self.hub.take_dirty():
                client.next_event()
            if not any(moved):
                return
        raise AssertionError("the users never come to rest")

    def advance(self, seconds: float) -> None:
        """Let time pass, serving the hub's deadlines and the connections'."""
        end = self.now + seconds
        for _ in range(STEPS):
            self.pump()
            deadlines = [self.hub.next_deadline]
            for each in self.users:
                if not each.is_cut:
                    deadlines += [each.client.next_deadline, each.end.next_deadline]
            due = min([each for each in deadlines if each is not None], default=end + 1)
            if due > end:
                self.now = end
                self.hub.handle_timeout(end)
                self.pump()
                return
            self.now = max(self.now, due)
            self.hub.handle_timeout(self.now)
            for each in self.users:
                if not each.is_cut:
                    each.client.handle_timeout(self.now)
                    each.end.handle_timeout(self.now)
        raise AssertionError("deadlines come without end")

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
        copy: World = snapshot.loads(snapshot.dumps(self))
        self.__dict__.update(copy.__dict__)
        for each in self.users:
            each.world = self


def browsing(address: str, **options: Any) -> amqp.Source:
    from amqp_sansio.amqp_1_0.codec.conditions import COPY

    return amqp.Source(address, distribution_mode=COPY, **options)
