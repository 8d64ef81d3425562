"""Fields of composite types: what each of their types takes, and what it is in Python (1.0 part 1 section 1.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from ...errors import CodecError
from .decode import COMPOSITES, Map
from .encode import (
    encode,
    encode_binary,
    encode_string,
    encode_symbol,
    encode_timestamp,
    encode_ubyte,
    encode_uint,
    encode_ulong,
    encode_ushort,
)
from .faults import INVALID, WRITE_FAULTS, fault
from .types import Array, Described, Symbol, Timestamp, UByte, UInt, ULong, UShort

CHOICES: Final[dict[str, tuple[str, tuple[Any, ...]]]] = {
    "sender-settle-mode": ("transport/settle-mode/sender", (0, 1, 2)),
    "receiver-settle-mode": ("transport/settle-mode/receiver", (0, 1)),
    "sasl-code": ("security/sasl/outcome-codes", (0, 1, 2, 3, 4)),
    "terminus-durability": ("terminus/durability", (0, 1, 2)),
    "terminus-expiry-policy": (
        "terminus/expiry-policy",
        ("link-detach", "session-end", "connection-close", "never"),
    ),
}
"""The values that restricted types allow, and the rule that says so."""

SIZES: Final = {
    "delivery-tag": ("transport/delivery/tag-size", 32),
    "transaction-id": ("transactions/txn-id-size", 32),
}
"""The octets that restricted binaries have at most."""

INTEGERS: Final[dict[str, tuple[type[Any], Callable[[int], bytes]]]] = {
    "ubyte": (UByte, encode_ubyte),
    "ushort": (UShort, encode_ushort),
    "uint": (UInt, encode_uint),
    "ulong": (ULong, encode_ulong),
}

SOURCES: Final = {
    "sender-settle-mode": "ubyte",
    "receiver-settle-mode": "ubyte",
    "sasl-code": "ubyte",
    "terminus-durability": "uint",
    "terminus-expiry-policy": "symbol",
    "handle": "uint",
    "seconds": "uint",
    "milliseconds": "uint",
    "sequence-no": "uint",
    "delivery-number": "uint",
    "transfer-number": "uint",
    "message-format": "uint",
    "role": "boolean",
    "delivery-tag": "binary",
    "transaction-id": "binary",
    "ietf-language-tag": "symbol",
    "error-condition": "symbol",
    "distribution-mode": "symbol",
    "txn-capability": "symbol",
}
"""The primitive type of each restricted one."""

PROVIDERS: Final = {
    "error": ("error",),
    "source": ("source",),
    "target": ("target", "coordinator"),
    "outcome": ("accepted", "rejected", "released", "modified", "declared"),
    "delivery-state": (
        *("received", "accepted", "rejected", "released", "modified"),
        *("declared", "transactional-state"),
    ),
}
"""The composite types that may be where a field requires something; types of others' own may, too."""

LOOSE: Final = ("error-info", "state-annotations")
"""Maps that only inform: real peers have strings as keys there, and nothing is worth ending a connection for."""

MAP_KEYS: Final = {
    "error-info": "transport/fields-keys",
    "state-annotations": "transport/fields-keys",
    "fields": "transport/fields-keys",
    "node-properties": "transport/fields-keys",
    "filter-set": "filter-set/keys-values",
    "unsettled": "transport/attach/unsettled-keys",
}


def check_field(
    owner: str, name: str, kind: str, mandatory: bool, multiple: bool, value: Any, at: int
) -> Any:
    """What a decoded value that isn't null is as a field's value. Raises CodecError when the field can't have it."""
    if not multiple:
        return _check(owner, name, kind, value, at)
    if value.__class__ is not Array:
        return (_check(owner, name, kind, value, at),)
    found = tuple([_check(owner, name, kind, item, at) for item in value])
    if mandatory and not found:
        rule = "types/field-multiple-mandatory"
        if owner == "sasl-mechanisms":
            rule = "security/sasl/mechanisms-nonempty"
        raise fault(f"{owner}: {name} has no value", at, rule, INVALID)
    if not found and _primitive(value.element) != SOURCES.get(kind, kind):
        raise _wrong(owner, name, kind, value, at)
    return found


def _primitive(kind: type[Any]) -> str:
    return {"str": "string", "bytes": "binary", "bool": "boolean"}.get(kind.__name__, kind.__name__.lower())


def _check(owner: str, name: str, kind: str, value: Any, at: int) -> Any:
    base = SOURCES.get(kind, kind)
    got = value.__class__
    if base in INTEGERS:
        if got is not INTEGERS[base][0]:
            raise _wrong(owner, name, kind, value, at)
        value = int(value)
    elif base in _CLASSES:
        if got is not _CLASSES[base]:
            raise _wrong(owner, name, kind, value, at)
    elif base in PROVIDERS:
        if not (got is Described and base != "error") and getattr(value, "NAME", "") not in PROVIDERS[base]:
            raise _wrong(owner, name, kind, value, at)
    elif base == "message-id":
        if got is ULong:
            value = int(value)
        elif got is not str and got is not bytes and got.__name__ != "UUID":
            raise _wrong(owner, name, kind, value, at)
    elif base == "address":
        if got is not str and got is not Described:
            raise _wrong(owner, name, kind, value, at)
    elif base in _MAPS:
        if got is not Map:
            raise _wrong(owner, name, kind, value, at)
        check_keys(owner, name, kind, value, at)
    elif base == "txn-id":
        if got is not bytes and got is not Described:
            raise _wrong(owner, name, kind, value, at)
        kind = "transaction-id" if got is bytes else kind
    check_choice(owner, name, kind, value, at)
    return value


