"""Ids of commands: what both ends know of them, what is open, and what naming them costs (sections 3.2 and 3.3)."""

import pickle
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Failed, LimitExceeded, Limits, RemoteProtocolError, Signal
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.model.command_ids import ReceiveState, SendState
from amqp_sansio.amqp_0_10.model.execution import RESOURCE_LIMIT_EXCEEDED
from amqp_sansio.amqp_0_10.model.open_ids import OpenIds
from amqp_sansio.amqp_0_10.model.transfers import EACH, FREE
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, server_config
from tests.kit.octets_0_10 import accept, acquire, command, completed, confirmed, flow, reject, release
from tests.kit.pair import structure
from tests.kit.steps import assert_linear, count_steps
from tests.kit.talk_0_10 import Talk010, frames, transfer
from tests.kit.talk_0_10 import completed as completes


class Ends:
    """Both ends of one direction, and what lies between them: commands one way, controls the other."""

    def __init__(self, first_id: int, count: int) -> None:
        self.sender: SendState[int] = SendState(next_id=first_id)
        self.receiver = ReceiveState()
        self.count = count
        self.sent = 0
        self.done: list[int] = []
        self.forth: deque[tuple[str, Any]] = deque()
        self.back: deque[tuple[str, Any]] = deque()
        self.attach()

    def attach(self) -> None:
        """A new attachment: the receiver tells what it has, the sender goes on from there."""
        self.forth.clear()
        self.back.clear()
        self.receiver.detached()
        self.sender, self.receiver = pickle.loads(pickle.dumps((self.sender, self.receiver)))
        expected, completed = self.receiver.expected, self.receiver.completed
        # As session.flush asks for it: expected, confirmed and completed.
        self.sender.told_completed(completed)
        again = self.sender.to_replay(expected)
        start = again[0][0] if again else self.sender.next_id
        self.forth.append(("point", start))
        self.forth += [("command", command) for _, command in again]
        self.forth.append(("known", self.sender.completed))

    def step(self, what: int) -> None:
        """One of the things that can happen."""
        if what == 0 and self.sent < self.count:
            self.sender.send(self.sent)
            self.forth.append(("command", self.sent))
            self.sent += 1
        elif what == 1 and self.forth:
            self.deliver(*self.forth.popleft())
        elif what == 2 and self.back:
            self.sender.told_completed(self.back.popleft()[1])
            self.forth.append(("known", self.sender.completed))
        elif what == 3:
            self.back.append(("completed", self.receiver.completed))
        elif what == 4:
            self.attach()
        self.sender.check()
        self.receiver.check()

    def deliver(self, kind: str, value: Any) -> None:
        if kind == "point":
            assert self.receiver.command_point(value)
        elif kind == "known":
            self.receiver.known_completed(value)
        else:
            number, new = self.receiver.arrive()
            if new:
                self.done.append(value)
                self.receiver.complete(number)


@pytest.mark.rule("0-10/session/exactly-once", "0-10/session.completed/implies-confirmed")
@pytest.mark.rule("0-10/session.expected/next-command")
@given(steps=st.lists(st.integers(0, 4), max_size=200), first_id=st.sampled_from([0, 7, 0xFFFF_FFFE, 0xFFFF_FFFF]))
def test_every_command_is_executed_once_and_in_order(steps: list[int], first_id: int) -> None:
    ends = Ends(first_id, 30)
    for what in steps:
        ends.step(what)
    while ends.sent < ends.count:
        ends.step(0)
    for _ in range(3):
        while ends.forth or ends.back:
            ends.step(1)
            ends.step(2)
        ends.step(3)
    assert ends.done == list(range(ends.count))
    assert not ends.sender.replay


