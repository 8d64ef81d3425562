"""Shrinking: from a failing schedule to a shorter one, whose run ends with a finding of the same kind.

A schedule names places, and each step that is dropped moves all places behind it. So what a run did is read as what it
means: its faults, with what they are done to and the moment at which they happen, and its other steps off the plain
course by the step of the world. A fault's moment is tried by the lines that were told last, by their number, by the
time and by the step: in a run without the other steps one of them is usually right. Faults are dropped first, then the
other steps, in blocks that become smaller, and at last one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from .choices import Choices, Schedule

if TYPE_CHECKING:
    from .world import World

Fails: TypeAlias = Callable[[Choices], bool]
"""Runs the scene with a source of choices; returns whether the run ends with a finding of the kind that is wanted."""


class Moment(NamedTuple):
    """When a fault happens: a time after each of the last `lines`, the last one first, so many steps behind that one,
    behind so many lines in all, at a time, at a step of the world."""

    lines: tuple[tuple[str, float], ...]
    since: int
    noted: int
    now: float
    step: int

    def is_reached(self, world: World, way: str, begun: int) -> bool:
        """Whether another run has come to it, by one of `WAYS`; lines before the step `begun` don't count."""
        if way == "noted":
            return world.noted >= self.noted
        if way == "now":
            return world.now >= self.now
        if way == "step":
            return world.steps >= self.step
        place = 0 if way == "since" else LINES.index(way)
        if place >= len(self.lines):
            return False
        text, seconds = self.lines[place]
        last = next((each for each in reversed(world.told) if each.text == text and each.step >= begun), None)
        if last is None or (way == "since" and world.steps < last.step + self.since):
            return False
        return world.now >= last.now + seconds


class Mishap(NamedTuple):
    """A fault of a run: what it is, which of the same name it is, its moment, and what it picked: a span, a way."""

    label: str
    place: int
    moment: Moment
    picks: tuple[int, ...] = ()


class Detour(NamedTuple):
    """A step off the plain course: the number `pick` at the choice number `place` of a step of the world."""

    step: int
    place: int
    pick: int


class Course(NamedTuple):
    """What a schedule means."""

    mishaps: tuple[Mishap, ...]
    detours: tuple[Detour, ...] = ()


LINES: Final = ("last line", "line before it", "third last line", "fourth last line")
WAYS: Final = (*LINES, "since", "noted", "now", "step")
SOME_WAYS: Final = (*LINES[:2], "now", "step")
"""Those of which each of few faults may have another."""
Ways: TypeAlias = tuple[str, ...]
FEW: Final = 3
"""Faults that are tried alone."""


class Reading:
    """Picks as another source does, and reads what that means: its `course`."""

    def __init__(self, source: Choices) -> None:
        self.schedule = Schedule()
        self.world: World | None = None
        self._source = source
        self._place = 0
        self._step = -1
        self._in_step = 0
        self._mishaps: list[Mishap] = []
        self._detours: list[Detour] = []

    @property
    def course(self) -> Course:
        return Course(tuple(self._mishaps), tuple(self._detours))

    def attend(self, world: World) -> None:
        """Note whose choices they are."""
        self.world = world
        attend = getattr(self._source, "attend", None)
        if attend is not None:
            attend(world)

    def pick(self, count: int, odds: int = 0) -> int:
        world = self.world
        assert world is not None
        picked = self._source.pick(count, odds)
        if picked:
            self.schedule.deviations[self._place] = picked
        self._place += 1
        if odds:
            if picked:
                names = world.possible()
                label = names[picked - 1]
                self._mishaps.append(Mishap(label, names[: picked - 1].count(label), moment_of(world)))
        elif world.is_going_wrong:
            last = self._mishaps[-1]
            self._mishaps[-1] = last._replace(picks=(*last.picks, picked))
        else:
            if world.steps != self._step:
                self._step = world.steps
                self._in_step = 0
            if picked:
                self._detours.append(Detour(self._step, self._in_step, picked))
            self._in_step += 1
        return picked


class Steered:
    """Picks what a course means, in a run that may go otherwise; `ways` are the fields of their moments that count."""

    def __init__(self, course: Course, ways: Ways) -> None:
        self._mishaps = list(reversed([*zip(course.mishaps, ways, strict=True)]))
        self._detours = {(each.step, each.place): each.pick for each in course.detours}
        self._picks: list[int] = []
        self._begun = 0
        self._step = -1
        self._in_step = 0
        self._world: World | None = None

    def attend(self, world: World) -> None:
        """Note whose choices they are."""
        self._world = world

    def pick(self, count: int, odds: int = 0) -> int:
        world = self._world
        assert world is not None
        if odds:
            return self._next_mishap(world)
        if world.is_going_wrong:
            return min(self._picks.pop(0), count - 1) if self._picks else 0
        if world.steps != self._step:
            self._step = world.steps
            self._in_step = 0
        picked = self._detours.get((self._step, self._in_step), 0)
        self._in_step += 1
        return min(picked, count - 1)

    def _next_mishap(self, world: World) -> int:
        if not self._mishaps:
            return 0
        mishap, way = self._mishaps[-1]
        if not mishap.moment.is_reached(world, way, self._begun):
            return 0
        numbers = [number for number, label in enumerate(world.possible(), 1) if label == mishap.label]
        if not numbers:
            # What it is done to isn't there yet.
            return 0
        self._mishaps.pop()
        self._begun = world.steps
        self._picks = list(mishap.picks)
        return numbers[min(mishap.place, len(numbers) - 1)]


