"""`amqp-sansio broker` with arguments that it can't use: a line, and nothing is opened."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "localhost"], "expected HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "127.0.0.1:99999: a port is from 0 to 65535"),
        (["--user", ":pw"], "expected NAME:PASSWORD"),
        (["--user", "me:"], "expected NAME:PASSWORD"),
        (["--vhost", "v" * 256], "longer than 255"),
        (["--tls-key", "key.pem"], "need --tls-cert"),
        (["--tls-cert", "no-such.pem"], "no-such.pem: no such file"),
        (["--tls-cert", "pyproject.toml"], "isn't a certificate"),
        (["--heartbeat", "-1"], "argument --heartbeat: is from 0 to 65535 seconds, not '-1'"),
        (["--heartbeat", "often"], "argument --heartbeat: is a number of seconds, not 'often'"),
        (["--page", "8080"], "--page 8080: expected HOST:PORT, such as 127.0.0.1:8080"),
        (["--management", "15672"], "--management 15672: expected HOST:PORT, such as 127.0.0.1:15672"),
        (
            ["--page", "127.0.0.1:1", "--management", "127.0.0.1:1"],
            "--management 127.0.0.1:1: the broker or its page listens there; give the management API another port",
        ),
        (["something"], "something"),
    ],
)
def test_what_cant_be_used_is_one_line(cli: Run, arguments: list[str], words: str) -> None:
    root = Path(__file__).resolve().parents[2]
    done = cli("broker", "--listen", "127.0.0.1:0", *arguments, cwd=root)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("amqp-sansio: ") and words in last
    assert "Traceback" not in done.stderr
