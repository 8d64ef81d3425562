"""The bases of AMQP 1.0's composite types, and the careful way to read and write them and their fields.

1.0 part 1 section 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized

from ..._checking import TYPE_CHECKING, TypeVar, cast
from ...errors import CodecError
from .decode import COMPOSITES, ENTRIES, NESTING, Map, check_depth, read_code, read_counted, read_value, skip
from .encode import (
    encode,
    encode_binary,
    encode_items,
    encode_string,
    encode_symbol,
    encode_timestamp,
    encode_ubyte,
    encode_uint,
    encode_ulong,
    encode_ushort,
)
from .faults import INVALID, READ_FAULTS, WRITE_FAULTS, fault
from .octets import BOOLEANS, INT, READ_TWO_U32, READ_U32_TWO_U8
from .odd import UNREAD, Odd, OddRecord, meant, placeholder, undescribed
from .restricted import PROVIDERS, SOURCES
from .types import AmqpMap, Array, Described, Symbol, Timestamp, UByte, UInt, ULong, UShort, token

if TYPE_CHECKING:
    from typing import Any, ClassVar, Final

C = TypeVar("C", bound="Composite")

FAST: Final[dict[int, Callable[[bytes, int, int, int, int], Any]]] = {}
"""The readers of frequent performatives, by the octets of their descriptor and list; the generated module fills it."""

MISSING: Any = None
"""Stands where a mandatory field follows an optional one; leaving the argument out raises TypeError."""


def require(record: Composite, *values: object) -> None:
    """Raise TypeError when one of a constructor's mandatory arguments is left out."""
    if None in values:
        names = [name for name, _, _, mandatory, _ in record.WIRE if mandatory]
        raise TypeError(f"{type(record).__name__} needs {', '.join(names)}")


def to_symbol(value: object) -> Any:
    """A str as a Symbol; anything else as it is, for `encode` to judge."""
    return Symbol(value) if value.__class__ is str else value


def to_symbols(values: Any) -> Any:
    """Several symbols as a tuple; one alone, and None for no value, are taken."""
    if values.__class__ is tuple and not values:
        return values
    if values is None:
        return ()
    if isinstance(values, str):
        values = (values,)
    return tuple([Symbol(value) if value.__class__ is str else value for value in values])


def to_timestamp(value: Any) -> Any:
    """Milliseconds or a datetime as a Timestamp; anything else as it is, for `encode` to judge."""
    if value.__class__ is int:
        return INT(Timestamp, value)
    if value.__class__ is Timestamp or not hasattr(value, "tzinfo"):
        return value
    return Timestamp.from_datetime(value)


