"""Handles: each is ended exactly once, by an event or at once, whatever happens to its connection."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Closed, Version
from tests.support.driving import OPERATIONS, VERSIONS, Driver, Operation
from tests.support.pair import SIDES


@given(VERSIONS, OPERATIONS, st.booleans(), st.booleans())
def test_every_handle_ends_once(
    version: Version, operations: list[Operation], damage: bool, cut: bool
) -> None:
    driver = Driver(version, damage=damage)
    for operation in operations:
        driver.apply(operation)
    if cut:
        driver.cut()
    driver.finish()
    check_ends(driver)


def check_ends(driver: Driver) -> None:
    """Every handle is done and was ended by one event, or by none when it needed no answer."""
    for side in SIDES:
        endings = driver.endings(side)
        for handle in driver.handles[side]:
            assert handle.done, handle
            at_once = handle.error is None and handle.result is None
            assert endings[handle.key] == (0 if at_once else 1), handle
        assert max(endings.values(), default=1) == 1
        events = driver.pair.events[side]
        assert isinstance(events[-1], Closed)
        assert events[-1].channel == 0
        assert [event.channel for event in events if isinstance(event, Closed)].count(0) == 1
