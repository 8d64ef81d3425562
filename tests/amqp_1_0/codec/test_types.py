"""The type system of AMQP 1.0 on the wire: every form of every type, arrays, damage (1.0 part 1)."""

import struct
import uuid
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.values import decode, encode, skip
from amqp_sansio.errors import CodecError
from amqp_sansio.testing.amqp_1_0 import SCALARS as scalars_by_kind
from tests.kit.values_1_0 import plain_values, values, widest

ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")

# Octets, value, whether they are the smallest form.
FORMS: list[tuple[str, Any, bool]] = [
    ("40", None, True),
    ("41", True, True),
    ("42", False, True),
    ("56 01", True, False),
    ("56 00", False, False),
    ("50 ff", spec.UByte(255), True),
    ("60 ff fe", spec.UShort(65_534), True),
    ("43", spec.UInt(0), True),
    ("52 00", spec.UInt(0), False),
    ("52 ff", spec.UInt(255), True),
    ("70 00 00 00 ff", spec.UInt(255), False),
    ("70 00 00 01 00", spec.UInt(256), True),
    ("70 ff ff ff ff", spec.UInt(2**32 - 1), True),
    ("44", spec.ULong(0), True),
    ("53 00", spec.ULong(0), False),
    ("53 ff", spec.ULong(255), True),
    ("80 00 00 00 00 00 00 00 01", spec.ULong(1), False),
    ("80 ff ff ff ff ff ff ff ff", spec.ULong(2**64 - 1), True),
    ("51 80", spec.Byte(-128), True),
    ("61 80 00", spec.Short(-32_768), True),
    ("54 80", spec.Int(-128), True),
    ("54 7f", spec.Int(127), True),
    ("71 ff ff ff ff", spec.Int(-1), False),
    ("71 80 00 00 00", spec.Int(-(2**31)), True),
    ("55 80", -128, True),
    ("55 00", 0, True),
    ("81 00 00 00 00 00 00 00 00", 0, False),
    ("81 80 00 00 00 00 00 00 00", -(2**63), True),
    ("72 3f c0 00 00", spec.Float(1.5), True),
    ("82 3f f8 00 00 00 00 00 00", 1.5, True),
    ("74 32 80 00 01", spec.Decimal32(bytes.fromhex("32800001")), True),
    ("84 31 c0 00 00 00 00 00 01", spec.Decimal64(bytes.fromhex("31c0000000000001")), True),
    ("94 30 40" + "00" * 13 + "01", spec.Decimal128(bytes.fromhex("3040" + "00" * 13 + "01")), True),
    ("73 00 01 f6 00", spec.Char("\U0001f600"), True),
    ("83 00 00 01 31 67 ad b8 a1", amqp.Timestamp(1_311_704_463_521), True),
    ("83 ff ff ff ff ff ff ff ff", amqp.Timestamp(-1), True),
    ("98 00112233445566778899aabbccddeeff", ID, True),
    ("a0 02 00 ff", b"\x00\xff", True),
    ("b0 00 00 00 02 00 ff", b"\x00\xff", False),
    ("b0 00 00 01 00" + "07" * 256, b"\x07" * 256, True),
    ("a1 03 c3 a9 78", "éx", True),
    ("b1 00 00 00 01 78", "x", False),
    ("a3 02 65 6e", amqp.Symbol("en"), True),
    ("b3 00 00 00 02 65 6e", amqp.Symbol("en"), False),
    ("45", [], True),
    ("c0 01 00", [], False),
    ("d0 00 00 00 04 00 00 00 00", [], False),
    ("c0 05 02 41 a1 01 78", [True, "x"], True),
    ("d0 00 00 00 05 00 00 00 01 41", [True], False),
    ("c1 01 00", {}, True),
    ("c1 04 02 a1 00 40", {"": None}, True),
    ("d1 00 00 00 06 00 00 00 02 41 42", {True: False}, False),
    ("e0 05 03 50 01 02 03", spec.Array([spec.UByte(1), spec.UByte(2), spec.UByte(3)]), True),
    ("f0 00 00 00 07 00 00 00 02 50 01 02", spec.Array([spec.UByte(1), spec.UByte(2)]), False),
    ("e0 06 02 a3 01 61 01 62", spec.Array([amqp.Symbol("a"), amqp.Symbol("b")]), True),
    ("00 a3 03 61 3a 62 55 05", amqp.Described(amqp.Symbol("a:b"), 5), True),
    ("00 80 00 00 00 01 00 00 00 02 55 05", amqp.Described(spec.ULong(1 << 32 | 2), 5), True),
    ("00 53 24 45", amqp.Accepted(), True),
]


