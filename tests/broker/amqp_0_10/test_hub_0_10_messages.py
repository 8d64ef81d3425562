"""Publishing, subscribing and settling (class 4), by what clients see of it."""

import pickle
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import Accepted
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import Session, spec
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.broker import BrokerLimits, Settings
from amqp_sansio.sasl import External
from tests.kit.hub_0_10 import User, World
from tests.kit.octets_0_10 import routed


@pytest.fixture
def session(peer: User, session: Session) -> Session:
    """It has declared the queue "q"."""
    peer.queue(session, "q")
    return session


def test_a_message_goes_from_publisher_to_subscriber_and_is_accepted(world: World) -> None:
    publisher, consumer = world.connect(), world.connect()
    one, two = publisher.session(b"one"), consumer.session(b"two")
    publisher.queue(one, "jobs", ("amq.direct", "job"))
    outcome = publisher.publish(one, "amq.direct", amqp.Message(b"hello", routing_key="job"))
    assert isinstance(outcome, Accepted)
    consumer.subscribe(two, "jobs", credit=10)
    (got,) = consumer.got(two)
    assert got.body == b"hello"
    assert got.accepts
    queue = world.hub.model.vhosts["/"].queues["jobs"]
    assert (queue.ready, queue.unsettled) == (0, 1)
    consumer.result(two.accept(got.command_id, sync=True))
    assert (queue.ready, queue.unsettled) == (0, 0)


# Publishing.


@pytest.mark.rule("0-10/message.transfer/nonexistent-exchange")
@pytest.mark.parametrize("accept_mode", [spec.EXPLICIT, spec.NONE])
def test_an_exchange_that_does_not_exist(peer: User, session: Session, accept_mode: int) -> None:
    session.transfer("nowhere", b"m", accept_mode=accept_mode)
    assert peer.code_of(session) == 404


@pytest.mark.rule("0-10/message.transfer/blank-destination")
def test_a_blank_destination_is_the_default_exchange(peer: User, session: Session) -> None:
    peer.put(session, "q", b"m")
    assert peer.drain(session, "q") == [b"m"]


@pytest.mark.parametrize("count", [1, 3, 1000, 3000])
def test_many_publishes_are_accepted_together(peer: User, session: Session, count: int) -> None:
    sent = [session.transfer("", amqp.Message(b"%d" % each, routing_key="q")) for each in range(count)]
    peer.result(session.sync())
    for each in sent:
        assert each.outcome is not None
        assert isinstance(each.outcome.result, Accepted)
    assert peer.depth(session, "q") == count


@pytest.mark.rule("0-10/message.delivery-properties/exchange-set")
@pytest.mark.parametrize("said", [None, "amq.fanout", "amq.direct"])
def test_the_broker_writes_down_the_exchange_and_leaves_the_rest(
    peer: User, session: Session, world: World, said: str | None
) -> None:
    peer.queue(session, "q", ("amq.direct", "k"))
    delivery = amqp.DeliveryProperties(routing_key="k", exchange=said, priority=3, timestamp=7)
    properties = amqp.MessageProperties(content_type="a/b", application_headers={"x": [1, None, "ü"]})
    message = amqp.Message(b"body", delivery_properties=delivery, message_properties=properties)
    peer.publish(session, "amq.direct", message)
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    wanted = amqp.DeliveryProperties(routing_key="k", exchange="amq.direct", priority=3, timestamp=7)
    assert got.headers.raw == encode_headers((wanted, properties))
    assert got.body == b"body"


@pytest.mark.rule("0-10/message.message-properties/id-immutable")
def test_what_has_its_exchange_is_passed_on_octet_by_octet(peer: User, session: Session) -> None:
    structs = (
        amqp.MessageProperties(content_encoding="x", correlation_id=b"\xff"),
        amqp.DeliveryProperties(exchange="", routing_key="q"),
    )
    headers = amqp.Headers(encode_headers(structs))
    peer.publish(session, "", amqp.Message(b"", headers=headers))
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    assert got.headers.raw == headers.raw


