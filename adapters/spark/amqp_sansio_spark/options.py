"""The options of a read, checked."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from amqp_sansio.capture.addresses import ipv4_text, ipv6_text
from amqp_sansio_arrow.clocks import NO_OFFSETS, ClockOffsets, parse_offsets

from .segments import ARROW_SCHEMA
from .selection import Selection

FORMAT: Final = "amqp-capture"
Table = Literal["segments", "problems"]
KNOWN: Final = (
    *("path", "paths", "maxBytesPerBatch", "maxBytesPerTask", "splitBytes", "failFast", "table"),
    *("columns", "port", "host", "from", "to", "recursiveFileLookup", "pathGlobFilter"),
    *("clockOffset", "pushFilters", "maxFilesPerTrigger", "maxBytesPerTrigger", "closedAfter"),
)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_NS: Final = 1_000_000_000


class Options(NamedTuple):
    """The options, with their defaults; `CaptureSource` documents each."""

    batch_octets: int
    task_octets: int
    split_octets: int
    fail_fast: bool
    table: Table
    columns: tuple[str, ...]
    selection: Selection
    recursive: bool
    pattern: str | None
    push_filters: bool
    clocks: ClockOffsets = NO_OFFSETS


def parse_options(given: Mapping[str, str]) -> Options:
    """Parse the options of a read; their names are case-insensitive.

    Raises ValueError for an unknown option or an invalid value.
    """
    values = {name.lower(): str(value).strip() for name, value in given.items()}
    known = {name.lower(): name for name in KNOWN}
    for name in values:
        if name not in known:
            raise ValueError(f"{FORMAT}: there is no option {name!r}; there are {', '.join(sorted(KNOWN))}")
    table: Table = "segments"
    match values.get("table", table):
        case "segments":
            pass
        case "problems":
            table = "problems"
        case other:
            raise ValueError(f"{FORMAT}: table is segments or problems, not {other!r}")
    since, until = _time("from", values.get("from")), _time("to", values.get("to"))
    return Options(
        batch_octets=_octets("maxBytesPerBatch", values.get("maxbytesperbatch", "4m"), 1 << 30),
        task_octets=_octets("maxBytesPerTask", values.get("maxbytespertask", "64m"), 1 << 50),
        split_octets=_octets("splitBytes", values.get("splitbytes", "128m"), 1 << 50),
        fail_fast=_flag("failFast", values.get("failfast", "false")),
        table=table,
        columns=_columns(values.get("columns")),
        selection=Selection(
            ports=frozenset(_port(text) for text in _list(values.get("port"))),
            hosts=frozenset(_host(text) for text in _list(values.get("host"))),
            since_ns=since,
            until_ns=until,
        ),
        recursive=_flag("recursiveFileLookup", values.get("recursivefilelookup", "true")),
        pattern=values.get("pathglobfilter"),
        push_filters=_flag("pushFilters", values.get("pushfilters", "false")),
        clocks=_clocks(values.get("clockoffset")),
    )


class StreamOptions(NamedTuple):
    """The options of streams only: the size of a trigger (None: no limit), and when a file counts as closed."""

    max_files: int | None
    max_octets: int | None
    closed_after: float
    """Seconds."""


def parse_stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Parse the options of a stream, among those that `parse_options` knows. Raises ValueError for an invalid value."""
    values = {name.lower(): str(value).strip() for name, value in given.items()}
    files, octets = values.get("maxfilespertrigger"), values.get("maxbytespertrigger")
    if files is not None and octets is not None:
        raise ValueError(f"{FORMAT}: maxFilesPerTrigger or maxBytesPerTrigger, not both")
    if files is not None and (not files.isdecimal() or int(files) < 1):
        raise ValueError(f"{FORMAT}: maxFilesPerTrigger is at least 1, not {files!r}")
    closed_after = values.get("closedafter", "60")
    if not closed_after.replace(".", "", 1).isdecimal():
        raise ValueError(f"{FORMAT}: closedAfter is a number of seconds, not {closed_after!r}")
    return StreamOptions(
        max_files=None if files is None else int(files),
        max_octets=None if octets is None else _octets("maxBytesPerTrigger", octets, 1 << 50),
        closed_after=float(closed_after),
    )


def _octets(option: str, text: str, most: int) -> int:
    digits = text.lower().removesuffix("b")
    unit = digits[-1:] if digits[-1:] in _UNITS else ""
    number = digits.removesuffix(unit)
    if not number.isdecimal() or not 1 <= (size := int(number) * _UNITS[unit]) <= most:
        shown = "1g" if most == 1 << 30 else "1024t"
        raise ValueError(f"{FORMAT}: {option} is 1 to {shown}, not {text!r}")
    return size


def _flag(option: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{FORMAT}: {option} is true or false, not {text!r}")
    return text.lower() == "true"


def _list(text: str | None) -> list[str]:
    return [] if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _columns(text: str | None) -> tuple[str, ...]:
    if text is None:
        return tuple(ARROW_SCHEMA.names)
    names = tuple(_list(text))
    unknown = [name for name in names if name not in ARROW_SCHEMA.names]
    if unknown or not names or len(set(names)) < len(names):
        every = ", ".join(ARROW_SCHEMA.names)
        raise ValueError(f"{FORMAT}: columns are some of {every}, each once, not {text!r}")
    return names


def _clocks(text: str | None) -> ClockOffsets:
    try:
        return NO_OFFSETS if text is None else parse_offsets(text)
    except ValueError as error:
        raise ValueError(f"{FORMAT}: clockOffset: {error}") from None


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 <= (port := int(text)) <= 0xFFFF:
        raise ValueError(f"{FORMAT}: port is a number up to 65535, or several, not {text!r}")
    return port


def _host(text: str) -> str:
    try:
        address = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        raise ValueError(f"{FORMAT}: host is an IP address, or several, not {text!r}") from None
    # In the form of the rows.
    return ipv4_text(address.packed) if address.version == 4 else ipv6_text(address.packed)


def _time(option: str, text: str | None) -> int | None:
    """Parse nanoseconds since 1970, given as a number or an ISO 8601 time, in UTC if it names no zone."""
    if text is None:
        return None
    if text.removeprefix("-").isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{FORMAT}: {option} is a time like 2026-11-20T09:27:00Z or nanoseconds since 1970, not {text!r}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _NS + since.microseconds * 1000
