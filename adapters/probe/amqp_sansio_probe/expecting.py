"""Lists of known failures, in TOML: a run fails on what isn't in the list, and on what no longer fails.

The file has a table for each case, with the verdict and, for people, a reason:

    cases = 120

    ["0-9-1/wire/frame-end-check/method"]
    verdict = "breaks"
    reason = "reported, number 17"

A case that is listed as unstable may end either way. One that was late in each of its runs says nothing.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from .running import Result
from .verdicts import FAILURES, Verdict


class Expectations(NamedTuple):
    """The number of cases (None: any), and the verdict of each that is known to fail."""

    cases: int | None
    verdicts: Mapping[str, Verdict]


def parse_expectations(text: str) -> Expectations:
    """Read a list. Raises ValueError, with a text for the user."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"isn't TOML: {error}") from None
    cases = content.pop("cases", None)
    if cases is not None and not isinstance(cases, int):
        raise ValueError("cases is a number")
    verdicts: dict[str, Verdict] = {}
    for name, about in content.items():
        word = cast("dict[str, object]", about).get("verdict") if isinstance(about, dict) else None
        try:
            verdicts[name] = Verdict(word)
        except ValueError:
            raise ValueError(f"{name}: verdict is one of {', '.join([each.value for each in Verdict])}") from None
    return Expectations(cases, verdicts)


def format_expectations(results: Sequence[Result]) -> str:
    """Return the list that these results keep."""
    lines = [f"cases = {len(results)}"]
    for each in results:
        if each.verdict in FAILURES:
            lines += ["", f"[{json.dumps(each.case.name)}]", f"verdict = {json.dumps(each.verdict.value)}"]
            lines += [f"reason = {json.dumps(each.seen)}"]
    return "\n".join(lines) + "\n"


def unexpected(expected: Expectations, results: Sequence[Result]) -> list[str]:
    """Return what differs from the list, a sentence each."""
    differences: list[str] = []
    known = dict(expected.verdicts)
    for each in results:
        name = each.case.name
        wanted = known.pop(name, None)
        if each.verdict in FAILURES and wanted is None:
            differences.append(f"{name} {each.verdict.value}, and isn't in the list")
        elif wanted is not None and wanted not in (Verdict.UNSTABLE, each.verdict) and not each.is_late:
            differences.append(f"{name} is listed as {wanted.value}, and is: {each.verdict.value}")
    differences += [f"{name} is listed, and no such case ran" for name in known]
    if expected.cases is not None and expected.cases != len(results):
        differences.append(f"{expected.cases} cases are listed, and {len(results)} ran")
    return differences
