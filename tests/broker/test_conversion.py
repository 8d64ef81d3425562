"""Conversion of messages: for each pair of versions what the documentation says, what consumers of another version see,
and what becomes of damage and of other dialects."""

import pickle
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.table import QPID, RABBIT, RABBIT_0_8, SPEC_0_8, SPEC_0_9_1, Timestamp, Typed
from amqp_sansio._classic.codec.table_rules import TableRules
from amqp_sansio.amqp_0_10 import Headers, spec
from amqp_sansio.amqp_0_10.codec.types import encode_value
from amqp_sansio.amqp_1_0.codec import values
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.conversion import as_0_10, as_1_0, as_classic, read
from amqp_sansio.broker.conversion.common import Common
from amqp_sansio.broker.conversion.values import Value, octets_of
from amqp_sansio.broker.model.content import Content, Message
from amqp_sansio.testing import amqp_0_9_1 as testing_0_9_1
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tests.kit.broker_contents import (
    CELLS,
    VERSIONS,
    cell_id,
    classic_content,
    content_0_10,
    content_1_0,
    contents,
    converted,
    said,
    sections_check,
)
from tools.docs import conversions
from tools.docs.pages import ROOT, run

DIFFERENT = tuple([cell for cell in CELLS if cell[0] is not cell[1]])
_LATEST = 1 << 63


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
@given(data=st.data())
def test_a_message_of_the_same_version_is_the_same_and_others_are_sound(
    cell: tuple[Version, Version], data: st.DataObject
) -> None:
    source, target = cell
    content: Any = data.draw(contents(source))
    there = converted(content, target)
    if source is target:
        assert there is content
    assert there.version is target
    sections_check(there)
    again = pickle.loads(pickle.dumps(there))
    assert again.octets == there.octets and again.size == there.size


@pytest.mark.parametrize("cell", DIFFERENT, ids=cell_id)
@given(data=st.data())
@settings(max_examples=40)
def test_there_and_back_keeps_all_but_what_is_documented(cell: tuple[Version, Version], data: st.DataObject) -> None:
    source, target = cell
    content: Any = data.draw(contents(source))
    back = converted(converted(content, target), source)
    sections_check(back)
    assert _kept(said(back), target) == _kept(said(content), target)


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_every_line_of_the_page(cell: tuple[Version, Version]) -> None:
    source, target = cell
    page = (ROOT / "docs" / "conversions.md").read_text()
    part = page.partition(f"## From {source.label}\n")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
    rows = [[each.strip() for each in line] for line in lines]
    column = rows[0].index(f"to {target.label}")
    written = {row[0]: row[column] for row in rows[1:]}
    found = {each.name: conversions.outcome(each, source, target) for each in conversions.samples(source)}
    assert written == found


def test_the_page_is_what_the_code_says() -> None:
    assert run("conversions.md", conversions.page, ["--check"]) == 0


@pytest.mark.parametrize("cell", DIFFERENT, ids=cell_id)
@given(body=st.binary(max_size=2_000))
@settings(max_examples=20, deadline=None)
def test_a_binary_body_keeps_its_octets(cell: tuple[Version, Version], body: bytes) -> None:
    source, target = cell
    content: Any = conversions.content_1_0(body)
    if source is not AMQP_1_0:
        content = conversions.content_0_10(body) if source is AMQP_0_10 else conversions.classic(source, body)
    there: Any = converted(content, target)
    assert (there.message.body if isinstance(there, Content_1_0) else there.body) == body
    assert there.size == len(body)


def _kept(common: Common, through: Version) -> Any:
    """What a message says, with what a conversion to `through` can't keep replaced by what becomes of it."""
    properties = dict(common.properties)
    if through is AMQP_1_0:
        if properties.get("priority") == ("uint8", 4):
            del properties["priority"]
        if properties.get("delivery-mode") == ("uint8", 1):
            del properties["delivery-mode"]
    elif through is not AMQP_0_10:
        if len(properties.get("user-id", ("binary", b""))[1]) > 255:
            del properties["user-id"]
        for name in ("message-id", "correlation-id"):
            kind, number = properties.get(name, ("", 0))
            if kind == "uint64" and number >= _LATEST:
                properties[name] = ("text", str(number))
    return (
        repr(sorted(properties.items())),
        sorted([repr((name, _nearest(value))) for name, value in common.headers]),
        sorted([repr((key, _nearest(value))) for key, value in common.annotations]),
        (common.footer, common.form, common.body, common.deaths),
    )


