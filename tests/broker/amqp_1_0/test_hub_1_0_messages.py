"""1.0 on the broker: messages from sender to receiver, what becomes of them, and what their sections say then."""

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.limits import Limits
from tests.kit.hub_1_0 import User, World, browsing

RICH = amqp.Message(
    amqp.AmqpValue({"a": [1, None, True]}),
    header=amqp.Header(durable=True, priority=3),
    message_annotations={amqp.Symbol("x-opt-one"): 1},
    properties=amqp.Properties(message_id=spec.ULong(7), subject="s", reply_to="there", user_id=b"me"),
    application_properties={"n": 1},
    footer={amqp.Symbol("x-opt-sum"): b"ff"},
)


def jobs(**settings: Any) -> World:
    """A world with a queue called jobs."""
    world = World(**settings)
    world.queue("jobs")
    return world


@pytest.fixture
def world() -> World:
    return jobs()


@pytest.mark.rule("1.0/node/available-first", "1.0/node/acquire-before-transfer")
@pytest.mark.rule("1.0/node/acquired-until-settled", "1.0/node/accepted-rejected-archive", "1.0/source/move")
def test_a_message_is_available_then_acquired_until_it_is_settled(world: World, user: User) -> None:
    sender = user.sender("jobs")
    assert user.send(sender, b"one", b"two") == [amqp.Accepted(), amqp.Accepted()]
    assert world.state("jobs") == (2, 0)
    receiver, other = user.receiver("jobs", credit=1), user.receiver("jobs", credit=10)
    (one,), (two,) = user.take(receiver), user.take(other)
    assert (one.body, two.body) == (b"one", b"two")
    assert world.state("jobs") == (0, 2)
    receiver.accept(one)
    other.reject(two)
    world.pump()
    assert world.state("jobs") == (0, 0)
    assert not user.take()


@pytest.mark.rule("1.0/node/released-modified-available", "1.0/accepted/no-count")
@pytest.mark.rule("1.0/released/no-count", "1.0/modified/delivery-failed", "1.0/header.delivery-count/rule")
@pytest.mark.rule("1.0/header.first-acquirer/meaning")
def test_what_is_released_or_modified_comes_again_and_only_failures_count(world: World, user: User) -> None:
    world.put("jobs", amqp.Message(b"it", header=amqp.Header(first_acquirer=True)))
    receiver = user.receiver("jobs", credit=10)
    (first,) = user.take(receiver)
    assert (first.message.delivery_count, first.message.first_acquirer) == (0, True)
    receiver.release(first)
    (again,) = user.take(receiver)
    assert (again.message.delivery_count, again.message.first_acquirer) == (0, False)
    receiver.modify(again)
    (again,) = user.take(receiver)
    assert again.message.delivery_count == 0
    receiver.modify(again, delivery_failed=True)
    (again,) = user.take(receiver)
    assert again.message.delivery_count == 1
    receiver.modify(again, delivery_failed=True)
    (again,) = user.take(receiver)
    assert again.message.delivery_count == 2
    receiver.accept(again)
    world.pump()
    assert world.state("jobs") == (0, 0)


@pytest.mark.rule("1.0/modified/undeliverable-here")
def test_what_is_undeliverable_here_goes_to_another_link(world: World, user: User) -> None:
    receiver = user.receiver("jobs", credit=10)
    world.put("jobs", b"it")
    (first,) = user.take(receiver)
    receiver.modify(first, undeliverable_here=True)
    assert not user.take(receiver)
    assert world.state("jobs") == (1, 0)
    other = user.receiver("jobs", credit=10)
    assert user.bodies(other) == [b"it"]


@pytest.mark.rule("1.0/modified/undeliverable-here")
def test_what_is_undeliverable_to_a_link_may_go_to_the_next_one_of_its_name(world: World, user: User) -> None:
    world.put("jobs", b"it")
    session = user.session()
    for _ in range(2):
        receiver = user.receiver("jobs", session, name="mine", credit=10)
        (it,) = user.take(receiver)
        receiver.modify(it, undeliverable_here=True)
        receiver.detach()
        world.pump()
        receiver = user.receiver("jobs", session, name="mine", credit=10)
        assert not user.take(receiver)
        receiver.close()
        world.pump()


