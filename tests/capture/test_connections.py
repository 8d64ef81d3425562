"""TCP connections: how they begin and end, and which segments are theirs (RFC 9293 section 3)."""

import pickle

import pytest

from amqp_sansio import LocalProtocolError
from amqp_sansio.capture import ConnectionEnd, ConnectionStart, Reassembler, Segment, StreamData, reassemble, sort_key
from tests.kit.tcp import ACK, CLIENT, FIN, MS, PSH, RST, SERVER, SYN, Wire, brief, changed, content, damages, run

START = ("start", CLIENT, SERVER)
UNKNOWN = ("start", None, None)
SECOND = 1000 * MS


def test_a_whole_connection(wire: Wire) -> None:
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


@pytest.mark.parametrize("by", [CLIENT, SERVER])
def test_a_reset_ends_the_connection_a_moment_later(wire: Wire, by: str) -> None:
    reassembler = Reassembler()
    items = [item for segment in wire.handshake() for item in reassembler.push(segment)]
    items += reassembler.push(wire.segment(CLIENT, b"abc"))
    items += reassembler.push(wire.segment(by, offset=3, flags=RST | ACK))
    reset_at = wire.at_ns
    # What was under way, or captured late, still counts.
    items += reassembler.push(wire.segment(SERVER, b"xyz", offset=0))
    assert reassembler.due_ns == reset_at + SECOND
    items += reassembler.advance(reset_at + SECOND)
    side = "c" if by == CLIENT else "s"
    assert brief(items) == [START, ("c", b"abc"), ("s", b"xyz"), ("end", "rst", side, True)]
    assert reassembler.finish() == []


def test_a_reset_far_from_the_stream_is_reported_and_ignored(wire: Wire) -> None:
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


def test_a_reset_beyond_what_was_captured_makes_it_incomplete(wire: Wire) -> None:
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc")]
    wire.segment(CLIENT, b"never acknowledged")
    segments.append(wire.segment(CLIENT, flags=RST | ACK))
    assert brief(run(segments))[-1] == ("end", "rst", "c", False)


def test_a_refused_connection(wire: Wire) -> None:
    segments = [wire.segment(CLIENT, seq=1000, flags=SYN)]
    segments.append(wire.segment(SERVER, seq=0, flags=RST | ACK))
    assert brief(run(segments)) == [START, ("end", "refused", "s", False)]


def test_a_reset_without_the_packets_before_it_refuses_nothing(wire: Wire) -> None:
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc"), wire.segment(SERVER, flags=RST | ACK)]
    assert brief(run([segments[0], segments[-1]]))[-1] == ("end", "rst", "s", False)


@pytest.mark.parametrize("later", [1, 3])
def test_a_connection_that_nothing_answers(later: int) -> None:
    segments = [Wire(at_ns=at * SECOND).segment(CLIENT, seq=1000, flags=SYN) for at in (0, later)]
    assert brief(run(segments)) == [START, ("end", "unanswered", None, False)]


def test_a_reset_behind_which_its_sender_goes_on_is_none_of_the_connection(wire: Wire) -> None:
    """As a late one of an earlier connection with the same 4-tuple."""
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc")]
    segments += [wire.segment(CLIENT, offset=500, flags=RST | ACK)]
    over = Reassembler()
    for each in segments:
        over.push(each)
    assert not over.is_over
    wire.sent[CLIENT] = 3
    segments += [wire.segment(CLIENT, b"def"), *wire.finish(SERVER)]
    assert brief(run(segments))[-1] == ("end", "fin", "s", True)
    assert content(run(segments)) == [("c", b"abc"), ("c", b"def")]


def test_octets_captured_behind_their_reset_leave_it_the_end(wire: Wire) -> None:
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc"), wire.segment(CLIENT, flags=RST | ACK)]
    segments[3], segments[4] = segments[4], changed(segments[3], ts_ns=segments[4].ts_ns + 1)
    assert brief(run(segments))[-1][:3] == ("end", "rst", "c")


def test_a_single_syn_says_nothing_of_an_answer(wire: Wire) -> None:
    syn, answer, *_ = wire.handshake()
    assert brief(run([syn])) == [START, ("end", "end-of-capture", None, False)]
    assert brief(run([syn, syn])) == [START, ("end", "end-of-capture", None, False)]
    assert brief(run([syn, answer]))[-1][1] == "end-of-capture"


