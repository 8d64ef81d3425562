"""Transfer of messages, transactions, confirms (classes basic, tx, confirm; domains delivery-tag, consumer-tag)."""

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Accepted, LimitExceeded, Rejected, Released, Scope, Settled, Version
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.endpoint import Side
from amqp_sansio.limits import Limits
from tests.conformance.granting import agree, consume, strictly_consuming
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import STRICT, Facing, both_rules, start_ok, tune_ok
from tests.kit.pair_classic import Pair, server_config

UNKNOWN_TAG = {AMQP_0_8: 404, AMQP_0_9_1: 406}


def consuming(version: Version, side: Side, channels: int = 1) -> Facing:
    """An endpoint with a consumer named after each channel ("t1", "t2")."""
    facing = Facing.opened(version, side, channels=channels)
    for number in range(1, channels + 1):
        consume(facing, f"t{number}", number)
    return facing.forget()


# Delivery tags.


@both_rules("domain/delivery-tag.channel-scope", "basic.ack/unknown-tag")
def test_a_delivery_is_acknowledged_on_its_own_channel_only(version: Version) -> None:
    client = consuming(version, CLIENT, channels=2)
    client.feed(client.message("basic.deliver", b"x", 1, consumer_tag="t1", delivery_tag=5))
    other = client.end.channel(2)
    for refused in (
        lambda: other.accept(5),
        lambda: other.accept(5, multiple=True),
        lambda: other.reject(5),
        lambda: other.release(5),
    ):
        client.misuse(refused, "basic.ack/unknown-tag")
    client.channel.accept(5)
    client.settle()
    assert client.names() == ["basic.ack"]


@pytest.mark.parametrize("name", ["basic.ack", "basic.reject"])
@both_rules("domain/delivery-tag.channel-scope", "basic.ack/unknown-tag")
@pytest.mark.rule("0-9-1/rabbitmq/basic.ack.exists", "0-9-1/rabbitmq/reject-unknown-tag")
def test_an_unknown_delivery_tag_ends_the_channel(version: Version, name: str) -> None:
    server = consuming(version, SERVER, channels=2)
    server.channel.deliver(b"x", consumer_tag="t1")
    server.refuses(
        server.method(name, 2, delivery_tag=1),
        code=UNKNOWN_TAG[version],
        rule="basic.ack/unknown-tag",
        scope=Scope.CHANNEL,
        channel=2,
    )
    # On its own channel it counts once.
    server.feed(server.method(name, delivery_tag=1))
    server.refuses(
        server.method(name, delivery_tag=1),
        code=UNKNOWN_TAG[version],
        rule="basic.ack/unknown-tag",
        scope=Scope.CHANNEL,
    )


@pytest.mark.parametrize(
    ("verb", "tag", "options", "words"),
    [
        ("accept", 1, {}, "acknowledge once only"),
        ("accept", 1, {"multiple": True}, "acknowledge once only"),
        ("reject", 1, {}, "no delivery with tag 1"),
        ("release", 1, {}, "no delivery with tag 1"),
        ("accept", 2, {"multiple": True}, "no delivery with tag 2"),
        ("reject", 3, {}, "no delivery with tag 3"),
        ("release", 99, {}, "no delivery with tag 99"),
        ("accept", 0, {}, "no delivery with tag 0"),
        ("reject", 0, {}, "no delivery with tag 0"),
    ],
)
@pytest.mark.rule("0-8/basic.ack/unknown-tag", "0-9-1/basic.ack/unknown-tag", "0-9-1/rabbitmq/basic.ack.exists")
def test_a_client_acknowledges_once(
    version: Version, verb: str, tag: int, options: dict[str, bool], words: str
) -> None:
    client = consuming(version, CLIENT)
    client.feed(client.message("basic.deliver", b"x", consumer_tag="t1", delivery_tag=1))
    client.channel.accept(1)
    settle = getattr(client.channel, verb)
    assert words in str(client.misuse(lambda: settle(tag, **options), "basic.ack/unknown-tag"))


