"""Exchanges, queues and bindings by 0-8 and 0-9-1: what is made, compared and refused, and how that is told."""

from typing import Any

import pytest

from amqp_sansio._classic.codec.frames import method_frame
from amqp_sansio._classic.codec.table import RABBIT
from tests.kit.hub_classic import Talk, World, refused

ALL = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1", "0-8-rabbit", "0-8"])
NEW = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1"])
SPEC = pytest.mark.parametrize("dialect", ["0-9-1", "0-8"])


# Exchanges.


@ALL
@pytest.mark.rule(
    "0-9-1/exchange/required-types",
    "0-9-1/exchange/recommended-types",
    "0-9-1/exchange/required-instances",
    "0-9-1/exchange.direct/two-instances",
    "0-9-1/exchange.fanout/required",
    "0-9-1/exchange.topic/instance",
    "0-9-1/exchange.headers/instance",
    "0-9-1/rabbitmq/amq-durable",
    "0-8/exchange/mandatory-types",
    "0-8/exchange/topic",
    "0-8/exchange.direct/two-instances",
)
def test_every_virtual_host_has_its_exchanges(dialect: str) -> None:
    world = World(dialect, vhosts=("/", "/other"), users={"guest": "guest"})
    for vhost in ("/", "/other"):
        channel = world.channel(vhost=vhost)
        for name in ("amq.direct", "amq.fanout", "amq.topic", "amq.match"):
            assert channel.call("exchange.declare", exchange=name, passive=True, type="direct") is not None
        for kind in ("direct", "fanout", "topic", "headers"):
            assert channel.call("exchange.declare", exchange=f"my-{kind}", type=kind) is not None
    assert all(each.durable for each in world.hub.model.vhosts["/"].exchanges.values() if each.name[:4] == "amq.")


@ALL
@pytest.mark.rule("0-9-1/connection.open/vhost-separation", "0-8/connection.open/vhost-separation")
def test_nothing_of_one_virtual_host_is_seen_in_another(dialect: str) -> None:
    world = World(dialect, vhosts=("/", "/other"))
    here, there = world.channel(), world.channel(vhost="/other")
    here.declare("q")
    here.publish(b"x", "q")
    there.declare("q")
    assert (here.count("q"), there.count("q")) == (1, 0)
    there.publish(b"y", "q")
    here.call("exchange.declare", exchange="e", type="direct")
    there.call("queue.bind", queue="q", exchange="e")
    assert there.error[:2] == ("channel", 404)


@ALL
@pytest.mark.rule(
    "0-9-1/exchange.declare/durable-both",
    "0-8/exchange.declare/durable-both",
    "0-8/queue.declare/durable-both",
    "0-9-1/queue.declare/durable-both",
    "0-9-1/exchange.declare/equivalent",
    "0-8/exchange/grammar",
    "0-8/queue/grammar",
)
def test_what_is_declared_again_is_the_same(channel: Talk) -> None:
    for durable in (True, False):
        for _ in range(2):
            name = f"e{durable}"
            assert channel.call("exchange.declare", exchange=name, type="topic", durable=durable) is not None
            assert channel.declare(f"q{durable}", durable=durable, exclusive=not durable) == f"q{durable}"
    assert channel.call("queue.bind", queue="qTrue", exchange="eTrue", routing_key="a.*") is not None
    channel.publish(b"x", "a.b", "eTrue")
    assert channel.call("queue.purge", queue="qTrue").message_count == 1
    assert channel.call("queue.delete", queue="qTrue").message_count == 0
    assert channel.call("exchange.delete", exchange="eTrue") is not None


@pytest.mark.rule("0-9-1/rabbitmq/inequivalent-406")
@pytest.mark.rule("0-9-1/queue.declare/equivalent", "0-9-1/exchange.declare/equivalent")
@pytest.mark.parametrize(
    ("name", "first", "second", "text"),
    [
        (
            "exchange.declare",
            {"type": "topic"},
            {"type": "direct"},
            "'type'{}: received 'direct' but current is 'topic'",
        ),
        ("exchange.declare", {}, {"durable": True}, "'durable'{}: received 'true' but current is 'false'"),
        ("exchange.declare", {"auto_delete": True}, {}, "'auto_delete'{}: received 'false' but current is 'true'"),
        ("exchange.declare", {"internal": True}, {}, "'internal'{}: received 'false' but current is 'true'"),
        (
            "exchange.declare",
            {"arguments": {"alternate-exchange": "a"}},
            {},
            "'alternate-exchange'{}: received none but current is the value 'a' of type 'longstr'",
        ),
        ("queue.declare", {"durable": True}, {}, "'durable'{}: received 'false' but current is 'true'"),
        ("queue.declare", {}, {"auto_delete": True}, "'auto_delete'{}: received 'true' but current is 'false'"),
        (
            "queue.declare",
            {},
            {"arguments": {"x-message-ttl": 5000}},
            "'x-message-ttl'{}: received the value '5000' of type 'signedint' but current is none",
        ),
    ],
)
def test_rabbit_compares_what_is_declared_again(
    name: str, first: dict[str, Any], second: dict[str, Any], text: str
) -> None:
    what = name.partition(".")[0]
    if what == "exchange":
        first, second = {"type": "direct", **first}, {"type": "direct", **second}
    elif "durable" not in first:
        first, second = {"durable": True, **first}, {"durable": True, **second}
    error = refused(None, name, ((name, {what: "n", **first}),), **{what: "n", **second})
    expected = text.format(f" for {what} 'n' in vhost '/'")
    assert error == ("channel", 406, f"PRECONDITION_FAILED - inequivalent arg {expected}")


