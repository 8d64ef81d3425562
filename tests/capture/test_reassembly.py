"""TCP reassembly, case by case (RFC 9293)."""

import pickle

from amqp_sansio.capture import ConnectionEnd, Reassembler, StreamData, StreamGap
from tests.kit.tcp import CLIENT, FIN, MS, SERVER, Wire, brief, content, damages, octets, run

START = ("start", CLIENT, SERVER)
SECOND = 1000 * MS


def test_retransmissions_and_duplicates_are_no_damage(wire: Wire) -> None:
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, b"one"), wire.segment(CLIENT, b"two")]
    segments += [wire.segment(CLIENT, b"one", offset=0), wire.segment(CLIENT, b"etwo", offset=2)]
    segments += [wire.segment(SERVER, b"three"), wire.segment(CLIENT, b"two", offset=3)]
    segments += wire.finish()
    twice = [segment for segment in segments for _ in range(2)]
    for sent in (segments, twice):
        assert brief(run(sent)) == [START, ("c", b"one"), ("c", b"two"), ("s", b"three"), ("end", "fin", "c", True)]


def test_segments_out_of_order_wait_for_those_before(wire: Wire) -> None:
    segments = wire.handshake()
    parts = [wire.segment(CLIENT, bytes([65 + at]) * 3) for at in range(4)]
    segments += [parts[at] for at in (2, 1, 3, 0)]
    assert content(run(segments)) == [("c", bytes([65 + at]) * 3) for at in range(4)]
    # Their time is when they were complete, never before what precedes them.
    times = [item.ts_ns for item in run(segments) if isinstance(item, StreamData)]
    assert times == sorted(times)


def test_overlaps_fill_only_what_is_missing(wire: Wire) -> None:
    text = b"abcdefghijklmnopqrstuvwxyz"
    places = [(4, 8), (12, 16), (2, 14), (20, 26), (10, 24), (0, 5)]
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, text[a:b], offset=a) for a, b in places]
    items = run(segments)
    assert octets(items, CLIENT) == text
    assert not damages(items)


def test_the_first_of_conflicting_octets_win_and_a_place_is_reported_once(wire: Wire) -> None:
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, b"abcdef"), wire.segment(CLIENT, b"xx", offset=2)]
    segments += [wire.segment(CLIENT, b"bxx", offset=1), wire.segment(CLIENT, b"yYg", offset=4)]
    segments += [wire.segment(CLIENT, b"hij", offset=7), wire.segment(CLIENT, b"gzi", offset=6)]
    items = run(segments)
    assert octets(items, CLIENT) == b"abcdefghij"
    assert [(damage.kind, damage.sender) for damage in damages(items)] == [("conflicting-overlap", CLIENT)] * 3
    texts = [damage.text for damage in damages(items)]
    assert [text.split()[0] + " at " + text.split()[3] for text in texts] == ["2 at 2", "2 at 4", "1 at 7"]


def test_conflicts_among_waiting_octets_are_seen(wire: Wire) -> None:
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, b"cd", offset=2), wire.segment(CLIENT, b"bX", offset=1)]
    segments += [wire.segment(CLIENT, b"abcdef", offset=0)]
    items = run(segments)
    assert octets(items, CLIENT) == b"abcdef"
    assert [damage.kind for damage in damages(items)] == ["conflicting-overlap"]


def test_the_numbers_wrap() -> None:
    wire = Wire(client_isn=2**32 - 4, server_isn=2**32 - 1)
    segments = wire.handshake()
    for at in range(5):
        segments += [wire.segment(CLIENT, bytes([65 + at]) * 3)]
        segments += [wire.segment(SERVER, bytes([97 + at]) * 3)]
    segments += wire.finish(SERVER)
    items = run(segments)
    assert octets(items, CLIENT) == b"AAABBBCCCDDDEEE"
    assert octets(items, SERVER) == b"aaabbbcccdddeee"
    assert brief(items)[-1] == ("end", "fin", "s", True)


def test_more_than_four_gibibytes_are_counted(wire: Wire) -> None:
    reassembler = Reassembler()
    step = 1 << 28
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    for _ in range(20):
        items += reassembler.push(wire.segment(CLIENT, b"", wire_len=step))
        items += reassembler.push(wire.segment(SERVER))
    items += reassembler.push(wire.segment(CLIENT, b"end"))
    last = items[-1]
    assert isinstance(last, StreamData)
    assert (last.offset, last.data) == (20 * step, b"end")


def test_keep_alives_and_window_probes_change_nothing(wire: Wire) -> None:
    segments = wire.handshake()
    # Before any octet, without and with the octet of garbage that some send.
    segments += [wire.segment(CLIENT, offset=-1), wire.segment(CLIENT, b"\0", offset=-1)]
    segments += [wire.segment(CLIENT, b"abc"), wire.segment(SERVER)]
    segments += [wire.segment(CLIENT, offset=2), wire.segment(CLIENT, b"\0", offset=2)]
    segments += [wire.segment(SERVER, offset=-1), wire.segment(CLIENT)]
    # A probe of a closed window carries the next octet, which is sent again with the others.
    segments += [wire.segment(CLIENT, b"d"), wire.segment(SERVER, acked=3)]
    segments += [wire.segment(CLIENT, b"def", offset=3), wire.segment(SERVER)]
    segments += wire.finish()
    items = run(segments)
    assert octets(items, CLIENT) == b"abcdef"
    assert not damages(items)
    assert brief(items)[-1] == ("end", "fin", "c", True)