@pytest.mark.rule("0-10/message.delivery-properties/expiration")
@pytest.mark.parametrize(("dialect", "timestamp"), [("", None), ("qpid", None), ("specification", 1_000_010)])
def test_with_a_calendar_messages_get_expiration_and_by_the_letter_a_timestamp(
    dialect: Any, timestamp: int | None
) -> None:
    """Qpid's brokers add none."""
    world = World(Settings(epoch=1_000_000.0, dialect=dialect))
    world.now = 10.5
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "q")
    properties = amqp.DeliveryProperties(routing_key="q", ttl=2500)
    peer.publish(session, "", amqp.Message(b"m", delivery_properties=properties))
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    found = got.headers.delivery_properties
    assert found is not None
    assert (found.timestamp, found.expiration, found.ttl) == (timestamp, 1_000_013, 2500)


def test_messages_expire(world: World, peer: User, session: Session) -> None:
    properties = amqp.DeliveryProperties(routing_key="q", ttl=2500)
    peer.publish(session, "", amqp.Message(b"m", delivery_properties=properties))
    world.advance(2.0)
    assert peer.depth(session, "q") == 1
    world.advance(1.0)
    assert peer.depth(session, "q") == 0


@pytest.mark.rule("0-10/message.delivery-properties/immediate")
@pytest.mark.parametrize(
    ("accept_mode", "discards", "credit", "where"),
    [
        (spec.EXPLICIT, False, 0, "rejected"),
        (spec.EXPLICIT, True, 0, "nowhere"),
        (spec.NONE, False, 0, "spare"),
        (spec.NONE, True, 0, "nowhere"),
        (spec.EXPLICIT, False, 1, "q"),
        (spec.NONE, False, 1, "q"),
    ],
)
def test_immediate(peer: User, session: Session, accept_mode: int, discards: bool, credit: int, where: str) -> None:
    peer.call(session, spec.ExchangeDeclare("e", "fanout", "amq.fanout"))
    peer.queue(session, "spare", ("amq.fanout", ""))
    peer.queue(session, "q", ("e", ""))
    peer.subscribe(session, "q", credit=credit)
    properties = amqp.DeliveryProperties(immediate=True, discard_unroutable=discards)
    outcome = peer.publish(session, "e", amqp.Message(b"m", delivery_properties=properties), accept_mode=accept_mode)
    found = ["rejected"] if isinstance(outcome, amqp.Rejected) else []
    if isinstance(outcome, amqp.Rejected):
        assert outcome.code == 2
    found += ["q"] if peer.got(session) else []
    found += ["spare"] if peer.drain(session, "spare") else []
    assert (found or ["nowhere"]) == [where]
    assert peer.depth(session, "q") == 0


def test_fragments_are_refused(peer: User, session: Session) -> None:
    session.transfer("", amqp.Message(b"half", others=(spec.FragmentProperties(first=True),)))
    assert peer.code_of(session) == 540


def test_a_user_id_of_somebody_else() -> None:
    world = World(Settings(users={"me": ""}, mechanisms=("EXTERNAL", "PLAIN")))
    peer = world.connect(sasl=External(), is_secure=True, peer_name="me")
    session = peer.session()
    peer.queue(session, "q")
    mine, other = [
        amqp.Message(b"m", delivery_properties=amqp.DeliveryProperties(routing_key="q"), message_properties=each)
        for each in (amqp.MessageProperties(user_id=b"me"), amqp.MessageProperties(user_id=b"you"))
    ]
    peer.publish(session, "", mine)
    session.transfer("", other)
    assert peer.code_of(session) == 403


# Redelivery.


def flags(events: list[amqp.MessageReceived]) -> list[tuple[bytes, bool]]:
    found: list[tuple[bytes, bool]] = []
    for event in events:
        properties = event.headers.delivery_properties
        assert properties is not None
        found.append((event.body, properties.redelivered))
    return found


@pytest.mark.rule(
    "0-10/message.delivery-properties/redelivered",
    "0-10/message.release/ordering",
    "0-10/message.release/set-redelivered",
)
@pytest.mark.parametrize("marks", [False, True])
def test_released_messages_go_back_to_their_places(peer: User, session: Session, marks: bool) -> None:
    peer.put(session, "q", b"1", b"2", b"3", b"4")
    peer.subscribe(session, "q", credit=3)
    got = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    ids = [each.command_id for each in got]
    peer.result(session.release(ids[2], ids[0], set_redelivered=marks, sync=True))
    peer.subscribe(session, "q", "e", credit=10)
    assert flags(peer.got(session, "e")) == [(b"1", marks), (b"3", marks), (b"4", False)]


