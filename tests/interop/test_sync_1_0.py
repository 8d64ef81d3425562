"""The blocking adapter's AMQP 1.0 against Broker-J, RabbitMQ's plug-in, and nodes on proton and rhea."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0, EndpointClosed
from amqp_sansio.amqp_1_0 import Accepted, Message, Modified, Properties, Rejected, Released
from amqp_sansio.sasl import Anonymous, Plain
from amqp_sansio_sync import LinkEnded, OneZeroConnection, Session, connect
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.nodes import Node
from tests.interop.brokers.rabbitmq import RabbitMQ

WAIT = 30.0
PEERS = ("brokerj", "rabbitmq", "proton", "rhea")
NODES = ("proton", "rhea")


class Peer:
    """A peer of a kind, and addresses nobody else uses."""

    numbers = count(1)

    def __init__(self, kind: str, broker: BrokerJ | RabbitMQ | Node) -> None:
        self.kind = kind
        self.broker = broker

    def connect(self, **options: Any) -> OneZeroConnection:
        """An open connection."""
        broker = self.broker
        url = f"amqp://{broker.host}:{broker.port}/"
        sasl: Any = Plain(broker.user, broker.password)
        if self.kind == "proton":
            sasl = Anonymous()
        options = {"sasl": sasl, "hostname": None, **options}
        connection = connect(url, version=AMQP_1_0, timeout=WAIT, **options)
        assert isinstance(connection, OneZeroConnection)
        return connection

    def address(self) -> str:
        """The address of a queue that is made when it is named."""
        prefix = {"rabbitmq": "/queue/sync10.", "brokerj": "auto.sync."}.get(self.kind, "sync.")
        return f"{prefix}{next(self.numbers)}"

    def absent(self) -> str:
        """An address that isn't there for a sender."""
        return "/exchange/absent/key" if self.kind == "rabbitmq" else "absent"


def made(request: pytest.FixtureRequest) -> Peer:
    return Peer(request.param, request.getfixturevalue(request.param))


peer = pytest.fixture(params=PEERS, name="peer")(made)
node = pytest.fixture(params=NODES, name="node")(made)
dynamic = pytest.fixture(params=("brokerj", "proton", "rhea"), name="dynamic")(made)


@pytest.fixture
def session(peer: Peer) -> Iterator[Session]:
    """A session to each peer."""
    with peer.connect() as connection:
        yield connection.open_session(timeout=WAIT)


def test_from_one_end_to_the_other(peer: Peer, session: Session) -> None:
    address = peer.address()
    with session.open_sender(address, timeout=WAIT) as sender:
        properties = Properties(message_id="m1", correlation_id="c1")
        assert sender.send(Message(b"first", properties=properties), timeout=WAIT) == Accepted()
        pending = [sender.send(b"%d" % n, wait=False, timeout=WAIT) for n in range(300)]
        assert all(each.result(WAIT) == Accepted() for each in pending)
        assert sender.send(b"x" * 200_000, timeout=WAIT) == Accepted()
    with session.open_receiver(address, credit=20, timeout=WAIT) as receiver:
        first = next(receiver)
        assert (first.body, first.message.correlation_id) == (b"first", "c1")
        first.accept()
        for n in range(300):
            delivery = next(receiver)
            assert delivery.body == b"%d" % n
            delivery.accept()
        big = next(receiver)
        assert big.body == b"x" * 200_000
        big.accept()


def test_a_missing_node_is_told(peer: Peer) -> None:
    with peer.connect() as connection:
        session = connection.open_session(timeout=WAIT)
        with pytest.raises(EndpointClosed) as caught:
            session.open_sender(peer.absent(), timeout=WAIT)
        assert caught.value.report is not None
        assert caught.value.report.condition
        # RabbitMQ's plug-in ends the session with it.
        assert isinstance(caught.value, LinkEnded) or peer.kind == "rabbitmq"


def test_what_is_given_back_comes_again(peer: Peer, session: Session) -> None:
    address = peer.address()
    with session.open_sender(address, timeout=WAIT) as sender:
        for n in range(4):
            assert sender.send(b"%d" % n, timeout=WAIT) == Accepted()
    with session.open_receiver(address, credit=4, timeout=WAIT) as receiver:
        next(receiver).release()
    bodies: set[bytes] = set()
    with session.open_receiver(address, credit=4, timeout=WAIT) as receiver:
        for _ in range(4):
            delivery = next(receiver)
            bodies.add(delivery.body)
            delivery.accept()
    assert bodies == {b"0", b"1", b"2", b"3"}


