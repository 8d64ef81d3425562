"""`record` with addresses and files that it can't use: a line, and nothing is opened."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("address", ["localhost", "::1:5672", "host:", ":1", "host:99999", "h:x"])
def test_a_wrong_address_is_one_line(cli: Run, address: str) -> None:
    done = cli("record", "--listen", address, "--upstream", "h:1", "--output", "x.pcapng")
    assert done.returncode == 2
    assert done.stderr.startswith("amqp-sansio: ") and done.stderr.count("\n") == 1


def test_an_output_that_is_something_else_stays_as_it_is(cli: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a recording")
    done = cli("record", "--listen", "127.0.0.1:0", "--upstream", "h:1", "--output", notes)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert notes.read_text() == "not a recording"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tls-key", "key.pem"], "need --tls-cert"),
        (["--tls-cert", "nowhere.pem"], "nowhere.pem: no such file"),
        (["--upstream-ca", "nowhere.pem"], "nowhere.pem: no such file"),
    ],
)
def test_unusable_files_for_tls_are_one_line(cli: Run, tmp_path: Path, options: list[str], words: str) -> None:
    addresses = ["--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1", "--output", tmp_path / "x.pcapng"]
    done = cli("record", *addresses, *options)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1