@pytest.mark.rule("0-10/message.delivery-properties/redelivered")
@pytest.mark.parametrize("how", ["close", "cut", "exception"])
def test_what_a_session_leaves_is_redelivered(world: World, how: str) -> None:
    peer, other = world.connect(), world.connect()
    session, second = peer.session(b"one"), other.session(b"two")
    peer.queue(session, "q")
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", credit=1)
    assert peer.bodies(session) == [b"1"]
    if how == "close":
        session.close()
    elif how == "cut":
        peer.cut()
    else:
        session.transfer("nowhere", b"")
    world.pump()
    other.subscribe(second, "q", credit=10)
    assert flags(other.got(second)) == [(b"1", True), (b"2", False)]


@pytest.mark.rule("0-10/message.delivery-properties/redelivered-sticky")
def test_redelivered_of_the_publisher_stays(peer: User, session: Session) -> None:
    properties = amqp.DeliveryProperties(routing_key="q", redelivered=True)
    peer.publish(session, "", amqp.Message(b"m", delivery_properties=properties))
    peer.subscribe(session, "q", credit=10)
    assert flags(peer.got(session)) == [(b"m", True)]


@pytest.mark.rule("0-10/message.message-properties/dup-accept")
def test_a_message_with_a_known_id_is_accepted(peer: User, session: Session) -> None:
    properties = amqp.MessageProperties(message_id=UUID(int=7))
    for _ in range(2):
        message = amqp.Message(
            b"m", delivery_properties=amqp.DeliveryProperties(routing_key="q"), message_properties=properties
        )
        assert isinstance(peer.publish(session, "", message), Accepted)


# Subscriptions.


@pytest.mark.rule("0-10/message.subscribe/queue-not-found", "0-10/message.subscribe/queue-deleted")
def test_subscriptions_need_their_queue(peer: User, session: Session) -> None:
    second, third = peer.session(b"second"), peer.session(b"third")
    assert peer.refused(second, spec.MessageSubscribe("nowhere", "d", 0, 0)) == 404
    peer.subscribe(third, "q")
    peer.call(session, spec.QueueDelete("q"))
    assert peer.code_of(third) == 408
    assert session.is_attached


@pytest.mark.rule("0-10/message.subscribe/exclusive-in-use")
@pytest.mark.parametrize("first", [True, False])
def test_an_exclusive_subscription(peer: User, session: Session, second: Session, first: bool) -> None:
    peer.subscribe(session, "q", exclusive=first)
    assert peer.refused(second, spec.MessageSubscribe("q", "d", 0, 0, exclusive=not first)) == 405
    third = peer.session(b"third")
    peer.call(session, spec.MessageCancel("d"))
    peer.subscribe(third, "q", exclusive=True)


@pytest.mark.rule("0-10/message.subscribe/min-16")
def test_subscriptions_take_turns(peer: User, session: Session) -> None:
    for number in range(20):
        peer.subscribe(session, "q", f"d{number}", credit=1)
    peer.put(session, "q", *[b"m"] * 20)
    assert [len(peer.got(session, f"d{number}")) for number in range(20)] == [1] * 20


@pytest.mark.rule("0-10/message.cancel/post-cancel")
@pytest.mark.parametrize("how", ["accept", "reject", "release"])
def test_what_was_transferred_can_be_settled_after_a_cancel(peer: User, session: Session, how: str) -> None:
    peer.put(session, "q", b"m")
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    assert peer.depth(session, "q") == 0
    peer.result(getattr(session, how)(got.command_id, sync=True))
    assert peer.depth(session, "q") == (1 if how == "release" else 0)


def test_no_accepts_are_needed_with_accept_mode_none(world: World, peer: User, session: Session) -> None:
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", accept_mode=spec.NONE, credit=10)
    assert peer.bodies(session) == [b"1", b"2"]
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


@pytest.mark.rule("0-10/model/acquire-to-dequeue")
def test_browsing_and_acquiring(peer: User, session: Session, second: Session) -> None:
    peer.put(session, "q", b"1", b"2", b"3")
    peer.subscribe(session, "q", acquire_mode=spec.NOT_ACQUIRED, credit=10)
    got = peer.got(session)
    assert [each.body for each in got] == [b"1", b"2", b"3"]
    assert peer.depth(session, "q") == 3
    peer.subscribe(second, "q", credit=1)
    assert peer.bodies(second) == [b"1"]
    acquired = peer.result(session.acquire(*[each.command_id for each in got]))
    assert list(acquired.transfers or ()) == [each.command_id for each in got[1:]]
    assert peer.depth(session, "q") == 0
    peer.result(session.accept(got[1].command_id, sync=True))
    peer.result(session.release(got[2].command_id, sync=True))
    assert peer.depth(session, "q") == 1
    assert list(peer.result(session.acquire(got[0].command_id)).transfers or ()) == []


