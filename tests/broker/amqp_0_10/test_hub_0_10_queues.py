"""Queues (class 8), by what clients see of them."""

from typing import Any

import pytest

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import Session, spec
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from tests.kit.hub_0_10 import User, World

# Declaring.


@pytest.mark.rule(
    "0-10/queue.declare/persistence",
    "0-10/queue.declare/durable-types",
    "0-10/queue.declare/durable-pre-existence",
    "0-10/message/persistent-message",
)
def test_durable_queues_survive_and_stay_as_declared_first(world: World, peer: User, session: Session) -> None:
    peer.call(session, spec.QueueDeclare("lasting", durable=True))
    peer.call(session, spec.QueueDeclare("passing"))
    peer.call(session, spec.QueueDeclare("lasting"))
    peer.call(session, spec.QueueDeclare("passing", durable=True))
    assert peer.call(session, spec.QueueQuery("lasting")).durable
    assert not peer.call(session, spec.QueueQuery("passing")).durable
    for mode in (1, 2):
        properties = amqp.DeliveryProperties(routing_key="lasting", delivery_mode=mode)
        peer.publish(session, "", amqp.Message(b"%d" % mode, delivery_properties=properties))
    peer.cut()
    world.hub.model.restart(world.now)
    again = world.connect()
    session = again.session()
    assert again.depth(session, "passing") is None
    assert again.drain(session, "lasting") == [b"2"]


@pytest.mark.rule("0-10/queue.declare/minimum", "0-10/queue/name")
def test_three_hundred_queues(peer: User, session: Session) -> None:
    for number in range(300):
        session.call(spec.QueueDeclare(f"q{number}"), sync=False)
    assert peer.call(session, spec.QueueQuery("q299")).queue == "q299"


# Exclusive and automatic.


@pytest.mark.rule("0-10/queue.declare/in-use", "0-10/queue.declare/exclusive-types")
@pytest.mark.parametrize(
    "command",
    [
        spec.QueueDeclare("mine"),
        spec.QueueDeclare("mine", passive=True),
        spec.ExchangeBind("mine", "amq.direct", "k"),
        spec.MessageSubscribe("mine", "d", 0, 0),
        spec.QueueDelete("mine"),
        spec.QueuePurge("mine"),
    ],
    ids=["declare", "passive", "bind", "subscribe", "delete", "purge"],
)
def test_an_exclusive_queue_is_its_sessions(peer: User, session: Session, second: Session, command: Any) -> None:
    peer.queue(session, "mine", exclusive=True)
    peer.queue(session, "mine", exclusive=True)
    assert peer.call(session, spec.QueueQuery("mine")).exclusive
    assert peer.call(second, spec.QueueQuery("mine")).exclusive
    assert peer.refused(second, command) == 405
    assert peer.call(session, spec.QueueQuery("mine")).queue == "mine"


@pytest.mark.rule("0-10/queue.declare/in-use")
def test_a_queue_that_its_session_has_left_is_exclusive_to_the_next_that_asks(peer: User, session: Session) -> None:
    """Once a session declares an exclusive queue, no other session can use it until the declaring one closes."""
    first = peer.session("first")
    peer.queue(first, "mine", exclusive=True)
    first.detach()
    peer.world.pump()
    assert not peer.call(session, spec.QueueQuery("mine")).exclusive
    peer.queue(session, "mine", exclusive=True)
    assert peer.call(session, spec.QueueQuery("mine")).exclusive
    third = peer.session("third")
    assert peer.refused(third, spec.MessageSubscribe("mine", "d", 0, 0)) == 405


@pytest.mark.rule("0-10/queue.declare/in-use")
def test_a_queue_that_others_consume_from_does_not_become_exclusive(
    peer: User, session: Session, second: Session
) -> None:
    peer.queue(session, "shared")
    peer.subscribe(session, "shared")
    assert peer.refused(second, spec.QueueDeclare("shared", exclusive=True)) == 405
    assert not peer.call(session, spec.QueueQuery("shared")).exclusive


