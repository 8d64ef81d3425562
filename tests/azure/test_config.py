"""The emulator's configuration file: entities, options, rules, durations, and what is wrong in one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio_azure.servicebus import CorrelationFilter, Options, ServiceBusNamespace, SqlFilter, Subscription
from amqp_sansio_azure.servicebus.config import ConfigError, duration, load_config, options_of

QUEUE = {
    "Name": "queue.1",
    "Properties": {
        "DeadLetteringOnMessageExpiration": True,
        "DefaultMessageTimeToLive": "PT1H",
        "DuplicateDetectionHistoryTimeWindow": "PT20S",
        "ForwardDeadLetteredMessagesTo": "",
        "ForwardTo": "",
        "LockDuration": "PT30S",
        "MaxDeliveryCount": 3,
        "RequiresDuplicateDetection": True,
        "RequiresSession": False,
    },
}
TOPIC = {
    "Name": "topic.1",
    "Properties": {"DefaultMessageTimeToLive": "PT1H", "RequiresDuplicateDetection": False},
    "Subscriptions": [
        {
            "Name": "by.id",
            "Properties": {"LockDuration": "PT1M", "RequiresSession": True},
            "Rules": [
                {
                    "Name": "app-prop-filter-1",
                    "Properties": {
                        "FilterType": "Correlation",
                        "CorrelationFilter": {
                            "ContentType": "application/text",
                            "CorrelationId": "id1",
                            "Label": "subject1",
                            "Properties": {"prop1": "value1"},
                        },
                    },
                }
            ],
        },
        {
            "Name": "by.sql",
            "Rules": [
                {
                    "Name": "user-prop-filter-1",
                    "Properties": {
                        "FilterType": "Sql",
                        "SqlFilter": {"SqlExpression": "sys.MessageId = '123456' AND userProp1 = 'value1'"},
                        "Action": {"SqlExpression": "SET sys.To = 'Entity'"},
                    },
                }
            ],
        },
        {"Name": "every"},
    ],
}


def config(queues: Any = (), topics: Any = ()) -> dict[str, Any]:
    return {
        "UserConfig": {
            "Namespaces": [{"Name": "sbemulatorns", "Queues": list(queues), "Topics": list(topics)}],
            "Logging": {"Type": "File"},
        }
    }


def test_a_file_s_entities_are_made(tmp_path: Path) -> None:
    path = tmp_path / "Config.json"
    path.write_text(json.dumps(config([QUEUE], [TOPIC])), encoding="utf-8-sig")
    namespace = ServiceBusNamespace("other")
    load_config(namespace, path)
    assert namespace.name == "sbemulatorns"
    assert namespace.queues["queue.1"].store.options == Options(
        lock_duration=30.0, max_delivery_count=3, default_ttl=3600.0, dead_letters_expired=True, duplicate_window=20.0
    )
    stores = [namespace.queues[f"topic.1/subscriptions/{name}"].store for name in ("by.id", "by.sql", "every")]
    by_id, by_sql, every = [each for each in stores if isinstance(each, Subscription)]
    assert by_id.options.requires_session and by_id.options.lock_duration == 60.0
    (rule,) = by_id.rules.values()
    assert isinstance(rule.filter, CorrelationFilter)
    assert rule.filter.fields == {"content_type": "application/text", "correlation_id": "id1", "subject": "subject1"}
    assert rule.filter.properties == {"prop1": "value1"}
    (rule,) = by_sql.rules.values()
    assert isinstance(rule.filter, SqlFilter) and rule.action is not None
    assert list(every.rules) == ["$Default"]


@pytest.mark.parametrize(
    "text,seconds",
    [
        ("PT1M", 60),
        ("PT0.5S", 0.5),
        ("P1D", 86_400),
        ("P1DT1H1M1S", 90_061),
        ("PT48H", 172_800),
        ("P10675199D", 9.2e11),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize("text", ["", "P", "PT", "1M", "P1M", "PT1", "P1DT", "PT-1S", "x" * 100])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ConfigError, match="no duration"):
        duration(text)


def test_the_longest_time_to_live_is_none() -> None:
    assert options_of({"DefaultMessageTimeToLive": "P10675199DT2H48M5.4775807S"}).default_ttl is None


WRONG: list[tuple[Any, str]] = [
    ([], "the file is no object"),
    ({}, "UserConfig is no object"),
    ({"UserConfig": {}}, "no namespace"),
    ({"UserConfig": {"Namespaces": {}}}, "no namespace"),
    ({"UserConfig": {"Namespaces": 7}}, "is no array"),
    (config([7]), "an entry of Queues is no object"),
    (config([{}]), "no Name"),
    (config([{"Name": "a$b"}]), "queue 'a\\$b': entity name"),
    (config([QUEUE, QUEUE]), "already exists"),
    (config([{"Name": "q", "Properties": {"LockDuration": 60}}]), "queue 'q': LockDuration: 60 is no duration"),
    (config([{"Name": "q", "Properties": {"LockDuration": "1 minute"}}]), "'1 minute' is no duration"),
    (config([{"Name": "q", "Properties": {"MaxDeliveryCount": "3"}}]), "MaxDeliveryCount: '3' is no int"),
    (config([{"Name": "q", "Properties": {"MaxDeliveryCount": True}}]), "is no int"),
    (config([{"Name": "q", "Properties": {"RequiresSession": 1}}]), "is no bool"),
    (
        config((), [{"Name": "t", "Subscriptions": [{"Name": "s", "Rules": [{"Name": "r"}]}]}]),
        "topic 't': subscription 's': rule 'r': an expression has",
    ),
    (
        config(
            (),
            [
                {
                    "Name": "t",
                    "Subscriptions": [{"Name": "s", "Rules": [{"Name": "r", "Properties": {"FilterType": "No"}}]}],
                }
            ],
        ),
        "FilterType 'no'",
    ),
]


@pytest.mark.parametrize("found,words", WRONG)
def test_what_is_wrong_is_said_with_its_place(found: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "Config.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        load_config(ServiceBusNamespace(), path)


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "Config.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match="is no JSON"):
        load_config(ServiceBusNamespace(), path)
