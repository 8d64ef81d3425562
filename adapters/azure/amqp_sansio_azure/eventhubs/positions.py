"""Positions in a partition, as the selector filter of a receiver names them.

The SDKs write `amqp.annotation.x-opt-offset > '123'`, with `>=` for inclusive positions, and in the same way
`x-opt-sequence-number` and `x-opt-enqueued-time` (milliseconds); that of .NET leaves the quotes out. The offsets
`-1` and `@latest` are the start and the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from amqp_sansio.amqp_1_0 import Described, Symbol

from ..requests import map_of

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0.spec import Attach

OFFSET: Final = "offset"
SEQUENCE_NUMBER: Final = "sequence-number"
ENQUEUED_TIME: Final = "enqueued-time"
START: Final = "-1"
LATEST: Final = "@latest"
SELECTOR: Final = Symbol("apache.org:selector-filter:string")
_CODES: Final = (0x468C_0000_0004, 0x13_7000_000A)
"""The filter's number in the registry, and that of .NET's SDK."""
_EXPRESSION: Final = re.compile(
    r"\s*amqp\.annotation\.x-opt-(offset|sequence-number|enqueued-time)\s*(>=?)\s*(?:'([^']*)'|([^\s']+))\s*", re.ASCII
)
_LONGEST: Final = 1024
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)


class PositionError(ValueError):
    """An expression that names no position."""


class Position(NamedTuple):
    """A place between events: after those up to `value` of a `kind`; with `inclusive`, before the event that has it."""

    kind: str
    value: str
    inclusive: bool = False

    @property
    def number(self) -> int:
        """The value as a number. Raises PositionError if it is none."""
        if not _NUMBER.fullmatch(self.value):
            raise PositionError(f"The supplied {self.kind} '{self.value[:64]}' is invalid.")
        return int(self.value)


FROM_START: Final = Position(OFFSET, START)


def parse_position(expression: str) -> Position:
    """Return the position that a selector's expression names. Raises PositionError.

    >>> parse_position("amqp.annotation.x-opt-sequence-number >= '5'")
    Position(kind='sequence-number', value='5', inclusive=True)
    """
    found = _EXPRESSION.fullmatch(expression) if len(expression) <= _LONGEST else None
    if found is None:
        raise PositionError(f"The supplied filter '{expression[:200]}' is invalid.")
    kind, operator, quoted, bare = found.groups()
    position = Position(kind, bare if quoted is None else quoted, operator == ">=")
    if kind != OFFSET or position.value not in (START, LATEST):
        _ = position.number
    return position


def position_of(attach: Attach) -> Position:
    """Return the position that a receiver's attach asks for; the start without a filter. Raises PositionError."""
    filters = map_of(getattr(attach.source, "filter", None))
    for key, value in filters.items():
        descriptor: Any = value.descriptor if isinstance(value, Described) else key
        if descriptor == SELECTOR or descriptor in _CODES:
            expression: Any = value.value if isinstance(value, Described) else value
            if not isinstance(expression, str):
                raise PositionError("The supplied filter is no string.")
            return parse_position(expression)
    return FROM_START


__all__ = [
    "ENQUEUED_TIME",
    "FROM_START",
    "LATEST",
    "OFFSET",
    "SELECTOR",
    "SEQUENCE_NUMBER",
    "START",
    "Position",
    "PositionError",
    "parse_position",
    "position_of",
]
