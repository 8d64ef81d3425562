"""Pages of the documentation: the site has each page and each public module. tests/system/docs runs their code."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Final

import pytest

from tests.test_layout import ADAPTERS, CORE, ROOT

DOCS: Final = ROOT / "docs"
BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
INTERNAL: Final = {"conversion", "frontends"}
"""Packages of the broker's own."""


def test_the_site_has_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE)
    assert sorted(named) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_the_reference_has_every_public_name() -> None:
    """A page shows the names in `__all__` of each module that it names."""
    pytest.importorskip("pyspark", reason="the Spark adapter's modules need pyspark")
    shown = {
        module
        for page in (DOCS / "reference").glob("*.md")
        for module in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    packages = [path.parent for base in (CORE, *ADAPTERS.glob("*/")) for path in base.rglob("__init__.py")]
    public = {package_name(path) for path in packages if not is_internal(path.parts)}
    with_names = {name for name in public if hasattr(importlib.import_module(name), "__all__")}
    assert len(with_names) > 15
    assert with_names - shown == set()


def is_internal(parts: tuple[str, ...]) -> bool:
    """Whether a package is private, or inside a public one without being public."""
    return any(part.startswith("_") or part in INTERNAL for part in parts)


def package_name(package: Path) -> str:
    """The name by which a package is imported."""
    base = ROOT if package.is_relative_to(CORE) else package
    while base != ROOT and (base / "__init__.py").exists():
        base = base.parent
    return ".".join(package.relative_to(base).parts)
