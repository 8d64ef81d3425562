"""The public names of every module are those of `docs/public-names.txt`, and the list of modules is complete."""

from __future__ import annotations

import re
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.test_layout import ROOT, python_files
from tools import public_names as tool
from tools.public_names import FILE, HEADS, MODULES, counted, listed_names, members, names_in, public_names

REFERENCE: Final = ROOT / "docs" / "reference"
NAMES: Final = 597
"""The names that users call: in `__all__` of the public modules, each once, but for the specifications' records."""

IMPORTED: Final = re.compile(r"^ *(?:from|import) ((?:amqp_sansio|pyspark_amqp_capture)[\w.]*)", re.MULTILINE)


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(
            module,
            marks=pytest.mark.skipif(
                "spark" in module and find_spec("pyspark") is None, reason=f"{module} needs pyspark to be imported"
            ),
        )
        for module in MODULES
    ],
)
def test_public_names_are_the_reviewed_ones(module: str) -> None:
    now, before = set(public_names(module)), set(listed_names(module))
    lines = [f"{'+' if name in now else '-'} {name}" for name in sorted(now ^ before)]
    assert not lines, "\n".join(
        ["names came (+) or went (-); if that is meant, write them: python -m tools.public_names --write", *lines]
    )


@pytest.mark.parametrize("module", MODULES)
def test_every_public_module_says_what_it_offers(module: str) -> None:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    assert re.search(r"^__all__\b", Path(spec.origin).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_file_has_nothing_else_and_is_in_order() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert names_in(text) == [name for module in MODULES for name in listed_names(module)]
    heads = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("#")]
    assert heads == list(HEADS)
    for head, modules in HEADS.items():
        assert f"# {head}\n{listed_names(modules[0])[0]}\n" in text


def test_how_many_names_users_call() -> None:
    pytest.importorskip("pyspark", reason="the Spark adapter's modules need pyspark")
    assert counted()["what users call"] == NAMES, "write the figure of today; it may only fall"


def test_modules_that_the_reference_shows_are_public() -> None:
    shown = {
        name
        for path in REFERENCE.glob("*.md")
        for name in re.findall(r"^::: ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    public = {*MODULES, *names_in(FILE.read_text(encoding="utf-8"))}
    assert len(shown) > 1000
    assert shown - public == set()


def test_modules_that_pages_and_examples_import_from_are_public() -> None:
    files = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *python_files(ROOT / "examples")]
    found = {name for path in files for name in IMPORTED.findall(path.read_text(encoding="utf-8"))}
    assert len(found) > 20
    assert found - set(MODULES) == set()


class _Base(Exception):
    __slots__ = ("inherited",)

    def method(self) -> None: ...

    def _private(self) -> None: ...


class _Public(_Base):
    field: int

    def __init__(self) -> None:
        super().__init__()
        self.set_in_init = 1
        self._hidden = 2

    @property
    def own(self) -> int:
        return 1


class _Kinds(Enum):
    FIRST = 1

    @property
    def title(self) -> str:
        return self.name.title()


def test_members_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "MODULES", (__name__,))
    assert members(_Public) == ["field", "inherited", "method", "own", "set_in_init"]


def test_members_of_an_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "MODULES", (__name__,))
    assert members(_Kinds) == ["FIRST", "title"]


@pytest.mark.parametrize("root", ["amqp_sansio_asyncio", "amqp_sansio_sync"])
def test_a_class_of_another_version_has_one_place(root: str) -> None:
    offered = set(import_module(root).__all__)
    for version in ("amqp_0_10", "amqp_1_0"):
        module = import_module(f"{root}.{version}")
        shared = {name for name in offered.intersection(module.__all__) if isinstance(getattr(module, name), type)}
        doubled = {name for name in shared if getattr(module, name) is getattr(import_module(root), name)}
        assert doubled <= {"SessionEnded"}, "an error of every package"
