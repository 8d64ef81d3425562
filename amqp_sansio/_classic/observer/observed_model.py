"""ObservedModel: the model of an endpoint, for an observer, who sees both ends and doesn't stop at a broken rule.

It never discards (what one side ignores was sent all the same), and where something may be missing (after a gap, a late
start, or a violation that was reported) it takes what comes as told. It says which unit settles which message: what the
model keeps beside a delivery tag or a publish's number is the unit of its message.
Sections of 0-9-1: 2.2.4, 2.3.7, 4.2.6; 1.8 (basic) and 1.9 (tx); RabbitMQ's publisher confirms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..._core.brevity import KEPT, trim
from ..._core.settlements import AT_ONCE, ENDED, OPEN_FOR_GOOD, SETTLED, TOLD
from ..._core.state_table import Table, TableEnum
from ...endpoint import Side
from ...events import Accepted, Rejected, Released
from ...limits import Limits
from ...versions import AMQP_0_8
from ..codec.table import EMPTY
from ..codec.violation import Violation
from ..model.channel_state import Call, ChannelState, reopen
from ..model.connection import CHANNEL_MAX, ConnectionModel
from ..model.states import CHANNEL, CONNECTION, Channel, ChannelInput, Connection, ConnectionInput, Mode

if TYPE_CHECKING:
    from ..._core.settlements import Settlement, Settlements
    from ..codec.dialect import Dialect
    from ..codec.method import Method
    from ..model.channel_state import Outcome, Step

_UNBOUNDED: Final = 1 << 62
_LONG: Final[dict[str, Any]] = {"table": EMPTY, "optional-table": None, "longstr": b""}
"""Nothing, by the wire types whose values may be as large as a frame."""
_WORDS: Final = {Accepted: "accepted", Rejected: "rejected", Released: "released"}
_TX_ENDED: Final = ("tx.commit-ok", "tx.rollback-ok")
_GIVEN: Final = ("basic.deliver", "basic.get-ok", "file.deliver")
_RECOVERED: Final = ("basic.recover-ok", "basic.recover-async", "basic.recover-sync-ok")
"""Methods that give back all deliveries of a channel; in 0-8 basic.recover itself does."""
_RETURNS: Final = ("basic.return", "stream.return", "file.return")
MESSAGES: Final = frozenset(
    {
        *("basic.publish", "basic.deliver", "basic.get-ok", "stream.publish", "stream.deliver"),
        *("file.publish", "file.deliver", "file.stage", *_RETURNS),
    }
)
"""Units that are a message, and the one that brings the content of such a one."""


_E = TypeVar("_E", bound=TableEnum)
_I = TypeVar("_I", bound=TableEnum)


def _after_all(table: Table[_E, _I], opened: _E) -> dict[_I, _E]:
    """The state that each input must lead to, whatever was missed before.

    It is the one from the open state, else the one from the first state that takes the input.
    """
    rows = [table[opened], *table.values()]
    return {given: after for row in reversed(rows) for given, after in row.items()}


_CONNECTION_AFTER: Final = _after_all(CONNECTION, Connection.OPEN)
_CHANNEL_AFTER: Final = _after_all(CHANNEL, Channel.OPEN)


class ObservedChannel(ChannelState):
    """A channel, and what settles the messages on it. Messages are named by their units.

    `unknown` says that the channel was open before, so that nobody knows whether it confirms; `confirming` that it
    does; `sure` that publishes can be counted, as confirms number them; `dead` that the server has closed it.

    `held` are publishes that only a return settles, `posted` those of the transaction. `ending` are transactions whose
    commit (True) or rollback waits for its reply: their publishes, and their deliveries as the model has them.
    `returnable` are publishes that may be returned, oldest first, by what a return says of them, `keys` these keys.

    `queue` was declared last, `queues` are those of consumers by tag, `asked` those of consume and get by their units.
    `staging` is the identifier of the content that each side (True: the client) stages, `staged` what it has staged.
    """

    __slots__ = (
        "asked", "confirming", "dead", "ending", "held", "keys", "posted", "queue", "queues", "returnable", "staged",
        "staging", "sure", "unknown",
    )  # fmt: skip

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.unknown = False
        self.confirming = False
        self.sure = True
        self.dead = False
        self.held: dict[int, None] = {}
        self.posted: dict[int, None] = {}
        self.ending: deque[tuple[bool, Iterable[int], _Retired]] = deque()
        self.returnable: dict[tuple[Any, ...], deque[int]] = {}
        self.keys: dict[int, tuple[Any, ...]] = {}
        self.queue = ""
        self.queues: dict[str, str] = {}
        self.asked: dict[int | None, str] = {}
        self.staging: dict[bool, str] = {}
        self.staged: dict[tuple[bool, str], tuple[Any, int, str | None]] = {}

    def add_call(self, client: bool, pending: Call, *, first: bool = False) -> None:
        """As the base's; of large arguments nothing is kept."""
        pending.request = lean(pending.request)
        super().add_call(client, pending, first=first)

    def forget_return(self, unit: int) -> None:
        """A publish is settled: nothing returns it any more."""
        key = self.keys.pop(unit, None)
        if key is not None:
            waiting = self.returnable[key]
            waiting.remove(unit)
            if not waiting:
                del self.returnable[key]

    def returned(self, key: tuple[Any, ...]) -> int | None:
        """The oldest publish like a message that comes back: servers return in order."""
        waiting = self.returnable.get(key)
        if waiting is None:
            return None
        unit = waiting[0]
        self.forget_return(unit)
        self.held.pop(unit, None)
        return unit

    def undecided(self) -> list[int]:
        """Forget the transactions; their messages."""
        units = [*self.posted]
        for _, posted, retired in (*self.ending, (False, (), self.tx_settled)):
            units += [*posted, *_units_of(retired)]
        self.posted = {}
        self.ending.clear()
        self.tx_settled = None
        return units

    def take_held(self) -> list[int]:
        """Forget what nothing was going to settle, since something may."""
        held = [*self.held]
        self.held = {}
        return held

    def flush(self) -> list[Settlement]:
        """Nothing settles the channel's messages any more."""
        open_ = [*self.held, *self.undecided(), *self.unconfirmed.values(), *self.unsettled.values()]
        self.held = {}
        self.returnable, self.keys = {}, {}
        self.unconfirmed = dict.fromkeys(self.unconfirmed)
        self.unsettled = dict.fromkeys(self.unsettled)
        return [(unit, None, ENDED) for unit in sorted([each for each in open_ if each is not None])]


