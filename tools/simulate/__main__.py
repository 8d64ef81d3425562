"""`python -m tools.simulate` sends many messages through a world with many faults, and judges what comes of them.

A run depends on its arguments alone: the same seed repeats it exactly. The exit status is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import sys
import time

from .modes import MODES
from .running import run

SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.simulate", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", action="append", choices=sorted({version for version, _ in MODES}))
    parser.add_argument("--mode", action="append", choices=sorted({mode for _, mode in MODES}))
    arguments = parser.parse_args()
    is_broken = False
    for version, mode in MODES:
        if version in (arguments.version or [version]) and mode in (arguments.mode or [mode]):
            begun = time.process_time()
            result = run(version, mode, arguments.messages, arguments.faults, arguments.seed)
            promise = MODES[version, mode].promise.value
            print(f"{version} {mode} ({promise}), seed {arguments.seed}: {result}, {time.process_time() - begun:.0f} s")
            for finding in result.findings[:SHOWN]:
                print(f"  {finding}")
            is_broken = is_broken or bool(result.findings)
    return int(is_broken)


if __name__ == "__main__":
    sys.exit(main())
