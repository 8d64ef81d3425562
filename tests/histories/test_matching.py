"""Histories join what belongs together: worlds whose truth is known, and every rule by an example."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.recorded.histories import HISTORY_COLUMNS, Matcher, Message, as_dict, histories
from amqp_sansio.recorded.histories.matching import order_key
from tests.kit.history_world import STEP, World

CLIENTS = ("a", "b", "c")
ROUTED = {"exchange": "x", "routing_key": "k"}


def steps(messages: list[Message], **more: Any) -> list[dict[str, Any]]:
    return [as_dict(step) for step in histories(messages, **more)]


def joined(found: list[dict[str, Any]]) -> dict[tuple[str, int], str]:
    """Of each delivery the history that it was put into."""
    kinds = ("deliver", "redeliver", "get")
    return {(step["connection"], step["seq"]): step["history"] for step in found if step["what"] in kinds}


def build() -> World:
    world = World()
    world.queue("jobs", dead_letter=("dlx", "dead"))
    world.queue("audit", "logs", dead_letter=("dlx", "dead"))
    world.queue("mail", "logs", "news")
    world.queue("dead")
    return world


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Clients that publish, take, settle and go, with bodies and ids that repeat."""
    world = build()
    targets = [("", "jobs"), ("logs", "x"), ("logs", "y"), ("news", "x")]
    for _ in range(draw(st.integers(1, 60))):
        what = draw(st.sampled_from(["publish", "publish", "deliver", "deliver", "settle", "settle", "end"]))
        client = draw(st.sampled_from(CLIENTS))
        if what == "publish":
            exchange, key = draw(st.sampled_from(targets))
            more = {name: draw(st.sampled_from([None, None, "1", "2"])) for name in ("message_id", "correlation_id")}
            headers = draw(st.sampled_from([None, '{"k":1}']))
            world.publish(client, exchange, key, draw(st.sampled_from(["", "same", "other"])), headers=headers, **more)
        elif what == "deliver":
            world.deliver(client, draw(st.sampled_from(sorted(world.queues))))
        elif what == "settle" and world.held:
            delivery = draw(st.sampled_from(world.held))
            world.settle(delivery, draw(st.sampled_from(["accepted", "released", "rejected"])))
        elif what == "end":
            world.end(client)
    return world


@given(worlds())
def test_every_delivery_is_joined_to_its_publish(world: World) -> None:
    assert joined(steps(world.messages)) == world.truth


@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_makes_no_difference(world: World, random: Any) -> None:
    expected = list(histories(world.messages))
    shuffled = list(world.messages)
    random.shuffle(shuffled)
    assert list(histories(shuffled)) == expected


@given(worlds())
def test_steps_are_numbered_and_latencies_are_differences(world: World) -> None:
    published = {f"{each.connection}/{each.seq}": each.ts_ns for each in world.messages if each.kind == "publish"}
    numbers: dict[str, int] = {}
    for step in steps(world.messages):
        assert step["step"] == numbers.get(step["history"], 0)
        numbers[step["history"]] = step["step"] + 1
        if step["ts_ns"] is not None:
            assert step["since_publish_ns"] == step["ts_ns"] - published[step["history"]]
        if step["what"] in ("deliver", "redeliver", "get"):
            assert step["certainty"] in ("certain", "likely", "possible")
            assert "body" in step["evidence"]
        elif step["what"] == "settle":
            place = (step["connection"], step["seq"])
            row = next(each for each in world.messages if (each.connection, each.seq) == place)
            assert row.settled_ns is not None
            assert step["latency_ns"] == row.settled_ns - row.ts_ns


