"""docs/probe: the pages are what the cases say, and their tables of runs can be made again."""

from pathlib import Path

import pytest

from amqp_sansio_probe import CASES, CLIENT_CASES
from amqp_sansio_probe.records import Record, json_line
from amqp_sansio_probe.verdicts import Verdict
from tools.docs import probe
from tools.docs.pages import ROOT


@pytest.mark.parametrize("version", probe.VERSIONS)
def test_a_page_is_what_the_cases_say(version: str) -> None:
    text = (ROOT / "docs" / probe.file_name(version)).read_text(encoding="utf-8")
    assert text == probe.page(version), "run python -m tools.docs.probe"


def test_the_blocks_of_the_first_page_are_what_the_cases_say() -> None:
    text = (ROOT / "docs" / probe.OVERVIEW).read_text(encoding="utf-8")
    assert text == probe.overview(), "run python -m tools.docs.probe"


@pytest.mark.parametrize("version", probe.VERSIONS)
def test_every_rule_says_why_it_matters(version: str) -> None:
    rules = {each.rule for each in CASES if each.version == version}
    rules |= {each.rule for each in CLIENT_CASES if each.version == version}
    assert rules and all(probe.why(rule).endswith(".") for rule in rules)


def test_a_table_has_the_cases_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def record(peer: str, case: str, verdict: Verdict) -> str:
        return json_line(Record(peer, case, "0-9-1/a/b", "must", "A rule.", "this", verdict, verdict, "that"))

    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    files[0].write_text(record("A 1", "one", Verdict.CONFORMS) + "\n" + record("A 1", "two", Verdict.CONFORMS) + "\n")
    files[1].write_text(record("B 2", "one", Verdict.BREAKS) + "\n" + record("B 2", "two", Verdict.CONFORMS) + "\n")
    assert probe.main([str(each) for each in files]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "- A 1: 2 of 2 MUST",
        "- B 2: 1 of 2 MUST, 1 broken",
        "",
        "| case | level | A 1 | B 2 |",
        "|---|---|---|---|",
        "| `one` | must | conforms | breaks |",
    ]