def test_a_hole_becomes_a_gap_some_time_after_the_peer_acknowledged_it(wire: Wire) -> None:
    reassembler = Reassembler()
    for segment in wire.handshake():
        reassembler.push(segment)
    wire.segment(CLIENT, b"lost")
    assert reassembler.push(wire.segment(CLIENT, b"after")) == []
    assert reassembler.due_ns == wire.at_ns + 300 * SECOND
    assert reassembler.push(wire.segment(SERVER)) == []
    acknowledged = wire.at_ns
    assert reassembler.due_ns == acknowledged + SECOND
    late = wire.segment(SERVER, acked=4, at_ns=acknowledged + SECOND - 1)
    assert reassembler.push(late) == []
    items = reassembler.push(wire.segment(SERVER, at_ns=acknowledged + SECOND))
    assert content(items) == [("gap", "c", 4, "lost"), ("c", b"after")]
    gap = items[0]
    assert isinstance(gap, StreamGap)
    assert gap.offset == 0
    assert gap.ts_ns < acknowledged
    assert reassembler.due_ns is None


def test_time_can_pass_without_segments(wire: Wire) -> None:
    reassembler = Reassembler(grace_ns=5)
    for segment in wire.handshake():
        reassembler.push(segment)
    wire.segment(CLIENT, b"lost")
    reassembler.push(wire.segment(SERVER))
    assert reassembler.advance(wire.at_ns + 4) == []
    assert content(reassembler.advance(wire.at_ns + 5)) == [("gap", "c", 4, "lost")]


def test_a_segment_captured_late_still_finds_its_place(wire: Wire) -> None:
    """Its acknowledgement was captured before it."""
    segments = wire.handshake()
    late = wire.segment(CLIENT, b"late")
    segments += [wire.segment(SERVER, b"answer"), wire.segment(CLIENT, b"more"), late]
    assert content(run(segments)) == [("c", b"late"), ("s", b"answer"), ("c", b"more")]


def test_octets_that_come_after_their_gap_are_reported_once(wire: Wire) -> None:
    segments = wire.handshake()
    lost = wire.segment(CLIENT, b"lost")
    segments += [wire.segment(SERVER, b"answer")]
    segments += [wire.segment(CLIENT, b"on", at_ns=2 * SECOND), lost, lost]
    items = run(segments)
    assert content(items) == [("gap", "c", 4, "lost"), ("s", b"answer"), ("c", b"on"), ("damage", "c", "late-segment")]
    assert "4 octets at 0" in damages(items)[0].text
    end = items[-1]
    assert isinstance(end, ConnectionEnd)
    assert not end.complete


def test_a_hole_that_nobody_acknowledged_is_given_up_after_five_minutes(wire: Wire) -> None:
    """Only one direction was captured."""
    segments = [wire.segment(CLIENT, b"a", flags=0, acked=0)]
    wire.segment(CLIENT, b"lost")
    segments.append(wire.segment(CLIENT, b"b", flags=0))
    segments.append(wire.segment(CLIENT, b"c", flags=0, at_ns=wire.at_ns + 300 * SECOND))
    reassembler = Reassembler()
    items = [item for segment in segments for item in reassembler.push(segment)]
    assert content(items) == [("c", b"a"), ("gap", "c", 4, "timeout"), ("c", b"b"), ("c", b"c")]


def test_a_direction_that_was_not_captured_is_a_gap(wire: Wire) -> None:
    segments = wire.handshake()
    wire.segment(SERVER, b"unseen")
    segments += [wire.segment(CLIENT, b"seen")]
    assert content(run(segments)) == [("gap", "s", 6, "lost"), ("c", b"seen")]


def test_a_hole_at_the_end_of_the_capture_is_a_gap(wire: Wire) -> None:
    segments = wire.handshake()
    wire.segment(CLIENT, b"lost")
    segments.append(wire.segment(CLIENT, b"here"))
    wire.segment(SERVER, b"acknowledged")
    segments.append(wire.segment(CLIENT, b"", acked=12))
    assert brief(run(segments)) == [
        START,
        ("gap", "c", 4, "end-of-capture"),
        ("c", b"here"),
        ("gap", "s", 12, "lost"),
        ("end", "end-of-capture", None, False),
    ]


def test_what_waits_is_bounded() -> None:
    limit = 100_000
    wire = Wire()
    reassembler = Reassembler(limit=limit)
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    wire.segment(CLIENT, b"lost")
    for at in range(500):
        items += reassembler.push(wire.segment(CLIENT, bytes([at % 256]) * 999, acked=0))
        assert reassembler.held <= limit
    assert [entry for entry in content(items) if entry[0] == "gap"] == [("gap", "c", 4, "buffer-full")]
    assert len(octets(items, CLIENT)) == 499_500


