"""Numbers and times for people, and axis marks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from .measures import WIDTHS

_SECOND: Final = 1_000_000_000
_LAST_SECOND: Final = 253_402_300_799


def count(value: float) -> str:
    """Return a number with thousands separators.

    >>> count(12345), count(0.5)
    ('12,345', '0.5')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"


def octets(value: float) -> str:
    """Return a number of octets in a suitable unit.

    >>> octets(999), octets(1500), octets(2_500_000)
    ('999 B', '1.5 kB', '2.5 MB')
    """
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if value < 999.5 * size else f"{value / size:,.0f} {unit}"
    return f"{value:.3g} B" if value % 1 else f"{int(value)} B"


def duration(nanoseconds: float) -> str:
    """Return a time span in a suitable unit.

    >>> duration(1_500_000), duration(90 * 10**9), duration(0)
    ('1.5 ms', '90 s', '0 s')
    """
    if not nanoseconds:
        return "0 s"
    size = abs(nanoseconds)
    if size >= 172_800 * _SECOND:
        days = nanoseconds / (86_400 * _SECOND)
        return f"{days:.3g} d" if abs(days) < 999.5 else f"{days:,.0f} d"
    if size >= 7200 * _SECOND:
        return f"{nanoseconds / (3600 * _SECOND):.3g} h"
    if size >= 120 * _SECOND:
        return f"{nanoseconds / (60 * _SECOND):.3g} min"
    for unit, unit_size in (("s", _SECOND), ("ms", 1_000_000), ("µs", 1000)):
        if size >= unit_size:
            return f"{nanoseconds / unit_size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def day(ts_ns: int) -> str:
    """Return the date, in UTC."""
    return f"{_moment(ts_ns):%Y-%m-%d}"


def clock(ts_ns: int, step_ns: int = 1_000_000) -> str:
    """Return the time of day in UTC, with the precision of steps of that width.

    >>> clock(1_500_000_000), clock(1_500_000_000, 60 * 10**9), clock(1_500_000_123, 1)
    ('00:00:01.500', '00:00', '00:00:01.500000123')
    """
    moment = _moment(ts_ns)
    if step_ns % (60 * _SECOND) == 0:
        return f"{moment:%H:%M}"
    if step_ns % _SECOND == 0:
        return f"{moment:%H:%M:%S}"
    digits = 3 if step_ns % 1_000_000 == 0 else 6 if step_ns % 1000 == 0 else 9
    return f"{moment:%H:%M:%S}.{ts_ns % _SECOND:09d}"[: 9 + digits]


def moment(ts_ns: int) -> str:
    """Return date and time in UTC, to the millisecond."""
    return f"{day(ts_ns)} {clock(ts_ns)}"


def share(part: int, whole: int) -> str:
    """Return a part of a whole in percent.

    >>> share(1, 3), share(1, 100_000), share(0, 0)
    ('33 %', '<0.1 %', '0 %')
    """
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def time_marks(start_ns: int, end_ns: int, most: int = 6) -> list[tuple[int, str]]:
    """Return at most `most` round times between two, with the label of each."""
    span = max(end_ns - start_ns, 1)
    step = next((width for width in WIDTHS if span // width < most), WIDTHS[-1])
    first = -(-start_ns // step) * step
    days = step >= 86_400 * _SECOND
    return [(at, day(at) if days else clock(at, step)) for at in range(first, end_ns + 1, step)]


def value_marks(most: float, marks: int = 4) -> list[float]:
    """Return round values from 0 to at least `most`.

    >>> value_marks(7)
    [0, 2, 4, 6, 8]
    """
    if most <= 0:
        return [0, 1]
    step = 1.0
    while step * marks < most:
        step *= 10
    while step / 10 * marks >= most and step > 1:
        step /= 10
    for divisor in (5, 2):
        if step / divisor * marks >= most and step / divisor >= 1:
            step /= divisor
            break
    found = [0.0]
    while found[-1] < most:
        found.append(found[-1] + step)
    return [int(value) if value == int(value) else value for value in found]


def log_marks(low: int, high: int, steps: Sequence[int]) -> list[int]:
    """Return those of `steps` between two values."""
    return [step for step in steps if low <= step <= high]


DURATION_MARKS: Final = tuple(
    [10**power for power in range(10)] + [10 * _SECOND, 60 * _SECOND, 600 * _SECOND, 3600 * _SECOND, 86_400 * _SECOND]
)
OCTET_MARKS: Final = tuple([10**power for power in range(13)])


def _moment(ts_ns: int) -> datetime:
    # A timestamp in a capture may be arbitrary.
    return datetime.fromtimestamp(min(max(ts_ns // _SECOND, 0), _LAST_SECOND), UTC)


__all__ = [
    "DURATION_MARKS",
    "OCTET_MARKS",
    "clock",
    "count",
    "day",
    "duration",
    "log_marks",
    "moment",
    "octets",
    "share",
    "time_marks",
    "value_marks",
]
