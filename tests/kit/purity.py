"""A run of an engine in which time, randomness and I/O are forbidden; prints a digest of everything it put out.

`python -m tests.kit.purity 1.0` is what the test starts, with different hash seeds.
"""

import hashlib
import os
import pickle
import random
import secrets
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Final

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AMQP_0_10,
    AMQP_1_0,
    Event,
    ScramKeysRequested,
    Version,
    amqp_0_10,
    amqp_1_0,
)
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain, ScramSha256, scram_keys
from tests.kit import pair_0_10, pair_1_0, pair_classic
from tests.kit.applications import Accepting, Server
from tests.kit.pair import SIDES, Pair, told
from tests.kit.runs import RUNS


class Impure(Exception):
    """Something of the core asked for the time, for randomness, or for the outside world."""


CALLS: Final = (
    *("time.time()", "time.monotonic()", "time.sleep(0)", "random.random()", "random.Random()"),
    *("os.urandom(1)", "secrets.token_bytes(1)", "uuid.uuid4()", "socket.socket()"),
)
"""Some of what is forbidden, as expressions."""


def forbid(put: Callable[[object, str, object], None] = setattr) -> None:
    """Make every function of the impure modules raise; `put` sets their attributes."""

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise Impure

    for module in (time, random, secrets, uuid, socket):
        for name in dir(module):
            value = getattr(module, name)
            if callable(value) and not name.startswith("__") and not _is_exception(value):
                put(module, name, refuse)
    for name in ("urandom", "getrandom", "getpid"):
        put(os, name, refuse)


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def numbers(seed: int) -> Iterator[int]:
    """A fixed sequence of numbers (the generator of Park and Miller)."""
    value = seed
    while True:
        value = value * 48_271 % 2_147_483_647
        yield value


LOGIN: Any = (ScramSha256("user", "secret", nonce="clients"), Plain("user", "secret"))
"""How the clients of all versions log in."""
OFFER: Final[dict[str, Any]] = {"mechanisms": ("SCRAM-SHA-256", "PLAIN"), "nonce": "servers"}
"""What their servers offer."""


def properties(count: int) -> dict[str, Any]:
    """Peer properties with all sorts of keys."""
    return {f"key-{number}": {"nested": [number, str(number)]} for number in range(count)}


def give_keys(connection: Any, event: Event) -> None:
    """Answer a server's question for stored keys."""
    if isinstance(event, ScramKeysRequested):
        connection.provide_scram_keys(scram_keys("secret", b"sixteen octets..", 4096) if event.user == "user" else None)


class ScramServer:
    """A server's application with stored keys, which does besides what another one does."""

    def __init__(self, other: Callable[[Any, Event], object]) -> None:
        self.other = other

    def __call__(self, connection: Any, event: Event) -> None:
        self.other(connection, event)
        give_keys(connection, event)


class ScramPair(pair_0_10.Pair):
    """A pair of 0-10 whose server has stored keys."""

    def hear(self, side: Side, event: Event) -> None:
        """As the base's, and answers the question for keys."""
        super().hear(side, event)
        give_keys(self.ends[side], event)


def shown(*pairs: Pair[Any]) -> list[str]:
    """All events and octets of pairs."""
    return [
        *[told(event) for each in pairs for events in each.events.values() for event in events],
        *[bytes(octets).hex() for each in pairs for octets in each.sent.values()],
    ]


def use_classic(version: Version) -> list[str]:
    """An opening with SCRAM, tables with all sorts of keys, and a close."""
    given = properties(50)
    ends = pair_classic.Pair(
        version,
        client=pair_classic.client_config(sasl=LOGIN, properties=given, heartbeat=5.0),
        server=pair_classic.server_config(**OFFER, heartbeat=5.0),
        applications={Side.SERVER: ScramServer(Server())},
    ).open()
    assert ends.server.mechanism == "SCRAM-SHA-256"
    ends.channel().publish(b"body", routing_key="q", properties=BasicProperties(headers=given))
    ends.advance(12.0)
    ends.client.close()
    ends.drive()
    return shown(ends)


