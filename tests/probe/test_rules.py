"""Every case stands on a rule of `docs/rules`, with its level, and tells itself apart from the others."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from amqp_sansio_probe import CASES, CLIENT_CASES, PROFILES

ROOT = Path(__file__).resolve().parents[2]


def levels() -> dict[str, str]:
    """The level of each rule, by its id without the reaction."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "docs" / "rules").glob("rules-*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            found |= {row["id"].partition(" -> ")[0]: row["level"] for row in csv.DictReader(file)}
    return found


def test_every_case_names_a_rule_and_its_level() -> None:
    known = levels()
    assert {each.name: each.level for each in CASES} == {each.name: known[each.rule] for each in CASES}


def test_each_rule_has_a_case_or_a_line_that_says_why_not() -> None:
    with (ROOT / "docs" / "rules" / "not-probed.csv").open(encoding="utf-8", newline="") as file:
        lines = [(row["id"], row["reason"]) for row in csv.DictReader(file)]
    assert [rule for rule, reason in lines if not reason.endswith(".")] == []
    assert [rule for rule, count in Counter([rule for rule, _ in lines]).items() if count > 1] == []
    told, without = {rule for rule, _ in lines}, {*levels()} - {each.rule for each in CASES}
    assert sorted(without - told) == [], "add a case, or a line to docs/rules/not-probed.csv"
    assert sorted(told - without) == [], "these have a case, or are no rules: take the lines away"


UNASKED = {"0-8": 32, "0-9-1": 21, "0-10": 7, "1.0": 35}
"""Rules that bind clients alone, and have no case for clients: as many in each version. These numbers only fall."""


def test_rules_that_bind_the_client_get_cases_for_clients() -> None:
    with (ROOT / "docs" / "rules" / "not-probed.csv").open(encoding="utf-8", newline="") as file:
        binding = {row["id"] for row in csv.DictReader(file) if row["reason"].startswith("It binds the client:")}
    left = binding - {each.rule for each in CLIENT_CASES}
    assert Counter([each.partition("/")[0] for each in left]) == UNASKED, "a case more? Then lower the number"


def test_names_are_unique() -> None:
    assert [name for name, count in Counter([each.name for each in CASES]).items() if count > 1] == []


def test_every_case_says_what_it_asks_and_expects() -> None:
    assert [each.name for each in CASES if not each.clause.endswith(".") or not each.expected] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_names_cases_only(profile: str) -> None:
    assert set(PROFILES[profile]) <= {each.name for each in CASES}
