"""Rows for programs (JSON lines) and for people (aligned tables that fit the terminal)."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple, TextIO
from unicodedata import east_asian_width

from amqp_sansio.tables import COLUMNS

Row = Sequence[object]
_SAMPLE = 1000
_MIN_WIDTH = 8


def json_lines(table: str, rows: Iterable[Row]) -> Iterator[str]:
    """One JSON object for each row, with the table's columns in their order."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    columns = [(f'"{name}":', kind == "json") for name, kind in COLUMNS[table]]
    for row in rows:
        parts = [
            label + (value if is_json and isinstance(value, str) else encode(value))
            for (label, is_json), value in zip(columns, row, strict=True)
        ]
        yield "{" + ",".join(parts) + "}"


class _Shown(NamedTuple):
    """A column for people: its heading, how it's made of a row, and what it gives up when space is short."""

    heading: str
    text: Callable[[Mapping[str, object]], str]
    right: bool = False
    shrinks: bool = False


def table_lines(table: str, rows: Iterable[Row], *, width: int | None = None) -> Iterator[str]:
    """The rows below a line of headings, in columns as wide as the first 1,000 rows want, within `width` characters.

    What doesn't fit is cut and ends in an ellipsis; control characters are escaped. `width` is the
    terminal's by default.
    """
    names = [name for name, _ in COLUMNS[table]]
    shown = _VIEWS[table]
    texts = (
        [printable(column.text(dict(zip(names, row, strict=True)))) for column in shown]
        for row in rows
    )
    aligns = [column.right for column in shown]
    shrinks = [column.shrinks for column in shown]
    return align([column.heading for column in shown], texts, aligns, shrinks, width)


def align(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[bool],
    shrinks: Sequence[bool],
    width: int | None = None,
) -> Iterator[str]:
    """Lines of aligned columns; the columns that may shrink give up width until a line fits."""
    total = width or shutil.get_terminal_size((120, 24)).columns
    rest = iter(rows)
    first = list(islice(rest, _SAMPLE))
    widths = [
        max([_width(heading), *(_width(row[index]) for row in first)])
        for index, heading in enumerate(headings)
    ]
    over = sum(widths) + 2 * (len(widths) - 1) - total
    while over > 0:
        able = [i for i, may in enumerate(shrinks) if may and widths[i] > _MIN_WIDTH]
        if not able:
            break
        widest = max(able, key=widths.__getitem__)
        others = [widths[i] for i in able if i != widest]
        floor = max([_MIN_WIDTH, *others])
        cut = min(over, max(1, widths[widest] - floor))
        widths[widest] -= cut
        over -= cut
    yield _line(headings, widths, right)
    yield "  ".join("-" * size for size in widths)
    for row in first:
        yield _line(row, widths, right)
    for row in rest:
        yield _line(row, widths, right)


def printable(text: str) -> str:
    """The text with everything that isn't a visible character written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def write_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Write lines to standard output, many at a time."""
    out = stream or sys.stdout
    pending: list[str] = []
    for line in lines:
        pending.append(line)
        if len(pending) >= 256:
            out.write("\n".join(pending) + "\n")
            pending.clear()
    if pending:
        out.write("\n".join(pending) + "\n")
    out.flush()