def test_a_whole_story() -> None:
    world = build()
    origin = world.publish("a", "", "jobs", "order", message_id="m1")
    for _ in range(2):
        delivery = world.deliver("b", "jobs")
        assert delivery is not None
        world.settle(delivery, "released")
    world.deliver("b", "jobs")
    world.end("b")
    delivery = world.deliver("c", "jobs")
    assert delivery is not None
    world.settle(delivery, "rejected")
    world.deliver("c", "dead")
    found = steps(world.messages)
    assert {step["history"] for step in found} == {origin}
    assert [(step["what"], step["queue"], step["outcome"]) for step in found] == [
        ("publish", None, None),
        ("deliver", "jobs", None),
        ("settle", "jobs", "released"),
        ("redeliver", "jobs", None),
        ("settle", "jobs", "released"),
        ("redeliver", "jobs", None),
        ("end", "jobs", None),
        ("redeliver", "jobs", None),
        ("settle", "jobs", "rejected"),
        ("dead-letter", "jobs", "rejected"),
        ("deliver", "dead", None),
    ]
    assert {step["certainty"] for step in found if step["what"] in ("deliver", "redeliver")} == {"certain"}
    # A redelivery's latency counts from when the queue had the message back, a first delivery's from the publish.
    assert [step["latency_ns"] for step in found if step["what"] == "redeliver"] == [STEP, STEP, STEP]


def test_of_several_that_are_alike_the_order_tells() -> None:
    world = build()
    first, second = (world.publish("a", "", "jobs", "same") for _ in range(2))
    world.deliver("b", "jobs")
    world.deliver("b", "jobs")
    found = [step for step in steps(world.messages) if step["what"] == "deliver"]
    assert [step["history"] for step in found] == [first, second]
    assert [step["certainty"] for step in found] == ["likely", "certain"]
    assert "order" in found[0]["evidence"] and "order" not in found[1]["evidence"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("message_id", "other"),
        ("message_id", None),
        ("correlation_id", "other"),
        ("headers", '{"k":2}'),
        ("routing_key", "elsewhere"),
        ("exchange", "news"),
        ("queue", "elsewhere"),
        ("vhost", "other"),
        ("ts_ns", 0),
        ("body_sha256", "another"),
        ("body_size", 99),
    ],
)
def test_what_contradicts_is_another_message(name: str, value: Any) -> None:
    world = build()
    world.publish("a", "", "jobs", "same", message_id="m", correlation_id="c", headers='{"k":1}')
    world.deliver("b", "jobs")
    publish, delivery = world.messages
    assert len({step["history"] for step in steps([publish, delivery])}) == 1
    strange = delivery._replace(**{name: value})
    assert len({step["history"] for step in steps([publish, strange])}) == 2


def test_what_brokers_add_contradicts_nothing() -> None:
    world = build()
    world.publish("a", "", "jobs", "same", headers='{"k":1}')
    world.deliver("b", "jobs")
    publish, delivery = world.messages
    counted = delivery._replace(headers='{"k":1,"x-delivery-count":2}')
    assert len({step["history"] for step in steps([publish, counted])}) == 1


def test_clocks_that_differ() -> None:
    world = build()
    world.publish("a", "", "jobs", "same")
    world.deliver("b", "jobs")
    publish, delivery = world.messages
    early = delivery._replace(ts_ns=publish.ts_ns - 5)
    assert len({step["history"] for step in steps([publish, early])}) == 2
    found = steps([publish, early], skew_ns=5)
    assert [step["latency_ns"] for step in found] == [None, -5]


def test_confirms_and_returns() -> None:
    world = build()
    for outcome in ("accepted", "rejected", "returned"):
        world.publish("a", "logs", "x", "same")
        world.messages[-1] = world.messages[-1]._replace(outcome=outcome, settled_ns=world.now + 7)
    gone = world.messages[-1]._replace(kind="return", seq=9, ts_ns=world.now + 3, reply_code=312, reply_text="NO_ROUTE")
    found = steps([*world.messages, gone])
    assert [(step["what"], step["outcome"], step["text"], step["latency_ns"]) for step in found if step["step"]] == [
        ("confirm", "accepted", None, 7),
        ("confirm", "rejected", None, 7),
        ("return", "returned", "312 NO_ROUTE", 3),
    ]
    # What was returned never came to a queue, nor did what was refused.
    delivery = world.deliver("b", "mail")
    assert delivery is not None
    [step] = [step for step in steps([*world.messages, gone]) if step["what"] == "deliver"]
    assert (step["history"], step["certainty"]) == ("a/1", "certain")


def test_a_message_that_is_published_on_follows_another() -> None:
    world = build()
    first = world.publish("a", "", "jobs", "same")
    world.deliver("b", "jobs")
    world.publish("b", "", "dead", "same")
    published = [step for step in steps(world.messages) if step["what"] == "publish"]
    assert [step["follows"] for step in published] == [None, first]


