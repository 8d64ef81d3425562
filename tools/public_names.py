"""The public names of the packages, as `docs/public-names.txt` lists them: one name a line, in order, under two heads.

`python -m tools.public_names` prints which names came and went since, and how many there are under each head; `--write`
writes the file. Public are the names of `MODULES`: those in `__all__`, or, in a module without it, what it defines
without an underscore; these alone are counted. Of each public class its members without an underscore follow, also
those that it inherits from a base of these packages, whether that is public or not; what comes from Python or from
another library isn't listed. A class that several modules offer has its members under the first of them, in the order
of `MODULES`.

Where at least `WIDE` classes of a module have one base, as records of methods do, its members are listed once, under
its name in brackets; a class that has them says so with a line `CLASS.(BASE)`.

Members are methods, properties, fields, slots, members of enumerations, and what `__init__` sets on `self`; what only
an engine's own rooms use is left out (`tools/engine_only.py`).
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from tools.engine_only import engine_only

ROOT: Final = Path(__file__).resolve().parents[1]
FILE: Final = ROOT / "docs" / "public-names.txt"

CALLED: Final = (
    "amqp_sansio",
    "amqp_sansio.endpoint",
    "amqp_sansio.errors",
    "amqp_sansio.events",
    "amqp_sansio.limits",
    "amqp_sansio.metrics",
    "amqp_sansio.negotiation",
    "amqp_sansio.uri",
    "amqp_sansio.versions",
    "amqp_sansio.observer",
    "amqp_sansio.amqp_0_8",
    "amqp_sansio.amqp_0_9_1",
    "amqp_sansio.amqp_0_10",
    "amqp_sansio.amqp_1_0",
    "amqp_sansio.sasl",
    "amqp_sansio.messaging",
    "amqp_sansio.broker",
    "amqp_sansio.broker.management",
    "amqp_sansio.broker.nodes",
    "amqp_sansio.capture",
    "amqp_sansio.recorded.tables",
    "amqp_sansio.recorded.histories",
    "amqp_sansio.recorded.histories.spans",
    "amqp_sansio.recorded.instants",
    "amqp_sansio.recorded.frame_lines",
    "amqp_sansio.websocket",
    "amqp_sansio.client.connecting",
    "amqp_sansio.client.base_driver",
    "amqp_sansio.client.driving",
    "amqp_sansio.client.hooks",
    "amqp_sansio.client.metrics",
    "amqp_sansio.client.classic.connection",
    "amqp_sansio.client.amqp_0_10.connection",
    "amqp_sansio.client.amqp_1_0.cbs",
    "amqp_sansio.client.amqp_1_0.connection",
    "amqp_sansio.client.amqp_1_0.batches",
    "amqp_sansio.testing",
    "amqp_sansio.testing.amqp_0_8",
    "amqp_sansio.testing.amqp_0_9_1",
    "amqp_sansio.testing.amqp_0_10",
    "amqp_sansio.testing.amqp_1_0",
    "amqp_sansio.testing.simulate",
    "amqp_sansio.testing.stateful",
    "amqp_sansio_asyncio",
    "amqp_sansio_asyncio.amqp_0_10",
    "amqp_sansio_asyncio.amqp_1_0",
    "amqp_sansio_asyncio.messaging",
    "amqp_sansio_asyncio.simulated",
    "amqp_sansio_sync",
    "amqp_sansio_sync.amqp_0_10",
    "amqp_sansio_sync.amqp_1_0",
    "amqp_sansio_sync.messaging",
    "amqp_sansio_sync.simulated",
    "amqp_sansio_sync.system",
    "amqp_sansio_pytest",
    "amqp_sansio_report",
    "amqp_sansio_arrow",
    "amqp_sansio_arrow.database",
    "amqp_sansio_arrow.queries",
    "amqp_sansio_probe",
    "amqp_sansio_azure",
    "amqp_sansio_azure.eventhubs",
    "amqp_sansio_azure.servicebus",
    "amqp_sansio_spark",
    "pyspark_amqp_capture",
)
"""The public modules that users call: what the reference shows, and what pages, examples and adapters import from."""

RECORDS: Final = tuple(f"amqp_sansio.amqp_{version}.spec" for version in ("0_8", "0_9_1", "0_10", "1_0"))
"""The modules with the specifications' own vocabulary: a record for each method, command, performative and so on."""

MODULES: Final = (*CALLED, *RECORDS)
"""All public modules."""

HEADS: Final = {"what users call": CALLED, "the records of the specifications": RECORDS}
"""The heads of the file, with their modules."""

WIDE: Final = 10
"""Classes of one module that make a line for their base worth reading."""


def public_names(module: str) -> list[str]:
    """Return the full names that a module adds to those of the modules before it, in order."""
    return sorted(set(_public_names(module)))


def listed_names(module: str) -> list[str]:
    """Return those that the file lists for a module."""
    return _listed().get(module, [])


def written() -> str:
    """Return the contents that the file should have."""
    parts: list[str] = []
    for head, modules in HEADS.items():
        parts.append(f"# {head}\n")
        parts += [f"{name}\n" for module in modules for name in public_names(module)]
    return "".join(parts)


