"""Writes what names the columns of the tables, from their one declaration (`columns`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .columns import COLUMNS, STATE, Column

NAMES_AND_TYPES: Final = "amqp_sansio/recorded/_columns.py"
ROWS: Final = "amqp_sansio/recorded/_row_types.py"
RECORD: Final = "amqp_sansio/_watching/message_columns.py"
MEANINGS: Final = "adapters/spark/amqp_sansio_spark/_meanings.py"
WIDTH: Final = 120
TYPES: Final = {
    "string": "str | None",
    "json": "str | None",
    "int64": "int | None",
    "timestamp": "int | None",
    "bool": "bool | None",
}
GENERATED: Final = """
# Generated; edit the generator (tools/codegen).

from __future__ import annotations
"""


def generate(columns: Mapping[str, tuple[Column, ...]] = COLUMNS) -> dict[str, str]:
    """Return the modules' texts by their paths."""
    return {
        NAMES_AND_TYPES: _names_and_types(columns),
        ROWS: _rows(columns),
        RECORD: _record(columns["messages"]),
        MEANINGS: _meanings(columns),
    }


def _names_and_types(columns: Mapping[str, tuple[Column, ...]]) -> str:
    text = '"""Column names and types of all tables: the contract of `tables`, the command-line tool and Spark."""\n'
    text += f"""{GENERATED}
from collections.abc import Mapping
from typing import Final

COLUMNS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {{
"""
    for table, found in columns.items():
        pairs = "".join([f'        ("{each.name}", "{each.kind}"),\n' for each in found])
        text += f'    "{table}": (\n{pairs}    ),\n'
    text += '''}
"""Name and type of every column, in the order of the values in a row.

The types: "string", "int64", "bool", "timestamp" (an int: microseconds since 1970, UTC) and "json" (a str with one
JSON value). Any value may be None. Text that isn't UTF-8 on the wire has its odd octets as `\\\\xNN`.
"""

STATE_COLUMNS: Final[tuple[tuple[str, str], ...]] = (
'''
    text += "".join([f'    ("{name}", "{kind}"),\n' for name, kind in STATE])
    return (
        text
        + ''')
"""Columns of the state at an instant; docs/tables.md explains each."""

BODIES: Final = ("none", "size", "base64")
"""The options for a message's body in `fields`."""

__all__ = ["BODIES", "COLUMNS", "STATE_COLUMNS"]
'''
    )


def _rows(columns: Mapping[str, tuple[Column, ...]]) -> str:
    names = [f"{table.capitalize()}Row" for table in columns]
    text = '"""The NamedTuple of the rows of each table, and the values of an event and a message."""\n'
    text += f"""{GENERATED}
from collections import namedtuple
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..endpoint import Side
from ._columns import COLUMNS
from ._plain import plain

if TYPE_CHECKING:
    from .._watching.observation import Observed
    from .._watching.outcomes import MessageRecord
    from ..versions import Version

CLIENT: Final = Side.CLIENT
INT64_MAX: Final = (1 << 63) - 1

# Checkers know each column; at run time the classes are made of their names, in a third of the time.
if TYPE_CHECKING:
"""
    for name, found in zip(names, columns.values(), strict=True):
        fields = "".join([f"        {each.name}: {TYPES[each.kind]}\n" for each in found])
        text += f"\n    class {name}(NamedTuple):\n{fields}"
    text += """
else:

    def _made(name, table):
        return namedtuple(name, [column for column, _ in COLUMNS[table]], module=__name__)

"""
    text += "".join([f'    {name} = _made("{name}", "{table}")\n' for name, table in zip(names, columns, strict=True)])
    text += """

def event_values(
    u: Observed, label: str, sender: str | None, protocol: str | None, fields: str | None
) -> tuple[Any, ...]:
    at_ns = u.at_ns
    return (
"""
    text += "".join([f"        {_value(each)},\n" for each in columns["events"]])
    text += """    )


def message_values(
    u: MessageRecord,
    label: str,
    version: Version | None,
    protocol: str | None,
    vhost: str | None,
    roles: bool,
    texts: tuple[str | None, ...],
) -> tuple[Any, ...]:
    message_id, correlation_id, content_type, reply_to, headers = texts
    settled_ns = u.settled_ns
    return (
"""
    text += "".join([f"        {_value(each)},\n" for each in columns["messages"]])
    exported = "".join([f'    "{each}",\n' for each in [*sorted(names), "event_values", "message_values"]])
    return f"{text}    )\n\n\n__all__ = [\n{exported}]\n"


def _value(column: Column) -> str:
    """The expression for a value of a message's row."""
    if column.value:
        return column.value
    value = f"u.{column.attribute}"
    if column.kind == "string":
        value = f"v if (v := {value}) is None or v.isascii() else plain(v)"
    return f"None if not roles else {value}" if column.of_roles else value


def _record(columns: tuple[Column, ...]) -> str:
    filled = [each for each in columns if each.attribute]
    slots = "".join([f'        "{each}",\n' for each in sorted(["kind", *[each.attribute for each in filled]])])
    types = {each.attribute: TYPES[each.kind] for each in filled}
    text = '"""MessageColumns: what a version says of a message, each as its methods have it."""\n'
    text += f'''{GENERATED}

class MessageColumns:
    """Attributes of a message that are a version's own matter; `MessageRecord` explains them."""

    __slots__ = (
{slots}    )

    kind: str
'''
    text += "".join([f"    {name}: {kind}\n" for name, kind in types.items()])
    text += "\n    def fill(\n        self,\n        kind: str,\n        *,\n"
    text += "".join([f"        {name}: {kind} = None,\n" for name, kind in types.items()])
    text += '''    ) -> None:
        """Set all of them; for this package's own use."""
        self.kind = kind
'''
    text += "".join([f"        self.{name} = {name}\n" for name in types])
    return f'{text}\n\n__all__ = ["MessageColumns"]\n'


def _meanings(columns: Mapping[str, tuple[Column, ...]]) -> str:
    text = '"""The meaning of each column of the five tables that a replay makes, in one line."""\n'
    text += f"""{GENERATED}
from collections.abc import Mapping
from typing import Final

MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {{
"""
    for table, found in columns.items():
        text += f'    "{table}": {{\n{"".join(map(_meaning, found))}    }},\n'
    return text + '}\n"""By table and column."""\n\n__all__ = ["MEANINGS"]\n'


def _meaning(column: Column) -> str:
    """The line of a column's meaning, or more of them."""
    whole = f'        "{column.name}": {_quoted(column.meaning)},\n'
    if len(whole) <= WIDTH + 1:
        return whole
    lines: list[str] = [""]
    for word in column.meaning.split(" "):
        if len(lines[-1]) + len(word) > 90:
            lines.append("")
        lines[-1] += f"{word} "
    lines[-1] = lines[-1].removesuffix(" ")
    strings = "\n        ".join(map(_quoted, lines))
    return f'        "{column.name}": {strings},\n'


def _quoted(text: str) -> str:
    """A string literal as the formatter leaves it."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + text.replace(quote, f"\\{quote}") + quote