@given(
    steps=st.lists(st.tuples(st.sampled_from(["arrive", "gap", "point", "loss"]), st.integers(0, 5)), max_size=12),
    first_id=st.sampled_from([0, 7, 0xFFFF_FFFE, 0xFFFF_FFFF]),
)
def test_the_next_command_is_the_one_that_arrives_with_nothing_ahead_of_it(
    steps: list[tuple[str, int]], first_id: int
) -> None:
    """What is said of it in one step is what `arrive` does."""
    receiver = ReceiveState()
    receiver.command_point(first_id)
    for what, value in steps:
        next_id = receiver.next_id
        assert next_id is not None
        if what == "gap":
            receiver.gap(amqp.SequenceSet([((next_id + value) & MASK, (next_id + value) & MASK)]))
        elif what == "point":
            receiver.command_point((next_id - value) & MASK)
        elif what == "loss":
            receiver.detached()
        elif receiver.point is not None:
            receiver.arrive()
        for number in ((next_id + each) & MASK for each in range(-6, 7)):
            stepped, taken = [pickle.loads(pickle.dumps(receiver)) for _ in range(2)]
            fits = receiver.point is not None and stepped.arrive() == (number, True) and not receiver.ahead
            assert taken.take_next(number) is fits
            assert structure(taken) == structure(stepped if fits else receiver)


@given(
    done=st.sets(st.integers(0, 9)),
    gap=st.lists(st.tuples(st.integers(-9, 12), st.integers(0, 6)), max_size=3),
    first_id=st.sampled_from([0, 7, 0xFFFF_FFFE, 0xFFFF_FFFF]),
)
def test_what_a_gap_names_is_received_and_completed_once_all_before_it_is(
    done: set[int], gap: list[tuple[int, int]], first_id: int
) -> None:
    """What has come already is completed at once, be it executed or not; ten commands have come."""
    receiver = ReceiveState()
    receiver.command_point(first_id)
    for place in range(10):
        number, _ = receiver.arrive()
        if place in done:
            receiver.complete(number)
    ranges = [((first_id + lower) & MASK, (first_id + lower + more) & MASK) for lower, more in gap]
    receiver.gap(amqp.SequenceSet(ranges))
    named = {lower + place for lower, more in gap for place in range(more + 1)}
    come = 10
    while come in named:
        come += 1
    # A range that is behind all that is known of is over as well.
    passed = done | {place for place in named if place < come}
    assert {(place + first_id) & MASK for place in passed} == {*receiver.completed}
    assert {*receiver.known.set} >= {(place + first_id) & MASK for place in range(come)}
    assert receiver.next_id == (first_id + come) & MASK
    receiver.check()


def test_what_is_kept_for_a_replay_is_bounded() -> None:
    state: SendState[str] = SendState(limit=2)
    state.send("a")
    state.send("b")
    with pytest.raises(LimitExceeded, match="2 commands wait"):
        state.send("c")
    state.confirmed(amqp.SequenceSet.of(0))
    assert state.send("c") == 2


# OpenIds against a plain dict, and what a set of ids costs that names nothing (0-10 part 1 section 3.2).


MASK = 0xFFFF_FFFF
STEPS = st.one_of(
    st.tuples(st.just("set"), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.integers(0, 30)),
    st.tuples(st.just("put back"), st.integers(0, 30)),
    st.tuples(st.just("add"), st.integers(0, 30)),
    st.tuples(st.just("named"), st.integers(-40, 40)),
    st.tuples(st.just("oldest"), st.integers(0, 30)),
)