def clock(ts_ns: object) -> str:
    """The time of day in UTC, to the microsecond."""
    if not isinstance(ts_ns, int):
        return ""
    seconds, nanoseconds = divmod(ts_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%H:%M:%S}.{nanoseconds // 1000:06d}"


def day_clock(ts_ns: object) -> str:
    """The date and the time of day in UTC, to the millisecond."""
    if not isinstance(ts_ns, int):
        return ""
    seconds, nanoseconds = divmod(ts_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{nanoseconds // 1_000_000:03d}"


def duration(nanoseconds: object) -> str:
    """A span of time in the unit that suits it."""
    if not isinstance(nanoseconds, int):
        return ""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.3g} {unit}" if nanoseconds < 1000 * size else (
                f"{nanoseconds / size:.0f} {unit}"
            )
    return f"{nanoseconds} ns"


def octets(count: object) -> str:
    """A number of octets with thousands apart."""
    return f"{count:,}" if isinstance(count, int) else ""


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = [
        _fit(text, size, align_right)
        for text, size, align_right in zip(texts, widths, right, strict=True)
    ]
    return "  ".join(cells).rstrip()


def _fit(text: str, size: int, align_right: bool) -> str:
    wide = _width(text)
    if wide > size:
        kept, used = [], 0
        for c in text:
            used += _width(c)
            if used > size - 1:
                break
            kept.append(c)
        text = "".join(kept) + "…"
        wide = _width(text)
    space = " " * (size - wide)
    return space + text if align_right else text + space


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _plain(name: str) -> Callable[[Mapping[str, object]], str]:
    def text(row: Mapping[str, object]) -> str:
        value = row[name]
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return str(value)

    return text


def _with(
    name: str, show: Callable[[object], str]
) -> Callable[[Mapping[str, object]], str]:
    return lambda row: show(row[name])


def _short(row: Mapping[str, object]) -> str:
    return str(row["connection"] or "")[:8]


def _lasted(row: Mapping[str, object]) -> str:
    opened, closed = row["opened_ns"], row["closed_ns"]
    if isinstance(opened, int) and isinstance(closed, int):
        return duration(closed - opened)
    return ""


def _closed(row: Mapping[str, object]) -> str:
    words = [row["closed_by"], row["close_code"], row["close_text"]]
    return " ".join(str(word) for word in words if word not in (None, ""))


def _peer(row: Mapping[str, object]) -> str:
    return " ".join(str(row[name]) for name in ("client_product", "client_version") if row[name])


_CONNECTION = _Shown("conn", _short)

_VIEWS: Mapping[str, tuple[_Shown, ...]] = {
    "connections": (
        _CONNECTION,
        _Shown("client", _plain("client"), shrinks=True),
        _Shown("server", _plain("server"), shrinks=True),
        _Shown("proto", _plain("protocol")),
        _Shown("opened (UTC)", _with("opened_ns", day_clock), shrinks=True),
        _Shown("lasted", _lasted, right=True),
        _Shown("user", _plain("user"), shrinks=True),
        _Shown("vhost", _plain("vhost"), shrinks=True),
        _Shown("product", _peer, shrinks=True),
        _Shown("from client", _with("bytes_client", octets), right=True),
        _Shown("from server", _with("bytes_server", octets), right=True),
        _Shown("whole", _plain("complete")),
        _Shown("closed by", _closed, shrinks=True),
    ),
    "events": (
        _CONNECTION,
        _Shown("seq", _plain("seq"), right=True),
        _Shown("time (UTC)", _with("ts_ns", clock)),
        _Shown("sender", _plain("sender")),
        _Shown("ch", _plain("channel"), right=True),
        _Shown("event", _plain("event")),
        _Shown("octets", _with("size", octets), right=True),
        _Shown("fields", _plain("fields"), shrinks=True),
    ),
    "messages": (
        _CONNECTION,
        _Shown("time (UTC)", _with("ts_ns", clock)),
        _Shown("ch", _plain("channel"), right=True),
        _Shown("kind", _plain("kind")),
        _Shown("exchange", _plain("exchange"), shrinks=True),
        _Shown("routing key", _plain("routing_key"), shrinks=True),
        _Shown("tag", _plain("tag"), right=True),
        _Shown("body", _with("body_size", octets), right=True),
        _Shown("outcome", _plain("outcome")),
        _Shown("after", _with("latency_ns", duration), right=True),
        _Shown("message id", _plain("message_id"), shrinks=True),
    ),
    "violations": (
        _CONNECTION,
        _Shown("seq", _plain("seq"), right=True),
        _Shown("time (UTC)", _with("ts_ns", clock)),
        _Shown("sender", _plain("sender")),
        _Shown("severity", _plain("severity")),
        _Shown("rule", _plain("rule"), shrinks=True),
        _Shown("text", _plain("text"), shrinks=True),
    ),
}
