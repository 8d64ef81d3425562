"""The fuzzer's command, whose cases are tried in processes of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tools.fuzz import __main__ as command
from tools.fuzz.bombs import Bomb, bombs
from tools.fuzz.targets import TARGETS, Lines, Target


def test_findings_are_printed_once_and_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setitem(TARGETS, "struct-0-10", Target("struct-0-10", _refusing, False))
    assert command.main(["--target=struct", "--cases=60", "--jobs=2", "--seconds=60"]) == 1
    output = capsys.readouterr().out
    assert output.count("======== struct-0-10: ZeroDivisionError in test_fuzz.py _refusing") == 1
    assert "60 inputs, 1 findings" in output
    [path] = tmp_path.glob("*.bin")
    assert path.name.startswith("struct-0-10--ZeroDivisionError")
    assert len(path.read_bytes()) < 10
    assert command.main(["--replay", str(path)]) == 1
    assert path.read_bytes().hex() in capsys.readouterr().out
    monkeypatch.undo()
    assert command.main(["--replay", str(path)]) == 0


@pytest.mark.parametrize("bomb", [bomb for bomb in bombs() if bomb.target == "client-1.0"], ids=lambda bomb: bomb.name)
def test_a_bomb_is_tried_without_a_finding(bomb: Bomb) -> None:
    failure = command.try_bomb(bomb)
    assert failure is None, failure.text


def test_a_bomb_that_is_refused_in_another_way_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = next(bomb for bomb in bombs() if bomb.target == "value-1.0")
    monkeypatch.setitem(TARGETS, "value-1.0", Target("value-1.0", _refusing, False))
    failure = command.try_bomb(replace(bomb, make=bytes))
    assert failure is not None
    assert failure.kind == "ZeroDivisionError in test_fuzz.py _refusing"


@pytest.mark.parametrize(("how", "tried"), [("none", 0), ("tried", 21), ("counted", 21)])
def test_bombs_of_the_named_targets_are_run_as_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: str, tried: int
) -> None:
    monkeypatch.setitem(command.BOMBS, "counted", lambda bomb: None)
    assert command.main(["--target=value,selector-", "--cases=2", "--jobs=1", "--seconds=300", f"--bombs={how}"]) == 0
    assert f"fuzz: {tried} bombs, 2 inputs, 0 findings" in capsys.readouterr().out


def _refusing(pieces: Sequence[bytes]) -> Lines:
    if b"\0" in pieces[0]:
        raise ZeroDivisionError
    return []
