"""Rows for programs (CSV) and for people (aligned tables that fit the terminal), and lines on standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from itertools import chain, islice
from typing import Any, NamedTuple, TextIO, cast
from unicodedata import east_asian_width

from amqp_sansio.printing import printable
from amqp_sansio.recorded.json_lines import Moments
from amqp_sansio.recorded.json_lines import json_lines as json_lines_of
from amqp_sansio.recorded.tables import COLUMNS, STATE_COLUMNS

from .errors import CommandError, describe, give_up, is_broken_pipe

Row = Sequence[object]
_SAMPLE = 1000
_AT_ONCE = 256
"""Lines that are written together."""
_LEAST = 12
_ENDPOINT = len("255.255.255.255:65535")
_GAP = "  "


def json_lines(table: str, rows: Iterable[Row]) -> Iterator[str]:
    """Yield one JSON object for each row."""
    return json_lines_of(_columns(table), rows)


def csv_lines(table: str, rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line of the columns' names, then one for each row, in the form of RFC 4180.

    Values are written as in JSON lines, texts without quotes where they need none; a missing value is empty.
    """
    columns = _columns(table)
    moments = Moments()
    names = [name for name, _ in columns]
    values = ([_csv_value(kind, value, moments) for (_, kind), value in zip(columns, row, strict=True)] for row in rows)
    return csv_rows(chain([names], values))


