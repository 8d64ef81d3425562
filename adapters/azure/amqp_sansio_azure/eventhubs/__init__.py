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
from .partition_keys import hash_of, partition_of
from .partitions import Partition, Retention
from .positions import Position, PositionError, parse_position

__all__ = [
    "ConsumerGroup",
    "EventHub",
    "EventHubsNamespace",
    "Partition",
    "Position",
    "PositionError",
    "Retention",
    "hash_of",
    "load_config",
    "parse_position",
    "partition_of",
]
