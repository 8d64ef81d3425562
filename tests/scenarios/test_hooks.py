"""Hooks see what is published, delivered and settled, in every version; OpenTelemetry's context travels by them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.client.hooks import Delivering, Hooks, Publishing, Settling
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import World
from tests.test_layout import ROOT

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
OWN = {"own": 5}


class Seen:
    """What the hooks of a connection were told."""

    def __init__(self) -> None:
        self.published: list[Publishing] = []
        self.delivered: list[Delivering] = []
        self.settled: list[Settling] = []

    def hooks(self) -> Hooks:
        return Hooks(on_publish=self.publish, on_deliver=self.deliver, on_settle=self.settled.append)

    def publish(self, message: Publishing) -> Mapping[str, Any]:
        self.published.append(message)
        return {"number": len(self.published)}

    def deliver(self, message: Delivering) -> int:
        self.delivered.append(message)
        return len(self.delivered)


async def publish(connection: Any, version: Version, queue: str, headers: Mapping[str, Any]) -> None:
    """Publish four messages, the first with headers."""
    for number in range(4):
        own: Any = headers if number == 0 else None
        if version is AMQP_1_0:
            async with connection.open_session() as session, session.open_sender(queue) as sender:
                await sender.send_text(f"{number}", application_properties=own)
        elif version is AMQP_0_10:
            async with connection.open_session() as session:
                await session.publish_text(f"{number}", "", queue, headers=own)
        else:
            async with connection.open_channel() as channel:
                properties = BasicProperties(headers=own) if own else None
                await channel.publish_text(f"{number}", routing_key=queue, properties=properties)


async def take(connection: Any, version: Version, queue: str) -> list[Any]:
    """Take four messages: accept two, reject and release one."""
    found: list[Any] = []
    if version is AMQP_1_0:
        session = await connection.open_session()
        source = await session.open_receiver(queue)
    elif version is AMQP_0_10:
        session = await connection.open_session()
        source = await session.subscribe(queue)
    else:
        channel = await connection.open_channel()
        source = channel.consume(queue, consumer_tag="me")
    async for delivery in source:
        number = int(delivery.text)
        found.append(delivery)
        if number in (0, 3):
            await delivery.accept()
        elif number == 1:
            await delivery.reject()
        else:
            await delivery.release()
        if len(found) == 4:
            break
    return found


async def talk(world: World, broker: ScriptedBroker, version: Version, hooks: Hooks | None) -> list[Any]:
    """Publish and take messages on a connection; what was taken."""
    broker.fill("jobs")
    opening: Any = world.connect(broker.url, version, hooks=hooks)
    async with opening as connection:
        await publish(connection, version, "jobs", OWN)
        return await take(connection, version, "jobs")


@each_version
async def test_hooks_see_every_message_of_a_connection(world: World, broker: ScriptedBroker, version: Version) -> None:
    seen = Seen()
    deliveries = await talk(world, broker, version, seen.hooks())
    assert [each.headers for each in seen.published] == [OWN, {}, {}, {}]
    place = ("jobs", "") if version is AMQP_1_0 else ("", "jobs")
    assert {(each.destination, each.routing_key) for each in seen.published} == {place}
    assert [each.headers["number"] for each in seen.delivered] == [1, 2, 3, 4]
    assert seen.delivered[0].headers["own"] == OWN["own"]
    assert [each.delivery.text for each in seen.delivered] == [each.text for each in deliveries]
    assert world.has_threads or [each.delivery for each in seen.delivered] == deliveries
    sources = {AMQP_1_0: "jobs", AMQP_0_10: "subscription-1"}
    assert {each.source for each in seen.delivered} == {sources.get(version, "me")}
    assert [each.context for each in deliveries] == [1, 2, 3, 4]
    told = [(each.outcome, each.context, each.multiple) for each in seen.settled]
    assert told == [("accepted", 1, False), ("rejected", 2, False), ("released", 3, False), ("accepted", 4, False)]


@each_version
@pytest.mark.parametrize("hooks", [None, Hooks()])
async def test_without_hooks_messages_are_as_they_were(
    world: World, broker: ScriptedBroker, version: Version, hooks: Hooks | None
) -> None:
    deliveries = await talk(world, broker, version, hooks)
    name = {AMQP_1_0: "application_properties", AMQP_0_10: "application_headers"}.get(version, "headers")
    assert [getattr(each, name) for each in deliveries] == [OWN, {}, {}, {}]
    assert not any(hasattr(each, "context") for each in deliveries)


@each_version
async def test_an_error_of_a_hook_is_the_publishers(world: World, broker: ScriptedBroker, version: Version) -> None:
    def refuse(_: Publishing) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        await talk(world, broker, version, Hooks(on_publish=refuse))


async def test_requests_and_several_settled_at_once_are_seen_too(world: World, broker: ScriptedBroker) -> None:
    seen = Seen()
    async with world.connect(broker.url, hooks=seen.hooks()) as connection:
        channel = await connection.open_channel()
        await channel.declare_queue("rpc", durable=True)

        async def answer() -> None:
            each = await anext(channel.consume("rpc"))
            reply = BasicProperties(correlation_id=each.properties.correlation_id)
            await channel.publish(b"pong", routing_key=each.properties.reply_to or "", properties=reply)
            await each.accept(multiple=True)

        task = world.start(answer())
        reply = await channel.request(b"ping", routing_key="rpc")
        assert (reply.headers, getattr(reply, "context", None)) == ({"number": 2}, 2)
        assert [each.headers for each in seen.delivered] == [{"number": 1}, {"number": 2}]
        await task
        assert seen.settled[0] == ("accepted", 1, True)
        # The consumer is dropped, and cancelled later.
        await world.until(lambda: not broker.queue("rpc").consumers)
        await channel.publish(b"last", routing_key="rpc")
        got = await channel.get("rpc")
        assert got is not None and getattr(got, "context", None) == 3
        await got.accept(multiple=True)
        assert seen.settled[-1] == ("accepted", 3, True)
    async with world.connect_0_10(broker.url, hooks=seen.hooks()) as ten, ten.open_session() as session:
        await session.declare_queue("other", durable=True)
        await session.publish(b"1", "", "other")
        received = await session.get("other")
        assert received is not None
        await session.accept(received)
        assert seen.settled[-1] == ("accepted", received.context, False)


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_1_0], ids=lambda each: each.label)
async def test_the_recipe_for_opentelemetry(world: World, broker: ScriptedBroker, version: Version) -> None:
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="the recipe is for programs with OpenTelemetry")
    export = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = export.InMemorySpanExporter()
    simple = pytest.importorskip("opentelemetry.sdk.trace.export")
    resources = pytest.importorskip("opentelemetry.sdk.resources")
    # The default resource is looked for by threads.
    provider = trace.TracerProvider(resource=resources.Resource({}))
    provider.add_span_processor(simple.SimpleSpanProcessor(exporter))
    page = (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")
    (recipe,) = [each for each in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if "opentelemetry" in each]
    names: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(recipe, "logging.md", "exec"), names)
    deliveries = await talk(world, broker, version, names["traced"](provider.get_tracer("test")))
    spans = exporter.get_finished_spans()
    published = [each for each in spans if each.name == "publish jobs"]
    processed = [each for each in spans if each.name.startswith("process ")]
    assert len(published) == len(processed) == len(deliveries) == 4
    for mine, theirs in zip(published, processed, strict=True):
        assert theirs.parent.span_id == mine.context.span_id
        assert theirs.context.trace_id == mine.context.trace_id
    assert {each.attributes["messaging.system"] for each in spans} == {"amqp"}
    assert {each.attributes["messaging.destination.name"] for each in spans} == {"jobs"}
    assert {each.attributes["messaging.operation.type"] for each in published} == {"send"}
    assert {each.attributes["messaging.operation.type"] for each in processed} == {"process"}
    outcomes = [each.attributes["messaging.outcome"] for each in processed]
    assert outcomes == ["accepted", "rejected", "released", "accepted"]
    header = deliveries[0].headers if version is AMQP_0_9_1 else deliveries[0].application_properties
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-0[13]", header["traceparent"])
