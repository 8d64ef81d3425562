"""What most tests of the broker's model begin with."""

import pytest

from tests.kit.broker_model import Model
from tests.kit.broker_topology import Topology


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def topology() -> Topology:
    return Topology()
