"""The core's footprint: import time over a bare interpreter, memory of an idle connection, channel and link."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from pathlib import Path

from benchmarks.amqp_1_0_engine import Pair
from benchmarks.codec_bench import open_pair
from benchmarks.measure import Case, case_of

ROOT = Path(__file__).resolve().parent.parent
_CPU = "import resource;u=resource.getrusage(resource.RUSAGE_SELF);print(u.ru_utime+u.ru_stime)"


def _cpu_of(statement: str) -> float:
    command = [sys.executable, "-c", f"{statement};{_CPU}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def import_case(label: str, package: str, rounds: int = 15) -> Case:
    """Return the CPU milliseconds to import the core and one version's connection, against those of asyncio and json,
    both over a bare interpreter.
    """
    ours = f"import amqp_sansio, amqp_sansio.sasl; from amqp_sansio.{package} import Connection"
    pairs: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        bare = _cpu_of("pass")
        pairs.append((_cpu_of(ours) - bare, _cpu_of("import asyncio, json") - bare))
    return case_of(f"import of the core and {label} vs asyncio and json", pairs[1:], "ms CPU", 1.0, 1e3)


def memory_cases(count: int = 100) -> list[Case]:
    """Return the KiB of an idle open connection, and of an open channel on it; the goals are 4 and 1.5."""
    open_pair()
    gc.collect()
    tracemalloc.start()
    pairs = [open_pair() for _ in range(count)]
    for client, server, settle in pairs:
        del server, settle
        client.data_to_send(0.0)
    clients = [client for client, _, _ in pairs]
    settles = [settle for _, _, settle in pairs]
    gc.collect()
    both = tracemalloc.get_traced_memory()[0]
    for client, settle in zip(clients, settles, strict=True):
        for _ in range(10):
            client.open_channel()
        settle()
    gc.collect()
    channels = tracemalloc.get_traced_memory()[0] - both
    tracemalloc.stop()
    per_connection = both / count / 2 / 1024
    per_channel = channels / count / 10 / 2 / 1024
    return [_kib("idle connection", per_connection, 4.0), _kib("idle channel", per_channel, 1.5)]


def link_case(count: int = 100) -> Case:
    """Return the KiB of either end of an idle 1.0 connection, with a session and one link; the goals are 8 and 3."""
    Pair()
    gc.collect()
    tracemalloc.start()
    pairs = [Pair() for _ in range(count)]
    gc.collect()
    both = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(pairs) == count
    return _kib("idle 1.0 connection with one link", both / count / 2 / 1024, 8.0 + 3.0)


def _kib(case: str, ours: float, goal: float) -> Case:
    return case_of(case, [(ours, goal)], "KiB (goal)", 1.0)


def cases() -> list[Case]:
    """Return the cases of import and memory."""
    return [import_case("0-9-1", "amqp_0_9_1"), import_case("1.0", "amqp_1_0"), *memory_cases(), link_case()]
