"""The composite types of AMQP 1.0: fields, descriptors, defaults, what is refused (1.0 part 1 section 1.4)."""

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.amqp_1_0.codec import conditions
from amqp_sansio.amqp_1_0.codec.composite import write_slowly
from amqp_sansio.amqp_1_0.codec.performatives import (
    Accepted,
    Attach,
    Begin,
    Close,
    Composite,
    Coordinator,
    Declared,
    DeliveryState,
    Discharge,
    Disposition,
    Error,
    Flow,
    Header,
    Modified,
    Open,
    Performative,
    Properties,
    Received,
    Rejected,
    SaslFrame,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
    Source,
    Target,
    TransactionalState,
    Transfer,
    decode_frame_body,
)
from amqp_sansio.amqp_1_0.codec.values import (
    Array,
    Described,
    Map,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    decode,
    encode,
)
from amqp_sansio.errors import CodecError
from amqp_sansio.testing.amqp_1_0 import RECORDS, records
from tests.kit.values_1_0 import any_record

Kind = type[Any]


def listed(kind: Kind, *values: Any) -> bytes:
    """The octets of a record whose fields have these values, whatever they are."""
    return b"\0" + encode(ULong(kind.CODE)) + encode(list(values))


def refused(kind: Kind, octets: bytes, rule: str, condition: str = "amqp:decode-error") -> CodecError:
    """Decode octets that break a rule."""
    with pytest.raises(CodecError) as caught:
        kind.decode(octets)
    assert (caught.value.rule, caught.value.condition) == ("1.0/" + rule, condition), caught.value
    assert caught.value.offset is not None
    return caught.value


# What every type has in common.


@pytest.mark.rule("1.0/types/composite-list", "1.0/types/descriptor-symbolic")
@given(any_record)
@settings(max_examples=250)
def test_records_come_back(record: Any) -> None:
    octets = record.encode()
    kind: Kind = record.__class__
    found, end = kind.decode(b"\xff" + octets + b"\xff", 1, 1 + len(octets))
    assert end == 1 + len(octets)
    assert found == record
    assert found.wire == octets == found.encode()
    assert hash(found) == hash(record)
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.wire) == (found, octets)
    assert pickle.loads(pickle.dumps(record)) == record
    assert decode(octets)[0] == record
    assert encode(found) == encode(record) == octets
    symbolic = b"\0" + encode(kind.SYMBOL) + octets[3:]
    other = kind.decode(symbolic)[0]
    assert other == record
    assert other.encode() == symbolic
    wide = b"\0\x80" + kind.CODE.to_bytes(8, "big") + octets[3:]
    assert kind.decode(wide)[0] == record
    assert repr(found).startswith(kind.__name__ + "(")


@given(any_record, st.data())
@settings(max_examples=100)
def test_a_record_cut_at_any_octet_is_an_error(record: Any, data: st.DataObject) -> None:
    kind: Kind = record.__class__
    octets = record.encode()
    size = data.draw(st.integers(0, len(octets) - 1))
    for cut, end in ((octets[:size], None), (octets, size)):
        with pytest.raises(CodecError) as caught:
            kind.decode(cut, 0, end)
        assert caught.value.condition == "amqp:decode-error"
        if isinstance(record, (Performative, SaslFrame)):
            with pytest.raises(CodecError):
                decode_frame_body(cut, 0, end)


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.NAME)
@given(data=st.data())
@settings(max_examples=15)
def test_changed_octets_give_a_record_or_a_codec_error(kind: Kind, data: st.DataObject) -> None:
    octets = bytearray(data.draw(records(kind)).encode())
    at = data.draw(st.integers(3, len(octets) - 1))
    octets[at] = data.draw(st.integers(0, 255))
    try:
        found, end = kind.decode(bytes(octets))
    except CodecError as error:
        assert error.condition
        assert error.rule
    else:
        assert found.encode() == octets[:end]


