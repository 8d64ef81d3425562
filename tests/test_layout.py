"""The rules that hold the tree together: imports, purity, words."""

import ast
import importlib
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

import pytest

from tools.steps import uncollected

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "amqp_sansio"
TESTING = CORE / "testing"
"""Strategies for tests: in the package, but no part of the core."""
ADAPTERS = ROOT / "adapters"

PURE = frozenset(
    {
        *("__future__", "typing", "typing_extensions", "types", "abc", "collections", "contextlib", "enum"),
        *("functools", "itertools", "operator", "heapq", "bisect", "copy", "copyreg", "math"),
        *("struct", "zlib", "binascii", "base64", "hashlib", "hmac", "array", "json", "codecs", "difflib"),
        *("stringprep", "unicodedata", "decimal", "datetime", "calendar", "ipaddress", "uuid"),
        "sys",
    }
)
"""What a core module may import: nothing here does I/O or gives time or randomness by itself."""

ALSO = {
    "amqp_sansio/__init__.py": {"warnings"},
    "amqp_sansio/_compiled.py": {"os"},
    "amqp_sansio/amqp_0_10/__init__.py": {"importlib"},
    "amqp_sansio/amqp_1_0/__init__.py": {"importlib"},
    "amqp_sansio/broker/__init__.py": {"importlib"},
    "amqp_sansio/events.py": {"warnings"},
    "amqp_sansio/broker/snapshot.py": {"pickle", "io"},
    "amqp_sansio/websocket.py": {"websockets"},
    "amqp_sansio/testing/simulate/outside.py": {"os", "random", "threading", "time"},
    "amqp_sansio/testing/simulate/world.py": {"errno"},
}
"""What single modules may import besides: a part when asked for it, pickle into memory, a warning of an old name, the
choice of the pure text, the numbers of errors, the library of an extra, the functions in whose place a simulated world
puts its own, and the thread it stands in."""
FOR_TESTS = ADAPTERS / "pytest"
"""The adapter that is for tests itself."""

IMPURE_NAMES = frozenset({"sys.stdin", "sys.stdout", "sys.stderr", "uuid.uuid1", "uuid.uuid4"})
IMPURE_CALLS = frozenset({"open", "print", "input", "__import__"})

FOLDERS = tuple(f"/{folder}/" for folder in ("work", "tmp", "root", "farm"))
UNFINISHED = ("TO" + "DO", "FIX" + "ME", "X" + "XX", "simpli" + "fied", "for" + " now", "pragma: " + "no cover")
FORBIDDEN = re.compile(
    "|".join([*(rf"(?<![\w.~-]){folder}" for folder in FOLDERS), *(rf"\b{word}\b" for word in UNFINISHED)])
)
"""Paths of somebody's machine, and words that say that something is unfinished."""


IGNORED_FOLDERS = re.compile(
    r"\.git|\.venv.*|build|dist|__pycache__|.*\.egg-info|\.\w+_cache|\.hypothesis|spark-warehouse|metastore_db|artifacts"
)
"""Output of tools, as in `.gitignore`."""
IGNORED_FILES = frozenset({".git", ".coverage", "derby.log"})