@pytest.mark.rule("1.0/modified/annotations-merge", "1.0/message-annotations/propagate")
def test_annotations_of_modified_are_merged_and_propagated(world: World, user: User) -> None:
    receiver = user.receiver("jobs", credit=10)
    annotations = {amqp.Symbol("x-opt-a"): 1, amqp.Symbol("x-opt-b"): 2}
    world.put("jobs", amqp.Message(b"it", message_annotations=annotations))
    (first,) = user.take(receiver)
    assert dict(first.message.message_annotations) == annotations
    receiver.modify(first, message_annotations={amqp.Symbol("x-opt-b"): 3, amqp.Symbol("x-opt-c"): 4})
    (again,) = user.take(receiver)
    merged = {amqp.Symbol("x-opt-a"): 1, amqp.Symbol("x-opt-b"): 3, amqp.Symbol("x-opt-c"): 4}
    assert dict(again.message.message_annotations) == merged


@pytest.mark.rule("1.0/message/bare-immutable", "1.0/properties/unaltered", "1.0/footer/late")
def test_a_message_passes_octet_for_octet_and_its_bare_part_always_does(user: User) -> None:
    sender, receiver = user.sender("jobs"), user.receiver("jobs", credit=10)
    sender.send(RICH.encode())
    (first,) = user.take(receiver)
    assert first.payload == RICH.encode()
    receiver.modify(first, delivery_failed=True, message_annotations={amqp.Symbol("x-opt-two"): 2})
    (again,) = user.take(receiver)
    assert again.payload != first.payload
    assert again.message.bare == RICH.bare
    assert again.message.footer == RICH.footer
    assert again.message.header == amqp.Header(durable=True, priority=3, delivery_count=1)


@pytest.mark.rule("1.0/delivery-annotations/hop")
def test_delivery_annotations_go_one_hop(user: User) -> None:
    sender, receiver = user.sender("jobs"), user.receiver("jobs", credit=10)
    user.send(sender, amqp.Message(b"it", delivery_annotations={amqp.Symbol("x-opt-hop"): 1}))
    (first,) = user.take(receiver)
    assert not first.message.delivery_annotations
    assert first.payload == amqp.Message(b"it").encode()


@pytest.mark.rule("1.0/rejected/count", "1.0/rejected/error-annotation")
def test_what_is_rejected_tells_the_node_for_dead_letters_why() -> None:
    world = World()
    world.queue("dead")
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    world.queue("jobs", arguments=arguments)
    user = world.connect()
    receiver = user.receiver("jobs", credit=10)
    world.put("jobs", b"it")
    (first,) = user.take(receiver)
    error = amqp.Error(amqp.Symbol("amqp:not-allowed"), "never here")
    receiver.reject(first, error=error)
    world.pump()
    assert world.state("jobs") == (0, 0)
    (dead,) = user.take(user.receiver("dead", credit=10))
    assert dead.message.delivery_count == 1
    assert dead.message.delivery_annotations[amqp.Symbol("rejected")] == error


@pytest.mark.rule("1.0/node/default-outcome")
@pytest.mark.parametrize(
    ("default", "state", "count"),
    [
        (None, (1, 0), 0),
        (amqp.Accepted(), (0, 0), 0),
        (amqp.Rejected(), (0, 0), 0),
        (amqp.Modified(delivery_failed=True), (1, 0), 1),
    ],
    ids=["none", "accepted", "rejected", "modified"],
)
def test_without_an_outcome_the_default_one_holds(
    world: World, user: User, default: Any, state: tuple[int, int], count: int
) -> None:
    source = amqp.Source("jobs", default_outcome=default)
    receiver = user.receiver(source, credit=1)
    answered: Any = receiver.source
    assert answered.default_outcome == (default or amqp.Released())
    world.put("jobs", b"one")
    (first,) = user.take(receiver)
    receiver.update([first], None, settled=True)
    world.pump()
    assert world.state("jobs") == state
    receiver.close()
    world.pump()
    if state[0]:
        (again,) = user.take(user.receiver("jobs", credit=1))
        assert again.message.delivery_count == count


