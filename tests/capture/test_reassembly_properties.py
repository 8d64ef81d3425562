"""TCP reassembly against generated traffic: cuts, retransmissions, overlaps, reordering, wraps, losses."""

import pickle
from collections import defaultdict
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.capture import (
    ConnectionEnd,
    ConnectionStart,
    Item,
    Reassembler,
    Segment,
    StreamDamage,
    StreamData,
    StreamGap,
)
from tests.kit.tcp import ACK, CLIENT, FIN, MS, RST, SERVER, SYN, Wire, changed, octets, run

NUMBERS = st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 400, 2**32 - 1))


class Traffic:
    """A conversation: `segments` as sent, in order, and which octets each side sent."""

    def __init__(self, segments: list[Segment], streams: dict[str, bytes], wire: Wire) -> None:
        self.segments = segments
        self.streams = streams
        self.wire = wire


SEEDS = st.integers(0, 2**32 - 1)
"""What decides on the details; hypothesis chooses and shrinks the sizes. Drawing every detail takes minutes."""


@st.composite
def traffic(draw: st.DrawFn) -> Traffic:
    """Turns of both sides, each having seen all before; every turn cut into segments anew."""
    wire = Wire(draw(NUMBERS), draw(NUMBERS))
    turns = draw(st.lists(st.tuples(st.booleans(), st.integers(1, 300)), min_size=1, max_size=8))
    chance = Random(draw(SEEDS))
    segments = wire.handshake()
    streams = {CLIENT: b"", SERVER: b""}
    for turn, (first, size) in enumerate(turns):
        sender = CLIENT if first else SERVER
        data = bytes([(turn * 37 + at) % 256 for at in range(size)])
        cuts = sorted(chance.randint(0, size) for _ in range(chance.randint(0, 4)))
        start = len(streams[sender])
        streams[sender] += data
        for a, b in zip([0, *cuts], [*cuts, size], strict=True):
            if a < b:
                segments.append(wire.segment(sender, data[a:b], offset=start + a))
    return Traffic(segments + wire.finish(), streams, wire)


def repetition(chance: Random, sent: Traffic, before: int) -> Segment | None:
    """Any octets that were sent before position `before` of the segments, sent again."""
    reach: dict[str, int] = defaultdict(int)
    for segment in sent.segments[:before]:
        name = f"{segment.src}:{segment.sport}"
        end = (segment.seq - sent.wire.isn[name] - 1 + segment.wire_len) % 2**32
        if segment.wire_len:
            reach[name] = max(reach[name], end)
    if not reach:
        return None
    sender = chance.choice(sorted(reach))
    start = chance.randrange(reach[sender])
    end = chance.randint(start + 1, reach[sender])
    return sent.wire.segment(
        sender, sent.streams[sender][start:end], offset=start, acked=reach[SERVER if sender == CLIENT else CLIENT]
    )


@st.composite
def disturbed(draw: st.DrawFn) -> tuple[Traffic, list[Segment]]:
    """Nothing lost, but after the handshake repeated, overlapping and out of order."""
    sent = draw(traffic())
    repeated, swapped = draw(st.integers(0, 5)), draw(st.integers(0, 8))
    chance = Random(draw(SEEDS))
    captured = list(sent.segments)
    for _ in range(repeated):
        at = chance.randint(3, len(captured))
        again = repetition(chance, sent, min(at, len(sent.segments)))
        if again is not None:
            captured.insert(at, again)
    for _ in range(swapped):
        at = chance.randrange(3, len(captured) - 1)
        captured[at], captured[at + 1] = captured[at + 1], captured[at]
    return sent, at_times(captured)


def at_times(segments: list[Segment]) -> list[Segment]:
    """The segments captured one after the other in this order."""
    return [changed(segment, ts_ns=at * MS, packet=at) for at, segment in enumerate(segments)]


