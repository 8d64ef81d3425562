"""One change of a module's syntax tree: where one can be made, what it is, and the tree with it.

A mutation is known by its number: its place in the order in which `mutations` lists those of a source. So a mutant is
made again, in another process, from the source and the number alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

REACHED: Final = "__reached__"
"""The global function that probes call."""

_COMPARISONS: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SUMS: Final[Mapping[type[ast.operator], type[ast.operator]]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}

_TEXTS: Final = frozenset({"__repr__", "__str__"})
"""Functions whose results are for people."""
_NAMES_ONLY: Final = frozenset({"__slots__", "__all__", "__match_args__"})
_TYPING: Final = frozenset({"TypeVar", "ParamSpec", "NewType"})
_CHECKERS: Final = frozenset({"assert_never", "reveal_type"})


class Mutation(NamedTuple):
    """A change: the first line of the statement that differs, without and with it."""

    number: int
    kind: str
    line: int
    function: str
    """The name of the function, with its class; empty outside of functions."""
    before: str
    after: str


class _Slot(NamedTuple):
    """Where a value stands in the tree."""

    owner: ast.AST
    name: str
    place: int | None = None
    """In a list."""

    def get(self) -> object:
        value: object = getattr(self.owner, self.name)
        return value if self.place is None else _list(value)[self.place]

    def put(self, value: object) -> None:
        if self.place is None:
            setattr(self.owner, self.name, value)
        else:
            _list(getattr(self.owner, self.name))[self.place] = value


@dataclass(frozen=True)
class _Place:
    """The innermost statement around a node, the block that holds it, and the names of its scopes."""

    statement: ast.stmt
    block: list[ast.stmt]
    scopes: tuple[str, ...] = ()
    within: bool = False
    """Whether the statement is part of a function."""


@dataclass(frozen=True)
class _Change:
    kind: str
    slot: _Slot
    new: object
    place: _Place
    line: int = field(default=0)


def mutations(source: str) -> list[Mutation]:
    """Return all changes that can be made to the source of a module."""
    found: list[Mutation] = []
    for number, change in enumerate(_changes(ast.parse(source))):
        before = ast.unparse(change.place.statement).splitlines()
        old = change.slot.get()
        change.slot.put(change.new)
        changed = change.new if old is change.place.statement else change.place.statement
        assert isinstance(changed, ast.AST)
        after = ast.unparse(changed).splitlines()
        change.slot.put(old)
        first = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
        name = ".".join(change.place.scopes) if change.place.within else ""
        texts = before[first].strip(), after[first].strip()
        found.append(Mutation(number, change.kind, change.line, name, *texts))
    return found


def mutated(source: str, number: int) -> ast.Module:
    """Return the module's tree with one change."""
    tree = ast.parse(source)
    change = list(_changes(tree))[number]
    change.slot.put(change.new)
    return ast.fix_missing_locations(tree)


def probed(source: str, probes: Mapping[int, str]) -> ast.Module:
    """Return the unchanged module's tree, with a call of `REACHED` before the statement of each mutation in `probes`.

    The call's argument is the probe's name. A mutation outside of functions gets no probe: its code runs once, when the
    module is imported, whatever test is the first to import it.
    """
    tree = ast.parse(source)
    changes = list(_changes(tree))
    for number, name in probes.items():
        place = changes[number].place
        if not place.within:
            continue
        call = ast.Call(ast.Name(REACHED, ast.Load()), [ast.Constant(name)], [])
        at = next(n for n, each in enumerate(place.block) if each is place.statement)
        place.block.insert(at, ast.copy_location(ast.Expr(call), place.statement))
    return ast.fix_missing_locations(tree)


def _changes(tree: ast.Module) -> Iterator[_Change]:
    # The list is complete before any change is made: making one moves no other.
    for slot in _block(tree, "body"):
        statement = slot.get()
        assert isinstance(statement, ast.stmt)
        yield from _in_node(statement, slot, _Place(statement, tree.body))