def _nearest(value: Value) -> Value:
    kind, content = value
    if kind == "map":
        return kind, [(key, _nearest(each)) for key, each in content]
    if kind in ("list", "array"):
        return kind, [_nearest(each) for each in content]
    if kind == "other":
        return "binary", content
    if kind == "text" and not content.isprintable() and octets_of(content) != content.encode("utf-8", "ignore"):
        return "binary", octets_of(content)
    if kind == "time" and not -_LATEST <= content < _LATEST:
        return "number", content // 1000
    if kind in ("int64", "uint64") and not -_LATEST // 1000 <= content < _LATEST // 1000:
        return "number", content
    return value


def test_octets_of_0_9_1_go_out_unchanged_in_0_8() -> None:
    content = conversions.classic(CELLS[5][0], headers={"a": [1, {"b": b"x"}]}, expiration="7")
    there = converted(content, CELLS[0][0])
    assert isinstance(there, ClassicContent)
    assert there.raw_properties == content.raw_properties


ID = UUID("550e8400-e29b-41d4-a716-446655440000")


def to_classic(content: Content) -> Any:
    found = converted(content, AMQP_0_9_1)
    assert isinstance(found, ClassicContent)
    return found.properties


def to_0_10(content: Content) -> Any:
    found = converted(content, AMQP_0_10)
    assert isinstance(found, Content_0_10)
    return found


def to_1_0(content: Content) -> amqp_1_0.Message:
    found = converted(content, AMQP_1_0)
    assert isinstance(found, Content_1_0)
    return found.message


def a_message(version: Version) -> Content:
    if version is AMQP_1_0:
        return content_1_0(
            header=amqp_1_0.Header(durable=True, priority=7, ttl=1500),
            properties=amqp_1_0.Properties(
                message_id=ID,
                user_id=b"guest",
                subject="order",
                reply_to="answers",
                correlation_id="order-7",
                content_type="text/plain",
                content_encoding="gzip",
                creation_time=1_700_000_000_000,
            ),
            application_properties={"a": 1, "b": "text", "c": True},
        )
    if version is AMQP_0_10:
        return content_0_10(
            delivery_properties=amqp_0_10.DeliveryProperties(
                priority=7, delivery_mode=2, ttl=1500, timestamp=1_700_000_000
            ),
            message_properties=amqp_0_10.MessageProperties(
                message_id=ID,
                correlation_id=b"order-7",
                reply_to=spec.ReplyTo("", "answers"),
                content_type="text/plain",
                content_encoding="gzip",
                user_id=b"guest",
                application_headers={"a": 1, "b": "text", "c": True, "qpid.subject": "order"},
            ),
        )
    return classic_content(
        version,
        content_type="text/plain",
        content_encoding="gzip",
        delivery_mode=2,
        priority=7,
        correlation_id="order-7",
        reply_to="answers",
        expiration="1500",
        message_id=f"urn:uuid:{ID}",
        timestamp=1_700_000_000,
        type="order",
        user_id="guest",
        headers={"a": Typed("l", 1), "b": "text", "c": True},
    )


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_what_every_version_has_a_place_for_arrives_there(cell: tuple[Version, Version]) -> None:
    source, target = cell
    found = converted(a_message(source), target)
    wanted = a_message(target)
    assert read(found).properties == read(wanted).properties
    assert read(found).headers == read(wanted).headers
    assert (found.priority, found.ttl, found.persistent) == (7, 1.5, True)
    if isinstance(found, ClassicContent) and isinstance(wanted, ClassicContent):
        assert found.raw_properties == wanted.raw_properties
    elif isinstance(found, Content_1_0) and isinstance(wanted, Content_1_0):
        assert found.payload == wanted.payload