@pytest.mark.rule("1.0/node/default-outcome")
def test_a_link_that_is_closed_leaves_its_messages_the_default_outcome(world: World, user: User) -> None:
    world.put("jobs", b"one", b"two", b"three")
    receiver = user.receiver("jobs", credit=2)
    assert user.bodies(receiver) == [b"one", b"two"]
    receiver.close()
    world.pump()
    assert world.ready("jobs") == [b"one", b"two", b"three"]
    failing = amqp.Source("jobs", default_outcome=amqp.Modified(delivery_failed=True))
    receiver = user.receiver(failing, credit=2)
    assert len(user.take(receiver)) == 2
    user.cut()
    assert world.ready("jobs") == [b"one", b"two", b"three"]
    other = world.connect()
    counts = [each.message.delivery_count for each in other.take(other.receiver("jobs", credit=10))]
    assert counts == [1, 1, 0]


@pytest.mark.rule("1.0/header.ttl/expire", "1.0/header.ttl/reduce", "1.0/node/spontaneous")
def test_a_time_to_live_is_reduced_and_ends_messages_that_wait(world: World, user: User) -> None:
    sender = user.sender("jobs")
    user.send(
        sender,
        amqp.Message(b"short", header=amqp.Header(ttl=1000)),
        amqp.Message(b"long", header=amqp.Header(ttl=5000)),
    )
    world.advance(2)
    assert world.ready("jobs") == [b"long"]
    receiver = user.receiver("jobs", credit=10)
    (found,) = user.take(receiver)
    assert (found.body, found.message.ttl) == (b"long", 3000)
    world.advance(10)
    assert world.state("jobs") == (0, 1)
    receiver.release(found)
    world.pump()
    assert world.state("jobs") == (0, 0)


@pytest.mark.rule("1.0/header.priority/higher-first", "1.0/header.priority/bands")
def test_higher_priorities_overtake_in_as_many_bands_as_the_queue_has() -> None:
    world = World()
    world.queue("two")
    world.queue("ten", arguments={"x-max-priority": 9})
    user = world.connect()
    for name in ("two", "ten"):
        sender = user.sender(name)
        user.send(sender, *[amqp.Message(bytes([48 + each]), header=amqp.Header(priority=each)) for each in range(10)])
    assert b"".join(world.ready("two")) == b"5678901234"
    assert b"".join(world.ready("ten")) == b"9876543210"


@pytest.mark.rule("1.0/header/absent-defaults", "1.0/header.durable/no-loss")
def test_durable_messages_survive_a_restart_of_the_model() -> None:
    world = World()
    world.queue("jobs", durable=True)
    user = world.connect()
    sender = user.sender("jobs")
    kept = amqp.Message(b"kept", header=amqp.Header(durable=True))
    assert user.send(sender, kept, b"lost") == [amqp.Accepted(), amqp.Accepted()]
    user.cut()
    world.hub.model.restart(world.now)
    assert world.ready("jobs") == [b"kept"]


def test_settled_messages_are_gone_when_they_are_sent(world: World, user: User) -> None:
    sender = user.sender("jobs", snd_settle_mode=1)
    user.send(sender, b"one", b"two")
    receiver = user.receiver("jobs", snd_settle_mode=1, credit=1)
    assert [(each.body, each.settled) for each in user.take(receiver)] == [(b"one", True)]
    assert world.state("jobs") == (1, 0)


def test_in_mode_second_the_broker_settles_first(world: World, user: User) -> None:
    sender = user.sender(amqp.Target("jobs", durable=2), rcv_settle_mode=1)
    assert sender.rcv_settle_mode == 1
    assert user.send(sender, b"one") == [amqp.Accepted()]
    receiver = user.receiver(amqp.Source("jobs", durable=2), rcv_settle_mode=1, credit=1)
    (one,) = user.take(receiver)
    (handle,) = receiver.accept(one)
    assert not handle.done
    world.pump()
    assert handle.result == amqp.Accepted()
    assert world.state("jobs") == (0, 0)


