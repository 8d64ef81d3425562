"""Column names and types of `histories` and `topology`, and of their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

HISTORY_COLUMNS: Final[tuple[tuple[str, str], ...]] = (
    ("history", "string"),
    ("step", "int64"),
    ("what", "string"),
    ("ts_ns", "int64"),
    ("connection", "string"),
    ("seq", "int64"),
    ("protocol", "string"),
    ("channel", "int64"),
    ("vhost", "string"),
    ("exchange", "string"),
    ("routing_key", "string"),
    ("queue", "string"),
    ("message_id", "string"),
    ("correlation_id", "string"),
    ("body_size", "int64"),
    ("body_sha256", "string"),
    ("outcome", "string"),
    ("text", "string"),
    ("latency_ns", "int64"),
    ("since_publish_ns", "int64"),
    ("evidence", "string"),
    ("certainty", "string"),
    ("follows", "string"),
)
"""Columns of a history's steps; docs/histories.md explains each."""

TOPOLOGY_COLUMNS: Final[tuple[tuple[str, str], ...]] = (
    ("connection", "string"),
    ("seq", "int64"),
    ("ts_ns", "int64"),
    ("protocol", "string"),
    ("vhost", "string"),
    ("act", "string"),
    ("kind", "string"),
    ("name", "string"),
    ("type", "string"),
    ("source", "string"),
    ("destination", "string"),
    ("destination_kind", "string"),
    ("routing_key", "string"),
    ("durable", "bool"),
    ("auto_delete", "bool"),
    ("exclusive", "bool"),
    ("passive", "bool"),
    ("arguments", "json"),
    ("state", "string"),
    ("done_ns", "int64"),
    ("text", "string"),
)
"""Columns of clients' requests about exchanges, queues and bindings."""


class Message(NamedTuple):
    """The columns of `messages` that a history needs; names and values are the table's."""

    connection: str
    ts_ns: int
    protocol: str | None
    channel: int | None
    kind: str | None
    exchange: str | None
    routing_key: str | None
    address: str | None
    message_id: str | None
    correlation_id: str | None
    redelivered: bool | None
    body_size: int | None
    body_sha256: str | None
    headers: str | None
    outcome: str | None
    settled_ns: int | None
    seq: int
    queue: str | None
    reply_code: int | None
    reply_text: str | None
    ended_ns: int | None
    vhost: str | None


class Happening(NamedTuple):
    """The columns of `events` that the topology needs; `fields` is its JSON text."""

    connection: str
    seq: int
    ts_ns: int
    sender: str
    protocol: str | None
    channel: int | None
    event: str
    fields: str
    answers: int | None


def picked(names: tuple[str, ...], columns: tuple[tuple[str, str], ...]) -> tuple[int, ...]:
    """Return the positions of `names` in a row of `columns`, for making a Message or Happening of it."""
    places: Mapping[str, int] = {name: index for index, (name, _) in enumerate(columns)}
    return tuple([places[name] for name in names])


__all__ = ["HISTORY_COLUMNS", "TOPOLOGY_COLUMNS", "Happening", "Message", "picked"]