@SPEC
@pytest.mark.rule(
    "0-9-1/exchange.declare/type-change",
    "0-8/exchange.declare/type-mismatch",
    "0-8/exchange.declare/durable-ignored-if-exists",
    "0-8/exchange.declare/auto-delete-ignored-if-exists",
    "0-8/queue.declare/durable-ignored-if-exists",
    "0-8/queue.declare/auto-delete-ignored-if-exists",
    "0-9-1/queue.declare/auto-delete-ignored-if-exists",
    "0-9-1/rabbitmq/exchange.declare.auto-delete-ignored-if-exists",
)
def test_the_specifications_compare_less_and_end_the_connection_for_a_type(channel: Talk, dialect: str) -> None:
    channel.call("exchange.declare", exchange="e", type="direct", auto_delete=True)
    channel.declare("q", durable=False, auto_delete=True)
    assert channel.call("exchange.declare", exchange="e", type="direct") is not None
    assert channel.declare("q", durable=False) == "q"
    if dialect == "0-8":
        assert channel.call("exchange.declare", exchange="e", type="direct", durable=True) is not None
        assert channel.declare("q", durable=True) == "q"
    channel.call("exchange.declare", exchange="e", type="topic")
    assert channel.error[:2] == ("connection", 530)


@pytest.mark.rule("0-9-1/exchange.declare/equivalent", "0-9-1/queue.declare/equivalent")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("exchange.declare", {"durable": True}),
        ("queue.declare", {"durable": True}),
        ("queue.declare", {"exclusive": True}),
    ],
)
def test_the_specification_compares_durability_and_exclusiveness(name: str, change: dict[str, Any]) -> None:
    what = name.partition(".")[0]
    first = {"type": "direct"} if what == "exchange" else {}
    error = refused("0-9-1", name, ((name, {what: "n", **first}),), **{what: "n", **first, **change})
    assert error[:2] == ("channel", 406)


@pytest.mark.parametrize("first", [True, False])
def test_rabbit_says_locked_when_exclusiveness_differs(first: bool) -> None:
    declared = (("queue.declare", {"queue": "q", "durable": True, "exclusive": first}),)
    error = refused(None, "queue.declare", declared, queue="q", durable=True, exclusive=not first)
    assert error[:2] == ("channel", 405)
    assert error[2].endswith("does not match that of the original declaration.")


@ALL
@pytest.mark.rule("0-9-1/exchange.declare/type-unknown", "0-8/exchange.declare/type-unknown")
@pytest.mark.rule("0-9-1/exchange.custom/x-prefix", "0-8/exchange.custom/x-prefix")
@pytest.mark.parametrize("kind", ["nonsense", "x-nonsense"])
def test_an_unknown_type_ends_the_connection(dialect: str, kind: str) -> None:
    error = refused(dialect, "exchange.declare", exchange="e", type=kind)
    assert error[:2] == ("connection", 503)
    assert error[2] == f"COMMAND_INVALID - unknown exchange type '{kind}'"


@ALL
@pytest.mark.rule(
    "0-9-1/exchange.declare/reserved",
    "0-8/exchange.declare/amq-prefix",
    "0-9-1/queue.declare/reserved",
    "0-8/queue.declare/amq-prefix",
    "0-9-1/queue/naming",
    "0-8/queue/naming",
)
@pytest.mark.parametrize("what", ["exchange", "queue"])
def test_names_that_begin_with_amq_are_the_brokers(channel: Talk, dialect: str, what: str) -> None:
    fields: dict[str, Any] = {what: "amq.mine", **({"type": "direct"} if what == "exchange" else {})}
    scope = "connection" if (dialect, what) == ("0-8", "queue") else "channel"
    text = f"ACCESS_REFUSED - {what} name 'amq.mine' contains reserved prefix 'amq.*'"
    assert refused(dialect, f"{what}.declare", **fields) == (scope, 403, text)
    assert channel.call("exchange.declare", exchange="amq.direct", type="direct", durable=True) is not None
    assert channel.call("queue.declare", queue="", exclusive=True).queue.startswith("amq.")


