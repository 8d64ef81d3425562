"""The conformance report, as `conformance.md` for people and `conformance.json` for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.conformance.outcomes import Outcome, Outcomes
from tools.conformance.rules import VERSIONS, Rule, RuleError, Rules

LAYERS = {
    "wire": "wire",
    "conn": "connection",
    "sess": "session, channel",
    "xfer": "message transfer",
    "model": "exchange and queue model",
    "tx": "tx",
    "dtx": "dtx",
    "file": "file",
    "stream": "stream",
    "tunnel": "tunnel",
    "access": "access",
    "test": "test",
    "rabbitmq": "RabbitMQ extension",
}

MOST_NAMED = 12
"""Most rules listed individually among those not applicable for the same reason."""

HEAD = """\
# Conformance

Written by `make conformance`; don't edit.

A rule is *proven* when at least one test that carries its id (`@pytest.mark.rule`) passed in the
run and none failed. Tests against real brokers don't count here. *Not applicable* rules are listed
with the reason in [`rules/not-applicable.csv`](rules/not-applicable.csv); one that is proven all
the same counts as proven. *Open* is what is neither.
"""


@dataclass(frozen=True)
class Count:
    """Rules of one level: all, proven, not applicable (and not proven)."""

    all: int
    proven: int
    not_applicable: int

    @property
    def open(self) -> int:
        """Number neither proven nor not applicable."""
        return self.all - self.proven - self.not_applicable


class Report:
    """The rules that a run proves."""

    def __init__(self, rules: Rules, not_applicable: Mapping[str, str], outcomes: Outcomes) -> None:
        """Raises RuleError for an outcome of an unknown rule."""
        self.rules = list(rules)
        for name in outcomes:
            if rules.find(name) is None:
                raise RuleError(f"{name} is no rule")
        self._proven = {name for name, outcome in outcomes.items() if outcome.proves}
        self._reasons = {name: text for name, text in not_applicable.items() if name not in self._proven}
        self._outcomes = outcomes

    def is_open(self, rule: Rule) -> bool:
        """Whether a rule is neither proven nor not applicable."""
        return rule.id not in self._proven and rule.id not in self._reasons

    def open_musts(self, version: str | None = None) -> list[Rule]:
        """Return the open MUST rules, of one version or of all."""
        return [
            rule
            for rule in self.rules
            if rule.level == "must" and version in (None, rule.version) and self.is_open(rule)
        ]

    def count(self, rules: Iterable[Rule], level: str) -> Count:
        """Count those of `rules` that have `level`."""
        ids = [rule.id for rule in rules if rule.level == level]
        proven = sum(name in self._proven for name in ids)
        return Count(len(ids), proven, sum(name in self._reasons for name in ids))

    def numbers(self) -> dict[str, dict[str, int]]:
        """Return the content of `conformance.json`."""
        result: dict[str, dict[str, int]] = {}
        for version in VERSIONS:
            must = self.count(self._of(version), "must")
            should = self.count(self._of(version), "should")
            result[version] = {
                "must": must.all,
                "must_proven": must.proven,
                "must_not_applicable": must.not_applicable,
                "should": should.all,
                "should_proven": should.proven,
            }
        return result

    def json(self) -> str:
        """Return the text of `conformance.json`."""
        return json.dumps(self.numbers(), indent=2) + "\n"

    def markdown(self) -> str:
        """Return the text of `conformance.md`."""
        lines = [HEAD, "## Totals", "", *self._table("version", self._by_version()), ""]
        for version in VERSIONS:
            lines += self._section(version)
        return "\n".join(lines)

    def overclaims(self, committed: str, numbers: Mapping[str, Mapping[str, int]]) -> list[str]:
        """Return the claims of the committed report that this run doesn't prove.

        A rule whose tests were all skipped in this run isn't judged.
        """
        said = {line[3:-1] for line in committed.splitlines() if line.startswith("- `")}
        wrong = [rule.id for rule in self.open_musts() if rule.id not in said and not self._was_skipped(rule)]
        for version in VERSIONS:
            rules = self._of(version)
            proven = self.count(rules, "should").proven
            unjudged = sum(self._was_skipped(rule) for rule in rules if rule.level == "should")
            claimed = numbers.get(version, {}).get("should_proven", 0)
            if claimed > proven + unjudged:
                wrong.append(f"{version}: {claimed} SHOULD rules, {proven} in this run")
        return wrong

    def _was_skipped(self, rule: Rule) -> bool:
        outcome = self._outcomes.get(rule.id, Outcome())
        return outcome.skipped > 0 and outcome.passed == outcome.failed == 0

    def _of(self, version: str) -> list[Rule]:
        return [rule for rule in self.rules if rule.version == version]

    def _by_version(self) -> dict[str, list[Rule]]:
        return {version: self._of(version) for version in VERSIONS}

    def _section(self, version: str) -> list[str]:
        rules = self._of(version)
        by_layer = {title: [rule for rule in rules if rule.layer == layer] for layer, title in LAYERS.items()}
        groups = {title: group for title, group in by_layer.items() if group}
        lines = [f"## AMQP {version}", "", *self._table("layer", groups), ""]
        lines += self._reasons_of(rules)
        open_musts = self.open_musts(version)
        lines += [f"### Open MUST rules ({len(open_musts)})", ""]
        if open_musts:
            lines += [*(f"- `{rule.id}`" for rule in open_musts), ""]
        return lines

    def _reasons_of(self, rules: list[Rule]) -> list[str]:
        groups: dict[str, list[Rule]] = {}
        for rule in rules:
            if rule.id in self._reasons:
                groups.setdefault(self._reasons[rule.id], []).append(rule)
        if not groups:
            return []
        lines = ["### Not applicable", "", "| reason | MUST | SHOULD | MAY, stated | which |", "|---" * 5 + "|"]
        for reason, group in groups.items():
            must = self.count(group, "must").all
            should = self.count(group, "should").all
            layers = [title for layer, title in LAYERS.items() if any(it.layer == layer for it in group)]
            named = [f"`{rule.id}`" for rule in group]
            which = ", ".join(layers if len(group) > MOST_NAMED else named)
            others = len(group) - must - should
            lines.append(f"| {reason} | {must} | {should} | {others} | {which} |")
        return [*lines, ""]

    def _table(self, what: str, groups: Mapping[str, list[Rule]]) -> list[str]:
        lines = [
            f"| {what} | rules | MUST | proven | not applicable | open | SHOULD | proven "
            "| not applicable | MAY | proven | stated | proven |",
            "|---" * 13 + "|",
        ]
        for title, rules in groups.items():
            must, should, may, note = (self.count(rules, level) for level in ("must", "should", "may", "note"))
            cells = (
                title,
                len(rules),
                must.all,
                must.proven,
                must.not_applicable,
                must.open,
                should.all,
                should.proven,
                should.not_applicable,
                may.all,
                may.proven,
                note.all,
                note.proven,
            )
            lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
        return lines
