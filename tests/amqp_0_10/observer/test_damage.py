"""Damage in 0-10: nothing raises, nothing is invented, no octet is lost silently, and reading goes on."""

import pickle
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Limits, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio._watching.stream import PROVEN, REFUTED
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.model.open_ids import OpenIds
from amqp_sansio.amqp_0_10.observer.resync import Reader
from amqp_sansio.amqp_1_0.spec import Begin, Open
from amqp_sansio.observer import Identified, Observed, Observer, Violation
from amqp_sansio.recorded.lifecycle import Lifecycle
from tests.kit.observing import CLIENT, SERVER, Talk, accounted, watch
from tests.kit.talk_0_10 import Talk010, completed, frames, transfer
from tests.kit.talk_1_0 import frame as frame_1_0

Arrivals = list[tuple[str, bytes | int, int]]


def _conversation() -> Talk010:
    talk = Talk010().open().session().client(spec.TxSelect(), transfer("ex", b"one"))
    talk.server(completed(0, 1)).subscribe().client(spec.TxCommit(), spec.QueueQuery("q"))
    talk.server(transfer("d", b"0123456789" * 20, largest=50), completed(0, 1, 2, 3))
    talk.client(completed(0), spec.MessageAccept(amqp.SequenceSet.of(0)), spec.ConnectionHeartbeat())
    talk.client(transfer("ex", b"two" * 40, largest=40), spec.ExecutionSync(), spec.SessionDetach(b"s"))
    return talk


_ARRIVALS: Arrivals = [(sender, what, 1) for sender, what in _conversation().arrivals]


def _check(arrivals: Arrivals, late: bool, body: str = "all") -> list[Any]:
    """Watch; no octet may be lost, nothing held at the end, and cuts make no difference."""
    limits = Limits(unparsed=200_000, message=150, bodies=400, header=300, channels=3)
    observer = Observer(client=None if late else CLIENT, body=body, limits=limits)
    events = watch(observer, arrivals)
    identified = [event for event in events if isinstance(event, Identified)]
    if identified and identified[-1].version is not None:
        assert observer.held == 0
    lifecycle = Lifecycle(limits)
    messages = [message for event in events for message in lifecycle.observe(event)]
    messages += lifecycle.finish()
    assert len({id(message) for message in messages}) == len(messages)
    client = CLIENT
    if identified and identified[-1].server != CLIENT:
        client = identified[-1].client or client
    elif identified:
        client = SERVER
    for sender in (CLIENT, SERVER):
        sent = [what for each, what, _ in arrivals if each == sender]
        octets = sum([what if isinstance(what, int) else len(what) for what in sent])
        side = Side.CLIENT if sender == client else Side.SERVER
        assert accounted(events, side) == octets
    return events


@given(st.data())
def test_any_damage_anywhere(data: st.DataObject) -> None:
    choose = random.Random(data.draw(st.integers(0, 1_000_000)))
    arrivals: Arrivals = []
    for sender, what, at_ns in _ARRIVALS:
        assert isinstance(what, bytes)
        damaged = bytearray(what)
        if choose.random() < 0.3:
            at = choose.randrange(len(damaged))
            damaged[at] = choose.choice([0, 1, 2, 3, 15, 255, choose.randrange(256)])
        if choose.random() < 0.1:
            at = choose.randrange(len(damaged) + 1)
            damaged[at:at] = bytes(choose.randrange(256) for _ in range(choose.randrange(30)))
        if choose.random() < 0.1:
            at = choose.randrange(len(damaged))
            del damaged[at : at + choose.randrange(1, 30)]
        arrivals.append((sender, bytes(damaged), at_ns))
        if choose.random() < 0.05:
            arrivals.append((sender, choose.randrange(1, 300), at_ns))
    late = data.draw(st.booleans())
    events = _check(arrivals, late)
    cut: Arrivals = []
    for sender, what, at_ns in arrivals:
        if isinstance(what, int):
            cut.append((sender, what, at_ns))
        else:
            cut += [(sender, what[at : at + 3], at_ns) for at in range(0, len(what), 3)]
    assert _check(cut, late) == events


@given(st.lists(st.tuples(st.booleans(), st.binary(min_size=1, max_size=80)), max_size=12))
def test_any_octets_behind_the_headers(pieces: list[tuple[bool, bytes]]) -> None:
    arrivals: Arrivals = [(CLIENT, AMQP_0_10.header, 1), (SERVER, AMQP_0_10.header, 1)]
    arrivals += [(CLIENT if client else SERVER, octets, 1) for client, octets in pieces]
    _check(arrivals, False)


