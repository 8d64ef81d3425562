"""Whatever the command is given, it says in one line what is wrong, and its exit status is the documented one."""

import errno
import gzip
import os
import sys
from pathlib import Path

import pytest

from amqp_sansio_cli.main import main
from tests.cli.conftest import OneLine, Refuses
from tests.kit.captures import named

READERS = ("replay", "lint", "report")
BASIC = "o091_pika_basic.pcap"
LOCAL = "127.0.0.1:0"
LONG = "x" * 300
NO_UTF8 = "\udcff"
NUMBER = "1" * 5000


def reading(command: str, folder: Path) -> list[str]:
    """A command that reads captures, with what else it needs."""
    return [command, *(["--output", str(folder / "page.html")] if command == "report" else [])]


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("empty", "no file in this folder"),
        ("", ": no such file"),
        (",,", ",,: no such file"),
        (LONG, "x: no such file"),
        ("**/[", "**/[: no such file"),
        ("s3://bucket/x", "only files that every worker can open"),
        ("file://[x/x", "file://[x/x: no such file"),
        ("\0", "\\x00: no such file"),
        (NO_UTF8, "\\udcff: no such file"),
        ("new\nline\x1b[2J", "new\\nline\\x1b[2J: no such file"),
    ],
)
def test_files_that_cant_be_read(
    one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, given: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    assert words in one_line(*reading(command, tmp_path), given)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: COMMAND"),
        (["so\nme"], "invalid choice: 'so\\nme'"),
        (["replay"], "required: FILE"),
        (["replay", "x", "--so\nme"], "unrecognized arguments: --so\\nme"),
        (["replay", "x", "--table", "\x1b"], "argument --table: there is no table"),
        (["replay", "x", "--format", ""], "argument --format: invalid choice"),
        (["replay", "x", "--body", "all"], "argument --body: invalid choice"),
        (["replay", "x", "--engine", "no"], "argument --engine: invalid choice"),
        (["replay", "x", "--output", "y"], "y: a file ends in .parquet, .arrow, .jsonl or .csv"),
        (["replay", "x", "--engine", "spark"], "--engine spark wants --output"),
        (["replay", "-", "--engine", "spark", "--output", "y"], "reads files, not standard input"),
        (["replay", "CAPTURE", "--engine", "spark", "--output", LONG], "x: file name too long"),
        (["replay", "CAPTURE", "--engine", "spark", "--output", "CAPTURE/x"], "/x: not a directory"),
        (["lint", "x", "--fail-on", "none"], "argument --fail-on: invalid choice"),
        *[
            ([command, "x", *more, "--clock-skew", value], "argument --clock-skew: ")
            for command, *more in (("replay",), ("lint",), ("report", "--output", "o.html"))
            for value in ("often", "nan", "inf", "-1", "1e400", NUMBER, "")
        ],
        *[
            (["report", "x", "--output", "o.html", "--frames", value], "argument --frames: is a number from 1")
            for value in ("0", "-1", "1.5", "many", NUMBER, "")
        ],
        (["report", "x"], "needs --output FILE.html"),
        (["report", "CAPTURE", "--output", LONG], "x: file name too long"),
        (["report", "CAPTURE", "--output", ""], ".: is a folder"),
        (["report", "CAPTURE", "--output", "no/folder"], "there is no folder no"),
        (["report", "CAPTURE", "--output", "CAPTURE"], "c.pcap: is one of the captures; give --output another name"),
        (["report", "*.pcap", "--output", "./c.pcap"], "c.pcap: is one of the captures"),
        (["report", "CAPTURE", "--output", "o.html", "--every", "5"], "--every is for a live pipe alone"),
        (["report", "CAPTURE", "--output", "o.html", "--connection", NO_UTF8], "begins with '\\udcff'"),
        *[
            ([*command, *more], words)
            for command in (["broker"], ["record", "--upstream", "h:1", "--output", "x.pcapng"])
            for more, words in [
                (["--listen", f"127.0.0.1:{NUMBER}"], "a port is from 0 to 65535"),
                (["--listen", "a..b:0"], "'a..b' can't be the name of a host"),
                (["--listen", "amqp://127.0.0.1:5672/"], "expected HOST:PORT, not a URL"),
                (["--listen", LOCAL, "--listen", "b"], "b: expected HOST:PORT"),
                (["--listen", f"{LONG}:0"], "can't be the name of a host"),
                (["--listen", f"{NO_UTF8}:0"], "can't be the name of a host"),
            ]
        ],
        (["record", "--listen", LOCAL, "--upstream", "a..b:1", "--output", "x"], "'a..b' can't be the name"),
        (["record", "--listen", LOCAL, "--upstream", "amqp://b", "--output", "x"], "expected HOST:PORT, not a URL"),
        (
            ["record", "--listen", LOCAL, "--upstream", "h:1", "--output", "x", "--ready-file", "./x"],
            "x: --output and --ready-file are the same file",
        ),
        (["broker", "--record", "x", "--ready-file", "x"], "x: --record and --ready-file are the same file"),
        *[
            (["record", "--listen", LOCAL, "--upstream", "h:1", "--output", value], words)
            for value, words in [
                ("", ".: is a directory"),
                ("no/file", "no/file: no such file or directory"),
                (LONG, "file name too long"),
                ("CAPTURE", "exists and is no pcapng recording"),
            ]
        ],
        *[
            (["broker", "--listen", LOCAL, "--record", value], words)
            for value, words in [
                ("", ".: is a directory"),
                ("no/file", "no/file: no such file or directory"),
                (LONG, "file name too long"),
                ("CAPTURE", "exists and is no pcapng recording"),
            ]
        ],
        *[
            (["broker", "--listen", LOCAL, option, value], words)
            for option in ("--user", "--vhost", "--product")
            for value, words in [(NO_UTF8, f"argument {option}: isn't UTF-8"), (LONG, "is longer than 255 octets")]
        ],
        (["broker", "--listen", LOCAL, "--tls-cert", "CAPTURE"], "isn't a certificate with its key"),
        (["broker", "--listen", LOCAL, "--tls-cert", "CAPTURE", "--tls-key", LONG], "file name too long"),
        (["broker", "--listen", LOCAL, "--tls-cert", "."], ".: no such file"),
    ],
)
def test_arguments_that_cant_be_used(refuses: Refuses, arguments: list[str], words: str) -> None:
    refuses(arguments, words)


