"""ZeroTenHistory: what becomes of the messages on a connection of 0-10, from the units that were observed.

The client's messages are settled when they are completed, by an exception, or with their transaction; the server's
by message.accept, release and reject, or file.ack and reject, or when they are completed where nothing else was agreed
(part 1 sections 3.2 and 10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import PROTOCOL_HEADER
from .history_classes import CLASS_HANDLERS
from .history_messages import MESSAGE_HANDLERS
from .history_state import NONE, SessionHistory, Xid
from .history_transactions import TRANSACTION_HANDLERS, drop_branch

if TYPE_CHECKING:
    from ..._core.observation import Observed
    from ..._core.outcomes import MessageRecord
    from ...limits import Limits
    from ...versions import Version

    Messages = Sequence[MessageRecord]

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


class ZeroTenHistory:
    """Folds the units of one connection. `facts` has what `ConnectionRecord` tells; `sessions` are by channel.

    `dropped` are messages of sessions that aren't kept, as there are more of them than channels. `branches` are the
    sessions that have parts of a branch, which may be gone; `branched` is at least the number of messages in them.
    `resolving` are name and branch of the dtx.prepare, dtx.commit and dtx.rollback without a result, by their units.
    """

    __slots__ = (
        "branched", "branches", "dropped", "facts", "limits", "phase", "resolving", "sessions", "version",
    )  # fmt: skip

    def __init__(self, version: Version, limits: Limits) -> None:
        self.version = version
        self.limits = limits
        self.facts: dict[str, Any] = {"hint": ""}
        self.sessions: dict[int, SessionHistory] = {}
        self.phase = _NOTHING
        self.dropped: list[MessageRecord] = []
        self.branches: dict[Xid, list[SessionHistory]] = {}
        self.branched = 0
        self.resolving: dict[int, tuple[str, Xid]] = {}

    def observe(self, event: Observed) -> Messages:
        """Take a unit; give the messages whose outcome is known now."""
        handler = _HANDLERS.get(event.event)
        if handler is None or event.unit == "partial":
            return NONE
        if event.content.__class__ is bytes and event.unit != "header":
            return NONE
        done = handler(self, event, event.content)
        if self.dropped:
            done = [*self.dropped, *done]
            self.dropped = []
        return done

    def missed(self, sender: Side) -> Messages:
        """Something that `sender` sent wasn't seen: what belongs to a transaction isn't sure any more."""
        done: list[MessageRecord] = []
        if sender is Side.CLIENT:
            for books in self.sessions.values():
                done += books.end_transactions()
                books.unsure = books.distributed
                books.branch = None
            done += self._end_branches()
        return done

    def finish(self) -> Messages:
        """Give the messages that are open."""
        done: list[MessageRecord] = []
        for books in self.sessions.values():
            done += books.flush()
        self.sessions = {}
        done += self._end_branches()
        if "closed_by" not in self.facts and not self.facts["hint"]:
            self.facts["hint"] = _HINTS.get(self.phase, "")
        return done

    def _end_branches(self) -> list[MessageRecord]:
        """Nobody will say how the branches end; their messages."""
        done: list[MessageRecord] = []
        for xid in list(self.branches):
            done += drop_branch(self, xid)
        self.branched = 0
        return done

    def session(self, channel: int) -> SessionHistory:
        """The session on a channel, assumed to be attached when that wasn't seen."""
        books = self.sessions.get(channel)
        if books is None:
            books = self.keep(channel, SessionHistory(None))
        return books

    def keep(self, channel: int, books: SessionHistory) -> SessionHistory:
        """A session begins on a channel."""
        self.sessions[channel] = books
        if len(self.sessions) > self.limits.channels:
            oldest = next(iter(self.sessions))
            self.dropped += self.sessions.pop(oldest).flush()
        return books


# The connection.


def _header(history: ZeroTenHistory, event: Observed, header: bytes) -> Messages:
    if event.sender is Side.SERVER and header != PROTOCOL_HEADER:
        offered = "-".join([str(octet) for octet in header[4:]])
        history.facts.update(
            closed_by="server",
            close_text=f"the server answered with its own protocol header, {offered}",
            hint="connect with the version the server offers",
        )
    history.phase = max(history.phase, _HEADERS)
    return NONE


def _peer(history: ZeroTenHistory, side: str, properties: Any) -> None:
    """Product and version; Qpid's clients have the latter under a name of their own."""
    for name in ("product", "qpid.client_version", "version"):
        try:
            value = None if properties is None else properties.get(name)
        except CodecError:
            return
        if isinstance(value, (str, bytes)):
            text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
            history.facts[f"{side}_{'product' if name == 'product' else 'version'}"] = text


def _start(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    _peer(history, "server", control.server_properties)
    return _phase(history, event, control)


def _start_ok(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    _peer(history, "client", control.client_properties)
    history.facts["mechanism"] = control.mechanism
    parts = (control.response or b"").split(b"\0")
    if control.mechanism == "PLAIN" and len(parts) == 3:
        history.facts["user"] = parts[1].decode("utf-8", "surrogateescape")
    return _phase(history, event, control)


def _phase(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    history.phase = _PHASES[event.event]
    facts = history.facts
    if event.event == "connection.tune-ok":
        facts["channel_max"] = control.channel_max
        facts["heartbeat"] = control.heartbeat or 0
        if control.max_frame_size is not None:
            facts["frame_max"] = control.max_frame_size
    elif event.event == "connection.open":
        facts["vhost"] = control.virtual_host
    return NONE


def _tune(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    """What the server asks for; a client that says nothing of the frames' size takes it."""
    history.facts["frame_max"] = control.max_frame_size
    return NONE


def _connection_close(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    if "closed_by" not in history.facts:
        code = control.reply_code
        refused = event.sender is Side.SERVER and history.phase == _LOGIN
        history.facts.update(
            closed_by=event.sender.value,
            close_code=code,
            close_text=control.reply_text,
            hint=_LOGIN_FAILED if refused else _BY_CODE.get(code, ""),
        )
    return NONE


def _redirect(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    history.facts.update(closed_by="server", close_text=f"redirected to {control.host}")
    return NONE


# Sessions.


def _attach(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    before = history.sessions.get(event.channel)
    if before is not None and before.name == control.name:
        return NONE
    history.keep(event.channel, SessionHistory(control.name))
    return before.flush() if before is not None else NONE


def _detached(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    books = history.sessions.pop(event.channel, None)
    return books.flush() if books is not None else NONE


_HANDLERS: Final[dict[str, Callable[[ZeroTenHistory, Observed, Any], Messages]]] = {
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
    "session.attach": _attach,
    "session.attached": _attach,
    "session.detached": _detached,
    **MESSAGE_HANDLERS,
    **CLASS_HANDLERS,
    **TRANSACTION_HANDLERS,
}
"""What a unit means to messages and connection, by its name."""
