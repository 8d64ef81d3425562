"""Generates what AMQP 1.0's restricted types say: the values that have names, and the type that each restricts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .composites import KINDS, PARTS, load
from .facts import FACTS, read_rows

CONDITIONS = "amqp_sansio/amqp_1_0/codec/conditions.py"
SOURCES = "amqp_sansio/amqp_1_0/codec/restricted.py"
GENERATED = "# Generated; edit the generator (tools/codegen)."

UNCLEAR = ("redirect", "unknown-id")
"""Error conditions whose constants begin with what fails by them."""

MEANINGS = {
    "role.sender": "The role of a sender, in attach and disposition.",
    "role.receiver": "The role of a receiver.",
    "std-dist-mode.move": "The distribution mode that takes messages from the node.",
    "std-dist-mode.copy": "The distribution mode that leaves messages at the node.",
    "sender-settle-mode": "When a sender settles: attach.snd-settle-mode (1.0 part 2 section 2.8.2).",
    "receiver-settle-mode": "When a receiver settles: attach.rcv-settle-mode and transfer.rcv-settle-mode "
    "(1.0 part 2 section 2.8.3).",
    "terminus-durability": "The part of a terminus that survives: source.durable and target.durable "
    "(1.0 part 3 section 3.5.5).",
    "terminus-expiry-policy": "When a terminus begins to expire: expiry-policy (1.0 part 3 section 3.5.6).",
    "sasl-code": "How an authentication ended: sasl-outcome.code (1.0 part 5 section 5.3.3.6).",
}
"""Docstrings of values, and of types whose values are the attributes of a class."""

REQUIRED = ("error", "source", "target", "outcome", "delivery-state")
"""Requirements of fields that composite types meet."""
OPEN = ("txn-id", "message-id", "address")
"""Requirements that values of several types meet, or of types that nobody knows."""


def generate(folder: Path = FACTS) -> dict[str, str]:
    """Return the texts of the generated files, by their paths from the root of the repository."""
    rows = [row for part in PARTS for row in read_rows(f"1.0-part-{part}", folder)]
    types = [row for row in rows if "restricted" in row]
    kinds = {item.kind for found in load(folder) for item in found.items}
    composites = [row for row in rows if "composite" in row]
    return {CONDITIONS: _conditions(types), SOURCES: _sources(types, composites, kinds)}


def _conditions(types: list[dict[str, Any]]) -> str:
    out = ['"""The error conditions, capabilities and choices that the specification of AMQP 1.0 names."""', ""]
    out += [GENERATED, "", "from __future__ import annotations", "", "from ..._checking import TYPE_CHECKING"]
    out += ["from .types import Symbol", "", "if TYPE_CHECKING:", "    from typing import Final"]
    classes: list[str] = []
    for row in types:
        name, choices = row["restricted"], row["choices"]
        if name in MEANINGS:
            words = [part.capitalize() for part in name.split("-")]
            classes += ["", "", f"class {''.join(words)}:", f'    """{MEANINGS[name]}"""', ""]
            classes += [f"    {_name(each)}: Final = {_value(row, each)}" for each in choices]
        elif choices:
            out.append("")
            for each in choices:
                owner = f"{name.split('-')[0]}-" if each in UNCLEAR else ""
                out.append(f"{_name(owner + each)}: Final = {_value(row, each)}")
                if f"{name}.{each}" in MEANINGS:
                    out.append(f'"""{MEANINGS[f"{name}.{each}"]}"""')
    return "\n".join([*out, *classes, ""])


def _name(choice: str) -> str:
    return choice.replace("-", "_").upper()


def _value(row: dict[str, Any], choice: str) -> str:
    value: str = row["choices"][choice]
    if row["source"] == "symbol":
        return f'Symbol("{value}")'
    return value.capitalize() if row["source"] == "boolean" else value


def _sources(types: list[dict[str, Any]], composites: list[dict[str, Any]], kinds: set[str]) -> str:
    restricts: dict[str, str] = {row["restricted"]: row["source"] for row in types if not row["code"]}
    for row in types:
        # A field may require what only types of one source provide.
        restricts.update({word: row["source"] for word in row["provides"] if word not in OPEN and not row["code"]})
    for row in composites:
        for field in row["fields"]:
            kind = KINDS.get((row["composite"], field["name"]))
            if kind is not None:
                restricts[kind] = field["type"]
    primitive = {name: name for name in restricts}
    for name in restricts:
        while primitive[name] in restricts:
            primitive[name] = restricts[primitive[name]]
    out = ['"""The primitive types of restricted ones, and the composite types that a field may require."""', ""]
    out += [GENERATED, "", "from __future__ import annotations", "", "from ..._checking import TYPE_CHECKING"]
    out += ["", "if TYPE_CHECKING:", "    from typing import Final", ""]
    out += ["SOURCES: Final = {"]
    out += [f'    "{name}": "{primitive[name]}",' for name in sorted(primitive) if name in kinds]
    out += ["}", '"""The primitive type of each restricted one."""', "", "PROVIDERS: Final = {"]
    for word in REQUIRED:
        # A field may also be of a composite type itself.
        found = [f'"{row["composite"]}"' for row in composites if word in (*row["provides"], row["composite"])]
        out.append(f'    "{word}": ({", ".join(found)}{"," if len(found) == 1 else ""}),')
    out += ["}", '"""The composite types that meet a requirement of a field; types of others may, too."""']
    return "\n".join([*out, ""])
