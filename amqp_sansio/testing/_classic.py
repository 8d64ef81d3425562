"""Strategies for 0-8 and 0-9-1 alike; what they share is told apart by the dialect."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from functools import cache
from typing import Any, cast

from hypothesis import strategies as st

# Both versions have these; a record of one version is drawn by its own class.
from ..amqp_0_9_1 import Dialect, Message, Method, Timestamp, get_dialect
from ..endpoint import Side

AnyDialect = Dialect | str
"""A dialect or its name."""

_BITS = {"octet": 8, "short": 16, "long": 32, "longlong": 64, "timestamp": 64}
_LEAVES = 8
_METHOD, _HEADER, _BODY = 1, 2, 3
_HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"


def dialect_of(dialect: AnyDialect) -> Dialect:
    """The dialect of a name, or itself. Raises ValueError for an unknown name."""
    return get_dialect(dialect) if isinstance(dialect, str) else dialect


def names() -> st.SearchStrategy[str]:
    """Names of fields as the specifications want them."""
    first = st.sampled_from("abcXYZ$#")
    rest = st.text(st.sampled_from("abcXYZ019_$#"), max_size=12)
    return st.builds(str.__add__, first, rest)


def short_strings(max_octets: int = 255) -> st.SearchStrategy[str]:
    """Texts of at most `max_octets` octets; octets that aren't UTF-8 stand in them as surrogates."""
    octets = st.binary(max_size=max_octets).map(lambda data: data.decode("utf-8", "surrogateescape"))
    # No character takes more than four octets.
    return st.text(max_size=max_octets // 4) | octets


def table_values(dialect: AnyDialect) -> st.SearchStrategy[Any]:
    """Values that a field of a table may have in a dialect, tables and lists among them."""
    return _table_values(dialect_of(dialect))


# A strategy is a constant; making one, and what Hypothesis finds out about it first, costs more than a draw.
@cache
def _table_values(dialect: Dialect) -> st.SearchStrategy[Any]:
    rules = dialect.tables
    bits = 63 if rules.wide else 31
    some: list[st.SearchStrategy[Any]] = [
        st.text(max_size=20),
        st.integers(-(2**bits), 2**bits - 1),
    ]
    some += [strategy for tag, strategy in _scalars() if tag in rules.writes]
    leaves = st.one_of(some)
    return st.recursive(
        leaves,
        lambda inner: st.dictionaries(names(), inner, max_size=4)
        | (st.lists(inner, max_size=4) if "A" in rules.writes else st.nothing()),
        max_leaves=_LEAVES,
    )


def _scalars() -> list[tuple[str, st.SearchStrategy[Any]]]:
    """Values by the type that they are written as."""
    numbers = st.integers(-(2**31), 2**31 - 1)
    return [
        ("t", st.booleans()),
        ("d", st.floats(allow_nan=False)),
        ("D", st.builds(_decimal, numbers, st.integers(0, 20))),
        ("T", st.integers(0, 2**64 - 1).map(Timestamp)),
        ("V", st.none()),
        ("x", st.binary(max_size=300)),
    ]


def _decimal(number: int, scale: int) -> Decimal:
    return Decimal(number).scaleb(-scale)


def tables(dialect: AnyDialect, *, max_size: int = 6) -> st.SearchStrategy[dict[str, Any]]:
    """Field tables of a dialect, as dicts."""
    return st.dictionaries(names(), table_values(dialect), max_size=max_size)


def field_values(kind: str, dialect: AnyDialect) -> st.SearchStrategy[Any]:
    """Values for one argument or property by its wire type, as `Method.FIELDS` names it."""
    if kind == "table":
        return tables(dialect)
    if kind == "optional-table":
        return tables(dialect) if dialect_of(dialect).tables.consume_arguments else st.none()
    if kind in _BITS:
        return st.integers(0, 2 ** _BITS[kind] - 1)
    if kind == "bit":
        return st.booleans()
    if kind == "longstr":
        return st.binary(max_size=300)
    return short_strings()


def records(kind: type[Any], dialect: AnyDialect) -> st.SearchStrategy[Any]:
    """Records of one method, with any arguments that it can carry."""
    return _records(cast("Hashable", kind), dialect_of(dialect))


@cache
def _records(kind: type[Any], dialect: Dialect) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{name: field_values(wire, dialect) for name, wire in kind.FIELDS})


def methods(dialect: AnyDialect, sent_by: Side | None) -> st.SearchStrategy[Any]:
    """Records of all methods that a side may send; None: either side."""
    found = dialect_of(dialect)
    kinds = [
        kind
        for number, kind in found.methods.items()
        if sent_by is None or sent_by in found.senders[number]
    ]
    return st.sampled_from(kinds).flatmap(lambda kind: records(kind, found))


def properties(dialect: AnyDialect, kind: type[Any]) -> st.SearchStrategy[Any]:
    """Properties of one class of content, any of them absent."""
    return _properties(dialect_of(dialect), cast("Hashable", kind))


@cache
def _properties(dialect: Dialect, kind: type[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        kind, **{name: st.none() | field_values(wire, dialect) for name, wire in kind.FIELDS}
    )


def messages(
    dialect: AnyDialect, sent_by: Side | None, max_body: int, kinds: tuple[type[Any], ...] = ()
) -> st.SearchStrategy[Message[Any]]:
    """Methods that carry content, with properties of their class and a body."""
    found = dialect_of(dialect)
    carriers = [
        kind
        for number, kind in found.methods.items()
        if kind.HAS_CONTENT
        and (not kinds or kind in kinds)
        and (sent_by is None or sent_by in found.senders[number])
    ]
    if not carriers:
        raise ValueError(f"no such method carries content in the dialect {found.name}")

    def of(kind: type[Method]) -> st.SearchStrategy[Message[Any]]:
        content = found.properties[kind.CLASS_ID]
        body = st.binary(max_size=max_body)
        return st.builds(Message, records(kind, found), properties(found, content), body)

    return st.sampled_from(carriers).flatmap(of)


def frames(dialect: AnyDialect, sent_by: Side | None, max_body: int) -> st.SearchStrategy[bytes]:
    """Single frames, each right by itself, as octets."""
    found = dialect_of(dialect)
    channels = st.integers(1, 65_535)

    def header(channel: int, size: int, made: Any) -> bytes:
        octets = made.encode(found.tables)
        content = made.CLASS_ID.to_bytes(2, "big") + bytes(2) + size.to_bytes(8, "big")
        return frame(_HEADER, channel, content + octets)

    def method(channel: int, record: Method) -> bytes:
        number = 0 if record.NAME.startswith("connection.") else channel
        return frame(_METHOD, number, record.encode(found.tables))

    def body(channel: int, octets: bytes) -> bytes:
        return frame(_BODY, channel, octets)

    contents = [
        st.builds(header, channels, st.integers(0, 2**40), properties(found, kind))
        for kind in found.properties.values()
    ]
    return st.one_of(
        st.builds(method, channels, methods(found, sent_by)),
        *contents,
        st.builds(body, channels, st.binary(max_size=max_body)),
        st.just(_HEARTBEAT),
    )


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """One frame: type, channel, size, payload, the end octet (0-9-1 section 4.2.3)."""
    return b"%b%b%b%b\xce" % (
        kind.to_bytes(1, "big"),
        channel.to_bytes(2, "big"),
        len(payload).to_bytes(4, "big"),
        payload,
    )


__all__ = [
    "AnyDialect", "dialect_of", "field_values", "frame", "frames", "messages", "methods", "names", "properties",
    "records", "short_strings", "table_values", "tables",
]  # fmt: skip
