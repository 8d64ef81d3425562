"""`amqp-sansio probe` as a process: against the embedded broker on a port, and against what isn't a broker."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from amqp_sansio.capture import Segment, read_segments
from amqp_sansio_probe import CASES
from tests.kit.processes import LIMIT
from tests.system.cli.conftest import Running

Run = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., Running]
QUICK = ("--yes", "--only", "0-9-1/queue.declare", "--seed", "7")


@contextmanager
def answering(*answers: bytes) -> Generator[str]:
    """A port where each connection is read once, gets the next of the answers (then the last again), and ends."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        left = list(answers)
        while True:
            try:
                joined, _ = listening.accept()
            except OSError:
                return
            with joined:
                joined.settimeout(LIMIT)
                joined.recv(65_536)
                joined.sendall(left.pop(0) if len(left) > 1 else left[0])

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield f"amqp://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        serving.join(LIMIT)


def test_every_report_of_a_run(process: Run, start: Start, tmp_path: Path) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    files = {name: tmp_path / f"probe.{name}" for name in ("junit", "json", "html", "write-expect")}
    wanted = [word for name, path in files.items() for word in (f"--{name}", path)]
    done = process("probe", broker.url(), *QUICK, *wanted, "--record", tmp_path / "recorded")
    assert done.returncode == 0, done.stderr
    assert "MUST" in done.stdout.splitlines()[-1]
    assert "seed 7" in done.stderr and "guest:***@" in done.stderr
    lines = [json.loads(line) for line in files["json"].read_text().splitlines()]
    assert lines and {each["verdict"] for each in lines} == {"conforms"}
    suite = ElementTree.parse(files["junit"]).getroot()
    assert suite.get("tests") == str(len(lines)) and suite.get("failures") == "0"
    assert files["html"].read_text().count('<details class="case">') == len(lines)
    for each in lines:
        segments = read_segments((tmp_path / "recorded" / each["recording"]).read_bytes())
        recorded = b"".join([one.payload for one in segments if isinstance(one, Segment)])
        assert recorded.startswith(b"AMQP\x00\x00\x09\x01")
    again = process("probe", broker.url(), *QUICK, "--expect", files["write-expect"])
    assert again.returncode == 0, again.stderr


def test_a_list_that_expects_a_failure_which_is_none(process: Run, start: Start, tmp_path: Path) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    known = tmp_path / "known.toml"
    known.write_text('["0-9-1/queue.declare/reserved"]\nverdict = "breaks"\n')
    done = process("probe", broker.url(), *QUICK, "--expect", known)
    assert done.returncode == 1
    assert "0-9-1/queue.declare/reserved is listed as breaks, and is: conforms" in done.stderr


def test_a_broken_must_is_status_1(process: Run, start: Start) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0", "--dialect", "rabbitmq")
    only = ("--yes", "--only", "0-9-1/exchange.delete/not-found")
    done = process("probe", broker.url(), *only)
    assert (done.returncode, "1 broken" in done.stdout) == (1, True), done.stderr
    documented = process("probe", broker.url(), *only, "--profile", "rabbitmq")
    assert (documented.returncode, "1 documented" in documented.stdout) == (0, True), documented.stderr


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The line of a run that couldn't be, behind the one that says what it was about to do."""
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


class Stale:
    """Reports of an earlier run, and what a run that couldn't begin is to leave in their place."""

    def __init__(self, folder: Path) -> None:
        self.files = {name: folder / f"probe.{name}" for name in ("junit", "json", "html", "write-expect")}
        for path in self.files.values():
            path.write_text("of yesterday")

    @property
    def options(self) -> list[str | Path]:
        return [word for name, path in self.files.items() for word in (f"--{name}", path)]

    def check(self, reason: str, peer: str) -> None:
        suite = ElementTree.parse(self.files["junit"]).getroot()
        assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
        assert suite.get("name") == f"amqp-sansio probe: {peer}"
        assert [each.get("message") for each in suite.iter("error")] == [reason]
        assert self.files["json"].read_text() == "", "a line for each case, and there is none"
        assert f">{escape(reason)}<" in self.files["html"].read_text()
        assert self.files["write-expect"].read_text() == "of yesterday", "nothing is known about its cases"


