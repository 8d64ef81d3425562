"""Content properties: read all at once and only when asked, every octet kept, nothing malformed let through."""

import copy
import pickle
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio._classic.codec.dialect import Dialect, get_dialect
from amqp_sansio._classic.codec.table import RABBIT, SPEC_0_8, SPEC_0_9_1, Table, Typed
from amqp_sansio.amqp_0_8 import spec
from amqp_sansio.amqp_0_8.spec import FileProperties, StreamProperties, TunnelProperties
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.errors import CodecError
from tests.kit.captures import everywhere
from tests.kit.classic_values import every_properties, properties
from tests.kit.damage import spoilt
from tests.kit.facing_classic import both_rules
from tests.kit.pcap_streams import HEADER, frames

few = settings(max_examples=10)
"""For tests that run once for each class of properties."""

EVERY = [pytest.param(dialect, kind, id=f"{dialect.name}-{kind.__name__}") for dialect, kind in every_properties()]
KINDS = [
    pytest.param(dialect, kind, id=kind.__name__)
    for kind, dialect in {kind: dialect for dialect, kind in every_properties()}.items()
]

FULL = BasicProperties(
    content_type="text/plain",
    content_encoding="gzip",
    headers={"a": 1, "b": "two"},
    delivery_mode=2,
    priority=9,
    correlation_id="c",
    reply_to="r",
    expiration="60000",
    message_id="m",
    timestamp=1_700_000_000,
    type="t",
    user_id="u",
    app_id="p",
    cluster_id="k",
)
FULL_OCTETS = (
    b"\xff\xfc\x0atext/plain\x04gzip\x00\x00\x00\x11\x01aI\x00\x00\x00\x01\x01bS\x00\x00\x00\x03two"
    b"\x02\x09\x01c\x01r\x0560000\x01m\x00\x00\x00\x00\x65\x53\xf1\x00\x01t\x01u\x01p\x01k"
)


def same(one: Any, other: Any) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in other.__match_args__)


@pytest.mark.parametrize("path", everywhere("o0[89]*.pcap"))
def test_the_properties_of_every_capture_encode_to_their_octets(path: Any) -> None:
    for frame in frames(path):
        if frame.kind != HEADER:
            continue
        tables = frame.dialect.tables
        kind: Any = frame.dialect.properties[int.from_bytes(frame.payload[:2], "big")]
        raw = frame.payload[12:]
        read = kind.from_wire(raw, tables)
        assert read.encode(tables) == raw
        read.check()
        rebuilt = kind(*[getattr(read, name) for name in kind.__match_args__])
        assert rebuilt.encode(tables) == raw
        assert rebuilt == read


@pytest.mark.parametrize(("dialect", "kind"), EVERY)
@few
@given(data=st.data())
@pytest.mark.rule("0-8/wire/content-flags", "0-9-1/wire/content-flags")
def test_properties_survive(dialect: Dialect, kind: type[Any], data: st.DataObject) -> None:
    made = data.draw(properties(kind, dialect.tables))
    raw = made.encode(dialect.tables)
    read = kind.from_wire(raw, dialect.tables)
    assert read.raw == raw
    read.check()
    assert read == made
    assert made == kind.from_wire(raw, dialect.tables)
    assert same(kind.from_wire(raw, dialect.tables), made)
    assert hash(kind.from_wire(raw, dialect.tables)) == hash(made)
    for item in (made, read, kind.from_wire(raw, dialect.tables)):
        for other in (pickle.loads(pickle.dumps(item)), copy.deepcopy(item)):
            assert other == made
            assert other.raw == item.raw
            assert other.encode(dialect.tables) == raw
    present = [name for name, _ in kind.FIELDS if getattr(made, name) is not None]
    flags = int.from_bytes(raw[:2], "big")
    assert present == [name for place, (name, _) in enumerate(kind.FIELDS) if flags & 0x8000 >> place]


@pytest.mark.parametrize(("dialect", "kind"), KINDS)
@few
@given(any_octets=st.binary(max_size=60), data=st.data())
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_any_and_damaged_octets_are_properties_or_refused(
    dialect: Dialect, kind: type[Any], any_octets: bytes, data: st.DataObject
) -> None:
    raw = data.draw(properties(kind, dialect.tables)).encode(dialect.tables)
    _properties_or_refused(dialect, kind, any_octets)
    _properties_or_refused(dialect, kind, spoilt(data, raw))


