"""The stand-in for Event Hubs with Microsoft's clients of other languages, unmodified: each row of their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from amqp_sansio_azure.eventhubs.partition_keys import partition_of
from amqp_sansio_pytest import EventHubs
from tests.interop.brokers.azure_sdks import EVENT_HUBS, Sdk

NAMES: Final[dict[str, dict[str, Any]]] = {
    "go": {
        "stolen": "ownershiplost",
        "missing": "amqp:not-found",
        "no hub": "status 404",
        "no partition": "connlost",
        "partition": "com.microsoft:argument-out-of-range",
    },
    "java": {
        "stolen": "LINK_STOLEN",
        "missing": "NOT_FOUND",
        "no hub": "NOT_FOUND",
        "no partition": "IllegalArgumentException",
        "partition": "ARGUMENT_OUT_OF_RANGE_ERROR",
    },
}
"""What each SDK calls the service's errors."""
SAMPLES: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "properties": lambda _: {"hub": ["clicks", ["0", "1"], True], "empty": [True, -1, "-1"], "filled": [False, 0, 0]},
    "sending": lambda _: {
        "bodies": ["at 1", "keyed", "too"],
        "key": "alphabet",
        "event": [{"n": 1}, "m1", "text/plain", 0],
        "where": str(partition_of("alphabet", 2)),
    },
    # Events of one millisecond: a time may find all of them.
    "positions": lambda _: {"after": ["c"], "from": ["b", "c"], "offset": ["c"], "time": ["b", "c"]},
    "latest": lambda _: ["new"],
    "levels": lambda names: [names["stolen"], True, ["x"]],
    "errors": lambda names: {
        "hub": names["no hub"],
        "send": names["missing"],
        "partition": names["no partition"],
        "sendPartition": names["partition"],
        "after": "nothing",
        "group": names["missing"],
    },
    "balance": lambda _: {
        "both": [10, 10],
        "before": [f"{number:02}" for number in range(20)],
        "after": ["later 0", "later 1"],
    },
}
"""What a program finds, by the names of its SDK."""


@pytest.fixture(scope="module", params=EVENT_HUBS)
def sdk(request: pytest.FixtureRequest) -> Iterator[tuple[str, Sdk]]:
    started = EVENT_HUBS[request.param]()
    yield request.param, started
    started.stop()


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(sdk: tuple[str, Sdk], event_hubs: EventHubs, name: str) -> None:
    language, program = sdk
    event_hubs.hub("clicks", partitions=2, consumer_groups=["audit"])
    told = program.run(name, event_hubs.port, event_hubs.clock.advance)
    if name == "positions":
        told["time"] = told["time"][-2:]
    assert told == SAMPLES[name](NAMES[language])
