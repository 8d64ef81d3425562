"""Fields in forms that the specification hasn't: what the codec reads of them, and what it says."""

import pickle
from typing import Any

import pytest

from amqp_sansio import CodecError
from amqp_sansio.amqp_1_0 import Described, Error, Message, Properties, Rejected, Source, Symbol
from amqp_sansio.amqp_1_0.codec.composite import Composite, decode_frame_body
from amqp_sansio.amqp_1_0.codec.encode import encode
from amqp_sansio.amqp_1_0.codec.message import LenientMessage, odd_fields
from amqp_sansio.amqp_1_0.codec.odd import OddRecord
from amqp_sansio.amqp_1_0.spec import Attach, Close, Map, Open

FILTER = Symbol("com.microsoft:session-filter")


def listed(kind: type[Composite], *items: Any) -> bytes:
    return (
        b"\x00" + encode(Described(Symbol("x"), list(items))).replace(encode(Symbol("x")), b"\x53%c" % kind.CODE, 1)[1:]
    )


def odd(octets: bytes) -> OddRecord:
    with pytest.raises(OddRecord) as caught:
        decode_frame_body(octets)
    return caught.value


def test_the_error_is_that_of_the_first_odd_field_and_the_record_has_the_others() -> None:
    error = odd(listed(Open, Symbol("c"), 7, None, None, None, ["en"], None, None, None, {"a": 1}, 5))
    assert error.record == Open("c", outgoing_locales=("en",), properties={"a": 1})
    assert [(each.field, each.read) for each in error.odds] == [
        *[("", True), ("container_id", True), ("hostname", False), ("outgoing_locales", True), ("properties", True)]
    ]
    assert error.rule == "1.0/types/composite-list"
    assert isinstance(pickle.loads(pickle.dumps(error)), CodecError)


@pytest.mark.rule("1.0/filter-set/keys-values")
def test_a_filter_without_a_descriptor_stays_in_its_source() -> None:
    source = Source("q", filter=Map({FILTER: "A"}))
    error = odd(Attach("l", 0, False, source=source, initial_delivery_count=0).encode())
    assert isinstance(error.record, Attach)
    assert isinstance(error.record.source, Source)
    assert error.record.source.filter == {FILTER: "A"}
    assert [(each.owner, each.field, each.read) for each in error.odds] == [("source", "filter", True)]


@pytest.mark.rule("1.0/filter-set/keys-values")
def test_a_filter_of_service_bus_is_written_as_it_is() -> None:
    assert Source("q", filter={FILTER: "A"}).encode() == Source("q", filter=Map({FILTER: "A"})).encode()
    assert Source("q", filter={"com.microsoft:session-filter": None}).encode()


def test_an_error_without_its_descriptor_is_read() -> None:
    error = odd(listed(Close, [Symbol("a:b"), "why"]))
    assert getattr(error.record, "error", None) == Error("a:b", "why")


def test_an_error_that_can_not_be_read_is_an_error_still() -> None:
    with pytest.raises(OddRecord) as caught:
        Rejected.decode(listed(Rejected, 7))
    assert caught.value.record == Rejected(Error("amqp:decode-error", "the error can't be read"))


def test_a_lenient_message_reads_what_a_strict_one_refuses() -> None:
    properties, application = listed(Properties, None, None, 7), b"\x00\x53\x74" + encode({"a": [1]})
    octets = properties + application + b"\x00\x53\x77\x41"
    with pytest.raises(CodecError):
        Message.from_wire(octets).check()
    lenient = LenientMessage.from_wire(octets)
    with pytest.raises(CodecError):
        lenient.check()
    assert lenient.application_properties == {"a": [1]}
    assert lenient.properties == Properties()
    assert lenient.body is True
    assert lenient.encode() == octets
    again = pickle.loads(pickle.dumps(lenient))
    assert type(again) is LenientMessage
    assert [(each.owner, each.read) for each in odd_fields(octets)] == [
        *[("properties", False), ("application-properties", True)]
    ]
