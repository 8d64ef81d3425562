"""What is said about a sample: lines, JSON, and the page docs/mutants.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from tools.mutants.mutations import Mutation
from tools.mutants.running import PARTS, Mutant, Result

_WIDTH: Final = 100


@dataclass(frozen=True)
class Sample:
    """The results of the mutants of some seeds."""

    seeds: list[int]
    count: int
    """The mutants of each seed."""
    all: int
    """The mutants that there are."""
    results: list[Result]

    def killed(self, part: str = "") -> int:
        """Return how many mutants of a part were noticed."""
        return sum(result.is_killed for result in self.of(part))

    def of(self, part: str) -> list[Result]:
        """Return the results of a part; of all parts, if it is empty."""
        return [result for result in self.results if not part or result.mutant.part == part]

    def write(self, path: Path) -> None:
        """Write all of it as JSON."""
        values = {
            "seeds": self.seeds,
            "count": self.count,
            "all": self.all,
            "killed": self.killed(),
            "mutants": [
                {"path": each.mutant.path, **each.mutant.mutation._asdict(), "outcome": each.outcome, "test": each.test}
                for each in self.results
            ],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Sample:
        """Return what `write` wrote."""
        values = json.loads(path.read_text(encoding="utf-8"))
        results: list[Result] = []
        for each in values["mutants"]:
            mutation = Mutation(**{name: each[name] for name in Mutation._fields})
            results.append(Result(Mutant(each["path"], mutation), each["outcome"], each["test"]))
        return cls(values["seeds"], values["count"], values["all"], results)

    def rate(self, part: str = "") -> str:
        """Return the share of the mutants that were noticed."""
        total = len(self.of(part))
        return f"{self.killed(part)} of {total} ({100 * self.killed(part) / total:.0f} %)" if total else "none"

    def page(self) -> str:
        """Return docs/mutants.md."""
        seeds = " and ".join(map(str, self.seeds))
        lines = [
            "# Mutants",
            "",
            "Written by `make mutants`, which changes the code of the models and of the clients in one place at a time "
            "and runs the tests of the same folder. A mutant that no test notices lives: the tests don't say what the "
            "code does there.",
            "",
            f"The sample has {len(self.results)} of {self.all} mutants, of seed {seeds}. "
            f"The tests kill {self.rate()}. `MUTANTS` and `MUTANTS_SEED` choose another sample.",
            "",
            "| changed | tests | mutants | killed | time-outs among these | live | reached by no test |",
            "|---|---|---|---|---|---|---|",
        ]
        for part, folders in PARTS.items():
            found = [result.outcome for result in self.of(part)]
            if found:
                tests = ", ".join(f"`{folder}`" for folder in folders)
                late, live, missed = (found.count(name) for name in ("timed out", "lives", "not reached"))
                lines.append(
                    f"| `{part}` | {tests} | {len(found)} | {self.killed(part)} | {late} | {live} | {missed} |"
                )
        lines += [
            "",
            "A change is one of: the bound or the sense of a comparison, a number plus one, `and` for `or`, a `not` "
            "less, a call or an assignment less, None for a return value, `True` for `False`, `+` for `-`. What is for "
            "type checkers or for people only stays: annotations, assertions, `__repr__`, formatted texts, the values "
            "of enumerations. The tests that reach a change run in a process that imports the changed module instead "
            "of the file's; one that takes ten times its usual CPU time, and three seconds more, has noticed it.",
            "",
        ]
        alive = [result for result in self.results if not result.is_killed]
        if alive:
            lines += ["Those that live:", "", "| where | without the change | with it | |", "|---|---|---|---|"]
            for result in alive:
                mutation = result.mutant.mutation
                before, after = map(_cell, shortened(mutation.before, mutation.after))
                where = f"`{result.mutant.path.removeprefix('amqp_sansio/')}`, `{mutation.function or 'module'}`"
                lines.append(f"| {where} | {before} | {after} | {result.outcome} |")
        return "\n".join(lines).rstrip("\n") + "\n"


def line_of(result: Result) -> str:
    """Return a result as one line."""
    mutation = result.mutant.mutation
    before, after = shortened(mutation.before, mutation.after)
    how = {"killed": f"killed by {result.test}", "timed out": f"timed out in {result.test}"}.get(
        result.outcome, result.outcome.upper()
    )
    return f"{result.mutant.path}:{mutation.line} [{mutation.number}] {before}  ->  {after}  {how}"


def shortened(before: str, after: str) -> tuple[str, str]:
    """Return what of two long lines is near to where they differ."""
    if max(len(before), len(after)) <= _WIDTH:
        return before, after
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    begin = max(0, same - _WIDTH // 2)
    head = "..." if begin else ""
    found = [
        head + text[begin : begin + _WIDTH] + ("..." if len(text) > begin + _WIDTH else "") for text in (before, after)
    ]
    return found[0], found[1]


def _cell(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


__all__ = ["Sample", "line_of", "shortened"]
