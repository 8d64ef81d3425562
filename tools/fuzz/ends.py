"""The attacked ends: clients that follow a script, servers that accept everybody, a hub, an observer.

Each takes one step of its script after each event, so that its actions depend only on the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AMQP_0_10,
    AMQP_1_0,
    AmqpError,
    AuthenticationRequested,
    Limits,
    LocalProtocolError,
    Observer,
    OpenRequested,
    ScramKeysRequested,
    Side,
    Signal,
    Version,
    amqp_0_8,
    amqp_0_9_1,
    amqp_0_10,
    amqp_1_0,
)
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import BrokerLimits, Hub, Settings
from amqp_sansio.observer import Consumer, Observed
from amqp_sansio.recorded._json import FieldWriter
from amqp_sansio.sasl import Plain

LIMITS: Final = Limits(
    unparsed=200_000,
    message=100_000,
    bodies=200_000,
    header=50_000,
    channels=20,
    requests=20,
    calls=20,
    unsettled=20,
    unconfirmed=20,
    consumers=20,
    replay=20,
)
"""So small that bombs reach every one of them."""
BROKER_LIMITS: Final = BrokerLimits(exchanges=50, queues=50, bindings=100, consumers=50)
VERSIONS: Final[tuple[Version, ...]] = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
SERVERS: Final[dict[Version, Any]] = {
    AMQP_0_8: (amqp_0_8.Connection, amqp_0_8.Config),
    AMQP_0_9_1: (amqp_0_9_1.Connection, amqp_0_9_1.Config),
    AMQP_0_10: (amqp_0_10.Connection, amqp_0_10.Config),
    AMQP_1_0: (amqp_1_0.Connection, amqp_1_0.Config),
}
QUEUE: Final = "f"
BODY: Final = b"a body of some octets"
_TURNS: Final = 100_000
"""More events than any input here can cause."""

Step = Callable[[Any], object]
Call = tuple[int, str, dict[str, Any]]
"""A channel, a method and its fields."""
Lines = list[str]
"""A trace of an end: a line for each event, and its octets."""


class Endless(AssertionError):
    """An endless sequence of events or octets."""


def events_of(source: Any) -> Iterator[Any]:
    """Yield all events until more octets are needed."""
    for _ in range(_TURNS):
        event = source.next_event()
        if isinstance(event, Signal):
            return
        yield event
    raise Endless("events come without end")


class End:
    """An endpoint with a script. `lines` is its trace, `sent` its octets."""

    def __init__(self, endpoint: Any, script: Iterable[Step], server: bool) -> None:
        self.endpoint = endpoint
        self.lines: Lines = []
        self.sent = bytearray()
        self._now = 0.0
        self._script = iter(script)
        self._server = server

    def run(self) -> None:
        """Take all events, and send."""
        for event in events_of(self.endpoint):
            self.lines.append(repr(event))
            self._act(event)
            self._send()
        self._send()

    def feed(self, octets: bytes) -> None:
        """Take octets of the peer; those after the end of the connection are dropped."""
        while octets:
            room = self.endpoint.receive_budget
            if room <= 0:
                return
            self.endpoint.receive_data(octets[:room], self._now)
            octets = octets[room:]
            self.run()

    def finish(self) -> None:
        """End the peer's stream; then let all timeouts pass."""
        self.endpoint.receive_eof(self._now)
        self.run()
        for self._now in (100.0, 200.0):
            self.endpoint.handle_timeout(self._now)
            self.run()
        self.endpoint.connection_lost("cut", self._now)
        self.run()
        self.lines.append(f"{self.endpoint.close_hint} {self.endpoint.report!r}")

    def trace(self) -> Lines:
        """Return its trace, and all octets sent."""
        return [*self.lines, f"sent {bytes(self.sent)!r}"]

    def _act(self, event: Any) -> None:
        try:
            if isinstance(event, AuthenticationRequested):
                self.endpoint.accept_authentication()
            elif isinstance(event, ScramKeysRequested):
                self.endpoint.provide_scram_keys(None)
            elif isinstance(event, OpenRequested):
                self.endpoint.accept_open()
            elif self._server:
                _accept(self.endpoint, event)
            else:
                step = next(self._script, None)
                if step is not None:
                    step(self.endpoint)
        except AmqpError as error:
            # The peer may have ended something that a command needs.
            self.lines.append(f"refused: {type(error).__name__}")

    def _send(self) -> None:
        while octets := self.endpoint.data_to_send(self._now):
            self.sent += octets


