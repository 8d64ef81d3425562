"""Files and streams (classes 9 and 10), by what clients see of them."""

from typing import Any

import pytest

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import Session, spec
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.broker import BrokerLimits, Settings
from tests.kit.ends_0_10 import Unchecked
from tests.kit.hub_0_10 import User, World


@pytest.fixture
def session(peer: User, session: Session) -> Session:
    """It has declared the queue "q"."""
    peer.queue(session, "q")
    return session


def file_of(body: bytes, **properties: Any) -> amqp.Message:
    return amqp.Message(body, headers=amqp.Headers(encode_headers((spec.FileProperties(**properties),))))


def packet_of(body: bytes, **properties: Any) -> amqp.Message:
    return amqp.Message(body, headers=amqp.Headers(encode_headers((spec.StreamProperties(**properties),))))


def stage(peer: User, session: Session, name: str, body: bytes, **properties: Any) -> None:
    """Stage a file."""
    session.call(spec.FileOpen(name, len(body)))
    assert [each.command for each in peer.commands(spec.FileOpenOk)] == [spec.FileOpenOk(0)]
    peer.call(session, spec.FileStage(), file_of(body, **properties))


def send(peer: User, session: Session, body: bytes, *, key: str = "q", exchange: str = "", **options: Any) -> None:
    """Stage a file and publish it."""
    name = body[:20].decode()
    mandatory, immediate = options.pop("mandatory", False), options.pop("immediate", False)
    stage(peer, session, name, body, **options)
    peer.call(session, spec.FilePublish(exchange, key, mandatory, immediate, name))


Delivered = tuple[spec.FileDeliver, bytes, spec.FileProperties | None]


def taken(peer: User, session: Session) -> list[Delivered]:
    """Take the files that come, as a client does."""
    files: list[amqp.CommandReceived] = []
    found: list[Delivered] = []
    while True:
        opens = [each for each in peer.commands(spec.FileOpen) if each.channel == session.channel]
        for each in opens:
            session.complete(each.command_id)
            session.call(spec.FileOpenOk(0))
        files += [each for each in peer.commands(spec.FileStage) if each.channel == session.channel]
        arrived = [each for each in peer.commands(spec.FileDeliver) if each.channel == session.channel]
        for each in arrived:
            staged = files.pop(0)
            assert staged.headers is not None
            (struct,) = staged.headers.structs
            assert isinstance(struct, spec.FileProperties)
            assert isinstance(each.command, spec.FileDeliver)
            found.append((each.command, staged.body, struct))
            session.complete(staged.command_id)
            session.complete(each.command_id)
        if not opens and not arrived:
            return found


def bodies(peer: User, session: Session) -> list[bytes]:
    return [body for _, body, _ in taken(peer, session)]


def forced(peer: User, session: Session, command: spec.Command[Any]) -> int:
    """The code that a command gets which the sender's own engine wouldn't send."""
    # The client's books are taken away, so that it's the broker who answers.
    state = session._state  # pyright: ignore[reportPrivateUsage]
    files = state.files
    state.files = Unchecked(1)
    session.call(command)
    state.files = files
    return peer.code_of(session)


# Files.


@pytest.mark.rule(
    "0-10/file.publish/default", "0-10/file/acks", "0-10/file.open-ok/behavior", "0-10/file.deliver/non-zero"
)
@pytest.mark.parametrize("no_ack", [False, True])
def test_a_file_goes_from_publisher_to_consumer(world: World, peer: User, session: Session, no_ack: bool) -> None:
    peer.call(session, spec.FileConsume("q", "tag", no_ack=no_ack))
    assert [each.command for each in peer.commands(spec.FileConsumeOk)] == [spec.FileConsumeOk("tag")]
    send(peer, session, b"first", filename="f.txt", headers={"a": 1})
    ((deliver, body, properties),) = taken(peer, session)
    assert (deliver.consumer_tag, deliver.delivery_tag, deliver.redelivered) == ("tag", 1, False)
    assert (deliver.exchange, deliver.routing_key, body) == ("", "q", b"first")
    assert properties is not None
    assert (properties.filename, properties.headers) == ("f.txt", {"a": 1})
    queue = world.hub.model.vhosts["/"].queues["q"]
    assert queue.messages == (0 if no_ack else 1)
    if not no_ack:
        peer.call(session, spec.FileAck(1))
    assert queue.messages == 0