_Retired = dict[int, tuple[Any, "Outcome"]] | None
"""Deliveries that a transaction settles when it's committed, with their outcomes, by tag."""


def _units_of(retired: _Retired) -> list[int]:
    return [unit for unit, _ in (retired or {}).values() if unit is not None]


class ObservedModel(ConnectionModel):
    """Both ends of a connection, as far as they are known. `assumed` says that something was missed for sure.

    `settled` is what becomes of messages, for the next unit to say, unless no `records` are wanted.
    """

    __slots__ = ("bounds", "doubtful", "records", "settled")

    def __init__(self, dialect: Dialect, limits: Limits, records: bool) -> None:
        # Limits that an endpoint enforces are no rules of the specification; `forget` bounds what is kept.
        unbounded = Limits(
            message=_UNBOUNDED, bodies=_UNBOUNDED, channels=CHANNEL_MAX, calls=_UNBOUNDED,
            unsettled=_UNBOUNDED, unconfirmed=_UNBOUNDED, consumers=_UNBOUNDED,
        )  # fmt: skip
        super().__init__(dialect, unbounded)
        self.zero: ChannelState = ObservedChannel(0)
        self.bounds = limits
        self.records = records
        self.doubtful: dict[int, int] = {}
        self.settled: list[Settlement] = []

    def new_channel(self, number: int) -> ChannelState:
        """Make the state of a channel that is being opened."""
        return ObservedChannel(number)

    def discards(self, channel: ChannelState | None, client: bool) -> bool:
        """Never: what the other side ignores still counts for who sent it."""
        return False

    def step(
        self, side: Side, number: int, method: Method, token: Any = None, whole: bool = True, size: int | None = None
    ) -> Step | None:
        """As the base's; a channel that was only assumed to be open begins anew with channel.open."""
        known = self._channel(number)
        retired = None
        if known is not None:
            name = method.NAME
            if name == "channel.open" and known.assumed:
                self._drop(known)
            elif name in _TX_ENDED:
                # Deliveries settled behind the request belong to the next transaction.
                retired, known.tx_settled = known.tx_settled, None
            elif _settles_all(side, method):
                self.doubtful[number] = known.last_tag
        try:
            step = super().step(side, number, method, token, whole, size)
        finally:
            if retired is not None and known is not None:
                known.tx_settled = retired
        if step is not None:
            self._bound(step.channel)
            self._follow(side, number, known, step)
        if number not in self.channels:
            self.doubtful.pop(number, None)
        elif len(self.channels) > self.bounds.channels:
            self._forget_oldest(number)
        return step

    def _channel(self, number: int) -> ObservedChannel | None:
        channel = self.channels.get(number)
        return channel if isinstance(channel, ObservedChannel) else None

    def _unopened(self, number: int, given: ChannelInput, method: Method) -> ChannelState:
        channel = super()._unopened(number, given, method)
        if given is not ChannelInput.C_OPEN and isinstance(channel, ObservedChannel):
            channel.unknown = True
        return channel

    def _drop(self, channel: ObservedChannel) -> None:
        """A channel is no more, as far as anybody saw."""
        del self.channels[channel.number]
        self.settled += channel.flush()

    def _forget_oldest(self, present: int) -> None:
        """More channels are open than anybody needs: the oldest is taken for one that was open before it was seen."""
        number = next(iter(self.channels))
        channel = self._channel(number)
        if number == present or channel is None or channel.client_content or channel.server_content:
            # It's in use: another one goes when the next method comes.
            self.channels[number] = self.channels.pop(number)
            return
        self._drop(channel)
        self.doubtful.pop(number, None)
        self.assumed = True

    def step_anyway(self, side: Side, number: int, method: Method, token: Any) -> Step | None:
        """Take a method whose violation has been reported as if it were right, as far as that can be."""
        known = self._channel(number)
        channel = known if number else self.zero
        assumed = self.assumed
        if known is not None and method.NAME == "channel.open":
            self._drop(known)
        elif known is not None and self.booked(number, method) is not None and method.NAME in _GIVEN:
            # A tag that is given again is another delivery's.
            tag: int = method.delivery_tag  # type: ignore[attr-defined]
            self._end([known.unsettled[tag]])
            known.unsettled[tag] = None
        was = channel is not None and channel.assumed
        self.assumed = True
        if channel is not None:
            channel.assumed = True
        try:
            return self.step(side, number, method, token, False)
        except Violation:
            if channel is not None and self.dialect.replies[method.ID]:
                channel.add_call(side is Side.CLIENT, Call(method, token))
                self._bound(channel)
            return None
        finally:
            self.assumed = assumed
            if channel is not None:
                channel.assumed = was

    # Outcomes of messages.

    def take_settled(self) -> Settlements:
        """Take the outcomes of messages since the last unit."""
        settled = self.settled
        if not settled:
            return ()
        self.settled = []
        return tuple(settled) if self.records else ()

    def lost(self, client: bool) -> Settlements:
        """Octets of a side became no unit: publishes can't be counted any more, and transactions aren't sure."""
        for channel in self.channels.values():
            if isinstance(channel, ObservedChannel):
                channel.sure = channel.sure and not client
                self._end(channel.undecided(), channel)
        return self.take_settled()

    def _settle(
        self, units: Iterable[int | None], word: str | None, channel: ObservedChannel | None, how: str = SETTLED
    ) -> None:
        """The unit at hand settles messages."""
        for unit in units:
            if unit is not None:
                self.settled.append((unit, word, how))
                if channel is not None:
                    channel.forget_return(unit)

    def _end(self, units: Iterable[int | None], channel: ObservedChannel | None = None) -> None:
        """Nothing settles messages any more."""
        self._settle(units, None, channel, ENDED)

    def _untell(self, units: Iterable[int]) -> None:
        """Messages may be settled, after all."""
        self.settled += [(unit, None, TOLD) for unit in units]

    def _follow(self, side: Side, number: int, known: ObservedChannel | None, step: Step) -> None:
        """Keep what a method means to the messages of its channel."""
        channel = self._channel(number)
        if known is not None and channel is not known:
            self.settled += known.flush()
        if channel is None:
            return
        if step.settled:
            self._settle([unit for _, unit in step.settled], _WORDS[type(step.outcome)], channel)
        follow = _FOLLOW.get(step.method.NAME)
        if follow is not None:
            follow(self, channel, side is Side.CLIENT, step)

    # Transactions and confirms.

    def confirms(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """confirm.select: publishes count from here on."""
        if not channel.confirming:
            channel.confirming = channel.sure = True
            channel.unknown = False
            self._untell(channel.held)

    def confirmed(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """A confirm; on a channel that was open before, nobody knows from which publish on it counts."""
        if channel.unknown and not client:
            channel.confirming, channel.sure, channel.unknown = True, False, False
            held = channel.take_held()
            self._untell(held)
            self._end(held, channel)

    def transacts(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        channel.unknown = False

    def end_asked(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """tx.commit or tx.rollback: what follows belongs to the next transaction."""
        if channel.unknown:
            channel.unknown = False
            channel.mode = Mode.TRANSACTED
            channel.posted = dict.fromkeys(channel.take_held())
            self._untell(channel.posted)
        committed = step.method.NAME == "tx.commit"
        channel.ending.append((committed, channel.posted, channel.tx_settled))
        channel.posted, channel.tx_settled = {}, None
        if len(channel.ending) > self.bounds.calls:
            _, posted, retired = channel.ending.popleft()
            self._end([*posted, *_units_of(retired)], channel)

    def ended(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """A transaction is over; after a rollback its deliveries are open again."""
        committed = step.method.NAME == "tx.commit-ok"
        if not channel.ending or channel.ending[0][0] != committed:
            return
        _, posted, retired = channel.ending.popleft()
        word = "accepted" if committed else "released"
        self._settle(posted, word, channel)
        if committed:
            for unit, outcome in (retired or {}).values():
                self._settle([unit], _WORDS[type(outcome)], channel)
        elif retired:
            reopen(channel, retired)

    def recovers(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """All deliveries are given back, though the request wasn't seen, or its reply is still to come (0-8)."""
        if step.method.NAME in _RECOVERED or self.dialect.version is AMQP_0_8:
            self._settle(channel.unsettled.values(), "released", channel)
            channel.unsettled = {}

    def closed(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """The server takes nothing more on the channel, whatever the client sends before it knows."""
        if not client:
            channel.dead = True
            self.settled += channel.flush()

    # Queues.

    def declared(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        channel.queue = step.method.queue or channel.queue

    def asks(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """A consume or get: an empty name means the queue that was declared last."""
        method = step.method
        queue = method.queue or channel.queue
        if getattr(method, "no_wait", False):
            channel.queues[method.consumer_tag] = queue
            trim(channel.queues, self.bounds.consumers)
            return
        channel.asked[step.token] = queue
        trim(channel.asked, self.bounds.calls)

    def consumes(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        queue = None if step.answered is None else channel.asked.pop(step.answered.token, None)
        if queue is not None:
            channel.queues[step.method.consumer_tag] = queue

    def got_nothing(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        if step.answered is not None:
            channel.asked.pop(step.answered.token, None)

    def cancelled(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        if not client:
            channel.queues.pop(step.method.consumer_tag, None)

    def stages(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        channel.staging[client] = step.method.identifier

    # Messages.

    def booked(self, number: int, method: Any) -> int | None:
        """The delivery tag, or the number of a publish, under which the model has a message that isn't settled."""
        channel = self.channels.get(number)
        if channel is None:
            return None
        if method.NAME == "basic.publish":
            return channel.publish_count if channel.mode is Mode.CONFIRM else None
        tag: int | None = getattr(method, "delivery_tag", None)
        return tag if tag in channel.unsettled else None

    def message(
        self,
        side: Side,
        number: int,
        unit: int,
        method: Any,
        content: tuple[Any, int, str | None],
        answers: int | None,
        known: bool,
        booked: int | None,
    ) -> Any:
        """A message has passed, or what one consists of: `content` is properties, size and digest of the body.

        `known` says that the model has followed its method, `booked` where it has the message. Returns what earlier
        units say of it: the number of a publish, the queue of a delivery, in the file class the content, too.
        """
        name = method.NAME
        client = side is Side.CLIENT
        channel = self._channel(number) or ObservedChannel(number)
        if name == "file.stage":
            properties, size, digest = content
            if properties is not None and len(properties.raw or b"") > KEPT:
                properties = None
            channel.staged[client, channel.staging.get(client, "")] = properties, size, digest
            trim(channel.staged, self.bounds.calls)
            return None
        if name == "basic.publish" or name in _RETURNS:
            key = (method.exchange, method.routing_key, *content[1:])
            if name == "basic.publish":
                returnable = method.mandatory or method.immediate
                self.settled += self.published(channel, unit, booked, key if returnable else None)
                return booked if channel.sure and not channel.dead else None
            returned = channel.returned(key)
            if returned is not None:
                self.settled.append((returned, "returned", SETTLED))
            self.settled += AT_ONCE
            return None
        staged = channel.staged.pop((client, getattr(method, "identifier", "")), None)
        if name.endswith("publish"):
            self.settled += AT_ONCE
            return staged
        if name == "basic.get-ok" and answers is None and booked is None and channel.assumed:
            # The get wasn't seen: it may be one that wants the message settled.
            tag: int = method.delivery_tag
            channel.unsettled[tag] = None
            booked = tag
        self._given(channel, unit, method, known, booked)
        if name == "basic.get-ok":
            return channel.asked.pop(answers, None)
        queue = channel.queues.get(method.consumer_tag)
        return (queue, staged) if name == "file.deliver" else queue

    def _given(self, channel: ObservedChannel, unit: int, method: Any, known: bool, booked: int | None) -> None:
        """The server has sent a message, which the client settles unless it has said that it won't."""
        if booked is not None and booked in channel.unsettled and not channel.dead:
            channel.unsettled[booked] = unit
        elif booked is None and (known or channel.consumers.get(getattr(method, "consumer_tag", ""))):
            self.settled += AT_ONCE
        else:
            self.settled += OPEN_FOR_GOOD

    def published(
        self, channel: ObservedChannel, unit: int, number: int | None, key: tuple[Any, ...] | None
    ) -> Settlements:
        """The client has published a message, which may be returned if there is a `key`; what becomes of messages.

        `number` is the one that the server confirms it by.
        """
        most = self.bounds.unconfirmed
        oldest = None
        settled: list[Settlement] = []
        if channel.mode is Mode.CONFIRM and number is not None and channel.sure and not channel.dead:
            channel.unconfirmed[number] = unit
        elif channel.dead or channel.confirming:
            # Nobody knows its number, or the server takes nothing more on this channel.
            if number is not None:
                channel.unconfirmed.pop(number, None)
            return OPEN_FOR_GOOD
        elif channel.mode is Mode.TRANSACTED:
            waiting = channel.posted
            waiting[unit] = None
            if len(waiting) > most:
                oldest = next(iter(waiting))
                del waiting[oldest]
        elif key is None and not channel.unknown:
            return AT_ONCE
        else:
            settled.append((None, "settled", TOLD))
            channel.held[unit] = None
            if len(channel.held) > most:
                oldest = next(iter(channel.held))
                del channel.held[oldest]
        if key is not None:
            channel.keys[unit] = key
            channel.returnable.setdefault(key, deque()).append(unit)
        if oldest is not None:
            channel.forget_return(oldest)
            settled.append((oldest, None, ENDED))
        return tuple(settled)

    def missed(self, client: bool) -> None:
        """Something of what one side sent wasn't seen: from now on hardly anything is sure."""
        self.assumed = True
        self.zero.assumed = True
        for channel in self.channels.values():
            channel.assumed = True
            channel.set_content(client, None)

    def drop_content(self, client: bool, number: int) -> None:
        """Forget the content that one side has under way on a channel."""
        channel = self.channels.get(number)
        if channel is not None:
            self._drop_content(channel, client)

    def is_race(self, side: Side, number: int, method: Any, violation: Violation) -> bool:
        """Whether the sender may not have known better: a state that it could have known allows what it did."""
        # Deliveries that were on their way when all were settled at once: the client may not have known of them.
        return (
            violation.rule == "basic.ack/unknown-tag"
            and side is Side.CLIENT
            and method.delivery_tag <= self.doubtful.get(number, 0)
        )

    def _next(self, given: ConnectionInput, what: str) -> Connection:
        if self.assumed:
            return CONNECTION[self.state].get(given) or _CONNECTION_AFTER[given]
        return super()._next(given, what)

    def _channel_after(self, channel: ChannelState, given: ChannelInput, method: Method) -> Channel:
        if channel.assumed:
            return CHANNEL[channel.state].get(given) or _CHANNEL_AFTER[given]
        return super()._channel_after(channel, given, method)

    def _bound(self, channel: ChannelState) -> None:
        """Forget the oldest entry of what is above its limit; the channel isn't fully known from then on."""
        bounds = self.bounds
        for calls in (channel.client_calls, channel.server_calls):
            if calls is not None and len(calls) > bounds.calls:
                calls.popleft()
                channel.assumed = True
        entries: dict[Any, Any]
        for entries, most in (
            (channel.unsettled, bounds.unsettled),
            (channel.unconfirmed, bounds.unconfirmed),
            (channel.consumers, bounds.consumers),
        ):
            if len(entries) > most:
                oldest: Any = next(iter(entries))
                unit = entries.pop(oldest)
                channel.assumed = True
                if entries is not channel.consumers and isinstance(channel, ObservedChannel):
                    self._end([unit], channel)
        retired = channel.tx_settled
        if retired and len(retired) > bounds.unsettled:
            self._end(_units_of(retired))
            channel.tx_settled = None
            channel.assumed = True


def lean(method: Method) -> Method:
    """A request without its tables and long strings, where these are large: its reply isn't judged by them."""
    long = {name: _LONG[kind] for name, kind in method.FIELDS if kind in _LONG}
    values = [getattr(method, name) for name in long]
    size = sum([len(getattr(value, "raw", value) or b"") for value in values])
    if size + len(method.spare or b"") <= KEPT:
        return method
    return type(method)(*[long.get(name, getattr(method, name)) for name in method.__match_args__])


def _settles_all(side: Side, method: Any) -> bool:
    """Whether a method settles whatever the server has delivered so far, by recover or as "all up to now"."""
    if side is Side.SERVER:
        return bool(method.NAME == "basic.recover-ok")
    if method.NAME in ("basic.ack", "basic.nack"):
        return bool(method.multiple and not method.delivery_tag)
    return method.NAME in ("basic.recover", "basic.recover-async")


_FOLLOW: Final[dict[str, Callable[[ObservedModel, ObservedChannel, bool, Step], None]]] = {
    "confirm.select": ObservedModel.confirms,
    "tx.select": ObservedModel.transacts,
    "tx.commit": ObservedModel.end_asked,
    "tx.rollback": ObservedModel.end_asked,
    "tx.commit-ok": ObservedModel.ended,
    "tx.rollback-ok": ObservedModel.ended,
    "basic.ack": ObservedModel.confirmed,
    "basic.nack": ObservedModel.confirmed,
    "basic.recover": ObservedModel.recovers,
    **dict.fromkeys(_RECOVERED, ObservedModel.recovers),
    "channel.close": ObservedModel.closed,
    "queue.declare": ObservedModel.declared,
    "queue.declare-ok": ObservedModel.declared,
    "basic.get": ObservedModel.asks,
    "basic.get-empty": ObservedModel.got_nothing,
    "file.open": ObservedModel.stages,
    **{
        f"{name}.{verb}": follow
        for name in ("basic", "file", "stream")
        for verb, follow in (
            ("consume", ObservedModel.asks),
            ("consume-ok", ObservedModel.consumes),
            ("cancel", ObservedModel.cancelled),
            ("cancel-ok", ObservedModel.cancelled),
        )
    },
}
"""The effects of methods on messages that the model doesn't tell, by the method's name."""
