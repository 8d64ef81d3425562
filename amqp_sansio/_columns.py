"""Column names and types of all tables: the contract of `tables`, the command-line tool and the Spark adapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COLUMNS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "connections": (
        ("connection", "string"),
        ("client", "string"),
        ("server", "string"),
        ("protocol", "string"),
        ("opened_ns", "int64"),
        ("closed_ns", "int64"),
        ("closed_by", "string"),
        ("close_code", "int64"),
        ("close_text", "string"),
        ("client_product", "string"),
        ("client_version", "string"),
        ("mechanism", "string"),
        ("user", "string"),
        ("vhost", "string"),
        ("container", "string"),
        ("bytes_client", "int64"),
        ("bytes_server", "int64"),
        ("gaps", "int64"),
        ("complete", "bool"),
        ("server_product", "string"),
        ("server_version", "string"),
        ("dialect", "string"),
        ("channel_max", "int64"),
        ("frame_max", "int64"),
        ("heartbeat", "int64"),
        ("events", "int64"),
        ("messages", "int64"),
        ("violations", "int64"),
        ("ended_by", "string"),
        ("hint", "string"),
        ("close_condition", "string"),
        ("server_container", "string"),
        ("connection_name", "string"),
    ),
    "events": (
        ("connection", "string"),
        ("seq", "int64"),
        ("ts", "timestamp"),
        ("ts_ns", "int64"),
        ("sender", "string"),
        ("protocol", "string"),
        ("channel", "int64"),
        ("event", "string"),
        ("size", "int64"),
        ("offset", "int64"),
        ("fields", "json"),
        ("answers", "int64"),
        ("unit", "string"),
    ),
    "messages": (
        ("connection", "string"),
        ("ts_ns", "int64"),
        ("protocol", "string"),
        ("channel", "int64"),
        ("kind", "string"),
        ("exchange", "string"),
        ("routing_key", "string"),
        ("address", "string"),
        ("tag", "int64"),
        ("message_id", "string"),
        ("correlation_id", "string"),
        ("content_type", "string"),
        ("redelivered", "bool"),
        ("body_size", "int64"),
        ("body_sha256", "string"),
        ("headers", "json"),
        ("outcome", "string"),
        ("settled_ns", "int64"),
        ("latency_ns", "int64"),
        ("seq", "int64"),
        ("settled_seq", "int64"),
        ("sender", "string"),
        ("queue", "string"),
        ("consumer_tag", "string"),
        ("mandatory", "bool"),
        ("reply_code", "int64"),
        ("reply_text", "string"),
        ("link", "string"),
        ("reply_to", "string"),
        ("ended_ns", "int64"),
        ("vhost", "string"),
    ),
    "violations": (
        ("connection", "string"),
        ("seq", "int64"),
        ("ts_ns", "int64"),
        ("sender", "string"),
        ("rule", "string"),
        ("severity", "string"),
        ("text", "string"),
        ("offset", "int64"),
        ("channel", "int64"),
    ),
}
"""Name and type of every column, in the order of the values in a row.

The types: "string", "int64", "bool", "timestamp" (an int: microseconds since 1970, UTC) and "json" (a str with one
JSON value). Any value may be None. Text that isn't UTF-8 on the wire has its odd octets as `\\xNN`.
"""

STATE_COLUMNS: Final[tuple[tuple[str, str], ...]] = (
    ("at_ns", "int64"),
    ("connection", "string"),
    ("kind", "string"),
    ("channel", "int64"),
    ("name", "string"),
    ("side", "string"),
    ("state", "string"),
    ("queue", "string"),
    ("consumer", "string"),
    ("since_ns", "int64"),
    ("held", "int64"),
    ("most", "int64"),
    ("room", "int64"),
    ("seq", "int64"),
    ("text", "string"),
)
"""Columns of the state at an instant; docs/tables.md explains each."""

BODIES: Final = ("none", "size", "base64")
"""The options for a message's body in `fields`."""

__all__ = ["BODIES", "COLUMNS", "STATE_COLUMNS"]
