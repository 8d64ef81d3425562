"""Every row of `FAST_PATHS`: switched off, the same events, octets and state come of the same traffic."""

# pyright: reportPrivateUsage=false
import pickle
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, EndpointClosed, LocalProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio._classic.fast_paths import FAST_PATHS as CLASSIC
from amqp_sansio._core.fast_paths import Entry
from amqp_sansio.amqp_0_10.fast_paths import FAST_PATHS as AMQP_0_10
from amqp_sansio.amqp_1_0.fast_paths import FAST_PATHS as AMQP_1_0
from tests.amqp_0_10.endpoint.test_exactly_once import play
from tests.amqp_0_10.endpoint.test_fast_path import open_pair, run, settle
from tests.kit import driving, driving_1_0
from tests.kit.captures import carried
from tests.kit.observing import recorded, take
from tests.kit.pair import SIDES, pieces, structure, told

ROOT: Final = Path(__file__).resolve().parent.parent
TABLES: Final = {"0-8, 0-9-1": CLASSIC, "0-10": AMQP_0_10, "1.0": AMQP_1_0}
SEEDS: Final = range(6)
"""As many different runs for each fast path."""


def _sizes(random: Random) -> tuple[int, ...]:
    return tuple([random.choice((random.randint(1, 40), 5000)) for _ in range(5)])


def _states(pair: Any) -> list[object]:
    """What is queued, and the state: how the octets that wait lie in pieces is no part of it."""
    copies = [pickle.loads(pickle.dumps(pair.ends[side])) for side in SIDES]
    return [[copy.data_to_send(pair.now), structure(copy)] for copy in copies]


def _driven(driver: driving.Driver | driving_1_0.Driver, random: Random) -> list[object]:
    found: list[object] = []
    for number in range(100):
        driver.apply((random.randrange(256), random.randrange(8), random.randrange(256)))
        if isinstance(driver, driving.Driver) and number % 5 == 0:
            found.append(_forwarded(driver, random))
        found.append(driver.trace())
    return [*found, _states(driver.pair)]


def _forwarded(driver: driving.Driver, random: Random) -> object:
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
    return _driven(driving.Driver(version, chunks=chunks, damage=random.random() < 0.3), random)


def amqp_1_0_ends(random: Random) -> list[object]:
    chunks = pieces(*_sizes(random)) if random.random() < 0.5 else None
    return _driven(driving_1_0.Driver(chunks=chunks, damage=random.random() < 0.3), random)


def amqp_0_10_ends(random: Random) -> list[object]:
    found: list[object] = []
    for pair in play(random.randbytes(400), pieces(*_sizes(random))).pairs:
        for side in SIDES:
            found += [bytes(pair.sent[side]), [told(event) for event in pair.events[side]]]
        found.append(_states(pair))
    for _ in range(8):
        found += _transfers(random)
    return found


def _transfers(random: Random) -> list[object]:
    """Messages of every size for two subscriptions, which the client completes at once or when all have come."""
    client, server = open_pair({"stream_above": random.choice((None, None, 100))})
    session, served = client.session(0), server.session(0)
    mode, credit = (
        random.choice((amqp.WINDOW, amqp.CREDIT)),
        random.choice(((None, None), (1000, None), (8, 200_000))),
    )
    for destination in ("a", "b"):
        session.call(amqp.MessageSubscribe("q", destination))
        session.call(amqp.MessageSetFlowMode(destination, mode))
        session.call(amqp.MessageFlow(destination, amqp.MESSAGE, credit[0]))
        session.call(amqp.MessageFlow(destination, amqp.BYTE, credit[1]))
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


def classic_observed(random: Random) -> list[object]:
    return _observed("o0[89]*.pcap", random)


def amqp_0_10_observed(random: Random) -> list[object]:
    return _observed("o010_*.pcap", random)


def amqp_1_0_observed(random: Random) -> list[object]:
    return _observed("o10_*.pcap", random)


TRAFFIC: Final[dict[str, Callable[[Random], list[object]]]] = {
    "_classic.endpoint": classic_ends,
    "_classic.observer": classic_observed,
    "amqp_0_10.endpoint": amqp_0_10_ends,
    "amqp_0_10.observer": amqp_0_10_observed,
    "amqp_1_0.endpoint": amqp_1_0_ends,
    "amqp_1_0.observer": amqp_1_0_observed,
}
"""By engine and room."""


def _traffic(entry: Entry) -> Callable[[Random], list[object]]:
    module = getattr(entry.owner, "__module__", None) or entry.owner.__name__
    return TRAFFIC[".".join(module.split(".")[1:3])]


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


@pytest.mark.parametrize(
    "entry", [pytest.param(row, id=f"{name} {row.name}") for name, rows in TABLES.items() for row in rows]
)
def test_a_fast_path_makes_no_difference(entry: Entry) -> None:
    traffic = _traffic(entry)
    taken: list[object] = []
    for seed in SEEDS:
        with counted(entry, taken):
            fast = traffic(Random(seed))
        with without(entry):
            assert traffic(Random(seed)) == fast
    assert taken, "the traffic never takes it"


@pytest.mark.parametrize("version", TABLES)
def test_the_page_of_fast_paths_has_each_row(version: str) -> None:
    page = (ROOT / "docs" / "fast-paths.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {version.replace(', ', ' and ')}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    expected = [f"| {each.name} | {each.taken} | {each.writes} | {each.equals} |" for each in TABLES[version]]
    assert rows == expected
