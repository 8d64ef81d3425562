"""Pair: a client and a server of AMQP 1.0 joined in memory, with a clock that jumps to the next deadline."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from amqp_sansio import AuthenticationRequested, CloseHint, Event, OpenRequested, Signal
from amqp_sansio.amqp_1_0 import Source, Target
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.endpoint.events import Delivery, LinkRequested, SessionRequested
from amqp_sansio.endpoint import Side
from tests.kit.pair import Chunks, pieces, structure, told

SIDES = (Side.CLIENT, Side.SERVER)
STEPS = 10_000
"""More deliveries in a row than any test needs: beyond it the two sides are in a loop."""

Application = Callable[[Connection, Event], None]


class Observing(Protocol):
    """What a Pair wants of an observer that watches beside it."""

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> None: ...


def client_config(**changes: Any) -> Config:
    """A client's configuration: no SASL, and what the test changes."""
    values: dict[str, Any] = {"container_id": "client", **changes}
    return Config(**values)


def server_config(**changes: Any) -> Config:
    """A server's configuration: no SASL, and what the test changes."""
    values: dict[str, Any] = {"container_id": "server", **changes}
    return Config(**values)


def connection_of(side: Side, config: Config | None = None) -> Connection:
    """A fresh endpoint."""
    if side is Side.CLIENT:
        return Connection.client(config or client_config())
    return Connection.server(config or server_config())


class Accepting:
    """An application that accepts everything: the client, its sessions and links, and every delivery.

    Each switch turns one habit off. `credit` is what an accepted receiving link is granted, again and again.
    """

    def __init__(
        self,
        *,
        login: bool = True,
        opening: bool = True,
        sessions: bool = True,
        links: bool = True,
        deliveries: bool = True,
        credit: int = 100,
    ) -> None:
        self.login = login
        self.opening = opening
        self.sessions = sessions
        self.links = links
        self.deliveries = deliveries
        self.credit = credit

    def __call__(self, connection: Connection, event: Event) -> None:
        """Do what one event asks for."""
        match event:
            case AuthenticationRequested() if self.login:
                connection.accept_authentication()
            case OpenRequested() if self.opening:
                connection.accept_open()
            case SessionRequested(channel) if self.sessions:
                connection.session(channel).accept()
            case LinkRequested(channel, handle) if self.links:
                link: Any = connection.session(channel).link(handle)
                accept_link(link)
                if link.ROLE and self.credit:
                    link.flow(self.credit)
            case Delivery(channel, handle) if self.deliveries:
                receiver: Any = connection.session(channel).link(handle)
                if not event.settled:
                    receiver.accept(event)
                if self.credit:
                    receiver.top_up(self.credit)
            case _:
                pass


def accept_link(link: Any) -> None:
    """Answer a peer's attach; a dynamic node gets the link's name as its address."""
    asked = link.requested
    termini: dict[str, Any] = {}
    for name in ("source", "target"):
        terminus = getattr(asked, name)
        if isinstance(terminus, Source | Target) and terminus.dynamic:
            termini[name] = terminus.replace(address=f"dynamic-{link.name}")
    link.accept_attach(**termini)


def listen(connection: Connection, event: Event) -> None:
    """An application that only listens."""