@pytest.mark.rule("1.0/types/composite-trailing")
@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.NAME)
def test_nulls_at_the_end_may_be_left_out_or_there(kind: Kind) -> None:
    values: list[Any] = []
    for _, of, _, mandatory, multiple in kind.WIRE:
        if not mandatory:
            break
        values.append(VALUES[of] if not multiple else Array([VALUES[of]]))
    needed = max([number for number, item in enumerate(kind.WIRE, 1) if item[3]], default=0)
    for _, of, _, mandatory, _ in kind.WIRE[len(values) : needed]:
        values.append(VALUES[of] if mandatory else None)
    short = listed(kind, *values)
    found = kind.decode(short)[0]
    for count in range(len(values), len(kind.WIRE) + 1):
        octets = listed(kind, *values, *[None] * (count - len(values)))
        other = kind.decode(octets)[0]
        assert other == found
        assert other.encode() == octets
    for name, _, default, mandatory, _ in kind.WIRE[needed:]:
        assert mandatory or getattr(found, name) == default
    refused(kind, listed(kind, *values, *[None] * (len(kind.WIRE) + 1 - len(values))), "types/composite-list")


VALUES: dict[str, Any] = {
    "string": "x",
    "uint": UInt(1),
    "transfer-number": UInt(1),
    "delivery-number": UInt(1),
    "handle": UInt(1),
    "ulong": ULong(1),
    "role": True,
    "symbol": Symbol("x"),
    "error-condition": Symbol("x"),
    "binary": b"x",
    "sasl-code": UByte(0),
    "txn-id": b"x",
}


@pytest.mark.rule("1.0/types/field-mandatory", "1.0/received/mandatory-fields", "1.0/transport/error/condition")
@pytest.mark.parametrize(
    ("kind", "number"),
    [(kind, number) for kind in RECORDS for number, item in enumerate(kind.WIRE) if item[3]],
    ids=lambda item: getattr(item, "NAME", item),
)
def test_a_mandatory_field_is_not_null(kind: Kind, number: int) -> None:
    values = [VALUES[of] if mandatory else None for _, of, _, mandatory, _ in kind.WIRE]
    values[number] = None
    rule = {
        Received: "received/mandatory-fields",
        Error: "transport/error/condition",
        SaslMechanisms: "types/field-multiple-mandatory",
    }.get(kind, "types/field-mandatory")
    refused(kind, listed(kind, *values), rule, "amqp:invalid-field")
    if not any(item[3] for item in kind.WIRE[number + 1 :]):
        refused(kind, listed(kind, *values[:number]), rule, "amqp:invalid-field")
    record = object.__new__(kind)
    record.wire = None
    for (name, *_), value in zip(kind.WIRE, values, strict=True):
        setattr(record, name, value)
    with pytest.raises(CodecError) as caught:
        record.encode()
    assert caught.value.condition == "amqp:invalid-field"


@pytest.mark.rule("1.0/types/composite-list")
@pytest.mark.parametrize(
    ("kind", "number"),
    [(kind, number) for kind in RECORDS for number, item in enumerate(kind.WIRE) if item[1] != "global-tx-id"],
    ids=lambda item: getattr(item, "NAME", item),
)
def test_a_field_has_its_type(kind: Kind, number: int) -> None:
    values = [VALUES[of] if mandatory else None for _, of, _, mandatory, _ in kind.WIRE]
    if kind.WIRE[number][4]:
        values[number] = Array([1])
        refused(kind, listed(kind, *values), "types/composite-list")
        values[number] = Array([], int)
        with pytest.raises(CodecError):
            kind.decode(listed(kind, *values))
    values[number] = 1.5
    refused(kind, listed(kind, *values), "types/composite-list")
    record = object.__new__(kind)
    record.wire = None
    for (name, *_), value in zip(kind.WIRE, values, strict=True):
        setattr(record, name, value)
    with pytest.raises(CodecError):
        record.encode()


@pytest.mark.rule("1.0/types/field-multiple")
def test_a_field_of_several_values_is_null_one_or_an_array() -> None:
    def capabilities(value: Any) -> tuple[Symbol, ...]:
        return Coordinator.decode(listed(Coordinator, value))[0].capabilities

    assert capabilities(None) == capabilities(Array([], Symbol)) == ()
    assert Coordinator.decode(listed(Coordinator))[0].capabilities == ()
    assert capabilities(Symbol("a")) == capabilities(Array([Symbol("a")])) == (Symbol("a"),)
    assert capabilities(Array([Symbol("a"), Symbol("b")])) == ("a", "b")
    assert Coordinator("a").capabilities == Coordinator(["a"]).capabilities == (Symbol("a"),)
    assert Coordinator(("a", "b")).encode() == listed(Coordinator, Array([Symbol("a"), Symbol("b")]))
    assert Coordinator(("a",)).encode() == listed(Coordinator, Symbol("a"))
    assert Coordinator(()).encode() == listed(Coordinator)


