"""Event Hubs: partitions as logs, consumer groups, epochs, and the node `$management`.

>>> from amqp_sansio.broker import Hub
>>> from amqp_sansio_azure import settings_for
>>> namespace = EventHubsNamespace()
>>> clicks = namespace.add_hub("clicks", partitions=2)
>>> hub = Hub(settings_for(namespace), namespace)
"""

from __future__ import annotations

from .config import load_config
from .hubs import ConsumerGroup, EventHub
from .namespace import EventHubsNamespace
from .partitions import Partition, Retention

__all__ = ["ConsumerGroup", "EventHub", "EventHubsNamespace", "Partition", "Retention", "load_config"]
