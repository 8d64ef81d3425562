"""JSON of values that a peer chose to be long or slow: time and text grow with the octets."""

import json
from collections.abc import Callable
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio._classic.codec.table import RABBIT, Table
from amqp_sansio.amqp_0_10 import Map as Map10
from amqp_sansio.amqp_0_10.codec.types import decode_value
from amqp_sansio.amqp_0_10.spec import Struct, Typed
from amqp_sansio.amqp_1_0 import Source
from amqp_sansio.amqp_1_0.codec.values import Array, Described, Map, Symbol, UByte, UInt, ULong, decode, encode
from amqp_sansio.errors import CodecError
from amqp_sansio.printing import json_string
from amqp_sansio.recorded import _json
from tests.amqp_0_10.codec.test_bad_octets import VALID
from tests.kit.classic_values import raw_of, table_values
from tests.kit.steps import assert_linear
from tests.kit.values_1_0 import any_record, plain_values

MOST = 200
"""Characters for each octet, as docs/tables.md says."""

NO_NUMBERS = [b"\x82" + pack(">Q", 0x7FF8_0000_0000_0001 + number) for number in range(1200)]


def a_map(keys: list[bytes]) -> Map:
    body = b"\x40".join(keys) + b"\x40"
    return Map.from_wire(b"\xd1" + pack(">II", len(body) + 4, 2 * len(keys)) + body)


def a_table(names: list[bytes]) -> Table:
    raw = b"".join([bytes((len(name),)) + name + b"V" for name in names])
    return Table.from_wire(raw, RABBIT)


ALIKE: dict[str, Callable[[int], Any]] = {
    "not-a-numbers": lambda count: a_map(NO_NUMBERS[:count]),
    "names that others turn into": lambda count: a_map(
        [encode(f"NaN'{number or ''}") for number in range(count)] + NO_NUMBERS[:count]
    ),
    "the longest names": lambda count: a_map(
        [encode(make("x" * 200 + str(number))) for number in range(count) for make in (str, Symbol)]
    ),
    "a table's name again": lambda count: a_table([b"x"] * count),
}


@pytest.mark.parametrize("kind", ALIKE)
def test_keys_that_look_alike_cost_in_proportion_to_their_octets(kind: str) -> None:
    def writing(count: int) -> Callable[[], str]:
        value = ALIKE[kind](count)
        return lambda: _json.encode(value)

    assert_linear(writing, 300)
    for count in (300, 600):
        value = ALIKE[kind](count)
        text = _json.encode(value)
        pairs: list[Any] = value.pairs() if isinstance(value, Map) else list(value.items())
        assert len(json.loads(text)) == len(pairs)
        assert len(text) < 20 * len(value.raw)


def test_keys_that_look_alike_are_told_apart() -> None:
    pairs = [("1", 0), (UByte(1), 1), (UInt(1), 2), ("1'3", 3), (ULong(1), 4), (1, 5)]
    assert _json.encode(Map(pairs)) == '{"1":0,"1\'":1,"1\'2":2,"1\'3":3,"1\'4":4,"1\'5":5}'
    assert _json.encode(a_map([*map(encode, ["1'", "1'2", "1", Symbol("1"), UByte(1)])])) == (
        '{"1\'":null,"1\'2":null,"1":null,"1\'3":null,"1\'4":null}'
    )


def test_keys_within_keys_do_not_double_their_text_each_time() -> None:
    key: Any = "x"
    for _ in range(14):
        key = Map([(key, None)])
    octets = encode(Map([(key, None)]))
    text = _json.encode(decode(octets)[0])
    assert len(text) < MOST * len(octets)
    assert json.loads(text) == {f'{{"base64":"{_base64(encode(key))}"}}': None}
    one = Map([(Map([("a", [1])]), 1), (Described(Symbol("a"), Map([("b", 2)])), 2), (Map([(1, 2)]), 3)])
    assert list(json.loads(_json.encode(one))) == [
        '{"a":[1]}',
        '{"descriptor":"a","value":{"b":2}}',
        f'{{"base64":"{_base64(encode(Map([(1, 2)])))}"}}',
    ]


def _base64(octets: bytes) -> str:
    found: dict[str, str] = json.loads(_json.encode(octets))
    return found["base64"]


def an_array(count: int, element: bytes) -> bytes:
    body = count.to_bytes(4, "big") + element
    return b"\xf0" + len(body).to_bytes(4, "big") + body


def test_elements_without_octets_are_counted_where_they_are_many() -> None:
    assert _json.encode(decode(an_array(16, b"\x40"))[0]) == f"[{','.join(['null'] * 16)}]"
    assert _json.encode(decode(an_array(17, b"\x40"))[0]) == '{"repeated":null,"count":17}'
    assert _json.encode(decode(an_array(65_536, b"\x41"))[0]) == '{"repeated":true,"count":65536}'
    assert _json.encode(decode(an_array(65_536, b"\0\x53\x24\x45"))[0]) == (
        '{"repeated":{"type":"accepted"},"count":65536}'
    )
    inner = an_array(65_536, b"\x40")[1:] * 150
    many, _ = decode(an_array(150, b"\xf0" + inner))
    repeated = '{"repeated":null,"count":65536}'
    assert _json.encode(many) == f"[{','.join([repeated] * 150)}]"