def _accept(endpoint: Any, event: Any) -> None:
    """Accept every request, like a server."""
    if isinstance(event, amqp_0_10.SessionRequested):
        endpoint.accept_session(event.channel)
    elif isinstance(event, amqp_1_0.SessionRequested):
        endpoint.session(event.channel).accept()
    elif isinstance(event, amqp_1_0.LinkRequested):
        link = endpoint.session(event.channel).link(event.link)
        link.accept_attach()
        if link.ROLE:
            link.flow(10)
    elif isinstance(event, amqp_0_9_1.Request):
        _reply(endpoint, event)
    elif isinstance(event, amqp_0_9_1.Published) and event.number:
        endpoint.channel(event.channel).confirm(event.number)


def _reply(endpoint: Any, event: amqp_0_9_1.Request) -> None:
    """Reply with the first possible method, with fields of equal names copied from the request."""
    request: Any = event.method
    for kind in endpoint.dialect.replies[request.ID]:
        names = [name for name, wire in kind.FIELDS if wire != "bit" and hasattr(request, name)]
        target = endpoint.channel(event.channel) if event.channel else endpoint
        target.reply(kind(**{name: getattr(request, name) for name in names}))
        return


def _classic(*steps: Call) -> list[Step]:
    def call(number: int, name: str, values: dict[str, Any]) -> Step:
        def step(end: Any) -> None:
            kind = end.dialect.named[name]
            known = {key: value for key, value in values.items() if key in kind.__match_args__}
            end.channel(number).call(kind(**known))

        return step

    def publish(end: Any) -> None:
        properties = end.dialect.properties[60](headers={"h": [1, {"x": None}]}, message_id="m")
        end.channel(1).publish(BODY, routing_key=QUEUE, properties=properties, ticket=1)

    return [
        lambda end: end.open_channel(),
        lambda end: end.open_channel(),
        *[call(*step) for step in steps],
        publish,
        publish,
        lambda end: end.channel(2).accept(1),
        publish,
        call(2, "basic.get", {"queue": QUEUE, "ticket": 1}),
        call(2, "basic.cancel", {"consumer_tag": "t"}),
        lambda end: end.channel(2).close(),
        publish,
    ]


_SHARED: Final = (
    (2, "queue.declare", {"queue": QUEUE, "durable": True, "ticket": 1}),
    (2, "queue.bind", {"queue": QUEUE, "exchange": "amq.topic", "routing_key": "a.#", "ticket": 1}),
    (2, "basic.qos", {"prefetch_count": 3}),
    (2, "basic.consume", {"queue": QUEUE, "consumer_tag": "t", "ticket": 1}),
)
_ACCESS: Final = {"realm": "/data", "active": True, "write": True, "read": True}


def _wait(end: Any) -> None:
    """Skip an event."""


class _Kept:
    """The results of a script's step for later steps."""

    def __get__(self, owner: Any, kind: type[Any]) -> Any:
        try:
            return owner.kept[self._name]
        except KeyError:
            raise LocalProtocolError(f"the script has no {self._name} yet") from None

    def __set__(self, owner: Any, value: Any) -> None:
        owner.kept[self._name] = value

    def __set_name__(self, kind: type[Any], name: str) -> None:
        self._name = name


