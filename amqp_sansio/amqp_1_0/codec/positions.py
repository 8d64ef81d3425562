"""Positions within a message's sections, as a `Received` state names them (1.0 part 3 section 3.4.1)."""

from __future__ import annotations

from ...errors import CodecError
from .faults import INVALID, fault
from .sections import next_section


def section_position(payload: bytes, octets: int) -> tuple[int, int]:
    """Where in its sections a message is after its first `octets` octets: section-number and section-offset.

    That is the position to name in a `Received` (1.0 part 3 section 3.4.1). `payload` need not have more than
    these octets.

    >>> from amqp_sansio.amqp_1_0 import Header, Message
    >>> section_position(Message(b"abc", header=Header(durable=True)).encode(), 9)
    (1, 2)
    """
    end = len(payload)
    if not 0 <= octets <= end:
        raise ValueError(f"the payload has {end} octets, not {octets}")
    number = pos = 0
    while pos < octets:
        try:
            stop = next_section(payload, pos, end)[3]
        except CodecError:
            break
        if stop > octets:
            break
        pos = stop
        number += 1
    return number, octets - pos


def position_octets(payload: bytes, section_number: int, section_offset: int) -> int:
    """How many octets of a message lie before a position of `Received`, the reverse of `section_position`.

    Raises CodecError when the payload doesn't reach that far.

    >>> from amqp_sansio.amqp_1_0 import Header, Message
    >>> position_octets(Message(b"abc", header=Header(durable=True)).encode(), 1, 2)
    9
    """
    end = len(payload)
    pos = 0
    for _ in range(section_number):
        pos = next_section(payload, pos, end)[3]
    if pos + section_offset > end:
        raise fault(
            f"section {section_number} has no offset {section_offset}",
            end,
            "received/offset-meaning",
            INVALID,
        )
    return pos + section_offset
