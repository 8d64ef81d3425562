"""Hypothesis strategies for AMQP 1.0: values, performatives, outcomes, messages, frames.

Values have the classes that they decode to (`UInt(5)`, `Symbol("x")`, `Map`); `encoded_alike` has further ones.

>>> from hypothesis import given
>>> from amqp_sansio.testing import amqp_1_0
>>> @given(amqp_1_0.messages())
... def test_my_codec_keeps_messages(message): ...
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, cast

from hypothesis import strategies as st

from ..amqp_1_0 import (
    Accepted,
    AmqpSequence,
    AmqpValue,
    Data,
    DeliveryState,
    Described,
    Error,
    Header,
    Message,
    Modified,
    Properties,
    Rejected,
    Released,
    Source,
    Symbol,
    Target,
    Timestamp,
    spec,
)
from ..amqp_1_0.spec import (
    Array,
    Byte,
    Char,
    Composite,
    Coordinator,
    Decimal32,
    Decimal64,
    Decimal128,
    Declared,
    Float,
    Int,
    Map,
    Opaque,
    Performative,
    Received,
    SaslFrame,
    Short,
    TransactionalState,
    Transfer,
    UByte,
    UInt,
    ULong,
    UShort,
)

_NAMES: list[str] = cast("Any", spec).__all__
RECORDS: tuple[type[Any], ...] = tuple(
    kind
    for name in _NAMES
    if isinstance(kind := getattr(spec, name), type) and issubclass(kind, Composite) and "NAME" in vars(kind)
)
"""Every composite type."""
_SASL, _AMQP = 1, 0
_HEADER = 8
_EMPTY = b"\x00\x00\x00\x08\x02\x00\x00\x00"
_UINT = 2**32 - 1
_LEAVES = 8

_characters = st.characters(exclude_categories=["Cs"])
_strings = st.text(_characters, max_size=12) | st.text(_characters, min_size=254, max_size=258)
_symbols = st.text(st.characters(max_codepoint=127), max_size=12).map(Symbol) | st.just(Symbol("s" * 256))
_binaries = st.binary(max_size=12) | st.binary(min_size=254, max_size=258)
_uints = st.sampled_from([0, 1, 255, 256, _UINT]) | st.integers(0, _UINT)
_ulongs = st.sampled_from([0, 1, 255, 256, 2**64 - 1]) | st.integers(0, 2**64 - 1)
_longs = st.sampled_from([-(2**63), -129, -128, 0, 127, 128, 2**63 - 1]) | st.integers(-(2**63), 2**63 - 1)
_ints = st.sampled_from([-129, -128, 127, 128]) | st.integers(-(2**31), 2**31 - 1)
_timestamps = st.integers(-(2**63), 2**63 - 1).map(Timestamp)
_unknown = (_symbols | _ulongs.map(ULong)).filter(
    lambda value: all([value not in (kind.CODE, kind.SYMBOL) for kind in RECORDS])
)

SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    type(None): st.none(),
    bool: st.booleans(),
    UByte: st.integers(0, 255).map(UByte),
    UShort: st.integers(0, 65_535).map(UShort),
    UInt: _uints.map(UInt),
    ULong: _ulongs.map(ULong),
    Byte: st.integers(-128, 127).map(Byte),
    Short: st.integers(-32_768, 32_767).map(Short),
    Int: _ints.map(Int),
    int: _longs,
    Float: st.floats(width=32, allow_nan=False).map(Float),
    float: st.floats(allow_nan=False),
    Decimal32: st.binary(min_size=4, max_size=4).map(Decimal32),
    Decimal64: st.binary(min_size=8, max_size=8).map(Decimal64),
    Decimal128: st.binary(min_size=16, max_size=16).map(Decimal128),
    Char: _characters.map(Char),
    Timestamp: _timestamps,
    "UUID": st.uuids(),
    bytes: _binaries,
    str: _strings,
    Symbol: _symbols,
}
"""Values of each primitive type that contains no others."""
_scalars = st.one_of(*SCALARS.values())
_opaque = st.sampled_from([b"\x46", b"\x5a\x01", b"\x5f\x03\x07", b"\xa7\x02xy", b"\xef\x01\x03\x01\x50\x01"]).map(
    Opaque
)


def strings() -> st.SearchStrategy[str]:
    """Strings, some of them near the size at which the encoding changes."""
    return _strings


def symbols() -> st.SearchStrategy[Symbol]:
    """Symbols, in ASCII."""
    return _symbols


def scalars() -> st.SearchStrategy[Any]:
    """Values that contain no others.

    >>> value = scalars()  # None, True, UInt(5), Symbol("x"), b"octets", Timestamp(1700000000000)...
    """
    return _scalars


def values() -> st.SearchStrategy[Any]:
    """Any value: scalars, lists, maps, arrays, described values, unknown types.

    >>> value = values()  # Described(Symbol("x:y"), [1, Map({"a": Array([1, 2])})])...
    """
    return _values()


# A strategy is a constant; creating and validating one costs more than a draw.
@cache
def _values() -> st.SearchStrategy[Any]:
    return st.recursive(_scalars | _opaque, _compound, max_leaves=_LEAVES)


def encoded_alike() -> st.SearchStrategy[Any]:
    """Values that can be encoded but decode to another class: datetimes, Decimals, tuples, bytearrays."""
    return st.one_of(
        st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1)),
        st.integers(-(10**33), 10**33).map(Decimal),
        st.tuples(_scalars, _scalars),
        st.binary(max_size=5).map(bytearray),
    )


def _compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(inner, max_size=4),
        # Keys of different types may be equal in Python but not in AMQP: a dict keeps one of them.
        st.dictionaries(_scalars, inner, max_size=4).map(Map),
        arrays(),
        st.builds(Described, _unknown, inner),
    )


def arrays() -> st.SearchStrategy[Array]:
    """Arrays of scalars, of lists, of described values and of records."""

    def of(kind: Any) -> st.SearchStrategy[Array]:
        items = st.lists(SCALARS[kind], min_size=1, max_size=4)
        described = st.tuples(items, _unknown).map(
            lambda pair: Array([Described(pair[1], item) for item in pair[0]], pair[0][0].__class__, (pair[1],))
        )
        return items.map(Array) | described

    lists = st.lists(st.lists(_scalars, max_size=3), min_size=1, max_size=3).map(Array)
    states = st.lists(st.just(Accepted()), min_size=1, max_size=3).map(Array)
    return st.sampled_from(list(SCALARS)).flatmap(of) | lists | states


def maps() -> st.SearchStrategy[dict[Any, Any]]:
    """Maps from scalars to any value, as dicts."""
    return st.dictionaries(_scalars, values(), max_size=3)


def fields() -> st.SearchStrategy[dict[Symbol, Any]]:
    """Maps from symbols to any value, as in the properties of an open, as dicts."""
    return st.dictionaries(_symbols, values(), max_size=3)


def message_annotations() -> st.SearchStrategy[dict[Any, Any]]:
    """Annotations of a message, as dicts."""
    return st.dictionaries(_symbols | _ulongs.map(ULong), values(), max_size=3)


def described() -> st.SearchStrategy[Described]:
    """Scalars with an unknown descriptor."""
    return st.builds(Described, _unknown, _scalars)


def errors() -> st.SearchStrategy[Error]:
    """Errors with any condition."""
    return st.builds(Error, _symbols, st.none() | _strings, st.none() | fields())


def outcomes() -> st.SearchStrategy[Any]:
    """Terminal states of a delivery: accepted, rejected, released, modified; declared, of transactions.

    >>> outcome = outcomes()  # Accepted(), Modified(delivery_failed=True), Rejected(error=...)...
    """
    maybe = st.none() | st.booleans()
    return st.one_of(
        st.builds(Accepted),
        st.builds(Rejected, st.none() | errors()),
        st.builds(Released),
        st.builds(Modified, maybe, maybe, st.none() | fields()),
        st.builds(Declared, st.binary(max_size=32)),
    )


def delivery_states() -> st.SearchStrategy[DeliveryState]:
    """Outcomes, received so far, outcomes in a transaction."""
    return st.one_of(
        outcomes(),
        st.builds(Received, _uints, _ulongs),
        st.builds(TransactionalState, st.binary(max_size=32), st.none() | outcomes()),
    )


_BY_KIND: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "boolean": st.booleans,
    "role": st.booleans,
    "ubyte": lambda: st.integers(0, 255),
    "ushort": lambda: st.integers(0, 65_535),
    "ulong": lambda: _ulongs,
    "sender-settle-mode": lambda: st.integers(0, 2),
    "receiver-settle-mode": lambda: st.integers(0, 1),
    "sasl-code": lambda: st.integers(0, 4),
    "terminus-durability": lambda: st.integers(0, 2),
    "terminus-expiry-policy": lambda: st.sampled_from(["link-detach", "session-end", "connection-close", "never"]).map(
        Symbol
    ),
    "string": strings,
    "symbol": symbols,
    "ietf-language-tag": symbols,
    "distribution-mode": symbols,
    "error-condition": symbols,
    "txn-capability": symbols,
    "outcome-symbol": lambda: st.sampled_from([Accepted.SYMBOL, Rejected.SYMBOL, Symbol("x:own:list")]),
    "binary": lambda: _binaries,
    "delivery-tag": lambda: st.binary(max_size=32),
    "txn-id": lambda: st.binary(max_size=32) | described(),
    "timestamp": lambda: _timestamps,
    "message-id": lambda: st.one_of(_ulongs, st.uuids(), _binaries, _strings),
    "address": strings,
    "error": errors,
    "delivery-state": lambda: delivery_states() | described(),
    "outcome": lambda: outcomes() | described(),
    "source": lambda: records(Source),
    "target": lambda: records(Target) | records(Coordinator),
    "fields": fields,
    "error-info": fields,
    "state-annotations": fields,
    "node-properties": fields,
    "filter-set": lambda: st.dictionaries(_symbols, st.none() | described(), max_size=3),
    "unsettled": lambda: st.dictionaries(st.binary(max_size=32), st.none() | delivery_states(), max_size=3),
    "global-tx-id": values,
}


def field_values(kind: str) -> st.SearchStrategy[Any]:
    """Values of a field by its type, as in `Composite.WIRE`."""
    return _BY_KIND.get(kind, lambda: _uints)()


def records(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Records of a composite type; optional fields may be absent.

    >>> from amqp_sansio.amqp_1_0.spec import Attach
    >>> attaches = records(Attach)
    """
    return _records(cast("Hashable", kind))


