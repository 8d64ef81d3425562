"""Pages of the documentation: their code runs from top to bottom, and the site has each page and each public module."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any, Final

import pytest

from amqp_sansio_pytest import EmbeddedBroker
from tests.test_layout import ADAPTERS, CORE, ROOT

DOCS: Final = ROOT / "docs"
PEERS: Final = re.compile(r"^(?:import|from) (pika|kombu|celery)", re.MULTILINE)
BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUN: Final = {
    "index.md": ["Accepted()", "{'number': 1}", "Accepted()", "{'number': 2}"],
    "connecting.md": [
        "the URL has an unknown parameter 'hartbeat'; did you mean 'heartbeat'?",
        "TimeoutError True",
        "311 True",
        "403 remote",
        "the user lacks the permission, or the password is wrong",
    ],
    "versions.md": [*("Accepted()", "1", "b'hello' jobs"), *("Accepted()", "Properties(subject='greeting') b'hello'")],
    "testing.md": [],
    "celery.md": ["6", "{'number': 1}"],
    "shutdown.md": ["Accepted()", "closed", "all done"],
    "messaging.md": ["Accepted()", "b'hello' {'try': 1}", "Accepted()", "{'n': 1}", "PING"],
}
"""Pages whose code talks to a broker at localhost, and the lines that it prints. Their tests are run, too."""
QUEUES: Final = {"versions.md": ["letters"], "messaging.md": ["jobs", "rpc"]}
"""The queues that a page takes for granted."""
INTERNAL: Final = {"conversion", "frontends"}
"""Packages of the broker's own."""


@pytest.mark.parametrize("page", RUN)
def test_a_page_runs_as_it_stands(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with EmbeddedBroker(definitions={"queues": QUEUES.get(page, [])}) as broker:
        for block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
            for name in PEERS.findall(block):
                pytest.importorskip(name, reason=f"the page shows {name}; make lint installs it")
            names: dict[str, Any] = {"__name__": page}
            exec(compile(block.replace("@localhost/", f"@127.0.0.1:{broker.port}/"), page, "exec"), names)
            for name in names:
                if name.startswith("test_"):
                    names[name](broker, broker.url)
    assert capsys.readouterr().out.splitlines() == RUN[page]


def test_the_site_has_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE)
    assert sorted(named) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_the_reference_has_every_public_name() -> None:
    """A page shows the names in `__all__` of each module that it names."""
    shown = {
        module
        for page in (DOCS / "reference").glob("*.md")
        for module in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    packages = [path.parent for base in (CORE, *ADAPTERS.glob("*/")) for path in base.rglob("__init__.py")]
    public = {_name(path) for path in packages if not is_internal(path.parts)}
    with_names = {name for name in public if hasattr(importlib.import_module(name), "__all__")}
    assert len(with_names) > 15
    assert with_names - shown == set()


def is_internal(parts: tuple[str, ...]) -> bool:
    """Whether a package is private, or inside a public one without being public."""
    return any(part.startswith("_") or part in INTERNAL for part in parts)


def _name(package: Path) -> str:
    base = ROOT if package.is_relative_to(CORE) else package
    while base != ROOT and (base / "__init__.py").exists():
        base = base.parent
    return ".".join(package.relative_to(base).parts)
