"""A run of AMQP 1.0's engine in which time, randomness and I/O are forbidden; prints a digest of all it put out.

`python -m tests.kit.purity_1_0` is what the test starts, with different hash seeds.
"""

import sys
from typing import Any

from amqp_sansio import Event
from amqp_sansio.amqp_1_0 import Message, Properties
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.endpoint import Side
from tests.kit.driving_1_0 import Driver
from tests.kit.pair import told
from tests.kit.pair_1_0 import Accepting, Pair, client_config, server_config
from tests.kit.purity import LOGIN, digest_of, forbid, give_keys, numbers


class ScramServer(Accepting):
    """A server's application with stored keys."""

    def __call__(self, connection: Connection, event: Event) -> None:
        """As the base's, and answers the question for keys."""
        super().__call__(connection, event)
        give_keys(connection, event)


def log_in() -> list[str]:
    """An opening with SCRAM, maps with all sorts of keys, messages both ways, a lost transport."""
    properties: dict[str, Any] = {f"key-{number}": {"nested": [number, str(number)]} for number in range(8)}
    pair = Pair(
        client=client_config(sasl=LOGIN, properties=properties, idle_time_out=5.0),
        server=server_config(
            mechanisms=("SCRAM-SHA-256", "PLAIN"),
            nonce="servers",
            idle_time_out=5.0,
            offered_capabilities=("c", "b", "a"),
        ),
        applications={Side.SERVER: ScramServer()},
    ).open()
    assert pair.server.mechanism == "SCRAM-SHA-256"
    session = pair.session()
    sender = session.open_sender("q")
    receiver = session.open_receiver("r", credit=10)
    pair.pump()
    message = Message(
        {"a": [1, 2.5, None], "b": b"x"},
        properties=Properties(message_id="id", subject="s"),
        application_properties={f"key-{number}": number for number in range(20)},
    )
    sender.send(message)
    pair.peer(receiver).send(Message(bytes(100_000)))
    pair.pump()
    pair.advance(12.0)
    sender.send(message)
    saved = [repr(link.saved_state()) for link in (sender, receiver)]
    pair.cut()
    return [
        *saved,
        *[told(event) for events in pair.events.values() for event in events],
        *[bytes(octets).hex() for octets in pair.sent.values()],
    ]


def drive(seed: int) -> list[str]:
    """What a random run shows."""
    source = numbers(seed)
    driver = Driver(damage=seed % 2 == 0)
    for _ in range(120):
        driver.apply((next(source) % 256, next(source) % 256, next(source) % 256))
    driver.finish()
    return driver.trace()


def digest() -> str:
    return digest_of(log_in(), *[drive(seed) for seed in range(1, 21)])


if __name__ == "__main__":
    forbid()
    print(digest(), file=sys.stdout)
