"""What brokers of tests are loaded with."""

from typing import Any

TOPOLOGY: dict[str, Any] = {
    "exchanges": {"orders": "topic", "dead": {"type": "fanout", "durable": False}},
    "queues": {"jobs": {"arguments": {"x-dead-letter-exchange": "dead", "x-message-ttl": 1000}}, "graves": None},
    "bindings": [("orders", "jobs", "order.#"), {"source": "dead", "destination": "graves"}],
}
"""In short: of dead letters, a time to live, a binding by pattern."""

RABBIT: dict[str, Any] = {
    "rabbit_version": "4.0.5",
    "users": [{"name": "app", "password_hash": "aGFzaA==", "tags": []}],
    "vhosts": [{"name": "/"}, {"name": "shop"}],
    "permissions": [{"user": "app", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
    "policies": [],
    "queues": [
        {
            "name": "jobs",
            "vhost": "shop",
            "durable": True,
            "auto_delete": False,
            "arguments": {"x-queue-type": "quorum"},
        }
    ],
    "exchanges": [
        {
            "name": "orders",
            "vhost": "shop",
            "type": "topic",
            "durable": True,
            "auto_delete": False,
            "internal": False,
            "arguments": {},
        },
        {
            "name": "all",
            "vhost": "shop",
            "type": "fanout",
            "durable": True,
            "auto_delete": False,
            "internal": True,
            "arguments": {},
        },
    ],
    "bindings": [
        {
            "source": "orders",
            "vhost": "shop",
            "destination": "all",
            "destination_type": "exchange",
            "routing_key": "#",
            "arguments": {},
        },
        {
            "source": "all",
            "vhost": "shop",
            "destination": "jobs",
            "destination_type": "queue",
            "routing_key": "",
            "arguments": {},
        },
    ],
}
"""As RabbitMQ exports it."""
