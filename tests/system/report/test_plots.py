"""Every chart of a report is drawn."""

import pytest

from tests.report.test_plots import check_png, report


def test_every_chart_becomes_a_png() -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `plots`")
    assert len(report().plots) > 6
    for name in report().plots:
        check_png(name)
