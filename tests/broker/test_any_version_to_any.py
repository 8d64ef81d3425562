"""A client of any version publishes, clients of all versions consume: real engines at one Hub."""

from typing import Any

import pytest

from amqp_sansio import amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.methods import BasicProperties
from amqp_sansio._classic.endpoint.connection import Connection as ClassicConnection
from amqp_sansio.amqp_0_10.codec.message import Headers
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.broker import Settings
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model.content import Content
from amqp_sansio.sasl import Plain
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tests.kit import hub, hub_0_10, hub_1_0, hub_classic
from tests.kit.broker_contents import CELLS, VERSIONS, cell_id, converted, said
from tools.docs.conversions import samples

EXCHANGE, KEY = "shop", "orders.new"
LOGIN = Plain("guest", "guest")

NOT_PUBLISHED = {
    "expiration that is no number",
    "expiration above 32 bits",
    "delivery-mode of another number",
    "user-id above 255 octets",
    "delivery annotations",
    "redelivered",
    "header.first-acquirer, delivery-count",
}
"""What the broker refuses or says itself."""


class World(hub.World[Any]):
    """A hub with a client of every version, each with a queue of its own that is bound to the exchange "shop"."""

    def __init__(self) -> None:
        super().__init__(Settings())
        classic: tuple[Version, ...] = (AMQP_0_8, AMQP_0_9_1)
        self.talks = {version: hub_classic.User(self, version) for version in classic}
        self.peer = hub_0_10.User(self, amqp_0_10.Config(sasl=LOGIN))
        self.user = hub_1_0.User(self, amqp_1_0.Config(container_id="c", sasl=LOGIN))
        self.pump()
        self.channels = {version: talk.channel() for version, talk in self.talks.items()}
        self.session = self.peer.session()
        channel = self.channels[AMQP_0_9_1]
        assert channel.call("exchange.declare", exchange=EXCHANGE, type="topic") is not None
        for name in [version.label for version in VERSIONS]:
            channel.declare(name)
            assert channel.call("queue.bind", queue=name, exchange=EXCHANGE, routing_key="orders.#") is not None
        for version, each in self.channels.items():
            each.consume(version.label)
        self.peer.subscribe(self.session, AMQP_0_10.label, credit=1000)
        one = self.user.session()
        self.sender = self.user.sender(f"/exchanges/{EXCHANGE}/{KEY}", one)
        self.receiver = self.user.receiver(f"/queues/{AMQP_1_0.label}", one, credit=1000)

    def publish(self, content: Content) -> None:
        """Publish the octets of a message by a client of its version."""
        if isinstance(content, Content_1_0):
            message: Any = content.message
            options: dict[str, Any] = {}
            if content.message_format:
                message, options = content.payload, {"message_format": content.message_format}
            self.sender.send(message, **options)
            self.pump()
        elif isinstance(content, Content_0_10):
            message = amqp_0_10.Message(content.body, headers=content.header_segment)
            self.peer.publish(self.session, EXCHANGE, message)
        elif isinstance(content, ClassicContent):
            properties = BasicProperties.from_wire(content.raw_properties, content.tables)
            self.channels[content.version].publish(content.body, KEY, EXCHANGE, properties=properties)

    def got(self, version: Version) -> Content:
        """The message that a client of a version has got, octet by octet."""
        if version is AMQP_1_0:
            (delivery,) = self.user.take(self.receiver)
            return Content_1_0(delivery.message.encode(), delivery.message_format)
        if version is AMQP_0_10:
            (received,) = self.peer.got(self.session)
            return Content_0_10(received.headers, received.body)
        (delivered,) = self.channels[version].deliveries()
        core: ClassicConnection = self.talks[version].end
        tables = core.dialect.tables
        return ClassicContent(version, delivered.properties.encode(tables), tables, delivered.body)


