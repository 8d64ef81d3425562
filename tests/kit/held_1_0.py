"""A node of 1.0 that a scenario holds in its own hands, beside those of the broker: what comes there waits for it."""

from __future__ import annotations

from typing import Any

from amqp_sansio import Event
from amqp_sansio.amqp_1_0 import (
    Accepted,
    CreditChanged,
    Delivery,
    DeliveryState,
    LinkClosed,
    LinkRequested,
    Message,
    Properties,
)
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.client.amqp_1_0.connection import Connection
from amqp_sansio.events import Settled
from tests.kit.scripted import Peer, ScriptedBroker


class HeldNode:
    """The links of clients to the address "held".

    Their senders get `credit` at once; `came` are the deliveries, and `settled` counts what clients have settled.
    `answers`: whether it answers a drain.
    """

    def __init__(self, broker: ScriptedBroker, credit: int = 10) -> None:
        self.broker = broker
        self.credit = credit
        self.answers = True
        self.came: list[Delivery] = []
        self.settled = 0
        self.states: dict[str, Any] = {}
        self._links: dict[tuple[int, int, int], Any] = {}
        broker.script = self.script

    def script(self, peer: Peer, event: Event) -> bool:
        """Take the events of these links."""
        key = (peer.number, getattr(event, "channel", -1), getattr(event, "link", -1))
        if isinstance(event, LinkRequested):
            attach = event.attach
            if getattr(attach.source if attach.role else attach.target, "address", None) != "held":
                return False
            link = peer.core.session(event.channel).link(event.link)
            state = self.states.pop(link.name, None)
            link.accept_attach(state=state if attach.unsettled is not None else None)
            self._links[key] = link
            if isinstance(link, CoreReceiver) and self.credit:
                link.flow(self.credit)
            return True
        if isinstance(event, Settled):
            self.settled += len(event.pendings)
            return bool(self._links)
        if key not in self._links:
            return False
        if isinstance(event, Delivery):
            self.came.append(event)
        elif isinstance(event, CreditChanged) and event.drain and self.answers:
            self._links[key].drained()
        elif isinstance(event, LinkClosed):
            link = self._links.pop(key)
            if event.resumable:
                self.states[event.name] = link.saved_state()
        return True

    @property
    def bodies(self) -> list[Any]:
        """What came."""
        return [event.body for event in self.came]

    def link(self, kind: type[Any]) -> Any:
        """The broker's end of the newest link of a kind."""
        return [each for each in self._links.values() if isinstance(each, kind)][-1]

    def do(self, kind: type[Any], method: str, *arguments: Any, **named: Any) -> None:
        """Call a method of the broker's end of the newest link of a kind."""
        self.broker.act(lambda: getattr(self.link(kind), method)(*arguments, **named))

    def settle(self, count: int, state: DeliveryState, settled: bool = True) -> None:
        """Give the first deliveries that came a state."""
        events = self.came[:count]
        if settled:
            del self.came[:count]
        self.do(CoreReceiver, "update", events, state, settled=settled)

    def send(self, *bodies: Any) -> None:
        """Send messages on the newest link that takes some."""
        for body in bodies:
            self.do(CoreSender, "send", Message(body))


async def answer(connection: Connection, count: int, backwards: bool = False) -> None:
    """Answer so many requests at "rpc", by twice what they say."""
    async with connection.open_session() as session, session.open_receiver("rpc") as receiver:
        relay = await session.open_sender(None)
        replies: list[Message] = []
        async for delivery in receiver:
            asked = delivery.message.properties
            assert asked is not None
            known = Properties(to=asked.reply_to, correlation_id=asked.message_id)
            replies.append(Message(delivery.body * 2, properties=known))
            await delivery.accept()
            count -= 1
            if not backwards or not count:
                while replies:
                    assert await relay.send(replies.pop()) == Accepted()
            if not count:
                return


__all__ = ["HeldNode", "answer"]
