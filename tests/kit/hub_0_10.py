"""0-10 clients of a Hub, joined in memory: pumped until nothing moves, cut, pickled, and asked what they got."""

from __future__ import annotations

from typing import Any, TypeVar

from amqp_sansio import Closed, Event, Failed, Pending, RemoteProtocolError, Signal
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.broker.client import Client
from amqp_sansio.broker.snapshot import dumps, loads
from amqp_sansio.sasl import ClientMechanism, Plain

R = TypeVar("R")

STEPS = 100_000
"""More turns than any test needs: beyond it the ends are in a loop."""


class Peer:
    """A client's connection to a hub. `events` has everything that it was told."""

    def __init__(self, world: World, config: amqp.Config, **options: Any) -> None:
        self.world = world
        self.connection = amqp.Connection.client(config)
        self.theirs: Client = world.hub.connect(**options)
        self.events: list[Event] = []
        self.is_cut = False
        self.reads = True
        self.answers_files = True

    # Sessions.

    def session(self, name: bytes | str = b"s", *, timeout: int | None = 0, force: bool = False) -> amqp.Session:
        """A session that is attached and in step. Raises what the attach failed with."""
        session = self.connection.open_session(name, timeout=timeout, force=force)
        return self._opened(session)

    def resume(self, state: amqp.SessionState, *, force: bool = True) -> amqp.Session:
        """A session that goes on."""
        return self._opened(self.connection.resume_session(state, force=force))

    def _opened(self, session: amqp.Session) -> amqp.Session:
        opening = session.opening
        assert opening is not None
        self.result(opening)
        return session

    # Commands.

    def result(self, handle: Pending[R]) -> R:
        """What a handle ends with. Raises its error."""
        self.world.pump()
        assert handle.done, f"{handle} is not done, state {self.connection.state}"
        if handle.error is not None:
            raise handle.error
        found: R = handle.result
        return found

    def call(self, session: amqp.Session, command: amqp.Command[R], message: amqp.Message | None = None) -> R:
        """Send a command and wait for it; its result. Raises what it failed with."""
        return self.result(session.call(command, message))

    def refused(self, session: amqp.Session, command: amqp.Command[Any], message: amqp.Message | None = None) -> int:
        """The code of the exception that a command ends its session with."""
        session.call(command, message)
        return self.code_of(session)

    def code_of(self, session: amqp.Session) -> int:
        """The code of the exception that has ended a session."""
        self.world.pump()
        report = session.report
        assert report is not None, "the session goes on"
        errors = [
            each.error
            for each in self.events
            if isinstance(each, Failed) and isinstance(each.error, RemoteProtocolError)
        ]
        assert errors
        return report.code

    def publish(self, session: amqp.Session, destination: str, message: amqp.Message | bytes, **options: Any) -> Any:
        """Send a message and wait; its outcome, None with accept-mode none."""
        sent = session.transfer(destination, message, sync=True, **options)
        self.result(sent.completion)
        return None if sent.outcome is None else self.result(sent.outcome)

    def put(self, session: amqp.Session, queue: str, *bodies: bytes) -> None:
        """Put messages into a queue by the default exchange."""
        for body in bodies:
            self.publish(session, "", amqp.Message(body, routing_key=queue))

    def subscribe(
        self,
        session: amqp.Session,
        queue: str,
        destination: str = "d",
        *,
        accept_mode: int = amqp.EXPLICIT,
        acquire_mode: int = amqp.PRE_ACQUIRED,
        credit: int = 0,
        octets: int | None = None,
        **options: Any,
    ) -> str:
        """A subscription, with credit when some is given; its destination."""
        self.call(session, amqp.MessageSubscribe(queue, destination, accept_mode, acquire_mode, **options))
        if credit:
            session.top_up(destination, credit, octets)
            self.result(session.sync())
        return destination

    def got(self, session: amqp.Session, destination: str = "d") -> list[amqp.MessageReceived]:
        """Take the messages of a subscription that have come."""
        self.world.pump()
        place = (session.channel, destination)
        found = [
            each
            for each in self.events
            if isinstance(each, amqp.MessageReceived) and (each.channel, each.destination) == place
        ]
        for each in found:
            self.events = [event for event in self.events if event is not each]
        return found

    def bodies(self, session: amqp.Session, destination: str = "d") -> list[bytes]:
        """The bodies of the messages that have come, which are taken."""
        return [each.body for each in self.got(session, destination)]

    def drain(self, session: amqp.Session, queue: str) -> list[bytes]:
        """All that is available in a queue, taken out of it."""
        destination = self.subscribe(session, queue, f"drain of {queue}", credit=1_000_000)
        self.call(session, amqp.MessageFlush(destination))
        found = self.got(session, destination)
        if found:
            self.result(session.accept(*[each.command_id for each in found], sync=True))
        from amqp_sansio.amqp_0_10 import MessageCancel

        self.call(session, MessageCancel(destination))
        return [each.body for each in found]

    def queue(self, session: amqp.Session, name: str, *keys: tuple[str, str], **options: Any) -> str:
        """Declare a queue and bind it to exchanges with keys."""
        self.call(session, amqp.QueueDeclare(name, **options))
        for exchange, key in keys:
            self.call(session, amqp.ExchangeBind(name, exchange, key))
        return name

    def depth(self, session: amqp.Session, queue: str) -> int | None:
        """How many messages are available; None for a queue that doesn't exist."""
        return self.call(session, amqp.QueueQuery(queue)).message_count

    def commands(self, kind: type[Any]) -> list[amqp.CommandReceived]:
        """Take the commands of a class that have come."""
        self.world.pump()
        found = [
            each for each in self.events if isinstance(each, amqp.CommandReceived) and isinstance(each.command, kind)
        ]
        for each in found:
            self.events = [event for event in self.events if event is not each]
        return found

    # Octets.

    def cut(self) -> None:
        """The transport vanishes for both ends, with what is on its way."""
        self.is_cut = True
        now = self.world.now
        self.connection.connection_lost("cut", now)
        self.theirs.connection_lost("cut", now)
        self.take()
        self.theirs.next_event()
        self.world.pump()

    def take(self) -> bool:
        """Take all events; whether there were any."""
        found = False
        while not isinstance(event := self.connection.next_event(), Signal):
            found = True
            self.events.append(event)
        return found

    def turn(self) -> bool:
        """Octets both ways once; whether there were any."""
        if self.is_cut:
            return False
        now = self.world.now
        moved = self.take()
        budget = self.theirs.receive_budget
        out = self.connection.data_to_send(now, budget) if budget else b""
        if out:
            self.theirs.receive_data(out, now)
        self.theirs.next_event()
        back = self.theirs.data_to_send(now) if self.reads else b""
        if back:
            self.connection.receive_data(back, now)
            self.take()
        return moved or bool(out) or bool(back)

    @property
    def closed(self) -> Closed | None:
        """The last event of the connection."""
        found = [each for each in self.events if isinstance(each, Closed) and each.channel == 0]
        return found[-1] if found else None


