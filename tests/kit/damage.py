"""Damaged octets, made from good ones: what two readers of the same octets are compared on."""

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

from amqp_sansio.errors import CodecError

FRONT, BEHIND = b"\x05" * 9, b"\x07" * 300
"""What lies around the octets in a buffer; none of it may count."""
_TELLING = (*range(6), 0x3F, 0x40, 0x41, 0x45, 0x50, 0x53, 0x7F, 0x80, 0xA1, 0xC0, 0xD0, 0xFE, 0xFF)


def damaged(octets: bytes, *, every_octet: bool = False) -> Iterator[bytes]:
    """Without any choice: `octets`, cut at every place, with one octet changed at every place, and with one too many.

    A changed octet takes the values that sizes, counts, flags and format codes tend to have, or with `every_octet`
    all 256 of them.
    """
    yield octets
    yield octets + b"\0"
    for size in range(len(octets)):
        yield octets[:size]
    for at, old in enumerate(octets):
        near = (old ^ 0x80, (old - 1) & 255, (old + 1) & 255)
        for new in range(256) if every_octet else sorted({*_TELLING, *near}):
            yield octets[:at] + bytes((new,)) + octets[at + 1 :]


def spoilt(data: st.DataObject, octets: bytes, least: int = 1) -> bytes:
    """`octets` with up to three places where others stand instead of up to two, at least in `least` places."""
    found = bytearray(octets)
    for _ in range(data.draw(st.integers(least, 3))):
        at = data.draw(st.integers(0, len(found)))
        found[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    return bytes(found)


def outcome(read: Callable[[], Any]) -> tuple[object, ...]:
    """What a reader gives, or the whole of the CodecError that it raises."""
    try:
        return ("read", read())
    except CodecError as error:
        return ("error", str(error), error.offset, error.code, error.rule, error.condition)


def content(value: Any) -> tuple[object, ...]:
    """Class and content of a decoded value, without reading what is read late."""
    raw = getattr(value, "raw", None)
    return (value.__class__, repr(value) if raw is None else raw)
