"""Whatever the command is given, it says in one line what is wrong, and its exit status is the documented one."""

import errno
import gzip
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from amqp_sansio_cli.main import main
from tests.kit.captures import named
from tests.kit.certificates import make_certificates

READERS = ("replay", "lint", "report")
BASIC = "o091_pika_basic.pcap"
LOCAL = "127.0.0.1:0"
LONG = "x" * 300
NO_UTF8 = "\udcff"
NUMBER = "1" * 5000
NOBODY = 65_534

OneLine = Callable[..., str]


@pytest.fixture
def one_line(capfd: pytest.CaptureFixture[str]) -> OneLine:
    """Call with arguments that the command can't use; gives its line."""

    def run(*arguments: str | Path) -> str:
        status = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        *said, last = err.splitlines()
        assert (status, out) == (2, ""), err
        assert last.startswith("amqp-sansio: ") and last.isprintable()
        # Who listens says so before anything can go wrong with the file that tells it to others.
        assert not said or (len(said) == 1 and "listening on" in said[0])
        return last

    return run


def reading(command: str, folder: Path) -> list[str]:
    """A command that reads captures, with what else it needs."""
    return [command, *(["--output", str(folder / "page.html")] if command == "report" else [])]


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("dangling", "dangling: no such file or directory (a link to nowhere)"),
        ("linked", "linked/dangling: no such file or directory (a link to nowhere)"),
        ("circle", "circle: too many levels of symbolic links"),
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
        ("/proc/self/mem", "/proc/self/mem: input/output error"),
    ],
)
def test_files_that_cant_be_read(
    one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, given: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("linked").mkdir()
    Path("dangling").symlink_to("nowhere")
    Path("linked/dangling").symlink_to("nowhere")
    Path("circle").symlink_to("circle")
    assert words in one_line(*reading(command, tmp_path), given)


@pytest.mark.parametrize("command", READERS)
def test_a_file_that_vanishes(one_line: OneLine, tmp_path: Path, command: str) -> None:
    """It goes while the file before it, a pipe, is read."""
    folder = tmp_path / "captures"
    folder.mkdir()
    first, second = folder / "a.pcap", folder / "b.pcap"
    os.mkfifo(first)
    second.write_bytes(named(BASIC).read_bytes())

    def write() -> None:
        with open(first, "wb") as pipe:
            second.unlink()
            pipe.write(named(BASIC).read_bytes())

    writing = threading.Thread(target=write)
    writing.start()
    said = one_line(*reading(command, tmp_path), folder)
    writing.join()
    assert said == f"amqp-sansio: {second}: no such file or directory"


@contextmanager
def as_nobody() -> Generator[None]:
    """Without the rights of root, where the tests have them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("given", ["locked", "locked/x.pcap", "locked.pcap"])
def test_what_may_not_be_read(one_line: OneLine, command: str, given: str) -> None:
    options = ["--output", "x.html"] if command == "report" else []
    here = os.getcwd()
    # Not below pytest's folder, which only its owner may enter.
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "locked").mkdir(mode=0)
        (folder / "locked.pcap").write_bytes(b"")
        (folder / "locked.pcap").chmod(0)
        os.chdir(folder)
        try:
            # The command's modules are loaded now: without the rights of root they may not be readable.
            one_line(command, *options, "missing.pcap")
            with as_nobody():
                said = one_line(command, *options, given)
        finally:
            os.chdir(here)
            (folder / "locked").chmod(0o700)
    assert said == f"amqp-sansio: {given}: permission denied"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: COMMAND"),
        (["so\nme"], "invalid choice: 'so\\nme'"),
        (["replay"], "required: FILE"),
        (["replay", "x", "--so\nme"], "unrecognized arguments: --so\\nme"),
        (["replay", "x", "--table", "\x1b"], "argument --table: invalid choice"),
        (["replay", "x", "--format", ""], "argument --format: invalid choice"),
        (["replay", "x", "--body", "all"], "argument --body: invalid choice"),
        (["replay", "x", "--engine", "no"], "argument --engine: invalid choice"),
        (["replay", "x", "--output", "y"], "--output wants --engine spark"),
        (["replay", "x", "--engine", "spark"], "--engine spark wants --output"),
        (["replay", "-", "--engine", "spark", "--output", "y"], "reads files, not standard input"),
        (["replay", "CAPTURE", "--engine", "spark", "--output", LONG], "x: file name too long"),
        (["replay", "CAPTURE", "--engine", "spark", "--output", "CAPTURE/x"], "/x: not a directory"),
        (["replay", "CAPTURE", "--engine", "spark", "--output", "/proc/none"], "/proc/none: no such"),
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
        (["report", "CAPTURE", "--output", "full"], "full: no space left on device"),
        (["report", "CAPTURE", "--output", "o.html", "--every", "5"], "--every is for a live pipe alone"),
        (["report", "CAPTURE", "--output", "o.html", "--connection", NO_UTF8], "begins with '\\udcff'"),
        *[
            ([*command, *more], words)
            for command in (["broker"], ["record", "--upstream", "h:1", "--output", "x.pcapng"])
            for more, words in [
                (["--listen", f"127.0.0.1:{NUMBER}"], "expected HOST:PORT"),
                (["--listen", "a..b:0"], "'a..b' can't be the name of a host"),
                (["--listen", f"{LONG}:0"], "can't be the name of a host"),
                (["--listen", f"{NO_UTF8}:0"], "can't be the name of a host"),
                (["--listen", LOCAL, "--ready-file", ""], ".: is a directory"),
                (["--listen", LOCAL, "--ready-file", "/"], "/: is a directory"),
                (["--listen", LOCAL, "--ready-file", "full"], "full: no space left on device"),
                (["--listen", LOCAL, "--ready-file", "no/file"], "no such file or directory"),
                (["--listen", LOCAL, "--ready-file", LONG], "file name too long"),
            ]
        ],
        (["record", "--listen", LOCAL, "--upstream", "a..b:1", "--output", "x"], "'a..b' can't be the name"),
        *[
            ([*command, value], words)
            for command in (
                ["record", "--listen", LOCAL, "--upstream", "h:1", "--output"],
                ["broker", "--listen", LOCAL, "--record"],
            )
            for value, words in [
                ("", ".: is a directory"),
                ("no/file", "no/file: no such file or directory"),
                (LONG, "file name too long"),
                ("CAPTURE", "exists and is no pcapng recording"),
                ("/proc/none", "/proc/none: no such file or directory"),
            ]
        ],
        (["record", "--listen", LOCAL, "--upstream", "h:1", "--output", "full"], "full: no space left"),
        *[
            (["broker", "--listen", LOCAL, option, value], words)
            for option in ("--user", "--vhost", "--product")
            for value, words in [(NO_UTF8, f"argument {option}: isn't UTF-8"), (LONG, "is longer than 255 octets")]
        ],
        (["broker", "--listen", LOCAL, "--tls-cert", "CAPTURE"], "isn't a certificate with its key"),
        (["broker", "--listen", LOCAL, "--tls-cert", "CAPTURE", "--tls-key", LONG], "file name too long"),
        (["broker", "--listen", LOCAL, "--tls-cert", "/tmp"], "/tmp: no such file"),
    ],
)  # fmt: skip
def test_arguments_that_cant_be_used(
    one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    # A link: nothing here may replace or remove the device itself.
    Path("full").symlink_to("/dev/full")
    capture = tmp_path / "c.pcap"
    capture.write_bytes(named(BASIC).read_bytes())
    said = one_line(*[each.replace("CAPTURE", str(capture)) for each in arguments])
    assert words in said
    assert capture.read_bytes() == named(BASIC).read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_a_key_with_a_password_and_no_terminal(
    one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = make_certificates(tmp_path, user="card")
    locked = tmp_path / "locked.pem"
    subprocess.run(
        ["openssl", "pkey", "-aes256", "-passout", "pass:x", "-in", certificates.server_key, "-out", locked],
        check=True,
        capture_output=True,
    )
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        said = one_line("broker", "--listen", LOCAL, "--tls-cert", certificates.server, "--tls-key", locked)
    assert "is encrypted" in said


def test_a_fault_of_the_program_is_one_line_with_its_place(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object, **__: object) -> int:
        raise KeyError("some\nthing")

    monkeypatch.setattr("amqp_sansio_cli.lint.lint_command", fault)
    assert main(["lint", "x"]) == 70
    (line,) = capfd.readouterr().err.splitlines()
    assert "a fault of amqp-sansio itself: KeyError: 'some\\nthing' at cli/test_faults.py:" in line


def full(descriptor: int) -> None:
    """The disk behind it is full."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), descriptor)


def unread(descriptor: int) -> None:
    """Nobody reads the pipe any more."""
    reader, writer = os.pipe()
    os.dup2(writer, descriptor)
    os.close(reader)


CLOSED = "amqp-sansio: standard output is closed\n"
FULL = "amqp-sansio: standard output: no space left on device\n"
COUNT = "amqp-sansio: 1 error, 0 warnings in 2 connections\n"


@pytest.mark.parametrize(
    ("command", "descriptor", "fault", "status", "said"),
    [
        ("replay", 1, full, 2, FULL),
        ("replay", 1, os.close, 2, CLOSED),
        ("replay", 1, unread, 0, ""),
        ("replay", 2, os.close, 0, ""),
        ("lint", 1, full, 2, FULL),
        # The rows go nowhere; the status stays true to the captures.
        ("lint", 1, unread, 1, COUNT),
        ("lint", 2, full, 1, ""),
        ("--help", 1, full, 2, FULL),
        ("--version", 1, os.close, 2, CLOSED),
    ],
)
def test_standard_streams_that_cant_be_written(
    cli_environment: Mapping[str, str],
    command: str,
    descriptor: int,
    fault: Callable[[int], None],
    status: int,
    said: str,
) -> None:
    files = [] if command.startswith("--") else [named("o091_pika_channel_errors.pcap")]
    done = subprocess.run(
        [sys.executable, "-m", "amqp_sansio_cli", command, *files], stdin=subprocess.DEVNULL, capture_output=True,
        env={**cli_environment, "PYTHONUNBUFFERED": ""}, preexec_fn=lambda: fault(descriptor), timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.decode()) == (status, said)
    assert bool(done.stdout) == (descriptor == 2)


def test_no_standard_input(cli_environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "amqp_sansio_cli", "replay", "-"], capture_output=True, env=cli_environment,
        preexec_fn=lambda: os.close(0), timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, b"amqp-sansio: standard input is closed\n")


