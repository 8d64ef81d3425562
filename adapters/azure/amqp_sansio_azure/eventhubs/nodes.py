"""Nodes of event hubs: `ProducerNode` takes events, `ConsumerNode` sends those of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from amqp_sansio.amqp_1_0 import Symbol, Timestamp
from amqp_sansio.amqp_1_0.codec.conditions import INVALID_FIELD, MESSAGE_SIZE_EXCEEDED, STOLEN
from amqp_sansio.amqp_1_0.spec import ReceiverSettleMode, SenderSettleMode
from amqp_sansio.broker.nodes import ACCEPTED, Node, Refusal

from ..conditions import ARGUMENT_ERROR
from ..requests import Host
from ..tokens import LISTEN, SEND
from .events import arrivals_of
from .hubs import Reader
from .positions import PositionError, position_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amqp_sansio.amqp_1_0 import Delivery, DeliveryState
    from amqp_sansio.broker.nodes import Attachment, Peer

    from .hubs import ConsumerGroup, EventHub
    from .partitions import Partition

EPOCH: Final = Symbol("com.microsoft:epoch")
RECEIVER_NAME: Final = Symbol("com.microsoft:receiver-name")
METRICS: Final = Symbol("com.microsoft:enable-receiver-runtime-metric")
_READER: Final = "reader"


class HubHost(Host, Protocol):
    """The part of the namespace that these nodes use."""

    max_message_size: int

    @property
    def milliseconds(self) -> int: ...

    def require(self, peer: Peer, right: str, path: str) -> None: ...

    def refusal(self, condition: str, text: str, path: str = "") -> Refusal: ...

    def trackers(self, path: str = "") -> str: ...

    def grown(self, hub: EventHub) -> None: ...


class ProducerNode(Node):
    """Takes events for a hub, or for one `partition`; those of a `publisher` have its name as their key."""

    def __init__(
        self, host: HubHost, hub: EventHub, path: str, partition: Partition | None = None, publisher: str = ""
    ) -> None:
        self.host = host
        self.hub = hub
        self.path = path
        self.partition = partition
        self.publisher = publisher

    def attach(self, link: Attachment) -> None:
        self.host.require(link.peer, SEND, self.path)
        link.accept(rcv_settle_mode=ReceiverSettleMode.FIRST, max_message_size=self.host.max_message_size)
        self.host.joined(link, self.path)

    def closed(self, link: Attachment) -> None:
        self.host.left(link)

    def receive(self, link: Attachment, delivery: Delivery) -> DeliveryState | None:
        host = self.host
        host.used(link)
        try:
            arrivals = arrivals_of(bytes(delivery.payload), delivery.message_format)
        except Refusal as refusal:
            raise host.refusal(refusal.condition, refusal.text, self.path) from None
        keys = {each.key for each in arrivals if each.key}
        if self.publisher and keys - {self.publisher}:
            raise host.refusal(ARGUMENT_ERROR, "the partition key isn't the publisher's name", self.path)
        # A batch stays together: its first key decides.
        key = self.publisher or next((each.key for each in arrivals if each.key), "")
        partition = self.hub.choose(key) if self.partition is None else self.partition
        for reader in self.hub.publish(arrivals, host.milliseconds, partition, self.publisher):
            reader.link.go_on()
        host.grown(self.hub)
        return ACCEPTED


class ConsumerNode(Node):
    """Sends the events of a partition, from the position that the receiver asks for; they are settled."""

    def __init__(self, host: HubHost, hub: EventHub, group: ConsumerGroup, partition: Partition, path: str) -> None:
        self.host = host
        self.hub = hub
        self.group = group
        self.partition = partition
        self.path = path

    def attach(self, link: Attachment) -> None:
        host = self.host
        host.require(link.peer, LISTEN, self.path)
        self.partition.trim(host.milliseconds)
        properties: Mapping[Any, Any] = link.attach.properties or {}
        epoch: Any = properties.get(EPOCH)
        # Of the integers only a long comes as a plain int.
        if epoch is not None and type(epoch) is not int:
            raise host.refusal(INVALID_FIELD, f"{EPOCH} is a long, not {type(epoch).__name__}", self.path)
        name: Any = properties.get(RECEIVER_NAME)
        wants_metrics = METRICS in (link.attach.desired_capabilities or ())
        try:
            start = self.partition.start(position_of(link.attach))
            reader = Reader(
                link,
                self.group,
                self.partition,
                start,
                name=name if isinstance(name, str) else "",
                epoch=epoch,
                wants_metrics=wants_metrics,
            )
            displaced = self.group.admit(reader)
        except PositionError as error:
            raise host.refusal(ARGUMENT_ERROR, str(error), self.path) from None
        except Refusal as refusal:
            raise host.refusal(refusal.condition, refusal.text, self.path) from None
        for each in displaced:
            each.link.detach(STOLEN, f"{_displaced(reader, each)} {host.trackers(self.path)}")
        link.notes[_READER] = reader
        link.accept(
            snd_settle_mode=SenderSettleMode.SETTLED,
            rcv_settle_mode=ReceiverSettleMode.FIRST,
            offered_capabilities=(METRICS,) if wants_metrics else (),
        )
        host.joined(link, self.path)

    def closed(self, link: Attachment) -> None:
        reader = link.notes.pop(_READER, None)
        if isinstance(reader, Reader):
            self.group.leave(reader)
        self.host.left(link)

    def send(self, link: Attachment) -> None:
        reader = link.notes.get(_READER)
        if not isinstance(reader, Reader):
            return
        self.partition.trim(self.host.milliseconds)
        while link.credit and (event := reader.take()) is not None:
            payload = event.payload(self._metrics() if reader.wants_metrics else None)
            if len(payload) > link.largest:
                text = f"An event of {len(payload)} octets is larger than the link takes ({link.largest})."
                link.detach(MESSAGE_SIZE_EXCEEDED, f"{text} {self.host.trackers(self.path)}")
                return
            if link.send(payload, settled=True) is None:
                return
            reader.advance(event)
            self.host.used(link)

    def _metrics(self) -> Mapping[Any, Any]:
        """Return the delivery annotations that tell of the partition's last event."""
        partition = self.partition
        return {
            Symbol("last_enqueued_sequence_number"): partition.last_sequence,
            Symbol("last_enqueued_offset"): partition.last_offset,
            Symbol("last_enqueued_time_utc"): Timestamp(partition.last_time),
            Symbol("runtime_info_retrieval_time_utc"): Timestamp(self.host.milliseconds),
        }


def _displaced(reader: Reader, other: Reader) -> str:
    """Return what a displaced receiver is told."""
    return (
        f"New receiver '{reader.name[:64]}' with higher epoch of '{reader.epoch}' is created hence current receiver "
        f"'{other.name[:64]}' with epoch '{other.epoch or 0}' is getting disconnected. If you are recreating the "
        "receiver, make sure a higher epoch is used."
    )


__all__ = ["EPOCH", "METRICS", "RECEIVER_NAME", "ConsumerNode", "ProducerNode"]
