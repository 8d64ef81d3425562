"""Sections of a message: where each begins and ends, in which order they may come, positions in them.

1.0 part 3 sections 3.2 and 3.4.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..._checking import TYPE_CHECKING
from ...errors import CodecError
from .decode import ENTRIES, NESTING, Map, read_code, read_counted, read_value, skip, skip_data
from .encode import encode
from .faults import INVALID, fault
from .types import AmqpMap, Symbol, ULong

if TYPE_CHECKING:
    from typing import Final, TypeAlias

HEADER: Final = 0x70
DELIVERY_ANNOTATIONS: Final = 0x71
MESSAGE_ANNOTATIONS: Final = 0x72
PROPERTIES: Final = 0x73
APPLICATION_PROPERTIES: Final = 0x74
DATA: Final = 0x75
AMQP_SEQUENCE: Final = 0x76
AMQP_VALUE: Final = 0x77
FOOTER: Final = 0x78

SYMBOLS: Final = {
    "amqp:header:list": HEADER,
    "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    "amqp:message-annotations:map": MESSAGE_ANNOTATIONS,
    "amqp:properties:list": PROPERTIES,
    "amqp:application-properties:map": APPLICATION_PROPERTIES,
    "amqp:data:binary": DATA,
    "amqp:amqp-sequence:list": AMQP_SEQUENCE,
    "amqp:amqp-value:*": AMQP_VALUE,
    "amqp:footer:map": FOOTER,
}
NAMES: Final = {code: symbol.split(":")[1] for symbol, code in SYMBOLS.items()}

LISTS: Final = (0x45, 0xC0, 0xD0)
MAPS: Final = (0xC1, 0xD1)
BINARIES: Final = (0xA0, 0xB0)
FORMS: Final = {
    **dict.fromkeys((HEADER, PROPERTIES, AMQP_SEQUENCE), LISTS),
    **dict.fromkeys((DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS, APPLICATION_PROPERTIES, FOOTER), MAPS),
    DATA: BINARIES,
}
"""The format codes that each section's value may have; an amqp-value may have any."""

MORE: Final = 0x100
Section = tuple[int, int, int, int]
"""A section's code, where its constructor begins, where its value begins, and where it ends."""
Index: TypeAlias = "dict[int, int] | dict[int, Section] | dict[int, int | Section]"
"""Of each section by its code where it begins, or all that is known when its descriptor isn't of the short form."""


def next_section(buf: bytes, pos: int, end: int) -> Section:
    """The section at `pos`. Raises CodecError when there is none."""
    code, at = read_code(buf, pos, end)
    if code:
        raise fault("a message consists of described sections", pos, "message/section-order")
    if buf[at : at + 1] == b"\x53" and at + 1 < end:
        number = buf[at + 1]
        at += 2
    else:
        descriptor, at = read_value(buf, at, end, NESTING, ENTRIES)
        if isinstance(descriptor, ULong):
            number = int(descriptor)
        else:
            number = SYMBOLS.get(descriptor, -1) if isinstance(descriptor, Symbol) else -1
    if number not in NAMES:
        raise fault("a message has a section that no message has", pos, "message/section-order")
    stop = skip(buf, at, end)
    forms = FORMS.get(number)
    if forms is not None and buf[at] not in forms:
        raise fault(f"the section {NAMES[number]} has a value of another type", at, "message/section-order")
    return number, pos, at, stop


def locate(buf: bytes) -> dict[int, Section]:
    """The sections of a message by their code, in order; the later ones of a body are under numbers from `MORE` on.

    Raises CodecError for a section out of place or there twice.
    """
    found: dict[int, Section] = {}
    last = pos = extra = 0
    end = len(buf)
    while pos < end:
        section = next_section(buf, pos, end)
        number = section[0]
        if number == last and number in (DATA, AMQP_SEQUENCE):
            found[MORE + extra] = section
            extra += 1
        elif number <= last:
            raise fault(f"the section {NAMES[number]} is behind {NAMES[last]}", pos, "message/section-order")
        elif DATA <= last <= AMQP_VALUE and number != FOOTER:
            raise fault("a body has sections of two kinds", pos, "message/body-choice")
        else:
            found[number] = section
        last = number
        pos = section[3]
    return found


def check_map(buf: bytes, at: int, end: int, number: int) -> None:
    """Raise CodecError for a key or value that an annotations, application properties or footer map can't have."""
    code, pos = read_code(buf, at, end)
    at, stop, _ = read_counted(buf, pos, end, code >> 4, ENTRIES)
    while at < stop:
        key, start = read_value(buf, at, stop, NESTING, ENTRIES)
        if number == APPLICATION_PROPERTIES:
            if key.__class__ is not str:
                text = f"an application property has the key {key!r:.60}, no string"
                raise fault(text, at, "application-properties/keys", INVALID)
            code, inner = read_code(buf, start, stop)
            while not code:
                code, inner = read_code(buf, skip(buf, inner, stop), stop)
            if code == 0x45 or code >> 4 & 15 > 0xB:
                text = f"the application property {key!r:.60} is no simple value"
                raise fault(text, start, "application-properties/values", INVALID)
            at = skip_data(buf, inner, stop, code)
        else:
            if key.__class__ is not Symbol and key.__class__ is not ULong:
                raise fault(
                    f"an annotation has the key {key!r:.60}, no symbol or ulong", at, "annotations/keys", INVALID
                )
            at = skip(buf, start, stop)


def listed(index: Index, end: int) -> list[Section]:
    """The sections of an index, in order: it has only the beginning of those that are as most are."""
    found: list[Section] = []
    for number, section in index.items():
        if isinstance(section, int):
            # The end of a section is where the next one begins.
            if found:
                found[-1] = (*found[-1][:3], section)
            found.append((number, section, section + 3, end))
        else:
            found.append(section)
    return found


def encode_annotations(values: AmqpMap) -> bytes:
    """The map of an annotations or footer section. Raises CodecError for a key that it can't have."""
    if isinstance(values, Map):
        octets = values.raw
    else:
        octets = encode({Symbol(key) if key.__class__ is str else key: values[key] for key in values})
    check_map(octets, 0, len(octets), MESSAGE_ANNOTATIONS)
    return octets


def encode_properties(values: Mapping[str, object]) -> bytes:
    """The map of application properties. Raises CodecError for a key or value that they can't have."""
    octets = encode(values)
    check_map(octets, 0, len(octets), APPLICATION_PROPERTIES)
    return octets


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
        raise fault(f"section {section_number} has no offset {section_offset}", end, "received/offset-meaning", INVALID)
    return pos + section_offset
