"""CONTRIBUTING.md and docs/architecture.md: every path, make target, module and name in them exists."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.test_layout import ROOT, python_files, tracked_files

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ENGINES = {"0-8, 0-9-1": "_classic", "0-10": "amqp_0_10", "1.0": "amqp_1_0"}

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?<![\w/.*])\.?\w[\w.-]*(?:/[\w.*-]+)+/?|(?<![\w/])\w+\.(?:py|md|csv|toml)\b")
NAME_IN_FILE = re.compile(r"((?:`[\w.]+`(?:, | and )?)+) (?:in|of) `([\w./-]+\.py)`")
WORD = re.compile(r"[A-Za-z_]\w*")


def test_commands_and_links() -> None:
    text = " ".join([*SPAN.findall(CONTRIBUTING), *[block for _, block in FENCED.findall(CONTRIBUTING)]])
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert len(named) > 8
    assert named - targets == set()
    modules = set(re.findall(r"python -m ([\w.]+)", text)) - {"pytest"}
    assert len(modules) > 4
    missing = [name for name in modules if not _module_exists(name)]
    assert not missing, missing
    for page in ("CONTRIBUTING.md", "docs/architecture.md", "README.md"):
        folder = (ROOT / page).parent
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (folder / link).exists(), f"{page} links {link}"


def _module_exists(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_paths_of_contributing() -> None:
    spans = [*SPAN.findall(FENCED.sub("", CONTRIBUTING)), *[block for _, block in FENCED.findall(CONTRIBUTING)]]
    paths = {path for span in spans for path in PATH.findall(span) if not path.startswith((".venv", "0-", "build/"))}
    # A share is no path.
    paths = {path for path in paths if not re.fullmatch(r"[K\d]/\d", path)}
    assert len(paths) > 60
    missing = [path for path in sorted(paths) if not (any(ROOT.glob(path)) or _stands_somewhere(path))]
    assert not missing, missing


def _stands_somewhere(path: str) -> bool:
    """A bare file's name, as in "`states.py` in the engine's `model`"."""
    return "/" not in path and any(each.name == path for each in tracked_files())


def test_paths_of_the_architecture() -> None:
    columns: list[str] = []
    seen = 0
    for line in ARCHITECTURE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and list(ENGINES) == cells[1:]:
            columns = list(ENGINES.values())
            continue
        for number, cell in enumerate(cells or [line]):
            for path in PATH.findall(" ".join(SPAN.findall(cell))):
                seen += 1
                own = [columns[number - 1]] if columns and cells and number else list(ENGINES.values())
                places = [ROOT, ROOT / "amqp_sansio", *(ROOT / "amqp_sansio" / each for each in own)]
                assert any(any(place.glob(path)) for place in places) or _stands_somewhere(path), path
        if not cells:
            columns = []
    assert seen > 20


@pytest.mark.parametrize("page", [CONTRIBUTING, ARCHITECTURE], ids=["CONTRIBUTING.md", "architecture.md"])
def test_names(page: str) -> None:
    spans = [span for span in SPAN.findall(FENCED.sub("", page)) if re.fullmatch(r"@?[A-Za-z_][\w.]*", span)]
    names = {name for span in spans for name in WORD.findall(span) if not PATH.search(span)}
    assert len(names) > 30
    unknown = sorted(names - _words_of_the_source())
    assert not unknown, unknown


def test_names_stand_in_the_files_that_are_given_for_them() -> None:
    found = 0
    for spans, path in NAME_IN_FILE.findall(CONTRIBUTING):
        words = set(WORD.findall(_text(ROOT / path)))
        for name in SPAN.findall(spans):
            found += 1
            assert name.rpartition(".")[2] in words, f"{name} in {path}"
    assert found > 15


@cache
def _words_of_the_source() -> frozenset[str]:
    files = python_files(ROOT / "amqp_sansio", ROOT / "adapters", ROOT / "tests", ROOT / "tools")
    words = {word for path in files if path != Path(__file__) for word in WORD.findall(_text(path))}
    return frozenset(
        words | {path.name for path in ROOT.glob("amqp_sansio/*")} | set(WORD.findall(_text(ROOT / "Makefile")))
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
