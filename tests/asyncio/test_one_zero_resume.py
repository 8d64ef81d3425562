"""Links that outlive their connection: what was in doubt is delivered once, and settled."""

from __future__ import annotations

import pickle
from collections import deque

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import (
    CreditChanged,
    Delivery,
    LinkClosed,
    LinkRequested,
    LinkState,
    Message,
    SessionRequested,
)
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.events import Settled
from amqp_sansio_asyncio import LinkEnded, connect, serve
from amqp_sansio_asyncio.amqp_1_0 import ServerConnection
from tests.kit.asyncio_broker import until, url_of
from tests.kit.asyncio_loops import run


class Durable:
    """A server that keeps the state of links, by name, beyond their connections.

    It accepts what it receives when `accepting`, and sends `queue`, rcv-settle-mode as the client likes.
    """

    def __init__(self) -> None:
        self.states: dict[str, LinkState] = {}
        self.received: list[object] = []
        self.accepting = True
        self.queue: deque[object] = deque()
        self.settled: list[object] = []
        self.connection: ServerConnection | None = None
        self.links: dict[str, CoreSender | CoreReceiver] = {}

    async def handle(self, connection: ServerConnection) -> None:
        self.connection = connection
        async for event in connection:
            match event:
                case SessionRequested():
                    connection.session(event.channel).accept()
                case LinkRequested():
                    link = connection.link(event.channel, event.link)
                    self.links[link.name] = link
                    state = self.states.pop(link.name, None)
                    link.accept_attach(state=state if event.attach.unsettled is not None else None)
                    if isinstance(link, CoreReceiver):
                        link.flow(10)
                case CreditChanged():
                    sender = connection.link(event.channel, event.link)
                    assert isinstance(sender, CoreSender)
                    while self.queue and sender.credit:
                        sender.send(Message(self.queue.popleft()))
                    if event.drain:
                        sender.drained()
                case Delivery():
                    receiver = connection.link(event.channel, event.link)
                    assert isinstance(receiver, CoreReceiver)
                    self.received.append(event.body)
                    if self.accepting:
                        receiver.accept(event)
                case Settled():
                    self.settled += [event.state] * len(event.pendings)
                case LinkClosed():
                    link = self.links.pop(event.name)
                    if event.resumable:
                        self.states[event.name] = link.saved_state()
                case _:
                    pass
            connection.flush()

    def cut(self) -> None:
        """Lose the transport."""
        assert self.connection is not None
        transport = self.connection._driver.transport  # pyright: ignore[reportPrivateUsage]
        assert transport is not None
        transport.abort()


@pytest.mark.parametrize("mode", [0, 1])
def test_a_receiver_resumes(mode: int) -> None:
    async def main() -> None:
        durable = Durable()
        durable.queue.extend(range(6))
        async with serve(durable.handle, version=AMQP_1_0) as server:
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                session = await connection.open_session()
                receiver = await session.open_receiver("jobs", name="inbox", credit=4, rcv_settle_mode=mode)
                first = await receiver.__anext__()
                await first.accept()
                held = await receiver.__anext__()
                await until(lambda: len(durable.settled) == 1)
                durable.cut()
                await receiver.wait_closed()
                with pytest.raises(LinkEnded):
                    await receiver.__anext__()
                with pytest.raises(LinkEnded):
                    await held.accept()
                state = pickle.loads(pickle.dumps(receiver.saved_state()))
                await until(lambda: "inbox" in durable.states)
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                session = await connection.open_session()
                async with session.open_receiver(state=state, credit=4) as receiver:
                    bodies: list[int] = []
                    async for delivery in receiver:
                        bodies.append(delivery.body)
                        await delivery.accept()
                        if len(bodies) == 5:
                            break
                    assert sorted(bodies) == [1, 2, 3, 4, 5]
                    await until(lambda: len(durable.settled) == 6)

    run(main())
