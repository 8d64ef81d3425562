"""The recipes of docs/recipes.md whose program is in another language: program and test as they stand there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

import pytest

from tests.docs.test_pages import DOCS
from tests.interop.brokers.node_clients import AMQPLIB
from tests.interop.brokers.process import BUILD, apt_install, run_install
from tests.kit.rule_runs import ALONE

pytest_plugins = ["pytester"]

PAGE: Final = (DOCS / "recipes.md").read_text(encoding="utf-8")
SECTION: Final = re.compile(r"^## ([^\n]+)\n\n[^\n]+\n\n```(js|go)\n(.*?)^```\n\n```python\n(.*?)^```", re.M | re.S)
RECIPES: Final = {name: (program, test) for name, _, program, test in SECTION.findall(PAGE)}
AMQP091_GO: Final = "github.com/rabbitmq/amqp091-go@v1.10.0"


def _run(pytester: pytest.Pytester, test: str) -> None:
    pytester.makepyfile(test)
    pytester.runpytest_subprocess(*ALONE, timeout=300).assert_outcomes(passed=1)


def test_node(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    program, test = RECIPES["Node.js"]
    monkeypatch.setenv("NODE_PATH", str(AMQPLIB.install()))
    (pytester.path / "order.js").write_text(program, encoding="utf-8")
    _run(pytester, test)


def test_go(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    program, test = RECIPES["Go"]
    if shutil.which("go") is None:
        apt_install("golang-go")
    kept = {"GOPATH": str(BUILD / "go"), "GOCACHE": str(BUILD / "go-cache"), "GOFLAGS": "-modcacherw"}
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    _module(pytester.path, program)
    _run(pytester, test)


def _module(folder: Path, program: str) -> None:
    """A module of Go with the program and the client that it imports."""
    (folder / "main.go").write_text(program, encoding="utf-8")
    for command in (["go", "mod", "init", "shop"], ["go", "get", AMQP091_GO]):
        run_install(" ".join(command), ["env", "-C", str(folder), *command])
    assert (folder / "go.sum").exists()
