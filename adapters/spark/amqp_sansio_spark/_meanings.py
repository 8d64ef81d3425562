"""The meaning of each column of the five tables that a replay makes, in one line."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "connections": {
        "connection": "the connection's id, made of the capture's content: the key to the other tables",
        "client": "address and port; null where nothing tells the roles",
        "server": "address and port; null where nothing tells the roles",
        "protocol": '"0-8", "0-9-1", "0-10", "1.0"; null if nothing was recognised',
        "opened_ns": "time of the first packet, nanoseconds since 1970",
        "closed_ns": "time of the packet that ended it, nanoseconds since 1970; null: it didn't end",
        "closed_by": '"client" or "server": the sender of the protocol\'s close; "transport" if TCP ended without one',
        "close_code": "the close's reply code; 1.0 has none",
        "close_text": 'the close\'s reply text; in 1.0 "condition: description"',
        "client_product": "from the client's properties; in 1.0 `product` of the open's properties",
        "client_version": "from the client's properties; in 0-10 also `qpid.client_version`",
        "mechanism": "SASL mechanism of the login",
        "user": "only if the mechanism sends it in clear (PLAIN, AMQPLAIN)",
        "vhost": "the virtual host; in 1.0 the hostname of the client's open",
        "container": "1.0: the client's container-id",
        "bytes_client": "octets that the client sent, as far as they were captured; null where nobody knows who it is",
        "bytes_server": "octets that the server sent, as far as they were captured; null where nobody knows who it is",
        "gaps": "holes in the capture",
        "complete": "whether nothing of the connection is missing",
        "server_product": "as for the client",
        "server_version": "as for the client",
        "dialect": "the variant of the version",
        "channel_max": "the negotiated value; in 1.0 the smaller of the announced limits",
        "frame_max": "the negotiated value, in octets; in 1.0 the smaller of the announced limits",
        "heartbeat": "seconds, 0 is none; in 1.0 the smaller announced idle-time-out, rounded up",
        "events": "number of its rows in events",
        "messages": "number of its rows in messages",
        "violations": "number of its rows in violations",
        "ended_by": "how TCP ended, and by whom",
        "hint": "the usual cause of such an end; of a heartbeat timeout also who was silent, for how long, "
        "what was agreed, and who ended the connection",
        "close_condition": '1.0: the symbol of the close\'s error, such as "amqp:connection:forced"',
        "server_container": "1.0: the server's container-id",
        "connection_name": "the client's name for the connection: its property `connection_name`, in 0-10 else "
        "`qpid.client_process`, in 1.0 its container-id",
        "cause": '"normal", "client-error" or "server-error" (a close with an error), "heartbeat" (a side '
        'was silent for too long), "refused" (by the server, before it was open), "unreached" (its '
        'SYN refused or unanswered), "transport" (TCP ended without a close), "open" (at the end of '
        'the capture) or "other" (no AMQP)',
        "roles_by": 'how client and server are known: "syn", "header", "frame", "capture" (by a SYN of another '
        'connection), "port"; null: not at all',
    },
    "events": {
        "connection": "the connection's id, made of the capture's content: the key to the other tables",
        "seq": "the unit's number on its connection, from 0",
        "ts": "when its last octet arrived, to the microsecond",
        "ts_ns": "when its last octet arrived, nanoseconds since 1970",
        "sender": '"client" or "server"; null where nothing tells the roles',
        "protocol": "the connection's version",
        "channel": "number of the channel",
        "event": 'the specification\'s name: "basic.publish", "transfer", "sasl-init"; "protocol-header", "heartbeat"',
        "size": "octets of all its frames",
        "offset": "its start in the sender's stream",
        "fields": "its arguments, under the specification's names: a VARIANT",
        "answers": "the `seq` of the request that it answers",
        "unit": '"method", "header", "heartbeat", "content" (with its whole message), "part" (1.0: a '
        'transfer that doesn\'t complete its delivery), "partial" (its message ended early), "frame" '
        'or "unknown"',
    },
    "messages": {
        "connection": "the connection's id, made of the capture's content: the key to the other tables",
        "ts_ns": "of the message's unit; in 1.0 of its last transfer, nanoseconds since 1970",
        "protocol": "the connection's version",
        "channel": "of the message's unit; in 1.0 of its last transfer",
        "kind": '"publish": client to server, "deliver": server to client, "get": fetched with basic.get, '
        '"return"; null where nothing tells the roles',
        "exchange": "in 0-10 a publish's is the transfer's destination; null in 1.0",
        "routing_key": "in 1.0 the message's subject",
        "address": "0-10: the queue of the subscription; 1.0: the node at the server, as the client asked for "
        "it where the server's attach isn't captured",
        "tag": "delivery tag, number of a publish that is confirmed, 0-10's command id (delivered files "
        "and streams: their delivery tag), 1.0's delivery-id",
        "message_id": "as text: numbers and UUIDs of 1.0 become text, octets that are no text become 0x...",
        "correlation_id": "as text: numbers and UUIDs of 1.0 become text, octets that are no text become 0x...",
        "content_type": "as text: numbers and UUIDs of 1.0 become text, octets that are no text become 0x...",
        "redelivered": "in 1.0: the header's delivery-count is above 0",
        "body_size": "octets of the body, as in `fields`; null where the capture cut what tells it",
        "body_sha256": "digest of the body, as in `fields`; null unless all of it was captured",
        "headers": "JSON: the application's headers; in 1.0 the application properties",
        "outcome": '"accepted", "rejected", "released", "modified", "returned", "settled"; null: open at the '
        "end, or not to be told",
        "settled_ns": "when it was settled, nanoseconds since 1970",
        "latency_ns": "nanoseconds from `ts_ns` to `settled_ns`",
        "seq": "the event of the message",
        "settled_seq": "the event of its settlement",
        "sender": '"client" or "server"; null where nothing tells the roles',
        "queue": "source of a delivery; in 0-10 the subscription's queue or the consumer's, null in 1.0",
        "consumer_tag": "of a delivery; in 0-10 the subscription's destination or the consumer's, null in 1.0",
        "mandatory": '0-8 and 0-9-1, and files and streams of 0-10; "immediate" counts too',
        "reply_code": "of a return; in 0-10 also of a reject or an exception",
        "reply_text": "as reply_code; in 1.0 the error in a rejection",
        "link": "0-10: the session's name; 1.0: the link's name",
        "reply_to": 'as text; in 0-10 "exchange/routing-key", or the part of it that is present',
        "ended_ns": "when its channel, session, link or connection ended with it unsettled; null if no end was seen",
        "vhost": "of the connection, as in connections; null if its opening wasn't seen",
    },
    "violations": {
        "connection": "as in connections; null if it belongs to none",
        "seq": "the event that broke the rule; null if there is none",
        "ts_ns": "when, nanoseconds since 1970",
        "sender": '"client" or "server"; null if unknown',
        "rule": 'the rule\'s full id (docs/rules), or "capture/..." for damage',
        "severity": '"error" or "warning"',
        "text": "what happened",
        "offset": "where in the sender's stream",
        "channel": "number of the channel",
    },
    "consumers": {
        "connection": "as in connections",
        "channel": "number of its channel, in 0-10 of its session's; in 1.0 the client's number of the session",
        "consumer": "consumer tag, in 0-10 the subscription's destination, in 1.0 the link's name",
        "handle": "1.0: the link's handle, the client's; null elsewhere",
        "queue": "its source, in 1.0 the source's address; null if that wasn't seen",
        "no_ack": "whether its deliveries need no acknowledgement (no-ack, accept-mode none, sent settled)",
        "most": "what it might hold at its end: its prefetch or that of its channel, in 0-10 and 1.0 the "
        "credit when it was granted last; null without limit, or if that wasn't seen",
        "opened_ns": "when it began, nanoseconds since 1970; null if that wasn't seen",
        "closed_ns": "when it, its channel, session or connection ended, nanoseconds since 1970; null if it was "
        "open at the end",
        "deliveries": "messages that it got",
        "accepted": "those with this outcome, as in messages",
        "rejected": "those with this outcome, as in messages",
        "released": "those with this outcome, as in messages",
        "modified": "those with this outcome, as in messages",
        "settled": "those with this outcome, as in messages",
        "unsettled": "those without an outcome",
        "most_held": "the most deliveries that were unsettled at one time",
        "no_room_ns": "nanoseconds in which nothing could be sent to it: it held its prefetch, the consumers of "
        "its channel held theirs together, or it had no credit",
        "longest_hold_ns": "nanoseconds that the delivery was unsettled that was so for longest",
    },
}
"""By table and column."""

__all__ = ["MEANINGS"]
