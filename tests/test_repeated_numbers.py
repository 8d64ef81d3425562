"""The fast paths take tags, ids, handles and names that repeat, wrap or lie below what is settled as the rest does."""

from contextlib import ExitStack
from random import Random
from typing import Final

import pytest

from amqp_sansio._classic.observer.lane import ObserverLane as ClassicLane
from amqp_sansio.amqp_1_0.observer.lane import ObserverLane
from tests.kit.repeats import PLAYS
from tests.test_fast_paths import ROWS, counted, room_of, without

RUNS: Final = 30
FULL: Final = 120
"""How many conversations of a room are compared: in the usual run, and in `tests/system`."""
LANES: Final = (ClassicLane, ObserverLane)
"""Fast paths of a replay of events alone: tests/tables/test_lane.py compares their rows over such traffic."""


@pytest.mark.parametrize("room", PLAYS)
def test_a_number_that_comes_again_is_the_same_both_ways(room: str, at_large: bool) -> None:
    play = PLAYS[room]
    rows = {name: entry for name, entry in ROWS.items() if room_of(entry) == room and entry.owner not in LANES}
    taken: dict[str, list[object]] = {name: [] for name in rows}
    for seed in range(FULL if at_large else RUNS):
        with ExitStack() as stack:
            for name, entry in rows.items():
                stack.enter_context(counted(entry, taken[name]))
            fast = play(Random(seed))
        with ExitStack() as stack:
            for entry in rows.values():
                stack.enter_context(without(entry))
            assert play(Random(seed)) == fast, seed
    assert {name for name, found in taken.items() if not found} == set()
