"""What only engines use isn't public: each name is there, and nothing else of the project uses it."""

from __future__ import annotations

import importlib
import re
from typing import Final

import pytest

from tests.test_layout import ADAPTERS, CORE, ROOT, python_files
from tools.engine_only import ENGINE_ONLY, engine_only
from tools.public_names import members

ROOMS: Final = {
    "engines": re.compile(r"amqp_sansio/(?:_classic|amqp_0_10|amqp_1_0)/(?:endpoint|model|observer)/"),
    "broker": re.compile(r"amqp_sansio/broker/"),
    "client": re.compile(r"amqp_sansio/client/"),
}
"""Where the members of each part of the core may be used."""


def _kind(name: str) -> type:
    module, _, kind = name.rpartition(".")
    found: type = getattr(importlib.import_module(module), kind)
    return found


def _none(kind: type) -> frozenset[str]:
    """Leave nothing out."""
    return frozenset()


@pytest.mark.parametrize("owner", ENGINE_ONLY)
def test_each_name_is_a_member_that_is_left_out(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = _kind(owner)
    shown = set(members(kind))
    monkeypatch.setattr("tools.public_names.engine_only", _none)
    assert set(ENGINE_ONLY[owner]) <= set(members(kind))
    assert not engine_only(kind) & shown


@pytest.mark.parametrize("part", ROOMS)
def test_nothing_outside_of_its_rooms_uses_one(part: str) -> None:
    names = {name for owner, own in ENGINE_ONLY.items() if _part(owner) == part for name in own}
    used = re.compile(rf"\.({'|'.join(sorted(names))})\b")
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files(CORE, ADAPTERS, ROOT / "examples", ROOT / "benchmarks")
        if not ROOMS[part].search(path.as_posix())
        for name in used.findall(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def _part(owner: str) -> str:
    part = owner.split(".")[1]
    return part if part in ROOMS else "engines"