_MAPS: Final = (*LOOSE, "map", "fields", "node-properties", "filter-set", "unsettled", "annotations")
_CLASSES: Final = {
    "boolean": bool,
    "string": str,
    "binary": bytes,
    "symbol": Symbol,
    "outcome-symbol": Symbol,
    "timestamp": Timestamp,
}


def _wrong(owner: str, name: str, kind: str, value: Any, at: int | None) -> CodecError:
    return fault(
        f"{owner}: {name} can't be {value!r:.60}; it's a {kind}", at, "types/composite-list"
    )


def check_choice(owner: str, name: str, kind: str, value: Any, at: int | None) -> None:
    """Raise CodecError for a value that a restricted type doesn't allow."""
    if kind in CHOICES:
        rule, allowed = CHOICES[kind]
        if value not in allowed:
            raise fault(f"{owner}: {name} can't be {value!r:.60}", at, rule, INVALID)
    elif kind in SIZES and at is None:
        # What was received is judged where it's known what it ends: its link, or its transaction.
        rule, most = SIZES[kind]
        if len(value) > most:
            raise fault(f"{owner}: {name} has {len(value)} octets, above {most}", at, rule, INVALID)
    elif kind == "outcome-symbol":
        known = COMPOSITES.get(value)
        if known is not None and not getattr(known, "OUTCOME", False):
            rule = "source.outcomes/valid"
            raise fault(f"{owner}: {value} is no outcome", at, rule, INVALID)


def check_keys(owner: str, name: str, kind: str, value: Mapping[Any, Any], at: int | None) -> None:
    """Raise CodecError for keys and values that a restricted map doesn't allow."""
    rule = MAP_KEYS.get(kind)
    if rule is None:
        return
    symbols = kind != "unsettled"
    for key, item in value.pairs() if isinstance(value, Map) else value.items():
        if symbols and key.__class__ is not Symbol:
            if kind in LOOSE and (key.__class__ is str or key.__class__ is ULong):
                continue
            if at is not None or not isinstance(key, str):
                raise fault(f"{owner}: {name} has the key {key!r:.60}, no symbol", at, rule)
        elif key is None:
            raise fault(f"{owner}: {name} has a null key", at, rule)
        if kind == "filter-set" and item is not None and not is_described(item):
            raise fault(f"{owner}: the filter {key!r:.60} isn't described", at, rule)


def is_described(value: Any) -> bool:
    """Whether a value has a descriptor."""
    return value.__class__ is Described or hasattr(value, "SYMBOL")


def write_field(owner: str, name: str, kind: str, mandatory: bool, multiple: bool, value: Any) -> bytes:
    """The octets of a field's value. Raises CodecError that names owner and field."""
    try:
        if not multiple:
            return _write(owner, name, kind, value)
        if isinstance(value, (str, bytes)):
            return _write(owner, name, kind, value)
        items = [_write(owner, name, kind, item) for item in value]
        if not items:
            if mandatory:
                rule = "types/field-multiple-mandatory"
                if owner == "sasl-mechanisms":
                    rule = "security/sasl/mechanisms-nonempty"
                raise fault(f"{owner}: {name} has no value", None, rule, INVALID)
            return b"\x40"
        if len(items) == 1 and owner != "sasl-mechanisms":
            return items[0]
        return encode(Array([Symbol(item) for item in value]))
    except CodecError as error:
        text = str(error)
        if not text.startswith(owner):
            error = CodecError(f"{owner}: {name}: {text}", rule=error.rule, condition=error.condition)
        raise error from None
    except WRITE_FAULTS:
        raise _wrong(owner, name, kind, value, None) from None


def _write(owner: str, name: str, kind: str, value: Any) -> bytes:
    base = SOURCES.get(kind, kind)
    if base == "txn-id" and value.__class__ is bytes:
        kind = "transaction-id"
    if base not in _MAPS:
        check_choice(owner, name, kind, value, None)
    integer = INTEGERS.get(base)
    if integer is not None:
        if value.__class__ is bool:
            raise TypeError
        return integer[1](value)
    if base == "boolean":
        if value is True or value is False:
            return b"\x41" if value else b"\x42"
        raise TypeError
    if base == "string":
        return encode_string(value)
    if base in ("symbol", "outcome-symbol"):
        return encode_symbol(value)
    if base == "binary":
        return encode_binary(b"" + value)
    if base == "timestamp":
        return encode_timestamp(value) if isinstance(value, int) else _datetime(value)
    if base in _MAPS:
        if not isinstance(value, Mapping):
            raise TypeError
        values = cast("Mapping[object, Any]", value)
        check_keys(owner, name, kind, values, None)
        if kind in MAP_KEYS and kind != "unsettled" and not isinstance(values, Map):
            values = {
                Symbol(key) if isinstance(key, str) else key: item for key, item in values.items()
            }
        return encode(values)
    if base == "message-id" and isinstance(value, int) and value.__class__ is not bool:
        return encode_ulong(value)
    octets = encode(value)
    _check_written(owner, name, base, value)
    return octets


def _datetime(value: Any) -> bytes:
    return encode_timestamp(Timestamp.from_datetime(value))


def _check_written(owner: str, name: str, base: str, value: Any) -> None:
    if base in PROVIDERS:
        if not (isinstance(value, Described) and base != "error") and (
            getattr(value, "NAME", "") not in PROVIDERS[base]
        ):
            raise TypeError
    elif base == "message-id":
        if value.__class__ not in (str, bytes) and value.__class__.__name__ != "UUID":
            raise TypeError
    elif base == "address":
        if value.__class__ not in (str, Described):
            raise TypeError
    elif base == "txn-id" and not isinstance(value, (bytes, Described)):
        raise TypeError
