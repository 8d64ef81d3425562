"""Uses of `Any` in a package: where a type checker looks away.

Counted is the name `Any`, also as `typing.Any` and inside the text of a quoted annotation, wherever it stands in code:
annotations, `cast`, aliases, arguments of generic classes. Imports of it aren't uses, nor are comments, docstrings and
other texts. Generated modules are left out. `object`, `# type: ignore` and types that a library leaves open aren't
counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.trees import is_generated


@cache
def any_uses(root: Path, engine: str) -> tuple[str, ...]:
    """Return the places in `engine`, a package of `root`, that use `Any`."""
    return tuple(
        f"{path.relative_to(root.parent)}:{line}"
        for path in sorted((root / engine).rglob("*.py"))
        if not is_generated(path)
        for line in lines_with_any(ast.parse(path.read_text(encoding="utf-8")))
    )


def lines_with_any(tree: ast.AST) -> Iterator[int]:
    """The line of each use in a module or an expression, with a line for each of several uses."""
    nodes = tuple(ast.walk(tree))
    quoted = {id(text) for node in nodes for text in _quoted(node)}
    for node in nodes:
        match node:
            case ast.Name(id="Any") | ast.Attribute(attr="Any"):
                yield node.lineno
            case ast.Constant(value=str(text)) if id(node) in quoted:
                inner = ast.parse(text.strip(), mode="eval")
                yield from (node.lineno for _ in lines_with_any(inner))
            case _:
                pass


def _quoted(node: ast.AST) -> Iterator[ast.Constant]:
    """The texts that stand for types: in annotations, in `cast`, and in the arguments of a generic class there."""
    written: list[ast.expr | None] = []
    match node:
        case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
            written.append(annotation)
        case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
            written.append(returns)
        case ast.Call(func=ast.Name(id="cast"), args=[first, *_]):
            written.append(first)
        case ast.ClassDef(bases=bases):
            written += [base for base in bases if isinstance(base, ast.Subscript)]
        case _:
            pass
    for expression in written:
        if expression is not None:
            yield from _texts(expression)


def _texts(expression: ast.AST) -> Iterator[ast.Constant]:
    """The texts in a type, but for the values of a `Literal`."""
    match expression:
        case ast.Subscript(value=ast.Name(id="Literal")):
            return
        case ast.Constant(value=str()):
            yield expression
        case _:
            for inner in ast.iter_child_nodes(expression):
                yield from _texts(inner)
