"""Where a peer documents that it differs: by its profile, the names of cases with the reason and the place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Deviation(NamedTuple):
    """A documented difference."""

    reason: str
    link: str


_SPECIFICATION = "https://www.rabbitmq.com/docs/specification"
_ERRATA = "https://www.rabbitmq.com/resources/specs/amqp-0-9-1-errata"
_IDEMPOTENT = Deviation("deleting and unbinding what isn't there succeeds", _SPECIFICATION)
_INEQUIVALENT = Deviation("any other value of a declare is 406 on the channel", _ERRATA)

_PLUGIN = "https://github.com/rabbitmq/rabbitmq-amqp1.0#limitations-and-unsupported-features"
_MODIFIED = Deviation("the outcome modified isn't supported", _PLUGIN)
_FILTERS = Deviation("filters aren't supported", _PLUGIN)
_ABORTED = Deviation("aborted transfers aren't supported", _PLUGIN)

RABBITMQ: Final[Mapping[str, Deviation]] = {
    "0-9-1/exchange.delete/not-found": _IDEMPOTENT,
    "0-9-1/queue.delete/queue-not-found": _IDEMPOTENT,
    "0-9-1/queue.unbind/queue-not-found": _IDEMPOTENT,
    "0-9-1/queue.unbind/exchange-not-found": _IDEMPOTENT,
    "0-8/exchange.delete/not-found": _IDEMPOTENT,
    "0-8/queue.delete/not-found": _IDEMPOTENT,
    "0-9-1/exchange.declare/type-change": _INEQUIVALENT,
    "0-8/exchange.declare/type-mismatch": _INEQUIVALENT,
    "0-9-1/channel.flow-ok/echo/stop": Deviation("active=false isn't implemented: 540", _SPECIFICATION),
    "0-9-1/basic.publish/immediate": Deviation("immediate isn't implemented: 540", _SPECIFICATION),
    "0-8/basic.publish/immediate": Deviation("immediate isn't implemented: 540", _SPECIFICATION),
    "0-9-1/basic.recover/requeue/to-the-same": Deviation("requeue=false isn't implemented: 540", _SPECIFICATION),
    # The plug-in for 1.0 of releases before 4.0.
    "1.0/modified/delivery-failed": _MODIFIED,
    "1.0/modified/undeliverable-here": _MODIFIED,
    "1.0/modified/annotations-merge": _MODIFIED,
    "1.0/header.delivery-count/rule": _MODIFIED,
    "1.0/header.first-acquirer/meaning": _MODIFIED,
    "1.0/filters/selector/names": _FILTERS,
    "1.0/filters/selector/types": _FILTERS,
    "1.0/filters/no-local": _FILTERS,
    "1.0/filter-set/and": _FILTERS,
    "1.0/source.filter/receiver-checks": _FILTERS,
    "1.0/transport/transfer/aborted": _ABORTED,
    "1.0/transport/transfer/aborted-payload": _ABORTED,
    "1.0/transport/attach/max-message-size": Deviation("a link's largest message isn't supported", _PLUGIN),
}

_MANAGING = "https://qpid.apache.org/releases/qpid-broker-j-9.2.0/book/Java-Broker-Management-Managing-Broker.html"

BROKER_J: Final[Mapping[str, Deviation]] = {
    "0-10/message.message-properties/user-id": Deviation(
        "a user-id is compared with the connection's where qpid.broker_msg_auth is set: false by default", _MANAGING
    )
}

PROFILES: Final[Mapping[str, Mapping[str, Deviation]]] = {"rabbitmq": RABBITMQ, "broker-j": BROKER_J}
"""The profiles by their names."""
