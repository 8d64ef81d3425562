"""Plots as PNG, where matplotlib is installed, and what is said where it isn't."""

import sys
from functools import cache

import pytest

from amqp_sansio_report import Report, gather_segments
from amqp_sansio_report.charts import charts
from tests.kit.captures import named
from tests.report.making import segments_in


@cache
def report() -> Report:
    names = ("o091_pika_nack_reject_requeue.pcap", "o091_pika_blocked.pcap", "o10_proton_proton_basic.pcap")
    return Report(gather_segments(segments_in([named(name) for name in names])))


LOOKS_FOR_FONTS = pytest.mark.real("on a new machine, the first import of matplotlib looks for fonts beside a thread")


@LOOKS_FOR_FONTS
def test_a_chart_becomes_a_png() -> None:
    """One of each kind; tests/system/report draws all of them."""
    pytest.importorskip("matplotlib", reason="needs the extra `plots`")
    assert {"connections", "messages", "latency", "latency-publish", "unsettled", "sizes", "holder-1"} <= set(
        report().plots
    )
    for name in ("connections", "sizes"):
        check_png(name)


def check_png(name: str) -> None:
    octets = report().plot(name)
    assert octets.startswith(b"\x89PNG\r\n\x1a\n"), name
    width = int.from_bytes(octets[16:20])
    assert width > 1000
    assert len(octets) > 5_000, name


@LOOKS_FOR_FONTS
def test_a_chart_is_drawn_the_same_twice_and_says_when_it_is_empty() -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `plots`")
    assert report().plot("messages") == report().plot("messages")
    empty = Report(gather_segments([]))
    assert empty.plots == []
    assert empty.plot("messages").startswith(b"\x89PNG")
    with pytest.raises(KeyError):
        report().plot("no-such-plot")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(ImportError, match=r"pip install 'amqp-sansio\[plots\]'"):
        report().plot("messages")
    assert report().html  # the page needs none of it


def test_charts_have_what_the_page_shows() -> None:
    shown = {name for name, chart in charts(report().gather).items() if not chart.empty}
    for name in shown:
        assert f'id="chart-{name}"' in report().html, name
