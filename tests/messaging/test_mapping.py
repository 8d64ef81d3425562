"""Neutral messages in every version: each field there and back, addresses in each broker's form, mistakes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio import amqp_1_0 as one
from amqp_sansio.amqp_0_9_1 import BasicProperties, get_dialect
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.errors import Unsupported
from amqp_sansio.events import Info, Rejected
from amqp_sansio.messaging import Message
from amqp_sansio.messaging.addresses import Addresses, Place, place_of, written
from amqp_sansio.messaging.amqp_1_0 import Node, outcome_of
from amqp_sansio.messaging.mapping import read_0_10, read_1_0, read_classic, write_0_10, write_1_0, write_classic

NUMBER = UUID("12345678-1234-5678-1234-567812345678")
NO_OCTETS: list[Any] = ["x", {}]
MOMENT = datetime(2026, 11, 25, 12, 30, 15, tzinfo=UTC)


def through_classic(name: str) -> Callable[[Message], Message]:
    dialect = get_dialect(name)

    def turn(message: Message) -> Message:
        raw = write_classic(message, dialect).encode(dialect.tables)
        return read_classic(message.body, BasicProperties.from_wire(raw, dialect.tables), dialect)

    return turn


def through_0_10(message: Message) -> Message:
    written_as = write_0_10(message, "e", "k")
    assert written_as.headers.delivery_properties is not None
    assert written_as.headers.delivery_properties.routing_key == "k"
    return read_0_10(ten.Message(written_as.body, headers=ten.Headers(written_as.headers.raw)))


def through_1_0(message: Message) -> Message:
    return read_1_0(one.Message.from_wire(write_1_0(message).encode()))


VERSIONS: dict[str, Callable[[Message], Message]] = {
    "0-8": through_classic("0-8-rabbit"),
    "0-9-1": through_classic("0-9-1-rabbit"),
    "0-10": through_0_10,
    "1.0": through_1_0,
}


@pytest.fixture(params=list(VERSIONS))
def turn(request: pytest.FixtureRequest) -> Callable[[Message], Message]:
    """A message of one version, written and read."""
    return VERSIONS[request.param]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"subject": "greeting", "durable": True, "priority": 7},
        {"content_type": "text/plain", "content_encoding": "gzip", "app_id": "billing", "group_id": "g"},
        {"reply_to": "answers"},
        {"reply_to": "/exchanges/amq.direct/a%2Fb"},
        {"ttl": 1.5, "user_id": "guest", "creation_time": MOMENT},
        {"creation_time": MOMENT.replace(microsecond=250_000)},
        *[{"message_id": each, "correlation_id": each} for each in ("a", 7, 2**63 - 1, NUMBER, b"\xff\0")],
        {"message_id": f"urn:uuid:{NUMBER}"},
        {"headers": {"text": "grün", "n": -3, "wide": 2**40, "widest": 2**64 - 1, "f": 1.5, "t": True, "none": None}},
        {"headers": {"octets": b"\xff", "when": MOMENT, "id": NUMBER, "d": Decimal("1.25")}},
        {"headers": {"deep": {"a": [1, {"b": None}, "x"]}, "empty": [], "tuple": [1]}},
    ],
    ids=str,
)
def test_every_field_comes_back(turn: Callable[[Message], Message], fields: dict[str, Any]) -> None:
    message = Message(b"hello", **fields)
    assert turn(message) == message
    assert pickle.loads(pickle.dumps(message)) == message


def test_the_queue_for_replies_has_its_plain_name_before_1_0() -> None:
    message = Message(reply_to="/queues/a%20b")
    found = {name: turn(message).reply_to for name, turn in VERSIONS.items()}
    assert found == {"0-8": "a b", "0-9-1": "a b", "0-10": "a b", "1.0": "/queues/a%20b"}


def test_a_map_of_qpid_is_a_value_in_1_0() -> None:
    found = read_1_0(one.Message({"a": [1]}))
    assert found.content_type == "amqp/map"
    for turn in VERSIONS.values():
        assert turn(found) == found
    assert write_1_0(found).body == {"a": [1]}


def test_values_of_1_0_are_text_and_octets() -> None:
    found = read_1_0(one.Message("grün", properties=one.Properties(subject="s")))
    assert (found.text, found.content_type, found.subject) == ("grün", "text/plain", "s")
    assert read_1_0(one.Message({"a": [1]}, message_annotations={one.Symbol("x-opt-a"): 1})).content_type == "amqp/map"


def test_damage_is_left_out() -> None:
    dialect = get_dialect("0-9-1-rabbit")
    damaged = BasicProperties.from_wire(b"\x20\x00\x00\x00\x00\x09\x01a", dialect.tables)
    assert read_classic(b"x", damaged, dialect) == Message(b"x")


def test_text_json_and_replies() -> None:
    text = Message.from_text("grün", subject="s")
    assert (text.text, text.body, text.content_type, text.subject) == ("grün", "grün".encode(), "text/plain", "s")
    value = Message.from_json({"n": [1]}, content_type="x/y", message_id=7)
    assert (value.json(), value.content_type) == ({"n": [1]}, "x/y")
    assert value.reply(b"ok") == Message(b"ok", correlation_id=7)
    assert value.replace(correlation_id="c").reply().correlation_id == "c"
    assert repr(Message(b"x", ttl=1.0, headers={"a": 1})) == "Message(b'x', headers={'a': 1}, ttl=1.0)"
    assert Message(b"x") != b"x"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Message(NO_OCTETS[0]), r"not str: encode it, or call Message\.from_text"),
        (lambda: Message(NO_OCTETS[1]), r"not dict: encode it, or call Message\.from_json"),
        (lambda: Message(priority=256), "priority 256 isn't from 0 to 255"),
        (lambda: Message(ttl=-1), "ttl -1 is below 0 seconds"),
        (lambda: write_1_0(Message(headers={"a": object()})), "headers of type object: pass text"),
        (lambda: write_1_0(Message(headers={"a": 2**64})), "more than 64 bits"),
        (lambda: write_1_0(Message(headers={"a": datetime(2026, 1, 1)})), "no time zone"),
        (lambda: write_1_0(Message(message_id=-1)), "message-id -1 isn't from 0"),
    ],
)
def test_mistakes_say_what_to_pass(make: Callable[[], Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        make()


@pytest.mark.parametrize(
    ("address", "place", "forms"),
    [
        ("jobs", Place("", "jobs"), ("/queues/jobs", "/amq/queue/jobs", "jobs")),
        ("/queues/a%2Fb", Place("", "a/b"), ("/queues/a%2Fb", "/amq/queue/a%2Fb", "a/b")),
        ("/exchanges/e/k", Place("e", "k"), ("/exchanges/e/k", "/exchange/e/k", "e/k")),
        ("/exchanges/e/%C3%A9", Place("e", "é"), ("/exchanges/e/%C3%A9", "/exchange/e/é", "e/é")),
        ("/exchanges/e", Place("e", None), ("/exchanges/e", "/exchange/e", "e")),
    ],
)
def test_addresses(address: str, place: Place, forms: tuple[str, ...]) -> None:
    found = place_of(address, AMQP_0_9_1)
    assert found == place
    names: tuple[Addresses, ...] = ("rabbitmq4", "rabbitmq3", "qpid")
    assert tuple([written(address, place, name) for name in names]) == forms
    assert written(address, place, None) == address


def test_the_subject_is_the_key_of_an_exchange_without_one() -> None:
    message = Message(subject="a b")
    assert Place("e", None).key_for("s") == "s"
    assert Place("e", "k").key_for("s") == "k"
    node = Node("/exchanges/e", None)
    assert (node.target, node.to(message), node.to(Message())) == (None, "/exchanges/e/a%20b", "/exchanges/e")
    for address, form in (
        ("/exchanges/e/k", None),
        ("/exchanges/e", "qpid"),
        ("/exchanges/e", "rabbitmq3"),
        ("e", None),
    ):
        other = Node(address, form)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert other.target == other.address
        assert other.to(message) is None


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_bad_addresses(version: Version) -> None:
    for address, text in (("", "is empty"), ("/nodes/x", "names no node; known are"), ("/queues/%zz", "hexadecimal")):
        with pytest.raises(ValueError, match=text):
            place_of(address, version)
    with pytest.raises(
        Unsupported, match=rf"AMQP {version.label} has no node /management: connect with \?version=1\.0"
    ):
        place_of("/management", version)


def test_a_rejection_of_1_0_keeps_what_the_error_says() -> None:
    info = {one.Symbol("retry-after"): 4, one.Symbol("hosts"): spec.Array([one.Symbol("a"), one.Symbol("b")])}
    outcome = outcome_of(one.Rejected(one.Error("com.microsoft:server-busy", "later", info)))
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "com.microsoft:server-busy later"
    assert outcome.info == {"retry-after": 4, "hosts": ["a", "b"]}
    assert outcome == Rejected("com.microsoft:server-busy later", Info(outcome.info))
    assert outcome_of(one.Rejected()) == Rejected()