class Composite:
    """A composite type: an immutable record of its fields, in the specification's order.

    `NAME` is the specification's name ("transfer"), `CODE` and `SYMBOL` the numeric and symbolic
    descriptor. `FIELDS` pairs each constructor argument with its type: the specification's name of it,
    for a type of "*" what the field requires, with a "*" behind it where there may be several values.
    `SECRETS` names the fields that `repr` doesn't show.

    In fields, integers, booleans, strings and binaries are plain Python values, symbols Symbol (any str
    is taken), maps Map (any mapping is taken), and fields of several values tuples: null and none are
    the same. A null reads as the field's default.

    `wire` holds the octets a record was decoded from, which `encode` gives again; it's None for others,
    and not compared. Records are hashable and pickle.
    """

    __slots__ = ("wire",)

    NAME: ClassVar[str]
    CODE: ClassVar[int]
    SYMBOL: ClassVar[Symbol]
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = ()
    WIRE: ClassVar[tuple[tuple[str, str, object, bool, bool], ...]] = ()
    SECRETS: ClassVar[tuple[str, ...]] = ()
    RESERVED: ClassVar[tuple[str, ...]] = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    wire: bytes | None

    def __init__(self) -> None:
        self.wire = None

    @classmethod
    def decode(cls: type[C], data: bytes, pos: int = 0, end: int | None = None) -> tuple[C, int]:
        """The record whose constructor is at `pos`, and where the octets behind it begin.

        Raises CodecError for malformed octets, and when it's another type's. Where only some fields are odd, it is an
        `OddRecord`, which has what could be read.

        >>> from amqp_sansio.amqp_1_0 import Accepted
        >>> Accepted.decode(b"\\x00\\x53\\x24\\x45")
        (Accepted(), 4)
        """
        size = len(data)
        end = size if end is None else min(end, size)
        start = pos
        kind, pos = read_descriptor(data, pos, end)
        if kind is not cls:
            raise fault(f"{cls.NAME} is wanted, not {kind.NAME}", start, "types/composite-list")
        return cls.read(data, pos, end, NESTING - 1, ENTRIES, start)

    @classmethod
    def read(cls: type[C], buf: bytes, pos: int, end: int, depth: int, entries: int, start: int) -> tuple[C, int]:
        """Read the list at `pos`, behind the descriptor; `start` is where the constructor begins."""
        code, at = read_code(buf, pos, end)
        return cls.read_data(buf, at, end, code, depth, entries, start)

    @classmethod
    def read_data(
        cls: type[C], buf: bytes, pos: int, end: int, code: int, depth: int, entries: int, start: int
    ) -> tuple[C, int]:
        """Read the data at `pos` of a list with this format code; a `start` of -1: it has no octets of its own.

        Raises CodecError; that is an `OddRecord` when the list can be read and only fields of it are odd.
        """
        begin = pos
        if code == 0x45:
            stop, count = pos, 0
        elif code == 0xC0 or code == 0xD0:
            check_depth(pos, depth)
            pos, stop, count = read_counted(buf, pos, end, code >> 4, entries)
        else:
            raise fault(f"{cls.NAME} isn't a list", pos, "types/composite-list")
        found = object.__new__(cls)
        odds: list[Odd] = []
        for index, (name, kind, default, mandatory, multiple) in enumerate(cls.WIRE):
            value = None
            at = pos
            if index < count:
                value, pos = _read_field(cls.NAME, name, kind, buf, pos, stop, depth - 1, entries, odds)
            if value is None and mandatory:
                rule = "types/field-multiple-mandatory" if multiple else mandatory_rule(cls, name)
                odds.append(Odd(cls.NAME, name, fault(f"{cls.NAME}: {name} is mandatory", at, rule, INVALID), False))
                value = UNREAD
            elif value is not None and value is not UNREAD:
                value = _taken(cls.NAME, name, kind, mandatory, multiple, value, at, odds)
            if value is UNREAD and kind == "error":
                # That there is an error is all that is left of it.
                value = _described("error", [placeholder("error-condition", False), _UNREADABLE], odds)
            elif value is UNREAD:
                value = placeholder(kind, multiple) if mandatory else default
            setattr(found, name, default if value is None else value)
        for _ in range(len(cls.WIRE), count):
            pos = skip(buf, pos, stop)
        if pos != stop:
            raise fault(f"{cls.NAME}: octets are left behind the last field", pos, "types/compound-layout")
        if count > len(cls.WIRE):
            text = f"{cls.NAME} has {count} fields"
            odds.insert(0, Odd(cls.NAME, "", fault(text, begin, "types/composite-list"), True))
        if odds:
            # What it came as isn't what is sent on.
            found.wire = None
            raise OddRecord(found, tuple(odds), start, stop)
        found.wire = None if start < 0 else buf[start:stop]
        return found, stop

    def encode(self) -> bytes:
        """The octets: those it came with, else the numeric descriptor and a list without trailing nulls.

        Raises CodecError for a value that its field can't hold, and for a mandatory field without one.

        >>> from amqp_sansio.amqp_1_0 import Accepted
        >>> Accepted().encode()
        b'\\x00S$E'
        """
        if self.wire is not None:
            return self.wire
        return b"\0" + encode_ulong(self.CODE) + self.encode_list()

    encode_as_value = encode

    def encode_list(self) -> bytes:
        """The list of the fields alone, in its smallest form."""
        return write_slowly(self)

    def replace(self: C, **changes: object) -> C:
        """A record with other values in some fields."""
        return type(self)(**{name: getattr(self, name) for name in self.__match_args__} | changes)

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all([getattr(self, name) == getattr(other, name) for name in self.__match_args__])

    def __hash__(self) -> int:
        return hash(token(self))

    def __repr__(self) -> str:
        shown: list[str] = []
        for name, _, default, mandatory, _ in self.WIRE:
            value = getattr(self, name)
            if name in self.SECRETS and value is not None:
                shown.append(f"{name}=<{len(value)} octets>")
            elif mandatory or value != default:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        arguments = tuple([getattr(self, name) for name in self.__match_args__])
        if self.wire is None:
            return type(self), arguments
        return _rebuild, (type(self), arguments, self.wire)


