"""For readers that take runs of plain records at once: how the records lie, and a parser for all that is odd.

A parser stands at `offset` of its file. `layout` says how the records from there on lie, as long as nothing unusual
comes; a caller that knows them to be plain takes them itself and says so with `take`. Whatever it doesn't know it
leaves to `parse`, and what isn't plain in a packet to `decode`. The rows are those of `read_segments`.

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
"""Octets that tell what a file is."""


def open_parser(head: bytes, file: str = "") -> PcapParser | PcapngParser:
    """A parser at the beginning of the file that begins with `head`, of `HEAD` octets at least.

    Raises NotACapture when the file is neither pcap nor pcapng.
    """
    if head[:4] in MAGICS:
        return PcapParser(file)
    if head[:4] == SECTION and head[8:12] in (BYTE_ORDER_BIG, BYTE_ORDER_LITTLE):
        return PcapngParser(file)
    raise not_a_capture(head, file)


def may_begin_capture(head: bytes) -> bool:
    """Whether so few octets may begin a pcap or pcapng file."""
    return any(magic.startswith(head[:4]) for magic in (*MAGICS, SECTION))


def not_a_capture(head: bytes, file: str) -> NotACapture:
    """The error about a file that begins with `head`."""
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