def names_in(text: str) -> list[str]:
    """Return the names in the text of the file, without its heads."""
    return [line for line in text.splitlines() if not line.startswith("#")]


def counted() -> dict[str, int]:
    """Return how many names each head has: what several modules offer counts once, under the first one."""
    seen: dict[tuple[str, int], str] = {}
    for head, modules in HEADS.items():
        for module in modules:
            loaded = importlib.import_module(module)
            for name in _offered(loaded):
                seen.setdefault((name, id(cast("object", getattr(loaded, name)))), head)
    return dict(Counter(seen.values()))


@cache
def _listed() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names_in(FILE.read_text(encoding="utf-8")) if FILE.exists() else ():
        found.setdefault(_module_of(name), []).append(name)
    return found


def _module_of(name: str) -> str:
    """The public module whose name is the longest that `name` begins with."""
    parts = name.split(".")
    beginnings = (".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return next((each for each in beginnings if each in MODULES), "")


def _public_names(module: str) -> Iterator[str]:
    loaded = importlib.import_module(module)
    kinds: dict[str, type] = {}
    for name in _offered(loaded):
        yield f"{module}.{name}"
        found = cast("object", getattr(loaded, name))
        if isinstance(found, type) and _is_ours(found) and _home(found, name) == module:
            kinds[name] = found
    bases = Counter(base for kind in kinds.values() for base in kind.__mro__[1:] if _is_ours(base))
    wide = {base: f"({base.__qualname__})" for base, number in bases.items() if number >= WIDE}
    for base, title in wide.items():
        for member in members(base):
            yield f"{module}.{title}.{member}"
    for name, kind in kinds.items():
        # The narrowest one has the members of those above it.
        shared = next((base for base in kind.__mro__[1:] if base in wide), None)
        left_out = set[str]() if shared is None else set(members(shared))
        if shared is not None:
            yield f"{module}.{name}.{wide[shared]}"
        for member in members(kind):
            if member not in left_out:
                yield f"{module}.{name}.{member}"


def _offered(module: ModuleType) -> list[str]:
    names = cast("list[str] | None", getattr(module, "__all__", None))
    if names is not None:
        return [name for name in names if f"{module.__name__}.{name}" not in MODULES]
    return list(_defined(cast("str", module.__file__)))


def _defined(file: str) -> Iterator[str]:
    for node in _tree(file).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found = [name]
            case ast.AnnAssign(target=ast.Name(id=name)):
                found = [name]
            case ast.Assign(targets=targets):
                found = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
            case _:
                continue
        yield from (name for name in found if not name.startswith("_"))


@cache
def _home(kind: type, name: str) -> str:
    """The first public module that offers the class; only those are loaded whose text has its name."""
    for module in MODULES:
        if name in _words(module) or "*" in _words(module):
            loaded = importlib.import_module(module)
            if name in _offered(loaded) and getattr(loaded, name) is kind:
                return module
    return ""


@cache
def _words(module: str) -> frozenset[str]:
    """The words in the text of a module, which isn't imported for it; a star for an import of everything."""
    top, *rest = module.split(".")
    for base in (ROOT, *sorted((ROOT / "adapters").iterdir())):
        if (base / top).is_dir():
            path = (base / top).joinpath(*rest)
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            return frozenset(re.findall(r"\w+|(?<=import )\*", file.read_text(encoding="utf-8")))
    raise ValueError(f"{module} isn't a module of this project")


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(tuple({module.partition(".")[0] for module in MODULES}))


def members(kind: type) -> list[str]:
    """Return the public members that a class and its bases in these packages define."""
    found: set[str] = set()
    for base in kind.__mro__:
        if _is_ours(base):
            found.update(vars(base), inspect.get_annotations(base))
            found.update(_set_in_init(base))
            if issubclass(base, Enum):
                found.update(base.__members__)
    return sorted(name for name in found - engine_only(kind) if not name.startswith("_"))


def _set_in_init(kind: type) -> Iterator[str]:
    """Attributes that `__init__` sets, of a class without slots."""
    init = cast("object", vars(kind).get("__init__"))
    code = getattr(init, "__code__", None)
    file = sys.modules[kind.__module__].__file__
    # Records get an `__init__` that is made from their fields, which are annotated.
    if "__slots__" in vars(kind) or code is None or file is None or code.co_filename != file:
        return
    for node in ast.walk(_inits(file)[code.co_firstlineno]):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                yield attr
            case _:
                pass


@cache
def _inits(file: str) -> dict[int, ast.FunctionDef]:
    """The `__init__` of each class in a file, by the line where it begins."""
    return {
        node.lineno: node
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    }


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def main() -> None:
    """Print what came and went, or write the file."""
    parser = argparse.ArgumentParser(prog="python -m tools.public_names", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/public-names.txt")
    if parser.parse_args().write:
        FILE.write_text(written(), encoding="utf-8")
        return
    for module in MODULES:
        now, before = set(public_names(module)), set(listed_names(module))
        for name in sorted(now ^ before):
            print("+" if name in now else "-", name)
    for head, number in counted().items():
        print(f"{number} names: {head}")


if __name__ == "__main__":
    main()
