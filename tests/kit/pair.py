"""Pair: a client and a server of 0-8 or 0-9-1 joined in memory, with a clock that jumps to the next deadline."""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from types import MethodType
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AuthenticationRequested,
    CloseHint,
    Event,
    OpenRequested,
    Pending,
    Signal,
    Version,
    amqp_0_8,
    amqp_0_9_1,
)
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import Config, ContentReceived, Method, Published, Request
from amqp_sansio.endpoint import Endpoint, Side
from amqp_sansio.events import CloseReport
from amqp_sansio.sasl import Plain

C = TypeVar("C", bound="_End")

VERSIONS = (AMQP_0_9_1, AMQP_0_8)
SIDES = (Side.CLIENT, Side.SERVER)
ENDPOINTS: dict[Version, type[Connection]] = {AMQP_0_9_1: amqp_0_9_1.Connection, AMQP_0_8: amqp_0_8.Connection}
STEPS = 10_000
"""More deliveries in a row than any test needs: beyond it the two sides are in a loop."""

Chunks = Callable[[bytes], Iterable[bytes]]
"""Cuts what one write gave into the pieces that arrive."""


class Observing(Protocol):
    """What a Pair wants of an observer that watches beside it."""

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> None: ...


def client_config(**changes: Any) -> Config:
    """A client's configuration: guest, no heartbeat, and what the test changes."""
    values: dict[str, Any] = {"sasl": Plain("guest", "guest"), "heartbeat": 0.0}
    return Config(**{**values, **changes})


def server_config(**changes: Any) -> Config:
    """A server's configuration: no heartbeat, and what the test changes."""
    values: dict[str, Any] = {"heartbeat": 0.0}
    return Config(**{**values, **changes})


def connection_of(version: Version, side: Side, config: Config | None = None) -> Connection:
    """A fresh endpoint; the two versions share its class."""
    kind = ENDPOINTS[version]
    if side is Side.CLIENT:
        return kind.client(config or client_config())
    return kind.server(config or server_config())


class Server:
    """What a server's application does with an event: lets everybody in, answers and confirms.

    Each switch turns one habit off. `answers` has methods to reply with, by the request's name, instead of what
    `plausible_reply` says; None answers nothing.
    """

    def __init__(
        self,
        *,
        login: bool = True,
        vhost: bool = True,
        reply: bool = True,
        confirm: bool = True,
        answers: dict[str, Callable[[Connection, Request], object]] | None = None,
    ) -> None:
        self.login = login
        self.vhost = vhost
        self.reply = reply
        self.confirm = confirm
        self.answers = answers or {}

    def __call__(self, connection: Connection, event: Event) -> None:
        match event:
            case AuthenticationRequested() if self.login:
                connection.accept_authentication()
            case OpenRequested() if self.vhost:
                connection.accept_open()
            case Request(channel, method) if method.NAME in self.answers:
                self.answers[method.NAME](connection, event)
            case Request(channel, method) if self.reply:
                answer(connection, channel, method)
            case Published(channel, number=number) if number and self.confirm:
                connection.channel(channel).confirm(number)
            case ContentReceived(channel, method) if method.REPLIES and self.reply:
                answer(connection, channel, method)
            case _:
                pass


class Client:
    """A client's application that does nothing by itself; it serves the requests that 0-8's servers make."""

    def __call__(self, connection: Connection, event: Event) -> None:
        match event:
            case Request(channel, method):
                answer(connection, channel, method)
            case _:
                pass


def answer(connection: Connection, number: int, request: Method) -> None:
    """Reply to `request` with what a broker might say."""
    reply = plausible_reply(connection, request)
    target = connection.channel(number) if number else connection
    target.reply(reply)


def plausible_reply(connection: Connection, request: Method) -> Method:
    """The first of the methods that may answer `request`, its fields copied from the request where names agree."""
    names = {kind.NAME: kind for kind in connection.dialect.replies[request.ID]}
    kind: Any = names.get("basic.get-empty") or next(iter(names.values()))
    values: dict[str, Any] = {}
    for name, wire_type in kind.FIELDS:
        if name in request.__match_args__ and wire_type != "bit":
            values[name] = getattr(request, name)
    if values.get("consumer_tag") == "":
        values["consumer_tag"] = f"amq.ctag-{len(connection.channels)}-{request.METHOD_ID}"
    reply: Method = kind(**values)
    return reply


class _End(Endpoint, Protocol):
    """A connection of any version."""

    @property
    def is_open(self) -> bool: ...

    @property
    def report(self) -> CloseReport | None: ...


