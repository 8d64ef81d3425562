"""ClassicHistory: what becomes of the messages on a 0-8 or 0-9-1 connection, from the units that were observed.

Deliveries are settled by acks, rejects and recover; publishes by confirms, returns and transactions; what nothing
settles is settled when sent. 0-9-1 sections 1.8 (basic) and 1.9 (tx), RabbitMQ's publisher confirms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ...errors import CodecError
from ...versions import Version
from ..codec.table import Table
from ..codec.table_rules import RABBIT
from ..model import hints
from ..model.states import Connection as State
from .history_messages import MESSAGE_HANDLERS, Messages
from .history_state import ChannelHistory, Transaction, flush, forget_return, open_messages

if TYPE_CHECKING:
    from ...lifecycle import MessageRecord
    from ...limits import Limits
    from ...observer import Observed

_NONE: Final[Messages] = ()

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


class ClassicHistory:
    """Folds the units of one connection. `facts` has what `ConnectionRecord` tells."""

    __slots__ = ("channels", "facts", "limits", "phase", "version")

    def __init__(self, version: Version, limits: Limits) -> None:
        self.version = version
        self.limits = limits
        self.facts: dict[str, Any] = {"hint": ""}
        self.channels: dict[int, ChannelHistory] = {}
        self.phase = State.START

    def observe(self, event: Observed) -> Messages:
        """Take a unit; give the messages whose outcome is known now."""
        handler = _HANDLERS.get(event.event)
        if handler is None or event.unit == "partial":
            return _NONE
        if event.content.__class__ is bytes and event.unit != "header":
            return _NONE
        done = handler(self, event, event.content)
        if len(self.channels) > self.limits.channels:
            done = [*done, *flush(self.channels.pop(next(iter(self.channels))))]
        return done

    def missed(self, sender: Side) -> Messages:
        """Something that `sender` sent wasn't seen: counts and transactions aren't sure any more."""
        done: list[MessageRecord] = []
        for channel in self.channels.values():
            if sender is Side.CLIENT:
                channel.sure = False
            transactions = [transaction for _, transaction in channel.ending]
            for transaction in (*transactions, channel.transaction):
                done += open_messages(transaction)
            for message in done:
                forget_return(channel, message)
            channel.ending.clear()
            channel.transaction = Transaction()
        return done

    def finish(self) -> Messages:
        """Give the messages that are open."""
        done: list[MessageRecord] = []
        for channel in self.channels.values():
            done += flush(channel)
        self.channels = {}
        if "closed_by" not in self.facts and not self.facts["hint"]:
            self.facts["hint"] = hints.of_state(self.phase)
        return done

    def channel(self, number: int) -> ChannelHistory:
        """The channel, assumed to be open when its begin wasn't seen."""
        channel = self.channels.get(number)
        if channel is None:
            channel = self.channels[number] = ChannelHistory(False)
        return channel


# The connection.


def _header(history: ClassicHistory, event: Observed, header: bytes) -> Messages:
    if event.sender is Side.SERVER:
        offered = "-".join([str(octet) for octet in header[4:]])
        history.facts.update(
            closed_by="server",
            close_text=f"the server answered with its own protocol header, {offered}",
            hint="connect with the version the server offers",
        )
    history.phase = State.HEADER_SENT
    return _NONE


def _peer(history: ClassicHistory, side: str, properties: Any) -> None:
    for name in ("product", "version"):
        try:
            value = properties.get(name)
        except CodecError:
            return
        if isinstance(value, (str, bytes)):
            text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
            history.facts[f"{side}_{name}"] = text


def _start(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    history.phase = _PHASES[event.event]
    _peer(history, "server", method.server_properties)
    return _NONE


def _start_ok(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    history.phase = _PHASES[event.event]
    _peer(history, "client", method.client_properties)
    history.facts["mechanism"] = method.mechanism
    user = _user(method.mechanism, method.response)
    if user is not None:
        history.facts["user"] = user
    return _NONE


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


def _phase(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    history.phase = _PHASES[event.event]
    if event.event == "connection.tune-ok":
        for name in ("channel_max", "frame_max", "heartbeat"):
            history.facts[name] = getattr(method, name)
    elif event.event == "connection.open":
        history.facts["vhost"] = method.virtual_host
    return _NONE


def _connection_close(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    if "closed_by" not in history.facts:
        history.facts.update(
            closed_by=event.sender.value,
            close_code=method.reply_code,
            close_text=method.reply_text,
            hint=hints.for_close(method.reply_code, method.reply_text),
        )
    return _NONE


def _redirect(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    history.facts.update(closed_by="server", close_text=f"redirected to {method.host}")
    return _NONE


# Channels.


def _channel_open(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    before = history.channels.get(event.channel)
    history.channels[event.channel] = ChannelHistory(True)
    return flush(before) if before is not None else _NONE


def _channel_close(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    if event.sender is Side.CLIENT:
        return _NONE
    # The server takes nothing more on this channel, whatever the client sends before it knows.
    channel.dead = True
    return flush(channel)


def _channel_close_ok(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channels.pop(event.channel, None)
    return flush(channel) if channel is not None else _NONE


def _declare(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    if method.queue:
        history.channel(event.channel).queue = method.queue
    return _NONE


_HANDLERS: Final[dict[str, Callable[[ClassicHistory, Observed, Any], Messages]]] = {
    "protocol-header": _header,
    "connection.start": _start,
    "connection.start-ok": _start_ok,
    "connection.secure-ok": _phase,
    "connection.tune-ok": _phase,
    "connection.open": _phase,
    "connection.open-ok": _phase,
    "connection.close": _connection_close,
    "connection.redirect": _redirect,
    "channel.open": _channel_open,
    "channel.close": _channel_close,
    "channel.close-ok": _channel_close_ok,
    "queue.declare": _declare,
    "queue.declare-ok": _declare,
    **MESSAGE_HANDLERS,
}
"""What a unit means to messages and connection, by its name."""
