"""Recordings: read back octet by octet, by this package and by tshark."""

import pickle
import shutil
import subprocess
from pathlib import Path

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
from tests.kit.captures import named

TSHARK = shutil.which("tshark")
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


def tshark(path: Path, *arguments: str) -> list[list[str]]:
    if TSHARK is None:
        pytest.skip("tshark isn't installed")
    command = [TSHARK, "-r", str(path), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [line.split("\t") for line in result.stdout.splitlines()]


CHECKS = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields")


def test_tshark_finds_no_fault_in_a_recording(tmp_path: Path) -> None:
    """Odd and even lengths, both IP versions, full packets, FIN and RST."""
    writer = PcapngWriter(comment="checked")
    data = writer.header()
    for number, (client, server) in enumerate(ENDS):
        connection, opened = writer.open(client, server, NOW)
        data += opened
        for size in (1, 2, 3, 1000, 65_495, 65_496, 200_001):
            text = bytes((at * 7 + size) % 256 for at in range(size))
            data += writer.data(connection, Side.CLIENT, text, NOW + size)
            data += writer.data(connection, Side.SERVER, text, NOW + size)
        data += writer.close(connection, Side.SERVER, NOW + 10**9, reset=number == 2)
    path = tmp_path / "recording.pcapng"
    path.write_bytes(data + writer.header())
    fields = ("frame.time_epoch", "ip.checksum.status", "tcp.checksum.status", "tcp.analysis.flags")
    rows = tshark(path, *CHECKS, *[word for field in fields for word in ("-e", field)])
    assert len(rows) == 3 * (3 + 2 * (5 + 2 + 4)) + 2 * 3 + 1
    for _, ip, tcp, flags in rows:
        assert (ip, tcp, flags) in (("1", "1", ""), ("", "1", ""))
    assert rows[0][0] == "1700000000.123456789"
    # Warnings and worse, but for the word that a RST is a RST.
    faults = "_ws.malformed || (_ws.expert.severity >= 0x600000 && !tcp.flags.reset == 1)"
    assert not tshark(path, *CHECKS, "-Y", faults, "-e", "_ws.expert.message")
    again = tmp_path / "appended.pcapng"
    again.write_bytes(data + data)
    assert len(tshark(again, "-T", "fields", "-e", "frame.number")) == 2 * len(rows)


@pytest.mark.parametrize("name", ["o091_pika_basic", "o08_amqplib_rabbit_basic", "o10_proton_proton_basic"])
def test_tshark_sees_the_same_amqp_in_a_recording_as_in_the_capture(name: str, tmp_path: Path) -> None:
    """Real traffic, read from a capture and recorded anew."""
    path = named(name + ".pcap")
    writer = PcapngWriter()
    data = writer.header()
    items = items_of(path.read_bytes())
    start = items[0]
    assert isinstance(start, ConnectionStart)
    assert start.client is not None
    assert start.server is not None
    connection, opened = writer.open(start.client, start.server, start.ts_ns)
    data += opened
    for item in items:
        if isinstance(item, StreamData):
            sender = Side.CLIENT if item.sender == start.client else Side.SERVER
            data += writer.data(connection, sender, item.data, item.ts_ns)
    data += writer.close(connection, Side.CLIENT, items[-1].ts_ns)
    recorded = tmp_path / "recorded.pcapng"
    recorded.write_bytes(data)
    assert octets(items_of(data), start.client) == octets(items, start.client)
    assert octets(items_of(data), start.server) == octets(items, start.server)
    port = start.server.rpartition(":")[2]
    wanted = ("-d", f"tcp.port=={port},amqp", "-Y", "amqp", "-T", "fields", "-e", "_ws.col.Info")
    assert tshark(recorded, *wanted) == tshark(path, *wanted)
    assert len(tshark(recorded, *wanted)) > 10
