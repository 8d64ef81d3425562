"""What only Broker-J has of AMQP 1.0 among the peers: SCRAM, selectors, transactions, links that are kept."""

import pickle
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from amqp_sansio import AmqpError, By
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.sasl import Anonymous, ClientMechanism, Plain, ScramSha256
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.wires import at_once
from tests.kit.wire_1_0 import Wire10

NONCE = "c2FtZSBub25jZSBmb3IgdGVzdHM"
FOREVER: dict[str, Any] = {"durable": 2, "expiry_policy": amqp.Symbol("never"), "timeout": 2**32 - 1}


class Connect:
    """Opens connections and closes what is left of them."""

    numbers = count(1)

    def __init__(self, broker: BrokerJ) -> None:
        self.broker = broker
        self.wires: list[Wire10] = []

    def connect(self, sasl: ClientMechanism, port: int, container_id: str = "", **options: Any) -> Wire10:
        container_id = container_id or f"brokerj-{next(self.numbers)}"
        wire = at_once(Wire10(amqp.Config(container_id=container_id, sasl=sasl, **options), self.broker.host, port))
        self.wires.append(wire)
        return wire

    def __call__(self, container_id: str = "", **options: Any) -> Wire10:
        """An open connection."""
        sasl = Plain(self.broker.user, self.broker.password)
        wire = self.connect(sasl, self.broker.port, container_id, **options)
        wire.opened()
        return wire

    def address(self) -> str:
        return f"auto.brokerj.{next(self.numbers)}"


@pytest.fixture
def connect(brokerj: BrokerJ) -> Iterator[Connect]:
    found = Connect(brokerj)
    yield found
    for wire in found.wires:
        wire.socket.close()


def bodies(wire: Wire10, receiver: amqp.Receiver, number: int) -> list[Any]:
    """Take deliveries, accept them; what they hold."""
    deliveries = [wire.delivery(receiver) for _ in range(number)]
    receiver.accept(*deliveries)
    wire.flush()
    return [each.body for each in deliveries]


def remaining(wire: Wire10, session: amqp.Session, address: str) -> list[Any]:
    """What is in a queue now, taken out of it."""
    receiver = wire.receiver(session, address)
    found: list[Any] = []
    receiver.flow(1000, drain=True)
    wire.until(lambda: receiver.credit == 0)
    while receiver.unsettled:
        found += bodies(wire, receiver, 1)
    wire.close_link(receiver)
    return found


def test_scram(connect: Connect, brokerj: BrokerJ) -> None:
    wire = connect.connect(ScramSha256(brokerj.user, brokerj.password, NONCE), brokerj.scram_port)
    wire.opened()
    assert wire.connection.mechanism == "SCRAM-SHA-256"
    wire.close()
    wire = connect.connect(ScramSha256(brokerj.user, "wrong", NONCE), brokerj.scram_port)
    report = wire.end().report
    assert report.by is By.REMOTE, report


def test_the_best_mechanism_that_is_offered(connect: Connect, brokerj: BrokerJ) -> None:
    mechanisms = (
        ScramSha256(brokerj.user, brokerj.password, NONCE),
        Plain(brokerj.user, brokerj.password),
        Anonymous(),
    )
    ports = (brokerj.scram_port, brokerj.port, brokerj.anonymous_port)
    for mechanism, port in zip(mechanisms, ports, strict=True):
        wire = connect.connect(mechanisms, port)  # type: ignore[arg-type]
        wire.opened()
        assert wire.connection.mechanism == mechanism.name
        wire.close()


def test_a_virtual_host_that_is_not_there(connect: Connect, brokerj: BrokerJ) -> None:
    wire = connect.connect(Plain(brokerj.user, brokerj.password), brokerj.port, hostname="absent.example")
    report = wire.end().report
    assert (report.by, report.condition) == (By.REMOTE, "amqp:not-found"), report


