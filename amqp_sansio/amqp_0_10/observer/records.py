"""ZeroTenRecords: the columns of the messages on a connection of 0-10, and what the connection says of itself.

`Observed.settles` says what becomes of a message. Part 1 sections 3.2 and 9 (connection), classes 4, 9 and 10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import PROTOCOL_HEADER

if TYPE_CHECKING:
    from ..._core.observation import Observed
    from ..._core.outcomes import Columns, MessageRecord
    from ...versions import Version

_NOTHING: Final = 0
_HEADERS: Final = 1
_LOGIN: Final = 2
_TUNED: Final = 3
_OPEN: Final = 4

_PHASES: Final = {
    "protocol-header": _HEADERS,
    "connection.start": _LOGIN,
    "connection.start-ok": _LOGIN,
    "connection.secure-ok": _LOGIN,
    "connection.tune-ok": _TUNED,
    "connection.open": _TUNED,
    "connection.open-ok": _OPEN,
}
"""Where the opening stands after a unit."""
_HINTS: Final = {
    _HEADERS: "the server hung up on the protocol header; it may want TLS, or not be AMQP",
    _LOGIN: "the server hung up during the login: wrong user, password or mechanism",
    _TUNED: "the server hung up before open-ok: the virtual host is missing or forbidden, or the tuning was refused",
}
"""The usual cause of a connection that ends there."""
_LOGIN_FAILED: Final = (
    "the user doesn't exist, the password is wrong, or the mechanism isn't allowed"
)
_BY_CODE: Final = {
    320: "the server is shutting down or an operator closed the connection",
    402: "the virtual host does not exist",
    501: "the peer could not read a frame; two writers on one connection, or a frame above max-frame-size",
}


# Messages. `event` is an ObservedCommand, its `context` the one of `OpenMessages`.


def _transfer(message: MessageRecord, event: Any, command: Any) -> None:
    link, queue, _ = event.context
    try:
        delivery = getattr(event.properties, "delivery_properties", None)
    except CodecError:
        delivery = None
    key = getattr(delivery, "routing_key", None)
    if event.sender is Side.CLIENT:
        message.fill(
            "publish",
            exchange=command.destination,
            routing_key=key,
            tag=event.command_id,
            link=link,
        )
    else:
        message.fill(
            "deliver", exchange=getattr(delivery, "exchange", None), routing_key=key, address=queue,
            tag=event.command_id, redelivered=bool(getattr(delivery, "redelivered", False)), queue=queue,
            consumer_tag=command.destination, link=link,
        )  # fmt: skip


def _publish(message: MessageRecord, event: Any, command: Any) -> None:
    link, _, staged = event.context
    message.fill(
        "publish", exchange=command.exchange, routing_key=command.routing_key, tag=event.command_id,
        mandatory=command.mandatory or command.immediate, link=link,
    )  # fmt: skip
    if staged is not None:
        message.bring(staged)


def _deliver(message: MessageRecord, event: Any, command: Any) -> None:
    link, queue, staged = event.context
    message.fill(
        "deliver", exchange=command.exchange, routing_key=getattr(command, "routing_key", None), address=queue,
        tag=command.delivery_tag, redelivered=getattr(command, "redelivered", None), queue=queue,
        consumer_tag=command.consumer_tag, link=link,
    )  # fmt: skip
    if staged is not None:
        message.bring(staged)


def _return(message: MessageRecord, event: Any, command: Any) -> None:
    message.fill(
        "return", exchange=command.exchange, routing_key=command.routing_key, code=command.reply_code,
        text=command.reply_text, link=event.context[0],
    )  # fmt: skip


_MESSAGES: Final[dict[str, Columns]] = {
    "message.transfer": _transfer,
    "file.publish": _publish,
    "file.deliver": _deliver,
    "file.return": _return,
    "stream.publish": _publish,
    "stream.deliver": _deliver,
    "stream.return": _return,
}
"""The columns of units that are a message, by their names."""


# The connection.


def _header(records: ZeroTenRecords, event: Observed, header: bytes) -> None:
    if event.sender is Side.SERVER and header != PROTOCOL_HEADER:
        offered = "-".join([str(octet) for octet in header[4:]])
        records.facts.update(
            closed_by="server",
            close_text=f"the server answered with its own protocol header, {offered}",
            hint="connect with the version the server offers",
        )
    records.phase = max(records.phase, _HEADERS)


def _peer(records: ZeroTenRecords, side: str, properties: Any) -> None:
    """Product and version; Qpid's clients have the latter under a name of their own."""
    for name in ("product", "qpid.client_version", "version"):
        try:
            value = None if properties is None else properties.get(name)
        except CodecError:
            return
        if isinstance(value, (str, bytes)):
            text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
            records.facts[f"{side}_{'product' if name == 'product' else 'version'}"] = text


