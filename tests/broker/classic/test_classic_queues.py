"""Queues and bindings by 0-8 and 0-9-1: what is made and refused, and how that is told."""

from typing import Any

import pytest

from amqp_sansio._classic.codec.dialect import get_dialect
from tests.kit.hub_classic import Talk, World, refused

ALL = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1", "0-8-rabbit", "0-8"])
NEW = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1"])
SPEC = pytest.mark.parametrize("dialect", ["0-9-1", "0-8"])


# Queues.


@ALL
@pytest.mark.rule("0-9-1/queue.declare/server-named", "0-8/queue.declare/server-named")
@pytest.mark.rule("0-9-1/queue.declare-ok/name-notnull", "0-8/queue.declare-ok/name-notnull")
@pytest.mark.rule("0-9-1/queue.declare-ok/consumer-count", "0-8/queue.declare-ok/count-zero-new")
@pytest.mark.rule("0-9-1/queue.declare/current-queue", "0-8/queue.declare/current-queue")
def test_the_broker_names_queues(channel: Talk) -> None:
    made = channel.call("queue.declare", durable=True)
    assert made.queue.startswith("amq.gen-")
    assert (made.message_count, made.consumer_count) == (0, 0)
    other = channel.declare()
    assert other != made.queue
    # An empty name is the queue that was declared last.
    assert channel.call("queue.bind", exchange="amq.direct") is not None
    channel.publish(b"1", other, "amq.direct")
    channel.publish(b"2", other)
    channel.consume("", "c", no_ack=True)
    assert channel.bodies() == [b"1", b"2"]
    assert channel.call("queue.declare", queue=other, passive=True).consumer_count == 1
    assert channel.call("queue.purge").message_count == 0
    channel.publish(b"3", made.queue)
    assert channel.call("queue.declare", queue=made.queue, passive=True).message_count == 1
    assert channel.get().body == b"3"
    assert channel.call("queue.delete") is not None


@pytest.mark.rule("0-9-1/queue.bind/empty-key-and-queue", "0-8/queue.bind/empty-key-and-queue")
@ALL
def test_an_empty_key_of_a_named_queue_stays_empty(channel: Talk) -> None:
    channel.declare("q")
    channel.call("queue.bind", queue="q", exchange="amq.direct")
    channel.publish(b"1", "q", "amq.direct")
    channel.publish(b"2", "", "amq.direct")
    assert channel.get("q").body == b"2"


@ALL
@pytest.mark.rule(
    "0-9-1/queue.bind/no-current-queue",
    "0-9-1/queue.unbind/no-current-queue",
    "0-9-1/queue.purge/no-current-queue",
    "0-9-1/queue.delete/no-current-queue",
    "0-8/queue.bind/no-current-queue",
    "0-8/queue.purge/no-current-queue",
    "0-8/queue.delete/no-current-queue",
    "0-8/basic.consume/no-current-queue",
    "0-8/basic.get/no-current-queue",
)
@pytest.mark.parametrize(
    "name", ["queue.bind", "queue.purge", "queue.delete", "basic.get", "basic.consume", "queue.unbind"]
)
def test_an_empty_name_where_no_queue_was_declared(channel: Talk, dialect: str, name: str) -> None:
    if name not in channel.user.end.dialect.named:
        assert (dialect, name) == ("0-8", "queue.unbind")
        return
    channel.core.declared = True
    fields = {"exchange": "amq.direct"} if "bind" in name else {}
    channel.call(name, **fields)
    assert channel.error[:2] == (("connection", 530) if dialect.startswith("0-8") else ("channel", 404))


