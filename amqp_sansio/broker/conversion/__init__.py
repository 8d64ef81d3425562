"""Conversion: a message of any version as any other version has it.

`docs/conversions.md` tells for every pair of versions what is kept, what is changed and what is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...versions import AMQP_0_10, AMQP_1_0
from ..contents.amqp_0_10 import ZeroTenContent
from ..contents.amqp_1_0 import OneZeroContent
from ..contents.classic import ClassicContent
from . import amqp_0_10, amqp_1_0, classic

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..._classic.codec.table_rules import TableRules
    from ...versions import Version
    from ..model.content import Content
    from ..model.entry import Message
    from .common import Common


def as_classic(message: Message, version: Version, tables: TableRules) -> ClassicContent:
    """The message as 0-8 or 0-9-1 has it, its headers by the rules of `tables`; its own content if that is so already.

    Of damaged properties nothing is said, and the body stays.
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


def as_zero_ten(message: Message) -> ZeroTenContent:
    """The message as 0-10 has it; its own content if that is so already. Of damaged properties nothing is said."""
    content = message.content
    if isinstance(content, ZeroTenContent):
        return content
    found = _found(message, AMQP_0_10)
    if not isinstance(found, ZeroTenContent):
        found = amqp_0_10.write(read(content), message.exchange, message.routing_key)
        _keep(message, AMQP_0_10, found)
    return found


def as_one_zero(message: Message) -> OneZeroContent:
    """The message as 1.0 has it; its own content if that is so already. Of damaged properties nothing is said."""
    content = message.content
    if isinstance(content, OneZeroContent):
        return content
    found = _found(message, AMQP_1_0)
    if not isinstance(found, OneZeroContent):
        found = amqp_1_0.write(read(content))
        _keep(message, AMQP_1_0, found)
    return found


def _found(message: Message, whom: Hashable) -> Content | None:
    """What was made of a message before, for the same readers."""
    kept = message.converted
    return kept[1] if kept is not None and kept[0] == whom else None


def _keep(message: Message, whom: Hashable, content: Content) -> None:
    """Keep a conversion of a message that goes to several queues: the next is likely to want the same."""
    if message.copies > 1:
        message.converted = whom, content


def read(content: Content) -> Common:
    """What a message says, in the words of no version; of damaged properties nothing."""
    if isinstance(content, ClassicContent):
        return classic.read(content)
    if isinstance(content, ZeroTenContent):
        return amqp_0_10.read(content)
    if isinstance(content, OneZeroContent):
        return amqp_1_0.read(content)
    raise TypeError(f"{content!r} is of no version's encoding")


__all__ = ["as_classic", "as_one_zero", "as_zero_ten", "read"]
