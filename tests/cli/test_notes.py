"""Notes about captures: the same connection twice, clocks that differ within one file, packets that aren't read."""

import struct
from pathlib import Path

from amqp_sansio.capture import Segment, read_segments
from amqp_sansio.capture.twice import MOST, Twice
from tests.cli.conftest import Run
from tests.kit.captures import named
from tests.kit.less import changed
from tests.kit.tunnels import ETHERNET, UNREAD, frame, wrapped

BASIC = "o091_pika_basic.pcap"


def _segments() -> list[Segment]:
    return [each for each in read_segments(named(BASIC).read_bytes()) if isinstance(each, Segment)]


def _server() -> int:
    return _segments()[0].dport


def _translated(segment: Segment) -> Segment:
    """The segment behind an address translation, a microsecond later."""
    to_server = segment.dport == _server()
    ends = {"src": "172.17.0.1", "dst": "172.17.0.2"} if to_server else {"src": "172.17.0.2", "dst": "172.17.0.1"}
    return changed(segment, ts_ns=segment.ts_ns + 1000, **ends)


def test_a_connection_before_and_behind_a_translation_has_a_note(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "nat.pcap"
    both = sorted([*_segments(), *map(_translated, _segments())], key=lambda each: each.ts_ns)
    path.write_bytes(wrapped(both, ETHERNET, frame))
    for command in (("lint", path), ("replay", path), ("report", path, "--format", "text")):
        done = cli(*command)
        (note,) = [line for line in done.stderr.splitlines() if "twice" in line]
        assert note.startswith("amqp-sansio: 1 connection is in the captures twice, before and behind")
        assert f"127.0.0.1:{_server()}" in note and f"172.17.0.2:{_server()}" in note
        assert "capture at one of the points" in note


def test_two_connections_of_one_capture_are_not_one_twice(cli: Run) -> None:
    assert "twice" not in cli("lint", named("o091_concurrent_4_clients.pcap")).stderr


def test_what_is_compared_is_bounded() -> None:
    twice = Twice()
    (answer,) = [each for each in _segments() if each.flags & 0x12 == 0x12]
    for number in range(MOST + 10):
        twice.segment(changed(answer, seq=number, sport=1000 + number % 50_000))
    twice.segment(changed(answer, seq=MOST + 5, sport=1))
    assert not twice.found
    twice.segment(changed(answer, seq=5, sport=1))
    assert len(twice.found) == 1


def test_one_file_of_two_clocks_has_the_advice_that_helps(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "merged.pcap"
    for seconds in (4, -4):
        skewed = [
            each if each.dport == _server() else changed(each, ts_ns=each.ts_ns + seconds * 1_000_000_000)
            for each in _segments()
        ]
        skewed.sort(key=lambda each: each.ts_ns)
        path.write_bytes(wrapped(skewed, ETHERNET, frame))
        done = cli("lint", path)
        (note,) = [line for line in done.stderr.splitlines() if "--clock-skew" in line]
        assert "error" not in done.stdout
        skew = note.rpartition(" ")[2]
        assert 3.9 < float(skew) < 4.1
        done = cli("lint", path, "--clock-skew", skew)
        assert (done.stdout, done.stderr) == ("", "amqp-sansio: 0 errors, 0 warnings in 1 connection\n")


def test_lint_counts_and_names_what_is_not_read(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "esp.pcap"
    link, wrap, _ = UNREAD["ESP"]
    path.write_bytes(wrapped(_segments(), link, wrap))
    done = cli("lint", path)
    assert "capture/not-read" in done.stdout
    assert f"{len(_segments())} packets aren't read: ESP (IPsec), which is encrypted" in done.stdout
    assert struct.unpack("<I", path.read_bytes()[20:24]) == (1,)