@given(
    first=st.sampled_from([0, 5, MASK - 10, 1 << 31, (1 << 31) - 8]),
    steps=st.lists(STEPS, max_size=40),
    width=st.sampled_from([0, 3, 64, 90, (1 << 31) - 1]),
)
def test_open_ids_are_a_dict_that_knows_its_order(first: int, steps: list[tuple[str, int]], width: int) -> None:
    ids: OpenIds[int] = OpenIds()
    number = first
    gone: list[int] = []
    for what, value in steps:
        if what == "set":
            number = (number + 1 + value) & MASK
            ids[number] = value
        elif what == "delete" and ids:
            found = [*ids][value % len(ids)]
            del ids[found]
            gone.append(found)
        elif what == "put back":
            ids.put_back({each: value for each in gone[value % 5 :]})
            gone = gone[: value % 5]
        elif what == "add":
            ids.add((number - value) & MASK, value)
        elif what == "oldest":
            there = sorted(ids.items(), key=lambda item: (item[0] - number + (1 << 30)) & MASK)
            assert ids.pop_oldest(value) == [each for _, each in there[:value]]
            assert ids == dict(there[value:])
        else:
            lower = (number + value) & MASK
            other = (number - value) & MASK
            wanted = amqp.SequenceSet([(lower, (lower + width) & MASK), (other, other)])
            inside = [each for each in ids if each in wanted]
            assert ids.named(wanted) == sorted(inside, key=lambda each: (each - number + (1 << 30)) & MASK)
    wide = amqp.SequenceSet([((number - 200) & MASK, (number + 200) & MASK)])
    assert sorted(pickle.loads(pickle.dumps(ids)).named(wide)) == sorted(ids)


@pytest.mark.parametrize("width", range(2, 6))
def test_what_is_named_comes_in_its_order_however_few_it_is(width: int) -> None:
    """Also where the numbers wrap around."""
    for first in (0, 5, *range(MASK - 6, MASK + 1)):
        places = [(first + 2 * place) & MASK for place in range(width)]
        ids: OpenIds[None] = OpenIds()
        ids.update(dict.fromkeys(places))
        for order in (places, places[::-1]):
            assert ids.named(amqp.SequenceSet([(each, each) for each in order])) == places


def holding(count: int) -> OpenIds[None]:
    """Ids with a hole as wide as they are many, of which the order is known."""
    ids: OpenIds[None] = OpenIds()
    ids.update(dict.fromkeys([*range(count), *range(2 * count, 3 * count)]))
    ids.named(amqp.SequenceSet([(0, MASK >> 1)]))
    return ids


def test_what_a_set_names_in_vain_costs_no_step_for_what_is_open() -> None:
    ids = holding(1000)
    for ranges in ([(1000, 1999)], [(3000, MASK >> 1)], [(1 << 31, MASK)], [(1000, 1499), (1500, 1999)]):
        assert count_steps(partial(ids.named, amqp.SequenceSet(ranges))) < 150


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_an_id_behind_all_others_costs_the_same_however_many_are_open(count: int) -> None:
    ids: OpenIds[None] = OpenIds()
    ids.update(dict.fromkeys(range(count)))
    assert max(count_steps(partial(ids.add, count + number, None)) for number in range(3)) <= 10


def test_what_is_gone_is_passed_once() -> None:
    ids = holding(1000)
    for number in range(1000):
        del ids[number]
    wanted = amqp.SequenceSet([(0, 1999)])
    assert ids.named(wanted) == []
    assert count_steps(lambda: ids.named(wanted)) < 150


def test_what_is_gone_is_not_kept_for_ever() -> None:
    """One id is open at a time, and wide sets come all the time."""

    def run(count: int) -> Callable[[], object]:
        ids: OpenIds[None] = OpenIds()

        def work() -> None:
            for number in range(count):
                ids[number] = None
                ids.named(amqp.SequenceSet([(1 << 30, 1 << 31)]))
                del ids[number]
            assert len(pickle.dumps(ids)) < 1000

        return work

    assert_linear(run, 1000)


def test_a_set_of_scattered_ids_costs_a_step_for_each() -> None:
    assert_linear(lambda count: lambda: amqp.SequenceSet.of(*range(0, 2 * count, 2)), 1000)


# A command costs what it does: ids that nobody holds, or that are settled, can be named again and again for nothing.


SIZE = 300
SELECT, ROLLBACK = command(spec.TxSelect.CODE), command(spec.TxRollback.CODE)
Make = Callable[[int], Callable[[], object]]


