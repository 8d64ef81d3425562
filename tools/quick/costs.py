"""What each test module costs, in seconds of the processor: `build/costs.json`, which each `make test` writes.

Modules that didn't run keep their cost, those that are gone lose it. A module without a cost, and every one without the
file, has a default.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

DEFAULT: Final = 1.0
"""Of a module whose cost isn't known."""
DEFAULT_SPARK: Final = 20.0
"""Of one that starts Spark."""
LOADING: Final = 0.15
"""For collecting a module, which its cost doesn't have."""


def read_costs(path: Path) -> dict[str, float]:
    """Return the cost of each module, by its path from the root; nothing where the file isn't there or is damaged."""
    try:
        found = cast("object", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    rows = cast("dict[object, object]", found)
    return {str(name): float(cost) for name, cost in rows.items() if isinstance(cost, (int, float))}


def cost_of(name: str, costs: Mapping[str, float], text: str) -> float:
    """Return what a module costs; `text` is what stands in it."""
    usual = DEFAULT_SPARK if "mark.spark" in text or "SparkSession" in text else DEFAULT
    return LOADING + costs.get(name, usual)


def write_costs(path: Path, measured: Mapping[str, float], root: Path) -> None:
    """Write the file, with what was measured over what it had."""
    costs = read_costs(path) | {name: round(cost, 2) for name, cost in measured.items()}
    kept = {name: cost for name, cost in sorted(costs.items()) if (root / name).is_file()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
