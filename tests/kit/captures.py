"""The captures of the tests: those that the repository carries, and the big set where it is there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CARRIED = ROOT / "tests" / "data" / "captures"
BIG = Path(os.environ.get("AMQP_SANSIO_CAPTURES", ROOT.parent / "shared" / "captures"))


def carried(pattern: str = "*.pcap*") -> list[Path]:
    """The carried capture files whose names match, sorted."""
    return sorted(CARRIED.glob(pattern))


def everywhere(pattern: str = "*.pcap*") -> list[Any]:
    """Parameters: every capture file there is, the carried ones first; one skip without the big set."""
    paths = carried(pattern)
    names = {path.name for path in paths}
    params = [pytest.param(path, id=path.name) for path in paths]
    if not BIG.is_dir():
        skip = pytest.mark.skip(reason=f"the big set of captures isn't there: {BIG}")
        return [*params, pytest.param(BIG, id="the-big-set", marks=skip)]
    others = sorted(path for path in BIG.glob(pattern) if path.name not in names)
    return [*params, *[pytest.param(path, id=path.name) for path in others]]


def truth(path: Path) -> dict[str, Any]:
    """What is known of a capture; `path` is any of its files."""
    return _json(path, ".json")


def oracle(path: Path) -> dict[str, Any]:
    """What tshark says of a capture; `path` is any of its files."""
    return _json(path, ".oracle.json")


def named(name: str) -> Path:
    """The capture file of that name, suffix included; skips the test where it is nowhere."""
    for folder in (CARRIED, BIG):
        if (folder / name).exists():
            return folder / name
    pytest.skip(f"{name} is not carried, and the big set of captures isn't there: {BIG}")


def _json(path: Path, suffix: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.with_name(path.stem + suffix).read_text())
    return loaded