@ALL
@pytest.mark.rule(
    "0-9-1/queue.declare/exclusive-both",
    "0-8/queue.declare/exclusive-both",
    "0-9-1/queue.declare/exclusive-lifetime",
    "0-9-1/queue.declare/exclusive-other-owner",
    "0-8/queue.declare/exclusive-other-owner",
    "0-9-1/rabbitmq/exclusive-scope",
    "0-9-1/rabbitmq/exclusive-first",
    "0-9-1/rabbitmq/durable-exclusive",
    "0-9-1/connection/closed-exclusive",
    "0-8/queue.declare/exclusive-implies-auto-delete",
)
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("queue.declare", {}),
        ("queue.declare", {"passive": True}),
        ("queue.bind", {"exchange": "absent"}),
        ("queue.unbind", {"exchange": "absent"}),
        ("queue.purge", {}),
        ("queue.delete", {}),
        ("basic.consume", {}),
        ("basic.get", {}),
    ],
)
def test_an_exclusive_queue_is_its_connections_alone(
    world: World, dialect: str, name: str, fields: dict[str, Any]
) -> None:
    user = world.client()
    channel, sibling = user.channel(), user.channel()
    channel.declare("q", exclusive=True, durable=True)
    assert sibling.count("q") == 0
    channel.declare("shared")
    other = world.channel()
    if name not in other.user.end.dialect.named:
        assert (dialect, name) == ("0-8", "queue.unbind")
        return
    assert other.count("shared") == 0
    other.call(name, queue="q", **fields)
    assert other.error[:2] == ("channel", 405)
    assert other.error[2].startswith(
        "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be originally"
    )
    user.end.close()
    world.pump()
    assert list(world.hub.model.vhosts["/"].queues) == ["shared"]


@ALL
@pytest.mark.rule("0-9-1/queue.declare/auto-delete-when", "0-9-1/rabbitmq/auto-delete-sync")
def test_an_automatic_queue_goes_with_its_last_consumer(world: World, channel: Talk) -> None:
    channel.declare("q", auto_delete=True)
    assert channel.count("q") == 0
    one, two = channel.consume("q"), channel.consume("q")
    channel.call("basic.cancel", consumer_tag=one)
    assert channel.count("q") == 0
    channel.call("basic.cancel", consumer_tag=two)
    assert list(world.hub.model.vhosts["/"].queues) == []


@ALL
@pytest.mark.rule("0-9-1/queue.delete/consumers-go", "0-9-1/basic.cancel/queue-gone", "0-8/basic.cancel/no-effect")
@pytest.mark.rule("0-9-1/queue/bindings-go", "0-8/queue/bindings-go")
def test_deleting_a_queue_ends_its_consumers(world: World, dialect: str) -> None:
    channel, other = world.channel(), world.channel()
    channel.declare("q")
    channel.call("queue.bind", queue="q", exchange="amq.fanout")
    tag = channel.consume("q")
    other.call("queue.delete", queue="q")
    assert channel.cancelled() == ([tag] if dialect == "0-9-1-rabbit" else [])
    channel.call("basic.cancel", consumer_tag=tag)
    channel.declare("q")
    channel.publish(b"x", exchange="amq.fanout")
    assert (channel.count("q"), channel.bodies()) == (0, [])


@ALL
@pytest.mark.rule("0-9-1/queue.purge/unacked-kept", "0-8/queue.purge/unacked-kept", "0-8/queue.purge/empties")
def test_purging_leaves_what_somebody_has(channel: Talk) -> None:
    channel.declare("q")
    for body in (b"1", b"2", b"3"):
        channel.publish(body, "q")
    channel.get("q")
    assert channel.call("queue.purge", queue="q").message_count == 2
    assert channel.count("q") == 0
    channel.release(1)
    assert channel.count("q") == 1


# Bindings.


@ALL
@pytest.mark.rule("0-9-1/queue.bind/duplicate-ok", "0-9-1/queue.bind/deliver-once", "0-9-1/queue.bind/direct-key")
@pytest.mark.rule("0-8/queue.bind/duplicate-ok", "0-9-1/queue.bind/min-4", "0-8/queue.bind/min-4")
def test_several_bindings_give_one_copy(channel: Talk) -> None:
    channel.declare("q")
    for key in ("a.*", "*.b", "#", "a.*", "a.b"):
        assert channel.call("queue.bind", queue="q", exchange="amq.topic", routing_key=key) is not None
    for _ in range(2):
        assert channel.call("queue.bind", queue="q", exchange="amq.direct", routing_key="a.b") is not None
    channel.publish(b"x", "a.b", "amq.topic")
    channel.publish(b"y", "a.b", "amq.direct")
    channel.publish(b"z", "a.c", "amq.direct")
    assert channel.count("q") == 2


