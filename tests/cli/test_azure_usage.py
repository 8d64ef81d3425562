"""`amqp-sansio azure` with arguments that it can't use: a line, and nothing is opened."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "localhost"], "expected HOST:PORT"),
        (["--administration", "5300"], "--administration 5300: expected HOST:PORT, such as 127.0.0.1:5300"),
        (
            ["--page", "127.0.0.1:1", "--administration", "127.0.0.1:1"],
            "--administration 127.0.0.1:1: the broker or its page listens there; give the administration another port",
        ),
        (["--key", "name"], "--key: expected NAME:KEY"),
        (["--config", "no-such.json"], "no-such.json: no such file"),
        (["--config", "pyproject.toml"], "--config pyproject.toml: pyproject.toml is no JSON"),
        (["--config", "docs/conformance.json"], "--config docs/conformance.json: UserConfig is no object"),
    ],
)
def test_what_cant_be_used_is_one_line(cli: Run, arguments: list[str], words: str) -> None:
    root = Path(__file__).resolve().parents[2]
    done = cli("azure", "--listen", "127.0.0.1:0", *arguments, cwd=root)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("amqp-sansio: ") and words in last
    assert "Traceback" not in done.stderr
