"""The same requests to RabbitMQ's management API and to the embedded broker's: statuses, refusals, fields, values.

RabbitMQ is Debian's, 3.10; its figures are up to five seconds old, so reading waits until they have come.
"""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any, NamedTuple, cast
from urllib.parse import quote, urlsplit

import pika
import pytest
from pika.exceptions import AMQPConnectionError

from amqp_sansio.broker import User
from amqp_sansio_pytest import EmbeddedBroker
from tests.interop.brokers.rabbitmq import RabbitMQ

PATIENCE_S = 30.0


class Told(NamedTuple):
    """An answer."""

    status: int
    content: Any
    headers: dict[str, str]


class Side:
    """One of the two brokers."""

    def __init__(self, port: int, management_port: int) -> None:
        self.port = port
        self.management_port = management_port

    def ask(self, method: str, path: str, body: Any = None, login: str = "guest:guest", **headers: str) -> Told:
        """Ask for something below /api/."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if login:
            given["authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        octets = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        if octets is not None:
            given["content-type"] = "application/json"
        connection = HTTPConnection("127.0.0.1", self.management_port, timeout=30)
        try:
            connection.request(method, f"/api/{path}", octets, given)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return Told(answer.status, json.loads(content) if content else None, fields)

    def get(self, path: str) -> Any:
        """What there is."""
        told = self.ask("GET", path)
        assert told.status == 200, (path, told)
        return told.content

    def wait(self, path: str, *fields: str) -> Any:
        """What there is, once it, or its first row, has these fields with values that aren't 0."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            found = self.ask("GET", path)
            rows = rows_of(found.content) or rows_of([found.content])
            if rows and all([rows[0].get(name) for name in fields]):
                return found.content
            assert time.monotonic() < deadline, (path, found)
            time.sleep(0.2)

    def connect(self, **properties: str) -> Any:
        """A client of 0-9-1."""
        parameters = pika.ConnectionParameters("127.0.0.1", self.port, client_properties=properties)
        return pika.BlockingConnection(parameters)


class Both(NamedTuple):
    """RabbitMQ, and the broker under test."""

    real: Side
    ours: Side


@pytest.fixture(scope="module")
def both(managed_rabbitmq: RabbitMQ) -> Iterator[Both]:
    users: dict[str, str | User] = {"guest": "guest", "noperm": User("noperm", tags=("none",))}
    with EmbeddedBroker(clock="real", users=users, rabbitmq="3.13") as broker:
        management_port = urlsplit(broker.management_url).port
        assert management_port is not None
        real = Side(managed_rabbitmq.port, managed_rabbitmq.management_port)
        yield Both(real, Side(broker.port, management_port))
        assert broker.errors == []


# Requests in order. Each side starts with nothing, and each row sees what those before it have done.