def placed(content: Content_0_10, exchange: str, routing_key: str) -> Content_0_10:
    """The message as a publisher of 0-10 writes it who says where it goes."""
    place = {"exchange": exchange, "routing_key": routing_key}
    structs: list[Any] = list(content.header_segment.structs)
    found = [each for each in structs if isinstance(each, amqp_0_10.DeliveryProperties)]
    old = found[0] if found else amqp_0_10.DeliveryProperties()
    values: dict[str, Any] = {name: place.get(name, getattr(old, name)) for name in old.__match_args__}
    new = amqp_0_10.DeliveryProperties(**values)
    kept = [new if each is old else each for each in structs] if found else [new, *structs]
    return Content_0_10(Headers(encode_headers(tuple(kept))), content.body)


@pytest.mark.rule("1.0/message/bare-immutable", "1.0/properties/unaltered", "1.0/message-annotations/propagate")
@pytest.mark.rule("0-10/message.message-properties/id-immutable")
@pytest.mark.parametrize("source", VERSIONS, ids=lambda version: version.label)
def test_what_one_publishes_all_consume(source: Version) -> None:
    world = World()
    for sample in samples(source):
        if sample.name in NOT_PUBLISHED:
            continue
        published = sample.content
        if isinstance(published, Content_0_10):
            # Where it goes stands in its own header segment.
            published = placed(published, EXCHANGE, KEY)
        world.publish(published)
        for target in VERSIONS:
            got = world.got(target)
            wanted = converted(published, target)
            assert octets(got) == octets(wanted), (sample.name, target.label)
            if target is source:
                assert octets(got) == octets(published), sample.name


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_a_dead_letter_tells_its_story_in_every_version(cell: tuple[Version, Version]) -> None:
    source, target = cell
    world = World()
    channel = world.channels[AMQP_0_9_1]
    dead = {"x-dead-letter-exchange": EXCHANGE, "x-dead-letter-routing-key": "orders.dead"}
    channel.declare("doomed", arguments=dead)
    assert channel.call("queue.bind", queue="doomed", exchange=EXCHANGE, routing_key=KEY) is not None
    (published,) = [each.content for each in samples(source) if each.name.startswith("body")][:1]
    if isinstance(published, Content_0_10):
        published = placed(published, EXCHANGE, KEY)
    world.publish(published)
    alive = world.got(target)
    assert said(alive).deaths == ()
    channel.reject(channel.get("doomed").method.delivery_tag)
    found = said(world.got(target))
    assert [(each.queue, each.reason, each.count, each.exchange, each.routing_keys) for each in found.deaths] == [
        ("doomed", "rejected", 1, EXCHANGE, (KEY,))
    ]
    assert found.body == said(alive).body
    assert found.headers == []


@pytest.mark.parametrize("source", VERSIONS, ids=lambda version: version.label)
def test_what_comes_again_is_the_same_message(source: Version) -> None:
    world = World()
    for sample in samples(source)[:3]:
        published = sample.content
        if isinstance(published, Content_0_10):
            published = placed(published, EXCHANGE, KEY)
        world.publish(published)
        for version in VERSIONS[:2]:
            channel = world.channels[version]
            (first,) = channel.deliveries()
            assert not first.redelivered
            channel.release(first.delivery_tag)
            (again,) = channel.deliveries()
            assert again.redelivered
            assert (again.properties, again.body) == (first.properties, first.body)
            channel.accept(again.delivery_tag)
        (ours,) = world.user.take(world.receiver)
        world.receiver.release(ours)
        (same,) = world.user.take(world.receiver)
        assert same.message.bare == ours.message.bare
        (moved,) = world.peer.got(world.session)
        world.peer.result(world.session.release(moved.command_id, set_redelivered=True, sync=True))
        (back,) = world.peer.got(world.session)
        assert back.body == moved.body
        delivery = back.headers.delivery_properties
        assert delivery is not None and delivery.redelivered
        assert back.headers.message_properties == moved.headers.message_properties


def octets(content: Content) -> tuple[bytes, bytes]:
    """All that goes over the wire of a message."""
    if isinstance(content, Content_1_0):
        return content.payload, b""
    if isinstance(content, Content_0_10):
        return content.header_segment.raw, content.body
    assert isinstance(content, ClassicContent)
    return content.raw_properties, content.body
