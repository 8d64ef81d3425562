"""The generated readers and the careful one: the same records, the same errors, whatever the octets."""

from contextlib import suppress
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.amqp_1_0 import Accepted
from amqp_sansio.amqp_1_0.codec import composite
from amqp_sansio.amqp_1_0.codec.composite import decode_frame_body
from amqp_sansio.amqp_1_0.codec.faults import READ_FAULTS
from amqp_sansio.amqp_1_0.codec.performatives import Disposition, Flow, Header, Performative, Properties, Transfer
from amqp_sansio.amqp_1_0.codec.values import Symbol, ULong, encode
from amqp_sansio.amqp_1_0.spec import Composite
from amqp_sansio.errors import CodecError
from amqp_sansio.testing.amqp_1_0 import RECORDS, records
from tests.kit.damage import BEHIND, FRONT, content, damaged, outcome

Kind = type[Any]

READERS: tuple[Kind, ...] = (Flow, Transfer, Disposition, Header, Properties)
FULL: tuple[Composite, ...] = (
    Flow(1, 2, 300, 70_000, 0, 5, 6, 7, True, True),
    Transfer(1, 2, b"tag", 0, True, True, 1, Accepted(), True, True, True),
    Disposition(True, 1, 300, True, Accepted(), True),
    Header(True, 5, 300, True, 7),
    Properties("id", b"me", "to", "subject", "reply", 9, Symbol("text/plain"), Symbol("gzip"), 1, 2, "g", 3, "r"),
)
ITEMS = (b"\x40", b"\x41", b"\x43", b"\x50\x01", b"\x52\x07", b"\xa0\x01x", b"\xa1\x01x", b"\xa3\x01x")
"""A value of each type that some field has, in few octets."""


def test_these_are_the_records_that_have_a_reader_of_their_own() -> None:
    assert {kind for kind in RECORDS if hasattr(kind, "fast") or hasattr(kind, "fast_fields")} == set(READERS)


def _told(record: Any, stop: int) -> tuple[object, ...]:
    fields = [content(getattr(record, name)) for name in record.__match_args__]
    return (record.__class__, *fields, record.wire, stop)


def _compare(kind: Kind, value: bytes) -> None:
    """Read a record whose list, without descriptor, is `value`, both ways."""
    octets = b"\x00\x53" + bytes((kind.CODE,)) + value
    buf = FRONT + octets + BEHIND
    start, end = len(FRONT), len(FRONT) + len(octets)
    careful = outcome(lambda: _told(*kind.read(buf, start + 3, end, 31, 65_536, start)))
    if issubclass(kind, Performative):
        assert outcome(lambda: _told(*decode_frame_body(buf, start, end))) == careful
        return
    with suppress(*READ_FAULTS):
        record, stop = kind.fast(buf, start + 3, end, start)
        assert ("read", _told(record, stop)) == careful


@pytest.mark.parametrize("full", FULL, ids=lambda full: full.NAME)
def test_every_damage_to_a_full_record(full: Composite, at_large: bool) -> None:
    assert all(getattr(full, name) is not None for name in full.__match_args__[:-1])
    octets, kind = full.encode(), full.__class__
    if isinstance(full, Performative):
        assert composite.FAST[int.from_bytes(octets[:4])](octets, 6, len(octets), octets[5], 0) == full
    else:
        assert kind.fast(octets, 3, len(octets), 0) == (full, len(octets))  # type: ignore[attr-defined]
    for value in damaged(full.encode()[3:], every_octet=at_large):
        _compare(full.__class__, value)


@pytest.mark.rule("1.0/types/field-mandatory", "1.0/types/composite-list")
@pytest.mark.parametrize("kind", READERS, ids=lambda kind: kind.NAME)
def test_every_number_of_fields_in_every_form_of_list(kind: Kind) -> None:
    _compare(kind, b"\x45")
    for count, item in product(range(len(kind.WIRE) + 3), ITEMS):
        for items in (item * count, b"\x40" * (count - 1) + item, b"\x40" * count):
            for said in (count, count + 1, max(0, count - 1)):
                _compare(kind, bytes((0xC0, len(items) + 1, said)) + items)
                wide = (len(items) + 4).to_bytes(4, "big") + said.to_bytes(4, "big")
                _compare(kind, b"\xd0" + wide + items)


@pytest.mark.parametrize("kind", READERS, ids=lambda kind: kind.NAME)
@given(data=st.data())
def test_records_that_are_damaged_anywhere(kind: Kind, data: st.DataObject) -> None:
    value = bytearray(data.draw(records(kind)).encode()[3:])
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(value)))
        value[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    _compare(kind, bytes(value))


@pytest.mark.parametrize("kind", READERS, ids=lambda kind: kind.NAME)
@given(items=st.lists(st.sampled_from(ITEMS), max_size=13))
def test_fields_of_any_types(kind: Kind, items: list[bytes]) -> None:
    octets = b"".join(items)
    _compare(kind, bytes((0xC0, len(octets) + 1, len(items))) + octets)


@pytest.mark.rule("1.0/types/field-mandatory")
@pytest.mark.parametrize("empty", [b"\x45", b"\xc0\x01\x00", b"\xd0\0\0\0\x04\0\0\0\0"], ids=bytes.hex)
@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.NAME)
def test_a_record_without_fields_lacks_those_that_are_mandatory(kind: Kind, empty: bytes) -> None:
    octets = b"\0" + encode(ULong(kind.CODE)) + empty
    read = decode_frame_body if issubclass(kind, Performative) else kind.decode
    if any(mandatory for _, _, _, mandatory, _ in kind.WIRE):
        with pytest.raises(CodecError) as caught:
            read(octets)
        assert "is mandatory" in str(caught.value)
    else:
        assert read(octets)[0].encode() == octets
