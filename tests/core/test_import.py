"""Import: what importing one version loads, and what it must not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ALLOWED = "__future__, typing, enum, collections.abc, types, struct, math, zlib, warnings"
"""The modules of the standard library that a core for one version may load, with what they load."""


def loaded(module: str) -> set[str]:
    """What `module` loads in a fresh interpreter beside what is allowed."""
    script = (
        f"import {ALLOWED}, sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules); "
        f"import {module}; print(*sorted(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("module", "other"),
    [("amqp_sansio.amqp_0_9_1", "amqp_sansio.amqp_0_8"), ("amqp_sansio.amqp_0_8", "amqp_sansio.amqp_0_9_1")],
)
def test_a_version_loads_itself_only(module: str, other: str) -> None:
    found = loaded(module)
    assert module in found
    assert not {name for name in found if not name.startswith("amqp_sansio")}
    assert not {name for name in found if name.startswith(other)}


@pytest.mark.parametrize("unwanted", ["observer", "lifecycle", "capture", "tables", "amqp_0_8"])
def test_a_client_does_not_load_what_only_others_need(unwanted: str) -> None:
    found = loaded("amqp_sansio.amqp_0_9_1")
    assert not {name for name in found if name.startswith(f"amqp_sansio.{unwanted}")}


def test_the_shared_names_load_no_engine() -> None:
    found = loaded("amqp_sansio")
    assert "amqp_sansio.negotiation" in found
    assert not {name for name in found if name.startswith("amqp_sansio._classic")}