def test_what_is_seen_without_accepts_can_not_be_acquired(peer: User, session: Session) -> None:
    peer.put(session, "q", b"1")
    peer.subscribe(session, "q", accept_mode=spec.NONE, acquire_mode=spec.NOT_ACQUIRED, credit=10)
    (got,) = peer.got(session)
    assert list(peer.result(session.acquire(got.command_id)).transfers or ()) == []
    assert peer.depth(session, "q") == 1


def test_a_browser_sees_each_message_once(peer: User, session: Session) -> None:
    peer.put(session, "q", b"1")
    peer.subscribe(session, "q", acquire_mode=spec.NOT_ACQUIRED, credit=10)
    assert peer.bodies(session) == [b"1"]
    peer.put(session, "q", b"2")
    assert peer.bodies(session) == [b"2"]


@pytest.mark.rule("0-10/message.reject/acquisition")
def test_a_reject_of_what_is_only_seen_is_ignored(peer: User, session: Session) -> None:
    peer.put(session, "q", b"1")
    peer.subscribe(session, "q", acquire_mode=spec.NOT_ACQUIRED, credit=10)
    (got,) = peer.got(session)
    peer.call(session, spec.MessageReject(amqp.SequenceSet.of(got.command_id), 0))
    assert peer.depth(session, "q") == 1
    assert list(peer.result(session.acquire(got.command_id)).transfers or ()) == [got.command_id]


@pytest.mark.parametrize("ttl", [5000, None])
def test_resume_ids_come_with_the_messages(peer: User, session: Session, ttl: int | None) -> None:
    peer.put(session, "q", b"1")
    peer.call(session, spec.MessageSubscribe("q", "d", 0, 0, False, "resume", ttl))
    session.top_up("d", 10)
    (got,) = peer.got(session)
    properties = got.headers.delivery_properties
    assert properties is not None
    assert (properties.resume_id, properties.resume_ttl, properties.routing_key) == ("resume", ttl, "q")


@pytest.mark.rule("0-10/message.resume/unknown-id", "0-10/message.resume/destination")
def test_message_resume_begins_anew(peer: User, session: Session) -> None:
    assert peer.call(session, spec.MessageResume("amq.direct", "unknown")).offset == 0
    assert peer.refused(session, spec.MessageResume("nowhere", "unknown")) == 404


def test_no_local_queues_throw_away_what_the_connection_publishes(world: World, peer: User) -> None:
    session, second = peer.session(b"one"), peer.session(b"two")
    peer.queue(session, "mine", ("amq.fanout", ""), exclusive=True, arguments={"no-local": True})
    peer.subscribe(session, "mine", credit=5)
    for each in (session, second):
        peer.publish(each, "amq.fanout", b"local")
    other = world.connect()
    far = other.session(b"far")
    for _ in range(5):
        other.publish(far, "amq.fanout", b"remote")
    assert peer.bodies(session) == [b"remote"] * 5


# Credit.


@pytest.mark.rule("0-10/message.subscribe/zero-credit")
def test_nothing_comes_without_credit_of_both_units(peer: User, session: Session) -> None:
    peer.put(session, "q", b"m")
    peer.subscribe(session, "q")
    assert peer.got(session) == []
    peer.call(session, spec.MessageFlow("d", spec.MESSAGE, 1))
    assert peer.got(session) == []
    peer.call(session, spec.MessageFlow("d", spec.BYTE, 1000))
    assert peer.bodies(session) == [b"m"]


def test_a_window_opens_again_with_completion(peer: User, session: Session) -> None:
    peer.put(session, "q", b"1", b"2", b"3")
    peer.subscribe(session, "q", credit=2)
    first = peer.got(session)[0]
    session.complete(first.command_id)
    peer.result(session.sync())
    assert peer.bodies(session) == [b"3"]


