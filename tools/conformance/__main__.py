"""`python -m tools.conformance`: writes or checks the report from the outcomes of a test run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tools.conformance.outcomes import read_outcomes
from tools.conformance.report import Report
from tools.conformance.rules import RULES_FOLDER, RuleError, read_not_applicable, read_rules


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0: written, or the report claims only proven rules; 1: it claims more; 2: bad input."""
    parser = argparse.ArgumentParser(prog="python -m tools.conformance", description=__doc__)
    parser.add_argument("--outcomes", type=Path, required=True, help="what a test run wrote with --rule-outcomes")
    parser.add_argument("--rules", type=Path, default=RULES_FOLDER, help="folder of the rule facts")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FOLDER", help="write the report there")
    what.add_argument("--check", type=Path, metavar="FOLDER", help="compare the report there")
    options = parser.parse_args(arguments)
    try:
        rules = read_rules(options.rules)
        reasons = read_not_applicable(rules, options.rules)
        report = Report(rules, reasons, read_outcomes(options.outcomes))
        if options.write is not None:
            _write(report, options.write)
            return 0
        return _check(report, options.check)
    except (OSError, RuleError, ValueError) as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2


def _write(report: Report, folder: Path) -> None:
    (folder / "conformance.md").write_text(report.markdown(), encoding="utf-8")
    (folder / "conformance.json").write_text(report.json(), encoding="utf-8")
    for version, numbers in report.numbers().items():
        print(
            f"{version:6} MUST: {numbers['must']}, proven {numbers['must_proven']}, not applicable"
            f" {numbers['must_not_applicable']}, open {len(report.open_musts(version))}"
        )


def _check(report: Report, folder: Path) -> int:
    text = (folder / "conformance.md").read_text(encoding="utf-8")
    numbers_text = (folder / "conformance.json").read_text(encoding="utf-8")
    if (text, numbers_text) == (report.markdown(), report.json()):
        print(f"{folder}/conformance.md says what this run proves")
        return 0
    numbers = cast("dict[str, dict[str, int]]", json.loads(numbers_text))
    wrong = report.overclaims(text, numbers)
    if wrong:
        print(f"{folder}/conformance.md claims more than this run proves:", file=sys.stderr)
        print("\n".join(f"  {line}" for line in wrong), file=sys.stderr)
        return 1
    print(f"{folder}/conformance.md is behind this run; `make conformance` renews it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
