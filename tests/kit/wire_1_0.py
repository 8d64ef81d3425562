"""Wire for AMQP 1.0: opens sessions and links, sends and waits, cuts the transport."""

from typing import Any

from amqp_sansio import Scope
from amqp_sansio.amqp_1_0.codec.message import Message
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.endpoint.events import Delivery, LinkClosed
from amqp_sansio.amqp_1_0.endpoint.receiver import Receiver
from amqp_sansio.amqp_1_0.endpoint.sender import Sender
from amqp_sansio.amqp_1_0.endpoint.session import Session
from amqp_sansio.events import Closed
from tests.kit.wire import Wire


class Wire10(Wire[Connection]):
    """A client's connection over TCP."""

    def __init__(self, config: Config, host: str, port: int) -> None:
        super().__init__(Connection.client(config), host, port)

    def session(self) -> Session:
        """A session that is open."""
        session = self.connection.open_session()
        assert session.opening is not None
        self.result(session.opening)
        return session

    def sender(self, session: Session, target: Any, **options: Any) -> Sender:
        """A sender that is attached and has credit. Raises what the attach failed with."""
        sender = self.attached_sender(session, target, **options)
        self.credit(sender)
        return sender

    def credit(self, sender: Sender) -> int:
        """Wait until there is some; how much."""
        self.flush()
        self.until(lambda: sender.credit > 0 or sender.report is not None)
        assert sender.report is None, sender.report
        return sender.credit

    def attached_sender(self, session: Session, target: Any, **options: Any) -> Sender:
        """A sender that is attached, with credit or without."""
        sender = session.open_sender(target, **options)
        assert sender.opening is not None
        self.result(sender.opening)
        return sender

    def receiver(self, session: Session, source: Any, **options: Any) -> Receiver:
        """A receiver that is attached. Raises what the attach failed with."""
        receiver = session.open_receiver(source, **options)
        assert receiver.opening is not None
        self.result(receiver.opening)
        return receiver

    def send(self, sender: Sender, message: Message | bytes, **options: Any) -> Any:
        """Send when there is credit; the state that settled the delivery."""
        self.credit(sender)
        return self.result(sender.send(message, **options))

    def delivery(self, receiver: Receiver, timeout: float = 20.0) -> Delivery:
        """Take the oldest delivery of the link, waiting for it."""

        def those() -> list[Delivery]:
            place = (receiver.session.channel, receiver.handle)
            deliveries = [event for event in self.events if isinstance(event, Delivery)]
            return [each for each in deliveries if (each.channel, each.link) == place]

        self.flush()
        self.until(lambda: bool(those()) or receiver.report is not None, timeout)
        assert receiver.report is None, receiver.report
        found = those()[0]
        # By identity: equal deliveries may follow.
        self.events = [event for event in self.events if event is not found]
        return found

    def close_link(self, link: Sender | Receiver) -> LinkClosed:
        """Close a link and wait for its last event."""
        link.close()
        return self.link_closed(link)

    def link_closed(self, link: Sender | Receiver) -> LinkClosed:
        """Wait for the link's last event."""
        self.flush()
        self.until(lambda: link.report is not None)
        while True:
            found = self.next(LinkClosed)
            if found.name == link.name:
                return found

    def session_closed(self, session: Session) -> Closed:
        """Wait for the session's last event."""
        self.flush()
        self.until(lambda: session.report is not None)
        channel = session.channel
        closed = [event for event in self.events if isinstance(event, Closed)]
        return next(e for e in closed if e.scope is Scope.SESSION and e.channel == channel)
