"""The method records of 0-8 and 0-9-1: what they carry, and that octets survive in both directions."""

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import amqp_0_8 as old
from amqp_sansio._classic.codec.dialect import Dialect, get_dialect
from amqp_sansio._classic.codec.method import Method
from amqp_sansio._classic.codec.table import RABBIT, SPEC_0_8, Table
from amqp_sansio.amqp_0_9_1 import spec
from amqp_sansio.endpoint import Side
from amqp_sansio.errors import CodecError
from tests.kit.captures import everywhere
from tests.kit.classic_values import every_method, records
from tests.kit.damage import spoilt
from tests.kit.facing_classic import both_rules
from tests.kit.pcap_streams import METHOD, frames

few = settings(max_examples=10)
"""For tests that run once for each method."""

EVERY = [pytest.param(dialect, kind, id=f"{dialect.name}-{kind.NAME}") for dialect, kind in every_method()]
RECORDS = [
    pytest.param(dialect, kind, id=kind.__module__.split(".")[-2] + "-" + kind.NAME)
    for kind, dialect in {kind: dialect for dialect, kind in every_method()}.items()
]

WRONG_ON_PURPOSE = (b"\x00\x63\x00\x01", b"\x00\x3c\x00\x28\xff\xff\xff\xff")
"""Payloads that a capture of broken clients holds: no such method, and no arguments."""


@pytest.mark.parametrize("path", everywhere("o0[89]*.pcap"))
def test_every_method_of_every_capture_encodes_to_its_octets(path: Any) -> None:
    for frame in frames(path):
        if frame.kind != METHOD or frame.payload.startswith(WRONG_ON_PURPOSE):
            continue
        tables = frame.dialect.tables
        method = frame.dialect.decode_method(frame.payload)
        assert method.encode(tables) == frame.payload
        again = type(method)(*[getattr(method, name) for name in method.__match_args__])
        if method.spare is None:
            assert again == method
            assert again.encode(tables) == frame.payload
        else:
            assert frame.payload[4:] == method.spare != again.encode(tables)[4:]


@pytest.mark.parametrize(("dialect", "kind"), RECORDS)
@few
@given(data=st.data())
@pytest.mark.rule("0-8/wire/method-payload", "0-9-1/wire/method-payload")
def test_a_record_survives_the_wire_pickle_and_hashing(dialect: Dialect, kind: type[Any], data: st.DataObject) -> None:
    record = data.draw(records(kind, dialect.tables))
    payload = record.encode(dialect.tables)
    assert payload[:4] == kind.ID.to_bytes(4, "big")
    decoded = dialect.decode_method(payload)
    assert decoded == record
    assert hash(decoded) == hash(record)
    assert decoded.spare is None
    assert decoded.encode(dialect.tables) == payload
    for method in (record, decoded):
        copy = pickle.loads(pickle.dumps(method))
        assert copy == method
        assert copy.encode(dialect.tables) == payload


@pytest.mark.parametrize(("dialect", "kind"), EVERY)
def test_a_record_says_what_it_is(dialect: Dialect, kind: type[Method]) -> None:
    assert kind.ID == kind.CLASS_ID << 16 | kind.METHOD_ID
    assert dialect.methods[kind.ID] is kind
    assert kind.__name__.lower() == kind.NAME.replace(".", "").replace("-", "")
    assert [name for name, _ in kind.FIELDS] == list(kind.__match_args__)
    assert sorted(pair for pair in kind.WIRE if pair[0]) == sorted(kind.FIELDS)
    assert set(dialect.senders[kind.ID]) <= set(kind.SENT_BY)
    assert ("no_wait" in kind.__match_args__) == kind.HAS_NO_WAIT
    assert kind.__doc__ is not None and f"({kind.CLASS_ID}/{kind.METHOD_ID})" in kind.__doc__
    assert kind().spare is None
    assert repr(kind()).startswith(kind.__name__ + "(")
    for reply in dialect.replies[kind.ID]:
        assert dialect.methods[reply.ID] is reply
        assert reply.IS_REPLY or reply.NAME in ("connection.redirect", "file.stage", "basic.get-empty")


@pytest.mark.parametrize(("dialect", "kind"), RECORDS)
@few
@given(any_octets=st.binary(max_size=80), data=st.data())
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_any_and_damaged_octets_are_a_record_or_refused(
    dialect: Dialect, kind: type[Method], any_octets: bytes, data: st.DataObject
) -> None:
    octets = data.draw(records(kind, dialect.tables)).encode(dialect.tables)[4:]
    _record_or_refused(dialect, kind, any_octets)
    _record_or_refused(dialect, kind, spoilt(data, octets))


