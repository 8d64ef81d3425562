"""The observer against the client's own decoding of the same deliveries (`peer` is the client)."""

from __future__ import annotations

from amqp_sansio import AuthenticationRequested, Observer, OpenRequested, Signal
from amqp_sansio.amqp_0_9_1 import BasicConsume, BasicConsumeOk, Config, Connection, Request
from amqp_sansio.sasl import Plain
from benchmarks.codec_bench import CONSUMER, chunks, consumer, decode_ours, deliveries
from benchmarks.measure import Case, compare


def record_opening() -> list[tuple[str, bytes]]:
    """Open a pair and consume, keeping everything that was sent."""
    client = Connection.client(Config(sasl=Plain("guest", "guest"), heartbeat=0))
    server = Connection.server(Config(heartbeat=0))
    sent: list[tuple[str, bytes]] = []

    def settle() -> None:
        moved = True
        while moved:
            moved = False
            for name, here, there in (("client", client, server), ("server", server, client)):
                while not isinstance(event := here.next_event(), Signal):
                    moved = True
                    if isinstance(event, AuthenticationRequested):
                        here.accept_authentication()
                    elif isinstance(event, OpenRequested):
                        here.accept_open()
                    elif isinstance(event, Request):
                        here.channel(event.channel).reply(BasicConsumeOk(CONSUMER))
                octets = here.data_to_send(0.0)
                if octets:
                    sent.append((name, octets))
                    there.receive_data(octets, 0.0)
                    moved = True

    settle()
    channel = client.open_channel()
    settle()
    channel.call(BasicConsume("q", no_ack=True))
    settle()
    return sent


def observe(opening: list[tuple[str, bytes]], parts: list[bytes], count: int) -> None:
    """Everything through an observer; every event is taken."""
    observer = Observer(client="client")
    take = observer.next_event
    for sender, octets in opening:
        observer.receive_data(octets, sender, 0)
    seen = 0
    for part in parts:
        observer.receive_data(part, "server", 1)
        while not isinstance(event := take(), Signal):
            seen += getattr(event, "event", "") == "basic.deliver"
    assert seen == count, (seen, count)


def cases(count: int = 20_000) -> list[Case]:
    """At most twice the client's CPU: a ratio of at least 0.5."""
    parts = chunks(deliveries(count, 128))
    opening = record_opening()
    client = consumer()
    return [
        compare(
            "observer vs own client, 128 B deliveries",
            lambda: observe(opening, parts, count),
            lambda: decode_ours(client, parts, count, False),
            count=count,
            goal=0.5,
        )
    ]
