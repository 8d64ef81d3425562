"""Keys of 1.0's maps that a peer chose to be slow: equal hashes, equal keys, keys that hold much (1.6.23)."""

# pyright: reportPrivateUsage=false
from collections.abc import Callable, Iterable
from functools import partial
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.amqp_1_0 import Error
from amqp_sansio.amqp_1_0.codec.composite import decode_frame_body
from amqp_sansio.amqp_1_0.codec.decimals import Decimal32, Decimal64, Decimal128
from amqp_sansio.amqp_1_0.codec.types import token
from amqp_sansio.amqp_1_0.codec.values import (
    Array,
    Byte,
    Described,
    Float,
    Int,
    Map,
    Opaque,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    decode,
    encode,
)
from amqp_sansio.amqp_1_0.spec import Open
from amqp_sansio.broker.conversion import amqp_1_0_values
from amqp_sansio.errors import CodecError
from tests.kit.steps import assert_linear, count_steps
from tests.kit.values_1_0 import plain_values

PRIME = 2**61 - 1
"""Python's hash of an integer is its remainder by this."""


def _arrays(count: int) -> Iterable[bytes]:
    for number in range(count):
        yield encode(Array([0, number]))


KEYS: dict[str, Callable[[int], Iterable[bytes]]] = {
    "uuids": lambda count: (encode(UUID(int=7 + number * PRIME)) for number in range(count)),
    "ulongs": lambda count: (encode(ULong(number << 40)) for number in range(count)),
    "timestamps": lambda count: (encode(Timestamp(number << 40)) for number in range(count)),
    "longs": lambda count: (encode(number << 40) for number in range(count)),
    "doubles": lambda count: (encode(2.0 ** (number % 1000)) for number in range(min(count, 1000))),
    "floats": lambda count: (b"\x72" + pack(">I", 0x3F800000 + number) for number in range(count)),
    "no numbers": lambda count: (b"\x82" + pack(">Q", 0x7FF8_0000_0000_0001 + number) for number in range(count)),
    "decimals": lambda count: (b"\x84" + pack(">Q", number) for number in range(count)),
    "described": lambda count: (encode(Described(Symbol("a"), {"x": number})) for number in range(count)),
    "maps": lambda count: (encode({"x": number}) for number in range(count)),
    "lists": lambda count: (encode([{"x": number}]) for number in range(count)),
    "arrays": _arrays,
    "arrays of nothing": lambda count: (b"\xf0\0\0\0\x05" + pack(">I", number) + b"\x40" for number in range(count)),
    "arrays within arrays": lambda count: (
        b"\xf0\0\0\0\x0e\0\0\0\x01\xf0\0\0\0\x05" + pack(">I", number) + b"\x40" for number in range(count)
    ),
    "records": lambda count: (encode(Error("a:b", info={"x": number})) for number in range(count)),
    "opaque": lambda count: (b"\x8f\x01" + pack(">Q", number) for number in range(count)),
    "strings and symbols": lambda count: (
        encode(each) for number in range(count // 2) for each in (f"{number}", Symbol(f"{number}"))
    ),
    "binaries": lambda count: (encode(number.to_bytes(4, "big")) for number in range(count)),
}
"""The octets of so many keys, each of which Python's hashes or Python's equality make expensive."""
CLASSES = (
    *(UByte, UShort, UInt, ULong, Byte, Short, Int, Timestamp, Float, Decimal32, Decimal64, Decimal128),
    *(Described, Opaque, Array, Map, Error, UUID),
)


def a_map(keys: Iterable[bytes]) -> bytes:
    """A map of these keys, all with the value null."""
    octets = [key + b"\x40" for key in keys]
    body = b"".join(octets)
    return b"\xd1" + pack(">II", len(body) + 4, 2 * len(octets)) + body


def use(found: Map) -> None:
    """All that can be done with a map."""
    pairs = found.pairs()
    for key, value in pairs:
        assert key in found
        assert found.get(key, 1) is value is found[key]
    assert len(list(found)) == len(found) == len(found.values())
    assert all(found[key] is value for key, value in found.items())
    assert found == Map.from_wire(found.raw)
    assert hash(found) == hash(Map.from_wire(found.raw))
    assert repr(found)
    assert encode(found) == found.raw


@pytest.mark.parametrize("kind", KEYS)
def test_reading_a_map_costs_in_proportion_to_its_octets(kind: str, at_large: bool) -> None:
    def reading(count: int) -> Callable[[], object]:
        octets = a_map(KEYS[kind](count))
        return lambda: decode(octets)

    def using(count: int) -> Callable[[], object]:
        octets = a_map(KEYS[kind](count))
        return lambda: use(Map.from_wire(octets))

    size = 300 if at_large else 80
    assert_linear(reading, size)
    assert_linear(using, size)


@pytest.mark.parametrize("kind", KEYS)
def test_only_text_and_octets_are_hashed_and_compared(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's hashes of text and octets differ from run to run; all other ones a peer can foresee."""
    touched: list[str] = []

    def touch(cls: type[Any], name: str) -> Callable[..., Any]:
        original = getattr(cls, name)

        def touching(*arguments: Any) -> Any:
            if cls is not ULong or int(arguments[0]) != Error.CODE:  # a descriptor, sought among the known ones
                touched.append(f"{cls.__name__}.{name}")
            return original(*arguments)

        return touching

    octets = a_map(KEYS[kind](50))
    for cls in CLASSES:
        for name in ("__hash__", "__eq__"):
            monkeypatch.setattr(cls, name, touch(cls, name))
    found, _ = decode(octets)
    for key, value in found.pairs():
        assert found.get(key, 1) is value
    late = Map.from_wire(octets)
    assert len(late.pairs()) == len(found.pairs())
    assert not touched


@pytest.mark.rule("1.0/types/map-unique")
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_that_is_there_twice_is_found_in_one_pass(kind: str, at_large: bool) -> None:
    def reading(count: int) -> Callable[[], None]:
        keys = list(KEYS[kind](count))
        octets = a_map([*keys, keys[-1]])

        def read() -> None:
            with pytest.raises(CodecError, match="twice") as caught:
                decode(octets)
            assert len(str(caught.value)) < 200
            assert caught.value.rule == "1.0/types/map-unique"

        return read

    assert_linear(reading, 300 if at_large else 80)


@pytest.mark.rule("1.0/types/map-unique")
def test_a_key_in_another_encoding_is_the_same_key() -> None:
    for key, other in (
        (b"\x52\x07", b"\x70\0\0\0\x07"),
        (b"\xa1\x01a", b"\xb1\0\0\0\x01a"),
        (b"\x41", b"\x56\x01"),
        (b"\x55\xff", b"\x81" + b"\xff" * 8),
        (b"\xc0\x03\x01\x52\x07", b"\xd0\0\0\0\x06\0\0\0\x01\x52\x07"),
    ):
        with pytest.raises(CodecError, match="twice"):
            decode(a_map([key, b"\xa1\x01z", other]))


def test_a_map_in_a_field_before_login_is_no_different() -> None:
    def reading(count: int) -> Callable[[], object]:
        body = Open("c").encode_list()[3:]
        fields = body + b"\x40" * 8 + a_map(KEYS["strings and symbols"](count))
        octets = b"\0\x53\x10\xd0" + pack(">II", len(fields) + 4, 10) + fields
        return lambda: decode_frame_body(octets)

    with pytest.raises(CodecError, match="no symbol"):
        reading(10)()

    def count(size: int) -> int:
        def attempt() -> None:
            with pytest.raises(CodecError):
                reading(size)()

        return count_steps(attempt)

    assert count(600) <= 2.2 * count(300)


def leaves(value: Any) -> list[Any]:
    """What a token is made of in the end."""
    whole: Any = value
    if isinstance(value, (tuple, frozenset)):
        return [leaf for part in whole for leaf in leaves(part)]
    return [value]


@given(plain_values)
def test_a_token_is_made_of_text_and_octets_and_is_equal_for_equal_values(value: Any) -> None:
    known, _ = decode(encode(value))
    assert all(isinstance(leaf, (str, bytes)) for leaf in leaves(token(known)))
    again, _ = decode(encode(known))
    assert token(again) == token(known)
    assert hash(token(again)) == hash(token(known))


NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.integers(0, 255).map(UByte),
    st.integers(-3, 3),
    st.booleans(),
    st.integers(0, 2**64 - 1).map(ULong),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 2.0**53, 2**53, 1e300, float("nan"), float("inf")]),
    st.floats(width=32).map(Float),
)