@pytest.mark.rule("0-9-1/queue.bind/queue-not-found", "0-9-1/queue.bind/exchange-not-found")
@pytest.mark.rule("0-8/queue.bind/queue-not-found", "0-8/queue.bind/exchange-not-found")
@pytest.mark.rule("0-9-1/queue.unbind/queue-not-found", "0-9-1/queue.unbind/exchange-not-found")
@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("0-9-1-rabbit", "queue.bind"),
        ("0-9-1", "queue.bind"),
        ("0-8-rabbit", "queue.bind"),
        ("0-8", "queue.bind"),
        ("0-9-1", "queue.unbind"),
    ],
)
@pytest.mark.parametrize(("queue", "exchange", "missing"), [("q", "x", "exchange"), ("x", "amq.direct", "queue")])
def test_what_is_not_there_can_not_be_bound(dialect: str, name: str, queue: str, exchange: str, missing: str) -> None:
    error = refused(
        dialect, name, (("queue.declare", {"queue": "q", "durable": True}),), queue=queue, exchange=exchange
    )
    assert error == ("channel", 404, f"NOT_FOUND - no {missing} 'x' in vhost '/'")


@NEW
@pytest.mark.rule("0-9-1/queue.unbind/fail", "0-9-1/queue.unbind/default-exchange")
def test_unbinding(channel: Talk, dialect: str) -> None:
    channel.declare("q")
    channel.call("queue.bind", queue="q", exchange="amq.direct", routing_key="k")
    assert channel.call("queue.unbind", queue="q", exchange="amq.direct", routing_key="k") is not None
    channel.publish(b"x", "k", "amq.direct")
    assert channel.count("q") == 0
    gone = channel.call("queue.unbind", queue="q", exchange="amq.direct", routing_key="k")
    if dialect == "0-9-1":
        assert channel.error[:2] == ("connection", 404)
    else:
        assert gone is not None


@pytest.mark.rule("0-8/queue.bind/durable-to-transient", "0-9-1/queue.bind/transient-exchange")
@SPEC
def test_a_durable_queue_and_a_transient_exchange(channel: Talk, dialect: str) -> None:
    channel.declare("q", durable=True)
    channel.call("exchange.declare", exchange="e", type="fanout")
    bound = channel.call("queue.bind", queue="q", exchange="e")
    if dialect == "0-9-1":
        assert bound is not None
    else:
        assert channel.error[:2] == ("channel", 530)


@pytest.mark.rule(
    "0-9-1/rabbitmq/exchange.bind.duplicate-ok",
    "0-9-1/rabbitmq/exchange.bind.cycles",
    "0-9-1/rabbitmq/exchange.bind.deliver-once",
)
def test_exchanges_are_bound_to_exchanges(channel: Talk) -> None:
    for name in ("a", "b", "c"):
        channel.call("exchange.declare", exchange=name, type="fanout")
    for destination, source in (("b", "a"), ("b", "a"), ("c", "a"), ("c", "b"), ("a", "c"), ("a", "a")):
        assert channel.call("exchange.bind", destination=destination, source=source) is not None
    channel.declare("q")
    for name in ("b", "c"):
        channel.call("queue.bind", queue="q", exchange=name)
    channel.publish(b"x", exchange="a")
    assert channel.count("q") == 1
    assert channel.call("exchange.unbind", destination="b", source="a") is not None
    channel.call("exchange.unbind", destination="c", source="a")
    channel.publish(b"x", exchange="a")
    assert channel.count("q") == 1


@pytest.mark.rule("0-9-1/rabbitmq/exchange.bind.destination-not-found", "0-9-1/rabbitmq/exchange.bind.source-not-found")
@pytest.mark.parametrize(("destination", "source"), [("x", "amq.fanout"), ("amq.fanout", "x")])
def test_exchanges_that_are_not_there_can_not_be_bound(destination: str, source: str) -> None:
    error = refused(None, "exchange.bind", destination=destination, source=source)
    assert error == ("channel", 404, "NOT_FOUND - no exchange 'x' in vhost '/'")


