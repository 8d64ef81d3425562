"""Each client program of README and the guides gets a bare message, a dead reply address, a lost connection and a
refused publish: it survives, or ends with an error of the library that it can't go on from.

The table is generated from the pages: who adds a program that connects names it in tests/kit/doc_programs.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from amqp_sansio.errors import NotAccepted
from tests.kit import doc_programs
from tests.kit.doc_programs import DEAD_REPLY, ELSEWHERE, PROGRAMS, DocProgram, blocks_of
from tests.test_layout import ROOT

CONNECTS: Final = re.compile(r"\bconnect(?:_blocking)?\(")
CUTS: Final = 6
"""Steps at which a program's connection is cut, one in each run; tests/system/docs cuts it at every step."""
QUIET: Final = {
    "connecting-2": "its channel has no confirms",
    "logging-0": "its channel has no confirms",
    "index-2": "it shows a recording, and takes no notice of the outcome",
    "workers-0": "what it was asked goes to the dead letters",
    "workers-1": "what it was asked goes to the dead letters",
    "workers-2": "its channel has no confirms: the time for an answer passes",
}
"""Programs that say nothing of a refused publish, and why."""


def named(programs: Iterator[DocProgram]) -> pytest.MarkDecorator:
    found = [*programs]
    return pytest.mark.parametrize("given", found, ids=[each.name for each in found])


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_program_of_the_pages_that_connects_is_in_the_table() -> None:
    pages = ["README.md", *[str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")]]
    there = {(page, number) for page in pages for number, block in enumerate(blocks_of(page)) if CONNECTS.search(block)}
    here = {(each.page, each.number) for each in PROGRAMS}
    assert here | set(ELSEWHERE) == there
    assert not here & set(ELSEWHERE)


def test_a_program_without_a_hazard_has_a_row_that_fits(capsys: pytest.CaptureFixture[str]) -> None:
    for each in PROGRAMS:
        assert doc_programs.plain(each) > 0
        assert not each.replies or each.takes
        assert bool(each.good) is bool(each.takes)


@named(each for each in PROGRAMS if each.takes)
def test_a_bare_message(given: DocProgram) -> None:
    doc_programs.bare(given)


@pytest.mark.parametrize("address", DEAD_REPLY)
@named(each for each in PROGRAMS if each.replies)
def test_a_dead_reply_address(given: DocProgram, address: str) -> None:
    doc_programs.dead_reply(given, DEAD_REPLY[address])


@named(iter(PROGRAMS))
def test_a_lost_connection(given: DocProgram) -> None:
    steps = doc_programs.plain(given)
    assert any([doc_programs.lost(given, step) for step in range(0, steps, max(1, steps // CUTS))])


@named(each for each in PROGRAMS if each.publishes)
def test_a_refused_publish(given: DocProgram, capsys: pytest.CaptureFixture[str]) -> None:
    error = doc_programs.refused(given)
    is_told = isinstance(error, NotAccepted) or "Rejected(" in capsys.readouterr().out
    assert is_told is (given.name not in QUIET)


@pytest.mark.large
def test_a_program_that_does_not_survive_is_found() -> None:
    """The table judges: a consumer that takes each message for JSON, and one that settles what is stale."""
    (given,) = [each for each in PROGRAMS if each.name == "index-1"]
    fragile = given._replace(page="docs/simulate.md", number=4, run=_broken)
    with pytest.raises(AssertionError, match="JSONDecodeError"):
        doc_programs.bare(fragile._replace(takes="jobs", declares=("jobs",), publishes=False))


def _broken(names: dict[str, object]) -> None:
    from amqp_sansio_sync import connect

    with connect(doc_programs.URL) as connection, connection.open_channel() as channel:
        next(channel.consume("jobs")).json()