def moment_of(world: World) -> Moment:
    """Return the moment of a world."""
    told = list(reversed(world.told))[: len(LINES)]
    lines = tuple([(each.text, world.now - each.now) for each in told])
    return Moment(lines, world.steps - told[0].step if told else 0, world.noted, world.now, world.steps)


class Shrinker:
    """Makes a failing schedule shorter, in at most so many runs. `fails` runs the scene, and judges."""

    def __init__(self, fails: Fails, most_runs: int) -> None:
        self._fails = fails
        self._left = most_runs
        self._tried: set[tuple[Course, Ways]] = set()
        self.schedule = Schedule()
        self._course = Course(())

    def shorten(self, schedule: Schedule) -> Schedule:
        """Return a schedule with fewer faults, and then fewer steps off the plain course."""
        self.schedule = schedule
        reading = Reading(Schedule(schedule.deviations))
        self._left -= 1
        if not self._fails(reading):
            return schedule
        self._keep(reading)
        while self._left > 0:
            before = self._size
            self._drop_all_detours()
            self._drop_faults()
            self._drop_detours()
            self._drop_places()
            self._take_plain_picks()
            if self._size >= before:
                self._take_few()
            if self._size >= before:
                break
        return self.schedule

    @property
    def _size(self) -> tuple[int, int]:
        return len(self._course.mishaps), len(self.schedule.deviations)

    def _drop_all_detours(self) -> None:
        if self._course.detours:
            self._try(Course(self._course.mishaps))

    def _drop_faults(self) -> None:
        at = len(self._course.mishaps) - 1
        while at >= 0 and self._left > 0:
            mishaps = self._course.mishaps
            rest = mishaps[:at] + mishaps[at + 1 :]
            if not (self._course.detours and self._try(Course(rest))):
                self._try(Course(rest, self._course.detours))
            at = min(at, len(self._course.mishaps)) - 1

    def _drop_detours(self) -> None:
        """Drop them in blocks of half their number, then a quarter, and at last one by one."""
        size = max(1, len(self._course.detours) // 2)
        while self._course.detours and self._left > 0:
            at = 0
            is_shorter = False
            while at < len(self._course.detours) and self._left > 0:
                mishaps, detours = self._course
                if self._try(Course(mishaps, detours[:at] + detours[at + size :])):
                    is_shorter = True
                else:
                    at += size
            if size == 1 and not is_shorter:
                break
            size = max(1, size // 2)

    def _drop_places(self) -> None:
        """Drop places of the schedule itself, one by one: here what follows keeps its places, not its meaning."""
        for place in sorted(self.schedule.deviations, reverse=True):
            if self._left <= 0:
                return
            if len(self.schedule.deviations) <= len(self._course.mishaps):
                return
            deviations = {key: pick for key, pick in self.schedule.deviations.items() if key != place}
            self._run(Schedule(deviations))

    def _take_plain_picks(self) -> None:
        """Give each fault the first of its spans and ways."""
        for at, mishap in enumerate(self._course.mishaps):
            if at < len(self._course.mishaps) and any(mishap.picks) and self._left > 0:
                mishaps = list(self._course.mishaps)
                mishaps[at] = mishaps[at]._replace(picks=())
                self._try(Course(tuple(mishaps), self._course.detours))

    def _take_few(self) -> None:
        """Try one, two and three of the faults alone, each fault by a kind of moment of its own."""
        for size in range(1, min(FEW, len(self._course.mishaps)) + 1):
            for mishaps in combinations(self._course.mishaps, size):
                course = Course(mishaps)
                if any(self._try_ways(course, ways) for ways in product(SOME_WAYS, repeat=size)):
                    return

    def _try(self, course: Course) -> bool:
        """Run a course, its faults by each kind of moment, until it fails in a shorter way; return whether it did."""
        return any(self._try_ways(course, (way,) * len(course.mishaps)) for way in WAYS)

    def _try_ways(self, course: Course, ways: Ways) -> bool:
        if (course, ways) in self._tried or self._left <= 0:
            return False
        self._tried.add((course, ways))
        return self._run(Steered(course, ways))

    def _run(self, source: Choices) -> bool:
        """Run it, and keep what it did if it fails in a shorter way."""
        reading = Reading(source)
        self._left -= 1
        if not self._fails(reading):
            return False
        size = len(reading.course.mishaps), len(reading.schedule.deviations)
        if size >= self._size:
            return False
        self._keep(reading)
        return True

    def _keep(self, reading: Reading) -> None:
        self.schedule = reading.schedule
        self._course = reading.course


__all__ = ["Course", "Detour", "Fails", "Mishap", "Moment", "Reading", "Shrinker", "Steered"]
