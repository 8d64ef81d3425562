"""Chunking: however the same octets are cut, the same events, octets and deadlines come of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.kit.driving_1_0 import OPERATIONS, Driver, Operation
from tests.kit.pair_1_0 import pieces

SIZES = st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)


@given(OPERATIONS, SIZES, st.booleans(), st.booleans())
def test_cuts_make_no_difference(
    operations: list[Operation], sizes: list[int], damage: bool, opened: bool
) -> None:
    whole = Driver(opened=opened, damage=damage)
    cut = Driver(opened=opened, damage=damage, chunks=pieces(*sizes))
    for operation in operations:
        whole.apply(operation)
        cut.apply(operation)
        assert cut.trace() == whole.trace()
    whole.finish()
    cut.finish()
    assert cut.trace() == whole.trace()


@given(OPERATIONS)
def test_octet_by_octet_is_the_same(operations: list[Operation]) -> None:
    whole, cut = Driver(), Driver(chunks=pieces(1))
    for operation in operations:
        whole.apply(operation)
        cut.apply(operation)
    whole.finish()
    cut.finish()
    assert cut.trace() == whole.trace()
