"""The whole broker with clients of every version: the same octets out, however the octets came in pieces, and after a
snapshot at any step."""

import asyncio
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count, cycle
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.broker import Client, Hub, Settings
from amqp_sansio.capture import Segment
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0
from amqp_sansio_asyncio.simulated import simulated_loop
from amqp_sansio_cli.demo_traffic import drive
from tests.kit.recorded_world import RecordedWorld

SEED = b"a seed of 32 octets, or not quite"
URLS = ("amqp:tcp:127.0.0.1:5672",)


class Step(NamedTuple):
    """What client `number` sends; None: it leaves."""

    number: int
    octets: bytes | None


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    """What the clients of the demo sent to a broker with a known seed, in the order in which it arrived."""
    world = RecordedWorld(settings=Settings(seed=SEED, urls=URLS, epoch=1.0))
    with world, asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
        runner.run(drive("amqp://broker/"))
        world.run()
        return list(_steps(world.segments()))


def _steps(segments: list[Segment]) -> Iterator[Step]:
    """What each client sends, and that it leaves after its last octets: each ends its connection in order."""
    sent = [each for each in segments if each.dport == 5672 and each.payload]
    last = {each.sport: each for each in sent}
    numbers: dict[int, int] = {}
    for each in sent:
        number = numbers.setdefault(each.sport, len(numbers) + 1)
        yield Step(number, each.payload)
        if last[each.sport] is each:
            yield Step(number, None)


def replayed(
    steps: list[Step],
    cut: Callable[[bytes], list[bytes]] = lambda octets: [octets],
    between: Callable[[Hub], Hub] = lambda hub: hub,
) -> dict[int, bytes]:
    """What the broker sends to each client."""
    hub = Hub(Settings(seed=SEED, urls=URLS, epoch=1.0))
    sent: dict[int, bytes] = defaultdict(bytes)
    for number, octets in steps:
        while number not in hub.clients and number > len(sent):
            sent[hub.connect().number] = b""
        client = hub.clients.get(number)
        if client is None:
            continue
        if octets is None:
            client.connection_lost("gone", 0.0)
            _work(hub, client, sent)
            continue
        for piece in cut(octets):
            hub = between(hub)
            client = hub.clients.get(number)
            if client is None:
                break
            client.receive_data(piece, 0.0)
            _work(hub, client, sent)
    assert not hub.clients
    return dict(sent)


def _work(hub: Hub, client: Client, sent: dict[int, bytes]) -> None:
    client.next_event()
    sent[client.number] += client.data_to_send(0.0)
    while hub.is_dirty:
        for other in hub.take_dirty():
            sent[other.number] += other.data_to_send(0.0)


def test_the_broker_served_four_versions(steps: list[Step]) -> None:
    firsts = {step.octets[:8] for step in steps if step.octets and step.octets.startswith(b"AMQP")}
    assert {AMQP_0_8.header, AMQP_0_9_1.header, AMQP_0_10.header} <= firsts
    assert any(first[4:] in (b"\0\1\0\0", b"\3\1\0\0") for first in firsts), AMQP_1_0
    sent = replayed(steps)
    assert len(sent) == 11
    assert all(sent.values())


def test_octet_by_octet_it_sends_the_same(steps: list[Step]) -> None:
    assert replayed(steps, lambda octets: [octets[at : at + 1] for at in range(len(octets))]) == replayed(steps)


@settings(max_examples=8)
@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=30))
def test_in_any_pieces_it_sends_the_same(steps: list[Step], sizes: list[int]) -> None:
    turns = cycle(sizes)

    def cut(octets: bytes) -> list[bytes]:
        pieces: list[bytes] = []
        while octets:
            size = next(turns)
            pieces.append(octets[:size])
            octets = octets[size:]
        return pieces

    assert replayed(steps, cut) == replayed(steps)


def test_a_snapshot_goes_on_as_the_broker_would(steps: list[Step], every: int = 5) -> None:
    """Taken at every fifth step; tests/system/broker/test_every_snapshot.py takes one at each."""
    turns = count()

    def snapshot(hub: Hub) -> Hub:
        if next(turns) % every:
            return hub
        copy: Hub = pickle.loads(pickle.dumps(hub))
        return copy

    assert replayed(steps, between=snapshot) == replayed(steps)
