"""Stage: a hub between hostile peers and witnesses: octets choose what they do, and all is checked after each step.

`Driver` moves octets and time as an adapter does, and keeps a record of it that `replay` plays to another hub.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio import By, CloseHint, CloseReport, Event, Failed, RemoteProtocolError, Signal, Version
from amqp_sansio._classic.endpoint.connection import Connection as ClassicConnection
from amqp_sansio.amqp_0_10.endpoint.connection import Connection as TenConnection
from amqp_sansio.amqp_0_10.model.dtx_states import Branch
from amqp_sansio.amqp_1_0.endpoint.connection import Connection as OneConnection
from amqp_sansio.broker import BrokerLimits, Client, Hub, Settings
from amqp_sansio.broker.model.commands import DeclareQueue
from amqp_sansio.broker.snapshot import dumps, loads
from amqp_sansio.endpoint import Side
from tests.kit.choices import Choices
from tests.kit.hub_ledger import Ledger
from tests.kit.hub_witness import Witness, witnesses_of
from tests.kit.small import small_limits
from tests.kit.versions import VersionKit, is_said
from tools.conformance.rules import RULES_FOLDER, Rules, read_rules

LIMITS: Final = small_limits(
    header=4000,
    channels=5,
    requests=6,
    calls=40,
    unsettled=12,
    unconfirmed=40,
    consumers=5,
    replay=30,
    replay_octets=30_000,
)
BROKER_LIMITS: Final = BrokerLimits(
    exchanges=16,
    queues=16,
    bindings=24,
    consumers=8,
    transactions=12,
    transaction_octets=10_000,
    memory_high=4_000_000,
    memory_low=3_000_000,
    backlog_high=20_000,
    backlog_low=5000,
    kept_links=4,
)
SHARED: Final = "shared"
TURNS: Final = 10_000
HISTORY: Final = 1_000_000
SEED: Final = b"the same names and nonces again "


def settings_of(**changes: Any) -> Settings:
    """The settings of a stage: small limits, and all of the history."""
    values: dict[str, Any] = {
        "limits": BROKER_LIMITS,
        "connection_limits": LIMITS,
        "history": HISTORY,
        "heartbeat": 0.0,
        "seed": SEED,
        "users": {"guest": "guest", "other": "other"},
        **changes,
    }
    return Settings(**values)


# Octets and time.


class Act(NamedTuple):
    """What an adapter did: "connect", "data", "eof", "lost", "time", "deaf" or "hears", of client `number`; or the test
    itself, "queue" or "own"."""

    kind: str
    number: int
    octets: bytes
    now: float


class End(NamedTuple):
    """How the hub ended a connection: its version if it had one, and its report."""

    version: Version | None
    report: CloseReport | None
    heard: bool
    """Whether the client read what it was sent."""


class Driver:
    """An adapter in memory. `out` is what each client was sent, `ends` those connections that the hub ended."""

    def __init__(self, settings: Settings) -> None:
        self.hub = Hub(settings)
        self.now = 0.0
        self.acts: list[Act] = []
        self.out: dict[int, bytearray] = {}
        self.ends: dict[int, End] = {}
        self.deaf: set[int] = set()

    def client(self, number: int) -> Client | None:
        return self.hub.clients.get(number)

    def connect(self) -> int:
        """A new client; its number."""
        number = self.hub.connect().number
        self.out[number] = bytearray()
        self._note("connect", number)
        # The time for the protocol header runs from here.
        self._serve(number)
        return number

    def feed(self, number: int, octets: bytes) -> bool:
        """Octets of a client; whether the hub took them all: what it has no budget for is thrown away."""
        client = self.client(number)
        taken = octets[: 0 if client is None else client.receive_budget]
        if client is None or not taken:
            return not octets
        self._note("data", number, taken)
        client.receive_data(taken, self.now)
        self._take(client)
        rest = octets[len(taken) :]
        self._serve(number)
        return self.feed(number, rest) if rest else True

    def eof(self, number: int) -> None:
        """The client sends no more."""
        client = self.client(number)
        if client is not None:
            self._note("eof", number)
            client.receive_eof(self.now)
            self._take(client)
            self._serve(number)

    def lose(self, number: int) -> None:
        """The transport of a client is gone."""
        client = self.client(number)
        if client is not None:
            self._note("lost", number)
            client.connection_lost("cut", self.now)
            client.next_event()
            self._serve(number)

    def deafen(self, number: int, deaf: bool) -> None:
        """The client reads no more, or again."""
        if deaf:
            self.deaf.add(number)
        else:
            self.deaf.discard(number)
        self._note("deaf" if deaf else "hears", number)
        self._serve(number)

    def pass_time(self, until: float) -> None:
        """Let time pass, serving all deadlines on the way."""
        self._note("time", 0, now=until)
        for _ in range(TURNS):
            hub = self.hub
            deadlines = [hub.next_deadline, *[each.next_deadline for each in hub.clients.values()]]
            due = min([each for each in deadlines if each is not None], default=until + 1)
            self.now = max(self.now, min(due, until))
            hub.handle_timeout(self.now)
            for number, client in list(hub.clients.items()):
                deadline = client.next_deadline
                if deadline is not None and deadline <= self.now:
                    client.handle_timeout(self.now)
                    self._take(client)
                    self._serve(number)
            self._serve()
            if due > until:
                return
        raise AssertionError("deadlines come without end")

    def declare(self, number: int, name: str, *, own: bool = False) -> None:
        """A queue, made by the test in the name of a client; its `own`: nobody else may use it."""
        self._note("own" if own else "queue", number, name.encode())
        owners = self.hub.model.owners.values()
        front = self.hub.fronts[number]
        owner = next(each for each in owners if each.parent is None and self.hub._owners.get(each.number) is front)
        self.hub.apply(DeclareQueue(owner, name, durable=not own, exclusive_to=owner if own else None))

    def act(self, act: Act) -> None:
        match act.kind:
            case "queue" | "own":
                self.declare(act.number, act.octets.decode(), own=act.kind == "own")
            case "connect":
                assert self.connect() == act.number
            case "data":
                self.feed(act.number, act.octets)
            case "eof":
                self.eof(act.number)
            case "lost":
                self.lose(act.number)
            case "time":
                self.pass_time(act.now)
            case _:
                self.deafen(act.number, act.kind == "deaf")

    def _note(self, kind: str, number: int, octets: bytes = b"", now: float | None = None) -> None:
        self.acts.append(Act(kind, number, octets, self.now if now is None else now))

    def _serve(self, number: int | None = None) -> None:
        """Write what there is for whom, as adapters do."""
        hub = self.hub
        if number is not None:
            hub.touch(number)
        for _ in range(TURNS):
            dirty = hub.take_dirty()
            if not dirty:
                return
            for client in dirty:
                self._write(client)
        raise AssertionError("they are dirty without end")

    def _write(self, client: Client) -> None:
        number = client.number
        self._take(client)
        if number not in self.deaf:
            self.out[number] += client.data_to_send(self.now)
            self._take(client)
        if client.close_hint is not CloseHint.KEEP and self.client(number) is not None:
            self._end(client)
            client.connection_lost("closed", self.now)
            client.next_event()
            assert self.client(number) is None

    def _take(self, client: Client) -> None:
        client.next_event()
        if self.client(client.number) is None:
            self._end(client)

    def _end(self, client: Client) -> None:
        self.ends.setdefault(client.number, End(client.version, client.report, client.number not in self.deaf))


def replay(
    acts: Iterable[Act], settings: Settings, between: Callable[[Hub], Hub] = lambda hub: hub, every: int = 1
) -> dict[int, bytes]:
    """What a hub sends to each client when it's driven by a record; `between` may replace it every so many acts."""
    driver = Driver(settings)
    for number, act in enumerate(acts):
        if number % every == 0:
            driver.hub = between(driver.hub)
        driver.act(act)
    return {number: bytes(octets) for number, octets in driver.out.items()}


