"""Whom the tests of AMQP 1.0 face: what the core's client connects to, and what other libraries' clients do."""

from dataclasses import dataclass
from itertools import count
from typing import Any

from amqp_sansio.amqp_1_0 import Config
from amqp_sansio.sasl import Anonymous, ClientMechanism, Plain
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.nodes import Node
from tests.interop.brokers.rabbitmq import RabbitMQ
from tests.interop.brokers.wires import at_once
from tests.kit.wire_1_0 import Wire10


@dataclass(frozen=True)
class Server:
    """A node with the addresses of peers/proton_node.py, and whom it lets in."""

    kind: str
    port: int

    @property
    def user(self) -> str:
        """guest, or nobody where there are no passwords."""
        return "" if self.kind == "proton" else "guest"

    @property
    def url(self) -> str:
        """For proton's client."""
        return f"amqp://{f'{self.user}:guest@' if self.user else ''}127.0.0.1:{self.port}"


class Peer:
    """A peer of a kind, its connections, and addresses nobody else uses."""

    numbers = count(1)

    def __init__(self, kind: str, broker: BrokerJ | RabbitMQ | Node) -> None:
        self.kind = kind
        self.broker = broker
        self.wires: list[Wire10] = []

    @property
    def sasl(self) -> ClientMechanism:
        if self.kind == "proton":
            return Anonymous()
        return Plain(self.broker.user, self.broker.password)

    def connect(self, **options: Any) -> Wire10:
        """A connection that is being opened."""
        options = {"container_id": f"core-{next(self.numbers)}", "sasl": self.sasl, **options}
        wire = at_once(Wire10(Config(**options), self.broker.host, self.broker.port))
        self.wires.append(wire)
        return wire

    def open(self, **options: Any) -> Wire10:
        wire = self.connect(**options)
        wire.opened()
        return wire

    def address(self) -> str:
        """The address of a queue that is made when it is named."""
        prefix = {"rabbitmq": "/queue/core10.", "brokerj": "auto."}.get(self.kind, "core.")
        return f"{prefix}{next(self.numbers)}"

    def absent(self, role: str) -> str:
        """An address that isn't there for a sender or receiver."""
        if self.kind != "rabbitmq":
            return "absent"
        return "/exchange/absent/key" if role == "sender" else "/amq/queue/absent"