class _Ten:
    """The script of 0-10, with its session."""

    session = _Kept()

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def steps(self) -> list[Step]:
        return [
            self._open,
            lambda end: self.session.call(spec.QueueDeclare(QUEUE)),
            lambda end: self.session.call(spec.MessageSubscribe(QUEUE, "d", 0, 0)),
            lambda end: self.session.top_up("d", 3),
            self._publish,
            self._publish,
            lambda end: self.session.accept(0),
            lambda end: self.session.call(spec.QueueQuery(QUEUE)),
            self._publish,
            lambda end: self.session.call(spec.MessageCancel("d")),
            lambda end: self.session.detach(),
        ]

    def _open(self, end: Any) -> None:
        self.session = end.open_session(b"fuzz")

    def _publish(self, end: Any) -> None:
        self.session.transfer("", amqp_0_10.Message(BODY, routing_key=QUEUE))


class _One:
    """The script of 1.0, with its session and links."""

    session = _Kept()
    sender = _Kept()
    receiver = _Kept()

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def steps(self) -> list[Step]:
        return [
            self._open,
            self._links,
            # The links open, and credit comes.
            _wait,
            _wait,
            self._send,
            self._send,
            self._send,
            _wait,
            _wait,
            lambda end: self.receiver.accept(0),
            lambda end: self.receiver.flow(5),
            lambda end: self.receiver.release(1),
            lambda end: self.receiver.detach(),
            lambda end: self.session.close(),
        ]

    def _open(self, end: Any) -> None:
        self.session = end.open_session()

    def _links(self, end: Any) -> None:
        self.sender = self.session.open_sender(f"/queues/{QUEUE}", name="s")
        self.receiver = self.session.open_receiver(f"/queues/{QUEUE}", name="r", credit=3)

    def _send(self, end: Any) -> None:
        properties = {"colour": "blue", "number": 5}
        self.sender.send(amqp_1_0.Message(BODY, application_properties=properties))


def client(version: Version) -> End:
    """Return a client that opens everything it can, publishes, consumes and closes."""
    kind, config = SERVERS[version]
    values: dict[str, Any] = {"sasl": Plain("guest", "guest"), "limits": LIMITS}
    if version is AMQP_1_0:
        end = End(kind.client(config(container_id="fuzz", **values)), _One().steps(), False)
    elif version is AMQP_0_10:
        end = End(kind.client(config(heartbeat=0, **values)), _Ten().steps(), False)
    else:
        old = version is AMQP_0_8
        calls: list[Call] = [(number, "access.request", _ACCESS) for number in (1, 2) if old]
        calls += [(1, "tx.select" if old else "confirm.select", {}), *_SHARED]
        end = End(kind.client(config(heartbeat=0, **values)), _classic(*calls), False)
    end.run()
    return end


def server(version: Version) -> End:
    """Return a server that accepts every client and request."""
    kind, config = SERVERS[version]
    values: dict[str, Any] = {"limits": LIMITS, "mechanisms": ("PLAIN", "SCRAM-SHA-256"), "nonce": "fuzz"}
    if version is AMQP_1_0:
        return End(kind.server(config(container_id="fuzz", **values)), (), True)
    return End(kind.server(config(heartbeat=0, **values)), (), True)