def _start(records: ZeroTenRecords, event: Observed, control: Any) -> None:
    _peer(records, "server", control.server_properties)
    _phase(records, event, control)


def _start_ok(records: ZeroTenRecords, event: Observed, control: Any) -> None:
    _peer(records, "client", control.client_properties)
    records.facts["mechanism"] = control.mechanism
    parts = (control.response or b"").split(b"\0")
    if control.mechanism == "PLAIN" and len(parts) == 3:
        records.facts["user"] = parts[1].decode("utf-8", "surrogateescape")
    _phase(records, event, control)


def _phase(records: ZeroTenRecords, event: Observed, control: Any) -> None:
    records.phase = _PHASES[event.event]
    facts = records.facts
    if event.event == "connection.tune-ok":
        facts["channel_max"] = control.channel_max
        facts["heartbeat"] = control.heartbeat or 0
        if control.max_frame_size is not None:
            facts["frame_max"] = control.max_frame_size
    elif event.event == "connection.open":
        facts["vhost"] = control.virtual_host


def _tune(records: ZeroTenRecords, event: Observed, control: Any) -> None:
    """Note the server's wishes; a client that says nothing of the frames' size takes them."""
    records.facts["frame_max"] = control.max_frame_size


def _connection_close(records: ZeroTenRecords, event: Observed, control: Any) -> None:
    if "closed_by" not in records.facts:
        code = control.reply_code
        refused = event.sender is Side.SERVER and records.phase == _LOGIN
        records.facts.update(
            closed_by=event.sender.value,
            close_code=code,
            close_text=control.reply_text,
            hint=_LOGIN_FAILED if refused else _BY_CODE.get(code, ""),
        )


def _redirect(records: ZeroTenRecords, event: Observed, control: Any) -> None:
    records.facts.update(closed_by="server", close_text=f"redirected to {control.host}")


_FACTS: Final[dict[str, Callable[[ZeroTenRecords, Observed, Any], None]]] = {
    "protocol-header": _header,
    "connection.start": _start,
    "connection.start-ok": _start_ok,
    "connection.secure-ok": _phase,
    "connection.tune": _tune,
    "connection.tune-ok": _phase,
    "connection.open": _phase,
    "connection.open-ok": _phase,
    "connection.close": _connection_close,
    "connection.redirect": _redirect,
}
"""Units that say something of the connection, by their names."""


class ZeroTenRecords:
    """Makes records of the units of one connection. `facts` has what `ConnectionRecord` tells."""

    __slots__ = ("facts", "phase", "version")

    messages: ClassVar = _MESSAGES
    notes: ClassVar = frozenset(_FACTS)
    needs_context: ClassVar = False

    def __init__(self, version: Version) -> None:
        self.version = version
        self.facts: dict[str, Any] = {"hint": ""}
        self.phase = _NOTHING

    def note(self, event: Observed) -> None:
        """Take a unit that says something of the connection."""
        readable = event.content.__class__ is not bytes or event.unit == "header"
        if readable and event.unit != "partial":
            _FACTS[event.event](self, event, event.content)

    def explain(self, event: Observed, unit: int) -> tuple[int | None, str | None]:
        """Code and text of an exception, a reject or a return; file.reject has none."""
        command = event.content
        if event.event == "execution.exception":
            return command.error_code, command.description
        if event.event == "message.reject":
            return command.code, command.text
        return getattr(command, "reply_code", None), getattr(command, "reply_text", None)

    def finish(self) -> None:
        """Nothing more comes."""
        if "closed_by" not in self.facts and not self.facts["hint"]:
            self.facts["hint"] = _HINTS.get(self.phase, "")
