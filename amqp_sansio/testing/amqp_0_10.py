"""Hypothesis strategies for AMQP 0-10: values, maps, structs, controls, commands, messages, frames.

>>> from hypothesis import given
>>> from amqp_sansio.testing import amqp_0_10
>>> @given(amqp_0_10.messages())
... def test_my_codec_keeps_messages(message): ...
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, cast

from hypothesis import strategies as st

from ..amqp_0_10 import DeliveryProperties, Message, MessageProperties, SequenceSet, spec
from ..amqp_0_10.codec.record import encode_headers
from ..amqp_0_10.spec import ByteRanges, Command, Control, Datetime, ReplyTo, SessionHeader, Struct, Struct32, Xid
from ..endpoint import Side

_NAMES: list[str] = cast("Any", spec).__all__
_ALL: tuple[type[Any], ...] = tuple(
    kind
    for name in _NAMES
    if isinstance(kind := getattr(spec, name), type) and issubclass(kind, Struct) and "NAME" in vars(kind)
)
COMMANDS: tuple[type[Any], ...] = tuple(kind for kind in _ALL if hasattr(kind, "HAS_BODY"))
"""Every command."""
CONTROLS: tuple[type[Control], ...] = tuple(kind for kind in _ALL if issubclass(kind, Control))
"""Every control."""
STRUCTS: tuple[type[Struct], ...] = tuple(kind for kind in _ALL if kind not in COMMANDS and kind not in CONTROLS)
"""Every other struct."""
_CODED = tuple(kind for kind in STRUCTS if kind.CODE and kind is not SessionHeader)
_SENT_TO = {Side.CLIENT: "server", Side.SERVER: "client"}
_FRAME_HEADER = 12
_UNKNOWN_CLASS = 0x7F00
_LEAVES = 12


def _octets(most: int) -> st.SearchStrategy[bytes]:
    return st.binary(max_size=min(most, 300))


def _texts(most: int) -> st.SearchStrategy[str]:
    # No character takes more than four octets.
    return st.text(max_size=min(most, 300) // 4)


def values() -> st.SearchStrategy[Any]:
    """Values of a map: numbers, strings, octets, timestamps, UUIDs and so on, lists and maps of them.

    >>> value = values()  # None, True, 5, "text", b"octets", Datetime(1700000000), {"key": [1, 2]}...
    """
    return _values()


# A strategy is a constant; creating and validating one costs more than a draw.
@cache
def _values() -> st.SearchStrategy[Any]:
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(allow_nan=False),
        _texts(300),
        _octets(300),
        st.uuids(),
        st.integers(-(2**63), 2**63 - 1).map(Datetime),
    )
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys(), inner, max_size=4),
        max_leaves=_LEAVES,
    )


def _keys() -> st.SearchStrategy[str]:
    return st.text(max_size=40)


def maps(*, max_size: int = 6) -> st.SearchStrategy[dict[str, Any]]:
    """Maps as dicts, with at most `max_size` entries, for application headers and arguments.

    >>> headers = maps()
    """
    return st.dictionaries(_keys(), values(), max_size=max_size)


def sequence_sets() -> st.SearchStrategy[SequenceSet]:
    """Sets of command ids, wrapping around or not."""

    def of(start: int, wide: int) -> tuple[int, int]:
        return start, (start + wide) % 2**32

    one = st.builds(of, st.integers(0, 2**32 - 1), st.integers(0, 1000))
    return st.lists(one, max_size=4).map(SequenceSet)


def byte_ranges() -> st.SearchStrategy[ByteRanges]:
    """Parts of a command: ascending ranges that don't touch."""

    def of(steps: list[tuple[int, int]]) -> ByteRanges:
        ranges: list[tuple[int, int]] = []
        at = 0
        for gap, size in steps:
            ranges.append((at + gap, at + gap + size))
            at += gap + size + 2
        return ByteRanges(ranges)

    return st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=4).map(of)


def arrays() -> st.SearchStrategy[list[Any]]:
    """Arrays: elements of one type."""
    return st.one_of(
        st.lists(_texts(300), max_size=4),
        st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
        st.lists(_octets(300), max_size=4),
        st.lists(records(Xid), max_size=3),
    )


def unknown_structs() -> st.SearchStrategy[Struct32]:
    """Structs with a code unknown to the specification."""
    return st.builds(Struct32, st.integers(_UNKNOWN_CLASS, _UNKNOWN_CLASS + 255), _octets(50))


def _structs32() -> st.SearchStrategy[Struct | Struct32]:
    return structs() | unknown_structs()


def _unsigned(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, 2**bits - 1)


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "uint8": _unsigned(8),
    "uint16": _unsigned(16),
    "uint32": _unsigned(32),
    "uint64": _unsigned(64),
    "sequence-no": _unsigned(32),
    "datetime": st.integers(-(2**63), 2**63 - 1).map(Datetime),
    "str8": _texts(255),
    "str16": _texts(65_535),
    "vbin8": _octets(255),
    "vbin16": _octets(65_535),
    "vbin32": _octets(65_535),
    "fragments": _octets(65_535),
    "uuid": st.uuids(),
    "map": st.deferred(maps),
    "array": st.deferred(arrays),
    "struct32": st.deferred(_structs32),
    "sequence-set": st.deferred(sequence_sets),
    "byte-ranges": st.deferred(byte_ranges),
    "dtx.xid": st.deferred(lambda: records(Xid)),
    "message.reply-to": st.deferred(lambda: records(ReplyTo)),
}


