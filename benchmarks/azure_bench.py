"""The stand-in for Service Bus: a message sent, received under a lock and completed, against the broker's own queue.

Only the broker's side counts: octets in, work, octets out. The client is an engine in the same process.
"""

from __future__ import annotations

import time
from typing import Any

from amqp_sansio import Signal
from amqp_sansio.amqp_1_0 import AmqpValue, Config, Connection, Delivery, Message, Properties, Receiver, Sender
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.broker.model.commands import DeclareQueue, OpenOwner
from amqp_sansio.sasl import Plain
from amqp_sansio_azure import settings_for
from amqp_sansio_azure.servicebus import ServiceBusNamespace
from benchmarks.measure import Case, case_of

COUNT = 5000
BURST = 50
ROUNDS = 5
GOAL = 1 / 1.3
"""The stand-in may cost 1.3 times as much."""


class Ends:
    """A client's engine and the hub's end for it; `spent` are the CPU seconds of the latter."""

    def __init__(self, hub: Hub, login: Plain) -> None:
        self.theirs = Connection.client(Config("bench", sasl=login))
        self.ours = hub.connect()
        self.spent = 0.0
        self.deliveries: list[Delivery] = []
        self.pump()
        session = self.theirs.open_session()
        self.pump()
        self.sender: Sender = session.open_sender("orders")
        self.receiver: Receiver = session.open_receiver("orders", snd_settle_mode=0)
        self.pump()
        self.receiver.flow(2 * COUNT)
        self.pump()

    def pump(self) -> None:
        """Exchange octets until neither end has any."""
        theirs, ours = self.theirs, self.ours
        while True:
            octets = theirs.data_to_send(0.0)
            start = time.process_time()
            if octets:
                ours.receive_data(octets, 0.0)
            ours.next_event()
            back = ours.data_to_send(0.0)
            self.spent += time.process_time() - start
            if back:
                theirs.receive_data(back, 0.0)
            while not isinstance(event := theirs.next_event(), Signal):
                if isinstance(event, Delivery):
                    self.deliveries.append(event)
            if not octets and not back:
                return

    def run(self) -> float:
        """Return the CPU seconds for COUNT messages."""
        payload = Message(AmqpValue("x" * 200), properties=Properties(message_id="m")).encode()
        self.spent = 0.0
        for _ in range(COUNT // BURST):
            for _ in range(BURST):
                self.sender.send(payload)
            self.pump()
            if len(self.deliveries) != BURST:
                raise RuntimeError(f"{len(self.deliveries)} of {BURST} messages came")
            self.receiver.accept(*self.deliveries)
            self.deliveries.clear()
            self.pump()
        return self.spent


def _stand_in() -> Ends:
    namespace = ServiceBusNamespace()
    namespace.add_queue("orders")
    rule = next(iter(namespace.rules.values()))
    return Ends(Hub(settings_for(namespace, seed=b"bench"), namespace), Plain(rule.name, rule.key))


def _own() -> Ends:
    hub = Hub(Settings(seed=b"bench"))
    owner: Any = hub.apply(OpenOwner("/", "bench"))
    hub.apply(DeclareQueue(owner, "orders"))
    return Ends(hub, Plain("guest", "guest"))


def cases() -> list[Case]:
    """Return the case."""
    pairs = [(_stand_in().run(), _own().run()) for _ in range(ROUNDS)]
    return [case_of("Service Bus send+complete vs own 1.0 queue", pairs, "us CPU", GOAL, 1e6 / COUNT)]
