"""ObservedModel: the model of an endpoint, for an observer, who sees both ends and doesn't stop at a broken rule.

It never discards (what one side ignores was sent all the same), and where something may be missing (after a gap, a late
start, or a violation that was reported) it takes what comes as told. It says which unit settles which message: what the
model keeps beside a delivery tag or a publish's number is the unit of its message.
Sections of 0-9-1: 2.2.4, 2.3.7, 4.2.6; 1.8 (basic) and 1.9 (tx); RabbitMQ's publisher confirms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from ..._ground.brevity import KEPT, trim
from ..._ground.invariants import ensure
from ..._ground.state_table import Table, TableEnum
from ..._watching.holders import all_open
from ..._watching.settlements import AT_ONCE, ENDED, OPEN_FOR_GOOD, SETTLED, TOLD
from ...endpoint import Side
from ...events import Accepted, Rejected, Released
from ...limits import Limits
from ...versions import AMQP_0_8
from ..codec.table import EMPTY
from ..codec.violation import Violation
from ..model.channel_state import Call, ChannelState, Retired, open_delivery, reopen
from ..model.connection import CHANNEL_MAX, ConnectionModel
from ..model.returnable import Returnable
from ..model.states import CHANNEL, CONNECTION, Channel, ChannelInput, Connection, ConnectionInput, Mode
from .holders import ClassicHolders

if TYPE_CHECKING:
    from ..._watching.holders import Holder
    from ..._watching.settlements import Settlement, Settlements
    from ..codec.dialect import Dialect
    from ..codec.method import Method
    from ..model.channel_state import Step

_UNBOUNDED: Final = 1 << 62
_LOOKED_AT: Final = 8
"""Most channels that are looked at when one is opened above the limit."""
_LONG: Final[dict[str, object]] = {"table": EMPTY, "optional-table": None, "longstr": b""}
"""Nothing, by the wire types whose values may be as large as a frame."""
_WORDS: Final = {Accepted: "accepted", Rejected: "rejected", Released: "released"}
_TX_ENDED: Final = ("tx.commit-ok", "tx.rollback-ok")
_GIVEN: Final = ("basic.deliver", "basic.get-ok", "file.deliver")
_CONFIRMS: Final = ("basic.ack", "basic.nack")
_RECOVERED: Final = ("basic.recover-ok", "basic.recover-async", "basic.recover-sync-ok")
"""Methods that give back all deliveries of a channel; in 0-8 basic.recover itself does."""
_RECOVERS: Final = ("basic.recover", "basic.recover-sync")
"""Those that ask for it."""
RETURNS: Final = ("basic.return", "stream.return", "file.return")
MESSAGES: Final = frozenset(
    {
        *("basic.publish", "basic.deliver", "basic.get-ok", "stream.publish", "stream.deliver"),
        *("file.publish", "file.deliver", "file.stage", *RETURNS),
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
    `returnable` are publishes that may be returned.

    `settled_unseen` is up to which delivery tag the client (True) may have settled deliveries unseen, or got them back,
    and up to which publish the server (False) may have confirmed publishes.

    `queue` was declared last, `queues` are those of consumers by tag, `asked` those of consume and get by their units.
    `staging` is the identifier of the content that each side (True: the client) stages, `staged` what it has staged.
    """

    __slots__ = (
        "asked",
        "confirming",
        "dead",
        "ending",
        "held",
        "posted",
        "queue",
        "queues",
        "returnable",
        "settled_unseen",
        "staged",
        "staging",
        "sure",
        "unknown",
    )

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.unknown = False
        self.confirming = False
        self.sure = True
        self.dead = False
        self.held: dict[int, None] = {}
        self.posted: dict[int, None] = {}
        self.ending: deque[tuple[bool, Iterable[int], Retired | None]] = deque()
        self.returnable = Returnable()
        self.settled_unseen = [0, 0]
        self.queue = ""
        self.queues: dict[str, str] = {}
        self.asked: dict[int | None, str] = {}
        self.staging: dict[bool, str] = {}
        self.staged: dict[tuple[bool, str], tuple[Any, int, str | None]] = {}

    def check_kept(self, bounds: Limits) -> None:
        """Check that what settles messages is bounded, and that a message waits in one place. Raises AssertionError."""
        where = f"channel {self.number}, observed"
        count = max(map(len, (self.held, self.posted, self.unconfirmed)))
        ensure(count <= bounds.unconfirmed, where, "`Limits.unconfirmed` bounds publishes", count)
        count = len(self.unsettled)
        ensure(count <= bounds.unsettled, where, "`Limits.unsettled` bounds deliveries", count)
        count = max(len(self.consumers), len(self.queues))
        ensure(count <= bounds.consumers, where, "`Limits.consumers` bounds consumers and their queues", count)
        count = max(map(len, (self.ending, self.asked, self.staged)))
        ensure(count <= bounds.calls, where, "`Limits.calls` bounds what waits for an answer", count)
        units = [*self.held, *self.posted, *self.unconfirmed.values(), *self.unsettled.values()]
        units = [each for each in units if each is not None]
        ensure(len(units) == len(set(units)), where, "a message waits in one place", units)

    def settlement_of_usual(self, consumer_tag: str) -> Settlements:
        """The settlement, as it is sent, of a delivery to a consumer that `take_usual_delivery` has taken."""
        if self.consumers[consumer_tag]:
            return AT_ONCE
        return OPEN_FOR_GOOD if self.dead else ()

    def add_call(self, client: bool, pending: Call, *, first: bool = False) -> None:
        """As the base's; of large arguments nothing is kept."""
        pending.keep(lean(pending.request))
        super().add_call(client, pending, first=first)

    def seen_again(self, client: bool) -> None:
        """What a side sent up to here wasn't seen: it may have settled what is open, asked and answered anything."""
        if client or self._recovers():
            self.settled_unseen[True] = max(self.unsettled, default=self.last_tag)
        if not client:
            self.settled_unseen[False] = self.publish_count
        self.forget_requests()

    def _recovers(self) -> bool:
        """Whether a reply that is to come gives all deliveries back."""
        return any(call.request.NAME in _RECOVERS for call in self.client_calls or ())

    def forget_requests(self) -> None:
        """Something was missed: a reply may answer another request than those that were seen, of another queue."""
        self._forget_calls()
        self.asked = {}
        self.queue = ""
        self.queues = {}

    def forget_return(self, unit: int) -> None:
        """A publish is settled: nothing returns it any more."""
        self.returnable.forget(unit)

    def returned(self, key: tuple[object, ...]) -> int | None:
        """The oldest publish like a message that comes back: servers return in order."""
        unit = self.returnable.take(key, -1)
        if unit is None:
            return None
        self.held.pop(unit, None)
        return unit

    def undecided(self) -> list[int]:
        """Forget the transactions; their messages."""
        units = [*self.posted]
        for _, posted, retired in (*self.ending, (False, (), self.take_retired())):
            units += [*posted, *_units_of(retired)]
        self.posted = {}
        self.ending.clear()
        return units

    def take_held(self) -> list[int]:
        """Forget what nothing was going to settle, since something may."""
        held = [*self.held]
        self.held = {}
        return held

    def take_returnable(self) -> list[int]:
        """Forget the publishes that the server confirms, but may have returned before."""
        units = {unit: number for number, unit in self.unconfirmed.items() if unit in self.returnable}
        self._forget_publishes(units.values())
        return [*units]

    def flush(self) -> list[Settlement]:
        """Nothing settles the channel's messages any more."""
        open_ = [*self.held, *self.undecided(), *self.unconfirmed.values(), *self.unsettled.values()]
        self.held = {}
        self.returnable = Returnable()
        self._forget_tokens()
        return [(unit, None, ENDED) for unit in sorted([each for each in open_ if each is not None])]


