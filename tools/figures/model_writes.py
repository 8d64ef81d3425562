"""Assignments to attributes of model objects, and changes to what these hold, from outside an engine's `model`.

Counted are `object.name = ...`, also augmented, annotated with a value, unpacked into, a loop's variable, and
`del object.name`, in every module of an engine that isn't in its `model`, where `name` is an attribute of the object's
class that a class of `model` has: by its slots, by an annotation in its body, or because a method of it sets it on
itself. Two figures come of it:

- `FOREIGN`: the object is another one than `self`;
- `INHERITED`: the object is `self`, whose class derives from one in `model`.

A third one, `HELD`, counts changes to the containers that such attributes hold, on either object:
`object.name[key] = ...`, also augmented, `del object.name[key]`, and calls of the methods in `CHANGING`, each also
through a variable that the function gets from `object.name` and from nothing else. A call isn't counted where the
attribute's class is this package's own and has such a method itself: that is a method of the model.

The class of an object is known from annotations: of parameters, variables, attributes and results, through unions,
aliases, containers, loops and base classes. Where it can't be known (a type variable, a protocol, `Any`, a result of
another package), the attribute's name decides: a name that a class of the engine's model has is counted. So a figure
is too high by writes to other objects with such a name, and no write is missed for want of a type.

Not counted: an object that the function made itself without its constructor (`NEW(Class)`: those are compared with the
class's slots by another test), `setattr`, containers that are handed on to another function, and state of the model
that a model's own method changes when it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tools.trees import is_generated, module_name, statements

FOREIGN: Final = "on other objects"
INHERITED: Final = "on self, inherited"
HELD: Final = "in what they hold"
CHANGING: Final = frozenset(
    {
        *("append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove"),
        *("add", "put_back", "reverse", "setdefault", "sort", "update"),
    }
)
"""Methods of containers that change them."""
MAKERS: Final = frozenset({"NEW", "_new"})
"""Names of `object.__new__`, which makes an object without its constructor."""

_TRANSPARENT: Final = frozenset({"Final", "ClassVar", "Optional", "Annotated", "ReadOnly"})
_UNKNOWN: Final = frozenset({"Any", "object", "Self"})
_ELEMENT_METHODS: Final = frozenset({"get", "pop", "popleft", "popitem", "setdefault", "values", "copy"})
_ELEMENT_FUNCTIONS: Final = frozenset({"iter", "list", "next", "reversed", "sorted", "tuple"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Write(NamedTuple):
    """One assignment: which figure it belongs to, where it stands, what it assigns to."""

    figure: str
    place: str
    target: str


@dataclass(frozen=True, eq=False)
class Module:
    """A module and what its names mean: a definition, the value of an alias, or (module, name) that it imports."""

    name: str
    tree: ast.Module
    names: dict[str, ast.AST | tuple[str, str]]


@dataclass(frozen=True)
class Kind:
    """A class, in its module."""

    module: Module
    node: ast.ClassDef

    @property
    def is_protocol(self) -> bool:
        """Whether it only says what an object has, whatever class that is of."""
        return any("Protocol" in ast.unparse(base) for base in self.node.bases)


class Declared(NamedTuple):
    """A type as it is written, in the module that writes it."""

    module: Module
    expression: ast.expr


Variables = Mapping[str, Declared | None]


class Tree:
    """The modules of a package below `root`, read when they are asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._modules: dict[str, Module | None] = {}
        self._attributes: dict[tuple[Kind, str], Declared | None] = {}
        self._names: dict[Kind, frozenset[str]] = {}
        self._bases: dict[Kind, tuple[Kind, ...]] = {}

    def module(self, name: str) -> Module | None:
        """Return a module by its dotted name; None if the package hasn't got it."""
        if name not in self._modules:
            path = self._root.joinpath(*name.split("."))
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            self._modules[name] = _read(name, file) if file.is_file() else None
        return self._modules[name]

    def find(self, module: Module, name: str) -> tuple[Module, ast.AST] | None:
        """Follow imports to where the name is defined; None for a name from elsewhere."""
        for _ in range(8):
            found = module.names.get(name)
            if not isinstance(found, tuple):
                return None if found is None else (module, found)
            following = self.module(found[0])
            if following is None:
                return None
            module, name = following, found[1]
        return None

    def kinds(self, declared: Declared) -> frozenset[Kind] | None:
        """Return the classes of this package that a type can stand for; None where that isn't known."""
        module, node = declared
        match node:
            case ast.Constant(value=str(text)):
                return self.kinds(Declared(module, ast.parse(text, mode="eval").body))
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                first, second = self.kinds(Declared(module, left)), self.kinds(Declared(module, right))
                return None if first is None or second is None else first | second
            case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in _TRANSPARENT:
                return self.kinds(Declared(module, inner))
            case ast.Subscript(value=value):
                return self.kinds(Declared(module, value))
            case ast.Name(id=name):
                return None if name in _UNKNOWN else self._kinds_of_name(module, name)
            case ast.Constant(value=None):
                return frozenset()
            case _:
                return None

    def _kinds_of_name(self, module: Module, name: str) -> frozenset[Kind] | None:
        found = self.find(module, name)
        match found:
            case None:
                return frozenset()
            case (place, ast.ClassDef() as node):
                kind = Kind(place, node)
                return None if kind.is_protocol else frozenset({kind})
            case (place, ast.expr() as value) if not isinstance(value, ast.Call):
                return self.kinds(Declared(place, value))
            case _:
                return None

    def element(self, declared: Declared) -> Declared | None:
        """Return the type of what a container holds; a mapping's values."""
        module, node = declared
        match node:
            case ast.Constant(value=str(text)):
                return self.element(Declared(module, ast.parse(text, mode="eval").body))
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return self.element(Declared(module, left)) or self.element(Declared(module, right))
            case ast.Subscript(value=ast.Name(id=name), slice=inner) if name in _TRANSPARENT:
                return self.element(Declared(module, inner))
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[first, *_])):
                return Declared(module, first)
            case ast.Subscript(slice=ast.Tuple(elts=[*_, last])):
                return Declared(module, last)
            case ast.Subscript(slice=inner):
                return Declared(module, inner)
            case ast.Name(id=name):
                found = self.find(module, name)
                if found is not None and isinstance(found[1], ast.Subscript):
                    return self.element(Declared(found[0], found[1]))
                return None
            case _:
                return None

    def line(self, kind: Kind) -> tuple[Kind, ...]:
        """Return the class and its bases in this package, each before its own."""
        if kind not in self._bases:
            self._bases[kind] = (kind,)
            found = [kind]
            for base in kind.node.bases:
                value = base.value if isinstance(base, ast.Subscript) else base
                place = self.find(kind.module, value.id) if isinstance(value, ast.Name) else None
                if place is not None and isinstance(place[1], ast.ClassDef):
                    found += self.line(Kind(place[0], place[1]))
            self._bases[kind] = tuple(dict.fromkeys(found))
        return self._bases[kind]

    def names(self, kind: Kind) -> frozenset[str]:
        """Return the attributes that objects of the class have by its own body."""
        if kind not in self._names:
            self._names[kind] = frozenset(_attribute_names(kind.node))
        return self._names[kind]

    def attribute(self, kind: Kind, name: str) -> Declared | None:
        """Return the type of an attribute, or of what a method returns; None where that isn't written."""
        key = (kind, name)
        if key not in self._attributes:
            self._attributes[key] = None
            found = (self._declared_in(each, name) for each in self.line(kind))
            self._attributes[key] = next((each for each in found if each is not None), None)
        return self._attributes[key]

    def _declared_in(self, kind: Kind, name: str) -> Declared | None:
        for line in kind.node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id == name:
                return Declared(kind.module, line.annotation)
            if isinstance(line, Function) and line.name == name and line.returns is not None:
                return Declared(kind.module, line.returns)
        for function in kind.node.body:
            if not isinstance(function, Function):
                continue
            for node in _nodes(function):
                match node:
                    case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=attr), annotation=written):
                        if attr == name:
                            return Declared(kind.module, written)
                    case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=attr)], value=value):
                        if attr == name:
                            return Reader(self, kind.module, kind).type_of(
                                value, _parameters(kind.module, kind, function)
                            )
                    case _:
                        pass
        return None


