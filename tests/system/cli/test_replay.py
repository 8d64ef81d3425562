"""`replay` between other programs: a pipe that gives its rows at once, a reader that leaves."""

import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

from tests.kit.captures import named
from tests.kit.processes import LIMIT, running

Run = Callable[..., subprocess.CompletedProcess[str]]
BASIC = "o091_pika_basic.pcap"


def test_a_reader_that_leaves_early_is_no_error(cli_environment: Mapping[str, str]) -> None:
    path = named("o091_aiopika_channels_interleaved.pcap")
    command = [sys.executable, "-m", "amqp_sansio_cli", "replay", str(path), "--body", "base64"]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cli_environment) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(10) == b'{"connecti'
        process.stdout.close()
        assert process.wait(LIMIT) == 0
        assert process.stderr.read() == b""


@pytest.mark.parametrize("form", ["jsonl", "csv", "table"])
def test_rows_of_a_pipe_come_at_once(cli: Run, cli_environment: Mapping[str, str], form: str) -> None:
    octets = named(BASIC).read_bytes()
    command = [sys.executable, "-m", "amqp_sansio_cli", "replay", "-", "--format", form]
    with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=cli_environment) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(octets[:-1000])
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(20)]
        process.stdin.write(octets[-1000:-500])  # it ends inside of a packet
        process.stdin.close()
        found = b"".join([*first, process.stdout.read()]).decode()
        assert process.wait(LIMIT) == 0
    whole = cli("replay", named(BASIC), "--format", form).stdout
    assert form == "table" or whole.startswith(found)
    assert 20 < len(found.splitlines()) < len(whole.splitlines())
