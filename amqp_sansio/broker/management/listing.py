"""Listings: pages, filters, orders and columns, made in steps of bounded length."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar, cast

from .pattern import BadPattern, Pattern
from .requests import Answer, answered, bad_request, refused

ROWS: Final = 10_000
"""Rows of an answer without pages, and of what is sorted by a column."""
CANDIDATES: Final = 100_000
"""Rows that a listing with pages is taken from."""
STEP: Final = 500
"""Rows that are made in one turn."""
_NAMES: Final = 20_000
"""Names that are compared in one turn."""
_STEPS: Final = 500_000
"""Steps of a pattern's automaton in one turn."""
_LONGEST: Final = 255
"""Characters of a usual name."""
_PAGE_SIZE: Final = 100
"""Rows of a page, if the request doesn't say."""
_LARGEST_PAGE: Final = 500
_WHOLE: Final = ("arguments", "client_properties")
"""Fields with names that aren't the API's: they are told as a whole, whatever part of one a column names."""

T = TypeVar("T")
Row = dict[str, Any]


def listed(
    query: Mapping[str, str], found: Iterable[T], name: Callable[[T], str], make: Callable[[T], Row]
) -> Generator[None, None, Answer]:
    """Answer with a list of rows, or with a page of it. `found` is in order. Raises Refused."""
    page = _page(query)
    there = list(islice(found, CANDIDATES + 1))
    if len(there) > CANDIDATES:
        raise bad_request(f"more than {CANDIDATES} rows: ask for those of a virtual host, an exchange or a queue")
    if page is None:
        rows = yield from _rows(there, make, query.get("sort", ""), query)
        return answered([chosen(row, query) for row in rows])
    number, size = page
    total = len(there)
    if query.get("name"):
        there = yield from _named(there, query, name)
    count = -(-len(there) // size)
    if number > max(1, count):
        text = f"Page out of range, page: {number} page size: {size}, len: {len(there)}"
        raise refused(400, "page_out_of_range", text)
    first = (number - 1) * size
    if "sort" in query:
        rows = (yield from _rows(there, make, query["sort"], query))[first : first + size]
    else:
        rows = yield from _rows(there[first : first + size], make, "", query)
    return answered(
        {
            "filtered_count": len(there),
            "item_count": len(rows),
            "items": [chosen(row, query) for row in rows],
            "page": number,
            "page_count": count,
            "page_size": size,
            "total_count": total,
        }
    )


def chosen(row: Row, query: Mapping[str, str]) -> Row:
    """Return the columns of a row that a request names, all without `columns`."""
    names = query.get("columns", "")
    if not names:
        return row
    picked: Row = {}
    for each in names.split(",")[:_PAGE_SIZE]:
        _pick(row, each.split("."), picked)
    return picked


def _pick(row: Mapping[str, Any], path: Sequence[str], into: Row) -> None:
    """Copy what a path with dots names."""
    first, *others = path
    if first not in row:
        return
    value = row[first]
    if not others or first in _WHOLE:
        into[first] = value
    elif isinstance(value, Mapping):
        below: Row = into.setdefault(first, {})
        _pick(cast("Mapping[str, Any]", value), others, below)


def _page(query: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the page that a request asks for, and its size; None for everything. Raises Refused."""
    if "page" not in query:
        return None
    numbers: list[int] = []
    for name, default in (("page", "1"), ("page_size", str(_PAGE_SIZE))):
        text = query.get(name, default)
        digits = text.removeprefix("-")
        if not digits.isdecimal() or not digits.isascii() or len(digits) > 18:
            raise bad_request("Pagination parameters are invalid")
        numbers.append(int(text))
    number, size = numbers
    if number < 1 or not 1 <= size <= _LARGEST_PAGE:
        told = size if "page_size" in query else "undefined"
        text = f"Invalid pagination parameters: page number {number}, page size {told}"
        raise refused(400, "invalid_pagination_parameters", text)
    return number, size


def _named(found: Sequence[T], query: Mapping[str, str], name: Callable[[T], str]) -> Generator[None, None, list[T]]:
    """Return those whose names contain a text, or match a pattern. Raises Refused."""
    wanted = query["name"]
    step = _NAMES
    if query.get("use_regex") == "true":
        try:
            pattern = Pattern(wanted)
        except BadPattern as error:
            raise bad_request(f"Pagination parameters are invalid: {error}") from None
        fits: Callable[[str], bool] = pattern.is_in
        step = max(1, _STEPS // (pattern.cost * _LONGEST))
    else:
        fits = _Contains(wanted)
    kept: list[T] = []
    for first in range(0, len(found), step):
        if first:
            yield
        kept += [each for each in found[first : first + step] if fits(name(each))]
    return kept


class _Contains:
    """Whether a name contains a text, in large or small letters."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted.lower()
        """The text, in small letters."""

    def __call__(self, name: str) -> bool:
        return self._wanted in name.lower()


def _rows(
    found: Sequence[T], make: Callable[[T], Row], order: str, query: Mapping[str, str]
) -> Generator[None, None, list[Row]]:
    if len(found) > ROWS:
        raise bad_request(f"{len(found)} rows are more than {ROWS}: ask for pages, without sort")
    rows: list[Row] = []
    for first in range(0, len(found), STEP):
        if first:
            yield
        rows += [make(each) for each in found[first : first + STEP]]
    if order:
        path = order.split(".")
        rows.sort(key=lambda row: _rank(row, path))
    if query.get("sort_reverse") == "true":
        rows.reverse()
    return rows


def _rank(row: Row, path: Sequence[str]) -> tuple[int, float, str]:
    """Return a key that orders values of any type: none, numbers, then texts."""
    value: Any = row
    for each in path:
        value = cast("Mapping[str, Any]", value).get(each) if isinstance(value, Mapping) else None
    if isinstance(value, (int, float)):
        return 1, float(value), ""
    return (0, 0.0, "") if value is None else (2, 0.0, str(cast("object", value)))


__all__ = ["CANDIDATES", "ROWS", "STEP", "Row", "chosen", "listed"]