def test_credit_mode_gives_nothing_back(peer: User, session: Session) -> None:
    peer.put(session, "q", b"1", b"2", b"3")
    peer.call(session, spec.MessageSubscribe("q", "d", 0, 0))
    peer.call(session, spec.MessageSetFlowMode("d", spec.CREDIT))
    session.top_up("d", 2)
    got = peer.got(session)
    peer.result(session.accept(*[each.command_id for each in got], sync=True))
    assert peer.got(session) == []
    session.top_up("d", 1)
    assert peer.bodies(session) == [b"3"]


@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("left", [-1, 0, 1])
def test_byte_credit_counts_header_and_body(peer: User, session: Session, left: int, marks: bool) -> None:
    """As the engine counts, to the octet."""
    peer.put(session, "q", b"12345", b"12345")
    peer.subscribe(session, "q", "e", credit=2)
    got = peer.got(session, "e")
    size = got[0].size
    peer.call(session, spec.MessageCancel("e"))
    peer.result(session.release(*[each.command_id for each in got], set_redelivered=marks, sync=True))
    peer.call(session, spec.MessageSubscribe("q", "d", 0, 0))
    peer.call(session, spec.MessageSetFlowMode("d", spec.CREDIT))
    peer.call(session, spec.MessageFlow("d", spec.MESSAGE, 10))
    peer.call(session, spec.MessageFlow("d", spec.BYTE, 2 * size + left))
    got = peer.got(session)
    assert len(got) == (1 if left < 0 else 2)
    assert all([each.size == size for each in got])


@pytest.mark.rule("0-10/message.set-flow-mode/no-partial")
def test_a_message_larger_than_the_credit_waits(peer: User, session: Session) -> None:
    peer.put(session, "q", b"x" * 1000)
    peer.call(session, spec.MessageSubscribe("q", "d", 0, 0))
    peer.call(session, spec.MessageFlow("d", spec.MESSAGE, 10))
    peer.call(session, spec.MessageFlow("d", spec.BYTE, 1000))
    assert peer.got(session) == []
    peer.call(session, spec.MessageFlow("d", spec.BYTE, 100))
    assert len(peer.got(session)) == 1


def test_stop_and_flush(peer: User, session: Session) -> None:
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", credit=3)
    assert len(peer.got(session)) == 2
    peer.call(session, spec.MessageStop("d"))
    peer.put(session, "q", b"3")
    assert peer.got(session) == []
    session.top_up("d", 5)
    assert peer.bodies(session) == [b"3"]
    peer.call(session, spec.MessageFlush("d"))
    assert session.granted("d") == (0, 0)
    peer.put(session, "q", b"4")
    assert peer.got(session) == []
    assert peer.depth(session, "q") == 1


def test_a_flush_waits_for_a_client_that_reads_slowly() -> None:
    """All that was available is transferred before the completion, however much it is."""
    world = World(Settings(limits=BrokerLimits(backlog_high=4000, backlog_low=1000)))
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "q")
    for _ in range(40):
        session.transfer("", amqp.Message(b"x" * 500, routing_key="q"))
    world.pump()
    peer.call(session, spec.MessageSubscribe("q", "d", 0, 0))
    peer.reads = False
    session.top_up("d", 100)
    flushed = session.call(spec.MessageFlush("d"))
    world.pump()
    assert peer.client.send_backlog < 10_000
    assert not flushed.done
    peer.reads = True
    world.pump()
    assert flushed.done
    assert len(peer.got(session)) == 40


# A broker that is full.


@pytest.mark.rule("0-10/message/throttling", "0-10/message/no-persistent-discard", "0-10/message/np-discard")
def test_publishers_are_stopped_while_the_broker_is_full() -> None:
    world = World(Settings(limits=BrokerLimits(memory_high=10_000, memory_low=5_000)))
    peer, other = world.connect(), world.connect()
    session, second = peer.session(b"one"), other.session(b"two")
    peer.queue(session, "q")
    sent = 0
    while session.credit("")[0] is None:
        properties = amqp.DeliveryProperties(routing_key="q", delivery_mode=2)
        session.transfer("", amqp.Message(b"x" * 500, delivery_properties=properties), accept_mode=spec.NONE)
        sent += 1
        world.pump()
        assert sent < 100
    assert session.credit("")[0] == 0
    assert world.hub.is_blocked
    assert other.depth(second, "q") == sent
    assert len(other.drain(second, "q")) == sent
    world.pump()
    messages, octets = session.credit("")
    assert messages is not None
    assert messages > 1000
    assert octets is None
    peer.put(session, "q", b"again")
    assert other.drain(second, "q") == [b"again"]
    assert session.is_attached


