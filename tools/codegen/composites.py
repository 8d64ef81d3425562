"""Generates AMQP 1.0's composite types."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .composite_code import FAST, SCANNED, emit_reader, emit_writer, maker_name, plan, plan_name
from .facts import FACTS, read_rows
from .module import assign, docstring, import_order, imported, quoted

PATH = "amqp_sansio/amqp_1_0/codec/performatives.py"
PARTS = (2, 3, 4, 5)
"""Transport, messaging, transactions, security."""
HEADER_DEFAULTS = {"durable": "False", "priority": "4", "first-acquirer": "False", "delivery-count": "0"}
"""Defaults in the final text of the specification that its XML lacks."""

KINDS = {
    ("attach", "unsettled"): "unsettled",
    ("source", "outcomes"): "outcome-symbol",
    ("error", "info"): "error-info",
    ("modified", "message-annotations"): "state-annotations",
}
"""Fields with a special rule."""

SECRETS = {"sasl-init": ("initial_response",), "sasl-response": ("response",)}

DEFAULTS = {"mixed": "2", "first": "0", "none": "0", "session-end": "SESSION_END", "false": "False", "true": "True"}

ANNOTATIONS = {
    "boolean": "bool",
    "role": "bool",
    "string": "str",
    "binary": "bytes",
    "delivery-tag": "bytes",
    "symbol": "Symbol | str",
    "ietf-language-tag": "Symbol | str",
    "terminus-expiry-policy": "Symbol | str",
    "distribution-mode": "Symbol | str",
    "error-condition": "Symbol | str",
    "outcome-symbol": "Symbol | str",
    "txn-capability": "Symbol | str",
    "timestamp": "Timestamp | datetime | int",
    "error": "Error",
    "source": "Source | Described",
    "target": "Target | Coordinator | Described",
    "delivery-state": "DeliveryState | Described",
    "outcome": "DeliveryState | Described",
    "message-id": "int | UUID | bytes | str",
    "address": "str | Described",
    "txn-id": "bytes | Described",
    "global-tx-id": "Any",
    "map": "AmqpMap",
    "unsettled": "AmqpMap",
    "fields": "AmqpMap",
    "error-info": "AmqpMap",
    "state-annotations": "AmqpMap",
    "node-properties": "AmqpMap",
    "filter-set": "AmqpMap",
}
"""Argument types of constructors; all others are integers."""
READ = {"Symbol | str": "Symbol", "Timestamp | datetime | int": "Timestamp"}

BASE_NAMES = (
    *("MISSING", "Composite", "DeliveryState", "Performative", "SaslFrame"),
    *("FAST", "decode_frame_body", "raising", "require"),
    *("to_symbol", "to_symbols", "to_timestamp", "write_field", "write_slowly"),
)
OCTET_NAMES = (
    *("ACCEPTED_OCTETS", "BINARY", "BOOLEANS", "INT", "JOIN", "MODES", "NEW", "NULL", "PACK_I64"),
    *("PACK_U32", "READ_I64", "READ_TWO_U32", "READ_U16_TWO_U8", "READ_U16_U8_I64", "READ_U32"),
    *("READ_U64", "STR", "STRING", "SYMBOL", "SYMBOLS", "TAG", "TIMESTAMP", "UBYTES", "UINTS"),
)
EXPORTED = ("ACCEPTED", "Composite", "DeliveryState", "Performative", "SaslFrame", "decode_frame_body")
BASES = {"frame": "Performative", "sasl-frame": "SaslFrame", "delivery-state": "DeliveryState"}

MEANINGS = {
    "seconds": "seconds",
    "milliseconds": "milliseconds",
    "delivery-tag": "at most 32 octets",
    "sequence-no": "a serial number of 32 bits",
    "delivery-number": "a serial number of 32 bits",
    "transfer-number": "a serial number of 32 bits",
    "role": "True for a receiver",
    "sender-settle-mode": "0 unsettled, 1 settled, 2 mixed",
    "receiver-settle-mode": "0 first, 1 second",
    "sasl-code": "0 ok, 1 wrong credentials, 2 system error, 3 for good, 4 for a while",
    "terminus-durability": "0 none, 1 configuration, 2 unsettled state",
    "timestamp": "milliseconds since 1970 UTC",
}
"""Descriptions of fields by type."""


@dataclass(frozen=True)
class Item:
    """A field: its name in Python, the specification's type, and the reader's check."""

    name: str
    type: str
    kind: str
    default: str
    mandatory: bool
    multiple: bool
    owner: str

    @property
    def annotation(self) -> str:
        """The type of the attribute, without None."""
        one = ANNOTATIONS.get(self.kind, "int")
        return f"tuple[{READ.get(one, one)}, ...]" if self.multiple else READ.get(one, one)

    @property
    def argument(self) -> str:
        """The type of the constructor's argument, without None."""
        one = ANNOTATIONS.get(self.kind, "int")
        return f"Sequence[{one}]" if self.multiple else one