QUEUE, OTHER = "queues/%2F/h1", "queues/%2F/h2"
EXCHANGE, BINDING = "exchanges/%2F/x1", "bindings/%2F/e/x1/q/h1"
PUBLISH = "exchanges/%2F/amq.default/publish"
MESSAGE: dict[str, Any] = {
    "properties": {"delivery_mode": 2, "headers": {"a": 1}, "content_type": "text/plain", "timestamp": 123},
    "routing_key": "h1",
    "payload": "hello",
    "payload_encoding": "string",
}
GET: dict[str, Any] = {"count": 5, "ackmode": "ack_requeue_true", "encoding": "auto"}
STEPS: list[tuple[str, str, Any]] = [
    *[("GET", path, None) for path in ("nonsense", "queues/none", "queues/none/h", "vhosts/none", "consumers/none")],
    *[("GET", path, None) for path in ("connections/none", "channels/none", "exchanges/%2F/none", "queues/%2F/%zz")],
    *[("DELETE", path, None) for path in ("overview", "connections/none", QUEUE, EXCHANGE, f"{QUEUE}/contents")],
    *[("POST", path, {}) for path in ("overview", "queues", QUEUE)],
    *[(method, QUEUE, None) for method in ("OPTIONS", "PATCH")],
    ("GET", "bindings/%2F/e/none/q/h1", None),
    # Queues.
    ("PUT", QUEUE, {"durable": True, "arguments": {"x-max-length": 5}}),
    ("PUT", QUEUE, {"durable": True, "arguments": {"x-max-length": 5}}),
    ("PUT", QUEUE, {"durable": False}),
    ("PUT", OTHER, b"{bad"),
    ("PUT", OTHER, b"[]"),
    ("PUT", OTHER, {"durable": "x"}),
    ("PUT", OTHER, {"durable": "true", "auto_delete": "false", "arguments": []}),
    ("GET", f"{OTHER}?columns=name,durable,auto_delete", None),
    ("PUT", "queues/none/h3", {}),
    ("PUT", "queues/%2F/amq.foo", {}),
    ("PUT", "queues/%2F/", {}),
    # Messages.
    ("POST", PUBLISH, MESSAGE),
    ("POST", PUBLISH, {**MESSAGE, "payload": "/wA=", "payload_encoding": "base64", "properties": {}}),
    ("POST", PUBLISH, {**MESSAGE, "routing_key": "nowhere"}),
    ("POST", PUBLISH, {**MESSAGE, "payload_encoding": "zip"}),
    ("POST", PUBLISH, {**MESSAGE, "payload": "!!!", "payload_encoding": "base64"}),
    ("POST", PUBLISH, {**MESSAGE, "payload": 5}),
    ("POST", PUBLISH, {**MESSAGE, "properties": {"nope": 1}}),
    ("POST", PUBLISH, {**MESSAGE, "properties": {"priority": "high"}}),
    ("POST", "exchanges/%2F/none/publish", MESSAGE),
    ("POST", "exchanges/none/amq.default/publish", MESSAGE),
    ("GET", PUBLISH, None),
    ("POST", f"{QUEUE}/get", GET),
    ("POST", f"{QUEUE}/get", {**GET, "truncate": 3, "encoding": "base64"}),
    ("POST", f"{QUEUE}/get", {"count": 1}),
    ("POST", f"{QUEUE}/get", {**GET, "encoding": "no"}),
    ("POST", f"{QUEUE}/get", {**GET, "count": "x"}),
    ("POST", f"{QUEUE}/get", {**GET, "count": 0}),
    ("POST", f"{QUEUE}/get", {**GET, "count": "1", "ackmode": "reject_requeue_true"}),
    ("POST", f"{QUEUE}/get", {**GET, "count": 1, "ackmode": "reject_requeue_false"}),
    ("POST", f"{QUEUE}/get", {**GET, "ackmode": "ack_requeue_false"}),
    ("POST", f"{QUEUE}/get", GET),
    ("POST", "queues/%2F/none/get", GET),
    ("POST", PUBLISH, MESSAGE),
    ("DELETE", f"{QUEUE}?if-empty=true", None),
    ("DELETE", f"{QUEUE}/contents", None),
    ("DELETE", f"{QUEUE}/contents", None),
    ("GET", f"{QUEUE}/contents", None),
    # A queue that refuses.
    ("PUT", "queues/%2F/full", {"durable": True, "arguments": {"x-max-length": 1, "x-overflow": "reject-publish"}}),
    ("POST", PUBLISH, {**MESSAGE, "routing_key": "full"}),
    ("POST", PUBLISH, {**MESSAGE, "routing_key": "full"}),
    # Exchanges and bindings.
    ("PUT", EXCHANGE, {"type": "fanout", "durable": True}),
    ("PUT", EXCHANGE, {"type": "fanout", "durable": True}),
    ("PUT", EXCHANGE, {"type": "direct"}),
    ("PUT", "exchanges/%2F/x2", {}),
    ("PUT", "exchanges/%2F/x3", {"type": "nope"}),
    ("PUT", "exchanges/%2F/amq.x", {"type": "direct"}),
    ("PUT", "exchanges/%2F/amq.default", {"type": "direct"}),
    ("DELETE", "exchanges/%2F/amq.default", None),
    ("DELETE", "exchanges/%2F/amq.direct", None),
    ("POST", BINDING, {"routing_key": ""}),
    ("POST", BINDING, {}),
    ("POST", BINDING, {"routing_key": "k k/~"}),
    ("GET", BINDING, None),
    ("POST", "bindings/%2F/e/x1/e/x2", {"routing_key": "z"}),
    ("GET", "bindings/%2F/e/x1/e/x2", None),
    ("GET", "exchanges/%2F/x2/bindings/destination", None),
    ("GET", "exchanges/%2F/x1/bindings/source", None),
    ("GET", f"{QUEUE}/bindings", None),
    ("POST", "bindings/%2F/e/none/q/h1", {}),
    ("POST", "bindings/%2F/e/x1/q/none", {}),
    ("POST", "bindings/%2F/e/amq.default/q/h1", {}),
    ("GET", "bindings/%2F/e/amq.default/q/h1", None),
    ("GET", f"{BINDING}/~", None),
    ("GET", f"{BINDING}/none", None),
    ("DELETE", f"{BINDING}/none", None),
    ("DELETE", f"{BINDING}/~", None),
    ("DELETE", f"{BINDING}/~", None),
    ("DELETE", f"{BINDING}/k%2Bk%252F%257E", None),
    ("GET", BINDING, None),
    ("PUT", f"{BINDING}/~", {}),
    ("DELETE", "bindings/%2F/e/amq.default/q/h1/h1", None),
    ("DELETE", f"{EXCHANGE}?if-unused=true", None),
    # Pages.
    *[
        ("GET", f"queues/%2F?{query}&columns=name,arguments.x-max-length", None)
        for query in (
            *("page=1&page_size=2", "page=2&page_size=2", "page=9&page_size=2", "page=0", "page=x", "page=1"),
            *("page=1&page_size=501", "page=1&page_size=0", "page_size=2", "page=1&name=h", "page=1&name=H"),
            *("page=1&name=%5Eh[0-9]%24&use_regex=true", "page=1&name=%5EH&use_regex=true", "page=1&name=none"),
            *("name=h", "sort=name&sort_reverse=true", "page=1&page_size=2&sort=name&sort_reverse=true"),
            *("sort=nothing", "sort_reverse=true", "page=1&name=h&use_regex=x"),
        )
    ],
    *[("GET", f"health/checks/{check}", None) for check in ("alarms", "local-alarms", "virtual-hosts")],
    ("GET", "health/checks/node-is-quorum-critical", None),
    ("GET", "health/checks/node-is-mirror-sync-critical", None),
    ("GET", "healthchecks/node", None),
    ("GET", "whoami", None),
    ("PUT", "vhosts/new%2Fone", None),
    ("PUT", "vhosts/new%2Fone", None),
    # The end.
    *[("DELETE", path, None) for path in (EXCHANGE, "exchanges/%2F/x2", QUEUE, OTHER, "queues/%2F/full", QUEUE)],
    ("GET", "queues/%2F", None),
]


