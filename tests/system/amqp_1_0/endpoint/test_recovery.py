"""Links that outlive their connections: the transport is cut at every octet."""

import pytest

from amqp_sansio import Side
from tests.amqp_1_0.endpoint.test_recovery import LENGTHS, MODES, check_cuts


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", LENGTHS)
def test_one_cut_at_every_octet(mode: str, direction: Side) -> None:
    """Each octet of either direction once, in a transfer of messages of one and of many frames."""
    check_cuts(mode, direction, range(LENGTHS[direction]))
