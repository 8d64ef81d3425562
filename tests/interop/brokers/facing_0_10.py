"""Qpid Broker-J as the tests of AMQP 0-10 see it: connections to it, and queues that are gone when the test ends."""

from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.sasl import ClientMechanism, Plain
from amqp_sansio_asyncio import Recorder
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.wires import at_once
from tests.kit.wire_0_10 import Wire010

NONCE: Final = "c2FtZSBub25jZSBmb3IgdGVzdHM"
_numbers: Final = count(1)


class Facing:
    """Opens connections, each with names of its own; `queue` and `exchange` declare what is deleted in the end."""

    def __init__(self, broker: BrokerJ) -> None:
        self.broker = broker
        self.wires: list[Wire010] = []
        self.queues: list[str] = []
        self.exchanges: list[str] = []

    def connect(
        self, port: int = 0, sasl: ClientMechanism | None = None, recorder: Recorder | None = None, **options: Any
    ) -> Wire010:
        """A connection that is being opened: with PLAIN, unless told otherwise."""
        broker = self.broker
        config = amqp.Config(
            sasl=sasl or Plain(broker.user, broker.password), session_prefix=f"core-{next(_numbers)}-", **options
        )
        self.wires.append(at_once(Wire010(config, broker.host, port or broker.port, recorder)))
        return self.wires[-1]

    def open(self, **options: Any) -> Wire010:
        wire = self.connect(**options)
        wire.opened()
        return wire

    def attach(self, **options: Any) -> tuple[Wire010, amqp.Session]:
        """An open connection and a session on it."""
        wire = self.open(**options)
        return wire, wire.session()

    def name(self, what: str) -> str:
        """A name that nobody else uses."""
        return f"core.{what}.{next(_numbers)}"

    def queue(self, wire: Wire010, session: amqp.Session, **options: Any) -> str:
        """Declare a queue; its name."""
        name = self.name("queue")
        wire.call(session, spec.QueueDeclare(name, **options))
        self.queues.append(name)
        return name

    def bound(self, wire: Wire010, session: amqp.Session, exchange: str, *keys: str) -> str:
        """Declare a queue and bind it; its name."""
        name = self.queue(wire, session)
        for key in keys:
            wire.call(session, spec.ExchangeBind(name, exchange, key))
        return name

    def exchange(self, wire: Wire010, session: amqp.Session, kind: str, **options: Any) -> str:
        """Declare an exchange; its name."""
        name = self.name("exchange")
        wire.call(session, spec.ExchangeDeclare(name, kind, **options))
        self.exchanges.append(name)
        return name

    def end(self) -> None:
        """Cut what is still open, and delete what was declared and is still there."""
        for wire in self.wires:
            wire.socket.close()
        if not self.queues and not self.exchanges:
            return
        wire, session = self.attach()
        for name in self.queues:
            if wire.call(session, spec.QueueQuery(name)).queue:
                wire.call(session, spec.QueueDelete(name))
        # The last ones first: they may have those before as their alternate exchange.
        for name in reversed(self.exchanges):
            wire.call(session, spec.ExchangeDelete(name))
        wire.close()


@contextmanager
def facing(broker: BrokerJ) -> Generator[Facing]:
    found = Facing(broker)
    try:
        yield found
    finally:
        found.end()


def keyed(key: str, body: bytes = b"body", **options: Any) -> amqp.Message:
    return amqp.Message(body, routing_key=key, **options)