def test_outcomes(node: Peer) -> None:
    with node.connect() as connection:
        session = connection.open_session(timeout=WAIT)
        kinds = {"rejecting": Rejected, "releasing": Released, "modifying": Modified}
        for address, kind in kinds.items():
            with session.open_sender(address, timeout=WAIT) as sender:
                assert isinstance(sender.send(b"x", timeout=WAIT), kind)


def test_draining_and_fetching(peer: Peer) -> None:
    with peer.connect() as connection:
        session = connection.open_session(timeout=WAIT)
        address = peer.address()
        with session.open_receiver(address, credit=0, timeout=WAIT) as receiver:
            assert receiver.fetch(timeout=0.2) is None
            assert receiver.credit == 0
            with session.open_sender(address, timeout=WAIT) as sender:
                sender.send(b"1", timeout=WAIT)
                sender.send(b"2", timeout=WAIT)
            for body in (b"1", b"2"):
                delivery = receiver.fetch(timeout=WAIT)
                assert delivery is not None
                assert delivery.body == body
                delivery.accept()
            assert receiver.fetch(timeout=0) is None
        with session.open_receiver(address, credit=5, timeout=WAIT) as receiver:
            receiver.drain(timeout=WAIT)
            assert receiver.credit == 0


def test_requests(dynamic: Peer) -> None:
    with dynamic.connect() as connection:
        session = connection.open_session(timeout=WAIT)
        address = dynamic.address()

        def serve() -> None:
            served = connection.open_session(timeout=WAIT)
            with served.open_receiver(address, timeout=WAIT) as receiver:
                for _ in range(10):
                    request = next(receiver)
                    reply = Properties(correlation_id=request.message.message_id)
                    with served.open_sender(str(request.message.reply_to), timeout=WAIT) as answers:
                        answers.send(Message(f"{request.body}!", properties=reply), timeout=WAIT)
                    request.accept()

        thread = threading.Thread(target=serve)
        thread.start()
        with session.open_requester(address, timeout=WAIT) as requester:
            assert requester.address
            replies = [requester.call(f"ping {n}", timeout=WAIT).body for n in range(10)]
        thread.join(WAIT)
        assert replies == [f"ping {n}!" for n in range(10)]


def test_transactions(brokerj: BrokerJ) -> None:
    peer = Peer("brokerj", brokerj)
    with peer.connect() as connection:
        session = connection.open_session(timeout=WAIT)
        source, target = peer.address(), peer.address()
        with session.open_sender(source, timeout=WAIT) as sender:
            sender.send(b"work", timeout=WAIT)
        with (
            session.open_receiver(source, credit=1, timeout=WAIT) as receiver,
            session.open_sender(target, timeout=WAIT) as sender,
        ):
            with (pytest.raises(RuntimeError, match="mine"), session.transaction(timeout=WAIT) as transaction):
                sender.send(b"dropped", transaction=transaction, timeout=WAIT)
                raise RuntimeError("mine")
            with session.transaction(timeout=WAIT) as transaction:
                delivery = next(receiver)
                outcome = sender.send(delivery.message, transaction=transaction, timeout=WAIT)
                assert outcome == Accepted()
                delivery.accept(transaction=transaction)
        with session.open_receiver(target, timeout=WAIT) as receiver:
            done = next(receiver)
            assert done.body == b"work"
            done.accept()
            assert receiver.fetch(timeout=0.3) is None


@pytest.mark.parametrize("all_of", [PEERS], indirect=True, ids=["all"])
def test_heartbeats_keep_idle_connections(all_of: dict[str, Any]) -> None:
    with ExitStack() as stack:
        peers = [Peer(kind, broker) for kind, broker in all_of.items()]
        connections = [stack.enter_context(peer.connect(idle_time_out=2)) for peer in peers]
        threading.Event().wait(3.5)
        for peer, connection in zip(peers, connections, strict=True):
            assert connection.is_open, peer.kind
            session = connection.open_session(timeout=WAIT)
            with session.open_sender(peer.address(), timeout=WAIT) as sender:
                assert sender.send(b"x", timeout=WAIT) == Accepted(), peer.kind
