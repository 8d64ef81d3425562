"""`make quick`: runs the tests nearest to what changed since a commit, and says why it took these.

`python -m tools.quick --list` only says it. What is uncommitted counts as changed, and so do new files.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Final

from tools.quick.changes import NoChanges, changed_files, python_files
from tools.quick.choosing import Choice, choose
from tools.quick.costs import read_costs
from tools.quick.imports import ImportMap, is_test

ROOT: Final = Path(__file__).resolve().parents[2]
KEPT: Final = ROOT / "build" / "imports.json"
COSTS: Final = ROOT / "build" / "costs.json"
SECONDS: Final = 30.0
TESTS: Final = 0.4
"""The part of the time that the chosen tests may cost; the map, pytest's start and slower machines need the rest."""
LAST: Final = 0.8
"""The part of the time after which no test begins: it leaves room for the end of the last one, and of pytest."""


def main() -> int:
    """Choose, say why, run; return the exit status."""
    begun = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m tools.quick", description=__doc__)
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="what changed since then (default: HEAD)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long it may take (default: 30)")
    parser.add_argument("--list", action="store_true", help="say which tests are near, and run none")
    arguments = parser.parse_args()
    try:
        changed = changed_files(ROOT, arguments.since)
        files = python_files(ROOT)
    except NoChanges as error:
        print(f"quick: {error}", file=sys.stderr)
        return 2
    if not changed:
        print(f"Nothing has changed since {arguments.since}: no tests to run. SINCE names another commit.")
        return 0
    bases = [ROOT, *(path for path in (ROOT / "adapters").iterdir() if path.is_dir())]
    near = ImportMap(ROOT, files, bases, KEPT).near(changed)
    names = [path.relative_to(ROOT).as_posix() for path in files]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names if is_test(name)}
    choice = choose(changed, near, texts, read_costs(COSTS), arguments.seconds * TESTS)
    _print(changed, choice, arguments.since)
    if arguments.list or not choice.run:
        return 0
    # Loads pytest, which a list doesn't need.
    from tools.quick.running import run

    return run([chosen.name for chosen in choice.run], begun + arguments.seconds * LAST)


def _print(changed: list[str], choice: Choice, since: str) -> None:
    files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
    print(f"{files} changed since {since}. Nearest to that:")
    for chosen in choice.run:
        print(f"  {chosen.name}: {chosen.why} ({chosen.cost:.1f} s)")
    if not choice.run:
        print("  no test of `make test` imports or names what changed")
    if choice.left_out:
        names = ", ".join(chosen.name for chosen in choice.left_out[:3])
        print(f"No time for {len(choice.left_out)} more, which `make test` runs. The nearest: {names}")
    if choice.elsewhere:
        print(f"Near, too, but for `make test-system` or `make interop`: {len(choice.elsewhere)} modules.")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
