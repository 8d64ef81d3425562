"""The core as an AMQP 1.0 client on real sockets: Broker-J, RabbitMQ's plug-in, and nodes on proton and rhea."""

import pytest

from amqp_sansio import AmqpError, By, Scope
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.events import Failed
from amqp_sansio.sasl import Anonymous, Plain, XOAuth2
from tests.interop.brokers.facing_1_0 import Peer
from tests.kit.wire_1_0 import Wire10

NODES = ("proton", "rhea")


def test_opening_and_closing(peer: Peer) -> None:
    wire = peer.open(hostname=None, properties={"product": "interop"})
    connection = wire.connection
    assert connection.mechanism == peer.sasl.name
    assert connection.peer_open is not None
    assert connection.state == "OPENED"
    wire.close()
    assert wire.closed is not None
    assert wire.closed.report.by is By.LOCAL
    assert not wire.closed.report.condition


def test_messages_come_as_they_were_sent(peer: Peer, wire: Wire10, session: amqp.Session) -> None:
    address = peer.address()
    sender = wire.sender(session, address)
    properties = amqp.Properties(
        message_id="m1",
        subject="greeting",
        reply_to="answers",
        correlation_id="c1",
        content_type=amqp.Symbol("text/plain"),
    )
    sent = [
        amqp.Message(b"first", properties=properties, application_properties={"n": 1, "s": "ä", "b": True}),
        amqp.Message(amqp.Data(b""), header=amqp.Header(priority=7)),
        amqp.Message(amqp.Data(b"x" * 70_000)),
    ]
    for message in sent:
        assert wire.send(sender, message) == amqp.Accepted()
    receiver = wire.receiver(session, address, credit=10)
    first, empty, big = [wire.delivery(receiver) for _ in sent]
    assert first.body == b"first"
    found = first.message.properties
    assert found is not None
    assert (found.message_id, found.correlation_id, found.content_type) == ("m1", "c1", "text/plain")
    assert found.reply_to is not None
    if peer.kind != "rabbitmq":
        # The plug-in makes an address of its own of reply-to, and drops the subject.
        assert (found.subject, found.reply_to) == ("greeting", "answers")
    assert dict(first.message.application_properties) == {"n": 1, "s": "ä", "b": True}
    assert (empty.body, empty.message.priority) == (b"", 7)
    assert big.body == b"x" * 70_000
    assert all(handle.done for handle in receiver.accept(first, empty, big))
    wire.close_link(receiver)
    wire.close_link(sender)
    session.close()
    wire.session_closed(session)


def test_outcomes_of_what_is_sent(node: Peer) -> None:
    wire = node.open()
    session = wire.session()
    rejected = wire.send(wire.sender(session, "rejecting"), amqp.Message("no"))
    assert isinstance(rejected, amqp.Rejected)
    assert isinstance(rejected.error, amqp.Error)
    assert rejected.error.condition == "amqp:not-allowed"
    assert rejected.error.description == "never here"
    assert dict(rejected.error.info or {}) == {"why": "by intent"}
    assert wire.send(wire.sender(session, "releasing"), amqp.Message("back")) == amqp.Released()
    modified = wire.send(wire.sender(session, "modifying"), amqp.Message("changed"))
    assert isinstance(modified, amqp.Modified)
    assert (modified.delivery_failed, modified.undeliverable_here) == (True, True)
    assert dict(modified.message_annotations or {}) == {"x-opt-by": node.kind}
    wire.close()


def test_outcomes_given(peer: Peer, wire: Wire10, session: amqp.Session) -> None:
    address = peer.address()
    sender = wire.sender(session, address)
    bodies = [b"released", b"modified", b"rejected", b"accepted"]
    if peer.kind == "rabbitmq":
        # The plug-in knows nothing of modified.
        bodies.remove(b"modified")
    for body in bodies:
        wire.send(sender, amqp.Message(body))
    receiver = wire.receiver(session, address, credit=4)
    by_body = {each.body: each for each in [wire.delivery(receiver) for _ in bodies]}
    receiver.release(by_body[b"released"])
    if b"modified" in by_body:
        receiver.modify(by_body[b"modified"], delivery_failed=True)
    receiver.reject(by_body[b"rejected"], error=amqp.Error(amqp.Symbol("amqp:not-allowed"), "never"))
    receiver.accept(by_body[b"accepted"])
    receiver.flow(4)
    expected = {b"released": 0, b"modified": 1}
    if peer.kind == "rabbitmq":
        expected = {b"released": 0}
    if peer.kind == "brokerj":
        # Without a node for rejected messages it tries them again.
        expected[b"rejected"] = 1
    again = [wire.delivery(receiver) for _ in expected]
    assert {each.body: each.message.delivery_count for each in again} == expected
    if peer.kind == "rabbitmq":
        # That it was somebody's before is all it can say.
        assert not again[0].message.first_acquirer
    receiver.accept(*again)
    wire.idle(0.2)
    assert nothing_for(wire, receiver)
    if peer.kind in NODES:
        dead = wire.receiver(session, f"dead.{address}", credit=1)
        buried = wire.delivery(dead)
        assert buried.body == b"rejected"
        dead.accept(buried)


