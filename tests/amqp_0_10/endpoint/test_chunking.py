"""Chunking: however the same octets are cut, the same events, octets and deadlines come of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Side
from tests.amqp_0_10.endpoint.test_exactly_once import play
from tests.kit.facing_0_10 import Play
from tests.kit.pair_0_10 import SIDES, pieces, told
from tests.kit.wire_0_10 import CLIENT, SERVER

SIZES = st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)


@given(
    st.binary(min_size=300, max_size=900),
    SIZES,
    st.sampled_from([CLIENT, SERVER]),
    st.sampled_from([None, 0, 200]),
)
def test_cuts_make_no_difference(
    octets: bytes, sizes: list[int], side: Side, above: int | None
) -> None:
    whole = Play(octets, side, above=above)
    cut = Play(octets, side, above=above, chunks=pieces(*sizes))
    whole.run()
    cut.run()
    assert cut.trace == whole.trace


@given(st.binary(min_size=200, max_size=500), SIZES)
def test_cuts_make_no_difference_between_two_ends(octets: bytes, sizes: list[int]) -> None:
    whole, cut = play(octets), play(octets, pieces(*sizes))
    assert len(whole.pairs) == len(cut.pairs)
    for one, other in zip(whole.pairs, cut.pairs, strict=True):
        for side in SIDES:
            assert one.sent[side] == other.sent[side]
            assert [told(event) for event in one.events[side]] == [
                told(event) for event in other.events[side]
            ]
