"""The events of recorded traffic are the same under every hash seed, and however it is cut or copied."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.observer.test_invariance import (
    CLASSIC,
    OF_1_0,
    named,
    test_a_connection_seen_from_anywhere_cut_anywhere,
    test_a_pickled_copy_goes_on_alike,
    test_the_shortcut_leaves_the_books_as_the_general_step_does,
    test_where_arrivals_are_cut_makes_no_difference,
)

__all__ = [
    "test_a_connection_seen_from_anywhere_cut_anywhere",
    "test_a_pickled_copy_goes_on_alike",
    "test_hash_seeds_make_no_difference",
    "test_the_shortcut_leaves_the_books_as_the_general_step_does",
    "test_where_arrivals_are_cut_makes_no_difference",
]

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("path", [*named(*CLASSIC)[:2], *named(*OF_1_0)[:2]])
def test_hash_seeds_make_no_difference(path: Path) -> None:
    code = (
        "import sys, pathlib; sys.path.insert(0, '.');"
        "from tests.kit.observing import recorded;"
        f"print([each.watch() for each in recorded(pathlib.Path({str(path)!r}))])"
    )
    command = [sys.executable, "-c", code]
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("0", "1", "777")]
    outputs = {subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=True).stdout for env in seeds}
    assert len(outputs) == 1
