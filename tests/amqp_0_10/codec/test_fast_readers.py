"""The generated readers of 0-10 and one that is written from the specification: the same records, the same refusals."""

# pyright: reportPrivateUsage=false
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec import record as records
from amqp_sansio.amqp_0_10.codec.dialect import PlainXid
from amqp_sansio.amqp_0_10.codec.plain_maps import decode_plain
from amqp_sansio.amqp_0_10.codec.record import decode_headers
from amqp_sansio.amqp_0_10.codec.records import ReplyTo
from amqp_sansio.amqp_0_10.codec.structs import decode_struct
from amqp_sansio.amqp_0_10.codec.types import decode_array
from amqp_sansio.amqp_0_10.codec.values import CODES
from amqp_sansio.errors import CodecError
from tests.amqp_0_10.codec.test_bad_octets import EXAMPLES
from tests.kit.damage import BEHIND, FRONT, content, damaged, outcome, spoilt

Kind = type[spec.Struct]

KINDS: tuple[Kind, ...] = (
    *spec.STRUCTS.values(),
    *spec.CONTROLS.values(),
    *spec.COMMANDS.values(),
    spec.CommandFragment,
    PlainXid,
    ReplyTo,
)
INTEGERS = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "sequence-no": 4, "datetime": 8}
SIZES = {
    **{"str8": 1, "str16": 2, "vbin8": 1, "vbin16": 2, "vbin32": 4, "map": 4, "array": 4},
    **{"sequence-set": 2, "byte-ranges": 2, "struct32": 4, "message.reply-to": 2, "fragments": 4},
}


class _CutOff(Exception):
    """Octets that a field needs aren't there."""


class _Careful:
    """Reads one field after the other, and no octet that isn't there (part 1 sections 2.2 and 5.3)."""

    def __init__(self, octets: bytes) -> None:
        self.octets = octets
        self.pos = 0

    def take(self, size: int) -> bytes:
        found = self.octets[self.pos : self.pos + size]
        if len(found) < size:
            raise _CutOff
        self.pos += size
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def record(self, kind: Kind) -> list[tuple[object, ...]]:
        """The content of each field, None for those that the packing flags don't name."""
        flags = int.from_bytes(self.take(kind.PACK), "little")
        found: list[tuple[object, ...]] = []
        for place, (_, name) in enumerate(kind.FIELDS):
            there = not kind.PACK or flags >> place & 1 == 1
            found.append(content(there if name == "bit" else self.field(name) if there else None))
        if self.pos != len(self.octets):
            raise _CutOff
        return found

    def field(self, name: str) -> Any:
        if name == "datetime":
            return amqp.spec.Datetime(int.from_bytes(self.take(8), "big", signed=True))
        if name in INTEGERS:
            return self.number(INTEGERS[name])
        if name == "uuid":
            return UUID(bytes=self.take(16))
        if name == "dtx.xid":
            coded = self.octets[self.pos : self.pos + 2] == b"\0\0"
            octets = self.take(self.number(4 if coded else 2))
            return spec.Xid.decode(self.code(octets, spec.Xid.CODE)) if coded else PlainXid.decode(octets)
        octets = self.take(self.number(SIZES[name]))
        match name:
            case "str8" | "str16":
                return octets.decode("utf-8", "surrogateescape")
            case "map":
                return amqp.Map.from_wire(octets)
            case "array":
                return decode_array(octets, 0, len(octets))
            case "sequence-set":
                return amqp.SequenceSet.decode(octets)
            case "byte-ranges":
                return amqp.spec.ByteRanges.decode(octets)
            case "struct32":
                return decode_struct(octets, 0, len(octets))
            case "message.reply-to":
                return ReplyTo.decode(octets)
            case _:
                return octets

    def code(self, octets: bytes, wanted: int) -> bytes:
        """The octets behind a struct's code."""
        if int.from_bytes(octets[:2], "big") != wanted or len(octets) < 2:
            raise _CutOff
        return octets[2:]


