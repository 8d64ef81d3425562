"""Failover updates: the broker's other addresses, for private queues bound to amq.failover (11.1.2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....amqp_0_10.codec.message import Headers
from ....amqp_0_10.codec.record import encode_headers
from ....amqp_0_10.codec.records import DeliveryProperties, MessageProperties
from ....amqp_0_10.codec.types import Map
from ....amqp_0_10.codec.values import Typed
from ...contents.amqp_0_10 import Content_0_10
from ...model.commands import Publish
from ...model.queue import Queue

if TYPE_CHECKING:
    from ...model.owner import Owner
    from ..frontend import HubContext

_HEADER: Final = "amq.failover"


def tell_queue(hub: HubContext, owner: Owner, exchange: str, queue: str) -> None:
    """Put an update into a queue: an empty body, and one header with the addresses in order of preference."""
    urls = Typed("array", [Typed("str16", url) for url in hub.settings.urls])
    structs = (DeliveryProperties(exchange=exchange), MessageProperties(application_headers=Map({_HEADER: urls})))
    content = Content_0_10(Headers(encode_headers(structs)), b"")
    hub.apply(Publish(owner, "", queue, content))


def tell_all(hub: HubContext) -> None:
    """Send an update to every bound queue, since the addresses have changed."""
    for vhost in hub.model.vhosts.values():
        for exchange in vhost.exchanges.values():
            if exchange.type != "failover":
                continue
            for queue in exchange.destinations:
                if isinstance(queue, Queue) and queue.exclusive_to is not None:
                    tell_queue(hub, queue.exclusive_to, exchange.name, queue.name)