def _read_field(
    owner: str, name: str, kind: str, buf: bytes, pos: int, stop: int, depth: int, entries: int, odds: list[Odd]
) -> tuple[object, int]:
    """The value at `pos` of a field and where it ends; UNREAD when only its size can be told. Notes what is odd.

    Raises CodecError when not even that can be told.
    """
    try:
        return read_value(buf, pos, stop, depth, entries)
    except OddRecord as odd:
        if odd.start == pos:
            odds += odd.odds
            return odd.record, odd.stop
        end = skip(buf, pos, stop)
        odds.append(Odd(owner, name, odd, False))
    except CodecError as error:
        end = skip(buf, pos, stop)
        odds.append(Odd(owner, name, error, False))
    return UNREAD, end


def _taken(
    owner: str, name: str, kind: str, mandatory: bool, multiple: bool, value: object, at: int, odds: list[Odd]
) -> object:
    """The value of a field, UNREAD for one that isn't plain. Notes what is odd."""
    try:
        return check_field(owner, name, kind, mandatory, multiple, value, at)
    except CodecError as error:
        found: object = UNREAD
        if undescribed(kind, value):
            found = _described(kind, cast("list[object]", value), odds)
        elif not multiple or not mandatory or value:
            found = meant(kind, multiple, value)
        if found is not UNREAD:
            try:
                for each in cast("tuple[object, ...]", found) if multiple else (found,):
                    check_choice(owner, name, kind, each, at)
            except CodecError:
                found = UNREAD
        odds.append(Odd(owner, name, error, found is not UNREAD))
        return found


def _described(kind: str, items: list[object], odds: list[Odd]) -> object:
    """The composite type of this kind, of its list of fields without the descriptor; UNREAD where that isn't one."""
    try:
        octets = encode(items)
        return COMPOSITES[f"amqp:{kind}:list"].read(octets, 0, len(octets), NESTING, ENTRIES, -1)[0]
    except OddRecord as odd:
        odds += odd.odds
        return odd.record
    except CodecError:
        return UNREAD


def _rebuild(cls: type[C], arguments: tuple[object, ...], wire: bytes) -> C:
    found = cls(*arguments)
    found.wire = wire
    return found


def write_slowly(record: Composite) -> bytes:
    """The list of a record's fields, each checked. Raises CodecError that names the field at fault."""
    items: list[bytes] = []
    count = 0
    for index, (name, kind, default, mandatory, multiple) in enumerate(record.WIRE, 1):
        value = getattr(record, name)
        if mandatory and value is None:
            raise fault(f"{record.NAME}: {name} is mandatory", None, mandatory_rule(type(record), name), INVALID)
        if value is None or (value == default and not mandatory):
            items.append(b"\x40")
            continue
        items.append(write_field(record.NAME, name, kind, mandatory, multiple, value))
        if items[-1] != b"\x40":
            count = index
    return encode_items(0xC0, count, b"".join(items[:count]))


_PARTS: Final[dict[type[Composite], tuple[str, ...]]] = {}
"""The fields of a type that hold other composite types, once they were asked for."""


def encode_whole(record: Composite) -> bytes:
    """The octets of a record with all fields of its list, and of those within it: nulls stand at the end too.

    Raises CodecError as `encode`. Some peers index fields without looking how many there are.

    >>> from amqp_sansio.amqp_1_0.spec import End
    >>> encode_whole(End())
    b'\\x00S\\x17\\xc0\\x02\\x01@'
    """
    cls = record.__class__
    total = len(cls.WIRE)
    if not total:
        return record.encode()
    parts = _PARTS.get(cls)
    if parts is None:
        parts = tuple([name for name, kind, *_ in cls.WIRE if SOURCES.get(kind, kind) in PROVIDERS])
        _PARTS[cls] = parts
    lead = b"\0" + encode_ulong(cls.CODE)
    if record.wire is None and not any([getattr(getattr(record, name), "WIRE", ()) for name in parts]):
        octets = record.encode()
        at = len(lead)
        if octets[at] == 0x45:
            return lead + encode_items(0xC0, total, b"\x40" * total)
        short = octets[at] == 0xC0
        count = octets[at + 2] if short else READ_TWO_U32(octets, at + 1)[1]
        items = octets[at + 3 if short else at + 9 :]
        return lead + encode_items(0xC0, total, items + b"\x40" * (total - count))
    written: list[bytes] = []
    for name, kind, default, mandatory, multiple in cls.WIRE:
        value = getattr(record, name)
        if value is None and mandatory:
            raise fault(f"{record.NAME}: {name} is mandatory", None, mandatory_rule(cls, name), INVALID)
        if value is None or (value == default and not mandatory):
            written.append(b"\x40")
        elif isinstance(value, Composite) and _fits(SOURCES.get(kind, kind), value):
            written.append(encode_whole(value))
        else:
            written.append(write_field(record.NAME, name, kind, mandatory, multiple, value))
    return lead + encode_items(0xC0, total, b"".join(written))


