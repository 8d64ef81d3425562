"""No misuse damage: a command that raises has changed nothing and queued nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Side
from tests.kit.facing_0_10 import Play
from tests.kit.wire_0_10 import CLIENT, SERVER


@given(
    st.binary(min_size=300, max_size=1200),
    st.sampled_from([CLIENT, SERVER]),
    st.booleans(),
    st.sampled_from([None, 0, 200]),
)
def test_whatever_raises_leaves_the_snapshot_as_it_was(
    octets: bytes, side: Side, reads: bool, above: int | None
) -> None:
    Play(octets, side, reads=reads, check=True, above=above).run()
