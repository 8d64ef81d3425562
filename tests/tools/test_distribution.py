"""What is in an sdist and how files are checked out: all of the project, with line feeds wherever it is."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from tests.test_layout import ROOT, tracked_files

OF_HATCH: Final = {".gitignore", "PKG-INFO"}
"""What hatchling adds to an sdist by itself, and what it writes there."""
ATTRIBUTES: Final = [
    line.split() for line in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines() if line[:1] != "#"
]


def test_an_sdist_has_all_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = {name.removeprefix("/") for name in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    there = {path.relative_to(ROOT).parts[0] for path in tracked_files()} - OF_HATCH
    # It always has this one.
    assert included | {"pyproject.toml"} == there


def is_binary(path: Path) -> bool:
    """Whether git keeps its octets as they are, by the last pattern that its name matches."""
    return [value for pattern, *value in ATTRIBUTES if fnmatch(path.name, pattern)][-1] == ["binary"]


def test_text_has_line_feeds_on_every_system() -> None:
    assert ATTRIBUTES[0] == ["*", "text=auto", "eol=lf"]
    wrong = [path for path in tracked_files() if not is_binary(path) and b"\r\n" in path.read_bytes()]
    assert not wrong


def test_files_of_octets_are_not_changed() -> None:
    wrong = [path for path in tracked_files() if not is_binary(path) and b"\0" in path.read_bytes()]
    assert not wrong
    assert is_binary(ROOT / "tests" / "data" / "captures" / "o091_pika_basic.pcap")
    assert not is_binary(ROOT / "Makefile")
