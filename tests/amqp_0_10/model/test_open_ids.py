"""OpenIds against a plain dict, and what a set of ids costs that names nothing (0-10 part 1 section 3.2)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.amqp_0_10 import SequenceSet
from amqp_sansio.amqp_0_10.model.open_ids import OpenIds
from tests.kit.steps import assert_linear, count_steps

MASK = 0xFFFF_FFFF
STEPS = st.one_of(
    st.tuples(st.just("set"), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.integers(0, 30)),
    st.tuples(st.just("put back"), st.integers(0, 30)),
    st.tuples(st.just("add"), st.integers(0, 30)),
    st.tuples(st.just("named"), st.integers(-40, 40)),
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
        else:
            lower = (number + value) & MASK
            wanted = SequenceSet([(lower, (lower + width) & MASK), (lower, lower)])
            inside = [each for each in ids if each in wanted]
            assert ids.named(wanted) == sorted(inside, key=lambda each: (each - number + (1 << 30)) & MASK)
    wide = SequenceSet([((number - 200) & MASK, (number + 200) & MASK)])
    assert sorted(pickle.loads(pickle.dumps(ids)).named(wide)) == sorted(ids)


def holding(count: int) -> OpenIds[None]:
    """Ids with a hole as wide as they are many, of which the order is known."""
    ids: OpenIds[None] = OpenIds()
    ids.update(dict.fromkeys([*range(count), *range(2 * count, 3 * count)]))
    ids.named(SequenceSet([(0, MASK >> 1)]))
    return ids


def test_what_a_set_names_in_vain_costs_no_step_for_what_is_open() -> None:
    ids = holding(1000)
    for ranges in ([(1000, 1999)], [(3000, MASK >> 1)], [(1 << 31, MASK)], [(1000, 1499), (1500, 1999)]):
        assert count_steps(partial(ids.named, SequenceSet(ranges))) < 150


def test_what_is_gone_is_passed_once() -> None:
    ids = holding(1000)
    for number in range(1000):
        del ids[number]
    wanted = SequenceSet([(0, 1999)])
    assert ids.named(wanted) == []
    assert count_steps(lambda: ids.named(wanted)) < 150


def test_what_is_gone_is_not_kept_for_ever() -> None:
    """One id is open at a time, and wide sets come all the time."""

    def run(count: int) -> Callable[[], object]:
        ids: OpenIds[None] = OpenIds()

        def work() -> None:
            for number in range(count):
                ids[number] = None
                ids.named(SequenceSet([(1 << 30, 1 << 31)]))
                del ids[number]
            assert len(pickle.dumps(ids)) < 1000

        return work

    assert_linear(run, 1000)


def test_a_set_of_scattered_ids_costs_a_step_for_each() -> None:
    assert_linear(lambda count: lambda: SequenceSet.of(*range(0, 2 * count, 2)), 1000)
