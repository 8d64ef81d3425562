"""Servers that answer as they should until they break a rule, and say nothing more then; by version, for any client."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Event, Limits, OpenRequested, Version
from amqp_sansio._classic.codec.table import RABBIT
from amqp_sansio.amqp_0_9_1 import BasicDeliver
from amqp_sansio.amqp_1_0 import Transfer
from tests.kit import facing, facing_1_0, octets_0_10, server_1_0, sync_0_10, sync_server

LIMITS: Final = Limits(unsettled=1)
"""With these a client finds a second delivery that it hasn't settled at fault."""
SOON: Final = 15.0
"""Seconds in which a call has to end."""
LATE: Final = 600.0
"""Seconds that a client of these servers would wait for the answer to its close."""


class Fault(NamedTuple):
    """Octets that break a rule, and the words of the error that a client makes of them."""

    octets: bytes
    words: str


def _delivered(tag: int) -> bytes:
    method = BasicDeliver(consumer_tag="c", delivery_tag=tag)
    started = facing.frame(facing.METHOD, 1, method.encode(RABBIT))
    return started + facing.header(1, 60, 1) + facing.body(1, b"x")


_CLASSIC: Final = {
    "connection": Fault(facing.frame(facing.METHOD, 0, b"\0\x63\0\1"), "503 class 99 has no method"),
    "channel": Fault(_delivered(1) + _delivered(2), "506.*unsettled"),
}
FAULTS: Final[dict[Version, dict[str, Fault]]] = {
    AMQP_0_8: _CLASSIC,
    AMQP_0_9_1: _CLASSIC,
    AMQP_0_10: {
        "connection": Fault(octets_0_10.frame(b"\xff\xff"), "501"),
        "channel": Fault(octets_0_10.completed(99), "99"),
    },
    AMQP_1_0: {
        "connection": Fault(facing_1_0.octets_of(b"\x45"), "amqp:decode-error"),
        "channel": Fault(facing_1_0.octets_of(Transfer(handle=9), 0, b"x"), "amqp:session:unattached-handle"),
        "link": Fault(
            facing_1_0.octets_of(Transfer(0, 0, b"1", 0), 0, b"\0Sw\xa1\x09too large"),
            "amqp:link:message-size-exceeded",
        ),
    },
}
"""What breaks a rule, by version and by what ends with it."""
CASES: Final = [(version, scope) for version, faults in FAULTS.items() for scope in faults]


class FaultyServer:
    """A server of one version; `url` is where it is."""

    def __init__(self, server: Any, version: Version) -> None:
        self.server = server
        self.version = version
        self.url: str = server_1_0.url_of(server) if version is AMQP_1_0 else server.url

    def hold(self) -> None:
        """Answer nothing from now on."""
        self.server.session().writing = False

    def break_rule(self, octets: bytes) -> None:
        """Send octets of the test, and read nothing more."""
        session = self.server.session()
        # One turn before: what is readable now is read still.
        session.do(lambda: _mute(session))
        session.do(lambda: session.socket.sendall(octets))


def _mute(session: Any) -> None:
    session.reading = session.writing = False


@contextmanager
def faulty(version: Version, opening: bytes = b"") -> Generator[FaultyServer]:
    """A server for one test, with an empty queue "jobs"; `opening` is what it answers to the client's open instead."""

    def script(session: Any, event: Event) -> bool:
        if opening and isinstance(event, OpenRequested):
            _mute(session)
            header = facing_1_0.AMQP_HEADER if version is AMQP_1_0 else b""
            session.socket.sendall(header + opening)
        return False

    kind: Any = {AMQP_0_10: sync_0_10, AMQP_1_0: server_1_0}.get(version, sync_server)
    with kind.running(script=script) as server:
        if kind is not server_1_0:
            server.queues.setdefault("jobs", deque())
        yield FaultyServer(server, version)


__all__ = ["CASES", "FAULTS", "LATE", "LIMITS", "SOON", "Fault", "FaultyServer", "faulty"]
