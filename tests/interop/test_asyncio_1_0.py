"""The asyncio adapter's AMQP 1.0 against Broker-J, RabbitMQ's plug-in, and nodes on proton and rhea."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0, EndpointClosed
from amqp_sansio.amqp_1_0 import Accepted, Message, Modified, Properties, Rejected, Released
from amqp_sansio.sasl import Anonymous, Plain
from amqp_sansio_asyncio import LinkEnded, OneZeroConnection, Opening, connect
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.nodes import Node
from tests.interop.brokers.rabbitmq import RabbitMQ
from tests.kit.asyncio_loops import run

PEERS = ("brokerj", "rabbitmq", "proton", "rhea")


class Peer:
    """A peer of a kind, and addresses nobody else uses."""

    numbers = count(1)

    def __init__(self, kind: str, broker: BrokerJ | RabbitMQ | Node) -> None:
        self.kind = kind
        self.broker = broker

    def connect(self, **options: Any) -> Opening[OneZeroConnection]:
        """A connection."""
        broker = self.broker
        sasl: Any = Plain(broker.user, broker.password)
        if self.kind == "proton":
            sasl = Anonymous()
        options = {"sasl": sasl, "hostname": None, **options}
        url = f"amqp://{broker.host}:{broker.port}/"
        opening: Opening[OneZeroConnection] = connect(url, version=AMQP_1_0, **options)
        return opening

    def address(self) -> str:
        """The address of a queue that is made when it is named."""
        prefix = {"rabbitmq": "/queue/async10.", "brokerj": "auto.async."}.get(self.kind, "async.")
        return f"{prefix}{next(self.numbers)}"

    def absent(self) -> str:
        """An address that isn't there for a sender."""
        return "/exchange/absent/key" if self.kind == "rabbitmq" else "absent"


def made(request: pytest.FixtureRequest) -> Peer:
    return Peer(request.param, request.getfixturevalue(request.param))


peer = pytest.fixture(params=PEERS, name="peer")(made)
node = pytest.fixture(params=("proton", "rhea"), name="node")(made)
dynamic = pytest.fixture(params=("brokerj", "proton", "rhea"), name="dynamic")(made)
brokerj_only = pytest.fixture(params=("brokerj",), name="brokerj_only")(made)


def test_from_one_end_to_the_other(peer: Peer) -> None:
    async def main() -> None:
        async with peer.connect() as connection:
            session = await connection.open_session()
            address = peer.address()
            async with session.open_sender(address) as sender:
                properties = Properties(message_id="m1", correlation_id="c1")
                assert await sender.send(Message(b"first", properties=properties)) == Accepted()
                sends = [sender.send(b"%d" % n) for n in range(300)]
                assert await asyncio.gather(*sends) == [Accepted()] * 300
                assert await sender.send(b"x" * 200_000) == Accepted()
            async with session.open_receiver(address, credit=20) as receiver:
                first = await receiver.__anext__()
                assert (first.body, first.message.correlation_id) == (b"first", "c1")
                await first.accept()
                bodies: set[bytes] = set()
                async for delivery in receiver:
                    await delivery.accept()
                    if len(delivery.body) == 200_000:
                        break
                    bodies.add(delivery.body)
                assert bodies == {b"%d" % n for n in range(300)}

    run(main(), 60)


def test_a_missing_node_is_told(peer: Peer) -> None:
    async def main() -> None:
        async with peer.connect() as connection:
            session = await connection.open_session()
            with pytest.raises(EndpointClosed) as caught:
                await session.open_sender(peer.absent())
            assert caught.value.report is not None
            assert caught.value.report.condition
            assert isinstance(caught.value, LinkEnded)
            # RabbitMQ's plug-in ends the session with it; the connection goes on everywhere.
            async with connection.open_session() as session:
                assert session.is_open

    run(main(), 60)


