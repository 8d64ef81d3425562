"""The tables of 1.0: what the columns and the JSON say of values, records, messages, secrets and damage."""

import base64
import json
import math
from decimal import Decimal
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.capture.redact import Redactor
from amqp_sansio.recorded import _json
from amqp_sansio.recorded.frame_lines import FrameLines
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from tests.kit.observing import CLIENT
from tests.kit.talk_1_0 import AMQP, SASL, Talk10, begin, credit, frame, settle, transfer
from tests.tables.reading import tables
from tests.tables.test_tables import packets, rows_of

HELLO = amqp.Message(b"hello")


def _open() -> Talk10:
    talk = Talk10().login().open().session().sender().receiver()
    return talk.server(credit(0)).client(credit(1))


def _fields(talk: Talk10, event: str = "transfer", **options: Any) -> list[dict[str, Any]]:
    rows = rows_of(talk, **options)["events"]
    return [json.loads(row["fields"]) for row in rows if row["event"] == event]


# Values.

_TARGET = (
    '{"type":"target","address":"q","durable":0,"expiry_policy":"session-end","timeout":0,'
    '"dynamic":false,"capabilities":["a"]}'
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (amqp.Symbol("a:b"), '"a:b"'),
        (spec.Char("\N{EURO SIGN}"), '"\N{EURO SIGN}"'),
        (UUID(int=255), '"00000000-0000-0000-0000-0000000000ff"'),
        (amqp.Timestamp(-1), "-1"),
        (spec.ULong(2**64 - 1), "18446744073709551615"),
        (spec.Byte(-5), "-5"),
        (spec.Float(1.5), "1.5"),
        (spec.Float(math.inf), '"Infinity"'),
        (float("nan"), '"NaN"'),
        (spec.Array([amqp.Symbol("x"), amqp.Symbol("y")]), '["x","y"]'),
        (spec.Array([], spec.UByte), "[]"),
        (spec.Array([1], int, (amqp.Symbol("d"),)), "[1]"),
        (amqp.Described(amqp.Symbol("x:y"), [1, "a"]), '{"descriptor":"x:y","value":[1,"a"]}'),
        (amqp.Described(spec.ULong(70), None), '{"descriptor":70,"value":null}'),
        (spec.Opaque(b"\x5a\x01"), '{"unknown":{"base64":"WgE="}}'),
        (amqp.Accepted(), '{"type":"accepted"}'),
        (amqp.Modified(delivery_failed=True), '{"type":"modified","delivery_failed":true}'),
        (amqp.Error(amqp.Symbol("x:y"), "why"), '{"type":"error","condition":"x:y","description":"why"}'),
        (amqp.Target(address="q", capabilities=("a",)), _TARGET),
        (spec.Decimal32.from_decimal(Decimal("1.50")), "1.50"),
        (spec.Decimal64.from_decimal(Decimal("-12")), "-12"),
        (spec.Decimal128.from_decimal(Decimal("1E+30")), "1" + "0" * 30),
        (spec.Decimal128.from_decimal(Decimal("1E+6000")), '"1E+6000"'),
        (spec.Decimal128.from_decimal(Decimal("1E-6000")), '"1E-6000"'),
        (spec.Decimal32.from_decimal(Decimal("NaN")), '"NaN"'),
        (spec.Decimal32.from_decimal(Decimal("-Infinity")), '"-Infinity"'),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert _json.encode(value) == text
    json.loads(text)


def test_maps_keep_their_order_and_have_keys_of_any_type() -> None:
    pairs: list[tuple[Any, Any]] = [
        ("b", 1),
        (amqp.Symbol("a"), 2),
        (1, 3),
        (True, 4),
        (None, 5),
        (b"\x00", 6),
        (UUID(int=0), 7),
        ([1, 2], 8),
        ("1", 9),
    ]
    text = _json.encode(spec.Map(pairs))
    assert text == (
        '{"b":1,"a":2,"1":3,"true":4,"null":5,"{\\"base64\\":\\"AA==\\"}":6,'
        '"\\"00000000-0000-0000-0000-000000000000\\"":7,"[1,2]":8,"1\'":9}'
    )
    assert len(json.loads(text)) == len(pairs)


def test_a_map_that_can_not_be_read_is_shown_as_octets() -> None:
    assert _json.encode(spec.Map.from_wire(b"\xc1\x02\x02\xff")) == '{"invalid":{"base64":"wQIC/w=="}}'


_SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.uuids(),
    st.integers(0, 255).map(spec.UByte),
)


