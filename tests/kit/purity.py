"""A run of the core in which time, randomness and I/O are forbidden; prints a digest of everything it put out.

`python -m tests.kit.purity` is what the test starts, with different hash seeds.
"""

import hashlib
import os
import random
import secrets
import socket
import sys
import time
import uuid
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Event, ScramKeysRequested, Version
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain, ScramSha256, scram_keys
from tests.kit.driving import Driver
from tests.kit.pair import Pair, Server, client_config, server_config, told


class Impure(Exception):
    """Something of the core asked for the time, for randomness, or for the outside world."""


def forbid() -> None:
    """Make every function of the impure modules raise."""

    def refuse(*arguments: Any, **named: Any) -> Any:
        raise Impure

    for module in (time, random, secrets, uuid, socket):
        _replace(module, refuse)
    os.urandom = refuse
    os.getrandom = refuse
    os.getpid = refuse


def _replace(module: ModuleType, refuse: Any) -> None:
    for name in dir(module):
        value = getattr(module, name)
        if callable(value) and not name.startswith("__") and not _is_exception(value):
            setattr(module, name, refuse)


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def numbers(seed: int) -> Iterator[int]:
    """A fixed sequence of numbers (the generator of Park and Miller)."""
    value = seed
    while True:
        value = value * 48_271 % 2_147_483_647
        yield value


def drive(version: Version, seed: int) -> list[str]:
    """What a random run shows."""
    source = numbers(seed)
    driver = Driver(version, damage=seed % 2 == 0)
    for _ in range(120):
        driver.apply((next(source) % 256, next(source) % 8, next(source) % 256))
    driver.finish()
    return driver.trace()


LOGIN: Any = (ScramSha256("user", "secret", nonce="clients"), Plain("user", "secret"))
"""How the clients of all versions log in."""


def give_keys(connection: Any, event: Event) -> None:
    """Answer a server's question for stored keys."""
    if isinstance(event, ScramKeysRequested):
        connection.provide_scram_keys(scram_keys("secret", b"sixteen octets..", 4096) if event.user == "user" else None)


class ScramServer(Server):
    """A server's application with stored keys."""

    def __call__(self, connection: Connection, event: Event) -> None:
        """As the base's, and answers the question for keys."""
        super().__call__(connection, event)
        give_keys(connection, event)


def log_in(version: Version) -> list[str]:
    """An opening with SCRAM, tables with all sorts of keys, and a close."""
    properties = {f"key-{number}": {"nested": [number, str(number)]} for number in range(50)}
    pair = Pair(
        version,
        client=client_config(sasl=LOGIN, properties=properties, heartbeat=5.0),
        server=server_config(mechanisms=("SCRAM-SHA-256", "PLAIN"), nonce="servers", heartbeat=5.0),
        applications={Side.SERVER: ScramServer()},
    ).open()
    assert pair.server.mechanism == "SCRAM-SHA-256"
    channel = pair.channel()
    channel.publish(b"body", routing_key="q", properties=BasicProperties(headers=properties))
    pair.advance(12.0)
    pair.client.close()
    pair.drive()
    return [told(event) for events in pair.events.values() for event in events] + [
        bytes(octets).hex() for octets in pair.sent.values()
    ]


def digest_of(*runs: list[str]) -> str:
    total = hashlib.sha256()
    for lines in runs:
        total.update("\n".join(lines).encode("utf-8", "backslashreplace"))
    return total.hexdigest()


def digest() -> str:
    versions = (AMQP_0_9_1, AMQP_0_8)
    return digest_of(*[run for each in versions for run in (log_in(each), *[drive(each, n) for n in range(1, 31)])])


if __name__ == "__main__":
    forbid()
    print(digest(), file=sys.stdout)