def nothing_for(wire: Wire10, receiver: amqp.Receiver) -> bool:
    """Whether no delivery is there that the test hasn't taken."""
    return not [e for e in wire.events if getattr(e, "link", None) == receiver.handle and hasattr(e, "delivery_tag")]


def test_settled_when_sent(peer: Peer, wire: Wire10, session: amqp.Session) -> None:
    address = peer.address()
    sender = wire.sender(session, address, snd_settle_mode=1)
    for number in range(3):
        wire.credit(sender)
        assert sender.send(amqp.Message(b"%d" % number)).done
    receiver = wire.receiver(session, address, snd_settle_mode=1, credit=10)
    deliveries = [wire.delivery(receiver) for _ in range(3)]
    assert [each.body for each in deliveries] == [b"0", b"1", b"2"]
    assert all(each.settled for each in deliveries)


def test_nothing_comes_without_credit(peer: Peer, wire: Wire10, session: amqp.Session) -> None:
    address = peer.address()
    sender = wire.sender(session, address)
    for number in range(5):
        wire.send(sender, amqp.Message(b"%d" % number))
    receiver = wire.receiver(session, address)
    wire.idle(0.3)
    assert nothing_for(wire, receiver)
    receiver.flow(2)
    deliveries = [wire.delivery(receiver) for _ in range(2)]
    wire.idle(0.3)
    assert nothing_for(wire, receiver)
    assert receiver.credit == 0
    receiver.flow(3)
    deliveries += [wire.delivery(receiver) for _ in range(3)]
    assert [each.body for each in deliveries] == [b"0", b"1", b"2", b"3", b"4"]
    receiver.accept(*deliveries)


def test_draining(peer: Peer, wire: Wire10, session: amqp.Session) -> None:
    address = peer.address()
    sender = wire.sender(session, address)
    for number in range(3):
        wire.send(sender, amqp.Message(b"%d" % number))
    receiver = wire.receiver(session, address)
    receiver.flow(10, drain=True)
    drained = wire.next(amqp.Drained)
    assert (drained.channel, drained.link) == (session.channel, receiver.handle)
    assert receiver.credit == 0
    receiver.accept(*[wire.delivery(receiver) for _ in range(3)])
    receiver.flow(1)
    wire.send(sender, amqp.Message(b"later"))
    later = wire.delivery(receiver)
    assert later.body == b"later"
    receiver.accept(later)


def test_a_megabyte_in_frames_of_4096_octets(peer: Peer) -> None:
    # Twelve frames are all the peer may send before it's told to go on.
    wire = peer.open(max_frame_size=4096, incoming_window=12)
    session = wire.session()
    address = peer.address()
    body = bytes(range(256)) * 4096
    assert wire.send(wire.sender(session, address), amqp.Message(body)) == amqp.Accepted()
    receiver = wire.receiver(session, address, credit=1)
    delivery = wire.delivery(receiver)
    assert delivery.body == body
    receiver.accept(delivery)
    wire.close()


def test_many_sessions_and_links(peer: Peer, wire: Wire10) -> None:
    sessions = [wire.connection.open_session() for _ in range(15)]
    for session in sessions:
        assert session.opening is not None
        wire.result(session.opening)
    assert len({session.channel for session in sessions}) == 15
    addresses = [peer.address() for _ in sessions]
    senders = [s.open_sender(a) for s, a in zip(sessions, addresses, strict=True)]
    for sender, address in zip(senders, addresses, strict=True):
        for number in range(3):
            assert wire.send(sender, amqp.Message(f"{address} {number}".encode())) == amqp.Accepted()
    # Each queue's messages are read on another session than they were sent on.
    turned = sessions[1:] + sessions[:1]
    receivers = [s.open_receiver(a, credit=3) for s, a in zip(turned, addresses, strict=True)]
    for receiver, address in zip(receivers, addresses, strict=True):
        deliveries = [wire.delivery(receiver) for _ in range(3)]
        assert [each.body for each in deliveries] == [f"{address} {n}".encode() for n in range(3)]
        receiver.accept(*deliveries)
    sessions[3].close()
    wire.session_closed(sessions[3])
    assert wire.send(senders[4], amqp.Message(b"on")) == amqp.Accepted()


def condition_of(error: AmqpError) -> str:
    """The condition that an error carries itself or in its report."""
    report = getattr(error, "report", None)
    return str(getattr(error, "condition", "") or (report.condition if report else ""))


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_an_address_that_is_not_there(peer: Peer, wire: Wire10, session: amqp.Session, role: str) -> None:
    opens = wire.attached_sender if role == "sender" else wire.receiver
    with pytest.raises(AmqpError) as failed:
        opens(session, peer.absent(role))
    assert condition_of(failed.value) == "amqp:not-found", failed.value
    other = wire.session()
    address = peer.address()
    assert wire.send(wire.sender(other, address), amqp.Message(b"on")) == amqp.Accepted()


