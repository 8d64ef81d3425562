"""A page about a hundred captures is bounded."""

import pytest

from amqp_sansio_report import Bounds
from amqp_sansio_report.report import report_segments
from tests.kit.captures import BIG
from tests.report.making import Outline, segments_in


def test_a_page_about_many_captures_is_bounded() -> None:
    if not BIG.is_dir():
        pytest.skip(f"the big set of captures isn't there: {BIG}")
    paths = [path for path in sorted(BIG.glob("*.pcap")) if "d_" not in path.name]
    html = report_segments(segments_in(paths), Bounds(diagrams=30, frames=5000)).html
    assert 300_000 < len(html) < 3_000_000
    Outline(html)