def use_0_10() -> list[str]:
    """An opening with SCRAM, maps with all sorts of keys, messages both ways, a lost transport, a resumed session."""
    client = pair_0_10.client_config(sasl=LOGIN, properties=properties(8), heartbeat=5)
    server = pair_0_10.server_config(**OFFER)
    ends = ScramPair(client=client, server=server).open()
    assert ends.server.mechanism == "SCRAM-SHA-256"
    session, other = ends.sessions()
    headers = {f"key-{number}": number for number in range(20)}
    session.transfer("", amqp_0_10.Message(bytes(100_000), routing_key="q", application_headers=headers))
    session.call(spec.QueueDeclare("q", arguments=headers))
    session.call(spec.MessageSubscribe("q", "d", 0, 0))
    for unit in (0, 1):
        session.call(spec.MessageFlow("d", unit, None))
    ends.pump()
    other.transfer("d", b"x")
    for number in other.incomplete:
        other.complete(number)
    ends.pump()
    ends.now = 4.0
    for end in ends.ends.values():
        end.handle_timeout(ends.now)
    ends.pump()
    session.accept(0)
    ends.cut(200, 100)
    states = [each.detached_state() for each in (session, other)]
    again = ScramPair(client=client, server=server).open()
    session = again.client.resume_session(states[0])
    again.pump()
    again.server.accept_session(session.channel, pickle.loads(pickle.dumps(states[1])))
    again.pump()
    return [repr(session), *shown(ends, again)]


def use_1_0() -> list[str]:
    """An opening with SCRAM, maps with all sorts of keys, messages both ways, a lost transport."""
    ends = pair_1_0.Pair(
        client=pair_1_0.client_config(sasl=LOGIN, properties=properties(8), idle_time_out=5.0),
        server=pair_1_0.server_config(**OFFER, idle_time_out=5.0, offered_capabilities=("c", "b", "a")),
        applications={Side.SERVER: ScramServer(Accepting())},
    ).open()
    assert ends.server.mechanism == "SCRAM-SHA-256"
    session = ends.session()
    sender = session.open_sender("q")
    receiver = session.open_receiver("r", credit=10)
    ends.pump()
    message = amqp_1_0.Message(
        {"a": [1, 2.5, None], "b": b"x"},
        properties=amqp_1_0.Properties(message_id="id", subject="s"),
        application_properties={f"key-{number}": number for number in range(20)},
    )
    sender.send(message)
    ends.peer(receiver).send(amqp_1_0.Message(bytes(100_000)))
    ends.pump()
    ends.advance(12.0)
    sender.send(message)
    saved = [repr(link.saved_state()) for link in (sender, receiver)]
    ends.cut()
    return [*saved, *shown(ends)]


def octets(seed: int, count: int) -> bytes:
    """So many octets that a seed gives."""
    return bytes([number % 256 for number in islice(numbers(seed), count)])


def drive(version: Version, seed: int) -> list[str]:
    """What a random run between two ends shows."""
    return RUNS[version].trace(octets(seed, 360), damage=seed % 2 == 0)


def play(seed: int) -> list[str]:
    """What a random run of 0-10 shows."""
    return RUNS[AMQP_0_10].trace(octets(seed, 600), side=SIDES[seed % 2], above=(None, 0, 200)[seed % 3])


USES: Final[dict[str, tuple[Callable[[], list[str]], Callable[[int], list[str]], int]]] = {
    "0-8": (partial(use_classic, AMQP_0_8), partial(drive, AMQP_0_8), 30),
    "0-9-1": (partial(use_classic, AMQP_0_9_1), partial(drive, AMQP_0_9_1), 30),
    "0-10": (use_0_10, play, 8),
    "1.0": (use_1_0, partial(drive, AMQP_1_0), 20),
}
"""A use of each version that is chosen, random ones, and how many of these."""


def digest(version: str, most: int = sys.maxsize) -> str:
    """The digest of all that the runs of a version show, with so many random ones at most."""
    use, random_use, count = USES[version]
    total = hashlib.sha256()
    for lines in (use(), *[random_use(seed) for seed in range(1, min(count, most) + 1)]):
        total.update("\n".join(lines).encode("utf-8", "backslashreplace"))
    return total.hexdigest()


if __name__ == "__main__":
    forbid()
    print(digest(sys.argv[1]), file=sys.stdout)
