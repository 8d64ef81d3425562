"""explore: runs programs under every schedule of few faults, then under random ones; reports the shortest failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from .choices import Choices, Recorded, Schedule, Seeded
from .judging import Finding, Promise
from .world import PATIENCE, Hazards, World

Scene: TypeAlias = Callable[[World], object]
"""Sets up a new world: declares queues, starts programs."""
SHRINKING: Final = 400
"""Runs that may be spent on making a schedule shorter."""
USUAL: Final = Hazards()
RANDOM: Final = Hazards(most=5, pieces=True)


class Report(NamedTuple):
    """The result of `explore`; its text tells a person what went wrong, and how.

    `runs` were made; all schedules that leave the plain course at most `depth` times were among them. `findings` are
    those of the shortest failing schedule, `schedule` its text, which `replay` takes, and `trace` what happens in it.
    `seed` is the number that the failure was found with, if it was a random one.
    """

    runs: int
    depth: int
    findings: tuple[Finding, ...] = ()
    schedule: str = ""
    faults: tuple[str, ...] = ()
    trace: tuple[str, ...] = ()
    seed: int | None = None

    @property
    def ok(self) -> bool:
        """Whether no schedule failed."""
        return not self.findings

    def check(self) -> None:
        """Raise AssertionError with the report if a schedule failed."""
        if self.findings:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        if self.ok:
            return f"{self.runs} schedules, among them all with at most {_steps(self.depth)} off the plain course: ok"
        count = len(self.faults)
        lines = [f"failed in run {self.runs}, with {'no fault' if not count else f'{count} fault'}{'s'[: count > 1]}:"]
        lines += [f"  {each}" for each in self.findings]
        lines += ["this is how it goes, in seconds:", *[f"  {each}" for each in self.trace]]
        seed = "" if self.seed is None else f" (found with seed {self.seed})"
        lines += [f"again: replay(scene, {self.schedule!r}){seed}"]
        return "\n".join(lines)


def explore(
    scene: Scene,
    *,
    promise: Promise = Promise.AT_LEAST_ONCE,
    hazards: Hazards = USUAL,
    depth: int = 1,
    most_runs: int = 20_000,
    seeds: int = 100,
    random_hazards: Hazards = RANDOM,
    patience: float = PATIENCE,
) -> Report:
    """Run a scene under many schedules, until one breaks `promise`; return a report of the shortest such schedule.

    First come all schedules that leave the plain course `depth` times, those with fewer first, at most `most_runs`;
    then `seeds` random ones with the `random_hazards`, of which a failing one is made as short as it gets. `patience`
    is that of `World.run`.

    >>> def jobs(world: World) -> None:
    ...     world.declare("jobs", b"1")
    ...     async def consumer(process: Process) -> None:
    ...         async with process.connect() as connection, connection.open_channel() as channel:
    ...             async for delivery in channel.consume("jobs"):
    ...                 await delivery.accept()
    ...                 await process.sleep(1.0)
    ...                 world.worked(delivery.body)
    ...     world.start(consumer)
    >>> report = explore(jobs)
    >>> print(report.findings[0])
    lost: b'1' was accepted, and nobody worked on it
    """
    stage = _Stage(scene, promise, patience)
    for schedule in _schedules(depth):
        if stage.runs >= most_runs:
            depth = max(0, len(schedule.deviations) - 1)
            break
        if stage.fails(schedule, hazards):
            return stage.report(schedule, hazards, depth)
    for seed in range(seeds):
        recorded = Recorded(Seeded(seed))
        if stage.fails(recorded, random_hazards):
            return stage.report(stage.shortened(recorded.schedule, random_hazards), random_hazards, depth, seed)
    return Report(stage.runs, depth)


def replay(
    scene: Scene,
    schedule: str,
    *,
    promise: Promise = Promise.AT_LEAST_ONCE,
    hazards: Hazards = USUAL,
    patience: float = PATIENCE,
) -> Report:
    """Run a scene once under the schedule of a report, with the same hazards; return a report of that run."""
    stage = _Stage(scene, promise, patience)
    return stage.report(Schedule.parse(schedule), hazards, 0)


class _Stage:
    """Runs a scene again and again."""

    def __init__(self, scene: Scene, promise: Promise, patience: float) -> None:
        self._scene = scene
        self._promise = promise
        self._patience = patience
        self.runs = 0

    def play(self, choices: Choices, hazards: Hazards, trace: list[str] | None = None) -> tuple[World, list[Finding]]:
        """Run the scene once; return the world and its findings."""
        self.runs += 1
        world = World(choices, hazards, promise=self._promise)
        world.trace = trace
        self._scene(world)
        world.run(patience=self._patience)
        found = world.findings()
        world.close()
        return world, found

    def fails(self, choices: Choices, hazards: Hazards) -> bool:
        return bool(self.play(choices, hazards)[1])

    def shortened(self, schedule: Schedule, hazards: Hazards) -> Schedule:
        """Drop from a failing schedule what it fails without, in ever smaller parts."""
        budget = self.runs + SHRINKING
        kept = sorted(schedule.deviations.items())
        size = max(1, len(kept) // 2)
        while self.runs < budget:
            at, is_shorter = 0, False
            while at < len(kept) and self.runs < budget:
                tried = kept[:at] + kept[at + size :]
                if self.fails(Schedule(dict(tried)), hazards):
                    kept, is_shorter = tried, True
                else:
                    at += size
            if size == 1 and not is_shorter:
                break
            size = max(1, size // 2)
        return Schedule(dict(kept))

    def report(self, schedule: Schedule, hazards: Hazards, depth: int, seed: int | None = None) -> Report:
        """Run a schedule once more, with a trace."""
        runs, trace = self.runs, list[str]()
        world, found = self.play(Schedule(schedule.deviations), hazards, trace)
        return Report(runs, depth, tuple(found), str(schedule), tuple(world.faults), tuple(trace), seed)


def _schedules(depth: int) -> Iterator[Schedule]:
    """Yield all schedules, to be run as they come, those that leave the plain course less often first."""
    level = [Schedule()]
    yield level[0]
    for _ in range(depth):
        following: list[Schedule] = []
        for base in level:
            first = max(base.deviations, default=-1) + 1
            for place in range(first, len(base.counts)):
                for pick in range(1, base.counts[place]):
                    schedule = Schedule({**base.deviations, place: pick})
                    yield schedule
                    following.append(schedule)
        level = following


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"
