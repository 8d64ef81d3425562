"""State tables: `state -> input -> state`, absent means illegal."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from .._checking import TypeVar

_S = TypeVar("_S", bound=Enum)
_I = TypeVar("_I", bound=Enum)

Table = Mapping[_S, Mapping[_I, _S]]


class TableEnum(Enum):
    """An enumeration made to be a table's key: hashed by identity, which halves the price of a step."""

    __hash__ = object.__hash__


def unreachable(table: Table[_S, _I], start: _S) -> set[_S]:
    """The states of `table` that no sequence of inputs reaches from `start`."""
    seen = {start}
    frontier = [start]
    while frontier:
        for state in table[frontier.pop()].values():
            if state not in seen:
                seen.add(state)
                frontier.append(state)
    return set(table) - seen


def mermaid(table: Table[_S, _I], start: _S) -> str:
    """The table as a Mermaid state diagram; inputs that lead to the same state share an arrow."""
    lines = ["stateDiagram-v2", f"    [*] --> {start.name}"]
    for state, row in table.items():
        targets: dict[_S, list[str]] = {}
        for given, target in row.items():
            # A label of Mermaid ends at a colon.
            targets.setdefault(target, []).append(str(given.value).replace(":", " "))
        for target, inputs in targets.items():
            lines.append(f"    {state.name} --> {target.name}: {', '.join(inputs)}")
    return "\n".join(lines)
