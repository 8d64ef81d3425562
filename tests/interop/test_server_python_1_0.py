"""The core as an AMQP 1.0 server: clients on python-qpid-proton use a node on it."""

# pyright: reportUnknownMemberType=false
import time
import uuid
from collections.abc import Iterator
from itertools import count
from typing import Any

import proton
import pytest
from proton.handlers import MessagingHandler
from proton.utils import BlockingConnection, ConnectionClosed, LinkDetached, SendException

from tests.interop.brokers.facing_1_0 import Server
from tests.kit.node_1_0 import ServerNode

# Its types aren't whole.
Constants: Any = proton.Data
UNDESCRIBED: Any = proton.UNDESCRIBED

numbers = count(1)
pytestmark = pytest.mark.usefixtures("sound")


def address() -> str:
    return f"server.{next(numbers)}"


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
            body=f"m{number}", id=f"id{number}", subject="s", properties={"n": proton.int32(number)}, durable=True
        )
        assert sender.send(message).remote_state == proton.Delivery.ACCEPTED
    receiver = blocking.create_receiver(place, credit=10, name=next(link_names))
    for number in range(30):
        message = receiver.receive(timeout=10)
        assert (message.body, message.id, message.subject, message.durable) == (f"m{number}", f"id{number}", "s", True)
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
    assert place
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
    with ServerNode() as node:
        connection = BlockingConnection(Server("core", node.port).url, timeout=10, heartbeat=1)
        end = time.monotonic() + 3
        connection.wait(lambda: time.monotonic() > end, timeout=10)
        sender = connection.create_sender(address())
        assert sender.send(proton.Message(body="on")).remote_state == proton.Delivery.ACCEPTED
        connection.close()
        assert node.errors == []


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