@pytest.mark.parametrize("cell", CELLS, ids=cell_id)
def test_a_message_that_says_nothing(cell: tuple[Version, Version]) -> None:
    source, target = cell
    empty: Content = content_1_0(b"")
    if source is not AMQP_1_0:
        empty = Content_0_10(Headers(b""), b"") if source is AMQP_0_10 else classic_content(source, b"")
    found = converted(empty, target)
    if source is target:
        assert found is empty
    elif isinstance(found, ClassicContent):
        assert found.raw_properties == b"\0\0"
    elif isinstance(found, Content_1_0):
        assert found.payload == b"\0\x53\x75\xa0\0"
    elif isinstance(found, Content_0_10):
        assert found.delivery_properties == amqp_0_10.DeliveryProperties(exchange="shop", routing_key="orders.new")
        assert found.message_properties == amqp_0_10.MessageProperties(content_length=0)


DAMAGED: list[tuple[Content, bytes]] = [
    (ClassicContent(AMQP_0_8, b"\xff\xff", RABBIT_0_8, b"hello"), b"hello"),
    (ClassicContent(AMQP_0_9_1, b"\x80\0\xffx", RABBIT, b"hello"), b"hello"),
    (ClassicContent(AMQP_0_9_1, b"\x20\0\0\0\0\3\1aF", RABBIT, b"hello"), b"hello"),
    (Content_0_10(Headers(b"\0\0\0\x20\4\1\xff\xff"), b"hello"), b"hello"),
    (Content_0_10(Headers(b"\0\0\0\x0c\4\3\0\1\0\0\0\4\0\0\0\7"), b"hello"), b"hello"),
    (Content_1_0(b"\0\x53\x73\xc0\4\1\xa1\1\xff\0\x53\x75\xa0\5hello"), b"hello"),
    (Content_1_0(b"\0\x53\x78\xc1\1\0\0\x53\x75\xa0\1x"), b"\0\x53\x78\xc1\1\0\0\x53\x75\xa0\1x"),
    (Content_1_0(b"\0\x53\x75\xa0\5hello\0\x53\x78\xc1\4\2\xa1\1a"), b"hello"),
    (Content_1_0(b"\0\x53\x77\xa1\1\xff"), b"\0\x53\x77\xa1\1\xff"),
    (Content_1_0(b"no sections"), b"no sections"),
]


@pytest.mark.parametrize("target", VERSIONS, ids=lambda version: version.label)
@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_damage_says_nothing_and_the_body_stays(number: int, target: Version) -> None:
    content, body = DAMAGED[number]
    found: Any = converted(content, target)
    if content.version is target:
        assert found is content
        return
    sections_check(found)
    assert (found.message.body if isinstance(found, Content_1_0) else found.body) == body
    assert read(found).properties == {}
    assert read(found).headers == []


@pytest.mark.parametrize("source", VERSIONS, ids=lambda version: version.label)
@given(octets=st.binary(max_size=80))
def test_any_octets_convert(source: Version, octets: bytes) -> None:
    content: Content = Content_1_0(octets)
    if source is AMQP_0_10:
        content = Content_0_10(Headers(octets), b"x")
    elif source is not AMQP_1_0:
        content = ClassicContent(source, octets, RABBIT, b"x")
    for target in VERSIONS:
        if target is not source:
            sections_check(converted(content, target))


@pytest.mark.parametrize("rules", [SPEC_0_8, SPEC_0_9_1], ids=lambda rules: rules.name)
@given(properties=testing_0_9_1.properties())
def test_a_dialect_with_fewer_types_gets_what_it_can_have(rules: TableRules, properties: Any) -> None:
    content = ClassicContent(AMQP_0_9_1, properties.encode(RABBIT), RABBIT, b"hello")
    found = as_classic(Message(content, "", "", 1), AMQP_0_9_1, rules)
    assert found is not content
    sections_check(found)
    assert found.body == b"hello"
    back = as_classic(Message(found, "", "", 1), AMQP_0_9_1, RABBIT)
    sections_check(back)
    assert back.properties.message_id == content.properties.message_id


