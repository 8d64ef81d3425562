"""`python -m tools.fuzz` attacks every part of the core that reads octets, for some time, and names what fell.

Each finding is printed once, with its octets in a file and the command that reproduces it; the exit status is 1 then.
The inputs depend on the seed and on their number alone, however many processes there are.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from random import Random
from typing import Final

from amqp_sansio import COMPILED

from .bombs import Bomb, bombs
from .cases import Cases, shorter
from .oracles import SECONDS, Failure, check, check_bounded, check_cost, check_memory
from .seeds import Seeds
from .targets import TARGETS

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "build" / "fuzz"
SIZES: Final = (1, 2, 4)
TURN: Final = 20
"""Inputs between two bombs."""
_HEX: Final = 400

Message = tuple[str, int, Failure | None]


def run_bomb(bomb: Bomb) -> Failure | None:
    """Try a bomb in three sizes."""
    target = TARGETS[bomb.target]
    sizes = [bomb.make(bomb.size * each) for each in SIZES]
    check = check_bounded if bomb.bounded else check_cost
    return check(target, bomb.name, sizes) or check_memory(target, f"bomb {bomb.name}", sizes[-1])


def try_bomb(bomb: Bomb) -> Failure | None:
    """Try the largest size of a bomb, whole, without counting its steps.

    So large, it may be cut off at another place when it comes in pieces: what follows a close is read up to a bound.
    """
    target, octets = TARGETS[bomb.target], bomb.make(bomb.size * SIZES[-1])
    return check(replace(target, cuts=False), octets, Random(0)) or check_memory(target, f"bomb {bomb.name}", octets)


BOMBS: Final[dict[str, Callable[[Bomb], Failure | None] | None]] = {
    "counted": run_bomb,
    "tried": try_bomb,
    "none": None,
}
"""The use that is made of each bomb, by the word of `--bombs`."""


def chosen_bombs(targets: list[str], seeds: Seeds | None) -> list[Bomb]:
    """Return the bombs for the targets."""
    return [bomb for bomb in bombs(seeds) if bomb.target in targets]


class Work:
    """The work of one process: every `jobs`-th bomb and input, in turn."""

    def __init__(self, options: argparse.Namespace, targets: list[str], part: int, end: float) -> None:
        self._cases = Cases(options.seed, targets)
        self._targets = targets
        self._options = options
        self._part = part
        self._end = end

    def findings(self) -> Iterator[Message]:
        """Yield the findings, and progress now and then."""
        jobs: int = self._options.jobs
        seeds = None if self._options.cases else self._cases.seeds
        run = BOMBS[self._options.bombs]
        left = [] if run is None else chosen_bombs(self._targets, seeds)[self._part :: jobs]
        left.reverse()
        found: set[tuple[str, str]] = set()
        begin = self._part
        last: int = self._options.cases or sys.maxsize
        while time.monotonic() < self._end and (left or begin < last):
            if left and run is not None:
                yield "bombs", 1, run(left.pop())
            for number in range(begin, min(last, begin + TURN * jobs), jobs):
                failure = self._cases.check(number)
                if failure is not None:
                    key = (failure.target, failure.kind)
                    failure = None if key in found else shorter(failure)
                    found.add(key)
                yield "inputs", 1, failure
            begin += TURN * jobs


def _work(work: Work, queue: SimpleQueue[Message]) -> None:
    done = {"bombs": 0, "inputs": 0}
    last = time.monotonic()
    for what, count, failure in work.findings():
        done[what] += count
        now = time.monotonic()
        if failure is not None or now - last > 1:
            last = now
            for name, number in done.items():
                queue.put((name, number, None))
                done[name] = 0
            if failure is not None:
                queue.put((what, 0, failure))
    for name, number in done.items():
        queue.put((name, number, None))


def fuzz(options: argparse.Namespace, targets: list[str]) -> int:
    """Run all processes until the time is over; return the exit status."""
    end = time.monotonic() + options.seconds
    context = get_context("fork")
    queue: SimpleQueue[Message] = context.SimpleQueue()
    parts = [Work(options, targets, part, end) for part in range(options.jobs)]
    workers = [context.Process(target=_work, args=(part, queue), daemon=True) for part in parts]
    print(f"fuzz: {len(targets)} targets, seed {options.seed}, {options.jobs} processes", flush=True)
    for worker in workers:
        worker.start()
    done = {"bombs": 0, "inputs": 0}
    found: dict[tuple[str, str], Failure] = {}
    while True:
        alive = any(worker.is_alive() for worker in workers)
        while not queue.empty():
            what, count, failure = queue.get()
            done[what] += count
            if failure is not None and (failure.target, failure.kind) not in found:
                found[failure.target, failure.kind] = failure
                show(failure, keep(failure))
        # It may be in a C function that never ends.
        if not alive or time.monotonic() > end + 3 * SECONDS:
            break
        time.sleep(0.1)
    for worker in workers:
        if worker.is_alive():
            worker.kill()
            print("fuzz: a process didn't end; see which input with --jobs 1", flush=True)
    crashed = [worker.exitcode for worker in workers if worker.exitcode]
    print(f"fuzz: {done['bombs']} bombs, {done['inputs']} inputs, {len(found)} findings", flush=True)
    for failure in found.values():
        print(f"  {failure.target}: {failure.kind}\n    reproduce: {command(path_of(failure))}")
    if crashed:
        print(f"fuzz: processes ended with {crashed}")
    return 1 if found or crashed else 0


def path_of(failure: Failure) -> Path:
    """Return the path for a finding's octets: the name has the target."""
    kind = re.sub(r"[^a-zA-Z0-9]+", "-", failure.kind).strip("-")[:60]
    digest = hashlib.sha256(failure.octets).hexdigest()[:8]
    return FOLDER / f"{failure.target}--{kind}-{digest}.bin"


