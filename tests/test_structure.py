"""Figures of the tree's structure: foreign private accesses, import circles, checker switches, double rules, shortcuts.

Each is the figure of today. A test fails when the figure rises, and also when it falls, so that what is written here
follows it down.
"""

import ast
import csv
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from amqp_sansio._ground.fast_paths import Entry
from tests.test_layout import (
    ADAPTERS,
    CORE,
    PARTS,
    ROOT,
    adapter_files,
    core_files,
    imports,
    module_name,
    nodes_of,
    python_files,
)
from tools.trees import is_generated

FOREIGN_PRIVATE: Final = 0
"""Accesses to private attributes of other objects that the module itself doesn't define, in each package."""
CHECKER_SWITCHES: Final = 1
"""Modules with a comment that switches a checker off for all of them."""
IMPORT_CIRCLES: Final = {"all": 1, "run time": 0}
"""Groups of modules that import each other, with and without the imports for type checkers: the one group is a queue
and what refers to it (`broker/model`), whose types name each other."""
OBSERVER_ONLY: Final[dict[str, frozenset[str]]] = {
    "0-8": frozenset(),
    "0-9-1": frozenset(),
    "0-10": frozenset(),
    "1.0": frozenset({"security/sasl/outcome", "transport/version/data-match"}),
}
"""Rules that only the observer names. Every rule belongs to the model, which endpoints and observers share."""

ENGINES: Final = {"0-8": "_classic", "0-9-1": "_classic", "0-10": "amqp_0_10", "1.0": "amqp_1_0"}
ROOMS: Final = {
    "codec": {"codec"},
    "model": {"codec", "model"},
    "endpoint": {"codec", "model", "endpoint"},
    "observer": {"codec", "model", "observer"},
}
"""The rooms of each engine, and those that each may import from: endpoint and observer never know each other."""
ROOM_DEBTS: Final = {"_classic": 0, "amqp_0_10": 0, "amqp_1_0": 0}
"""Imports, all for type checkers, that still run the other way."""


@pytest.mark.parametrize("part", PARTS)
def test_private_state_of_other_objects_in_the_core(part: str) -> None:
    assert sum(map(_foreign_accesses, core_files(part))) == FOREIGN_PRIVATE, "give what another module needs a method"


@pytest.mark.parametrize("adapter", sorted({base.name for _, base in adapter_files()}))
def test_private_state_of_other_objects_in_adapters(adapter: str) -> None:
    found = sum(map(_foreign_accesses, python_files(ADAPTERS / adapter)))
    assert found == FOREIGN_PRIVATE, "give what another module needs a method"


def _foreign_accesses(path: Path) -> int:
    """Uses of `object._name`, with an object other than self or cls, of names that the module doesn't define."""
    defined = set(_defined_names(path))
    return sum(
        _is_private(node.attr)
        and node.attr not in defined
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
        for node in nodes_of(path, ast.Attribute)
    )


DOCUMENTED: Final = frozenset({"_fields", "_replace", "_asdict", "_make", "_getframe"})
"""Names of the standard library that begin with an underscore and are public all the same."""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in DOCUMENTED


def _defined_names(path: Path) -> Iterator[str]:
    """Functions, classes, fields of classes, slots, and attributes that a method sets on itself."""
    yield from [each.name for each in nodes_of(path, ast.FunctionDef)]
    yield from [each.name for each in nodes_of(path, ast.AsyncFunctionDef)]
    for kind in nodes_of(path, ast.ClassDef):
        yield kind.name
        for line in kind.body:
            if isinstance(line, ast.AnnAssign):
                yield ast.unparse(line.target)
            elif isinstance(line, ast.Assign):
                yield from map(ast.unparse, line.targets)
                if ast.unparse(line.targets[0]) == "__slots__":
                    yield from _texts(line.value)
    for node in nodes_of(path, ast.Attribute):
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
            yield node.attr


