"""Hypothesis strategies for the values, records and messages of AMQP 1.0."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from amqp_sansio.amqp_1_0 import _performatives  # pyright: ignore[reportPrivateUsage]
from amqp_sansio.amqp_1_0._performatives import (
    Accepted,
    Composite,
    Coordinator,
    Declared,
    DeliveryState,
    Error,
    Header,
    Modified,
    Properties,
    Received,
    Rejected,
    Released,
    Source,
    Target,
    TransactionalState,
)
from amqp_sansio.amqp_1_0.message import AmqpSequence, AmqpValue, Data, Message
from amqp_sansio.amqp_1_0.values import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Map,
    Opaque,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

Kind = type[Any]

RECORDS: tuple[Kind, ...] = tuple(
    kind
    for name in _performatives.__all__
    if isinstance(kind := getattr(_performatives, name), type)
    and issubclass(kind, Composite)
    and "NAME" in vars(kind)
)
"""Every composite type."""

UINT = 2**32 - 1
characters = st.characters(exclude_categories=["Cs"])
strings = st.text(characters, max_size=12) | st.text(characters, min_size=254, max_size=258)
ascii_text = st.text(st.characters(max_codepoint=127), max_size=12)
symbols = ascii_text.map(Symbol) | st.just(Symbol("s" * 256))
binaries = st.binary(max_size=12) | st.binary(min_size=254, max_size=258)
uints = st.sampled_from([0, 1, 255, 256, UINT]) | st.integers(0, UINT)
ulongs = st.sampled_from([0, 1, 255, 256, 2**64 - 1]) | st.integers(0, 2**64 - 1)
longs = st.sampled_from([-(2**63), -129, -128, 0, 127, 128, 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)
timestamps = st.integers(-(2**63), 2**63 - 1).map(Timestamp)
floats = st.floats(width=32, allow_nan=False).map(Float)
descriptors = symbols | ulongs.map(ULong)
unknown_descriptors = (symbols | ulongs.map(ULong)).filter(
    lambda value: value not in [kind.CODE for kind in RECORDS]
    and value not in [kind.SYMBOL for kind in RECORDS]
)

scalars_by_kind: dict[Any, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    bool: st.booleans(),
    UByte: st.integers(0, 255).map(UByte),
    UShort: st.integers(0, 65_535).map(UShort),
    UInt: uints.map(UInt),
    ULong: ulongs.map(ULong),
    Byte: st.integers(-128, 127).map(Byte),
    Short: st.integers(-32_768, 32_767).map(Short),
    Int: (st.sampled_from([-129, -128, 127, 128]) | st.integers(-(2**31), 2**31 - 1)).map(Int),
    int: longs,
    Float: floats,
    float: st.floats(allow_nan=False),
    Decimal32: st.binary(min_size=4, max_size=4).map(Decimal32),
    Decimal64: st.binary(min_size=8, max_size=8).map(Decimal64),
    Decimal128: st.binary(min_size=16, max_size=16).map(Decimal128),
    Char: characters.map(Char),
    Timestamp: timestamps,
    "UUID": st.uuids(),
    bytes: binaries,
    str: strings,
    Symbol: symbols,
}
"""Values of each primitive type that isn't made of others, as they are decoded."""
scalars = st.one_of(*scalars_by_kind.values())
opaque = st.sampled_from(
    [b"\x46", b"\x5a\x01", b"\x5f\x03\x07", b"\xa7\x02xy", b"\xef\x01\x03\x01\x50\x01"]
).map(Opaque)


def _equal_once(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    # Python has equal keys of different types, AMQP hasn't: only one of them is kept here.
    return dict(pairs)


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Lists, maps, arrays and described values of what `inner` gives."""
    return st.one_of(
        st.lists(inner, max_size=4),
        st.lists(st.tuples(scalars, inner), max_size=4).map(_equal_once).map(Map),
        arrays(),
        st.builds(Described, unknown_descriptors, inner),
    )


def arrays() -> st.SearchStrategy[Array]:
    """Arrays of scalars, of lists and of described values."""

    def of(kind: Any) -> st.SearchStrategy[Array]:
        items = st.lists(scalars_by_kind[kind], min_size=1, max_size=4)
        plain = items.map(Array)
        described = st.tuples(items, unknown_descriptors).map(
            lambda pair: Array(
                [Described(pair[1], item) for item in pair[0]], pair[0][0].__class__, (pair[1],)
            )
        )
        return plain | described

    lists = st.lists(st.lists(scalars, max_size=3), min_size=1, max_size=3).map(Array)
    states = st.lists(st.just(Accepted()), min_size=1, max_size=3).map(Array)
    return st.sampled_from(list(scalars_by_kind)).flatmap(of) | lists | states


values = st.recursive(scalars | opaque, compound, max_leaves=8)
"""Any value, in the classes it's decoded to."""

plain_values = st.one_of(
    st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1)),
    st.integers(-(10**33), 10**33).map(Decimal),
    st.tuples(scalars, scalars),
    st.binary(max_size=5).map(bytearray),
)
"""Values that are encoded, but decoded to another class."""

