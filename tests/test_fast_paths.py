"""Every row of `FAST_PATHS`: switched off, the same events, octets and state come of the same traffic."""

# pyright: reportPrivateUsage=false
import pickle
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_1_0, EndpointClosed, LocalProtocolError, Signal, Version
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio._classic.fast_paths import FAST_PATHS as CLASSIC
from amqp_sansio._ground.fast_paths import Entry
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.fast_paths import FAST_PATHS as AMQP_0_10
from amqp_sansio.amqp_1_0.fast_paths import FAST_PATHS as FAST_1_0
from amqp_sansio.capture import Segment
from tests.amqp_0_10.endpoint.test_exactly_once import play
from tests.amqp_0_10.endpoint.test_fast_path import open_pair, run, settle
from tests.kit import driving_1_0, driving_classic
from tests.kit.captures import carried
from tests.kit.lanes import events_of, options_of, traffic_of
from tests.kit.observing import recorded, take
from tests.kit.pair import SIDES, pieces, structure, told
from tests.kit.pair_classic import asked, in_runs
from tests.kit.tables import segments_of

ROOT: Final = Path(__file__).resolve().parent.parent
TABLES: Final = {"0-8, 0-9-1": CLASSIC, "0-10": AMQP_0_10, "1.0": FAST_1_0}
SEEDS: Final = (1, 2, 4)
"""The runs for each fast path: each is taken in one of them at least. `tests/system` has more."""
ROWS: Final = {f"{name} {row.name}": row for name, rows in TABLES.items() for row in rows}


def _sizes(random: Random) -> tuple[int, ...]:
    return tuple([random.choice((random.randint(1, 40), 5000)) for _ in range(5)])


def _states(pair: Any) -> list[object]:
    """What is queued, and the state: how the octets that wait lie in pieces is no part of it."""
    copies = [pickle.loads(pickle.dumps(pair.ends[side])) for side in SIDES]
    return [[copy.data_to_send(pair.now), structure(copy)] for copy in copies]


def _driven(driver: driving_classic.Driver | driving_1_0.Driver, random: Random) -> list[object]:
    found: list[object] = []
    for number in range(100):
        driver.apply((random.randrange(256), random.randrange(8), random.randrange(256)))
        if isinstance(driver, driving_classic.Driver) and number % 5 == 0:
            found.append(_forwarded(driver, random))
        found.append(driver.trace())
    return [*found, _states(driver.pair)]


def _forwarded(driver: driving_classic.Driver, random: Random) -> object:
    """The delivery tag of a message that the server forwards, or why it may not."""
    server = driver.pair.server
    size = random.choice((0, 1, 4000, 9000))
    consuming = [each for each in map(server.channel, server.channels) if each.consumers]
    if not consuming:
        return None
    try:
        return consuming[0].forward(bytes(size), b"\0\0", next(iter(consuming[0].consumers)), "", "r", False)
    except (LocalProtocolError, EndpointClosed) as error:
        return str(error)


def classic_ends(random: Random) -> list[object]:
    version = random.choice((AMQP_0_9_1, AMQP_0_8))
    chunks = pieces(*_sizes(random)) if random.random() < 0.5 else None
    found = _driven(driving_classic.Driver(version, chunks=chunks, damage=random.random() < 0.3), random)
    return [*found, *_in_runs(version, random), *_confirmed(random), *_acked(random)]


def _in_runs(version: Version, random: Random) -> list[object]:
    """Messages for two consumers, and a client that asks for all that follow each."""
    pair, channel, served = asked(version)
    for consumer, no_ack in (("a", False), ("b", True)):
        channel.call(pair.method("basic.consume", queue="q", consumer_tag=consumer, no_ack=no_ack, no_wait=True))
    pair.pump()
    for _ in range(20):
        body = bytes(random.choice((0, 1, 1, 1, 9000)))
        served.forward(body, b"\0\0", random.choice(("a", "a", "b")), "", random.choice(("r", "r", "s")), False)
    return _arrived(pair.client, pair.server.data_to_send(pair.now), pair.now, random)