class Pair:
    """Two endpoints and what lies between them.

    `applications` are called with each event before the next one is taken. `sent[side]` are all octets
    that `side` has sent, `events[side]` what was returned on that side (see `take`), `flying[side]` what that
    side sent and the other has not received. `chunks` cuts every arrival; `observer` sees what is sent.
    """

    def __init__(
        self,
        *,
        client: Config | None = None,
        server: Config | None = None,
        applications: dict[Side, Application] | None = None,
        chunks: Chunks | None = None,
        observer: Observing | Iterable[Observing] | None = None,
    ) -> None:
        self.ends = {Side.CLIENT: connection_of(Side.CLIENT, client), Side.SERVER: connection_of(Side.SERVER, server)}
        self.applications: dict[Side, Application] = {
            Side.CLIENT: Accepting(),
            Side.SERVER: Accepting(),
            **(applications or {}),
        }
        self.chunks = chunks
        self.observers: tuple[Observing, ...] = ()
        if observer is not None:
            self.observers = tuple(observer) if isinstance(observer, Iterable) else (observer,)
        self.now = 0.0
        self.sent = {side: bytearray() for side in SIDES}
        self.flying = {side: bytearray() for side in SIDES}
        self.events: dict[Side, list[Event]] = {side: [] for side in SIDES}
        self.taken = {side: 0 for side in SIDES}
        self.closed = {side: False for side in SIDES}
        self.stalled = {side: False for side in SIDES}

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

    def session(self, side: Side = Side.CLIENT) -> Any:
        """A new session of one side, open at both ends."""
        session = self.ends[side].open_session()
        self.pump()
        assert session.is_open, self.events
        return session

    def peer(self, link: Any) -> Any:
        """The other end of a link that is attached on both."""
        session = link.session
        end = self.ends[session.connection.role.other]
        for channel in end.sessions:
            for other in end.session(channel).links:
                if other.name == link.name and other.ROLE != link.ROLE:
                    return other
        raise AssertionError(f"link {link.name} has no other end")

    def drain(self, side: Side) -> bool:
        """Take the events of one side until it has none; whether there were any."""
        end = self.ends[side]
        found = False
        while not isinstance(event := end.next_event(), Signal):
            found = True
            self.events[side].append(event)
            self.applications[side](end, event)
        return found

    def write(self, side: Side, max_bytes: int | None = None) -> bool:
        """Let one side write what it has, and hang up if that was all; whether it did anything."""
        end = self.ends[side]
        octets = end.data_to_send(self.now, max_bytes)
        self.sent[side] += octets
        self.flying[side] += octets
        if octets:
            for observer in self.observers:
                observer.receive_data(octets, side.value, round(self.now * 1_000_000_000))
        if end.close_hint is not CloseHint.KEEP and not end.send_backlog and not self.closed[side]:
            self.closed[side] = True
            return True
        return bool(octets)

    def arrive(self, receiver: Side, count: int | None = None) -> bool:
        """Let at most `count` octets, or all, arrive at `receiver`; whether there were any."""
        end = self.ends[receiver]
        pipe = self.flying[receiver.other]
        room = end.receive_budget if end.close_hint is CloseHint.KEEP else len(pipe)
        size = min(len(pipe), room) if count is None else min(len(pipe), room, count)
        if self.stalled[receiver] or not size:
            return False
        octets = bytes(pipe[:size])
        del pipe[:size]
        for piece in self.chunks(octets) if self.chunks is not None else (octets,):
            end.receive_data(piece, self.now)
            self.drain(receiver)
        return True

    def turn(self, side: Side) -> bool:
        """One turn of an adapter's loop: take events, write, read; whether anything moved."""
        moved = self.drain(side)
        moved = self.write(side) or moved
        if self.closed[side.other] and not self.flying[side.other]:
            moved = self._hang_up(side) or moved
        return self.arrive(side) or moved

    def pump(self) -> None:
        """Turn both sides until nothing moves; the clock stands still."""
        for _ in range(STEPS):
            moved = [self.turn(side) for side in SIDES]
            if not any(moved):
                return
        raise AssertionError("the two sides never come to rest")

    def advance(self, seconds: float) -> None:
        """Let time pass, serving every deadline on the way."""
        end = self.now + seconds
        for _ in range(STEPS):
            self.pump()
            deadline = self.deadline
            if deadline is None or deadline > end:
                self.now = end
                return
            self._fire(deadline)
        raise AssertionError("deadlines come without end")

    def drive(self, jumps: int = 100) -> None:
        """Deliver, else jump to the earliest deadline, until nothing is left to do; at most `jumps` times."""
        for _ in range(jumps):
            self.pump()
            deadline = self.deadline
            if deadline is None:
                return
            self._fire(deadline)
        raise AssertionError("deadlines come without end")

    @property
    def deadline(self) -> float | None:
        """The earlier deadline of the two ends."""
        deadlines = [end.next_deadline for end in self.ends.values()]
        return min([each for each in deadlines if each is not None], default=None)

    def take(self, side: Side, kind: type[Any] | None = None) -> list[Any]:
        """The events of one side since the last `take`, or of these those of one class."""
        new = self.events[side][self.taken[side] :]
        self.taken[side] = len(self.events[side])
        return new if kind is None else [event for event in new if isinstance(event, kind)]

    def cut(self, *, lose: bool = True, reason: str = "reset") -> None:
        """The transport vanishes for both sides, with what is on the way when `lose`."""
        for side in SIDES:
            if not lose:
                self.arrive(side)
            self.flying[side].clear()
            self.ends[side].connection_lost(reason, self.now)
        for side in SIDES:
            self.drain(side)

    def reconnect(self, client: Config | None = None, server: Config | None = None) -> Pair:
        """A new pair of connections with the same applications, at the same time."""
        again = Pair(
            client=client or self.client.config,
            server=server or self.server.config,
            applications=self.applications,
            chunks=self.chunks,
            observer=self.observers,
        )
        again.now = self.now
        return again

    def refork(self) -> None:
        """Replace both ends by what their pickles give."""
        for side in SIDES:
            self.ends[side] = pickle.loads(pickle.dumps(self.ends[side]))

    def _hang_up(self, side: Side) -> bool:
        """The other side has closed its transport: this one sees the end of the stream."""
        end = self.ends[side]
        if end.report is not None:
            return False
        end.receive_eof(self.now)
        return self.drain(side)

    def _fire(self, deadline: float) -> None:
        self.now = max(self.now, deadline)
        for end in self.ends.values():
            due = end.next_deadline
            if due is not None and due <= self.now:
                end.handle_timeout(self.now)


def held_octets(connection: Connection) -> int:
    """Octets that an endpoint keeps: unparsed, of deliveries under way, waiting to be sent, in events not yet taken."""
    # The gauge of the memory bounds reads what no application needs to see.
    inside: Any = connection
    total: int = len(inside._buffer) + inside._out.size + inside._sessions.transport.bodies
    for event in inside._events:
        total += len(getattr(event, "payload", b""))
    return total


__all__ = [
    "SIDES", "Accepting", "Application", "Chunks", "Observing", "Pair", "accept_link", "client_config", "connection_of",
    "held_octets", "listen", "pieces", "server_config", "structure", "told",
]
