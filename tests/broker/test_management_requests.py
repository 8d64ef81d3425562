"""The management API: whatever is asked, there is an answer, and nothing stays of the asking; work goes in turns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.management.api import ROUTES
from amqp_sansio.broker.management.changing import MOST_MESSAGES, MOST_OCTETS
from tests.kit.hub_classic import World
from tests.kit.management import Api

STATUSES = {200, 201, 204, 400, 401, 404, 405, 503}
PARTS = st.sampled_from(
    ["%2F", "jobs", "amq.default", "amq.fanout", "none", "q", "e", "", "%zz", "a%00b", "~", "\ud800", "é"]
)
KNOWN = st.sampled_from([pattern for pattern, _ in ROUTES]).flatmap(
    lambda pattern: st.tuples(*[PARTS if "*" in part or "{" in part else st.just(part) for part in pattern.split("/")])
)
TARGETS = st.one_of(st.text(max_size=30), KNOWN.map(lambda parts: "/api/" + "/".join(parts)))
QUERIES = st.dictionaries(
    st.sampled_from(["page", "page_size", "name", "use_regex", "columns", "sort", "sort_reverse", "if-empty", "x"]),
    st.one_of(st.sampled_from(["1", "true", "name,vhost", ".*", "%41"]), st.text(max_size=5)),
    max_size=4,
).map(lambda values: "&".join([f"{name}={value}" for name, value in values.items()]))
JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)
NAMES = (
    *("durable", "auto_delete", "arguments", "type", "routing_key", "properties", "payload", "payload_encoding"),
    *("count", "ackmode", "encoding", "truncate", "headers", "action"),
)
USUAL: st.SearchStrategy[Any] = st.sampled_from(
    [True, "auto", "ack_requeue_true", 3, {}, {"headers": {}}, "string", "base64", "topic"]
)
BODIES: st.SearchStrategy[Any] = st.one_of(
    st.binary(max_size=20), JSON, st.dictionaries(st.sampled_from(NAMES), st.one_of(USUAL, JSON), max_size=8)
)


@given(st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD"]), TARGETS, QUERIES, BODIES)
def test_everything_has_an_answer(method: str, target: str, query: str, body: Any) -> None:
    world = World()
    channel = world.channel()
    channel.declare("jobs", durable=True)
    channel.publish(b"one", "jobs")
    before = len(world.hub.model.owners), len(world.hub.fronts)
    answer = Api(world).ask(method, f"{target}?{query}", body)
    assert answer.status in STATUSES
    assert (len(world.hub.model.owners), len(world.hub.fronts)) == before
    assert not world.hub.is_dirty and world.hub.model.ledger.busy == {}
    # The broker goes on.
    assert world.channel().call("queue.declare", queue="other", durable=True) is not None


def steps(api: Api, method: str, target: str, body: Any = None) -> tuple[int, Any]:
    """How many turns a request takes, with the hub's between them, and its answer."""
    work = api.management.begin(api.request(method, target, body))
    count = 1
    while (answer := work.go_on()) is None:
        count += 1
        for client in api.world.hub.take_dirty():
            client.next_event()
    return count, answer


def rest(world: World) -> None:
    """Let the hub do all that it has left, with the small turns that it has."""
    for _ in range(1000):
        world.pump()
        if not world.hub.is_dirty:
            return
    raise AssertionError("the hub never comes to rest")


def test_a_large_purge_leaves_turns_to_others() -> None:
    world = World(limits=BrokerLimits(turn=100))
    channel = world.channel()
    channel.declare("jobs", durable=True)
    for _ in range(1000):
        channel.core.publish(b"x", routing_key="jobs")
    rest(world)
    assert channel.count("jobs") == 1000
    turns, answer = steps(Api(world), "DELETE", "/api/queues/%2F/jobs/contents")
    assert answer.status == 204 and turns >= 10
    assert channel.count("jobs") == 0


@pytest.mark.parametrize("after", [1, 2, 3, 5, 8])
def test_what_is_given_up_leaves_nothing(after: int) -> None:
    world = World(limits=BrokerLimits(turn=100))
    channel = world.channel()
    channel.declare("jobs", durable=True)
    for _ in range(300):
        channel.core.publish(b"x", routing_key="jobs")
    rest(world)
    api = Api(world)
    before = len(world.hub.model.owners), len(world.hub.fronts)
    body = {"count": 300, "ackmode": "ack_requeue_true", "encoding": "auto"}
    work = api.management.begin(api.request("POST", "/api/queues/%2F/jobs/get", body))
    for _ in range(after):
        assert work.go_on() is None
    work.abandon()
    rest(world)
    assert (len(world.hub.model.owners), len(world.hub.fronts)) == before
    answer = work.go_on()
    assert answer is not None and answer.status == 503
    assert (channel.count("jobs"), api.get("/api/queues/%2F/jobs")["messages_unacknowledged"]) == (300, 0)


@pytest.mark.parametrize(("octets", "expected"), [(0, MOST_MESSAGES), (MOST_OCTETS // 4, 4)])
def test_a_get_is_bounded(octets: int, expected: int) -> None:
    world = World()
    channel = world.channel()
    channel.declare("jobs", durable=True)
    for _ in range(expected + 5):
        channel.core.publish(bytes(octets), routing_key="jobs")
        world.pump()
    body = {"count": 10**9, "ackmode": "ack_requeue_true", "encoding": "auto", "truncate": 1}
    answer = Api(world).ask("POST", "/api/queues/%2F/jobs/get", body)
    assert len(answer.content) == expected
    assert channel.count("jobs") == expected + 5


def test_a_broker_that_closes_does_nothing_more() -> None:
    world = World()
    world.hub.shut_down()
    assert Api(world).ask("PUT", "/api/queues/%2F/jobs", {"durable": True}).status == 503
