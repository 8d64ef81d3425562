"""Messages from one end of an AMQP 1.0 connection in memory to the other and back to settlement: ours and proton's.

Both ends are counted. Each message is created separately, sent unsettled, read at the other end, accepted and settled;
the sender takes the outcome and forgets the delivery.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import proton  # pyright: ignore[reportMissingTypeStubs]

from amqp_sansio import Limits, OpenRequested, Settled, Signal
from amqp_sansio.amqp_1_0 import Accepted, Header, Message, Properties
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.endpoint.events import Delivery, LinkRequested, SessionRequested
from amqp_sansio.amqp_1_0.endpoint.receiver import Receiver
from benchmarks.measure import Case, compare

WINDOW = 100
MESSAGE_ID = "b6f2a2f0-7d4b-4c2e-9d4e-0123456789ab"
TRACE = "0123456789abcdef"
CREATED = 1_700_000_000_000
"""Milliseconds since 1970."""
_proton: Any = proton


def make_message(body: bytes) -> Message:
    """Make a message with header, properties and three application properties."""
    return Message(
        body,
        header=Header(durable=True, priority=5),
        properties=Properties(
            message_id=MESSAGE_ID,
            to="/queues/orders",
            subject="orders.created.eu",
            content_type="application/json",
            creation_time=CREATED,
        ),
        application_properties={"x-trace": TRACE, "attempt": 3, "ok": True},
    )


def make_proton_message(body: bytes) -> Any:
    """Make the same message as proton's."""
    return _proton.Message(
        body,
        inferred=True,
        durable=True,
        priority=5,
        id=MESSAGE_ID,
        address="/queues/orders",
        subject="orders.created.eu",
        content_type="application/json",
        creation_time=CREATED / 1000,
        properties={"x-trace": TRACE, "attempt": 3, "ok": True},
    )


class Pair:
    """A client with a sender and a server with its receiver, connected in memory.

    `opening` has the octets before the link was ready, each with its sender's role.
    """

    def __init__(self, *, credit: int = 10 * WINDOW, snd_settle_mode: int = 2, limits: Limits | None = None) -> None:
        self.credit = credit
        self.opening: list[tuple[str, bytes]] = []
        limits = limits or Limits()
        self.client = Connection.client(Config(container_id="client", limits=limits))
        self.server = Connection.server(Config(container_id="server", incoming_window=credit, limits=limits))
        self.settle()
        session = self.client.open_session()
        self.settle()
        self.sender = session.open_sender("orders", snd_settle_mode=snd_settle_mode)
        self.settle()
        self.receiver = cast("Receiver", self.server.session(0).link(0))

    def settle(self) -> None:
        """Accept all requests, until both ends are at rest."""
        moved = True
        while moved:
            moved = False
            for here, there in ((self.client, self.server), (self.server, self.client)):
                while not isinstance(event := here.next_event(), Signal):
                    moved = True
                    if isinstance(event, OpenRequested):
                        here.accept_open()
                    elif isinstance(event, SessionRequested):
                        here.session(event.channel).accept()
                    elif isinstance(event, LinkRequested):
                        link = here.session(event.channel).link(event.link)
                        link.accept_attach()
                        if isinstance(link, Receiver):
                            link.flow(self.credit)
                octets = here.data_to_send(0.0)
                if octets:
                    self.opening.append((here.role.value, octets))
                    there.receive_data(octets, 0.0)
                    moved = True

    def run(self, count: int, body: bytes) -> None:
        """Move `count` messages, `WINDOW` at a time; each is accepted individually."""
        client, server = self.client, self.server
        sender, receiver = self.sender, self.receiver
        done = 0
        for _ in range(count // WINDOW):
            for _ in range(WINDOW):
                sender.send(make_message(body))
            server.receive_data(client.data_to_send(0.0), 0.0)
            while not isinstance(event := server.next_event(), Signal):
                if type(event) is Delivery:
                    read_message(event.message)
                    receiver.accept(event)
            receiver.flow(self.credit)
            client.receive_data(server.data_to_send(0.0), 0.0)
            while not isinstance(event := client.next_event(), Signal):
                if type(event) is Settled and type(event.state) is Accepted:
                    done += len(event.pendings)
        assert done == count, (done, count)


def read_message(message: Message) -> None:
    """Read the same parts of the message as with proton's."""
    properties = message.properties
    assert properties is not None
    _ = (properties.message_id, properties.to, properties.subject, properties.content_type)
    _ = (properties.creation_time, message.durable, message.body)
    _ = message.application_properties.items()


class ProtonPair:
    """Two of proton's connections with their transports, a sender and a receiver between them."""

    def __init__(self) -> None:
        self.ends: list[Any] = []
        for mode in (_proton.Transport.CLIENT, _proton.Transport.SERVER):
            connection = _proton.Connection()
            transport = _proton.Transport(mode)
            transport.bind(connection)
            connection.open()
            self.ends.append((connection, transport))
        client, server = self.ends[0][0], self.ends[1][0]
        session = client.session()
        session.open()
        self.sender = session.sender("orders")
        self.sender.target.address = "orders"
        self.sender.open()
        self.pump()
        active = _proton.Endpoint.REMOTE_ACTIVE
        server.session_head(active).open()
        self.receiver = server.link_head(active)
        self.receiver.open()
        self.receiver.flow(10 * WINDOW)
        self.pump()

    def pump(self) -> None:
        """Move octets until both ends are at rest, as many at once as they take."""
        (_, one), (_, other) = self.ends
        moved = True
        while moved:
            moved = False
            for here, there in ((one, other), (other, one)):
                while (pending := here.pending()) > 0:
                    count = min(pending, there.capacity())
                    there.push(here.peek(count))
                    here.pop(count)
                    moved = True

    def run(self, count: int, body: bytes) -> None:
        """Move `count` messages, `WINDOW` at a time."""
        sender, receiver = self.sender, self.receiver
        accepted = _proton.Delivery.ACCEPTED
        done = 0
        for _ in range(count // WINDOW):
            sent = [sender.send(make_proton_message(body)) for _ in range(WINDOW)]
            self.pump()
            while (delivery := receiver.current) is not None:
                message = _proton.Message()
                message.decode(receiver.recv(delivery.pending))
                receiver.advance()
                read_proton_message(message)
                delivery.update(accepted)
                delivery.settle()
            receiver.flow(WINDOW)
            self.pump()
            for delivery in sent:
                if delivery.settled and delivery.remote_state == accepted:
                    delivery.settle()
                    done += 1
        assert done == count, (done, count)


def read_proton_message(message: Any) -> None:
    """Read the parts of the message."""
    _ = (message.id, message.address, message.subject, message.content_type)
    _ = (message.creation_time, message.durable, message.properties, message.body)


def engine_case(count: int) -> Case:
    """Compare the engine pair with proton's."""
    body = b"x" * 128
    ours, theirs = Pair(), ProtonPair()
    return compare(
        "1.0 engine pair vs proton",
        partial(ours.run, count, body),
        partial(theirs.run, count, body),
        count=count,
        goal=2.0,
    )
