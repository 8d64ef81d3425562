"""`amqp-sansio replay --table events` against tshark: CPU of the process.

`tshark -T ek` writes every field of every unit as JSON, as ours does, `tshark -T fields` three of them as text. A
replay of events alone stands beside one that wants broken rules too, whose units step the model.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from amqp_sansio.capture import Segment, read_segments
from amqp_sansio.recorded.tables import replay_segments
from benchmarks.generate import generate
from benchmarks.measure import Case, case_of, compare, cost_of

OCTETS: Final = 30_000_000
SHORT: Final = 128
ROUNDS: Final = 3
GOALS: Final = {("0-9-1", 128): 3.0, ("1.0", 128): 2.0, ("0-9-1", 4096): 10.0, ("1.0", 4096): 10.0}
"""By the version, and the octets of each message."""
THREE: Final = {
    "0-9-1": ("frame.time_epoch", "amqp.channel", "amqp.method.method"),
    "1.0": ("frame.time_epoch", "amqp.channel", "amqp.performative"),
}
"""The fields that tshark writes without JSON."""
ALONE: Final = 1.3
"""The goal of a replay of events alone."""


def cases() -> list[Case]:
    """Return the cases, each of a capture of 30 MB."""
    if shutil.which("tshark") is None:
        from tests.interop.brokers.process import apt_install

        apt_install("tshark")
    found: list[Case] = []
    for (version, size), goal in GOALS.items():
        with tempfile.TemporaryDirectory() as folder:
            capture = str(generate(Path(folder), OCTETS, versions=(version,), sizes=(size,))[0])
            ours = [sys.executable, "-m", "amqp_sansio_cli", "replay", capture, "--table", "events"]
            tshark = ["tshark", "-n", "-r", capture, "-Y", "amqp", "-T"]
            label = f"replay of {version} in messages of {size:,} B vs tshark"
            peers = {f"{label} -T ek": ([*tshark, "ek"], goal)}
            if size == SHORT:
                wanted = [word for name in THREE[version] for word in ("-e", name)]
                peers[f"{label} -T fields"] = ([*tshark, "fields", *wanted], 0.6)
            costs: list[list[float]] = []
            for _ in range(ROUNDS + 1):
                costs.append([cost_of(command)[0] for command in (ours, *[peer for peer, _ in peers.values()])])
            for place, (name, (_, least)) in enumerate(peers.items(), 1):
                found.append(case_of(name, [(each[0], each[place]) for each in costs[1:]], "s CPU/30 MB", least))
            if size == SHORT:
                found.append(alone_case(version, capture))
    return found


def alone_case(version: str, capture: str) -> Case:
    """Return the lines of events alone beside those of a replay that wants broken rules too."""
    segments = [each for each in read_segments(Path(capture).read_bytes(), file="c") if isinstance(each, Segment)]

    def replay(tables: tuple[str, ...]) -> None:
        for _ in replay_segments(segments, tables=tables, lines=True):
            pass

    return compare(
        f"replay of events alone, {version} in messages of {SHORT} B, vs beside violations",
        lambda: replay(("events",)),
        lambda: replay(("events", "violations")),
        count=len(segments),
        goal=ALONE,
        rounds=ROUNDS,
    )
