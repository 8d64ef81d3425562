"""Both adapters' AMQP 1.0 against Broker-J, RabbitMQ's plug-in, and nodes on proton and rhea."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import count
from typing import Any

import pytest

from amqp_sansio import EndpointClosed
from amqp_sansio.amqp_1_0 import Accepted, Message, Properties
from amqp_sansio.sasl import Anonymous, Plain
from amqp_sansio_asyncio import LinkEnded
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.nodes import Node
from tests.interop.brokers.rabbitmq import RabbitMQ
from tests.kit.worlds import World

WAIT = 30.0
PEERS = ("brokerj", "rabbitmq", "proton", "rhea")


class Peer:
    """A peer of a kind as one of the clients sees it, and addresses nobody else uses."""

    numbers = count(1)

    def __init__(self, kind: str, broker: BrokerJ | RabbitMQ | Node, world: World) -> None:
        self.kind = kind
        self.broker = broker
        self.world = world

    def connect(self, **options: Any) -> Any:
        sasl: Any = Plain(self.broker.user, self.broker.password)
        if self.kind == "proton":
            sasl = Anonymous()
        url = f"amqp://{self.broker.host}:{self.broker.port}/"
        return self.world.connect_1_0(url, **{"sasl": sasl, "hostname": None, **options})

    def run(self, scenario: Callable[[Any, Any], Any]) -> None:
        """Run a scenario with a connection and a session."""

        async def main() -> None:
            async with self.connect() as connection:
                await scenario(connection, await connection.open_session())

        self.world.run(main(), 60)

    def address(self) -> str:
        """The address of a queue that is made when it is named."""
        prefix = {"rabbitmq": "/queue/client10.", "brokerj": "auto.client."}.get(self.kind, "client.")
        return f"{prefix}{next(self.numbers)}"

    def absent(self) -> str:
        """An address that isn't there for a sender."""
        return "/exchange/absent/key" if self.kind == "rabbitmq" else "absent"


def made(request: pytest.FixtureRequest, world: World) -> Peer:
    return Peer(request.param, request.getfixturevalue(request.param), world)


peer = pytest.fixture(params=PEERS, name="peer")(made)
dynamic = pytest.fixture(params=("brokerj", "proton", "rhea"), name="dynamic")(made)
transacting = pytest.fixture(params=("brokerj",), name="transacting")(made)


async def fetched(receiver: Any) -> Any:
    """The next delivery, which has to come."""
    delivery = await receiver.fetch(timeout=WAIT)
    assert delivery is not None
    return delivery


def test_from_one_end_to_the_other(peer: Peer) -> None:
    async def scenario(connection: Any, session: Any) -> None:
        address = peer.address()
        async with session.open_sender(address) as sender:
            properties = Properties(message_id="m1", correlation_id="c1")
            assert await sender.send(Message(b"first", properties=properties)) == Accepted()
            pending = [await sender.send(b"%d" % n, wait=False) for n in range(300)]
            assert [await each for each in pending] == [Accepted()] * 300
            assert await sender.send(b"x" * 200_000) == Accepted()
        async with session.open_receiver(address, credit=20) as receiver:
            first = await anext(receiver)
            assert (first.body, first.message.correlation_id) == (b"first", "c1")
            await first.accept()
            bodies: list[bytes] = []
            async for delivery in receiver:
                bodies.append(delivery.body)
                await delivery.accept()
                if len(bodies) == 301:
                    break
            assert bodies == [*[b"%d" % n for n in range(300)], b"x" * 200_000]

    peer.run(scenario)


def test_sends_that_wait_at_once(peer: Peer) -> None:
    async def scenario(connection: Any, session: Any) -> None:
        async with session.open_sender(peer.address()) as sender:
            sends = [sender.send(b"%d" % n) for n in range(200)]
            assert await peer.world.gather(*sends) == [Accepted()] * 200

    peer.run(scenario)


def test_a_missing_node_is_told(peer: Peer) -> None:
    async def scenario(connection: Any, session: Any) -> None:
        with pytest.raises(EndpointClosed) as caught:
            await session.open_sender(peer.absent())
        assert caught.value.report is not None
        assert caught.value.report.condition
        # RabbitMQ's plug-in ends the session with it; the connection goes on everywhere.
        either_ends = peer.kind == "rabbitmq" and peer.world.has_threads
        assert isinstance(caught.value, LinkEnded) or either_ends
        async with connection.open_session() as session:
            assert session.is_open

    peer.run(scenario)