def test_a_file_may_be_published_before_it_is_staged(peer: User, session: Session) -> None:
    session.call(spec.FileOpen("f", 4))
    published = session.call(spec.FilePublish("", "q", identifier="f"))
    peer.world.pump()
    assert not published.done
    session.call(spec.FileStage(), file_of(b"body"))
    peer.result(published)
    assert peer.depth(session, "q") == 1


def test_a_client_that_has_half_of_a_file_gets_the_rest(peer: User, session: Session) -> None:
    send(peer, session, b"123456")
    peer.call(session, spec.FileConsume("q", "tag"))
    (wanted,) = peer.commands(spec.FileOpen)
    assert isinstance(wanted.command, spec.FileOpen)
    assert wanted.command.content_size == 6
    session.complete(wanted.command_id)
    session.call(spec.FileOpenOk(4))
    (staged,) = peer.commands(spec.FileStage)
    assert staged.body == b"56"
    (deliver,) = peer.commands(spec.FileDeliver)
    assert isinstance(deliver.command, spec.FileDeliver)
    assert deliver.command.identifier == wanted.command.identifier


@pytest.mark.rule("0-10/file.publish/mandatory", "0-10/file.publish/immediate", "0-10/file.publish/refusal")
@pytest.mark.parametrize(
    ("key", "mandatory", "immediate", "code"),
    [
        ("nowhere", True, False, 312),
        ("nowhere", False, False, 0),
        ("nowhere", False, True, 313),
        ("q", True, False, 0),
        ("q", False, True, 313),
    ],
)
def test_files_that_come_back(
    peer: User, session: Session, key: str, mandatory: bool, immediate: bool, code: int
) -> None:
    send(peer, session, b"f", key=key, mandatory=mandatory, immediate=immediate, filename="name")
    returned = peer.commands(spec.FileReturn)
    codes = [each.command.reply_code for each in returned if isinstance(each.command, spec.FileReturn)]
    assert codes == [code][: bool(code)]
    if returned:
        assert returned[0].body == b"f"
        assert returned[0].headers is not None
        assert returned[0].headers.structs == (spec.FileProperties(filename="name"),)


def test_an_unknown_exchange_for_a_file(peer: User, session: Session) -> None:
    stage(peer, session, "f", b"f")
    assert peer.refused(session, spec.FilePublish("nowhere", "q", identifier="f")) == 404


def test_an_immediate_file_for_who_waits(peer: User, session: Session) -> None:
    peer.call(session, spec.FileConsume("q", "tag"))
    send(peer, session, b"f", immediate=True)
    assert bodies(peer, session) == [b"f"]
    assert not peer.commands(spec.FileReturn)


@pytest.mark.rule("0-10/file.qos/ceiling")
@pytest.mark.parametrize(("count", "size", "most"), [(2, 0, 2), (0, 2, 2), (0, 0, 5), (3, 1, 1)])
def test_prefetch(peer: User, session: Session, count: int, size: int, most: int) -> None:
    for number in range(5):
        send(peer, session, b"%d" % number)
    session.call(spec.FileQos(size, count))
    assert len(peer.commands(spec.FileQosOk)) == 1
    peer.call(session, spec.FileConsume("q", "tag"))
    found = taken(peer, session)
    assert len(found) == most
    peer.call(session, spec.FileAck(found[-1][0].delivery_tag, multiple=True))
    assert len(taken(peer, session)) == min(most, 5 - most)


@pytest.mark.rule("0-10/file.ack/validation")
@pytest.mark.parametrize("command", [spec.FileAck(7), spec.FileReject(7)], ids=["ack", "reject"])
def test_delivery_tags_are_checked(peer: User, session: Session, command: Any) -> None:
    assert forced(peer, session, command) == 542