@given(
    st.recursive(
        _SIMPLE,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=4)),
        max_leaves=12,
    )
)
def test_any_value_is_json_and_the_same_each_time(value: Any) -> None:
    text = _json.encode(amqp.Message(value).encode() and amqp.Message.from_wire(amqp.Message([value]).encode()).body)
    json.loads(text)
    assert _json.encode(amqp.Message.from_wire(amqp.Message([value]).encode()).body) == text


# Events.


def test_fields_that_are_not_set_are_left_out() -> None:
    (opened, _) = _fields(_open(), "open")
    assert opened == {"container_id": "c", "max_frame_size": 4_294_967_295, "channel_max": 65_535}
    attach = _fields(_open(), "attach")[0]
    assert attach["source"]["type"] == "source"
    assert attach["target"]["address"] == "q"
    assert "properties" not in attach
    assert attach["role"] is False


def test_what_is_told_of_a_message() -> None:
    message = amqp.Message(
        amqp.Data(b"ab", b"c"),
        header=amqp.Header(durable=True),
        delivery_annotations={"x-opt-a": 1},
        message_annotations={"x-opt-b": [amqp.Symbol("s")]},
        properties=amqp.Properties(message_id=UUID(int=1), user_id=b"\x00", content_type=amqp.Symbol("a/b")),
        application_properties={"n": 1, "u": spec.UByte(2)},
        footer={"x-opt-f": "z"},
    )
    talk = _open().client(transfer(0, message)).server(settle(0, amqp.Accepted()))
    (fields,) = _fields(talk, body="base64")
    assert fields == {
        "handle": 0,
        "delivery_id": 0,
        "delivery_tag": {"base64": "MA=="},
        "message_format": 0,
        "more": False,
        "resume": False,
        "aborted": False,
        "batchable": False,
        "header": {"durable": True, "priority": 4, "first_acquirer": False, "delivery_count": 0},
        "delivery_annotations": {"x-opt-a": 1},
        "message_annotations": {"x-opt-b": ["s"]},
        "properties": {
            "message_id": "00000000-0000-0000-0000-000000000001",
            "user_id": {"base64": "AA=="},
            "content_type": "a/b",
        },
        "application_properties": {"n": 1, "u": 2},
        "footer": {"x-opt-f": "z"},
        "body_kind": "data",
        "body_size": 3,
        "body": "YWJj",
    }
    (row,) = rows_of(talk)["messages"]
    assert (row["message_id"], row["content_type"], row["body_size"]) == (
        "00000000-0000-0000-0000-000000000001",
        "a/b",
        3,
    )
    assert (row["body_sha256"], row["headers"]) == (sha256(b"abc").hexdigest(), '{"n":1,"u":2}')
    assert (row["exchange"], row["address"], row["link"], row["outcome"]) == (None, "q", "out", "accepted")


@pytest.mark.parametrize(
    ("body", "kind", "octets"),
    [
        (b"x", "data", b"x"),
        ("x", "value", b"\x00\x53\x77\xa1\x01x"),
        (amqp.AmqpSequence([1], []), "sequence", b"\x00\x53\x76\xc0\x03\x01\x55\x01\x00\x53\x76\x45"),
    ],
)
def test_bodies_of_each_kind(body: Any, kind: str, octets: bytes) -> None:
    import base64

    talk = _open().client(transfer(0, amqp.Message(body)))
    (fields,) = _fields(talk, body="base64")
    assert (fields["body_kind"], base64.b64decode(fields["body"])) == (kind, octets)
    assert fields["body_size"] == len(octets)
    (sized,) = _fields(talk)
    assert (sized["body_size"], "body" in sized) == (len(octets), False)
    (none,) = _fields(talk, body="none")
    assert "body_size" not in none
    assert rows_of(talk)["messages"][0]["body_sha256"] == sha256(octets).hexdigest()