@dataclass(frozen=True)
class Type:
    """A composite type."""

    name: str
    code: int
    symbol: str
    base: str
    outcome: bool
    part: int
    items: tuple[Item, ...]

    @property
    def python_name(self) -> str:
        """The name of its class."""
        return "".join([part.capitalize() for part in self.name.split("-")])


def generate(folder: Path = FACTS) -> dict[str, str]:
    """Return the text of the generated file, by its path from the root of the repository."""
    types = sorted(load(folder), key=lambda found: found.code)
    # An annotation may name any class; a base or default value never names a later one.
    out = ['"""The composite types of AMQP 1.0: frame bodies, delivery states, termini, header and properties."""']
    out += ["", "# Generated; edit the generator (tools/codegen)."]
    out += ["", "from __future__ import annotations", ""]
    out += ["from ..._checking import TYPE_CHECKING", "from ..._compiled import COMPILED"]
    out += imported(".composite", BASE_NAMES)
    out += imported(".decode", ["COMPOSITES", "read_uuid"])
    out += imported(".faults", ["WRITE_FAULTS"])
    code = [line for found in types for line in emit(found)]
    used = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", "\n".join(code)))
    out += imported(".octets", [name for name in OCTET_NAMES if name in used or name == "TIMESTAMP"])
    out += imported(".types", ["Symbol", "Timestamp"])
    out += ["", "if TYPE_CHECKING or COMPILED:", "    from ..._compiled import maker, scan_list", ""]
    out += ["if TYPE_CHECKING:", "    from collections.abc import Sequence", "    from datetime import datetime"]
    out += ["    from typing import Any, ClassVar, Final", "    from uuid import UUID", ""]
    out += ["    from .types import AmqpMap, Described", ""]
    out += ['SESSION_END: Final = Symbol("session-end")', *code]
    out += ["", "", "ACCEPTED: Final = Accepted()"]
    out += ['"""The accepted state, as it comes in the octets that everybody sends it in."""']
    out += ["ACCEPTED.wire = ACCEPTED_OCTETS", ""]
    for item in types:
        if item.name in SCANNED:
            out += [f'{plan_name(item)}: Final = (b"{plan(item)}", SYMBOLS, Symbol, TIMESTAMP, ACCEPTED)']
    out += ['"""The plan of each type for `scan_list`: its fields, and how their values are made."""']
    out += ["", "if TYPE_CHECKING or COMPILED:"]
    for item in types:
        if item.name in SCANNED:
            name = item.python_name
            out += [f'    {maker_name(item)}: Final = maker({name}, (*{name}.__match_args__, "wire"), ())']
    out += [""]
    out += ["FAST.update(", "    {"]
    for item in types:
        if item.name in FAST and item.base == "Performative":
            forms = [f"0x0053_{item.code:02X}{form}" for form in ("C0", "D0")]
            out += [f"        {form}: {item.python_name}.fast_fields," for form in forms]
    out += ["    }", ")"]
    out += ["COMPOSITES.update(", "    {"]
    for found in types:
        out.append(f"        0x{found.code:02X}: {found.python_name},")
        out.append(f'        "{found.symbol}": {found.python_name},')
    out += ["    }", ")", "", "", "__all__ = ["]
    names = [*EXPORTED, *[found.python_name for found in types]]
    names = sorted(names, key=import_order)
    out += [f'    "{name}",' for name in names]
    return {PATH: "\n".join([*out, "]", ""])}


def load(folder: Path = FACTS) -> list[Type]:
    """Return the composite types of every part."""
    rows = [(part, row) for part in PARTS for row in read_rows(f"1.0-part-{part}", folder)]
    return [_type(row, part) for part, row in rows if "composite" in row]