def raising(value: object) -> bytes:
    """Raise ValueError, from within an expression."""
    raise ValueError(value)


class Performative(Composite):
    """The body of an AMQP frame (1.0 part 2 section 2.7)."""

    __slots__ = ()


class SaslFrame(Composite):
    """The body of a SASL frame (1.0 part 5 section 5.3.3)."""

    __slots__ = ()


class DeliveryState(Composite):
    """The state of a delivery; terminal ones, outcomes, have a true `OUTCOME` (1.0 part 3 section 3.4)."""

    __slots__ = ()

    OUTCOME: ClassVar[bool] = False


_UNREADABLE: Final = "the error can't be read"
"""The description that stands for an error that isn't one."""

_MANDATORY_RULES: Final = {
    ("received", "section_number"): "received/mandatory-fields",
    ("received", "section_offset"): "received/mandatory-fields",
    ("error", "condition"): "transport/error/condition",
    ("sasl-mechanisms", "sasl_server_mechanisms"): "security/sasl/mechanisms-nonempty",
}


def mandatory_rule(cls: type[Composite], name: str) -> str:
    """The rule that a null in this field breaks."""
    return _MANDATORY_RULES.get((cls.NAME, name), "types/field-mandatory")


def read_descriptor(buf: bytes, pos: int, end: int) -> tuple[type[Composite], int]:
    """The composite type whose descriptor is at `pos`, and where its list's constructor is."""
    start = pos
    code, pos = read_code(buf, pos, end)
    if code:
        raise fault("a described type is wanted", start, "types/described")
    descriptor, pos = read_value(buf, pos, end, NESTING, ENTRIES)
    kind = COMPOSITES.get(descriptor) if isinstance(descriptor, (ULong, Symbol)) else None
    if kind is None or not issubclass(kind, Composite):
        raise fault(f"no known type has the descriptor {descriptor!r:.60}", start, "types/descriptor-kinds")
    return kind, pos


def decode_frame_body(
    data: bytes, pos: int = 0, end: int | None = None, nesting: int = NESTING, entries: int = ENTRIES
) -> tuple[Performative | SaslFrame, int]:
    """The record of a frame's body, and where its payload begins.

    Raises CodecError for malformed octets, and for types that no frame has; an `OddRecord` where only fields are odd.

    >>> from amqp_sansio.amqp_1_0.spec import End
    >>> decode_frame_body(End().encode() + b"payload")
    (End(), 4)
    """
    if end is None or end > len(data):
        end = len(data)
    try:
        word, size, count = READ_U32_TWO_U8(data, pos)
        at, stop = pos + 6, pos + 5 + size
        if word & 0x10:
            size, count = READ_TWO_U32(data, pos + 4)
            at, stop = pos + 12, pos + 8 + size
        if stop <= end:
            return FAST[word](data, at, stop, count, pos), stop
    except READ_FAULTS:
        pass
    try:
        kind, at = read_descriptor(data, pos, end)
    except CodecError as error:
        raise fault(str(error), error.offset, "transport/frame/performative") from None
    if not issubclass(kind, (Performative, SaslFrame)):
        raise fault(f"{kind.NAME} is no frame's body", pos, "transport/frame/performative")
    return kind.read(data, at, end, nesting - 1, entries, pos)


def with_rest(body: Composite, octets: int) -> str:
    """The name of a frame's body that has so many octets behind it."""
    return f"{body.NAME} with {octets} octets behind it" if octets else body.NAME


# Fields: what each of their types takes, and what it is in Python.