@pytest.mark.rule("1.0/types/field-multiple-mandatory", "1.0/security/sasl/mechanisms-nonempty")
def test_a_mandatory_field_of_several_values_has_one() -> None:
    refused(
        SaslMechanisms,
        listed(SaslMechanisms, Array([], Symbol)),
        "security/sasl/mechanisms-nonempty",
        "amqp:invalid-field",
    )
    with pytest.raises(CodecError) as caught:
        SaslMechanisms(()).encode()
    assert caught.value.rule == "1.0/security/sasl/mechanisms-nonempty"
    assert SaslMechanisms.decode(listed(SaslMechanisms, Symbol("PLAIN")))[0] == SaslMechanisms(("PLAIN",))
    assert SaslMechanisms(("PLAIN",)).encode() == listed(SaslMechanisms, Array([Symbol("PLAIN")]))


def test_records_are_compared_and_shown_by_their_fields() -> None:
    one = Open("a", hostname="b")
    assert one == Open("a", "b")
    assert one != Open("a")
    assert one != Close()
    assert repr(one) == "Open(container_id='a', hostname='b')"
    assert repr(Accepted()) == "Accepted()"
    assert one.replace(hostname=None) == Open("a")
    decoded = Open.decode(one.encode())[0]
    assert decoded.replace(channel_max=5).encode() == Open("a", "b", channel_max=5).encode()
    match one:
        case Open(container_id, hostname):
            assert (container_id, hostname) == ("a", "b")
        case _:
            pytest.fail("a record matches its fields")
    assert {one, Open("a", "b")} == {one}
    for kind in RECORDS:
        assert kind.__match_args__ == tuple(name for name, *_ in kind.WIRE)
        assert [name for name, _ in kind.FIELDS] == [name for name, *_ in kind.WIRE]
        assert kind.RESERVED == ()


def test_secrets_are_not_shown() -> None:
    assert repr(SaslInit("PLAIN", b"\0a\0b")) == "SaslInit(mechanism=Symbol('PLAIN'), initial_response=<4 octets>)"
    assert repr(SaslResponse(b"12345")) == "SaslResponse(response=<5 octets>)"


def test_what_must_be_given_is_asked_for() -> None:
    with pytest.raises(TypeError, match="next_outgoing_id, incoming_window, outgoing_window"):
        Begin(next_outgoing_id=0, incoming_window=1)
    with pytest.raises(TypeError, match="outgoing_window"):
        Flow(incoming_window=1)
    flow = Flow(incoming_window=1, next_outgoing_id=2, outgoing_window=3)
    assert flow.encode() == listed(Flow, None, UInt(1), UInt(2), UInt(3))


# Restricted types.


@pytest.mark.rule("1.0/transport/settle-mode/sender", "1.0/transport/settle-mode/receiver")
@pytest.mark.rule("1.0/security/sasl/outcome-codes", "1.0/terminus/durability", "1.0/terminus/expiry-policy")
@pytest.mark.parametrize(
    ("record", "values", "rule"),
    [
        (Attach("l", 0, True, 3), ["l", UInt(0), True, UByte(3)], "transport/settle-mode/sender"),
        (Attach("l", 0, True, 2, 2), ["l", UInt(0), True, None, UByte(2)], "transport/settle-mode/receiver"),
        (Transfer(0, rcv_settle_mode=2), [UInt(0), *[None] * 5, UByte(2)], "transport/settle-mode/receiver"),
        (SaslOutcome(5), [UByte(5)], "security/sasl/outcome-codes"),
        (Source(durable=3), [None, UInt(3)], "terminus/durability"),
        (Target(expiry_policy="soon"), [None, None, Symbol("soon")], "terminus/expiry-policy"),
    ],
)
def test_choices_are_what_the_specification_lists(record: Any, values: list[Any], rule: str) -> None:
    kind: Kind = record.__class__
    refused(kind, listed(kind, *values), rule, "amqp:invalid-field")
    with pytest.raises(CodecError) as caught:
        record.encode()
    assert (caught.value.rule, caught.value.condition) == ("1.0/" + rule, "amqp:invalid-field")