class Joined(Generic[C]):
    """Two endpoints of one version and what lies between them, the base of every version's Pair.

    `applications` are called with each event before the next one is taken. `sent[side]` are all octets
    that `side` has sent, `events[side]` what was returned on that side (see `take`), `flying[side]` what that
    side sent and the other has not received. `chunks` cuts every arrival; `observer` sees what is sent.
    """

    def __init__(
        self,
        client: C,
        server: C,
        applications: dict[Side, Callable[[C, Event], None]],
        chunks: Chunks | None,
        observer: Observing | Iterable[Observing] | None,
    ) -> None:
        self.ends = {Side.CLIENT: client, Side.SERVER: server}
        self.applications = applications
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
    def client(self) -> C:
        return self.ends[Side.CLIENT]

    @property
    def server(self) -> C:
        return self.ends[Side.SERVER]

    def open(self) -> Self:
        """Deliver until the connection is open at both ends."""
        self.pump()
        assert self.client.is_open, self.events
        assert self.server.is_open, self.events
        return self

    def hear(self, side: Side, event: Event) -> None:
        """Each event, before the next one is taken."""
        self.events[side].append(event)
        self.applications[side](self.ends[side], event)

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
            self.ends[receiver].receive_data(piece, self.now)
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
        """The earlier deadline of the two ends. Everything is written, so an end that wants to close has closed."""
        deadlines = [end.next_deadline for end in self.ends.values() if end.close_hint is CloseHint.KEEP]
        return min([each for each in deadlines if each is not None], default=None)

    def take(self, side: Side, kind: type[Any] | None = None) -> list[Any]:
        """The events of one side since the last `take`, or of these those of one class."""
        new = self.events[side][self.taken[side] :]
        self.taken[side] = len(self.events[side])
        return new if kind is None else [event for event in new if isinstance(event, kind)]

    def of(self, side: Side, kind: type[Any]) -> list[Any]:
        """The events of one side that are of a class."""
        return [event for event in self.events[side] if isinstance(event, kind)]

    def cut(self, *arriving: int, lose: bool = True, reason: str = "reset") -> None:
        """The transport vanishes for both sides, with what is on the way when `lose`.

        So many octets still arrive before, at the client and at the server.
        """
        for side, count in zip(SIDES, arriving, strict=False):
            self.arrive(side, count)
        for side in SIDES:
            if not lose:
                self.arrive(side)
            self.flying[side].clear()
            self.ends[side].connection_lost(reason, self.now)
        for side in SIDES:
            self.drain(side)

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


class Pair(Joined[Connection]):
    """Endpoints of 0-8 or 0-9-1."""

    def __init__(
        self,
        version: Version = AMQP_0_9_1,
        *,
        client: Config | None = None,
        server: Config | None = None,
        applications: dict[Side, Callable[[Connection, Event], None]] | None = None,
        chunks: Chunks | None = None,
        observer: Observing | None = None,
    ) -> None:
        self.version = version
        ends = connection_of(version, Side.CLIENT, client), connection_of(version, Side.SERVER, server)
        told: dict[Side, Callable[[Connection, Event], None]] = {Side.CLIENT: Client(), Side.SERVER: Server()}
        super().__init__(*ends, {**told, **(applications or {})}, chunks, observer)

    def method(self, name: str, **fields: Any) -> Any:
        """The method record `name` of this version."""
        return self.client.dialect.named[name](**fields)

    def has(self, name: str) -> bool:
        """Whether this version has the method `name`."""
        return name in self.client.dialect.named

    def channel(self) -> Any:
        """A new client channel, open at both ends. Its methods are those of `Channel`."""
        channel = self.client.open_channel()
        self.pump()
        assert channel.is_open, self.events
        return channel

    def peer(self, channel: Any) -> Any:
        """The server's end of a client's channel."""
        return self.server.channel(channel.number)


def asked(version: Version, **changes: Any) -> tuple[Pair, Any, Any]:
    """A pair whose server answers nothing by itself, and both ends of a channel."""
    pair = Pair(version, applications={Side.SERVER: Server(reply=False, confirm=False)}, **changes)
    channel = pair.open().channel()
    return pair, channel, pair.peer(channel)


def told(event: Event) -> str:
    """An event as text that is the same for equal events of two copies: handles by key and outcome, all fields."""
    fields = [f"{name}={_plain(getattr(event, name))}" for name in event.__match_args__]
    return f"{type(event).__name__}({', '.join(fields)})"


def _plain(value: Any) -> str:
    if isinstance(value, Pending):
        state: tuple[Any, ...] = value.__getstate__()
        return f"<{', '.join([repr(each) for each in state])}>"
    kind: Any = value.__class__
    if kind is tuple:
        return f"({', '.join(map(_plain, value))})"
    return repr(value)


def pieces(*sizes: int) -> Chunks:
    """Chunks of the given sizes in turn, over and over, across all arrivals."""
    position = 0

    def cut(octets: bytes) -> Iterator[bytes]:
        nonlocal position
        at = 0
        while at < len(octets):
            size = sizes[position % len(sizes)]
            position += 1
            yield octets[at : at + size]
            at += size

    return cut


def held_octets(connection: Connection) -> int:
    """Octets that an endpoint keeps: unparsed, of bodies under way, waiting to be sent, in events not yet taken."""
    # The gauge of the memory bounds reads what no application needs to see.
    inside: Any = connection
    total: int = len(inside._buffer) + inside._out.size
    for channel in inside._channels.values():
        for content in (channel.client_content, channel.server_content):
            if content is not None:
                total += sum([len(part) for part in content.parts]) + len(content.properties)
    for event in inside._events:
        total += len(getattr(event, "body", b"")) + len(getattr(event, "data", b""))
    return total


def structure(value: Any) -> object:
    """What a pickle of `value` says, without its sharing: equal for two endpoints in the same state."""
    return _structure(value, {})


def _structure(value: Any, seen: dict[int, int]) -> object:
    if value is None or isinstance(value, bool | int | float | str | bytes | Enum):
        return value
    if isinstance(value, MethodType):
        return [value.__name__, _structure(value.__self__, seen)]
    if isinstance(value, bytearray | type) or callable(value):
        return repr(value)
    if id(value) in seen:
        return ("seen", seen[id(value)])
    if isinstance(value, tuple | list | deque):
        return [_structure(each, seen) for each in cast("list[Any]", value)]
    kind: Any = value.__class__
    if kind is dict:
        return [_structure(item, seen) for item in value.items()]
    seen[id(value)] = len(seen)
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return reduced
    return [_structure(part, seen) for part in reduced if not hasattr(part, "__next__")]
