"""The stand-in's administration with Microsoft's client for Python, over HTTPS."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false
from collections.abc import Iterator
from datetime import timedelta

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.servicebus import ServiceBusClient, ServiceBusMessage
from azure.servicebus.management import (
    CorrelationRuleFilter,
    ServiceBusAdministrationClient,
    SqlRuleAction,
    SqlRuleFilter,
    TrueRuleFilter,
)

from amqp_sansio_pytest import ServiceBus


@pytest.fixture
def bus() -> Iterator[ServiceBus]:
    with ServiceBus() as found:
        yield found
    assert found.broker.errors == []


@pytest.fixture
def administration(bus: ServiceBus) -> Iterator[ServiceBusAdministrationClient]:
    made = ServiceBusAdministrationClient.from_connection_string(
        bus.administration_connection_string, connection_verify=bus.certificate, retry_total=0
    )
    with made as client:
        yield client


def test_queues(bus: ServiceBus, administration: ServiceBusAdministrationClient) -> None:
    made = administration.create_queue(
        "orders", lock_duration=timedelta(seconds=30), max_delivery_count=3, requires_session=False
    )
    assert made.lock_duration == timedelta(seconds=30) and made.max_delivery_count == 3
    assert administration.get_queue("orders").name == "orders"
    with pytest.raises(ResourceExistsError):
        administration.create_queue("orders")
    administration.create_queue("more", forward_to="orders")
    assert [each.name for each in administration.list_queues()] == ["orders", "more"]
    client = ServiceBusClient.from_connection_string(bus.connection_string)
    with client, client.get_queue_sender("more") as sender:
        sender.send_messages([ServiceBusMessage("1"), ServiceBusMessage("2")])
    told = administration.get_queue_runtime_properties("orders")
    assert (told.active_message_count, told.total_message_count, told.dead_letter_message_count) == (2, 2, 0)
    administration.delete_queue("orders")
    with pytest.raises(ResourceNotFoundError):
        administration.get_queue("orders")
    with pytest.raises(ResourceNotFoundError):
        administration.delete_queue("orders")


def test_topics_subscriptions_and_rules(administration: ServiceBusAdministrationClient) -> None:
    administration.create_topic("news")
    administration.create_subscription("news", "all", max_delivery_count=5)
    assert [each.name for each in administration.list_topics()] == ["news"]
    assert [each.name for each in administration.list_subscriptions("news")] == ["all"]
    assert administration.get_subscription("news", "all").max_delivery_count == 5
    assert administration.get_topic_runtime_properties("news").subscription_count == 1
    (rule,) = administration.list_rules("news", "all")
    assert rule.name == "$Default" and isinstance(rule.filter, TrueRuleFilter)
    administration.delete_rule("news", "all", "$Default")
    administration.create_rule(
        "news", "all", "sql", filter=SqlRuleFilter("size > 1"), action=SqlRuleAction("SET seen = TRUE")
    )
    administration.create_rule(
        "news", "all", "correlation", filter=CorrelationRuleFilter(label="a", properties={"x": 5, "y": "z"})
    )
    sql, correlation = administration.list_rules("news", "all")
    assert isinstance(sql.filter, SqlRuleFilter) and sql.filter.sql_expression == "size > 1"
    assert isinstance(correlation.filter, CorrelationRuleFilter) and correlation.filter.label == "a"
    assert dict(correlation.filter.properties or {}) == {"x": 5, "y": "z"}
    with pytest.raises(HttpResponseError, match="parse"):
        administration.create_rule("news", "all", "bad", filter=SqlRuleFilter("size >"))
    administration.delete_subscription("news", "all")
    administration.delete_topic("news")
    assert list(administration.list_topics()) == []


def test_updates(bus: ServiceBus, administration: ServiceBusAdministrationClient) -> None:
    queue = administration.create_queue("orders")
    queue.lock_duration = timedelta(seconds=30)
    queue.max_delivery_count = 3
    administration.update_queue(queue)
    assert administration.get_queue("orders").lock_duration == timedelta(seconds=30)
    assert bus.namespace.queues["orders"].store.options.max_delivery_count == 3
    topic = administration.create_topic("news")
    topic.default_message_time_to_live = timedelta(days=1)
    administration.update_topic(topic)
    assert administration.get_topic("news").default_message_time_to_live == timedelta(days=1)
    subscription = administration.create_subscription("news", "all")
    subscription.dead_lettering_on_message_expiration = True
    administration.update_subscription("news", subscription)
    assert administration.get_subscription("news", "all").dead_lettering_on_message_expiration
    rule = administration.get_rule("news", "all", "$Default")
    rule.filter = SqlRuleFilter("size > 1")
    administration.update_rule("news", "all", rule)
    (found,) = administration.list_rules("news", "all")
    assert isinstance(found.filter, SqlRuleFilter) and found.filter.sql_expression == "size > 1"
    queue.requires_session = True
    with pytest.raises(HttpResponseError, match="RequiresSession"):
        administration.update_queue(queue)
    queue.name = "nothing"
    with pytest.raises(ResourceNotFoundError):
        administration.update_queue(queue)
