"""Recordings as tshark reads them: no fault, and the AMQP of the captures that they are made of."""

import shutil
import subprocess
from pathlib import Path

import pytest

from amqp_sansio.capture import ConnectionStart, PcapngWriter, StreamData
from amqp_sansio.endpoint import Side
from tests.capture.test_writer import ENDS, NOW, items_of, octets
from tests.kit.captures import named

TSHARK = shutil.which("tshark")


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
