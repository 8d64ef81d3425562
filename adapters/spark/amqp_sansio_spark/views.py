"""Views for SQL: the tables of a replay and the frames made of them, by names for queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .joining import (
    OPEN_CONSUMERS,
    OPEN_EVENTS,
    OPEN_MESSAGES,
    RPC_MESSAGES,
    histories,
    open_times,
    rpc,
    topology,
    unacked,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .tables import Replay

_END_OF_TIME = (1 << 63) - 1

VIEWS: dict[str, str] = {
    "connections": "a row for each TCP connection",
    "events": "a row for each protocol unit on the wire",
    "messages": "a row for each message on a connection, with its outcome",
    "violations": "a row for each broken rule and each damage of a capture",
    "consumers": "a row for each consumer or link, with what became of its deliveries",
    "histories": "a row for each step of a message, across all connections",
    "topology": "a row for each declare, delete, bind and unbind that clients requested",
    "rpc": "a row for each call, with its reply",
    "unacked": "a row for each delivery unsettled at the end",
    "open": "from when to when a connection, consumer, delivery, publish, call or block was open",
}
"""The views, without the prefix, with a description of their rows."""


def create_views(spark: SparkSession, tables: Replay, prefix: str) -> list[str]:
    """Create the views of a replay in a session, replacing those of the same names; return the names.

    Views are lazy, like the tables: each query is its own pass over the capture, unless `tables.cache()` was called.

    Raises ValueError for an invalid prefix.
    """
    if not (prefix + "x").isidentifier():
        raise ValueError(f"a view's name can't begin with {prefix!r}: use letters, digits and underscores")
    messages = tables.messages
    frames = {
        "connections": tables.connections,
        "events": tables.events,
        "messages": messages,
        "violations": tables.violations,
        "consumers": tables.consumers,
        "histories": histories(tables),
        "topology": topology(tables),
        "rpc": rpc(tables.select("messages", *RPC_MESSAGES)),
        "unacked": unacked(messages, _END_OF_TIME).drop("held_ns"),
        "open": open_times(
            tables.connections,
            tables.select("events", *OPEN_EVENTS),
            tables.select("messages", *OPEN_MESSAGES),
            tables.select("consumers", *OPEN_CONSUMERS),
        ),
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(prefix + name)
    return [prefix + name for name in frames]


__all__ = ["VIEWS", "create_views"]