def feed(facing: Facing, *pieces: bytes) -> list[Any]:
    """Let octets arrive, and complete each command; the other events."""
    end = facing.end
    found: list[Any] = []
    for octets in pieces:
        end.receive_data(octets, 0.0)
        while not isinstance(event := end.next_event(), Signal):
            if isinstance(event, amqp.CommandReceived):
                result = spec.Acquired(amqp.SequenceSet()) if isinstance(event.command, spec.MessageAcquire) else None
                facing.session.complete(event.command_id, result)
            else:
                found.append(event)
        end.data_to_send(0.0)
    return found


def serving(size: int, *, acquire_mode: int = 0) -> Facing:
    """A server with transfers that wait for a word; in their middle as many are settled."""
    facing = Facing.subscribed(SERVER, server_config(lenient_accepts=False))
    feed(facing, flow("d", 0, None) + flow("d", 1, None))
    for _ in range(3 * size):
        facing.session.transfer("d", b"x", acquire_mode=acquire_mode)
    feed(facing, release((size, 2 * size - 1)), release((size, 2 * size - 1)))
    return facing


def publishing(size: int) -> Facing:
    """A client with publishes that wait for a word; in their middle as many are completed."""
    facing = Facing.attached(CLIENT)
    for _ in range(3 * size):
        facing.session.transfer("", b"x")
    feed(facing, completed((size, 2 * size - 1)), completed((size, 2 * size - 1)))
    return facing


