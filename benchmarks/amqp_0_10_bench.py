"""AMQP 0-10 through its whole engine, against our own 0-9-1 with the same content: no pure peer exists.

Both have three frames for a message; 0-10 also counts commands and credit, and every message is completed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from amqp_sansio import AuthenticationRequested, OpenRequested, Signal
from amqp_sansio.amqp_0_9_1 import BasicProperties, Channel
from amqp_sansio.amqp_0_9_1 import Connection as ClassicConnection
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    Config,
    Connection,
    DeliveryProperties,
    Message,
    MessageProperties,
    MessageReceived,
    Session,
    SessionRequested,
)
from amqp_sansio.amqp_0_10.spec import BYTE, CREDIT, MESSAGE, NONE, MessageFlow, MessageSetFlowMode, MessageSubscribe
from amqp_sansio.sasl import Plain
from benchmarks import codec_bench
from benchmarks.codec_bench import HEADERS, chunks
from benchmarks.measure import Case, case_of, compare, cpu_seconds

DESTINATION = "ctag1.0123456789abcdef"
MESSAGE_ID = UUID("b6f2a2f0-7d4b-4c2e-9d4e-0123456789ab")


def open_pair(sent: list[tuple[str, bytes]] | None = None) -> tuple[Connection, Connection, Callable[[], None]]:
    """Return a client and a server in memory, and a function that moves octets between them until both are at rest.

    What they send is appended to `sent`.
    """
    client = Connection.client(Config(sasl=Plain("guest", "guest"), heartbeat=0))
    server = Connection.server(Config())

    def settle() -> None:
        moved = True
        while moved:
            moved = False
            for name, here, there in (("client", client, server), ("server", server, client)):
                while not isinstance(event := here.next_event(), Signal):
                    moved = True
                    answer(here, event)
                octets = here.data_to_send(0.0)
                if octets:
                    if sent is not None:
                        sent.append((name, octets))
                    there.receive_data(octets, 0.0)
                    moved = True

    settle()
    return client, server, settle


def answer(here: Connection, event: Any) -> None:
    """Accept every request, as a server."""
    if isinstance(event, AuthenticationRequested):
        here.accept_authentication()
    elif isinstance(event, OpenRequested):
        here.accept_open()
    elif isinstance(event, SessionRequested):
        here.accept_session(event.channel)
    elif isinstance(event, (CommandReceived, MessageReceived)):
        here.session(event.channel).complete(event.command_id)


def subscriber() -> tuple[Connection, Connection, Callable[[], None]]:
    """Return a pair whose client has a subscription without accepts, and unlimited credit."""
    client, server, settle = open_pair()
    session = client.open_session("bench")
    session.call(MessageSubscribe("q", DESTINATION, NONE, 0))
    session.call(MessageSetFlowMode(DESTINATION, CREDIT))
    session.call(MessageFlow(DESTINATION, MESSAGE, None))
    session.call(MessageFlow(DESTINATION, BYTE, None))
    settle()
    return client, server, settle


def make_message(size: int) -> Message:
    """Make the content of the 0-9-1 cases: five properties with three headers, routing key, exchange, `size` octets."""
    return Message(
        b"x" * size,
        delivery_properties=DeliveryProperties(
            delivery_mode=2, timestamp=1_700_000_000, exchange="orders.topic", routing_key="orders.created.eu"
        ),
        message_properties=MessageProperties(
            message_id=MESSAGE_ID, content_type="application/json", application_headers=HEADERS
        ),
    )


def transfers(server: Connection, count: int, size: int) -> bytes:
    """Return `count` transfers as our own server writes them."""
    session = server.session(0)
    message = make_message(size)
    for _ in range(count):
        session.transfer(DESTINATION, message, accept_mode=NONE)
    return server.data_to_send(0.0)


def decode_ours(client: Connection, parts: list[bytes], count: int, eager: bool) -> None:
    """Decode everything with receive_data and next_event; complete each message, and send the completion."""
    take = client.next_event
    session = client.session(0)
    seen = 0
    for part in parts:
        client.receive_data(part, 0.0)
        while True:
            event = take()
            if type(event) is MessageReceived:
                seen += 1
                _ = event.body
                _ = event.destination
                _ = event.command_id
                if eager:
                    read_properties(event)
                session.complete(event.command_id)
            elif isinstance(event, Signal):
                break
        client.data_to_send(0.0)
    assert seen == count, (seen, count)


def read_properties(event: MessageReceived) -> None:
    """Read every property."""
    delivery = event.headers.delivery_properties
    message = event.headers.message_properties
    assert delivery is not None
    assert message is not None
    _ = (delivery.delivery_mode, delivery.timestamp, delivery.exchange, delivery.routing_key)
    _ = (message.content_type, message.message_id)
    headers = message.application_headers
    assert headers is not None
    headers.items()


def encode_ours(session: Session, connection: Connection, count: int, built: bool, out: list[bytes]) -> None:
    """Publish `count` messages, whose octets go to `out`; `built`: properties exist already."""
    body = b"x" * 128
    headers = make_message(0).headers
    for _ in range(count):
        message = Message(body, headers=headers) if built else make_message(128)
        session.transfer("orders.topic", message, accept_mode=NONE)
    out.append(connection.data_to_send(0.0))


def encode_classic(channel: Channel, connection: ClassicConnection, count: int, built: bool) -> None:
    """Do the same in 0-9-1."""
    body = b"x" * 128
    properties = make_properties()
    for _ in range(count):
        if not built:
            properties = make_properties()
        channel.publish(body, exchange="orders.topic", routing_key="orders.created.eu", properties=properties)
    connection.data_to_send(0.0)


def make_properties() -> BasicProperties:
    """Make the properties of `make_message` in 0-9-1."""
    return BasicProperties(
        content_type="application/json",
        delivery_mode=2,
        headers=HEADERS,
        message_id="b6f2a2f0-7d4b-4c2e-9d4e-0123456789ab",
        timestamp=1_700_000_000,
    )


def encode_case(label: str, built: bool, goal: float, count: int, rounds: int = 7) -> Case:
    """Measure publishes; their completions are sent between the rounds."""
    client, server, settle = open_pair()
    session = client.open_session("bench")
    settle()
    out: list[bytes] = []
    classic, _, settle_classic = codec_bench.open_pair()
    channel = classic.open_channel()
    settle_classic()
    pairs: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        mine = cpu_seconds(partial(encode_ours, session, client, count, built, out))
        server.receive_data(out.pop(), 0.0)
        settle()
        pairs.append((mine, cpu_seconds(partial(encode_classic, channel, classic, count, built))))
        settle_classic()
    del pairs[0]
    return case_of(label, pairs, "us CPU", goal, 1e6 / count)


def cases(count: int = 20_000) -> list[Case]:
    """Return the cases: decode with properties untouched and read, and encode."""
    results: list[Case] = []
    for label, eager, goal in (
        ("0-10 decode vs own 0-9-1", False, 0.67),
        ("0-10 decode eager vs own 0-9-1", True, 0.5),
    ):
        classic = chunks(codec_bench.deliveries(count, 128))
        consumers = [codec_bench.consumer() for _ in range(9)]
        subscribers: list[tuple[Connection, list[bytes]]] = []
        for _ in range(9):
            client, server, _ = subscriber()
            subscribers.append((client, chunks(transfers(server, count, 128))))

        def ours(eager: bool = eager, left: list[tuple[Connection, list[bytes]]] = subscribers) -> None:
            client, parts = left.pop()
            decode_ours(client, parts, count, eager)

        def theirs(eager: bool = eager, left: list[Any] = consumers, parts: list[bytes] = classic) -> None:
            codec_bench.decode_ours(left.pop(), parts, count, eager)

        results.append(compare(label, ours, theirs, count=count, goal=goal))
    few = min(count, 10_000)
    results.append(encode_case("0-10 encode vs own 0-9-1", True, 0.67, few))
    results.append(encode_case("0-10 encode eager vs own 0-9-1", False, 0.5, few))
    return results