def _confirmed(random: Random) -> list[object]:
    """Publishes on two channels, and a client that asks for all confirms that follow each."""
    pair, channel, served = asked(AMQP_0_9_1)
    channels = [(channel, served)]
    other = pair.channel()
    channels.append((other, pair.peer(other)))
    for each, _ in channels:
        each.call(pair.method("confirm.select", no_wait=True))
    for _ in range(20):
        for each, _ in channels:
            each.publish(b"", routing_key="r", mandatory=each is other and random.random() < 0.1)
    pair.pump()
    numbers = {0: random.sample(range(1, 21), 20), 1: list(range(1, 21))}
    while numbers:
        which = random.choice(list(numbers))
        number = numbers[which].pop(0)
        if not numbers[which]:
            del numbers[which]
        end = channels[which][1]
        if number in end.unconfirmed:
            end.confirm(number, multiple=random.random() < 0.1, accepted=random.random() > 0.1)
    return _arrived(pair.client, pair.server.data_to_send(pair.now), pair.now, random)


def _acked(random: Random) -> list[object]:
    """Deliveries to two channels, some with a pending, and a server that asks for all acknowledgements that follow."""
    version = random.choice((AMQP_0_9_1, AMQP_0_8))
    pair, channel, served = asked(version)
    other = pair.channel()
    for each in (channel, other):
        each.call(pair.method("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    pair.pump()
    for end in (served, pair.peer(other)):
        for _ in range(20):
            if random.random() < 0.1:
                end.deliver(b"x", consumer_tag="c")
            else:
                end.forward(b"x", b"\0\0", "c", "", "r", False)
    pair.pump()
    for _ in range(40):
        each = random.choice((channel, channel, other))
        if each.unsettled:
            each.accept(random.choice(list(each.unsettled)), multiple=random.random() < 0.1)
    return _arrived(pair.server, pair.client.data_to_send(pair.now), pair.now, random)


def _arrived(end: Connection, octets: bytes, now: float, random: Random) -> list[object]:
    """Let octets arrive at an end in pieces; return its events and its state."""
    found: list[object] = []
    for piece in pieces(*_sizes(random), 1000)(octets):
        end.receive_data(piece, now)
        while not isinstance(event := end.next_event(), Signal):
            found += map(told, in_runs(end, event))
    return [*found, structure(end)]


def amqp_1_0_ends(random: Random) -> list[object]:
    chunks = pieces(*_sizes(random)) if random.random() < 0.5 else None
    return _driven(driving_1_0.Driver(chunks=chunks, damage=random.random() < 0.3), random)


def amqp_0_10_ends(random: Random) -> list[object]:
    found: list[object] = []
    for pair in play(random.randbytes(400), pieces(*_sizes(random))).pairs:
        for side in SIDES:
            found += [bytes(pair.sent[side]), [told(event) for event in pair.events[side]]]
        found.append(_states(pair))
    for _ in range(2):
        found += _transfers(random)
    return found


def _transfers(random: Random) -> list[object]:
    """Messages of every size for two subscriptions, which the client completes at once or when all have come."""
    client, server = open_pair({"stream_above": random.choice((None, None, 100))})
    session, served = client.session(0), server.session(0)
    mode, credit = (
        random.choice((amqp.spec.WINDOW, amqp.spec.CREDIT)),
        random.choice(((None, None), (1000, None), (8, 200_000))),
    )
    for destination in ("a", "b"):
        session.call(spec.MessageSubscribe("q", destination))
        session.call(spec.MessageSetFlowMode(destination, mode))
        session.call(spec.MessageFlow(destination, amqp.spec.MESSAGE, credit[0]))
        session.call(spec.MessageFlow(destination, amqp.spec.BYTE, credit[1]))
    settle(client, server)
    found: list[object] = []
    wanted: dict[str, Any] = {}
    for _ in range(12):
        destination = random.choice(("a", "b"))
        size = random.choice((0, 1, 40, 5000, 70_000))
        if random.random() < 0.3:
            wanted = {name: random.randrange(2) for name in ("accept_mode", "acquire_mode")}
        properties = amqp.DeliveryProperties(routing_key="k") if random.random() < 0.5 else None
        message = amqp.Message(bytes(size), delivery_properties=properties)
        try:
            found.append(served.transfer(destination, message, sync=random.random() < 0.1, **wanted).command_id)
        except amqp.NoCredit as error:
            found.append(str(error))
    octets = server.data_to_send(0.0)
    late = random.random() < 0.5
    found += [octets, run(client, octets, random.choice((7, 1000, 65_536)), late)]
    return [*found, structure(client), structure(server)]


def _observed(pattern: str, random: Random) -> list[object]:
    found: list[object] = []
    for path in random.sample(carried(pattern), 6):
        for connection in recorded(path):
            observer: Any = connection.observer(body=random.choice(("all", "keep", "size")))
            for sender, what, at_ns in connection.arrivals:
                if isinstance(what, int):
                    observer.receive_gap(sender, what, at_ns)
                else:
                    observer.receive_data(what, sender, at_ns)
                found += take(observer)
            # Beside the model an observer has what it needn't check again.
            found.append(structure(getattr(observer._machine, "model", None)))
    return found


def _alone(version: Version, pattern: str, random: Random) -> list[object]:
    """The rows of events alone, of what others recorded and of what nobody would send."""
    traffic = [traffic_of(version, random) for _ in range(3)]
    for path in random.sample(carried(pattern), 3):
        traffic.append([each for each in segments_of([path]) if isinstance(each, Segment)])
    return [row for segments in traffic for row in events_of(segments, options_of(random), alone=True)]


def classic_observed(random: Random) -> list[object]:
    pattern = "o0[89]*.pcap"
    version = random.choice((AMQP_0_9_1, AMQP_0_8))
    return [*_observed(pattern, random), *_alone(version, pattern, random)]


def amqp_0_10_observed(random: Random) -> list[object]:
    return _observed("o010_*.pcap", random)


def amqp_1_0_observed(random: Random) -> list[object]:
    pattern = "o10_*.pcap"
    return [*_observed(pattern, random), *_alone(AMQP_1_0, pattern, random)]


TRAFFIC: Final[dict[str, Callable[[Random], list[object]]]] = {
    "_classic.endpoint": classic_ends,
    "_classic.observer": classic_observed,
    "amqp_0_10.endpoint": amqp_0_10_ends,
    "amqp_0_10.observer": amqp_0_10_observed,
    "amqp_1_0.endpoint": amqp_1_0_ends,
    "amqp_1_0.observer": amqp_1_0_observed,
}
"""By engine and room."""


def room_of(entry: Entry) -> str:
    """The engine and room that a fast path stands in."""
    module = getattr(entry.owner, "__module__", None) or entry.owner.__name__
    return ".".join(module.split(".")[1:3])


def _nothing(*arguments: object, **named: object) -> None:
    """A fast path that is never taken."""


@contextmanager
def without(entry: Entry) -> Generator[None]:
    """Switch a fast path off."""
    general = _nothing if entry.stand_in is None else getattr(entry.owner, entry.stand_in)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry.owner, entry.method, general)
        yield


@contextmanager
def counted(entry: Entry, taken: list[object]) -> Generator[None]:
    """Note each time that a fast path is taken: it has a result, or needs no help of its stand-in."""
    fast = getattr(entry.owner, entry.method)
    helped: list[object] = []

    def call(*arguments: Any, **named: Any) -> Any:
        before = len(helped)
        found = fast(*arguments, **named)
        if len(helped) == before and (found is not None or entry.stand_in is not None):
            taken.append(found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry.owner, entry.method, call)
        if entry.stand_in is not None:
            general = getattr(entry.owner, entry.stand_in)

            def help_out(*arguments: Any) -> Any:
                helped.append(arguments)
                return general(*arguments)

            patch.setattr(entry.owner, entry.stand_in, help_out)
        yield


@cache
def _fast(room: str, seed: int) -> tuple[list[object], frozenset[str]]:
    """What comes of a room's traffic with all fast paths, and which of them it takes."""
    taken: dict[str, list[object]] = {name: [] for name, entry in ROWS.items() if room_of(entry) == room}
    with ExitStack() as stack:
        for name, found in taken.items():
            stack.enter_context(counted(ROWS[name], found))
        outcome = TRAFFIC[room](Random(seed))
    return outcome, frozenset([name for name, found in taken.items() if found])


def assert_no_difference(name: str, seeds: Iterable[int]) -> None:
    """Compare the traffic of these seeds with and without a fast path, which at least one of them takes."""
    room = room_of(ROWS[name])
    taken = False
    for seed in seeds:
        outcome, names = _fast(room, seed)
        taken = taken or name in names
        with without(ROWS[name]):
            assert TRAFFIC[room](Random(seed)) == outcome
    assert taken, "the traffic never takes it"


@pytest.mark.parametrize("name", ROWS)
def test_a_fast_path_makes_no_difference(name: str) -> None:
    assert_no_difference(name, SEEDS)


@pytest.mark.parametrize("version", TABLES)
def test_the_page_of_fast_paths_has_each_row(version: str) -> None:
    page = (ROOT / "docs" / "fast-paths.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {version.replace(', ', ' and ')}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    expected = [f"| {each.name} | {each.taken} | {each.writes} | {each.equals} |" for each in TABLES[version]]
    assert rows == expected