def snapshot(hub: Hub) -> Hub:
    """A hub from its own pickle."""
    copy: Hub = loads(dumps(hub))
    return copy


@contextmanager
def faults_found() -> Generator[list[RemoteProtocolError]]:
    """The faults that the engines of hubs find meanwhile."""
    found: list[RemoteProtocolError] = []
    with pytest.MonkeyPatch.context() as patch:
        kinds: tuple[type[Any], ...] = (ClassicConnection, TenConnection, OneConnection)
        for kind in kinds:
            patch.setattr(kind, "next_event", _listening(kind.next_event, found))
        yield found


def _listening(
    next_event: Callable[[Any], Event | Signal], found: list[RemoteProtocolError]
) -> Callable[[Any], Event | Signal]:
    def listen(engine: Any) -> Event | Signal:
        event = next_event(engine)
        if isinstance(event, Failed) and engine.role is Side.SERVER and event.by is By.LOCAL:
            error = event.error
            if isinstance(error, RemoteProtocolError):
                found.append(error)
        return event

    return listen


def check_rule(error: RemoteProtocolError) -> None:
    """A fault says what is wrong, and which rule of the specifications it breaks, if it's one of those."""
    assert str(error)
    assert error.rule is None or _rules().find(error.rule) is not None, (error, error.rule)


