"""The columns of all tables: each is declared here, and all that names it is generated from this (`rows`).

A new column of `messages` with an `attribute` needs a line here, and a value in the `records.py` of each version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Column(NamedTuple):
    """A column: its name, the type of its values, and what they mean.

    Of `events` and `messages` also where its value is: in an expression, or in an `attribute` of `MessageRecord` that
    each version fills as its methods have it, of which text is made plain. Values `of_roles` aren't known where nobody
    knows which side is the client.
    """

    name: str
    kind: str
    meaning: str
    attribute: str = ""
    value: str = ""
    of_roles: bool = False


COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "connections": (
        Column(
            "connection", "string", "the connection's id, made of the capture's content: the key to the other tables"
        ),
        Column("client", "string", "address and port; null where nothing tells the roles"),
        Column("server", "string", "address and port; null where nothing tells the roles"),
        Column("protocol", "string", '"0-8", "0-9-1", "0-10", "1.0"; null if nothing was recognised'),
        Column("opened_ns", "int64", "time of the first packet, nanoseconds since 1970"),
        Column("closed_ns", "int64", "time of the packet that ended it, nanoseconds since 1970; null: it didn't end"),
        Column(
            "closed_by",
            "string",
            '"client" or "server": the sender of the protocol\'s close; "transport" if TCP ended without one',
        ),
        Column("close_code", "int64", "the close's reply code; 1.0 has none"),
        Column("close_text", "string", 'the close\'s reply text; in 1.0 "condition: description"'),
        Column("client_product", "string", "from the client's properties; in 1.0 `product` of the open's properties"),
        Column("client_version", "string", "from the client's properties; in 0-10 also `qpid.client_version`"),
        Column("mechanism", "string", "SASL mechanism of the login"),
        Column("user", "string", "only if the mechanism sends it in clear (PLAIN, AMQPLAIN)"),
        Column("vhost", "string", "the virtual host; in 1.0 the hostname of the client's open"),
        Column("container", "string", "1.0: the client's container-id"),
        Column(
            "bytes_client",
            "int64",
            "octets that the client sent, as far as they were captured; null where nobody knows who it is",
        ),
        Column(
            "bytes_server",
            "int64",
            "octets that the server sent, as far as they were captured; null where nobody knows who it is",
        ),
        Column("gaps", "int64", "holes in the capture"),
        Column("complete", "bool", "whether nothing of the connection is missing"),
        Column("server_product", "string", "as for the client"),
        Column("server_version", "string", "as for the client"),
        Column("dialect", "string", "the variant of the version"),
        Column("channel_max", "int64", "the negotiated value; in 1.0 the smaller of the announced limits"),
        Column("frame_max", "int64", "the negotiated value, in octets; in 1.0 the smaller of the announced limits"),
        Column("heartbeat", "int64", "seconds, 0 is none; in 1.0 the smaller announced idle-time-out, rounded up"),
        Column("events", "int64", "number of its rows in events"),
        Column("messages", "int64", "number of its rows in messages"),
        Column("violations", "int64", "number of its rows in violations"),
        Column("ended_by", "string", "how TCP ended, and by whom"),
        Column(
            "hint",
            "string",
            "the usual cause of such an end; of a heartbeat timeout also who was silent, for "
            "how long, what was agreed, and who ended the connection",
        ),
        Column("close_condition", "string", '1.0: the symbol of the close\'s error, such as "amqp:connection:forced"'),
        Column("server_container", "string", "1.0: the server's container-id"),
        Column(
            "connection_name",
            "string",
            "the client's name for the connection: its property `connection_name`, in "
            "0-10 else `qpid.client_process`, in 1.0 its container-id",
        ),
        Column(
            "cause",
            "string",
            '"normal", "client-error" or "server-error" (a close with an error), "heartbeat" (a side was '
            'silent for too long), "refused" (by the server, before it was open), "unreached" (its SYN refused or '
            'unanswered), "transport" (TCP ended without a close), "open" (at the end of the capture) or "other" (no '
            "AMQP)",
        ),
        Column(
            "roles_by",
            "string",
            'how client and server are known: "syn", "header", "frame", "capture" (by a '
            'SYN of another connection), "port"; null: not at all',
        ),
    ),
    "events": (
        Column(
            "connection",
            "string",
            "the connection's id, made of the capture's content: the key to the other tables",
            value="label",
        ),
        Column("seq", "int64", "the unit's number on its connection, from 0", value="u.seq"),
        Column("ts", "timestamp", "when its last octet arrived, to the microsecond", value="at_ns // 1000"),
        Column("ts_ns", "int64", "when its last octet arrived, nanoseconds since 1970", value="at_ns"),
        Column("sender", "string", '"client" or "server"; null where nothing tells the roles', value="sender"),
        Column("protocol", "string", "the connection's version", value="protocol"),
        Column("channel", "int64", "number of the channel", value="u.channel"),
        Column(
            "event",
            "string",
            'the specification\'s name: "basic.publish", "transfer", "sasl-init"; "protocol-header", "heartbeat"',
            value="u.event",
        ),
        Column("size", "int64", "octets of all its frames", value="u.size"),
        Column("offset", "int64", "its start in the sender's stream", value="u.offset"),
        Column("fields", "json", "its arguments, under the specification's names: a VARIANT", value="fields"),
        Column("answers", "int64", "the `seq` of the request that it answers", value="u.answers"),
        Column(
            "unit",
            "string",
            '"method", "header", "heartbeat", "content" (with its whole message), "part" (1.0: a transfer '
            'that doesn\'t complete its delivery), "partial" (its message ended early), "frame" or "unknown"',
            value="u.unit",
        ),
    ),
    "messages": (
        Column(
            "connection",
            "string",
            "the connection's id, made of the capture's content: the key to the other tables",
            value="label",
        ),
        Column(
            "ts_ns",
            "int64",
            "of the message's unit; in 1.0 of its last transfer, nanoseconds since 1970",
            value="u.ts_ns",
        ),
        Column(
            "protocol",
            "string",
            "the connection's version",
            value="protocol if u.version is version else u.version.label",
        ),
        Column("channel", "int64", "of the message's unit; in 1.0 of its last transfer", value="u.channel"),
        Column(
            "kind",
            "string",
            '"publish": client to server, "deliver": server to client, "get": fetched with '
            'basic.get, "return"; null where nothing tells the roles',
            value="u.kind if roles else None",
        ),
        Column(
            "exchange", "string", "in 0-10 a publish's is the transfer's destination; null in 1.0", attribute="exchange"
        ),
        Column("routing_key", "string", "in 1.0 the message's subject", attribute="routing_key"),
        Column(
            "address",
            "string",
            "0-10: the queue of the subscription; 1.0: the node at the server, as the "
            "client asked for it where the server's attach isn't captured",
            attribute="address",
            of_roles=True,
        ),
        Column(
            "tag",
            "int64",
            "delivery tag, number of a publish that is confirmed, 0-10's command id (delivered "
            "files and streams: their delivery tag), 1.0's delivery-id",
            attribute="tag",
            value="tag if (tag := u.tag) is None or tag <= INT64_MAX else None",
        ),
        Column(
            "message_id",
            "string",
            "as text: numbers and UUIDs of 1.0 become text, octets that are no text become 0x...",
            value="message_id",
        ),
        Column(
            "correlation_id",
            "string",
            "as text: numbers and UUIDs of 1.0 become text, octets that are no text become 0x...",
            value="correlation_id",
        ),
        Column(
            "content_type",
            "string",
            "as text: numbers and UUIDs of 1.0 become text, octets that are no text become 0x...",
            value="content_type",
        ),
        Column("redelivered", "bool", "in 1.0: the header's delivery-count is above 0", attribute="redelivered"),
        Column(
            "body_size",
            "int64",
            "octets of the body, as in `fields`; null where the capture cut what tells it",
            value="size if (size := u.body_size) is None or size <= INT64_MAX else INT64_MAX",
        ),
        Column(
            "body_sha256",
            "string",
            "digest of the body, as in `fields`; null unless all of it was captured",
            value="u.body_sha256",
        ),
        Column(
            "headers", "json", "JSON: the application's headers; in 1.0 the application properties", value="headers"
        ),
        Column(
            "outcome",
            "string",
            '"accepted", "rejected", "released", "modified", "returned", '
            '"settled"; null: open at the end, or not to be told',
            value="u.outcome",
        ),
        Column("settled_ns", "int64", "when it was settled, nanoseconds since 1970", value="settled_ns"),
        Column(
            "latency_ns",
            "int64",
            "nanoseconds from `ts_ns` to `settled_ns`",
            value="None if settled_ns is None else settled_ns - u.ts_ns",
        ),
        Column("seq", "int64", "the event of the message", value="u.seq"),
        Column("settled_seq", "int64", "the event of its settlement", value="u.settled_seq"),
        Column(
            "sender",
            "string",
            '"client" or "server"; null where nothing tells the roles',
            value='None if not roles else "client" if u.sender is CLIENT else "server"',
        ),
        Column(
            "queue",
            "string",
            "source of a delivery; in 0-10 the subscription's queue or the consumer's, null in 1.0",
            attribute="queue",
            of_roles=True,
        ),
        Column(
            "consumer_tag",
            "string",
            "of a delivery; in 0-10 the subscription's destination or the consumer's, null in 1.0",
            attribute="consumer_tag",
        ),
        Column(
            "mandatory",
            "bool",
            '0-8 and 0-9-1, and files and streams of 0-10; "immediate" counts too',
            attribute="mandatory",
        ),
        Column("reply_code", "int64", "of a return; in 0-10 also of a reject or an exception", attribute="code"),
        Column("reply_text", "string", "as reply_code; in 1.0 the error in a rejection", attribute="text"),
        Column("link", "string", "0-10: the session's name; 1.0: the link's name", attribute="link"),
        Column(
            "reply_to",
            "string",
            'as text; in 0-10 "exchange/routing-key", or the part of it that is present',
            value="reply_to",
        ),
        Column(
            "ended_ns",
            "int64",
            "when its channel, session, link or connection ended with it unsettled; null if no end was seen",
            value="u.ended_ns",
        ),
        Column(
            "vhost", "string", "of the connection, as in connections; null if its opening wasn't seen", value="vhost"
        ),
    ),
    "violations": (
        Column("connection", "string", "as in connections; null if it belongs to none"),
        Column("seq", "int64", "the event that broke the rule; null if there is none"),
        Column("ts_ns", "int64", "when, nanoseconds since 1970"),
        Column("sender", "string", '"client" or "server"; null if unknown'),
        Column("rule", "string", 'the rule\'s full id (docs/rules), or "capture/..." for damage'),
        Column("severity", "string", '"error" or "warning"'),
        Column("text", "string", "what happened"),
        Column("offset", "int64", "where in the sender's stream"),
        Column("channel", "int64", "number of the channel"),
    ),
    "consumers": (
        Column("connection", "string", "as in connections"),
        Column(
            "channel",
            "int64",
            "number of its channel, in 0-10 of its session's; in 1.0 the client's number of the session",
        ),
        Column("consumer", "string", "consumer tag, in 0-10 the subscription's destination, in 1.0 the link's name"),
        Column("handle", "int64", "1.0: the link's handle, the client's; null elsewhere"),
        Column("queue", "string", "its source, in 1.0 the source's address; null if that wasn't seen"),
        Column(
            "no_ack", "bool", "whether its deliveries need no acknowledgement (no-ack, accept-mode none, sent settled)"
        ),
        Column(
            "most",
            "int64",
            "what it might hold at its end: its prefetch or that of its channel, in 0-10 and 1.0 the credit "
            "when it was granted last; null without limit, or if that wasn't seen",
        ),
        Column("opened_ns", "int64", "when it began, nanoseconds since 1970; null if that wasn't seen"),
        Column(
            "closed_ns",
            "int64",
            "when it, its channel, session or connection ended, nanoseconds since 1970; null if it was open at the end",
        ),
        Column("deliveries", "int64", "messages that it got"),
        Column("accepted", "int64", "those with this outcome, as in messages"),
        Column("rejected", "int64", "those with this outcome, as in messages"),
        Column("released", "int64", "those with this outcome, as in messages"),
        Column("modified", "int64", "those with this outcome, as in messages"),
        Column("settled", "int64", "those with this outcome, as in messages"),
        Column("unsettled", "int64", "those without an outcome"),
        Column("most_held", "int64", "the most deliveries that were unsettled at one time"),
        Column(
            "no_room_ns",
            "int64",
            "nanoseconds in which nothing could be sent to it: it held its prefetch, the "
            "consumers of its channel held theirs together, or it had no credit",
        ),
        Column("longest_hold_ns", "int64", "nanoseconds that the delivery was unsettled that was so for longest"),
    ),
}
"""By the table, in the order of the values in a row."""

STATE: Final = (
    ("at_ns", "int64"),
    ("connection", "string"),
    ("kind", "string"),
    ("channel", "int64"),
    ("name", "string"),
    ("side", "string"),
    ("state", "string"),
    ("queue", "string"),
    ("consumer", "string"),
    ("since_ns", "int64"),
    ("held", "int64"),
    ("most", "int64"),
    ("room", "int64"),
    ("seq", "int64"),
    ("text", "string"),
)
"""Columns of the state at an instant, and their types; docs/tables.md explains each."""
