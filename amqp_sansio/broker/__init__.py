"""The broker as a pure value: octets of clients of any version in, octets for them out.

`Hub` is the complete broker: `connect()` returns the broker's end of a new connection, an `Endpoint` like any other,
whose `next_event()` does all the work. `Broker` is the model inside, without connections: `apply(command, now)`, with
the commands of `amqp_sansio.broker.commands`. Both pickle at any step. `amqp_sansio_asyncio.serve_broker` serves a Hub
on a port. The broker is for tests, demonstrations and embedding: everything is in memory, and nothing survives its end.

>>> from amqp_sansio import NEED_DATA
>>> from amqp_sansio.broker import Hub, Settings
>>> from amqp_sansio.amqp_0_9_1 import Config, Connection
>>> from amqp_sansio.sasl import Plain
>>> hub = Hub(Settings())
>>> ours, theirs = hub.connect(), Connection.client(Config(sasl=Plain("guest", "guest")))
>>> while (event := theirs.next_event()) is NEED_DATA:
...     ours.receive_data(theirs.data_to_send(0.0), 0.0)
...     signal = ours.next_event()
...     theirs.receive_data(ours.data_to_send(0.0), 0.0)
>>> type(event).__name__, hub.fronts[1].describe()
('Opened', ('guest', '/'))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .limits import BrokerLimits
from .model.faults import Fault, FaultKind
from .settings import Settings, Verdict
from .users import ANONYMOUS_USER, User

if TYPE_CHECKING:
    from .client import Client as Client
    from .hub import Hub as Hub
    from .model import commands as commands
    from .model.broker import Broker as Broker
    from .model.commands import Outcome as Outcome
    from .model.content import Content as Content
    from .model.content import Message as Message

    pass
    from .model.exchange import Binding as Binding
    from .model.exchange import Exchange as Exchange
    from .model.history import Happened as Happened
    from .model.history import History as History
    from .model.queue import Queue as Queue
    from .model.vhost import VirtualHost as VirtualHost
    from .nodes import Attachment as Attachment
    from .nodes import Namespace as Namespace
    from .nodes import Node as Node
    from .nodes import Peer as Peer
    from .nodes import Refusal as Refusal
    from .nodes import Step as Step

_LATER = {
    "Binding": "model.exchange",
    "Broker": "model.broker",
    "Client": "client",
    "Content": "model.content",
    "Exchange": "model.exchange",
    "Happened": "model.history",
    "History": "model.history",
    "Hub": "hub",
    "Message": "model.content",
    "Outcome": "model.commands",
    "Queue": "model.queue",
    "VirtualHost": "model.vhost",
    "Attachment": "nodes",
    "Namespace": "nodes",
    "Node": "nodes",
    "Peer": "nodes",
    "Refusal": "nodes",
    "Step": "nodes",
}
"""Names that need the model; code that only writes settings doesn't load it."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    if name == "commands":
        return import_module(".model.commands", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ANONYMOUS_USER",
    "Attachment",
    "Binding",
    "Broker",
    "BrokerLimits",
    "Client",
    "Content",
    "Exchange",
    "Fault",
    "FaultKind",
    "Happened",
    "History",
    "Hub",
    "Message",
    "Namespace",
    "Node",
    "Outcome",
    "Peer",
    "Queue",
    "Refusal",
    "Settings",
    "Step",
    "User",
    "Verdict",
    "VirtualHost",
    "commands",
]
