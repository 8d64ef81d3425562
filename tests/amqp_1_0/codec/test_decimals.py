"""Decimal numbers in the binary integer form of IEEE 754-2008."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.amqp_1_0.codec.values import Decimal32, Decimal64, Decimal128, decode, encode
from amqp_sansio.errors import CodecError

KINDS: list[Any] = [Decimal32, Decimal64, Decimal128]

# From the encodings of IEEE 754-2008 section 3.5.2, worked out by hand.
KNOWN: list[tuple[Any, str, str]] = [
    (Decimal32, "0", "32800000"),
    (Decimal32, "1", "32800001"),
    (Decimal32, "-1.5", "b200000f"),
    (Decimal32, "8388607", "32ffffff"),
    (Decimal32, "8388608", "6ca00000"),
    (Decimal32, "9999999", "6cb8967f"),
    (Decimal32, "9.999999E+96", "77f8967f"),
    (Decimal32, "1E-101", "00000001"),
    (Decimal32, "Infinity", "78000000"),
    (Decimal32, "-Infinity", "f8000000"),
    (Decimal32, "NaN", "7c000000"),
    (Decimal32, "sNaN", "7e000000"),
    (Decimal32, "NaN123", "7c00007b"),
    (Decimal64, "1", "31c0000000000001"),
    (Decimal64, "0.1", "31a0000000000001"),
    (Decimal64, "9999999999999999", "6c7386f26fc0ffff"),
    (Decimal64, "-Infinity", "f800000000000000"),
    (Decimal128, "1", "3040000000000000000000000000000" + "1"),
    (Decimal128, "-0.01", "b03c000000000000000000000000000" + "1"),
    (Decimal128, "9" * 34, "3041ed09bead87c0378d8e63ffffffff"),
    (Decimal128, "Infinity", "78" + "00" * 15),
]


def same(one: Decimal, other: Decimal) -> bool:
    return one.as_tuple() == other.as_tuple()


@pytest.mark.rule("1.0/types/decimal")
@pytest.mark.parametrize(("kind", "text", "octets"), KNOWN)
def test_known_numbers(kind: Any, text: str, octets: str) -> None:
    number = kind.from_decimal(text)
    assert number.bits.hex() == octets
    assert same(number.to_decimal(), Decimal(text))
    assert decode(encode(number))[0] == number
    assert number == kind(bytes.fromhex(octets))
    assert hash(number) == hash(kind(bytes.fromhex(octets)))


@pytest.mark.rule("1.0/types/decimal")
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_every_number_of_the_format_comes_back(kind: Any, data: st.DataObject) -> None:
    coefficient = data.draw(st.integers(0, 10**kind.DIGITS - 1))
    exponent = data.draw(st.integers(-kind.BIAS, 3 * 2 ** (kind.EXPONENT_BITS - 2) - 1 - kind.BIAS))
    sign = data.draw(st.integers(0, 1))
    number = Decimal((sign, tuple(int(digit) for digit in str(coefficient)), exponent))
    assert same(kind.from_decimal(number).to_decimal(), number)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_all_octets_are_some_number(kind: Any, data: st.DataObject) -> None:
    bits = data.draw(st.binary(min_size=kind.SIZE, max_size=kind.SIZE))
    number = kind(bits).to_decimal()
    again = kind.from_decimal(number)
    assert same(again.to_decimal(), number)


def test_a_coefficient_above_the_digits_is_zero() -> None:
    assert same(Decimal32(bytes.fromhex("6cb89680")).to_decimal(), Decimal(0))


def test_what_does_not_fit_exactly_is_refused() -> None:
    for text in ("12345678", "1E+97", "1E-102", "NaN9999999"):
        with pytest.raises(ValueError, match="Decimal32"):
            Decimal32.from_decimal(text)
    assert same(Decimal32.from_decimal("10000000").to_decimal(), Decimal("1000000E+1"))
    assert same(Decimal32.from_decimal("1E+96").to_decimal(), Decimal("1000000E+90"))
    assert same(Decimal32.from_decimal("0E+500").to_decimal(), Decimal("0E+90"))
    assert same(Decimal32.from_decimal("10E-102").to_decimal(), Decimal("1E-101"))
    with pytest.raises(CodecError) as caught:
        encode(Decimal("1" * 35))
    assert caught.value.rule == "1.0/types/decimal"
    with pytest.raises(ValueError, match="4 octets"):
        Decimal32(b"")


def test_a_decimal_shows_its_number() -> None:
    assert repr(Decimal64.from_decimal("19.90")) == "Decimal64.from_decimal('19.90')"
    assert Decimal64.from_decimal("1.0") != Decimal64.from_decimal("1")
    assert Decimal32.from_decimal("1") != "1"
