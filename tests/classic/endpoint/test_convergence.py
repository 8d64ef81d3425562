"""Convergence: whatever two endpoints do to each other, closing leaves both at their end with nothing open."""

from __future__ import annotations

from hypothesis import given

from amqp_sansio import (
    By,
    CloseHint,
    Failed,
    Observed,
    Observer,
    Signal,
    Skipped,
    Version,
    Violation,
)
from tests.kit.driving import OPERATIONS, VERSIONS, Driver, Operation
from tests.kit.pair import SIDES


@given(VERSIONS, OPERATIONS)
def test_both_ends_come_to_rest(version: Version, operations: list[Operation]) -> None:
    driver = Driver(version)
    for operation in operations:
        driver.apply(operation)
    driver.finish()
    for side in SIDES:
        end = driver.pair.ends[side]
        assert end.report is not None
        assert end.next_deadline is None
        assert end.channels == ()
        assert end.unanswered == ()
        assert end.close_hint is not CloseHint.KEEP
        assert end.state.name == "END"
        failures = [event for event in driver.pair.events[side] if isinstance(event, Failed)]
        assert not [event for event in failures if event.by is By.LOCAL], failures


@given(VERSIONS, OPERATIONS)
def test_somebody_who_watches_finds_nothing_wrong(version: Version, operations: list[Operation]) -> None:
    """What two endpoints do, races included, is no violation to an observer beside them."""
    observer = Observer(client="client")
    driver = Driver(version, observer=observer)
    for operation in operations:
        driver.apply(operation)
    driver.finish()
    observer.finish(round(driver.pair.now * 1_000_000_000))
    units: list[Observed] = []
    while not isinstance(event := observer.next_event(), Signal):
        assert not isinstance(event, Violation | Skipped), event
        if isinstance(event, Observed):
            units.append(event)
    sent = sum([len(octets) for octets in driver.pair.sent.values()])
    assert sum([unit.size for unit in units]) == sent
    assert "connection.close-ok" in [unit.event for unit in units]