@dataclass(frozen=True)
class Reader:
    """Reads the types of expressions in the functions of a module, and of a class in it."""

    tree: Tree
    module: Module
    kind: Kind | None

    def type_of(self, node: ast.expr, variables: Variables) -> Declared | None:
        """Return the type of an expression; None where that isn't known."""
        match node:
            case ast.Name(id=name):
                return variables.get(name)
            case ast.Attribute(value=value, attr=attr):
                return self._member(self.type_of(value, variables), attr)
            case ast.Subscript(value=value):
                declared = self.type_of(value, variables)
                return None if declared is None else self.tree.element(declared)
            case ast.IfExp(body=first, orelse=second):
                return self.type_of(first, variables) or self.type_of(second, variables)
            case ast.BoolOp(values=[first, *_]):
                return self.type_of(first, variables)
            case ast.NamedExpr(value=value) | ast.Await(value=value):
                return self.type_of(value, variables)
            case ast.Call(func=ast.Name(id="cast"), args=[written, _]):
                return Declared(self.module, written)
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _ELEMENT_FUNCTIONS:
                declared = self.type_of(first, variables)
                return declared if name != "next" or declared is None else self.tree.element(declared)
            case ast.Call(func=ast.Name(id=name)):
                found = self.tree.find(self.module, name)
                if found is None:
                    return None
                if isinstance(found[1], ast.ClassDef):
                    return Declared(self.module, ast.Name(name))
                returns = found[1].returns if isinstance(found[1], Function) else None
                return None if returns is None else Declared(found[0], returns)
            case ast.Call(func=ast.Attribute(value=value, attr=attr)):
                declared = self.type_of(value, variables)
                found_member = self._member(declared, attr)
                if found_member is None and declared is not None and attr in _ELEMENT_METHODS:
                    return declared if attr in {"values", "copy"} else self.tree.element(declared)
                return found_member
            case _:
                return None

    def _member(self, declared: Declared | None, name: str) -> Declared | None:
        kinds = None if declared is None else self.tree.kinds(declared)
        found = (self.tree.attribute(kind, name) for kind in kinds or ())
        return next((each for each in found if each is not None), None)

    def has_method(self, node: ast.expr, name: str, variables: Variables) -> bool:
        """Whether the value's class is this package's own, and has the method itself."""
        declared = self.type_of(node, variables)
        kinds = None if declared is None else self.tree.kinds(declared)
        return any(isinstance(line, Function) and line.name == name for kind in kinds or () for line in kind.node.body)

    def variables(self, function: Function) -> Variables:
        """Return the types of a function's variables, as they are assigned first."""
        found = dict(_parameters(self.module, self.kind, function))
        own = {argument.arg for argument in _arguments(function)}
        for node in _nodes(function):
            for name, declared in self._assigned(node, found):
                if name not in own:
                    own.add(name)
                    found[name] = declared
                elif found.get(name) is None:
                    found[name] = declared
        return found

    def _assigned(self, node: ast.AST, found: Variables) -> Iterator[tuple[str, Declared | None]]:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=written):
                yield name, Declared(self.module, written)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                yield name, self.type_of(value, found)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for name_node, value in zip(names, values, strict=False):
                    if isinstance(name_node, ast.Name):
                        yield name_node.id, self.type_of(value, found)
            case (
                ast.For(target=target, iter=values)
                | ast.AsyncFor(target=target, iter=values)
                | ast.comprehension(target=target, iter=values)
            ):
                yield from self._looped(target, values, found)
            case _:
                pass

    def _looped(self, target: ast.expr, values: ast.expr, found: Variables) -> Iterator[tuple[str, Declared | None]]:
        match target, values:
            case ast.Tuple(elts=[_, ast.Name(id=name)]), ast.Call(func=ast.Attribute(value=mapping, attr="items")):
                declared = self.type_of(mapping, found)
            case ast.Name(id=name), _:
                declared = self.type_of(values, found)
            case _:
                return
        yield name, None if declared is None else self.tree.element(declared)