def test_ctrl_c_is_one_line(cli_environment: Mapping[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "some.pcap"
    os.mkfifo(pipe)
    with (
        subprocess.Popen(
            [sys.executable, "-m", "amqp_sansio_cli", "lint", pipe], stderr=subprocess.PIPE, env=cli_environment
        ) as process,
        open(pipe, "wb"),
    ):
        # The pipe has a reader, so the command is reading.
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"amqp-sansio: interrupted\n"


def test_the_second_ctrl_c_is_the_end_of_a_live_pipe(cli_environment: Mapping[str, str]) -> None:
    """The first one stops its writer too, where both run on one terminal."""
    with subprocess.Popen(
        [sys.executable, "-m", "amqp_sansio_cli", "replay", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli_environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(named(BASIC).read_bytes())
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert b"waiting for the end of the pipe" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stdout.read().count(b"\n") > 10


def test_a_ready_file_that_is_no_file_is_written_and_stays(cli_environment: Mapping[str, str], tmp_path: Path) -> None:
    """A pipe gets the address; to replace it would leave its reader waiting."""
    pipe = tmp_path / "ready"
    os.mkfifo(pipe)
    with subprocess.Popen(
        [sys.executable, "-m", "amqp_sansio_cli", "broker", "--listen", LOCAL, "--ready-file", pipe],
        stderr=subprocess.PIPE,
        env=cli_environment,
    ) as process:
        host, _, port = pipe.read_text().strip().rpartition(":")
        socket.create_connection((host, int(port))).close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert pipe.is_fifo()


def test_a_torn_recording_is_continued_by_the_broker(cli_environment: Mapping[str, str], tmp_path: Path) -> None:
    from amqp_sansio.capture import CaptureDamage, PcapngWriter, read_segments

    recording, ready = tmp_path / "r.pcapng", tmp_path / "ready"
    header = PcapngWriter().header()
    recording.write_bytes(header + header[:20])
    os.mkfifo(ready)
    with subprocess.Popen(
        [sys.executable, "-m", "amqp_sansio_cli", "broker", "--listen", LOCAL,
         "--record", recording, "--ready-file", ready],
        stderr=subprocess.PIPE,
        env=cli_environment,
    ) as process:  # fmt: skip
        ready.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    read = list(read_segments(recording.read_bytes()))
    assert not [row for row in read if isinstance(row, CaptureDamage)]


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