@pytest.mark.rule("1.0/transport/delivery/tag-size", "1.0/transactions/txn-id-size")
@pytest.mark.parametrize(
    ("kind", "before", "rule"),
    [
        (Transfer, [UInt(0), UInt(0)], "transport/delivery/tag-size"),
        (Declared, [], "transactions/txn-id-size"),
        (TransactionalState, [], "transactions/txn-id-size"),
        (Discharge, [], "transactions/txn-id-size"),
    ],
)
def test_tags_and_transaction_ids_have_32_octets_at_most(kind: Kind, before: list[Any], rule: str) -> None:
    found = kind.decode(listed(kind, *before, b"x" * 32))[0]
    assert found.encode() == kind(*before, b"x" * 32).encode()
    # A longer one that comes in is for the link or the transaction to judge.
    assert kind.decode(listed(kind, *before, b"x" * 33))[0] == kind(*before, b"x" * 33)
    with pytest.raises(CodecError) as caught:
        kind(*before, b"x" * 33).encode()
    assert caught.value.rule == "1.0/" + rule


@pytest.mark.rule("1.0/transport/fields-keys")
@pytest.mark.parametrize("key", ["x", None, ULong(1), b"x"])
def test_keys_of_fields_are_symbols(key: Any) -> None:
    refused(Open, listed(Open, "c", *[None] * 8, {key: 1}), "transport/fields-keys")
    refused(Source, listed(Source, *[None] * 5, {key: 1}), "transport/fields-keys")
    if key != "x":
        with pytest.raises(CodecError):
            Open("c", properties={key: 1}).encode()
    assert Open("c", properties={"x": 1}).encode() == Open("c", properties={Symbol("x"): 1}).encode()
    with pytest.raises(CodecError):
        Open("c", properties=Map({b"x": 1})).encode()


def test_keys_of_what_only_informs_may_be_strings() -> None:
    """rhea writes them so; ending a connection for them would help nobody."""
    error = Error.decode(listed(Error, Symbol("a:b"), None, {"why": "x", Symbol("y"): 1}))[0]
    assert error.info == {"why": "x", "y": 1}
    assert next(iter(error.info or ())).__class__ is str
    assert Modified.decode(listed(Modified, None, None, {"x-opt-by": "x"}))[0].message_annotations == {"x-opt-by": "x"}
    assert Error("a:b", info={"why": "x"}).encode() == listed(Error, Symbol("a:b"), None, {Symbol("why"): "x"})
    for key in (None, b"x", 5):
        refused(Error, listed(Error, Symbol("x"), None, {key: 1}), "transport/fields-keys")
        refused(Modified, listed(Modified, None, None, {key: 1}), "transport/fields-keys")
        with pytest.raises(CodecError):
            Error("a:b", info={key: 1}).encode()


@pytest.mark.rule("1.0/filter-set/keys-values")
def test_filters_are_described_values_under_symbols() -> None:
    described = Described(Symbol("apache.org:selector-filter:string"), "a = 1")
    source = Source("q", filter={"f": described, "g": None})
    assert Source.decode(source.encode())[0] == source
    for values in ({Symbol("f"): "a = 1"}, {"f": described}, {None: described}):
        refused(Source, listed(Source, *[None] * 7, values), "filter-set/keys-values")
    with pytest.raises(CodecError) as caught:
        Source(filter={"f": "a = 1"}).encode()
    assert caught.value.rule == "1.0/filter-set/keys-values"


@pytest.mark.rule("1.0/transport/attach/unsettled-keys")
def test_unsettled_deliveries_have_tags() -> None:
    attach = Attach("l", 0, False, unsettled={b"a": None, b"b": Accepted(), b"c": Received(1, 2)})
    assert Attach.decode(attach.encode())[0] == attach
    octets = listed(Attach, "l", UInt(0), False, *[None] * 4, {None: None})
    refused(Attach, octets, "transport/attach/unsettled-keys")
    with pytest.raises(CodecError) as caught:
        Attach("l", 0, False, unsettled={None: None}).encode()
    assert caught.value.rule == "1.0/transport/attach/unsettled-keys"


