"""Decimal numbers of IEEE 754-2008 in their binary integer form (1.0 part 1 section 1.6.14 to 1.6.16)."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal
    from typing import ClassVar, Self


class _Decimal:
    """A decimal number in its octets: equal when the octets are.

    A coefficient above the format's digits reads as zero, as IEEE 754-2008 section 3.5.2 has it.
    """

    __slots__ = ("bits",)
    __match_args__ = ("bits",)

    SIZE: ClassVar[int]
    DIGITS: ClassVar[int]
    EXPONENT_BITS: ClassVar[int]
    """Bits of the exponent, the two that are in the combination field with it."""
    BIAS: ClassVar[int]

    bits: bytes

    def __init__(self, bits: bytes) -> None:
        if len(bits) != self.SIZE:
            raise ValueError(f"{type(self).__name__} has {self.SIZE} octets, not {len(bits)}")
        self.bits = bytes(bits)

    def to_decimal(self) -> Decimal:
        """The number, with its exponent; NaNs with their payload."""
        from decimal import Decimal

        width = 8 * self.SIZE
        number = int.from_bytes(self.bits, "big")
        sign = number >> (width - 1)
        top = number >> (width - 6) & 31
        if top >= 30:
            if top == 30:
                return Decimal("-Infinity" if sign else "Infinity")
            payload = number & ((1 << (width - 4 - self.EXPONENT_BITS)) - 1)
            digits = str(payload) if payload else ""
            if len(digits) >= self.DIGITS:
                digits = ""
            name = "sNaN" if number >> (width - 7) & 1 else "NaN"
            return Decimal(f"{'-' if sign else ''}{name}{digits}")
        large = top >> 3 == 3
        tail = width - (3 if large else 1) - self.EXPONENT_BITS
        exponent = number >> tail & ((1 << self.EXPONENT_BITS) - 1)
        coefficient = (4 << tail if large else 0) | number & ((1 << tail) - 1)
        if coefficient >= 10**self.DIGITS:
            coefficient = 0
        return Decimal((sign, tuple([int(digit) for digit in str(coefficient)]), exponent - self.BIAS))

    @classmethod
    def from_decimal(cls, number: Decimal | int | str) -> Self:
        """The number in this format; raises ValueError for one that it can't hold exactly."""
        from decimal import Decimal

        value = Decimal(number)
        sign, digits, exponent = value.as_tuple()
        width = 8 * cls.SIZE
        if isinstance(exponent, str):
            bits = {"F": 30 << (width - 6), "n": 31 << (width - 6), "N": 63 << (width - 7)}[exponent]
            if exponent != "F" and digits:
                if len(digits) >= cls.DIGITS:
                    raise ValueError(f"{cls.__name__} can't hold the payload of {value}")
                bits |= int("".join(map(str, digits)))
        else:
            coefficient = int("".join(map(str, digits)) or "0")
            power = exponent + cls.BIAS
            highest = 3 * (1 << (cls.EXPONENT_BITS - 2)) - 1
            if not coefficient:
                power = min(max(power, 0), highest)
            while power > highest and coefficient * 10 < 10**cls.DIGITS:
                coefficient *= 10
                power -= 1
            while coefficient and coefficient % 10 == 0 and (power < 0 or coefficient >= 10**cls.DIGITS):
                coefficient //= 10
                power += 1
            if coefficient >= 10**cls.DIGITS or not 0 <= power <= highest:
                raise ValueError(f"{cls.__name__} can't hold {value} exactly")
            tail = width - 1 - cls.EXPONENT_BITS
            if coefficient < 1 << tail:
                bits = power << tail | coefficient
            else:
                bits = 3 << (width - 3) | power << (tail - 2) | coefficient & ((1 << (tail - 2)) - 1)
        return cls((sign << (width - 1) | bits).to_bytes(cls.SIZE, "big"))

    def __eq__(self, other: object) -> bool:
        return self.bits == other.bits if isinstance(other, _Decimal) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.bits)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.from_decimal('{self.to_decimal()}')"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.bits,)


class Decimal32(_Decimal):
    """decimal32: 7 digits in 4 octets.

    >>> Decimal32.from_decimal("-1.5").bits.hex()
    'b200000f'
    """

    __slots__ = ()
    SIZE, DIGITS, EXPONENT_BITS, BIAS = 4, 7, 8, 101


class Decimal64(_Decimal):
    """decimal64: 16 digits in 8 octets.

    >>> Decimal64.from_decimal("19.99").to_decimal()
    Decimal('19.99')
    """

    __slots__ = ()
    SIZE, DIGITS, EXPONENT_BITS, BIAS = 8, 16, 10, 398


class Decimal128(_Decimal):
    """decimal128: 34 digits in 16 octets. A Python Decimal is encoded as one.

    >>> Decimal128.from_decimal("19.99")
    Decimal128.from_decimal('19.99')
    """

    __slots__ = ()
    SIZE, DIGITS, EXPONENT_BITS, BIAS = 16, 34, 14, 6176