def _record_or_refused(dialect: Dialect, kind: type[Method], octets: bytes) -> None:
    # The arguments lie between other octets, as in a buffer of frames: none of those may count.
    buffer = b"\x05" * 9 + octets + b"\x07" * 300
    try:
        record = kind.decode(buffer, 9, 9 + len(octets), dialect.tables)
    except CodecError as error:
        assert error.code == 502
        assert error.offset is not None and 9 <= error.offset <= 9 + len(octets)
        assert kind.NAME in str(error)
    else:
        assert record.encode(dialect.tables)[4:] == octets
        assert record.spare in (None, octets)


def test_the_fields_the_fast_paths_rely_on() -> None:
    deliver = ("consumer_tag", "delivery_tag", "redelivered", "exchange", "routing_key")
    publish = ("exchange", "routing_key", "mandatory", "immediate", "ticket")
    assert (spec.BasicDeliver.__match_args__, spec.BasicPublish.__match_args__) == (deliver, publish)


@both_rules("wire/shortstr", "wire/integer-order")
@pytest.mark.rule("0-8/wire/integer-unaligned", "0-9-1/wire/integer-unaligned")
def test_a_delivery_on_the_wire() -> None:
    record = spec.BasicDeliver("ct-1", 0x0102030405060708, True, "amq.direct", "schlüssel")
    payload = record.encode(RABBIT)
    assert payload == (
        b"\x00\x3c\x00\x3c\x04ct-1\x01\x02\x03\x04\x05\x06\x07\x08\x01\x0aamq.direct\x0aschl\xc3\xbcssel"
    )
    # At any offset, amid other octets.
    for at in range(4):
        assert spec.BasicDeliver.decode(b"\xff" * at + payload + b"\xce", at + 4, at + len(payload), RABBIT) == record


@pytest.mark.rule("0-8/wire/longstr", "0-9-1/wire/longstr", "0-8/wire/table-layout")
def test_long_strings_and_tables_on_the_wire() -> None:
    record = spec.ConnectionStart(0, 9, Table({"product": "x"}), b"PLAIN EXTERNAL", b"en_US\x00\xff")
    assert record.encode(RABBIT) == (
        b"\x00\x0a\x00\x0a\x00\x09\x00\x00\x00\x0e\x07productS\x00\x00\x00\x01x"
        b"\x00\x00\x00\x0ePLAIN EXTERNAL\x00\x00\x00\x07en_US\x00\xff"
    )


@pytest.mark.rule("0-8/wire/bit-packing", "0-9-1/wire/bit-packing")
@pytest.mark.parametrize("place", range(5))
def test_bits_share_an_octet_from_the_lowest_up(place: int) -> None:
    names = ("passive", "durable", "auto_delete", "internal", "no_wait")
    bits: dict[str, Any] = {names[place]: True}
    record = spec.ExchangeDeclare("e", "t", **bits)
    payload = record.encode(RABBIT)
    assert payload == b"\x00\x28\x00\x0a\x00\x00\x01e\x01t" + bytes((1 << place,)) + b"\0\0\0\0"
    assert spec.ExchangeDeclare.decode(payload, 4, len(payload), RABBIT) == record


def test_a_bit_is_a_bit_whatever_its_truth_is_made_of() -> None:
    loose: Any = spec.QueueDeclare
    assert loose("q", passive=4, durable="yes").encode(RABBIT) == spec.QueueDeclare(
        "q", passive=True, durable=True
    ).encode(RABBIT)


@pytest.mark.parametrize(
    ("kind", "octets", "same"),
    [
        (spec.BasicAck, b"\0\0\0\0\0\0\0\x05\xff", spec.BasicAck(5, True)),
        (spec.BasicAck, b"\0\0\0\0\0\0\0\x05\x02", spec.BasicAck(5, False)),
        (spec.BasicNack, b"\0\0\0\0\0\0\0\x05\x04", spec.BasicNack(5)),
        (old.spec.FileReject, b"\0\0\0\0\0\0\0\x05\x02", old.spec.FileReject(5)),
        (spec.ConnectionOpen, b"\x01/\x00\x01", spec.ConnectionOpen("/")),
        (spec.ConnectionOpen, b"\x01/\x02cc\x00", spec.ConnectionOpen("/")),
        (spec.BasicConsume, b"\x00\x09\x01q\x00\x02\0\0\0\0", spec.BasicConsume("q", no_ack=True)),
        (spec.QueueDeclare, b"\0\0\x01q\x20\0\0\0\0", spec.QueueDeclare("q")),
    ],
)
def test_spare_bits_and_reserved_fields_survive(kind: type[Method], octets: bytes, same: Method) -> None:
    record = kind.decode(octets, 0, len(octets), RABBIT)
    assert record.spare == octets
    assert record.encode(RABBIT)[4:] == octets
    assert [getattr(record, name) for name in record.__match_args__] == [
        getattr(same, name) for name in same.__match_args__
    ]
    assert record != same
    copy = pickle.loads(pickle.dumps(record))
    assert copy == record
    assert copy.encode(RABBIT)[4:] == octets
    assert "spare=" in repr(record)