def test_a_slow_reader_holds_only_itself_up() -> None:
    world = World(Settings(limits=BrokerLimits(backlog_high=4000, backlog_low=1000)))
    slow, fast = world.connect(), world.connect()
    one, two = slow.session(b"one"), fast.session(b"two")
    slow.queue(one, "q")
    slow.subscribe(one, "q", credit=1000)
    slow.reads = False
    fast.subscribe(two, "q", credit=1000)
    for _ in range(100):
        fast.put(two, "q", b"x" * 500)
    assert slow.client.send_backlog < 10_000
    got = len(fast.got(two))
    slow.reads = True
    world.pump()
    assert got + len(slow.got(one)) == 100
    assert got > 80


@pytest.mark.parametrize("kind", ["accept", "reject", "release"])
def test_settling_names_many_at_once(peer: User, session: Session, kind: Any) -> None:
    peer.put(session, "q", *[b"m"] * 10)
    peer.subscribe(session, "q", credit=10)
    got = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    ids = [each.command_id for each in got]
    peer.result(getattr(session, kind)(*ids[2:8], sync=True))
    assert peer.depth(session, "q") == (6 if kind == "release" else 0)
    peer.result(session.release(*ids[:2], *ids[8:], sync=True))
    assert peer.depth(session, "q") == (10 if kind == "release" else 4)


@pytest.mark.parametrize("way", ["delivered", "rejected"])
@pytest.mark.parametrize("has_body", [True, False])
def test_an_empty_body_stays_one_and_no_body_stays_none(has_body: bool, way: str) -> None:
    """Clients tell them apart: content that is empty, and no content at all."""
    world = World()
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "dead")
    told = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"} if way == "rejected" else None
    peer.queue(session, "q", arguments=told)
    peer.publish(session, "", amqp.Message(b"", routing_key="q", has_body=has_body))
    world = world.copied()
    (peer,) = world.users
    session = peer.end.session(0)
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    if way == "rejected":
        peer.result(session.reject(got.command_id, sync=True))
        peer.subscribe(session, "dead", "e", credit=1)
        (got,) = peer.got(session, "e")
    assert (got.body, got.has_body, got.message.has_body) == (b"", has_body, has_body)
    again = pickle.loads(pickle.dumps(got))
    assert (again, again.message) == (got, got.message)


@pytest.mark.parametrize("header", [b"", routed("q")])
def test_an_empty_body_is_a_frame_of_its_own(peer: User, session: Session, header: bytes) -> None:
    for has_body in (True, False):
        session.transfer("", amqp.Message(b"", headers=amqp.Headers(header), has_body=has_body), accept_mode=spec.NONE)
        octets = peer.end.data_to_send(0.0)
        frames: list[tuple[int, int]] = []
        while octets:
            size = int.from_bytes(octets[2:4], "big")
            frames.append((octets[1], size))
            octets = octets[size:]
        assert ((3, 12) in frames) == has_body


def test_a_set_that_names_a_message_twice_settles_it_once(peer: User, session: Session) -> None:
    peer.put(session, "q", b"one", b"two", b"three")
    peer.subscribe(session, "q", credit=10)
    one, two, _ = peer.got(session)
    twice = amqp.SequenceSet([(one.command_id, one.command_id), (one.command_id, two.command_id)])
    peer.call(session, spec.MessageAccept(twice))
    peer.cut()
    other = peer.world.connect()
    assert other.drain(other.session(), "q") == [b"three"]


# Cases that a comparison with a naive model of the broker has brought to light.


def test_a_browser_goes_on_when_what_it_had_no_room_for_is_taken(world: World, peer: User) -> None:
    looking, taking = peer.session(b"looking"), peer.session(b"taking")
    peer.queue(looking, "q")
    peer.call(looking, spec.MessageSubscribe("q", "seen", 0, spec.NOT_ACQUIRED))
    peer.call(looking, spec.MessageFlow("seen", spec.MESSAGE, 10))
    peer.call(looking, spec.MessageFlow("seen", spec.BYTE, 50))
    peer.put(looking, "q", b"large" * 20, b"small")
    assert peer.bodies(looking, "seen") == []
    peer.subscribe(taking, "q", "taken", credit=1)
    assert peer.bodies(taking, "taken") == [b"large" * 20]
    assert peer.bodies(looking, "seen") == [b"small"]


