"""The state of recorded connections at an instant: all that was open then, as both ends knew it.

Each connection is observed up to the instant; its observer and the open messages of its lifecycle are the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ...capture import ConnectionEnd, ConnectionStart, Item, Reassembler, Segment, StreamData, StreamGap, sort_key
from ...capture.records import FIN, RST
from ...capture.tcp import DEFAULT_GRACE_NS
from ...events import NEED_DATA
from ...limits import Limits
from ...observer import Identified, Observed, Observer
from ...versions import AMQP_0_10, AMQP_1_0
from .._columns import STATE_COLUMNS
from ..lifecycle import Lifecycle
from . import amqp_0_10, amqp_1_0, classic
from .items import StateItem

if TYPE_CHECKING:
    from ..lifecycle import MessageRecord

_MOST: Final = 65_536
"""Most units and beginnings of a connection whose times are remembered; the oldest go first."""
_BEGINS: Final[dict[str, tuple[str, str]]] = {
    "channel.open": ("channel", ""),
    "session.attach": ("session", ""),
    "begin": ("session", ""),
    "attach": ("link", "name"),
}
"""The units that begin something: its kind, and the field with its name."""
_WITHOUT_TIME: Final = frozenset({"content", "part", "partial", "heartbeat"})


class State(NamedTuple):
    """One row: a value for each of `STATE_COLUMNS`.

    `kind` is "connection", "blocked", "channel", "session", "consumer", "link", "delivery", "publish" or "call". `side`
    is the one that began it; for a delivery the one that holds it, for a publish the one that owes the confirm, for a
    call the one that waits. `held` are the unsettled deliveries of a consumer or link, `most` is what it may hold (its
    prefetch) or the credit that was granted last (0-10, 1.0), `room` what may still be sent to it; None: without limit,
    or not known.
    """

    at_ns: int
    connection: str
    kind: str
    channel: int | None = None
    name: str = ""
    side: str = ""
    state: str = ""
    queue: str | None = None
    consumer: str | None = None
    since_ns: int | None = None
    held: int | None = None
    most: int | None = None
    room: int | None = None
    seq: int | None = None
    text: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """The thing that the row is about, at any instant."""
        return self.connection, self.kind, self.channel, self.name, self.consumer, self.side, self.seq


class StateReplay:
    """The connections of one flow up to the last segment pushed, in the order of `capture.sort_key`.

    `skew_ns` is as for `tables.FlowReplay`. Picklable at any point.
    """

    def __init__(self, *, limits: Limits | None = None, skew_ns: int = 0) -> None:
        self._limits = limits or Limits()
        self._reassembler = Reassembler(grace_ns=DEFAULT_GRACE_NS + skew_ns)
        self._connections: dict[str, _Watched] = {}
        self._latest: _Watched | None = None

    def push(self, segment: Segment) -> None:
        """Take the next segment."""
        self._take(self._reassembler.push(segment))
        if segment.flags & (FIN | RST) and self._latest is not None:
            # A RST far outside of the stream ends nothing.
            self._latest.is_over = self._reassembler.is_over

    def state(self, at_ns: int) -> list[State]:
        """Return the rows of the connections that are open, as of a time (nanoseconds since 1970)."""
        self._take(self._reassembler.advance(at_ns))
        return [row for each in self._connections.values() if not each.is_over for row in each.rows(at_ns)]

    def _take(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, ConnectionStart):
                self._connections[item.connection] = _Watched(item, self._limits)
                self._latest = self._connections[item.connection]
            elif isinstance(item, ConnectionEnd):
                del self._connections[item.connection]
            elif isinstance(item, (StreamData, StreamGap)):
                self._connections[item.connection].take(item)


def states(segments: Iterable[Segment], instants: Iterable[int], *, skew_ns: int = 0) -> list[list[State]]:
    """Return the state of all connections at each of some instants, which grow (nanoseconds since 1970).

    Segments may be of any number of flows and files, in any order. They are held in memory and sorted.

    >>> states([], [0, 1])
    [[], []]
    """
    wanted = list(instants)
    found: list[list[State]] = [[] for _ in wanted]
    for _, flow in groupby(sorted(segments, key=sort_key), key=_flow):
        replay = StateReplay(skew_ns=skew_ns)
        due = 0
        for segment in flow:
            while due < len(wanted) and segment.ts_ns > wanted[due]:
                found[due] += replay.state(wanted[due])
                due += 1
            if due == len(wanted):
                break
            replay.push(segment)
        for number in range(due, len(wanted)):
            found[number] += replay.state(wanted[number])
    return [sorted(rows, key=_order) for rows in found]


class _Watched:
    """One connection."""

    def __init__(self, start: ConnectionStart, limits: Limits) -> None:
        self._start = start
        self._observer = Observer(
            client=start.client, from_start=start.syn_seen, body="size", limits=limits, accounts=True
        )
        self._lifecycle = Lifecycle(limits)
        self._is_amqp = False
        self._times: dict[int, int] = {}
        self._begun: dict[tuple[str, int | None, str], int] = {}
        self._blocked: tuple[int, str] | None = None
        self.is_over = False
        """Whether TCP has ended it, by a reset or from both sides."""

    def take(self, item: StreamData | StreamGap) -> None:
        """Take octets, or a gap."""
        if isinstance(item, StreamData):
            self.is_over = False
            self._observer.receive_data(item.data, item.sender, item.ts_ns)
        else:
            self._observer.receive_gap(item.sender, item.octets, item.ts_ns)
        while (event := self._observer.next_event()) is not NEED_DATA:
            if isinstance(event, Observed):
                self._note(event)
            elif isinstance(event, Identified):
                self._is_amqp = event.version is not None
            self._lifecycle.observe(event)  # type: ignore[arg-type]
        # Those that have ended are in no state.
        self._observer.take_consumers()

    def _note(self, event: Observed) -> None:
        """Keep the time of a unit, and of what it begins."""
        if event.unit in _WITHOUT_TIME:
            return
        self._times[event.seq] = event.at_ns
        if len(self._times) > _MOST:
            del self._times[next(iter(self._times))]
        name = event.event
        if name == "connection.blocked":
            self._blocked = event.at_ns, getattr(event.content, "reason", "")
        elif name == "connection.unblocked":
            self._blocked = None
        elif name in _BEGINS and event.content.__class__ is not bytes:
            kind, field = _BEGINS[name]
            channel = None if kind == "link" else event.channel
            self._begun[kind, channel, str(getattr(event.content, field) or "") if field else ""] = event.at_ns
            if len(self._begun) > _MOST:
                del self._begun[next(iter(self._begun))]

    def rows(self, at_ns: int) -> Iterator[State]:
        """Yield the connection's rows."""
        known = self._lifecycle.connection
        if not self._is_amqp:
            return
        label = self._start.connection
        start = self._start
        client, server = known.client or start.client or start.a, known.server or start.server or start.b
        version = "" if known.version is None else f"AMQP {known.version.label}"
        product = " ".join(part for part in (known.client_product, known.client_version) if part)
        texts = (f"{client} → {server}", version, product, known.user, known.vhost)
        end = self._lifecycle.end
        closing = "" if end.cause in ("open", "other") else f"closed by the {end.by}"
        yield State(
            at_ns,
            label,
            "connection",
            name=known.connection_name or "",
            side="client",
            state=closing,
            since_ns=start.ts_ns,
            text=" · ".join(text for text in texts if text),
        )
        if self._blocked is not None:
            since_ns, reason = self._blocked
            yield State(at_ns, label, "blocked", side="server", since_ns=since_ns, text=reason)
        messages = [each for each in self._lifecycle.open_messages if each.kind != "return"]
        for item in self._items():
            yield self._item(at_ns, item)
        for message in messages:
            if message.kind != "publish" or message.outcome != "settled":
                yield _message(at_ns, label, message)

    def _items(self) -> Iterator[StateItem]:
        model: Any = self._observer.model
        version = self._lifecycle.connection.version
        if version is AMQP_1_0:
            return amqp_1_0.state_items(model)
        return amqp_0_10.state_items(model) if version is AMQP_0_10 else classic.state_items(model)

    def _item(self, at_ns: int, item: StateItem) -> State:
        since_ns = item.since_ns
        if item.unit is not None:
            since_ns = self._times.get(item.unit)
        elif item.kind != "consumer":
            named = item.name if item.kind == "link" else ""
            since_ns = self._begun.get((item.kind, None if item.kind == "link" else item.channel, named))
        return State(
            at_ns,
            self._start.connection,
            item.kind,
            item.channel,
            item.name,
            item.side,
            item.state,
            item.queue,
            None,
            since_ns,
            item.held,
            item.limit,
            item.room,
            item.unit,
        )