def _properties_or_refused(dialect: Dialect, kind: type[Any], raw: bytes) -> None:
    read = kind.from_wire(raw, dialect.tables)
    try:
        values = [getattr(read, name) for name in kind.__match_args__]
    except CodecError as error:
        assert error.code == 502
        assert error.offset is not None and error.offset <= len(raw)
        assert kind.__name__ in str(error)
        with pytest.raises(CodecError):
            read.check()
        assert repr(read) == f"<{kind.__name__} of {len(raw)} damaged octets>"
        assert read.raw == read.encode(dialect.tables) == raw
        return
    # Nothing but a second word of flags, which says nothing, is lost on the way through the values.
    if kind.FIELDS and not raw[1] & 1:
        strict = dialect.tables.strict_names
        tables = [value for value in values if isinstance(value, Table)]
        if not (strict and any(table.raw for table in tables)):
            assert kind(*values).encode(dialect.tables) == raw
    assert read.encode(dialect.tables) == raw


@both_rules("wire/content-flags", "wire/timestamp")
def test_all_properties_on_the_wire() -> None:
    assert FULL.encode(RABBIT) == FULL_OCTETS
    read = BasicProperties.from_wire(FULL_OCTETS, RABBIT)
    assert read == FULL
    assert same(read, FULL)
    assert BasicProperties().encode(RABBIT) == b"\0\0"
    assert BasicProperties.from_wire(b"\0\0", RABBIT) == BasicProperties()


@pytest.mark.parametrize("place", range(14))
def test_each_property_alone(place: int) -> None:
    name = BasicProperties.__match_args__[place]
    one = BasicProperties(**{name: getattr(FULL, name)})
    raw = one.encode(RABBIT)
    assert raw[:2] == (0x8000 >> place).to_bytes(2, "big")
    read = BasicProperties.from_wire(raw, RABBIT)
    assert getattr(read, name) == getattr(FULL, name)
    assert [other for other in BasicProperties.__match_args__ if getattr(read, other) is not None] == [name]


def test_nothing_is_read_before_it_is_asked_for() -> None:
    broken = BasicProperties.from_wire(b"\x80\x00\x09abc", RABBIT)
    assert isinstance(broken, BasicProperties)
    assert broken.raw == b"\x80\x00\x09abc"
    assert broken.encode(RABBIT) == b"\x80\x00\x09abc"
    for _ in range(2):
        with pytest.raises(CodecError, match="content_type goes beyond the frame") as error:
            broken.content_type  # noqa: B018
        assert error.value.offset == 3
    assert pickle.loads(pickle.dumps(broken)).raw == broken.raw


def test_it_is_of_its_own_class_once_it_was_read() -> None:
    read = BasicProperties.from_wire(FULL_OCTETS, RABBIT)
    assert isinstance(read, BasicProperties)
    assert read.message_id == "m"
    assert type(read) is BasicProperties
    assert repr(read) == repr(FULL).replace("{'a'", "Table({'a'").replace("'two'}", "'two'})")
    with pytest.raises(AttributeError):
        read.no_such_property  # type: ignore[attr-defined]  # noqa: B018
    match BasicProperties.from_wire(FULL_OCTETS, RABBIT):
        case BasicProperties(content_type=kind, delivery_mode=2):
            assert kind == "text/plain"
        case _:
            pytest.fail("properties didn't match their own class")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "the flags go beyond the frame"),
        (b"\x80", "the flags go beyond the frame"),
        (b"\x00\x02", "flags 0x0002 name properties that the class doesn't have"),
        (b"\x80\x02\x01a", "name properties that the class doesn't have"),
        (b"\x00\x01\x80\x00\x01a", "flags of properties that the class doesn't have"),
        (b"\x00\x01", "the flags go beyond the frame"),
        (b"\x80\x00", "content_type goes beyond the frame"),
        (b"\x80\x00\x02a", "content_type goes beyond the frame"),
        (b"\x20\x00\0\0", "headers goes beyond the frame"),
        (b"\x20\x00\0\0\0\x09a", "headers goes beyond the frame"),
        (b"\x10\x00", "delivery_mode goes beyond the frame"),
        (b"\x00\x40\0\0\0", "timestamp goes beyond the frame"),
        (b"\x10\x00\x02\x00", "1 octets are left behind the last property"),
        (b"\x00\x00\x00", "1 octets are left behind the last property"),
    ],
)
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_malformed_properties_are_refused(raw: bytes, words: str) -> None:
    for use in (attrgetter("priority"), BasicProperties.check, hash):
        with pytest.raises(CodecError) as error:
            use(BasicProperties.from_wire(raw, RABBIT))
        assert words in str(error.value)
        assert error.value.code == 502


@pytest.mark.rule("0-8/wire/content-flags", "0-9-1/wire/content-flags")
def test_more_words_of_flags_may_follow() -> None:
    read = BasicProperties.from_wire(b"\x80\x01\x00\x01\x00\x00\x01a", RABBIT)
    assert read.content_type == "a"
    assert read.message_id is None
    assert read.encode(RABBIT) == b"\x80\x01\x00\x01\x00\x00\x01a"


