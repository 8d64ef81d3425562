"""Purity: no time, randomness or I/O is asked for, and nothing depends on how the process hashes strings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import purity

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    """A Python process in the repository, with this hash seed."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("version", purity.USES)
def test_all_output_is_the_same_under_every_hash_seed(version: str) -> None:
    digests = {purity.digest(version)}
    for seed in ("1", "2"):
        result = run("-m", "tests.kit.purity", version, seed=seed)
        assert result.returncode == 0, result.stderr
        digests.add(result.stdout.strip())
    (digest,) = digests
    assert len(digest) == 64


def test_the_traps_catch() -> None:
    """What the run above forbids really raises."""
    script = f"""
import os, random, secrets, socket, time, uuid
from tests.kit import purity
purity.forbid()
for call in {purity.CALLS!r}:
    try:
        eval(call)
    except purity.Impure:
        continue
    raise SystemExit(call)
"""
    result = run("-c", script)
    assert (result.returncode, result.stderr) == (0, "")
