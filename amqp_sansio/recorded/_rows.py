"""Rows of events and messages: one statement, generated for the columns that are wanted, makes each."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..endpoint import Side
from ..versions import AMQP_1_0
from . import _json
from ._columns import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._watching.outcomes import MessageRecord
    from ..versions import Version

Values: TypeAlias = tuple[Any, ...]

NAMES: Final = {table: tuple([name for name, _ in columns]) for table, columns in COLUMNS.items()}
"""The names of all columns of each table."""
_named: Any = namedtuple
"""The fields are those of `COLUMNS`, so nobody repeats them for type checkers."""
ConnectionsRow: Final = _named("ConnectionsRow", NAMES["connections"], module=__name__)
EventsRow: Final = _named("EventsRow", NAMES["events"], module=__name__)
MessagesRow: Final = _named("MessagesRow", NAMES["messages"], module=__name__)
ViolationsRow: Final = _named("ViolationsRow", NAMES["violations"], module=__name__)
ConsumersRow: Final = _named("ConsumersRow", NAMES["consumers"], module=__name__)
ROWS: Final[Mapping[str, Any]] = {
    "connections": ConnectionsRow,
    "events": EventsRow,
    "messages": MessagesRow,
    "violations": ViolationsRow,
    "consumers": ConsumersRow,
}
"""The NamedTuple of each table's rows, whose fields are the table's columns. A replay makes its whole rows so."""
_tuple: Any = tuple
_INT64_MAX: Final = (1 << 63) - 1
_MOST: Final = 256
"""Most properties whose texts are kept, and most octets of each."""
_SENDER: Final = "'client' if u.sender is C else 'server'"
_EVENTS: Final = {
    "connection": "label",
    "ts": "u.at_ns // 1000",
    "ts_ns": "u.at_ns",
    "sender": _SENDER,
    "protocol": "protocol",
    "fields": "fields(u)",
}
"""The expressions for columns of a unit, where they aren't its attributes; `fields` is a `FieldWriter`'s method."""
_TEXT: Final = "v if (v := u.{0}) is None or v.isascii() else P(v)"
_PROPERTIES: Final = ("message_id", "correlation_id", "content_type", "reply_to", "headers")
_MESSAGES: Final = {
    "connection": "label",
    "protocol": "protocol if u.version is version else u.version.label",
    "tag": "v if (v := u.tag) is None or v <= M else None",
    "body_size": "v if (v := u.body_size) is None or v <= M else M",
    "latency_ns": "None if u.settled_ns is None else u.settled_ns - u.ts_ns",
    "sender": _SENDER,
    "reply_code": "u.code",
    "reply_text": _TEXT.format("text"),
    "vhost": "vhost",
    **{name: _TEXT.format(name) for name in ("exchange", "routing_key", "address", "queue", "consumer_tag", "link")},
    **{name: f"p[{place}]" for place, name in enumerate(_PROPERTIES)},
}
"""The expressions for columns of a message, where they aren't its attributes; `p` are the texts of its properties."""


def plain(text: str | None) -> str | None:
    """Return text in a form that every consumer can take: surrogates for octets that aren't UTF-8 become `\\xNN`."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def chosen(table: str, names: Sequence[str], row: Values) -> Values:
    """Return the values of these columns in a table's whole row."""
    every = NAMES[table]
    return ROWS[table]._make(row) if names == every else tuple([row[every.index(name)] for name in names])


_UNKNOWN: Final = dict.fromkeys(("sender", "kind", "address", "queue"), "None")
"""The expressions for columns that say who is the client, where nobody knows."""


@lru_cache(maxsize=_MOST)
def event_row(names: tuple[str, ...], roles: bool = True) -> Callable[..., Values]:
    """Return a function that makes a row: of a unit, its connection and protocol, and the writer of `fields`.

    Without `roles` nobody knows which side is the client.
    """
    columns = _EVENTS if roles else _EVENTS | _UNKNOWN
    values = tuple([columns.get(name, f"u.{name}") for name in names])
    return _function("u, label, protocol, fields", values, whole="events" if names == NAMES["events"] else "")


class MessageRows:
    """Makes rows of messages, of the columns `names`.

    The texts of properties that repeat are made once; `forget` is to be called when the same octets may mean something
    else. Texts that are kept are no part of the state. Without `roles` nobody knows which side is the client.
    """

    __slots__ = ("_known", "_names", "_roles", "_row", "_secrets")

    def __init__(self, names: tuple[str, ...], secrets: bool, roles: bool = True) -> None:
        self._names = names
        self._secrets = secrets
        """Whether headers show tokens."""
        self._roles = roles
        self._known: dict[tuple[type[Any], bytes], Values] = {}
        first = "p = texts(u)" if not _PROPERTIES_SET.isdisjoint(names) else "u.read()"
        columns = _MESSAGES if roles else _MESSAGES | _UNKNOWN
        values = tuple([columns.get(name, f"u.{name}") for name in names])
        whole = "messages" if names == NAMES["messages"] else ""
        self._row = _function("u, label, version, protocol, vhost, texts", values, first, whole)

    def write(
        self, message: MessageRecord, label: str, version: Version | None, protocol: str | None, vhost: str | None
    ) -> Values:
        """Return the row of a message."""
        return self._row(message, label, version, protocol, vhost, self._texts)

    def identified(self, roles: bool) -> MessageRows:
        """Return what makes the same rows, now that it is known whether somebody knows which side is the client."""
        return MessageRows(self._names, self._secrets, roles)

    def forget(self) -> None:
        """Forget the texts of all properties."""
        self._known.clear()

    def _texts(self, message: MessageRecord) -> Values:
        message.read()
        properties = message.properties
        if properties is None:
            return _NO_TEXTS
        octets: bytes = properties.encode() if message.version is AMQP_1_0 else properties.raw or b""
        key = properties.__class__, octets
        found = self._known.get(key)
        if found is None:
            headers = message.headers
            found = (
                plain(message.message_id),
                plain(message.correlation_id),
                plain(message.content_type),
                plain(message.reply_to),
                None if headers is None else _json.encode(headers, self._secrets),
            )
            if 0 < len(octets) <= _MOST:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[key] = found
        return found

    def __reduce__(self) -> tuple[type[MessageRows], tuple[Any, ...]]:
        return MessageRows, (self._names, self._secrets, self._roles)


_PROPERTIES_SET: Final = frozenset(_PROPERTIES)
_NO_TEXTS: Final[Values] = (None,) * len(_PROPERTIES)


@lru_cache(maxsize=_MOST)
def _function(parameters: str, values: tuple[str, ...], first: str = "", whole: str = "") -> Callable[..., Values]:
    """Return a function; it is made once, since that takes a millisecond. `whole` is the table of a whole row."""
    names: dict[str, Any] = {"C": Side.CLIENT, "M": _INT64_MAX, "P": plain, "R": ROWS.get(whole), "N": _tuple.__new__}
    row = f"({', '.join(values)},)"
    exec(f"def write({parameters}):\n {first}\n return {f'N(R, {row})' if whole else row}", names)
    made: Callable[..., Values] = names["write"]
    return made


__all__ = ["NAMES", "ROWS", "MessageRows", "Values", "chosen", "event_row", "plain"]