def _texts(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def test_no_code_is_generated_at_run_time() -> None:
    """What `exec`, `eval` and `compile` would make is generated, committed and checked (docs/decisions.md)."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in [*python_files(CORE), *python_files(ADAPTERS)]
        for node in nodes_of(path, ast.Call)
        if _builtin(node.func) in {"exec", "eval", "compile"}
    }
    assert found == set()


def _builtin(called: ast.expr) -> str:
    """The name of a builtin that is called by its name, or as an attribute of `builtins`; else empty."""
    if isinstance(called, ast.Name):
        return called.id
    if isinstance(called, ast.Attribute) and ast.unparse(called.value) in {"builtins", "__builtins__"}:
        return called.attr
    return ""


def test_modules_that_switch_a_checker_off() -> None:
    found = [
        path
        for path in [*python_files(CORE), *python_files(ADAPTERS)]
        if not is_generated(path)
        and any(
            line.startswith(("# pyright:", "# mypy:", "# ruff: noqa"))
            for line in path.read_text(encoding="utf-8").splitlines()
        )
    ]
    assert len(found) == CHECKER_SWITCHES, "\n".join(str(path.relative_to(ROOT)) for path in found)


@pytest.mark.parametrize("kind", list(IMPORT_CIRCLES))
def test_modules_that_import_each_other(kind: str) -> None:
    graph = _import_graph(kind == "all")
    circles = [sorted(group) for group in _strongly_connected(graph) if len(group) > 1]
    assert len(circles) == IMPORT_CIRCLES[kind], "\n".join(map(str, circles))


def _import_graph(for_checkers: bool) -> dict[str, set[str]]:
    files = {module_name(path, ROOT): (path, ROOT) for path in python_files(CORE)}
    files |= {module_name(path, base): (path, base) for path, base in adapter_files()}
    graph: dict[str, set[str]] = {}
    for name, (path, base) in files.items():
        left_out = set[str]() if for_checkers else set(_imports_for_checkers(path))
        graph[name] = set[str]()
        for found in imports(path, base):
            if found.place in left_out:
                continue
            inner = f"{found.module}.{found.name}"
            target = inner if inner in files else found.module
            if target in files and target != name:
                graph[name].add(target)
    return graph


def _imports_for_checkers(path: Path) -> Iterator[str]:
    """The places of imports below `if TYPE_CHECKING`."""
    for node in nodes_of(path, ast.If):
        if "TYPE_CHECKING" in ast.unparse(node.test):
            for line in node.body:
                for inner in ast.walk(line):
                    if isinstance(inner, (ast.Import, ast.ImportFrom)):
                        yield f"{path.relative_to(ROOT)}:{inner.lineno}"


def _strongly_connected(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of nodes that reach each other (Kosaraju's two passes)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in sorted(graph):
        _visit(graph, start, seen, order)
    backwards: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            backwards[target].add(name)
    groups: list[set[str]] = []
    seen.clear()
    for start in reversed(order):
        group: list[str] = []
        _visit(backwards, start, seen, group)
        if group:
            groups.append(set(group))
    return groups


def _visit(graph: dict[str, set[str]], start: str, seen: set[str], order: list[str]) -> None:
    """Append the nodes that are reached from `start` to `order`, each behind those that it reaches."""
    if start in seen:
        return
    seen.add(start)
    stack = [(start, iter(sorted(graph[start])))]
    while stack:
        name, targets = stack[-1]
        following = next((it for it in targets if it not in seen), None)
        if following is None:
            order.append(name)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(sorted(graph[following]))))


@pytest.mark.parametrize("version", list(ENGINES))
def test_the_observer_names_only_rules_of_the_model(version: str) -> None:
    observer: set[str] = set()
    model: set[str] = set()
    for path in sorted((CORE / ENGINES[version]).rglob("*.py")):
        named = observer if path.parent.name == "observer" else model
        named.update(_rules_named(path, version))
    assert model, f"no rule of {version} was found in {ENGINES[version]}"
    assert observer - model == OBSERVER_ONLY[version]


def _rules_named(path: Path, version: str) -> Iterator[str]:
    known = _rule_ids(version)
    for node in nodes_of(path, ast.Constant):
        if isinstance(node.value, str):
            name = node.value.removeprefix(f"{version}/")
            if f"{version}/{name}" in known:
                yield name


@cache
def _rule_ids(version: str) -> frozenset[str]:
    with (ROOT / "docs" / "rules" / f"rules-{version}.csv").open(encoding="utf-8") as file:
        return frozenset(row["id"] for row in csv.DictReader(file))


SET_LATER: Final = {"Delivery": {"_message"}, "Message": {"_bare"}, "_UUID": {"int", "is_safe"}}
"""Slots that are filled in another way: `_bare` and `_message` when they are first asked for, those of a UUID past its
own refusal."""


MAKERS: Final = frozenset({"_new", "NEW"})
"""What makes an object without its `__init__`."""

FAST_PATHS: Final[tuple[Entry, ...]] = tuple(
    row
    for engine in sorted(set(ENGINES.values()))
    for row in importlib.import_module(f"amqp_sansio.{engine}.fast_paths").FAST_PATHS
)


def test_what_is_set_by_hand_are_the_slots_of_the_class() -> None:
    wrong: list[str] = []
    by_fast_paths: set[tuple[str, str]] = set()
    rows = {row.method for row in FAST_PATHS}
    for path in python_files(CORE):
        module = importlib.import_module(module_name(path, ROOT))
        if not any(isinstance(each.func, ast.Name) and each.func.id in MAKERS for each in nodes_of(path, ast.Call)):
            continue
        for function in nodes_of(path, ast.FunctionDef):
            for name, class_name in _objects_made(function):
                if class_name.startswith("_Unread"):
                    continue  # Properties over their octets; the first access reads them all.
                if path.parent.name in {"endpoint", "observer"}:
                    takers = {function.name} if function.name in rows else _takers(path, function.name)
                    by_fast_paths |= {(taker, class_name) for taker in takers}
                slots = _slots_of(getattr(module, class_name))
                given = _attributes_set(function, name) | (SET_LATER.get(class_name, set()) & slots)
                if given != slots:
                    wrong.append(
                        f"{path.relative_to(ROOT)}: {function.name} makes {class_name}"
                        f" without {sorted(slots - given)}, with {sorted(given - slots)}"
                    )
    assert not wrong, "\n".join(wrong)
    assert by_fast_paths == {(row.method, kind.__name__) for row in FAST_PATHS for kind in row.makes}


def _takers(path: Path, name: str) -> set[str]:
    """The rows whose methods call a function of their module.

    Two methods may be one row: with the module in C, and without it.
    """
    return {
        function.name.removeprefix("_known_").removeprefix("_scanned_")
        for function in nodes_of(path, ast.FunctionDef)
        if any(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
            for node in ast.walk(function)
        )
    }


def _objects_made(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """(variable, class) of each `variable = _new(Class)`."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        if (
            isinstance(target, ast.Name)
            and isinstance(value, ast.Call)
            and isinstance(value.func, ast.Name)
            and value.func.id in MAKERS
            and isinstance(value.args[0], ast.Name)
            and value.args[0].id != "cls"
        ):
            yield target.id, value.args[0].id