@given(NUMBERS, NUMBERS)
def test_tokens_of_numbers_are_equal_when_the_numbers_are(one: Any, other: Any) -> None:
    if one == one and other == other:
        assert (token(one) == token(other)) is (one == other)


def test_tokens_tell_apart_what_differs() -> None:
    values: list[Any] = [
        *(None, "", b"", "1", b"1", 1, 1.5, [], [1], [[1]], {}, {"a": 1}, {"a": 2}, {"b": 1}),
        *(Described("a", 1), Described("a", 2), Described("b", 1), Described(Described("a", 1), 1)),
        *(Opaque(b"\x8f\x01"), Decimal32(bytes(4)), Decimal64(bytes(8)), UUID(int=0), UUID(int=1)),
        *([None], [None, None], [1, 1, 2], [1, 2, 2], Error("a:b"), Error("a:c")),
    ]
    tokens = [token(value) for value in values]
    assert len(set(tokens)) == len(values)


def test_the_first_of_keys_that_are_equal_in_python_counts() -> None:
    raw = a_map([encode(1), encode(UByte(1)), encode(True), encode(1.0)])
    found = Map.from_wire(raw)
    assert [key.__class__ for key in found] == [int]
    assert [key.__class__ for key, _ in found.pairs()] == [int, UByte, bool, float]
    assert found == {1: None}
    assert found == {1: None}
    assert found != {2: None}
    assert found != {1: None, 2: None}
    assert found.to_dict() == {1: None}
    with pytest.raises(KeyError):
        found[2]