@cache
def _rules() -> Rules:
    return read_rules(RULES_FOLDER)


# Hostile peers.


class Hostile(ABC):
    """A client that sends what it likes. `number` is the hub's, which has its books; `header` is the first it sends."""

    header: bytes

    def __init__(self, driver: Driver, choices: Choices) -> None:
        self.driver = driver
        self.choices = choices
        self.number = driver.connect()

    @property
    def engine(self) -> Any:
        """The hub's end of the connection, None once it's gone."""
        client = self.driver.client(self.number)
        return None if client is None or client.front is None else client.front.connection

    def open(self) -> None:
        """Log in, as everybody does."""
        for octets in self.login():
            self.driver.feed(self.number, octets)

    @abstractmethod
    def login(self) -> Sequence[bytes]:
        """What it sends to log in."""

    def octets(self) -> bytes:
        """What it sends next: some frames, well-formed."""
        engine = self.engine
        return self.header if engine is None else self.frames(engine)

    @abstractmethod
    def frames(self, engine: Any) -> bytes:
        """What it sends to an engine of its version."""


class Words:
    """How a hub tells the clients of a version of ends.

    `opened`, `close` and `close_ok` are the names of what it sends. `check` looks at each thing that was sent; `silent`
    are the rules that ask to close the socket without a word. `answers_header`: a hub that speaks the version begins
    with a protocol header.
    """

    def __init__(
        self,
        kit: VersionKit[Any],
        *,
        opened: str,
        close: str,
        close_ok: str,
        check: Callable[[Any], None],
        parse: Callable[[bytes], Sequence[Any]] | None = None,
        silent: Sequence[str] = (),
        answers_header: bool = True,
    ) -> None:
        self.kit = kit
        self.opened = opened
        self.close = close
        self.close_ok = close_ok
        self.check = check
        self.parse = parse or kit.parse
        self.silent = silent
        self.answers_header = answers_header

    def check_all(self, octets: bytes, end: End | None) -> None:
        """What a client was sent: whole frames, each end with what its scope allows; and who was let in is told why.

        `end`: how the hub ended the connection, None if it didn't.
        """
        if octets[:4] == b"AMQP" and not self.answers_header:
            assert end is None or end.version is None, "only who isn't spoken to gets a header"
            return
        found = self.parse(octets)
        for each in found:
            self.check(each)
        names = [each.name for each in found]
        assert names.count(self.close) <= 1
        if end is None or not end.heard or self.opened not in names:
            return
        report = end.report
        assert report is not None
        if report.by is By.REMOTE:
            assert names[-1] == self.close_ok, report
        elif report.by is By.LOCAL and not report.code and report.rule in self.silent:
            assert self.close not in names
        elif report.by is By.LOCAL:
            assert self.close in names, report
            at = names.index(self.close)
            assert is_said(report, self.kit.read_close(found[at])), (names[at], report)
            assert not names[at + 1 :] or names[-1] == self.close_ok, names


Maker = Callable[[Driver, Choices], Hostile]


def damaged(choices: Choices, octets: bytes) -> bytes:
    """The same with an octet changed, missing or too much, or cut off."""
    if not octets:
        return octets
    at = choices.below(256) * len(octets) // 256
    match choices.below(4):
        case 0:
            return octets[:at] + bytes((choices.below(256),)) + octets[at + 1 :]
        case 1:
            return octets[:at] + octets[at + 1 :]
        case 2:
            return octets[:at] + bytes((choices.below(256),)) + octets[at:]
        case _:
            return octets[:at]


# The play.