class HubEnd:
    """A hub with one client; another one, of 0-9-1, has declared a queue before."""

    def __init__(self, history: int = 1000) -> None:
        self.hub = Hub(
            Settings(
                users={"guest": "guest"},
                limits=BROKER_LIMITS,
                connection_limits=LIMITS,
                heartbeat=0.0,
                seed=b"the same names in every run",
                anonymous=True,
                history=history,
            )
        )
        self.other = client(AMQP_0_9_1)
        self._join(self.other)
        self.client = self.hub.connect()
        self.sent = bytearray()
        self._serve()

    def feed(self, octets: bytes) -> None:
        """Take octets of the client; those without room are dropped."""
        while octets:
            room = self.client.receive_budget
            if room <= 0:
                return
            self.client.receive_data(octets[:room], self.hub.now)
            octets = octets[room:]
            self._serve()

    def finish(self) -> None:
        """End the client's stream; then let all timeouts pass."""
        self.client.receive_eof(self.hub.now)
        self._serve()
        for moment in (50.0, 100.0, 200.0):
            self.hub.handle_timeout(moment)
            self.client.handle_timeout(moment)
            self._serve()
        self.client.connection_lost("cut", 200.0)
        self._serve()

    def trace(self) -> Lines:
        """Return all octets sent to the client, the broker's history, and the end."""
        history = self.hub.model.history
        report = self.client.report
        lines = [] if history is None else [repr(each) for each in history.records]
        return [*lines, f"sent {bytes(self.sent)!r}", repr(report)]

    def _join(self, end: End) -> None:
        """Declare the queue, like a well-behaved client."""
        there = self.hub.connect()
        read = 0
        for _ in range(100):
            octets, read = bytes(end.sent[read:]), len(end.sent)
            if octets:
                there.receive_data(octets, 0.0)
            there.next_event()
            self.hub.take_dirty()
            answer = there.data_to_send(0.0)
            if not answer and read == len(end.sent):
                return
            end.feed(answer)

    def _serve(self) -> None:
        for _ in range(_TURNS):
            self.client.next_event()
            octets = self.client.data_to_send(self.hub.now)
            self.sent += octets
            dirty = self.hub.take_dirty()
            if not octets and self.client not in dirty:
                return
        raise Endless("the hub sends without end")


class ObserverEnd:
    """An observer. `lines` are its events."""

    def __init__(self) -> None:
        self.observer = Observer(client="client", from_start=True, body="all", limits=LIMITS, accounts=True)
        self.lines: Lines = []

    def feed(self, pieces: Iterable[tuple[int, bytes]]) -> None:
        """Take octets of the client (0) and the server (1), and gaps (2, 3)."""
        for kind, octets in pieces:
            sender = "server" if kind & 1 else "client"
            if kind & 2:
                self.observer.receive_gap(sender, len(octets) * 10, 1)
            else:
                self.observer.receive_data(octets, sender, 1)
            self._take()

    def finish(self) -> None:
        """End both streams."""
        self.observer.finish(2)
        self._take()
        self._take_consumers(self.observer.last_consumers(2, closed=True))
        if self.observer.held:
            self.lines.append(f"{self.observer.held} octets are held after the end")

    def _take(self) -> None:
        for event in events_of(self.observer):
            self.lines.append(_observed(event) if isinstance(event, Observed) else repr(event))
            self._take_consumers(self.observer.take_consumers())

    def _take_consumers(self, consumers: Iterable[Consumer]) -> None:
        for each in consumers:
            counts = each.deliveries, each.unsettled, each.peak, *each.outcomes.values()
            self.lines.append(f"consumer {each.channel} {each.name} of {each.queue}, most {each.most}: {counts}")


def _observed(event: Observed) -> str:
    place = (event.sender, event.channel, event.unit, event.event, event.body_size, event.body_sha256)
    where = (event.offset, event.size, event.answers, event.missing)
    return f"{event.seq} {place} {where} {FieldWriter('base64', True).write(event)}"


def record(version: Version) -> tuple[bytes, bytes, list[tuple[int, bytes]]]:
    """Return a conversation of a client of the version and the hub: each side's octets, and both in order."""
    hub = HubEnd()
    end = client(version)
    order: list[tuple[int, bytes]] = []
    read = heard = 0
    for _ in range(200):
        octets, read = bytes(end.sent[read:]), len(end.sent)
        if octets:
            order.append((0, octets))
            hub.feed(octets)
        answer, heard = bytes(hub.sent[heard:]), len(hub.sent)
        if not octets and not answer:
            break
        if answer:
            order.append((1, answer))
            end.feed(answer)
    return bytes(end.sent), bytes(hub.sent), order


__all__ = ["VERSIONS", "End", "HubEnd", "Lines", "ObserverEnd", "Side", "client", "record", "server"]