def test_a_fault_of_the_program_is_one_line_with_its_place(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object, **__: object) -> int:
        raise KeyError("some\nthing")

    monkeypatch.setattr("amqp_sansio_cli.lint.lint_command", fault)
    assert main(["lint", "x"]) == 70
    (line,) = capfd.readouterr().err.splitlines()
    assert "a fault of amqp-sansio itself: KeyError: 'some\\nthing' at cli/test_faults.py:" in line


def test_errors_in_the_words_of_the_system() -> None:
    from amqp_sansio_cli.errors import describe

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert describe(full) == "no space left on device"
    assert describe(full, "x") == "x: no space left on device"
    assert describe(FileNotFoundError(2, "No such file", b"n\xff")) == "n\udcff: no such file"
    assert describe(OSError(9, "Bad file descriptor", 7)) == "7: bad file descriptor"
    assert describe(OSError("x: bad")) == "x: bad"
    assert describe(OSError()) == "OSError"


def test_a_damaged_gzip_file_is_read_up_to_there(one_line: OneLine, tmp_path: Path) -> None:
    """No capture within, and the beginning of gzip: each is a line."""
    path = tmp_path / "x.pcap.gz"
    path.write_bytes(gzip.compress(b"no capture at all"))
    assert f"{path}: begins with" in one_line("replay", path)


def test_a_capture_at_standard_input_is_not_written_over(
    one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = tmp_path / "c.pcap"
    octets = named(BASIC).read_bytes()
    capture.write_bytes(octets)
    with open(capture) as given:
        monkeypatch.setattr(sys, "stdin", given)
        assert "c.pcap: is one of the captures" in one_line("report", "-", "--output", capture)
    assert capture.read_bytes() == octets


def test_a_page_that_cant_be_written_in_full_leaves_the_one_before(
    one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.write_text("before")
    write = Path.write_bytes

    def half(path: Path, octets: bytes) -> int:
        write(path, octets[:1000])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", half)
    said = one_line("report", named(BASIC), "--output", page)
    assert said == f"amqp-sansio: {page}: no space left on device"
    assert [page.read_text(), *tmp_path.iterdir()] == ["before", page]