@pytest.mark.parametrize("descriptor", [amqp.Symbol("apache.org:selector-filter:string"), spec.ULong(0x468C00000004)])
def test_a_selector(connect: Connect, descriptor: Any) -> None:
    wire = connect()
    session = wire.session()
    address = connect.address()
    sender = wire.sender(session, address)
    for colour in ("red", "blue", "red"):
        message = amqp.Message(colour, application_properties={"colour": colour})
        assert wire.send(sender, message) == amqp.Accepted()
    selector = {amqp.Symbol("jms-selector"): amqp.Described(descriptor, "colour = 'red'")}
    receiver = wire.receiver(session, amqp.Source(address, filter=selector))
    agreed = receiver.source
    assert isinstance(agreed, amqp.Source)
    assert dict(agreed.filter or {}).keys() == {"jms-selector"}
    receiver.flow(10, drain=True)
    wire.until(lambda: receiver.credit == 0)
    assert bodies(wire, receiver, 2) == ["red", "red"]
    wire.close_link(receiver)
    assert remaining(wire, session, address) == ["blue"]
    wire.close()


def test_browsing_leaves_messages_where_they_are(connect: Connect) -> None:
    wire = connect()
    session = wire.session()
    address = connect.address()
    wire.send(wire.sender(session, address), amqp.Message("kept"))
    browser = wire.receiver(session, amqp.Source(address, distribution_mode=amqp.Symbol("copy")), credit=1)
    assert bodies(wire, browser, 1) == ["kept"]
    wire.close_link(browser)
    assert remaining(wire, session, address) == ["kept"]
    wire.close()


class Transactions:
    """A control link, and links that work on a queue."""

    def __init__(self, connect: Connect) -> None:
        self.wire = connect()
        self.session = self.wire.session()
        self.address = connect.address()
        self.control = self.wire.sender(
            self.session, spec.Coordinator(capabilities=(amqp.Symbol("amqp:local-transactions"),))
        )
        self.controller = amqp.Controller(self.control)
        self.sender: amqp.Sender = self.wire.sender(self.session, self.address)

    def declare(self) -> bytes:
        self.wire.credit(self.control)
        declared = self.wire.result(self.controller.declare())
        assert isinstance(declared, spec.Declared)
        assert isinstance(declared.txn_id, bytes)
        return declared.txn_id

    def discharge(self, txn_id: bytes, *, fail: bool = False) -> Any:
        self.wire.credit(self.control)
        return self.wire.result(self.controller.discharge(txn_id, fail=fail))

    def send(self, body: Any, txn_id: bytes) -> None:
        state = self.wire.send(self.sender, amqp.Message(body), state=spec.TransactionalState(txn_id))
        assert state == spec.TransactionalState(txn_id, amqp.Accepted())

    def remaining(self) -> list[Any]:
        return remaining(self.wire, self.session, self.address)


@pytest.fixture
def transactions(connect: Connect) -> Transactions:
    return Transactions(connect)


def test_a_transaction_that_is_not_there(transactions: Transactions) -> None:
    wire = transactions.wire
    wire.credit(transactions.control)
    outcome: object
    try:
        outcome = wire.result(transactions.controller.discharge(b"\x00\x00\x00\x63"))
    except AmqpError as error:
        outcome = error
    if isinstance(outcome, amqp.Rejected):
        assert isinstance(outcome.error, amqp.Error)
        assert outcome.error.condition == "amqp:transaction:unknown-id"
    else:
        assert "unknown-id" in str(outcome)


def test_a_closed_control_link_rolls_back(transactions: Transactions) -> None:
    txn_id = transactions.declare()
    transactions.send("lost", txn_id)
    transactions.wire.close_link(transactions.control)
    assert transactions.remaining() == []
    transactions.wire.close()


def saved(link: amqp.Sender | amqp.Receiver) -> amqp.LinkState:
    """The state of a link as another process would find it."""
    state = pickle.loads(pickle.dumps(link.saved_state()))
    assert isinstance(state, amqp.LinkState)
    return state


def test_a_cut_sender_goes_on_without_loss(connect: Connect) -> None:
    address = connect.address()
    wire = connect("cut-sender")
    sender = wire.sender(wire.session(), address, name="cut")
    sent = [f"m{number}" for number in range(20)]
    assert wire.send(sender, amqp.Message(sent[0])) == amqp.Accepted()
    for body in sent[1:]:
        sender.send(amqp.Message(body))
    wire.flush()
    # The broker has them, and its answers are never read.
    time.sleep(0.2)
    wire.cut()
    state = saved(sender)
    assert len(state.unsettled) == 19
    wire = connect("cut-sender")
    session = wire.session()
    again = wire.attached_sender(session, None, state=state)
    resumed = wire.next(amqp.Resumed)
    assert len(resumed.pendings) == 19
    assert [wire.result(handle) for handle in resumed.pendings] == [amqp.Accepted()] * 19
    assert not again.pending
    assert wire.send(again, amqp.Message("last")) == amqp.Accepted()
    found = remaining(wire, session, address)
    # Broker-J forgets a link with its connection, so that what it had taken is sent again: at least once.
    assert set(found) == {*sent, "last"}
    assert found.count(sent[0]) == found.count("last") == 1
    assert all(found.count(body) <= 2 for body in sent)
    wire.close()