def _full(kind: Kind) -> spec.Struct:
    return kind(*[EXAMPLES[name] for _, name in kind.FIELDS])


def _fields(record: Any) -> list[tuple[object, ...]]:
    return [content(getattr(record, name)) for name in record.__match_args__]


def _compare(kind: Kind, octets: bytes) -> None:
    buf = FRONT + octets + BEHIND
    start, end = len(FRONT), len(FRONT) + len(octets)
    try:
        careful = _Careful(octets).record(kind)
    except (_CutOff, CodecError):
        with pytest.raises(CodecError) as caught:
            kind.decode(buf, start, end)
        assert caught.value.code == 501
        # What stands around the record changes nothing.
        with pytest.raises(CodecError) as alone:
            kind.decode(octets)
        assert str(caught.value) == str(alone.value)
        assert alone.value.offset is not None
        assert caught.value.offset == alone.value.offset + start
    else:
        found = kind.decode(buf, start, end)
        assert _fields(found) == careful
        assert found.wire == octets


def _compare_header(kind: Kind, octets: bytes) -> None:
    segment = (2 + len(octets)).to_bytes(4, "big") + kind.CODE.to_bytes(2, "big") + octets
    buf = FRONT + segment + BEHIND
    start, end = len(FRONT), len(FRONT) + len(segment)
    fast = outcome(lambda: [_fields(each) for each in decode_headers(buf, start, end)])
    assert fast == outcome(lambda: [_fields(kind.decode(buf, start + 6, end))])


@pytest.mark.rule("0-10/wire/struct-flags")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.NAME)
def test_every_damage_to_a_full_record(kind: Kind) -> None:
    for octets in damaged(_full(kind).encode()):
        _compare(kind, octets)


@given(kind=st.sampled_from(KINDS), data=st.data())
def test_records_of_any_fields_that_are_damaged_anywhere(kind: Kind, data: st.DataObject) -> None:
    there = [data.draw(st.booleans()) or not kind.PACK for _ in kind.FIELDS]
    values = [EXAMPLES[name] if on else None for (_, name), on in zip(kind.FIELDS, there, strict=True)]
    _compare(kind, spoilt(data, kind(*values).encode(), 0))


@pytest.mark.parametrize("kind", spec.STRUCTS.values(), ids=lambda kind: kind.NAME)
def test_a_header_struct_is_read_as_it_is_alone(kind: Kind) -> None:
    for octets in damaged(_full(kind).encode()):
        _compare_header(kind, octets)


@pytest.mark.rule("0-10/wire/header-any-order")
def test_many_header_structs_are_compared_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    class Code(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    read = records._READ_SIZE_AND_CODE

    def counted(data: bytes, pos: int) -> tuple[int, Code]:
        size, code = read(data, pos)
        return size, Code(code)

    with monkeypatch.context() as patch:
        patch.setattr(records, "_READ_SIZE_AND_CODE", counted)
        segment = b"".join([b"\0\0\0\x02" + code.to_bytes(2, "big") for code in range(0x8000, 0x8400)])
        found = decode_headers(segment, 0, len(segment))
        assert len(found) == 0x400
        assert compared <= 2 * len(found)
        with pytest.raises(CodecError, match="twice"):
            decode_headers(segment + segment[:6], 0, len(segment) + 6)


@pytest.mark.rule("0-10/wire/map-distinct")
def test_a_plain_map_is_read_as_any_other() -> None:
    entries = {"t": "text", "n": -5, "b": True, "e": ""}
    for octets in damaged(amqp.Map(entries).raw, every_octet=True):
        plain = decode_plain(octets)
        if plain is not None:
            careful = [(key, code, value) for key, code, value in amqp.Map.from_wire(octets).entries()]
            assert list(plain.items()) == [(key, value) for key, _, value in careful]
            assert {code for _, code, _ in careful} <= {CODES["str16"], CODES["int64"], CODES["boolean"]}