def test_a_session_that_the_peer_ends(node: Peer) -> None:
    wire = node.open()
    session = wire.session()
    sender = session.open_sender("ending")
    closed = wire.session_closed(session)
    assert closed.report.by is By.REMOTE
    assert (closed.report.condition, closed.report.text) == ("amqp:internal-error", "the session ends here")
    failures = [e for e in wire.events if isinstance(e, Failed) and not isinstance(e, amqp.LinkFailed)]
    assert failures[0].scope is Scope.SESSION
    assert sender.opening is not None
    assert sender.opening.done
    assert wire.send(wire.sender(wire.session(), node.address()), amqp.Message(b"on")) == amqp.Accepted()
    wire.close()


def test_a_connection_that_the_peer_closes(node: Peer) -> None:
    wire = node.open()
    wire.session().open_sender("closing")
    report = wire.end().report
    assert report.by is By.REMOTE
    assert (report.condition, report.text) == ("amqp:connection:forced", "closed by intent")


def test_a_wrong_password(locked: Peer) -> None:
    wire = locked.connect(sasl=Plain(locked.broker.user, "wrong"))
    report = wire.end().report
    assert report.by is By.REMOTE
    assert "password" in f"{report.text} {report.hint}", report


def test_a_mechanism_that_is_not_offered(peer: Peer) -> None:
    wire = peer.connect(sasl=XOAuth2("user", "token"))
    report = wire.end().report
    assert report.by is By.LOCAL
    assert "XOAUTH2" in report.text, report


def test_anonymous(unlocked: Peer) -> None:
    wire = unlocked.open(sasl=Anonymous())
    assert wire.connection.mechanism == "ANONYMOUS"
    sender = wire.sender(wire.session(), unlocked.address())
    assert wire.send(sender, amqp.Message(b"from nobody")) == amqp.Accepted()
    wire.close()


def test_detaching_and_closing_links(peer: Peer, wire: Wire10, session: amqp.Session) -> None:
    address = peer.address()
    sender = wire.sender(session, address, name="link")
    closed = wire.close_link(sender)
    assert (closed.name, closed.resumable, closed.report.by) == ("link", False, By.LOCAL)
    again = wire.sender(session, address, name="link")
    assert again.handle == closed.link
    assert wire.send(again, amqp.Message(b"again")) == amqp.Accepted()
    again.detach()
    suspended = wire.link_closed(again)
    assert suspended.report.by is By.LOCAL
    assert wire.send(wire.sender(session, address), amqp.Message(b"on")) == amqp.Accepted()


def test_settling_second(node: Peer) -> None:
    wire = node.open()
    session = wire.session()
    address = node.address()
    sender = wire.sender(session, address, rcv_settle_mode=1)
    assert sender.rcv_settle_mode == 1
    assert wire.send(sender, amqp.Message(b"twice")) == amqp.Accepted()
    assert not sender.pending
    receiver = wire.receiver(session, address, rcv_settle_mode=1, credit=1)
    assert receiver.rcv_settle_mode == 1
    delivery = wire.delivery(receiver)
    (handle,) = receiver.accept(delivery)
    assert not handle.done
    assert wire.result(handle) == amqp.Accepted()
    wire.close()


def test_the_anonymous_terminus(named: Peer) -> None:
    wire = named.open()
    session = wire.session()
    addresses = [named.address() for _ in range(2)]
    receivers = [wire.receiver(session, address, credit=1) for address in addresses]
    sender = wire.sender(session, amqp.Target(address=None))
    for address in addresses:
        message = amqp.Message(address.encode(), properties=amqp.Properties(to=address))
        assert wire.send(sender, message) == amqp.Accepted()
    for receiver, address in zip(receivers, addresses, strict=True):
        delivery = wire.delivery(receiver)
        assert delivery.body == address.encode()
        receiver.accept(delivery)
    wire.close()


def test_an_aborted_delivery_is_nowhere(exact: Peer) -> None:
    # rhea and RabbitMQ's plug-in take the abort for the end of the message.
    wire = exact.open()
    session = wire.session()
    address = exact.address()
    sender = wire.sender(session, address)
    whole = amqp.Message(amqp.Data(b"p" * 100_000)).encode()
    sender.begin(whole[:60_000])
    sender.abort()
    handle = sender.begin(whole[:50_000])
    sender.continue_delivery(whole[50_000:80_000])
    sender.continue_delivery(whole[80_000:], more=False)
    assert wire.result(handle) == amqp.Accepted()
    receiver = wire.receiver(session, address, credit=2)
    delivery = wire.delivery(receiver)
    assert delivery.body == b"p" * 100_000
    receiver.accept(delivery)
    wire.idle(0.2)
    assert nothing_for(wire, receiver)
    wire.close()
