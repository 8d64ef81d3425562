"""Faults that can't be: what their arguments may be."""

from typing import Any

import pytest

from tests.kit.held_broker import HeldBroker


def test_a_cut_needs_octets(amqp_broker: HeldBroker) -> None:
    with pytest.raises(ValueError, match="-1"):
        amqp_broker.faults.cut_after(-1)
    sideways: Any = "sideways"
    with pytest.raises(ValueError, match="direction"):
        amqp_broker.faults.drop(sideways)
    with pytest.raises(ValueError, match="on is"):
        amqp_broker.faults.drop(on=sideways)
    with pytest.raises(ValueError, match="delayed"):
        amqp_broker.faults.delay(-1)
