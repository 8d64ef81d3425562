"""Chunking: however the same octets are cut, the same events, octets and deadlines come of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Version
from tests.kit.driving import OPERATIONS, VERSIONS, Driver, Operation
from tests.kit.pair import pieces

SIZES = st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)


@given(VERSIONS, OPERATIONS, SIZES, st.booleans())
def test_cuts_make_no_difference(
    version: Version, operations: list[Operation], sizes: list[int], damage: bool
) -> None:
    whole = Driver(version, opened=False, damage=damage)
    cut = Driver(version, opened=False, damage=damage, chunks=pieces(*sizes))
    for operation in [(0, 0, 0), *operations]:
        whole.apply(operation)
        cut.apply(operation)
        assert cut.trace() == whole.trace()
    whole.finish()
    cut.finish()
    assert cut.trace() == whole.trace()


@given(VERSIONS, OPERATIONS)
def test_octet_by_octet_is_the_same(version: Version, operations: list[Operation]) -> None:
    whole, cut = Driver(version), Driver(version, chunks=pieces(1))
    for operation in operations:
        whole.apply(operation)
        cut.apply(operation)
    whole.finish()
    cut.finish()
    assert cut.trace() == whole.trace()
