"""The meaning of each column, in one line: the comments of the schemas, and the tables of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from ._meanings import MEANINGS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ID: Final = MEANINGS["events"]["connection"]
_WHEN: Final = "nanoseconds since 1970"
_ROW: Final = "of the step's row of messages"
_NAMES: Final = "as in messages"
_ASKED: Final = "of the request"
_WISH: Final = "as requested"
_BINDING: Final = "of a binding"

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
    **MEANINGS,
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
