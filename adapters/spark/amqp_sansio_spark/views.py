"""Views for SQL: the tables of a replay and what is made of them, by names that queries can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .joining import histories, rpc, topology, unacked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .tables import Replay

PREFIX = "amqp_"
_END_OF_TIME = (1 << 63) - 1

VIEWS: dict[str, str] = {
    "connections": "a row for each TCP connection",
    "events": "a row for each protocol unit on the wire",
    "messages": "a row for each message that moved on a connection, with its outcome",
    "violations": "a row for each rule that was broken and each damage of a capture",
    "histories": "a row for each step of a message, across all connections",
    "topology": "a row for each declare, delete, bind and unbind that clients asked for",
    "rpc": "a row for each call, with its reply",
    "unacked": "a row for each delivery that nobody had settled at the end",
}
"""Names of the views, without the prefix, and what their rows are."""


def create_views(spark: SparkSession, tables: Replay, prefix: str = PREFIX) -> list[str]:
    """Make the views of a replay known to a session, replacing those of the same names; gives the names.

    Views are lazy, like the tables: each query is a pass of its own over the capture, unless `tables.cache()` was
    called.

    Raises ValueError for a prefix that can't begin a name.
    """
    if not (prefix + "x").isidentifier():
        raise ValueError(f"a view's name can't begin with {prefix!r}: use letters, digits and underscores")
    messages, events = tables.messages, tables.events
    frames = {
        "connections": tables.connections,
        "events": events,
        "messages": messages,
        "violations": tables.violations,
        "histories": histories(messages, events, skew_ns=tables.skew_ns),
        "topology": topology(events),
        "rpc": rpc(messages),
        "unacked": unacked(messages, _END_OF_TIME).drop("held_ns"),
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(prefix + name)
    return [prefix + name for name in frames]


__all__ = ["PREFIX", "VIEWS", "create_views"]