def test_the_first_end_counts_and_who_was_heard_before_it(wire: Wire) -> None:
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc"), wire.segment(SERVER, b"xyz", acked=3)]
    segments += [wire.segment(SERVER, flags=FIN | ACK, acked=3), wire.segment(CLIENT, b"late")]
    segments += [wire.segment(CLIENT, flags=RST | ACK)]
    end = run(segments)[-1]
    assert isinstance(end, ConnectionEnd)
    assert (end.how, end.by, end.by_ns) == ("fin", SERVER, segments[5].ts_ns)
    assert end.heard_ns == segments[3].ts_ns


def test_half_a_close_lets_the_other_side_go_on(wire: Wire) -> None:
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc", flags=FIN | PSH | ACK)]
    segments += [wire.segment(SERVER, b"xyz", acked=4), wire.segment(SERVER, b"!", acked=4)]
    assert brief(run(segments))[1:] == [("c", b"abc"), ("s", b"xyz"), ("s", b"!"), ("end", "fin", "c", False)]
    segments.append(wire.segment(SERVER, flags=FIN | ACK, acked=4))
    assert brief(run(segments))[-1] == ("end", "fin", "c", True)


def test_a_fin_before_its_octets_waits_for_them(wire: Wire) -> None:
    segments = wire.handshake()
    octet = wire.segment(CLIENT, b"x")
    segments += [*wire.finish()[:2], octet]
    assert brief(run(segments))[1:] == [("c", b"x"), ("end", "fin", "c", True)]


def test_a_fin_proves_what_is_missing_before_it(wire: Wire) -> None:
    segments = wire.handshake()
    wire.segment(CLIENT, b"lost")
    segments += wire.finish()
    assert brief(run(segments))[1:] == [("gap", "c", 4, "lost"), ("end", "fin", "c", False)]


def test_a_lost_fin_is_no_gap(wire: Wire) -> None:
    segments = [*wire.handshake(), wire.segment(CLIENT, b"abc"), *wire.finish()[1:]]
    assert brief(run(segments))[1:] == [("c", b"abc"), ("end", "fin", "c", True)]


def test_octets_after_the_fin_are_reported(wire: Wire) -> None:
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
        ("end", "refused", "s", False),
        START,
        ("c", b"x"),
        ("end", "end-of-capture", None, False),
    ]


def test_a_repeated_syn_is_the_same_connection(wire: Wire) -> None:
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