def test_elements_without_octets_of_0_10_are_counted_where_they_are_many() -> None:
    void, _ = decode_value(b"\xaa\0\0\0\x05\xf0" + (65_536).to_bytes(4, "big"))
    assert _json.encode(void) == '{"repeated":null,"count":65536}'
    assert _json.encode([True] * 17) == '{"repeated":true,"count":17}'
    assert _json.encode([True] * 16 + [1]) == f"[{'true,' * 16}1]"
    assert _json.encode([None] * 16 + [False]) == f"[{'null,' * 16}false]"


def within_bounds(value: Any, octets: bytes) -> None:
    text = _json.encode(value)
    assert text.isprintable()
    assert len(text) <= MOST * len(octets) + MOST
    json.loads(text)


@given(plain_values | any_record | st.lists(plain_values, max_size=40))
def test_text_of_1_0_is_bounded(value: Any) -> None:
    octets = encode(value)
    within_bounds(decode(octets)[0], octets)


@pytest.mark.parametrize("count", [1, 16, 17, 200, 65_536])
@pytest.mark.parametrize(
    "element", [b"\x40", b"\x41", b"\x42", b"\x43", b"\x45", b"\0\x53\x26\x45", b"\0\x53\x27\x45"], ids=bytes.hex
)
def test_text_of_arrays_is_bounded(element: bytes, count: int) -> None:
    octets = an_array(count, element)
    within_bounds(decode(octets)[0], octets)
    within_bounds(Array([decode(octets)[0]]), octets)


def test_text_of_records_that_have_nothing_but_defaults_is_bounded() -> None:
    octets = an_array(200, b"\0" + encode(ULong(Source.CODE)) + b"\xc0" + b"\x01\x00" * 200)
    within_bounds(decode(octets)[0], octets)


@given(table_values(RABBIT))
def test_text_of_tables_is_bounded(value: dict[str, Any]) -> None:
    raw = raw_of(value, RABBIT)
    within_bounds(Table.from_wire(raw, RABBIT), raw)


def test_text_of_0_10_is_bounded() -> None:
    for read, octets in VALID:
        value = read(octets)
        if isinstance(value, (Map10, Struct, list)):
            within_bounds(value, octets)
    for code in (0x04, 0x08, 0xC8, 0xD8, 0x38, 0xF0, 0xF1):
        width = {0xC: 5, 0xD: 9, 0xF: 0, 0x3: 8, 0x0: 1}[code >> 4]
        for fill in (b"\0", b"\xff"):
            octets = bytes((code,)) + fill * width
            within_bounds(decode_value(octets)[0], octets)


@given(st.text() | st.text(st.characters(categories=("Cc", "Cf", "Co", "Zl", "Zp", "Zs", "Cn"))))
def test_text_is_printable_and_reads_as_it_was(text: str) -> None:
    shown = _json.encode({text: text})
    assert shown.isprintable()
    assert shown.encode()
    assert json.loads(shown) == {text: text}


@given(st.binary(max_size=20))
def test_octets_that_are_no_text_are_printable_too(octets: bytes) -> None:
    text = octets.decode("utf-8", "surrogateescape")
    shown = _json.encode({text: text})
    assert shown.isprintable()
    assert shown.encode()
    json.loads(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;x\x07", '"\\u001b]0;x\\u0007"'),
        ("\x85\x9b", '"\\u0085\\u009b"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        ("\u2028", '"\\u2028"'),
        ("caf\u00e9 \U0001f407", '"caf\u00e9 \U0001f407"'),
    ],
)
def test_what_acts_on_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert _json.encode(text) == shown
    assert json.loads(shown) == text


@pytest.mark.parametrize("code", range(256))
def test_a_value_of_any_type_has_a_text(code: int) -> None:
    """Of 0-10, which has places for 256 types; most are nobody's yet."""
    try:
        value, _ = decode_value(bytes((code,)) + bytes(128))
    except CodecError:
        return
    found = json.loads(_json.encode({"x": [value]}))["x"][0]
    if isinstance(value, Typed):
        assert found == {"type": f"0x{code:02x}", "unknown": json.loads(_json.encode(value.value))}


def test_strings_that_never_repeat_take_little_memory() -> None:
    texts = _json.Texts(json_string)
    for number in range(1000):
        assert texts[f'"{number}'] == f'"\\"{number}"'
        assert texts["x" * (1000 + number)] == f'"{"x" * (1000 + number)}"'
    assert 0 < len(texts) <= 256
    assert max(map(len, texts)) <= 256