def _message(at_ns: int, connection: str, message: MessageRecord) -> State:
    publish = message.kind == "publish"
    tag = "" if message.tag is None else str(message.tag)
    place = " → ".join(part for part in (message.exchange, message.routing_key) if part)
    queue = (message.address or place) if publish else (message.queue or message.address)
    words = [f"message {message.message_id}" if message.message_id else "", f"{message.body_size} octets"]
    if message.redelivered:
        words.append("redelivered")
    return State(
        at_ns,
        connection,
        "publish" if publish else "delivery",
        message.channel,
        tag,
        "server" if publish else "client",
        f"{message.outcome}, not settled" if message.outcome else "",
        queue,
        message.consumer_tag or message.link,
        message.ts_ns,
        seq=message.seq,
        text=", ".join(word for word in words if word),
    )


_KINDS: Final = ("connection", "blocked", "channel", "session", "consumer", "link", "delivery", "publish", "call")


def _order(row: State) -> tuple[str, bool, int, int, int, str]:
    """Connections one after the other, each with what is its own first, then channel by channel."""
    own = row.kind in ("connection", "blocked")
    return (
        row.connection,
        not own,
        -1 if row.channel is None else row.channel,
        _KINDS.index(row.kind),
        row.seq or 0,
        row.name,
    )


def _flow(segment: Segment) -> str:
    return segment.flow


__all__ = ["STATE_COLUMNS", "State", "StateReplay", "states"]