def told_of(told: Told) -> tuple[Any, ...]:
    """What has to be equal. Breaks in RabbitMQ's printed terms, and the order in which it lists, mean nothing."""
    allowed = told.headers.get("allow")
    return (
        told.status,
        _plain(told.content),
        None if allowed is None else sorted(allowed.split(", ")),
        told.headers.get("location"),
        told.headers.get("www-authenticate"),
    )


def _plain(content: Any) -> Any:
    rows = rows_of(content)
    if rows and "properties_key" in rows[0]:
        return sorted(rows, key=_as_text)
    for row in rows_of([content]):
        if isinstance(row.get("reason"), str):
            return {**row, "reason": str(row["reason"]).replace(",\n ", ",")}
    return content


def rows_of(content: object) -> list[dict[str, Any]]:
    """The rows of a list; none of anything else."""
    there = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("dict[str, Any]", row) for row in there if isinstance(row, dict)]


def _as_text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def test_the_same_requests_have_the_same_answers(both: Both) -> None:
    wrong: list[str] = []
    for number, (method, path, body) in enumerate(STEPS):
        real, ours = [told_of(side.ask(method, path, body)) for side in both]
        if real != ours:
            wrong.append(f"{number}: {method} {path} {body}\n  RabbitMQ: {real}\n  ours:     {ours}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("login", ["", "guest:wrong", "nobody:x", "noperm:noperm", "guest:guest"])
def test_logins(both: Both, login: str) -> None:
    real, ours = [told_of(side.ask("GET", "whoami", login=login)) for side in both]
    assert real == ours


def kind_of(value: Any) -> str:
    """The JSON type of a value; numbers are one."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return type(cast("object", value)).__name__


def differences(real: Any, ours: Any, equal: tuple[str, ...]) -> list[str]:
    """Fields of a row that RabbitMQ's lacks or has with another type or, of those named, another value."""
    found = [f"{name} isn't in RabbitMQ's" for name in ours.keys() - real.keys()]
    for name in ours.keys() & real.keys():
        kinds = {kind_of(real[name]), kind_of(ours[name])} - {"NoneType"}
        if len(kinds) > 1:
            found.append(f"{name}: {real[name]!r}, and here {ours[name]!r}")
    return [
        *found,
        *[f"{name}: {real[name]!r}, and here {ours.get(name)!r}" for name in equal if real[name] != ours[name]],
    ]


QUEUES = "queues/%2F/shown"
ROWS: list[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = [
    (QUEUES, "shown", ("messages",), ("name", "vhost", "durable", "auto_delete", "exclusive", "arguments")),
    (
        "queues/%2F/shown",
        "shown",
        ("messages",),
        ("messages", "messages_ready", "messages_unacknowledged", "consumers"),
    ),
    (QUEUES, "shown", ("messages",), ("state", "type", "policy", "effective_policy_definition")),
    ("queues/%2F", "shown", ("messages",), ("name", "consumers", "messages", "exclusive_consumer_tag")),
    ("exchanges/%2F/e1", "e1", (), ("name", "vhost", "type", "durable", "auto_delete", "internal", "arguments")),
    ("exchanges/%2F/amq.direct", "amq.direct", (), ("name", "vhost", "type", "durable", "auto_delete", "internal")),
    ("vhosts/%2F", "/", ("messages",), ("name", "description", "tags", "messages", "tracing")),
    ("overview", "", ("object_totals",), ("disable_stats",)),
    ("nodes", "", ("uptime",), ("running", "type", "mem_alarm", "disk_free_alarm", "partitions")),
    (
        "connections",
        "",
        ("channels", "client_properties"),
        ("user", "vhost", "state", "protocol", "type", "channels", "channel_max", "frame_max", "timeout", "ssl"),
    ),
    (
        "connections",
        "",
        ("channels",),
        ("client_properties", "user_provided_name", "host", "peer_host", "auth_mechanism"),
    ),
    (
        "channels",
        "",
        ("consumer_count",),
        ("number", "user", "vhost", "state", "confirm", "transactional", "prefetch_count"),
    ),
    ("channels", "", ("consumer_count",), ("consumer_count", "messages_unacknowledged", "global_prefetch_count")),
    ("consumers", "", ("queue",), ("consumer_tag", "exclusive", "ack_required", "prefetch_count", "queue", "active")),
    ("consumers", "", ("queue",), ("arguments", "activity_status")),
]


def ignore(*told: object) -> None:
    """What a consumer does with its messages."""


@pytest.fixture(scope="module")
def shown(both: Both) -> Iterator[Both]:
    """A client on each side, with a queue, a binding, a consumer and messages."""
    connections = [side.connect(connection_name="mine") for side in both]
    for connection in connections:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=1)
        channel.queue_declare("shown", durable=True, arguments={"x-max-length": 10})
        channel.exchange_declare("e1", "topic", durable=True)
        channel.queue_bind("shown", "e1", "a.*")
        channel.basic_consume("shown", ignore, consumer_tag="me")
        for _ in range(3):
            channel.basic_publish("e1", "a.b", b"hello")
        connection.process_data_events(1)
    yield both
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(("path", "name", "fields", "equal"), ROWS, ids=[f"{row[0]}-{row[3][0]}" for row in ROWS])
def test_what_is_told_has_the_names_and_types(
    shown: Both, path: str, name: str, fields: tuple[str, ...], equal: tuple[str, ...]
) -> None:
    rows: list[Any] = []
    for side in shown:
        found: Any = side.wait(path, *fields)
        named = [row for row in rows_of(found) if not name or row["name"] == name]
        rows.append(named[0] if named else found)
    real, ours = rows
    assert differences(real, ours, equal) == []


@pytest.mark.parametrize("reason", ["", "enough of it"])
def test_a_closed_connection_is_told_the_same(both: Both, reason: str) -> None:
    texts: list[str] = []
    for side in both:
        connection = side.connect(connection_name="closed")
        channel = connection.channel()
        deadline = time.monotonic() + PATIENCE_S
        while not (there := [row for row in side.get("connections") if row.get("user_provided_name") == "closed"]):
            assert time.monotonic() < deadline
        fields = {"X_Reason": reason} if reason else {}
        assert side.ask("DELETE", f"connections/{quote(there[0]['name'])}", **fields).status == 204
        with pytest.raises(AMQPConnectionError) as closed:
            while True:
                channel.queue_declare("shown", passive=True)
        texts.append(repr(closed.value))
    assert texts[0] == texts[1] and (reason or "Closed via management plugin") in texts[0]
