"""RabbitMQ's management HTTP API over the broker, as a pure value: requests in, answers out.

`Management.answer` does all of a request at once; `begin` gives a `Work`, whose `go_on` does a turn of it. Adapters
bring the octets: `amqp_sansio_asyncio.serve_broker(management=...)`. docs/management.md says endpoint by endpoint what
is as in RabbitMQ.
"""

from __future__ import annotations

from .api import Management, Work
from .requests import Answer, Request
from .rows import Line

__all__ = ["Answer", "Line", "Management", "Request", "Work"]
