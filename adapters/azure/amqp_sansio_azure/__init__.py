"""Azure Service Bus and Event Hubs for tests: namespaces with their entities, as values over the broker.

`AzureNamespace` has what both have in common: tokens at `$cbs`, rights, clocks, errors with tracking ids. It is a
namespace of a hub (`amqp_sansio.broker.nodes`): pure, and its time is the broker's.

>>> from amqp_sansio.broker import Hub
>>> namespace = AzureNamespace("orders-ns")
>>> hub = Hub(settings_for(namespace), namespace)
"""

from __future__ import annotations

from .namespace import AzureNamespace, Clocks, settings_for
from .requests import Reply, Request
from .tokens import AccessRule, sign

__all__ = ["AccessRule", "AzureNamespace", "Clocks", "Reply", "Request", "settings_for", "sign"]
