"""Records of what an observed connection did: its messages with their outcomes, and the connection itself.

`amqp_sansio.recorded.lifecycle` has the public names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, SupportsIndex, TypeAlias

from .._core.hints import HUNG_UP, LEFT, header_numbers
from .._ground.record import record
from ..endpoint import Side
from ..errors import CodecError
from ..versions import AMQP_0_10, AMQP_1_0
from .message_columns import MessageColumns
from .settlements import AT_ONCE, ENDED, SETTLED, STAGED, TOLD

if TYPE_CHECKING:
    from ..limits import Limits
    from ..versions import Version
    from .observation import Observed, Skipped


class MessageRecord(MessageColumns):
    """One message on a connection, and its outcome.

    `kind` is "publish" (of the client), "deliver", "get" (a fetched message) or "return". `seq`, `sender`, `channel`
    and `ts_ns` (nanoseconds) are those of its unit, which in 1.0 is its last transfer. `tag` is the delivery tag, for a
    publish its number if the server confirms, in 0-10 the command id, in 1.0 the delivery-id. `queue` is the source of
    a delivery, if the connection shows it, in 0-10 `address` too; in 1.0 `address` is the node at the server and
    `routing_key` the message's subject. `link` is the link's name, in 0-10 the session's. `properties` are the
    message's, decoded on access. `body_sha256` is the body's digest if the observer computed one.

    `outcome` is "accepted", "rejected", "released" (returned, or rolled back), "modified", "returned" or "settled" (no
    settlement was needed; in 1.0 also: settled without a stated outcome); None if it was open at the end. `settled_ns`
    and `settled_seq` are time and unit of the settlement, both None if none was needed or none came: an outcome of 1.0
    that was stated but never settled has neither. `code` and `text` are those of a return, `text` also that of the
    error in a rejection of 1.0. `ended_ns` is when its channel, session, link or connection ended while it was open;
    None if that wasn't seen. docs/tables.md has the rules of each version.
    """

    __slots__ = (
        "_columns",
        "_event",
        "body_sha256",
        "body_size",
        "channel",
        "ended_ns",
        "outcome",
        "properties",
        "sender",
        "seq",
        "settled_ns",
        "settled_seq",
        "ts_ns",
        "version",
    )

    _event: Observed | None
    _columns: Columns | None
    version: Version
    seq: int
    sender: Side
    ts_ns: int
    channel: int
    properties: Any
    body_size: int | None
    body_sha256: str | None
    outcome: str | None
    settled_ns: int | None
    settled_seq: int | None
    ended_ns: int | None

    def read(self) -> None:
        """Read the columns of the unit, which isn't held any longer; this record's are read."""

    def settle(self, outcome: str, by: Observed | None = None) -> None:
        """Set the message's outcome and the unit that states it; for this package's own use."""
        self.outcome = outcome
        if by is not None:
            self.settled_ns = by.at_ns
            self.settled_seq = by.seq

    def explain(self, code: int | None, text: str | None) -> None:
        """Set code and text of what became of the message; for the ledger only."""
        self.read()
        self.code = code
        self.text = text

    def bring(self, content: tuple[Any, int | None, str | None] | None) -> None:
        """Set properties, size and digest of a content that other units brought; for this package's own use."""
        self.read()
        if content is not None:
            self.properties, self.body_size, self.body_sha256 = content

    @property
    def latency_ns(self) -> int | None:
        """Nanoseconds from the message to its settlement."""
        return None if self.settled_ns is None else self.settled_ns - self.ts_ns

    @property
    def message_id(self) -> str | None:
        """The property as text; None if it is absent or unreadable.

        1.0 allows four types: numbers and UUIDs become text, and so do octets that are no text ("0x01ff").
        """
        return _text_of(self._property("message_id"))

    @property
    def correlation_id(self) -> str | None:
        """As `message_id`."""
        return _text_of(self._property("correlation_id"))

    @property
    def content_type(self) -> str | None:
        """As `message_id`."""
        return _text_of(self._property("content_type"))

    @property
    def reply_to(self) -> str | None:
        """As `message_id`; in 0-10 "exchange/routing-key", or the part of it that is present."""
        value = self._property("reply_to")
        if self.version is AMQP_0_10 and value is not None and not isinstance(value, str):
            parts = [part for part in (value.exchange, value.routing_key) if part]
            return "/".join(parts) if parts else None
        return _text_of(value)

    @property
    def headers(self) -> Mapping[str, Any] | None:
        """The headers, in 1.0 the application properties; None if they are absent or unreadable."""
        name = "application_properties" if self.version is AMQP_1_0 else "headers"
        value: Mapping[str, Any] | None = self._property(name)
        if value is not None and self.version is AMQP_1_0 and not value:
            return None
        return value

    def _property(self, name: str) -> Any:
        try:
            return getattr(self.properties, name, None)
        except CodecError:
            return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MessageRecord):
            return NotImplemented
        self.read()
        other.read()
        return all([getattr(self, name) == getattr(other, name) for name in _ATTRIBUTES])

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> object:
        return None, {name: getattr(self, name) for name in _ATTRIBUTES}

    def __repr__(self) -> str:
        return (
            f"<MessageRecord {self.kind} {self.seq} on channel {self.channel}, tag {self.tag}, "
            f"{self.body_size} octets: {self.outcome}>"
        )