def test_what_is_given_back_comes_again(peer: Peer) -> None:
    async def main() -> None:
        async with peer.connect() as connection:
            session = await connection.open_session()
            address = peer.address()
            async with session.open_sender(address) as sender:
                for n in range(4):
                    assert await sender.send(b"%d" % n) == Accepted()
            async with session.open_receiver(address, credit=4) as receiver:
                await (await receiver.__anext__()).release()
            bodies: set[bytes] = set()
            async with session.open_receiver(address, credit=4) as receiver:
                async for delivery in receiver:
                    bodies.add(delivery.body)
                    await delivery.accept()
                    if len(bodies) == 4:
                        break

    run(main(), 60)


def test_outcomes(node: Peer) -> None:
    async def main() -> None:
        async with node.connect() as connection:
            session = await connection.open_session()
            kinds = {"rejecting": Rejected, "releasing": Released, "modifying": Modified}
            for address, kind in kinds.items():
                async with session.open_sender(address) as sender:
                    assert isinstance(await sender.send(b"x"), kind)

    run(main(), 60)


def test_draining_and_fetching(peer: Peer) -> None:
    async def main() -> None:
        async with peer.connect() as connection:
            session = await connection.open_session()
            address = peer.address()
            async with session.open_receiver(address, credit=0) as receiver:
                assert await receiver.fetch(0.2) is None
                assert receiver.credit == 0
                async with session.open_sender(address) as sender:
                    await sender.send(b"1")
                    await sender.send(b"2")
                for body in (b"1", b"2"):
                    delivery = await receiver.fetch(30)
                    assert delivery is not None
                    assert delivery.body == body
                    await delivery.accept()
                await receiver.flow(5)
                await receiver.drain()
                assert receiver.credit == 0

    run(main(), 60)


def test_requests_and_replies(dynamic: Peer) -> None:
    async def main() -> None:
        async with dynamic.connect() as connection:
            address = dynamic.address()

            async def serve() -> None:
                session = await connection.open_session()
                receiver = await session.open_receiver(address)
                async for delivery in receiver:
                    asked = delivery.message.properties
                    assert asked is not None
                    known = Properties(correlation_id=asked.message_id)
                    async with session.open_sender(str(asked.reply_to)) as sender:
                        await sender.send(Message(delivery.body * 2, properties=known))
                    await delivery.accept()

            task = asyncio.ensure_future(serve())
            session = await connection.open_session()
            async with session.open_requester(address) as requester:
                replies = await asyncio.gather(*[requester.call(Message(n)) for n in range(5)])
                assert [reply.body for reply in replies] == [0, 2, 4, 6, 8]
            task.cancel()

    run(main(), 60)


def test_transactions(brokerj_only: Peer) -> None:
    async def main() -> None:
        async with brokerj_only.connect() as connection:
            session = await connection.open_session()
            address = brokerj_only.address()
            sender = await session.open_sender(address)
            receiver = await session.open_receiver(address, credit=1)
            async with session.transaction() as transaction:
                assert await sender.send(b"kept", transaction=transaction) == Accepted()
                assert await receiver.fetch(0.3) is None
            with pytest.raises(ZeroDivisionError):
                async with session.transaction() as transaction:
                    await sender.send(b"lost", transaction=transaction)
                    delivery = await receiver.fetch(30)
                    assert delivery is not None
                    assert delivery.body == b"kept"
                    await delivery.accept(transaction=transaction)
                    raise ZeroDivisionError
            await receiver.close()
            receiver = await session.open_receiver(address, credit=1)
            async with session.transaction() as transaction:
                delivery = await receiver.fetch(30)
                assert delivery is not None
                assert delivery.body == b"kept"
                await delivery.accept(transaction=transaction)
            assert await receiver.fetch(0.3) is None

    run(main(), 60)


def test_a_wrong_password(peer: Peer) -> None:
    if peer.kind in ("proton", "rhea"):
        pytest.skip("it lets everybody in")

    async def main() -> None:
        with pytest.raises(EndpointClosed):
            await peer.connect(sasl=Plain("nobody", "wrong"))

    run(main(), 60)