def again(make: Callable[[int], Facing], octets: Callable[[int], bytes]) -> Make:
    """The same frame comes again and again."""

    def work(size: int) -> Callable[[], object]:
        facing, pieces = make(size), [octets(size)] * (size // 5)
        assert max(map(len, pieces)) < 60

        def run() -> None:
            assert not [each for each in feed(facing, *pieces) if isinstance(each, Failed)]

        return run

    return work


def hole(size: int) -> tuple[int, int]:
    """The ids of the middle."""
    return size, 2 * size - 1


@pytest.mark.parametrize("say", [accept, reject, release])
@pytest.mark.parametrize("make", [serving, publishing])
def test_words_about_what_is_settled(make: Callable[[int], Facing], say: Callable[..., bytes]) -> None:
    assert_linear(again(make, lambda size: say(hole(size))), SIZE)


@pytest.mark.parametrize("say", [completed, confirmed])
@pytest.mark.parametrize("make", [serving, publishing])
def test_controls_that_tell_nothing_new(make: Callable[[int], Facing], say: Callable[..., bytes]) -> None:
    assert_linear(again(make, lambda size: say(hole(size))), SIZE)


def test_completions_that_come_and_go() -> None:
    """A peer may take back what it has told completed, and tell it anew."""

    def work(size: int) -> Callable[[], object]:
        facing = publishing(size)
        pieces = [completed(hole(size)), completed((size, size))] * (size // 10)
        return lambda: feed(facing, *pieces)

    assert_linear(work, SIZE)


@pytest.mark.parametrize("names", [accept, release])
def test_a_command_with_overlapping_ranges(names: Callable[..., bytes]) -> None:
    """Each range names all."""

    def work(size: int) -> Callable[[], object]:
        facing = serving(size)
        return lambda: feed(facing, names(*[(0, 3 * size - 1 - n) for n in range(size // 2)]))

    assert_linear(work, SIZE)


def test_acquiring_what_is_settled() -> None:
    assert_linear(again(serving, lambda size: acquire(hole(size))), SIZE)


# What a command names without settling it.


def limited(facing: Facing, *pieces: bytes) -> int:
    """How many frames come until the session ends for want of what pays for them."""
    for place, octets in enumerate(pieces):
        for event in feed(facing, octets):
            if isinstance(event, Failed):
                assert isinstance(event.error, RemoteProtocolError)
                assert event.error.code == RESOURCE_LIMIT_EXCEEDED
                return place
    return len(pieces)


@pytest.mark.parametrize("say", [acquire, reject])
def test_acquiring_in_vain_and_rejecting_what_is_not_acquired_is_bounded(say: Callable[..., bytes]) -> None:
    """Such a reject is ignored (rule message.reject/acquisition)."""
    facing = serving(SIZE, acquire_mode=amqp.spec.NOT_ACQUIRED)
    assert limited(facing, *[say((0, 3 * SIZE - 1))] * 40) == EACH


def test_accepting_and_rolling_back_is_bounded() -> None:
    facing = serving(SIZE)
    feed(facing, SELECT)
    assert limited(facing, *[accept((0, 3 * SIZE - 1)), ROLLBACK] * 40) == 2 * EACH


def test_rolling_back_a_little_costs_a_little_whatever_is_held() -> None:
    def work(size: int) -> Callable[[], object]:
        facing = serving(size)
        feed(facing, SELECT)
        return lambda: feed(facing, *[accept(5), ROLLBACK] * (size // 10))

    assert_linear(work, SIZE)


def test_a_few_at_a_time_are_free() -> None:
    facing = serving(FREE // 2)
    feed(facing, SELECT)
    assert limited(facing, *[accept((0, 3 * FREE // 2 - 1)), ROLLBACK] * 40) == 80


def test_what_is_settled_is_paid_for() -> None:
    """However often it was rolled back before."""
    facing = serving(SIZE, acquire_mode=amqp.spec.NOT_ACQUIRED)
    assert limited(facing, *[acquire((0, 3 * SIZE - 1))] * EACH, release((0, 3 * SIZE - 1))) == EACH + 1
    assert not [each for each in facing.session.pending if each.key[-1] == "outcome"]


# Observers.


def watching(size: int, acquire_mode: int = 0, *, twice: bool = True) -> Talk010:
    talk = Talk010(limits=Limits(calls=10_000), twice=twice).open().session().subscribe()
    talk.server(*[transfer("d", acquire_mode=acquire_mode) for _ in range(3 * size)])
    return talk.client(spec.MessageRelease(amqp.SequenceSet([hole(size)])))


@pytest.mark.parametrize("name", ["accept", "reject", "release", "acquire", "completed", "confirmed"])
def test_what_an_observer_hears_again_and_again(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        talk, ids = watching(size), amqp.SequenceSet([hole(size)])
        said: Any = {
            "accept": spec.MessageAccept(ids),
            "reject": spec.MessageReject(ids),
            "release": spec.MessageRelease(ids),
            "acquire": spec.MessageAcquire(ids),
            "completed": completes(*ids),
            "confirmed": spec.SessionConfirmed(ids),
        }[name]
        octets = frames(said)

        def run() -> None:
            for _ in range(size // 5):
                talk.observer.receive_data(octets, "client", 1)
                while not isinstance(talk.observer.next_event(), Signal):
                    pass

        return run

    assert_linear(work, SIZE)


@pytest.mark.parametrize("name", ["acquire", "reject"])
def test_an_observer_loses_sight_of_what_an_endpoint_refuses(name: str) -> None:
    """It judges nothing of which it can't know."""
    talk, ids = watching(SIZE, amqp.spec.NOT_ACQUIRED, twice=False), amqp.SequenceSet([(0, 3 * SIZE - 1)])
    said: Any = spec.MessageAcquire(ids) if name == "acquire" else spec.MessageReject(ids)
    octets = frames(said)
    steps = count_steps(lambda: talk.client(*[octets] * 200))
    assert steps < 200 * 3 * SIZE * 2


def test_an_observer_of_accepts_that_are_rolled_back_again_and_again() -> None:
    """Neither its model nor its history goes on for ever."""
    talk, number = watching(SIZE).client(spec.TxSelect()), 2

    def roll_back(times: int) -> None:
        nonlocal number
        for _ in range(times):
            talk.client(spec.MessageAccept(amqp.SequenceSet([(0, 3 * SIZE - 1)])), spec.TxRollback())
            number += 2
            talk.server(completes(number))

    first = count_steps(lambda: roll_back(20))
    assert count_steps(lambda: roll_back(20)) < first / 4
    assert len(talk.messages) == 3 * SIZE
