"""Writes what makes JSON members of a record's fields: a function for each class whose records a conversation repeats.

A field's type says what its value is, so nothing asks at run time. Records of other classes, and those with a part of a
login, are written field by field.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .module import imported

WHOLE: Final = frozenset({"octet", "short", "long", "longlong"})
TEXTS: Final = frozenset({"shortstr", "string", "str8", "str16"})
SYMBOLS: Final = frozenset(
    {"symbol", "error-condition", "terminus-expiry-policy", "distribution-mode", "ietf-language-tag"}
)
BITS: Final = frozenset({"bit", "boolean", "role"})
NUMBERS: Final = WHOLE | {
    *("uint8", "uint16", "uint32", "uint64", "sequence-no"),
    *("ubyte", "ushort", "uint", "ulong", "handle", "transfer-number", "delivery-number", "milliseconds", "seconds"),
    *("sender-settle-mode", "receiver-settle-mode", "message-format", "terminus-durability", "sasl-code"),
}
STATES: Final = frozenset({"delivery-state", "outcome"})
"""Mostly of a class without fields."""
STATELESS: Final = ("Accepted", "Released")
OCTETS: Final = frozenset({"binary", "delivery-tag", "longstr", "vbin8", "vbin16", "vbin32"})
WIDTH: Final = 120
UNSPOKEN: Final = ("file.", "stream.")
"""Classes of 0-10 that no broker speaks."""


class Room(NamedTuple):
    """A module of functions: where it is, what it is about, the module of the records, and whether all are set."""

    target: str
    about: str
    records: str
    are_set: bool


ROOMS: Final = (
    Room("_fields_classic", "methods that 0-8 and 0-9-1 have alike", "_classic.codec.methods", True),
    Room("_fields_0_9_1", "methods that only 0-9-1 has so", "_classic.codec.methods_0_9_1", True),
    Room("_fields_0_10", "structs, controls and commands of 0-10", "amqp_0_10.codec.records", False),
    Room("_fields_1_0", "composite types of 1.0", "amqp_1_0.codec.performatives", False),
)
HEAD: Final = '''"""Functions that write fields of {about} as JSON members."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

{imports}

Texts: TypeAlias = Mapping[str, str]
Encode: TypeAlias = Callable[[Any], str]
'''
RESERVED: Final = """

def reserved(name: str, text: str) -> str:
    return f',"{name}":{text}'
"""


def _classes(room: Room) -> Iterator[Any]:
    """Yield the classes that get a function, in the order of their module."""
    module = importlib.import_module(f"amqp_sansio.{room.records}")
    for kind in vars(module).values():
        if not isinstance(kind, type) or kind.__module__ != module.__name__:
            continue
        found: Any = kind
        is_shown = getattr(found, "__match_args__", ()) and not getattr(found, "SECRETS", ())
        if is_shown and not getattr(found, "NAME", "").startswith(UNSPOKEN):
            yield found


def _value(wire: str, value: str) -> str:
    """The part of a format string that writes a value of this type."""
    if wire in BITS:
        return f'{{"true" if {value} else "false"}}'
    if wire in NUMBERS:
        return f"{{{value}}}"
    return f"{{texts[{value}]}}" if wire in TEXTS | SYMBOLS else f"{{encode({value})}}"


def _joined(parts: list[str]) -> list[str]:
    """The statement that returns parts of a format string, joined; the strings are as few as fit."""
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(part) > WIDTH - 11:
            lines.append("")
        lines[-1] += part
    strings = [f"f'{line}'" if line.startswith(",") else f'f"{line}"' for line in lines]
    if len(strings) == 1 and len(strings[0]) + 11 <= WIDTH:
        return [f"    return {strings[0]}"]
    return ["    return (", *[f"        {each}" for each in strings], "    )"]


def _all_set(kind: Any) -> list[str]:
    """The body of a function for a class whose fields are always set, except those that are reserved."""
    wires = dict(kind.FIELDS)
    parts: list[str] = []
    lines: list[str] = []
    for name in kind.__match_args__:
        if name in kind.RESERVED:
            lines.append(f"    {name} = reserved('{name}', encode(c.{name})) if c.{name} else \"\"".replace("'", '"'))
            parts.append(f"{{{name}}}")
        else:
            parts.append(f',"{name}":{_value(wires[name], f"c.{name}")}')
    return [*lines, *_joined(parts)]


def _if_set(name: str, wire: str) -> list[str]:
    """The statements that add a field that may be unset."""
    if wire.endswith("*"):
        return [f"    if {name} := c.{name}:", f"        s += f',\"{name}\":{{encode({name})}}'"]
    head = f"    if ({name} := c.{name}) is not None"
    if wire in BITS:
        return [f"{head}:", f"        s += ',\"{name}\":true' if {name} else ',\"{name}\":false'"]
    value = f"{{FIXED.get({name}.__class__) or encode({name})}}" if wire in STATES else _value(wire, name)
    if "encode(" in value and wire not in OCTETS:
        # No values where several may be are as none.
        guard = f"{name}.__class__ is not tuple or {name}"
        whole = f"{head} and ({guard})"
        head = whole if len(whole) < WIDTH else f"{head} and (\n        {guard}\n    )"
    return [f"{head}:", f"        s += f',\"{name}\":{value}'"]


def _function(kind: Any, room: Room) -> str:
    """The function for a class."""
    if room.are_set and hasattr(kind, "RESERVED"):
        typed = kind.__name__
        lines = _all_set(kind)
    else:
        typed = "Any"
        wires = dict(kind.FIELDS)
        lines = ['    s = ""']
        for name in kind.__match_args__:
            lines += _if_set(name, wires[name])
        lines.append("    return s")
    return f"\n\ndef {_called(kind)}(c: {typed}, texts: Texts, encode: Encode) -> str:\n" + "\n".join(lines) + "\n"


def _called(kind: Any) -> str:
    """The name of a class's function."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", f"_{kind.__name__}").lower().replace("__", "_")


def generate() -> dict[str, str]:
    """Return the modules' texts by their paths."""
    found: dict[str, str] = {}
    for room in ROOMS:
        kinds = [*_classes(room)]
        states = STATELESS if room.target == "_fields_1_0" else ()
        lines = "\n".join(imported(f"..{room.records}", [*[kind.__name__ for kind in kinds], *states]))
        text = HEAD.format(about=room.about, imports=lines)
        if states:
            entries = ", ".join([f'{name}: \'{{"type":"{name.lower()}"}}\'' for name in states])
            text += f'FIXED: Final[Mapping[type[Any], str]] = {{{entries}}}\n"""Delivery states without fields."""\n'
        if any([getattr(kind, "RESERVED", ()) for kind in kinds]):
            text += RESERVED
        text += "".join([_function(kind, room) for kind in kinds])
        text += "\n\nWRITERS: Final[Mapping[type[Any], Callable[[Any, Texts, Encode], str]]] = {\n"
        text += "".join([f"    {kind.__name__}: {_called(kind)},\n" for kind in kinds])
        text += '}\n"""By the class of the record."""\n\n__all__ = ["WRITERS"]\n'
        found[f"amqp_sansio/recorded/{room.target}.py"] = text
    return found
