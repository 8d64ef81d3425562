"""What the numbers and states of a connection's two halves mean."""

from __future__ import annotations

from typing import Final

import pytest

from amqp_sansio import Limits
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.model.connection import ConnectionModel
from amqp_sansio.amqp_1_0.model.link_state import CLIENT, SERVER
from amqp_sansio.amqp_1_0.model.states import Connection, connection_state

MASK: Final = 0xFFFF_FFFF
NAMED: Final = {
    "START": (0, 0),
    "HDR_RCVD": (0, 1),
    "HDR_SENT": (1, 0),
    "HDR_EXCH": (1, 1),
    "OPEN_RCVD": (1, 2),
    "OPEN_PIPE": (2, 0),
    "OPEN_SENT": (2, 1),
    "OPENED": (2, 2),
    "CLOSE_RCVD": (2, 3),
    "OC_PIPE": (3, 0),
    "CLOSE_PIPE": (3, 1),
    "CLOSE_SENT": (3, 2),
    "END": (3, 3),
}
"""How many of header, open and close each state has seen sent by this peer and by the other (part 2 section 2.4.6)."""


@pytest.mark.parametrize("other", range(4))
@pytest.mark.parametrize("own", range(4))
def test_a_state_without_a_name_has_that_of_the_last_one_on_the_way(own: int, other: int) -> None:
    """The peer has pipelined: what it sent too early counts as not sent yet."""
    states = list(Connection)
    names = {sent: name for name, sent in NAMED.items()}
    last = max(sent for sent in range(other + 1) if (own, sent) in names)
    assert connection_state(states[own], states[other]) == names[own, last]


@pytest.mark.rule("1.0/transport/session.window/on-flow-compute")
@pytest.mark.parametrize("window", [0, 1, 7])
@pytest.mark.parametrize("initial", [0, 1, 5, 1 << 31, MASK - 1, MASK])
@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_a_window_without_a_number_counts_from_the_first_transfer(side: int, initial: int, window: int) -> None:
    """Whatever has been sent since: who tells it hasn't seen the begin yet, which says that number."""
    model = ConnectionModel(Limits())
    for half in model.halves:
        half.assume_open()
    model.begin(1 - side, 0, spec.Begin(None, 9, incoming_window=100, outgoing_window=100))
    model.begin(side, 0, spec.Begin(0, initial, incoming_window=100, outgoing_window=100))
    sent = model.halves[side].channels[0].halves[side]
    sent.skip_transfer()
    model.flow(1 - side, 0, spec.Flow(None, window, 9, 100))
    assert sent.window_limit == (initial + window) & MASK