def test_mode_second_is_for_termini_that_keep_what_is_unsettled(world: World, user: User) -> None:
    sender = user.sender("jobs", rcv_settle_mode=1, auto_settle=False)
    assert sender.rcv_settle_mode == 0
    assert user.send(sender, b"one", b"two") == [amqp.Accepted(), amqp.Accepted()]
    receiver = user.receiver("jobs", rcv_settle_mode=1, credit=2)
    assert receiver.rcv_settle_mode == 1
    one, two = user.take(receiver)
    (handle,) = receiver.update([one], amqp.Accepted(), settled=True)
    assert handle.done
    (handle,) = receiver.update([two], amqp.Accepted(), settled=False)
    world.pump()
    assert handle.result == amqp.Accepted()
    assert receiver.is_open
    assert world.state("jobs") == (0, 0)


def test_a_range_of_deliveries_is_settled_at_once(world: World, user: User) -> None:
    receiver = user.receiver("jobs", credit=100)
    world.put("jobs", *[b"%d" % each for each in range(20)])
    found = user.take(receiver)
    receiver.accept(*found[:10])
    receiver.release(*found[10:])
    assert user.bodies(receiver) == [b"%d" % each for each in range(10, 20)]
    assert world.state("jobs") == (0, 10)


def test_credit_counts_and_can_be_taken_back(world: World, user: User) -> None:
    world.put("jobs", *[b"%d" % each for each in range(10)])
    receiver = user.receiver("jobs", credit=3)
    assert len(user.take(receiver)) == 3
    receiver.flow(2)
    assert len(user.take(receiver)) == 2
    receiver.flow(0)
    world.pump()
    assert world.state("jobs") == (5, 5)


def test_a_drain_brings_what_there_is_and_ends(world: World, user: User) -> None:
    world.put("jobs", b"one", b"two")
    receiver = user.receiver("jobs", credit=0)
    receiver.flow(10, drain=True)
    assert user.bodies(receiver) == [b"one", b"two"]
    assert len(user.of(amqp.Drained)) == 1
    assert receiver.credit == 0
    world.put("jobs", b"three")
    assert not user.take(receiver)


def test_messages_larger_than_frames_and_windows_arrive_in_order(world: World) -> None:
    user = world.connect(max_frame_size=512, incoming_window=3)
    sender = user.sender("jobs")
    sizes = [10, 5000, 20, 100_000, 1]
    bodies = [bytes([each % 251]) * size for each, size in enumerate(sizes)]
    assert user.send(sender, *bodies) == [amqp.Accepted()] * 5
    one, two = user.receiver("jobs", credit=2), user.receiver("jobs", credit=100)
    found = [*user.take(one), *user.take(two)]
    assert sorted([len(each.body) for each in found]) == sorted(sizes)
    assert [each.body for each in found if each.body not in bodies] == []


def test_a_slow_reader_gets_no_more_than_its_backlog(world: World, user: User) -> None:
    receiver = user.receiver("jobs", credit=10_000)
    user.reads = False
    body = bytes(100_000)
    for _ in range(50):
        world.put("jobs", body)
    limit = world.hub.settings.limits.backlog_high
    assert user.client.send_backlog <= limit + 200_000
    assert world.state("jobs")[0] >= 30
    user.reads = True
    assert len(user.take(receiver)) == 50


def test_a_slow_reader_that_drains_gets_all_before_the_drain_ends(world: World, user: User) -> None:
    receiver = user.receiver("jobs", credit=0)
    for _ in range(50):
        world.put("jobs", bytes(100_000))
    receiver.flow(100, drain=True)
    assert len(user.take(receiver)) == 50
    assert len(user.of(amqp.Drained)) == 1


def test_publishers_are_held_up_while_the_broker_is_full(world: World, user: User) -> None:
    sender = user.sender("jobs")
    before = sender.credit
    world.hub.model.hold_publishers("for the test")
    world.hub.settle()
    user.send(sender, *[b"x"] * 80)
    assert sender.credit < before
    world.hub.model.hold_publishers("")
    world.hub.settle()
    world.pump()
    assert sender.credit >= 90
    assert world.state("jobs") == (80, 0)


