"""Octets that can't be decoded, values that can't be encoded: always CodecError, within bounds of depth and size."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import CodecError
from amqp_sansio.amqp_0_10 import DeliveryProperties, Map, MessageProperties, SequenceSet
from amqp_sansio.amqp_0_10.codec.record import decode_command, decode_control, decode_headers, encode_headers
from amqp_sansio.amqp_0_10.codec.structs import decode_struct
from amqp_sansio.amqp_0_10.codec.types import decode_value, encode_value
from amqp_sansio.amqp_0_10.spec import (
    COMMANDS,
    CONTROLS,
    STRUCTS,
    ByteRanges,
    CommandFragment,
    ConnectionOpenOk,
    Datetime,
    DtxStart,
    ExchangeDeclare,
    ExecutionResult,
    MessageSubscribe,
    MessageTransfer,
    RecoverResult,
    ReplyTo,
    SessionCompleted,
    Struct,
    Struct32,
    Typed,
    Xid,
)
from tests.amqp_0_10.codec.test_values import SIMPLE
from tests.kit.steps import assert_linear

Reader = Callable[[bytes], object]


def _value(octets: bytes) -> object:
    return decode_value(octets)[0]


def _struct(octets: bytes) -> object:
    return decode_struct(octets, 0, len(octets))


def _control(octets: bytes) -> object:
    return decode_control(octets, 0, len(octets))


def _command(octets: bytes) -> object:
    return decode_command(octets, 0, len(octets))[0]


def _headers(octets: bytes) -> object:
    return decode_headers(octets, 0, len(octets))


READERS: list[Reader] = [_value, _struct, _control, _command, _headers, SequenceSet.decode]

EXAMPLES: dict[str, Any] = {
    "bit": True,
    "uint8": 1,
    "uint16": 2,
    "uint32": 3,
    "uint64": 4,
    "sequence-no": 5,
    "datetime": Datetime(6),
    "str8": "eight",
    "str16": "sixteen",
    "vbin8": b"8",
    "vbin16": b"16",
    "vbin32": b"32",
    "fragments": b"",
    "uuid": UUID(int=9),
    "map": {"k": [1, {"l": "m"}]},
    "array": ["a", "b"],
    "struct32": Xid(1, b"g", b"b"),
    "sequence-set": SequenceSet([(1, 2), (7, 9)]),
    "dtx.xid": Xid(1, b"g", b"b"),
    "byte-ranges": ByteRanges([(0, 1), (5, 9)]),
    "message.reply-to": ReplyTo("e", "r"),
}


def _full(kind: type[Struct]) -> Struct:
    """A record all of whose fields are there."""
    return kind(*[EXAMPLES[name] for _, name in kind.FIELDS])


def _valid() -> Iterator[tuple[Reader, bytes]]:
    for control in CONTROLS.values():
        octets = _full(control).encode()
        yield _control, control.CODE.to_bytes(2, "big") + octets
    for command in COMMANDS.values():
        yield _command, command.CODE.to_bytes(2, "big") + b"\x01\x01" + _full(command).encode()
    for struct in STRUCTS.values():
        octets = _full(struct).encode_sized()
        yield _struct, octets[4:]
        yield _headers, octets
        yield _value, b"\xab" + octets
    for name, value in SIMPLE:
        yield _value, encode_value(Typed(name, value))


VALID = list(_valid())


def _use(found: object) -> None:
    """All that is decoded late, and all that goes through the whole of a value."""
    repr(found)
    if isinstance(found, Map):
        dict(found)
    if isinstance(found, tuple):
        for each in cast("tuple[object, ...]", found):
            _use(each)
    if isinstance(found, Struct):
        assert found.encode() == found.wire
        assert found.missing() in ("", *found.MANDATORY)
        for name, kind in found.FIELDS:
            if kind == "map" and getattr(found, name) is not None:
                dict(getattr(found, name))
        assert found == found


def _decodes(read: Reader, octets: bytes) -> bool:
    """Whether they are decoded; if not, the error must say what is wrong."""
    try:
        _use(read(octets))
    except CodecError as error:
        assert len(str(error)) > 10
        assert error.code in (501, 503), error
        return False
    return True


@pytest.mark.parametrize(("read", "octets"), VALID, ids=lambda each: each.hex()[:8] if isinstance(each, bytes) else "")
def test_what_is_whole_is_decoded_and_what_is_cut_off_is_not(read: Reader, octets: bytes) -> None:
    assert _decodes(read, octets)
    if read is not _headers:
        assert not _decodes(read, b"")
    for cut in range(1, len(octets)):
        assert not _decodes(read, octets[:cut]), octets[:cut].hex()
    if read is not _value:
        assert not _decodes(read, octets + b"\x00")


@given(octets=st.binary(max_size=80))
def test_any_octets(octets: bytes) -> None:
    for read in READERS:
        _decodes(read, octets)


@given(
    code=st.sampled_from([*CONTROLS, *COMMANDS, *STRUCTS]), flags=st.integers(0, 65535), octets=st.binary(max_size=80)
)
def test_any_octets_behind_a_code(code: int, flags: int, octets: bytes) -> None:
    head, tail = code.to_bytes(2, "big"), flags.to_bytes(2, "big") + octets
    _decodes(_control, head + tail)
    _decodes(_command, head + b"\x01\x00" + tail)
    _decodes(_struct, head + tail)
    _decodes(_headers, (2 + len(tail)).to_bytes(4, "big") + head + tail)
    _decodes(_value, b"\xab" + (2 + len(tail)).to_bytes(4, "big") + head + tail)


@given(
    valid=st.sampled_from(VALID),
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_valid_octets_some_of_them_changed(valid: tuple[Reader, bytes], changes: list[tuple[int, int]]) -> None:
    read, octets = valid
    mutated = bytearray(octets)
    for place, octet in changes:
        mutated[place % len(mutated)] = octet
    _decodes(read, bytes(mutated))


@given(code=st.integers(0, 255), octets=st.binary(max_size=40))
def test_a_value_that_is_read_is_written_with_the_same_meaning(code: int, octets: bytes) -> None:
    try:
        value = decode_value(bytes((code,)) + octets)[0]
        repr(value)
        written = encode_value(value)
    except CodecError:
        return
    again = decode_value(written)[0]
    assert repr(again) == repr(value)


@pytest.mark.parametrize(
    ("read", "octets", "text", "offset", "code"),
    [
        (_control, b"\x01", "a control without a code", 0, 501),
        (_control, b"\x07\x01\x00\x00", r"unknown control 7\.1", 0, 501),
        (_command, b"\x04\x01\x01", "a command without code", 0, 501),
        (_command, b"\x01\x01\x01\x00\x00\x00", r"unknown command 1\.1", 0, 503),
        (_command, b"\x04\x01\x00\x00\x00", "session.header of a command", 2, 501),
        (_command, b"\x04\x01\x09\x00\x00", "session.header of a command", 2, 501),
        (_command, b"\x04\x01\x01\x00\x00", "message.transfer is cut off", 4, 501),
        (_command, b"\x04\x01\x01\x00\x01\x00\x05q", "message.transfer is cut off", 4, 501),
        (_command, b"\x04\x01\x01\x00\x01\x00\x01qx", "message.transfer has 1 octets too many", 4, 501),
        (_control, b"\x02\x0a\x01\x00\x00\x07" + b"x" * 7, "session.completed: a sequence-set of 7", 2, 501),
        (_control, b"\x02\x0a\x01\x00\x00\x08" + b"\0\0\0\5\0\0\0\4", "session.completed: 5 to 4 is no range", 2, 501),
        (_control, b"\x02\x0a\x01\x00\x00\x08", "session.completed: a sequence-set is cut off", 4, 501),
        (_control, b"\x01\x08\x01\x00\x00\x00\x00\x09", "connection.open-ok: an array is cut off", 4, 501),
        (_control, b"\x01\x08\x01\x00\x00\x00\x00\x02\xf0\x00", "an array without type and count", 8, 501),
        (_headers, b"\x00\x00\x00\x01\x04\x01", "a header struct is cut off", 0, 501),
        (_headers, b"\x00\x00\x00\x09\x04\x01\x00\x00", "a header struct is cut off", 0, 501),
        (_headers, b"\x00\x00\x00\x06\x04\x03\x08\x00\x00\x09", r"properties: message\.reply-to is cut off", 10, 501),
        (_value, b"\xb1\x00", "reserved", 1, 501),
        (_value, b"\x86\x01\x00", "1 octets aren't utf-16-be", 2, 501),
        (_value, b"\x27\x00\x11\x00\x00", "4 octets aren't utf-32-be", 1, 501),
    ],
)
def test_an_error_says_what_and_where(read: Reader, octets: bytes, text: str, offset: int, code: int) -> None:
    with pytest.raises(CodecError, match=text) as caught:
        read(octets)
    assert (caught.value.offset, caught.value.code) == (offset, code)


def _nested(kind: str, depth: int) -> bytes:
    """`depth` containers in one another, with their type code in front."""
    octets = b""
    for _ in range(depth):
        if kind == "list":
            body = b"\x00\x00\x00\x01" + octets if octets else b"\x00\x00\x00\x00"
            octets = b"\xa9" + len(body).to_bytes(4, "big") + body
        elif kind == "array":
            # The elements' type stands once, in front of the count.
            body = b"\xaa\x00\x00\x00\x01" + octets[1:] if octets else b"\xf0\x00\x00\x00\x00"
            octets = b"\xaa" + len(body).to_bytes(4, "big") + body
        else:
            body = b"\x00\x00\x00\x01\x01k" + octets if octets else b"\x00\x00\x00\x00"
            octets = b"\xa8" + len(body).to_bytes(4, "big") + body
    return octets


@pytest.mark.parametrize("kind", ["list", "array", "map"])
def test_values_are_nested_32_deep_and_no_deeper(kind: str) -> None:
    whole = _nested(kind, 32)
    found = decode_value(whole)[0]
    if isinstance(found, Map):
        assert len(found) == 1
    repr(found)
    if kind == "array":
        # Plain lists in it would be written as lists.
        found = None
        for _ in range(32):
            found = Typed("array", [] if found is None else [found])
    assert encode_value(found) == whole
    for depth in (33, 40, 5_000):
        with pytest.raises(CodecError, match="nested deeper than 32"):
            found = decode_value(_nested(kind, depth))[0]
            assert isinstance(found, Map)
            len(found)


def test_maps_within_others_are_counted_too() -> None:
    deep = _nested("map", 5_000)
    with pytest.raises(CodecError, match="deeper"):
        decode_value(b"\xa9" + (4 + len(deep)).to_bytes(4, "big") + b"\x00\x00\x00\x01" + deep)
    properties = MessageProperties.decode(MessageProperties(application_headers=Map.from_wire(deep[5:])).encode())
    assert properties.application_headers is not None
    with pytest.raises(CodecError, match="deeper"):
        len(properties.application_headers)
    assert "damaged" in repr(properties)


def _sized(octets: bytes) -> bytes:
    return len(octets).to_bytes(4, "big") + octets


def test_structs_within_values_nest_no_deeper() -> None:
    inner = RecoverResult([RecoverResult([Xid(1, b"g", b"b")])])
    found = RecoverResult.decode(inner.encode())
    assert found.in_doubt is not None
    assert inner.in_doubt is not None
    # What can hold values again is kept as it is.
    assert [type(each) for each in found.in_doubt] == [Struct32]
    assert encode_value(found.in_doubt[0]) == encode_value(inner.in_doubt[0])
    octets = b"\x06\x03\x00\x00"
    for _ in range(5_000):
        array = b"\xab\x00\x00\x00\x01" + _sized(octets)
        octets = b"\x06\x03\x01\x00" + _sized(array)
    result = ExecutionResult.decode(b"\x03\x00\x00\x00\x00\x07" + _sized(octets))
    assert isinstance(result.value, RecoverResult)
    _use(result)
    octets = b"\x04\x03\x00\x00"
    for _ in range(5_000):
        entries = b"\x00\x00\x00\x01\x01k\xab" + _sized(octets)
        octets = b"\x04\x03\x00\x01" + _sized(entries)
    properties = MessageProperties.decode(octets[2:])
    assert properties.application_headers is not None
    assert isinstance(properties.application_headers["k"], Struct32)
    _use(properties)


@pytest.mark.parametrize("name", ["void", "bit"])
def test_elements_without_octets_are_counted(name: str) -> None:
    code, value = {"void": (0xF0, None), "bit": (0xF1, True)}[name]

    def array(count: int) -> bytes:
        return b"\xaa" + _sized(bytes((code,)) + count.to_bytes(4, "big"))

    assert decode_value(array(65_536))[0] == [value] * 65_536
    assert encode_value(Typed("array", [Typed(name, value)] * 3)) == array(3)
    for count in (65_537, (1 << 32) - 1):
        with pytest.raises(CodecError, match=f"{count} elements, 65536 are allowed"):
            decode_value(array(count))
    with pytest.raises(CodecError, match="4294967295 elements"):
        ConnectionOpenOk.decode(b"\x01\x00" + array((1 << 32) - 1)[1:])
    # Within another value each costs 10 octets: a peer gets no more than 256 elements for them.
    within = b"\xa9" + _sized(b"\x00\x00\x00\x01" + array(256))
    assert decode_value(within)[0] == [[value] * 256]
    with pytest.raises(CodecError, match="257 elements without octets"):
        decode_value(b"\xa9" + _sized(b"\x00\x00\x00\x01" + array(257)))


@pytest.mark.parametrize("code", [0xA8, 0xA9, 0xAA])
def test_counts_that_the_octets_do_not_hold(code: int) -> None:
    kind = b"\x02" if code == 0xAA else b""
    for count in (2, 65_536, 65_537, (1 << 32) - 1):
        octets = bytes((code,)) + _sized(kind + count.to_bytes(4, "big") + b"\x01")
        assert not _decodes(_value, octets)


def test_sequence_sets_that_are_none() -> None:
    assert not SequenceSet.decode(b"")
    for size in range(1, 25):
        if size % 8:
            with pytest.raises(CodecError, match="ranges have 8 each") as caught:
                SequenceSet.decode(bytes(size))
            assert caught.value.code == 501
    assert SequenceSet.decode(b"\xff\xff\xff\xff\x00\x00\x00\x01").ranges == ((0xFFFFFFFF, 1),)
    for backwards in (b"\0\0\0\5\0\0\0\4", b"\0\0\0\0\x80\0\0\0"):
        with pytest.raises(CodecError, match="no range") as caught:
            SequenceSet.decode(backwards)
        assert caught.value.code == 501
    with pytest.raises(CodecError) as caught:
        ByteRanges.decode(bytes(15) + b"\x01" + bytes(16))
    assert caught.value.code == 501


IDS = st.integers(0, (1 << 32) - 1)
RANGES = st.lists(st.tuples(IDS, st.integers(0, 12)), max_size=6)


def _set(base: int, ranges: list[tuple[int, int]]) -> SequenceSet:
    """Short ranges near one another, so that they meet and wrap around."""
    mask = (1 << 32) - 1
    return SequenceSet([((base + start % 64) & mask, (base + start % 64 + more) & mask) for start, more in ranges])


@given(base=IDS, one=RANGES, other=RANGES)
def test_sequence_sets_are_sets(base: int, one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    left, right = _set(base, one), _set(base, other)
    assert set(left | right) == set(left) | set(right)
    assert set(left - right) == set(left) - set(right)
    assert (left == right) is (set(left) == set(right))
    listed = SequenceSet.of(*left)
    assert set(listed) == set(left)
    assert len(listed) == len(set(left))
    assert all([number in listed for number in left])
    joined = left | right
    assert len(joined) == len(set(joined))
    assert joined | left == joined
    assert SequenceSet.decode(joined.encode()).ranges == joined.ranges


def test_as_many_ranges_as_a_peer_can_send_take_no_time() -> None:
    def using(count: int) -> Callable[[], object]:
        one = SequenceSet([(each * 4, each * 4 + 1) for each in range(count)])
        other = SequenceSet([(each * 4 + 1, each * 4 + 2) for each in range(count)])

        def use() -> None:
            assert len(one | other) == 3 * count
            assert len(one - other) == count
            assert one != other
            assert one == SequenceSet(reversed(one.ranges))

        return use

    # With squares of the ranges as many as a set holds, 8,191, took 40 seconds.
    using(8_191)()
    assert_linear(using, 500)


@pytest.mark.parametrize(
    "record",
    [
        MessageTransfer(7),  # type: ignore[arg-type]
        MessageTransfer("\ud800"),
        MessageTransfer("x" * 256),
        MessageTransfer(accept_mode=256),
        MessageTransfer(accept_mode=-1),
        DeliveryProperties(ttl=1 << 64),
        DeliveryProperties(timestamp=Datetime(1 << 63)),
        MessageProperties(message_id=b"16"),  # type: ignore[arg-type]
        MessageProperties(user_id=7),  # type: ignore[arg-type]
        MessageProperties(user_id=b"x" * 65_536),
        MessageProperties(reply_to="x"),  # type: ignore[arg-type]
        MessageProperties(reply_to=ReplyTo("x" * 300)),
        MessageProperties(application_headers={7: 1}),  # type: ignore[dict-item]
        MessageProperties(application_headers={"x" * 256: 1}),
        MessageProperties(application_headers={"\ud800": 1}),
        MessageProperties(application_headers={"a": NotImplemented}),
        MessageProperties(application_headers={"a": ReplyTo()}),
        ExchangeDeclare(arguments=5),  # type: ignore[arg-type]
        ConnectionOpenOk([1, "a"]),
        ConnectionOpenOk(5),  # type: ignore[arg-type]
        ExecutionResult(1, ReplyTo()),
        ExecutionResult(1, 5),
        ExecutionResult(1, Struct32(1 << 16, b"")),
        ExecutionResult(1, Struct32(1, "x")),  # type: ignore[arg-type]
        SessionCompleted([1]),  # type: ignore[arg-type]
        DtxStart(5),  # type: ignore[arg-type]
        CommandFragment(1, 5),  # type: ignore[arg-type]
    ],
    ids=lambda each: repr(each)[:40].encode("ascii", "backslashreplace").decode(),
)
def test_records_that_can_not_be_written(record: Struct) -> None:
    with pytest.raises(CodecError, match=record.NAME):
        record.encode()


@pytest.mark.parametrize(
    "value",
    [
        1 << 64,
        -(1 << 63) - 1,
        NotImplemented,
        "\ud800",
        {7: 1},
        ReplyTo(),
        Decimal("1e999999999"),
        Decimal("nan"),
        Decimal("1" * 30),
        Typed("uint8", 256),
        Typed("uint8", "a"),
        Typed("no-such", 1),
        Typed("0xzz", b""),
        Typed("0x8f", 5),
        Typed("0x8f", b"x" * 256),
        Typed("0x03", b"xy"),
        Typed("0xb1", b""),
        Typed("0x1ff", b""),
        Typed("0xf7", b"x"),
        Typed("bin40", b"1234"),
        Typed("void", 1),
        Typed("bit", False),
        Typed("struct32", "x"),
        Typed("map", 5),
        Typed("list", 5),
        Typed("array", 5),
        Typed("uuid", 5),
        Typed("vbin8", 5),
        Typed("array", [None, 1]),
        Typed("array", [1, "a"]),
        Typed("datetime", 1 << 63),
        Typed("char", "ab"),
        Struct32(-1, b""),
    ],
    ids=lambda each: repr(each)[:40].encode("ascii", "backslashreplace").decode(),
)
def test_values_that_can_not_be_written(value: Any) -> None:
    with pytest.raises(CodecError) as caught:
        encode_value(value)
    assert len(str(caught.value)) > 10


def test_headers_that_can_not_be_written() -> None:
    for each in (ReplyTo(), Struct32(1 << 16, b""), "x"):
        with pytest.raises(CodecError):
            encode_headers((each,))  # type: ignore[arg-type]


def test_encoding_a_deep_value_takes_time_by_its_size_alone() -> None:
    value: Any = Typed("uint8", 1)
    for _ in range(31):
        value = Typed("array", [value])
    octets = encode_value(value)
    assert len(octets) == 31 * 9 + 2
    with pytest.raises(CodecError, match="deeper than 32"):
        encode_value(Typed("array", [Typed("array", [value])]))
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CodecError, match="deeper than 32"):
        encode_value(endless)


def test_handlers_are_those_of_the_specification() -> None:
    of = {kind.NAME: kind.HANDLERS for kind in CONTROLS.values()}
    of.update({kind.NAME: kind.HANDLERS for kind in COMMANDS.values()})
    both, client, server = ("client", "server"), ("client",), ("server",)
    assert set(of.values()) == {both, client, server}
    assert of["connection.start"] == of["connection.open-ok"] == of["file.deliver"] == client
    assert of["connection.start-ok"] == of["message.acquire"] == of["dtx.start"] == server
    assert of["connection.heartbeat"] == of["session.command-point"] == of["session.expected"] == both
    assert of["message.transfer"] == of["message.release"] == of["execution.exception"] == both


@pytest.mark.parametrize(
    "kind", [*CONTROLS.values(), *COMMANDS.values(), *STRUCTS.values()], ids=lambda kind: kind.NAME
)
def test_what_is_missing(kind: type[Struct]) -> None:
    whole = _full(kind)
    assert whole.missing() == ""
    assert kind.decode(whole.encode()) == whole
    assert set(kind.MANDATORY) <= set(kind.REQUIRED)
    for name in kind.MANDATORY:
        setattr(whole, name, None)
        assert kind.decode(whole.encode()).missing() == name
        setattr(whole, name, EXAMPLES[dict(kind.FIELDS)[name]])
    assert kind().missing() == (kind.MANDATORY or ("",))[0]


def test_what_real_senders_leave_out_is_not_missed() -> None:
    assert DeliveryProperties().missing() == MessageTransfer().missing() == ""
    assert MessageSubscribe("q").missing() == ""
    assert MessageSubscribe().missing() == "queue"
    assert STRUCTS[0x0801]().missing() == ""
    assert DtxStart(join=True).missing() == "xid"