def test_seen_from_the_middle_a_stream_begins_at_its_first_octet(wire: Wire) -> None:
    wire.sent.update({CLIENT: 500, SERVER: 700})
    segments = [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two")]
    items = run(segments)
    assert brief(items) == [UNKNOWN, ("c", b"one"), ("s", b"two"), ("end", "end-of-capture", None, False)]
    assert [item.offset for item in items if isinstance(item, StreamData)] == [0, 0]


def test_octets_under_way_when_the_capture_began_are_no_gap(wire: Wire) -> None:
    segments = [wire.segment(CLIENT, b"one")]
    wire.segment(SERVER, b"sent before the capture began")
    segments += [wire.segment(SERVER, b"two"), wire.segment(CLIENT, b"three")]
    assert content(run(segments)) == [("c", b"one"), ("s", b"two"), ("c", b"three")]


def test_octets_from_before_the_first_known_one_are_reported_once(wire: Wire) -> None:
    early = wire.segment(CLIENT, b"early")
    segments = [wire.segment(CLIENT, b"one"), early, early]
    assert content(run(segments)) == [("c", b"one"), ("damage", "c", "late-segment")]


def test_a_retransmission_may_be_the_first_octets_seen(wire: Wire) -> None:
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


def test_a_connection_without_octets_or_syn_is_not_told(wire: Wire) -> None:
    segments = [wire.segment(CLIENT), wire.segment(SERVER), *wire.finish()]
    assert run(segments) == []
    assert run([wire.segment(CLIENT, flags=RST)]) == []


def test_only_the_answer_to_the_syn_was_captured(wire: Wire) -> None:
    segments = [*wire.handshake()[1:], wire.segment(CLIENT, b"one"), *wire.finish()]
    assert brief(run(segments)) == [START, ("c", b"one"), ("end", "fin", "c", False)]


def test_the_answer_to_the_syn_was_lost(wire: Wire) -> None:
    syn, _, ack = wire.handshake()
    segments = [syn, ack, wire.segment(SERVER, b"one"), *wire.finish()]
    assert brief(run(segments)) == [START, ("s", b"one"), ("end", "fin", "c", False)]


def test_a_handshake_out_of_order(wire: Wire) -> None:
    syn, answer, ack = wire.handshake()
    data = [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two")]
    end = wire.finish()
    for first in ([answer, syn, ack], [answer, ack, syn], [syn, ack, answer]):
        items = run([*first, *data, *end])
        assert brief(items) == [START, ("c", b"one"), ("s", b"two"), ("end", "fin", "c", True)]


def test_an_answer_from_the_connection_before_does_not_move_the_stream(wire: Wire) -> None:
    """The server still has the old connection and says so; the client resets and tries again."""
    segments = [wire.segment(CLIENT, seq=1000, flags=SYN)]
    segments += [wire.segment(SERVER, seq=3_000_000_000)]
    segments += wire.handshake()
    segments += [wire.segment(SERVER, b"one"), wire.segment(CLIENT, b"two"), *wire.finish()]
    assert brief(run(segments)) == [START, ("s", b"one"), ("c", b"two"), ("end", "fin", "c", True)]


def test_octets_with_the_syn_are_the_first(wire: Wire) -> None:
    """RFC 7413."""
    segments = [wire.segment(CLIENT, b"early", seq=1000, flags=SYN)]
    segments += [wire.segment(SERVER, seq=2000, flags=SYN | ACK), wire.segment(CLIENT, b"one")]
    assert content(run(segments)) == [("c", b"early"), ("c", b"one")]


def test_both_ends_may_open_at_once(wire: Wire) -> None:
    segments = [wire.segment(CLIENT, seq=1000, flags=SYN)]
    segments += [wire.segment(SERVER, seq=2000, flags=SYN)]
    segments += [wire.segment(CLIENT, seq=1000, flags=SYN | ACK)]
    segments += [wire.segment(SERVER, seq=2000, flags=SYN | ACK)]
    segments += [wire.segment(CLIENT, b"one"), wire.segment(SERVER, b"two"), *wire.finish()]
    assert brief(run(segments)) == [START, ("c", b"one"), ("s", b"two"), ("end", "fin", "c", True)]


def test_flows_in_order_are_told_apart() -> None:
    segments: list[Segment] = []
    for port in (40001, 40002, 40003):
        wire = Wire()
        for segment in [*wire.handshake(), wire.segment(CLIENT, b"x%d" % port), *wire.finish()]:
            ours = "sport" if segment.sport == 40000 else "dport"
            segments.append(changed(segment, **{ours: port}))
    items = list(reassemble(sorted(segments, key=sort_key)))
    assert [item.data for item in items if isinstance(item, StreamData)] == [b"x40001", b"x40002", b"x40003"]
    assert len([item for item in items if isinstance(item, ConnectionEnd)]) == 3


def test_a_state_of_another_release_is_refused() -> None:
    reassembler = Reassembler()
    state = reassembler.__getstate__()
    assert pickle.loads(pickle.dumps(reassembler)).__getstate__() == state
    with pytest.raises(LocalProtocolError, match="layout 99"):
        Reassembler().__setstate__((99, *state[1:]))


def test_what_waits_keeps_its_place_when_a_stream_turns_out_to_begin_earlier() -> None:
    """Seen from the middle: the client has seen 50 octets, and the server sends again from before."""
    for first in (b"ok", b""):
        wire = Wire()
        wire.sent[SERVER] = 100
        segments = [wire.segment(CLIENT, b"start")]
        wire.segment(SERVER, bytes(50))
        lost = wire.segment(CLIENT, first)
        segments += [wire.segment(CLIENT, b"done", acked=150)]
        segments += [wire.segment(SERVER, b"a" * 10, offset=90, acked=5)]
        segments += [wire.segment(SERVER, b"b" * 50, offset=100, acked=5), lost]
        entries = content(run(segments))
        assert entries == [
            ("c", b"start"),
            ("s", b"a" * 10),
            ("s", b"b" * 50),
            *([("c", first)] if first else []),
            ("c", b"done"),
        ]


def test_the_answer_to_a_lost_syn_says_where_the_client_begins(wire: Wire) -> None:
    segments = wire.handshake()[1:2]
    wire.segment(CLIENT, b"lost")
    segments += [wire.segment(CLIENT, b"one")]
    assert content(run(segments)) == [("gap", "c", 4, "end-of-capture"), ("c", b"one")]
