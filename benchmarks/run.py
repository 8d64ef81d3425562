"""`make bench`: every comparison in one run, printed and written to benchmarks/results.json.

Arguments name the parts to run (codec, one_zero, zero_ten, footprint, observer, asyncio, sync, broker, spark); none
means all.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("codec", "one_zero", "zero_ten", "footprint", "observer", "asyncio", "sync", "broker", "spark")


def main(wanted: list[str]) -> int:
    """Run the parts and write what they measured; results of parts that weren't run are kept."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.measure import Case, show

    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"unknown part {unknown[0]!r}; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    path = ROOT / "benchmarks" / "results.json"
    kept: list[Case] = json.loads(path.read_text()) if path.exists() and wanted else []
    measured: list[Case] = []
    for part in wanted or PARTS:
        print(f"... {part}", file=sys.stderr, flush=True)
        measured += importlib.import_module(f"benchmarks.{part}_bench").cases()
    names = {case["case"] for case in measured}
    results = [case for case in kept if case["case"] not in names] + measured
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(show(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
