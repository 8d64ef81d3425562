"""Which module imports which, over the whole tree, by its text: nothing is run.

An import counts at any depth of a file, and so does a text that is the full name of a module, as in `pytest_plugins`
and for `importlib`. `from package import name` counts for the package and for the module where the package has the name
from. Imports for type checkers count in a package's `__init__` only, since those name what is loaded later; elsewhere
nothing runs because of them. A test module imports the `conftest.py` of its folder and of those above, too.

Two things escape: names of modules that are put together when the program runs, and the packages above an imported
module, whose `__init__` runs as well; almost every module would be near to theirs.
"""

from __future__ import annotations

import ast
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, cast

from tools.trees import module_name

DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_VERSION: Final = 1
"""Of the form of the kept map: another one is read anew."""


class Imported(NamedTuple):
    """A module, and the name that is taken from it; empty for the module itself."""

    module: str
    name: str


class Near(NamedTuple):
    """How many imports lie between a file and what changed, and which changed file that is."""

    distance: int
    origin: str


def read_imports(path: Path, module: str) -> list[Imported]:
    """Return what a file imports, relative imports made absolute, and the dotted names among its texts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_package = path.name == "__init__.py"
    package = module.split(".") if is_package else module.split(".")[:-1]
    left_out = set[int]() if is_package else {id(node) for node in _for_checkers(tree)}
    found: dict[Imported, None] = {}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        match node:
            case ast.Import(names=names):
                found.update((Imported(alias.name, ""), None) for alias in names)
            case ast.ImportFrom(module=inner, names=names, level=level):
                above = package[: len(package) - level + 1] if level else []
                source = ".".join([*above, *([inner] if inner else [])])
                found.update((Imported(source, alias.name), None) for alias in names)
            case ast.Constant(value=str(text)) if DOTTED.fullmatch(text):
                found[Imported(text, "")] = None
            case _:
                pass
    return list(found)


def _for_checkers(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for line in node.body:
                yield from ast.walk(line)


class ImportMap:
    """The imports between the Python files below `root`, each file named by its path from there.

    `bases` are the folders that packages stand in. `kept` is a file that remembers what each file imports: only those
    that changed since are read again. A damaged one is written anew.
    """

    def __init__(self, root: Path, files: Iterable[Path], bases: Iterable[Path], kept: Path | None = None) -> None:
        places = sorted(bases, key=lambda base: len(base.parts), reverse=True)
        self._files: dict[str, str] = {}
        self._modules: dict[str, str] = {}
        paths: dict[str, Path] = {}
        for path in files:
            base = next(base for base in places if path.is_relative_to(base))
            name = path.relative_to(root).as_posix()
            self._files[name] = module_name(path, base)
            self._modules[self._files[name]] = name
            paths[name] = path
        self._imports = _read_all(paths, self._files, kept)
        self._targets = {name: set(self._targets_of(name)) for name in self._files}
        for name in self._files:
            if is_test(name):
                self._targets[name].update(self._conftests(name))

    def _targets_of(self, name: str) -> Iterator[str]:
        for imported in self._imports[name]:
            inner = self._modules.get(f"{imported.module}.{imported.name}")
            target = inner or self._modules.get(imported.module)
            if target is None or target == name:
                continue
            yield target
            if inner is None and imported.name:
                yield from self._offered_by(target, imported.name)

    def _offered_by(self, name: str, wanted: str) -> Iterator[str]:
        """The module from which another one has the name that it offers."""
        for imported in self._imports[name]:
            if imported.name == wanted and imported.module in self._modules:
                yield self._modules[imported.module]

    def _conftests(self, name: str) -> Iterator[str]:
        folder = Path(name).parent
        for each in (folder, *folder.parents):
            conftest = (each / "conftest.py").as_posix()
            if conftest in self._files:
                yield conftest

    def imported_by(self, name: str) -> frozenset[str]:
        """Return the files that a file imports directly."""
        return frozenset(self._targets[name])

    def near(self, changed: Iterable[str]) -> Mapping[str, Near]:
        """Return every file that imports one of those that changed, directly or not, and these themselves."""
        importers: dict[str, list[str]] = {name: [] for name in self._files}
        for name, targets in self._targets.items():
            for target in targets:
                importers[target].append(name)
        found: dict[str, Near] = {}
        queue = deque((name, Near(0, name)) for name in sorted(changed) if name in self._files)
        while queue:
            name, near = queue.popleft()
            if name not in found:
                found[name] = near
                queue.extend((each, Near(near.distance + 1, near.origin)) for each in sorted(importers[name]))
        return found


def is_test(name: str) -> bool:
    """Return whether pytest takes a file, named by its path from the root, for a test module."""
    return name.startswith("tests/") and name.rpartition("/")[2].startswith("test_") and name.endswith(".py")


def _read_all(paths: Mapping[str, Path], modules: Mapping[str, str], kept: Path | None) -> dict[str, list[Imported]]:
    known = _read_kept(kept)
    found: dict[str, list[Imported]] = {}
    stamps: dict[str, list[int]] = {}
    for name, path in paths.items():
        stat = path.stat()
        stamps[name] = [stat.st_mtime_ns, stat.st_size]
        before = known.get(name)
        if before is not None and before[0] == stamps[name]:
            found[name] = [Imported(*each) for each in before[1]]
        else:
            found[name] = _read_or_nothing(path, modules[name])
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        rows = {name: [stamps[name], found[name]] for name in found}
        kept.write_text(json.dumps({"version": _VERSION, "files": rows}), encoding="utf-8")
    return found


def _read_or_nothing(path: Path, module: str) -> list[Imported]:
    """A file that is no Python at the moment imports nothing; its tests say what is wrong with it."""
    try:
        return read_imports(path, module)
    except (SyntaxError, UnicodeDecodeError):
        return []


def _read_kept(kept: Path | None) -> dict[str, tuple[list[int], list[list[str]]]]:
    if kept is None or not kept.is_file():
        return {}
    try:
        found = cast("dict[str, object]", json.loads(kept.read_text(encoding="utf-8")))
        if found["version"] != _VERSION:
            return {}
        return cast("dict[str, tuple[list[int], list[list[str]]]]", found["files"])
    except (ValueError, KeyError, TypeError):
        return {}
