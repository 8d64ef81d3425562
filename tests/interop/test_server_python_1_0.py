"""The core as an AMQP 1.0 server: clients on python-qpid-proton and azure-servicebus' pyamqp use a node on it."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import proton
import pytest
from azure.servicebus._pyamqp import authentication, error
from azure.servicebus._pyamqp import client as azure_clients
from azure.servicebus._pyamqp import message as azure_messages
from proton.handlers import MessagingHandler, TransactionalClientHandler
from proton.reactor import Container
from proton.utils import BlockingConnection, ConnectionClosed, LinkDetached, SendException

from tests.interop.brokers.facing_1_0 import Server
from tests.kit.node_1_0 import ServerNode

# Neither library's types are whole.
SASLPlainAuth: Any = authentication.SASLPlainAuth
SendClient: Any = azure_clients.SendClient
ReceiveClient: Any = azure_clients.ReceiveClient
RetryPolicy: Any = error.RetryPolicy
AzureMessage: Any = azure_messages.Message
AzureProperties: Any = azure_messages.Properties
AMQPLinkError: Any = error.AMQPLinkError
MessageSendFailed: Any = error.MessageSendFailed
Constants: Any = proton.Data
UNDESCRIBED: Any = proton.UNDESCRIBED

numbers = count(1)


@pytest.fixture(autouse=True)
def sound(core: ServerNode) -> Iterator[None]:
    """The node is alive after each test."""
    yield
    if core.failure is not None:
        raise core.failure


def address() -> str:
    return f"server.{next(numbers)}"


# python-qpid-proton.


@pytest.fixture
def blocking(server: Server) -> Iterator[BlockingConnection]:
    connection = BlockingConnection(server.url, timeout=10, max_frame_size=4096)
    yield connection
    connection.close()


def names() -> Iterator[str]:
    while True:
        yield f"link-{next(numbers)}"


# rhea mixes up a sender and a receiver of one name, which is what proton calls them without being told.
link_names = names()


def test_proton_sends_and_receives(blocking: BlockingConnection) -> None:
    place = address()
    sender = blocking.create_sender(place, name=next(link_names))
    for number in range(30):
        message = proton.Message(
            body=f"m{number}", id=f"id{number}", subject="s", properties={"n": proton.int32(number)}
        )
        assert sender.send(message).remote_state == proton.Delivery.ACCEPTED
    receiver = blocking.create_receiver(place, credit=10, name=next(link_names))
    for number in range(30):
        message = receiver.receive(timeout=10)
        assert (message.body, message.id, message.subject) == (f"m{number}", f"id{number}", "s")
        assert message.properties == {"n": number}
        receiver.accept()


def test_proton_is_told_outcomes(blocking: BlockingConnection, server: Server) -> None:
    for place, state in (("rejecting", proton.Delivery.REJECTED), ("releasing", proton.Delivery.RELEASED)):
        sender = blocking.create_sender(place, name=next(link_names))
        with pytest.raises(SendException) as failed:
            sender.send(proton.Message(body="no"))
        assert failed.value.state == state
    sender = blocking.create_sender("modifying", name=next(link_names))
    delivery = sender.send(proton.Message(body="changed"))
    assert delivery.remote_state == proton.Delivery.MODIFIED
    assert (delivery.remote.failed, delivery.remote.undeliverable) == (True, True)
    assert delivery.remote.annotations == {"x-opt-by": server.kind}


def test_proton_settles(blocking: BlockingConnection) -> None:
    place = address()
    sender = blocking.create_sender(place, name=next(link_names))
    receiver = blocking.create_receiver(place, credit=1, name=next(link_names))
    sender.send(proton.Message(body="again"))
    assert receiver.receive(timeout=10).body == "again"
    receiver.release(delivered=False)
    assert receiver.receive(timeout=10).body == "again"
    receiver.release(delivered=True)
    assert receiver.receive(timeout=10).body == "again"
    receiver.reject()
    dead = blocking.create_receiver(f"dead.{place}", credit=1, name=next(link_names))
    assert dead.receive(timeout=10).body == "again"
    dead.accept()


def test_proton_sends_a_megabyte(blocking: BlockingConnection) -> None:
    place = address()
    body = bytes(range(256)) * 4096
    sender = blocking.create_sender(place, name=next(link_names))
    assert sender.send(proton.Message(body=body, inferred=True)).remote_state == proton.Delivery.ACCEPTED
    receiver = blocking.create_receiver(place, credit=1, name=next(link_names))
    assert receiver.receive(timeout=20).body == body
    receiver.accept()


def test_proton_sends_settled(blocking: BlockingConnection) -> None:
    from proton.reactor import AtMostOnce

    place = address()
    sender = blocking.create_sender(place, name=next(link_names), options=AtMostOnce())
    for number in range(3):
        sender.send(proton.Message(body=proton.int32(number)))
    receiver = blocking.create_receiver(place, credit=3, name=next(link_names), options=AtMostOnce())
    assert [receiver.receive(timeout=10).body for _ in range(3)] == [0, 1, 2]


class Taken(MessagingHandler):
    """Takes what comes, and gives no credit by itself."""

    def __init__(self) -> None:
        super().__init__(prefetch=0)
        self.bodies: list[Any] = []

    def on_message(self, event: Any) -> None:
        self.bodies.append(event.message.body)


def test_proton_drains(blocking: BlockingConnection) -> None:
    place = address()
    sender = blocking.create_sender(place, name=next(link_names))
    for number in range(3):
        sender.send(proton.Message(body=proton.int32(number)))
    taken = Taken()
    receiver = blocking.create_receiver(place, handler=taken, name=next(link_names))
    receiver.link.drain(10)
    blocking.wait(lambda: len(taken.bodies) == 3 and not receiver.link.draining(), timeout=10)
    assert receiver.link.credit == 0
    assert taken.bodies == [0, 1, 2]


def test_proton_has_a_dynamic_node(blocking: BlockingConnection) -> None:
    receiver = blocking.create_receiver(None, dynamic=True, credit=1, name=next(link_names))
    place = receiver.link.remote_source.address
    assert place is not None
    assert place.startswith("temporary.")
    blocking.create_sender(place, name=next(link_names)).send(proton.Message(body="reply"))
    assert receiver.receive(timeout=10).body == "reply"
    receiver.accept()


def test_proton_is_refused(server: Server) -> None:
    connection = BlockingConnection(server.url, timeout=10)
    with pytest.raises(LinkDetached, match=r"amqp:not-found.*no such node"):
        connection.create_receiver("absent", name=next(link_names))
    connection.close()
    connection = BlockingConnection(server.url, timeout=10)
    with pytest.raises(ConnectionClosed, match="amqp:connection:forced"):
        connection.create_sender("closing", name=next(link_names))


def test_proton_with_a_wrong_password(server_with_passwords: Server) -> None:
    with pytest.raises(proton.ConnectionException, match="Authentication failed"):
        BlockingConnection(f"amqp://guest:wrong@127.0.0.1:{server_with_passwords.port}", timeout=10)


def test_proton_is_kept_by_empty_frames() -> None:
    with ServerNode(idle_time_out=2.0) as node:
        connection = BlockingConnection(Server("core", node.port).url, timeout=10, heartbeat=1)
        end = time.monotonic() + 3
        connection.wait(lambda: time.monotonic() > end, timeout=10)
        sender = connection.create_sender(address())
        assert sender.send(proton.Message(body="on")).remote_state == proton.Delivery.ACCEPTED
        connection.close()
        assert node.failure is None


PROTON_VALUES: dict[str, Any] = {
    "nothing": None,
    "yes": True,
    "no": False,
    "ubyte": proton.ubyte(255),
    "ushort": proton.ushort(65_535),
    "uint": proton.uint(2**32 - 1),
    "ulong": proton.ulong(2**63 + 1),
    "byte": proton.byte(-128),
    "short": proton.short(-32_768),
    "int": proton.int32(-(2**31)),
    "long": -(2**63),
    "float": proton.float32(1.5),
    "double": -2.25e300,
    "char": proton.char("€"),
    "timestamp": proton.timestamp(1_700_000_000_123),
    "uuid": uuid.UUID(int=5),
    "binary": b"\x00\xff" * 200,
    "string": "äöü€𐍈",
    "symbol": proton.symbol("amqp:symbol"),
    "list": [1, "two", [], [[3]]],
    "map": {"a": 1, "b": {"c": None}},
    "array": proton.Array(UNDESCRIBED, Constants.INT, 1, 2, 3),
    "decimal32": proton.decimal32(0x22500123),
    "decimal64": proton.decimal64(2**61 + 5),
    "decimal128": proton.decimal128(bytes(range(16))),
    "described": proton.Described(proton.symbol("example:point"), [1, 2]),
}


def test_proton_has_every_type(core: ServerNode) -> None:
    connection = BlockingConnection(Server("core", core.port).url, timeout=10)
    place = address()
    sender = connection.create_sender(place)
    bodies = [PROTON_VALUES, list(PROTON_VALUES.values()), *PROTON_VALUES.values()]
    simple = {
        name: value
        for name, value in PROTON_VALUES.items()
        if not isinstance(value, (list, dict, proton.Array, proton.Described))
    }
    for body in bodies:
        sender.send(proton.Message(body=body, properties=simple, annotations={proton.symbol("x-opt-a"): body}))
    receiver = connection.create_receiver(place, credit=5)
    for body in bodies:
        message: Any = receiver.receive(timeout=10)
        assert message.body == body
        # Binary comes as a memoryview.
        assert type(message.body) is (memoryview if type(body) is bytes else type(body))
        assert message.properties == simple
        assert message.annotations == {"x-opt-a": body}
        receiver.accept()
    connection.close()


class Transfers(TransactionalClientHandler):
    """Sends two messages in a transaction, commits or aborts it, and closes."""

    def __init__(self, url: str, place: str, commits: bool) -> None:
        super().__init__()
        self.url = url
        self.place = place
        self.commits = commits
        self.told: list[str] = []
        self.transaction: Any = None
        self.sender: Any = None

    def on_start(self, event: Any) -> None:
        connection = event.container.connect(self.url, reconnect=False)
        self.sender = event.container.create_sender(connection, self.place)
        event.container.declare_transaction(connection, handler=self)

    def on_transaction_declared(self, event: Any) -> None:
        self.told.append("declared")
        self.transaction = event.transaction
        self.work()

    def on_sendable(self, event: Any) -> None:
        self.work()

    def work(self) -> None:
        """Send and discharge, once there's a transaction and credit."""
        if self.transaction is None or self.sender.credit < 2 or "sent" in self.told:
            return
        for body in ("one", "two"):
            self.transaction.send(self.sender, proton.Message(body=body))
        self.told.append("sent")
        if self.commits:
            self.transaction.commit()
        else:
            self.transaction.abort()

    def on_transaction_committed(self, event: Any) -> None:
        self.told.append("committed")
        event.connection.close()

    def on_transaction_aborted(self, event: Any) -> None:
        self.told.append("aborted")
        event.connection.close()

    def on_disconnected(self, event: Any) -> None:
        self.told.append("disconnected")
        event.container.stop()