def test_octets_that_are_no_utf8_survive_in_short_strings() -> None:
    octets = b"\0\0\x03a\xff\x00\x02\xc3\x28\0"
    record = spec.BasicPublish.decode(octets, 0, len(octets), RABBIT)
    assert record.exchange.encode("utf-8", "surrogateescape") == b"a\xff\x00"
    assert record.spare is None
    assert record.encode(RABBIT)[4:] == octets


def test_tables_in_methods_keep_their_octets() -> None:
    # The wire type of each entry, their order and a name that comes twice.
    raw = b"\x01al\0\0\0\0\0\0\0\x01\x01aS\0\0\0\x01\xff\x01bt\x07"
    octets = b"\0\0\x01q\x02" + len(raw).to_bytes(4, "big") + raw
    record = spec.QueueDeclare.decode(octets, 0, len(octets), RABBIT)
    assert record.arguments == {"a": "\udcff", "b": True}
    assert record.encode(RABBIT)[4:] == octets


def loosely(kind: Any, *values: Any, **named: Any) -> Method:
    """A record with values that a type checker would refuse."""
    record: Method = kind(*values, **named)
    return record


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (loosely(spec.BasicPublish, "x" * 256), "basic.publish: exchange is above 255 octets"),
        (loosely(spec.BasicPublish, "ü" * 128), "basic.publish: exchange is above 255 octets"),
        (loosely(spec.BasicPublish, routing_key="\ud800"), "basic.publish: routing_key can't be"),
        (loosely(spec.BasicPublish, b"e"), "basic.publish: exchange can't be b'e'; it's a str"),
        (loosely(spec.BasicPublish, None), "basic.publish: exchange can't be None; it's a str"),
        (loosely(spec.QueueDeclare, "q", arguments=None), "queue.declare: arguments can't be None"),
        (loosely(spec.BasicPublish, ticket=65_536), "basic.publish: ticket can't be 65536; it's an int"),
        (loosely(spec.BasicAck, -1), "basic.ack: delivery_tag can't be -1; it's an int of 64 bits"),
        (loosely(spec.BasicAck, 2**64), "basic.ack: delivery_tag can't be"),
        (loosely(spec.BasicAck, 1.0), "basic.ack: delivery_tag can't be 1.0"),
        (loosely(spec.ConnectionTune, heartbeat="60"), "connection.tune: heartbeat can't be '60'"),
        (loosely(spec.ConnectionStartOk, response="guest"), "connection.start-ok: response can't be"),
        (loosely(spec.ConnectionStartOk, response=5), "connection.start-ok: response can't be"),
        (loosely(spec.QueueDeclare, "q", arguments=[("a", 1)]), "queue.declare: arguments can't be"),
        (
            loosely(spec.QueueDeclare, "q", arguments={"a": object()}),
            "queue.declare: arguments: a table can't hold a object",
        ),
    ],
)
@pytest.mark.rule("0-8/wire/limits", "0-9-1/limits/wire")
def test_a_value_that_does_not_fit_is_named(record: Method, words: str) -> None:
    with pytest.raises(CodecError) as error:
        record.encode(RABBIT)
    assert words in str(error.value)


def test_any_bytes_like_value_is_a_long_string() -> None:
    for response in (bytearray(b"\0u\0p"), memoryview(b"\0u\0p")):
        loose: Any = response
        expected = spec.ConnectionStartOk(mechanism="PLAIN", response=b"\0u\0p").encode(RABBIT)
        assert spec.ConnectionStartOk(mechanism="PLAIN", response=loose).encode(RABBIT) == expected


def test_secrets_are_not_shown() -> None:
    shown = repr(spec.ConnectionStartOk(mechanism="PLAIN", response=b"\0guest\0secret"))
    assert "secret" not in shown
    assert "response=<13 octets>" in shown


def test_what_only_0_8_uses_is_shown_when_it_is_used() -> None:
    assert "ticket" not in repr(spec.QueueDeclare("q"))
    assert "ticket=101" in repr(spec.QueueDeclare("q", ticket=101))
    assert spec.QueueDeclare("q", ticket=101).encode(RABBIT)[4:6] == b"\0\x65"


def test_records_match_by_position() -> None:
    match spec.QueueDeclareOk("q", 7, 2):
        case spec.QueueDeclareOk(queue, messages, consumers):
            assert (queue, messages, consumers) == ("q", 7, 2)
        case _:
            pytest.fail("a record didn't match its own class")


