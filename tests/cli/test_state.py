"""`state`: what was open at an instant, the difference between two, and one line for what can't be done."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_replay import one_line, without_amqp
from tests.kit.captures import named

Run = Callable[..., subprocess.CompletedProcess[str]]
BLOCKED = "o091_pika_blocked.pcap"


def test_a_blocked_connection_is_told_for_people_and_for_programs(cli: Run) -> None:
    done = cli("state", named(BLOCKED), "--at", "+1.2")
    assert done.stderr == "amqp-sansio: 1 connection open at 2026-11-20 09:39:43.465 UTC\n"
    assert "10:39:43.465 UTC" in cli("state", named(BLOCKED), "--at", "+1.2", "--clock-offset", "3600").stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("connection e4c27778 127.0.0.1:58266 → 127.0.0.1:56720 · AMQP 0-9-1 · Pika Python Client")
    assert rest == ["  blocked by the server low on memory, for 692 ms", "  channel 1, open, for 1.2 s"]
    rows = [
        json.loads(line)
        for line in cli("state", named(BLOCKED), "--at", "09:39:43.465", "--format", "jsonl").stdout.splitlines()
    ]
    assert [row["kind"] for row in rows] == ["connection", "blocked", "channel"]
    assert rows[1]["text"] == "low on memory" and rows[1]["at_ns"] == 1_795_167_583_465_000_000


def test_the_difference_between_two_instants(cli: Run) -> None:
    """Between them the first connection ends, and the others come and go unseen."""
    done = cli("state", named("o_mixed_4_protocols.pcap"), "--at", "+0.004", "--until", "+2.2")
    assert [line[:22] for line in done.stdout.splitlines()] == [
        "- connection c3ad518f ",
        "- channel 1, open, for",
        "- queue.declare of the",
    ]
    lines = cli("state", named(BLOCKED), "--at", "+0.1", "--until", "+1.2", "--format", "jsonl").stdout.splitlines()
    assert [(row["change"], row["kind"]) for row in map(json.loads, lines)] == [("+", "blocked")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--at", "noon"], "'noon' is no time: write 10:03:12.5 (UTC)"),
        (["--at", "+2", "--until", "+1"], "--until +1 is before --at +2"),
        (["--at", "+1", "--connection", "nobody"], "no connection has an id that begins with 'nobody'"),
        ([], "the following arguments are required: --at"),
    ],
)
def test_wrong_usage_is_one_line(cli: Run, arguments: list[str], words: str) -> None:
    assert words in one_line(cli("state", named(BLOCKED), *arguments))


def test_times_are_of_the_captures_day(cli: Run, tmp_path: Path) -> None:
    every = [cli("state", named(BLOCKED), "--at", at).stdout for at in ("09:39:43.465", "2026-11-20T09:39:43.465Z")]
    assert every[0] == every[1] != ""
    web = tmp_path / "web.pcap"
    web.write_bytes(without_amqp())
    assert cli("state", web, "--at", "+1").stdout == ""