def test_frames_of_one_delivery() -> None:
    payload = amqp.Message(b"x" * 50).encode()
    talk = _open().client(transfer(0, payload[:20], more=True)).client(transfer(None, payload[20:]))
    first, last = _fields(talk)
    assert first["more"] is True
    assert "body_size" not in first
    assert (last["body_size"], last["more"]) == (50, False)
    rows = rows_of(talk)
    units = [row["unit"] for row in rows["events"] if row["event"] == "transfer"]
    assert units == ["part", "content"]
    assert len(rows["messages"]) == 1


def test_an_aborted_delivery_is_no_damage() -> None:
    payload = amqp.Message(b"x" * 50).encode()
    talk = _open().client(transfer(0, payload[:20], more=True)).client(transfer(0, aborted=True))
    rows = rows_of(talk)
    assert not rows["messages"]
    assert not [row for row in rows["violations"] if row["rule"].startswith("capture/")]


def test_a_delivery_that_a_hole_cuts_off_is_damage() -> None:
    whole = transfer(0, amqp.Message(b"x" * 50))
    talk = _open().client(whole[:-37]).gap(CLIENT, 20).client(whole[-17:]).client(spec.Close())
    rows = rows_of(talk)
    assert not rows["messages"]
    (row,) = [row for row in rows["violations"] if row["rule"] == "capture/partial-message"]
    assert row["text"] == "at least 37 octets of the message of transfer are missing"
    assert (row["severity"], row["sender"]) == ("warning", "client")


@pytest.mark.parametrize("octets", [37, 500])
def test_a_hole_within_a_body_leaves_its_message(octets: int) -> None:
    whole = transfer(0, amqp.Message(b"x" * 50))
    talk = _open().client(whole[:-37]).gap(CLIENT, octets).server(settle(0, amqp.Accepted()))
    (fields,) = _fields(talk)
    assert (fields["body_size"], fields["missing"]) == (50, 37)
    (row,) = rows_of(talk)["messages"]
    assert (row["body_size"], row["body_sha256"], row["outcome"]) == (50, None, "accepted")


def test_what_a_coordinator_is_asked_for() -> None:
    talk = _open().controller().server(credit(9)).declare(0).discharge(1, fail=True)
    declare, discharge = _fields(talk)
    assert declare["request"] == {"type": "declare"}
    assert discharge["request"] == {"type": "discharge", "txn_id": {"base64": "dA=="}, "fail": True}
    assert not rows_of(talk)["messages"]


def test_a_message_with_sections_that_can_not_be_read() -> None:
    bad = b"\x00\x53\x73\xc0\x02\x01\x99" + amqp.Message(b"x").encode()
    talk = _open().client(transfer(0, bad)).client(transfer(1, b"\x01\x02"))
    rows = rows_of(talk)
    first, second = _fields(talk)
    assert first["properties"]["invalid"]["base64"]
    assert first["body_size"] == 1
    assert "properties" not in second
    assert [row["message_id"] for row in rows["messages"]] == [None, None]


def test_what_is_no_performative_is_there_as_octets() -> None:
    talk = _open().client((12).to_bytes(4) + b"\x02\x00\x00\x00" + b"\x00\x53\x99\x45")
    last = [row for row in rows_of(talk)["events"] if row["sender"] == "client"][-1]
    assert json.loads(last["fields"])["payload"] == {"base64": "AFOZRQ=="}


# Secrets.


def _challenged() -> Talk10:
    talk = Talk10().client(SASL).server(SASL, spec.SaslMechanisms((amqp.Symbol("PLAIN"), amqp.Symbol("SCRAM-SHA-1"))))
    talk.client(spec.SaslInit(amqp.Symbol("SCRAM-SHA-1"), b"secret-one")).server(spec.SaslChallenge(b"salt"))
    return talk.client(spec.SaslResponse(b"secret-two")).server(spec.SaslOutcome(0)).open()