@ALL
@pytest.mark.rule("0-9-1/exchange.topic/wildcards", "0-8/exchange.topic/wildcards")
@pytest.mark.rule("0-9-1/exchange.headers/x-match", "0-9-1/exchange.headers/x-ignored")
def test_topics_and_headers(channel: Talk, dialect: str) -> None:
    channel.declare("t")
    channel.declare("h")
    channel.call("queue.bind", queue="t", exchange="amq.topic", routing_key="*.stock.#")
    strict = not dialect.endswith("rabbit")
    match = "x_match" if strict else "x-match"
    arguments = {"a": "1", "b": "2"} if strict else {match: "all", "a": "1", "b": "2", "x-other": "3"}
    channel.call("queue.bind", queue="h", exchange="amq.match", arguments=arguments)
    for key in ("usd.stock", "eur.stock.db", "stock.nasdaq"):
        channel.publish(b"x", key, "amq.topic")
    for headers in ({"a": "1", "b": "2"}, {"a": "1"}, {"a": "1", "b": "3"}):
        channel.publish(b"x", "any", "amq.match", properties={"headers": headers})
    assert (channel.count("t"), channel.count("h")) == (2, 1)


@pytest.mark.rule("0-9-1/exchange.headers/void-matches-presence")
def test_a_header_without_a_value_matches_what_is_there(channel: Talk) -> None:
    channel.declare("q")
    channel.call("queue.bind", queue="q", exchange="amq.match", arguments={"x-match": "all", "a": None})
    for headers in ({"a": "1"}, {"a": 5}, {"b": "1"}):
        channel.publish(b"x", exchange="amq.match", properties={"headers": headers})
    assert channel.count("q") == 2


@ALL
@pytest.mark.rule(
    "0-9-1/exchange.declare/min-16",
    "0-8/exchange.declare/min-16",
    "0-9-1/queue.declare/min-256",
    "0-8/queue.declare/min-256",
    "0-9-1/basic.consume/min-16",
    "0-8/basic.consume/min-16",
    "0-9-1/method/generous-limits",
    "0-8/method/generous-limits",
)
def test_there_is_room_for_many(channel: Talk) -> None:
    for number in range(40):
        assert channel.call("exchange.declare", exchange=f"e{number}", type="direct") is not None
    for number in range(300):
        channel.declare(f"q{number}")
    for _ in range(40):
        channel.consume("q0")
    assert channel.call("queue.declare", queue="q0", passive=True).consumer_count == 40


