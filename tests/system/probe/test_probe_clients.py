"""`amqp-sansio probe --client` as a process: this project's clients keep every rule; what is no client is named."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from amqp_sansio_probe import CLIENT_CASES
from tests.kit.processes import LIMIT
from tests.system.probe.test_probe_command import refused

Run = Callable[..., subprocess.CompletedProcess[str]]
ROOT = Path(__file__).resolve().parents[3]
FINE = {"conforms", "conforms, other code", "informational"}


@pytest.mark.parametrize("version", ["0-8", "0-9-1", "0-10", "1.0"])
@pytest.mark.parametrize("client", ["sync_client", "asyncio_client"])
def test_this_projects_clients_keep_every_rule(
    cli_environment: Mapping[str, str], tmp_path: Path, client: str, version: str
) -> None:
    lines = tmp_path / "probe.jsonl"
    command = f"{sys.executable} -m examples.probe.{client}"
    only = ("--only", f"{version}/")
    words = [sys.executable, "-m", "amqp_sansio_cli", "probe", "--client", command, "--yes", *only]
    words += ["--json", str(lines)]
    # Cases that wait for heartbeats take most of the time.
    done = subprocess.run(
        words, env=cli_environment, cwd=ROOT, capture_output=True, text=True, timeout=10 * LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    assert {each["case"]: each["seen"] for each in found if each["verdict"] not in FINE} == {}
    assert len(found) == sum(each.version == version for each in CLIENT_CASES)


def script(path: Path, text: str) -> str:
    """The command of a program with this text."""
    path.write_text(text, encoding="utf-8")
    return f"{sys.executable} {path}"


DROPS = """
import json, os, socket
host, port = os.environ["AMQP_URL"].split("@")[1].strip("/").split(":")
if os.environ["AMQP_DO"] != "open" or os.environ["AMQP_VERSION"] != "0-9-1":
    raise SystemExit(89)
FRAME = lambda payload: b"\\x01\\x00\\x00" + len(payload).to_bytes(4, "big") + payload + b"\\xce"
with socket.create_connection((host, int(port))) as joined:
    joined.sendall(b"AMQP\\x00\\x00\\x09\\x01")
    joined.recv(4096)
    login = b"\\x05PLAIN" + b"\\x00\\x00\\x00\\x04\\x00a\\x00b" + b"\\x05en_US"
    joined.sendall(FRAME(b"\\x00\\x0a\\x00\\x0b" + bytes(4) + login))
    joined.recv(4096)
    joined.sendall(FRAME(b"\\x00\\x0a\\x00\\x1f\\x00\\x05\\x00\\x00\\x10\\x00\\x00\\x00"))
    joined.sendall(FRAME(b"\\x00\\x0a\\x00\\x28\\x01/\\x00\\x00"))
    joined.recv(4096)
    print("no JSON", "[" * 60_000, json.dumps({"event": "opened"}), sep="\\n", flush=True)
"""


def test_a_client_that_drops_its_connections(process: Run, tmp_path: Path) -> None:
    command = script(tmp_path / "drops.py", DROPS)
    xml, page = tmp_path / "probe.xml", tmp_path / "probe.html"
    only = ("--only", "0-9-1/wire/header-client-first", "--only", "0-9-1/rabbitmq/basic.ack")
    reports = ("--junit", xml, "--html", page, "--record", tmp_path / "recorded")
    done = process("probe", "--client", command, "--yes", "--name", "Dropper 1", *only, *reports)
    assert done.returncode == 0, done.stderr
    assert "0-9-1 publish: the program can't do this" in done.stdout
    assert "not run         basic.ack.server" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Dropper 1: 0 of 1 MUST, 1 unclean")
    assert "the end: no connection.close-ok" in done.stdout
    assert [each.get("type") for each in ElementTree.parse(xml).getroot().iter("failure")] == ["unclean"]
    assert "no connection.close-ok" in page.read_text()
    assert [path.name for path in (tmp_path / "recorded").iterdir()] == ["0-9-1_wire_header-client-first_client.pcapng"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise SystemExit(89)", "the client does nothing that it is told: the program can't do this"),
        ("raise SystemExit('no broker here')", "the program ends with 1: no broker here"),
        ("", "the program ends with 0: without a word"),
    ],
)
def test_a_program_that_is_no_client(process: Run, tmp_path: Path, text: str, words: str) -> None:
    command = script(tmp_path / "client.py", text)
    assert words in refused(process("probe", "--client", command, "--yes", "--only", "0-9-1"))


def test_a_program_that_speaks_http(process: Run, tmp_path: Path) -> None:
    text = (
        "import os, urllib.request\nhost = os.environ['AMQP_URL'].split('@')[1]\n"
        "urllib.request.urlopen('http://' + host, timeout=5)\n"
    )
    command = script(tmp_path / "client.py", text)
    line = refused(process("probe", "--client", command, "--yes", "--only", "0-9-1", "--patience", "1"))
    assert line.startswith("amqp-sansio: the client does nothing that it is told: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--client", "no-such-program-here"), "can't start no-such-program-here: no such file or directory"),
        (("--client", "'"), "the client's command can't be read"),
        (("--client", " "), "the client's command is empty"),
        (("--client", "true", "--listen", "nowhere"), "expected HOST:PORT"),
        (("--client", "true", "--workers", "33"), "--workers is from 1 to 32"),
        (
            ("--client", "true", "--listen", "127.0.0.1:65534", "--workers", "3"),
            "--workers 3 needs the ports from 65534 on, and the last is 65535",
        ),
        (("--client", "true", "amqp://localhost/"), "give one of: a URL, --client, or --merge"),
        ((), "give one of: a URL, --client, or --merge"),
    ],
)
def test_wrong_usage(process: Run, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(process("probe", *arguments, "--yes"))


@pytest.mark.parametrize(("more", "count"), [((), 1), (("--workers", "2"), 2)])
def test_a_port_that_is_named_is_used_and_those_that_follow_it_only_if_asked_for(
    process: Run, tmp_path: Path, more: tuple[str, ...], count: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    told = tmp_path / "told"
    telling = f"import os\nopen({str(told)!r}, 'a').write(os.environ['AMQP_URL'])\n"
    command = script(tmp_path / "client.py", telling + DROPS)
    only = ("--only", "0-9-1/wire/header-client-first", "--only", "0-9-1/connection.start-ok")
    done = process("probe", "--client", command, "--listen", f"127.0.0.1:{port}", "--yes", *more, *only)
    assert done.returncode == 0, done.stderr
    where = f"listens at 127.0.0.1:{port}{f' to {port + 1}' if count == 2 else ''}, "
    assert where in done.stderr and f"{count} side by side" in done.stderr
    assert {each for each in told.read_text().split("amqp://guest:guest@") if each} == {
        f"127.0.0.1:{port + number}/" for number in range(count)
    }


def test_a_port_that_is_taken(process: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused(process("probe", "--client", "true", "--listen", f"127.0.0.1:{port}", "--yes"))
    assert line == f"amqp-sansio: can't listen at 127.0.0.1:{port}: address already in use"