def check_shape(items: list[Item]) -> None:
    """What holds for every output: one start, one end, offsets without holes, times that never go back."""
    covered: dict[tuple[str, str], int] = defaultdict(int)
    clock: dict[str, int] = {}
    ended: set[str] = set()
    for item in items:
        if isinstance(item, ConnectionStart):
            assert item.connection not in clock
        else:
            assert item.ts_ns >= clock[item.connection]
        assert item.connection not in ended
        clock[item.connection] = item.ts_ns
        if isinstance(item, StreamData | StreamGap):
            key = (item.connection, item.sender)
            assert item.offset == covered[key]
            size = len(item.data) if isinstance(item, StreamData) else item.octets
            assert size > 0
            covered[key] += size
        if isinstance(item, ConnectionEnd):
            ended.add(item.connection)
    assert ended == set(clock)


@given(disturbed())
def test_when_nothing_is_lost_the_streams_are_exact(case: tuple[Traffic, list[Segment]]) -> None:
    sent, captured = case
    items = run(captured)
    check_shape(items)
    for sender, stream in sent.streams.items():
        assert octets(items, sender) == stream
    assert not [item for item in items if isinstance(item, StreamGap | StreamDamage)]
    (end,) = [item for item in items if isinstance(item, ConnectionEnd)]
    assert end.how == "fin"


@given(traffic(), SEEDS)
def test_octets_come_after_all_that_their_sender_had_seen(sent: Traffic, seed: int) -> None:
    """Whatever the order of the capture; only the handshake is left in place."""
    rest = sent.segments[3:]
    Random(seed).shuffle(rest)
    items = run(at_times(sent.segments[:3] + rest))
    check_shape(items)
    need: dict[tuple[str, int], int] = {}
    for segment in sent.segments:
        name = f"{segment.src}:{segment.sport}"
        other = SERVER if name == CLIENT else CLIENT
        if segment.wire_len:
            offset = (segment.seq - sent.wire.isn[name] - 1) % 2**32
            need[name, offset] = (segment.ack - sent.wire.isn[other] - 1) % 2**32
    out: dict[str, int] = defaultdict(int)
    for item in items:
        if isinstance(item, StreamData):
            other = SERVER if item.sender == CLIENT else CLIENT
            assert out[other] >= need[item.sender, item.offset]
            out[item.sender] += len(item.data)
    for sender, stream in sent.streams.items():
        assert out[sender] == len(stream)


@given(disturbed(), st.integers(1, 9), SEEDS)
def test_with_losses_the_gaps_are_exactly_what_was_lost(
    case: tuple[Traffic, list[Segment]], tenths: int, seed: int
) -> None:
    """SYNs and FINs are there, so that both ends of both streams are known."""
    sent, captured = case
    chance = Random(seed)
    kept = [segment for segment in captured if segment.flags & (SYN | FIN) or chance.randint(1, 10) > tenths]
    there: dict[str, set[int]] = {CLIENT: set(), SERVER: set()}
    for segment in kept:
        name = f"{segment.src}:{segment.sport}"
        start = (segment.seq - sent.wire.isn[name] - 1) % 2**32
        there[name].update(range(start, start + segment.wire_len))
    items = run(kept)
    check_shape(items)
    missing: dict[str, set[int]] = {CLIENT: set(), SERVER: set()}
    for item in items:
        if isinstance(item, StreamGap):
            missing[item.sender].update(range(item.offset, item.offset + item.octets))
        elif isinstance(item, StreamData):
            stream = sent.streams[item.sender]
            assert stream[item.offset : item.offset + len(item.data)] == item.data
    for sender, stream in sent.streams.items():
        assert missing[sender] == set(range(len(stream))) - there[sender]
    assert not [item for item in items if isinstance(item, StreamDamage)]


