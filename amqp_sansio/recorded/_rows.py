"""Rows of events and messages: whole ones, of which a choice of columns takes its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..endpoint import Side
from ..versions import AMQP_1_0
from . import _json
from ._columns import COLUMNS
from ._plain import plain
from ._row_types import (
    ConnectionsRow,
    ConsumersRow,
    EventsRow,
    MessagesRow,
    ViolationsRow,
    event_values,
    message_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._watching.observation import Observed
    from .._watching.outcomes import MessageRecord
    from ..versions import Version

Values: TypeAlias = tuple[Any, ...]

NAMES: Final = {table: tuple([name for name, _ in columns]) for table, columns in COLUMNS.items()}
"""The names of all columns of each table."""
ROWS: Final[Mapping[str, Any]] = {
    "connections": ConnectionsRow,
    "events": EventsRow,
    "messages": MessagesRow,
    "violations": ViolationsRow,
    "consumers": ConsumersRow,
}
"""The NamedTuple of each table's rows, whose fields are the table's columns. A replay makes its whole rows so."""
_tuple: Any = tuple
_CLIENT: Final = Side.CLIENT
_MOST: Final = 256
"""Most properties whose texts are kept, and most octets of each."""
_PROPERTIES: Final = ("message_id", "correlation_id", "content_type", "reply_to", "headers")


def chosen(names: Sequence[str], row: NamedTuple) -> Values:
    """Return the values of these columns in a table's whole row."""
    return row if names == row._fields else tuple([getattr(row, name) for name in names])


def maker_of(table: str, names: tuple[str, ...]) -> Callable[[Values], Values]:
    """Return what makes a row of these columns of the values of all: their NamedTuple, where all are wanted.

    >>> maker_of("consumers", ("queue", "channel"))(tuple(range(19)))
    (4, 1)
    """
    every = NAMES[table]
    if names == every:
        return partial(_tuple.__new__, ROWS[table])
    places = [every.index(name) for name in names]
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: tuple([values[place] for place in places])


@lru_cache(maxsize=_MOST)
def event_row(names: tuple[str, ...], roles: bool = True) -> Callable[..., Values]:
    """Return a function that makes a row: of a unit, its connection and protocol, and the writer of `fields`.

    Without `roles` nobody knows which side is the client.
    """
    client, server = ("client", "server") if roles else (None, None)
    make = maker_of("events", names)
    has_fields = "fields" in names

    def write(u: Observed, label: str, protocol: str | None, fields: Callable[[Observed], str]) -> Values:
        # To write the fields takes longer than all the rest.
        told = fields(u) if has_fields else None
        return make(event_values(u, label, client if u.sender is _CLIENT else server, protocol, told))

    return write


class MessageRows:
    """Makes rows of messages, of the columns `names`.

    The texts of properties that repeat are made once; `forget` is to be called when the same octets may mean something
    else. Texts that are kept are no part of the state. Without `roles` nobody knows which side is the client.
    """

    __slots__ = ("_has_texts", "_known", "_make", "_names", "_roles", "_secrets")

    def __init__(self, names: tuple[str, ...], secrets: bool, roles: bool = True) -> None:
        self._names = names
        self._secrets = secrets
        """Whether headers show tokens."""
        self._roles = roles
        self._known: dict[tuple[type[Any], bytes], Values] = {}
        self._has_texts = not _PROPERTIES_SET.isdisjoint(names)
        self._make = maker_of("messages", names)

    def write(
        self, message: MessageRecord, label: str, version: Version | None, protocol: str | None, vhost: str | None
    ) -> Values:
        """Return the row of a message."""
        if self._has_texts:
            texts = self._texts(message)
        else:
            message.read()
            texts = _NO_TEXTS
        return self._make(message_values(message, label, version, protocol, vhost, self._roles, texts))

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


__all__ = ["NAMES", "ROWS", "MessageRows", "Values", "chosen", "event_row", "maker_of", "plain"]