class Stage:
    """A hub, hostile peers that `makers` make, and witnesses of every version.

    `shared`: a queue that all of them may use; without it the witnesses have queues of their own alone. `quiet`: the
    hostile ones damage no octets.
    """

    def __init__(
        self,
        octets: bytes,
        makers: Sequence[Maker],
        *,
        shared: bool = True,
        quiet: bool = False,
        settings: Settings | None = None,
        labels: Sequence[str] = ("0-9-1", "0-8", "0-10", "1.0"),
        checks: bool = True,
    ) -> None:
        self.choices = Choices(octets)
        self.settings = settings or settings_of()
        self.driver = Driver(self.settings)
        self.makers = makers
        self.quiet = quiet
        self.checks = checks
        self.ledger = Ledger()
        self.hostiles: list[Hostile] = []
        self.witnesses: list[Witness] = witnesses_of(self.driver, labels, SHARED if shared else "")
        self.pump()
        self.check()
        for make in makers:
            self.enter(make)

    @property
    def hub(self) -> Hub:
        return self.driver.hub

    def run(self) -> Stage:
        """To the end of the choices."""
        while self.choices:
            self.step()
        return self

    def step(self) -> None:
        """Somebody does something."""
        choices = self.choices
        match choices.below(32):
            case 0:
                self.driver.pass_time(self.driver.now + choices.of((0.5, 3.0, 30.0, 100.0)))
            case 1:
                hostile = choices.of(self.hostiles)
                self.driver.deafen(hostile.number, hostile.number not in self.driver.deaf)
            case 2 if choices.rarely():
                self.driver.eof(choices.of(self.hostiles).number)
            case 3 if choices.rarely():
                self.driver.lose(choices.of(self.hostiles).number)
            case number if number < 10:
                choices.of(self.witnesses).act(choices)
            case _:
                self.attack(choices.below(len(self.hostiles)))
        self.pump()
        if self.checks:
            self.check()

    def attack(self, place: int) -> None:
        """A hostile peer sends something; one that is gone comes again."""
        hostile, choices = self.hostiles[place], self.choices
        if self.driver.client(hostile.number) is None:
            self.hostiles[place] = self.enter(self.makers[place], place)
            return
        for _ in range(1 + choices.below(4)):
            octets = hostile.octets()
            if not self.quiet and choices.below(256) == 255:
                octets = damaged(choices, octets)
            at = choices.below(len(octets)) if octets and choices.rarely() else 0
            for piece in (octets[:at], octets[at:]):
                self.driver.feed(hostile.number, piece)
            if self.driver.client(hostile.number) is None:
                return

    def enter(self, make: Maker, place: int | None = None) -> Hostile:
        """A hostile peer connects, and mostly logs in."""
        hostile = make(self.driver, self.choices)
        if place is None:
            self.hostiles.append(hostile)
        if place is None or self.choices.below(32) != 31:
            hostile.open()
        return hostile

    def pump(self) -> None:
        """Let the witnesses hear and answer until nobody has anything to say."""
        for each in self.witnesses:
            each.look()
        for _ in range(TURNS):
            if not any([each.pump() for each in self.witnesses]):
                return
        raise AssertionError("the witnesses never come to rest")

    def check(self) -> None:
        """All that must be true after each step."""
        self.hub.check()
        self.ledger.update(self.hub)
        for witness in self.witnesses:
            witness.check(self.ledger)

    def finish(self) -> None:
        """The witnesses take all that is theirs; then everybody leaves, and nothing is left but what may be."""
        for witness in self.witnesses:
            witness.finish()
        self.pump()
        self.check()
        for witness in self.witnesses:
            witness.check_out(self.ledger)
        for number in list(self.hub.clients):
            self.driver.lose(number)
            if self.checks:
                self.hub.check()
        self.driver.pass_time(self.driver.now + 1e7)
        self.hub.check()
        self.ledger.update(self.hub)
        check_emptiness(self.hub)


_WAITING = (Branch.IDLE, Branch.PREPARED, Branch.ROLLBACK_ONLY)


def check_emptiness(hub: Hub) -> None:
    """Nobody is there any more: nothing is held, and nothing that was to go with somebody is left."""
    broker = hub.model
    assert not hub.clients
    assert not hub.fronts
    hub.check()
    assert not hub.owners_of_clients()
    assert not hub._alarms, hub._alarms
    register, termini, grants = [hub.shared.get(label) for label in ("0-10", "1.0", "access")]
    # Links of 1.0 whose expiry-policy is never.
    lasting = [] if termini is None else [each.owner for each in termini.kept.values()]
    assert set(broker.owners.values()) == set(lasting), broker.owners
    if register is not None:
        assert not register.known
        for book in register.books.values():
            # What was ended or prepared waits for its coordinator, however long.
            for xid in book.works:
                assert book.branches.state(xid) in _WAITING, (xid, book.branches.state(xid))
    if termini is not None:
        never = [each for each in termini.kept.values() if each.expiry.policy != "never"]
        assert not never, never
        assert not termini.attached
        assert not termini._passing
    assert grants is None or not grants.holders
    for vhost in broker.vhosts.values():
        for queue in vhost.queues.values():
            assert not queue.consumers, queue
            assert not queue.browsers
            assert not queue.turns
            assert not (queue.cramped or queue.blocking or queue.blocked_at)
            assert queue.active is None
            assert queue.exclusive_consumer is None
            assert queue.exclusive_to is None or queue.exclusive_to in lasting
            assert queue.creator is None or queue.creator in lasting
            uses = [each.links[queue.name] for each in lasting if queue.name in each.links]
            assert queue.links == sum([times for used, times in uses if used is queue]), queue
            assert not (queue.auto_delete and queue.had_consumer), queue