@pytest.mark.rule("0-10/queue.declare/in-use")
def test_what_is_sent_to_an_exclusive_queue_comes_from_anywhere(peer: User, session: Session, second: Session) -> None:
    peer.queue(session, "mine", exclusive=True)
    peer.put(second, "mine", b"m")
    assert peer.drain(session, "mine") == [b"m"]


@pytest.mark.rule("0-10/queue.declare/exclusive-auto-delete")
def test_an_exclusive_queue_that_deletes_itself_goes_with_its_session(peer: User, session: Session) -> None:
    peer.queue(session, "going", exclusive=True, auto_delete=True)
    peer.queue(session, "staying", exclusive=True)
    peer.put(session, "staying", b"m")
    # It doesn't go with its last subscription.
    peer.subscribe(session, "going", "d")
    peer.call(session, spec.MessageCancel("d"))
    assert peer.call(session, spec.QueueQuery("going")).auto_delete
    second = peer.session(b"second")
    session.close()
    peer.world.pump()
    assert peer.depth(second, "going") is None
    assert not peer.call(second, spec.QueueQuery("staying")).exclusive
    assert peer.drain(second, "staying") == [b"m"]


@pytest.mark.rule("0-10/queue.declare/auto-delete-pre-existence")
def test_auto_delete_of_a_shared_queue(peer: User, session: Session, second: Session) -> None:
    peer.queue(session, "going", auto_delete=True)
    peer.queue(session, "staying")
    peer.queue(session, "going")
    peer.queue(session, "staying", auto_delete=True)
    for name in ("going", "staying"):
        assert peer.depth(session, name) == 0
        peer.subscribe(session, name, name)
        peer.subscribe(second, name, name)
    for each in (session, second):
        for name in ("going", "staying"):
            peer.call(each, spec.MessageCancel(name))
        if each is session:
            assert peer.depth(session, "going") == 0
    assert peer.depth(session, "going") is None
    assert peer.depth(session, "staying") == 0


def test_auto_delete_when_the_last_subscribers_session_ends(peer: User, session: Session, second: Session) -> None:
    peer.queue(session, "going", auto_delete=True)
    peer.subscribe(second, "going")
    second.close()
    peer.world.pump()
    assert peer.depth(session, "going") is None


# Deleting, purging, asking.


@pytest.mark.rule("0-10/queue.delete/if-unused")
def test_if_unused_means_without_subscribers(peer: User, session: Session, second: Session) -> None:
    peer.queue(session, "q")
    peer.subscribe(session, "q")
    assert peer.refused(second, spec.QueueDelete("q", if_unused=True)) == 406
    peer.call(session, spec.MessageCancel("d"))
    peer.call(session, spec.QueueDelete("q", if_unused=True))
    assert peer.depth(session, "q") is None


@pytest.mark.rule("0-10/queue.delete/not-empty")
def test_if_empty_means_without_messages(peer: User, session: Session, second: Session) -> None:
    peer.queue(session, "q")
    peer.put(session, "q", b"m")
    assert peer.refused(second, spec.QueueDelete("q", if_empty=True)) == 406
    peer.drain(session, "q")
    peer.call(session, spec.QueueDelete("q", if_empty=True))
    assert peer.depth(session, "q") is None


@pytest.mark.rule("0-10/queue.purge/empty", "0-10/queue.purge/pending", "0-10/queue.purge/recovery")
def test_a_purge_leaves_what_was_sent_to_clients(peer: User, session: Session) -> None:
    peer.queue(session, "q")
    peer.put(session, "q", b"1", b"2", b"3")
    peer.subscribe(session, "q", credit=1)
    (first,) = peer.got(session)
    peer.call(session, spec.QueuePurge("q"))
    assert peer.depth(session, "q") == 0
    peer.call(session, spec.MessageCancel("d"))
    peer.result(session.release(first.command_id, sync=True))
    assert peer.drain(session, "q") == [b"1"]


