"""Field tables of any dialect: fits values to the dialect's tables, and replaces entries octet by octet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from struct import Struct
from typing import Any, Final, cast

from ..._classic.codec.table import SYNTAX_ERROR, Table, Timestamp, Typed, check_table
from ..._classic.codec.table_rules import TableRules, name_fault
from ...errors import CodecError

_READ_U32: Final = Struct(">I").unpack_from
_LONGEST: Final = 255
_NARROW: Final = 1 << 31
_WIDE: Final = 1 << 63

_NOTHING: Final = Typed("", None)
"""Marks a value that tables of the dialect can't hold in any form."""


def spans(raw: bytes, rules: TableRules) -> Iterator[tuple[str, int, int]]:
    """Yield the name of every entry, and its start and end in a table's octets. Raises CodecError for damage."""
    # Names that the dialect forbids are no damage: they are passed on unchanged.
    check_table(raw, 0, len(raw), rules.with_any_names())
    pos = 0
    while pos < len(raw):
        start = pos
        at = pos + 1 + raw[pos]
        name = raw[pos + 1 : at].decode("utf-8", "surrogateescape")
        tag = raw[at]
        size = rules.sizes.get(tag)
        if size is not None:
            pos = at + 1 + size
        elif tag == 115:
            pos = at + 2 + raw[at + 1]
        else:
            pos = at + 5 + _READ_U32(raw, at + 1)[0]
        yield name, start, pos


def replaced(raw: bytes, rules: TableRules, values: Mapping[str, Any], drop: Sequence[str] = ()) -> Table:
    """Return a table with `values` in place of the entries of these names and of `drop`; others keep their octets.

    Raises CodecError for damaged octets.
    """
    names = {fit_name(name, rules) for name in (*values, *drop)}
    kept = [raw[start:stop] for name, start, stop in spans(raw, rules) if name not in names]
    return Table.from_wire(b"".join(kept) + fitted(values, rules).raw, rules)


def fitted(values: Mapping[str, Any], rules: TableRules) -> Table:
    """Return a table of `values`, as far as its dialect can express them.

    A value without a type there becomes the nearest: integers out of range, floats and decimals become text, an array
    becomes a table with the names "i1", "i2" and so on, None is left out. A dialect that restricts names gets "_" for
    forbidden characters. Names above 255 octets, and values nested too deep, are left out.
    """
    return Table({str(name): value for name, value in _entries(values, rules, 1)}, rules=rules)


def fit_name(name: str, rules: TableRules) -> str:
    """Return a name in a form that a dialect's tables permit."""
    if not rules.strict_names or name_fault(name) is None:
        return name
    fit = "".join([each if each.isalnum() or each in "$#_" else "_" for each in name])[:128]
    if not fit or not (fit[0].isalpha() or fit[0] in "$#"):
        fit = ("$" + fit)[:128]
    return fit


def _entries(values: Mapping[str, Any], rules: TableRules, depth: int) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        fit = fit_name(name, rules)
        if len(fit.encode("utf-8", "surrogateescape")) > _LONGEST:
            continue
        found = _fit(value, rules, depth)
        if found is not _NOTHING:
            yield fit, found


def _fit(value: Any, rules: TableRules, depth: int) -> Any:
    kind = value.__class__
    if kind is str or kind is bytes:
        return value
    if kind is Typed:
        return _fit_typed(value, rules, depth)
    if isinstance(value, bool):
        return value if "t" in rules.writes else int(value)
    if isinstance(value, Timestamp):
        return value if 0 <= value < 2 * _WIDE else _fit(int(value), rules, depth)
    if isinstance(value, int):
        low, high = (-_NARROW, _NARROW) if not rules.wide else (-_WIDE, _WIDE)
        return value if low <= value < high else str(value)
    if isinstance(value, float):
        return value if "d" in rules.writes else repr(value)
    if value is None:
        return value if "V" in rules.writes else _NOTHING
    if isinstance(value, Mapping):
        if depth >= rules.depth:
            return _NOTHING
        return dict(_entries(cast("Mapping[str, Any]", value), rules, depth + 1))
    if isinstance(value, (list, tuple)):
        return _fit_array(cast("Sequence[Any]", value), rules, depth)
    return _fit_rare(value, rules)


def _fit_array(values: Sequence[Any], rules: TableRules, depth: int) -> Any:
    if depth >= rules.depth:
        return _NOTHING
    found = [_fit(each, rules, depth + 1) for each in values]
    kept = [each for each in found if each is not _NOTHING]
    return kept if "A" in rules.writes else {f"i{place}": each for place, each in enumerate(kept, 1)}


def _fit_typed(value: Typed, rules: TableRules, depth: int) -> Any:
    if value.tag in rules.writes:
        try:
            Table({"v": value}, rules=rules)
        except CodecError:
            pass
        else:
            return value
    return _fit(value.value, rules, depth)


def _fit_rare(value: Any, rules: TableRules) -> Any:
    # A Decimal without a form there, a UUID, and anything else with a text.
    try:
        Table({"v": value}, rules=rules)
    except CodecError:
        return str(value)
    return value


__all__ = ["SYNTAX_ERROR", "fit_name", "fitted", "replaced", "spans"]
