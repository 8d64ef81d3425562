"""Counts: what a broker has done so far, as plain numbers, and the samples made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..metrics import Sample

if TYPE_CHECKING:
    from .model.broker import Broker


class Counts:
    """What a hub counts by itself: connections that began, and octets. The model counts messages."""

    __slots__ = ("connections", "octets_in", "octets_out")

    def __init__(self) -> None:
        self.connections = 0
        self.octets_in = 0
        self.octets_out = 0


def samples_of(model: Broker, counts: Counts, opened: int, is_blocked: bool) -> list[Sample]:
    """Return the values of a broker: those of its model, and of its connections, of which so many are open."""
    queues = [queue for vhost in model.vhosts.values() for queue in vhost.queues.values()]
    tally = model.ledger.tally
    delivered = tally.delivered + sum([queue.delivered for queue in queues])
    inner = [owner for owner in model.owners.values() if owner.parent is not None]
    rows: list[tuple[str, float, str, str]] = [
        ("connections", opened, "Connections that are open", ""),
        ("channels", len(inner), "Channels, or sessions with their links, that are open", ""),
        ("queues", len(queues), "Queues", ""),
        ("consumers", sum([len(queue.consumers) for queue in queues]), "Consumers", ""),
        ("messages", sum([queue.ready for queue in queues]), "Messages in queues, by state", "ready"),
        ("messages", sum([queue.unsettled for queue in queues]), "Messages in queues, by state", "unsettled"),
        ("stored_octets", model.ledger.octets, "Octets that stored messages take", ""),
        ("blocked", int(is_blocked), "Whether publishers are held", ""),
        ("connections_total", counts.connections, "Connections that began", ""),
        ("published_total", model.publishing.messages, "Messages published, dead letters too", ""),
        ("delivered_total", delivered, "Messages handed out, to consumers or fetched", ""),
        ("settled_total", tally.accepted, "Messages settled by clients", "accepted"),
        ("settled_total", tally.rejected, "Messages settled by clients", "rejected"),
        ("settled_total", tally.released, "Messages settled by clients", "released"),
        ("received_octets_total", counts.octets_in, "Octets received, above TLS", ""),
        ("sent_octets_total", counts.octets_out, "Octets given to transports, above TLS", ""),
    ]
    kind = {"messages": "state", "settled_total": "outcome"}
    return [
        Sample(f"amqp_broker_{name}", value, told, ((kind[name], label),) if label else ())
        for name, value, told, label in rows
    ]


__all__ = ["Counts", "samples_of"]
