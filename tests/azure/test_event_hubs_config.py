"""Configurations of the Event Hubs emulator: what is made of them, and what can't be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio_azure.eventhubs import EventHubsNamespace, load_config
from amqp_sansio_azure.eventhubs.config import ConfigError


def config(*entities: dict[str, Any], name: Any = "emulatorNs1") -> dict[str, Any]:
    """A configuration with these entities."""
    namespace = {"Type": "EventHub", "Name": name, "Entities": list(entities)}
    return {"UserConfig": {"NamespaceConfig": [namespace], "LoggingConfig": {"Type": "File"}}}


def test_hubs_have_their_partitions_and_groups() -> None:
    namespace = EventHubsNamespace("other")
    load_config(
        namespace,
        config(
            {"Name": "eh1", "PartitionCount": "2", "ConsumerGroups": [{"Name": "cg1"}, {"Name": "$Default"}]},
            {"Name": "eh2", "PartitionCount": 4},
            {"Name": "eh3"},
        ),
    )
    assert namespace.name == "emulatorNs1"
    assert {name: len(hub.partitions) for name, hub in namespace.hubs.items()} == {"eh1": 2, "eh2": 4, "eh3": 1}
    assert [each.name for each in namespace.hubs["eh1"].groups.values()] == ["$Default", "cg1"]


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "Config.json"
    file.write_text("\ufeff" + json.dumps(config({"Name": "eh1", "PartitionCount": 2}, name=None)), encoding="utf-8")
    namespace = EventHubsNamespace("kept")
    load_config(namespace, file)
    assert (namespace.name, list(namespace.hubs)) == ("kept", ["eh1"])
    file.write_text("{")
    with pytest.raises(ConfigError, match="is no JSON"):
        load_config(namespace, str(file))


@pytest.mark.parametrize(
    "found,said",
    [
        ({}, "has no namespace"),
        ({"UserConfig": []}, "has no namespace"),
        ({"UserConfig": {"NamespaceConfig": {}}}, "has no namespace"),
        ({"UserConfig": {"NamespaceConfig": "x"}}, "NamespaceConfig is no array"),
        (config({}), "an event hub has no Name"),
        (config({"Name": "a/b"}), "'a/b' is no name"),
        (config({"Name": "a", "PartitionCount": "many"}), "PartitionCount 'many' is no number"),
        (config({"Name": "a", "PartitionCount": True}), "PartitionCount True is no number"),
        (config({"Name": "a", "PartitionCount": 0}), "from 1 to 1024 partitions"),
        (config({"Name": "a"}, {"Name": "A"}), "there already"),
        (config({"Name": "a", "ConsumerGroups": [{}]}), "a consumer group has no Name"),
        (config({"Name": "a", "ConsumerGroups": {"x": 1}}), "ConsumerGroups is no array"),
    ],
)
def test_what_cannot_be_made_is_named(found: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_config(EventHubsNamespace(), found)
