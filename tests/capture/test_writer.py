"""Recordings: read back octet by octet. tests/system/capture has them read by tshark."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import LocalProtocolError
from amqp_sansio.capture import (
    ConnectionEnd,
    ConnectionStart,
    Item,
    PcapngWriter,
    Segment,
    StreamData,
    StreamGap,
    read_segments,
    reassemble,
    sort_key,
)
from amqp_sansio.endpoint import Side

NOW = 1_700_000_000_123_456_789
ENDS = [
    ("127.0.0.1:40000", "127.0.0.1:5672"),
    ("[::1]:40000", "[2001:db8::1]:5672"),
    ("10.0.0.1:40000", "[2001:db8::1]:5672"),
]


def items_of(data: bytes) -> list[Item]:
    segments: list[Segment] = []
    for row in read_segments(data):
        assert isinstance(row, Segment), row
        segments.append(row)
    return list(reassemble(sorted(segments, key=sort_key)))


def octets(items: list[Item], sender: str) -> bytes:
    return b"".join(item.data for item in items if isinstance(item, StreamData) and item.sender == sender)


@pytest.mark.parametrize(("client", "server"), ENDS)
def test_a_recording_is_read_back_octet_by_octet(client: str, server: str) -> None:
    writer = PcapngWriter(comment="a test")
    connection, opened = writer.open(client, server, NOW)
    body = bytes(range(256)) * 600
    data = writer.header() + opened
    data += writer.data(connection, Side.CLIENT, b"AMQP\0\0\x09\x01", NOW + 1)
    data += writer.data(connection, Side.SERVER, body, NOW + 2)
    data += writer.data(connection, "client", bytearray(b"end"), NOW + 3)
    data += writer.data(connection, "server", b"", NOW + 4)
    data += writer.close(connection, Side.SERVER, NOW + 5)
    items = items_of(data)
    start, *middle, end = items
    assert isinstance(start, ConnectionStart)
    ours = client if client.startswith("[") or server[0] != "[" else "[::ffff:10.0.0.1]:40000"
    assert (start.client, start.server, start.ts_ns) == (ours, server, NOW)
    assert octets(items, ours) == b"AMQP\0\0\x09\x01end"
    assert octets(items, server) == body
    assert {item.ts_ns for item in middle} == {NOW + 1, NOW + 2, NOW + 3}
    assert isinstance(end, ConnectionEnd)
    assert (end.how, end.by, end.complete, end.ts_ns) == ("fin", server, True, NOW + 5)


def test_a_reset_and_an_unknown_end() -> None:
    writer = PcapngWriter()
    data = writer.header()
    connection, opened = writer.open(*ENDS[0], NOW)
    data += opened + writer.data(connection, Side.CLIENT, b"x", NOW)
    data += writer.close(connection, Side.CLIENT, NOW + 9, reset=True)
    end = items_of(data)[-1]
    assert isinstance(end, ConnectionEnd)
    assert (end.how, end.by, end.complete, end.ts_ns) == ("rst", ENDS[0][0], True, NOW + 9)
    connection, opened = writer.open(*ENDS[0], NOW + 10)
    data += opened + writer.data(connection, Side.CLIENT, b"x", NOW + 11)
    assert writer.close(connection, None, NOW + 12) == b""
    last = items_of(data)[-1]
    assert isinstance(last, ConnectionEnd)
    assert (last.how, last.by, last.complete) == ("end-of-capture", None, False)


def test_connections_are_interleaved_and_endpoints_used_again() -> None:
    writer = PcapngWriter()
    data = writer.header()
    one, opened = writer.open("127.0.0.1:1", "127.0.0.1:2", NOW)
    data += opened
    two, opened = writer.open("127.0.0.1:3", "127.0.0.1:2", NOW)
    data += opened
    for at in range(10):
        data += writer.data(one, Side.CLIENT, b"one", NOW + at)
        data += writer.data(two, Side.CLIENT, b"two", NOW + at)
    data += writer.close(one, Side.CLIENT, NOW + 10)
    again, opened = writer.open("127.0.0.1:1", "127.0.0.1:2", NOW + 10)
    data += opened + writer.data(again, Side.CLIENT, b"again", NOW + 11)
    items = items_of(data)
    assert octets(items, "127.0.0.1:3") == b"two" * 10
    assert octets(items, "127.0.0.1:1") == b"one" * 10 + b"again"
    assert len([item for item in items if isinstance(item, ConnectionStart)]) == 3
    assert not [item for item in items if isinstance(item, StreamGap)]


def test_a_clock_that_goes_back_does_not_disorder_a_connection() -> None:
    writer = PcapngWriter()
    connection, opened = writer.open(*ENDS[0], NOW)
    data = writer.header() + opened
    data += writer.data(connection, Side.CLIENT, b"one", NOW + 10**9)
    data += writer.data(connection, Side.SERVER, b"two", NOW - 3600 * 10**9)
    data += writer.close(connection, Side.CLIENT, NOW)
    texts = [item.data for item in items_of(data) if isinstance(item, StreamData)]
    assert texts == [b"one", b"two"]


def test_a_recording_can_be_appended_to_after_a_cut() -> None:
    def recording(text: bytes) -> bytes:
        writer = PcapngWriter()
        at_ns = NOW + len(text) * 10**9
        connection, opened = writer.open(*ENDS[0], at_ns)
        return writer.header() + opened + writer.data(connection, Side.CLIENT, text, at_ns)

    first, second = recording(b"first"), recording(b"second")
    whole = items_of(first + second)
    assert [item.data for item in whole if isinstance(item, StreamData)] == [b"first", b"second"]
    for cut in (1, 5, 50):
        rows = list(read_segments(first[:-cut] + second))
        segments = sorted((row for row in rows if isinstance(row, Segment)), key=sort_key)
        assert len(segments) == 3 + 4
        assert len(rows) == 8
        texts = [item.data for item in reassemble(segments) if isinstance(item, StreamData)]
        assert texts == [b"second"]


def test_a_recording_cut_anywhere_is_read_up_to_the_cut() -> None:
    writer = PcapngWriter()
    connection, opened = writer.open(*ENDS[0], NOW)
    data = writer.header() + opened
    texts = [b"a" * 50, b"b" * 51, b"c" * 52]
    ends: list[int] = []
    for text in texts:
        data += writer.data(connection, Side.CLIENT, text, NOW)
        ends.append(len(data))
    for length in range(len(writer.header()), len(data)):
        rows = [row for row in read_segments(data[:length]) if isinstance(row, Segment)]
        want = b"".join(text for text, end in zip(texts, ends, strict=True) if end <= length)
        assert octets(list(reassemble(rows)), ENDS[0][0]) == want


def test_a_connection_that_is_not_open_is_a_mistake() -> None:
    writer = PcapngWriter()
    connection, _ = writer.open(*ENDS[0], NOW)
    writer.close(connection, None, NOW)
    with pytest.raises(LocalProtocolError, match="connection 0"):
        writer.data(connection, Side.CLIENT, b"x", NOW)
    with pytest.raises(LocalProtocolError, match="connection 7"):
        writer.close(7, Side.CLIENT, NOW)
    with pytest.raises(ValueError, match="is no endpoint"):
        writer.open("localhost:1", "127.0.0.1:2", NOW)


def test_a_writer_can_be_pickled() -> None:
    writer = PcapngWriter()
    connection, opened = writer.open(*ENDS[0], NOW)
    data = writer.header() + opened
    copy: PcapngWriter = pickle.loads(pickle.dumps(writer))
    rest = [
        one.data(connection, Side.CLIENT, b"x", NOW) + one.close(connection, Side.CLIENT, NOW) for one in (writer, copy)
    ]
    assert rest[0] == rest[1]
    assert len(items_of(data + rest[1])) == 3


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=300), st.integers(0, 10**10)), max_size=20))
def test_whatever_is_written_is_read(script: list[tuple[bool, bytes, int]]) -> None:
    writer = PcapngWriter()
    connection, opened = writer.open(*ENDS[0], NOW)
    data = writer.header() + opened
    want: list[bytes] = []
    for first, text, ns in script:
        sender = Side.CLIENT if first else Side.SERVER
        data += writer.data(connection, sender, text, NOW + ns)
        want += [text] if text else []
    data += writer.close(connection, Side.CLIENT, NOW)
    items = items_of(data)
    assert [item.data for item in items if isinstance(item, StreamData)] == want
    assert isinstance(items[-1], ConnectionEnd)
    assert items[-1].complete


def test_a_side_that_has_finished_is_heard_no_more_while_the_other_goes_on() -> None:
    writer = PcapngWriter()
    number, begin = writer.open(*ENDS[0], NOW)
    pieces = [writer.header(), begin, writer.data(number, "client", b"one", NOW + 1)]
    pieces += [writer.finish(number, "server", NOW + 2), writer.finish(number, "server", NOW + 3)]
    pieces += [writer.data(number, "client", b"two", NOW + 4), writer.close(number, "server", NOW + 5)]
    items = items_of(b"".join(pieces))
    end = items[-1]
    assert isinstance(end, ConnectionEnd)
    assert (end.how, end.by, end.by_ns, end.heard_ns) == ("fin", ENDS[0][1], NOW + 2, NOW + 1)
    assert end.complete
    assert octets(items, ENDS[0][0]) == b"onetwo"