_ATTRIBUTES: Final = (*MessageRecord.__slots__, *MessageColumns.__slots__)


class _UnreadRecord(MessageRecord):
    """A record that holds its unit until a column is asked for. Then all are read, and its class is the plain one: each
    attribute of a class with `__getattr__` takes several times as long.
    """

    __slots__ = ()

    def __init__(self, event: Observed, version: Version, columns: Columns) -> None:
        self.version = version
        # What became of the message; None until a unit says it.
        self.outcome = None
        # When that was settled, in nanoseconds since 1970.
        self.settled_ns = None
        # The number of the unit that settled it.
        self.settled_seq = None
        # When its channel, session, link or connection ended, if the message was still open then.
        self.ended_ns = None
        # The unit; None once the columns are read.
        self._event = event
        # Reads the columns from the unit, as its version and method have them.
        self._columns = columns
        if (event.body_size or 0) > _SMALL:
            # Nobody is to hold a large body for it.
            self.read()

    def read(self) -> None:
        """Read the columns of the unit, which isn't held any longer."""
        event: Any = self._event
        columns: Any = self._columns
        record: Any = self
        record.__class__ = MessageRecord
        self._event = None
        self._columns = None
        self.seq = event.seq
        self.sender = event.sender
        self.ts_ns = event.at_ns
        self.channel = event.channel
        self.properties = event.properties
        self.body_size = event.body_size
        self.body_sha256 = event.body_sha256
        columns(self, event, event.content)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            self.read()
            return getattr(self, name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        self.read()
        return self.__reduce_ex__(protocol)


_SMALL: Final = 1024
"""A unit whose message has at most so many octets is held until its columns are asked for."""
Columns: TypeAlias = Callable[[MessageRecord, Any, Any], None]
"""Fills the columns of a message from its unit and what the unit holds."""


def _text_of(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value if value is None else str(value)
    if isinstance(value, bytes):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = ""
        return text if text.isprintable() and text else f"0x{value.hex()}"
    return str(int(value)) if isinstance(value, int) else str(value)


@record
class ConnectionRecord:
    """The connection as the protocol shows it.

    `close_code` and `close_text` are those of the close, `closed_by` its sender: "client" or "server", None if nobody
    closed it. 1.0 has no codes: `close_condition` is its error's symbol, and `close_text` begins with it. `hint` is the
    usual cause of such an end, "" if none is known. `close_how` is the name of the unit that says so, `close_ns` its
    time.

    `channel_max`, `frame_max` (octets) and `heartbeat` (seconds) are the negotiated values. In 1.0 each side announces
    its own: they are the smaller ones, the idle time-out in whole seconds, rounded up; 0 is none. `client_timeout` and
    `server_timeout` are the seconds that this side may be silent for, None without limit. `container` is the client's
    container-id, `server_container` the server's.

    `connection_name` is the client's own name for the connection, from its properties (`connection_name`; in 0-10 else
    `qpid.client_process`); in 1.0, without one, its container-id.
    """

    version: Version | None = None
    dialect: str = ""
    client: str | None = None
    server: str | None = None
    identified_by: str = ""
    client_product: str | None = None
    client_version: str | None = None
    server_product: str | None = None
    server_version: str | None = None
    mechanism: str | None = None
    user: str | None = None
    vhost: str | None = None
    container: str | None = None
    channel_max: int | None = None
    frame_max: int | None = None
    heartbeat: int | None = None
    closed_by: str | None = None
    close_code: int | None = None
    close_text: str | None = None
    hint: str = ""
    close_condition: str | None = None
    server_container: str | None = None
    connection_name: str | None = None
    client_timeout: float | None = None
    server_timeout: float | None = None
    close_how: str = ""
    close_ns: int | None = None


def refused_version(
    header: bytes, at_ns: int, hint: str = "connect with the version the server offers"
) -> dict[str, Any]:
    """The facts of a server that answers with another protocol header than it was asked for."""
    text = f"the server answered with its own protocol header, {header_numbers(header)}"
    return {"closed_by": "server", "close_text": text, "hint": hint, "close_how": "protocol-header", "close_ns": at_ns}


class Records:
    """A version's reading of units: the columns of messages, and the facts of the connection.

    `messages` has the columns of units that are messages, by their names; `notes` reads those that say something of the
    connection into `facts`, by the names of `ConnectionRecord`. With `needs_context` only a unit that has a context is
    a message. `peer_names` are the properties in which a peer names itself, `own_names` those in which a client names
    the connection, the best first. `counted` is the number of messages.
    """

    __slots__ = ("counted", "facts", "version")

    messages: ClassVar[Mapping[str, Columns]] = {}
    notes: ClassVar[Mapping[str, Callable[[Any, Observed, Any], None]]] = {}
    needs_context: ClassVar = False
    peer_names: ClassVar[Mapping[str, str]] = {"product": "product", "version": "version"}
    own_names: ClassVar[tuple[str, ...]] = ("connection_name",)

    def __init__(self, version: Version) -> None:
        # Whose units these are.
        self.version = version
        # What is known of the connection by now, by the names of `ConnectionRecord`; later units overwrite earlier
        # ones.
        self.facts: dict[str, Any] = {"hint": ""}
        # Messages so far.
        self.counted = 0

    def take(self, event: Observed) -> Columns | None:
        """Take a unit; the columns of one that is a message."""
        name = event.event
        columns = self.messages.get(name)
        if columns is None:
            if name in self.notes:
                self.note(event)
        elif (
            event.unit in _WHOLE
            and event.content.__class__ is not bytes
            and not (self.needs_context and event.context is None)
        ):
            self.counted += 1
            return columns
        return None

    def note(self, event: Observed) -> None:
        """Take a unit that says something of the connection."""
        whole = event.content.__class__ is not bytes and event.unit != "partial"
        if whole or event.unit == "header":
            self.notes[event.event](self, event, event.content)

    def explain(self, event: Observed, unit: int) -> tuple[int | None, str | None] | None:
        """Code and text of why the message of `unit` is returned or rejected; None: those before hold."""
        return getattr(event.content, "reply_code", None), getattr(event.content, "reply_text", None)

    def hint_of_loss(self, by: str) -> str:
        """The usual cause of a connection that this side ends here without a close."""
        raise NotImplementedError

    def name_peer(self, event: Observed, properties: Mapping[str, Any] | None) -> None:
        """Take the sender's product and version from its properties, and the name of a client's connection."""
        side = event.sender.value
        facts = [(name, f"{side}_{fact}") for name, fact in self.peer_names.items()]
        if side == "client":
            facts += [(name, "connection_name") for name in reversed(self.own_names)]
        for name, fact in facts:
            try:
                value = None if properties is None else properties.get(name)
            except CodecError:
                return
            if isinstance(value, (str, bytes)):
                self.facts[fact] = str(value) if isinstance(value, str) else value.decode("utf-8", "surrogateescape")

    def name_user(self, mechanism: str | None, response: bytes | None) -> None:
        """Take the mechanism, and of a first response of PLAIN the user's name; never a secret."""
        self.facts["mechanism"] = None if mechanism is None else str(mechanism)
        fields = (response or b"").split(b"\0")
        if mechanism == "PLAIN" and len(fields) == 3:
            self.facts["user"] = fields[1].decode("utf-8", "surrogateescape")


class ConnectionClassRecords(Records):
    """Reads the class connection, which 0-8, 0-9-1 and 0-10 have in common."""

    __slots__ = ("phase",)

    own_header: ClassVar[bytes] = b""
    """The header of a server that takes the version; b"" where only one that refuses it sends a header."""

    def __init__(self, version: Version) -> None:
        super().__init__(version)
        # How far the opening has come ("header", "login", "tuned" and so on), which the hint of an early end depends
        # on.
        self.phase: str | None = None

    def hint_of_loss(self, by: str) -> str:
        """The usual cause of a connection that this side ends in this phase of its opening."""
        return (HUNG_UP if by == "server" else LEFT).get(self.phase or "", "")

    def hint_of_close(self, event: Observed, close: Any) -> str:
        """The usual cause behind a peer's close."""
        raise NotImplementedError

    def _header(self, event: Observed, header: bytes) -> None:
        if self.phase is None:
            self.phase = "header"
        if event.sender is Side.SERVER and header != self.own_header:
            self.facts.update(refused_version(header, event.at_ns))

    def _start(self, event: Observed, method: Any) -> None:
        self.phase = "login"
        self.name_peer(event, method.server_properties)

    def _start_ok(self, event: Observed, method: Any) -> None:
        self.phase = "login"
        self.name_peer(event, method.client_properties)
        self.name_user(method.mechanism, method.response)

    def _secure_ok(self, event: Observed, method: Any) -> None:
        self.phase = "login"

    def _tune_ok(self, event: Observed, method: Any) -> None:
        self.phase = "tuned"
        heartbeat = method.heartbeat or 0
        limit = float(heartbeat) if heartbeat else None
        self.facts.update(
            channel_max=method.channel_max, heartbeat=heartbeat, client_timeout=limit, server_timeout=limit
        )

    def _open(self, event: Observed, method: Any) -> None:
        self.phase = "tuned"
        self.facts["vhost"] = method.virtual_host

    def _open_ok(self, event: Observed, method: Any) -> None:
        self.phase = "open"

    def _close(self, event: Observed, method: Any) -> None:
        if "closed_by" not in self.facts:
            self.facts.update(
                closed_by=event.sender.value,
                close_code=method.reply_code,
                close_text=method.reply_text,
                hint=self.hint_of_close(event, method),
                close_how=event.event,
                close_ns=event.at_ns,
            )

    def _redirect(self, event: Observed, method: Any) -> None:
        self.facts.update(
            closed_by="server", close_text=f"redirected to {method.host}", close_how=event.event, close_ns=event.at_ns
        )

    notes: ClassVar = {
        "protocol-header": _header,
        "connection.start": _start,
        "connection.start-ok": _start_ok,
        "connection.secure-ok": _secure_ok,
        "connection.tune-ok": _tune_ok,
        "connection.open": _open,
        "connection.open-ok": _open_ok,
        "connection.close": _close,
        "connection.redirect": _redirect,
    }


_NONE: Final[Sequence[MessageRecord]] = ()
ENDING: Final = frozenset(
    {
        *("channel.open", "channel.close", "channel.close-ok"),
        *("session.attach", "session.attached", "session.detach", "session.detached"),
        *("begin", "end", "attach", "detach"),
    }
)
"""Units that end a channel, session or link, or begin one anew: only these give `ended_ns` without an outcome."""
_EXPLAINED: Final = frozenset({"returned", "rejected"})
_WHOLE: Final = ("content", "method")


class OutcomeLedger:
    """Holds the messages of a connection until units say what becomes of them.

    As many are held as `limits` lets an observer know of, which itself says when it forgets one. Beyond that the oldest
    comes out with the outcome that was told of it. So do the oldest with large properties, before these are more
    octets than `limits.bodies`.
    """

    __slots__ = ("_large", "_most", "_most_octets", "_octets", "_open")

    def __init__(self, limits: Limits) -> None:
        # The messages whose outcome isn't known, by the number of their unit, the oldest first.
        self._open: dict[int, MessageRecord] = {}
        # The octets beside the body of those that have many, by unit; some may have ended.
        self._large: dict[int, int] = {}
        # The sum of these; it is counted anew when it passes the bound.
        self._octets = 0
        # Above so many octets the oldest of these are given out.
        self._most_octets = limits.bodies
        # Above so many messages the oldest is given out.
        self._most = limits.channels * (limits.unsettled + limits.unconfirmed)

    @property
    def held(self) -> int:
        """Messages that are held."""
        return len(self._open)

    @property
    def open_messages(self) -> Sequence[MessageRecord]:
        """Those messages, oldest first."""
        return [*self._open.values()]

    def take(self, event: Observed, records: Records) -> Sequence[MessageRecord]:
        """Take a unit; give the messages whose outcome is known now."""
        settles = event.settles
        columns = records.take(event)
        if columns is not None:
            message: MessageRecord = _UnreadRecord(event, records.version, columns)
            if settles == AT_ONCE:
                message.outcome = "settled"
                return (message,)
            open_ = self._open
            open_[event.seq] = message
            if event.size - (event.body_size or 0) > _SMALL or len(open_) > self._most:
                return [*self._bound(event), *self._settle(event, records)]
        if not settles:
            return _NONE
        unit, outcome, how = settles[0]
        if how != SETTLED or outcome in _EXPLAINED or len(settles) > 1:
            return self._settle(event, records)
        # One settlement, as of one delivery.
        settled = self._open.pop(event.seq if unit is None else unit, None)
        if settled is None:
            return _NONE
        if settled.outcome in _EXPLAINED:
            settled.explain(None, None)
        settled.outcome = outcome
        settled.settled_ns = event.at_ns
        settled.settled_seq = event.seq
        return (settled,)

    def _bound(self, event: Observed) -> list[MessageRecord]:
        """Give the messages that are too much with the one of this unit."""
        done = self._weigh(event) if event.size - (event.body_size or 0) > _SMALL else []
        if len(self._open) > self._most:
            done.append(self._open.pop(next(iter(self._open))))
        return done

    def _weigh(self, event: Observed) -> list[MessageRecord]:
        """Count a message with large properties; give those that are too much.

        Settled ones are counted until the limit is reached. Then half of it is made free, so that this costs little.
        """
        octets = self._large[event.seq] = event.size - (event.body_size or 0)
        self._octets += octets
        if self._octets <= self._most_octets:
            return []
        open_ = self._open
        large = {unit: size for unit, size in self._large.items() if unit in open_}
        octets = sum(large.values())
        done: list[MessageRecord] = []
        while octets > self._most_octets // 2:
            unit = next(iter(large))
            octets -= large.pop(unit)
            done.append(open_.pop(unit))
        self._large = large
        self._octets = octets
        return done

    def _settle(self, event: Observed, records: Records) -> list[MessageRecord]:
        open_ = self._open
        done: list[MessageRecord] = []
        for unit, outcome, how in event.settles:
            if unit is None:
                unit = event.seq
            stays = how in (TOLD, STAGED)
            message = open_.get(unit) if stays else open_.pop(unit, None)
            if message is None:
                continue
            if how == STAGED:
                message.bring((event.properties, event.body_size, event.body_sha256))
                continue
            if not stays:
                done.append(message)
            if how == ENDED and outcome is None:
                if message.outcome is None and event.event in ENDING:
                    message.ended_ns = event.at_ns
                continue
            why = records.explain(event, unit) if outcome in _EXPLAINED else (None, None)
            if why is not None and (outcome in _EXPLAINED or message.outcome in _EXPLAINED):
                message.explain(*why)
            message.outcome = outcome
            if how == SETTLED:
                message.settled_ns = event.at_ns
                message.settled_seq = event.seq
        return done

    def lose(self, event: Skipped) -> Sequence[MessageRecord]:
        """Octets became no unit; give the messages whose end can't be told for it."""
        found: list[MessageRecord] = []
        for unit, outcome, how in event.settles:
            message = None if unit is None else self._open.get(unit)
            if message is None or unit is None:
                continue
            if how == TOLD:
                message.outcome = outcome
            else:
                found.append(self._open.pop(unit))
        return found

    def finish(self) -> Sequence[MessageRecord]:
        """Nothing more comes; give the messages that are open."""
        done = [*self._open.values()]
        self._open = {}
        return done