def _units_of(retired: Retired | None) -> list[int]:
    return [unit for unit, _ in (retired or {}).values() if unit is not None]


class ObservedModel(ConnectionModel):
    """Both ends of a connection, as far as they are known. `assumed` says that something was missed for sure, `blind`
    that it's being missed: a channel that is opened meanwhile is known by one side only.

    `settled` is what becomes of messages, for the next unit to say, unless no `records` are wanted. `account` says who
    holds them, where there are `accounts`.
    """

    __slots__ = ("account", "blind", "bounds", "doubtful", "observed", "records", "settled", "tolerated")

    def __init__(self, dialect: Dialect, limits: Limits, records: bool, accounts: bool = False) -> None:
        # Limits that an endpoint enforces are no rules of the specification; `forget` bounds what is kept.
        unbounded = Limits(
            message=_UNBOUNDED,
            bodies=_UNBOUNDED,
            channels=CHANNEL_MAX,
            calls=_UNBOUNDED,
            unsettled=_UNBOUNDED,
            unconfirmed=_UNBOUNDED,
            consumers=_UNBOUNDED,
        )
        super().__init__(dialect, unbounded, ObservedChannel(0))
        # The same as `channels`, which has nothing but these.
        self.observed = cast("dict[int, ObservedChannel]", self.channels)
        self.blind = False
        self.bounds = limits
        self.records = records
        self.doubtful: dict[int, int] = {}
        self.settled: list[Settlement] = []
        self.tolerated: list[Violation] = []
        """Rules that the method at hand breaks without harm."""
        self.account = ClassicHolders(self, limits) if accounts else None

    def holders(self) -> Iterable[Holder]:
        """The consumers that are open, if there are `accounts`; each event steps them."""
        return all_open(self.account)

    def check(self) -> None:
        """Check what is kept of each channel, but no rule of the protocol. Raises AssertionError."""
        where, bounds = "the observed channels", self.bounds
        count = len(self.channels)
        # Those stay whose messages are under way, on either side, when there are too many.
        ensure(count <= 4 * bounds.channels, where, "`Limits.channels` bounds channels", count)
        for number, channel in self.observed.items():
            ensure(channel.number == number, where, "each channel is kept under its number", number, channel.number)
            channel.check_kept(bounds)
        lost = [number for number in self.doubtful if number not in self.channels]
        ensure(not lost, where, "what is doubtful is of channels that are kept", lost)
        ensure(not self.tolerated, where, "broken rules are told with their unit", self.tolerated)
        if self.account is not None:
            self.account.check()

    def queue_of(self, number: int, tag: str) -> str | None:
        """The queue of a consumer."""
        channel = self._channel(number)
        return None if channel is None else channel.queues.get(tag)

    def tolerate(self, violation: Violation) -> None:
        """Keep a broken rule that an endpoint takes."""
        self.tolerated.append(violation)

    def new_channel(self, number: int) -> ChannelState:
        """Make the state of a channel that is being opened."""
        channel = ObservedChannel(number)
        channel.assume(self.blind)
        return channel

    def discards(self, channel: ChannelState | None, client: bool) -> bool:
        """Never: what the other side ignores still counts for who sent it."""
        return False

    def step(
        self, side: Side, number: int, method: Method, token: object = None, whole: bool = True, size: int | None = None
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
                retired = known.take_retired()
            elif _settles_all(side, method):
                self.doubtful[number] = known.last_tag
        try:
            step = super().step(side, number, method, token, whole, size)
        finally:
            if retired is not None and known is not None:
                known.retire(retired)
        if step is not None:
            self._bound(step.channel)
            self._follow(side, number, known, step)
        if number not in self.channels:
            self.doubtful.pop(number, None)
        elif known is None and len(self.channels) > self.bounds.channels:
            self._make_room(number)
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
        self.drop_channel(channel.number)
        self.doubtful.pop(channel.number, None)
        self.settled += channel.flush()

    def _make_room(self, present: int) -> None:
        """More channels are open than anybody needs: the oldest is taken for one that was open before it was seen.

        This depends on the channels that are opened alone, so it is the same whichever way their methods are read.
        """
        for number in [*islice(self.channels, _LOOKED_AT)]:
            channel = self._channel(number)
            if number == present or channel is None or channel.client_content or channel.server_content:
                # It's in use: another one goes.
                self.put_last(number)
                continue
            self._drop(channel)
            self.assume()
            if len(self.channels) <= self.bounds.channels:
                return

    def step_anyway(self, side: Side, number: int, method: Method, token: object) -> Step | None:
        """Take a method whose violation has been reported as if it were right, as far as that can be."""
        known = self._channel(number)
        channel = known if number else self.zero
        assumed = self.assumed
        if known is not None and method.NAME == "channel.open":
            self._drop(known)
        elif known is not None and method.NAME in _GIVEN and method.delivery_tag in known.unsettled:  # type: ignore[attr-defined]
            # A tag that is given again is another delivery's.
            tag = int(method.delivery_tag)  # type: ignore[attr-defined]
            self._end([known.unsettled[tag]])
            known.name_delivery(tag, None)
        was = channel is not None and channel.assumed
        self.assume()
        if channel is not None:
            channel.assume()
        try:
            return self.step(side, number, method, token, False)
        except Violation:
            if channel is not None and self.dialect.replies[method.ID]:
                channel.add_call(side is Side.CLIENT, Call(method, token))
                self._bound(channel)
            return None
        finally:
            self.assume(assumed)
            if channel is not None:
                channel.assume(was)

    def answer_anyway(self, side: Side, number: int, method: Method) -> int | None:
        """A reply that can't be taken even as told still answers its request, which is the unit that is returned."""
        channel = self._channel(number)
        if channel is None or not method.IS_REPLY:
            return None
        asked_by_client = side is Side.SERVER
        answered = channel.find_call(asked_by_client, method, self.dialect.replies)
        if answered is None:
            return None
        channel.end_call(asked_by_client, answered)
        unit: int | None = answered.token
        return unit

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
                if client and channel.mode is Mode.NORMAL:
                    self._untell(channel.held)
                elif not client:
                    # A publish that only a return settles may have come back.
                    self._forget_held(channel)
                    unknown = channel.take_returnable()
                    self._end(unknown, channel)
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

    def returned_in_part(self, number: int) -> None:
        """A message has come back whose body wasn't captured: it may be any that is out."""
        channel = self._channel(number)
        if channel is not None:
            self._forget_held(channel)

    def _forget_held(self, channel: ObservedChannel) -> None:
        """Nobody knows what becomes of the publishes that only a return settles."""
        held = channel.take_held()
        self._untell(held)
        self._end(held, channel)

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
            self._settle(self._surely(channel, side, step), _WORDS[type(step.outcome)], channel)
        follow = _FOLLOW.get(step.method.NAME)
        if follow is not None:
            follow(self, channel, side is Side.CLIENT, step)

    def _surely(self, channel: ObservedChannel, side: Side, step: Step) -> list[int | None]:
        """The messages that a method settles for sure: of several, those that nothing unseen can have settled."""
        confirms = side is Side.SERVER and step.method.NAME in _CONFIRMS
        up_to = _UNBOUNDED if self.blind else channel.settled_unseen[not confirms]
        if not up_to:
            return [unit for _, unit in step.settled]
        named = getattr(step.method, "delivery_tag", None)
        self._end([unit for tag, unit in step.settled if tag <= up_to and tag != named], channel)
        return [unit for tag, unit in step.settled if tag > up_to or tag == named]

    # Transactions and confirms.

    def confirms(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """confirm.select: publishes count from here on."""
        if not channel.confirming:
            channel.confirming = True
            # Where the beginning wasn't seen, it may have been selected before.
            channel.sure = not channel.unknown
            channel.unknown = False
            self._untell(channel.held)

    def confirmed(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """A confirm; on a channel that was open before, nobody knows from which publish on it counts."""
        if channel.unknown and not client:
            channel.confirming = True
            channel.sure = False
            channel.unknown = False
            self._forget_held(channel)

    def transacts(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        channel.unknown = False

    def end_asked(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        """tx.commit or tx.rollback: what follows belongs to the next transaction."""
        if channel.unknown:
            channel.unknown = False
            channel.assume_transacted()
            channel.posted = dict.fromkeys(channel.take_held())
            self._untell(channel.posted)
        committed = step.method.NAME == "tx.commit"
        channel.ending.append((committed, channel.posted, channel.take_retired()))
        channel.posted = {}
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
            # A client whose octets can't be read may have settled some of them.
            up_to = _UNBOUNDED if self.blind else channel.settled_unseen[True]
            lost = [unit for tag, unit in channel.unsettled.items() if tag <= up_to]
            given_back = [unit for tag, unit in channel.unsettled.items() if tag > up_to]
            channel.take_unsettled()
            self._end(lost, channel)
            self._settle(given_back, "released", channel)

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
            trim(channel.queues, self.bounds.consumers)

    def got_nothing(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        if step.answered is not None:
            channel.asked.pop(step.answered.token, None)

    def cancelled(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        if not client:
            channel.queues.pop(step.method.consumer_tag, None)

    def stages(self, channel: ObservedChannel, client: bool, step: Step) -> None:
        channel.staging[client] = step.method.identifier

    # Messages.

    def booked(self, number: int, method: Any, seq: int) -> int | None:
        """The delivery tag, or the number of a publish, under which the model has a message that isn't settled.

        `seq` is the number of its unit, or one below it.
        """
        channel = self.channels.get(number)
        if channel is None:
            return None
        if method.NAME == "basic.publish":
            return channel.publish_count if channel.mode is Mode.CONFIRM else None
        tag: int | None = getattr(method, "delivery_tag", None)
        if tag not in channel.unsettled:
            return None
        # The tag may be an earlier delivery's, and this one needs no settlement.
        unit = channel.unsettled[tag]
        return tag if unit is None or unit >= seq else None

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
        if name == "basic.publish" or name in RETURNS:
            key = (method.exchange, method.routing_key, *content[1:])
            if name == "basic.publish":
                returnable = method.mandatory or method.immediate
                self.settled += self.published(channel, unit, booked, key if returnable else None)
                return booked if channel.sure and not (channel.dead or self.blind) else None
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
            open_delivery(channel, tag, None)
            booked = tag
        self._given(channel, unit, method, known, booked)
        if name == "basic.get-ok":
            return channel.asked.pop(answers, None)
        queue = channel.queues.get(method.consumer_tag)
        return (queue, staged) if name == "file.deliver" else queue

    def _given(self, channel: ObservedChannel, unit: int, method: object, known: bool, booked: int | None) -> None:
        """The server has sent a message, which the client settles unless it has said that it won't."""
        if booked is not None and booked in channel.unsettled and not channel.dead:
            channel.name_delivery(booked, unit)
        elif booked is None and (known or channel.consumers.get(getattr(method, "consumer_tag", ""))):
            self.settled += AT_ONCE
        else:
            self.settled += OPEN_FOR_GOOD

    def published(
        self, channel: ObservedChannel, unit: int, number: int | None, key: tuple[object, ...] | None
    ) -> Settlements:
        """The client has published a message, which may be returned if there is a `key`; what becomes of messages.

        `number` is the one that the server confirms it by.
        """
        most = self.bounds.unconfirmed
        forgotten: dict[int, None] = {}
        settled: list[Settlement] = []
        if channel.mode is Mode.CONFIRM and number is not None and channel.sure and not channel.dead:
            channel.name_publish(number, unit)
        elif channel.dead or channel.confirming:
            # Nobody knows its number, or the server takes nothing more on this channel.
            if number is not None:
                channel.forget_publish(number)
            return OPEN_FOR_GOOD
        elif channel.mode is Mode.TRANSACTED:
            channel.posted[unit] = None
            forgotten = trim(channel.posted, most)
        elif key is None and not channel.unknown:
            # A server whose octets can't be read may have closed the channel.
            return OPEN_FOR_GOOD if self.blind else AT_ONCE
        else:
            if not (self.blind or channel.unknown):
                settled.append((None, "settled", TOLD))
            channel.held[unit] = None
            forgotten = trim(channel.held, most)
        if key is not None:
            channel.returnable.add(unit, key)
        for oldest in forgotten:
            channel.forget_return(oldest)
            settled.append((oldest, None, ENDED))
        return tuple(settled)

    def missed(self, client: bool) -> None:
        """Something of what one side sent wasn't seen: from now on hardly anything is sure."""
        self.assume()
        self.zero.assume()
        for channel in self.channels.values():
            channel.assume()
            channel.set_content(client, None)
            if client and channel.mode is Mode.NORMAL and isinstance(channel, ObservedChannel):
                # Who knows whether it has selected another one.
                channel.unknown = True
        self.seen_again(client)

    def seen_again(self, client: bool) -> None:
        """What a side sent up to here wasn't seen."""
        for channel in self.channels.values():
            if isinstance(channel, ObservedChannel):
                channel.seen_again(client)

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

    def _unforeseen(self, given: ConnectionInput, what: str) -> Connection:
        """As the base's, but for what can have become right by what wasn't seen."""
        return _CONNECTION_AFTER[given] if self.assumed else super()._unforeseen(given, what)

    def _unforeseen_of(self, channel: ChannelState, given: ChannelInput, method: Method) -> Channel:
        """As `_unforeseen`, of a channel."""
        return _CHANNEL_AFTER[given] if channel.assumed else super()._unforeseen_of(channel, given, method)

    def _bound(self, channel: ChannelState) -> None:
        """Forget the oldest entry of what is above its limit; the channel isn't fully known from then on."""
        bounds = self.bounds
        for calls in (channel.client_calls, channel.server_calls):
            if calls is not None and len(calls) > bounds.calls:
                calls.remove(calls.oldest)
                channel.assume()
        waiting: dict[int, Any]
        for waiting, most in ((channel.unsettled, bounds.unsettled), (channel.unconfirmed, bounds.unconfirmed)):
            if forgotten := trim(waiting, most):
                channel.assume()
                if isinstance(channel, ObservedChannel):
                    self._end([*forgotten.values()], channel)
        if trim(channel.consumers, bounds.consumers):
            channel.assume()
        retired = channel.tx_settled
        if retired and len(retired) > bounds.unsettled:
            self._end(_units_of(channel.take_retired()))
            channel.assume()


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