@pytest.mark.rule("0-10/queue.query/absent")
def test_of_an_unknown_queue_nothing_is_said(peer: User, session: Session) -> None:
    assert peer.call(session, spec.QueueQuery("nowhere")) == spec.QueueQueryResult()


def test_what_a_query_says(peer: User, session: Session) -> None:
    peer.call(session, spec.QueueDeclare("q", "amq.fanout", durable=True, arguments={"x-max-length": 5}))
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q")
    result = peer.call(session, spec.QueueQuery("q"))
    assert (result.queue, result.alternate_exchange, result.durable) == ("q", "amq.fanout", True)
    assert (result.message_count, result.subscriber_count) == (2, 1)
    assert result.arguments == {"x-max-length": 5}


# What becomes of messages.


@pytest.mark.rule("0-10/queue.declare/alt-orphans", "0-10/message.reject/alternate")
def test_rejected_and_orphaned_messages_go_to_the_alternate_exchange(peer: User, session: Session) -> None:
    peer.call(session, spec.ExchangeDeclare("dead", "fanout"))
    peer.queue(session, "graveyard", ("dead", ""))
    peer.call(session, spec.QueueDeclare("q", "dead"))
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", credit=1)
    (first,) = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    peer.result(session.reject(first.command_id, sync=True))
    assert peer.drain(session, "graveyard") == [b"1"]
    second = peer.session(b"second")
    peer.call(second, spec.QueueDelete("q"))
    assert peer.drain(second, "graveyard") == [b"2"]


@pytest.mark.rule("0-10/queue/any-content")
def test_a_queue_takes_content_of_every_class_for_its_own_consumers(peer: User, session: Session) -> None:
    peer.queue(session, "q")
    stream = amqp.Message(b"packet", headers=amqp.Headers(encode_headers((spec.StreamProperties(content_type="a/b"),))))
    file = amqp.Message(b"file", headers=amqp.Headers(encode_headers((spec.FileProperties(filename="f"),))))
    peer.call(session, spec.StreamPublish("", "q"), stream)
    session.call(spec.FileOpen("f", 4))
    assert len(peer.commands(spec.FileOpenOk)) == 1
    session.call(spec.FileStage(), file)
    peer.call(session, spec.FilePublish("", "q", identifier="f"))
    peer.put(session, "q", b"message")
    assert peer.depth(session, "q") == 3
    peer.subscribe(session, "q", credit=10)
    assert peer.bodies(session) == [b"message"]
    session.call(spec.StreamConsume("q", "tag"))
    (packet,) = peer.commands(spec.StreamDeliver)
    assert packet.body == b"packet"
    assert peer.depth(session, "q") == 1


