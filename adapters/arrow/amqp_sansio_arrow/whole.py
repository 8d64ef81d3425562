"""All tables of captures: those of `amqp_sansio.recorded.tables`, and two that are made of whole captures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from amqp_sansio.recorded.histories import HISTORY_COLUMNS, TOPOLOGY_COLUMNS, Gathered
from amqp_sansio.recorded.tables import COLUMNS, Row

TABLES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    **COLUMNS,
    "histories": HISTORY_COLUMNS,
    "topology": TOPOLOGY_COLUMNS,
}
"""The columns of every table, by its name."""


class WholeTables:
    """Makes the rows of tables that need all messages, or all events, of the captures: `histories` and `topology`."""

    def __init__(self, tables: Sequence[str], skew_ns: int = 0) -> None:
        self._tables = tables
        self._skew_ns = skew_ns
        self.needs: dict[str, tuple[str, ...]] = {}
        """The tables whose rows are to be added, with all their columns."""
        for table in tables:
            self.needs.update({name: _NAMES[name] for name in _MADE_OF[table]})
        self._gathered = Gathered()

    def add(self, table: str, values: tuple[Any, ...]) -> None:
        """Take a row of all columns."""
        self._gathered.add(table, values)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the tables."""
        acts = self._gathered.topology()
        if "topology" in self._tables:
            for act in acts:
                yield "topology", act
        if "histories" in self._tables:
            for step in self._gathered.steps(acts, skew_ns=self._skew_ns):
                yield "histories", step


def chosen(table: str, names: Sequence[str], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of these columns in a table's whole row."""
    every = _NAMES[table]
    return values if names == every else tuple([values[every.index(name)] for name in names])


_MADE_OF: Final = {"histories": ("messages", "events"), "topology": ("events",)}
"""The tables of which a table of whole captures is made."""
_NAMES: Final = {table: tuple([name for name, _ in columns]) for table, columns in TABLES.items()}

__all__ = ["TABLES", "WholeTables", "chosen"]
