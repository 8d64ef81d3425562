"""No misuse damage: a command that raises has changed nothing and queued nothing."""

from __future__ import annotations

from hypothesis import given

from amqp_sansio import Version
from tests.kit.driving import OPERATIONS, VERSIONS, Driver, Operation


@given(VERSIONS, OPERATIONS)
def test_whatever_raises_leaves_the_snapshot_as_it_was(
    version: Version, operations: list[Operation]
) -> None:
    driver = Driver(version, check_misuse=True)
    for operation in operations:
        driver.apply(operation)
