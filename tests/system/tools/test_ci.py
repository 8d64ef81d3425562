"""Continuous integration's jobs: side by side, each with its output in one block; one that fails ends all of them."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.processes import LIMIT, running
from tools.ci import NOTES, Job, end_group, run
from tools.ci.__main__ import JOBS, SHARES, share_of

ROOT = Path(__file__).resolve().parents[3]


def shell(title: str, text: str, *after: str, processors: float = 1) -> Job:
    return Job(title, ("bash", "-c", text), processors, after)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_there(pid: int) -> bool:
    """Whether a process runs: one that nobody has waited for yet doesn't."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_each_output_is_one_block_and_the_last_lines_have_the_times() -> None:
    out = io.StringIO()
    meet = "for each in 1 2 3; do echo {0} $each; echo {0} $each >&2; sleep 0.05; done"
    assert run([shell("one", meet.format("a")), shell("other", meet.format("b"))], 2, out) == 0
    text = out.getvalue()
    for title, letter in (("one", "a"), ("other", "b")):
        block = "".join(f"{letter} {number}\n" * 2 for number in (1, 2, 3))
        assert f"{block}======== {title} passed in " in text
    *_, times, last = text.splitlines()
    assert re.fullmatch(
        r"======== times in seconds, with those of a processor: \w+ \d+ \(\d+\), \w+ \d+ \(\d+\)", times
    )
    assert last.startswith("======== all checks passed in ")


def test_what_gives_way_has_a_lower_priority_with_all_that_it_starts(tmp_path: Path) -> None:
    """Its own and, where Linux shares processors among sessions first, its session's."""
    text = f"sleep 0.2; for each in stat autogroup; do cat /proc/self/$each > {tmp_path}/{{}}.$each || true; done"
    jobs = [shell(title, text.format(title))._replace(gives_way=title == "pure") for title in ("pure", "real")]
    assert run(jobs, 2, io.StringIO()) == 0
    for title, nice in (("pure", "10"), ("real", str(os.getpriority(os.PRIO_PROCESS, 0)))):
        assert (tmp_path / f"{title}.stat").read_text().rpartition(")")[2].split()[16] == nice
        shared = (tmp_path / f"{title}.autogroup").read_text()
        assert not shared or (shared.split()[-1] == "10") is (title == "pure")


def test_tests_note_the_processes_that_they_start_while_these_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a run that is ended ends them too: each is a session of its own."""
    monkeypatch.setenv(NOTES, str(tmp_path))
    with running(["sleep", "60"], env=os.environ) as process:
        assert [each.name for each in tmp_path.iterdir()] == [str(process.pid)]
    assert not [*tmp_path.iterdir()]


def test_two_that_have_room_run_at_a_time(tmp_path: Path) -> None:
    """Each waits for the other."""
    pair = [
        shell(mine, f"touch {tmp_path}/{mine}; until [ -e {tmp_path}/{other} ]; do sleep 0.05; done", processors=0.5)
        for mine, other in (("a", "b"), ("b", "a"))
    ]
    assert run(pair, 1, io.StringIO()) == 0


def test_jobs_have_their_order_and_their_room(tmp_path: Path) -> None:
    """What needs another's result begins behind it, and one that takes more than there is runs alone."""
    said = tmp_path / "said"
    alone = f"echo {{0}} begins >>{said}; sleep 0.2; echo {{0}} ends >>{said}"
    jobs = [
        shell("large", alone.format("large"), processors=9),
        shell("needed", alone.format("needed")),
        shell("needing", alone.format("needing"), "needed", processors=0.1),
    ]
    assert run(jobs, 2, io.StringIO()) == 0
    assert said.read_text().split("\n")[:-1] == [
        f"{title} {what}" for title in ("large", "needed", "needing") for what in ("begins", "ends")
    ]


def test_a_small_job_passes_a_large_one_that_has_no_room() -> None:
    out = io.StringIO()
    jobs = [shell("a", "sleep 0.5"), shell("large", "true", processors=2), shell("small", "true")]
    assert run(jobs, 2, out) == 0
    assert re.findall(r"= (\w+) passed", out.getvalue()) == ["small", "a", "large"]


@pytest.mark.parametrize(("text", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("no-such-command", 127)])
def test_the_first_that_fails_ends_all_with_its_status_and_name(tmp_path: Path, text: str, status: int) -> None:
    pids = tmp_path / "pids"
    out = io.StringIO()
    long = f"sleep 600 & echo $! >>{pids}; echo $$ >>{pids}; wait"
    bad = f"until [ -e {pids} ] && [ $(wc -l <{pids}) = 2 ]; do sleep 0.05; done; echo the reason; {text}"
    jobs = [shell("long", long), shell("bad", bad), shell("never", f"touch {tmp_path}/never", "bad")]
    assert run(jobs, 3, out) == status
    said = out.getvalue()
    assert f"======== bad FAILED with status {status} after " in said
    assert "the reason\n" in said
    assert "======== long is ended" in said
    assert "all checks passed" not in said
    assert not (tmp_path / "never").exists()
    started = [int(each) for each in pids.read_text().split()]
    assert len(started) == 2
    until(lambda: not any(map(is_there, started)))


def test_what_a_job_leaves_behind_is_ended(tmp_path: Path) -> None:
    """In its own group, and in groups that a test has noted."""
    own, noted = tmp_path / "own", tmp_path / "noted"
    leave = f"sleep 600 & echo $! >{own}; setsid sleep 600 & echo $! >{noted}; touch ${NOTES}/$!"
    assert run([shell("leaving", leave)], 1, io.StringIO()) == 0
    pids = [int(each.read_text()) for each in (own, noted)]
    until(lambda: not any(map(is_there, pids)))


def test_a_group_that_does_not_end_when_asked_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.ci.PATIENCE_S", 0.3)
    stubborn = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    with running(["bash", "-c", stubborn], env=dict(os.environ), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        end_group(process.pid)
        until(lambda: not is_there(process.pid))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
def test_a_signal_ends_all_that_runs(tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    long = f"sleep 600 & echo $! >>{pids}; echo $$ >>{pids}; wait"
    program = (
        "import sys\nfrom tools.ci import Job, __main__ as command\n"
        f"command.JOBS = (Job('long', ('bash', '-c', {long!r}), 1),)\nsys.exit(command.main([]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", program]
    with running(command, env=environment, stdout=subprocess.DEVNULL) as process:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        process.send_signal(number)
        assert process.wait(LIMIT) == 128 + number
    started = [int(each) for each in pids.read_text().split()]
    until(lambda: not any(map(is_there, started)))


def test_a_job_that_needs_an_unknown_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'b': not before it: {'a'}"):
        run([shell("b", "true", "a"), shell("a", "true")], 1, io.StringIO())


def test_the_project_s_jobs_run_targets_of_the_makefile() -> None:
    known = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    seen: set[str] = set()
    for job in JOBS:
        assert set(job.after) <= seen, job.title
        seen.add(job.title)
        command = job.command
        assert command[0] == "make"
        assert command[1] in known, job.title


def test_as_many_commits_as_there_are_shares_take_all() -> None:
    assert share_of("") == f"0/{SHARES}"
    commits = [f"{number:040x}" for number in range(0xABCDEF, 0xABCDEF + SHARES)]
    assert {share_of(commit) for commit in commits} == {f"{number}/{SHARES}" for number in range(SHARES)}