def test_all_files_are_acknowledged_by_zero(world: World, peer: User, session: Session) -> None:
    for number in range(3):
        send(peer, session, b"%d" % number)
    peer.call(session, spec.FileConsume("q", "tag"))
    assert len(taken(peer, session)) == 3
    peer.call(session, spec.FileAck(0, multiple=True))
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


@pytest.mark.rule("0-10/file.reject/requeue", "0-10/file.reject/server")
def test_a_rejected_file_goes_to_another_client(peer: User, session: Session, second: Session) -> None:
    peer.call(session, spec.FileConsume("q", "a"))
    peer.call(session, spec.FileConsume("q", "b"))
    send(peer, session, b"f")
    ((deliver, _, _),) = taken(peer, session)
    peer.call(session, spec.FileReject(deliver.delivery_tag, requeue=True))
    assert taken(peer, session) == []
    assert peer.depth(session, "q") == 1
    peer.call(second, spec.FileConsume("q", "c"))
    ((again, body, _),) = taken(peer, second)
    assert (again.redelivered, body) == (True, b"f")


@pytest.mark.rule("0-10/file.deliver/redelivery", "0-10/file.reject/not-selection")
def test_files_that_are_rejected_for_good_or_too_often(peer: User, session: Session) -> None:
    peer.call(session, spec.ExchangeDeclare("dead", "fanout"))
    peer.queue(session, "graveyard", ("dead", ""))
    arguments = {"x-delivery-limit": 1, "x-dead-letter-exchange": "dead"}
    peer.call(session, spec.QueueDeclare("limited", arguments=arguments))
    others = [peer.session(b"other%d" % number) for number in range(2)]
    send(peer, session, b"f", key="limited")
    for each in others:
        peer.call(each, spec.FileConsume("limited", "c"))
        ((deliver, _, _),) = taken(peer, each)
        peer.call(each, spec.FileReject(deliver.delivery_tag, requeue=True))
        peer.call(each, spec.FileCancel("c"))
    assert (peer.depth(session, "limited"), peer.depth(session, "graveyard")) == (0, 1)
    peer.call(session, spec.FileConsume("graveyard", "c"))
    ((deliver, body, _),) = taken(peer, session)
    assert body == b"f"
    peer.call(session, spec.FileReject(deliver.delivery_tag))
    assert peer.depth(session, "graveyard") == 0


@pytest.mark.rule(
    "0-10/file.consume/queue-empty",
    "0-10/file.consume/tag-empty",
    "0-10/file.consume/tag-in-use",
    "0-10/stream.consume/queue-empty",
    "0-10/stream.consume/tag-empty",
    "0-10/stream.consume/tag-in-use",
)
@pytest.mark.parametrize("kind", [spec.FileConsume, spec.StreamConsume])
@pytest.mark.parametrize(("queue", "tag"), [("", "t"), ("q", ""), ("q", "used")])
def test_consumers_that_are_refused(peer: User, session: Session, kind: Any, queue: str, tag: str) -> None:
    peer.call(session, kind("q", "used"))
    assert forced(peer, session, kind(queue, tag)) == 530


@pytest.mark.rule("0-10/file.consume/exclusive", "0-10/stream.consume/exclusive")
@pytest.mark.parametrize("kind", [spec.FileConsume, spec.StreamConsume])
@pytest.mark.parametrize("first", [True, False])
def test_an_exclusive_consumer(peer: User, session: Session, second: Session, kind: Any, first: bool) -> None:
    peer.call(session, kind("q", "t", exclusive=first))
    assert peer.refused(second, kind("q", "t", exclusive=not first)) == 405


@pytest.mark.rule("0-10/file.consume/min-16", "0-10/stream.consume/min-16")
@pytest.mark.parametrize("kind", [spec.FileConsume, spec.StreamConsume])
def test_twenty_consumers(world: World, peer: User, session: Session, kind: Any) -> None:
    for number in range(20):
        peer.call(session, kind("q", f"t{number}", nowait=True))
    assert len(world.hub.model.vhosts["/"].queues["q"].consumers) == 20
    assert not peer.commands(spec.FileConsumeOk)
    assert not peer.commands(spec.StreamConsumeOk)