KEPT: Final = {"amqp_0_10": ("endpoint/session_state.py",)}
"""Modules of an engine, beside those in its `model`, whose classes nobody else assigns to: what an end remembers."""


@cache
def writes(root: Path, engine: str) -> tuple[Write, ...]:
    """Return the assignments in `engine`, a package of `root`, that the module's docstring describes."""
    return tuple(_writes(root, engine))


def _writes(root: Path, engine: str) -> Iterator[Write]:
    tree = Tree(root.parent)
    folder = root / engine
    own = [*sorted((folder / "model").rglob("*.py")), *[folder / each for each in KEPT.get(engine, ())]]
    model = frozenset([module_name(path, root.parent) for path in own])
    by_name: set[str] = set()
    for path in own:
        module = tree.module(module_name(path, root.parent))
        if module is not None:
            for node in module.tree.body:
                if isinstance(node, ast.ClassDef):
                    by_name |= tree.names(Kind(module, node))
    for path in sorted(folder.rglob("*.py")):
        module = tree.module(module_name(path, root.parent))
        if module is None or path in own or is_generated(path):
            continue
        place = str(path.relative_to(root.parent))
        for kind, function in _functions(module):
            reader = Reader(tree, module, kind)
            targets = list(_targets(function))
            changes = list(_changes(function))
            variables: Variables = reader.variables(function) if targets or changes else {}
            for target in targets:
                figure = _figure(reader, target, variables, by_name, model)
                if figure:
                    yield Write(figure, f"{place}:{target.lineno}", ast.unparse(target))
            for change in changes:
                if reader.has_method(change.held, change.method, variables):
                    continue
                if _figure(reader, change.held, variables, by_name, model):
                    yield Write(HELD, f"{place}:{change.line}", ast.unparse(change.held))


