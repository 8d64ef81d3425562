"""What the command says when its streams, its terminal or its files fail it: signals, full disks, pipes."""

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

from amqp_sansio_cli.files import write_whole
from tests.cli.conftest import OneLine, Refuses
from tests.cli.test_faults import BASIC, LOCAL, READERS, reading
from tests.kit.captures import named
from tests.kit.certificates import make_certificates
from tests.kit.processes import LIMIT, running

NOBODY = 65_534


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("dangling", "dangling: no such file or directory (a link to nowhere)"),
        ("linked", "linked/dangling: no such file or directory (a link to nowhere)"),
        ("circle", "circle: too many levels of symbolic links"),
        ("/proc/self/mem", "/proc/self/mem: input/output error"),
    ],
)
def test_links_and_devices_that_cant_be_read(
    one_line: OneLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, given: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("linked").mkdir()
    Path("dangling").symlink_to("nowhere")
    Path("linked/dangling").symlink_to("nowhere")
    Path("circle").symlink_to("circle")
    assert words in one_line(*reading(command, tmp_path), given)


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


def test_a_file_in_a_folder_that_cant_be_written(one_line: OneLine) -> None:
    """It is written to; a new one is refused, and nothing of it stays."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        page, new = folder / "page.html", folder / "new.html"
        page.write_text("before")
        page.chmod(0o666)
        folder.chmod(0o555)
        one_line("report", named(BASIC))
        with as_nobody():
            write_whole(page, "behind")
            with pytest.raises(PermissionError) as raised:
                write_whole(new, "behind")
        assert (raised.value.filename, page.read_text(), [*folder.iterdir()]) == (str(new), "behind", [page])
        folder.chmod(0o755)


@pytest.fixture
def full_disk(tmp_path: Path) -> None:
    """The file "full" is on a full disk: by a link, so that nothing replaces or removes the device itself."""
    (tmp_path / "full").symlink_to("/dev/full")


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *[
            ([*command, "--listen", LOCAL, "--ready-file", value], words)
            for command in (["broker"], ["record", "--upstream", "127.0.0.1:1", "--output", "x.pcapng"])
            for value, words in [
                ("", ".: is a directory"),
                ("/", "/: is a directory"),
                ("full", "full: no space left on device"),
                ("no/file", "no such file or directory"),
                ("x" * 300, "file name too long"),
            ]
        ],
        *[
            ([*command, "/proc/none"], "/proc/none: no such file or directory")
            for command in (
                ["broker", "--listen", LOCAL, "--record"],
                ["record", "--listen", LOCAL, "--upstream", "127.0.0.1:1", "--output"],
            )
        ],
        (["record", "--listen", LOCAL, "--upstream", "127.0.0.1:1", "--output", "full"], "full: no space left"),
        (["report", "CAPTURE", "--output", "full"], "full: no space left on device"),
        (["replay", "CAPTURE", "--engine", "spark", "--output", "/proc/none"], "/proc/none: no such"),
    ],
)
def test_files_that_cant_be_written(refuses: Refuses, arguments: list[str], words: str) -> None:
    refuses(arguments, words)


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
        [sys.executable, "-m", "amqp_sansio_cli", command, *files],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**cli_environment, "PYTHONUNBUFFERED": ""},
        preexec_fn=lambda: fault(descriptor),
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stderr.decode()) == (status, said)
    assert bool(done.stdout) == (descriptor == 2)


def test_no_standard_input(cli_environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "amqp_sansio_cli", "replay", "-"],
        capture_output=True,
        env=cli_environment,
        preexec_fn=lambda: os.close(0),
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, b"amqp-sansio: standard input is closed\n")


def test_ctrl_c_is_one_line(cli_environment: Mapping[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "some.pcap"
    os.mkfifo(pipe)
    with (
        running(
            [sys.executable, "-m", "amqp_sansio_cli", "lint", pipe], stderr=subprocess.PIPE, env=cli_environment
        ) as process,
        open(pipe, "wb"),
    ):
        # The pipe has a reader, so the command is reading.
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b"amqp-sansio: interrupted\n"


def test_the_second_ctrl_c_is_the_end_of_a_live_pipe(cli_environment: Mapping[str, str]) -> None:
    """The first one stops its writer too, where both run on one terminal."""
    with running(
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
        assert process.wait(LIMIT) == 0
        assert process.stdout.read().count(b"\n") > 10


def test_a_ready_file_that_is_no_file_is_written_and_stays(cli_environment: Mapping[str, str], tmp_path: Path) -> None:
    """A pipe gets the address; to replace it would leave its reader waiting."""
    pipe = tmp_path / "ready"
    os.mkfifo(pipe)
    with running(
        [sys.executable, "-m", "amqp_sansio_cli", "broker", "--listen", LOCAL, "--ready-file", pipe],
        stderr=subprocess.PIPE,
        env=cli_environment,
    ) as process:
        host, _, port = pipe.read_text().strip().rpartition(":")
        socket.create_connection((host, int(port))).close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0
    assert pipe.is_fifo()


def test_a_torn_recording_is_continued_by_the_broker(cli_environment: Mapping[str, str], tmp_path: Path) -> None:
    from amqp_sansio.capture import CaptureDamage, PcapngWriter, read_segments

    recording, ready = tmp_path / "r.pcapng", tmp_path / "ready"
    header = PcapngWriter().header()
    recording.write_bytes(header + header[:20])
    os.mkfifo(ready)
    with running(
        [
            sys.executable,
            "-m",
            "amqp_sansio_cli",
            "broker",
            "--listen",
            LOCAL,
            "--record",
            recording,
            "--ready-file",
            ready,
        ],
        stderr=subprocess.PIPE,
        env=cli_environment,
    ) as process:
        ready.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 0
    read = list(read_segments(recording.read_bytes()))
    assert not [row for row in read if isinstance(row, CaptureDamage)]


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
    # A pipe that is found in a folder is left out.
    said = one_line(*reading(command, tmp_path), first, second)
    writing.join()
    assert said == f"amqp-sansio: {second}: no such file or directory"
