"""Choices: the one source of everything that a simulated run decides.

A run asks for a number at each place where it could go on in several ways; 0 is always the plain course. `Seeded` gives
long runs, `Schedule` repeats a run or steers one by hand, and `amqp_sansio.testing.stateful.Drawn` asks Hypothesis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

_BITS: Final = (1 << 64) - 1


class Choices(Protocol):
    """Decides between the ways in which a run can go on."""

    def pick(self, count: int, odds: int = 0) -> int:
        """Return a number from 0 to `count` - 1, where 0 is the plain course.

        With `odds` the others are rare: a source of random numbers takes one of them once in `odds` times.
        """
        ...


class Seeded:
    """Numbers that follow from a seed, the same on every machine and in every release of Python (SplitMix64).

    >>> one, two = Seeded(7), Seeded(7)
    >>> [one.pick(6) for _ in range(5)] == [two.pick(6) for _ in range(5)]
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._state = seed & _BITS

    def pick(self, count: int, odds: int = 0) -> int:
        if count < 2:
            return 0
        if not odds:
            return self._next() % count
        return 0 if self._next() % odds else 1 + self._next() % (count - 1)

    def _next(self) -> int:
        found = (self._state + 0x9E3779B97F4A7C15) & _BITS
        self._state = found
        found = ((found ^ (found >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        found = ((found ^ (found >> 27)) * 0x94D049BB133111EB) & _BITS
        return found ^ (found >> 31)

    def __repr__(self) -> str:
        return f"Seeded({self.seed})"


class Schedule:
    """The places at which a run leaves the plain course, each with the number picked there; everywhere else it is 0.

    `counts` has the number of ways at each place that the run has come to. As a text a schedule is "place:pick,...".

    >>> Schedule.parse("3:1,17:2").deviations
    {3: 1, 17: 2}
    >>> str(Schedule({3: 1, 17: 2}))
    '3:1,17:2'
    """

    def __init__(self, deviations: Mapping[int, int] | None = None) -> None:
        self.deviations = dict(deviations or {})
        self.counts: list[int] = []

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule's text; hazards that it names behind a semicolon aren't part of it. Raises ValueError."""
        pairs = [each.partition(":") for each in text.partition(";")[0].split(",") if each]
        return cls({int(place): int(pick) for place, _, pick in pairs})

    def pick(self, count: int, odds: int = 0) -> int:
        place = len(self.counts)
        self.counts.append(count)
        return min(self.deviations.get(place, 0), count - 1)

    def __str__(self) -> str:
        return ",".join(f"{place}:{pick}" for place, pick in sorted(self.deviations.items()))

    def __repr__(self) -> str:
        return f"Schedule({self.deviations})"


class Recorded:
    """Another source, and what it picked: `schedule` repeats it."""

    def __init__(self, source: Choices) -> None:
        self._source = source
        self._place = 0
        self.schedule = Schedule()

    def pick(self, count: int, odds: int = 0) -> int:
        picked = self._source.pick(count, odds)
        if picked:
            self.schedule.deviations[self._place] = picked
        self._place += 1
        return picked