class World:
    """A hub and its clients."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.hub = Hub(settings or Settings(users={"guest": "guest", "other": "other"}))
        self.now = 0.0
        self.peers: list[Peer] = []

    def connect(
        self, user: str = "guest", *, sasl: ClientMechanism | None = None, vhost: str = "/", **options: Any
    ) -> Peer:
        """A client that has logged in and opened its virtual host."""
        peer = self.attempt(user, sasl=sasl, vhost=vhost, **options)
        assert peer.connection.is_open, peer.events
        return peer

    def attempt(
        self,
        user: str = "guest",
        *,
        password: str | None = None,
        sasl: ClientMechanism | None = None,
        vhost: str = "/",
        config: amqp.Config | None = None,
        **options: Any,
    ) -> Peer:
        """A client that has tried to."""
        mechanism = sasl or Plain(user, user if password is None else password)
        peer = Peer(self, config or amqp.Config(sasl=mechanism, vhost=vhost), **options)
        self.peers.append(peer)
        self.pump()
        return peer

    def pump(self) -> None:
        """Octets both ways until nothing moves; the clock stands still."""
        for _ in range(STEPS):
            moved = [peer.turn() for peer in self.peers]
            if not any(moved):
                return
        raise AssertionError("the ends never come to rest")

    def advance(self, seconds: float) -> None:
        """Let time pass, and everything that is due happen."""
        self.now += seconds
        self.hub.handle_timeout(self.now)
        self.pump()

    def pickled(self) -> World:
        """The same world from its octets, hub and clients."""
        copy: World = loads(dumps(self))
        return copy


def streamed(events: list[Event]) -> bytes:
    """What came in pieces."""
    return b"".join([each.octets for each in events if isinstance(each, amqp.BodyReceived)])
