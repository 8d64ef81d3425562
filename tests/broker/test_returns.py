"""`Returns` forgets what has left, and answers as one that forgets nothing."""

from __future__ import annotations

from random import Random

import pytest

from amqp_sansio.broker.model.returns import Returns
from amqp_sansio.broker.model.states import State

MOST_STALE = 64
"""Returns that may be kept beyond twice as many as are in the queue."""


class Place:
    """A message in one of two levels of a queue."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.priority = position % 2
        self.state = State.AVAILABLE


class All:
    """Every return there ever was, looked at one by one."""

    def __init__(self) -> None:
        self.found: list[tuple[int, Place]] = []

    def live(self, learned: int) -> list[tuple[int, Place]]:
        """The last returns after `learned` of those that are there."""
        last = {place: number for number, place in self.found}
        there = [each for each in self.found if each[1].state is State.AVAILABLE]
        return [each for each in there if each[0] > learned and last[each[1]] == each[0]]

    def lowest(self, level: int, learned: int, *, live: bool) -> int | None:
        found = self.live(learned) if live else [each for each in self.found if each[0] > learned]
        return min((place.position for _, place in found if place.priority == level), default=None)

    def learn(self, learned: int, passed: dict[int, int], declined: dict[Place, int]) -> int:
        for number, place in self.live(learned):
            if place.position <= passed.get(place.priority, -1):
                if declined.get(place) != number:
                    return learned
                del declined[place]
            learned = number
        return learned


@pytest.mark.parametrize("seed", range(8))
def test_what_is_forgotten_is_not_missed(seed: int) -> None:
    random = Random(seed)
    returns, every = Returns[Place](), All()
    there = [Place(each) for each in range(8)]
    learned = {0: 0, 1: 0}
    for step in range(300):
        place = random.choice(there)
        if not step % 10:
            place.state = State.ACQUIRED  # It has left for good, and another one comes.
            there[there.index(place)] = Place(8 + step)
            continue
        returns.add(place, len(there))
        every.found.append((returns.last, place))
        assert len(returns._returned) <= 2 * len(there) + MOST_STALE  # pyright: ignore[reportPrivateUsage]
        for number, each in every.live(0):
            assert returns.number_of(each) == number
        asked = random.randrange(returns.last + 1)
        for level in (0, 1):
            low, high = (every.lowest(level, asked, live=live) for live in (False, True))
            found = returns.lowest(level, asked)
            # One that has left may count; none that is there may be missed.
            assert found is not None or high is None
            assert found is None or (low is not None and low <= found <= (found if high is None else high))
        if random.random() < 0.2:
            passed = {level: random.randrange(8 + step) for level in (0, 1)}
            declined = {each: number for number, each in every.live(0) if random.random() < 0.9}
            naive = dict(declined)
            learned[0] = returns.learn(learned[0], passed, declined)
            learned[1] = every.learn(learned[1], passed, naive)
            assert every.live(learned[0]) == every.live(learned[1])
            assert declined == naive
