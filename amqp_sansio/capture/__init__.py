"""Captures of network traffic: TCP segments and streams from pcap and pcapng, and recordings.

Pure: it takes octets and returns records; the caller opens the files.

A recording of one connection, and the octets of both sides again, in causal order:

>>> writer = PcapngWriter()
>>> recording = writer.header()
>>> connection, octets = writer.open("127.0.0.1:40000", "[::1]:5672", 1_700_000_000_000_000_000)
>>> recording += octets
>>> recording += writer.data(connection, "client", b"AMQP", 1_700_000_000_000_000_001)
>>> recording += writer.close(connection, "client", 1_700_000_000_000_000_002)
>>> segments = [row for row in read_segments(recording) if isinstance(row, Segment)]
>>> [type(item).__name__ for item in reassemble(sorted(segments, key=sort_key))]
['ConnectionStart', 'StreamData', 'ConnectionEnd']

Piece by piece, from any source, with states that can be stored between:

>>> reader = CaptureReader(file="a.pcapng")
>>> rows = reader.feed(recording[:200]) + reader.feed(recording[200:]) + reader.finish()
>>> rows[0].flow
'[::1]:5672-[::ffff:127.0.0.1]:40000'
>>> reassembler = Reassembler()
>>> items = [item for row in rows for item in reassembler.push(row)] + reassembler.finish()
>>> items[1].data, items[1].sender == endpoint("::ffff:127.0.0.1", 40000)
(b'AMQP', True)
>>> flow_key("::1", 5672, "::ffff:127.0.0.1", 40000) == rows[0].flow
True

Unreadable parts are reported, not raised, except for octets that are no capture at all:

>>> [damage] = [row for row in read_segments(recording[:-1]) if isinstance(row, CaptureDamage)]
>>> damage.kind
'truncated-file'
>>> next(read_segments(b"PK", file="a.zip"))
Traceback (most recent call last):
amqp_sansio.capture.records.NotACapture: a.zip: begins with 504b, not as pcap or pcapng does
"""

from .clocks import ClockDifference, Clocks, clock_differences
from .reader import CaptureReader, read_segments
from .records import (
    CaptureDamage,
    ConnectionEnd,
    ConnectionStart,
    Item,
    NotACapture,
    Segment,
    StreamDamage,
    StreamData,
    StreamGap,
    endpoint,
    flow_key,
    sort_key,
)
from .tcp import Reassembler, reassemble
from .writer import PcapngWriter

__all__ = [
    "CaptureDamage",
    "CaptureReader",
    "ClockDifference",
    "Clocks",
    "ConnectionEnd",
    "ConnectionStart",
    "Item",
    "NotACapture",
    "PcapngWriter",
    "Reassembler",
    "Segment",
    "StreamDamage",
    "StreamData",
    "StreamGap",
    "clock_differences",
    "endpoint",
    "flow_key",
    "read_segments",
    "reassemble",
    "sort_key",
]