def keep(failure: Failure) -> Path:
    """Write the octets of a finding."""
    path = path_of(failure)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(failure.octets)
    return path


def command(path: Path) -> str:
    """Return the command that reproduces a finding."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    return f".venv/bin/python -m tools.fuzz --replay {name}"


def show(failure: Failure, path: Path) -> None:
    """Print a finding."""
    text = failure.octets.hex()
    print(f"\n======== {failure.target}: {failure.kind}\n{failure.text.rstrip()}")
    print(f"{len(failure.octets)} octets: {text[:_HEX]}{'...' if len(text) > _HEX else ''}")
    print(f"reproduce: {command(path)}", flush=True)


def replay(path: Path) -> int:
    """Try a saved input again. A bomb's is tried as an input: `--target` tries all its sizes."""
    target = TARGETS[path.name.partition("--")[0]]
    octets = path.read_bytes()
    for attempt in range(8):
        failure = check(target, octets, Random(attempt))
        if failure is not None:
            show(failure, path)
            return 1
    found = [run_bomb(bomb) for bomb in chosen_bombs([target.name], None)] if "--bomb-" in path.name else []
    for failure in found:
        if failure is not None:
            show(failure, path)
    print(f"fuzz: {path.name}: {'see above' if any(found) else 'nothing found'}")
    return 1 if any(found) else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="time budget (default: 300)")
    parser.add_argument("--cases", type=int, default=0, help="inputs in all (default: no end)")
    parser.add_argument("--seed", type=int, default=1, help="of all inputs (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--target", default="", help="only targets whose names begin so, or so: several, with commas")
    parser.add_argument(
        "--bombs",
        choices=BOMBS,
        default="counted",
        help="count their steps and memory in three sizes (default), try the largest size, or leave them out",
    )
    parser.add_argument("--compiled", action="store_true", help="refuse to run without the module in C")
    parser.add_argument("--replay", type=Path, help="try the octets of a file, named TARGET--WHAT")
    options = parser.parse_args(arguments)
    if options.compiled and not COMPILED:
        parser.error("the module in C isn't there: make fuzz-compiled builds it")
    if options.replay is not None:
        return replay(options.replay)
    targets = [name for name in TARGETS if name.startswith(tuple(options.target.split(",")))]
    if not targets:
        parser.error(f"no target begins with {options.target!r}; there are {', '.join(TARGETS)}")
    return fuzz(options, targets)


if __name__ == "__main__":
    raise SystemExit(main())