@cache
def _records(kind: type[Any]) -> st.SearchStrategy[Any]:
    arguments: dict[str, st.SearchStrategy[Any]] = {}
    for name, of, default, mandatory, multiple in kind.WIRE:
        one = field_values(of)
        if multiple:
            one = st.lists(one, min_size=int(mandatory), max_size=3).map(tuple)
        arguments[name] = one if mandatory else st.just(default) | one
    return st.builds(kind, **arguments)


def performatives() -> st.SearchStrategy[Performative]:
    """Performatives: open, begin, attach, flow, transfer, disposition, detach, end, close.

    >>> some = performatives()  # Begin(next_outgoing_id=0, ...), Detach(handle=1, closed=True)...
    """
    kinds = [kind for kind in RECORDS if issubclass(kind, Performative)]
    return st.sampled_from(kinds).flatmap(records)


def sasl_performatives() -> st.SearchStrategy[SaslFrame]:
    """Bodies of SASL frames."""
    kinds = [kind for kind in RECORDS if issubclass(kind, SaslFrame)]
    return st.sampled_from(kinds).flatmap(records)


def bodies() -> st.SearchStrategy[Any]:
    """Bodies of messages: data, sequences, a value."""
    sequence = st.lists(values(), max_size=3)
    return st.one_of(
        st.lists(st.binary(max_size=20), min_size=1, max_size=3).map(lambda parts: Data(*parts)),
        st.lists(sequence, min_size=1, max_size=2).map(lambda parts: AmqpSequence(*parts)),
        values().map(AmqpValue),
    )


