"""`amqp-sansio replay --table events` against `tshark -T ek`: every field of every unit as JSON, CPU of the process."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.generate import generate
from benchmarks.measure import Case, case_of, cost_of

OCTETS: Final = 30_000_000
ROUNDS: Final = 3
GOALS: Final = {("0-9-1", 128): 3.0, ("1.0", 128): 2.0, ("0-9-1", 4096): 10.0, ("1.0", 4096): 10.0}
"""By the version, and the octets of each message."""


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
            peer = ["tshark", "-n", "-r", capture, "-Y", "amqp", "-T", "ek"]
            pairs = [(cost_of(ours)[0], cost_of(peer)[0]) for _ in range(ROUNDS + 1)][1:]
        found.append(
            case_of(f"replay of {version} in messages of {size:,} B vs tshark -T ek", pairs, "s CPU/30 MB", goal)
        )
    return found
