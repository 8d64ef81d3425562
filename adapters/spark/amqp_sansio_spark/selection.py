"""The selection of a capture's rows: the options of a read, and the filters that Spark pushes down."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from amqp_sansio.capture import CaptureDamage, Segment

if TYPE_CHECKING:
    from .headers import Segments

_NUMBERS: Final = ("ts_ns", "packet", "seq", "ack", "flags", "wire_len")
"""Columns that differ from segment to segment; all others except the payload belong to a flow's direction."""
_DIRECTION: Final = ("flow", "src", "sport", "dst", "dport", "point", "file")
_INTEGERS: Final = frozenset({*_NUMBERS, "sport", "dport"})
_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARISONS: Final[dict[type[Filter], str]] = {
    EqualTo: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
}


class Direction(NamedTuple):
    """The common columns of the segments of one direction of a flow in one file."""

    flow: str
    src: str
    sport: int
    dst: str
    dport: int
    point: str
    file: str


class Condition(NamedTuple):
    """A filter of Spark that can be evaluated here; as in SQL, of a null only "is null" is true."""

    column: str
    test: str
    """One of the operators, `in`, `prefix` or `null`."""
    value: Any
    negated: bool

    def holds(self, value: object) -> bool:
        """Whether a column's value matches."""
        if self.test == "null":
            return (value is None) is not self.negated
        if value is None:
            return False
        if self.test == "in":
            found = value in self.value
        elif self.test == "prefix":
            found = str(value).startswith(self.value)
        else:
            found = bool(_OPERATORS[self.test](value, self.value))
        return found is not self.negated

    def mask(self, values: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which of a column's values match."""
        found: npt.NDArray[np.bool_]
        if self.test == "null":
            return np.full(len(values), self.negated, dtype=np.bool_)
        if self.test == "in":
            found = np.zeros(len(values), dtype=np.bool_)
            for wanted in self.value:
                found |= values == wanted
        else:
            found = _OPERATORS[self.test](values, self.value)
        return ~found if self.negated else found


class Selection(NamedTuple):
    """The selected rows; by default all.

    A damage is selected regardless of ports and hosts, if its time, if any, is in the range; conditions apply to it as
    to any row.
    """

    ports: frozenset[int] = frozenset()
    """Of either end."""
    hosts: frozenset[str] = frozenset()
    """Of either end, in the form of the segments."""
    since_ns: int | None = None
    until_ns: int | None = None
    """The first nanosecond that isn't selected any more."""
    conditions: tuple[Condition, ...] = ()

    @property
    def segments(self) -> bool:
        """Whether any segment can be selected: not if a condition is about `damage`."""
        return all(
            condition.holds(None) for condition in self.conditions if condition.column.partition(".")[0] == "damage"
        )

    def with_filters(self, filters: Iterable[Filter]) -> Selection:
        """Return it narrowed by the filters that can be evaluated here; Spark checks every row again."""
        conditions = [found for each in filters if (found := _condition(each)) is not None]
        return self._replace(conditions=(*self.conditions, *conditions))

    def takes_file(self, name: str) -> bool:
        """Whether any row of a file can be selected."""
        return all(it.holds(name) for it in self.conditions if it.column == "file")

    def takes_times(self, first_ns: int, last_ns: int) -> bool:
        """Whether any row with a time from `first_ns` to `last_ns` can be selected."""
        if self.since_ns is not None and last_ns < self.since_ns:
            return False
        if self.until_ns is not None and first_ns >= self.until_ns:
            return False
        for column, test, value, negated in self.conditions:
            if column != "ts_ns" or negated:
                continue
            if test in (">", ">=", "=") and not _OPERATORS[">" if test == ">" else ">="](last_ns, value):
                return False
            if test in ("<", "<=", "=") and not _OPERATORS["<" if test == "<" else "<="](first_ns, value):
                return False
        return True

    def takes_direction(self, direction: Direction) -> bool:
        """Whether segments of a direction can be selected."""
        ports, hosts = self.ports, self.hosts
        if ports and direction.sport not in ports and direction.dport not in ports:
            return False
        if hosts and direction.src not in hosts and direction.dst not in hosts:
            return False
        return all(
            condition.holds(getattr(direction, condition.column))
            for condition in self.conditions
            if condition.column in _DIRECTION
        )

    def mask(
        self, segments: Segments, ts_ns: npt.NDArray[np.int64], packet: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_] | None:
        """Return which segments are selected by the columns that differ between them; None: all."""
        found: npt.NDArray[np.bool_] | None = None
        masks: list[npt.NDArray[np.bool_]] = []
        if self.since_ns is not None:
            masks.append(ts_ns >= self.since_ns)
        if self.until_ns is not None:
            masks.append(ts_ns < self.until_ns)
        for condition in self.conditions:
            if condition.column not in _NUMBERS:
                continue
            if condition.column == "ts_ns":
                values = ts_ns
            elif condition.column == "packet":
                values = packet
            else:
                values = getattr(segments, condition.column)
            masks.append(condition.mask(values))
        for mask in masks:
            found = mask if found is None else found & mask
        return found

    def takes(self, row: Segment | CaptureDamage) -> bool:
        """Whether a single row is selected."""
        if isinstance(row, CaptureDamage):
            return self._takes_damage(row)
        if not self._takes_time(row.ts_ns) or not self.segments:
            return False
        direction = Direction(row.flow, row.src, row.sport, row.dst, row.dport, row.point, row.file)
        return self.takes_direction(direction) and all(
            condition.holds(getattr(row, condition.column))
            for condition in self.conditions
            if condition.column in _NUMBERS
        )

    def _takes_damage(self, damage: CaptureDamage) -> bool:
        if damage.ts_ns and not self._takes_time(damage.ts_ns):
            return False
        values: dict[str, object] = {
            "ts_ns": damage.ts_ns,
            "file": damage.file,
            "packet": damage.packet,
            "damage": damage,
            "damage.kind": damage.kind,
            "damage.offset": damage.offset,
            "damage.text": damage.text,
        }
        return all(condition.holds(values.get(condition.column)) for condition in self.conditions)

    def _takes_time(self, ts_ns: int) -> bool:
        return (self.since_ns is None or ts_ns >= self.since_ns) and (self.until_ns is None or ts_ns < self.until_ns)


_COLUMNS: Final = frozenset({*_NUMBERS, *_DIRECTION, "damage", "damage.kind", "damage.offset"})


def _condition(given: Filter) -> Condition | None:
    negated = False
    while isinstance(given, Not):
        given, negated = given.child, not negated
    column = ".".join(getattr(given, "attribute", ()))
    if column not in _COLUMNS:
        return None
    if isinstance(given, (IsNull, IsNotNull)):
        return Condition(column, "null", None, negated is not isinstance(given, IsNotNull))
    if column == "damage":
        return None
    kind = int if column in _INTEGERS or column == "damage.offset" else str
    value: Any = getattr(given, "value", None)
    if isinstance(given, In):
        wanted = [each for each in value if each is not None]
        # "Not in" a list with a null is never true.
        if len(wanted) < len(value) or not all(type(each) is kind for each in wanted):
            return None
        return Condition(column, "in", tuple(wanted), negated)
    if type(value) is not kind:
        return None
    if isinstance(given, StringStartsWith):
        return Condition(column, "prefix", value, negated)
    test = _COMPARISONS.get(type(given))
    # Texts are compared as in Spark only for equality.
    if test is None or (kind is str and test != "="):
        return None
    return Condition(column, test, value, negated)
