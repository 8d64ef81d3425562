"""The first finding about a situation names its cause, with the connection and what it is about."""

from __future__ import annotations

import pytest

from amqp_sansio_report.findings import findings
from amqp_sansio_report.report import gather_segments
from tests.kit.situations import SITUATIONS, Situation


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_the_first_finding_names_the_cause(situation: Situation) -> None:
    found = findings(gather_segments(situation.record()))
    told = [f"{one.level}: {one.text}: {one.more}" for one in found]
    assert found and found[0].text.startswith(situation.text), told
    for word in situation.words:
        assert word in found[0].more, told