@pytest.mark.rule("0-10/file/priority-levels", "0-10/stream/priority-levels")
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_two_levels_of_priority(peer: User, session: Session, kind: str) -> None:
    for priority in (0, 4, 5, 9):
        body = b"%d" % priority
        if kind == "file":
            send(peer, session, body, priority=priority)
        else:
            peer.call(session, spec.StreamPublish("", "q"), packet_of(body, priority=priority))
    if kind == "file":
        peer.call(session, spec.FileConsume("q", "t"))
        found = bodies(peer, session)
    else:
        peer.call(session, spec.StreamConsume("q", "t"))
        found = [each.body for each in peer.commands(spec.StreamDeliver)]
    assert found == [b"5", b"9", b"0", b"4"]


@pytest.mark.rule("0-10/file/storage")
def test_files_survive_where_their_queue_does(world: World, peer: User, session: Session) -> None:
    peer.call(session, spec.QueueDeclare("lasting", durable=True))
    send(peer, session, b"f", key="lasting")
    peer.call(session, spec.StreamPublish("", "lasting"), packet_of(b"p"))
    peer.cut()
    world.hub.model.restart(world.now)
    other = world.connect()
    again = other.session()
    other.call(again, spec.FileConsume("lasting", "t"))
    assert bodies(other, again) == [b"f"]
    other.call(again, spec.StreamConsume("lasting", "s"))
    assert not other.commands(spec.StreamDeliver)


@pytest.mark.rule("0-10/file/no-discard")
def test_no_file_is_dropped_by_a_broker_that_is_full() -> None:
    world = World(Settings(limits=BrokerLimits(memory_high=4_000, memory_low=2_000)))
    peer, other = world.connect(), world.connect()
    session, second = peer.session(b"one"), other.session(b"two")
    peer.queue(session, "q")
    sent = 0
    while not world.hub.is_blocked:
        send(peer, session, b"%04d" % sent + b"x" * 500)
        sent += 1
    assert peer.client.receive_budget == 0
    other.call(second, spec.FileConsume("q", "t", no_ack=True))
    found = bodies(other, second)
    assert len(found) == sent
    assert not world.hub.is_blocked
    send(peer, session, b"more")
    assert bodies(other, second) == [b"more"]


def test_staged_files_have_a_bound() -> None:
    world = World(Settings(limits=BrokerLimits(transaction_octets=2000)))
    peer = world.connect()
    session = peer.session()
    stage(peer, session, "one", b"x" * 800)
    assert peer.refused(session, spec.FileOpen("two", 300)) == 506


def test_files_of_no_octets_have_a_bound_too() -> None:
    world = World(Settings(limits=BrokerLimits(transaction_octets=20_000)))
    peer = world.connect()
    for name, stages in (("opened", False), ("staged", True)):
        session = peer.session(name)
        for number in range(100):
            if session.report is not None:
                break
            session.call(spec.FileOpen(f"{number}", 0))
            world.pump()
            if stages and session.report is None:
                session.call(spec.FileStage(), file_of(b""))
                world.pump()
        assert peer.code_of(session) == 506


def test_files_and_acks_are_transactional(world: World, peer: User, session: Session, second: Session) -> None:
    send(peer, second, b"1")
    peer.call(session, spec.TxSelect())
    peer.call(session, spec.FileConsume("q", "t"))
    ((deliver, _, _),) = taken(peer, session)
    peer.call(session, spec.FileAck(deliver.delivery_tag))
    send(peer, session, b"2")
    queue = world.hub.model.vhosts["/"].queues["q"]
    assert queue.messages == 1
    peer.call(session, spec.TxRollback())
    ((deliver, body, _),) = taken(peer, session)
    assert (deliver.redelivered, body) == (True, b"1")
    peer.call(session, spec.FileAck(deliver.delivery_tag))
    peer.call(session, spec.FileCancel("t"))
    send(peer, session, b"3")
    peer.call(session, spec.TxCommit())
    assert queue.messages == 1


