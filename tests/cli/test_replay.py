"""`replay` and `lint`: rows on standard output, words on standard error, and the exit status."""

import csv
import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest

from amqp_sansio.capture import Segment, read_segments
from amqp_sansio.capture.gz import SLICE
from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_cli.inputs import find_inputs, read_inputs
from amqp_sansio_cli.progress import Progress
from tests.kit.captures import named
from tests.kit.later import restamped
from tests.kit.packets import ACK, ethernet, ipv4, pcap, tcp
from tests.kit.tables import local_rows, segments_of

Run = Callable[..., subprocess.CompletedProcess[str]]
BASIC = "o091_pika_basic.pcap"
REJECTS = "o091_pika_nack_reject_requeue.pcap"


def rows_of(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """What the command said when it couldn't do its work."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("amqp-sansio: ") and done.stderr.count("\n") == 1
    return done.stderr


TLS: Final = (b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", b"\x16\x03\x03\x00\x05\x02\x00\x00\x01\x00")
"""The first octets of a handshake of TLS (RFC 8446 section 5.1)."""
HTTP: Final = (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n")


PASSED = "amqp-sansio: passed over 1 connection that isn't AMQP (1 HTTP); --port names a port of AMQP"


def without_amqp(said: tuple[bytes, bytes] = HTTP) -> bytes:
    """A capture of a connection from its begin, with what client and server say."""
    packets = [
        tcp(1, 0, flags=2, dport=80),
        tcp(9, 2, flags=0x12, sport=80, dport=1000),
        tcp(2, 10, dport=80),
        tcp(2, 10, said[0], flags=ACK | 8, dport=80),
        tcp(10, 20, said[1], flags=ACK | 8, sport=80, dport=1000),
    ]
    addresses = [("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")]
    frames = [
        ethernet(ipv4(packet, src=addresses[at][0], dst=addresses[at][1]))
        for packet, at in zip(packets, (0, 1, 0, 0, 1), strict=True)
    ]
    return pcap([(1, number, frame) for number, frame in enumerate(frames)])


def test_rows_of_chosen_connections(cli: Run) -> None:
    """By the begin of an id, the client's address, or a part of its name or product."""
    mixed = named("o_mixed_4_protocols.pcap")
    every = [json.loads(line) for line in cli("replay", mixed, "--table", "connections").stdout.splitlines()]
    pika = next(row for row in every if row["client_product"] == "Pika Python Client Library")
    for word in (pika["connection"][:9], pika["client"], "pika"):
        done = cli("replay", mixed, "--table", "events", "--connection", word)
        assert {json.loads(line)["connection"] for line in done.stdout.splitlines()} == {pika["connection"]}
    assert "no connection has an id that begins with 'nobody'" in one_line(cli("lint", mixed, "--connection", "nobody"))


@pytest.mark.parametrize("name", ["o091d_exchange_gap.pcap", "o10d_types_gap.pcap"])
@pytest.mark.parametrize("table", COLUMNS)
def test_rows_are_json_lines_with_the_contracts_columns(cli: Run, table: str, name: str) -> None:
    path = named("o091_concurrent_4_clients.pcap" if table == "consumers" and "o091" in name else name)
    rows = rows_of(cli("replay", path, "--table", table))
    assert rows
    for row in rows:
        assert list(row) == [name for name, _ in COLUMNS[table]]
    wanted = [json.loads(text) for text in local_rows(segments_of([path]))[table]]
    for row in rows:
        row.pop("ts", None)
    key = json.dumps
    assert sorted(rows, key=lambda row: key(row, sort_keys=True)) == wanted


def test_events_are_the_default_with_fields_and_times(cli: Run) -> None:
    rows = rows_of(cli("replay", named(BASIC)))
    assert rows[0]["event"] == "protocol-header"
    publish = next(row for row in rows if row["event"] == "basic.publish")
    assert publish["fields"]["exchange"] == ""
    assert publish["ts"] == "2026-11-20T09:38:53.117581Z"
    assert publish["ts_ns"] == 1795167533117581000


def test_the_same_files_in_any_order_give_the_same_text(cli: Run) -> None:
    paths = [named(BASIC), named("o08_amqplib_rabbit_basic.pcap"), named("o091_pika_tx.pcapng")]
    texts = {cli("replay", *some).stdout for some in (paths, paths[::-1], [*paths[1:], paths[0]])}
    assert len(texts) == 1


def test_tables_for_people_fit_the_terminal(cli: Run) -> None:
    for width in (80, 120, 200):
        for table in COLUMNS:
            name = "o091_concurrent_4_clients.pcap" if table == "consumers" else "o091d_exchange_gap.pcap"
            done = cli("replay", named(name), "--table", table, "--format", "table", env={"COLUMNS": str(width)})
            lines = done.stdout.splitlines()
            assert len(lines) > 2
            assert max(map(len, lines)) <= width
            assert set(lines[1]) == {"-", " "}


def test_tables_for_people_of_1_0(cli: Run) -> None:
    path = named("o10_proton_proton_outcomes.pcap")
    wide = {"COLUMNS": "200"}
    messages = cli("replay", path, "--table", "messages", "--format", "table", env=wide)
    shown = [line.split()[3:] for line in messages.stdout.splitlines()[2:]]
    assert [(row[0], row[1], row[2], row[4]) for row in shown] == [
        ("publish", address, str(tag), outcome)
        for tag, (address, outcome) in enumerate(
            [("rej", "rejected"), ("rel", "released"), ("mod", "modified"), ("ok", "accepted")]
        )
    ]
    events = cli("replay", path, "--format", "table", env=wide).stdout
    assert "handle=0 delivery_id=0 delivery_tag=" in events
    assert "role=true first=0 settled=true state=" in events


@pytest.mark.parametrize(
    ("body", "wanted"), [("none", {}), ("size", {"body_size": 5}), ("base64", {"body_size": 5, "body": "aGVsbG8="})]
)
def test_what_fields_say_of_a_body(cli: Run, body: str, wanted: dict[str, object]) -> None:
    rows = rows_of(cli("replay", named(BASIC), "--body", body))
    publish = next(row for row in rows if row["event"] == "basic.publish")
    told = {name: value for name, value in publish["fields"].items() if name.startswith("body")}
    assert told == wanted


def test_stdin_gzip_and_folders_are_read(cli: Run, tmp_path: Path) -> None:
    octets = named(BASIC).read_bytes()
    wanted = cli("replay", named(BASIC)).stdout
    assert cli("replay", "-", stdin=octets).stdout == wanted
    (tmp_path / "a.pcap.gz").write_bytes(gzip.compress(octets))
    assert cli("replay", tmp_path / "a.pcap.gz").stdout == wanted
    assert cli("replay", tmp_path).stdout == wanted


def test_other_files_of_a_folder_are_left_out(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(named(BASIC).read_bytes())
    for name in ("notes.txt", "b.log", "c.md", "d.json"):
        (tmp_path / name).write_text("not a capture")
    done = cli("replay", tmp_path)
    assert done.stdout == cli("replay", tmp_path / "a.pcap").stdout
    assert done.stderr == "amqp-sansio: left out, not pcap or pcapng: b.log, c.md, d.json and 1 more\n"
    (tmp_path / "a.pcap").unlink()
    assert "begins with" in one_line(cli("replay", tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes in folders")
def test_a_pipe_in_a_folder_is_left_out_and_not_waited_for(cli: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "live.pcap")
    assert "no file is left to read" in cli("replay", tmp_path).stderr
    (tmp_path / "a.pcap").write_bytes(named(BASIC).read_bytes())
    done = cli("replay", tmp_path)
    assert done.stdout == cli("replay", tmp_path / "a.pcap").stdout
    assert done.stderr == "amqp-sansio: left out, pipes or devices: live.pcap\n"


def test_what_cant_be_read_is_one_line(cli: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a capture")
    (tmp_path / "empty.pcap").touch()
    assert "nowhere.pcap: no such file" in one_line(cli("replay", "nowhere.pcap"))
    assert "begins with" in one_line(cli("replay", named(BASIC), notes))
    assert str(notes) in one_line(cli("lint", notes))
    assert "empty" in one_line(cli("replay", tmp_path / "empty.pcap"))
    assert "stdin: begins with" in one_line(cli("replay", "-", stdin=b"nothing"))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["report", "x"],
        ["broker", "--listen", "nowhere"],
        ["replay"],
        ["replay", "x", "--table", "queues"],
        ["replay", "x", "--output", "y"],
        ["replay", "x", "--engine", "spark"],
        ["replay", "-", "--engine", "spark", "--output", "y"],
        ["replay", "x", "--engine", "spark", "--output", "y", "--format", "table"],
        ["lint", "x", "--fail-on", "nothing"],
        ["record", "--listen", "127.0.0.1:0"],
    ],
)
def test_wrong_usage_is_one_line(cli: Run, arguments: list[str]) -> None:
    one_line(cli(*arguments))


@pytest.mark.parametrize(
    ("skew", "words"),
    [
        ("-1", "clock_skew is from 0 to 31622400 seconds, not -1.0"),
        ("nan", "clock_skew is from 0 to 31622400 seconds, not nan"),
        ("1e99", "clock_skew is from 0 to 31622400 seconds, not 1e+99"),
        ("much", "is a number of seconds, not 'much'"),
    ],
)
def test_a_wrong_skew_says_what_is_right(cli: Run, skew: str, words: str) -> None:
    line = one_line(cli("lint", "--clock-skew", skew, "x"))
    assert line.startswith(f"amqp-sansio: argument --clock-skew: {words} (see amqp-sansio lint"), line


def test_amqp_without_messages_is_amqp(cli: Run) -> None:
    done = cli("replay", named("o010_messaging_authfail.pcap"), "--table", "messages")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_capture_without_amqp_has_no_rows(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "web.pcap"
    path.write_bytes(without_amqp())
    for table in COLUMNS:
        done = cli("replay", path, "--table", table)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.splitlines() == [PASSED, f"amqp-sansio: no AMQP in {path}"]
    done = cli("lint", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [PASSED, f"amqp-sansio: no AMQP in {path}"]


@pytest.mark.parametrize("table", [*COLUMNS, "histories"])
def test_csv_has_the_values_of_json_lines(cli: Run, table: str) -> None:
    rows = rows_of(cli("replay", named(BASIC), "--table", table))
    read = csv.DictReader(StringIO(cli("replay", named(BASIC), "--table", table, "--format", "csv").stdout))
    texts = {None: "", True: "true", False: "false"}
    found = list(read)
    assert len(found) == len(rows)
    for row, line in zip(rows, found, strict=True):
        for name, value in row.items():
            if isinstance(value, (dict, list)):
                assert json.loads(line[name]) == value
            else:
                assert line[name] == (texts[value] if value is None or isinstance(value, bool) else str(value))


def test_histories_follow_each_message(cli: Run) -> None:
    rows = rows_of(cli("replay", named(REJECTS), "--table", "histories"))
    assert [row["what"] for row in rows if row["history"] == rows[0]["history"]][:4] == [
        "publish",
        "get",
        "settle",
        "dead-letter",
    ]
    table = cli("replay", named(REJECTS), "--table", "histories", "--format", "table").stdout.splitlines()
    assert table[0].split()[:3] == ["message", "step", "time"] and len(table) == len(rows) + 2


def test_encrypted_traffic_is_called_so(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "secret.pcap"
    path.write_bytes(without_amqp(TLS))
    for command in (("replay",), ("lint",), ("report", "--output", tmp_path / "x.html")):
        last = cli(*command, path).stderr.splitlines()[-1]
        assert last.startswith(f"amqp-sansio: no AMQP in {path} that can be read: 1 connection is TLS; "), command
        assert "amqp-sansio record" in last


def test_in_the_company_of_amqp_other_connections_are_counted(cli: Run, tmp_path: Path) -> None:
    """They have rows where they go to a port of AMQP."""
    shutil.copy(named(BASIC), tmp_path)
    (tmp_path / "web.pcap").write_bytes(without_amqp())
    done = cli("replay", tmp_path, "--table", "connections")
    assert [row["protocol"] for row in rows_of(done)] == ["0-9-1"]
    assert PASSED in done.stderr.splitlines()
    done = cli("lint", tmp_path)
    assert done.stderr.splitlines() == [PASSED, "amqp-sansio: 0 errors, 0 warnings in 1 connection"]
    done = cli("replay", tmp_path, "--table", "connections", "--port", "80")
    assert sorted(str(row["protocol"]) for row in rows_of(done)) == ["0-9-1", "None"]
    assert not done.stderr


@pytest.mark.parametrize("port", ["0", "65536", "amqp", "1_0"])
def test_a_port_that_is_none_is_refused(cli: Run, port: str) -> None:
    done = cli("lint", named(BASIC), "--port", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"is a port from 1 to 65535, not '{port}'" in done.stderr


def test_a_capture_that_is_cut_short_has_its_rows_and_a_violation(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(named(BASIC).read_bytes()[:-50])
    assert len(rows_of(cli("replay", path))) > 20
    rules = {row["rule"] for row in rows_of(cli("replay", path, "--table", "violations"))}
    assert "capture/truncated-file" in rules


@pytest.mark.parametrize(
    ("name", "fail_on", "status"),
    [
        (BASIC, "warning", 0),
        (BASIC, "error", 0),
        ("o091d_exchange_gap.pcap", "warning", 1),
        ("o091d_exchange_gap.pcap", "error", 0),
        ("o091_pika_channel_errors.pcap", "warning", 1),
        ("o091_pika_channel_errors.pcap", "error", 1),
        ("o10_proton_proton_basic.pcap", "warning", 0),
        ("o10d_types_gap.pcap", "warning", 1),
        ("o10d_types_gap.pcap", "error", 0),
    ],
)
def test_lint_has_an_exit_status(cli: Run, name: str, fail_on: str, status: int) -> None:
    done = cli("lint", named(name), "--fail-on", fail_on)
    assert done.returncode == status
    assert done.stderr.startswith("amqp-sansio: ") and done.stderr.count("\n") == 1


def test_lint_says_what_where_and_when(cli: Run) -> None:
    done = cli("lint", named("o091_pika_channel_errors.pcap"))
    assert done.returncode == 1
    title, finding, text = done.stdout.splitlines()
    client = "127.0.0.1:46180 (Pika Python Client Library)"
    assert title.startswith(f"{client} -> 127.0.0.1:56720, AMQP 0-9-1, connection ")
    assert finding.split() == ["2026-11-20", "09:39:30.359", "error", "0-9-1/basic.ack/unknown-tag"]
    assert text.strip().startswith("client: unknown delivery tag 99: basic.ack")


@pytest.mark.parametrize("offset", ["1.5", "o091_*=1.5,*=7", "x=2,*=1.5"])
def test_a_clock_is_corrected(cli: Run, offset: str) -> None:
    before, after = (rows_of(cli("replay", named(BASIC), *given)) for given in ([], ["--clock-offset", offset]))
    assert [row["ts_ns"] - old["ts_ns"] for row, old in zip(after, before, strict=True)] == [1_500_000_000] * len(
        before
    )


def test_version_and_help(cli: Run) -> None:
    assert cli("--version").stdout.startswith("amqp-sansio 0.")
    assert "replay" in cli("--help").stdout
    assert "--fail-on" in cli("lint", "--help").stdout


def test_lint_says_when_clocks_are_to_blame(cli: Run, tmp_path: Path) -> None:
    capture = named("o091_pika_nack_reject_requeue.pcap").read_bytes()
    segments = [row for row in read_segments(capture) if isinstance(row, Segment)]
    asked = {row.packet for row in segments if row.src == segments[0].src and row.sport == segments[0].sport}
    (tmp_path / "a.pcap").write_bytes(restamped(capture, 0, lambda at, _: at in asked))
    (tmp_path / "b.pcap").write_bytes(restamped(capture, 5, lambda at, _: at not in asked))
    done = cli("lint", tmp_path)
    assert done.stderr.splitlines()[-1] == (
        "amqp-sansio: the clocks of a.pcap and b.pcap differ by 5 s: use --clock-skew 5.1"
    )
    assert "capture/late-segment" in done.stdout
    done = cli("lint", "--clock-skew", "5.1", tmp_path)
    assert (done.stdout, done.stderr) == ("", "amqp-sansio: 0 errors, 0 warnings in 1 connection\n")


class Seen(Progress):
    """Says how far the reading is."""

    done = 0

    def step(self, count: int = 1) -> None:
        self.done += count


def test_the_reading_of_gzip_shows_how_far_it_is(tmp_path: Path) -> None:
    """By the compressed octets, and often, whatever comes out of them."""
    path = tmp_path / "x.pcap.gz"
    frame = ethernet(ipv4(tcp(1, 1)))
    path.write_bytes(gzip.compress(pcap([(1, at, frame) for at in range(5_000)])))
    progress = Seen()
    places = {progress.done for _ in read_inputs(find_inputs([str(path)]), progress)}
    size = path.stat().st_size
    assert progress.done == size
    assert len(places) >= size // SLICE >= 3
