"""The examples of Hypothesis tests: the same in every run, or new ones to explore."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.kit.examples import SHRINKING_SECONDS


def drawn() -> list[int]:
    numbers: list[int] = []

    @settings(max_examples=400)
    @given(st.integers())
    def test(number: int) -> None:
        numbers.append(number)

    test()
    return numbers


def test_modules_that_happen_to_be_loaded_change_no_example(tmp_path: Path) -> None:
    before = drawn()
    file = tmp_path / "constants_of_its_own.py"
    file.write_text(f"NUMBERS = {list(range(5_000_000, 5_000_400, 7))}\n")
    spec = importlib.util.spec_from_file_location("constants_of_its_own", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["constants_of_its_own"] = module
    try:
        spec.loader.exec_module(module)
        assert drawn() == before
    finally:
        del sys.modules["constants_of_its_own"]
    assert len(before) == 400


def test_a_failing_test_ends_soon_and_leaves_nothing_behind() -> None:
    usual = settings.get_profile("steady")
    assert usual.derandomize and usual.database is None and usual.deadline is None
    assert Phase.reuse not in usual.phases and Phase.explain not in usual.phases
    assert SHRINKING_SECONDS <= 30