def _in_node(node: ast.AST, slot: _Slot, place: _Place) -> Iterator[_Change]:
    if _is_left_out(node):
        return
    line = getattr(node, "lineno", place.statement.lineno)
    for change in _of_node(node, slot, place):
        yield replace(change, line=line)
    scopes = place.scopes
    within = place.within
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scopes = (*scopes, node.name)
    for name in _fields(node):
        value = getattr(node, name)
        if isinstance(value, ast.AST):
            yield from _in_node(value, _Slot(node, name), place)
        elif isinstance(value, list):
            for inner in _block(node, name):
                child = inner.get()
                if isinstance(child, ast.stmt):
                    if isinstance(node, ast.ClassDef) and _is_enum(node) and not _is_function(child):
                        continue
                    block: list[ast.stmt] = value  # pyright: ignore[reportUnknownVariableType]
                    yield from _in_node(child, inner, _Place(child, block, scopes, within or _is_function(node)))
                elif isinstance(child, ast.AST):
                    # A handler's or a case's statements belong to the scopes of the statement around them.
                    yield from _in_node(child, inner, place)


def _of_node(node: ast.AST, slot: _Slot, place: _Place) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=ops):
            for index, op in enumerate(ops):
                yield _Change("comparison", _Slot(node, "ops", index), _COMPARISONS[type(op)](), place)
        case ast.Constant(value=bool(value)):
            yield _Change("truth", _Slot(node, "value"), not value, place)
        case ast.Constant(value=int(value)):
            yield _Change("number", _Slot(node, "value"), value + 1, place)
        case ast.BoolOp(op=op):
            yield _Change("and, or", _Slot(node, "op"), ast.Or() if isinstance(op, ast.And) else ast.And(), place)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Change("not", slot, operand, place)
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _SUMS:
            yield _Change("sum", _Slot(node, "op"), _SUMS[type(op)](), place)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield _Change("return value", _Slot(node, "value"), ast.copy_location(ast.Constant(None), value), place)
        case _:
            pass
    if isinstance(node, ast.stmt) and place.within and _may_go(node, place):
        yield _Change("dropped statement", slot, ast.copy_location(ast.Pass(), node), place)


def _may_go(node: ast.stmt, place: _Place) -> bool:
    """Whether a function is still whole without the statement: a local name that is never bound says nothing."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.Expr(value=ast.Await(value=ast.Call())) | ast.AugAssign():
            return True
        case ast.Assign(targets=targets):
            return "__init__" not in place.scopes and all(
                isinstance(target, ast.Attribute | ast.Subscript) for target in targets
            )
        case _:
            return False


def _is_left_out(node: ast.AST) -> bool:
    """Whether nothing in the node decides what the program does."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name in _TEXTS or "overload" in map(_name, node.decorator_list)
        case ast.ClassDef(bases=bases):
            return any(_name(base) == "Protocol" for base in bases)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name in _NAMES_ONLY
        case ast.Call(func=func):
            return _name(func) in _TYPING | _CHECKERS
        case ast.Expr(value=ast.Call(func=func)):
            return _name(func) in _CHECKERS
        case ast.keyword(arg="strict"):
            return True
        case ast.Subscript(value=value):
            return _name(value) == "Literal"
        case ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case _:
            return False


def _fields(node: ast.AST) -> Iterator[str]:
    """The parts of a node that run: no decorators, bases and annotations, and nothing for type checkers only."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from ("args", "body")
        case ast.ClassDef():
            yield "body"
        case ast.arguments():
            yield from ("defaults", "kw_defaults")
        case ast.AnnAssign():
            yield "value"
        case ast.If(test=test) if _name(test) == "TYPE_CHECKING":
            yield "orelse"
        case ast.Call(func=func) if _name(func) == "cast":
            yield "args"
        case _:
            yield from node._fields


def _block(owner: ast.AST, name: str) -> list[_Slot]:
    return [_Slot(owner, name, index) for index in range(len(_list(getattr(owner, name))))]


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _is_enum(node: ast.ClassDef) -> bool:
    """Members are told apart by identity: another value changes nothing, or two names."""
    return any(_name(base).endswith(("Enum", "Flag")) for base in node.bases)


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value) | ast.Call(func=value):
            return _name(value)
        case _:
            return ""


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value  # pyright: ignore[reportUnknownVariableType]


__all__ = ["REACHED", "Mutation", "mutated", "mutations", "probed"]
