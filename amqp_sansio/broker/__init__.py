"""The broker as a pure value: octets of clients of any version in, octets for them out.

`Hub` is the whole of it: `connect()` gives the broker's end of a new connection, an `Endpoint` like every other, whose
`next_event()` does all the work. `Broker` is the model beneath, which knows no connection: `apply(command, now)`, with
the commands of `amqp_sansio.broker.commands`. Both pickle at any step. `amqp_sansio_asyncio.serve_broker` serves a Hub
on a port. It is for tests, demonstrations and embedding: it keeps everything in memory, and nothing survives its end.

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

from .faults import Fault, FaultKind
from .limits import BrokerLimits
from .settings import DialectName, Settings, Verdict
from .users import ANONYMOUS_USER, User

if TYPE_CHECKING:
    from . import commands as commands
    from .client import Client as Client
    from .commands import Outcome as Outcome
    from .content import Content as Content
    from .entry import Entry as Entry
    from .entry import Message as Message
    from .exchange import Binding as Binding
    from .exchange import Exchange as Exchange
    from .history import Happened as Happened
    from .history import History as History
    from .hub import Hub as Hub
    from .model import Broker as Broker
    from .queue import Queue as Queue
    from .vhost import VirtualHost as VirtualHost

_LATER = {
    "Binding": "exchange",
    "Broker": "model",
    "Client": "client",
    "Content": "content",
    "Entry": "entry",
    "Exchange": "exchange",
    "Happened": "history",
    "History": "history",
    "Hub": "hub",
    "Message": "entry",
    "Outcome": "commands",
    "Queue": "queue",
    "VirtualHost": "vhost",
}
"""What needs the model: who only writes settings needn't load it."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    if name == "commands":
        return import_module(".commands", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ANONYMOUS_USER",
    "Binding",
    "Broker",
    "BrokerLimits",
    "Client",
    "Content",
    "DialectName",
    "Entry",
    "Exchange",
    "Fault",
    "FaultKind",
    "Happened",
    "History",
    "Hub",
    "Message",
    "Outcome",
    "Queue",
    "Settings",
    "User",
    "Verdict",
    "VirtualHost",
    "commands",
]
