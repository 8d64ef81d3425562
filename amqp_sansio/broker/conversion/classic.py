"""Converts messages of 0-8 and 0-9-1 to `Common` and back (section 1.8.1.2 of 0-8, basic class of 0-9-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._classic.codec.methods import BasicProperties
from ..._classic.codec.table import Table, Timestamp
from ...errors import CodecError
from ..contents.classic import ClassicContent, dead_headers, read_expiration
from ..contents.tables import fit_name
from . import classic_values
from .bodies import content_type
from .common import Common, id_octets, node_text, read_id, read_node, text_property
from .headers import take_headers, written_headers
from .values import Value, octets_of, text_of

if TYPE_CHECKING:
    from ..._classic.codec.table_rules import TableRules
    from ...versions import Version

_TEXTS: Final = {
    "content_type": "content-type",
    "content_encoding": "content-encoding",
    "type": "subject",
    "app_id": "app-id",
    "cluster_id": "cluster-id",
}
_IDS: Final = {"message_id": "message-id", "correlation_id": "correlation-id"}
_LONGEST: Final = 255
_PERSISTENT: Final = 2
_SECOND: Final = 1000
_LATEST: Final = 1 << 63
"""The lowest number of milliseconds that 1.0 can't express."""
_LONGEST_TTL: Final = 1 << 64


def read(content: ClassicContent) -> Common:
    """Read a message, without damaged properties or headers."""
    common = Common(content.body)
    properties = content.properties
    for attribute, name in _TEXTS.items():
        text = getattr(properties, attribute)
        if text is not None:
            common.put(name, ("text", text))
    for attribute, name in _IDS.items():
        text = getattr(properties, attribute)
        if text is not None:
            common.put(name, read_id(octets_of(text)))
    if properties.reply_to is not None:
        common.put("reply-to", read_node(properties.reply_to))
    if properties.user_id is not None:
        common.put("user-id", ("binary", octets_of(properties.user_id)))
    if properties.priority is not None:
        common.put("priority", ("uint8", properties.priority))
    _read_numbers(common, properties)
    common.deaths = content.deaths
    common.expirations = content.expirations
    headers = content.headers
    entries = classic_values.read_table(headers) if isinstance(headers, Table) else []
    if content.tables.strict_names:
        take_headers(common, entries, lambda name: fit_name(name, content.tables))
    else:
        take_headers(common, entries)
    return common


def _read_numbers(common: Common, properties: BasicProperties) -> None:
    mode = properties.delivery_mode
    if mode == _PERSISTENT:
        common.put("durable", ("bool", True))
    elif mode is not None:
        common.put("delivery-mode", ("uint8", mode))
    if properties.expiration is not None:
        ttl = read_expiration(properties.expiration)
        if ttl is None or ttl >= _LONGEST_TTL:
            common.put("expiration", ("text", properties.expiration))
        else:
            common.put("ttl", ("uint64", ttl))
    seconds = properties.timestamp
    if seconds is not None:
        beyond = seconds * _SECOND >= _LATEST
        common.put("timestamp" if beyond else "creation-time", _moment(seconds, beyond))


def _moment(seconds: int, beyond: bool) -> Value:
    return ("uint64", int(seconds)) if beyond else ("time", int(seconds) * _SECOND)


def passed_on(content: ClassicContent, version: Version, tables: TableRules) -> ClassicContent | None:
    """Return the same octets as content of the other version if they mean the same there; None if they don't."""
    source = content.tables
    raw = content.raw_properties
    alike = (source.writes, source.s_is_string, source.l_is_unsigned, source.strict_names)
    if alike != (tables.writes, tables.s_is_string, tables.l_is_unsigned, tables.strict_names):
        headers = content.properties.headers
        if headers is not None:
            return None
    try:
        properties = BasicProperties.from_wire(raw, source)
        properties.check()
    except CodecError:
        return None
    table = content.properties.headers
    if isinstance(table, Table) and source.first_wins != tables.first_wins and _repeats(table):
        return None
    return ClassicContent(version, raw, tables, content.body)


def _repeats(value: Any) -> bool:
    """Whether a table, or one nested in it, repeats a name: versions differ in which entry counts."""
    if isinstance(value, Table):
        entries = value.entries()
        names = [name for name, _, _ in entries]
        return len(set(names)) != len(names) or any([_repeats(each) for _, _, each in entries])
    elements: Any = value
    return isinstance(value, list) and any([_repeats(each) for each in elements])


def write(common: Common, version: Version, tables: TableRules) -> ClassicContent:
    """Write the message in 0-8 or 0-9-1, with headers in the format of `tables`."""
    held: dict[str, Any] = {}
    # Properties with an exact place; others are carried.
    kept: list[str] = []
    told, is_own = content_type(common)
    for attribute, name in _TEXTS.items():
        text = text_property(common, name)
        if text is not None and len(octets_of(text)) <= _LONGEST:
            held[attribute] = text
            kept.append(name)
    if told is not None and "content-type" not in common.properties:
        held["content_type"] = told
    elif is_own:
        kept.remove("content-type")
    for attribute, name in _IDS.items():
        value = common.properties.get(name)
        if value is not None:
            octets = id_octets(value)
            if len(octets) <= _LONGEST:
                held[attribute] = text_of(octets)
                if read_id(octets) == value:
                    kept.append(name)
    value = common.properties.get("reply-to")
    if value is not None:
        text = node_text(value)
        if len(octets_of(text)) <= _LONGEST:
            held["reply_to"] = text
            if read_node(text) == value:
                kept.append("reply-to")
    _write_numbers(common, held, kept)
    entries = written_headers(
        common,
        kept,
        lambda each: classic_values.holds(each, tables),
        lambda name: len(octets_of(name)) <= _LONGEST and fit_name(name, tables) == name,
    )
    table = classic_values.write_table(entries, tables)
    if common.deaths:
        table = dead_headers(table, tables, common.deaths, common.expirations)
    headers = table if table.raw else None
    raw = BasicProperties(headers=headers, **held).encode(tables)
    return ClassicContent(version, raw, tables, common.body)


def _write_numbers(common: Common, held: dict[str, Any], kept: list[str]) -> None:
    found = common.properties
    if "durable" in found:
        held["delivery_mode"] = _PERSISTENT
    elif "delivery-mode" in found:
        held["delivery_mode"] = found["delivery-mode"][1]
    if "priority" in found:
        held["priority"] = found["priority"][1]
    if "ttl" in found:
        held["expiration"] = str(found["ttl"][1])
    elif "expiration" in found and len(octets_of(found["expiration"][1])) <= _LONGEST:
        held["expiration"] = found["expiration"][1]
    if "user-id" in found and len(found["user-id"][1]) <= _LONGEST:
        held["user_id"] = text_of(found["user-id"][1])
    kept += ("durable", "delivery-mode", "priority", "ttl", "expiration", "user-id", "timestamp")
    if "timestamp" in found:
        held["timestamp"] = Timestamp(found["timestamp"][1])
    if "creation-time" in found and found["creation-time"][1] >= 0:
        seconds, rest = divmod(found["creation-time"][1], _SECOND)
        held["timestamp"] = Timestamp(seconds)
        if not rest:
            kept.append("creation-time")


__all__ = ["passed_on", "read", "write"]
