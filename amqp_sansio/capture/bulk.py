"""For readers that process runs of plain records in bulk: the layout of the records, and a parser for all others.

A parser stands at `offset` of its file. `layout` describes the following records while nothing unusual comes; a caller
that recognises plain ones reads them itself and reports that with `take`. It leaves all others to `parse`, and unusual
packets to `decode`. The rows are those of `read_segments`.

>>> from amqp_sansio.capture import PcapngWriter
>>> recording = PcapngWriter().header()
>>> parser = open_parser(recording, "a.pcapng")
>>> parser.parse(recording, [], True) == len(recording)
True
>>> layout = parser.layout()
>>> isinstance(layout, PcapngLayout) and layout.interfaces[0].link
101
"""

from __future__ import annotations

from .ip import MAX_SEGMENT, Output
from .parser import Interface, Parser, PcapLayout, PcapngLayout
from .pcap import MAGICS, PcapParser
from .pcapng import BYTE_ORDER_BIG, BYTE_ORDER_LITTLE, MAX_BLOCK, SECTION, PcapngParser
from .records import NotACapture

HEAD = 12
"""Octets that identify a file's format."""


def open_parser(head: bytes, file: str = "") -> PcapParser | PcapngParser:
    """Return a parser for the beginning of the file that begins with `head`, of at least `HEAD` octets.

    Raises NotACapture if the file is neither pcap nor pcapng.
    """
    if head[:4] in MAGICS:
        return PcapParser(file)
    if head[:4] == SECTION and head[8:12] in (BYTE_ORDER_BIG, BYTE_ORDER_LITTLE):
        return PcapngParser(file)
    raise not_a_capture(head, file)


def may_begin_capture(head: bytes) -> bool:
    """Whether these few octets may begin a pcap or pcapng file."""
    return any(magic.startswith(head[:4]) for magic in (*MAGICS, SECTION))


def not_a_capture(head: bytes, file: str) -> NotACapture:
    """Return the error about a file that begins with `head`."""
    name = file or "the data"
    if not head:
        return NotACapture(f"{name}: empty, so not a pcap or pcapng capture")
    return NotACapture(f"{name}: begins with {head[:4].hex()}, not as pcap or pcapng does")


__all__ = [
    "HEAD",
    "MAX_BLOCK",
    "MAX_SEGMENT",
    "SECTION",
    "Interface",
    "Output",
    "Parser",
    "PcapLayout",
    "PcapngLayout",
    "may_begin_capture",
    "not_a_capture",
    "open_parser",
]