def _attributes_set(function: ast.FunctionDef, name: str) -> set[str]:
    """Attributes that the function sets on `name`, under each of its names."""
    names = {name}
    for node in ast.walk(function):
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.value, ast.Name)
            and node.value.id in names
            and isinstance(node.target, ast.Name)
        ):
            names.add(node.target.id)
    return {
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id in names
    }


def _slots_of(kind: type[object]) -> set[str]:
    return {slot for base in kind.__mro__ for slot in base.__dict__.get("__slots__", ()) if not slot.startswith("__")}


@pytest.mark.parametrize("engine", sorted(set(ENGINES.values())))
def test_rooms_import_from_their_left_only(engine: str) -> None:
    wrong: list[str] = []
    seen = 0
    for path in python_files(CORE / engine):
        room = path.relative_to(CORE / engine).parts[0]
        for found in imports(path, ROOT):
            parts = f"{found.module}.{found.name}".split(".")
            if room in ROOMS and parts[:2] == ["amqp_sansio", engine] and parts[2] in ROOMS:
                seen += 1
                if parts[2] not in ROOMS[room]:
                    wrong.append(f"{found.place} imports {'.'.join(parts)}")
    assert seen > 50, "no rooms were found"
    assert len(wrong) == ROOM_DEBTS[engine], "\n".join(wrong)


DOWNWARD: Final = (
    {"_checking", "_compiled", "_sides", "_version", "printing"},
    {"_ground"},
    {"versions", "limits", "errors", "metrics"},
    {"sasl", "uri", "websocket"},
    {"events", "_interface", "endpoint"},
    {"_core"},
    {"_watching"},
    {"_classic"},
    {"amqp_0_8", "amqp_0_9_1", "amqp_0_10", "amqp_1_0"},
    {"_versions", "negotiation"},
    {"observer", "capture"},
    {"client", "broker"},
    {"messaging", "recorded"},
    {"testing"},
)
"""The rooms of the core from the ground up; each imports from those of the lines before it, and from its own line's."""


def test_imports_run_downwards() -> None:
    floor = {room: number for number, rooms in enumerate(DOWNWARD) for room in rooms}
    rooms = {path.relative_to(CORE).with_suffix("").parts[0] for path in python_files(CORE)} - {"__init__"}
    assert rooms == floor.keys()
    wrong: list[str] = []
    for path in python_files(CORE):
        own = path.relative_to(CORE).with_suffix("").parts[0]
        for found in imports(path, ROOT):
            parts = f"{found.module}.{found.name}".split(".")
            if own != "__init__" and parts[0] == "amqp_sansio" and parts[1] in floor and floor[parts[1]] > floor[own]:
                wrong.append(f"{found.place} imports {'.'.join(parts)}")
    assert not wrong, "\n".join(wrong)
