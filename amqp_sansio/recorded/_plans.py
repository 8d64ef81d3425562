"""Columns of rows as the module in C makes them, from the expressions with which the pure text does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

_VALUES: Final = {
    "seq": 0,
    "channel": 1,
    "size": 2,
    "offset": 3,
    "delivery_tag": 4,
    "body_size": 5,
    "Y if redelivered else N": 6,
    "Y if mandatory else N": 6,
    "Y if multiple else N": 6,
    "Y if immediate else N": 7,
    "at_ns": 8,
    "at_ns // 1000": 9,
    "w.moment": 10,
    "T[consumer_tag]": 11,
    "T[exchange]": 12,
    "T[routing_key]": 13,
    "message": 14,
}
"""The numbers by which `scan_rows` knows values of a unit."""


def columns_of(expressions: list[str], known: dict[str, str | None]) -> tuple[Any, ...] | None:
    """Return a form for `scan_rows` that makes what the expressions make, of which some are `known` values; None where
    one of them is nothing that it knows, such as the octets of a body.

    >>> columns_of(["seq", "'a'", "f'{w.begin}{seq},{{{message}}}'"], {"w.begin": "{"})
    (0, 'a', ('{', 0, ',{', 14, '}'))
    """
    columns: list[Any] = []
    for expression in expressions:
        if expression.startswith("f'"):
            parts: list[Any] = []
            for part, is_text in _split(expression):
                found = part if is_text else known.get(part, _VALUES.get(part))
                if found is None:
                    return None
                parts.append(found)
            columns.append(_joined(parts))
        elif expression in _VALUES:
            columns.append(_VALUES[expression])
        else:
            columns.append(expression[1:-1] if expression.startswith("'") else known[expression])
    return tuple(columns)


@lru_cache(maxsize=64)
def _split(expression: str) -> list[tuple[str, bool]]:
    """The parts of a format string, and whether each is a text, else an expression; connections have the same ones."""
    found: list[tuple[str, bool]] = []
    text, at, size = "", 2, len(expression) - 1
    while at < size:
        if expression[at] in "{}" and expression[at] != expression[at + 1]:
            stop = expression.index("}", at)
            found += [(text, True), (expression[at + 1 : stop], False)]
            text, at = "", stop + 1
        else:
            text += expression[at]
            # Braces of the text are doubled.
            at += 1 + (expression[at] in "{}")
    return [*found, (text, True)]


def _joined(parts: list[Any]) -> tuple[Any, ...]:
    """The same parts, in which no text stands beside another."""
    found: list[Any] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)


__all__ = ["columns_of"]