@pytest.mark.rule("0-8/basic.ack/multiple-zero", "0-9-1/basic.ack/multiple", "0-8/basic.ack/unknown-tag")
def test_multiple_means_up_to_and_0_means_all(pair: Pair) -> None:
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t"))
    pair.pump()
    handles = [pair.peer(channel).deliver(b"x", consumer_tag="t") for _ in range(10)]
    pair.pump()
    channel.accept(2)
    channel.accept(4, multiple=True)
    channel.release(6)
    channel.reject(7)
    pair.pump()
    # One event settles all that one method does.
    assert pair.take(SERVER, Settled) == [
        Settled((handles[1],), Accepted()),
        Settled((handles[0], handles[2], handles[3]), Accepted()),
        Settled((handles[5],), Released()),
        Settled((handles[6],), Rejected()),
    ]
    channel.accept(0, multiple=True)
    # With nothing outstanding that's fine, too.
    channel.accept(0, multiple=True)
    pair.pump()
    assert all(handle.done for handle in handles)
    assert channel.is_open


@pytest.mark.rule("0-8/domain/delivery-tag.nonzero", "0-9-1/domain/delivery-tag.nonzero")
def test_delivery_tags_are_never_0(version: Version) -> None:
    server = consuming(version, SERVER)
    server.channel.deliver(b"x", consumer_tag="t1")
    server.channel.deliver(b"x", consumer_tag="t1")
    server.settle()
    tags = [each.method.delivery_tag for each in server.sent() if each.method is not None]
    assert tags == [1, 2]
    server.misuse(
        lambda: server.channel.send(server.make("basic.deliver", consumer_tag="t1", delivery_tag=0), None, b"x"),
        "domain/delivery-tag.nonzero",
    )
    server.feed(server.method("basic.get", queue="q"))
    server.misuse(
        lambda: server.channel.reply(server.make("basic.get-ok", delivery_tag=0), None, b"x"),
        "domain/delivery-tag.nonzero",
    )
    client = consuming(version, CLIENT)
    client.refuses(
        client.method("basic.deliver", consumer_tag="t1", delivery_tag=0), code=530, rule="domain/delivery-tag.nonzero"
    )
    client = Facing.opened(version, CLIENT)
    client.channel.call(client.make("basic.get", queue="q"))
    client.settle()
    client.refuses(client.method("basic.get-ok", delivery_tag=0), code=530, rule="domain/delivery-tag.nonzero")


def test_a_delivery_tag_is_not_given_again_while_it_waits(version: Version) -> None:
    client = consuming(version, CLIENT)
    deliver = client.message("basic.deliver", b"x", consumer_tag="t1", delivery_tag=1)
    client.feed(deliver)
    first = deliver[: 8 + int.from_bytes(deliver[3:7], "big")]
    client.refuses(first, code=530, rule="domain/delivery-tag.channel-scope", blames="basic.deliver")


# Acknowledgement modes.


@pytest.mark.rule("0-8/basic/ack-modes", "0-9-1/basic/no-ack-mode", "0-9-1/basic/ack-mode")
def test_consumers_with_and_without_acknowledgement(pair: Pair) -> None:
    channel = pair.channel()
    for tag, no_ack in (("auto", True), ("explicit", False)):
        channel.call(pair.method("basic.consume", queue="q", consumer_tag=tag, no_ack=no_ack))
    pair.pump()
    peer = pair.peer(channel)
    auto = peer.deliver(b"a", consumer_tag="auto")
    explicit = peer.deliver(b"e", consumer_tag="explicit")
    pair.pump()
    assert auto.done
    assert not explicit.done
    first, second = pair.take(CLIENT, amqp.Delivery)
    with pytest.raises(Exception, match="no delivery with tag"):
        channel.accept(first.delivery_tag)
    channel.accept(second.delivery_tag)
    pair.pump()
    assert explicit.done


@pytest.mark.rule("0-8/basic.get-ok/must-ack", "0-9-1/basic.get-ok/must-ack")
def test_what_was_got_is_acknowledged_unless_no_ack(version: Version) -> None:
    for no_ack in (False, True):
        server = Facing.opened(version, SERVER)
        server.feed(server.method("basic.get", queue="q", no_ack=no_ack))
        server.channel.reply(server.make("basic.get-ok", delivery_tag=1), None, b"x")
        server.forget()
        ack = server.method("basic.ack", delivery_tag=1)
        if no_ack:
            server.refuses(
                ack, code=UNKNOWN_TAG[version], rule="basic.ack/unknown-tag", scope=Scope.CHANNEL, blames="basic.ack"
            )
        else:
            server.feed(ack)
            assert server.of(amqp.MethodReceived)


