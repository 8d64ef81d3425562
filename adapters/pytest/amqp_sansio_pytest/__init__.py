"""A broker for tests: in the process, on a real socket, for clients of every version of AMQP.

With pytest there are the fixtures `amqp_broker` and `amqp_broker_url`; otherwise use `EmbeddedBroker`:

>>> with EmbeddedBroker() as broker:
...     url = broker.url  # for any client, in this process or another
...     broker.preload({"queues": ["jobs"]})
...     broker.publish(b"hello", routing_key="jobs")
...     broker.queue("jobs").ready
<Preloaded: 1 queue>
True
1
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .clock import Clock as Clock
    from .embedded import EmbeddedBroker as EmbeddedBroker
    from .faults import Fault as Fault
    from .faults import Faults as Faults
    from .history import Happenings as Happenings
    from .history import HistoryView as HistoryView
    from .history import NotAsExpected as NotAsExpected
    from .topology import Preloaded as Preloaded
    from .views import Connection as Connection
    from .views import ExchangeView as ExchangeView
    from .views import NoSuchNode as NoSuchNode
    from .views import QueueView as QueueView
    from .views import StoredMessage as StoredMessage

_LATER = {
    "Clock": "clock",
    "Connection": "views",
    "EmbeddedBroker": "embedded",
    "ExchangeView": "views",
    "Fault": "faults",
    "Faults": "faults",
    "Happenings": "history",
    "HistoryView": "history",
    "NoSuchNode": "views",
    "NotAsExpected": "history",
    "Preloaded": "topology",
    "QueueView": "views",
    "StoredMessage": "views",
}
"""Names that only a test with a broker needs: pytest loads the plug-in for every run."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Clock",
    "Connection",
    "EmbeddedBroker",
    "ExchangeView",
    "Fault",
    "Faults",
    "Happenings",
    "HistoryView",
    "NoSuchNode",
    "NotAsExpected",
    "Preloaded",
    "QueueView",
    "StoredMessage",
]
