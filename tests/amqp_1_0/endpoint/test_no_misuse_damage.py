"""No misuse damage: a command that raises has changed nothing and queued nothing."""

from __future__ import annotations

from hypothesis import given

from tests.kit.driving_1_0 import OPERATIONS, Driver, Operation


@given(OPERATIONS)
def test_whatever_raises_leaves_the_snapshot_as_it_was(operations: list[Operation]) -> None:
    driver = Driver(check_misuse=True)
    for operation in operations:
        driver.apply(operation)
