"""The rules of the specifications as facts: id, addressee, level, layer; from `docs/rules`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

VERSIONS = ("0-8", "0-9-1", "0-10", "1.0")
LEVELS = ("must", "should", "may", "note")
RULES_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "rules"


class RuleError(ValueError):
    """Contradictory facts about rules, or an id that names no rule."""


@dataclass(frozen=True)
class Rule:
    """One rule: its full id, its version, its addressee, its level and its layer."""

    id: str
    version: str
    who: str
    level: str
    layer: str

    @property
    def short_id(self) -> str:
        """The id without the reaction that some ids have after an arrow."""
        return self.id.partition(" -> ")[0].strip()


class Rules:
    """All rules by full id, in the order of the files."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_id: dict[str, Rule] = {}
        self._short: dict[str, str] = {}
        for rule in rules:
            if rule.id in self._by_id or rule.short_id in self._short:
                raise RuleError(f"rule {rule.id} stands twice in the rule facts")
            self._by_id[rule.id] = rule
            self._short[rule.short_id] = rule.id

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, name: str) -> Rule | None:
        """Return the rule of that full id, with or without its reaction; None if there is none."""
        return self._by_id.get(self._short.get(name, name))


def read_rules(folder: Path = RULES_FOLDER) -> Rules:
    """Read `rules-VERSION.csv` of every version. Raises RuleError for a line that isn't a rule."""
    rules: list[Rule] = []
    for version in VERSIONS:
        path = folder / f"rules-{version}.csv"
        for line, row in _rows(path, ["id", "who", "level", "layer"]):
            if not row["id"].startswith(f"{version}/") or row["level"] not in LEVELS:
                raise RuleError(f"{path.name}:{line}: not a rule of {version}")
            rules.append(Rule(row["id"], version, row["who"], row["level"], row["layer"]))
    return Rules(rules)


def read_not_applicable(rules: Rules, folder: Path = RULES_FOLDER) -> dict[str, str]:
    """Return the reasons of the rules in `not-applicable.csv`, by full id.

    An entry is a full id (with or without its reaction), or a pattern of shell wildcards which may end in `:LAYER`. The
    first entry that fits a rule counts. Raises RuleError for an entry that fits no rule or has no reason.
    """
    reasons: dict[str, str] = {}
    path = folder / "not-applicable.csv"
    for line, row in _rows(path, ["id", "reason"]):
        found = list(_fitting(rules, row["id"]))
        if not found:
            raise RuleError(f"{path.name}:{line}: {row['id']} fits no rule")
        if not row["reason"].strip():
            raise RuleError(f"{path.name}:{line}: {row['id']} has no reason")
        for rule in found:
            reasons.setdefault(rule.id, row["reason"].strip())
    return reasons


def _fitting(rules: Rules, entry: str) -> Iterator[Rule]:
    named = rules.find(entry)
    if named is not None:
        yield named
        return
    pattern, _, layer = entry.partition(":")
    for rule in rules:
        if fnmatchcase(rule.short_id, pattern) and layer in ("", rule.layer):
            yield rule


def _rows(path: Path, columns: list[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != columns:
            raise RuleError(f"{path.name}: the columns must be {', '.join(columns)}")
        for row in reader:
            if None in row or None in row.values():
                raise RuleError(f"{path.name}:{reader.line_num}: wrong number of columns")
            yield reader.line_num, row
