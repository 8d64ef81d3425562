"""Clients of 0-10 at a Hub, with what tests do on their sessions."""

from __future__ import annotations

from typing import Any, TypeVar

from amqp_sansio import Closed, Event, Failed, Pending, RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import Settings
from amqp_sansio.sasl import ClientMechanism, Plain
from tests.kit import hub
from tests.kit.sessions_0_10 import Sessions

R = TypeVar("R")


class User(hub.User[amqp.Connection], Sessions):
    """A client of 0-10."""

    world: World

    def __init__(self, world: hub.World[Any], config: amqp.Config, **options: Any) -> None:
        super().__init__(world, amqp.Connection.client(config), **options)

    # Commands.

    @property
    def connection(self) -> amqp.Connection:  # type: ignore[override]
        """The client's end."""
        return self.end

    def session(self, name: bytes | str | None = b"s", **options: Any) -> amqp.Session:
        """As the base's, of one name and without a timeout unless the test says more."""
        return super().session(name, **{"timeout": 0, **options})

    def new_destination(self) -> str:
        return "d"

    def result(self, handle: Pending[R]) -> R:
        """What a handle ends with. Raises its error."""
        self.world.pump()
        assert handle.done, f"{handle} is not done, state {self.end.state}"
        if handle.error is not None:
            raise handle.error
        found: R = handle.result
        return found

    def refused(self, session: amqp.Session, command: spec.Command[Any], message: amqp.Message | None = None) -> int:
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

    def put(self, session: amqp.Session, queue: str, *bodies: bytes) -> None:
        """Put messages into a queue by the default exchange."""
        for body in bodies:
            self.publish(session, "", amqp.Message(body, routing_key=queue))

    def got(self, session: amqp.Session, destination: str = "d") -> list[amqp.MessageReceived]:
        """Take the messages of a subscription that have come."""
        self.world.pump()
        place = (session.channel, destination)
        return self.pick(amqp.MessageReceived, lambda event: (event.channel, event.destination) == place)

    def bodies(self, session: amqp.Session, destination: str = "d") -> list[bytes]:
        """The bodies of the messages that have come, which are taken."""
        return [each.body for each in self.got(session, destination)]

    def queue(self, session: amqp.Session, name: str, *keys: tuple[str, str], **options: Any) -> str:
        """Declare a queue and bind it to exchanges with keys."""
        self.call(session, spec.QueueDeclare(name, **options))
        for exchange, key in keys:
            self.call(session, spec.ExchangeBind(name, exchange, key))
        return name

    def depth(self, session: amqp.Session, queue: str) -> int | None:
        """How many messages are available; None for a queue that doesn't exist."""
        return self.call(session, spec.QueueQuery(queue)).message_count

    def commands(self, kind: type[Any]) -> list[amqp.CommandReceived]:
        """Take the commands of a class that have come."""
        self.world.pump()
        return self.pick(amqp.CommandReceived, lambda event: isinstance(event.command, kind))

    @property
    def closed(self) -> Closed | None:
        """The last event of the connection."""
        found = [each for each in self.events if isinstance(each, Closed) and each.channel == 0]
        return found[-1] if found else None


class World(hub.World[User]):
    """A hub and its clients."""

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__(settings or Settings(users={"guest": "guest", "other": "other"}))

    def connect(
        self, user: str = "guest", *, sasl: ClientMechanism | None = None, vhost: str = "/", **options: Any
    ) -> User:
        """A client that has logged in and opened its virtual host."""
        found = self.attempt(user, sasl=sasl, vhost=vhost, **options)
        assert found.end.is_open, found.events
        return found

    def attempt(
        self,
        user: str = "guest",
        *,
        password: str | None = None,
        sasl: ClientMechanism | None = None,
        vhost: str = "/",
        config: amqp.Config | None = None,
        **options: Any,
    ) -> User:
        """A client that has tried to."""
        mechanism = sasl or Plain(user, user if password is None else password)
        found = User(self, config or amqp.Config(sasl=mechanism, vhost=vhost), **options)
        self.pump()
        return found


def streamed(events: list[Event]) -> bytes:
    """What came in pieces."""
    return b"".join([each.octets for each in events if isinstance(each, amqp.BodyReceived)])
