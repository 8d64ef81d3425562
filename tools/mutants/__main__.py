"""`python -m tools.mutants` changes the code in one place at a time, and tells which changes no test notices.

The sample of a seed changes only where the code does. The tree is never written: a process imports the changed
module. The exit status is 0 whatever the tests notice, and 2 if they say nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.mutants.report import Sample, line_of
from tools.mutants.running import DEAREST, MutantsError, Result, all_mutants, run, sample


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="of the sample; several: one for each")
    parser.add_argument("--count", type=int, default=70, help="mutants of a seed (default: 70)")
    parser.add_argument("--under", default="", metavar="PATH", help="only modules whose paths begin so")
    parser.add_argument("--again", type=Path, metavar="JSON", help="only what lives in this file's results, in place")
    parser.add_argument(
        "--dearest", type=float, default=DEAREST, metavar="S", help="leave out tests of more CPU seconds (default: 1)"
    )
    parser.add_argument("--list", action="store_true", help="print the sample, and run nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write mutants.md there")
    options = parser.parse_args(arguments)
    mutants = all_mutants(options.under)
    done: list[Result] = []
    seeds: list[int] = options.seed
    count: int = options.count
    try:
        if options.again is not None:
            before = Sample.read(options.again)
            seeds, count = before.seeds, before.count
            if not {result.mutant for result in before.results} <= set(mutants):
                raise MutantsError(f"the code isn't that of {options.again}: run the whole sample")
            done = [result for result in before.results if result.is_killed]
            chosen = [result.mutant for result in before.results if not result.is_killed]
        else:
            found = {mutant for seed in seeds for mutant in sample(mutants, seed, count)}
            chosen = [mutant for mutant in mutants if mutant in found]
        if options.list:
            for mutant in chosen:
                print(line_of(Result(mutant, "lives")).removesuffix("  LIVES"))
            return 0
        for result in run(chosen, _say, options.dearest):
            _say(line_of(result))
            done.append(result)
    except MutantsError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    order = {mutant: place for place, mutant in enumerate(mutants)}
    whole = Sample(seeds, count, len(mutants), sorted(done, key=lambda result: order[result.mutant]))
    if options.json is not None:
        whole.write(options.json)
    if options.write is not None:
        (options.write / "mutants.md").write_text(whole.page(), encoding="utf-8")
    _say(f"mutants: killed {whole.rate()}")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
