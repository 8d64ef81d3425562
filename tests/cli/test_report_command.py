"""`report`: one page in a file, and one line for what can't be done."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from amqp_sansio.capture import read_segments
from amqp_sansio_report import Bounds
from amqp_sansio_report.report import LiveReport, report_segments
from tests.cli.test_replay import PASSED, one_line, without_amqp
from tests.kit.captures import named
from tests.report.making import Outline, rows_in, segments_in

Run = Callable[..., subprocess.CompletedProcess[str]]
MIXED = "o_mixed_4_protocols.pcap"
REJECTS = "o091_pika_nack_reject_requeue.pcap"


def test_a_page_is_written(cli: Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = cli("report", named(MIXED), named("o091_pika_channel_errors.pcap"), "--output", page)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"amqp-sansio: 6 connections, 31 messages in {page}\n"
    outline = Outline(page.read_text(encoding="utf-8"))
    assert outline.tiles()["connections"] == "6"
    assert "o091_pika_channel_errors.pcap, o_mixed_4_protocols.pcap" in outline.text()
    assert len(outline.data()) == 6


def test_input_is_given_as_for_replay(cli: Run, tmp_path: Path) -> None:
    """Folders, patterns, standard input, in any order: the same page."""
    page, folder = tmp_path / "report.html", tmp_path / "captures"
    folder.mkdir()
    shutil.copy(named(MIXED), folder)
    texts: set[str] = set()
    for given in ([folder], [f"{folder}/*.pcap"], [named(MIXED)]):
        assert cli("report", *given, "--output", page).returncode == 0
        texts.add(page.read_text())
    assert len(texts) == 1
    assert cli("report", "-", "--output", page, stdin=named(MIXED).read_bytes()).returncode == 0
    assert page.read_text() == texts.pop().replace(MIXED, "stdin")
    live, pages = LiveReport(octets=1), set[str]()
    for number, segment in enumerate(read_segments(named(MIXED).read_bytes())):
        live.add(segment)
        if number % 50 == 0:
            pages.add(live.report().html)
    kept = live.report()
    assert (len(kept.diagrams), kept.gather.amqp) == (0, 4)
    assert len(pages) > 1
    assert kept.html == report_segments(read_segments(named(MIXED).read_bytes()), Bounds(diagrams=0)).html


def test_a_connection_is_chosen_and_its_units_are_bounded(cli: Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    ids = [row["connection"] for row in rows_in(segments_in([named(MIXED)]))["connections"]]
    done = cli(
        "report", named(MIXED), "--output", page, "--connection", ids[1][:10], "--connection", ids[3], "--frames", "8"
    )
    assert done.returncode == 0, done.stderr
    drawn = Outline(page.read_text()).data()
    assert [one["id"] for one in drawn] == [ids[1], ids[3]]
    assert all(8 <= len(one["units"]) <= 10 < one["total"] for one in drawn)
    assert "no connection has an id that begins with 'zz'" in one_line(
        cli("report", named(MIXED), "--output", page, "--connection", "zz")
    )


def test_the_page_as_text(cli: Run, tmp_path: Path) -> None:
    """A terminal and a ticket get the findings and the tables of the page."""
    ticket = tmp_path / "ticket.md"
    printed = cli("report", named(REJECTS), "--format", "text")
    assert (printed.returncode, printed.stderr) == (0, "")
    text = printed.stdout
    assert text.startswith(f"{REJECTS}\n\n2026-11-20 09:39:11.321 to ")
    finding = "warning: 25 % of all deliveries came again: 127.0.0.1:"
    assert f"\nWHAT STANDS OUT\n\n- {finding}" in text
    assert "\nversion  dialect       connections  messages  bad ends  violations   octets\n" in text
    assert "\n0-9-1    0-9-1-rabbit            1        18         0           0  4.53 kB\n" in text
    assert cli("report", named(REJECTS), "--format", "md", "--output", ticket).returncode == 0
    md = ticket.read_text(encoding="utf-8")
    assert f"\n## What stands out\n\n- {finding}" in md
    assert ": 3 of 12, 3 of them from amq.gen-6MBnDbd1rdrPiJDFsvEx7A connection d2d7d895\n" in md
    assert "\n| 0-9-1 | 0-9-1-rabbit | 1 | 18 | 0 | 0 | 4.53 kB |\n" in md
    assert "\n\n\n" not in md + text
    assert "needs --output FILE.html" in one_line(cli("report", named(REJECTS)))


def test_what_cant_be_done_is_one_line(cli: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a capture")
    page = tmp_path / "report.html"
    assert "nowhere.pcap: no such file" in one_line(cli("report", "nowhere.pcap", "--output", page))
    assert "begins with" in one_line(cli("report", notes, "--output", page))
    assert f"{tmp_path}: is a folder" in one_line(cli("report", named(MIXED), "--output", tmp_path))
    assert "there is no folder" in one_line(cli("report", named(MIXED), "--output", tmp_path / "x" / "y.html"))
    assert not page.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["x"],
        ["x", "--output"],
        ["x", "--output", "y.html", "--frames", "0"],
        ["x", "--output", "y.html", "--frames", "many"],
        ["x", "--output", "y.html", "--engine", "flink"],
        ["-", "--output", "y.html", "--engine", "spark"],
        ["--output", "y.html"],
    ],
)
def test_wrong_usage_is_one_line(cli: Run, arguments: list[str]) -> None:
    one_line(cli("report", *arguments))


def test_a_wrong_number_of_frames_says_what_is_right(cli: Run) -> None:
    line = one_line(cli("report", "x", "--output", "y.html", "--frames", "many"))
    assert "argument --frames: is a number from 1 to 100000, not 'many'" in line


def test_a_capture_without_amqp_has_a_page_that_says_so(cli: Run, tmp_path: Path) -> None:
    path, page = tmp_path / "web.pcap", tmp_path / "report.html"
    path.write_bytes(without_amqp())
    done = cli("report", path, "--output", page)
    assert done.returncode == 0
    assert done.stderr.splitlines()[1:] == [PASSED, f"amqp-sansio: no AMQP in {path}"]
    assert "passed over 1 connection without AMQP" in Outline(page.read_text()).text()