@pytest.mark.parametrize("commits", [True, False], ids=["commit", "abort"])
def test_proton_has_transactions(core: ServerNode, commits: bool) -> None:
    place = address()
    handler = Transfers(Server("core", core.port).url, place, commits)
    container = Container(handler)
    container.timeout = 10
    run_until(container, lambda: "disconnected" in handler.told or len(handler.told) == 3)
    assert handler.told[:3] == ["declared", "sent", "committed" if commits else "aborted"]
    queued = [message.body for message in core.queues.get(place, ())]
    assert queued == (["one", "two"] if commits else [])


def run_until(container: Container, done: Callable[[], bool]) -> None:
    container.start()

    def step() -> bool:
        container.process()
        return done()

    until(step)
    container.stop()


def until(done: Callable[[], bool]) -> None:
    """Call until it's true."""
    end = time.monotonic() + 15
    while not done():
        assert time.monotonic() < end


# azure-servicebus' pyamqp. It keeps its sockets when it is refused.


class Azure:
    """Opens clients; `host` is what they take for one."""

    def __init__(self, server: Server) -> None:
        self.options: dict[str, Any] = {
            "auth": SASLPlainAuth("guest", "guest"),
            "use_tls": False,
            # What it does by default, second, it doesn't carry through: it waits for the settlement of its own sends.
            "receive_settle_mode": 0,
            "max_frame_size": 4096,
            "max_message_size": 0,
            "retry_policy": RetryPolicy(retry_total=0),
        }
        self.host = f"127.0.0.1:{server.port}"

    def sender(self, place: str, **options: Any) -> Any:
        return SendClient(self.host, place, **{**self.options, **options})

    def receive(self, place: str, number: int, *outcomes: dict[str, Any]) -> list[Any]:
        """Receive messages, ending each by its outcome, else accepted."""
        got: list[Any] = []
        accepted: dict[str, Any] = {"outcome": "accepted"}
        end = time.monotonic() + 15
        with ReceiveClient(self.host, place, link_credit=2, **self.options) as client:
            while len(got) < number:
                assert time.monotonic() < end, got
                client.do_work()
                while not client._received_messages.empty():
                    frame, message = client._received_messages.get()
                    outcome = outcomes[len(got)] if len(got) < len(outcomes) else accepted
                    got.append(message)
                    client.settle_messages(frame[1], frame[2], **outcome)
        return got