@ALL
@pytest.mark.rule("0-9-1/basic.consume/exclusive-busy", "0-8/basic.consume/exclusive-busy")
@pytest.mark.parametrize("first", [True, False])
def test_an_exclusive_consumer_is_alone(world: World, first: bool) -> None:
    channel, other = world.channel(), world.channel()
    channel.declare("q")
    channel.consume("q", exclusive=first)
    other.call("basic.consume", queue="q", exclusive=not first)
    assert other.error == ("channel", 403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use")


@ALL
@pytest.mark.rule("0-9-1/basic.consume/server-tag", "0-8/basic.consume/server-tag")
@pytest.mark.rule("0-9-1/basic.consume/tag-in-use", "0-8/basic.consume/tag-in-use")
def test_consumer_tags(channel: Talk) -> None:
    channel.declare("q")
    assert len({channel.consume("q") for _ in range(5)}) == 5
    channel.consume("q", "t")
    del channel.core.consumers["t"]
    channel.call("basic.consume", queue="q", consumer_tag="t")
    assert channel.error[:2] == ("connection", 530)


@pytest.mark.rule("0-9-1/queue.declare/durable-restart", "0-9-1/queue.bind/durable-binding", "0-9-1/basic/persistent")
@pytest.mark.rule("0-8/queue.declare/durable-restart", "0-8/queue.bind/durable-binding", "0-8/basic/persistent")
@pytest.mark.rule("0-9-1/exchange.declare/durable-restart")
@ALL
def test_what_is_durable_is_back_after_a_restart(dialect: str) -> None:
    world = World(dialect, rabbitmq="4.2")
    channel = world.channel()
    for durable in (True, False):
        channel.call("exchange.declare", exchange=f"e{durable}", type="fanout", durable=durable)
        channel.declare(f"q{durable}", durable=durable)
    channel.call("queue.bind", queue="qTrue", exchange="eTrue")
    channel.publish(b"kept", exchange="eTrue", properties={"delivery_mode": 2})
    channel.publish(b"lost", exchange="eTrue")
    channel.user.end.close()
    world.pump()
    world.hub.model.restart(0.0)
    again = world.channel()
    again.publish(b"new", exchange="eTrue")
    assert [again.get("qTrue").body, again.get("qTrue").body, again.get("qTrue")] == [b"kept", b"new", None]
    again.call("queue.declare", queue="qFalse", passive=True)
    assert again.error[:2] == ("channel", 404)


def test_bad_arguments_are_refused() -> None:
    error = refused(None, "queue.declare", queue="q", arguments={"x-message-ttl": -1})
    assert error[:2] == ("channel", 406)
    assert error[2].startswith("PRECONDITION_FAILED - invalid arg 'x-message-ttl'")


def test_qpids_question_whether_something_is_bound() -> None:
    channel = World("0-9-1-qpid").channel()
    channel.declare("q")
    channel.call("queue.bind", queue="q", exchange="amq.direct", routing_key="k")

    def bound(exchange: str, routing_key: str = "", queue: str = "") -> int:
        reply = channel.call("exchange.bound", exchange=exchange, routing_key=routing_key, queue=queue)
        code: int = reply.reply_code
        return code

    assert [bound("absent"), bound("amq.direct", queue="absent"), bound("amq.fanout")] == [1, 2, 3]
    assert [bound("amq.fanout", queue="q"), bound("amq.direct", "x"), bound("amq.direct", "x", "q")] == [4, 5, 6]
    assert [bound("amq.direct", "k", "q"), bound("amq.direct"), bound("", "q", "q")] == [0, 0, 0]
    assert bound("", "other", "q") == 6


def talk(world: World) -> Talk:
    """A channel of a client of its own."""
    return world.channel()


@pytest.mark.rule("0-9-1/server/visibility", "0-9-1/queue/one-client", "0-8/queue/one-client")
def test_what_one_client_was_told_another_sees(world: World) -> None:
    one, two = talk(world), talk(world)
    one.declare("q")
    assert two.count("q") == 0
    two.consume("q")
    one.consume("q")
    for number in range(10):
        one.publish(b"%d" % number, "q")
    assert sorted([*one.bodies(), *two.bodies()]) == [b"%d" % number for number in range(10)]


@pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1-qpid", "0-8-rabbit", "0-8-qpid"])
def test_queues_by_qpids_arguments(channel: Talk) -> None:
    arguments = {"qpid.last_value_queue_key": "k", "qpid.priorities": "10", "qpid.max_count": "2"}
    channel.declare("q", arguments=arguments)
    for priority, value in ((9, "a"), (1, "b"), (5, "a")):
        channel.publish(b"%d" % priority, "q", properties={"headers": {"k": value}, "priority": priority})
    assert [channel.get("q").body for _ in range(2)] == [b"5", b"1"]
    channel.call("queue.declare", queue="r", durable=True, arguments={"qpid.max_count": "two"})
    assert channel.error[1] in (406, 530)


# What RabbitMQ refuses, with its texts.


@pytest.mark.parametrize("overflow", ["drop-head", "reject-publish"])
@pytest.mark.parametrize("how", ["nack", "close", "rollback"])
def test_a_queue_keeps_its_length_when_messages_come_back(how: str, overflow: str) -> None:
    world = World("0-9-1-rabbit")
    channel, other = world.channel(), world.channel()
    channel.declare("q", arguments={"x-max-length": 2, "x-overflow": overflow})
    for body in (b"0", b"1"):
        channel.publish(body, "q")
    if how == "rollback":
        other.call("tx.select")
    assert [other.get("q").body for _ in range(2)] == [b"0", b"1"]
    if how == "rollback":
        other.accept(2, multiple=True)
    for body in (b"2", b"3"):
        channel.publish(body, "q")
    if how == "nack":
        other.send("basic.nack", delivery_tag=0, multiple=True, requeue=True)
    else:
        # Its transaction is rolled back with it.
        other.close()
    left = [found.body for found in iter(lambda: channel.get("q", no_ack=True), None)]
    assert left == ([b"2", b"3"] if overflow == "drop-head" else [b"0", b"1", b"2", b"3"])


@pytest.mark.parametrize("method", ["basic.ack", "basic.nack"])
@pytest.mark.parametrize(("dialect", "is_refused"), [("0-9-1-rabbit", True), ("0-9-1-qpid", False), ("0-9-1", False)])
def test_a_tag_that_is_settled_names_no_others(dialect: str, is_refused: bool, method: str) -> None:
    world = World(dialect)
    channel = world.channel()
    channel.declare("q")
    for _ in range(4):
        channel.publish(b"x", "q")
        channel.get("q")
    if method not in get_dialect(dialect).named:
        return
    channel.accept(3)
    # The client's own books refuse it, too: the octets come from one that has none.
    channel.core.settled_to = 0
    channel.core.unsettled[3] = None
    channel.send(method, delivery_tag=3, multiple=True)
    if not is_refused:
        assert channel.core.is_open
        return
    kind, code, text = channel.error
    assert (kind, code) == ("channel", 406)
    assert text.startswith("PRECONDITION_FAILED - unknown delivery tag 3")


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"delivery_mode": 0}, "invalid message: {delivery_mode_unknown,0}"),
        ({"delivery_mode": 3}, "invalid message: {delivery_mode_unknown,3}"),
        ({"expiration": "soon"}, "invalid expiration 'soon': no_integer"),
        ({"expiration": ""}, "invalid expiration '': no_integer"),
        ({"expiration": "5s"}, "invalid expiration '5s': {leftover_string,\"s\"}"),
        ({"expiration": "-1"}, "invalid expiration '-1': {value_negative,-1}"),
        ({"expiration": "4294967296"}, "invalid expiration '4294967296': {value_too_big,4294967296}"),
        ({"expiration": "9" * 20}, f"invalid expiration '{'9' * 20}': {{value_too_big,{'9' * 20}}}"),
        ({"expiration": "4294967295"}, ""),
        ({"expiration": "+5"}, ""),
        ({"delivery_mode": 1}, ""),
        ({"delivery_mode": 2}, ""),
    ],
)
def test_properties_that_rabbitmq_refuses(properties: dict[str, Any], text: str) -> None:
    world = World("0-9-1-rabbit")
    channel = world.channel()
    channel.declare("q")
    channel.publish(b"x", "q", properties=properties)
    if text:
        assert channel.error == ("channel", 406, f"PRECONDITION_FAILED - {text}")
    else:
        assert channel.count("q") == 1


