"""Forms of rows for the module in C, from what the pure text's tellers are generated from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ._units import Part, Unit, Value, line_of, row_of

Known: TypeAlias = Mapping[Value, str | None]
"""The values that are the same in all units of a plan."""


def form_of(unit: Unit, body: str, names: tuple[str, ...] | None, known: Known) -> tuple[Any, ...] | None:
    """Return the columns of a unit's row for `scan_rows`, or without `names` its line as the only one; None where one
    of them is nothing that it knows, such as the octets of a body, or another side's sender.

    >>> from amqp_sansio.recorded._units import LABEL, SERVER, UNITS
    >>> form_of(UNITS["deliver"], "none", ("seq", "event", "sender"), {LABEL: "a", SERVER: "server"})
    (0, 'basic.deliver', 'server')
    """
    wanted: list[Part | list[Part] | None]
    if names is None:
        wanted = [line_of(unit, body)]
    else:
        row = row_of(unit, body)
        wanted = [row[name] for name in names]
    try:
        return tuple([_joined(each, known) if isinstance(each, list) else _column(each, known) for each in wanted])
    except KeyError:
        return None


def _column(part: Part | None, known: Known) -> str | int | None:
    """A part of a line, or a column, as the module in C takes it. Raises KeyError."""
    if not isinstance(part, Value):
        return part
    return known[part] if part.number is None else part.number


def _joined(parts: list[Part], known: Known) -> tuple[Any, ...]:
    """The parts of a line, in which no text stands beside another. Raises KeyError."""
    found: list[Any] = []
    for part in [_column(each, known) for each in parts]:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        elif part != "":
            found.append(part)
    return tuple(found)


__all__ = ["Known", "form_of"]