@pytest.mark.rule("0-9-1/exchange.declare/name-syntax", "0-9-1/queue.declare/name-syntax")
def test_names_of_any_characters_are_rabbits(channel: Talk) -> None:
    assert channel.declare("a b/\u00e9") == "a b/\u00e9"
    assert channel.call("exchange.declare", exchange="a b", type="direct") is not None
    for name in ("queue.declare", "exchange.declare"):
        # A strict client refuses to send that.
        strict = World("0-9-1").channel()
        method = strict.make(name, **{name.partition(".")[0]: "a b"})
        strict.user.client.receive_data(method_frame(1, method.encode(RABBIT)), 0.0)
        strict.world.pump()
        assert strict.error[:2] == ("channel", 406)


@ALL
@pytest.mark.rule(
    "0-9-1/exchange.declare/passive-not-found",
    "0-8/exchange.declare/passive-not-found",
    "0-9-1/queue.declare/passive-not-found",
    "0-8/queue.declare/passive-not-found",
    "0-9-1/rabbitmq/passive-no-wait",
    "0-9-1/exchange.declare/no-wait",
    "0-8/exchange.declare/nowait",
)
@pytest.mark.parametrize("what", ["exchange", "queue"])
@pytest.mark.parametrize("no_wait", [True, False])
def test_looking_for_what_is_not_there(dialect: str, what: str, no_wait: bool) -> None:
    fields: dict[str, Any] = {what: "x", "passive": True, "no_wait": no_wait}
    if what == "exchange":
        fields["type"] = "direct"
    error = refused(dialect, f"{what}.declare", **fields)
    assert error == ("channel", 404, f"NOT_FOUND - no {what} 'x' in vhost '/'")


@ALL
@pytest.mark.rule(
    "0-9-1/exchange.declare/passive-ignores",
    "0-9-1/queue.declare/passive-ignores",
    "0-8/exchange.declare/arguments-ignored-if-passive",
    "0-8/queue.declare/arguments-ignored-if-passive",
)
def test_looking_compares_nothing(channel: Talk) -> None:
    channel.declare("q", exclusive=True)
    channel.call("exchange.declare", exchange="e", type="fanout")
    assert channel.call("queue.declare", queue="q", passive=True, durable=True, arguments={"x": 1}) is not None
    found = channel.call("exchange.declare", exchange="e", type="topic", passive=True, durable=True, arguments={"x": 1})
    assert found is not None


@SPEC
@pytest.mark.rule("0-9-1/exchange.delete/not-found", "0-8/exchange.delete/not-found")
@pytest.mark.rule("0-9-1/queue.delete/queue-not-found", "0-8/queue.delete/not-found")
@pytest.mark.rule("0-9-1/queue.purge/queue-not-found", "0-8/queue.purge/not-found")
@pytest.mark.parametrize("name", ["exchange.delete", "queue.delete", "queue.purge"])
def test_what_is_not_there_can_not_be_deleted(dialect: str, name: str) -> None:
    what = name.partition(".")[0]
    fields: dict[str, Any] = {what: "x"}
    error = refused(dialect, name, **fields)
    assert error == ("channel", 404, f"NOT_FOUND - no {what} 'x' in vhost '/'")


def test_rabbit_takes_what_is_gone_for_deleted(channel: Talk) -> None:
    channel.declare("q")
    channel.call("exchange.declare", exchange="e", type="direct")
    assert channel.call("exchange.delete", exchange="absent") is not None
    assert channel.call("queue.delete", queue="absent").message_count == 0
    assert channel.call("queue.unbind", queue="q", exchange="e", routing_key="k") is not None
    assert channel.call("exchange.unbind", destination="e", source="amq.fanout") is not None


@ALL
@pytest.mark.rule(
    "0-9-1/exchange.delete/if-unused",
    "0-8/exchange.delete/if-unused-only",
    "0-8/exchange.delete/if-unused-in-use",
    "0-9-1/queue.delete/if-unused",
    "0-8/queue.delete/if-unused",
    "0-9-1/queue.delete/if-empty",
    "0-8/queue.delete/if-empty",
)
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("exchange.delete", {"exchange": "e", "if_unused": True}),
        ("queue.delete", {"queue": "used", "if_unused": True}),
        ("queue.delete", {"queue": "full", "if_empty": True}),
    ],
)
def test_what_is_in_use_stays(world: World, dialect: str, name: str, fields: dict[str, Any]) -> None:
    channel, other = world.channel(), world.channel()
    channel.call("exchange.declare", exchange="e", type="fanout", durable=True)
    channel.declare("full")
    channel.declare("used")
    channel.call("queue.bind", queue="full", exchange="e")
    channel.publish(b"x", exchange="e")
    channel.consume("used")
    other.call(name, **fields)
    code = 406 if dialect != "0-8" else 530 if "if_empty" in fields else 405
    assert other.error[:2] == ("channel", code)
    if code == 406:
        what = {"exchange.delete": "exchange 'e'"}.get(name, f"queue '{fields.get('queue')}'")
        why = "not empty" if "if_empty" in fields else "in use"
        assert other.error[2] == f"PRECONDITION_FAILED - {what} in vhost '/' {why}"
    assert set(world.hub.model.vhosts["/"].queues) == {"full", "used"}
    assert "e" in world.hub.model.vhosts["/"].exchanges


