"""Conversion: translates a message of any version into any other version.

`docs/conversions.md` lists, for every pair of versions, what is kept, changed and lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...versions import AMQP_0_10, AMQP_1_0
from ..contents.amqp_0_10 import Content_0_10
from ..contents.amqp_1_0 import Content_1_0
from ..contents.classic import ClassicContent
from . import amqp_0_10, amqp_1_0, classic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..._classic.codec.table_rules import TableRules
    from ...versions import Version
    from ..model.content import Content, Message
    from .common import Common


def as_classic(message: Message, version: Version, tables: TableRules) -> ClassicContent:
    """Return the message in 0-8 or 0-9-1, with headers by the rules of `tables`; its own content if it fits already.

    Damaged properties are left out; the body stays.
    """
    content = message.content
    if isinstance(content, ClassicContent):
        if content.version is version and content.tables.name == tables.name:
            return content
        passed = classic.passed_on(content, version, tables)
        if passed is not None:
            return passed
    found = _found(message, tables.name)
    if not isinstance(found, ClassicContent) or found.version is not version:
        found = classic.write(read(content), version, tables)
        _keep(message, tables.name, found)
    return found


def as_0_10(message: Message) -> Content_0_10:
    """Return the message in 0-10; its own content if it has that already. Damaged properties are left out."""
    content = message.content
    if isinstance(content, Content_0_10):
        return content
    found = _found(message, AMQP_0_10)
    if not isinstance(found, Content_0_10):
        found = amqp_0_10.write(read(content), message.exchange, message.routing_key)
        _keep(message, AMQP_0_10, found)
    return found


def as_1_0(message: Message) -> Content_1_0:
    """Return the message in 1.0; its own content if it has that already. Damaged properties are left out."""
    content = message.content
    if isinstance(content, Content_1_0):
        return content
    found = _found(message, AMQP_1_0)
    if not isinstance(found, Content_1_0):
        found = amqp_1_0.write(read(content))
        _keep(message, AMQP_1_0, found)
    return found


def _found(message: Message, whom: Hashable) -> Content | None:
    """Return an earlier conversion of a message for the same readers."""
    kept = message.converted
    return kept[1] if kept is not None and kept[0] == whom else None


def _keep(message: Message, whom: Hashable, content: Content) -> None:
    """Cache the conversion of a message that goes to several queues: the next one is likely to need the same."""
    if message.copies > 1:
        message.converted = whom, content


def read(content: Content) -> Common:
    """Read a message in version-independent form, without damaged properties."""
    if isinstance(content, ClassicContent):
        return classic.read(content)
    if isinstance(content, Content_0_10):
        return amqp_0_10.read(content)
    if isinstance(content, Content_1_0):
        return amqp_1_0.read(content)
    raise TypeError(f"{content!r} is of no version's encoding")


__all__ = ["as_0_10", "as_1_0", "as_classic", "read"]
