"""How rows are laid out for people."""

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from amqp_sansio.printing import printable
from amqp_sansio_cli import errors
from amqp_sansio_cli.main import main
from amqp_sansio_cli.output import Heading, align, clock, day_clock, duration, octets, table_lines
from tests.kit.captures import named

HEADINGS = [Heading("name", least=6), Heading("n", right=True), Heading("more", drops=1)]


def test_columns_are_aligned() -> None:
    assert list(align(HEADINGS, [["a", "1", "x"], ["bcd", "100", ""]], width=40)) == [
        "name    n  more",
        "----  ---  ----",
        "a       1  x",
        "bcd   100",
    ]


def test_what_is_too_wide_shrinks_and_then_goes() -> None:
    rows = [["abcdefghij", "1", "optional"]]
    assert list(align(HEADINGS, rows, width=20))[2] == "abcdef…  1  optional"
    assert list(align(HEADINGS, rows, width=12))[2] == "abcdefgh…  1"
    assert list(align(HEADINGS, rows, width=4))[2] == "abcde…  1"


def test_wide_characters_take_two_columns() -> None:
    lines = list(align([Heading("x", least=3), Heading("y")], [["日本", "1"], ["a", "2"]], width=9))
    assert lines[2:] == ["日本  1", "a     2"]
    assert list(align([Heading("x", least=3), Heading("y")], [["日本語", "1"]], width=7))[2] == "日…   1"


def test_control_characters_cant_reach_the_terminal() -> None:
    assert printable("a\x1b[2Jb\nc\u202e") == "a\\x1b[2Jb\\nc\\u202e"
    row = ["c", 0, 0, "client", "rule", "error", "\x1b]0;title\x07", 0, 0]
    order = ["connection", "seq", "ts_ns", "sender", "rule", "severity", "text", "offset"]
    assert len(order) == len(row) - 1
    assert all("\x1b" not in line for line in table_lines("violations", [tuple(row)]))


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.5 us"),
        (12_345_678, "12.3 ms"),
        (2_000_000_000, "2 s"),
        (5_000_000_000_000, "5,000 s"),
        (-2_500_000, "-2.5 ms"),
        (None, ""),
    ],
)
def test_durations(nanoseconds: int | None, text: str) -> None:
    assert duration(nanoseconds) == text


def test_times_and_sizes() -> None:
    assert clock(1795167533117581999) == "09:38:53.117581"
    assert day_clock(1795167533117581999) == "2026-11-20 09:38:53.117"
    assert (clock(None), day_clock(None), octets(None)) == ("", "", "")
    assert octets(1234567) == "1,234,567"


class Broken(io.RawIOBase):
    """A stream whose reader is gone, as Windows or Unix says it."""

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self.descriptor = descriptor

    def fileno(self) -> int:
        return self.descriptor

    def writable(self) -> bool:
        return True

    def write(self, octets: object) -> int:
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize(
    ("system", "number", "status"),
    [("posix", errno.EPIPE, 0), ("posix", errno.EINVAL, 2), ("nt", errno.EPIPE, 0), ("nt", errno.EINVAL, 0)],
)
def test_a_reader_that_has_gone_is_no_error_on_any_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, number: int, status: int
) -> None:
    monkeypatch.setattr(errors, "SYSTEM", system)
    with open(tmp_path / "out", "wb") as out:
        broken = io.TextIOWrapper(io.BufferedWriter(Broken(number, out.fileno())), write_through=True)
        monkeypatch.setattr(sys, "stdout", broken)
        assert main(["replay", str(named("o091_pika_basic.pcap"))]) == status
        with suppress(OSError):
            broken.close()


def test_lines_end_alike_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, newline="\r\n"))
    assert main(["lint", str(named("o091_pika_channel_errors.pcap"))]) == 1
    assert out.getvalue().endswith(b"\n") and b"\r" not in out.getvalue()
