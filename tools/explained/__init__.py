"""How many attributes have a word beside them: a figure of the rooms that hold state, which may only rise.

Counted is each attribute that an `__init__` sets on `self`, once for its class. It is explained by a comment behind it
or on the lines directly before it, by a docstring behind it, or by one of these beside its annotation in the class's
body. One comment before several attributes explains the first of them.

An explanation that repeats the name is none: it has at least `LEAST` words that the attribute's name, its class's name
and its annotation haven't got, articles and the like apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tools.trees import is_generated, statements

ROOT: Final = Path(__file__).resolve().parents[2]
ROOMS: Final = {
    "model": ("amqp_sansio/*/model", "amqp_sansio/amqp_*/model"),
    "endpoint": ("amqp_sansio/*/endpoint",),
    "_core": ("amqp_sansio/_core", "amqp_sansio/_ground", "amqp_sansio/_watching"),
    "client": ("amqp_sansio/client",),
    "broker/model": ("amqp_sansio/broker/model",),
    "adapters": ("adapters/*/amqp_sansio_*",),
}
"""The folders of each room, with what is in them."""
APART: Final = {"model": "broker"}
"""A part of a path that keeps it out of a room: the broker's model has a row of its own."""
LEAST: Final = 2
"""Words that an explanation adds to the name."""
_FOR_CHECKERS: Final = re.compile(r"\s*#\s*(type:|pyright:|noqa|fmt:)")
EMPTY: Final = frozenset(
    (
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "had",
        "has",
        "have",
        "in",
        "is",
        "it",
        "its",
        "none",
        "of",
        "on",
        "or",
        "that",
        "the",
        "their",
        "this",
        "to",
        "was",
        "which",
        "with",
    )
)
"""Words that say nothing alone."""


class Attribute(NamedTuple):
    """An attribute that `__init__` sets: where, and what is said of it ("" if nothing is)."""

    file: str
    line: int
    owner: str
    name: str
    said: str
    explained: bool


def attributes(room: str) -> list[Attribute]:
    """Return the attributes of a room, in the order of its files."""
    return [each for path in _files(room) for each in read(path.read_text(encoding="utf-8"), _name(path))]


def share(room: str) -> int:
    """Return how many of a hundred attributes of a room are explained, rounded down."""
    found = attributes(room)
    return 100 * sum(each.explained for each in found) // max(len(found), 1)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _files(room: str) -> Iterator[Path]:
    folders = {folder for pattern in ROOMS[room] for folder in ROOT.glob(pattern)}
    for path in sorted({path for folder in folders for path in folder.rglob("*.py")}):
        if APART.get(room) not in path.relative_to(ROOT).parts and not is_generated(path):
            yield path


@cache
def read(text: str, file: str = "") -> tuple[Attribute, ...]:
    """Return the attributes that the classes of a module's text set in `__init__`."""
    lines = text.splitlines()
    return tuple(
        each
        for node in statements(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        for each in _of_class(node, file, lines)
    )


def _of_class(owner: ast.ClassDef, file: str, lines: list[str]) -> Iterator[Attribute]:
    in_body = {name: said for name, _, _, said in _assigned(owner.body, lines, self_only=False)}
    found: dict[str, Attribute] = {}
    for node in owner.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for name, line, kind, said in _assigned(node.body, lines, self_only=True):
                words = said or in_body.get(name, "")
                if name not in found or (words and not found[name].said):
                    explained = says_something(words, f"{name} {owner.name} {kind}")
                    found[name] = Attribute(file, line, owner.name, name, words, explained)
    yield from found.values()


def _assigned(body: list[ast.stmt], lines: list[str], *, self_only: bool) -> Iterator[tuple[str, int, str, str]]:
    """Yield the name, line, annotation and explanation of what statements assign, also inside blocks."""
    for place, node in enumerate(body):
        match node:
            case ast.Assign(targets=targets):
                kind = ""
            case ast.AnnAssign(target=only, annotation=annotation):
                targets, kind = [only], ast.unparse(annotation)
            case ast.If() | ast.For() | ast.With() | ast.Try():
                for inner in (node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])):
                    yield from _assigned(inner, lines, self_only=self_only)
                continue
            case _:
                continue
        behind = body[place + 1] if place + 1 < len(body) else None
        said = _said(node, behind, lines)
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                match each:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name) if self_only:
                        yield name, node.lineno, kind, said
                    case ast.Name(id=name) if not self_only:
                        yield name, node.lineno, kind, said
                    case _:
                        pass


def _said(node: ast.stmt, behind: ast.stmt | None, lines: list[str]) -> str:
    """The comment before or behind a statement, or the docstring behind it."""
    # The parser counts octets. Behind the end of a statement on its line is nothing but a comment.
    last = lines[(node.end_lineno or node.lineno) - 1].encode()
    found = _comment(last[node.end_col_offset or 0 :].decode())
    line = node.lineno - 1
    while lines[line - 1].lstrip().startswith("#"):
        found = f"{_comment(lines[line - 1])} {found}"
        line -= 1
    match behind:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return f"{found} {text}".strip()
        case _:
            return found.strip()


def _comment(text: str) -> str:
    """What a comment says, if it isn't for a checker."""
    return "" if _FOR_CHECKERS.match(text) else text.partition("#")[2].lstrip("# ")


def says_something(said: str, known: str) -> bool:
    """Return whether a text has words that the names and types beside it haven't got."""
    return len(_words(said) - _words(known) - EMPTY) >= LEAST


def _words(text: str) -> set[str]:
    """The words of a text in lower case and in the singular, also those that make up names."""
    parted = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return {word.rstrip("s") if len(word) > 3 else word for word in re.findall(r"[a-z0-9]+", parted.lower())}