def test_responses_of_the_login_are_counted_only() -> None:
    talk = _challenged()
    assert _fields(talk, "sasl-init")[0] == {"mechanism": "SCRAM-SHA-1", "initial_response": {"redacted": 10}}
    assert _fields(talk, "sasl-response") == [{"response": {"redacted": 10}}]
    text = json.dumps(rows_of(talk))
    assert "c2VjcmV0" not in text
    assert "secret" not in text
    (shown,) = _fields(talk, "sasl-response", secrets=True)
    assert shown == {"response": {"base64": "c2VjcmV0LXR3bw=="}}


def _with_tokens(secret: str) -> Talk10:
    """A token that is put, and one in a request to a node of management."""
    put = {"operation": "put-token", "type": "jwt", "name": "amqps://host/q"}
    read = {"operation": "READ", "security_token": secret, "n": 1}
    first = amqp.Message(amqp.AmqpValue(secret), application_properties=put)
    second = amqp.Message(secret.encode(), application_properties=read)
    return _open().client(transfer(0, first), transfer(1, second))


@pytest.mark.parametrize("secret", ["a s3cret", 'with a " and a \\'])
def test_tokens_are_counted_only(secret: str) -> None:
    talk = _with_tokens(secret)
    put, read = _fields(talk, body="base64")
    assert put["application_properties"]["name"] == "amqps://host/q"
    assert put["body"] == {"redacted": put["body_size"]}
    assert read["application_properties"] == {"operation": "READ", "security_token": {"redacted": len(secret)}, "n": 1}
    assert "s3cret" not in json.dumps(rows_of(talk)) and secret not in json.dumps(rows_of(talk))
    put, read = _fields(talk, body="base64", secrets=True)
    assert read["application_properties"]["security_token"] == secret
    assert secret.encode() in base64.b64decode(put["body"])


def test_the_lines_of_a_log_have_no_token() -> None:
    message = amqp.Message(b"", application_properties={"security_token": "a s3cret", "n": 1})
    lines = FrameLines(is_client=True)
    attach = frame(spec.Attach("out", 0, False, target=amqp.Target(address="$management"), initial_delivery_count=0))
    octets = AMQP + frame(spec.Open("c")) + frame(begin()) + attach + transfer(0, message)
    shown = list(lines.feed(octets, sent=True))
    assert any('"security_token":{"redacted":8},"n":1' in each for each in shown)
    assert "s3cret" not in "".join(shown)


def test_a_login_without_a_response() -> None:
    talk = Talk10().client(SASL).server(SASL, spec.SaslMechanisms((amqp.Symbol("ANONYMOUS"),)))
    talk.client(spec.SaslInit(amqp.Symbol("ANONYMOUS")))
    assert _fields(talk, "sasl-init") == [{"mechanism": "ANONYMOUS"}]


def test_a_recording_without_secrets_has_the_samerows_of() -> None:
    talk = _challenged().session().sender().server(credit(0)).client(transfer(0, HELLO))
    redactor = Redactor()
    hidden = Talk10()
    for sender, what in talk.arrivals:
        assert isinstance(what, bytes)
        hidden.send(sender, redactor.feed(what) if sender == CLIENT else what)
    assert b"secret" not in b"".join([what for _, what in hidden.arrivals if isinstance(what, bytes)])
    assert rows_of(hidden) == rows_of(talk)


# Connections.


