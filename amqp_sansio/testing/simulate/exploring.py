"""explore: runs programs under every schedule of few faults, then under random ones; reports the shortest failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple, TypeAlias, cast

from .choices import Choices, Recorded, Schedule, Seeded
from .judging import Finding, Kind, Promise
from .shrinking import Reading, Shrinker
from .world import PATIENCE, Fault, Hazards, World

Scene: TypeAlias = Callable[[World], object]
"""Sets up a new world: declares queues, starts programs."""
SHRINKING: Final = 400
"""Runs that may be spent on making a schedule shorter."""
USUAL: Final = Hazards()
RANDOM: Final = Hazards(
    faults=(
        *USUAL.faults,
        Fault.BLOCK,
        Fault.CLOSE,
        Fault.CHANNEL,
        Fault.SESSION,
        Fault.LINK,
        Fault.CANCEL,
        Fault.NACK,
        Fault.REJECT,
        Fault.SLOW,
    ),
    most=5,
    pieces=True,
)


class Report(NamedTuple):
    """The result of `explore`; its text tells a person what went wrong, and how.

    `runs` were made; all schedules that leave the plain course at most `depth` times were among them. `findings` are
    those of the shortest failing schedule, `schedule` its text, which `replay` takes and which names the hazards if
    they aren't the usual ones, and `trace` what happens in it. `seed` is the number that the failure was found with, if
    it was a random one. A schedule that is reported has been run twice: `Kind.UNSTEADY` is among the findings if the
    two runs weren't the same.
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
        found = stage.play(recorded, random_hazards)[1]
        if found:
            shortest = stage.shortened(recorded.schedule, random_hazards, {each.kind for each in found})
            return stage.report(shortest, random_hazards, depth, seed)
    return Report(stage.runs, depth)


def replay(
    scene: Scene,
    schedule: str,
    *,
    promise: Promise = Promise.AT_LEAST_ONCE,
    hazards: Hazards | None = None,
    patience: float = PATIENCE,
) -> Report:
    """Run a scene under the schedule of a report, with the hazards that it names; return a report of that run.

    Raises ValueError for a text that is no schedule.
    """
    stage = _Stage(scene, promise, patience)
    named = schedule.partition(";")[2]
    return stage.report(Schedule.parse(schedule), hazards or _hazards_named(named), 0)


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
        if isinstance(choices, Reading):
            choices.attend(world)
        world.trace = trace
        with world:
            self._scene(world)
            world.run(patience=self._patience)
            return world, world.findings()

    def fails(self, choices: Choices, hazards: Hazards) -> bool:
        return bool(self.play(choices, hazards)[1])

    def shortened(self, schedule: Schedule, hazards: Hazards, kinds: Iterable[Kind] = Kind) -> Schedule:
        """Return a shorter schedule that has a finding of one of these kinds too."""
        wanted = {*kinds}

        def fails(choices: Choices) -> bool:
            return any(each.kind in wanted for each in self.play(choices, hazards)[1])

        return Shrinker(fails, SHRINKING).shorten(schedule)

    def report(self, schedule: Schedule, hazards: Hazards, depth: int, seed: int | None = None) -> Report:
        """Run a schedule once more, with a trace, and again, which must give the same one."""
        runs, traces = self.runs, (list[str](), list[str]())
        worlds = [self.play(Schedule(schedule.deviations), hazards, trace) for trace in traces]
        world, found = worlds[0]
        if traces[0] != traces[1]:
            both = zip_longest(*traces, fillvalue="it is over")
            first, second = next((one, two) for one, two in both if one != two)
            text = f"two runs of one schedule differ: once {first.strip()!r}, once {second.strip()!r}"
            found = [*found, Finding(Kind.UNSTEADY, b"", text)]
        name = _name_of(hazards)
        text = f"{schedule};{name}" if name else str(schedule)
        return Report(runs, depth, tuple(found), text, tuple(world.faults), tuple(traces[0]), seed)


def _name_of(hazards: Hazards) -> str:
    """Return the text of hazards in a schedule: what differs from the usual ones."""
    if hazards == RANDOM:
        return "random"
    names = [each for each in Hazards.__match_args__ if getattr(hazards, each) != getattr(USUAL, each)]
    return ";".join(f"{name}={_written(getattr(hazards, name))}" for name in names)


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(_written(each) for each in cast("tuple[object, ...]", value))
    return value.value if isinstance(value, Fault) else f"{value}"


def _hazards_named(text: str) -> Hazards:
    """Read what `_name_of` has written. Raises ValueError."""
    if text == "random":
        return RANDOM
    changes: dict[str, Any] = {}
    for each in filter(None, text.split(";")):
        name, _, value = each.partition("=")
        parts = [part for part in value.split("+") if part]
        if name == "faults":
            changes[name] = tuple([Fault(part) for part in parts])
        elif name == "jumps":
            changes[name] = tuple([float(part) for part in parts])
        elif name in ("order", "pieces"):
            changes[name] = value == "True"
        elif name in ("most", "odds"):
            changes[name] = int(value)
        else:
            raise ValueError(f"a schedule's hazards have no {name!r}")
    return USUAL.but(**changes)


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