def test_no_local_leaves_files_of_its_connection_to_others(world: World, peer: User, session: Session) -> None:
    second = peer.session(b"second")
    other = world.connect()
    far = other.session(b"far")
    peer.call(session, spec.FileConsume("q", "t", no_local=True))
    send(peer, second, b"near")
    assert bodies(peer, session) == []
    send(other, far, b"far")
    assert bodies(peer, session) == [b"far"]
    other.call(far, spec.FileConsume("q", "t"))
    assert bodies(other, far) == [b"near"]


# Streams.


@pytest.mark.rule("0-10/stream.publish/default", "0-10/stream/acks")
def test_a_packet_goes_to_its_consumer_and_is_gone(world: World, peer: User, session: Session) -> None:
    peer.call(session, spec.StreamConsume("q", "tag"))
    assert [each.command for each in peer.commands(spec.StreamConsumeOk)] == [spec.StreamConsumeOk("tag")]
    peer.call(session, spec.StreamPublish("", "q"), packet_of(b"p", content_type="a/b", headers={"n": 1}))
    (found,) = peer.commands(spec.StreamDeliver)
    assert found.command == spec.StreamDeliver("tag", 1, "", "q")
    assert found.body == b"p"
    assert found.headers is not None
    (properties,) = found.headers.structs
    assert isinstance(properties, spec.StreamProperties)
    assert (properties.content_type, properties.headers) == ("a/b", {"n": 1})
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0
    peer.call(session, spec.StreamCancel("tag"))
    peer.call(session, spec.StreamPublish("", "q"), packet_of(b"later"))
    assert not peer.commands(spec.StreamDeliver)
    assert peer.depth(session, "q") == 1


@pytest.mark.rule("0-10/stream.publish/mandatory", "0-10/stream.publish/immediate", "0-10/stream.publish/refusal")
@pytest.mark.parametrize(
    ("key", "mandatory", "immediate", "code"),
    [("nowhere", True, False, 312), ("nowhere", False, False, 0), ("q", False, True, 313), ("q", True, False, 0)],
)
def test_packets_that_come_back(
    peer: User, session: Session, key: str, mandatory: bool, immediate: bool, code: int
) -> None:
    peer.call(session, spec.StreamPublish("", key, mandatory, immediate), packet_of(b"p"))
    returned = [each.command for each in peer.commands(spec.StreamReturn)]
    assert [each.reply_code for each in returned if isinstance(each, spec.StreamReturn)] == [code][: bool(code)]


@pytest.mark.rule("0-10/stream.qos/ignore", "0-10/stream.qos/drop")
def test_the_quality_of_a_stream_is_taken_note_of(peer: User, session: Session) -> None:
    session.call(spec.StreamQos(10, 1, 5))
    assert len(peer.commands(spec.StreamQosOk)) == 1
    peer.call(session, spec.StreamConsume("q", "tag"))
    for number in range(3):
        peer.call(session, spec.StreamPublish("", "q"), packet_of(b"%d" % number))
    assert [each.body for each in peer.commands(spec.StreamDeliver)] == [b"0", b"1", b"2"]


@pytest.mark.rule("0-10/stream/overflow")
def test_a_full_queue_drops_packets_of_lower_priority(peer: User, session: Session) -> None:
    peer.queue(session, "short", arguments={"x-max-length": 2})
    for priority in (9, 0, 8):
        peer.call(session, spec.StreamPublish("", "short"), packet_of(b"%d" % priority, priority=priority))
    peer.call(session, spec.StreamConsume("short", "t"))
    assert [each.body for each in peer.commands(spec.StreamDeliver)] == [b"9", b"8"]


def test_files_go_on_with_their_session(peer: User, world: World) -> None:
    session = peer.session(b"s", timeout=60)
    peer.queue(session, "q")
    peer.call(session, spec.FileConsume("q", "t"))
    stage(peer, session, "f", b"f")
    peer.cut()
    other = world.connect()
    again = other.resume(session.detached_state())
    other.call(again, spec.FilePublish("", "q", identifier="f"))
    ((deliver, body, _),) = taken(other, again)
    assert body == b"f"
    other.call(again, spec.FileAck(deliver.delivery_tag))
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0