# Arrays whose elements have no octets: a few octets say any number of them.


def repeated(count: int, arrays: int) -> bytes:
    """An array of arrays, each of so many nulls."""
    inner = (b"\0\0\0\x05" + count.to_bytes(4, "big") + b"\x40") * arrays
    body = arrays.to_bytes(4, "big") + b"\xf0" + inner
    return b"\xf0" + len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("element", [b"\x40", b"\x41", b"\x43", b"\x44", b"\x45", b"\0\x53\x24\x45"], ids=bytes.hex)
def test_many_elements_without_octets_cost_no_more_than_few(element: bytes) -> None:
    for count in (1, 65_536):
        body = count.to_bytes(4, "big") + element
        octets = b"\xf0" + len(body).to_bytes(4, "big") + body
        array: Array = decode(octets)[0]
        assert (len(array), array.repeats) == (count, count)
        inner = Array.from_wire(array[:], array.element, array.descriptors, None)
        known = decode(encode(inner))[0]
        assert known == array
        assert token(known) == token(array)
        uses: list[Callable[[Any], object]] = [encode, token, repr, hash]
        assert [use for use in uses if count_steps(partial(use, inner)) > 200] == []
        assert known.repeats == count


def test_the_broker_keeps_many_elements_without_octets_as_they_came() -> None:
    octets = repeated(65_536, 150)
    array, _ = decode(octets)
    assert count_steps(lambda: amqp_1_0_values.read(array)) < 20_000
    assert amqp_1_0_values.read(array) == ("encoded", octets)
    few, _ = decode(repeated(2, 2))
    nulls = ("array", [("null", None)] * 2)
    assert amqp_1_0_values.read(few) == ("array", [nulls, nulls])
