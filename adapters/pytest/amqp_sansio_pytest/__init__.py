"""A broker for tests: in the process, on a real socket, for clients of every version of AMQP.

With pytest there are the fixtures `amqp_broker` and `amqp_broker_url`, and `broker_fixture` for those that several
tests share; otherwise use `EmbeddedBroker`:

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
    from .azure import Azure as Azure
    from .azure import Entity as Entity
    from .azure import ServiceBus as ServiceBus
    from .azure import TopicView as TopicView
    from .clock import Clock as Clock
    from .embedded import EmbeddedBroker as EmbeddedBroker
    from .event_hubs import EventHubs as EventHubs
    from .event_hubs import HubView as HubView
    from .faults import Fault as Fault
    from .faults import Faults as Faults
    from .fixtures import broker_fixture as broker_fixture
    from .history import Happenings as Happenings
    from .history import HistoryView as HistoryView
    from .history import NotAsExpected as NotAsExpected
    from .topology import Preloaded as Preloaded
    from .views import Connection as Connection
    from .views import ExchangeView as ExchangeView
    from .views import NoSuchNode as NoSuchNode
    from .views import QueueView as QueueView
    from .views import StoredMessage as StoredMessage
    from .watched import Consumed as Consumed
    from .watched import Watched as Watched

_LATER = {
    "Azure": "azure",
    "Entity": "azure",
    "ServiceBus": "azure",
    "TopicView": "azure",
    "Clock": "clock",
    "Connection": "views",
    "Consumed": "watched",
    "EmbeddedBroker": "embedded",
    "EventHubs": "event_hubs",
    "ExchangeView": "views",
    "Fault": "faults",
    "Faults": "faults",
    "Happenings": "history",
    "HistoryView": "history",
    "HubView": "event_hubs",
    "NoSuchNode": "views",
    "NotAsExpected": "history",
    "Preloaded": "topology",
    "QueueView": "views",
    "StoredMessage": "views",
    "Watched": "watched",
    "broker_fixture": "fixtures",
}
"""Names that only a test with a broker needs: pytest loads the plug-in for every run."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Azure",
    "Clock",
    "Connection",
    "Consumed",
    "EmbeddedBroker",
    "Entity",
    "EventHubs",
    "ExchangeView",
    "Fault",
    "Faults",
    "Happenings",
    "HistoryView",
    "HubView",
    "NoSuchNode",
    "NotAsExpected",
    "Preloaded",
    "QueueView",
    "ServiceBus",
    "StoredMessage",
    "TopicView",
    "Watched",
    "broker_fixture",
]
