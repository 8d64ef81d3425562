"""What the model reads of a message: by every encoding alike, nothing of damaged octets, and no decoding before."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import amqp_0_10, amqp_1_0
from amqp_sansio._classic.codec.table import RABBIT, SPEC_0_8, SPEC_0_9_1, Table
from amqp_sansio._classic.codec.table_rules import TableRules
from amqp_sansio.amqp_0_10 import Headers
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model.content import Content, Death
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0
from tests.kit.broker_contents import VERSIONS, classic_content, content_0_10, content_1_0, contents, sections_check

DEATHS = (
    Death("retry", "expired", 3, "", ("retry",), 1_700_000_600.0),
    Death("jobs", "rejected", 1, "shop", ("orders.new", "copy"), 1_700_000_000.0),
)


def full() -> list[Content]:
    """The same message in every encoding."""
    delivery = amqp_0_10.DeliveryProperties(priority=7, delivery_mode=2, ttl=1500)
    headers = {"a": 1, "b": "text"}
    classic: dict[str, Any] = {"priority": 7, "delivery_mode": 2, "expiration": "1500", "headers": headers}
    return [
        classic_content(AMQP_0_8, **classic),
        classic_content(AMQP_0_9_1, **classic),
        content_0_10(delivery_properties=delivery, application_headers=headers),
        content_1_0(header=amqp_1_0.Header(True, 7, 1500), application_properties=headers),
    ]


def empty() -> list[Content]:
    return [classic_content(AMQP_0_8), classic_content(AMQP_0_9_1), Content_0_10(Headers(b""), b"hello"), content_1_0()]


def ids(content: Content) -> str:
    return content.version.label


@pytest.mark.parametrize("content", full(), ids=ids)
def test_what_the_model_reads(content: Content) -> None:
    for each in (content, pickle.loads(pickle.dumps(content))):
        assert (each.priority, each.ttl, each.persistent, each.size) == (7, 1.5, True, 5)
        assert dict(each.headers) == {"a": 1, "b": "text"}
        assert each.octets > each.size
        assert each.deaths == ()


@pytest.mark.parametrize("content", empty(), ids=ids)
def test_what_it_reads_where_nothing_is_said(content: Content) -> None:
    default = 4 if content.version in (AMQP_0_10, AMQP_1_0) else 0
    assert (content.priority, content.ttl, content.persistent, content.size) == (default, None, False, 5)
    assert dict(content.headers) == {}
    assert content.deaths == ()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("0", 0.0), ("250", 0.25), ("007", 0.007)],
        *[("", None), ("-1", None), ("1.5", None), (" 1", None), ("\u0661", None)],
    ],
)
def test_expirations(text: str, seconds: float | None) -> None:
    assert classic_content(expiration=text).ttl == seconds


@pytest.mark.parametrize("content", full() + empty(), ids=lambda each: each.version.label)
def test_deaths_are_written_and_read_again(content: Content) -> None:
    dead = content.with_deaths(DEATHS)
    assert dead.deaths == DEATHS
    assert dead.ttl is None
    assert dead.size == content.size
    assert (dead.priority, dead.persistent) == (content.priority, content.persistent)
    sections_check(dead)
    again = pickle.loads(pickle.dumps(dead))
    assert again.deaths == DEATHS
    later = (Death("jobs", "rejected", 2, "", ("x",), 1_700_000_900.0), *DEATHS[:1])
    assert again.with_deaths(later).deaths == later


def test_x_death_is_written_as_rabbitmq_writes_it() -> None:
    content = classic_content(expiration="1500", headers={"a": 1})
    headers = content.with_deaths(DEATHS).headers
    assert isinstance(headers, Table)
    assert headers["x-death"] == [
        {
            "count": 3,
            "reason": "expired",
            "queue": "retry",
            "time": 1_700_000_600,
            "exchange": "",
            "routing-keys": ["retry"],
            "original-expiration": "1500",
        },
        {
            "count": 1,
            "reason": "rejected",
            "queue": "jobs",
            "time": 1_700_000_000,
            "exchange": "shop",
            "routing-keys": ["orders.new", "copy"],
        },
    ]
    assert {name: tag for name, tag, _ in headers["x-death"][0].entries()} == {
        "count": "l",
        "reason": "S",
        "queue": "S",
        "time": "T",
        "exchange": "S",
        "routing-keys": "A",
        "original-expiration": "S",
    }
    ends = {name: value for name, value in headers.items() if name.startswith(("x-first", "x-last"))}
    assert ends == {
        "x-first-death-reason": "rejected",
        "x-first-death-queue": "jobs",
        "x-first-death-exchange": "shop",
        "x-last-death-reason": "expired",
        "x-last-death-queue": "retry",
        "x-last-death-exchange": "",
    }


def test_the_first_death_stays_the_first_one() -> None:
    dead = classic_content().with_deaths(DEATHS[1:]).with_deaths(DEATHS[:1])
    assert dead.headers["x-first-death-queue"] == "jobs"
    assert dead.headers["x-last-death-queue"] == "retry"


@pytest.mark.parametrize("content", full(), ids=ids)
def test_what_a_time_to_live_was_is_told_until_the_end(content: Any) -> None:
    dead = content.with_deaths(DEATHS[:1])
    assert dead.expirations == {("retry", "expired"): "1500"}
    again = dead.with_deaths((DEATHS[1], DEATHS[0]))
    assert again.expirations == {("retry", "expired"): "1500"}


@pytest.mark.parametrize("rules", [SPEC_0_9_1, SPEC_0_8], ids=lambda rules: rules.name)
def test_deaths_in_a_dialect_whose_names_have_no_hyphen(rules: TableRules) -> None:
    content = classic_content(rules=rules, headers={"a": 1})
    dead = content.with_deaths(DEATHS)
    sections_check(dead)
    assert dead.deaths == DEATHS
    assert dead.headers["x_last_death_queue"] == "retry"


def test_other_headers_keep_their_octets() -> None:
    raw = b"\1aA\0\0\0\4b\x07B\x08" + b"\1bx\0\0\0\1\xff" + b"\1cS\0\0\0\1\xe9"
    content = classic_content(headers=Table.from_wire(raw, RABBIT), type="caf\udce9")
    dead = content.with_deaths(DEATHS)
    assert dead.raw_properties.find(raw) > 0
    assert dead.properties.type == "caf\udce9"
    bare = b"\0\x53\x73\xd0\0\0\0\x09\0\0\0\1\xb1\0\0\0\0" + b"\0\x53\x75\xb0\0\0\0\1x" + b"\0\x53\x78\xc1\1\0"
    assert Content_1_0(bare).with_deaths(DEATHS).payload.endswith(bare)


def test_annotations_of_other_names_keep_their_octets() -> None:
    entry = b"\xb3\0\0\0\7x-opt-a\x81\0\0\0\0\0\0\0\1"
    section = b"\0\x53\x72\xd1" + (4 + len(entry)).to_bytes(4, "big") + b"\0\0\0\2" + entry
    content = Content_1_0(section + b"\0\x53\x75\xa0\1x")
    dead = content.with_deaths(DEATHS)
    assert entry in dead.payload
    assert dead.message.message_annotations["x-opt-a"] == 1
    assert dead.message.message_annotations["x-opt-deaths"][0]["queue"] == "retry"


DAMAGED: list[Content] = [
    ClassicContent(AMQP_0_9_1, b"\xff\xfe\xff", RABBIT, b"hello"),
    ClassicContent(AMQP_0_9_1, b"", RABBIT, b"hello"),
    ClassicContent(AMQP_0_9_1, b"\x20\0\0\0\0\3\1aF", RABBIT, b"hello"),
    Content_0_10(Headers(b"\0\0\0\x20\4\1\xff\xff"), b"hello"),
    Content_0_10(Headers(b"\0\0\0\x0c\4\3\0\1" + b"\0\0\0\4\0\0\0\7"), b"hello"),
    Content_1_0(b"\0\x53\x70\xc0\xff"),
    Content_1_0(b"hello"),
    Content_1_0(b""),
    Content_1_0(b"\0\x53\x70\xc0\4\2\xa1\1a" + b"\0\x53\x75\xa0\5hello"),
    Content_1_0(b"\0\x53\x72\xc1\4\2\xa1\1a" + b"\0\x53\x75\xa0\5hello"),
    Content_1_0(b"\0\x53\x74\xc1\4\2\x40\x40\x40" + b"\0\x53\x75\xa0\5hello"),
    Content_1_0(b"\0\x53\x70\xc0\2\1\x41", 7),
]


@pytest.mark.parametrize("content", DAMAGED, ids=lambda each: f"{each.version.label}-{DAMAGED.index(each)}")
def test_damaged_octets_say_nothing(content: Content) -> None:
    default = 4 if content.version in (AMQP_0_10, AMQP_1_0) else 0
    assert (content.priority, content.ttl, content.persistent) == (default, None, False)
    assert dict(content.headers) == {}
    assert content.deaths == ()
    assert content.size >= 0
    dead = content.with_deaths(DEATHS)
    assert dead.deaths == DEATHS
    assert pickle.loads(pickle.dumps(dead)).deaths == DEATHS


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
@given(data=st.data())
def test_reading_never_fails(version: Any, data: st.DataObject) -> None:
    octets = data.draw(st.binary(max_size=60))
    made: Content
    if version is AMQP_1_0:
        made = Content_1_0(octets)
    elif version is AMQP_0_10:
        made = Content_0_10(Headers(octets), b"")
    else:
        made = ClassicContent(version, octets, RABBIT, b"")
    for content in (made, data.draw(contents(version))):
        assert content.priority >= 0 and content.octets >= 0 and content.size >= 0
        assert content.ttl is None or content.ttl >= 0
        assert content.persistent in (True, False)
        assert len(content.headers) >= 0
        assert content.with_deaths(DEATHS).deaths == DEATHS


def test_entries_of_x_death_that_say_something_else_are_passed_over() -> None:
    entry = {"count": 1, "reason": "rejected", "queue": "jobs", "time": 5}
    odd: list[dict[str, Any]] = [{"queue": 1}, {"count": -1}, {"count": True}, {"exchange": 1}, {"time": "now"}]
    listed: list[Any] = [7, {"count": "1"}, *[{**entry, **each} for each in odd], entry]
    for value in (listed, {"a": entry}):
        found = classic_content(headers={"x-death": value}).deaths
        assert found == (Death("jobs", "rejected", 1, "", (), 5.0),)
    assert classic_content(headers={"x-death": "no"}).deaths == ()


@pytest.mark.parametrize(
    ("body", "size"),
    [(b"hello", 5), (amqp_1_0.Data(b"ab", b"c" * 300), 302), ("hello", 7), (amqp_1_0.AmqpSequence([1], [2]), 10)],
    ids=["data", "two-data", "value", "sequence"],
)
def test_the_size_of_a_1_0_body(body: Any, size: int) -> None:
    content = content_1_0(body, properties=amqp_1_0.Properties(subject="s"), footer={"x-opt-f": 1})
    assert content.size == size
    assert content.octets == len(content.payload)
    with pytest.raises(AttributeError, match="nothing"):
        _ = content.nothing


def test_nothing_is_decoded_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amqp_1_0.Message, "from_wire", None)
    made = (
        Content_1_0(b"\0\x53\x75\xa0\1x"),
        Content_0_10(Headers(b"damaged"), b""),
        ClassicContent(AMQP_0_9_1, b"\xff", RABBIT, b""),
    )
    assert [each.octets for each in made] == [6, 7, 1]
    assert "1.0" not in repr(made[0]) and "0-9-1" in repr(made[2])


def test_without_its_flag_a_property_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    content = classic_content(content_type="text/plain")
    monkeypatch.setattr(ClassicContent, "properties", None)
    assert (content.priority, content.ttl, content.persistent, dict(content.headers)) == (0, None, False, {})