class Import(NamedTuple):
    """One import: the absolute module, the name taken from it (or ""), and where it stands."""

    module: str
    name: str
    place: str


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file of the project, all but what .gitignore leaves out: git need not be there."""
    patterns = [line for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines() if line]

    def ignored(path: Path) -> bool:
        at_root = path.parent == ROOT
        names = [each.strip("/") for each in patterns if at_root or not each.startswith("/")]
        return path.name == ".git" or any(fnmatch(path.name, name) for name in names)

    found: list[Path] = []
    for folder, folders, names in os.walk(ROOT):
        here = Path(folder)
        folders[:] = [name for name in folders if not ignored(here / name)]
        found += [here / name for name in names if not ignored(here / name)]
    return tuple(sorted(path for path in found if path.is_file()))


def python_files(*folders: Path) -> list[Path]:
    """The Python files of the project below `folders`."""
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and any(path.is_relative_to(folder) for folder in folders)
    ]


def module_name(path: Path, base: Path) -> str:
    """The dotted name of the module in `path`, seen from `base`."""
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed file."""
    # The collector would look at the trees of all files again and again, for as long as parsing them takes.
    with uncollected():
        return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _by_kind(path: Path) -> dict[type[ast.AST], list[ast.AST]]:
    """The nodes of the parsed file by their class, but those that say how a name is used."""
    found: dict[type[ast.AST], list[ast.AST]] = {}
    # `ast.walk` asks for every field of every node again in each test: half a second for the core.
    with uncollected():
        left: list[ast.AST] = [tree_of(path)]
        for node in left:
            found.setdefault(type(node), []).append(node)
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, list):
                    left += [each for each in cast("list[object]", value) if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                    left.append(value)
    return found


_Node = TypeVar("_Node", bound=ast.AST)


def nodes_of(path: Path, kind: type[_Node]) -> list[_Node]:
    """The nodes of exactly this class in the file, outer ones first."""
    return cast("list[_Node]", _by_kind(path).get(kind, []))


@cache
def imports(path: Path, base: Path) -> tuple[Import, ...]:
    """Every import in the file, at any depth, relative ones made absolute."""
    return tuple(_imports(path, base))


def _imports(path: Path, base: Path) -> Iterator[Import]:
    package = module_name(path, base).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    place = path.relative_to(ROOT)
    for node in _statements(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, "", f"{place}:{node.lineno}")
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(module, alias.name, f"{place}:{node.lineno}")


def _statements(tree: ast.Module) -> list[ast.AST]:
    """The tree and all below it that isn't part of an expression."""
    found: list[ast.AST] = [tree]
    for node in found:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, name, None)
            # What a lambda or a conditional expression calls its body is one expression.
            if isinstance(below, list):
                found += cast("list[ast.AST]", below)
    return found


def adapter_files() -> list[tuple[Path, Path]]:
    """(file, folder its package stands in) of every adapter module."""
    return [(path, ADAPTERS / path.relative_to(ADAPTERS).parts[0]) for path in python_files(ADAPTERS)]


PARTS = ("", *sorted(path.name for path in CORE.iterdir() if (path / "__init__.py").is_file()))
"""The packages in the core; the first one stands for the modules beside them."""


def core_files(part: str) -> list[Path]:
    """The Python files of one of the `PARTS`."""
    return [path for path in python_files(CORE / part) if part or path.parent == CORE]


@pytest.mark.parametrize("part", PARTS)
def test_core_imports_only_itself_and_pure_modules(part: str) -> None:
    wrong = [
        f"{found.place} imports {found.module}"
        for path in core_files(part)
        for found in imports(path, ROOT)
        if found.module.partition(".")[0] not in allowed_in(path)
    ]
    assert not wrong, "\n".join(wrong)


def allowed_in(path: Path) -> frozenset[str]:
    """What a module of the core may import; the strategies need Hypothesis."""
    extra = {"hypothesis"} if path.is_relative_to(TESTING) else set[str]()
    return PURE | {"amqp_sansio"} | extra | ALSO.get(str(path.relative_to(ROOT)), set())


SIMULATED = [ADAPTERS / name / f"amqp_sansio_{name}" / "simulated.py" for name in ("asyncio", "sync")]
"""An adapter's programs in a simulated world, which are for tests too."""


@pytest.mark.parametrize("part", [part for part in PARTS if CORE / part != TESTING])
def test_no_part_of_the_core_imports_what_is_for_tests(part: str) -> None:
    assert not list(imports_for_tests((path, ROOT) for path in core_files(part)))


@pytest.mark.parametrize(
    "adapter", sorted({base for _, base in adapter_files()} - {FOR_TESTS}), ids=lambda path: path.name
)
def test_no_adapter_imports_what_is_for_tests(adapter: Path) -> None:
    assert not list(imports_for_tests(each for each in adapter_files() if each[1] == adapter))


def imports_for_tests(files: Iterable[tuple[Path, Path]]) -> Iterator[str]:
    """Each import of the package for tests in the files, given as (file, folder its package stands in)."""
    for path, base in files:
        for found in imports(path, base):
            if f"{found.module}.{found.name}".startswith("amqp_sansio.testing") and path not in SIMULATED:
                yield f"{found.place} imports {found.module}"


@pytest.mark.parametrize("part", PARTS)
def test_core_uses_no_impure_name(part: str) -> None:
    last_parts = {name.rpartition(".")[2] for name in IMPURE_NAMES}
    wrong: list[str] = []
    for path in core_files(part):
        for node in nodes_of(path, ast.Attribute):
            if node.attr in last_parts and ast.unparse(node) in IMPURE_NAMES:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}")
        for call in nodes_of(path, ast.Call):
            if isinstance(call.func, ast.Name) and call.func.id in IMPURE_CALLS:
                wrong.append(f"{path.relative_to(ROOT)}:{call.lineno} {call.func.id}()")
    assert not wrong, "\n".join(wrong)


