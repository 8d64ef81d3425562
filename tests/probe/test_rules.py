"""Every case stands on a rule of `docs/rules`, with its level, and tells itself apart from the others."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from amqp_sansio_cli.main import build_parser
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


def test_each_rule_that_binds_the_client_has_a_case_for_clients_or_a_reason() -> None:
    with (ROOT / "docs" / "rules" / "not-probed.csv").open(encoding="utf-8", newline="") as file:
        reasons = {row["id"]: row["reason"] for row in csv.DictReader(file)}
    cases = {each.rule for each in CLIENT_CASES}
    binding = {rule for rule, reason in reasons.items() if reason.startswith("It binds the client:")}
    assert sorted(binding - cases) == [], "add a case for clients, or say in the line why none can show it"
    unseen = {rule for rule, reason in reasons.items() if reason.startswith("It binds the client, and")}
    assert sorted(unseen & cases) == [], "these have a case for clients: say so in their lines"


def test_names_are_unique() -> None:
    assert [name for name, count in Counter([each.name for each in CASES]).items() if count > 1] == []


def test_every_case_says_what_it_asks_and_expects() -> None:
    assert [each.name for each in CASES if not each.clause.endswith(".") or not each.expected] == []


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_names_cases_only(profile: str) -> None:
    assert set(PROFILES[profile]) <= {each.name for each in CASES}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_command_takes_every_profile(profile: str) -> None:
    assert build_parser("probe").parse_args(["probe", "amqp://localhost/", "--profile", profile]).profile == profile