def csv_rows(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line of RFC 4180 for each row."""
    import csv

    line = StringIO()
    writer = csv.writer(line, lineterminator="")
    for row in rows:
        line.seek(0)
        line.truncate()
        writer.writerow(row)
        yield line.getvalue()


def _csv_value(kind: str, value: Any, moments: Moments) -> object:
    if value is None:
        return ""
    if kind == "timestamp":
        return moments(value).strip('"')
    return str(value).lower() if kind == "bool" else printable(value) if kind == "string" else value


def _columns(table: str) -> Sequence[tuple[str, str]]:
    """Return the names and types of a table's columns."""
    if table in COLUMNS:
        return COLUMNS[table]
    if table == "state":
        return STATE_COLUMNS
    from amqp_sansio_arrow.whole import TABLES

    return TABLES[table]


class Heading(NamedTuple):
    """A column of a table for people.

    If a line is too long, columns shrink down to `least` characters (0: they don't), and then those with a positive
    `drops` are left out, the largest first. `usual` is the width of values that can't be looked at before.
    """

    text: str
    right: bool = False
    least: int = 0
    drops: int = 0
    usual: int = 8


class _Shown(NamedTuple):
    heading: Heading
    cell: Callable[[Mapping[str, object]], str]


def table_lines(table: str, rows: Iterable[Row], *, width: int | None = None, sample: int = _SAMPLE) -> Iterator[str]:
    """Yield the rows of a table below a line of headings; see `align`. Control characters are escaped."""
    names = [name for name, _ in _columns(table)]
    shown = _VIEWS[table]
    cells = ([printable(column.cell(dict(zip(names, row, strict=True)))) for column in shown] for row in rows)
    return align([column.heading for column in shown], cells, width=width, sample=sample)


def align(
    headings: Sequence[Heading], rows: Iterable[Sequence[str]], *, width: int | None = None, sample: int = _SAMPLE
) -> Iterator[str]:
    """Yield lines of aligned columns, as wide as the first `sample` rows require, within `width` characters.

    Without a sample they are as wide as is usual (`Heading.usual`), and those that may shrink share the rest.

    The default width is the terminal's, 120 without one. Text that doesn't fit its column is cut and ends in an
    ellipsis.
    """
    import shutil  # which takes half of the time of importing this module

    total = width or shutil.get_terminal_size((120, 24)).columns
    rest = iter(rows)
    first = list(islice(rest, sample))
    wanted = [
        max([_width(heading.text), *(_width(row[index]) for row in first)])
        if sample
        else max(_width(heading.text), total if heading.least else heading.usual)
        for index, heading in enumerate(headings)
    ]
    kept = list(range(len(headings)))
    while True:
        widths = _shrink([wanted[i] for i in kept], [headings[i].least for i in kept], total)
        droppable = [i for i in kept if headings[i].drops]
        if not droppable or sum(widths) + len(_GAP) * (len(widths) - 1) <= total:
            break
        kept.remove(max(droppable, key=lambda i: headings[i].drops))
    right = [headings[i].right for i in kept]
    yield _line([headings[i].text for i in kept], widths, right)
    yield _GAP.join("-" * size for size in widths)
    for row in chain(first, rest):
        yield _line([row[i] for i in kept], widths, right)


def _shrink(wanted: Sequence[int], least: Sequence[int], total: int) -> list[int]:
    """Narrow the widest columns until all fit, or have their least width."""
    widths = list(wanted)
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - total
    while over > 0:
        able = [i for i, size in enumerate(least) if size and widths[i] > size]
        if not able:
            break
        widest = max(able, key=widths.__getitem__)
        floor = max([least[widest], *(widths[i] for i in able if widths[i] < widths[widest])])
        cut = min(over, widths[widest] - floor)
        widths[widest] -= cut
        over -= cut
    return widths


def write_lines(lines: Iterable[str], *, escape: bool = True, live: bool = False) -> None:
    """Write lines to standard output, many at a time, or with `live` each at once, until its reader closes it.

    Control characters are escaped (`printable`), unless no line has any. Raises CommandError if standard
    output can't be written.
    """
    source = map(printable, lines) if escape else iter(lines)
    most = 1 if live else _AT_ONCE
    while pending := list(islice(source, most)):
        if not _put(pending):
            return


def _put(lines: Sequence[str]) -> bool:
    """Write lines; return False if nobody reads them."""
    out: TextIO | None = sys.stdout
    if out is None:
        raise CommandError("standard output is closed")
    try:
        out.write("\n".join([*lines, ""]))
        out.flush()
    except OSError as error:
        give_up(out)
        if not is_broken_pipe(error):
            raise CommandError(describe(error, "standard output")) from None
        return False
    return True


def clock(ts_ns: object) -> str:
    """Return the time of day in UTC, to the microsecond."""
    if not isinstance(ts_ns, int):
        return ""
    seconds, nanoseconds = divmod(ts_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%H:%M:%S}.{nanoseconds // 1000:06d}"


def day_clock(ts_ns: object) -> str:
    """Return the date and the time of day in UTC, to the millisecond."""
    if not isinstance(ts_ns, int):
        return ""
    seconds, nanoseconds = divmod(ts_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{nanoseconds // 1_000_000:03d}"


def duration(nanoseconds: object) -> str:
    """Return a time span in a suitable unit."""
    if not isinstance(nanoseconds, int):
        return ""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)):
        if abs(nanoseconds) >= size:
            number = nanoseconds / size
            return f"{number:,.0f} {unit}" if abs(number) >= 1000 else f"{number:.3g} {unit}"
    return f"{nanoseconds} ns"


def octets(count: object) -> str:
    """Return a number of octets with thousands separators."""
    return f"{count:,}" if isinstance(count, int) else ""


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = [_fit(text, size, align_right) for text, size, align_right in zip(texts, widths, right, strict=True)]
    return _GAP.join(cells).rstrip()


def _fit(text: str, size: int, align_right: bool) -> str:
    wide = _width(text)
    if wide > size:
        kept: list[str] = []
        used = 0
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


def _with(name: str, show: Callable[[object], str]) -> Callable[[Mapping[str, object]], str]:
    return lambda row: show(row[name])


def _short(row: Mapping[str, object]) -> str:
    return str(row["connection"] or "")[:8]


def _day(ts_ns: object) -> str:
    return day_clock(ts_ns)[len("yyyy-") : -len(".mmm")]


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


def _fields(row: Mapping[str, object]) -> str:
    """Return names and values, without empty values."""
    import json

    value = row["fields"]
    if not isinstance(value, str):
        return ""
    fields = json.loads(value)
    if not isinstance(fields, dict):
        return value
    # In 1.0 an unset field is absent, and the first handle and delivery-id are 0.
    keep_zero = row["protocol"] == "1.0"
    return " ".join(
        f"{name}={item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"
        for name, item in cast("dict[str, object]", fields).items()
        if item not in ("", None, False, {}, []) or (keep_zero and item == 0 and item is not False)
    )


def _node(row: Mapping[str, object]) -> str:
    """Return a message's destination or source: 1.0 has addresses instead of exchanges."""
    node = row["address"] if row["exchange"] is None else row["exchange"]
    return "" if node is None else str(node)


def _login(row: Mapping[str, object]) -> str:
    return " ".join(str(row[name]) for name in ("user", "vhost") if row[name] is not None)


def _column(
    text: str,
    cell: Callable[[Mapping[str, object]], str],
    *,
    right: bool = False,
    least: int = 0,
    drops: int = 0,
    usual: int = 8,
) -> _Shown:
    return _Shown(Heading(text, right, least, drops, usual), cell)


_CONNECTION = _column("conn", _short)
_TIME = _column("time (UTC)", _with("ts_ns", clock), usual=15)

_VIEWS: Mapping[str, tuple[_Shown, ...]] = {
    "connections": (
        _CONNECTION,
        _column("client", _plain("client"), least=_ENDPOINT),
        _column("server", _plain("server"), least=_ENDPOINT, drops=1),
        _column("proto", _plain("protocol")),
        _column("opened (UTC)", _with("opened_ns", _day), drops=2, usual=14),
        _column("lasted", _lasted, right=True),
        _column("user, vhost", _login, least=_LEAST, drops=3),
        _column("name", _plain("connection_name"), least=_LEAST, drops=6),
        _column("product", _peer, least=_LEAST),
        _column("up", _with("bytes_client", octets), right=True, drops=5),
        _column("down", _with("bytes_server", octets), right=True, drops=4),
        _column("whole", _plain("complete")),
        _column("closed by", _closed, least=_LEAST),
    ),
    "events": (
        _CONNECTION,
        _column("seq", _plain("seq"), right=True),
        _TIME,
        _column("sender", _plain("sender")),
        _column("ch", _plain("channel"), right=True),
        _column("event", _plain("event"), usual=20),
        _column("octets", _with("size", octets), right=True, drops=1),
        _column("fields", _fields, least=_LEAST),
    ),
    "histories": (
        _column("message", _with("history", str), least=8),
        _column("step", _plain("step"), right=True),
        _TIME,
        _column("what", _plain("what")),
        _column("connection", _plain("connection"), least=8, drops=2),
        _column("exchange", _plain("exchange"), least=_LEAST, drops=1),
        _column("routing key", _plain("routing_key"), least=_LEAST),
        _column("queue", _plain("queue"), least=_LEAST),
        _column("outcome", _plain("outcome")),
        _column("after", _with("latency_ns", duration), right=True),
        _column("certainty", _plain("certainty"), drops=3),
    ),
    "topology": (
        _CONNECTION,
        _column("seq", _plain("seq"), right=True),
        _TIME,
        _column("act", _plain("act")),
        _column("kind", _plain("kind")),
        _column("name", _plain("name"), least=_LEAST),
        _column("type", _plain("type"), drops=1),
        _column("source", _plain("source"), least=_LEAST, drops=3),
        _column("destination", _plain("destination"), least=_LEAST, drops=2),
        _column("routing key", _plain("routing_key"), least=_LEAST),
        _column("state", _plain("state")),
        _column("text", _plain("text"), least=_LEAST, drops=4),
    ),
    "messages": (
        _CONNECTION,
        _TIME,
        _column("ch", _plain("channel"), right=True, drops=2),
        _column("kind", _plain("kind")),
        _column("exchange/address", _node, least=_LEAST, drops=1),
        _column("routing key", _plain("routing_key"), least=_LEAST),
        _column("tag", _plain("tag"), right=True),
        _column("body", _with("body_size", octets), right=True, drops=3),
        _column("outcome", _plain("outcome")),
        _column("after", _with("latency_ns", duration), right=True),
        _column("message id", _plain("message_id"), least=_LEAST, drops=4),
    ),
    "consumers": (
        _CONNECTION,
        _column("ch", _plain("channel"), right=True),
        _column("consumer", _plain("consumer"), least=_LEAST),
        _column("queue", _plain("queue"), least=_LEAST),
        _column("got", _plain("deliveries"), right=True),
        _column("accepted", _plain("accepted"), right=True, drops=3),
        _column("rejected", _plain("rejected"), right=True, drops=5),
        _column("released", _plain("released"), right=True, drops=4),
        _column("open", _plain("unsettled"), right=True),
        _column("most held", _plain("most_held"), right=True),
        _column("of", _plain("most"), right=True, drops=1),
        _column("no room", _with("no_room_ns", duration), right=True),
        _column("longest", _with("longest_hold_ns", duration), right=True, drops=2),
    ),
    "violations": (
        _CONNECTION,
        _column("seq", _plain("seq"), right=True, drops=1),
        _TIME,
        _column("sender", _plain("sender")),
        _column("severity", _plain("severity")),
        _column("rule", _plain("rule"), least=_LEAST),
        _column("text", _plain("text"), least=_LEAST),
    ),
}
