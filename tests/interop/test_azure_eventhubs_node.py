"""@azure/event-hubs for JavaScript, unmodified, with the stand-in for Event Hubs."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio_azure.eventhubs.partition_keys import partition_of
from amqp_sansio_pytest import EventHubs, HubView
from tests.interop.brokers.node_clients import AZURE_EVENT_HUBS


@pytest.fixture
def hub(event_hubs: EventHubs) -> HubView:
    return event_hubs.hub("clicks", partitions=2, consumer_groups=["audit"])


def run(event_hubs: EventHubs, scenario: str) -> Any:
    return AZURE_EVENT_HUBS.run(event_hubs.port, scenario)


@pytest.mark.usefixtures("hub")
class TestClicks:
    def test_properties(self, event_hubs: EventHubs) -> None:
        assert run(event_hubs, "properties") == {
            "hub": ["clicks", ["0", "1"], True],
            "empty": [True, -1, "-1"],
            "filled": [False, 0, 0],
        }

    def test_sending_and_receiving(self, event_hubs: EventHubs) -> None:
        assert run(event_hubs, "sending") == {
            "size": 1024 * 1024,
            "bodies": ['"at 1"', '"keyed"', '{"a":[1,2]}'],
            "key": "alphabet",
            "event": [{"n": 1}, "m1", "text/plain", 0],
            "last": 1,
            "where": str(partition_of("alphabet", 2)),
        }

    def test_positions(self, event_hubs: EventHubs) -> None:
        told = run(event_hubs, "positions")
        # Events of one millisecond: a time may find all of them.
        assert told.pop("time")[-2:] == ["b", "c"]
        assert told == {"after": ["c"], "from": ["b", "c"], "offset": ["c"]}

    def test_only_new_events(self, event_hubs: EventHubs) -> None:
        assert run(event_hubs, "latest") == ["new"]

    def test_owner_levels(self, event_hubs: EventHubs) -> None:
        assert run(event_hubs, "levels") == ["ReceiverDisconnectedError", True, ["x"]]

    def test_errors(self, event_hubs: EventHubs) -> None:
        assert run(event_hubs, "errors") == {
            "hub": "MessagingEntityNotFoundError",
            "send": "MessagingEntityNotFoundError",
            "partition": "ArgumentOutOfRangeError",
            "sendPartition": "ArgumentOutOfRangeError",
            "after": "nothing",
            "group": "MessagingEntityNotFoundError",
        }

    def test_a_buffering_producer_chooses_as_the_service_does(self, event_hubs: EventHubs) -> None:
        assert run(event_hubs, "buffered") == []
        for number in (0, 1):
            found = sorted([str(each.body) for each in event_hubs.hub("clicks").events(str(number))])
            keys = [f"key-{key}" for key in range(20)]
            assert found == sorted([str(f'"{each}"'.encode()) for each in keys if partition_of(each, 2) == number])