def test_amqp_1_0_stands_apart_from_the_classic_engine() -> None:
    wrong = [
        found.place
        for path in python_files(CORE / "amqp_1_0")
        for found in imports(path, ROOT)
        if "_classic" in f"{found.module}.{found.name}".split(".")
    ]
    assert not wrong, "\n".join(wrong)


def test_core_never_imports_an_adapter() -> None:
    adapters = {path.relative_to(base).parts[0] for path, base in adapter_files()}
    wrong = [
        f"{found.place} imports {found.module}"
        for path in python_files(CORE)
        for found in imports(path, ROOT)
        if found.module.partition(".")[0] in adapters
    ]
    assert not wrong, "\n".join(wrong)


def test_adapters_and_examples_use_public_names_only() -> None:
    files = adapter_files() + [(path, ROOT) for path in python_files(ROOT / "examples")]
    wrong: list[str] = []
    for path, base in files:
        own = module_name(path, base).partition(".")[0]
        for found in imports(path, base):
            top = found.module.partition(".")[0]
            if top == own or not top.startswith(("amqp_sansio", "pyspark_amqp_capture")):
                continue
            parts = f"{found.module}.{found.name}".rstrip(".").split(".")
            if any(part.startswith("_") and not part.endswith("__") for part in parts):
                wrong.append(f"{found.place} uses {'.'.join(parts)}")
    assert not wrong, "\n".join(wrong)


def test_adapters_take_from_the_core_what_its_modules_export() -> None:
    wrong: list[str] = []
    for path, base in adapter_files():
        for found in imports(path, base):
            if found.module.partition(".")[0] != "amqp_sansio" or not found.name:
                continue
            exported = _exported(found.module)
            if exported is not None and found.name not in exported:
                wrong.append(f"{found.place}: {found.name} isn't in {found.module}.__all__")
    assert not wrong, "\n".join(wrong)


@cache
def _exported(module: str) -> frozenset[str] | None:
    """The names in `__all__` and the public submodules; None for a module without `__all__`."""
    path = ROOT.joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not source.is_file():
        return frozenset()
    names = getattr(importlib.import_module(module), "__all__", None)
    if names is None:
        return None
    below = {it.stem for it in path.iterdir()} if path.is_dir() else set[str]()
    return frozenset(names) | below


def test_no_submodule_takes_the_name_of_what_its_package_offers() -> None:
    """Importing `package.name` binds `name` in the package, over what stood there, whenever that import happens."""
    wrong: list[str] = []
    for path, base in [*((path, ROOT) for path in python_files(CORE)), *adapter_files()]:
        if path.name != "__init__.py":
            continue
        package = module_name(path, base)
        below = {it.stem for it in path.parent.iterdir() if it.suffix == ".py" or it.is_dir()}
        # A name taken from the submodule of that name is bound after that import, and no later one binds again.
        taken = {it.name: it.module for it in imports(path, base) if it.module.startswith(package)}
        for name in below & set(_offered(path)):
            if taken.get(name) not in {package, f"{package}.{name}"}:
                wrong.append(f"{path.relative_to(ROOT)}: {name} is a submodule too")
    assert not wrong, "\n".join(wrong)


def _offered(path: Path) -> list[str]:
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(ast.literal_eval(it)) for it in ast.walk(node.value) if isinstance(it, ast.Constant)]
    return []


def test_every_module_says_what_it_owns() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for path in python_files(ROOT)
        if not _first_line_of_code(path).startswith(('"""', 'r"""'))
    ]
    assert not wrong, "\n".join(wrong)


def _first_line_of_code(path: Path) -> str:
    """The line of a module's docstring; a docstring for a file that is empty."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line and not line.startswith("#")), '"""')


def test_nothing_names_a_machine_or_says_it_is_unfinished() -> None:
    wrong: list[str] = []
    for path in tracked_files():
        if path.is_relative_to(ROOT / "tests" / "data"):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        # Looking for the plain words first takes a tenth of the time.
        if not any(each in text for each in FOLDERS + UNFINISHED):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if (found := FORBIDDEN.search(line)) is not None:
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {found.group()}")
    assert not wrong, "\n".join(wrong)


def test_each_version_of_the_package_name_is_spelled_out() -> None:
    wrong = [str(path.relative_to(ROOT)) for path in python_files(ROOT) if re.search(r"(^|_)v\d+(_|$)", path.stem)]
    assert not wrong, "\n".join(wrong)
