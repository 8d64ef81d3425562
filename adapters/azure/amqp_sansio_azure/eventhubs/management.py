"""The node `$management` of Event Hubs: READ of an event hub and of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from amqp_sansio.amqp_1_0 import Timestamp
from amqp_sansio.amqp_1_0.codec.conditions import NOT_IMPLEMENTED, UNAUTHORIZED_ACCESS
from amqp_sansio.amqp_1_0.spec import Array, Int

from ..requests import HYPHENS, Host, Reply, Request, RequestNode

if TYPE_CHECKING:
    from amqp_sansio.broker.nodes import Peer, Refusal

    from .hubs import EventHub
    from .partitions import Partition

MANAGEMENT: Final = "$management"
HUB_TYPE: Final = "com.microsoft:eventhub"
PARTITION_TYPE: Final = "com.microsoft:partition"


class ManagementHost(Host, Protocol):
    """The part of the namespace that this node uses."""

    @property
    def milliseconds(self) -> int: ...

    def may_read(self, peer: Peer, path: str, token: str) -> bool: ...

    def hub_named(self, name: str) -> EventHub | None: ...

    def refusal(self, condition: str, text: str, path: str = "") -> Refusal: ...

    def no_entity(self, path: str) -> Refusal: ...

    def no_partition(self, hub: EventHub, path: str) -> Refusal: ...


class ManagementNode(RequestNode):
    """Tells of event hubs and partitions; the token is in the request, so that a link needs none at `$cbs`."""

    names = HYPHENS

    def __init__(self, host: ManagementHost) -> None:
        super().__init__(host, MANAGEMENT)
        self._hubs = host

    def answer(self, request: Request) -> Reply:
        host = self._hubs
        if request.operation != "READ":
            raise host.refusal(NOT_IMPLEMENTED, f"there is no operation {request.operation[:100]!r} at $management")
        name, kind = str(request.properties.get("name", "")), request.properties.get("type")
        hub = host.hub_named(name)
        if hub is None:
            raise host.no_entity(name)
        token = request.properties.get("security_token")
        if not host.may_read(request.link.peer, hub.name, token if isinstance(token, str) else ""):
            raise host.refusal(UNAUTHORIZED_ACCESS, f"Unauthorized access to '{hub.name}'.", hub.name)
        hub.trim(host.milliseconds)
        if kind == HUB_TYPE:
            return Reply(200, "OK", _of_hub(hub))
        if kind != PARTITION_TYPE:
            raise host.refusal(NOT_IMPLEMENTED, f"there is nothing to read of the type {str(kind)[:100]!r}", hub.name)
        id = str(request.properties.get("partition", ""))
        partition = hub.partition(id)
        if partition is None:
            raise host.no_partition(hub, f"{hub.name}/Partitions/{id}")
        return Reply(200, "OK", _of_partition(hub, partition))


def _of_hub(hub: EventHub) -> dict[str, Any]:
    return {
        "name": hub.name,
        "type": HUB_TYPE,
        "created_at": Timestamp(hub.created),
        "partition_count": Int(len(hub.partitions)),
        "partition_ids": Array([each.id for each in hub.partitions]),
        "georeplication_factor": Int(1),
    }


def _of_partition(hub: EventHub, partition: Partition) -> dict[str, Any]:
    return {
        "name": hub.name,
        "type": PARTITION_TYPE,
        "partition": partition.id,
        "begin_sequence_number": partition.first_sequence,
        "last_enqueued_sequence_number": partition.last_sequence,
        "last_enqueued_offset": partition.last_offset,
        "last_enqueued_time_utc": Timestamp(partition.last_time),
        "is_partition_empty": not len(partition),
    }


__all__ = ["HUB_TYPE", "MANAGEMENT", "PARTITION_TYPE", "ManagementNode"]