CHOICES: Final[dict[str, tuple[str, tuple[object, ...]]]] = {
    "sender-settle-mode": ("transport/settle-mode/sender", (0, 1, 2)),
    "receiver-settle-mode": ("transport/settle-mode/receiver", (0, 1)),
    "sasl-code": ("security/sasl/outcome-codes", (0, 1, 2, 3, 4)),
    "terminus-durability": ("terminus/durability", (0, 1, 2)),
    "terminus-expiry-policy": ("terminus/expiry-policy", ("link-detach", "session-end", "connection-close", "never")),
}
"""The values that restricted types allow, and the rule that says so."""

SIZES: Final = {"delivery-tag": ("transport/delivery/tag-size", 32), "transaction-id": ("transactions/txn-id-size", 32)}
"""The octets that restricted binaries have at most."""

LOOSE: Final = ("error-info", "state-annotations")
"""Maps that only inform: real peers have strings as keys there, and nothing is worth ending a connection for."""

MAP_KEYS: Final = {
    **dict.fromkeys((*LOOSE, "fields", "node-properties"), "transport/fields-keys"),
    "filter-set": "filter-set/keys-values",
    "unsettled": "transport/attach/unsettled-keys",
}


def check_field(owner: str, name: str, kind: str, mandatory: bool, multiple: bool, value: object, at: int) -> object:
    """Turn a decoded value that isn't null into the field's value. Raises CodecError when the field can't have it."""
    if not multiple:
        return _check(owner, name, kind, value, at)
    if not isinstance(value, Array):
        return (_check(owner, name, kind, value, at),)
    found = tuple([_check(owner, name, kind, item, at) for item in value])
    if mandatory and not found:
        raise _empty(owner, name, at)
    if not found and _primitive(value.element) != SOURCES.get(kind, kind):
        raise _wrong(owner, name, kind, value, at)
    return found


def _primitive(kind: type) -> str:
    return {"str": "string", "bytes": "binary", "bool": "boolean"}.get(kind.__name__, kind.__name__.lower())


def _check(owner: str, name: str, kind: str, value: object, at: int) -> object:
    base = SOURCES.get(kind, kind)
    got = value.__class__
    wanted = Map if base == "map" else _TYPES[base][0] if base in _TYPES else None
    if not _fits(base, value) if wanted is None else got is not wanted:
        raise _wrong(owner, name, kind, value, at)
    if isinstance(value, int) and (base in _INTEGERS or (got is ULong and base == "message-id")):
        value = int(value)
    elif isinstance(value, Map) and base == "map":
        check_keys(owner, name, kind, value, at)
    elif base == "txn-id" and got is bytes:
        kind = "transaction-id"
    check_choice(owner, name, kind, value, at)
    return value


def _fits(base: str, value: object) -> bool:
    """Whether a value may be where a field takes several types."""
    described = isinstance(value, Described)
    if base in PROVIDERS:
        return (described and base != "error") or getattr(value, "NAME", "") in PROVIDERS[base]
    if base == "message-id":
        return value.__class__ in (str, bytes, ULong) or value.__class__.__name__ == "UUID"
    if base == "address":
        return described or value.__class__ is str
    return base != "txn-id" or described or isinstance(value, bytes)


def _write_boolean(value: object) -> bytes:
    if value is not True and value is not False:
        raise TypeError
    return BOOLEANS[value]


_TYPES: Final[dict[str, tuple[type, Callable[[Any], bytes]]]] = {
    "ubyte": (UByte, encode_ubyte),
    "ushort": (UShort, encode_ushort),
    "uint": (UInt, encode_uint),
    "ulong": (ULong, encode_ulong),
    "boolean": (bool, _write_boolean),
    "string": (str, encode_string),
    "binary": (bytes, lambda value: encode_binary(b"" + value)),
    "symbol": (Symbol, encode_symbol),
    "timestamp": (Timestamp, lambda value: encode_timestamp(to_timestamp(value))),
}
"""Of fields of one type: the class of what is read, and the writer."""
_INTEGERS: Final = ("ubyte", "ushort", "uint", "ulong")


def _wrong(owner: str, name: str, kind: str, value: object, at: int | None) -> CodecError:
    return fault(f"{owner}: {name} can't be {value!r:.60}; it's a {kind}", at, "types/composite-list")


