"""What the figures know of files: their modules' names, which of them a generator writes, and their statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

GENERATED: Final = re.compile(r"generated[;,:] edit the generator", re.IGNORECASE)
"""What a generated module says in its first lines."""


def module_name(path: Path, base: Path) -> str:
    """Return the dotted name of the module in `path`, seen from `base`."""
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_generated(path: Path) -> bool:
    """Return whether a generator writes the module: whoever changes it changes the generator."""
    head = path.read_text(encoding="utf-8").splitlines()[:5]
    return any(GENERATED.search(line) for line in head)


def statements(within: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements below a node, also those inside others. Expressions, most of a tree, have none."""
    for node in ast.iter_child_nodes(within):
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            if isinstance(node, ast.stmt):
                yield node
            yield from statements(node)