def test_what_is_given_back_comes_again(peer: Peer) -> None:
    async def scenario(connection: Any, session: Any) -> None:
        address = peer.address()
        async with session.open_sender(address) as sender:
            for n in range(4):
                assert await sender.send(b"%d" % n) == Accepted()
        async with session.open_receiver(address, credit=4) as receiver:
            await (await anext(receiver)).release()
        bodies: set[bytes] = set()
        async with session.open_receiver(address, credit=4) as receiver:
            async for delivery in receiver:
                bodies.add(delivery.body)
                await delivery.accept()
                if len(bodies) == 4:
                    break
        assert bodies == {b"0", b"1", b"2", b"3"}

    peer.run(scenario)


def test_draining_and_fetching(peer: Peer) -> None:
    async def scenario(connection: Any, session: Any) -> None:
        address = peer.address()
        async with session.open_receiver(address, credit=0) as receiver:
            assert await receiver.fetch(timeout=0.2) is None
            assert receiver.credit == 0
            async with session.open_sender(address) as sender:
                await sender.send(b"1")
                await sender.send(b"2")
            for body in (b"1", b"2"):
                delivery = await fetched(receiver)
                assert delivery.body == body
                await delivery.accept()
            assert await receiver.fetch(timeout=0) is None
            await receiver.flow(5)
            await receiver.drain()
            assert receiver.credit == 0
        async with session.open_receiver(address, credit=5) as receiver:
            await receiver.drain()
            assert receiver.credit == 0

    peer.run(scenario)


def test_requests_and_replies(dynamic: Peer) -> None:
    async def scenario(connection: Any, session: Any) -> None:
        address = dynamic.address()

        async def serve() -> None:
            serving = await connection.open_session()
            async with serving.open_receiver(address) as receiver:
                for _ in range(10):
                    request = await anext(receiver)
                    known = Properties(correlation_id=request.message.message_id)
                    async with serving.open_sender(str(request.message.reply_to)) as sender:
                        await sender.send(Message(f"{request.body}!", properties=known))
                    await request.accept()

        task = dynamic.world.start(serve())
        async with session.open_requester(address) as requester:
            assert requester.address
            first = [(await requester.call(Message(f"ping {n}"))).body for n in range(5)]
            others = await dynamic.world.gather(*[requester.call(f"ping {n}") for n in range(5, 10)])
            assert [*first, *[reply.body for reply in others]] == [f"ping {n}!" for n in range(10)]
        await task

    dynamic.run(scenario)


def test_transactions_of_one_queue(transacting: Peer) -> None:
    async def scenario(connection: Any, session: Any) -> None:
        address = transacting.address()
        sender = await session.open_sender(address)
        receiver = await session.open_receiver(address, credit=1)
        async with session.transaction() as transaction:
            assert await sender.send(b"kept", transaction=transaction) == Accepted()
            assert await receiver.fetch(timeout=0.3) is None
        with pytest.raises(ZeroDivisionError):
            async with session.transaction() as transaction:
                await sender.send(b"lost", transaction=transaction)
                delivery = await fetched(receiver)
                assert delivery.body == b"kept"
                await delivery.accept(transaction=transaction)
                raise ZeroDivisionError
        await receiver.close()
        receiver = await session.open_receiver(address, credit=1)
        async with session.transaction() as transaction:
            delivery = await fetched(receiver)
            assert delivery.body == b"kept"
            assert await sender.send(b"moved", transaction=transaction) == Accepted()
            await delivery.accept(transaction=transaction)
        moved = await fetched(receiver)
        assert moved.body == b"moved"
        await moved.accept()
        assert await receiver.fetch(timeout=0.3) is None

    transacting.run(scenario)


@pytest.mark.parametrize("all_of", [PEERS], indirect=True, ids=["all"])
def test_heartbeats_keep_idle_connections(all_of: dict[str, Any], world: World) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            peers = [Peer(kind, broker, world) for kind, broker in all_of.items()]
            connections = [await stack.enter_async_context(peer.connect(idle_time_out=2)) for peer in peers]
            await world.pause(3.5)
            for peer, connection in zip(peers, connections, strict=True):
                assert connection.is_open, peer.kind
                session = await connection.open_session()
                async with session.open_sender(peer.address()) as sender:
                    assert await sender.send(b"x") == Accepted(), peer.kind

    world.run(main(), 60)