@pytest.mark.rule("1.0/source.outcomes/valid")
def test_outcomes_are_symbols_of_outcomes() -> None:
    source = Source(outcomes=(Accepted.SYMBOL, Rejected.SYMBOL, "own:outcome:list"))
    assert Source.decode(source.encode())[0] == source
    assert Source.decode(listed(Source, *[None] * 9, Array([], Symbol)))[0].outcomes == ()
    for wrong in (Received.SYMBOL, Open.SYMBOL):
        octets = listed(Source, *[None] * 9, Array([Accepted.SYMBOL, wrong]))
        refused(Source, octets, "source.outcomes/valid", "amqp:invalid-field")
        with pytest.raises(CodecError):
            Source(outcomes=(wrong,)).encode()
    refused(Source, listed(Source, *[None] * 9, "amqp:accepted:list"), "types/composite-list")


CHILDREN: list[tuple[Kind, int, list[Any], list[Any]]] = [
    (Attach, 5, [Source("q"), Described(Symbol("own:source:list"), [])], [Target("q"), Accepted(), "q", []]),
    (Attach, 6, [Target("q"), Coordinator(), Described(Symbol("own:t:list"), [])], [Source("q"), Error("a:b"), 1]),
    (Transfer, 7, [Accepted(), Received(0, 1), TransactionalState(b"t")], [Error("a:b"), Source(), 1]),
    (Disposition, 4, [Rejected(), Declared(b"t"), Described(ULong(1 << 32), [])], [Target(), [], True]),
    (TransactionalState, 1, [Accepted(), Described(Symbol("own:o:list"), [])], [Received(0, 0), Source(), 1]),
    (Source, 8, [Rejected()], [Received(0, 0)]),
    (Close, 0, [Error("a:b")], [Accepted(), Described(Symbol("own:e:list"), []), "x"]),
    (Rejected, 0, [Error("a:b", "text", {"x": 1})], [Rejected()]),
]


@pytest.mark.parametrize(("kind", "number", "right", "wrong"), CHILDREN, ids=lambda item: getattr(item, "NAME", ""))
def test_fields_of_composite_types(kind: Kind, number: int, right: list[Any], wrong: list[Any]) -> None:
    name = kind.WIRE[number][0]
    before = [VALUES.get(of) if mandatory else None for _, of, _, mandatory, _ in kind.WIRE[:number]]
    for value in right:
        found = kind.decode(listed(kind, *before, value))[0]
        assert getattr(found, name) == value
        assert found.replace().encode() == listed(kind, *before, value)
    for value in wrong:
        refused(kind, listed(kind, *before, value), "types/composite-list")
        with pytest.raises(CodecError):
            kind.decode(listed(kind, *before))[0].replace(**{name: value}).encode()


def test_delivery_states_and_outcomes() -> None:
    terminal = {kind.NAME for kind in RECORDS if issubclass(kind, DeliveryState) and kind.OUTCOME}
    assert terminal == {"accepted", "rejected", "released", "modified", "declared"}
    others = {kind.NAME for kind in RECORDS if issubclass(kind, DeliveryState)} - terminal
    assert others == {"received", "transactional-state"}


def test_defaults_are_the_specifications() -> None:
    found = Open("c")
    assert (found.max_frame_size, found.channel_max, found.idle_time_out) == (4_294_967_295, 65_535, None)
    attach = Attach("l", 0, True)
    assert (attach.snd_settle_mode, attach.rcv_settle_mode, attach.incomplete_unsettled) == (2, 0, False)
    assert (attach.max_message_size, attach.initial_delivery_count) == (None, None)
    transfer = Transfer(0)
    assert (transfer.settled, transfer.more, transfer.rcv_settle_mode) == (None, False, None)
    assert Disposition(True, 0).settled is False
    assert (Source().durable, Source().expiry_policy, Source().timeout) == (0, "session-end", 0)
    header = Header()
    assert (header.durable, header.priority, header.ttl, header.delivery_count) == (False, 4, None, 0)
    for record in (found, attach, transfer, Disposition(True, 0), Source(), header):
        assert type(record).decode(record.encode())[0] == record


# The bodies of frames.