@pytest.mark.rule("0-10/exchange.declare/alt-double-failure")
def test_what_was_rejected_is_rerouted_once(peer: User, session: Session) -> None:
    """The queue's alternate exchange is the primary one: its own isn't asked, whether the message is routed there or
    not."""
    peer.call(session, spec.ExchangeDeclare("secondary", "fanout"))
    peer.call(session, spec.ExchangeDeclare("primary", "direct", "secondary"))
    peer.queue(session, "spare", ("secondary", ""))
    peer.call(session, spec.QueueDeclare("routed", "primary"))
    peer.put(session, "routed", b"rejected", b"orphaned")
    peer.subscribe(session, "routed", credit=1)
    (got,) = peer.got(session)
    peer.call(session, spec.MessageCancel("d"))
    peer.result(session.reject(got.command_id, sync=True))
    peer.call(session, spec.QueueDelete("routed"))
    assert peer.drain(session, "spare") == []


@pytest.mark.rule("0-10/message.delivery-properties/exchange-set")
@pytest.mark.parametrize("awaits", [False, True], ids=["matches nothing", "isn't awaited"])
def test_what_went_to_the_alternate_exchange_was_published_to_its_own(
    world: World, peer: User, session: Session, awaits: bool
) -> None:
    """Also to consumers of other versions, who are told by their method and not by the header."""
    peer.call(session, spec.ExchangeDeclare("own", "fanout", "amq.fanout"))
    peer.queue(session, "spare", ("amq.fanout", ""))
    if awaits:
        peer.queue(session, "q", ("own", ""))
    properties = amqp.DeliveryProperties(immediate=awaits)
    peer.publish(session, "own", amqp.Message(b"m", delivery_properties=properties), accept_mode=spec.NONE)
    (entry,) = world.hub.model.vhosts["/"].queues["spare"].available()
    assert entry.message.exchange == "own"


@pytest.mark.rule("0-10/message.release/ordering")
def test_what_a_lost_connection_released_last_goes_to_others_in_its_order(world: World) -> None:
    """The release is executed when the broker knows already that nothing can be sent there any more."""
    peer, other = world.connect(), world.connect()
    session, second = peer.session(b"kept", timeout=60), other.session(b"other")
    peer.queue(session, "q")
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", credit=5)
    got = peer.got(session)
    other.subscribe(second, "q", credit=5)
    session.release(*[each.command_id for each in got])
    peer.client.receive_data(peer.end.data_to_send(0.0), 0.0)
    peer.cut()
    assert other.bodies(second) == [b"1", b"2"]


def unbounded(
    peer: User, session: Session, name: str, octets: int = spec.INFINITE, mode: int = spec.PRE_ACQUIRED
) -> None:
    """A subscription of "q" with credit for any number of messages."""
    peer.call(session, spec.MessageSubscribe("q", name, 0, mode))
    peer.call(session, spec.MessageFlow(name, spec.MESSAGE, spec.INFINITE))
    peer.call(session, spec.MessageFlow(name, spec.BYTE, octets))


def test_what_one_command_acquires_is_acquired_at_once(peer: User, session: Session, second: Session) -> None:
    """Nobody gets the second message because the first one, which it had no room for, is gone: both are."""
    unbounded(peer, session, "cramped", 50)
    unbounded(peer, second, "seen", mode=spec.NOT_ACQUIRED)
    peer.put(second, "q", b"x" * 100, b"small")
    ids = [each.command_id for each in peer.got(second, "seen")]
    assert list(peer.result(second.acquire(*ids)).transfers or ()) == ids
    assert (len(ids), peer.got(session, "cramped")) == (2, [])


def test_a_consumer_keeps_its_turn_though_it_was_granted_more_in_between(peer: User, session: Session) -> None:
    unbounded(peer, session, "first", 40)
    unbounded(peer, session, "second", 20)
    peer.put(session, "q", b"small", b"too large for both" * 2)
    (got,) = peer.got(session, "first")
    peer.call(session, spec.MessageFlow("second", spec.MESSAGE, spec.INFINITE))
    peer.result(session.release(got.command_id, sync=True))
    assert (peer.bodies(session, "first"), peer.bodies(session, "second")) == ([], [b"small"])