def _type(row: dict[str, Any], part: int) -> Type:
    name = row["composite"]
    provides = row["provides"]
    base = next((BASES[word] for word in provides if word in BASES), "Composite")
    items = tuple([_item(name, each) for each in row["fields"]])
    return Type(name, row["code"], row["symbol"], base, "outcome" in provides, part, items)


def _item(owner: str, row: dict[str, Any]) -> Item:
    name: str = row["name"]
    kind: str = row["type"]
    if kind in ("*", "symbol") and "requires" in row:
        kind = row["requires"]
    multiple = "multiple" in row
    if owner == "header" and name in HEADER_DEFAULTS:
        value = HEADER_DEFAULTS[name]
    elif "default" in row:
        default: str = row["default"]
        value = DEFAULTS.get(default, default)
    else:
        value = "()" if multiple else "None"
    python = name.replace("-", "_")
    return Item(
        python + "_" if keyword.iskeyword(python) else python,
        kind + ("*" if multiple else ""),
        KINDS.get((owner, name), kind),
        value,
        "mandatory" in row,
        multiple,
        owner,
    )


def emit(found: Type) -> list[str]:
    """Return the class of a composite type."""
    items = found.items
    lines = ["", "", f"class {found.python_name}({found.base}):"]
    told = [f"`{item.name}`: {MEANINGS[item.kind]}" for item in items if item.kind in MEANINGS]
    where = f"{found.name} (1.0 part {found.part}, {found.symbol}, 0x{found.code:02x})."
    lines += [f"    {line}" if line else "" for line in docstring(where, told)]
    lines += ["", *_block(assign("__slots__", quoted(sorted([item.name for item in items]))))]
    lines += [""]
    lines += _block(
        [
            f'NAME: ClassVar[str] = "{found.name}"',
            f"CODE: ClassVar[int] = 0x{found.code:02X}",
            f'SYMBOL: ClassVar[Symbol] = Symbol("{found.symbol}")',
        ]
    )
    if found.outcome:
        lines.append("    OUTCOME: ClassVar[bool] = True")
    if found.name in SECRETS:
        lines += _block(assign("SECRETS: ClassVar[tuple[str, ...]]", quoted(SECRETS[found.name])))
    if not items:
        lines += ["", "    def __init__(self) -> None:", "        self.wire = None"]
        return lines
    lines += ["    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = ("]
    lines += [f'        ("{item.name}", "{item.type}"),' for item in items] + ["    )"]
    lines += ["    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = ("]
    lines += [
        f'        ("{item.name}", "{item.kind}", {item.default}, {item.mandatory}, {item.multiple}),' for item in items
    ] + ["    )"]
    match = quoted([item.name for item in items])
    lines += _block(assign("__match_args__", match))
    lines.append("")
    for item in items:
        optional = "" if item.mandatory or item.default != "None" or item.kind == "global-tx-id" else " | None"
        lines.append(f"    {item.name}: {item.annotation}{optional}")
    lines += ["", "    def __init__(", "        self,"]
    late = False
    checked: list[str] = []
    for item in items:
        optional = "" if item.mandatory or item.default != "None" or item.kind == "global-tx-id" else " | None"
        if not item.mandatory:
            late = True
            lines.append(f"        {item.name}: {item.argument}{optional} = {item.default},")
        elif late:
            checked.append(item.name)
            lines.append(f"        {item.name}: {item.argument} = MISSING,")
        else:
            lines.append(f"        {item.name}: {item.argument},")
    lines.append("    ) -> None:")
    if checked:
        lines.append(f"        require(self, {', '.join(checked)})")
    for item in items:
        lines.append(f"        self.{item.name} = {_stored(item)}")
    lines.append("        self.wire = None")
    return [*lines, *emit_reader(found), *emit_writer(found)]


def _stored(item: Item) -> str:
    one = ANNOTATIONS.get(item.kind, "int")
    if item.multiple:
        return f"to_symbols({item.name})"
    made = {"Symbol | str": "to_symbol", "Timestamp | datetime | int": "to_timestamp"}.get(one)
    if made is None:
        return item.name
    if item.default == "None" and not item.mandatory:
        return f"None if {item.name} is None else {made}({item.name})"
    return f"{made}({item.name})"


def _block(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
