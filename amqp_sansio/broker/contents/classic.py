"""ClassicContent: a message as 0-8 and 0-9-1 encode it (section 4.2.6: flags, properties, and a body)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ..._classic.codec.methods import BasicProperties
from ..._classic.codec.table import Table, Timestamp, Typed
from ...errors import CodecError
from ..model.content import NO_HEADERS, Content
from .deaths import DEATH, FIRSTS, Expirations, add_expiration, headers_of, read_deaths, read_expirations, write_deaths
from .tables import fit_name, fitted, replaced

if TYPE_CHECKING:
    from ..._classic.codec.table_rules import TableRules
    from ...versions import Version
    from ..model.content import Death

_HEADERS: Final = 0x20
_DELIVERY_MODE: Final = 0x10
_PRIORITY: Final = 0x08
_EXPIRATION: Final = 0x01
"""Flags in the first octet of the properties."""

_PERSISTENT: Final = 2
_NO_PROPERTIES: Final = b"\0\0"


class ClassicContent(Content):
    """The octets of property flags and properties, `raw_properties`, and of a body. Decodes on access.

    `tables` are the rules for decoding the headers.
    """

    __slots__ = ("_flags", "_headers", "_properties", "body", "is_plain", "raw_properties", "size", "tables", "version")

    def __init__(self, version: Version, raw_properties: bytes, tables: TableRules, body: bytes) -> None:
        self.version = version
        self.raw_properties = raw_properties
        self.tables = tables
        self.body = body
        self.size = len(body)
        self._flags = raw_properties[0] if raw_properties else 0
        self.is_plain = not self._flags & (_PRIORITY | _EXPIRATION)
        self._properties: BasicProperties | None = None
        self._headers: Mapping[str, Any] | None = None

    @property
    def octets(self) -> int:
        """Octets of properties and body."""
        return len(self.raw_properties) + self.size

    @property
    def properties(self) -> BasicProperties:
        """The properties; all absent if their octets are damaged. (The octets inside the headers aren't checked.)"""
        found = self._properties
        if found is None:
            found = BasicProperties.from_wire(self.raw_properties, self.tables)
            try:
                _ = found.content_type
            except CodecError:
                found = BasicProperties()
            self._properties = found
        return found

    @property
    def priority(self) -> int:
        """The priority; 0 if absent."""
        if not self._flags & _PRIORITY:
            return 0
        return self.properties.priority or 0

    @property
    def ttl(self) -> float | None:
        """The expiration, in seconds; also None for a text that is no number of milliseconds."""
        if not self._flags & _EXPIRATION:
            return None
        milliseconds = read_expiration(self.properties.expiration)
        return None if milliseconds is None else milliseconds / 1000

    @property
    def persistent(self) -> bool:
        """Whether delivery-mode is 2."""
        return self._flags & _DELIVERY_MODE != 0 and self.properties.delivery_mode == _PERSISTENT

    @property
    def headers(self) -> Mapping[str, Any]:
        """The headers; none if they are damaged."""
        if not self._flags & _HEADERS:
            return NO_HEADERS
        found = self._headers
        if found is None:
            table = self.properties.headers
            found = NO_HEADERS
            if table is not None:
                try:
                    # Decodes all of it, with nested values.
                    len(table)
                    found = table
                except CodecError:
                    pass
            self._headers = found
        return found

    @property
    def deaths(self) -> tuple[Death, ...]:
        """The deaths in "x-death"; "x_death" if the dialect's names have no hyphen."""
        if not self._flags & _HEADERS:
            return ()
        return read_deaths(self.headers.get(fit_name(DEATH, self.tables)), self._separator)

    @property
    def _separator(self) -> str:
        return "_" if self.tables.strict_names else "-"

    @property
    def expirations(self) -> Expirations:
        """The times to live in "x-death" that were removed from the message."""
        return read_expirations(self.headers.get(fit_name(DEATH, self.tables)), self._separator)

    def with_deaths(self, deaths: tuple[Death, ...]) -> ClassicContent:
        """Return the message with these deaths in its headers, and without expiration.

        Damaged properties and damaged headers are replaced, since they are unreadable.
        """
        properties = self.properties
        expirations = add_expiration(self.expirations, deaths, properties.expiration)
        given = {name: getattr(properties, name) for name in BasicProperties.__match_args__}
        given["expiration"] = None
        given["headers"] = dead_headers(self.headers, self.tables, deaths, expirations)
        raw = BasicProperties(**given).encode(self.tables)
        return ClassicContent(self.version, raw, self.tables, self.body)

    def with_headers(self, values: Mapping[str, Any], drop: tuple[str, ...] = ()) -> ClassicContent:
        """Return the message with these headers, and without those of `drop`; damaged headers are replaced."""
        properties, headers = self.properties, self.headers
        given = {name: getattr(properties, name) for name in BasicProperties.__match_args__}
        tables = self.tables
        if isinstance(headers, Table):
            given["headers"] = replaced(headers.raw, tables, values, drop)
        else:
            given["headers"] = fitted(values, tables)
        return ClassicContent(self.version, BasicProperties(**given).encode(tables), tables, self.body)

    def __reduce__(self) -> tuple[Any, ...]:
        return ClassicContent, (self.version, self.raw_properties, self.tables, self.body)

    def __repr__(self) -> str:
        return f"<ClassicContent of {self.version.label}, {self.size} octets>"


def dead_headers(
    headers: Mapping[str, Any], tables: TableRules, deaths: tuple[Death, ...], expirations: Expirations
) -> Table:
    """Return headers with these deaths; other headers keep their octets."""
    entries = [
        {**entry, "count": Typed("l", entry["count"]), "time": Timestamp(entry["time"])}
        for entry in write_deaths(deaths, expirations)
    ]
    known = [name for name in FIRSTS if fit_name(name, tables) in headers]
    values = headers_of(deaths, entries, known)
    return replaced(headers.raw, tables, values) if isinstance(headers, Table) else fitted(values, tables)


def read_expiration(text: str | None) -> int | None:
    """Return the milliseconds of an expiration, decimal digits, perhaps behind a plus; None for any other text."""
    digits = "" if text is None else text.removeprefix("+")
    return int(digits) if digits.isascii() and digits.isdecimal() else None


__all__ = ["ClassicContent", "dead_headers", "read_expiration"]