def test_a_broken_table_is_found_by_the_check_and_when_it_is_read() -> None:
    read = BasicProperties.from_wire(b"\x20\x00\0\0\0\x03\x01az", RABBIT)
    headers = read.headers
    assert headers is not None
    with pytest.raises(CodecError, match="no table type has the tag 0x7a"):
        headers["a"]
    with pytest.raises(CodecError, match="no table type has the tag 0x7a"):
        read.check()


def test_octets_that_are_no_utf8_survive() -> None:
    raw = b"\x88\x80\x02\xff\xfe\x01\x01\xc3"
    read = BasicProperties.from_wire(raw, RABBIT)
    assert (read.content_type, read.priority, read.message_id) == ("\udcff\udcfe", 1, "\udcc3")
    assert BasicProperties(*[getattr(read, name) for name in read.__match_args__]).encode(RABBIT) == raw


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("content_type", "x" * 256, "content_type is above 255 octets"),
        ("content_type", 5, "content_type can't be 5; it's a str of at most 255 octets"),
        ("message_id", b"m", "message_id can't be b'm'"),
        ("delivery_mode", 256, "delivery_mode can't be 256; it's an int from 0 to 255"),
        ("priority", -1, "priority can't be -1"),
        ("timestamp", -1, "timestamp can't be -1; it's an int of 64 bits without sign, POSIX"),
        ("timestamp", 1.5, "timestamp can't be 1.5"),
        ("headers", [1], "headers can't be [1]; it's a mapping"),
        ("headers", {"a": object()}, "BasicProperties: headers: a table can't hold a object"),
        ("user_id", "\ud800", "user_id can't be"),
    ],
)
def test_a_value_that_does_not_fit_is_named(name: str, value: Any, words: str) -> None:
    with pytest.raises(CodecError) as error:
        BasicProperties(**{name: value}).encode(RABBIT)
    assert words in str(error.value)


def test_octets_go_out_as_they_came_where_the_rules_read_them_alike() -> None:
    plain = BasicProperties(content_type="a").encode(RABBIT)
    assert BasicProperties.from_wire(plain, RABBIT).encode(SPEC_0_8) == plain
    table = BasicProperties(headers={"a": Typed("l", 5)}).encode(RABBIT)
    read = BasicProperties.from_wire(table, RABBIT)
    assert read.encode(RABBIT.limited(5, 5)) == table
    assert read.encode(SPEC_0_9_1) == b"\x20\0\0\0\0\x07\x01aI\0\0\0\x05"
    # What came in a dialect with short strings is no 16-bit integer in another.
    strings = BasicProperties(headers={"a": Typed("s", "xy")}).encode(SPEC_0_9_1)
    moved = BasicProperties.from_wire(strings, SPEC_0_9_1).encode(RABBIT)
    assert BasicProperties.from_wire(moved, RABBIT).headers == {"a": "xy"}


def test_properties_are_told_apart() -> None:
    assert BasicProperties(priority=1) != BasicProperties(priority=2)
    assert BasicProperties(priority=1) != FileProperties(priority=1)
    assert BasicProperties(priority=1) != 1
    assert BasicProperties(headers={"a": 1}) == BasicProperties(headers=Table({"a": 1}))


def test_the_other_content_classes_of_0_8() -> None:
    assert StreamProperties(priority=3, timestamp=5).encode(SPEC_0_8) == b"\x18\x00\x03" + bytes(7) + b"\x05"
    tunnel = TunnelProperties(proxy_name="p", durable=1, broadcast=0)
    assert tunnel.encode(SPEC_0_8) == b"\x58\x00\x01p\x01\x00"
    assert TunnelProperties.from_wire(b"\x58\x00\x01p\x01\x00", SPEC_0_8) == tunnel
    assert FileProperties(filename="f").encode(SPEC_0_8) == b"\x02\x00\x01f"


@pytest.mark.rule("0-8/wire/content-flags")
def test_a_class_without_properties_has_flags_all_the_same() -> None:
    kind: Any = get_dialect("0-8").properties[120]
    assert kind is spec.TestProperties
    assert kind().encode(SPEC_0_8) == b"\0\0"
    kind.from_wire(b"\0\0", SPEC_0_8).check()
    assert kind.from_wire(b"\0\0", SPEC_0_8) == kind()
    assert pickle.loads(pickle.dumps(kind.from_wire(b"\0\0", SPEC_0_8))) == kind()


@pytest.mark.parametrize(
    "octets",
    [
        pytest.param(b"", id="no flags"),
        pytest.param(b"\x80\0", id="a flag"),
        pytest.param(b"\0\0\0", id="something behind the flags"),
    ],
)
@pytest.mark.rule("0-8/wire/content-flags")
def test_a_class_without_properties_has_only_flags(octets: bytes) -> None:
    with pytest.raises(CodecError):
        spec.TestProperties.from_wire(octets, SPEC_0_8).check()
