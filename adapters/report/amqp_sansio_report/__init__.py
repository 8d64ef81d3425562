"""Reports of recorded AMQP traffic: rows of the tables in, one self-contained HTML page out.

Pure: the caller provides rows and segments, and writes the page. `document`, `section`, `ladder`, `asset`, `element`
and `join` make other pages in the same style, with the same sequence diagrams.

>>> from amqp_sansio.capture import PcapngWriter, Segment, read_segments, sort_key
>>> writer = PcapngWriter()
>>> recording = writer.header()
>>> connection, octets = writer.open("127.0.0.1:40000", "127.0.0.1:5672", 1_700_000_000_000_000_000)
>>> recording += octets + writer.data(connection, "client", b"AMQP\\x00\\x00\\x09\\x01", 1_700_000_000_000_000_001)
>>> gather = gather_segments(read_segments(recording, file="a.pcapng"))
>>> report = Report(gather)
>>> report.html.startswith("<!DOCTYPE html>")
True
"""

from __future__ import annotations

from .gather import Gather
from .page import document
from .records import Bounds
from .report import Report, gather_segments
from .sequence import Diagram, diagrams

__all__ = ["Bounds", "Diagram", "Gather", "Report", "diagrams", "document", "gather_segments"]