@given(traffic(), st.integers(0, 100))
def test_a_snap_length_makes_gaps_of_what_it_cut(sent: Traffic, snap: int) -> None:
    captured = [changed(segment, payload=segment.payload[:snap]) for segment in sent.segments]
    items = run(captured)
    check_shape(items)
    total: dict[str, int] = defaultdict(int)
    for item in items:
        if isinstance(item, StreamData):
            stream = sent.streams[item.sender]
            assert stream[item.offset : item.offset + len(item.data)] == item.data
            total[item.sender] += len(item.data)
        elif isinstance(item, StreamGap):
            assert item.reason == "snaplen"
            total[item.sender] += item.octets
    assert total == {sender: len(stream) for sender, stream in sent.streams.items() if stream}


FLAGS = (0, ACK, SYN, SYN | ACK, RST, RST | ACK, FIN, FIN | ACK)
STEPS = (0, 0, 1, MS, 999 * MS, 1500 * MS, 400_000 * MS)


@st.composite
def chaos(draw: st.DrawFn) -> list[Segment]:
    """Anything: several connections, losses, garbage, any flags, times that jump."""
    parts = draw(st.lists(disturbed(), min_size=1, max_size=3))
    garbage = draw(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12))
    chance = Random(draw(SEEDS))
    segments = [segment for _, part in parts for segment in part if chance.randint(0, 9) > 1]
    # Some of the garbage is near to the real numbers, so that it isn't just thrown away.
    wire = parts[0][0].wire
    for seq, ack in garbage:
        payload = chance.randbytes(chance.randint(0, 20))
        sender = chance.choice((CLIENT, SERVER))
        near = chance.random() < 0.5
        segment = wire.segment(
            sender,
            payload,
            seq=wire.isn[sender] + seq % 1000 if near else seq,
            acked=ack % 1000 if near else ack,
            flags=chance.choice(FLAGS),
            wire_len=len(payload) + chance.choice((0, 0, 1, 1500, 2**20)),
        )
        segments.insert(chance.randint(0, len(segments)), segment)
    now = 0
    result: list[Segment] = []
    for at, segment in enumerate(segments):
        now += chance.choice(STEPS)
        result.append(changed(segment, ts_ns=now, packet=at))
    return result


@given(chaos())
def test_whatever_comes_the_output_has_its_shape_and_holds_little(segments: list[Segment]) -> None:
    limit = 4000
    reassembler = Reassembler(limit=limit)
    items: list[Item] = []
    for segment in segments:
        items += reassembler.push(segment)
        assert reassembler.held <= limit
        due = reassembler.due_ns
        assert due is None or due > segment.ts_ns
    items += reassembler.finish()
    check_shape(items)
    assert reassembler.held == 0


@given(chaos(), SEEDS)
def test_a_pickled_copy_goes_on_in_the_same_way(segments: list[Segment], seed: int) -> None:
    want = run(segments)
    at = seed % (len(segments) + 1)
    reassembler = Reassembler()
    before = [item for segment in segments[:at] for item in reassembler.push(segment)]
    copy: Reassembler = pickle.loads(pickle.dumps(reassembler))
    for one in (reassembler, copy):
        assert before + run(segments[at:], one) == want
    always = Reassembler()
    items: list[Item] = []
    for segment in segments:
        always = pickle.loads(pickle.dumps(always))
        items += always.push(segment)
    assert items + always.finish() == want


@given(chaos())
def test_runs_of_segments_are_the_items_of_each(segments: list[Segment]) -> None:
    reassembler, found, at = Reassembler(), list[object](), 0
    while at < len(segments):
        taken = reassembler.run(segments, at)
        if isinstance(taken, list):
            found += map(_plain, taken)
        else:
            found += [(*taken[:2], *each) for each in zip(*taken[2:], strict=True)]
        at += 1 if isinstance(taken, list) else len(taken[2])
    copies = pickle.loads(pickle.dumps(segments))
    assert found + [_plain(item) for item in reassembler.finish()] == [_plain(item) for item in run(copies)]


def _plain(item: Item) -> object:
    return (item.connection, item.sender, item.data, item.ts_ns) if isinstance(item, StreamData) else item
