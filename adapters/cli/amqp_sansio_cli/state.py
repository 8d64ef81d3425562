"""`amqp-sansio state`: all that was open on recorded connections at an instant, or what changed between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from amqp_sansio.capture import Segment
from amqp_sansio.recorded.instants import State, states
from amqp_sansio.recorded.tables import replay_segments, skew_of
from amqp_sansio_arrow.clocks import parse_offsets
from amqp_sansio_report.scales import duration

from .errors import CommandError, say
from .inputs import Encrypted, find_inputs, read_inputs
from .output import day_clock, json_lines, write_lines
from .progress import Progress
from .rows import choose_connections

_DAY_NS: Final = 86_400_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CHANGING: Final = ("state", "held", "most", "room")
"""The columns that may change of a thing that stays open."""


def state_command(
    given: Sequence[str],
    *,
    at: str,
    until: str | None = None,
    form: str = "text",
    connections: Sequence[str] = (),
    clock_skew: float = 0.0,
    clock_offset: str = "",
) -> int:
    """Print the state at an instant, or the difference between two; return the exit status. Raises CommandError."""
    encrypted = Encrypted()
    skew_ns = skew_of(clock_skew)
    items = encrypted.watch(read_inputs(find_inputs(given), Progress(), parse_offsets(clock_offset)))
    found = [each for each in items if isinstance(each, Segment)]
    if not found:
        say(encrypted.nothing(given))
        return 0
    first = min([each.ts_ns for each in found])
    instants = [instant(at, first)] if until is None else [instant(at, first), instant(until, first)]
    if sorted(instants) != instants:
        raise CommandError(f"--until {until} is before --at {at}")
    chosen = choose_connections(connections, replay_segments(found, tables={"connections"})) if connections else None
    rows = [
        [row for row in some if chosen is None or row.connection in chosen]
        for some in states(found, instants, skew_ns=skew_ns)
    ]
    if until is None:
        write_lines(json_lines("state", rows[0]) if form == "jsonl" else _lines(rows[0]), escape=form != "jsonl")
    else:
        changes = list(changed(*rows))
        if form == "jsonl":
            write_lines(_json_changes(changes), escape=False)
        else:
            write_lines(f"{sign} {_title(row)}" for sign, row in changes)
    open_ = len({row.connection for row in rows[-1]})
    say(f"{open_} connection{'' if open_ == 1 else 's'} open at {day_clock(instants[-1])} UTC")
    return 0


def instant(text: str, first_ns: int) -> int:
    """Return the nanoseconds since 1970 of a time: a date and a time of ISO 8601, a time of day (UTC) at or behind the
    begin of the capture, or seconds behind it ("+12.5"). Raises CommandError.

    >>> instant("+1.5", 1_000), instant("00:00:02", 1_000_000_000)
    (1500001000, 2000000000)
    """
    try:
        if text.startswith("+"):
            return first_ns + round(float(text[1:]) * 1e9)
        if "-" in text or "T" in text:
            moment = datetime.fromisoformat(text)
            return _nanoseconds(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
        day = first_ns // _DAY_NS * _DAY_NS
        of_day = _nanoseconds(datetime.combine(_EPOCH.date(), datetime.fromisoformat(f"1970-01-01T{text}").time(), UTC))
        # A capture that goes on behind midnight: the first such time in it, but for the fraction of its first second.
        return day + of_day + (_DAY_NS if day + of_day < first_ns - first_ns % 1_000_000_000 else 0)
    except (ValueError, OverflowError):
        raise CommandError(
            f"{text!r} is no time: write 10:03:12.5 (UTC), 2026-11-20T10:03:12, or +12.5 (seconds from the first one)"
        ) from None


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND * 1000


def changed(before: Sequence[State], after: Sequence[State]) -> Iterator[tuple[str, State]]:
    """Yield what came ("+"), what went ("-", as it was), and what is different ("~", as it is now)."""
    old: Mapping[tuple[object, ...], State] = {row.key: row for row in before}
    now = {row.key for row in after}
    for row in before:
        if row.key not in now:
            yield "-", row
    for row in after:
        was = old.get(row.key)
        if was is None:
            yield "+", row
        elif any([getattr(was, name) != getattr(row, name) for name in _CHANGING]):
            yield "~", row


def _json_changes(changes: Sequence[tuple[str, State]]) -> Iterator[str]:
    for (sign, _), line in zip(changes, json_lines("state", [row for _, row in changes]), strict=True):
        yield f'{{"change":"{sign}",{line[1:]}'


def _lines(rows: Sequence[State]) -> Iterator[str]:
    for row in rows:
        deep = {"connection": 0, "blocked": 1, "channel": 1, "session": 1}.get(row.kind, 2)
        yield "  " * deep + _title(row)


def _title(row: State) -> str:
    words: list[Any] = [row.kind if row.kind != "blocked" else "blocked by the server"]
    if row.kind == "connection":
        words = [row.kind, row.connection[:8], row.name, row.text]
    elif row.kind in ("channel", "session"):
        words += [row.channel, row.name]
    elif row.kind == "call":
        words = [f"{row.name} of the {row.side}", f"on channel {row.channel}" if row.channel else "", "waits"]
    elif row.kind == "link":
        words += [row.name, f"sent by the {row.side}", _of(row)]
    elif row.kind == "publish":
        words += [row.name, f"to {row.queue}" if row.queue else "", f"on channel {row.channel}", row.text]
    elif row.kind == "delivery":
        words += [
            row.name,
            _of(row),
            f"to {row.consumer}" if row.consumer else "",
            f"on channel {row.channel}",
            row.text,
        ]
    else:
        words += [row.name, _of(row), row.text]
    parts = [" ".join(str(word) for word in words if word not in (None, ""))]
    parts += [part for part in (row.state, _room(row), _age(row)) if part]
    return ", ".join(parts)


def _of(row: State) -> str:
    return f"of {row.queue}" if row.queue else ""


def _room(row: State) -> str:
    parts: list[str] = []
    if row.held is not None:
        parts.append(f"holds {row.held}")
    if row.most is not None and row.kind == "consumer":
        parts.append(f"prefetch {row.most}")
    if row.kind in ("consumer", "link") and row.room is not None:
        parts.append(f"room for {row.room}")
    return ", ".join(parts)


def _age(row: State) -> str:
    if row.since_ns is None:
        return ""
    verb = {"delivery": "held", "publish": "without a confirm"}.get(row.kind, "")
    return f"{verb} for {duration(row.at_ns - row.since_ns)}".strip()


__all__ = ["changed", "instant", "state_command"]