# Consumer tags.


@pytest.mark.parametrize(
    ("version", "of_class"),
    [(AMQP_0_8, "basic"), (AMQP_0_8, "file"), (AMQP_0_8, "stream"), (AMQP_0_9_1, "basic")],
    ids=lambda value: value if isinstance(value, str) else value.label,
)
@both_rules("basic.consume/tag-in-use")
@pytest.mark.rule("0-8/file.consume/tag-in-use", "0-8/stream.consume/tag-in-use")
def test_the_tag_of_a_live_consumer_is_not_given_again(version: Version, of_class: str) -> None:
    name, fields = f"{of_class}.consume", {"queue": "q", "consumer_tag": "t"}
    client, server = Facing.opened(version, CLIENT), Facing.opened(version, SERVER)
    client.channel.call(client.make(name, **fields))
    client.misuse(lambda: client.channel.call(client.make(name, **fields)), "basic.consume/tag-in-use")
    client.feed(client.method(f"{name}-ok", consumer_tag="t"))
    client.misuse(lambda: client.channel.call(client.make(name, **fields)), "basic.consume/tag-in-use")
    agree(server, name, ok={"consumer_tag": "t"}, **fields)
    # Once cancelled it's free again.
    agree(server, f"{of_class}.cancel", ok={"consumer_tag": "t"}, consumer_tag="t")
    agree(server, name, ok={"consumer_tag": "t"}, **fields)
    assert [event.method.NAME for event in server.of(amqp.Request)] == [name, f"{of_class}.cancel", name]
    server.refuses(server.method(name, **fields), code=530, rule="basic.consume/tag-in-use")


@pytest.mark.rule("0-8/basic.consume/server-tag", "0-9-1/basic.consume/server-tag")
def test_the_server_makes_up_a_tag_where_none_is_given(client: Facing) -> None:
    first = client.channel.call(client.make("basic.consume", queue="q"))
    second = client.channel.call(client.make("basic.consume", queue="q"))
    client.feed(
        client.method("basic.consume-ok", consumer_tag="made-1"),
        client.method("basic.consume-ok", consumer_tag="made-2"),
        client.message("basic.deliver", b"x", consumer_tag="made-2", delivery_tag=1),
    )
    assert (first.result.consumer_tag, second.result.consumer_tag) == ("made-1", "made-2")
    assert client.of(amqp.Delivery)


@pytest.mark.rule("0-8/domain/consumer-tag.channel-scope", "0-9-1/basic.consume/tag-channel-scope")
def test_a_consumer_is_used_on_its_own_channel_only(version: Version) -> None:
    """Deliveries for it come there, and it's cancelled there (the latter binds strict dialects)."""
    server = consuming(version, SERVER, channels=2)
    server.misuse(lambda: server.end.channel(2).deliver(b"x", consumer_tag="t1"), "domain/consumer-tag.channel-scope")
    client = consuming(version, CLIENT, channels=2)
    client.refuses(
        client.method("basic.deliver", 2, consumer_tag="t1", delivery_tag=1),
        code=530,
        rule="domain/consumer-tag.channel-scope",
    )
    strict_client = strictly_consuming(version, CLIENT, 2)
    strict_client.misuse(
        lambda: strict_client.end.channel(2).call(strict_client.make("basic.cancel", consumer_tag="t")),
        "basic.consume/tag-channel-scope",
    )
    strict_server = strictly_consuming(version, SERVER, 2)
    strict_server.refuses(
        strict_server.method("basic.cancel", 2, consumer_tag="t"), code=530, rule="basic.consume/tag-channel-scope"
    )


@pytest.mark.rule("0-8/basic.cancel/in-flight", "0-9-1/basic.cancel/in-flight")
def test_deliveries_may_come_until_cancel_ok(version: Version) -> None:
    client = consuming(version, CLIENT)
    handle = client.channel.call(client.make("basic.cancel", consumer_tag="t1"))
    client.feed(client.message("basic.deliver", b"late", consumer_tag="t1", delivery_tag=1))
    client.feed(client.method("basic.cancel-ok", consumer_tag="t1"))
    assert [event.body for event in client.of(amqp.Delivery)] == [b"late"]
    assert handle.done
    # What was delivered before is acknowledged as ever.
    client.channel.accept(1)