@given(st.binary(max_size=120), st.booleans())
def test_proofs_do_not_depend_on_where_octets_end(octets: bytes, begins: bool) -> None:
    """What is proven or refuted by some octets stays so with more of them."""
    data = octets + frames(spec.ExecutionSync()) + transfer("d", b"body", largest=30) + octets
    reader = Reader(Side.CLIENT if begins else None)
    for pos in range(0, len(data), 5):
        final = reader.prove(data, pos, True)
        for end in range(pos + 1, len(data)):
            answer = reader.prove(data[:end], pos, False)
            assert answer in (PROVEN, REFUTED) or answer > end - pos
            if answer in (PROVEN, REFUTED):
                assert answer == reader.prove(data, pos, False) == final
                break


def test_garbage_between_frames() -> None:
    talk = Talk010().open().session().client(b"\xff" * 50 + frames(spec.ExecutionSync())).finish()
    assert talk.rules == ["wire/frame-reserved-zero"]
    assert talk.skipped == [(50, "resync")]
    assert talk.observed[-1].event == "execution.sync"


def test_zeros_are_no_frames() -> None:
    talk = Talk010().open().session().client(bytes(5000)).client(frames(spec.ExecutionSync())).finish()
    assert talk.rules == ["wire/frame-size<12 malformed"]
    assert [unit.event for unit in talk.observed[-1:]] == ["execution.sync"]
    # Zeros before a frame may belong to it; what isn't proven to be a frame is skipped.
    assert sum([octets for octets, _ in talk.skipped]) == 5000


@pytest.mark.parametrize("body", ["keep", "hash", "size"])
def test_what_is_held_is_bounded(body: str) -> None:
    limits = Limits(message=5000, bodies=8000, header=1000, channels=4)
    observer = Observer(client=CLIENT, body=body, limits=limits)
    octets = AMQP_0_10.header + b"".join(
        [transfer("d", bytes(6000), channel=channel, largest=500)[:-100] for channel in range(40)]
    )
    for at in range(0, len(octets), 1000):
        observer.receive_data(octets[at : at + 1000], CLIENT, 1)
        while isinstance(observer.next_event(), Observed | Violation | Identified):
            pass
        assert observer.held <= limits.bodies + 1000
    assert len(pickle.dumps(observer)) < 40_000


# Versions within each other.


def _first(*arrivals: tuple[str, bytes]) -> Identified:
    events = watch(Observer(), [(sender, octets, 1) for sender, octets in arrivals])
    return next(event for event in events if isinstance(event, Identified))


def test_messages_that_carry_frames_of_other_versions() -> None:
    """What is within a frame that is still coming says nothing of the version that is spoken."""
    classic = Talk(AMQP_0_9_1)
    amqp_0_10 = transfer("d", b"x" * 30) + frames(spec.QueueQuery("q"))
    amqp_1_0 = frame_1_0(Open("c")) + frame_1_0(Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1))
    for carrier, version in (
        (classic.publish(amqp_0_10 * 5, exchange="ex"), AMQP_0_9_1),
        (transfer("d", classic.publish(b"y") * 5) + frames(spec.QueueQuery("q")), AMQP_0_10),
        (transfer("d", amqp_1_0 * 5) + frames(spec.QueueQuery("q")), AMQP_0_10),
    ):
        for cut in (len(carrier), 7, 50):
            pieces = [(CLIENT, carrier[at : at + cut]) for at in range(0, len(carrier), cut)]
            assert _first(*pieces).version is version


def test_each_version_is_told_from_the_middle() -> None:
    classic = Talk(AMQP_0_9_1)
    assert _first((CLIENT, classic.publish(b"y", exchange="ex"))).version is AMQP_0_9_1
    assert _first((CLIENT, frames(spec.QueueQuery("q")))).version is AMQP_0_10
    assert _first((CLIENT, frame_1_0(Open("c"))), (SERVER, frame_1_0(Open("s")))).version is AMQP_1_0


# Ids.


@given(
    st.integers(0, 4_294_967_295),
    st.sets(st.integers(0, 300), max_size=60),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=6),
)
def test_covered_ids_are_those_in_the_set(first: int, pending: set[int], ranges: list[tuple[int, int]]) -> None:
    def number(place: int) -> int:
        return (first + place) % (1 << 32)

    commands = amqp.SequenceSet([(number(min(pair)), number(max(pair))) for pair in ranges])
    waiting: OpenIds[int] = OpenIds()
    waiting.update({number(place): place for place in sorted(pending)})
    inside = [each for each in waiting if each in commands]
    assert waiting.named(commands) == inside


def test_a_long_history_of_completions_costs_little() -> None:
    """qpid's clients tell all that was ever completed: only what is open may be looked at."""
    waiting: OpenIds[None] = OpenIds()
    waiting.update(dict.fromkeys(range(1_000_000, 1_000_100)))
    found = [waiting.named(amqp.SequenceSet([(0, upper)])) for upper in range(1_000_000, 1_000_100)]
    assert [len(each) for each in found] == list(range(1, 101))
