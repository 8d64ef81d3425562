"""Hypothesis strategies for AMQP 0-8: field tables, methods, properties, messages, frames.

`dialect` is a `Dialect` or the name of one: "0-8-rabbit" (the default), "0-8", "0-8-qpid".

>>> from hypothesis import given
>>> from amqp_sansio.testing import amqp_0_8
>>> @given(amqp_0_8.tables())
... def test_headers_survive_my_cache(headers): ...
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..amqp_0_8 import BasicProperties, Message
from ..endpoint import Side
from . import _classic
from ._classic import AnyDialect

DIALECT = "0-8-rabbit"
"""The default dialect: RabbitMQ's."""


def table_values(dialect: AnyDialect = DIALECT) -> st.SearchStrategy[Any]:
    """Values of fields of a table: strings, numbers, timestamps and so on, lists and tables of them.

    >>> from amqp_sansio.amqp_0_8 import Table
    >>> value = table_values()  # 5, "text", [True, {"key": Decimal("1.5")}], Timestamp(1700000000)...
    """
    return _classic.table_values(dialect)


def tables(dialect: AnyDialect = DIALECT, *, max_size: int = 6) -> st.SearchStrategy[dict[str, Any]]:
    """Field tables as dicts, with at most `max_size` entries, for headers and arguments.

    They use the types that the dialect has: in "0-8" no booleans, in "0-9-1" no octets.

    >>> arguments = tables("0-8")
    """
    return _classic.tables(dialect, max_size=max_size)


def records(kind: type[Any], dialect: AnyDialect = DIALECT) -> st.SearchStrategy[Any]:
    """Records of one method, with any arguments that can be encoded, meaningful or not.

    >>> from amqp_sansio.amqp_0_8.spec import QueueDeclare
    >>> declarations = records(QueueDeclare)
    """
    return _classic.records(kind, dialect)


def methods(*, sent_by: Side | None = None, dialect: AnyDialect = DIALECT) -> st.SearchStrategy[Any]:
    """Records of all methods that a side may send; None: either side.

    >>> from amqp_sansio import Side
    >>> requests = methods(sent_by=Side.CLIENT)
    """
    return _classic.methods(dialect, sent_by)


def properties(kind: type[Any] = BasicProperties, *, dialect: AnyDialect = DIALECT) -> st.SearchStrategy[Any]:
    """Properties of one class of content, each optional.

    >>> some = properties()  # BasicProperties(content_type="text/plain", headers={...})
    """
    return _classic.properties(dialect, kind)


def messages(
    *kinds: type[Any], sent_by: Side | None = None, max_body: int = 300, dialect: AnyDialect = DIALECT
) -> st.SearchStrategy[Message[Any]]:
    """Methods that carry content (restricted to `kinds`, if given), with properties and a body of at most `max_body`
    octets.

    Raises ValueError if no such method carries content, or that side sends none.

    >>> from amqp_sansio.amqp_0_8.spec import BasicPublish
    >>> publishes = messages(BasicPublish)  # Message(method=BasicPublish(...), properties=..., body=b"...")
    """
    return _classic.messages(dialect, sent_by, max_body, kinds)


def frames(
    *, sent_by: Side | None = None, max_body: int = 300, dialect: AnyDialect = DIALECT
) -> st.SearchStrategy[bytes]:
    """The octets of single frames: methods, content headers, bodies, heartbeats.

    Each is valid by itself; their sequence depends on the connection's state.

    >>> hostile = st.lists(frames()).map(b"".join)
    """
    return _classic.frames(dialect, sent_by, max_body)


__all__ = ["frames", "messages", "methods", "properties", "records", "table_values", "tables"]