# Rejecting while content is on its way.


@pytest.mark.parametrize(
    ("version", "name"),
    [(AMQP_0_8, "basic.reject"), (AMQP_0_9_1, "basic.reject"), (AMQP_0_9_1, "basic.nack")],
    ids=lambda value: value if isinstance(value, str) else value.label,
)
@pytest.mark.rule("0-8/basic.reject/during-content", "0-9-1/basic.reject/during-content")
@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.during-content")
def test_a_server_reads_a_reject_while_it_sends_content(version: Version, name: str) -> None:
    pair = Pair(version).open()
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t"))
    pair.pump()
    peer = pair.peer(channel)
    handle = peer.begin(pair.method("basic.deliver", consumer_tag="t", delivery_tag=1), amqp.BasicProperties(), 300_000)
    peer.continue_body(b"x" * 200_000)
    pair.pump()
    assert not pair.take(CLIENT, amqp.Delivery)
    channel.send(pair.method(name, delivery_tag=1, requeue=False))
    pair.pump()
    (settled,) = pair.take(SERVER, Settled)
    assert (settled.pendings, settled.state) == ((handle,), Rejected())
    peer.continue_body(b"x" * 100_000)
    pair.pump()
    assert len(pair.take(CLIENT, amqp.Delivery)) == 1
    assert channel.is_open


# Recover.


@pytest.mark.rule("0-8/basic.recover/transacted")
def test_recover_on_a_transacted_channel_ends_it_in_strict_0_8() -> None:
    client = Facing.opened(AMQP_0_8, CLIENT, dialect=STRICT[AMQP_0_8])
    agree(client, "tx.select")
    client.forget()
    client.misuse(lambda: client.channel.send(client.make("basic.recover")), "basic.recover/transacted")
    server = Facing.opened(AMQP_0_8, SERVER, dialect=STRICT[AMQP_0_8])
    agree(server, "tx.select")
    server.refuses(server.method("basic.recover"), code=503, rule="basic.recover/transacted", scope=Scope.CHANNEL)
    # Brokers in use allow it.
    lenient = Facing.opened(AMQP_0_8, SERVER)
    agree(lenient, "tx.select")
    lenient.feed(lenient.method("basic.recover"))
    assert lenient.of(amqp.MethodReceived)


@pytest.mark.rule("0-8/basic.recover/no-reply")
def test_recover_gives_deliveries_back_and_has_a_reply_in_0_9_1_only(version: Version) -> None:
    server = consuming(version, SERVER)
    handle = server.channel.deliver(b"x", consumer_tag="t1")
    server.feed(server.method("basic.recover", requeue=True))
    if version is AMQP_0_9_1:
        assert [event.method.NAME for event in server.of(amqp.Request)] == ["basic.recover"]
        server.channel.reply(server.make("basic.recover-ok"))
        server.settle()
    else:
        assert [event.method.NAME for event in server.of(amqp.MethodReceived)] == ["basic.recover"]
    assert handle.done
    server.refuses(
        server.method("basic.ack", delivery_tag=1),
        code=UNKNOWN_TAG[version],
        rule="basic.ack/unknown-tag",
        scope=Scope.CHANNEL,
    )


# Bounds.


def test_more_unsettled_deliveries_than_allowed(version: Version, side: Side) -> None:
    facing = Facing.opened(version, side, limits=Limits(unsettled=3, consumers=2))
    consume(facing)
    if side is CLIENT:
        facing.feed(*[facing.message("basic.deliver", b"x", consumer_tag="t", delivery_tag=tag) for tag in (1, 2, 3)])
        above = facing.method("basic.deliver", consumer_tag="t", delivery_tag=4)
        facing.refuses(above, code=506, rule=None, scope=Scope.CHANNEL)
        return
    for _ in range(3):
        facing.channel.deliver(b"x", consumer_tag="t")
    error = facing.misuse(lambda: facing.channel.deliver(b"x", consumer_tag="t"), None)
    assert isinstance(error, LimitExceeded)
    assert "Limits.unsettled" in str(error)


# Transactions, and RabbitMQ's extensions: confirms, nack, cancel notify, update-secret (class tx; extended XML).


# Transactions.


