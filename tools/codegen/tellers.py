"""Writes the tellers of a lane: for each unit, and each way to show a body, what appends its row or its line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .columns import COLUMNS

if TYPE_CHECKING:
    from amqp_sansio.recorded._units import Part, Unit

TARGET: Final = "amqp_sansio/recorded/_tellers.py"
WIDTH: Final = 120
TYPES: Final = {
    **dict.fromkeys(("redelivered", "mandatory", "immediate", "multiple"), "bool"),
    **dict.fromkeys(("consumer_tag", "exchange", "routing_key", "before", "after"), "str"),
    **dict.fromkeys(("delivery_id", "first"), "int"),
    "last": "int | None",
}
"""Types of parameters; a delivery's tag is a number, and in 1.0 octets."""
HEAD: Final = '''"""Functions that tell usual units: each appends a row of `events` to those of a lane, or its line."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Any, Protocol

    class Writer(Protocol):
        """The part of a lane that its tellers use; `EventLane` says what each is."""

        label: str
        protocol: str | None
        client: str | None
        server: str | None
        begin: str
        at_ns: int
        moment: str
        short: Mapping[str, str]
        make: Callable[[tuple[Any, ...]], tuple[Any, ...]]
        rows: list[tuple[str, tuple[Any, ...]]]

        def turn(self, at_ns: int) -> None: ...


def base64(octets: bytes) -> str:
    return b2a_base64(octets, newline=False).decode()


def tagged(octets: bytes) -> str:
    return f'{{"base64":"{base64(octets)}"}}'


def last_of(last: int | None) -> str:
    return "" if last is None else f',"last":{last}'
'''


def _shown(part: Part) -> str:
    """A part as it stands in a format string."""
    if isinstance(part, str):
        return part.replace("{", "{{").replace("}", "}}")
    return f"{{{part.shown or part.expression}}}"


def _assigned(name: str, parts: list[Part]) -> list[str]:
    """The statement that gives a text joined of parts a name."""
    lines = [""]
    for part in parts:
        for piece in re.split(r"(?<=,)(?=\")", part) if isinstance(part, str) else [part]:
            text = _shown(piece)
            if len(lines[-1]) + len(text) > WIDTH - 11:
                lines.append("")
            lines[-1] += text
    strings = [_string(line) for line in lines]
    whole = f"    {name} = {strings[0]}"
    if len(strings) == 1 and len(whole) <= WIDTH:
        return [whole]
    return [f"    {name} = (", *[f"        {each}" for each in strings], "    )"]


def _string(line: str) -> str:
    """The string of a line of a format string, without a prefix where nothing of it is formatted."""
    plain = line.replace("{{", "").replace("}}", "")
    if "{" not in plain:
        line = line.replace("{{", "{").replace("}}", "}")
    quote = "'" if '"' in line else '"'
    return f"{'f' if '{' in plain else ''}{quote}{line}{quote}"


def _head(name: str, unit: Unit) -> list[str]:
    """The signature of a teller."""
    names = [value.expression for _, value in unit.members]
    types = {**TYPES, "delivery_tag": "bytes" if "delivery_id" in names else "int"}
    from amqp_sansio.recorded._units import EITHER

    either = ["client: bool"] if unit.sender is EITHER else []
    message = ["message: str", "body: bytes", "body_size: int"] if unit.has_message else []
    numbers = [f"{each}: int" for each in ("seq", "at_ns", "channel", "size", "offset")]
    given = ["w: Writer", *numbers, *either, *[f"{each}: {types[each]}" for each in names], *message, "/"]
    whole = f"def {name}({', '.join(given)}) -> None:"
    inner = f"    {', '.join(given)}"
    if len(whole) <= WIDTH:
        return [whole]
    if len(inner) <= WIDTH:
        return [f"def {name}(", inner, ") -> None:"]
    return [f"def {name}(", *[f"    {each}," for each in given if each != "/"], "    /,", ") -> None:"]


def _line(name: str, unit: Unit, body: str) -> str:
    """The teller of a unit's line."""
    from amqp_sansio.recorded._units import line_of

    parts = line_of(unit, body)
    texts = ["    texts = w.short"] if any([_uses_texts(part) for part in parts]) else []
    lines = [
        *_head(name, unit),
        "    if at_ns != w.at_ns:",
        "        w.turn(at_ns)",
        *texts,
        *_assigned("line", parts),
        '    w.rows.append(("events", (line,)))',
    ]
    return "\n".join(lines)


def _uses_texts(part: Part) -> bool:
    return not isinstance(part, str) and part.shown.startswith("texts[")


def _value(part: Part | None) -> str:
    """A part as an expression."""
    return f'"{part}"' if isinstance(part, str) else str(part and part.expression)


def _row(name: str, unit: Unit, body: str | None) -> str:
    """The teller of a unit's row: of all columns, of which `make` takes those that are wanted."""
    from amqp_sansio.recorded._units import TS, row_of

    parts = row_of(unit, body)
    fields = parts["fields"]
    told: list[str] = []
    if isinstance(fields, list):
        told = ["    texts = w.short"] if any([_uses_texts(part) for part in fields]) else []
        told += _assigned("fields", fields)
    columns = [parts[column.name] for column in COLUMNS["events"]]
    values = ["fields" if isinstance(value, list) else _value(value) for value in columns]
    told.append("    ts = at_ns // 1000")
    told.append(f"    sender = {unit.sender.expression}")
    shown = {unit.sender.expression: "sender", TS.expression: "ts"}
    told.append(f"    row = {', '.join([shown.get(each, each) for each in values])}")
    return "\n".join([*_head(name, unit), *told, '    w.rows.append(("events", w.make(row)))'])


def generate() -> dict[str, str]:
    """Return the module's text by its path."""
    from amqp_sansio.recorded._columns import BODIES
    from amqp_sansio.recorded._units import UNITS

    functions: list[str] = []
    tables: dict[str, list[str]] = {"LINES": [], "ROWS": []}
    for name, unit in UNITS.items():
        for body in (*BODIES, None):
            for table, make in (("LINES", _line), ("ROWS", _row)):
                if body is None and table == "LINES":
                    continue
                shown = f"_{name}_{table[:-1].lower()}"
                if unit.has_message:
                    shown += f"_{body or 'bare'}"
                elif body is None:
                    shown += "_bare"
                if body in (None, BODIES[0]) or unit.has_message:
                    functions.append(make(shown, unit, body))  # type: ignore[arg-type]
                key = "None" if body is None else f'"{body}"'
                tables[table].append(f'    ("{name}", {key}): {shown},')
    text = HEAD + "".join([f"\n\n{each}\n" for each in functions])
    for table, about in (("LINES", "what becomes of a body"), ("ROWS", "what becomes of a body; None for no `fields`")):
        entries = "\n".join(tables[table])
        kind = "tuple[str, str]" if table == "LINES" else "tuple[str, str | None]"
        text += f"\n\n{table}: Final[Mapping[{kind}, Callable[..., None]]] = {{\n{entries}\n}}\n"
        text += f'"""By the name of the unit and {about}."""\n'
    return {TARGET: f'{text}\n__all__ = ["LINES", "ROWS"]\n'}