def test_records_are_told_apart() -> None:
    assert spec.BasicGet("q") != spec.BasicGet("p")
    assert spec.BasicGet("q") != spec.QueueUnbind("q")
    assert spec.BasicGet("q") != ("q",)
    assert spec.QueueDeclare(arguments={"a": [1]}) == spec.QueueDeclare(arguments=Table({"a": [1]}))
    assert hash(spec.QueueDeclare(arguments={"a": [1]})) == hash(spec.QueueDeclare(arguments=Table({"a": [1]})))


def test_replies_and_senders_of_the_records() -> None:
    assert (spec.BasicGetOk, spec.BasicGetEmpty) == spec.BasicGet.REPLIES
    assert spec.BasicGet.SENT_BY == (Side.CLIENT,)
    assert spec.BasicDeliver.SENT_BY == (Side.SERVER,)
    assert spec.BasicDeliver.HAS_CONTENT and spec.BasicPublish.HAS_CONTENT and spec.BasicGetOk.HAS_CONTENT
    assert not spec.BasicGetEmpty.HAS_CONTENT
    assert (old.spec.ConnectionOpenOk, old.spec.ConnectionRedirect) == old.spec.ConnectionOpen.REPLIES
    assert (old.spec.FileOpenOk,) == old.spec.FileOpen.REPLIES
    assert (old.spec.FileStage,) == old.spec.FileOpenOk.REPLIES
    assert old.spec.FileStage.HAS_CONTENT
    assert not old.spec.FilePublish.HAS_CONTENT and not old.spec.FileDeliver.HAS_CONTENT
    assert old.spec.FileReturn.HAS_CONTENT


CONSUME = b"\x00\x3c\x00\x14\x00\x00\x01q\x02ct\x00"
CONSUME_WITH_TABLE = CONSUME + b"\0\0\0\x07\x01aI\0\0\0\x01"


@pytest.mark.parametrize(
    ("name", "octets"), [("0-8", CONSUME), ("0-8-rabbit", CONSUME), ("0-8-qpid", CONSUME + b"\0\0\0\0")]
)
def test_consume_of_0_8_without_arguments_has_a_table_in_one_dialect_only(name: str, octets: bytes) -> None:
    assert old.spec.BasicConsume("q", "ct").encode(get_dialect(name).tables) == octets


def test_consume_of_0_8_with_arguments_is_written_for_qpid() -> None:
    given_ = old.spec.BasicConsume("q", "ct", arguments={"a": 1})
    assert given_.encode(get_dialect("0-8-qpid").tables) == CONSUME_WITH_TABLE


@pytest.mark.parametrize("name", ["0-8", "0-8-rabbit"])
def test_consume_of_0_8_with_arguments_is_refused_elsewhere(name: str) -> None:
    with pytest.raises(CodecError, match="0-8-qpid"):
        old.spec.BasicConsume("q", "ct", arguments={"a": 1}).encode(get_dialect(name).tables)


@pytest.mark.parametrize(
    ("octets", "arguments"),
    [pytest.param(CONSUME, None, id="without a table"), pytest.param(CONSUME_WITH_TABLE, {"a": 1}, id="with a table")],
)
@pytest.mark.parametrize("name", ["0-8", "0-8-rabbit", "0-8-qpid"])
def test_consume_of_0_8_is_read_and_kept_in_both_forms(
    name: str, octets: bytes, arguments: dict[str, int] | None
) -> None:
    """Who has no table sends none to Qpid, and the reverse."""
    dialect = get_dialect(name)
    read: Any = dialect.decode_method(octets)
    assert read.encode(dialect.tables) == octets
    assert read.arguments == arguments


def test_the_test_class_has_an_octet_for_the_operation() -> None:
    payload = b"\x00\x78\x00\x0a\x01\x00\x02\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x02"
    record = get_dialect("0-8").decode_method(payload)
    assert record == old.spec.TestInteger(1, 2, 3, 4, operation=2)
    assert record.encode(SPEC_0_8) == payload


def test_wide_integers_keep_all_64_bits() -> None:
    record = old.spec.FileOpen("f", 2**64 - 1)
    assert record.encode(SPEC_0_8) == b"\x00\x46\x00\x28\x01f" + b"\xff" * 8
    assert get_dialect("0-8").decode_method(record.encode(SPEC_0_8)) == record


def test_an_error_says_where() -> None:
    payload = b"\x00\x3c\x00\x28\x00\x00\x05abc"
    with pytest.raises(CodecError, match=r"basic\.publish: exchange goes beyond the frame") as error:
        get_dialect("0-9-1").decode_method(payload)
    assert error.value.offset == 7
    with pytest.raises(CodecError, match="2 octets are left behind the last argument") as error:
        get_dialect("0-9-1").decode_method(b"\x00\x3c\x00\x0b\x00\x00")
    assert error.value.offset == 4