maps = st.dictionaries(scalars, values, max_size=3)
fields = st.dictionaries(symbols, values, max_size=3)
errors = st.builds(Error, symbols, st.none() | strings, st.none() | fields)
outcomes = st.one_of(
    st.builds(Accepted),
    st.builds(Rejected, st.none() | errors),
    st.builds(Released),
    st.builds(Modified, st.none() | st.booleans(), st.none() | st.booleans(), st.none() | fields),
    st.builds(Declared, st.binary(max_size=32)),
)
states: st.SearchStrategy[DeliveryState] = st.one_of(
    outcomes,
    st.builds(Received, uints, ulongs),
    st.builds(TransactionalState, st.binary(max_size=32), st.none() | outcomes),
)
described = st.builds(Described, unknown_descriptors, scalars)
message_ids = st.one_of(ulongs, st.uuids(), binaries, strings)

_BY_KIND: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "boolean": st.booleans,
    "role": st.booleans,
    "ubyte": lambda: st.integers(0, 255),
    "ushort": lambda: st.integers(0, 65_535),
    "ulong": lambda: ulongs,
    "sender-settle-mode": lambda: st.integers(0, 2),
    "receiver-settle-mode": lambda: st.integers(0, 1),
    "sasl-code": lambda: st.integers(0, 4),
    "terminus-durability": lambda: st.integers(0, 2),
    "terminus-expiry-policy": lambda: st.sampled_from(
        ["link-detach", "session-end", "connection-close", "never"]
    ).map(Symbol),
    "string": lambda: strings,
    "symbol": lambda: symbols,
    "ietf-language-tag": lambda: symbols,
    "distribution-mode": lambda: symbols,
    "error-condition": lambda: symbols,
    "txn-capability": lambda: symbols,
    "outcome-symbol": lambda: st.sampled_from([Accepted.SYMBOL, Rejected.SYMBOL, Symbol("x:own:list")]),
    "binary": lambda: binaries,
    "delivery-tag": lambda: st.binary(max_size=32),
    "txn-id": lambda: st.binary(max_size=32) | described,
    "timestamp": lambda: timestamps,
    "message-id": lambda: message_ids,
    "address": lambda: strings,
    "error": lambda: errors,
    "delivery-state": lambda: states | described,
    "outcome": lambda: outcomes | described,
    "source": lambda: records(Source),
    "target": lambda: records(Target) | records(Coordinator),
    "fields": lambda: fields,
    "error-info": lambda: fields,
    "state-annotations": lambda: fields,
    "node-properties": lambda: fields,
    "filter-set": lambda: st.dictionaries(symbols, st.none() | described, max_size=3),
    "unsettled": lambda: st.dictionaries(st.binary(max_size=32), st.none() | states, max_size=3),
    "global-tx-id": lambda: values,
}


def field_values(kind: str) -> st.SearchStrategy[Any]:
    """Values that a field of this kind may have."""
    return _BY_KIND.get(kind, lambda: uints)()


def records(kind: Kind) -> st.SearchStrategy[Any]:
    """Records of a composite type."""
    arguments: dict[str, st.SearchStrategy[Any]] = {}
    for name, of, default, mandatory, multiple in kind.WIRE:
        one = field_values(of)
        if multiple:
            one = st.lists(one, min_size=int(mandatory), max_size=3).map(tuple)
        arguments[name] = one if mandatory else st.just(default) | one
    return st.builds(kind, **arguments)


any_record = st.sampled_from(RECORDS).flatmap(records)

simple = st.one_of(*[scalars_by_kind[kind] for kind in scalars_by_kind])
annotation_maps: st.SearchStrategy[Any] = st.dictionaries(symbols | ulongs.map(ULong), values, max_size=3)
bodies = st.one_of(
    st.lists(st.binary(max_size=20), min_size=1, max_size=3).map(lambda parts: Data(*parts)),
    st.lists(st.lists(values, max_size=3), min_size=1, max_size=2).map(lambda parts: AmqpSequence(*parts)),
    values.map(AmqpValue),
)



def _message(body: Any, *, properties: Any, **sections: Any) -> Message:
    # Only data has a content encoding, and never that one.
    if properties is not None and (not isinstance(body, Data) or properties.content_encoding == "identity"):
        properties = properties.replace(content_encoding=None)
    return Message(body, properties=properties, **sections)


messages = st.builds(
    _message,
    bodies,
    header=st.none() | records(Header),
    delivery_annotations=st.none() | annotation_maps,
    message_annotations=st.none() | annotation_maps,
    properties=st.none() | records(Properties),
    application_properties=st.none() | st.dictionaries(strings, simple, max_size=3),
    footer=st.none() | annotation_maps,
)
"""Messages with any of the sections."""


def widest(value: Any) -> bytes:
    """The octets of a scalar in its widest form, which is never the canonical one."""
    kind = value.__class__
    if value is True or value is False:
        return b"\x56\x01" if value else b"\x56\x00"
    if kind is UInt:
        return struct.pack(">BI", 0x70, value)
    if kind is ULong:
        return struct.pack(">BQ", 0x80, value)
    if kind is Int:
        return struct.pack(">Bi", 0x71, value)
    if kind is int:
        return struct.pack(">Bq", 0x81, value)
    code, octets = {bytes: (0xB0, value), str: (0xB1, value), Symbol: (0xB3, value)}[kind]
    raw: bytes = octets if kind is bytes else octets.encode()
    return struct.pack(">BI", code, len(raw)) + raw
