"""Writes what makes the JSON line of a whole row: of each table one expression, which a loop over its columns isn't."""

from __future__ import annotations

from typing import Final

from .columns import COLUMNS, STATE

TARGET: Final = "amqp_sansio/recorded/_whole_lines.py"
FORMS: Final = {
    "string": "{{n if {0} is None else text[{0}]}}",
    "timestamp": "{{n if {0} is None else moment({0})}}",
    "bool": "{{n if {0} is None else bits[{0}]}}",
}
"""Fields of a format string for columns of these types; numbers and JSON are written as they are."""
WIDTH: Final = 121
"""Most characters of a line, with its end."""
PLAIN: Final = "{{n if {0} is None else {0}}}"
HEAD: Final = '''"""Functions for JSON lines: of rows with all columns of a table, and of the state at an instant."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ._columns import COLUMNS, STATE_COLUMNS

Texts: TypeAlias = Mapping[str, str]
Moment: TypeAlias = Callable[[int], str]
Bits: TypeAlias = Mapping[bool, str]
Line: TypeAlias = Callable[[Sequence[Any], Texts, Moment, Bits], str]
"""Makes the line of a row, with what makes texts, moments and truth values."""
'''


def _function(name: str, columns: tuple[tuple[str, str], ...]) -> str:
    """The function for these columns."""
    names = [f"v{place}" for place in range(len(columns))]
    values = f"    ({', '.join(names)}) = row\n"
    if len(values) > WIDTH:
        values = f"    (\n{''.join([f'        {each},{chr(10)}' for each in names])}    ) = row\n"
    parts: list[str] = []
    for place, (column, kind) in enumerate(columns):
        before = ("," if place else "{{") + f'"{column}":'
        behind = "" if place < len(columns) - 1 else "}}"
        parts.append(f"        f'{before}{FORMS.get(kind, PLAIN).format(f'v{place}')}{behind}'\n")
    head = f"def _{name}(row: Sequence[Any], text: Texts, moment: Moment, bits: Bits) -> str:\n"
    return f'\n\n{head}    n = "null"\n{values}    return (\n{"".join(parts)}    )\n'


def generate() -> dict[str, str]:
    """Return the module's text by its path."""
    text = HEAD
    for table, columns in COLUMNS.items():
        text += _function(table, tuple([(column.name, column.kind) for column in columns]))
    text += _function("state", STATE)
    entries = "".join(f'    COLUMNS["{table}"]: _{table},\n' for table in COLUMNS)
    text += "\n\nLINES: Final[Mapping[tuple[tuple[str, str], ...], Line]] = {\n" + entries
    text += '    STATE_COLUMNS: _state,\n}\n"""By the names and types of the columns."""\n'
    return {TARGET: f'{text}\n__all__ = ["LINES", "Line"]\n'}