def test_many_small_segments_are_bounded_too(wire: Wire) -> None:
    reassembler = Reassembler(limit=100_000)
    for at in range(3000):
        reassembler.push(wire.segment(CLIENT, b"x", offset=2 * at + 1, acked=0))
        assert reassembler.held <= 100_000
    assert len(pickle.dumps(reassembler)) < 100_000


def test_holes_on_both_sides_and_a_full_buffer_still_give_everything(wire: Wire) -> None:
    reassembler = Reassembler(limit=20_000)
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    for at in range(100):
        wire.segment(CLIENT, b"lost")
        items += reassembler.push(wire.segment(CLIENT, bytes([at]) * 500))
        wire.segment(SERVER, b"gone")
        items += reassembler.push(wire.segment(SERVER, bytes([at]) * 500))
        assert reassembler.held <= 20_000
    items += reassembler.finish()
    assert octets(items, CLIENT) == octets(items, SERVER)
    assert len(octets(items, CLIENT)) == 50_000
    gaps = [item for item in items if isinstance(item, StreamGap)]
    assert sum(gap.octets for gap in gaps) == 800


def test_what_the_snap_length_cut_is_a_gap_at_once(wire: Wire) -> None:
    reassembler = Reassembler()
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    items += reassembler.push(wire.segment(CLIENT, b"head", wire_len=10))
    items += reassembler.push(wire.segment(CLIENT, b"", wire_len=5))
    items += reassembler.push(wire.segment(CLIENT, b"tail"))
    assert content(items) == [("c", b"head"), ("gap", "c", 6, "snaplen"), ("gap", "c", 5, "snaplen"), ("c", b"tail")]


def test_a_cut_segment_out_of_order_is_a_gap_at_its_place(wire: Wire) -> None:
    segments = wire.handshake()
    first = wire.segment(CLIENT, b"ab", wire_len=4)
    second = wire.segment(CLIENT, b"ef", wire_len=4)
    segments += [second, wire.segment(CLIENT, b"ij"), first, second, first]
    assert content(run(segments)) == [
        ("c", b"ab"),
        ("gap", "c", 2, "snaplen"),
        ("c", b"ef"),
        ("gap", "c", 2, "snaplen"),
        ("c", b"ij"),
    ]


def test_a_whole_retransmission_fills_a_cut_that_waits(wire: Wire) -> None:
    segments = wire.handshake()
    wire.segment(CLIENT, b"ab")
    segments += [wire.segment(CLIENT, b"c", wire_len=4), wire.segment(CLIENT, b"gh")]
    segments += [wire.segment(CLIENT, b"def", offset=3), wire.segment(CLIENT, b"ab", offset=0)]
    items = run(segments)
    assert octets(items, CLIENT) == b"abcdefgh"
    assert not [item for item in items if isinstance(item, StreamGap)]


def test_what_answers_comes_after_what_it_answers(wire: Wire) -> None:
    segments = wire.handshake()
    question = wire.segment(CLIENT, b"question")
    answer = wire.segment(SERVER, b"answer")
    thanks = wire.segment(CLIENT, b"thanks")
    for order in ([answer, question, thanks], [thanks, answer, question]):
        assert content(run([*segments, *order])) == [("c", b"question"), ("s", b"answer"), ("c", b"thanks")]


def test_octets_that_wait_for_each_other_come_in_the_order_of_the_capture(wire: Wire) -> None:
    """The original was not captured, and its repetition acknowledges the answer to it."""
    segments = wire.handshake()
    wire.segment(CLIENT, b"question")
    segments += [wire.segment(SERVER, b"answer")]
    segments += [wire.segment(CLIENT, b"question", offset=0)]
    assert content(run(segments)) == [("s", b"answer"), ("c", b"question")]


def test_an_impossible_acknowledgement_holds_nothing_up(wire: Wire) -> None:
    reassembler = Reassembler()
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    items += reassembler.push(wire.segment(CLIENT, b"one", acked=(1 << 30) + 5))
    items += reassembler.push(wire.segment(SERVER, b"two"))
    assert content(items) == [("c", b"one"), ("s", b"two")]


def test_the_state_of_an_idle_connection_is_small(wire: Wire) -> None:
    reassembler = Reassembler()
    for segment in wire.handshake():
        reassembler.push(segment)
    for _ in range(1000):
        reassembler.push(wire.segment(CLIENT, bytes(1000)))
        reassembler.push(wire.segment(SERVER, bytes(1000)))
    reassembler.push(wire.segment(CLIENT))
    assert reassembler.held == 0
    assert len(pickle.dumps(reassembler)) < 700


def test_what_is_kept_for_comparison_is_bounded(wire: Wire) -> None:
    """Nobody acknowledges: only one direction was captured."""
    reassembler = Reassembler()
    for _ in range(2000):
        reassembler.push(wire.segment(CLIENT, bytes(1000), flags=0))
    assert len(pickle.dumps(reassembler)) < 100_000
    for sender in (CLIENT, SERVER):
        reassembler.push(wire.segment(sender, flags=FIN))
    assert len(pickle.dumps(reassembler)) < 1000
