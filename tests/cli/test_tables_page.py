"""The programs of docs/arrow.md run, in the page's order, over captures of the repository."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.captures import ROOT, named

PAGE = (ROOT / "docs" / "arrow.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line.partition("  #")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if line.startswith("amqp-sansio ")
]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "one.pcapng").write_bytes(named("o091d_exchange_reorder.pcapng").read_bytes())
    (folder / "two.pcap").write_bytes(named("o091_pika_nack_reject_requeue.pcap").read_bytes())
    shutil.copy(named("o091_pika_basic.pcap"), tmp_path / "big.pcapng.gz")
    return tmp_path


def test_the_programs_run(captures: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(captures)
    assert len(PROGRAMS) == 6
    names: dict[str, Any] = {}
    for program in PROGRAMS:
        exec(program, names)
        printed = capsys.readouterr().out
        assert printed.strip()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(cli: Run, captures: Path, command: str) -> None:
    words = [first or second for first, second in re.findall(r'"([^"]*)"|(\S+)', command)]
    done = cli(*words[1:], cwd=captures)
    assert done.returncode == 0, done.stderr
