"""Service Bus: queues, topics and subscriptions, with everything that a receiver does to a message.

>>> namespace = ServiceBusNamespace()
>>> namespace.add_queue("orders", Options(lock_duration=30, max_delivery_count=3)).name
'orders'
"""

from __future__ import annotations

from .namespace import Queue, ServiceBusNamespace
from .rules import Action, CorrelationFilter, FalseFilter, Rule, RuleError, SqlFilter, TrueFilter
from .stores import Options
from .topics import Subscription, Topic

__all__ = [
    "Action",
    "CorrelationFilter",
    "FalseFilter",
    "Options",
    "Queue",
    "Rule",
    "RuleError",
    "ServiceBusNamespace",
    "SqlFilter",
    "Subscription",
    "Topic",
    "TrueFilter",
]
