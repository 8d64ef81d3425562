"""The prober in memory: connections to a Hub, under a clock of their own; a broker made of it is probed without I/O."""

from __future__ import annotations

from typing import Final

from amqp_sansio import CloseHint
from amqp_sansio.broker import Client, Hub, Settings

from .transport import Transport

START: Final = 1_700_000_000_000_000_000
"""When the clock begins, in nanoseconds since 1970."""
_TURNS: Final = 100_000


class HubServer:
    """An `Opener`: opens connections to the hub of these settings. `now` is the time of all of them, in seconds."""

    def __init__(self, settings: Settings) -> None:
        self.hub = Hub(settings)
        self.now = 0.0
        self.joined: list[HubTransport] = []

    def __call__(self) -> Transport:
        transport = HubTransport(self, self.hub.connect(), len(self.joined))
        self.joined.append(transport)
        return transport

    def pump(self) -> None:
        """Let every client have what the others caused."""
        for _ in range(_TURNS):
            moved = [each.turn() for each in self.joined]
            dirty = self.hub.take_dirty()
            for client in dirty:
                client.next_event()
            if not any(moved) and not dirty:
                return
        raise RuntimeError("the hub never comes to rest")

    def advance(self, until: float) -> None:
        """Move the clock to the next deadline, or to `until` if that comes first."""
        open_ones = [each.client for each in self.joined if not each.is_gone]
        deadlines = [self.hub.next_deadline, *[each.next_deadline for each in open_ones]]
        due = min([each for each in deadlines if each is not None], default=until)
        self.now = max(self.now, min(due, until))
        self.hub.handle_timeout(self.now)
        for client in open_ones:
            client.handle_timeout(self.now)
            client.next_event()


class HubTransport:
    """One connection to a hub."""

    def __init__(self, server: HubServer, client: Client, number: int) -> None:
        self.server = server
        self.client = client
        self.local = f"127.0.0.1:{40_000 + number}"
        self.remote = "127.0.0.1:5672"
        self.is_gone = False
        self.told = b""
        self.waiting = b""
        self._how = ""

    def turn(self) -> bool:
        """Exchange octets once; whether anything moved."""
        if self.is_gone:
            return False
        budget = self.client.receive_budget
        octets = self.waiting[:budget]
        if octets:
            self.waiting = self.waiting[budget:]
            self.client.receive_data(octets, self.server.now)
        self.client.next_event()
        back = self.client.data_to_send(self.server.now)
        self.told += back
        if self.client.close_hint is not CloseHint.KEEP and not self.client.send_backlog:
            self._how = "closed"
            self.drop()
        return bool(octets) or bool(back)

    def drop(self) -> None:
        self.is_gone = True
        self.client.connection_lost("closed", self.server.now)
        self.client.next_event()

    def send(self, octets: bytes) -> None:
        if not self.is_gone:
            self.waiting += octets

    def receive(self, seconds: float) -> bytes | None:
        until = self.server.now + seconds
        while True:
            self.server.pump()
            if self.told:
                octets, self.told = self.told, b""
                return octets
            if self.is_gone:
                return b""
            if self.server.now >= until:
                return None
            self.server.advance(until)

    def now(self) -> float:
        return self.server.now

    def wall(self) -> int:
        return START + round(self.server.now * 1e9)

    @property
    def how_it_ended(self) -> str:
        return self._how

    def close(self) -> None:
        if not self.is_gone:
            self.drop()
        self.server.pump()
