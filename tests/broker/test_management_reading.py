"""The management API, reading: paths and methods, who is let in, what is told of each thing, in every version."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from amqp_sansio import Side, Version
from amqp_sansio.broker import Settings, User
from amqp_sansio.broker.management.api import ROUTES
from amqp_sansio.sasl import Plain
from tests.kit import hub
from tests.kit.hub_classic import World
from tests.kit.management import Api
from tests.kit.versions import EVERY, KITS

NOT_FOUND = {"error": "Object Not Found", "reason": "Not Found"}


def filled() -> tuple[World, Api]:
    """A client with a consumer that holds one of two messages, and what it has declared."""
    world = World()
    channel = world.client(properties={"connection_name": "mine"}).channel()
    channel.declare("jobs", durable=True, arguments={"x-max-length": 10})
    channel.call("exchange.declare", exchange="orders", type="topic", durable=True)
    channel.call("queue.bind", queue="jobs", exchange="orders", routing_key="a.*", arguments={"k": 1})
    channel.call("basic.qos", prefetch_count=1)
    channel.consume("jobs", "me")
    channel.publish(b"one", "a.b", "orders")
    channel.publish(b"two", "jobs")
    return world, Api(world)


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in ROUTES])
def test_each_path_has_its_methods(pattern: str) -> None:
    api = Api(World())
    handlers = dict(ROUTES)[pattern]
    target = f"/api/{pattern.replace('{q,e}', 'q').replace('*', 'x')}"
    allowed = [*(["HEAD"] if "GET" in handlers else []), *handlers, "OPTIONS"]
    for method in ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "nonsense"):
        answer = api.ask(method, target, {})
        if method not in allowed:
            assert (answer.status, answer.has_content) == (405, False)
            assert set(answer.headers["allow"].split(", ")) == set(allowed)
        else:
            assert answer.status != 405


@pytest.mark.parametrize("target", ["/", "/api", "/api/nonsense", "/other/queues", "/api/queues//q", ""])
def test_other_paths_are_not_found(target: str) -> None:
    answer = Api(World()).ask("GET", target)
    assert (answer.status, answer.content) == (404, NOT_FOUND)


@pytest.mark.parametrize("target", ["%zz", "%", "%2", "%ff", "a%C3", "q?name=%zz"])
def test_what_is_no_encoding_of_text(target: str) -> None:
    answer = Api(World()).ask("GET", f"/api/queues/%2F/{target}")
    assert (answer.status, answer.has_content) == (400, False)


@pytest.mark.parametrize(
    "target",
    [
        *("queues/%2F/none", "queues/none", "queues/none/jobs", "exchanges/%2F/none", "vhosts/none", "consumers/none"),
        *("connections/none", "channels/none", "channels/x (1)", "nodes/none", "bindings/none", "aliveness-test/none"),
        *("bindings/%2F/e/orders/q/jobs/none", "queues/%2F/none/bindings", "health/checks/port-listener/x"),
    ],
)
def test_what_is_not_there_is_not_found(target: str) -> None:
    _, api = filled()
    answer = api.ask("GET", f"/api/{target}")
    assert (answer.status, answer.content) == (404, NOT_FOUND)


# Who is let in.


@pytest.mark.parametrize(
    ("login", "status", "reason"),
    [
        ("", 401, None),
        ("guest:wrong", 401, "Login failed"),
        ("nobody:guest", 401, "Login failed"),
        ("guest", 401, "Login failed"),
        ("cert:", 401, "Login failed"),
        ("none:pw", 401, "Not management user"),
        ("guest:guest", 200, None),
        ("small:pw", 200, None),
    ],
)
def test_logins(login: str, status: int, reason: str | None) -> None:
    users = {
        "guest": "guest",
        "cert": User(),
        "none": User("pw", tags=("x",)),
        "small": User("pw", ("/",), ("management",)),
    }
    answer = Api(World(users=users)).ask("GET", "/api/whoami", login=login)
    assert answer.status == status
    if status == 401:
        assert (answer.content["reason"] if answer.has_content else None) == reason
        assert ("www-authenticate" in answer.headers) == (reason != "Not management user")
    else:
        assert answer.content["name"] == login.partition(":")[0]


@pytest.mark.parametrize("given", ["Bearer x", "Basic", "Basic !!", "Basic /w==", "basic Z3Vlc3Q6Z3Vlc3Q="])
def test_other_authorizations(given: str) -> None:
    answer = Api(World()).ask("GET", "/api/whoami", login="", headers={"authorization": given})
    assert answer.status == (200 if given.startswith("basic") else 401)


def test_a_user_sees_its_virtual_hosts_and_connections() -> None:
    users = {"guest": "guest", "me": User("pw", ("mine",), ("management",))}
    world = World(users=users, vhosts=("/", "mine"))
    world.channel().declare("jobs", durable=True)
    api = Api(world)
    assert [each["name"] for each in api.get("/api/vhosts", login="me:pw")] == ["mine"]
    assert api.get("/api/queues", login="me:pw") == api.get("/api/connections", login="me:pw") == []
    assert [each["name"] for each in api.get("/api/queues")] == ["jobs"]
    name = quote(api.get("/api/connections")[0]["name"])
    for method, target in (
        ("GET", "queues/%2F"),
        ("GET", "queues/%2F/jobs"),
        ("GET", f"connections/{name}"),
        ("DELETE", f"connections/{name}"),
        ("PUT", "queues/%2F/other"),
        ("PUT", "vhosts/other"),
        ("POST", "exchanges/%2F/amq.default/publish"),
    ):
        assert api.ask(method, f"/api/{target}", {}, login="me:pw").status == 401
    assert len(api.get("/api/connections")) == 1


# What is told.


def test_the_broker() -> None:
    world, api = filled()
    world.hub.change_urls(("amqp:tcp:127.0.0.1:5672", "amqp:tls:[::1]:5671"))
    found = api.get("/api/overview")
    release = world.hub.settings.rabbitmq
    assert found["rabbitmq_version"] == found["management_version"] == f"{release}.0"
    assert found["queue_totals"] == {"messages": 2, "messages_ready": 1, "messages_unacknowledged": 1}
    assert found["object_totals"] == {
        "channels": 1,
        "connections": 1,
        "consumers": 1,
        "exchanges": len(api.get("/api/exchanges")),
        "queues": 1,
    }
    assert [(each["protocol"], each["ip_address"], each["port"]) for each in found["listeners"]] == [
        ("amqp", "127.0.0.1", 5672),
        ("amqp/ssl", "::1", 5671),
    ]
    (node,) = api.get("/api/nodes")
    assert node["name"] == found["node"] and api.get(f"/api/nodes/{quote(node['name'])}") == node
    (vhost,) = api.get("/api/vhosts")
    assert vhost == api.get("/api/vhosts/%2F") and (vhost["name"], vhost["messages"]) == ("/", 2)
    assert api.get("/api/cluster-name") == {"name": world.hub.settings.name}
    for check, status in (("5672", 200), ("5673", 503)):
        assert api.ask("GET", f"/api/health/checks/port-listener/{check}").status == status
    for check, status in (("amqp", 200), ("mqtt", 503)):
        assert api.ask("GET", f"/api/health/checks/protocol-listener/{check}").status == status


@pytest.mark.parametrize("check", ["alarms", "local-alarms"])
def test_an_alarm(check: str) -> None:
    world, api = filled()
    assert api.get(f"/api/health/checks/{check}") == {"status": "ok"}
    world.hub.model.hold_publishers("enough")
    world.hub.settle()
    answer = api.ask("GET", f"/api/health/checks/{check}")
    assert (answer.status, answer.content["status"]) == (503, "failed")
    assert api.get("/api/connections")[0]["state"] == "blocked"
    assert api.ask("POST", "/api/exchanges/%2F/amq.default/publish", PUBLISH).status == 503
    world.hub.model.hold_publishers("")
    world.hub.settle()
    assert api.get(f"/api/health/checks/{check}") == {"status": "ok"}
    assert api.get("/api/connections")[0]["state"] == "running"


PUBLISH: dict[str, Any] = {"routing_key": "jobs", "properties": {}, "payload": "three", "payload_encoding": "string"}


def test_a_queue() -> None:
    world, api = filled()
    (row,) = api.get("/api/queues")
    whole = api.get("/api/queues/%2F/jobs")
    assert [row] == api.get("/api/queues/%2F") and row.items() < whole.items()
    told = {
        "name": "jobs",
        "vhost": "/",
        "durable": True,
        "auto_delete": False,
        "exclusive": False,
        "arguments": {"x-max-length": 10},
        "messages": 2,
        "messages_ready": 1,
        "messages_unacknowledged": 1,
        "message_bytes_ready": 3,
        "consumers": 1,
        "state": "running",
        "type": "classic",
        "node": f"rabbit@{world.hub.settings.name}",
    }
    assert row.items() >= told.items()
    (consumer,) = whole["consumer_details"]
    assert [consumer] == api.get("/api/consumers") == api.get("/api/consumers/%2F")
    assert consumer["consumer_tag"] == "me" and consumer["queue"] == {"name": "jobs", "vhost": "/"}
    assert (consumer["ack_required"], consumer["prefetch_count"], consumer["active"]) == (True, 1, True)
    (channel,) = api.get("/api/channels")
    assert consumer["channel_details"]["name"] == channel["name"]


def test_figures_are_those_of_the_moment() -> None:
    world, api = filled()
    other = world.channel()
    for number in range(3):
        other.publish(b"more", "jobs")
        assert api.get("/api/queues/%2F/jobs?columns=messages_ready") == {"messages_ready": 2 + number}


def test_exchanges_and_bindings() -> None:
    _, api = filled()
    orders = api.get("/api/exchanges/%2F/orders")
    assert orders in api.get("/api/exchanges/%2F")
    assert (orders["type"], orders["durable"], orders["internal"]) == ("topic", True, False)
    assert api.get("/api/exchanges/%2F/amq.default")["name"] == ""
    own: dict[str, Any] = {
        "source": "",
        "destination": "jobs",
        "routing_key": "jobs",
        "arguments": {},
        "properties_key": "jobs",
    }
    routed: dict[str, Any] = {"source": "orders", "destination": "jobs", "routing_key": "a.*", "arguments": {"k": 1}}
    to_jobs = api.get("/api/queues/%2F/jobs/bindings")
    assert [each.items() >= wanted.items() for each, wanted in zip(to_jobs, (own, routed), strict=True)] == [True, True]
    assert to_jobs == api.get("/api/bindings") == api.get("/api/bindings/%2F")
    assert to_jobs[1:] == api.get("/api/bindings/%2F/e/orders/q/jobs")
    assert to_jobs[1:] == api.get("/api/exchanges/%2F/orders/bindings/source")
    assert to_jobs[:1] == api.get("/api/bindings/%2F/e/amq.default/q/jobs")
    assert api.get("/api/exchanges/%2F/orders/bindings/destination") == []
    assert api.get("/api/bindings/%2F/e/none/q/jobs") == api.get("/api/bindings/%2F/e/orders/q/none") == []


def test_a_channel() -> None:
    world, api = filled()
    confirming = world.users[0].channel()
    confirming.call("confirm.select")
    first, second = api.get("/api/channels")
    assert (first["number"], first["prefetch_count"], first["messages_unacknowledged"]) == (1, 1, 1)
    assert (first["confirm"], second["confirm"], first["transactional"]) == (False, True, False)
    assert api.get(f"/api/channels/{quote(second['name'])}")["consumer_details"] == []
    (consumer,) = api.get(f"/api/channels/{quote(first['name'])}")["consumer_details"]
    assert consumer["consumer_tag"] == "me"
    name = quote(api.get("/api/connections")[0]["name"])
    assert [first, second] == api.get(f"/api/connections/{name}/channels") == api.get("/api/vhosts/%2F/channels")
    assert api.get("/api/connections") == api.get("/api/vhosts/%2F/connections")


TYPES: dict[str, type[Any] | tuple[type[Any], ...]] = {
    **dict.fromkeys(("name", "host", "peer_host", "user", "vhost", "state", "protocol", "type", "node"), str),
    **dict.fromkeys(("port", "peer_port", "channels", "channel_max", "frame_max", "timeout"), int),
    "client_properties": dict,
    "ssl": bool,
    "user_provided_name": (str, type(None)),
}


@EVERY
def test_a_connection_of_every_version(version: Version) -> None:
    kit = KITS[version]
    world: hub.World[Any] = hub.World(Settings())
    user: Any = hub.User(world, kit.end(Side.CLIENT, kit.client_config(sasl=Plain("guest", "guest"))))
    world.pump()
    api = Api(world)
    (row,) = api.get("/api/connections")
    assert {name: value for name, value in row.items() if name in TYPES and not isinstance(value, TYPES[name])} == {}
    assert TYPES.keys() <= row.keys()
    assert (row["user"], row["vhost"], row["state"], row["type"]) == ("guest", "/", "running", "network")
    assert row["protocol"] == f"AMQP {version.label.replace('.', '-')}"
    assert row["name"] == f"{row['peer_host']}:{row['peer_port']} -> {row['host']}:{row['port']}"
    assert row == api.get(f"/api/connections/{quote(row['name'])}")
    assert api.ask("DELETE", f"/api/connections/{quote(row['name'])}").status == 204
    world.pump()
    report = user.end.report
    assert (report.condition or report.code) in ("amqp:connection:forced", 320)
    assert report.text == "CONNECTION_FORCED - Closed via management plugin"
    assert api.get("/api/connections") == []
