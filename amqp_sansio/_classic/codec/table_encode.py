"""How mappings become field tables (0-8 and 0-9-1 section 4.2.5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from struct import error as StructError

from ..._checking import TYPE_CHECKING
from .table_rules import FieldValue, TableOctets, TableRules, Timestamp, Typed, name_fault, syntax_error, write_decimal

if TYPE_CHECKING:
    from typing import Any, Final

_LENGTH: Final = Struct(">I").pack
_TAG_LENGTH: Final = Struct(">BI").pack
_TAG_I32: Final = Struct(">Bi").pack
_U64: Final = Struct(">Q").pack
OCTET: Final = tuple([bytes((n,)) for n in range(256)])
"""Every octet as bytes, by its number."""
_SHORT: Final = tuple([_TAG_LENGTH(83, n) for n in range(256)])
_WRITE_FAULTS: Final = (AttributeError, IndexError, TypeError, StructError, UnicodeEncodeError)


def encode_table(values: Mapping[str, FieldValue], rules: TableRules) -> bytes:
    """The octets of a table, with its length in octets in front.

    bool becomes `t`, int `I` or where it doesn't fit the 64-bit tag of the rules, float `d`, str `S`, bytes `x` (`S`
    where rules have no byte array), Decimal `D`, Timestamp and datetime (naive: UTC) `T`, None `V`, a mapping `F`, a
    list or tuple `A`, and `Typed` what it says. A Table keeps its octets; only one of other rules is encoded anew,
    with its tags where both rules read them alike.

    Raises CodecError for what the rules can't say, for a name above 255 octets, and for nesting
    deeper than `rules.depth`.
    """
    if isinstance(values, TableOctets) and (values.rules.name == rules.name or not values.raw):
        raw = values.raw
        return _LENGTH(len(raw)) + raw
    body = _encode(values, rules, 1)
    return _LENGTH(len(body)) + body


def check_names(value: FieldValue, rules: TableRules) -> None:
    """Refuse a received table with a name that the specifications forbid, or with one name twice.

    In 0-8 a name may come twice, and the first counts. Raises CodecError.
    """
    if isinstance(value, TableOctets):
        seen: set[str] = set()
        for name, _, inner in value.entries():
            fault = name_fault(name)
            if fault is not None:
                raise syntax_error(f"the table's name {name!r:.60} {fault}", rule="wire/table-name-check")
            if name in seen and not rules.first_wins:
                raise syntax_error(f"the table's name {name!r:.60} is there twice", rule="wire/table-duplicates")
            seen.add(name)
            check_names(inner, rules)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            check_names(inner, rules)


def _encode(values: Mapping[str, FieldValue], rules: TableRules, depth: int) -> bytes:
    if isinstance(values, dict) and rules.has_bool and not rules.strict_names:
        try:
            return _encode_dict(values, rules, depth)
        except _WRITE_FAULTS:
            pass
    return _encode_carefully(values, rules, depth)


def _encode_dict(values: dict[str, FieldValue], rules: TableRules, depth: int) -> bytes:
    # Raises _WRITE_FAULTS for what needs a second look.
    if depth > rules.depth:
        raise TypeError
    parts: list[bytes] = []
    for name, value in values.items():
        key = name.encode()
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            data = value.encode()
            size = len(data)
            parts += (OCTET[len(key)], key, _SHORT[size] if size < 256 else _TAG_LENGTH(83, size), data)
        elif kind is int:
            if -0x8000_0000 <= value <= 0x7FFF_FFFF:
                parts += OCTET[len(key)], key, _TAG_I32(73, value)
            else:
                parts += OCTET[len(key)], key, _integer(rules.wide, value, rules)
        elif kind is bool:
            parts += OCTET[len(key)], key, b"t\1" if value else b"t\0"
        elif kind is dict:
            data = _encode_dict(value, rules, depth + 1)
            parts += OCTET[len(key)], key, _TAG_LENGTH(70, len(data)), data
        else:
            parts += OCTET[len(key)], key, _encode_value(value, rules, depth)
    return b"".join(parts)


def _encode_carefully(values: Mapping[str, FieldValue], rules: TableRules, depth: int) -> bytes:
    if depth > rules.depth:
        raise syntax_error(f"the table nests deeper than {rules.depth} levels")
    pairs: Iterable[tuple[str, FieldValue]]
    if isinstance(values, TableOctets):
        if values.rules.name == rules.name:
            return values.raw
        pairs = _translated(values, rules)
    elif isinstance(values, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        pairs = values.items()
    else:
        raise syntax_error(f"a table can't be made of {values!r:.60}, which isn't a mapping")
    parts: list[bytes] = []
    for name, value in pairs:
        key = _text(name, "the table's name")
        if len(key) > 255:
            raise syntax_error(f"the table's name {name[:32]!r}... is longer than 255 octets")
        if rules.strict_names and (fault := name_fault(name)) is not None:
            raise syntax_error(f"the table's name {name!r:.60} {fault}", rule="wire/table-name-syntax")
        parts += OCTET[len(key)], key, _encode_value(value, rules, depth)
    return b"".join(parts)


def _translated(table: TableOctets, rules: TableRules) -> Iterator[tuple[str, FieldValue]]:
    source = table.rules
    for name, tag, value in table.entries():
        alike = source.integers.get(tag) == rules.integers.get(tag) and tag not in "FAx"
        yield name, Typed(tag, value) if alike and tag in rules.writes else value


def _encode_value(value: FieldValue, rules: TableRules, depth: int) -> bytes:
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        data = _text(value, "the string")
        return _TAG_LENGTH(83, len(data)) + data
    if kind is int and -0x8000_0000 <= value <= 0x7FFF_FFFF:
        return _TAG_I32(73, value)
    if kind is Typed:
        tag, value = value.tag, value.value
    else:
        tag = _default_tag(value, rules)
    if not tag or tag not in rules.writes:
        what = f"type {tag!r}" if tag else "64-bit integer"
        raise syntax_error(
            f"tables of the dialect {rules.name!r} have no {what}, which {value!r:.60} needs; they "
            f"have {' '.join(rules.writes)}: convert it, or say its type with Typed(tag, value)"
        )
    return _encode_typed(tag, value, rules, depth)


_TAGS: Final[dict[type[Any], str]] = {
    bool: "t",
    Timestamp: "T",
    int: "I",
    float: "d",
    str: "S",
    bytes: "x",
    bytearray: "x",
    memoryview: "x",
    type(None): "V",
    dict: "F",
    Mapping: "F",
    list: "A",
    tuple: "A",
}
"""The tags of Python's types; a type stands before those that it's a kind of."""


def _default_tag(value: FieldValue, rules: TableRules) -> str:
    tag = _TAGS.get(value.__class__, "")
    if not tag:
        tag = next((tag for kind, tag in _TAGS.items() if isinstance(value, kind)), "") or _tag_of_rare(value)
    if tag == "I" and not -0x8000_0000 <= value <= 0x7FFF_FFFF:
        return rules.wide
    return "S" if tag == "x" and "x" not in rules.writes else tag


def _tag_of_rare(value: FieldValue) -> str:
    from datetime import datetime
    from decimal import Decimal

    if isinstance(value, Decimal):
        return "D"
    if isinstance(value, datetime):
        return "T"
    raise syntax_error(f"a table can't hold a {type(value).__name__}")


def _encode_typed(tag: str, value: FieldValue, rules: TableRules, depth: int) -> bytes:
    try:
        if tag == "S" or tag == "x":
            data = _text(value, "the string") if isinstance(value, str) else b"" + value
            return _TAG_LENGTH(ord(tag), len(data)) + data
        if tag == "F":
            data = _encode(value, rules, depth + 1)
            return _TAG_LENGTH(70, len(data)) + data
        if tag == "A":
            if depth >= rules.depth:
                raise syntax_error(f"the array nests deeper than {rules.depth} levels")
            data = b"".join([_encode_value(each, rules, depth + 1) for each in value])
            return _TAG_LENGTH(65, len(data)) + data
        if tag == "t":
            return b"t\1" if value else b"t\0"
        if tag == "V" and value is None:
            return b"V"
        if tag == "T":
            return b"T" + _U64(_seconds(value))
        if tag == "d" or tag == "f":
            return tag.encode() + Struct(">" + tag).pack(value)
        if tag == "D":
            return write_decimal(value)
        if tag == "s" and rules.s_is_string:
            data = _text(value, "the string")
            return b"s" + OCTET[len(data)] + data
        if tag in rules.integers:
            return _integer(tag, value, rules)
    except (AttributeError, IndexError, OverflowError, TypeError, StructError):
        pass
    raise syntax_error(f"{value!r:.60} doesn't fit the table type {tag!r}")


def _integer(tag: str, value: int, rules: TableRules) -> bytes:
    return tag.encode() + Struct(rules.integers[tag]).pack(value)


def _text(value: object, what: str) -> bytes:
    if not isinstance(value, str):
        raise syntax_error(f"{what} {value!r:.60} is a {type(value).__name__}, not a str")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise syntax_error(f"{what} {value!r:.60} has half a surrogate pair") from None


def _seconds(value: FieldValue) -> int:
    if isinstance(value, int):
        return value
    from calendar import timegm

    return timegm(value.utctimetuple())
