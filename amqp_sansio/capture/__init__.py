"""Captures of network traffic: TCP segments and streams from pcap and pcapng, and recordings.

Pure: it takes octets and returns records; opening files is the caller's.
"""

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
    "endpoint",
    "flow_key",
    "read_segments",
    "reassemble",
    "sort_key",
]
