"""Figures of the engines that may only fall: `python -m tools.figures` prints them, a test holds them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tools.figures.any_uses import any_uses
from tools.figures.model_writes import FOREIGN, HELD, INHERITED, Write, writes

CORE: Final = Path(__file__).resolve().parents[2] / "amqp_sansio"
ENGINES: Final = ("_classic", "amqp_0_10", "amqp_1_0")
"""The packages of the core that the figures are about, each with its `model`."""

MODEL_WRITES: Final = f"assignments to attributes of model objects outside model/, {FOREIGN}"
INHERITED_WRITES: Final = f"assignments to attributes of model objects outside model/, {INHERITED}"
HELD_CHANGES: Final = f"changes to containers of model objects outside model/, {HELD}"
ANY: Final = "uses of Any"
KINDS: Final = (MODEL_WRITES, INHERITED_WRITES, HELD_CHANGES, ANY)


class Place(NamedTuple):
    """One of what a figure counts: the file with the line, and what stands there."""

    where: str
    what: str


def places(kind: str, engine: str) -> Iterator[Place]:
    """Return what a figure counts in an engine; the figure is how many there are."""
    if kind == ANY:
        yield from (Place(where, "Any") for where in any_uses(CORE, engine))
    else:
        wanted = {MODEL_WRITES: FOREIGN, INHERITED_WRITES: INHERITED, HELD_CHANGES: HELD}[kind]
        yield from (Place(each.place, each.target) for each in _writes(engine) if each.figure == wanted)


def figure(kind: str, engine: str) -> int:
    """Return the figure of today."""
    return sum(1 for _ in places(kind, engine))


@cache
def _writes(engine: str) -> tuple[Write, ...]:
    """One reading of an engine for the three figures that come from it."""
    return writes(CORE, engine)
