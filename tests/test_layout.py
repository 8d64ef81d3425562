"""The rules that hold the tree together: imports, purity, module size, words, the wheel."""

import ast
import importlib
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

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

IMPURE = frozenset(
    {
        *("asyncio", "socket", "ssl", "select", "selectors", "threading", "subprocess", "signal"),
        *("random", "secrets", "logging", "inspect", "dataclasses", "multiprocessing", "tempfile"),
        *("urllib.request", "http", "concurrent", "shutil", "pathlib", "pyspark", "pandas"),
    }
)
"""What must not even be loaded, by whatever way, when every core module has been imported."""

ALSO = {
    "amqp_sansio/__init__.py": {"warnings"},
    "amqp_sansio/broker/__init__.py": {"importlib"},
    "amqp_sansio/events.py": {"warnings"},
    "amqp_sansio/broker/snapshot.py": {"pickle", "io"},
}
"""What single modules may import besides: a part when asked for it, pickle into memory, a warning of an old name."""

IMPURE_NAMES = frozenset({"sys.stdin", "sys.stdout", "sys.stderr", "uuid.uuid1", "uuid.uuid4"})
IMPURE_CALLS = frozenset({"open", "print", "input", "__import__"})

MAX_LINES = 900
GENERATED = re.compile(r"generated[;,:] edit the generator", re.IGNORECASE)

FORBIDDEN = re.compile(
    "|".join(
        [
            *(rf"(?<![\w.~-])/{folder}/" for folder in ("work", "tmp", "root", "farm")),
            *(rf"\b{word}\b" for word in ("TO" + "DO", "FIX" + "ME", "X" + "XX")),
            *(rf"\b{word}\b" for word in ("simpli" + "fied", "for" + " now")),
            "pragma: " + "no cover",
        ]
    )
)
"""Paths of somebody's machine, and words that say that something is unfinished."""


class Import(NamedTuple):
    """One import: the absolute module, the name taken from it (or ""), and where it stands."""

    module: str
    name: str
    place: str


@cache
def tracked_files() -> tuple[Path, ...]:
    """Every file of the project, as git sees it; without git, all but build output."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        names = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    else:
        names = [
            path
            for path in ROOT.rglob("*")
            if not any(
                part.startswith(".venv") or part in {"build", "dist", "__pycache__"}
                for part in path.relative_to(ROOT).parts
            )
        ]
    return tuple(sorted(path for path in names if path.is_file()))


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
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path, base: Path) -> tuple[Import, ...]:
    """Every import in the file, at any depth, relative ones made absolute."""
    return tuple(_imports(path, base))


def _imports(path: Path, base: Path) -> Iterator[Import]:
    package = module_name(path, base).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, "", f"{path.relative_to(ROOT)}:{node.lineno}")
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(module, alias.name, f"{path.relative_to(ROOT)}:{node.lineno}")


def adapter_files() -> list[tuple[Path, Path]]:
    """(file, folder its package stands in) of every adapter module."""
    return [(path, ADAPTERS / path.relative_to(ADAPTERS).parts[0]) for path in python_files(ADAPTERS)]


def test_core_imports_only_itself_and_pure_modules() -> None:
    wrong = [
        f"{found.place} imports {found.module}"
        for path in python_files(CORE)
        for found in imports(path, ROOT)
        if found.module.partition(".")[0] not in allowed_in(path)
    ]
    assert not wrong, "\n".join(wrong)


def allowed_in(path: Path) -> frozenset[str]:
    """What a module of the core may import; the strategies need Hypothesis."""
    extra = {"hypothesis"} if path.is_relative_to(TESTING) else set[str]()
    return PURE | {"amqp_sansio"} | extra | ALSO.get(str(path.relative_to(ROOT)), set())


SIMULATED = ADAPTERS / "asyncio" / "amqp_sansio_asyncio" / "simulated.py"
"""asyncio's event loop in a simulated world, which is for tests too."""


def test_nothing_but_tests_imports_what_is_for_tests() -> None:
    files = [(path, ROOT) for path in python_files(CORE) if not path.is_relative_to(TESTING)]
    wrong = [
        f"{found.place} imports {found.module}"
        for path, base in files + adapter_files()
        for found in imports(path, base)
        if f"{found.module}.{found.name}".startswith("amqp_sansio.testing") and path != SIMULATED
    ]
    assert not wrong, "\n".join(wrong)


def test_core_uses_no_impure_name() -> None:
    wrong: list[str] = []
    for path in python_files(CORE):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in IMPURE_NAMES:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.func.id}()")
    assert not wrong, "\n".join(wrong)


def test_importing_the_whole_core_loads_nothing_impure() -> None:
    core = [path for path in python_files(CORE) if not path.is_relative_to(TESTING)]
    names = sorted({module_name(path, ROOT) for path in core})
    lines = ["import sys", f"sys.path.insert(0, {str(ROOT)!r})"]
    lines += [*(f"import {name}" for name in names), "print(*sys.modules)"]
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "amqp_sansio.versions" in run.stdout.split()
    assert IMPURE.isdisjoint(run.stdout.split())


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


def test_no_module_is_longer_than_900_lines() -> None:
    wrong: list[str] = []
    for path in python_files(ROOT):
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_LINES and not any(GENERATED.search(line) for line in lines[:5]):
            wrong.append(f"{path.relative_to(ROOT)}: {len(lines)} lines")
    assert not wrong, "\n".join(wrong)


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
        for number, line in enumerate(text.splitlines(), 1):
            if (found := FORBIDDEN.search(line)) is not None:
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {found.group()}")
    assert not wrong, "\n".join(wrong)


def test_each_version_of_the_package_name_is_spelled_out() -> None:
    wrong = [str(path.relative_to(ROOT)) for path in python_files(ROOT) if re.search(r"(^|_)v\d+(_|$)", path.stem)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_a_wheel_holds_the_packages_and_nothing_else(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry_points = next(name for name in names if name.endswith("entry_points.txt"))
        scripts = archive.read(entry_points).decode()
    folders = {name.partition("/")[0] for name in names}
    packages = {name for name in folders if not name.endswith(".dist-info")}
    expected = {"amqp_sansio", *(path.relative_to(base).parts[0] for path, base in adapter_files())}
    assert packages == expected
    assert "amqp_sansio/py.typed" in names
    in_wheel = {name for name in names if name.endswith(".py")}
    in_tree = {str(path.relative_to(ROOT)) for path in python_files(CORE)}
    in_tree |= {str(path.relative_to(base)) for path, base in adapter_files()}
    assert in_wheel == in_tree
    assert "amqp-sansio = amqp_sansio_cli.main:main" in scripts
    assert "amqp_sansio = amqp_sansio_pytest.plugin" in scripts