def test_a_cut_receiver_goes_on_without_loss(connect: Connect) -> None:
    address = connect.address()
    wire = connect("cut-receiver")
    session = wire.session()
    sender = wire.sender(session, address)
    sent = [f"m{number}" for number in range(6)]
    for body in sent:
        assert wire.send(sender, amqp.Message(body)) == amqp.Accepted()
    receiver = wire.receiver(session, address, name="cut", rcv_settle_mode=1, credit=6)
    deliveries = [wire.delivery(receiver) for _ in sent]
    (handle,) = receiver.accept(deliveries[0])
    assert wire.result(handle) == amqp.Accepted()
    (unanswered,) = receiver.accept(deliveries[1])
    wire.flush()
    time.sleep(0.2)
    wire.cut()
    assert unanswered.done and unanswered.error is not None
    state = saved(receiver)
    assert [each.delivery_tag for each in state.unsettled] == [deliveries[1].delivery_tag]
    wire = connect("cut-receiver")
    session = wire.session()
    again = wire.receiver(session, None, state=state, rcv_settle_mode=1, credit=10)
    resumed = wire.next(amqp.Resumed)
    # The broker had heard of m1, and settled it; its answer is told by the map it isn't in.
    assert resumed.forgotten == (deliveries[1].delivery_tag,)
    found: list[Any] = []
    for _ in sent[2:]:
        delivery = wire.delivery(again)
        found.append(delivery.body)
        wire.result(again.accept(delivery)[0])
    assert sorted(found) == sent[2:]
    assert remaining(wire, session, address) == []
    wire.close()


def test_a_link_that_broker_j_keeps(connect: Connect) -> None:
    address = connect.address()
    wire = connect("kept")
    sender = wire.sender(
        wire.session(), amqp.Target(address, **FOREVER), source=amqp.Source("here", **FOREVER), name="kept"
    )
    assert wire.send(sender, amqp.Message("before")) == amqp.Accepted()
    wire.cut()
    state = saved(sender)
    assert not state.unsettled
    wire = connect("kept")
    session = wire.session()
    again = wire.attached_sender(session, None, state=state)
    assert again.address == address
    assert wire.send(again, amqp.Message("after")) == amqp.Accepted()
    # With a delivery in doubt Broker-J refuses to go on, and the application still has what it needs.
    again.send(amqp.Message("doubt"))
    wire.cut()
    state = saved(again)
    assert [each.payload for each in state.unsettled] == [amqp.Message("doubt").encode()]
    wire = connect("kept")
    session = wire.session()
    with pytest.raises(AmqpError, match="not implemented"):
        wire.attached_sender(session, None, state=state)
    found = remaining(wire, session, address)
    assert found[:2] == ["before", "after"]
    wire.close()


def test_a_detached_link_is_attached_again(connect: Connect) -> None:
    wire = connect()
    session = wire.session()
    address = connect.address()
    sender = wire.sender(session, address, name="detached")
    sender.detach()
    wire.link_closed(sender)
    assert sender.report is not None
    other = wire.session()
    again = wire.attached_sender(other, None, state=saved(sender))
    assert again.name == "detached"
    assert wire.send(again, amqp.Message("on")) == amqp.Accepted()
    assert remaining(wire, other, address) == ["on"]
    wire.close()


def test_a_stolen_link(connect: Connect) -> None:
    wire = connect("owner")
    address = connect.address()
    sender = wire.sender(wire.session(), address, name="stolen")
    thief = connect("owner")
    taken = thief.sender(thief.session(), address, name="stolen")
    closed = wire.link_closed(sender)
    assert closed.report.by is By.REMOTE
    assert closed.report.condition == "amqp:link:stolen"
    assert thief.send(taken, amqp.Message("mine")) == amqp.Accepted()
    wire.close()
    thief.close()