@pytest.mark.parametrize(
    ("version", "name", "fields", "code", "rule"),
    [
        (AMQP_0_8, "tx.commit", {}, 503, "tx.commit/not-transacted"),
        (AMQP_0_8, "tx.rollback", {}, 503, "tx.rollback/not-transacted"),
        (AMQP_0_9_1, "tx.commit", {}, 406, "tx.commit/not-transacted"),
        (AMQP_0_9_1, "tx.rollback", {}, 406, "tx.rollback/not-transacted"),
        (AMQP_0_8, "dtx.start", {"dtx_identifier": "x"}, 503, "dtx.select/required"),
    ],
)
@both_rules("tx.select/required")
@pytest.mark.rule("0-9-1/tx.commit/not-transacted", "0-9-1/tx.rollback/not-transacted")
@pytest.mark.rule("0-8/dtx/grammar", "0-8/dtx.select/required", "0-8/dtx.start/fail")
def test_transactions_need_a_transacted_channel(
    version: Version, name: str, fields: dict[str, str], code: int, rule: str
) -> None:
    client = Facing.opened(version, CLIENT, channels=2)
    client.end.channel(2).call(client.make(f"{name.partition('.')[0]}.select"))
    client.misuse(lambda: client.channel.call(client.make(name, **fields)), rule)
    server = Facing.opened(version, SERVER)
    server.refuses(server.method(name, **fields), code=code, rule=rule, scope=Scope.CHANNEL)


@pytest.mark.rule("0-8/tx/grammar", "0-8/tx.commit/new-tx", "0-9-1/tx.commit/new-tx", "0-9-1/tx/scope")
def test_transactions_follow_one_another(pair: Pair) -> None:
    channel = pair.channel()
    for name in ("tx.select", "tx.commit", "tx.rollback", "tx.commit", "tx.select"):
        handle = channel.call(pair.method(name))
        pair.pump()
        assert f"{name}-ok" == handle.result.NAME


@pytest.mark.rule("0-9-1/basic.ack/unknown-tag", "0-9-1/rabbitmq/basic.ack.exists")
def test_an_unknown_tag_is_refused_at_once_in_a_transaction() -> None:
    server = Facing.opened(AMQP_0_9_1, SERVER)
    agree(server, "tx.select")
    consume(server)
    server.channel.deliver(b"x", consumer_tag="t")
    server.feed(server.method("basic.ack", delivery_tag=1))
    server.refuses(
        server.method("basic.ack", delivery_tag=1), code=406, rule="basic.ack/unknown-tag", scope=Scope.CHANNEL
    )