def messages() -> st.SearchStrategy[Message]:
    """Messages with any of the sections.

    >>> message = messages()
    """
    return st.builds(
        _message,
        bodies(),
        header=st.none() | records(Header),
        delivery_annotations=st.none() | message_annotations(),
        message_annotations=st.none() | message_annotations(),
        properties=st.none() | records(Properties),
        application_properties=st.none() | st.dictionaries(_strings, _scalars, max_size=3),
        footer=st.none() | message_annotations(),
    )


def _message(body: Any, *, properties: Any, **sections: Any) -> Message:
    # Only data has a content encoding, and never that one.
    if properties is not None and (not isinstance(body, Data) or properties.content_encoding == "identity"):
        properties = properties.replace(content_encoding=None)
    return Message(body, properties=properties, **sections)


def frames(*, sasl: bool = False) -> st.SearchStrategy[bytes]:
    """The octets of single frames: a performative each, transfers followed by a message, and empty ones.

    With `sasl` they are SASL frames. Each is valid by itself; their sequence depends on the session's state.

    >>> hostile = st.lists(frames()).map(b"".join)
    """
    if sasl:
        return sasl_performatives().map(lambda record: _frame(_SASL, 0, record.encode()))
    channels = st.integers(0, 65_535)

    def amqp(channel: int, record: Performative, message: Message) -> bytes:
        payload = message.encode() if isinstance(record, Transfer) else b""
        return _frame(_AMQP, channel, record.encode() + payload)

    return st.builds(amqp, channels, performatives(), messages()) | st.just(_EMPTY)


def _frame(kind: int, channel: int, body: bytes) -> bytes:
    """Return one frame (part 2 section 2.3): size, data offset, type, channel, body."""
    size = (_HEADER + len(body)).to_bytes(4, "big")
    return size + bytes((2, kind)) + channel.to_bytes(2, "big") + body


__all__ = [
    "bodies",
    "delivery_states",
    "frames",
    "maps",
    "messages",
    "outcomes",
    "performatives",
    "records",
    "sasl_performatives",
    "values",
]