def test_what_no_queue_takes_is_released_and_what_is_too_much_rejected() -> None:
    world = World()
    world.queue("full", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    user = world.connect()
    sender = user.sender("/exchanges/amq.direct/nowhere")
    assert user.send(sender, b"x") == [amqp.Released()]
    picky = user.sender(
        "/exchanges/amq.direct/nowhere", source=amqp.Source(outcomes=(amqp.Symbol("amqp:rejected:list"),))
    )
    (outcome,) = user.send(picky, b"x")
    assert isinstance(outcome, amqp.Rejected)
    sender = user.sender("full")
    accepted, rejected = user.send(sender, b"1", b"2")
    assert accepted == amqp.Accepted()
    assert rejected.error.condition == "amqp:resource-limit-exceeded"
    # azure-servicebus' pyamqp reads the third field without looking whether it's there, else it waits for ever.
    assert rejected.error.info == {}


def test_a_message_that_a_client_can_not_take_goes_to_others(world: World) -> None:
    user = world.connect(limits=Limits(message=1000, bodies=100_000))
    receiver = user.receiver("jobs", credit=10, max_message_size=1000)
    world.put("jobs", bytes(5000), b"small")
    browser = user.receiver(browsing("jobs"), credit=10, max_message_size=1000)
    assert user.bodies(receiver) == [b"small"]
    assert user.bodies(browser) == []
    other = world.connect()
    assert other.bodies(other.receiver("jobs", credit=10)) == [bytes(5000)]


@pytest.mark.rule("1.0/source/copy", "1.0/source/no-resend-accepted", "1.0/source.distribution-mode/sender-sets")
def test_a_browser_sees_each_message_once_and_changes_nothing(world: World, user: User) -> None:
    world.put("jobs", b"one", b"two")
    browser = user.receiver(browsing("jobs"), credit=10)
    mover = user.receiver("jobs")
    modes: list[Any] = [browser.source, mover.source]
    assert [each.distribution_mode for each in modes] == ["copy", "move"]
    one, two = user.take(browser)
    browser.accept(one)
    browser.reject(two)
    world.pump()
    assert world.state("jobs") == (2, 0)
    world.put("jobs", b"three")
    assert user.bodies(browser) == [b"three"]
    assert world.state("jobs") == (3, 0)


@pytest.mark.parametrize("payload", [b"\x00Sw@\x00SpE", b"plain", b"\x00Su\x40"], ids=["order", "none", "type"])
def test_what_is_no_message_is_rejected_and_its_link_goes_on(world: World, user: User, payload: bytes) -> None:
    sender = user.sender("jobs")
    bad = sender.send(payload)
    good = sender.send(amqp.Message(b"next").encode())
    world.pump()
    assert isinstance(bad.result, amqp.Rejected)
    assert bad.result.error is not None
    assert bad.result.error.condition == "amqp:decode-error"
    assert good.result == amqp.Accepted()
    assert world.ready("jobs") == [b"next"]
    assert sender.is_open


def test_a_broker_that_says_it_is_rabbitmq_tells_where_messages_were_published() -> None:
    world = jobs(product="RabbitMQ", product_version="4.1.0")
    world.bind("jobs", "amq.direct", "k")
    user = world.connect()
    receiver = user.receiver("/queues/jobs", credit=10)
    user.send(
        user.sender("/exchanges/amq.direct/k"), amqp.Message(b"it", message_annotations={amqp.Symbol("x-opt-a"): 1})
    )
    (found,) = user.take(receiver)
    annotations = {
        amqp.Symbol("x-opt-a"): 1,
        amqp.Symbol("x-exchange"): "amq.direct",
        amqp.Symbol("x-routing-key"): "k",
    }
    assert dict(found.message.message_annotations) == annotations
    assert found.message.bare == amqp.Message(b"it").bare


def test_other_message_formats_pass_as_they_are(world: World, user: User) -> None:
    sender, receiver = user.sender("jobs"), user.receiver("jobs", credit=10)
    sender.send(b"\xff\x00 anything", message_format=7)
    (found,) = user.take(receiver)
    assert (found.payload, found.message_format) == (b"\xff\x00 anything", 7)
    receiver.modify(found, delivery_failed=True, message_annotations={amqp.Symbol("x-opt-a"): 1})
    (found,) = user.take(receiver)
    assert (found.payload, found.message_format) == (b"\xff\x00 anything", 7)
    receiver.reject(found)
    world.pump()
    assert world.state("jobs") == (0, 0)


def test_everything_pickles_in_the_middle(world: World) -> None:
    user = world.connect()
    world.put("jobs", b"one", b"two", b"three")
    receiver = user.receiver("jobs", credit=2, name="mine")
    assert len(user.of(amqp.CreditChanged)) == 0
    user.take(receiver)
    world.refork()
    user = world.users[0]
    session = user.end.session(user.end.sessions[0])
    link: Any = session.links[0]
    link.accept(0, 1)
    link.flow(1)
    assert user.bodies() == [b"three"]
    assert world.state("jobs") == (0, 1)


def test_a_message_above_the_links_size_is_told_and_not_sent() -> None:
    world = World(history=100)
    world.queue("jobs")
    user = world.connect()
    session = user.session()
    link = session.open_receiver("jobs", credit=5, max_message_size=100)
    world.put("jobs", bytes(200), b"small", bytes(200))
    world.pump()
    assert [each.message.body for each in user.take(link)] == [b"small"]
    (warning,) = world.hub.take_warnings()
    assert "octets, the link takes 100" in warning
    history = world.hub.model.history
    assert history is not None
    assert [each.kind for each in history.records if each.reason] == ["withheld"] * 2


UNREADABLE = b"\x00\x53\x75\xa0\x05no"
"""A data section whose octets end early."""


@pytest.mark.parametrize("settled", [False, True])
def test_what_cannot_be_read_as_a_message_is_in_history_and_log(settled: bool) -> None:
    world = World(history=100)
    world.queue("jobs")
    user = world.connect()
    link: Any = user.session().open_sender("jobs")
    world.pump()
    for octets in (UNREADABLE, UNREADABLE):
        pending = link.send(octets, settled=settled)
        world.pump()
        assert settled or isinstance(pending.result, amqp.Rejected)
    link.send(amqp.Message(b"good"))
    world.pump()
    assert link.is_open
    assert world.state("jobs") == (1, 0)
    history = world.hub.model.history
    assert history is not None
    rows = [each for each in history.records if each.kind == "unreadable"]
    assert [(each.routing_key, each.user) for each in rows] == [("jobs", "guest")] * 2
    contents: list[Any] = [each.content for each in rows]
    assert [each.payload for each in contents] == [UNREADABLE] * 2
    assert all(each.reason for each in rows)
    (warning,) = world.hub.take_warnings()
    assert "can't be read" in warning


@pytest.mark.parametrize("settled", [False, True])
def test_a_strict_broker_ends_the_link_of_what_is_no_message(settled: bool) -> None:
    world = World(history=100, strict=True)
    world.queue("jobs")
    user = world.connect()
    session = user.session()
    link: Any = session.open_sender("jobs")
    world.pump()
    link.send(UNREADABLE, settled=settled)
    world.pump()
    assert not link.is_open
    assert session.is_open
    assert world.hub.take_warnings()


@pytest.mark.parametrize("strict", [False, True])
def test_a_strict_broker_ends_the_connection_of_an_odd_field(strict: bool) -> None:
    world = World(strict=strict)
    world.queue("jobs")
    user = world.connect()
    session = user.session()
    # Service Bus's clients send the filter for a session as a plain string among described ones.
    session.open_receiver(amqp.Source("jobs", filter={amqp.Symbol("com.microsoft:session-filter"): "one"}))
    world.pump()
    report = user.end.report
    assert (report is not None) is strict
    assert report is None or report.condition in ("amqp:decode-error", "amqp:invalid-field")
