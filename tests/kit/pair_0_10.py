"""Pair: a client and a server of AMQP 0-10 joined in memory, whose transport can be cut at any octet."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from amqp_sansio import (
    AuthenticationRequested,
    CloseHint,
    Event,
    Observer,
    OpenRequested,
    Side,
    Signal,
)
from amqp_sansio.amqp_0_10 import Config, Connection
from amqp_sansio.observer import Observed, Violation
from amqp_sansio.sasl import Plain
from tests.kit.pair import Chunks, pieces, structure, told

SIDES = (Side.CLIENT, Side.SERVER)
STEPS = 10_000
"""More deliveries in a row than any test needs: beyond it the two sides are in a loop."""


def client_config(**changes: Any) -> Config:
    """A client's configuration, and what the test changes."""
    values: dict[str, Any] = {"sasl": Plain("guest", "guest"), "session_prefix": "s-", **changes}
    return Config(**values)


def server_config(**changes: Any) -> Config:
    """A server's configuration, and what the test changes."""
    return Config(**changes)


def connection_of(side: Side, config: Config | None = None) -> Connection:
    """A fresh endpoint."""
    if side is Side.CLIENT:
        return Connection.client(config or client_config())
    return Connection.server(config or server_config())


class Pair:
    """Two endpoints and what lies between them.

    `sent[side]` are all octets that `side` has sent, `flying[side]` those that the other has not received,
    `events[side]` what was returned on that side. The logins are let in. `chunks` cuts every
    arrival. `application` hears each event. `watched` says what an observer thinks of what is sent.
    """

    def __init__(
        self,
        *,
        client: Config | None = None,
        server: Config | None = None,
        chunks: Chunks | None = None,
        watched: bool = False,
    ) -> None:
        self.ends = {Side.CLIENT: connection_of(Side.CLIENT, client), Side.SERVER: connection_of(Side.SERVER, server)}
        self.chunks = chunks
        self.application: Callable[[Side, Event], None] | None = None
        self.now = 0.0
        self.sent = {side: bytearray() for side in SIDES}
        self.flying = {side: bytearray() for side in SIDES}
        self.events: dict[Side, list[Event]] = {side: [] for side in SIDES}
        self.closed = {side: False for side in SIDES}
        self.observer = Observer(client="client") if watched else None
        self.units: list[Observed] = []
        self.violations: list[Violation] = []

    @property
    def client(self) -> Connection:
        """The client's end."""
        return self.ends[Side.CLIENT]

    @property
    def server(self) -> Connection:
        """The server's end."""
        return self.ends[Side.SERVER]

    def open(self) -> Pair:
        """Deliver until the connection is open at both ends."""
        self.pump()
        assert self.client.is_open, self.events
        assert self.server.is_open, self.events
        return self

    def sessions(self, name: str = "s", *, timeout: int | None = 60, now: bool = True) -> tuple[Any, Any]:
        """Both ends of a new session; `now`: in step already."""
        session = self.client.open_session(name, timeout=timeout)
        self.pump()
        other = self.server.accept_session(session.channel)
        if now:
            self.pump()
            assert session.is_attached
            assert other.is_attached
        return session, other

    def hear(self, side: Side, event: Event) -> None:
        """Each event, before the next one is taken."""
        self.events[side].append(event)
        if isinstance(event, AuthenticationRequested):
            self.ends[side].accept_authentication()
        elif isinstance(event, OpenRequested):
            self.ends[side].accept_open()
        if self.application is not None:
            self.application(side, event)

    def drain(self, side: Side) -> bool:
        """Take the events of one side until it has none; whether there were any."""
        end = self.ends[side]
        found = False
        while not isinstance(event := end.next_event(), Signal):
            found = True
            self.hear(side, event)
        return found

    def write(self, side: Side, max_bytes: int | None = None) -> bool:
        """Let one side write what it has, and hang up if that was all; whether it did anything."""
        end = self.ends[side]
        octets = end.data_to_send(self.now, max_bytes)
        self.sent[side] += octets
        self.flying[side] += octets
        if octets and self.observer is not None:
            self.observer.receive_data(octets, side.value, round(self.now * 1_000_000_000))
            self._watch()
        if end.close_hint is not CloseHint.KEEP and not end.send_backlog and not self.closed[side]:
            self.closed[side] = True
            return True
        return bool(octets)

    def _watch(self) -> None:
        assert self.observer is not None
        while not isinstance(event := self.observer.next_event(), Signal):
            if isinstance(event, Observed):
                self.units.append(event)
            elif isinstance(event, Violation):
                self.violations.append(event)

    def arrive(self, receiver: Side, count: int | None = None) -> bool:
        """Let at most `count` octets, or all, arrive at `receiver`; whether there were any."""
        end = self.ends[receiver]
        pipe = self.flying[receiver.other]
        room = end.receive_budget if end.close_hint is CloseHint.KEEP else len(pipe)
        size = min(len(pipe), room) if count is None else min(len(pipe), room, count)
        if not size:
            return False
        octets = bytes(pipe[:size])
        del pipe[:size]
        for piece in self.chunks(octets) if self.chunks is not None else (octets,):
            self.ends[receiver].receive_data(piece, self.now)
            self.drain(receiver)
        return True

    def turn(self, side: Side) -> bool:
        """One turn of an adapter's loop: take events, write, read; whether anything moved."""
        moved = self.drain(side)
        moved = self.write(side) or moved
        if (self.closed[side.other] and not self.flying[side.other] and self.ends[side].report is None):
            self.ends[side].receive_eof(self.now)
            moved = self.drain(side) or moved
        return self.arrive(side) or moved

    def pump(self) -> None:
        """Turn both sides until nothing moves; the clock stands still."""
        for _ in range(STEPS):
            moved = [self.turn(side) for side in SIDES]
            if not any(moved):
                return
        raise AssertionError("the two sides never come to rest")

    def of(self, side: Side, kind: type[Any]) -> list[Any]:
        """The events of one side that are of a class."""
        return [event for event in self.events[side] if isinstance(event, kind)]

    def cut(self, *arriving: int) -> None:
        """The transport vanishes for both sides; so many octets still arrive at the client, and at the server."""
        for side, count in zip(SIDES, arriving, strict=False):
            self.arrive(side, count)
        for side in SIDES:
            self.flying[side].clear()
            self.ends[side].connection_lost("reset", self.now)
        for side in SIDES:
            self.drain(side)
        if self.observer is not None:
            self.observer.finish(round(self.now * 1_000_000_000))
            self._watch()

    def refork(self) -> None:
        """Replace both ends by what their pickles give."""
        for side in SIDES:
            self.ends[side] = pickle.loads(pickle.dumps(self.ends[side]))


__all__ = [
    "SIDES", "STEPS", "Chunks", "Pair", "client_config", "connection_of", "pieces", "server_config", "structure",
    "told",
]
