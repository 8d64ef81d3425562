"""The management API, changing: declarations, messages, bindings, connections, with RabbitMQ's statuses and texts."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import AMQP_1_0
from amqp_sansio.broker import Settings
from amqp_sansio.broker.management import Answer
from amqp_sansio.limits import Limits
from tests.kit import hub
from tests.kit.hub_classic import Talk, World
from tests.kit.management import Api

QUEUE = "/api/queues/%2F/jobs"
EXCHANGE = "/api/exchanges/%2F/orders"
DURABLE = {"durable": True}
PUBLISH: dict[str, Any] = {"routing_key": "jobs", "properties": {}, "payload": "hello", "payload_encoding": "string"}
GET: dict[str, Any] = {"count": 10, "ackmode": "ack_requeue_true", "encoding": "auto"}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def api(world: World) -> Api:
    found = Api(world)
    assert found.ask("PUT", QUEUE, DURABLE).status == 201
    return found


def reason_of(answer: Answer) -> Any:
    assert answer.content.keys() == {"error", "reason"}
    return answer.content["reason"]


# Queues.


def test_a_declaration_is_new_once(api: Api) -> None:
    assert api.ask("PUT", QUEUE, DURABLE).status == 204
    answer = api.ask("PUT", QUEUE, {"durable": False, "auto_delete": True})
    assert (answer.status, answer.content["error"]) == (400, "bad_request")
    text = "inequivalent arg 'durable' for queue 'jobs' in vhost '/': received 'false' but current is 'true'"
    assert reason_of(answer) == text
    assert [each["name"] for each in api.get("/api/queues")] == ["jobs"]


@pytest.mark.parametrize(
    ("target", "body", "status", "reason"),
    [
        ("%2F/q", b"{bad", 400, "not_json"),
        ("%2F/q", b"[]", 400, "not_json"),
        ("%2F/q", b"[" * 100_000, 400, "not_json"),
        ("%2F/q", b"\xff", 400, "not_json"),
        ("%2F/q", {"durable": "x"}, 400, ["not_boolean", "x"]),
        ("%2F/q", {"durable": 1}, 400, ["not_boolean", 1]),
        ("%2F/q", {"arguments": 7}, 400, ["not_a_map", "arguments"]),
        ("%2F/q", {**DURABLE, "arguments": {"x-expires": "soon"}}, 400, None),
        ("%2F/q", {**DURABLE, "arguments": {"x": 1 << 70}}, 400, None),
        ("%2F/q", {**DURABLE, "arguments": {"x-queue-type": "nonsense"}}, 400, None),
        ("%2F/" + "q" * 256, DURABLE, 400, None),
        ("%2F/amq.mine", DURABLE, 401, "Access refused."),
        ("none/q", DURABLE, 404, "vhost_not_found"),
        ("%2F/q", {"durable": "true", "auto_delete": "false", "arguments": []}, 201, None),
        ("%2F/a%2Fb%20c", DURABLE, 201, None),
    ],
)
def test_declarations(api: Api, target: str, body: Any, status: int, reason: Any) -> None:
    answer = api.ask("PUT", f"/api/queues/{target}", body)
    assert answer.status == status
    if reason is not None:
        assert reason_of(answer) == reason
    assert api.ask("GET", f"/api/queues/{target}").status == (200 if status == 201 else 404)


@pytest.mark.parametrize(("release", "status"), [("4.2", 201), ("4.3", 400)])
def test_what_a_release_refuses_is_refused(release: str, status: int) -> None:
    answer = Api(World(rabbitmq=release)).ask("PUT", QUEUE, {"durable": False})
    assert answer.status == status
    if status == 400:
        assert str(reason_of(answer)).startswith("Feature `transient_nonexcl_queues` is deprecated.")


@pytest.mark.parametrize(
    "changes",
    [
        {"versions": (AMQP_1_0,)},
        {"mechanisms": ("SCRAM-SHA-256",)},
        {"dialect": "qpid"},
        {"dialect": "specification"},
        {"connection_limits": Limits(unparsed=8192, channels=1)},
        {"heartbeat": 0},
        {"anonymous": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_it_works_whatever_clients_may_speak(changes: dict[str, Any]) -> None:
    world: hub.World[Any] = hub.World(Settings(**changes))
    api = Api(world)
    assert api.ask("PUT", QUEUE, DURABLE).status == 201
    sent = {**PUBLISH, "payload": "x" * 100_000}
    assert api.ask("POST", "/api/exchanges/%2F/amq.default/publish", sent).content == {"routed": True}
    (found,) = api.ask("POST", f"{QUEUE}/get", GET).content
    assert found["payload"] == sent["payload"]
    assert api.ask("PUT", QUEUE, {"durable": False}).status == 400


def test_deleting(world: World, api: Api) -> None:
    channel = world.channel()
    channel.publish(b"one", "jobs")
    answer = api.ask("DELETE", f"{QUEUE}?if-empty=true")
    assert (answer.status, reason_of(answer)) == (400, "queue 'jobs' in vhost '/' not empty")
    channel.consume("jobs")
    answer = api.ask("DELETE", f"{QUEUE}?if-unused=true")
    assert (answer.status, reason_of(answer)) == (400, "queue 'jobs' in vhost '/' in use")
    assert api.ask("DELETE", QUEUE).status == 204
    assert api.ask("DELETE", QUEUE).status == 404
    assert api.get("/api/consumers") == []


def test_purging(world: World, api: Api) -> None:
    channel = world.channel()
    for _ in range(3):
        channel.publish(b"one", "jobs")
    assert api.ask("DELETE", f"{QUEUE}/contents").status == 204
    assert api.get(QUEUE)["messages"] == 0
    assert api.ask("DELETE", "/api/queues/%2F/none/contents").status == 404
    for body, status in (({"action": "sync"}, 204), ({"action": "x"}, 400)):
        assert api.ask("POST", f"{QUEUE}/actions", body).status == status


@pytest.mark.parametrize("what", ["", "/contents"])
def test_an_exclusive_queue_is_its_connections(world: World, what: str) -> None:
    world.channel().declare("mine", exclusive=True)
    answer = Api(world).ask("DELETE", f"/api/queues/%2F/mine{what}")
    assert answer.status == 400
    assert str(reason_of(answer)).startswith("cannot obtain exclusive access to locked queue 'mine' in vhost '/'.")


# Messages.


@given(st.binary(max_size=300), st.booleans())
def test_what_is_published_is_got(body: bytes, as_text: bool) -> None:
    api = Api(World())
    api.ask("PUT", QUEUE, DURABLE)
    try:
        text = body.decode() if as_text else ""
    except UnicodeDecodeError:
        as_text = False
        text = ""
    payload = {"payload": text if as_text else b64encode(body).decode()}
    sent = {**PUBLISH, **payload, "payload_encoding": "string" if as_text else "base64"}
    assert api.ask("POST", "/api/exchanges/%2F/amq.default/publish", sent).content == {"routed": True}
    (auto,) = api.ask("POST", f"{QUEUE}/get", GET).content
    (base64,) = api.ask("POST", f"{QUEUE}/get", {**GET, "encoding": "base64"}).content
    decoded = auto["payload"].encode() if auto["payload_encoding"] == "string" else b64decode(auto["payload"])
    assert decoded == b64decode(base64["payload"]) == body
    assert auto["payload_bytes"] == len(body)
    assert (auto["redelivered"], base64["redelivered"]) == (False, True)


def test_properties(world: World, api: Api) -> None:
    given = {
        "content_type": "text/plain",
        "headers": {"a": 1, "b": [True, None, {"c": "d"}]},
        "delivery_mode": 2,
        "priority": 3,
        "timestamp": 1_700_000_000,
        "expiration": "60000",
        "message_id": "m",
        "correlation_id": "c",
        "reply_to": "r",
        "type": "t",
        "app_id": "a",
        "user_id": "guest",
    }
    sent = {**PUBLISH, "properties": {**given, "nonsense": 1}}
    assert api.ask("POST", "/api/exchanges/%2F/amq.default/publish", sent).content == {"routed": True}
    (found,) = api.ask("POST", f"{QUEUE}/get", GET).content
    assert found["properties"] == given
    got = world.channel().get("jobs")
    assert (got.body, got.properties.content_type, got.properties.priority) == (b"hello", "text/plain", 3)


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"routing_key": "nowhere"}, 200, None),
        ({"payload": 5}, 400, "payload_not_string"),
        ({"payload_encoding": "zip"}, 400, ["unsupported_encoding", "zip"]),
        ({"payload": "!!!", "payload_encoding": "base64"}, 400, ["not_base64", "!!!"]),
        ({"properties": {"priority": "high"}}, 400, ["not_int", "priority"]),
        ({"properties": {"priority": 256}}, 400, None),
        ({"properties": {"headers": 1}}, 400, ["not_a_map", "headers"]),
        ({"properties": {"type": 1}}, 400, ["not_string", "type"]),
        ({"properties": []}, 400, ["not_a_map", "properties"]),
        ({"properties": {"user_id": "other"}}, 400, None),
        ({"properties": {"content_type": "x" * 256}}, 400, None),
        ({"routing_key": 1}, 400, ["not_string", "routing_key"]),
        ({"routing_key": "x" * 256}, 400, None),
    ],
)
def test_publishes(api: Api, changes: dict[str, Any], status: int, reason: Any) -> None:
    answer = api.ask("POST", "/api/exchanges/%2F/amq.default/publish", {**PUBLISH, **changes})
    assert answer.status == status
    if status == 200:
        assert answer.content == {"routed": False}
    elif reason is not None:
        assert reason_of(answer) == reason
    assert api.get(QUEUE)["messages"] == 0


def test_a_publish_that_its_queue_refuses(api: Api) -> None:
    full = {**DURABLE, "arguments": {"x-max-length": 1, "x-overflow": "reject-publish"}}
    assert api.ask("PUT", "/api/queues/%2F/full", full).status == 201
    sent = {**PUBLISH, "routing_key": "full"}
    answers = [api.ask("POST", "/api/exchanges/%2F/amq.default/publish", sent) for _ in range(2)]
    assert [each.status for each in answers] == [200, 400]
    assert reason_of(answers[1]) == "rejected Unable to publish message. Check queue limits."


def test_a_publish_that_has_nowhere_to_go(api: Api) -> None:
    answer = api.ask("POST", "/api/exchanges/%2F/none/publish", PUBLISH)
    assert (answer.status, reason_of(answer)) == (400, "404 NOT_FOUND - no exchange 'none' in vhost '/'")
    assert api.ask("POST", "/api/exchanges/none/amq.default/publish", PUBLISH).status == 401
    answer = api.ask("POST", "/api/exchanges/%2F/amq.default/publish", {"routing_key": "jobs"})
    text = "[{key_missing,properties},{key_missing,payload},{key_missing,payload_encoding}]"
    assert reason_of(answer) == text


@pytest.mark.parametrize(
    ("mode", "left", "redelivered"),
    [
        ("ack_requeue_true", 3, True),
        ("reject_requeue_true", 3, True),
        ("ack_requeue_false", 1, False),
        ("reject_requeue_false", 1, False),
    ],
)
def test_modes_of_a_get(world: World, api: Api, mode: str, left: int, redelivered: bool) -> None:
    channel = world.channel()
    for number in range(3):
        channel.publish(b"%d" % number, "jobs")
    found = api.ask("POST", f"{QUEUE}/get", {**GET, "ackmode": mode, "count": "2", "truncate": 0}).content
    assert [each["payload_bytes"] for each in found] == [1, 1] and [each["payload"] for each in found] == ["", ""]
    assert [each["message_count"] for each in found] == [2, 1]
    row = api.get(QUEUE)
    assert (row["messages_ready"], row["messages_unacknowledged"]) == (left, 0)
    assert channel.get("jobs").method.redelivered is redelivered


def test_what_a_get_rejects_is_dead_lettered(world: World) -> None:
    api = Api(world)
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    for name, arguments in (("jobs", dead), ("dead", {})):
        assert api.ask("PUT", f"/api/queues/%2F/{name}", {**DURABLE, "arguments": arguments}).status == 201
    world.channel().publish(b"one", "jobs")
    api.ask("POST", f"{QUEUE}/get", {**GET, "ackmode": "reject_requeue_false"})
    assert api.get("/api/queues/%2F/dead")["messages"] == 1


@pytest.mark.parametrize(
    ("target", "changes", "status", "reason"),
    [
        ("jobs", {"count": "x"}, 400, ["not_integer", "x"]),
        ("jobs", {"count": True}, 400, ["not_integer", True]),
        ("jobs", {"count": 0}, 200, None),
        ("jobs", {"count": -1}, 200, None),
        ("jobs", {"ackmode": "no"}, 400, ["unknown_ackmode", "no"]),
        ("jobs", {"encoding": "no"}, 400, "Unsupported encoding. Please use auto or base64."),
        ("jobs", {"truncate": "x"}, 400, ["not_integer", "x"]),
        ("none", {}, 404, "NOT_FOUND - no queue 'none' in vhost '/'"),
    ],
)
def test_gets(api: Api, target: str, changes: dict[str, Any], status: int, reason: Any) -> None:
    answer = api.ask("POST", f"/api/queues/%2F/{target}/get", {**GET, **changes})
    assert answer.status == status
    if reason is None:
        assert answer.content == []
    else:
        assert reason_of(answer) == reason


# Exchanges and bindings.


def test_exchanges(api: Api) -> None:
    assert api.ask("PUT", EXCHANGE, {"type": "topic", "durable": True}).status == 201
    assert api.ask("PUT", EXCHANGE, {"type": "topic", "durable": True}).status == 204
    answer = api.ask("PUT", EXCHANGE, {"type": "direct", "durable": True})
    text = "inequivalent arg 'type' for exchange 'orders' in vhost '/': received 'direct' but current is 'topic'"
    assert (answer.status, reason_of(answer)) == (400, text)
    assert api.ask("POST", "/api/bindings/%2F/e/orders/q/jobs", {"routing_key": "a"}).status == 201
    answer = api.ask("DELETE", f"{EXCHANGE}?if-unused=true")
    assert (answer.status, reason_of(answer)) == (400, "exchange 'orders' in vhost '/' in use")
    assert [api.ask("DELETE", EXCHANGE).status, api.ask("DELETE", EXCHANGE).status] == [204, 404]


@pytest.mark.parametrize(
    ("method", "name", "body", "status"),
    [
        ("PUT", "amq.mine", {}, 401),
        ("PUT", "amq.default", {}, 401),
        ("DELETE", "amq.default", None, 401),
        ("DELETE", "amq.direct", None, 401),
        ("PUT", "new", {"type": "nope"}, 400),
        ("PUT", "new", {"type": 5}, 400),
        ("PUT", "new", {}, 201),
    ],
)
def test_exchanges_of_the_broker(api: Api, method: str, name: str, body: Any, status: int) -> None:
    assert api.ask(method, f"/api/exchanges/%2F/{name}", body).status == status


TABLES = st.dictionaries(
    st.text(max_size=5).filter(lambda name: not name.startswith("x-")),
    st.one_of(st.booleans(), st.integers(-9, 9), st.text(max_size=5)),
    max_size=2,
)
CHARACTERS = st.characters(codec="utf-8")
NAMES = st.text(CHARACTERS, min_size=1, max_size=20)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.text(CHARACTERS, max_size=20), TABLES), max_size=4), NAMES)
def test_each_binding_has_a_key_and_goes_by_it(wanted: list[tuple[str, dict[str, Any]]], name: str) -> None:
    api = Api(World())
    queue = quote(name, safe="")
    if api.ask("PUT", f"/api/queues/%2F/{queue}", DURABLE).status != 201:
        return
    where = f"/api/bindings/%2F/e/amq.fanout/q/{queue}"
    for key, arguments in wanted:
        answer = api.ask("POST", where, {"routing_key": key, "arguments": arguments})
        assert answer.status == 201 and answer.headers["location"].isascii()
        # What the path names, it names below that of the ends.
        row = api.get(f"{where}/{answer.headers['location'].rpartition('/')[2]}")
        assert (row["routing_key"], row["arguments"]) == (key, arguments)
    rows = api.get(where)
    kinds = {json.dumps([row["routing_key"], row["arguments"]], sort_keys=True) for row in rows}
    assert kinds == {json.dumps(each, sort_keys=True) for each in wanted}
    assert len({row["properties_key"] for row in rows}) == len(rows)
    for left, row in enumerate(reversed(rows)):
        target = f"{where}/{quote(row['properties_key'], safe='')}"
        assert [api.ask("DELETE", target).status for _ in range(2)] == [204, 404]
        assert len(api.get(where)) == len(rows) - left - 1


def test_bindings_of_exchanges(api: Api) -> None:
    api.ask("PUT", EXCHANGE, {"type": "topic", "durable": True})
    where = "/api/bindings/%2F/e/amq.direct/e/orders"
    answer = api.ask("POST", where, {"routing_key": "k"})
    assert (answer.status, answer.headers["location"]) == (201, "orders/k")
    assert [row["destination_type"] for row in api.get(where)] == ["exchange"]
    assert api.get("/api/exchanges/%2F/orders/bindings/destination") == api.get(where)
    assert api.ask("DELETE", f"{where}/k").status == 204


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "reason"),
    [
        ("POST", "none/q/jobs", {}, 404, "no exchange 'none' in vhost '/'"),
        ("POST", "amq.direct/q/none", {}, 404, "no queue 'none' in vhost '/'"),
        ("POST", "amq.default/q/jobs", {}, 401, "Access refused."),
        ("POST", "amq.direct/q/jobs", {"routing_key": 1}, 400, ["not_string", "routing_key"]),
        ("DELETE", "amq.default/q/jobs/jobs", None, 401, "Access refused."),
        ("POST", "amq.direct/x/jobs", {}, 404, "Not Found"),
    ],
)
def test_bindings(api: Api, method: str, target: str, body: Any, status: int, reason: Any) -> None:
    answer = api.ask(method, f"/api/bindings/%2F/e/{target}", body)
    assert (answer.status, reason_of(answer)) == (status, reason)


# Connections and virtual hosts.


@pytest.mark.parametrize(
    ("headers", "text"),
    [({}, "Closed via management plugin"), ({"x-reason": "enough"}, "enough"), ({"x-reason": "x" * 999}, "x" * 200)],
)
def test_closing_a_connection(world: World, headers: dict[str, str], text: str) -> None:
    channel: Talk = world.channel()
    other = world.client()
    api = Api(world)
    first, _ = api.get("/api/connections")
    channel.declare("jobs", durable=True)
    channel.consume("jobs")
    assert api.ask("DELETE", f"/api/connections/{quote(first['name'])}", headers=headers).status == 204
    report = channel.user.report
    assert (report.code, report.text) == (320, f"CONNECTION_FORCED - {text}")
    assert other.end.is_open and api.get("/api/consumers") == []
    assert api.ask("DELETE", f"/api/connections/{quote(first['name'])}").status == 404


def test_virtual_hosts(world: World) -> None:
    api = Api(world)
    assert [api.ask("PUT", "/api/vhosts/a%2Fb").status for _ in range(2)] == [201, 204]
    assert api.ask("PUT", "/api/queues/a%2Fb/jobs", DURABLE).status == 201
    assert [each["vhost"] for each in api.get("/api/queues")] == ["a/b"]
    assert world.client(vhost="a/b").end.is_open
    assert api.ask("PUT", f"/api/vhosts/{'x' * 256}").status == 400
