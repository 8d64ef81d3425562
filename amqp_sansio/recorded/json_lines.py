"""JSON lines: rows of tables as JSON objects, with the columns in order and control characters escaped.

JSON columns are nested values, timestamps texts of ISO 8601 in UTC to the microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ..endpoint import Side
from ..printing import json_string
from ._json import Texts
from ._whole_lines import LINES

if TYPE_CHECKING:
    from .._watching.observation import Observed
    from ._json import FieldWriter

_MOST: Final = 1000
"""Most seconds whose texts are kept."""


def json_lines(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield one JSON object for each row of a table; `columns` are the names and types of its columns.

    >>> list(json_lines((("seq", "int64"), ("ts", "timestamp"), ("event", "string")), [(7, 1, None)]))
    ['{"seq":7,"ts":"1970-01-01T00:00:00.000001Z","event":null}']
    """
    texts, moment = Texts(json_string), Moments()
    write = LINES.get(tuple(columns))
    if write is not None:
        for row in rows:
            yield write(row, texts, moment, _BITS)
        return
    names = [json_string(name).replace("%", "%%") for name, _ in columns]
    template = f"{{{','.join([f'{name}:%s' for name in names])}}}"
    makers: dict[str, Callable[[Any], str]] = {
        "string": texts.__getitem__,
        "timestamp": moment,
        "bool": _BITS.__getitem__,
    }
    kinds = [makers.get(kind) for _, kind in columns]
    for row in rows:
        yield template % tuple(
            [
                "null" if value is None else value if make is None else make(value)
                for value, make in zip(row, kinds, strict=True)
            ]
        )


_BITS: Final[dict[bool, str]] = {False: "false", True: "true"}


class Moments:
    """Microseconds since 1970 as a JSON string.

    >>> Moments()(1_000_001)
    '"1970-01-01T00:00:01.000001Z"'
    """

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: dict[int, str] = {}

    def __call__(self, microseconds: int) -> str:
        seconds, rest = divmod(microseconds, 1_000_000)
        text = self._seconds.get(seconds)
        if text is None:
            if len(self._seconds) >= _MOST:
                self._seconds.clear()
            text = self._seconds[seconds] = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
        return f'"{text}.{rest:06d}Z"'


class EventLines:
    """The rows of one connection in `events`, each written straight from its unit.

    The lines are those that `json_lines` makes of the rows, in half the time.
    """

    __slots__ = (
        "_at_ns",
        "_begin",
        "_client",
        "_connection",
        "_fields",
        "_moment",
        "_moments",
        "_protocol",
        "_roles",
        "_server",
        "_texts",
    )

    def __init__(self, connection: str, fields: FieldWriter, protocol: str | None = None, roles: bool = True) -> None:
        self._connection = connection
        self._begin = f'{{"connection":{json_string(connection)},"seq":'
        self._fields = fields
        self._texts = Texts(json_string)
        self._moments = Moments()
        self._at_ns = -1
        self._moment = ""
        self.identify(protocol, roles)

    def identify(self, protocol: str | None, roles: bool = True) -> None:
        """Note the connection's version, and whether it is known which side is the client."""
        self._protocol = protocol
        self._roles = roles
        label = "null" if protocol is None else json_string(protocol)
        self._client, self._server = [
            f',"sender":{json_string(side.value) if roles else "null"},"protocol":{label},"channel":'
            for side in (Side.CLIENT, Side.SERVER)
        ]

    def __reduce__(self) -> tuple[type[EventLines], tuple[str, FieldWriter, str | None, bool]]:
        return EventLines, (self._connection, self._fields, self._protocol, self._roles)

    def write(self, event: Observed) -> str:
        """Return the line of a unit."""
        at_ns = event.at_ns
        if at_ns != self._at_ns:
            # The units of one segment have one time.
            self._at_ns = at_ns
            self._moment = f',"ts":{self._moments(at_ns // 1000)},"ts_ns":{at_ns}'
        sender = self._client if event.sender is Side.CLIENT else self._server
        answers = event.answers
        return (
            f'{self._begin}{event.seq}{self._moment}{sender}{event.channel},"event":{self._texts[event.event]},"size":'
            f'{event.size},"offset":{event.offset},"fields":{{{self._fields.members(event)[1:]}}},"answers":'
            f'{"null" if answers is None else answers},"unit":"{event.unit}"}}'
        )


__all__ = ["EventLines", "Moments", "json_lines"]