def test_nothing_listens(process: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    stale = Stale(tmp_path)
    line = refused(process("probe", f"amqp://127.0.0.1:{port}/", "--yes", *stale.options))
    reason = f"can't connect to 127.0.0.1:{port}: connection refused"
    assert line == f"amqp-sansio: {reason}"
    stale.check(reason, f"127.0.0.1:{port}")


def test_the_login_is_refused(process: Run, start: Start, tmp_path: Path) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    stale = Stale(tmp_path)
    line = refused(process("probe", broker.url("guest:wrong"), "--yes", *stale.options))
    assert line == "amqp-sansio: the login of guest is refused"
    stale.check("the login of guest is refused", f"127.0.0.1:{broker.port}")


OPENED = "1.0/transport/open/container-id"
SHUT = ("0-9-1/queue.declare/reserved", "0-10/session.attach/scoping", "0-8/connection.tune/propose")


@pytest.mark.parametrize(
    "shut", [*[(each,) for each in SHUT], SHUT], ids=lambda shut: "+".join([each.partition("/")[0] for each in shut])
)
@pytest.mark.parametrize("beside", [(OPENED,), ()], ids=["beside-1.0", "alone"])
def test_a_version_that_the_url_does_not_open_is_an_error(
    process: Run, start: Start, tmp_path: Path, shut: tuple[str, ...], beside: tuple[str, ...]
) -> None:
    """The embedded broker opens 1.0 for any virtual host's name."""
    broker = start("broker", "--listen", "127.0.0.1:0")
    url = broker.url(vhost="nosuch")
    xml, page = tmp_path / "probe.xml", tmp_path / "probe.html"
    only = [word for each in (*shut, *beside) for word in ("--only", each)]
    done = process("probe", url, "--yes", *only, "--junit", xml, "--html", page)
    reason = refused(done).removeprefix("amqp-sansio: ")
    versions = [each.partition("/")[0] for each in shut]
    assert reason.startswith(f"127.0.0.1:{broker.port} speaks {', '.join(versions)}, and opens no connection of ")
    assert "for the user guest and the virtual host 'nosuch'" in reason and reason.endswith(": --only 1.0/")
    assert ("1 of 1 MUST" in done.stdout) == bool(beside), "what opens is probed"
    suite = ElementTree.parse(xml).getroot()
    assert [each.get("message") for each in suite.iter("error")] == [reason]
    assert f">{escape(reason)}<" in page.read_text()


def test_a_version_that_is_left_out_may_be_shut(process: Run, start: Start) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    done = process("probe", broker.url(vhost="nosuch"), "--yes", "--only", OPENED)
    assert done.returncode == 0, done.stderr
    assert "nosuch'" not in done.stderr


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "the peer speaks HTTP, not AMQP"),
        (b"\x15\x03\x01\x00\x02\x02\x16 ", "the peer speaks TLS: try amqps"),
        (b"", "the peer speaks no version of AMQP that is known here"),
    ],
)
def test_peers_that_speak_something_else(process: Run, said: bytes, text: str, tmp_path: Path) -> None:
    stale = Stale(tmp_path)
    with answering(said) as url:
        assert refused(process("probe", url, "--yes", *stale.options)) == f"amqp-sansio: {text}"
    stale.check(text, url.removeprefix("amqp://").strip("/"))