def field_values(kind: str) -> st.SearchStrategy[Any]:
    """Values of one field by its type, as in `Struct.FIELDS`."""
    return st.booleans() if kind == "bit" else _VALUES[kind]


def records(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Records of one struct, control or command; optional fields may be absent.

    >>> from amqp_sansio.amqp_0_10.spec import QueueDeclare
    >>> declarations = records(QueueDeclare)
    """
    return _records(cast("Hashable", kind))


@cache
def _records(kind: type[Any]) -> st.SearchStrategy[Any]:
    # Without packing flags every field is required.
    always = kind.REQUIRED if not kind.PACK else kind.MANDATORY
    arguments: dict[str, st.SearchStrategy[Any]] = {}
    for name, wire in kind.FIELDS:
        value = field_values(wire)
        arguments[name] = value if wire == "bit" or name in always else st.none() | value
    return st.builds(kind, **arguments)


def structs() -> st.SearchStrategy[Struct]:
    """Structs that have a code: properties of messages, results of commands.

    >>> some = structs()  # DeliveryProperties(routing_key="jobs"), QueueQueryResult(...)...
    """
    return st.sampled_from(_CODED).flatmap(records)


def controls(*, sent_by: Side | None = None) -> st.SearchStrategy[Control]:
    """Controls that a side may send; None: either side.

    >>> some = controls()  # SessionAttach(name=b"..."), ConnectionTune(...)...
    """
    return st.sampled_from(_sent_by(CONTROLS, sent_by)).flatmap(records)


def commands(*, sent_by: Side | None = None) -> st.SearchStrategy[Command[Any]]:
    """Commands that a side may send; None: either side.

    >>> from amqp_sansio import Side
    >>> requests = commands(sent_by=Side.CLIENT)
    """
    return st.sampled_from(_sent_by(COMMANDS, sent_by)).flatmap(records)


def _sent_by(kinds: tuple[type[Any], ...], side: Side | None) -> list[type[Any]]:
    return [kind for kind in kinds if side is None or _SENT_TO[side] in kind.HANDLERS]


def headers() -> st.SearchStrategy[tuple[Struct | Struct32, ...]]:
    """The structs of a header segment: properties in any order, with others among them.

    >>> from amqp_sansio.amqp_0_10.codec.record import encode_headers
    >>> segment = headers().map(encode_headers)
    """
    some = st.tuples(
        st.none() | records(DeliveryProperties), st.none() | records(MessageProperties), st.none() | unknown_structs()
    )
    present = some.map(lambda found: [each for each in found if each is not None])
    return present.flatmap(st.permutations).map(tuple)


def messages(*, max_body: int = 300) -> st.SearchStrategy[Message]:
    """Messages with any properties and a body of at most `max_body` octets.

    >>> message = messages()  # <Message of 17 octets>
    """
    return st.builds(
        Message,
        st.binary(max_size=max_body),
        delivery_properties=st.none() | records(DeliveryProperties),
        message_properties=st.none() | records(MessageProperties),
        others=st.just(()) | unknown_structs().map(lambda one: (one,)),
    )


def frames(*, sent_by: Side | None = None) -> st.SearchStrategy[bytes]:
    """The octets of single frames that each hold a whole segment: controls, commands, headers, bodies.

    Each is valid by itself; their sequence depends on the session's state.

    >>> hostile = st.lists(frames()).map(b"".join)
    """
    channels = st.integers(0, 65_535)

    def control(channel: int, record: Control) -> bytes:
        return _frame(0x0F, 0, 0, channel, record.encode_assembly())

    def command(channel: int, record: Command[Any], sync: bool) -> bytes:
        alone = not (record.HEADERS or record.HAS_BODY)
        return _frame(0x0F if alone else 0x0B, 1, 1, channel, record.encode_segment(sync=sync))

    def header(channel: int, found: tuple[Struct | Struct32, ...]) -> bytes:
        return _frame(0x03, 2, 1, channel, encode_headers(found))

    def body(channel: int, octets: bytes) -> bytes:
        return _frame(0x07, 3, 1, channel, octets)

    return st.one_of(
        st.builds(control, channels, controls(sent_by=sent_by)),
        st.builds(command, channels, commands(sent_by=sent_by), st.booleans()),
        st.builds(header, channels, headers()),
        st.builds(body, channels, _octets(300)),
    )


def _frame(flags: int, kind: int, track: int, channel: int, payload: bytes) -> bytes:
    """Return one frame (part 1 section 4.3): flags, segment type, size, track, channel, payload."""
    size = (_FRAME_HEADER + len(payload)).to_bytes(2, "big")
    return bytes((flags, kind)) + size + bytes((0, track)) + channel.to_bytes(2, "big") + bytes(4) + payload


__all__ = ["commands", "controls", "frames", "headers", "maps", "messages", "records", "structs", "values"]
