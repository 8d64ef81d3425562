"""Each bound of `Limits`, `BrokerLimits` and `RecoveryPolicy` has a test that reaches it, and that fails without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1, LimitExceeded, Limits, Side
from amqp_sansio.broker import BrokerLimits, Hub, Settings, commands
from amqp_sansio.broker.model.faults import Fault
from amqp_sansio.client.recovery import Recovering, RecoveryPolicy
from amqp_sansio_asyncio import serve_broker
from amqp_sansio_asyncio.simulated import simulated_loop
from tests.amqp_0_10.endpoint import test_limits as limits_0_10
from tests.amqp_1_0.endpoint import test_sasl as sasl_1_0
from tests.broker import test_turns as turns
from tests.broker.amqp_0_10 import test_hub_0_10_bounds as broker_0_10
from tests.broker.amqp_0_10 import test_hub_0_10_files as files_0_10
from tests.broker.amqp_1_0 import test_hub_1_0_filters as filters_1_0
from tests.broker.amqp_1_0 import test_hub_1_0_resuming as resuming_1_0
from tests.broker.amqp_1_0 import test_hub_1_0_transactions as transactions_1_0
from tests.broker.classic import test_classic_connections as connections_classic
from tests.broker.classic import test_classic_messages as messages_classic
from tests.classic.endpoint import test_bounds as bounds_classic
from tests.classic.endpoint import test_calls as calls_classic
from tests.classic.endpoint import test_endings as endings_classic
from tests.client import test_recovery as recovery
from tests.client import test_recovery_classic as recovery_classic
from tests.kit.broker_model import Model
from tests.kit.facing_classic import Facing
from tests.kit.hub_classic import World
from tests.kit.user import ClassicUser, world_of
from tools.docs import limits as limits_page

Reach = Callable[[], object]


# What reaches a bound and has no test of its own elsewhere.


def unparsed() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.SERVER, limits=Limits(unparsed=5000, message=1000, header=4096))
    facing.end.receive_data(facing.method("basic.publish")[:5], 0.0)
    assert facing.end.receive_budget == 5000 - 5


def channels() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.CLIENT, limits=Limits(channels=2))
    facing.end.open_channel()
    with pytest.raises(LimitExceeded):
        facing.end.open_channel()


def header() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.SERVER, limits=Limits(header=4096))
    facing.feed(facing.method("queue.declare", queue="q", arguments={"a": "x" * 5000}))
    assert facing.sent()[-1].method.reply_code == 501


def consumers() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.CLIENT, limits=Limits(consumers=2))
    for number in range(2):
        facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag=f"c{number}"))
        facing.feed(facing.method("basic.consume-ok", consumer_tag=f"c{number}"))
    with pytest.raises(LimitExceeded, match=r"Limits\.consumers"):
        facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag="c2"))


def memory_low() -> None:
    model = Model(BrokerLimits(memory_high=10_000, memory_low=1000))
    model.queue()
    for _ in range(20):
        model.publish("x" * 1000)
    for _ in range(14):
        model.apply(commands.Get(model.owner, "jobs", settles=True))
    assert model.broker.ledger.is_blocked


def backlog_low() -> None:
    """A client that has read all but 2,000 octets gets no deliveries yet."""
    world = World(limits=BrokerLimits(backlog_high=10_000, backlog_low=1000))
    slow, fast = messages_classic.queue(world), world.channel()
    slow.consume("q", no_ack=True)
    slow.user.reads = False
    for _ in range(100):
        fast.publish(b"x" * 500, "q")
    queue = world.hub.model.vhosts["/"].queues["q"]
    before = queue.ready
    assert before
    slow.user.client.data_to_send(0.0, slow.user.client.send_backlog - 2000)
    world.pump()
    assert queue.ready == before


def first_delay() -> None:
    user = _lost(RecoveryPolicy(first_delay=3.0, attempts=1, jitter=0.0))
    assert _told(user)[0].seconds == 3.0


def exchanges() -> None:
    model = Model(BrokerLimits(exchanges=len(Model().broker.vhosts["/"].exchanges) + 1))
    model.apply(commands.DeclareExchange(model.owner, "one", "fanout"))
    with pytest.raises(Fault, match=r"BrokerLimits\.exchanges"):
        model.apply(commands.DeclareExchange(model.owner, "two", "fanout"))


def unopened() -> None:
    """Three clients that say nothing, where two may."""

    async def arrive() -> None:
        async with serve_broker(Settings(limits=BrokerLimits(unopened=2))) as broker:
            streams = [await asyncio.open_connection("127.0.0.1", broker.port) for _ in range(3)]
            async with asyncio.timeout(1.0):
                assert await streams[0][0].read() == b""
            for _, writer in streams:
                writer.close()

    with asyncio.Runner(loop_factory=lambda: simulated_loop(world_of())) as runner:
        runner.run(arrive())


def login() -> None:
    client = Hub(Settings(limits=BrokerLimits(login=1000))).connect()
    client.receive_data(AMQP_0_9_1.header, 0.0)
    client.next_event()
    assert client.receive_budget <= 1000


def factor() -> None:
    user = _lost(RecoveryPolicy(factor=1.0, attempts=4, jitter=0.0))
    assert [event.seconds for event in _told(user)][:4] == [0.5] * 4


def steady() -> None:
    """A connection that dies as soon as it is open counts as an attempt, so the second one is the last."""
    user = ClassicUser(world=world_of(), recover=RecoveryPolicy(attempts=1, steady=5.0, jitter=0.0))
    user.back()
    user.turn(6.0)
    user.back()
    assert user.connection.is_open


def tries() -> None:
    user = ClassicUser(world=world_of(), recover=RecoveryPolicy(tries=1, jitter=0.0))
    user.start(user.channel(confirm=True).publish(b"x", routing_key="jobs"))
    assert len(user.back().in_doubt) == 1


def patience() -> None:
    user = ClassicUser(world=world_of(), recover=RecoveryPolicy(patience=1.0, jitter=0.0))
    user.run(user.channel().declare_queue("mine", exclusive=True))
    user.cut()
    recovery_classic.taken_by_another(user, "mine")
    user.wait_back()
    assert user.now < 3.0


def attempts() -> None:
    user = _lost(RecoveryPolicy(attempts=2, jitter=0.0))
    assert "given up after 2 attempts" in str(user.connection.report)


def ceiling() -> None:
    user = _lost(RecoveryPolicy(ceiling=1.0, deadline=20.0, jitter=0.0))
    assert max([event.seconds for event in _told(user)]) == 1.0


def _lost(policy: RecoveryPolicy) -> ClassicUser:
    """A user whose client has tried for a minute to connect again."""
    user = ClassicUser(world=world_of(), recover=policy)
    user.refuse()
    user.cut()
    user.turn(60.0)
    return user


def _told(user: ClassicUser) -> list[Recovering]:
    found: list[Any] = []
    while (call := user.start(user.events.__anext__())).error is None:
        found.append(call.result)
    return found


LIMITS: Final[dict[str, Reach]] = {
    "unparsed": unparsed,
    "message": lambda: bounds_classic.test_a_body_above_the_limit_ends_its_channel(AMQP_0_9_1),
    "bodies": lambda: bounds_classic.test_bodies_under_way_share_a_limit(AMQP_0_9_1),
    "header": header,
    "channels": channels,
    "nesting": endings_classic.test_bounds_of_tables_are_those_of_the_limits,
    "entries": endings_classic.test_bounds_of_tables_are_those_of_the_limits,
    "requests": lambda: bounds_classic.test_requests_beyond_the_limit_pause_until_one_is_answered(AMQP_0_9_1),
    "calls": lambda: bounds_classic.test_own_calls_and_publishes_are_limited(AMQP_0_9_1),
    "unsettled": limits_0_10.test_the_own_transfers_without_an_outcome_are_bounded,
    "unconfirmed": calls_classic.test_own_publishes_that_wait_are_limited,
    "consumers": consumers,
    "backlog_high": lambda: calls_classic.test_a_high_backlog_is_told_and_its_fall_too(AMQP_0_9_1),
    "backlog_low": lambda: calls_classic.test_a_high_backlog_is_told_and_its_fall_too(AMQP_0_9_1),
    "backlog_hard": lambda: bounds_classic.test_a_client_that_never_reads_is_ended(AMQP_0_9_1),
    "sasl_rounds": sasl_1_0.test_rounds_without_end_are_ended,
    "replay": lambda: limits_0_10.test_commands_that_are_not_confirmed_are_bounded(Side.CLIENT),
    "replay_octets": limits_0_10.test_the_octets_of_what_is_not_confirmed_are_bounded,
}
BROKER: Final[dict[str, Reach]] = {
    "exchanges": exchanges,
    "queues": lambda: broker_0_10.test_bounds_of_the_model_are_resource_limits(BrokerLimits(queues=1)),
    "bindings": lambda: broker_0_10.test_bounds_of_the_model_are_resource_limits(BrokerLimits(bindings=1)),
    "consumers": lambda: broker_0_10.test_bounds_of_the_model_are_resource_limits(BrokerLimits(consumers=1)),
    "transactions": transactions_1_0.test_a_declare_beyond_the_bound_is_rejected,
    "transaction_octets": files_0_10.test_staged_files_have_a_bound,
    "memory_high": connections_classic.test_publishers_are_told_when_the_broker_is_full,
    "memory_low": memory_low,
    "topology": lambda: turns.test_topology_is_bounded_and_counted("queue"),
    "backlog_high": messages_classic.test_who_does_not_read_holds_up_only_himself,
    "backlog_low": backlog_low,
    "kept_links": resuming_1_0.test_links_that_last_are_bounded,
    "login": login,
    "unopened": unopened,
    "selector": filters_1_0.test_a_selector_is_bounded_by_the_limits_of_the_broker,
    "turn": turns.test_a_confirm_comes_after_the_last_queue_has_the_message,
}
RECOVERY: Final[dict[str, Reach]] = {
    "first_delay": first_delay,
    "factor": factor,
    "ceiling": ceiling,
    "jitter": recovery.test_jitter_and_order_follow_from_the_number_given,
    "deadline": recovery_classic.test_it_gives_up_after_the_deadline_with_the_whole_story,
    "attempts": attempts,
    "in_doubt_octets": recovery_classic.test_what_is_kept_for_restoring_is_bounded,
    "remembered": lambda: recovery_classic.test_messages_without_confirms_are_reported_and_never_sent_again(AMQP_0_9_1),
    "declared": recovery_classic.test_what_is_kept_for_restoring_is_bounded,
    "steady": steady,
    "tries": tries,
    "patience": patience,
    "redirects": recovery.test_redirects_are_followed_as_often_as_the_policy_says,
}
NO_BOUNDS: Final = {"addresses", "shuffle", "retry", "in_doubt", "publish"}
"""Fields of a policy that choose, and bound nothing."""
TABLES: Final[dict[type[Any], dict[str, Reach]]] = {Limits: LIMITS, BrokerLimits: BROKER, RecoveryPolicy: RECOVERY}
ROWS: Final = [(kind, name) for kind, table in TABLES.items() for name in table]


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.__name__)
def test_each_bound_has_a_test(kind: type[Any]) -> None:
    assert set(TABLES[kind]) == {*kind.__match_args__} - (NO_BOUNDS if kind is RecoveryPolicy else set())


def test_each_bound_is_documented() -> None:
    assert set(limits_page.rows(BrokerLimits)) == set(BROKER)
    assert set(limits_page.rows(Limits)) == set(LIMITS)
    assert set(limits_page.POLICY) == set(RECOVERY)


@pytest.mark.parametrize(("kind", "name"), ROWS, ids=lambda value: getattr(value, "__name__", value))
def test_each_bound_is_reached(kind: type[Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its test passes, and fails when the record has its default instead."""
    reach = TABLES[kind][name]
    reach()
    make, default = kind.__init__, getattr(kind(), name)

    def with_the_default(self: object, *given: Any, **fields: Any) -> None:
        make(self, *given, **{**fields, name: default})

    monkeypatch.setattr(kind, "__init__", with_the_default)
    with pytest.raises((Exception, pytest.fail.Exception)):
        reach()