def _empty(owner: str, name: str, at: int | None) -> CodecError:
    rule = _MANDATORY_RULES.get((owner, name), "types/field-multiple-mandatory")
    return fault(f"{owner}: {name} has no value", at, rule, INVALID)


def check_choice(owner: str, name: str, kind: str, value: object, at: int | None) -> None:
    """Raise CodecError for a value that a restricted type doesn't allow."""
    if kind in CHOICES:
        rule, allowed = CHOICES[kind]
        if value not in allowed:
            raise fault(f"{owner}: {name} can't be {value!r:.60}", at, rule, INVALID)
    elif kind in SIZES and at is None:
        # A received value is judged where it's known whether its link or its transaction ends.
        rule, most = SIZES[kind]
        if isinstance(value, Sized) and len(value) > most:
            raise fault(f"{owner}: {name} has {len(value)} octets, above {most}", at, rule, INVALID)
    elif kind == "outcome-symbol":
        known = COMPOSITES.get(value) if isinstance(value, str) else None
        if known is not None and not getattr(known, "OUTCOME", False):
            raise fault(f"{owner}: {value} is no outcome", at, "source.outcomes/valid", INVALID)


BARE: Final = "com.microsoft:"
"""How the names of filters begin that peers expect without a descriptor: Service Bus's session filter is a string."""


def check_keys(owner: str, name: str, kind: str, value: AmqpMap, at: int | None) -> None:
    """Raise CodecError for keys and values that a restricted map doesn't allow."""
    rule = MAP_KEYS.get(kind)
    if rule is None:
        return
    symbols = kind != "unsettled"
    # The types within a map that the caller has encoded itself are its own choice.
    whole = at is None and isinstance(value, Map)
    for key, item in value.pairs() if isinstance(value, Map) else value.items():
        if symbols and key.__class__ is not Symbol:
            if kind in LOOSE and (key.__class__ is str or key.__class__ is ULong):
                continue
            if at is not None or not isinstance(key, str):
                raise fault(f"{owner}: {name} has the key {key!r:.60}, no symbol", at, rule)
        elif key is None:
            raise fault(f"{owner}: {name} has a null key", at, rule)
        if kind == "filter-set" and item is not None and not is_described(item):
            if whole or (at is None and str(key).startswith(BARE)):
                continue
            raise fault(f"{owner}: the filter {key!r:.60} isn't described", at, rule)


def is_described(value: object) -> bool:
    """Whether a value has a descriptor."""
    return value.__class__ is Described or hasattr(value, "SYMBOL")


def write_field(owner: str, name: str, kind: str, mandatory: bool, multiple: bool, value: object) -> bytes:
    """The octets of a field's value. Raises CodecError that names owner and field."""
    try:
        if not multiple or isinstance(value, (str, bytes)):
            return _write(owner, name, kind, value)
        several = cast("Iterable[str]", value)
        items = [_write(owner, name, kind, item) for item in several]
        if not items:
            if mandatory:
                raise _empty(owner, name, None)
            return b"\x40"
        if len(items) == 1 and owner != "sasl-mechanisms":
            return items[0]
        return encode(Array([Symbol(item) for item in several]))
    except CodecError as error:
        text = str(error)
        if not text.startswith(owner):
            error = CodecError(f"{owner}: {name}: {text}", rule=error.rule, condition=error.condition)
        raise error from None
    except WRITE_FAULTS:
        raise _wrong(owner, name, kind, value, None) from None


def _write(owner: str, name: str, kind: str, value: object) -> bytes:
    base = SOURCES.get(kind, kind)
    if base == "txn-id" and value.__class__ is bytes:
        kind = "transaction-id"
    if base != "map":
        check_choice(owner, name, kind, value, None)
    if base in _TYPES:
        if value.__class__ is bool and base in _INTEGERS:
            raise TypeError
        return _TYPES[base][1](value)
    if base == "map":
        if not isinstance(value, Mapping):
            raise TypeError
        values = cast("Mapping[object, Any]", value)
        check_keys(owner, name, kind, values, None)
        if kind in MAP_KEYS and kind != "unsettled" and not isinstance(values, Map):
            values = {Symbol(key) if isinstance(key, str) else key: item for key, item in values.items()}
        return encode(values)
    if base == "message-id" and isinstance(value, int) and value.__class__ is not bool:
        return encode_ulong(value)
    octets = encode(value)
    if not _fits(base, value):
        raise TypeError
    return octets