def test_values_that_a_dialect_has_not() -> None:
    headers = {
        "x-a": 1 << 40,
        "f": 0.5,
        "t": True,
        "v": None,
        "x": b"b",
        "l": [1, "a"],
        "T": Timestamp(5),
        "d": {"e": "f"},
    }
    content = classic_content(headers=headers)
    found = as_classic(Message(content, "", "", 1), AMQP_0_8, SPEC_0_8).headers
    shown = {name: value for name, value in found.items() if not name.startswith("x_amqp")}
    assert shown == {
        "x_a": str(1 << 40),
        "f": "0.5",
        "t": 1,
        "x": "b",
        "l": {"i1": 1, "i2": "a"},
        "T": 5,
        "d": {"e": "f"},
    }
    same = as_classic(Message(content, "", "", 1), AMQP_0_8, QPID)
    assert same.raw_properties == content.raw_properties


def test_ids_of_1_0_as_0_9_1_shows_them() -> None:
    shown = [
        to_classic(content_1_0(properties=amqp_1_0.Properties(message_id=each))).message_id
        for each in ("m-1", ID, 7, b"m-1", b"\xff", "m" * 256)
    ]
    assert shown == ["m-1", f"urn:uuid:{ID}", "7", "m-1", "\udcff", None]


def test_ids_of_0_9_1_as_0_10_shows_them() -> None:
    shown = [
        to_0_10(classic_content(message_id=each)).message_properties.message_id
        for each in (str(ID), f"ID:{ID}", f"urn:uuid:{ID}", "m-1", "ID:550e8400-e29b-41d4-a716-44665544000g")
    ]
    assert shown == [ID, ID, ID, None, None]


@pytest.mark.parametrize(
    ("address", "classic", "parts"),
    [
        ("answers", "answers", ("", "answers")),
        ("/queues/a%2Fb", "a/b", ("", "a/b")),
        ("/exchanges/amq.direct/k", "/exchanges/amq.direct/k", ("amq.direct", "k")),
        ("/exchanges/amq.fanout", "/exchanges/amq.fanout/", ("amq.fanout", "")),
        ("/queues/%2Fodd", "/queues/%2Fodd", ("", "/odd")),
        ("/temp", "/temp", ("", "/temp")),
    ],
)
def test_where_answers_go(address: str, classic: str, parts: tuple[str, str]) -> None:
    content = content_1_0(properties=amqp_1_0.Properties(reply_to=address))
    assert to_classic(content).reply_to == classic
    assert to_0_10(content).message_properties.reply_to == spec.ReplyTo(*parts)
    again = to_1_0(converted(content, AMQP_0_9_1)).reply_to
    assert again in (address, classic)


@pytest.mark.parametrize(
    ("body", "octets", "content_type", "marker"),
    [
        ("caf\u00e9", "caf\u00e9".encode(), "text/plain", "string"),
        (amqp_1_0.AmqpValue(b"\xff"), b"\xff", None, "binary"),
        (None, b"", None, "null"),
        ({"a": 1}, encode_value({"a": 1})[1:], "amqp/map", None),
        (["a", None], encode_value(["a", None])[1:], "amqp/list", None),
        (7, b"\0\x53\x77\x55\7", "amqp/1.0", "sections"),
        (amqp_1_0.AmqpSequence([1], []), b"\0\x53\x76\xc0\3\1\x55\1\0\x53\x76\xc0\1\0", "amqp/1.0", "sections"),
    ],
    ids=["string", "binary", "null", "map", "list", "long", "sequence"],
)
def test_bodies_of_1_0_in_the_older_versions(
    body: Any, octets: bytes, content_type: str | None, marker: str | None
) -> None:
    content = content_1_0(body)
    old: Any = converted(content, AMQP_0_9_1)
    assert old.properties.content_type == content_type
    assert old.headers.get("x-amqp-body") == marker
    newer = to_0_10(content)
    assert newer.body == old.body
    assert newer.message_properties.content_type == content_type
    if marker != "sections" or body == 7:
        assert old.body == octets
    assert to_1_0(old).typed_body == content.message.typed_body
    assert to_1_0(newer).encode() == content.payload