@NEW
@pytest.mark.rule("0-9-1/rabbitmq/auto-delete-exchange", "0-9-1/exchange.delete/bindings-go")
def test_deleting_an_exchange_ends_its_bindings(channel: Talk) -> None:
    channel.call("exchange.declare", exchange="e", type="fanout", auto_delete=True)
    channel.declare("q")
    channel.call("queue.bind", queue="q", exchange="e")
    channel.call("queue.unbind", queue="q", exchange="e")
    channel.call("exchange.declare", exchange="e", type="direct", passive=True)
    assert channel.error[:2] == ("channel", 404)


@pytest.mark.rule("0-9-1/basic.publish/internal", "0-8/basic.publish/internal", "0-8/exchange.declare/internal")
@pytest.mark.rule("0-9-1/rabbitmq/exchange.declare.internal")
@ALL
def test_nobody_publishes_to_an_internal_exchange(channel: Talk) -> None:
    channel.call("exchange.declare", exchange="e", type="fanout", internal=True)
    channel.publish(b"x", exchange="e")
    text = "ACCESS_REFUSED - cannot publish to internal exchange 'e' in vhost '/'"
    assert channel.error == ("channel", 403, text)


@pytest.mark.rule("0-9-1/basic.publish/exchange-not-found", "0-8/basic.publish/exchange-not-found")
@ALL
def test_nobody_publishes_to_an_exchange_that_is_not_there(channel: Talk) -> None:
    channel.publish(b"x", exchange="e")
    assert channel.error == ("channel", 404, "NOT_FOUND - no exchange 'e' in vhost '/'")


def test_the_close_blames_the_publish(channel: Talk) -> None:
    channel.publish(b"x", exchange="e")
    from amqp_sansio import Closed

    (closed,) = channel.user.take(Closed)
    assert (closed.report.class_id, closed.report.method_id) == (60, 40)


# The nameless exchange.


@pytest.mark.rule(
    "0-9-1/rabbitmq/default-exchange-publish-only",
    "0-9-1/rabbitmq/exchange.bind.destination-default",
    "0-9-1/rabbitmq/exchange.bind.source-default",
    "0-9-1/rabbitmq/exchange.unbind.destination-default",
    "0-9-1/rabbitmq/exchange.unbind.source-default",
)
@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("exchange.declare", {"exchange": "", "type": "direct"}),
        ("exchange.delete", {"exchange": ""}),
        ("queue.bind", {"queue": "q", "exchange": "", "routing_key": "k"}),
        ("queue.unbind", {"queue": "q", "exchange": "", "routing_key": "q"}),
        ("exchange.bind", {"destination": "", "source": "amq.fanout"}),
        ("exchange.bind", {"destination": "amq.fanout", "source": ""}),
        ("exchange.unbind", {"destination": "", "source": "amq.fanout"}),
        ("exchange.unbind", {"destination": "amq.fanout", "source": ""}),
    ],
)
def test_rabbits_nameless_exchange_is_only_published_to(name: str, fields: dict[str, Any]) -> None:
    error = refused(None, name, (("queue.declare", {"queue": "q", "durable": True}),), **fields)
    assert error == ("channel", 403, "ACCESS_REFUSED - operation not permitted on the default exchange")


@pytest.mark.rule(
    "0-9-1/exchange/default-exchange",
    "0-9-1/exchange/default-access",
    "0-9-1/queue.declare/default-binding",
    "0-9-1/exchange.direct/auto-bind",
    "0-8/queue.declare/default-binding",
    "0-9-1/queue.bind/default-exchange",
    "0-8/exchange/default-internal",
    "0-8/queue.bind/internal",
    "0-8/queue.bind/fail",
)
@SPEC
def test_every_queue_is_bound_to_the_nameless_exchange(channel: Talk, dialect: str) -> None:
    channel.declare("q")
    channel.publish(b"x", "q")
    assert channel.count("q") == 1
    bound = channel.call("queue.bind", queue="q", exchange="", routing_key="q")
    if dialect == "0-9-1":
        assert bound is not None
        channel.publish(b"x", "q")
        assert channel.count("q") == 2
    else:
        assert channel.error[:2] == ("connection", 530)
