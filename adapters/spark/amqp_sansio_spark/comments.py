"""The meaning of each column, in one line: the comments of the schemas, and the tables of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ID: Final = "the connection's id, made of the capture's content: the key to the other tables"
_PEER: Final = "address and port"
_WHEN: Final = "nanoseconds since 1970"
_UNIT: Final = "of the message's unit; in 1.0 of its last transfer"
_ROW: Final = "of the step's row of messages"
_NAMES: Final = "as in messages"
_ASKED: Final = "of the request"
_WISH: Final = "as requested"
_OUTCOME: Final = "those with this outcome, as in messages"
_BINDING: Final = "of a binding"
_TEXT: Final = "as text: numbers and UUIDs of 1.0 become text, octets that are no text become 0x..."

COMMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "segments": {
        "flow": "the 4-tuple's name, for both directions; null for damage of the file",
        "ts_ns": f"when the packet was captured, {_WHEN}",
        "file": "the file's base name, or its path below the common folder if two files share one",
        "packet": "the packet's number in the file, from 0",
        "src": "the sender's IP address",
        "sport": "the sender's port",
        "dst": "the receiver's IP address",
        "dport": "the receiver's port",
        "seq": "sequence number in the TCP header",
        "ack": "acknowledgement number in the TCP header",
        "flags": "the eight flag bits of the TCP header: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK",
        "wire_len": "octets of the payload on the wire",
        "payload": "the captured part of the payload",
        "point": "the VLAN (vlan10, vlan100.10), or empty",
        "damage": "an unreadable part of the file: its kind, its offset, and what happened; null for segments",
    },
    "problems": {
        "file": "as in segments",
        "offset": "position in the uncompressed octets of the file",
        "packet": "number of the damaged packet, or of the next one",
        "ts_ns": f"time of the damaged packet, or of the last one before it, {_WHEN}; 0: none yet",
        "kind": "not-a-capture, empty-file, unreadable, truncated-file, ...",
        "reason": "what happened",
    },
    "connections": {
        "connection": _ID,
        "client": f"{_PEER}; null where nothing tells the roles",
        "server": f"{_PEER}; null where nothing tells the roles",
        "protocol": '"0-8", "0-9-1", "0-10", "1.0"; null if nothing was recognised',
        "opened_ns": f"time of the first packet, {_WHEN}",
        "closed_ns": f"time of the packet that ended it, {_WHEN}; null: it didn't end",
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
        "hint": "the usual cause of such an end; of a heartbeat timeout also who was silent, for how long, what was "
        "agreed, and who ended the connection",
        "close_condition": '1.0: the symbol of the close\'s error, such as "amqp:connection:forced"',
        "server_container": "1.0: the server's container-id",
        "connection_name": "the client's name for the connection: its property `connection_name`, in 0-10 else "
        "`qpid.client_process`, in 1.0 its container-id",
        "cause": '"normal", "client-error" or "server-error" (a close with an error), "heartbeat" (a side was silent '
        'for too long), "refused" (by the server, before it was open), "unreached" (its SYN refused or unanswered), '
        '"transport" (TCP ended without a close), "open" (at the end of the capture) or "other" (no AMQP)',
        "roles_by": 'how client and server are known: "syn", "header", "frame", "capture" (by a SYN of another '
        'connection), "port"; null: not at all',
    },
    "events": {
        "connection": _ID,
        "seq": "the unit's number on its connection, from 0",
        "ts": "when its last octet arrived, to the microsecond",
        "ts_ns": f"when its last octet arrived, {_WHEN}",
        "sender": '"client" or "server"; null where nothing tells the roles',
        "protocol": "the connection's version",
        "channel": "number of the channel",
        "event": 'the specification\'s name: "basic.publish", "transfer", "sasl-init"; "protocol-header", "heartbeat"',
        "size": "octets of all its frames",
        "offset": "its start in the sender's stream",
        "fields": "its arguments, under the specification's names: a VARIANT",
        "answers": "the `seq` of the request that it answers",
        "unit": '"method", "header", "heartbeat", "content" (with its whole message), "part" (1.0: a transfer that '
        'doesn\'t complete its delivery), "partial" (its message ended early), "frame" or "unknown"',
    },
    "messages": {
        "connection": _ID,
        "ts_ns": f"{_UNIT}, {_WHEN}",
        "protocol": "the connection's version",
        "channel": _UNIT,
        "kind": '"publish": client to server, "deliver": server to client, "get": fetched with basic.get, "return"; '
        "null where nothing tells the roles",
        "exchange": "in 0-10 a publish's is the transfer's destination; null in 1.0",
        "routing_key": "in 1.0 the message's subject",
        "address": "0-10: the queue of the subscription; 1.0: the node at the server, as the client asked for it where "
        "the server's attach isn't captured",
        "tag": "delivery tag, number of a publish that is confirmed, 0-10's command id (delivered files and streams: "
        "their delivery tag), 1.0's delivery-id",
        "message_id": _TEXT,
        "correlation_id": _TEXT,
        "content_type": _TEXT,
        "redelivered": "in 1.0: the header's delivery-count is above 0",
        "body_size": "octets of the body, as in `fields`; null where the capture cut what tells it",
        "body_sha256": "digest of the body, as in `fields`; null unless all of it was captured",
        "headers": "JSON: the application's headers; in 1.0 the application properties",
        "outcome": '"accepted", "rejected", "released", "modified", "returned", "settled"; null: open at the end, or '
        "not to be told",
        "settled_ns": f"when it was settled, {_WHEN}",
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
        "ts_ns": f"when, {_WHEN}",
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
        "opened_ns": f"when it began, {_WHEN}; null if that wasn't seen",
        "closed_ns": f"when it, its channel, session or connection ended, {_WHEN}; null if it was open at the end",
        "deliveries": "messages that it got",
        "accepted": _OUTCOME,
        "rejected": _OUTCOME,
        "released": _OUTCOME,
        "modified": _OUTCOME,
        "settled": _OUTCOME,
        "unsettled": "those without an outcome",
        "most_held": "the most deliveries that were unsettled at one time",
        "no_room_ns": "nanoseconds in which nothing could be sent to it: it held its prefetch, the consumers of its "
        "channel held theirs together, or it had no credit",
        "longest_hold_ns": "nanoseconds that the delivery was unsettled that was so for longest",
    },
    "histories": {
        "history": "the message: connection and seq of its publish, or, if that wasn't seen, of its first delivery",
        "step": "number within the history, in the order of joining; order by `ts_ns` for the order of time",
        "what": '"publish"; "confirm", its answer; "return"; "deliver", "get"; "redeliver": again from the same queue; '
        '"settle"; "end": channel, link or connection ended with the message open; "dead-letter"',
        "ts_ns": f"{_WHEN}; for a dead letter that of the rejection, or the whole second recorded by the broker",
        "connection": _ROW,
        "seq": _ROW,
        "protocol": _ROW,
        "channel": _ROW,
        "vhost": _ROW,
        "exchange": _NAMES,
        "routing_key": _NAMES,
        "queue": "source of a delivery; for a dead letter the queue that it left",
        "message_id": "of the message",
        "correlation_id": "of the message",
        "body_size": "of the message",
        "body_sha256": "of the message",
        "outcome": "of a confirm, return or settle as in messages; for a dead letter the reason",
        "text": "code and text of a return; the error of a rejection in 1.0",
        "latency_ns": "publish to confirm, return or delivery; for a redelivery, from its return to the queue; a "
        "settle or end from its delivery",
        "since_publish_ns": "from the publish; null if it wasn't seen",
        "evidence": "facts that support joining the step to the history",
        "certainty": '"certain", "likely" or "possible"; null if nothing had to be joined',
        "follows": "for a publish: the history of a message with the same body that was delivered to this connection "
        "before, as for a program that forwards messages",
    },
    "topology": {
        "connection": _ASKED,
        "seq": _ASKED,
        "ts_ns": _ASKED,
        "protocol": _ASKED,
        "vhost": _ASKED,
        "act": '"declare", "delete", "bind", "unbind"',
        "kind": '"exchange", "queue", "binding"',
        "name": "of the exchange or queue; for a queue without a name the one chosen by the server",
        "type": "of the exchange or queue",
        "source": _BINDING,
        "destination": _BINDING,
        "destination_kind": _BINDING,
        "routing_key": _BINDING,
        "durable": _WISH,
        "auto_delete": _WISH,
        "exclusive": _WISH,
        "passive": _WISH,
        "arguments": "as requested, JSON",
        "state": '"done"; "refused"; "asked": no answer was seen',
        "done_ns": f"when it was answered, {_WHEN}",
        "text": "why it was refused",
    },
    "rpc": {
        "requester": "connection of the request",
        "request_ns": f"when the request was published, {_WHEN}",
        "request_seq": "the event of the request",
        "exchange": _ASKED,
        "routing_key": _ASKED,
        "address": _ASKED,
        "reply_to": _ASKED,
        "correlation_id": "the request's correlation-id, or without one its message-id",
        "reply_ns": f"when the reply came, {_WHEN}; null: none was seen",
        "reply_seq": "the event of the reply, on the requester's connection",
        "latency_ns": "nanoseconds from the request to the reply",
        "responder": "connection that got the request and answered",
        "taken_ns": f"when the responder got the request, {_WHEN}",
        "answered_ns": f"when the responder published the reply, {_WHEN}",
        "service_ns": "nanoseconds from `taken_ns` to `answered_ns`",
    },
    "open": {
        "connection": _ID,
        "kind": '"connection"; "consumer", also a link; "delivery", held by the client; "publish", without a '
        'confirm; "call" of the client, without its answer; "blocked" by the server',
        "channel": "number of the channel; null for connections",
        "seq": "the event that opened it; null for connections and consumers",
        "name": "of a connection, a consumer or a link; the delivery tag; the call",
        "queue": "queue, address or routing key of a message",
        "from_ns": f"when it was opened, {_WHEN}",
        "until_ns": f"when it was over, {_WHEN}; null: open at the end of the capture",
    },
    "progress": {
        "read": "one planned query",
        "file": "as in segments",
        "pieces": "pieces of the file that are done",
        "of": "pieces of the file that were planned",
        "octets": "octets read",
        "size": "octets of the file",
        "packets": "packets read",
        "segments": "packets with TCP",
        "other": "packets without TCP, which were left out",
        "rows": "rows made",
        "filtered": "segments and problems that options or filters left out",
        "problems": "unreadable parts",
        "seconds": "the workers' time",
    },
}
"""The comments by table and column; `unacked` has those of `messages`, and `held_ns`."""
HELD: Final = "nanoseconds since the delivery, at the time that was asked for"


def ddl(table: str, schema: str) -> str:
    """Return a schema as Spark writes it, `name type, name type`, with the comments of its columns."""
    return ", ".join(
        [f"{column} COMMENT '{_quoted(COMMENTS[table][column.partition(' ')[0]])}'" for column in columns_in(schema)]
    )


def commented(frame: DataFrame, table: str) -> DataFrame:
    """Return the frame with the comments of a table's columns."""
    from pyspark.sql import functions as f

    return frame.select(*[with_comment(f.col(name), table, name) for name in frame.columns])


def with_comment(column: Column, table: str, name: str) -> Column:
    """Return a column under its name, with its comment."""
    return column.alias(name, metadata={"comment": COMMENTS[table].get(name, HELD)})


def columns_in(schema: str) -> Iterable[str]:
    """Split a schema as Spark writes it at the commas outside of structs."""
    start = depth = 0
    for place, letter in enumerate(schema):
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            yield schema[start:place].strip()
            start = place + 1
    yield schema[start:].strip()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


__all__ = ["COMMENTS", "columns_in", "commented", "ddl", "with_comment"]
