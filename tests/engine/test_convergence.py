"""Convergence: whatever two endpoints do to each other, closing leaves both at their end with nothing open."""

from __future__ import annotations

from hypothesis import given

from amqp_sansio import By, CloseHint, Failed, Version
from tests.support.driving import OPERATIONS, VERSIONS, Driver, Operation
from tests.support.pair import SIDES


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
