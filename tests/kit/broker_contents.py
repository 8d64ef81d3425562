"""Messages of any version as the broker keeps them, and what they say, to compare before and after a conversion."""

from typing import Any

from hypothesis import strategies as st

from amqp_sansio import amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.methods import BasicProperties
from amqp_sansio._classic.codec.table_rules import RABBIT, RABBIT_0_8, TableRules
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.conversion import amqp_0_10 as conversion_0_10
from amqp_sansio.broker.conversion import amqp_1_0 as conversion_1_0
from amqp_sansio.broker.conversion import as_0_10, as_1_0, as_classic, classic
from amqp_sansio.broker.conversion.common import Common
from amqp_sansio.broker.model.content import Content, Message
from amqp_sansio.testing import amqp_0_8 as testing_0_8
from amqp_sansio.testing import amqp_0_9_1 as testing_0_9_1
from amqp_sansio.testing import amqp_0_10 as testing_0_10
from amqp_sansio.testing import amqp_1_0 as testing_1_0
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
CELLS = tuple([(source, target) for source in VERSIONS for target in VERSIONS])
RULES = {AMQP_0_8: RABBIT_0_8, AMQP_0_9_1: RABBIT}
EXCHANGE, KEY = "shop", "orders.new"


def cell_id(cell: tuple[Version, Version]) -> str:
    return f"{cell[0].label}-to-{cell[1].label}"


def classic_content(
    version: Version = AMQP_0_9_1, body: bytes = b"hello", rules: TableRules | None = None, **properties: Any
) -> ClassicContent:
    """A message of 0-8 or 0-9-1."""
    tables = rules or RULES[version]
    return ClassicContent(version, BasicProperties(**properties).encode(tables), tables, body)


def content_0_10(body: bytes = b"hello", **sections: Any) -> Content_0_10:
    message = amqp_0_10.Message(body, **sections)
    return Content_0_10(message.headers, body)


def content_1_0(body: Any = b"hello", **sections: Any) -> Content_1_0:
    return Content_1_0(amqp_1_0.Message(body, **sections).encode())


def converted(content: Content, target: Version, rules: TableRules | None = None) -> Content:
    """The message as `target` has it, published to exchange "shop" with "orders.new"."""
    message = Message(content, EXCHANGE, KEY, 1)
    if target is AMQP_1_0:
        return as_1_0(message)
    if target is AMQP_0_10:
        return as_0_10(message)
    return as_classic(message, target, rules or RULES[target])


def said(content: Content) -> Common:
    """What a message says."""
    if isinstance(content, ClassicContent):
        return classic.read(content)
    if isinstance(content, Content_0_10):
        return conversion_0_10.read(content)
    assert isinstance(content, Content_1_0)
    return conversion_1_0.read(content)


def contents(version: Version) -> st.SearchStrategy[Content]:
    """Well-formed messages of a version."""
    if version is AMQP_1_0:
        return testing_1_0.messages().map(lambda message: Content_1_0(message.encode()))
    if version is AMQP_0_10:
        return testing_0_10.messages().map(lambda message: Content_0_10(message.headers, message.body))
    properties = testing_0_8.properties() if version is AMQP_0_8 else testing_0_9_1.properties()
    tables = RULES[version]

    def content(each: BasicProperties, body: bytes) -> Content:
        return ClassicContent(version, each.encode(tables), tables, body)

    return st.builds(content, properties, st.binary(max_size=100))


def sections_check(content: Content) -> None:
    """Raise CodecError for anything that a strict receiver wouldn't read."""
    if isinstance(content, ClassicContent):
        BasicProperties.from_wire(content.raw_properties, content.tables).check()
    elif isinstance(content, Content_0_10):
        content.header_segment.check()
    elif isinstance(content, Content_1_0) and not content.message_format:
        content.message.check()
        assert content.message.body_kind != "none"
