"""Rows by the names of their columns, and what tests look for in a page."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

from amqp_sansio.capture import CaptureDamage, Segment, read_segments
from amqp_sansio.recorded.tables import COLUMNS, replay_segments

VOID: Final = frozenset({"meta", "input", "br"})
LEAVES: Final = frozenset({"rect", "path", "line", "circle", "polygon"})
Row = tuple[Any, ...]


def row(table: str, **values: object) -> Row:
    """A row of the table; columns that aren't named are None."""
    names = [name for name, _ in COLUMNS[table]]
    assert set(values) <= set(names), set(values) - set(names)
    return tuple(values.get(name) for name in names)


def event(connection: str, seq: int, ts_ns: int, name: str, sender: str = "client", **more: object) -> tuple[str, Row]:
    """A row of events."""
    values: dict[str, object] = {"channel": 1, "size": 20, "offset": 0, "protocol": "0-9-1", "unit": "method", **more}
    values["fields"] = json.dumps(values.get("fields", {}))
    return "events", row("events", connection=connection, seq=seq, ts_ns=ts_ns, event=name, sender=sender, **values)


def message(connection: str, seq: int, ts_ns: int, kind: str, **more: object) -> tuple[str, Row]:
    sender = "client" if kind == "publish" else "server"
    values: dict[str, object] = {"channel": 1, "protocol": "0-9-1", "body_size": 10, "sender": sender, **more}
    return "messages", row("messages", connection=connection, seq=seq, ts_ns=ts_ns, kind=kind, **values)


def connection(name: str, **more: object) -> tuple[str, Row]:
    """A row of connections: one of 0-9-1 that the client closed in order, unless said otherwise."""
    values: dict[str, object] = {
        **{"client": "10.0.0.1:40000", "server": "10.0.0.2:5672", "protocol": "0-9-1"},
        **{"opened_ns": 0, "closed_ns": 1_000_000_000, "closed_by": "client", "close_code": 200, "close_text": "bye"},
        **{"bytes_client": 100, "bytes_server": 200, "gaps": 0, "complete": True, "ended_by": "fin of the client"},
        **{"events": 0, "messages": 0, "violations": 0, "cause": "normal", **more},
    }
    return "connections", row("connections", connection=name, **values)


def segments_in(paths: Iterable[Path]) -> list[Segment | CaptureDamage]:
    """What is in files, whose names tell their connections apart."""
    return [found for path in paths for found in read_segments(path.read_bytes(), file=path.name)]


def rows_in(segments: Iterable[Segment | CaptureDamage]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, by the names of their columns."""
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in COLUMNS}
    for table, values in replay_segments(segments):
        found[table].append({name: value for (name, _), value in zip(COLUMNS[table], values, strict=True)})
    return found


class Outline(HTMLParser):
    """Reads a page and checks that its elements are balanced."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, Mapping[str, str | None]]] = []
        self.elements: list[tuple[str, Mapping[str, str | None]]] = []
        self.texts: list[tuple[Sequence[str], str]] = []
        self.feed(page)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {tag} {attrs}"
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in LEAVES, tag
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self.open.pop()
        assert opened == tag, f"</{tag}> where </{opened}> was due"

    def handle_data(self, data: str) -> None:
        self.texts.append(([tag for tag, _ in self.open], data))

    def tiles(self) -> dict[str, str]:
        """The figures at the top of the page."""
        names = [text for path, text in self.texts if path[-1:] == ["dt"]]
        values = [text for path, text in self.texts if path[-1:] == ["dd"]]
        return dict(zip(names, values, strict=True))

    def text(self) -> str:
        """All that a person can read, with line feeds between elements."""
        return "\n".join(text for path, text in self.texts if path and path[-1] not in ("script", "style"))

    def data(self) -> Any:
        """The sequence diagrams."""
        (script,) = [text for path, text in self.texts if path[-1:] == ["script"] and text.startswith("[")]
        return json.loads(script)