def test_a_map_of_a_qpid_client_is_a_map_in_1_0() -> None:
    octets = encode_value({"a": 1, "b": [True]})[1:]
    told = "amqp/map"
    for content in (content_0_10(octets, content_type=told), classic_content(body=octets, content_type=told)):
        found = to_1_0(content)
        assert found.body == {"a": 1, "b": [True]}
        assert found.content_type is None
        assert converted(converted(content, AMQP_1_0), content.version).size == len(octets)


@pytest.mark.parametrize(
    ("marker", "body"),
    [
        ("string", b"\xff"),
        ("null", b"x"),
        ("map", b"x"),
        ("list", b""),
        ("sections", b"hello"),
        ("sections", b"\0\x53\x70\xc0\2\1\x41"),
        ("sections", b""),
        ("format", b""),
        ("format x", b""),
        ("format 0", b""),
        ("format 99999999999", b""),
        ("nonsense", b""),
    ],
)
def test_a_marker_that_says_something_wrong_is_no_marker(marker: str, body: bytes) -> None:
    found = to_1_0(classic_content(body=body, headers={"x-amqp-body": marker}))
    assert found.typed_body == amqp_1_0.Data(body)


def test_a_user_id_is_taken_from_no_header() -> None:
    for content in (
        classic_content(headers={"x-amqp-user-id": "admin"}),
        content_0_10(application_headers={"x-amqp-user-id": "admin"}),
    ):
        assert to_1_0(content).user_id is None
    annotated = content_1_0(message_annotations={"x-opt-amqp-user-id": b"admin"})
    assert to_classic(annotated).user_id is None


@pytest.mark.parametrize("moment", [0, 1, -1, -1_000, 999, (1 << 63) // 1000 * 1000, (1 << 63) - 1, -(1 << 63)])
def test_moments_come_back_to_the_millisecond(moment: int) -> None:
    content = content_1_0(properties=amqp_1_0.Properties(creation_time=moment))
    for through in VERSIONS:
        back = to_1_0(converted(content, through))
        assert back.creation_time == moment


def test_headers_that_application_properties_can_not_have() -> None:
    found = to_1_0(classic_content(headers={"a": 1, "b": {"c": [1]}, "d": [None]}))
    assert found.application_properties == {"a": 1}
    assert found.message_annotations == {"x-opt-amqp-headers": {"b": {"c": [1]}, "d": [None]}}


def test_annotations_of_1_0_as_headers() -> None:
    annotations = {"x-opt-trace": "1", "x-opt-url": values.Described(values.Symbol("u"), "v"), values.ULong(7): 1}
    headers = to_classic(content_1_0(message_annotations=annotations)).headers
    assert headers["x-opt-trace"] == "1"
    assert set(headers) == {"x-opt-trace", "x-amqp-message-annotations"}


@pytest.mark.parametrize("name", ["message-annotations", "application-properties", "footer"])
@pytest.mark.parametrize("octets", [b"", b"\xc1", b"\xc1\4\2\x40\x40\x40", b"\x40", b"text"])
def test_carried_octets_that_are_no_map_are_nothing(name: str, octets: bytes) -> None:
    found = converted(classic_content(headers={f"x-amqp-{name}": octets}), AMQP_1_0)
    sections_check(found)
    assert isinstance(found, Content_1_0)
    assert found.payload == b"\0\x53\x75\xa0\5hello"


def test_values_nested_deeper_than_a_version_allows_are_left_out() -> None:
    deep: Any = 1
    for _ in range(29):
        deep = {"n": deep}
    content = classic_content(headers={"deep": deep, "a": 1})
    one = converted(content, AMQP_1_0)
    sections_check(one)
    assert [name for name, _ in read(one).headers] == ["a"]
    sections_check(converted(content, AMQP_0_10))


def test_a_message_in_several_queues_is_converted_once() -> None:
    message = Message(classic_content(content_type="text/plain"), "e", "k", 1)
    assert as_1_0(message) is not as_1_0(message)
    message.copies = 2
    first = as_1_0(message)
    assert as_1_0(message) is first
    assert as_0_10(message) is as_0_10(message)
    assert as_1_0(message).payload == first.payload
    assert as_classic(message, AMQP_0_8, RABBIT_0_8).version is AMQP_0_8
