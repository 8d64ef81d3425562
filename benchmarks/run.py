"""`make bench`: every comparison in one run, printed and written to benchmarks/results.json and docs/performance.md.

Arguments name the parts to run, of PARTS; none means all. With `--check` (`make bench-check`) nothing is written: the
ratios of this run are compared with the committed ones, and the exit status is 1 if one has fallen by more than 5 % in
each of three tries.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.measure import Case

ROOT = Path(__file__).resolve().parent.parent
LEAST = 0.95
"""The least acceptable part of a committed ratio: two runs of the same code differ by a few per cent."""
TRIES = 3
PARTS = (
    "codec",
    "amqp_1_0",
    "amqp_0_10",
    "footprint",
    "observer",
    "fast_paths",
    "compiled",
    "asyncio",
    "sync",
    "recovery",
    "costs",
    "broker",
    "azure",
    "growth",
    "replay",
    "spark",
)


def main(wanted: list[str]) -> int:
    """Run the parts and write their results; results of other parts are kept."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.measure import machine, show
    from tools.docs import performance

    if wanted and wanted[0] == "--check":
        return check(wanted[1:])
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    path = ROOT / "benchmarks" / "results.json"
    kept: list[Case] = json.loads(path.read_text()) if path.exists() and wanted else []
    measured = [case for part in wanted or PARTS for case in run_part(part)]
    for case in measured:
        case["machine"] = machine()
    names = {case["case"] for case in measured}
    results = [case for case in kept if case["case"] not in names] + measured
    path.write_text(json.dumps(results, indent=1) + "\n")
    performance.main([])
    print(show(results))
    return 0


def run_part(part: str) -> list[Case]:
    """Run the cases of one part."""
    print(f"... {part}", file=sys.stderr, flush=True)
    cases: list[Case] = importlib.import_module(f"benchmarks.{part}_bench").cases()
    return cases


def check(wanted: list[str]) -> int:
    """Compare the ratios of the parts with the committed ones; repeat a part if one has fallen."""
    from benchmarks.measure import show

    committed: list[Case] = json.loads((ROOT / "benchmarks" / "results.json").read_text())
    # Cases whose unit names a goal compare with a constant, so their ratio depends on the machine.
    before = {case["case"]: case["ratio"] for case in committed if "goal" not in case["unit"]}
    fallen: list[str] = []
    for part in wanted or PARTS:
        best: dict[str, Case] = {}
        late: list[str] = []
        for _ in range(TRIES):
            for case in run_part(part):
                known = best.get(case["case"])
                if known is None or case["ratio"] > known["ratio"]:
                    best[case["case"]] = case
            late = [name for name in best if best[name]["ratio"] < LEAST * before.get(name, 0.0)]
            if not late:
                break
        print(show(list(best.values())))
        fallen += [f"{name}: {best[name]['ratio']:g}, was {before[name]:g}" for name in late]
    for line in fallen:
        print(f"fallen: {line}", file=sys.stderr)
    return 1 if fallen else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