def test_no_exclusive_consumer_has_a_queue_with_a_single_active_one() -> None:
    world = World("0-9-1-rabbit")
    channel = world.channel()
    channel.declare("q", arguments={"x-single-active-consumer": True})
    channel.call("basic.consume", queue="q", exclusive=True)
    assert channel.error == ("channel", 403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use")


@pytest.mark.parametrize(
    ("kind", "argument", "value"),
    [
        ("classic", "x-delivery-limit", 3),
        ("classic", "x-max-in-memory-length", 3),
        ("classic", "x-max-age", "1D"),
        ("quorum", "x-max-priority", 3),
        ("quorum", "x-queue-mode", "lazy"),
    ],
)
@pytest.mark.parametrize("is_told", [False, True])
def test_an_argument_of_another_type_of_queues_is_refused(kind: str, argument: str, value: Any, is_told: bool) -> None:
    arguments = {argument: value, **({"x-queue-type": kind} if is_told or kind != "classic" else {})}
    world = World("0-9-1-rabbit")
    channel = world.channel()
    channel.call("queue.declare", queue="w", arguments=arguments)
    text = (
        f"PRECONDITION_FAILED - invalid arg '{argument}' for queue 'w' in vhost '/' of queue type rabbit_{kind}_queue"
    )
    assert channel.error == ("channel", 406, text)
    # Qpid's brokers know no types.
    assert World("0-9-1-qpid").channel().declare("w", arguments=arguments) == "w"