@pytest.fixture
def azure(server_with_passwords: Server) -> Azure:
    return Azure(server_with_passwords)


def test_azure_sends_and_receives(azure: Azure) -> None:
    place = address()
    with azure.sender(place) as client:
        for number in range(5):
            message = AzureMessage(
                data=[b"m%d" % number],
                properties=AzureProperties(message_id=f"id{number}"),
                application_properties={"n": number},
            )
            client.send_message(message, timeout=10)
        client.send_message(AzureMessage(value={"a": [1, 2.5, None], "b": "text"}), timeout=10)
    got: Any = azure.receive(place, 6)
    assert [each.data for each in got[:5]] == [[b"m%d" % number] for number in range(5)]
    assert [each.properties.message_id for each in got[:5]] == [b"id%d" % n for n in range(5)]
    assert [each.application_properties for each in got[:5]] == [{b"n": n} for n in range(5)]
    assert got[5].value == {b"a": [1, 2.5, None], b"b": b"text"}


def test_azure_sends_a_megabyte(azure: Azure) -> None:
    place = address()
    body = bytes(range(256)) * 4096
    with azure.sender(place) as client:
        client.send_message(AzureMessage(data=[body]), timeout=20)
    assert azure.receive(place, 1)[0].data == [body]


def test_azure_settles(core: ServerNode) -> None:
    azure = Azure(Server("core", core.port))
    place = address()
    with azure.sender(place) as client:
        client.send_message(AzureMessage(data=[b"again"]), timeout=10)
    outcomes: list[dict[str, Any]] = [
        {"outcome": "released"},
        {"outcome": "modified", "delivery_failed": True, "message_annotations": {b"x-opt-a": 1}},
        {"outcome": "rejected"},
    ]
    got = azure.receive(place, 3, *outcomes)
    assert [each.data for each in got] == [[b"again"]] * 3
    assert [each.header.delivery_count if each.header else None for each in got][2] == 1
    assert azure.receive(f"dead.{place}", 1)[0].data == [b"again"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_azure_is_refused(azure: Azure) -> None:
    with azure.sender("rejecting") as client, pytest.raises(MessageSendFailed, match="never here"):
        client.send_message(AzureMessage(data=[b"no"]), timeout=10)
    with azure.sender("absent") as client, pytest.raises(AMQPLinkError, match="no such node"):
        client.send_message(AzureMessage(data=[b"no"]), timeout=10)
    with (
        pytest.raises(ValueError, match="SASL negotiation failed"),
        azure.sender(address(), auth=SASLPlainAuth("guest", "wrong")) as client,
    ):
        client.send_message(AzureMessage(data=[b"no"]), timeout=10)


# With rhea's node behind it the client now and then loses one of two deliveries that come together.
@pytest.mark.parametrize("server_with_passwords", ["core"], indirect=True)
def test_azure_sends_settled(azure: Azure) -> None:
    place = address()
    with azure.sender(place, send_settle_mode=1) as client:
        until(client.client_ready)
        for number in range(3):
            # send_message would wait for an answer.
            client._link.send_transfer(AzureMessage(data=[b"%d" % number]))
        until(lambda: not client._link._pending_deliveries)
    assert [each.data for each in azure.receive(place, 3)] == [[b"0"], [b"1"], [b"2"]]