@pytest.mark.rule("1.0/transport/frame/performative", "1.0/security/sasl/frame-one")
@given(any_record, st.binary(max_size=5))
def test_frame_bodies_are_performatives(record: Any, payload: bytes) -> None:
    octets = record.encode()
    if isinstance(record, (Performative, SaslFrame)):
        assert decode_frame_body(b"??" + octets + payload, 2) == (record, 2 + len(octets))
        symbolic = b"\0" + encode(record.SYMBOL) + octets[3:]
        assert decode_frame_body(symbolic)[0] == record
    else:
        with pytest.raises(CodecError) as caught:
            decode_frame_body(octets)
        assert caught.value.rule == "1.0/transport/frame/performative"


@pytest.mark.rule("1.0/transport/frame/performative")
@pytest.mark.parametrize(
    "octets", ["", "00", "00 53", "00 53 19 45", "41", "00 a3 01 78 45", "00 41 45", "00 80 00 00 00 01 00 00 00 10 45"]
)
def test_other_octets_are_no_frame_body(octets: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode_frame_body(bytes.fromhex(octets))
    assert caught.value.rule == "1.0/transport/frame/performative"
    assert caught.value.condition == "amqp:decode-error"


def test_bounds_of_a_frame_body() -> None:
    deep: Any = 1
    for _ in range(6):
        deep = [deep]
    octets = Open("c", properties={"x": deep}).encode()
    assert decode_frame_body(octets)[0] == Open("c", properties={"x": deep})
    with pytest.raises(CodecError):
        decode_frame_body(octets, nesting=7)
    octets = Open("c", properties={"x": [None] * 300}).encode()
    with pytest.raises(CodecError):
        decode_frame_body(octets, entries=299)
    many = Array([Symbol("x")] * 70_000)
    with pytest.raises(CodecError):
        decode_frame_body(listed(Open, "c", *[None] * 6, many))


@pytest.mark.rule("1.0/transport/message-format")
def test_a_message_format_is_a_number_of_32_bits() -> None:
    octets = Transfer(0, 1, b"t", message_format=0x8000_0001).encode()
    found = decode_frame_body(octets)[0]
    assert isinstance(found, Transfer)
    assert (found.message_format or 0) >> 8 == 0x80_0000
    assert (found.message_format or 0) & 255 == 1
    with pytest.raises(CodecError):
        Transfer(0, 1, b"t", message_format=2**32).encode()


# The straight-line code does what the careful code does.

FAST_KINDS = [kind for kind in RECORDS if hasattr(kind, "fast")]


@pytest.mark.parametrize("kind", FAST_KINDS, ids=lambda kind: kind.NAME)
@given(data=st.data())
@settings(max_examples=60)
def test_fast_writing_gives_what_careful_writing_gives(kind: Kind, data: st.DataObject) -> None:
    record = data.draw(records(kind))
    assert record.encode_list() == write_slowly(record)
    assert record.encode() == b"\0\x53" + bytes((kind.CODE,)) + write_slowly(record)


def test_properties_take_times_and_symbols_in_python_types() -> None:
    found = Properties(content_type="a/b", creation_time=5)
    assert found.content_type.__class__ is Symbol
    assert found.creation_time.__class__ is Timestamp
    assert Properties.decode(found.encode())[0] == found
    changes: list[dict[str, Any]] = [
        {"message_id": 1.5},
        {"message_id": -1},
        {"to": 5},
        {"subject": b"x"},
        {"content_type": 5},
        {"user_id": "x"},
        {"group_sequence": -1},
        {"content_type": "\xe9"},
        {"subject": "\ud800"},
        {"creation_time": "now"},
        {"creation_time": 2**63},
    ]
    for wrong in changes:
        with pytest.raises(CodecError) as caught:
            Properties(**wrong).encode()
        assert str(caught.value).startswith("properties: ")
    big = Properties(subject="x" * 300, content_type="y" * 300, user_id=b"z" * 300)
    assert Properties.decode(big.encode())[0] == big


def test_conditions_are_the_specifications() -> None:
    names = [name for name in vars(conditions) if name[0].isupper()]
    found = {str(getattr(conditions, name)) for name in names if name.isupper()}
    assert {"amqp:decode-error", "amqp:session:errant-link", "amqp:link:stolen", "amqp:transaction:rollback"} <= found
    for name in names:
        value = getattr(conditions, name)
        if isinstance(value, str):
            assert value.__class__ is Symbol
    assert len(Composite.__subclasses__()) >= 3