def _figure(
    reader: Reader, target: ast.Attribute, variables: Variables, by_name: set[str], model: frozenset[str]
) -> str:
    """Return the figure that an assignment counts for; empty for none."""
    on_self = isinstance(target.value, ast.Name) and target.value.id in {"self", "cls"}
    if on_self:
        kinds = frozenset[Kind]() if reader.kind is None else frozenset({reader.kind})
    else:
        declared = reader.type_of(target.value, variables)
        known = None if declared is None else reader.tree.kinds(declared)
        if known is None:
            return FOREIGN if target.attr in by_name else ""
        kinds = known
    for kind in kinds:
        for each in reader.tree.line(kind):
            if each.module.name in model and target.attr in reader.tree.names(each):
                return INHERITED if on_self else FOREIGN
    return ""


def _targets(function: Function) -> Iterator[ast.Attribute]:
    """The attributes that a function assigns to, but for those of objects that it makes without a constructor."""
    left_out = _made(function)
    only_declared = {
        id(node.target) for node in _nodes(function) if isinstance(node, ast.AnnAssign) and node.value is None
    }
    for node in _nodes(function):
        if (
            isinstance(node, ast.Attribute)
            and not isinstance(node.ctx, ast.Load)
            and id(node) not in only_declared
            and not (isinstance(node.value, ast.Name) and node.value.id in left_out)
        ):
            yield node


class Change(NamedTuple):
    """A change to a container: the attribute that holds it, the method that changes it ("" for none), and the line."""

    held: ast.Attribute
    method: str
    line: int


def _changes(function: Function) -> Iterator[Change]:
    """What a function does to containers that attributes hold, but for those of objects that it has made itself."""
    left_out = _made(function)
    known = _held_by_variables(function)
    for node in _nodes(function):
        match node:
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                method = ""
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in CHANGING:
                pass
            case _:
                continue
        while isinstance(value, ast.Subscript):
            value = value.value
        held = known.get(value.id) if isinstance(value, ast.Name) else value
        if isinstance(held, ast.Attribute) and not (isinstance(held.value, ast.Name) and held.value.id in left_out):
            yield Change(held, method, node.lineno)


def _held_by_variables(function: Function) -> dict[str, ast.Attribute]:
    """The attribute that each variable is got from that is got from nothing else."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in _nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, value in zip(names, values, strict=False):
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found.setdefault(name, []).append(value)
            case ast.Name(id=name, ctx=ast.Store()):
                found.setdefault(name, [])
            case _:
                pass
    stored = [node.id for node in _nodes(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {
        name: values[0]
        for name, values in found.items()
        if len(values) == 1 and stored.count(name) == 1 and isinstance(values[0], ast.Attribute)
    }


def _made(function: Function) -> set[str]:
    """The variables of objects made without a constructor, under each of their names."""
    found: set[str] = set()
    for node in _nodes(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=maker)))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call(func=ast.Name(id=maker)))
            ) if maker in MAKERS:
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Name(id=other)) if other in found:
                found.add(name)
            case _:
                pass
    return found


def _functions(module: Module) -> Iterator[tuple[Kind | None, Function]]:
    """The functions of a module and of its classes; those inside functions are walked with them."""
    for node in module.tree.body:
        if isinstance(node, Function):
            yield None, node
        elif isinstance(node, ast.ClassDef):
            for line in node.body:
                if isinstance(line, Function):
                    yield Kind(module, node), line


@cache
def _nodes(function: Function) -> tuple[ast.AST, ...]:
    """All nodes of a function, itself first: to find them costs more than each question about them."""
    return tuple(ast.walk(function))


def _arguments(function: Function) -> Iterator[ast.arg]:
    given = function.args
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)


def _parameters(module: Module, kind: Kind | None, function: Function) -> Variables:
    found: dict[str, Declared | None] = {}
    for argument in _arguments(function):
        found[argument.arg] = None if argument.annotation is None else Declared(module, argument.annotation)
    if kind is not None and "self" in found:
        found["self"] = Declared(module, ast.Name(kind.node.name))
    return found


def _attribute_names(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        if isinstance(line, ast.AnnAssign):
            yield ast.unparse(line.target)
        elif isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__slots__":
            for inner in ast.walk(line.value):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner.value
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Attribute)
            and isinstance(inner.ctx, ast.Store)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == "self"
        ):
            yield inner.attr


def _read(name: str, file: Path) -> Module:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    names: dict[str, ast.AST | tuple[str, str]] = {}
    for node in statements(tree):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                names[alias.asname or alias.name] = (module, alias.name)
    for line in tree.body:
        if isinstance(line, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names[line.name] = line
        elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            names[line.targets[0].id] = line.value
        elif isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
            names[line.target.id] = line.value
    return Module(name, tree, names)
