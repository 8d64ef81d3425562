"""A broker goes on from a snapshot that was taken at any step."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker import test_hub_properties
from tests.broker.test_hub_isolation import SHORT, goes_on_from_snapshots
from tests.broker.test_hub_properties import Step
from tests.broker.test_hub_properties import steps as steps


def test_a_snapshot_goes_on_as_the_broker_would(steps: list[Step]) -> None:
    test_hub_properties.test_a_snapshot_goes_on_as_the_broker_would(steps, 1)


@settings(max_examples=6)
@given(octets=SHORT, every=st.integers(3, 11))
def test_a_snapshot_among_hostile_clients_goes_on_as_the_hub_would(octets: bytes, every: int) -> None:
    goes_on_from_snapshots(octets, every)
