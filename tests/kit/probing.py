"""The prober in memory: connections to a server that a test scripts, or to a client, under a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from amqp_sansio_probe import Opener, Transport
from amqp_sansio_probe.memory import START
from amqp_sansio_probe.memory import HubServer as HubServer
from amqp_sansio_probe.verdicts import Unusable

Says = Callable[[bytes], tuple[bytes, bool]]
"""What a scripted server says to all octets so far, and whether it ends the connection then."""


class Scripted:
    """A connection whose other end is a function, in no time but what is waited for."""

    def __init__(self, says: Says) -> None:
        self.local = "127.0.0.1:40000"
        self.remote = "127.0.0.1:5672"
        self.heard = b""
        self._says = says
        self._told: list[bytes] = []
        self._how = ""
        self._ends = False
        self._now = 0.0

    def send(self, octets: bytes) -> None:
        if self._ends:
            return
        self.heard += octets
        answer, self._ends = self._says(self.heard)
        if answer:
            self._told.append(answer)

    def receive(self, seconds: float) -> bytes | None:
        if self._told:
            return self._told.pop(0)
        if self._ends:
            self._how = "closed"
            return b""
        self.pass_time(seconds)
        return None

    def pass_time(self, seconds: float) -> None:
        """Move its clock."""
        self._now += seconds

    def now(self) -> float:
        return self._now

    def wall(self) -> int:
        return START + round(self._now * 1e9)

    @property
    def how_it_ended(self) -> str:
        return self._how

    def close(self) -> None:
        self._ends = True


class ScriptedClient(Scripted):
    """A client under test and its program at once: `says` is asked as a `Says`, first without having heard anything.

    The program prints `events` when it has said all, and ends with `ends_with` when its connection has ended; None: it
    goes on.
    """

    def __init__(self, says: Says, events: Sequence[Mapping[str, Any]] = (), ends_with: int | None = 0) -> None:
        super().__init__(says)
        self._events = list(events)
        self._ends_with = ends_with
        octets, self._ends = says(b"")
        self._told = [octets] if octets else []

    # The program.

    def events(self) -> list[Mapping[str, Any]]:
        events, self._events = self._events, []
        return events

    def status(self) -> int | None:
        return self._ends_with if self._how else None

    def complaint(self) -> str:
        return "no"

    def wait(self, seconds: float) -> None:
        self.pass_time(seconds)

    def end(self) -> None:
        pass

    # The connection.

    def close(self) -> None:
        super().close()
        self._how = self._how or "closed"

    def shut(self) -> None:
        pass

    def reset(self) -> None:
        self.close()


class ScriptedClients:
    """The listener and the starter of scripted clients: `make` makes one for each start."""

    address = "127.0.0.1:5672"

    def __init__(self, make: Callable[[], ScriptedClient]) -> None:
        self._make = make
        self._client: ScriptedClient | None = None

    def __call__(self, environment: Mapping[str, str]) -> ScriptedClient:
        self._client = self._make()
        return self._client

    def accept(self, seconds: float) -> ScriptedClient | None:
        return self._client

    def drop(self) -> None:
        self._client = None

    def now(self) -> float:
        return 0.0 if self._client is None else self._client.now()


def refusing() -> Transport:
    """An opener of a server that isn't there."""
    raise Unusable("can't connect to 127.0.0.1:5672: connection refused")


NOBODY: Final[Opener] = refusing
