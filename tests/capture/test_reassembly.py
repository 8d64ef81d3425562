"""TCP reassembly, case by case (RFC 9293)."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import LocalProtocolError
from amqp_sansio.capture import (
    ConnectionEnd,
    ConnectionStart,
    Reassembler,
    Segment,
    StreamData,
    StreamGap,
    reassemble,
    sort_key,
)
from tests.support.tcp import (
    ACK,
    CLIENT,
    FIN,
    MS,
    PSH,
    RST,
    SERVER,
    SYN,
    Wire,
    brief,
    content,
    damages,
    octets,
    run,
)

START = ("start", CLIENT, SERVER)
UNKNOWN = ("start", None, None)
SECOND = 1000 * MS


def test_a_whole_connection() -> None:
    wire = Wire()
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two")]
    segments += wire.finish()
    items = run(segments)
    assert brief(items) == [START, ("c", b"one"), ("s", b"two"), ("end", "fin", "c", True)]
    start, one, two, end = items
    assert isinstance(start, ConnectionStart)
    assert (start.a, start.b, start.syn_seen, start.ts_ns) == (SERVER, CLIENT, True, MS)
    assert isinstance(one, StreamData)
    assert (one.ts_ns, one.offset, one.sender) == (4 * MS, 0, CLIENT)
    assert isinstance(two, StreamData)
    assert two.ts_ns == 5 * MS
    assert isinstance(end, ConnectionEnd)
    assert len({item.connection for item in items}) == 1
    assert len(start.connection) == 32


def test_the_identity_comes_from_the_content() -> None:
    def identity(wire: Wire) -> str:
        return run(wire.handshake())[0].connection

    same = identity(Wire())
    assert identity(Wire()) == same
    assert identity(Wire(client_isn=1001)) != same
    assert identity(Wire(at_ns=1)) != same


def test_an_identity_never_changes() -> None:
    """Rows of other releases are joined by it."""
    assert run(Wire().handshake())[0].connection == "2675e9e3fcd9fa56ab3681bbdc4cea5c"


def test_retransmissions_and_duplicates_are_no_damage() -> None:
    wire = Wire()
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, b"one"), wire.segment(CLIENT, b"two")]
    segments += [wire.segment(CLIENT, b"one", offset=0), wire.segment(CLIENT, b"etwo", offset=2)]
    segments += [wire.segment(SERVER, b"three"), wire.segment(CLIENT, b"two", offset=3)]
    segments += wire.finish()
    twice = [segment for segment in segments for _ in range(2)]
    for sent in (segments, twice):
        assert brief(run(sent)) == [
            START,
            ("c", b"one"),
            ("c", b"two"),
            ("s", b"three"),
            ("end", "fin", "c", True),
        ]


def test_segments_out_of_order_wait_for_those_before() -> None:
    wire = Wire()
    segments = wire.handshake()
    parts = [wire.segment(CLIENT, bytes([65 + at]) * 3) for at in range(4)]
    segments += [parts[at] for at in (2, 1, 3, 0)]
    assert content(run(segments)) == [("c", bytes([65 + at]) * 3) for at in range(4)]
    # Their time is when they were complete, never before what precedes them.
    times = [item.ts_ns for item in run(segments) if isinstance(item, StreamData)]
    assert times == sorted(times)


def test_overlaps_fill_only_what_is_missing() -> None:
    wire = Wire()
    text = b"abcdefghijklmnopqrstuvwxyz"
    places = [(4, 8), (12, 16), (2, 14), (20, 26), (10, 24), (0, 5)]
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, text[a:b], offset=a) for a, b in places]
    items = run(segments)
    assert octets(items, CLIENT) == text
    assert not damages(items)


def test_the_first_of_conflicting_octets_win_and_a_place_is_reported_once() -> None:
    wire = Wire()
    segments = wire.handshake()
    segments += [wire.segment(CLIENT, b"abcdef"), wire.segment(CLIENT, b"xx", offset=2)]
    segments += [wire.segment(CLIENT, b"bxx", offset=1), wire.segment(CLIENT, b"yYg", offset=4)]
    segments += [wire.segment(CLIENT, b"hij", offset=7), wire.segment(CLIENT, b"gzi", offset=6)]
    items = run(segments)
    assert octets(items, CLIENT) == b"abcdefghij"
    assert [(damage.kind, damage.sender) for damage in damages(items)] == [
        ("conflicting-overlap", CLIENT)
    ] * 3
    texts = [damage.text for damage in damages(items)]
    assert [text.split()[0] + " at " + text.split()[3] for text in texts] == [
        "2 at 2",
        "2 at 4",
        "1 at 7",
    ]


def test_conflicts_among_waiting_octets_are_seen() -> None:
    wire = Wire()
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


def test_more_than_four_gibibytes_are_counted() -> None:
    wire = Wire()
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


def test_keep_alives_and_window_probes_change_nothing() -> None:
    wire = Wire()
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


def test_a_hole_becomes_a_gap_some_time_after_the_peer_acknowledged_it() -> None:
    wire = Wire()
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


def test_time_can_pass_without_segments() -> None:
    wire = Wire()
    reassembler = Reassembler(grace_ns=5)
    for segment in wire.handshake():
        reassembler.push(segment)
    wire.segment(CLIENT, b"lost")
    reassembler.push(wire.segment(SERVER))
    assert reassembler.advance(wire.at_ns + 4) == []
    assert content(reassembler.advance(wire.at_ns + 5)) == [("gap", "c", 4, "lost")]


def test_a_segment_captured_late_still_finds_its_place() -> None:
    """Its acknowledgement was captured before it."""
    wire = Wire()
    segments = wire.handshake()
    late = wire.segment(CLIENT, b"late")
    segments += [wire.segment(SERVER, b"answer"), wire.segment(CLIENT, b"more"), late]
    assert content(run(segments)) == [("c", b"late"), ("s", b"answer"), ("c", b"more")]


def test_octets_that_come_after_their_gap_are_reported_once() -> None:
    wire = Wire()
    segments = wire.handshake()
    lost = wire.segment(CLIENT, b"lost")
    segments += [wire.segment(SERVER, b"answer")]
    segments += [wire.segment(CLIENT, b"on", at_ns=2 * SECOND), lost, lost]
    items = run(segments)
    assert content(items) == [
        ("gap", "c", 4, "lost"),
        ("s", b"answer"),
        ("c", b"on"),
        ("damage", "c", "late-segment"),
    ]
    assert "4 octets at 0" in damages(items)[0].text
    end = items[-1]
    assert isinstance(end, ConnectionEnd)
    assert not end.complete


def test_a_hole_that_nobody_acknowledged_is_given_up_after_five_minutes() -> None:
    """Only one direction was captured."""
    wire = Wire()
    segments = [wire.segment(CLIENT, b"a", flags=0, acked=0)]
    wire.segment(CLIENT, b"lost")
    segments.append(wire.segment(CLIENT, b"b", flags=0))
    segments.append(wire.segment(CLIENT, b"c", flags=0, at_ns=wire.at_ns + 300 * SECOND))
    reassembler = Reassembler()
    items = [item for segment in segments for item in reassembler.push(segment)]
    assert content(items) == [("c", b"a"), ("gap", "c", 4, "timeout"), ("c", b"b"), ("c", b"c")]


def test_a_direction_that_was_not_captured_is_a_gap() -> None:
    wire = Wire()
    segments = wire.handshake()
    wire.segment(SERVER, b"unseen")
    segments += [wire.segment(CLIENT, b"seen")]
    assert content(run(segments)) == [("gap", "s", 6, "lost"), ("c", b"seen")]


def test_a_hole_at_the_end_of_the_capture_is_a_gap() -> None:
    wire = Wire()
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
    assert [entry for entry in content(items) if entry[0] == "gap"] == [
        ("gap", "c", 4, "buffer-full")
    ]
    assert len(octets(items, CLIENT)) == 499_500


def test_many_small_segments_are_bounded_too() -> None:
    wire = Wire()
    reassembler = Reassembler(limit=100_000)
    for at in range(3000):
        reassembler.push(wire.segment(CLIENT, b"x", offset=2 * at + 1, acked=0))
        assert reassembler.held <= 100_000
    assert len(pickle.dumps(reassembler)) < 100_000


def test_holes_on_both_sides_and_a_full_buffer_still_give_everything() -> None:
    wire = Wire()
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


def test_what_the_snap_length_cut_is_a_gap_at_once() -> None:
    wire = Wire()
    reassembler = Reassembler()
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    items += reassembler.push(wire.segment(CLIENT, b"head", wire_len=10))
    items += reassembler.push(wire.segment(CLIENT, b"", wire_len=5))
    items += reassembler.push(wire.segment(CLIENT, b"tail"))
    assert content(items) == [
        ("c", b"head"),
        ("gap", "c", 6, "snaplen"),
        ("gap", "c", 5, "snaplen"),
        ("c", b"tail"),
    ]


def test_a_cut_segment_out_of_order_is_a_gap_at_its_place() -> None:
    wire = Wire()
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


def test_a_whole_retransmission_fills_a_cut_that_waits() -> None:
    wire = Wire()
    segments = wire.handshake()
    wire.segment(CLIENT, b"ab")
    segments += [wire.segment(CLIENT, b"c", wire_len=4), wire.segment(CLIENT, b"gh")]
    segments += [wire.segment(CLIENT, b"def", offset=3), wire.segment(CLIENT, b"ab", offset=0)]
    items = run(segments)
    assert octets(items, CLIENT) == b"abcdefgh"
    assert not [item for item in items if isinstance(item, StreamGap)]


@pytest.mark.parametrize("by", [CLIENT, SERVER])
def test_a_reset_ends_the_connection_a_moment_later(by: str) -> None:
    wire = Wire()
    reassembler = Reassembler()
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    items += reassembler.push(wire.segment(CLIENT, b"abc"))
    items += reassembler.push(wire.segment(by, flags=RST | ACK))
    reset_at = wire.at_ns
    # What was under way, or captured late, still counts.
    items += reassembler.push(wire.segment(SERVER, b"xyz"))
    assert reassembler.due_ns == reset_at + SECOND
    items += reassembler.advance(reset_at + SECOND)
    side = "c" if by == CLIENT else "s"
    assert brief(items) == [
        START,
        ("c", b"abc"),
        ("s", b"xyz"),
        ("end", "rst", side, True),
    ]
    assert reassembler.finish() == []


def test_a_reset_far_from_the_stream_is_reported_and_ignored() -> None:
    wire = Wire()
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc")]
    segments.append(wire.segment(SERVER, flags=RST, offset=1 << 28))
    wire.sent[SERVER] = 0
    segments += [wire.segment(SERVER, b"on"), *wire.finish()]
    assert brief(run(segments)) == [
        START,
        ("c", b"abc"),
        ("damage", "s", "stray-reset"),
        ("s", b"on"),
        ("end", "fin", "c", True),
    ]


def test_a_reset_beyond_what_was_captured_makes_it_incomplete() -> None:
    wire = Wire()
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc")]
    wire.segment(CLIENT, b"never acknowledged")
    segments.append(wire.segment(CLIENT, flags=RST | ACK))
    assert brief(run(segments))[-1] == ("end", "rst", "c", False)


def test_a_refused_connection() -> None:
    wire = Wire()
    segments = [wire.segment(CLIENT, seq=1000, flags=SYN)]
    segments.append(wire.segment(SERVER, seq=0, flags=RST | ACK))
    assert brief(run(segments)) == [START, ("end", "rst", "s", False)]


def test_half_a_close_lets_the_other_side_go_on() -> None:
    wire = Wire()
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc", flags=FIN | PSH | ACK)]
    segments += [wire.segment(SERVER, b"xyz", acked=4), wire.segment(SERVER, b"!", acked=4)]
    assert brief(run(segments))[1:] == [
        ("c", b"abc"),
        ("s", b"xyz"),
        ("s", b"!"),
        ("end", "end-of-capture", "c", False),
    ]
    segments.append(wire.segment(SERVER, flags=FIN | ACK, acked=4))
    assert brief(run(segments))[-1] == ("end", "fin", "c", True)


def test_a_fin_before_its_octets_waits_for_them() -> None:
    wire = Wire()
    segments = wire.handshake()
    octet = wire.segment(CLIENT, b"x")
    segments += [*wire.finish()[:2], octet]
    assert brief(run(segments))[1:] == [("c", b"x"), ("end", "fin", "c", True)]


def test_a_fin_proves_what_is_missing_before_it() -> None:
    wire = Wire()
    segments = wire.handshake()
    wire.segment(CLIENT, b"lost")
    segments += wire.finish()
    assert brief(run(segments))[1:] == [("gap", "c", 4, "lost"), ("end", "fin", "c", False)]


def test_a_lost_fin_is_no_gap() -> None:
    wire = Wire()
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc"), *wire.finish()[1:]]
    assert brief(run(segments))[1:] == [("c", b"abc"), ("end", "fin", "c", True)]


def test_octets_after_the_fin_are_reported() -> None:
    wire = Wire()
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc", flags=FIN | ACK)]
    segments += [wire.segment(CLIENT, b"cdef", offset=2, acked=0)]
    items = run(segments)
    assert content(items) == [("c", b"abc"), ("damage", "c", "after-fin")]
    assert "3 octets" in damages(items)[0].text
    wire = Wire()
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abcdef")]
    segments += [wire.segment(CLIENT, offset=3, flags=FIN | ACK)]
    assert content(run(segments)) == [("c", b"abcdef"), ("damage", "c", "after-fin")]


def test_the_same_endpoints_connect_again() -> None:
    first, second = Wire(), Wire(5_000_000, 6_000_000, at_ns=SECOND)
    segments = [*first.handshake(), first.segment(CLIENT, b"one"), *first.finish()]
    segments += [first.segment(CLIENT, b"one", offset=0)]
    segments += [*second.handshake(), second.segment(CLIENT, b"two"), *second.finish(SERVER)]
    items = run(segments)
    assert brief(items) == [
        START,
        ("c", b"one"),
        ("end", "fin", "c", True),
        START,
        ("c", b"two"),
        ("end", "fin", "s", True),
    ]
    assert items[0].connection != items[3].connection


def test_a_new_connection_ends_one_that_was_never_closed() -> None:
    first, second = Wire(), Wire(5_000_000, 6_000_000, at_ns=SECOND)
    segments = first.handshake()
    first.segment(CLIENT, b"lost")
    segments += [first.segment(CLIENT, b"one"), *second.handshake()]
    segments += [second.segment(CLIENT, b"two")]
    assert brief(run(segments)) == [
        START,
        ("gap", "c", 4, "end-of-capture"),
        ("c", b"one"),
        ("end", "reuse", None, False),
        START,
        ("c", b"two"),
        ("end", "end-of-capture", None, False),
    ]


def test_a_new_connection_after_a_reset_may_have_the_same_number() -> None:
    first, second = Wire(), Wire(at_ns=3 * SECOND)
    segments = [first.segment(CLIENT, seq=1000, flags=SYN)]
    segments += [first.segment(SERVER, seq=0, flags=RST | ACK)]
    segments += [*second.handshake(), second.segment(CLIENT, b"x")]
    assert brief(run(segments)) == [
        START,
        ("end", "rst", "s", False),
        START,
        ("c", b"x"),
        ("end", "end-of-capture", None, False),
    ]


def test_a_repeated_syn_is_the_same_connection() -> None:
    wire = Wire()
    segments = [wire.segment(CLIENT, seq=1000, flags=SYN) for _ in range(3)]
    segments += wire.handshake()[1:]
    segments += [wire.segment(SERVER, seq=2000, flags=SYN | ACK), wire.segment(CLIENT, b"x")]
    segments += wire.finish()
    segments += [wire.segment(CLIENT, seq=1000, flags=SYN)]
    assert brief(run(segments)) == [START, ("c", b"x"), ("end", "fin", "c", True)]


def test_a_late_syn_of_the_connection_before_is_nothing() -> None:
    first, second = Wire(), Wire(5_000_000, 6_000_000, at_ns=SECOND)
    segments = [*first.handshake(), *first.finish(), *second.handshake()]
    segments += [first.segment(CLIENT, seq=1000, flags=SYN), second.segment(CLIENT, b"two")]
    assert [entry for entry in brief(run(segments)) if entry[0] == "start"] == [START, START]


def test_a_connection_may_begin_again_without_its_syn() -> None:
    """The numbers are far from those of the closed one."""
    first, second = Wire(), Wire(900_000_000, 2_000_000_000, at_ns=60 * SECOND)
    segments = [*first.handshake(), first.segment(CLIENT, b"one"), *first.finish()]
    segments += [second.segment(CLIENT, b"two"), second.segment(SERVER, b"three")]
    assert brief(run(segments)) == [
        START,
        ("c", b"one"),
        ("end", "fin", "c", True),
        UNKNOWN,
        ("c", b"two"),
        ("s", b"three"),
        ("end", "end-of-capture", None, False),
    ]


def test_octets_far_behind_an_open_connection_are_another_one() -> None:
    first, second = Wire(2_000_000_000), Wire(1_000_000_000, 7, at_ns=60 * SECOND)
    segments = [*first.handshake(), first.segment(CLIENT, b"one")]
    segments += [second.segment(CLIENT, b"two"), second.segment(SERVER, b"three")]
    assert brief(run(segments)) == [
        START,
        ("c", b"one"),
        ("end", "reuse", None, False),
        UNKNOWN,
        ("c", b"two"),
        ("s", b"three"),
        ("end", "end-of-capture", None, False),
    ]


def test_seen_from_the_middle_a_stream_begins_at_its_first_octet() -> None:
    wire = Wire()
    wire.sent.update({CLIENT: 500, SERVER: 700})
    segments = [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two")]
    items = run(segments)
    assert brief(items) == [
        UNKNOWN,
        ("c", b"one"),
        ("s", b"two"),
        ("end", "end-of-capture", None, False),
    ]
    assert [item.offset for item in items if isinstance(item, StreamData)] == [0, 0]


def test_octets_under_way_when_the_capture_began_are_no_gap() -> None:
    wire = Wire()
    segments = [wire.segment(CLIENT, b"one")]
    wire.segment(SERVER, b"sent before the capture began")
    segments += [wire.segment(SERVER, b"two"), wire.segment(CLIENT, b"three")]
    assert content(run(segments)) == [("c", b"one"), ("s", b"two"), ("c", b"three")]


def test_octets_from_before_the_first_known_one_are_reported_once() -> None:
    wire = Wire()
    early = wire.segment(CLIENT, b"early")
    segments = [wire.segment(CLIENT, b"one"), early, early]
    assert content(run(segments)) == [("c", b"one"), ("damage", "c", "late-segment")]


def test_a_retransmission_may_be_the_first_octets_seen() -> None:
    wire = Wire()
    first = wire.segment(SERVER, b"first")
    segments = [wire.segment(CLIENT, b"one"), first, wire.segment(SERVER, b"second")]
    assert content(run(segments)) == [("c", b"one"), ("s", b"first"), ("s", b"second")]


def test_a_keep_alive_as_the_first_segment_seen_makes_no_hole() -> None:
    for asked in (True, False):
        wire = Wire()
        wire.sent.update({CLIENT: 500, SERVER: 700})
        segments = [wire.segment(CLIENT, offset=499)]
        segments += [wire.segment(SERVER)] if asked else []
        segments += [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two")]
        assert content(run(segments)) == [("c", b"one"), ("s", b"two")]


def test_a_connection_without_octets_or_syn_is_not_told() -> None:
    wire = Wire()
    segments = [wire.segment(CLIENT), wire.segment(SERVER), *wire.finish()]
    assert run(segments) == []
    assert run([wire.segment(CLIENT, flags=RST)]) == []


def test_only_the_answer_to_the_syn_was_captured() -> None:
    wire = Wire()
    segments = [*wire.handshake()[1:], wire.segment(CLIENT, b"one"), *wire.finish()]
    assert brief(run(segments)) == [START, ("c", b"one"), ("end", "fin", "c", False)]


def test_the_answer_to_the_syn_was_lost() -> None:
    wire = Wire()
    syn, _, ack = wire.handshake()
    segments = [syn, ack, wire.segment(SERVER, b"one"), *wire.finish()]
    assert brief(run(segments)) == [START, ("s", b"one"), ("end", "fin", "c", False)]


def test_a_handshake_out_of_order() -> None:
    wire = Wire()
    syn, answer, ack = wire.handshake()
    data = [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two")]
    end = wire.finish()
    for first in ([answer, syn, ack], [answer, ack, syn], [syn, ack, answer]):
        items = run([*first, *data, *end])
        assert brief(items) == [
            START,
            ("c", b"one"),
            ("s", b"two"),
            ("end", "fin", "c", True),
        ]


def test_an_answer_from_the_connection_before_does_not_move_the_stream() -> None:
    """The server still has the old connection and says so; the client resets and tries again."""
    wire = Wire()
    segments = [wire.segment(CLIENT, seq=1000, flags=SYN)]
    segments += [wire.segment(SERVER, seq=3_000_000_000)]
    segments += wire.handshake()
    segments += [wire.segment(SERVER, b"one"), wire.segment(CLIENT, b"two"), *wire.finish()]
    assert brief(run(segments)) == [
        START,
        ("s", b"one"),
        ("c", b"two"),
        ("end", "fin", "c", True),
    ]


def test_octets_with_the_syn_are_the_first() -> None:
    """RFC 7413."""
    wire = Wire()
    segments = [wire.segment(CLIENT, b"early", seq=1000, flags=SYN)]
    segments += [wire.segment(SERVER, seq=2000, flags=SYN | ACK), wire.segment(CLIENT, b"one")]
    assert content(run(segments)) == [("c", b"early"), ("c", b"one")]


def test_both_ends_may_open_at_once() -> None:
    wire = Wire()
    segments = [wire.segment(CLIENT, seq=1000, flags=SYN)]
    segments += [wire.segment(SERVER, seq=2000, flags=SYN)]
    segments += [wire.segment(CLIENT, seq=1000, flags=SYN | ACK)]
    segments += [wire.segment(SERVER, seq=2000, flags=SYN | ACK)]
    segments += [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two"), *wire.finish()]
    assert brief(run(segments)) == [
        START,
        ("c", b"one"),
        ("s", b"two"),
        ("end", "fin", "c", True),
    ]


def test_what_answers_comes_after_what_it_answers() -> None:
    wire = Wire()
    segments = wire.handshake()
    question = wire.segment(CLIENT, b"question")
    answer = wire.segment(SERVER, b"answer")
    thanks = wire.segment(CLIENT, b"thanks")
    for order in ([answer, question, thanks], [thanks, answer, question]):
        assert content(run([*segments, *order])) == [
            ("c", b"question"),
            ("s", b"answer"),
            ("c", b"thanks"),
        ]


def test_octets_that_wait_for_each_other_come_in_the_order_of_the_capture() -> None:
    """The original was not captured, and its repetition acknowledges the answer to it."""
    wire = Wire()
    segments = wire.handshake()
    wire.segment(CLIENT, b"question")
    segments += [wire.segment(SERVER, b"answer")]
    segments += [wire.segment(CLIENT, b"question", offset=0)]
    assert content(run(segments)) == [("s", b"answer"), ("c", b"question")]


def test_an_impossible_acknowledgement_holds_nothing_up() -> None:
    wire = Wire()
    reassembler = Reassembler()
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    items += reassembler.push(wire.segment(CLIENT, b"one", acked=(1 << 30) + 5))
    items += reassembler.push(wire.segment(SERVER, b"two"))
    assert content(items) == [("c", b"one"), ("s", b"two")]


def test_flows_in_order_are_told_apart() -> None:
    segments: list[Segment] = []
    for port in (40001, 40002, 40003):
        wire = Wire()
        flow = [*wire.handshake(), wire.segment(CLIENT, b"x%d" % port), *wire.finish()]
        for segment in flow:
            source, dest = segment.sport, segment.dport
            ports = (port, dest) if source == 40000 else (source, port)
            ends = (segment.src, ports[0], segment.dst, ports[1])
            numbers = (segment.seq, segment.ack, segment.flags, segment.wire_len)
            place = (segment.ts_ns, segment.file, segment.packet)
            segments.append(Segment(*place, *ends, *numbers, segment.payload))
    items = list(reassemble(sorted(segments, key=sort_key)))
    assert [item.data for item in items if isinstance(item, StreamData)] == [
        b"x40001",
        b"x40002",
        b"x40003",
    ]
    assert len([item for item in items if isinstance(item, ConnectionEnd)]) == 3


def test_a_state_of_another_release_is_refused() -> None:
    reassembler = Reassembler()
    function, arguments, state = reassembler.__reduce_ex__(4)[:3]
    assert isinstance(state, tuple)
    fresh = Reassembler()
    with pytest.raises(LocalProtocolError, match="schema 99"):
        fresh.__setstate__((99, *state[1:]))
    assert function is not None
    assert arguments


def test_the_state_of_an_idle_connection_is_small() -> None:
    wire = Wire()
    reassembler = Reassembler()
    for segment in wire.handshake():
        reassembler.push(segment)
    for _ in range(1000):
        reassembler.push(wire.segment(CLIENT, bytes(1000)))
        reassembler.push(wire.segment(SERVER, bytes(1000)))
    reassembler.push(wire.segment(CLIENT))
    assert reassembler.held == 0
    assert len(pickle.dumps(reassembler)) < 700


def test_what_is_kept_for_comparison_is_bounded() -> None:
    """Nobody acknowledges: only one direction was captured."""
    wire = Wire()
    reassembler = Reassembler()
    for _ in range(2000):
        reassembler.push(wire.segment(CLIENT, bytes(1000), flags=0))
    assert len(pickle.dumps(reassembler)) < 100_000