def test_dead_letters_that_nobody_tells_of() -> None:
    world = World("0-10", deaths_are_told=False)
    world.queue("jobs", dead_letter=("amq.fanout", "dead"))
    world.queue("dead")
    origin = world.publish("a", "", "jobs", "same")
    delivery = world.deliver("b", "jobs")
    assert delivery is not None
    world.settle(delivery, "rejected")
    world.deliver("c", "dead")
    found = steps(world.messages)
    assert {step["history"] for step in found} == {origin}
    assert [step["what"] for step in found] == ["publish", "deliver", "settle", "dead-letter", "deliver"]
    assert "rejected" in found[-1]["evidence"]


def test_a_delivery_without_publish_begins_a_history() -> None:
    world = build()
    world.publish("a", "", "jobs", "same")
    delivery = world.deliver("b", "jobs")
    assert delivery is not None
    world.settle(delivery, "released")
    world.deliver("c", "jobs")
    found = steps(world.messages[1:])
    assert [step["what"] for step in found] == ["deliver", "settle", "redeliver"]
    assert {step["history"] for step in found} == {"b/1"}
    assert {step["since_publish_ns"] for step in found} == {None}


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ({"protocol": "0-9-1"}, {"protocol": "1.0", "address": "/queues/jobs"}),
        ({"protocol": "1.0", "address": "/queues/jobs"}, {"protocol": "0-9-1", "queue": "jobs"}),
        ({"protocol": "1.0", "address": "jobs"}, {"protocol": "1.0", "address": "jobs"}),
        ({"protocol": "1.0", "address": "/exchanges/x/k"}, {"protocol": "0-10", "queue": "q", "routing_key": "k"}),
        ({"protocol": "0-10", **ROUTED}, {"protocol": "1.0", "address": "q"}),
        ({"protocol": "0-8", **ROUTED}, {"protocol": "0-9-1", **ROUTED}),
    ],
)
def test_across_versions(sent: dict[str, Any], taken: dict[str, Any]) -> None:
    world = build()
    world.publish("a", "", "jobs", "same", message_id="m")
    world.deliver("b", "jobs")
    plain: dict[str, Any] = {"exchange": None, "routing_key": None, "queue": None, "vhost": None}
    if sent["protocol"] == "0-9-1":
        plain.update(exchange="", routing_key="jobs")
    publish = world.messages[0]._replace(**{**plain, **sent})
    delivery = world.messages[1]._replace(**{**plain, "exchange": None, "routing_key": None, **taken})
    assert len({step["history"] for step in steps([publish, delivery])}) == 1


def test_memory_is_bounded() -> None:
    world = build()
    for _ in range(50):
        world.publish("a", "", "jobs", "same")
    matcher = Matcher(most=8)
    for message in sorted(world.messages, key=order_key):
        matcher.push(message)
    # The newest of those that are kept is joined, the oldest are forgotten.
    world.queues["jobs"] = world.queues["jobs"][-1:]
    delivery = world.deliver("b", "jobs")
    assert delivery is not None
    [step] = [as_dict(step) for step in matcher.push(world.messages[-1])]
    assert int(step["history"].rpartition("/")[2]) > 40


def test_many_alike_cost_what_they_are(count: int = 500) -> None:
    """tests/system/histories/test_many_alike.py tries it with thousands."""
    world = build()
    for number in range(count):
        world.publish("a", "logs", "x", "same", message_id=str(number))
        world.publish("a", "", "jobs", "same")
    for _ in range(count):
        world.deliver("b", "jobs")
        world.deliver("b", "mail")
    world.end("b")
    for _ in range(count):
        world.deliver("c", "jobs")
    assert joined(steps(world.messages)) == world.truth


def test_a_step_has_a_value_for_every_column() -> None:
    world = build()
    world.publish("a", "", "jobs", "same")
    assert all([len(step) == len(HISTORY_COLUMNS) for step in histories(world.messages)])


def test_damaged_accounts_of_deaths_say_nothing() -> None:
    world = build()
    world.publish("a", "", "jobs", "same")
    world.deliver("b", "jobs")
    for deaths in (7, [7], []):
        delivery = world.messages[1]._replace(headers=json.dumps({"x-death": deaths}))
        assert len({step["history"] for step in steps([world.messages[0], delivery])}) == 1
