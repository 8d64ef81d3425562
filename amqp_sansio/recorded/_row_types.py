"""The NamedTuple of the rows of each table, and the values of an event and a message."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..endpoint import Side
from ._columns import COLUMNS
from ._plain import plain

if TYPE_CHECKING:
    from .._watching.observation import Observed
    from .._watching.outcomes import MessageRecord
    from ..versions import Version

CLIENT: Final = Side.CLIENT
INT64_MAX: Final = (1 << 63) - 1

# Checkers know each column; at run time the classes are made of their names, in a third of the time.
if TYPE_CHECKING:

    class ConnectionsRow(NamedTuple):
        connection: str | None
        client: str | None
        server: str | None
        protocol: str | None
        opened_ns: int | None
        closed_ns: int | None
        closed_by: str | None
        close_code: int | None
        close_text: str | None
        client_product: str | None
        client_version: str | None
        mechanism: str | None
        user: str | None
        vhost: str | None
        container: str | None
        bytes_client: int | None
        bytes_server: int | None
        gaps: int | None
        complete: bool | None
        server_product: str | None
        server_version: str | None
        dialect: str | None
        channel_max: int | None
        frame_max: int | None
        heartbeat: int | None
        events: int | None
        messages: int | None
        violations: int | None
        ended_by: str | None
        hint: str | None
        close_condition: str | None
        server_container: str | None
        connection_name: str | None
        cause: str | None
        roles_by: str | None

    class EventsRow(NamedTuple):
        connection: str | None
        seq: int | None
        ts: int | None
        ts_ns: int | None
        sender: str | None
        protocol: str | None
        channel: int | None
        event: str | None
        size: int | None
        offset: int | None
        fields: str | None
        answers: int | None
        unit: str | None

    class MessagesRow(NamedTuple):
        connection: str | None
        ts_ns: int | None
        protocol: str | None
        channel: int | None
        kind: str | None
        exchange: str | None
        routing_key: str | None
        address: str | None
        tag: int | None
        message_id: str | None
        correlation_id: str | None
        content_type: str | None
        redelivered: bool | None
        body_size: int | None
        body_sha256: str | None
        headers: str | None
        outcome: str | None
        settled_ns: int | None
        latency_ns: int | None
        seq: int | None
        settled_seq: int | None
        sender: str | None
        queue: str | None
        consumer_tag: str | None
        mandatory: bool | None
        reply_code: int | None
        reply_text: str | None
        link: str | None
        reply_to: str | None
        ended_ns: int | None
        vhost: str | None

    class ViolationsRow(NamedTuple):
        connection: str | None
        seq: int | None
        ts_ns: int | None
        sender: str | None
        rule: str | None
        severity: str | None
        text: str | None
        offset: int | None
        channel: int | None

    class ConsumersRow(NamedTuple):
        connection: str | None
        channel: int | None
        consumer: str | None
        handle: int | None
        queue: str | None
        no_ack: bool | None
        most: int | None
        opened_ns: int | None
        closed_ns: int | None
        deliveries: int | None
        accepted: int | None
        rejected: int | None
        released: int | None
        modified: int | None
        settled: int | None
        unsettled: int | None
        most_held: int | None
        no_room_ns: int | None
        longest_hold_ns: int | None

else:

    def _made(name, table):
        return namedtuple(name, [column for column, _ in COLUMNS[table]], module=__name__)

    ConnectionsRow = _made("ConnectionsRow", "connections")
    EventsRow = _made("EventsRow", "events")
    MessagesRow = _made("MessagesRow", "messages")
    ViolationsRow = _made("ViolationsRow", "violations")
    ConsumersRow = _made("ConsumersRow", "consumers")


def event_values(
    u: Observed, label: str, sender: str | None, protocol: str | None, fields: str | None
) -> tuple[Any, ...]:
    at_ns = u.at_ns
    return (
        label,
        u.seq,
        at_ns // 1000,
        at_ns,
        sender,
        protocol,
        u.channel,
        u.event,
        u.size,
        u.offset,
        fields,
        u.answers,
        u.unit,
    )


def message_values(
    u: MessageRecord,
    label: str,
    version: Version | None,
    protocol: str | None,
    vhost: str | None,
    roles: bool,
    texts: tuple[str | None, ...],
) -> tuple[Any, ...]:
    message_id, correlation_id, content_type, reply_to, headers = texts
    settled_ns = u.settled_ns
    return (
        label,
        u.ts_ns,
        protocol if u.version is version else u.version.label,
        u.channel,
        u.kind if roles else None,
        v if (v := u.exchange) is None or v.isascii() else plain(v),
        v if (v := u.routing_key) is None or v.isascii() else plain(v),
        None if not roles else v if (v := u.address) is None or v.isascii() else plain(v),
        tag if (tag := u.tag) is None or tag <= INT64_MAX else None,
        message_id,
        correlation_id,
        content_type,
        u.redelivered,
        size if (size := u.body_size) is None or size <= INT64_MAX else INT64_MAX,
        u.body_sha256,
        headers,
        u.outcome,
        settled_ns,
        None if settled_ns is None else settled_ns - u.ts_ns,
        u.seq,
        u.settled_seq,
        None if not roles else "client" if u.sender is CLIENT else "server",
        None if not roles else v if (v := u.queue) is None or v.isascii() else plain(v),
        v if (v := u.consumer_tag) is None or v.isascii() else plain(v),
        u.mandatory,
        u.code,
        v if (v := u.text) is None or v.isascii() else plain(v),
        v if (v := u.link) is None or v.isascii() else plain(v),
        reply_to,
        u.ended_ns,
        vhost,
    )


__all__ = [
    "ConnectionsRow",
    "ConsumersRow",
    "EventsRow",
    "MessagesRow",
    "ViolationsRow",
    "event_values",
    "message_values",
]