def same(one: Any, other: Any) -> bool:
    """Equal, and of one class, also within lists."""
    if isinstance(one, list) and isinstance(other, list):
        ones, others = cast("list[object]", one), cast("list[object]", other)
        return len(ones) == len(others) and all(map(same, ones, others))
    if isinstance(one, spec.Map):
        return bool(one == other)
    return type(cast("object", one)) is type(cast("object", other)) and bool(one == other)


@pytest.mark.rule("1.0/types/boolean", "1.0/types/small-forms", "1.0/types/network-order", "1.0/types/fixed-width")
@pytest.mark.rule("1.0/types/variable-width", "1.0/types/timestamp", "1.0/types/char", "1.0/types/decimal")
@pytest.mark.parametrize(("octets", "value", "smallest"), FORMS, ids=[form[0][:30] for form in FORMS])
def test_every_form_of_every_type(octets: str, value: Any, smallest: bool) -> None:
    data = bytes.fromhex(octets)
    found, end = decode(data)
    assert same(found, value)
    assert end == len(data)
    assert decode(b"\xff" + data + b"\xff", 1, 1 + len(data)) == (found, 1 + len(data))
    assert skip(data + b"\x40", 0, len(data) + 1) == len(data)
    assert (encode(value) == data) is smallest
    again = decode(encode(value))[0]
    assert same(again, found)
    assert decode(bytearray(data)) == decode(memoryview(data)) == (found, end)


@pytest.mark.parametrize("octets", [form[0] for form in FORMS])
def test_octets_that_end_early_are_an_error_at_every_octet(octets: str) -> None:
    data = bytes.fromhex(octets)
    for size in range(len(data)):
        for cut, end in ((data[:size], size), (data, size)):
            with pytest.raises(CodecError) as caught:
                decode(cut, 0, end)
            assert caught.value.condition == "amqp:decode-error"
            assert (caught.value.rule or "").startswith("1.0/types/")
            assert caught.value.offset is not None and 0 <= caught.value.offset <= size
            with pytest.raises(CodecError):
                skip(cut, 0, end)


