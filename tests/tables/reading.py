"""The tables of conversations and captures, each row as a dict."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from amqp_sansio.recorded.tables import COLUMNS, Row, replay_segments
from tests.kit.tables import segments_of

Tables = dict[str, list[dict[str, Any]]]


def tables(rows: Iterable[Row]) -> Tables:
    found: Tables = {name: [] for name in COLUMNS}
    for name, values in rows:
        columns = [column for column, _ in COLUMNS[name]]
        found[name].append(dict(zip(columns, values, strict=True)))
    return found


def tables_of(path: Path, *, body: str = "base64") -> Tables:
    """The tables of a capture: violations as they were found, all else in the order of time."""
    found = tables(replay_segments(segments_of([path]), body=body))
    for name in ("connections", "events", "messages"):
        found[name].sort(key=lambda row: (row.get("opened_ns") or row.get("ts_ns") or 0, row.get("seq") or 0))
    return found


def messages(found: Tables, **wanted: object) -> list[dict[str, Any]]:
    """The messages that have these values."""
    return [row for row in found["messages"] if all([row[name] == value for name, value in wanted.items()])]