def test_tls_with_a_peer_that_speaks_something_else(process: Run) -> None:
    with answering(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") as url:
        said = refused(process("probe", url.replace("amqp:", "amqps:"), "--yes"))
    where = url.removeprefix("amqp://").strip("/")
    assert said == f"amqp-sansio: TLS with {where} fails: the peer speaks something else: try amqp"


def test_a_version_that_cannot_be_opened(process: Run) -> None:
    with answering(b"AMQP\x00\x01\x00\x00") as url:
        said = refused(process("probe", url, "--yes"))
    assert said == "amqp-sansio: a connection of 1.0 can't be opened: the header 414d515000010000"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("amqp://localhost/", "--only", "0-9-1/nothing"), "no case begins with 0-9-1/nothing"),
        (("http://localhost/",), "the URL: "),
        (("amqp://localhost/", "--level", "most"), "invalid choice"),
        (("amqp://localhost/", "--html", "no-such-folder/probe.html"), "no such folder: no-such-folder"),
        (("amqp://localhost/", "--write-expect", "no-such-folder/a.toml"), "no such folder: no-such-folder"),
        (("amqp://localhost/", "--workers", "0"), "--workers is from 1 to 32"),
        (("amqp://localhost/", "--workers", "33"), "--workers is from 1 to 32"),
    ],
)
def test_wrong_usage(process: Run, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(process("probe", *arguments, "--yes"))


def test_a_broker_that_dies_midway_leaves_the_cases_until_then(process: Run, start: Start, tmp_path: Path) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    lines, xml = tmp_path / "probe.jsonl", tmp_path / "probe.xml"

    def end() -> None:
        # As soon as the first case is written.
        while not (lines.exists() and lines.read_text()):
            if broker.process.poll() is not None:
                return
        broker.process.kill()

    ending = threading.Thread(target=end)
    ending.start()
    page, known, recorded = tmp_path / "probe.html", tmp_path / "known.toml", tmp_path / "recorded"
    others = ("--html", page, "--write-expect", known, "--record", recorded)
    done = process("probe", broker.url(), "--yes", "--patience", "1", "--json", lines, "--junit", xml, *others)
    ending.join(LIMIT)
    line = refused(done)
    kept = [json.loads(each) for each in lines.read_text().splitlines()]
    assert line.startswith(f"amqp-sansio: ended after {len(kept)} of ")
    # Behind those that it died under stand those that had ended.
    assert "harmed" in {each["verdict"] for each in kept}
    suite = ElementTree.parse(xml).getroot()
    assert (suite.get("tests"), suite.get("errors")) == (str(len(kept) + 1), "1")
    reason = line.removeprefix("amqp-sansio: ")
    assert [each.get("message") for each in suite.iter("error")] == [reason]
    assert f">{escape(reason)}<" in page.read_text()
    assert page.read_text().count('<details class="case">') == len(kept)
    assert known.read_text().startswith(f"cases = {len(kept)}\n")
    assert {path.name for path in recorded.iterdir()} == {each["recording"] for each in kept if each["recording"]}


def test_it_says_what_it_will_do_and_gentle_leaves_out_what_may_harm(process: Run, start: Start) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    harmful = [each.name for each in CASES if each.may_harm and each.version == "0-9-1"]
    only = ("--yes", "--only", harmful[0])
    said = process("probe", broker.url(), *only).stderr.splitlines()[0]
    assert f"@127.0.0.1:{broker.port}/" in said and "with 1 cases" in said
    assert "1 may harm others (--gentle leaves those out)" in said
    assert "deletes queues and exchanges named probe-*" in said
    gentle = process("probe", broker.url(), *only, "--gentle")
    assert "1 that may harm others aren't run (--gentle)" in gentle.stderr.splitlines()[0]
    assert refused(gentle) == "amqp-sansio: no case could run: may harm (--gentle)"
    assert "not run" in gentle.stdout and "seen: may harm (--gentle)" in gentle.stdout


@pytest.mark.parametrize(("answer", "status"), [(b"n\n", 2), (b"\n", 2), (b"y\n", 0)])
def test_a_person_is_asked_first(cli_environment: Mapping[str, str], start: Start, answer: bytes, status: int) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0")
    ours, theirs = os.openpty()
    words = [sys.executable, "-m", "amqp_sansio_cli", "probe", broker.url(), "--only", "0-9-1/tx", "--seed", "1"]
    try:
        os.write(ours, answer)
        done = subprocess.run(
            words, env=cli_environment, stdin=theirs, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == status, done.stderr
    assert "go on? [y/N]" in done.stderr
    assert ("not begun; --yes doesn't ask" in done.stderr) == (status == 2)


def test_runs_of_several_brokers_on_one_page(process: Run, start: Start, tmp_path: Path) -> None:
    dialects = ("rabbitmq", "specification")
    files = [tmp_path / f"{dialect}.jsonl" for dialect in dialects]
    for dialect, file in zip(dialects, files, strict=True):
        broker = start("broker", "--listen", "127.0.0.1:0", "--dialect", dialect)
        only = ("--only", "0-9-1/exchange.delete")
        process("probe", broker.url(), "--yes", *only, "--json", file)
    page = tmp_path / "page.html"
    done = process("probe", "--merge", *files, "--html", page)
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        "amqp_sansio 0.1.0 (rabbitmq)",
        "amqp_sansio 0.1.0 (specification)",
    ]
    assert page.read_text().count('<details class="case">') == len(files[0].read_text().splitlines())


def test_a_file_that_has_no_results(process: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("{}\n")
    assert refused(process("probe", "--merge", file, "--html", tmp_path / "page.html")).endswith(
        "a.jsonl: line 1 isn't a result of the probe"
    )
    assert "--merge needs --html" in refused(process("probe", "--merge", file))
    assert "no such file" in refused(process("probe", "--merge", tmp_path / "none", "--html", file))