@given(values)
@settings(max_examples=150)
def test_values_come_back_in_their_types_and_no_cut_is_taken(value: Any) -> None:
    data = encode(value)
    found, end = decode(data)
    assert end == len(data) == skip(data, 0, end)
    assert same(found, value)
    assert encode(found) == data
    for size in {0, end // 2, end - 1}:
        with pytest.raises(CodecError):
            decode(data[:size])


@given(plain_values)
def test_plain_python_values_are_encoded(value: Any) -> None:
    found = decode(encode(value))[0]
    if isinstance(found, amqp.Timestamp):
        assert found == int(value.timestamp() * 1000) or found.datetime == value.replace(
            microsecond=value.microsecond // 1000 * 1000
        )
    elif isinstance(found, spec.Decimal128):
        assert found.to_decimal() == value
    elif isinstance(value, tuple):
        assert found == list(value)  # pyright: ignore[reportUnknownArgumentType]
    else:
        assert (found, found.__class__) == (value, bytes)


@pytest.mark.parametrize(
    "kind", [bool, spec.UInt, spec.ULong, spec.Int, int, bytes, str, amqp.Symbol], ids=lambda kind: kind.__name__
)
@given(data=st.data())
@settings(max_examples=25)
def test_wide_forms_read_as_the_small_ones(kind: Any, data: st.DataObject) -> None:
    value = data.draw(scalars_by_kind[kind])
    octets = widest(value)
    assert same(decode(octets)[0], value)
    assert len(encode(value)) <= len(octets)


@given(st.binary(max_size=40))
@settings(max_examples=300)
def test_any_octets_give_a_value_or_a_codec_error(data: bytes) -> None:
    try:
        value, end = decode(data)
    except CodecError as error:
        assert error.condition
        assert error.rule
    else:
        assert 0 < end <= len(data)
        assert decode(encode(value))[0] == value or value != value or b"\x7f" in data or b"\xff" in data


# Damage.


def broken(octets: str, rule: str) -> CodecError:
    """Decode octets that break a rule."""
    with pytest.raises(CodecError) as caught:
        decode(bytes.fromhex(octets))
    assert caught.value.rule == "1.0/types/" + rule, caught.value
    return caught.value


@pytest.mark.rule("1.0/types/boolean")
def test_a_boolean_octet_is_0_or_1() -> None:
    assert broken("56 02", "boolean").offset == 1


@pytest.mark.rule("1.0/types/char")
@pytest.mark.parametrize("octets", ["73 00 11 00 00", "73 00 00 d8 00", "73 ff ff ff ff"])
def test_a_char_is_a_code_point(octets: str) -> None:
    broken(octets, "char")


@pytest.mark.rule("1.0/types/string")
@pytest.mark.parametrize("octets", ["a1 02 78 ff", "a1 03 ed a0 80", "b1 00 00 00 02 c3 28"])
def test_a_string_is_utf_8(octets: str) -> None:
    broken(octets, "string")


@pytest.mark.rule("1.0/types/string")
def test_a_byte_order_mark_is_a_character_like_others() -> None:
    data = b"\xa1\x04\xef\xbb\xbfx"
    assert decode(data)[0] == "\ufeffx"
    assert encode("x") == b"\xa1\x01x"


@pytest.mark.rule("1.0/types/symbol")
def test_a_symbol_is_ascii() -> None:
    broken("a3 01 80", "symbol")
    with pytest.raises(CodecError) as caught:
        encode(amqp.Symbol("é"))
    assert caught.value.rule == "1.0/types/symbol"


@pytest.mark.rule("1.0/types/map-even")
@pytest.mark.parametrize("octets", ["c1 02 01 41", "d1 00 00 00 05 00 00 00 01 41"])
def test_a_map_has_pairs(octets: str) -> None:
    broken(octets, "map-even")


@pytest.mark.rule("1.0/types/map-unique")
def test_a_map_has_a_key_once() -> None:
    broken("c1 05 04 41 40 41 40", "map-unique")
    broken("c1 0e 04 55 01 40 81 00 00 00 00 00 00 00 01 40", "map-unique")
    with pytest.raises(CodecError) as caught:
        spec.Map([("a", 1), ("a", 2)])
    assert caught.value.rule == "1.0/types/map-unique"


@pytest.mark.rule("1.0/types/map-unique")
def test_keys_of_two_types_are_two_keys() -> None:
    found = decode(bytes.fromhex("c1 0a 06 55 01 a1 00 50 01 41 41 42"))[0]
    assert found.pairs() == [(1, ""), (spec.UByte(1), True), (True, False)]
    assert [key.__class__ for key, _ in found.pairs()] == [int, spec.UByte, bool]
    assert found[1] == ""
    assert len(found) == 1
    assert found == spec.Map(found.pairs())


@pytest.mark.rule("1.0/types/map-ordered")
def test_a_map_keeps_its_order_and_maps_of_another_order_are_others() -> None:
    one, other = spec.Map({"a": 1, "b": 2}), spec.Map({"b": 2, "a": 1})
    assert list(one) == ["a", "b"]
    assert list(decode(other.raw)[0]) == ["b", "a"]
    assert one != other
    assert one == {"b": 2, "a": 1} == other


@pytest.mark.rule("1.0/types/compound-layout")
@pytest.mark.parametrize(
    "octets",
    ["c0 00", "c0 00 00", "d0 00 00 00 03 00 00 00 00", "c0 02 00 41", "c0 02 02 41", "c0 03 01 41 41", "c0 05 01 41"],
)
def test_a_size_and_a_count_fit_their_items(octets: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode(bytes.fromhex(octets))
    assert caught.value.rule in ("1.0/types/compound-layout", "1.0/types/constructor")


@pytest.mark.rule("1.0/types/compound-layout")
def test_the_book_of_the_specification() -> None:
    """The size of the array is that of its count, constructor and elements: 0x25."""
    octets = bytes.fromhex(
        "00 a3 11 6578616d706c653a626f6f6b3a6c697374 c0 40 03"
        "a1 15 414d515020666f7220262062792044756d6d696573"
        "e0 25 02 a1 0e 526f62204a2e20476f6466726579 13 52616661656c20482e205363686c6f6d696e67"
        "40"
    )
    authors = spec.Array(["Rob J. Godfrey", "Rafael H. Schloming"])
    book = amqp.Described(amqp.Symbol("example:book:list"), ["AMQP for & by Dummies", authors, None])
    assert decode(octets) == (book, len(octets))
    assert encode(book) == octets


@pytest.mark.rule("1.0/types/described", "1.0/types/constructor", "1.0/types/descriptor-kinds")
def test_descriptors_may_be_any_value() -> None:
    url = decode(bytes.fromhex("00 a1 03 55524c a1 01 78"))[0]
    assert url == amqp.Described("URL", "x")
    assert encode(url) == bytes.fromhex("00 a1 03 55524c a1 01 78")
    nested = amqp.Described(amqp.Described(amqp.Symbol("a"), spec.ULong(1)), amqp.Described(amqp.Symbol("b"), None))
    assert decode(encode(nested))[0] == nested
    assert skip(encode(nested), 0, 50) == len(encode(nested))


@pytest.mark.rule("1.0/types/descriptor-domain", "1.0/types/descriptor-symbolic")
def test_numeric_and_symbolic_descriptors_name_one_type() -> None:
    symbolic = bytes.fromhex("00 a3 12") + b"amqp:released:list" + b"\x45"
    numeric = bytes.fromhex("00 80 00 00 00 00 00 00 00 26 c0 01 00")
    assert decode(symbolic)[0] == decode(numeric)[0] == amqp.Released()
    assert encode(decode(symbolic)[0]) == symbolic
    assert encode(decode(numeric)[0]) == numeric
    own = decode(bytes.fromhex("00 80 00 00 00 01 00 00 00 26 45"))[0]
    assert own == amqp.Described(spec.ULong(1 << 32 | 0x26), [])


@pytest.mark.rule("1.0/types/format-code", "1.0/types/ext-octet")
@pytest.mark.parametrize(
    "octets",
    [
        "46",
        "4f 07",
        "5a 01",
        "5f 07 01",
        "62 01 02",
        "6f 00 01 02",
        "75 01 02 03 04",
        "8f 40 0102030405060708",
        "95 000102030405060708090a0b0c0d0e0f",
        "a7 02 41 41",
        "af 05 01 41",
        "b9 00 00 00 01 41",
        "c5 02 01 41",
        "df 01 00 00 00 05 00 00 00 01 41",
        "ef 01 03 01 50 01",
        "f7 00 00 00 06 00 00 00 01 50 01",
    ],
)
def test_values_of_no_known_type_are_kept_as_they_are(octets: str) -> None:
    data = bytes.fromhex(octets)
    found, end = decode(data + b"\x41")
    assert (found, end) == (spec.Opaque(data), len(data))
    assert encode(found) == data
    assert skip(data + b"\x41", 0, len(data) + 1) == len(data)
    inside = bytes((0xC0, len(data) + 2, 2)) + data + b"\x41"
    assert decode(inside)[0] == [spec.Opaque(data), True]
    for size in range(len(data)):
        with pytest.raises(CodecError):
            decode(data[:size])


@pytest.mark.rule("1.0/types/format-code")
@pytest.mark.parametrize("code", [0x01, 0x10, 0x1F, 0x3F])
def test_codes_without_a_width_are_an_error(code: int) -> None:
    broken(f"{code:02x} 00 00", "format-code")
    with pytest.raises(CodecError):
        skip(bytes((code, 0, 0)), 0, 3)


# Arrays.


@pytest.mark.rule("1.0/types/array-layout")
@pytest.mark.parametrize(
    ("octets", "value"),
    [
        ("e0 04 02 56 01 00", spec.Array([True, False])),
        ("e0 02 03 41", spec.Array([True, True, True])),
        ("e0 02 00 50", spec.Array([], spec.UByte)),
        ("e0 0a 02 71 00 00 00 01 ff ff ff ff", spec.Array([spec.Int(1), spec.Int(-1)])),
        ("e0 08 02 c0 02 01 41 02 01 42", spec.Array([[True], [False]])),
        ("e0 0a 02 e0 03 01 50 01 03 01 50 02", spec.Array([spec.Array([spec.UByte(1)]), spec.Array([spec.UByte(2)])])),
        (
            "e0 0a 02 00 a3 01 61 a1 01 78 01 79",
            spec.Array(
                [amqp.Described(amqp.Symbol("a"), "x"), amqp.Described(amqp.Symbol("a"), "y")], str, (amqp.Symbol("a"),)
            ),
        ),
        ("e0 05 02 00 53 24 45", spec.Array([amqp.Accepted(), amqp.Accepted()])),
        (
            "e0 07 02 00 53 24 c0 01 00 ".replace("c0 01 00", "c0 01 00 01 00"),
            spec.Array([amqp.Accepted(), amqp.Accepted()]),
        ),
    ],
)
def test_arrays(octets: str, value: spec.Array) -> None:
    data = bytearray.fromhex(octets)
    data[1] = len(data) - 2
    found, end = decode(bytes(data))
    assert end == len(data)
    assert found == value
    assert list(found) == list(value)
    assert found.element is value.element
    assert encode(found) == data
    assert decode(encode(value))[0] == value
    for size in range(len(data)):
        with pytest.raises(CodecError):
            decode(bytes(data[:size]))


@pytest.mark.rule("1.0/types/array-layout")
def test_arrays_that_do_not_fit_their_size() -> None:
    broken("e0 02 01 50", "fixed-width")
    broken("e0 04 01 50 01 02", "array-layout")
    broken("e0 00 00", "array-layout")
    with pytest.raises(CodecError):
        decode(bytes.fromhex("e0 01 00"))


@pytest.mark.rule("1.0/types/array-layout")
def test_elements_of_one_type_are_brought_to_one_form() -> None:
    assert encode(spec.Array([spec.UInt(0), spec.UInt(300)])) == bytes.fromhex("e0 0a 02 70 00000000 0000012c")
    assert encode(spec.Array([1, -300])) == bytes.fromhex("e0 12 02 81 0000000000000001 fffffffffffffed4")
    assert encode(spec.Array([spec.Int(-1), spec.Int(-300)])) == bytes.fromhex("e0 0a 02 71 ffffffff fffffed4")
    assert encode(spec.Array([True, False])) == bytes.fromhex("e0 04 02 56 01 00")
    long = spec.Array(["a", "b" * 300, ""])
    assert decode(encode(long))[0] == long
    lists = spec.Array([[], [1], ["x" * 300]])
    assert decode(encode(lists))[0] == lists
    with pytest.raises(CodecError):
        encode(spec.Array([1, "x"]))
    with pytest.raises(CodecError):
        encode(spec.Array([amqp.Accepted(), amqp.Released()]))
    with pytest.raises(CodecError):
        encode(spec.Array([object()]))


@pytest.mark.rule("1.0/types/array-layout")
def test_an_array_without_octets_for_its_elements_takes_no_memory() -> None:
    octets = b"\xf0" + struct.pack(">II", 5, 65_536)
    for code in (0x40, 0x41, 0x43, 0x45, 0x46):
        found = decode(octets + bytes((code,)))[0]
        assert len(found) == 65_536
        assert found[0] == found[-1] == decode(bytes((code,)))[0]
        assert found.__reduce__()[1][0].__class__.__name__ == "Same"
        assert encode(found) == octets + bytes((code,))
    for count in (65_537, 2**32 - 1):
        with pytest.raises(CodecError) as caught:
            decode(b"\xf0" + struct.pack(">II", 5, count) + b"\x40")
        assert caught.value.rule == "1.0/types/array-layout"
    assert len(decode(b"\xf0" + struct.pack(">II", 5, 10**6) + b"\x40", entries=10**6)[0]) == 10**6


@pytest.mark.rule("1.0/types/compound-layout")
def test_entries_are_bounded() -> None:
    many = encode([None] * 70_000)
    with pytest.raises(CodecError):
        decode(many)
    assert len(decode(many, entries=70_000)[0]) == 70_000
    with pytest.raises(CodecError):
        decode(encode([1, 2, 3]), entries=2)


@pytest.mark.rule("1.0/types/constructor")
@pytest.mark.parametrize("form", ["list", "map", "array", "described", "descriptor", "record"])
def test_nesting_is_bounded(form: str) -> None:
    def nested(levels: int) -> bytes:
        data = b"\x40"
        for _ in range(levels):
            if form == "list":
                data = b"\xd0" + struct.pack(">II", len(data) + 4, 1) + data
            elif form == "map":
                data = b"\xd1" + struct.pack(">II", len(data) + 5, 2) + b"\x41" + data
            elif form == "array":
                inner = data[0:1] + data[1:]
                data = b"\xf0" + struct.pack(">II", len(inner) + 4, 1) + inner
            elif form == "described":
                data = b"\x00\xa3\x01x" + data
            elif form == "descriptor":
                data = b"\x00" + data + b"\x40"
            else:
                data = b"\x00\x53\x1d\xd0" + struct.pack(">II", len(data) + 4, 1) + data
        return data

    if form != "record":
        decode(nested(32))
    with pytest.raises(CodecError):
        decode(nested(33))
    with pytest.raises(CodecError):
        decode(nested(5), nesting=4)
    with pytest.raises(CodecError):
        decode(nested(3_000))
    if form in ("described", "descriptor"):
        with pytest.raises(CodecError):
            skip(nested(3_000), 0, 10**6)


def test_what_has_no_type_is_not_encoded() -> None:
    for value in (object(), {1, 2}, 2**63, "\ud800", spec.Char("\ud800"), spec.Float(1e300), [object()], 1j):
        with pytest.raises(CodecError):
            encode(value)
    holding: list[Any] = []
    holding.append(holding)
    with pytest.raises(CodecError):
        encode(holding)
