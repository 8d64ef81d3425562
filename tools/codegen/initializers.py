"""Writes the `__init__` of each record of the package (`_ground/record.py`): a function that sets its slots.

The records say what they are: their modules are imported, and what the decorator noted of each is read. Defaults and
functions that make attributes of fields come from the class, as arguments of what makes its `__init__`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tools.trees import module_name

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = "amqp_sansio"
TARGET: Final = "amqp_sansio/_ground/initializers.py"
HEAD: Final = '''"""The `__init__` of each record, by its full name: functions that make it of the fields' defaults."""

# Generated; edit the generator (tools/codegen).

# Behind the defaults, a function takes what makes the attributes that aren't fields.

from __future__ import annotations

from .._checking import TYPE_CHECKING
from ..printing import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

INITIALIZERS: Final[dict[str, Callable[..., Callable[..., None]]]] = {}

# Checkers know the fields from the classes: `record` is a `dataclass_transform`.
if not TYPE_CHECKING:
'''
WIDTH: Final = 120


def records() -> Iterator[tuple[str, Any]]:
    """Yield each record of the package whose `__init__` isn't written by hand, in the order of their modules."""
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "@record" not in text:
            continue
        name = module_name(path, ROOT)
        module = importlib.import_module(name)
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and _is_record(node):
                kind = getattr(module, node.name)
                yield f"{kind.__module__}.{node.name}", kind


def made_later(kind: Any) -> dict[str, Any]:
    """Return the functions that make the attributes of a record that aren't fields, by name."""
    found: dict[str, Any] = {}
    for base in kind.__mro__[1:]:
        found |= base.__dict__.get("__record_later__", {})
    return found


def sentences(kind: Any) -> tuple[str, ...]:
    """Return the fields of a record that are printable sentences."""
    texts: tuple[str, ...] = kind.__dict__.get("__record_texts__", ())
    return texts


def _is_record(node: ast.ClassDef) -> bool:
    marked = any(isinstance(each, ast.Name) and each.id == "record" for each in node.decorator_list)
    return marked and not any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in node.body)


def generate() -> dict[str, str]:
    """Return the module's text by its path."""
    lines: list[str] = []
    for name, kind in records():
        lines += _function(name, kind)
    return {TARGET: HEAD + "\n".join(lines).lstrip("\n") + '\n\n\n__all__ = ["INITIALIZERS"]\n'}


def _function(name: str, kind: Any) -> list[str]:
    fields: tuple[str, ...] = kind.__match_args__
    defaults: dict[str, object] = kind.__record_defaults__
    later = made_later(kind)
    makers = [f"make{each}" if each.startswith("_") else f"make_{each}" for each in later]
    parameters = ["self", *[f"{each}={each}" if each in defaults else each for each in fields]]
    texts = sentences(kind)
    sets = [f"self.{each} = printable({each})" if each in texts else f"self.{each} = {each}" for each in fields]
    sets += [f"self.{each} = {maker}(self)" for each, maker in zip(later, makers, strict=True)]
    return [
        "",
        *_definition("    ", "make", [*[each for each in fields if each in defaults], *makers]),
        *_definition("        ", "__init__", parameters),
        *[f"            {each}" for each in sets or ["pass"]],
        "",
        "        return __init__",
        "",
        f'    INITIALIZERS["{name}"] = make',
    ]


def _definition(indent: str, name: str, parameters: list[str]) -> list[str]:
    line = f"{indent}def {name}({', '.join(parameters)}):"
    if len(line) <= WIDTH:
        return [line]
    return [f"{indent}def {name}(", *[f"{indent}    {each}," for each in parameters], f"{indent}):"]
