"""Lifecycle: folds what an observer saw of one connection into records of its messages and of the connection itself.

What settles a message is each version's own matter (0-9-1 sections 1.8 and 1.9); the records are the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from ._core.record import record
from .endpoint import Side
from .errors import CodecError, LocalProtocolError
from .limits import Limits
from .negotiation import version_of
from .observer import Identified, Observed, Skipped
from .versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from .observer import ObserverEvent

_SCHEMA: Final = 1


class MessageRecord:
    """One message that moved on a connection, and what became of it.

    `kind` is "publish" (of the client), "deliver", "get" (a message that was asked for) or "return". `seq`,
    `sender`, `channel` and `ts_ns` (nanoseconds) are those of its unit, which in 1.0 is its last transfer. `tag` is the
    delivery tag, for a publish its number where the server confirms, in 0-10 the command id, in 1.0 the delivery-id.
    `queue` is where a delivery comes from, if the connection says so, in 0-10 `address` too; in 1.0 `address` is the
    node at the server and `routing_key` the message's subject. `link` is the link's name, in 0-10 the session's.
    `properties` are the message's, decoded on access.
    `body_sha256` is the body's digest where the observer made one.

    `outcome` is "accepted", "rejected", "released" (given back, or rolled back), "modified", "returned" or "settled"
    (nothing had to settle it; in 1.0 also: settled without a word on its outcome); None when it was open at the end.
    `settled_ns` and `settled_seq` are time and unit of what settled it, both None when nothing had to or nothing did:
    an outcome of 1.0 that was told and never settled has neither. `code` and `text` are those of a return, `text` also
    that of the error in a rejection of 1.0. `ended_ns` is when its channel, session, link or connection ended while it
    was open; None where that wasn't seen. docs/tables.md has the rules of each version.
    """

    __slots__ = (
        "address", "body_sha256", "body_size", "channel", "code", "consumer_tag", "ended_ns", "exchange", "kind",
        "link", "mandatory", "outcome", "properties", "queue", "redelivered", "routing_key", "sender", "seq",
        "settled_ns", "settled_seq", "tag", "text", "ts_ns", "version",
    )  # fmt: skip

    def __init__(
        self,
        event: Observed,
        version: Version,
        kind: str,
        *,
        exchange: str | None = None,
        routing_key: str | None = None,
        address: str | None = None,
        tag: int | None = None,
        redelivered: bool | None = None,
        mandatory: bool | None = None,
        queue: str | None = None,
        consumer_tag: str | None = None,
        code: int | None = None,
        text: str | None = None,
        link: str | None = None,
    ) -> None:
        self.version = version
        self.seq = event.seq
        self.sender = event.sender
        self.ts_ns = event.at_ns
        self.channel = event.channel
        self.kind = kind
        self.exchange = exchange
        self.routing_key = routing_key
        self.address = address
        self.tag = tag
        self.redelivered = redelivered
        self.mandatory = mandatory
        self.queue = queue
        self.consumer_tag = consumer_tag
        self.properties = event.properties
        self.body_size = event.body_size
        self.body_sha256 = event.body_sha256
        self.code = code
        self.text = text
        self.link = link
        self.outcome: str | None = None
        self.settled_ns: int | None = None
        self.settled_seq: int | None = None
        self.ended_ns: int | None = None

    def settle(self, outcome: str, by: Observed | None = None) -> None:
        """Say what became of the message, and which unit says so; for the folding code only."""
        self.outcome = outcome
        if by is not None:
            self.settled_ns = by.at_ns
            self.settled_seq = by.seq

    @property
    def latency_ns(self) -> int | None:
        """From the message to what settled it, in nanoseconds."""
        return None if self.settled_ns is None else self.settled_ns - self.ts_ns

    @property
    def message_id(self) -> str | None:
        """The property as text; None when it's absent or can't be read.

        In 1.0 it can be of four types: numbers and UUIDs are written out, as are octets that are no text ("0x01ff").
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
        """As `message_id`; in 0-10 "exchange/routing-key", or what there is of both."""
        value = self._property("reply_to")
        if self.version is AMQP_0_10 and value is not None and not isinstance(value, str):
            parts = [part for part in (value.exchange, value.routing_key) if part]
            return "/".join(parts) if parts else None
        return _text_of(value)

    @property
    def headers(self) -> Mapping[str, Any] | None:
        """The headers, in 1.0 the application properties; None when there are none or they can't be read."""
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
        return all([getattr(self, name) == getattr(other, name) for name in self.__slots__])

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"<MessageRecord {self.kind} {self.seq} on channel {self.channel}, tag {self.tag}, "
            f"{self.body_size} octets: {self.outcome}>"
        )


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
    """What the protocol said about a connection.

    `close_code` and `close_text` are those of the close, `closed_by` who sent it: "client" or "server", None when
    nobody did. 1.0 has no codes: `close_condition` is its error's symbol, and `close_text` begins with it.
    `hint` is the usual cause of such an end, "" when none is known.

    `channel_max`, `frame_max` (octets) and `heartbeat` (seconds) are what was agreed. In 1.0 each side tells its
    own: they are the smaller ones, the idle time-out in whole seconds, a part of a second being one; 0 is none.
    `container` is the client's container-id, `server_container` the server's.
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


class History(Protocol):
    """What folds the units of one version."""

    version: Version

    def observe(self, event: Observed) -> Sequence[MessageRecord]:
        """Take a unit; give the messages whose outcome is known now."""
        ...

    def missed(self, sender: Side) -> Sequence[MessageRecord]:
        """Something that `sender` sent wasn't seen."""
        ...

    def finish(self) -> Sequence[MessageRecord]:
        """Nothing more comes; give the messages that are open."""
        ...

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the connection, by the names of `ConnectionRecord`."""
        ...


def _classic(version: Version, limits: Limits) -> History:
    from ._classic.observer.history import ClassicHistory

    return ClassicHistory(version, limits)


def _zero_ten(version: Version, limits: Limits) -> History:
    from .amqp_0_10.observer.history import ZeroTenHistory

    return ZeroTenHistory(version, limits)


def _one_zero(version: Version, limits: Limits) -> History:
    from .amqp_1_0.observer.history import OneZeroHistory

    return OneZeroHistory(version, limits)


_HISTORIES: Final[Mapping[Version, Callable[[Version, Limits], History]]] = {
    AMQP_0_8: _classic,
    AMQP_0_9_1: _classic,
    AMQP_0_10: _zero_ten,
    AMQP_1_0: _one_zero,
}
_NONE: Final[Sequence[MessageRecord]] = ()
_ENDING: Final = frozenset(
    {
        *("channel.open", "channel.close", "channel.close-ok"),
        *("session.attach", "session.attached", "session.detach", "session.detached"),
        *("begin", "end", "attach", "detach"),
    }
)
"""Units that end a channel, session or link, or begin one anew. What comes out open at others is merely forgotten."""


class Lifecycle:
    """The messages of one connection, from the events of its observer, in order.

    A message comes out once, when its outcome is known; those still open come out of `finish`. At most what
    `limits` allows of each kind is held for a channel; beyond it the oldest comes out with no outcome. Picklable.

    >>> from amqp_sansio import NEED_DATA, Observer
    >>> observer, lifecycle = Observer(client="c"), Lifecycle()
    >>> observer.receive_data(b"AMQP\\x00\\x00\\x09\\x01", "c", 1_000)
    >>> while (event := observer.next_event()) is not NEED_DATA:
    ...     messages = lifecycle.observe(event)
    >>> lifecycle.connection.version
    <Version.AMQP_0_9_1: '0-9-1'>
    """

    __slots__ = ("_history", "_identified", "_refused", "limits")

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._identified: Identified | None = None
        self._history: History | None = None
        self._refused: bytes | None = None

    def observe(self, event: ObserverEvent) -> Sequence[MessageRecord]:
        """Take the next event; give the messages whose outcome is known now."""
        history = self._history
        if isinstance(event, Observed):
            if history is not None:
                done = history.observe(event)
                if done and event.event in _ENDING:
                    for message in done:
                        if message.outcome is None:
                            message.ended_ns = event.at_ns
                return done
            if event.unit == "header" and event.sender is Side.SERVER:
                self._take_answer(event.content)
        if isinstance(event, Identified):
            self._identified = event
            version = event.version
            if version is None:
                return _NONE
            if history is not None:
                history.version = version
            elif version in _HISTORIES:
                self._history = _HISTORIES[version](version, self.limits)
        elif isinstance(event, Skipped) and history is not None:
            return history.missed(event.sender)
        return _NONE

    def _take_answer(self, header: bytes) -> None:
        """A server's header that isn't the client's says no (0-9-1 section 4.2.2, 0-10 section 4.3)."""
        asked = self._identified.version if self._identified is not None else None
        if asked is None or version_of(header) is not asked:
            self._refused = header

    def finish(self) -> Sequence[MessageRecord]:
        """Give the messages that are still open."""
        return self._history.finish() if self._history is not None else _NONE

    @property
    def vhost(self) -> str | None:
        """The virtual host as `connection` has it, at little cost."""
        return None if self._history is None else self._history.facts.get("vhost")

    @property
    def connection(self) -> ConnectionRecord:
        """The connection, as far as it is known now."""
        facts: dict[str, Any] = {}
        if self._history is not None:
            facts.update(self._history.facts)
        if self._refused is not None:
            offered = "-".join([str(octet) for octet in self._refused[4:]])
            facts.update(
                closed_by="server",
                close_text=f"the server answered with its own protocol header, {offered}",
                hint="connect with the version the server offers",
            )
        event = self._identified
        if event is not None:
            facts.update(
                version=event.version,
                dialect=event.dialect,
                client=event.client,
                server=event.server,
                identified_by=event.by,
            )
        return ConnectionRecord(**facts)

    def __getstate__(self) -> tuple[object, ...]:
        return (_SCHEMA, *[getattr(self, name) for name in self.__slots__])

    def __setstate__(self, state: tuple[object, ...]) -> None:
        if state[0] != _SCHEMA:
            raise LocalProtocolError(
                f"the state of a lifecycle has schema {state[0]}, this release reads {_SCHEMA}"
            )
        for name, value in zip(self.__slots__, state[1:], strict=True):
            setattr(self, name, value)


__all__ = ["ConnectionRecord", "Lifecycle", "MessageRecord"]
