"""The clock of what reads captures in this process is given: no test here asks the machine for the time."""

from __future__ import annotations

import pytest

from tests.kit.given_clock import GivenClock


@pytest.fixture
def reading_clock(monkeypatch: pytest.MonkeyPatch) -> GivenClock:
    """The time by which reading is measured, and files are judged as closed; it stands still until a test sets it."""
    clock = GivenClock()
    monkeypatch.setattr("amqp_sansio_spark.pieces.perf_counter", clock.time)
    monkeypatch.setattr("amqp_sansio_spark.stream_source.time", clock)
    return clock