@pytest.mark.parametrize(
    ("version", "one", "other", "code", "rule"),
    [
        (AMQP_0_9_1, "tx.select", "confirm.select", 406, "rabbitmq/confirm.select-not-tx"),
        (AMQP_0_8, "tx.select", "dtx.select", 503, "dtx/grammar"),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.rule("0-9-1/rabbitmq/confirm.select-not-tx", "0-8/dtx/grammar")
def test_a_channel_has_confirms_or_one_kind_of_transactions(
    version: Version, one: str, other: str, code: int, rule: str, reverse: bool
) -> None:
    first, second = (other, one) if reverse else (one, other)
    client = Facing.opened(version, CLIENT)
    client.channel.call(client.make(first))
    client.misuse(lambda: client.channel.call(client.make(second)), rule)
    server = Facing.opened(version, SERVER)
    agree(server, first)
    server.refuses(server.method(second), code=code, rule=rule, scope=Scope.CHANNEL)


# Confirms.


def confirming(side: Side = CLIENT) -> Facing:
    """An endpoint whose channel 1 is in confirm mode."""
    facing = Facing.opened(AMQP_0_9_1, side)
    agree(facing, "confirm.select")
    return facing.forget()


@pytest.mark.parametrize("name", ["basic.ack", "basic.nack"])
@pytest.mark.rule("0-9-1/rabbitmq/basic.ack.exists", "0-9-1/rabbitmq/basic.nack.exists")
@pytest.mark.parametrize(("tag", "multiple"), [(1, False), (9, False), (9, True)])
def test_only_a_publish_is_confirmed_and_once_only(name: str, tag: int, multiple: bool) -> None:
    client = confirming()
    for _ in range(3):
        client.channel.publish(b"x", routing_key="q")
    client.settle()
    client.feed(client.method(name, delivery_tag=1))
    again = client.method(name, delivery_tag=tag, multiple=multiple)
    client.refuses(again, code=406, rule="rabbitmq/basic.ack.exists", scope=Scope.CHANNEL)
    server = confirming(SERVER)
    server.feed(server.message("basic.publish", b"x"))
    server.channel.confirm(1)
    for refused in (
        lambda: server.channel.confirm(1),
        lambda: server.channel.confirm(1, accepted=False),
        lambda: server.channel.confirm(2),
        lambda: server.channel.confirm(2, multiple=True),
    ):
        server.misuse(refused, "rabbitmq/basic.ack.exists")


@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.exists", "0-9-1/rabbitmq/basic.ack.exists")
def test_a_nack_of_an_unknown_delivery_ends_the_channel() -> None:
    for multiple in (False, True):
        server = Facing.opened(AMQP_0_9_1, SERVER)
        server.refuses(
            server.method("basic.nack", delivery_tag=1, multiple=multiple),
            code=406,
            rule="basic.ack/unknown-tag",
            scope=Scope.CHANNEL,
        )
        client = Facing.opened(AMQP_0_9_1, CLIENT)
        nack = client.make("basic.nack", delivery_tag=1, multiple=multiple)
        client.misuse(lambda: client.channel.send(nack), "basic.ack/unknown-tag")  # noqa: B023


@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.publisher", "0-9-1/rabbitmq/basic.nack.requeue-ignored")
def test_a_publisher_learns_of_a_nack_whatever_it_says_of_requeueing() -> None:
    for requeue in (False, True):
        client = confirming()
        handle = client.channel.publish(b"x", routing_key="q")
        client.settle()
        client.forget()
        client.feed(client.method("basic.nack", delivery_tag=1, requeue=requeue))
        assert client.of(Settled) == [Settled((handle,), Rejected())]
        assert handle.result == Rejected()
        assert client.out == b""


@pytest.mark.rule("0-9-1/rabbitmq/confirm.no-time")
def test_nothing_is_assumed_on_how_soon_confirms_come() -> None:
    client = confirming()
    handle = client.channel.publish(b"x", routing_key="q")
    client.settle()
    assert client.end.next_deadline is None
    client.wait(1_000_000.0)
    assert not handle.done
    client.feed(client.method("basic.ack", delivery_tag=1))
    assert handle.result == Accepted()


# Cancel notify, blocked, update-secret.


@pytest.mark.parametrize(
    ("name", "rule"),
    [("basic.cancel", "rabbitmq/basic.cancel.capability"), ("connection.blocked", "rabbitmq/connection.blocked")],
)
@pytest.mark.parametrize("capabilities", [None, {}, {"other": True}, "text"])
@pytest.mark.rule("0-9-1/rabbitmq/basic.cancel.capability")
def test_extensions_go_only_to_clients_that_announced_them(name: str, rule: str, capabilities: object) -> None:
    server = Facing(AMQP_0_9_1, SERVER, server_config())
    properties = {} if capabilities is None else {"capabilities": capabilities}
    server.feed(AMQP_0_9_1.header, start_ok(server, client_properties=properties))
    server.end.accept_authentication()
    server.feed(tune_ok(server, 10, 4096), server.method("connection.open", 0, virtual_host="/"))
    server.end.accept_open()
    server.feed(server.method("channel.open"), server.method("basic.consume", queue="q", consumer_tag="t"))
    server.channel.reply(server.make("basic.consume-ok", consumer_tag="t"))
    if name == "basic.cancel":
        cancel = server.make(name, consumer_tag="t", no_wait=True)
        server.misuse(lambda: server.channel.call(cancel), rule)
    else:
        server.misuse(lambda: server.end.send(server.make(name, reason="memory")), rule)


@pytest.mark.rule("0-9-1/rabbitmq/connection.blocked")
def test_a_blocked_connection_is_told() -> None:
    pair = Pair(AMQP_0_9_1).open()
    pair.server.send(pair.method("connection.blocked", reason="low on memory"))
    pair.server.send(pair.method("connection.unblocked"))
    pair.pump()
    assert pair.take(CLIENT)[-2:] == [amqp.Blocked("low on memory"), amqp.Unblocked()]