def test_one_connection() -> None:
    talk = _open().client(transfer(0, HELLO)).server(settle(0, amqp.Accepted()))
    talk.server(spec.Close(amqp.Error(amqp.Symbol("amqp:connection:forced"), "bye"))).client(spec.Close())
    found = rows_of(talk)
    (row,) = found["connections"]
    assert (row["protocol"], row["client"], row["server"]) == ("1.0", "10.0.0.1:40000", "10.0.0.2:5672")
    assert (row["closed_by"], row["close_code"]) == ("server", None)
    assert row["close_text"] == "amqp:connection:forced: bye"
    assert row["close_condition"] == "amqp:connection:forced"
    assert (row["container"], row["server_container"], row["vhost"]) == ("c", "s", None)
    assert (row["mechanism"], row["user"], row["heartbeat"]) == ("PLAIN", "ann", 0)
    assert (row["frame_max"], row["channel_max"]) == (16_384, 255)
    assert (row["events"], row["messages"], row["complete"]) == (len(found["events"]), 1, True)
    assert not found["violations"]


def test_hints_stand_beside_what_the_server_said() -> None:
    talk = Talk10().client(AMQP).server(SASL)
    (row,) = tables(replay_segments(packets(talk, end=0)))["connections"]
    assert (row["closed_by"], row["ended_by"]) == ("server", "end-of-capture")
    assert "mechanism" in row["hint"]


def test_a_connection_seen_from_the_middle() -> None:
    talk = Talk10(late=True)
    talk.server(transfer(0, HELLO, handle=1), transfer(1, HELLO, handle=1)).client(settle(0, amqp.Accepted()))
    found = tables(replay_segments(packets(talk, syn=False)))
    (row,) = found["connections"]
    assert (row["protocol"], row["complete"]) == ("1.0", False)
    assert [message["outcome"] for message in found["messages"]] == ["accepted", None]


def test_text_that_is_not_utf_8_is_shown_by_its_octets() -> None:
    talk = Talk10().client(SASL).server(SASL, spec.SaslMechanisms((amqp.Symbol("PLAIN"),)))
    talk.client(spec.SaslInit(amqp.Symbol("PLAIN"), b"\0a\xff\0pw"))
    assert rows_of(talk)["connections"][0]["user"] == "a\\xff"


def test_every_column_takes_the_types_that_it_names() -> None:
    types: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "json": (str,),
        "int64": (int,),
        "timestamp": (int,),
        "bool": (bool,),
    }
    described = amqp.Source(address=amqp.Described(amqp.Symbol("x:address"), "q"))
    talk = Talk10().login().open(hostname="h").session().receiver(source=described).client(credit(1))
    message = amqp.Message(
        b"x", properties=amqp.Properties(message_id=2**63, subject="s", to=amqp.Described(spec.ULong(1), 2))
    )
    talk.server(transfer((1 << 32) - 1, message, handle=1)).client(settle((1 << 32) - 1, amqp.Accepted()))
    for table, values in replay_segments(packets(talk)):
        for (name, kind), value in zip(COLUMNS[table], values, strict=True):
            assert value is None or type(value) in types[kind], (table, name, value)


def test_unusual_records_of_the_opening() -> None:
    talk = Talk10().client(AMQP, spec.Open("c", offered_capabilities=("a", "b"), properties={"p": [1]}))
    talk.server(AMQP, spec.Open("s")).client(spec.Begin(None, 0, 1, 1, properties={"x": {"y": 1}}))
    opened = _fields(talk, "open")[0]
    assert (opened["offered_capabilities"], opened["properties"]) == (["a", "b"], {"p": [1]})
    assert _fields(talk, "begin")[0]["properties"] == {"x": {"y": 1}}


def test_states_and_termini_within_an_attach() -> None:
    source = amqp.Source(
        address="q",
        default_outcome=amqp.Modified(delivery_failed=True),
        filter={"f": amqp.Described(amqp.Symbol("s"), 1)},
    )
    talk = Talk10().open().session()
    talk.client(
        spec.Attach("l", 0, True, source=source, target=amqp.Target(), unsettled={b"t": amqp.Accepted(), b"u": None})
    )
    (attach,) = _fields(talk, "attach")
    assert attach["source"]["default_outcome"] == {"type": "modified", "delivery_failed": True}
    assert attach["source"]["filter"] == {"f": {"descriptor": "s", "value": 1}}
    assert attach["unsettled"] == {'{"base64":"dA=="}': {"type": "accepted"}, '{"base64":"dQ=="}': None}
