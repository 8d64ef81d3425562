"""Damages in succession: two rows, however many there are."""

import pickle

import pytest

from amqp_sansio.capture import CaptureDamage, CaptureReader, Segment, read_segments
from amqp_sansio.capture.repeats import Repeats
from amqp_sansio.recorded.tables import replay_segments
from tests.kit.packets import ethernet, ipv4, pcap, tcp

WHOLE = ethernet(ipv4(tcp(5, 6, b"abc")))
MANY = 1000


def capture(*packets: int) -> bytes:
    """A capture of equal packets, of which so many octets each are there."""
    return pcap([(at, 0, WHOLE[:size], len(WHOLE)) for at, size in enumerate(packets)])


def shown(data: bytes) -> list[tuple[str, int, str]]:
    rows = list(read_segments(data, file="f"))
    return [
        ("segment", row.packet, "") if isinstance(row, Segment) else (row.kind, row.packet, row.text) for row in rows
    ]


def test_a_capture_whose_packets_are_all_cut_has_two_rows() -> None:
    cut = "the snap length cut its link-layer header"
    assert shown(capture(*[1] * MANY)) == [
        ("truncated-packet", 0, cut),
        ("truncated-packet", 1, f"{cut} (999 times in succession)"),
    ]
    assert shown(capture(1, 1)) == [("truncated-packet", 0, cut), ("truncated-packet", 1, cut)]


def test_a_segment_or_another_damage_ends_a_run() -> None:
    rows = shown(capture(*[1] * 5, len(WHOLE), *[1] * 5, *[20] * 5))
    assert [(kind, packet) for kind, packet, _ in rows] == [
        *(("truncated-packet", 0), ("truncated-packet", 1), ("segment", 5)),
        *(("truncated-packet", 6), ("truncated-packet", 7)),
        *(("truncated-packet", 11), ("truncated-packet", 12)),
    ]
    assert [text.endswith("(4 times in succession)") for _, _, text in rows] == [
        *(False, True, False, False, True, False, True)
    ]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_rows_are_the_same_however_the_octets_are_cut(size: int) -> None:
    data = capture(*[1] * 50, len(WHOLE), *[1] * 50)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert list(read_segments(pieces)) == list(read_segments(data))


def test_a_run_goes_on_after_a_snapshot() -> None:
    rows = CaptureReader(file="f").feed(capture(*[1] * 50))
    repeats = Repeats()
    out = repeats.merge(rows[:20])
    repeats = pickle.loads(pickle.dumps(repeats))
    out += repeats.merge(rows[20:])
    repeats.flush(out)
    assert out == list(read_segments(capture(*[1] * 50), file="f"))


def test_so_has_the_table_of_violations() -> None:
    """As `amqp-sansio replay` and Spark write it."""
    found = list(read_segments(capture(*[1] * MANY), file="f"))
    assert all([isinstance(row, CaptureDamage) for row in found])
    rows = [row for table, row in replay_segments(found) if table == "violations"]
    assert len(rows) == 2
    assert "999 times in succession" in str(rows[1])
