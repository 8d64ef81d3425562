"""Links that outlive their connections: whatever octet the transport is cut at, the settle modes keep their promises.

1.0 part 2 section 2.6.12: settled when sent, at most once; settled by the receiver first, at least once; settled by the
sender first, exactly once.
"""

import pickle
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Event, Opened, OpenRequested, Scope, Settled, Side
from amqp_sansio import amqp_1_0 as amqp
from tests.kit.pair import STEPS
from tests.kit.pair_1_0 import Pair

CLIENT, SERVER = Side.CLIENT, Side.SERVER
SETTLED, UNSETTLED, MIXED = 1, 0, 2
FIRST, SECOND = 0, 1
SIZES = (3, 700, 20, 1500, 0, 1, 40)
"""Octets of the messages; frames have 512."""

MODES = {
    "at most once": (SETTLED, FIRST),
    "at least once": (UNSETTLED, FIRST),
    "exactly once": (UNSETTLED, SECOND),
    "exactly once, mixed": (MIXED, SECOND),
}


def body(number: int) -> bytes:
    return bytes([number]) + b"." * SIZES[number % len(SIZES)]


class Producer:
    """Sends `count` messages over a link that it resumes on each connection. `done` are those that are settled."""

    def __init__(self, count: int, modes: tuple[int, int]) -> None:
        self.count = count
        self.modes = modes
        self.next = 0
        self.done: list[int] = []
        self.state: amqp.LinkState | None = None
        self.link: Any = None

    def __call__(self, connection: amqp.Connection, event: Event) -> None:
        match event:
            case Opened(Scope.CONNECTION):
                connection.open_session()
            case Opened(Scope.SESSION, channel):
                session = connection.session(channel)
                snd, rcv = self.modes
                self.link = session.open_sender(
                    "Y", name="N", snd_settle_mode=snd, rcv_settle_mode=rcv, state=self.state
                )
            case amqp.CreditChanged() | amqp.Resumed():
                self.send()
            case Settled(handles):
                self.done += [handle.key[2][0] for handle in handles]  # type: ignore[index]
                self.send()
            case _:
                pass

    def send(self) -> None:
        while self.next < self.count and self.link.credit:
            number = self.next
            self.next += 1
            self.link.send(amqp.Message(body(number)), delivery_tag=bytes([number]))

    def save(self) -> None:
        """The connection is gone: keep what the link has, as an application would write it down."""
        if self.link is not None:
            self.state = pickle.loads(pickle.dumps(self.link.saved_state()))
            self.link = None


class Consumer:
    """Takes messages, each with the outcome that it records at the same moment, over a link that it resumes."""

    def __init__(self) -> None:
        self.processed: list[bytes] = []
        self.state: amqp.LinkState | None = None
        self.link: Any = None

    def __call__(self, connection: amqp.Connection, event: Event) -> None:
        match event:
            case OpenRequested():
                connection.accept_open()
            case amqp.SessionRequested(channel):
                connection.session(channel).accept()
            case amqp.LinkRequested(channel, handle):
                self.link = connection.session(channel).link(handle)
                self.link.accept_attach(state=self.state)
                self.link.flow(3)
            case amqp.Delivery():
                self.processed.append(event.body)
                if not event.settled:
                    self.link.accept(event)
                self.link.top_up(3)
            case Settled() | amqp.DeliveryAborted():
                # What a resumed link settles takes credit too.
                self.link.top_up(3)
            case _:
                pass

    def save(self) -> None:
        """As `Producer.save`."""
        if self.link is not None:
            self.state = pickle.loads(pickle.dumps(self.link.saved_state()))
            self.link = None


def run(count: int, modes: tuple[int, int], cuts: list[tuple[int, int]]) -> tuple[Producer, Consumer]:
    """Send messages; connection after connection is cut when so many octets came to the server or to the client."""
    producer, consumer = Producer(count, modes), Consumer()
    config = {side: amqp.Config(container_id=side.value, max_frame_size=512, incoming_window=4) for side in Side}
    for to_server, to_client in [*cuts, (1 << 30, 1 << 30)]:
        pair = Pair(client=config[CLIENT], server=config[SERVER], applications={CLIENT: producer, SERVER: consumer})
        left = {SERVER: to_server, CLIENT: to_client}
        if not pump_until(pair, left):
            break
        pair.cut()
        producer.save()
        consumer.save()
    return producer, consumer


def pump_until(pair: Pair, left: dict[Side, int]) -> bool:
    """Turn both sides until nothing moves, or the transport is to be cut."""
    for _ in range(STEPS):
        moved = False
        for side in (CLIENT, SERVER):
            moved = pair.drain(side) or moved
            moved = pair.write(side) or moved
            before = len(pair.flying[side.other])
            moved = pair.arrive(side, left[side]) or moved
            left[side] -= before - len(pair.flying[side.other])
            pair.drain(side)
            if not left[side] and pair.flying[side.other]:
                return True
        if not moved:
            return False
    raise AssertionError("the two sides never come to rest")


def check(producer: Producer, consumer: Consumer, mode: str) -> None:
    """What the settle modes promise."""
    assert producer.next == producer.count
    counts = Counter(consumer.processed)
    expected = {body(number) for number in range(producer.count)}
    assert set(counts) <= expected
    if mode == "at most once":
        assert max(counts.values(), default=0) <= 1
        return
    assert set(counts) == expected
    assert sorted(producer.done) == list(range(producer.count))
    if mode.startswith("exactly once"):
        assert set(counts.values()) == {1}


@pytest.mark.rule("1.0/transport/delivery/guarantees", "1.0/transport/delivery/settle-once")
@pytest.mark.parametrize("mode", MODES)
@given(cuts=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 1500)), max_size=8), count=st.integers(1, 9))
def test_cut_anywhere_any_number_of_times(mode: str, cuts: list[tuple[int, int]], count: int) -> None:
    check(*run(count, MODES[mode], cuts), mode)


LENGTHS = {SERVER: 1500, CLIENT: 700}
"""More octets than either direction has in a transfer of messages of one and of many frames."""


def check_cuts(mode: str, direction: Side, octets: Iterable[int]) -> None:
    """Cut the transport once behind each of these octets of a direction."""
    many = 1 << 30
    for at in octets:
        cut = (at, many) if direction is SERVER else (many, at)
        check(*run(3, MODES[mode], [cut]), mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", [SERVER, CLIENT])
def test_one_cut_at_octets_all_along(mode: str, direction: Side) -> None:
    """Other octets in each mode; `tests/system` takes every one."""
    check_cuts(mode, direction, range([*MODES].index(mode) * 7, LENGTHS[direction], 29))
