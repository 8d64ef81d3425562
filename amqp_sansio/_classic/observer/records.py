"""ClassicRecords: the columns of the messages on a 0-8 or 0-9-1 connection, and what the connection says of itself.

`Observed.settles` says what becomes of a message. 0-9-1 sections 1.4 (connection) and 1.8 (basic).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...endpoint import Side
from ...errors import CodecError
from ..codec.table import Table
from ..codec.table_rules import RABBIT
from ..model import hints
from ..model.states import Connection as State

if TYPE_CHECKING:
    from ..._core.observation import Observed
    from ..._core.outcomes import Columns, MessageRecord
    from ...versions import Version

_PHASES: Final = {
    "protocol-header": State.HEADER_SENT,
    "connection.start": State.STARTED,
    "connection.start-ok": State.AUTHENTICATING,
    "connection.secure-ok": State.AUTHENTICATING,
    "connection.tune-ok": State.TUNED,
    "connection.open": State.OPENING,
    "connection.open-ok": State.OPEN,
}
"""Where the opening stands after a unit, for the hint about a connection that ends there."""


def _publish(message: MessageRecord, event: Observed, method: Any) -> None:
    message.fill(
        "publish", exchange=method.exchange, routing_key=method.routing_key, tag=event.context,
        mandatory=method.mandatory or method.immediate,
    )  # fmt: skip


def _stream_publish(message: MessageRecord, event: Observed, method: Any) -> None:
    message.fill("publish", exchange=method.exchange, routing_key=method.routing_key)


def _file_publish(message: MessageRecord, event: Observed, method: Any) -> None:
    _stream_publish(message, event, method)
    _staged(message, event.context)


def _return(message: MessageRecord, event: Observed, method: Any) -> None:
    message.fill(
        "return", exchange=method.exchange, routing_key=method.routing_key, code=method.reply_code,
        text=method.reply_text,
    )  # fmt: skip


def _deliver(message: MessageRecord, event: Observed, method: Any) -> None:
    message.fill(
        "deliver", exchange=method.exchange, routing_key=method.routing_key, tag=method.delivery_tag,
        redelivered=method.redelivered, queue=event.context or None, consumer_tag=method.consumer_tag,
    )  # fmt: skip


def _stream_deliver(message: MessageRecord, event: Observed, method: Any) -> None:
    message.fill(
        "deliver", exchange=method.exchange, tag=method.delivery_tag, queue=event.context or method.queue,
        consumer_tag=method.consumer_tag,
    )  # fmt: skip


def _file_deliver(message: MessageRecord, event: Observed, method: Any) -> None:
    _deliver(message, event, method)
    message.queue, staged = event.context
    _staged(message, staged)


def _get_ok(message: MessageRecord, event: Observed, method: Any) -> None:
    message.fill(
        "get", exchange=method.exchange, routing_key=method.routing_key, tag=method.delivery_tag,
        redelivered=method.redelivered, queue=event.context,
    )  # fmt: skip


def _staged(message: MessageRecord, content: Any) -> None:
    """A message of 0-8's file class has the content that was staged before."""
    if content is not None:
        message.properties, message.body_size, message.body_sha256 = content


_MESSAGES: Final[dict[str, Columns]] = {
    "basic.publish": _publish,
    "basic.return": _return,
    "basic.deliver": _deliver,
    "basic.get-ok": _get_ok,
    "stream.publish": _stream_publish,
    "stream.deliver": _stream_deliver,
    "stream.return": _return,
    "file.publish": _file_publish,
    "file.deliver": _file_deliver,
    "file.return": _return,
}
"""The columns of units that are a message, by their names."""


# Facts of the connection itself.


def _header(records: ClassicRecords, event: Observed, header: bytes) -> None:
    if event.sender is Side.SERVER:
        offered = "-".join([str(octet) for octet in header[4:]])
        records.facts.update(
            closed_by="server",
            close_text=f"the server answered with its own protocol header, {offered}",
            hint="connect with the version the server offers",
        )
    records.phase = State.HEADER_SENT


def _peer(records: ClassicRecords, side: str, properties: Any) -> None:
    for name in ("product", "version"):
        try:
            value = properties.get(name)
        except CodecError:
            return
        if isinstance(value, (str, bytes)):
            text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
            records.facts[f"{side}_{name}"] = text


def _start(records: ClassicRecords, event: Observed, method: Any) -> None:
    records.phase = _PHASES[event.event]
    _peer(records, "server", method.server_properties)


def _start_ok(records: ClassicRecords, event: Observed, method: Any) -> None:
    records.phase = _PHASES[event.event]
    _peer(records, "client", method.client_properties)
    records.facts["mechanism"] = method.mechanism
    user = _user(method.mechanism, method.response)
    if user is not None:
        records.facts["user"] = user


def _user(mechanism: str, response: bytes) -> str | None:
    """The user's name in a first response; never a secret."""
    if mechanism == "PLAIN":
        parts = response.split(b"\0")
        return parts[1].decode("utf-8", "surrogateescape") if len(parts) == 3 else None
    if mechanism == "AMQPLAIN":
        try:
            name = Table.from_wire(response, RABBIT).get("LOGIN")
        except CodecError:
            return None
        return name if isinstance(name, str) else None
    return None


def _phase(records: ClassicRecords, event: Observed, method: Any) -> None:
    records.phase = _PHASES[event.event]
    if event.event == "connection.tune-ok":
        for name in ("channel_max", "frame_max", "heartbeat"):
            records.facts[name] = getattr(method, name)
    elif event.event == "connection.open":
        records.facts["vhost"] = method.virtual_host


def _connection_close(records: ClassicRecords, event: Observed, method: Any) -> None:
    if "closed_by" not in records.facts:
        records.facts.update(
            closed_by=event.sender.value,
            close_code=method.reply_code,
            close_text=method.reply_text,
            hint=hints.for_close(method.reply_code, method.reply_text),
        )


def _redirect(records: ClassicRecords, event: Observed, method: Any) -> None:
    records.facts.update(closed_by="server", close_text=f"redirected to {method.host}")


_FACTS: Final[dict[str, Callable[[ClassicRecords, Observed, Any], None]]] = {
    "protocol-header": _header,
    "connection.start": _start,
    "connection.start-ok": _start_ok,
    "connection.secure-ok": _phase,
    "connection.tune-ok": _phase,
    "connection.open": _phase,
    "connection.open-ok": _phase,
    "connection.close": _connection_close,
    "connection.redirect": _redirect,
}
"""Units that say something of the connection, by their names."""


class ClassicRecords:
    """Makes records of the units of one connection. `facts` has what `ConnectionRecord` tells."""

    __slots__ = ("facts", "phase", "version")

    messages: ClassVar = _MESSAGES
    notes: ClassVar = frozenset(_FACTS)
    needs_context: ClassVar = False

    def __init__(self, version: Version) -> None:
        self.version = version
        self.facts: dict[str, Any] = {"hint": ""}
        self.phase = State.START

    def note(self, event: Observed) -> None:
        """Take a unit that says something of the connection."""
        if event.content.__class__ is not bytes or event.unit == "header":
            _FACTS[event.event](self, event, event.content)

    def explain(self, event: Observed, unit: int) -> tuple[int | None, str | None]:
        """Code and text of a return; who rejects a message gives none."""
        method = event.content
        return getattr(method, "reply_code", None), getattr(method, "reply_text", None)

    def finish(self) -> None:
        """Nothing more comes."""
        if "closed_by" not in self.facts and not self.facts["hint"]:
            self.facts["hint"] = hints.of_state(self.phase)


# Messages.
