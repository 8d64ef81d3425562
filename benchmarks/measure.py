"""Measurement: contenders interleaved in one run, CPU time, medians of the ratios within a round."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NotRequired, TypedDict


class Case(TypedDict):
    """One line of results.json. `ratio` is peer over ours: above 1, ours is faster or smaller.

    `machine` is the one that has measured it, as `machine` describes it.
    """

    case: str
    ours: float
    peer: float
    unit: str
    ratio: float
    goal: float | None
    machine: NotRequired[str]


def machine() -> str:
    """Return what machine this is, in a line: processor, cores, memory, system and interpreter."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), name)
    memory = ""
    with suppress(AttributeError, OSError, ValueError):
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} cores of {name}{memory}, {platform.system()} {platform.release()}, {python}"


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one call, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        gc.enable()


def case_of(case: str, pairs: Sequence[Sequence[float]], unit: str, goal: float | None, scale: float = 1.0) -> Case:
    """Return the case of rounds, each ours and the peer's cost, which `scale` turns into the unit."""
    return {
        "case": case,
        "ours": round(statistics.median(ours for ours, _ in pairs) * scale, 3),
        "peer": round(statistics.median(peer for _, peer in pairs) * scale, 3),
        "unit": unit,
        "ratio": round(statistics.median(peer / ours for ours, peer in pairs), 2),
        "goal": goal,
    }


def compare(
    case: str,
    ours: Callable[[], object],
    peer: Callable[[], object],
    *,
    count: int,
    goal: float | None,
    rounds: int = 7,
) -> Case:
    """Run both in turn, drop the first round, and return microseconds of CPU for each of `count` operations."""
    pairs = [(cpu_seconds(ours), cpu_seconds(peer)) for _ in range(rounds + 1)][1:]
    return case_of(case, pairs, "us CPU", goal, 1e6 / count)


_LAUNCH: Final = """\
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""
"""A process counts as its own the memory that the one had that started it: a small one starts what is measured."""


def cost_of(command: Sequence[str], octets: Path | None = None) -> tuple[float, float]:
    """Run a command, with a file as its standard input; return its CPU seconds and its most memory in MiB."""
    launch = [sys.executable, "-S", "-c", _LAUNCH, *command]
    with open(octets or os.devnull, "rb") as given:
        done = subprocess.run(launch, stdin=given, stdout=subprocess.PIPE, text=True, check=True)
    status, seconds, memory = done.stdout.split()
    if status != "0":
        raise RuntimeError(f"{' '.join(command)} ended with {status}")
    return float(seconds), float(memory)


def show(cases: list[Case]) -> str:
    """Return the cases as a table for people."""
    lines = [f"{'case':<48} {'ours':>10} {'peer':>10} {'unit':<14} {'ratio':>6} {'goal':>6}"]
    for case in cases:
        goal = "" if case["goal"] is None else f"{case['goal']:g}"
        mark = "" if case["goal"] is None or case["ratio"] >= case["goal"] else "  below goal"
        lines.append(
            f"{case['case']:<48} {case['ours']:>10g} {case['peer']:>10g} {case['unit']:<14} "
            f"{case['ratio']:>6g} {goal:>6}{mark}"
        )
    return "\n".join(lines)