@pytest.mark.rule("0-10/model/fifo", "0-10/message/priority-order")
def test_messages_of_one_priority_come_in_order(peer: User, session: Session) -> None:
    peer.queue(session, "q")
    for number in range(6):
        properties = amqp.DeliveryProperties(routing_key="q", delivery_mode=1 + number % 2)
        peer.publish(session, "", amqp.Message(b"%d" % number, delivery_properties=properties))
    assert peer.drain(session, "q") == [b"0", b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.rule("0-10/message/min-priority", "0-10/message/priority-bands")
def test_two_levels_of_priority(peer: User, session: Session) -> None:
    peer.queue(session, "q")
    for priority in (0, 9, 4, 5):
        properties = amqp.DeliveryProperties(routing_key="q", priority=priority)
        peer.publish(session, "", amqp.Message(b"%d" % priority, delivery_properties=properties))
    assert peer.drain(session, "q") == [b"9", b"5", b"0", b"4"]


# Arguments of Qpid.


@pytest.mark.parametrize("argument", ["qpid.max_count", "qpid.max_size"])
def test_a_full_queue_refuses_what_comes(peer: User, session: Session, argument: str) -> None:
    peer.queue(session, "q", arguments={argument: 2})
    peer.put(session, "q", b"1", b"2")
    outcome = peer.publish(session, "", amqp.Message(b"3", routing_key="q"))
    assert isinstance(outcome, amqp.Rejected)
    assert outcome.code == 0
    session.transfer("", amqp.Message(b"4", routing_key="q"), accept_mode=amqp.spec.NONE)
    assert peer.code_of(session) == 506


def test_a_ring_drops_the_oldest(peer: User, session: Session) -> None:
    arguments = {"qpid.max_count": 2, "qpid.policy_type": "ring"}
    peer.queue(session, "q", arguments=arguments)
    peer.put(session, "q", b"1", b"2", b"3")
    assert peer.drain(session, "q") == [b"2", b"3"]


def test_flow_to_disk_has_no_bound(peer: User, session: Session) -> None:
    peer.queue(session, "q", arguments={"qpid.max_count": 1, "qpid.policy_type": "flow_to_disk"})
    peer.put(session, "q", b"1", b"2")
    assert peer.depth(session, "q") == 2


def test_the_newest_value_of_a_key_is_kept_and_numbers_may_be_texts(peer: User, session: Session) -> None:
    peer.queue(session, "q", arguments={"qpid.last_value_queue_key": "k", "qpid.max_count": "2"})
    for number, value in enumerate("aba"):
        properties = amqp.MessageProperties(application_headers={"k": value})
        message = amqp.Message(b"%d" % number, routing_key="q", message_properties=properties)
        assert not isinstance(peer.publish(session, "", message), amqp.Rejected)
    assert peer.drain(session, "q") == [b"1", b"2"]


def test_a_group_is_one_subscribers_while_it_has_some_of_it(peer: User, session: Session) -> None:
    peer.queue(session, "q", arguments={"qpid.group_header_key": "g", "qpid.shared_msg_group": "1"})
    for destination in ("one", "two"):
        peer.subscribe(session, "q", destination, credit=9)
    for number, group in enumerate("abab"):
        properties = amqp.MessageProperties(application_headers={"g": group})
        message = amqp.Message(b"%d" % number, routing_key="q", message_properties=properties)
        peer.publish(session, "", message)
    assert [peer.bodies(session, each) for each in ("one", "two")] == [[b"0", b"2"], [b"1", b"3"]]


@pytest.mark.rule("0-10/queue.declare/alt-orphans")
@pytest.mark.parametrize("how", ["release", "reject", "session's end", "rollback"])
def test_what_nobody_accepts_of_a_deleted_queue_goes_to_its_alternate_exchange(
    world: World, peer: User, how: str
) -> None:
    """In its order; an accept is an accept, whether the queue is still there or not."""
    session, other = peer.session(), peer.session(b"other")
    peer.call(session, spec.ExchangeDeclare("spare", "fanout"))
    peer.queue(session, "kept", ("spare", ""))
    peer.call(session, spec.QueueDeclare("q", "spare"))
    kept = world.hub.model.vhosts["/"].queues["kept"]
    if how == "rollback":
        peer.call(other, spec.TxSelect())
    peer.put(session, "q", b"1", b"2", b"3", b"4")
    peer.subscribe(other, "q", credit=3)
    got = [each.command_id for each in peer.got(other)]
    peer.call(other, spec.MessageCancel("d"))
    peer.call(session, spec.QueueDelete("q"))
    assert kept.ready == 1
    if how == "rollback":
        other.accept(*got[1:])
        peer.call(other, spec.TxRollback())
        other.accept(got[0])
        peer.call(other, spec.TxCommit())
    else:
        peer.result(other.accept(got[0], sync=True))
    if how in ("release", "reject"):
        peer.result(getattr(other, how)(*got[1:], sync=True))
    else:
        other.close()
        world.pump()
    assert peer.drain(session, "kept") == [b"4", b"2", b"3"]
