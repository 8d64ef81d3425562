"""Outcomes: which unit settles which message of an observed connection, and which messages nothing settles any more.

The model keeps what both sides say of a delivery; this names the units, and adds what outlives a delivery's number:
suspended links and transactions. Part 2 sections 2.6.12 (settlement) and 2.6.13 (resuming), part 3 sections 3.4
(outcomes) and 3.5 (sources and targets), part 4 section 4.4 (transactional work).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from ..._ground.brevity import KEPT, short, trim
from ..._ground.invariants import ensure
from ..._ground.serial import distance
from ..._watching.settlements import AT_ONCE, ENDED, OPEN_FOR_GOOD, SETTLED, TOLD
from ...errors import CodecError
from ..codec.performatives import (
    Accepted,
    Coordinator,
    Declare,
    Declared,
    Discharge,
    Modified,
    Rejected,
    Released,
    Source,
    Target,
    TransactionalState,
)
from ..model import states
from ..model.link_state import CLIENT, SERVER, DeliveryModel, LinkModel
from ..model.states import ATTACHED

if TYPE_CHECKING:
    from ..._watching.holders import Consumer
    from ..._watching.settlements import Settlement, Settlements
    from ...limits import Limits
    from ..codec.message import Message
    from ..codec.performatives import Attach, Error
    from ..model.link_state import SessionModel, State

Outcome: TypeAlias = Accepted | Rejected | Released | Modified
Origin: TypeAlias = tuple[str, str | None, bool, str | None]
"""Of messages on a link: their kind, the node at the server, whether each message names it, the link's name."""
Context: TypeAlias = tuple[Origin, int | None, str | None]
"""Of a message: its origin, its delivery-id, and the error of an outcome that came before its last transfer."""

_OUTCOMES: Final = (Accepted, Rejected, Released, Modified)
_EXPIRING: Final = (None, "session-end", "link-detach")
"""Expiry policies of what doesn't outlive its session (part 3 section 3.5.6)."""


class ObservedDelivery(DeliveryModel):
    """A delivery. `unit` is that of its message: None before its last transfer, and when its end has been told.

    `before` is the outcome that was told before it was resumed, or holds for a message that was sent settled within a
    transaction. `early` says that a disposition settled it before its last transfer. `transaction` is the one that it
    belongs to, `acquired` says that its message was sent within it. `request` is the discharge that a controller asks
    for with it.
    """

    __slots__ = ("acquired", "before", "early", "request", "transaction", "unit")

    def __init__(self, link: LinkModel, delivery_id: int, delivery_tag: bytes) -> None:
        DeliveryModel.__init__(self, link, delivery_id, delivery_tag)
        self.unit: int | None = None
        self.before: Outcome | None = None
        self.transaction: Transaction | None = None
        self.acquired = False
        self.early = False
        self.request: Discharge | None = None

    @property
    def observed_link(self) -> ObservedLink:
        """Its link, of the observer's kind."""
        link = self.link
        assert isinstance(link, ObservedLink)
        return link

    @property
    def numbered(self) -> bool:
        """Whether dispositions can still refer to it by its delivery-id."""
        return self.link.session.halves[self.link.sender].deliveries.get(self.delivery_id) is self

    def told(self) -> Outcome | None:
        """The outcome that a side has stated outside of transactions; the sender's word is the last."""
        sender = self.link.sender
        said = (self.states[sender], self.states[1 - sender], self.before)
        return next((state for state in said if _is_told(state)), None)

    def provisional(self, key: object) -> Outcome | None:
        """The outcome that holds when the transaction of that id is committed."""
        sender = self.link.sender
        for side in (sender, 1 - sender):
            state = self.states[side]
            if isinstance(state, TransactionalState) and state.txn_id == key:
                state = state.outcome
            if _is_told(state):
                return state
        return None


class ObservedLink(LinkModel):
    """A link; `attached` and `detached` are the units of each side.

    `origin` says where its messages come from, None for a link to a coordinator. `suspended` are open deliveries from
    before it was attached, by tag. `consumer` is what the account of holders knows of it.
    """

    DELIVERY = ObservedDelivery

    __slots__ = ("attached", "consumer", "detached", "heard", "origin", "suspended")

    def __init__(self, session: SessionModel, name: str, sender: int) -> None:
        super().__init__(session, name, sender)
        self.attached: list[int | None] = [None, None]
        self.detached: list[int | None] = [None, None]
        self.origin: Origin | None = (_KINDS[sender], None, False, name or None)
        self.suspended: dict[bytes, ObservedDelivery] = {}
        self.heard = [0, 0]
        """How many gaps each side had when its last frame about the link came."""
        self.consumer: Consumer | None = None

    @property
    def room(self) -> int | None:
        """The deliveries that its credit leaves; None: not known."""
        return None if self.credit_limit is None else max(0, distance(self.delivery_count, self.credit_limit))

    @property
    def half_attached(self) -> bool:
        """Whether a side has it attached."""
        return any([half.state is ATTACHED for half in self.halves])

    @property
    def open(self) -> dict[bytes, ObservedDelivery]:
        """The deliveries whose messages aren't settled, by tag."""
        unsettled: dict[bytes, ObservedDelivery] = self.unsettled
        own = {tag: each for tag, each in unsettled.items() if each.unit is not None}
        return {**self.suspended, **own}

    def locate(self) -> None:
        """Find the origin of its messages, as attaches say."""
        if any([half.attach and isinstance(half.attach.target, Coordinator) for half in self.halves]):
            self.origin = None
            return
        source, target = self._terminus(self.sender, "source"), self._terminus(1 - self.sender, "target")
        address = getattr(target if self.sender == CLIENT else source, "address", None)
        anonymous = isinstance(target, Target) and target.address is None
        known = address if isinstance(address, str) else None
        if known is not None and len(known) > KEPT:
            known = short(known)
        self.origin = (_KINDS[self.sender], known, anonymous, self.name or None)

    def reveal(self, message: Message | None) -> None:
        """A message of a link whose attaches weren't seen: one with a request is for a coordinator."""
        if message is None or self.origin is None or any([half.attach for half in self.halves]):
            return
        try:
            if isinstance(message.body, Declare | Discharge):
                self.origin = None
        except CodecError:
            # It's no request, and whoever reads it says so.
            return

    def _terminus(self, decides: int, name: str) -> object:
        """The source as the sender says, the target as the receiver says (part 2 section 2.6.3).

        The other side's wish stands where the one that decides hasn't spoken.
        """
        for side in (decides, 1 - decides):
            found: object = getattr(self.halves[side].attach, name, None)
            if found is not None:
                return found
        return None

    @property
    def default_outcome(self) -> Outcome | None:
        """The outcome of a delivery that is settled without one (part 3 section 3.5.3)."""
        outcome = getattr(self._terminus(self.sender, "source"), "default_outcome", None)
        return outcome if _is_told(outcome) else None

    @property
    def outlives_session(self) -> bool:
        """Whether a terminus is kept when its session ends (part 3 section 3.5.6)."""
        found = (self._terminus(self.sender, "source"), self._terminus(1 - self.sender, "target"))
        kept = [each for each in found if isinstance(each, Source | Target)]
        return any([each.expiry_policy not in _EXPIRING or each.timeout for each in kept])


_KINDS: Final = ("publish", "deliver")


class Transaction:
    """A transaction: its id (`key`) and `controller`, the link it was declared on (None: not seen), and its deliveries
    by their units. `ending` says that its discharge was sent.
    """

    __slots__ = ("controller", "declared_on", "ending", "key", "members")

    def __init__(self, key: object, controller: int, declared_on: tuple[str, int] | None) -> None:
        self.key = key
        self.controller = controller
        self.declared_on = declared_on
        self.ending = False
        self.members: dict[int, ObservedDelivery] = {}


class Unrecorded:
    """The outcomes of messages where no records are wanted: there are none. `Outcomes` says what each step means."""

    __slots__ = ()

    def take_settled(self) -> tuple[Settlements, dict[int, str | None] | None]:
        return (), None

    def lost(self) -> Settlements:
        return ()

    def message(
        self, delivery: ObservedDelivery, unit: int, number: int | None, message: Message | None, octets: int
    ) -> Context | None:
        return None

    def aborted(self, delivery: ObservedDelivery) -> None:
        """Nothing becomes of it."""

    def stated(self, deliveries: list[DeliveryModel], side: int, state: State | None, settled: bool) -> None:
        """Nothing becomes of them."""

    def end(self, delivery: DeliveryModel) -> None:
        """Nothing becomes of it."""

    def session_over(self, session: SessionModel) -> None:
        """Nothing becomes of its deliveries."""

    def attached(self, link: ObservedLink, side: int, answers: bool) -> None:
        link.locate()

    def detached(self, link: ObservedLink, side: int, failed: bool) -> None:
        """Nothing becomes of its deliveries."""

    def check(self) -> None:
        """Nothing is kept."""


class Outcomes(Unrecorded):
    """The outcomes of the messages of one connection, for units to say: `settled`, and `errors` of rejections by unit.

    `links` are the last ones of each name and sender. `kept` are deliveries that have no delivery-id any more:
    suspended ones, and settled ones whose transaction isn't over. `transactions` are by controller and id.
    """

    __slots__ = ("errors", "kept", "limits", "links", "settled", "transactions")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.settled: list[Settlement] = []
        self.errors: dict[int, str | None] = {}
        self.links: dict[tuple[str, int], ObservedLink] = {}
        self.kept: dict[int, ObservedDelivery] = {}
        self.transactions: dict[tuple[int, object], Transaction] = {}

    def take_settled(self) -> tuple[Settlements, dict[int, str | None] | None]:
        """Take the settlements since the last unit, and the errors of rejected messages."""
        settled, errors = self.settled, self.errors
        if not settled:
            return (), None
        self.settled = []
        if errors:
            self.errors = {}
        return tuple(settled), errors or None

    def check(self) -> None:
        """Check that each message is kept under its unit, and that all are bounded. Raises AssertionError."""
        limits, where = self.limits, "the outcomes of messages"
        strange = [unit for unit, each in self.kept.items() if each.unit != unit]
        ensure(not strange, where, "what is kept is kept under its unit", strange)
        ensure(len(self.kept) <= limits.unsettled, where, "`Limits.unsettled` bounds what is kept", len(self.kept))
        for key, link in self.links.items():
            ensure((link.name, link.sender) == key, where, "each link is kept under its name", key, link.name)
            lost = [tag for tag, each in link.suspended.items() if each.delivery_tag != tag]
            ensure(not lost, where, "what is suspended is kept under its tag", lost)
        ensure(len(self.links) <= limits.consumers, where, "`Limits.consumers` bounds links", len(self.links))
        for number, transaction in self.transactions.items():
            ours = (transaction.controller, transaction.key)
            ensure(ours == number, where, "each transaction is kept under its id", number, ours)
            members = transaction.members
            silent = [unit for unit, each in members.items() if (each.unit, each.transaction) != (unit, transaction)]
            ensure(not silent, where, "what is in a transaction says so", silent)
        count = len(self.transactions)
        ensure(count <= limits.calls, where, "`Limits.calls` bounds transactions", count)

    def lost(self) -> Settlements:
        """Something wasn't seen: nobody knows how the transactions ended."""
        transactions, self.transactions = self.transactions, {}
        for transaction in transactions.values():
            self._abandon(transaction)
        return self.take_settled()[0]

    # Deliveries.

    def message(
        self, delivery: ObservedDelivery, unit: int, number: int | None, message: Message | None, octets: int
    ) -> Context | None:
        """The unit completes a delivery with the delivery-id `number` and so many octets; None: that is no new message.

        Requests to a coordinator are none, and neither is a resumed delivery: it had its unit before.
        """
        link = delivery.observed_link
        known = link.suspended.get(delivery.delivery_tag) if delivery.resumed else None
        if known is not None:
            self._resume(known, delivery)
            return None
        origin = link.origin
        if origin is None:
            self._request(delivery, message)
            return None
        if delivery.resumed and not octets:
            # It says what became of a delivery that another connection has carried.
            return None
        delivery.unit = unit
        first, answer = delivery.states[link.sender], delivery.states[1 - link.sender]
        posted = self._join(delivery, first)
        delivery.acquired = posted is not None and posted.controller != link.sender
        self._join(delivery, answer)
        if delivery.transaction is not None:
            self._tell(delivery)
            if delivery.settled:
                delivery.before = Accepted() if answer is None and not delivery.early else None
                self._keep(delivery)
        elif delivery.settled and not delivery.early:
            told = delivery.told()
            self.settled += AT_ONCE if told is None else ((None, told.NAME, ENDED),)
            delivery.unit = None
        elif delivery.settled:
            self._settle(delivery, delivery.told())
        elif number is None or not delivery.numbered:
            # Nothing can refer to it.
            self.settled += OPEN_FOR_GOOD
            delivery.unit = None
        else:
            self._tell(delivery)
        return origin, number, self.errors.pop(unit, None)

    def aborted(self, delivery: ObservedDelivery) -> None:
        """A resumed delivery that is aborted is settled (part 3 section 3.4.6, tag 7)."""
        known = delivery.observed_link.suspended.get(delivery.delivery_tag)
        if delivery.resumed and known is not None:
            told = known.told()
            self._done(known, "settled" if told is None else told.NAME, told)

    def stated(self, deliveries: list[DeliveryModel], side: int, state: State | None, settled: bool) -> None:
        """A side has said what state deliveries are in, and whether it settles them."""
        for delivery in deliveries:
            if isinstance(delivery, ObservedDelivery):
                self._stated(delivery, side, state, settled)

    def _stated(self, delivery: ObservedDelivery, side: int, state: State | None, settled: bool) -> None:
        if delivery.observed_link.origin is None:
            if side != delivery.link.sender:
                self._answer(delivery, state)
        elif delivery.unit is None:
            delivery.early = delivery.early or settled
        else:
            self._join(delivery, state)
            if delivery.transaction is None:
                if settled:
                    self._settle(delivery, delivery.told())
                elif _is_told(state):
                    self._tell(delivery)
            elif settled:
                self._keep(delivery)

    def end(self, delivery: DeliveryModel) -> None:
        """Nothing settles a delivery any more: the outcome that was told of it holds."""
        if isinstance(delivery, ObservedDelivery) and delivery.unit is not None:
            self._done(delivery, None, None, ENDED)

    def _resume(self, known: ObservedDelivery, delivery: ObservedDelivery) -> None:
        """A delivery goes on as another one (part 2 section 2.6.13)."""
        unit, transaction = known.unit, known.transaction
        told = known.told()
        self._leave(known)
        delivery.unit = unit
        delivery.before = told
        if transaction is not None and unit is not None:
            delivery.transaction = transaction
            delivery.acquired = known.acquired
            transaction.members[unit] = delivery
        sender = delivery.link.sender
        self._stated(delivery, sender, delivery.states[sender], delivery.settled)

    def _settle(self, delivery: ObservedDelivery, told: Outcome | None) -> None:
        """The unit at hand settles a message."""
        told = told or self._default_outcome(delivery)
        self._done(delivery, "settled" if told is None else told.NAME, told)

    def _default_outcome(self, delivery: ObservedDelivery) -> Outcome | None:
        link = delivery.observed_link
        return self.links.get((link.name, link.sender), link).default_outcome

    def _tell(self, delivery: ObservedDelivery) -> None:
        """An outcome was stated, which holds if nothing settles the message."""
        told = delivery.told()
        if told is not None and delivery.unit is not None:
            self._explain(delivery.unit, told)
            self.settled.append((delivery.unit, told.NAME, TOLD))

    def _done(self, delivery: ObservedDelivery, word: str | None, told: Outcome | None, how: str = SETTLED) -> None:
        unit = delivery.unit
        if unit is not None:
            self._explain(unit, told)
            self.settled.append((unit, word, how))
            self._leave(delivery)

    def _explain(self, unit: int, told: Outcome | None) -> None:
        if isinstance(told, Rejected):
            self.errors[unit] = None if told.error is None else error_text(told.error)

    def _leave(self, delivery: ObservedDelivery) -> None:
        """Nothing waits for what becomes of it any more."""
        unit = delivery.unit
        if unit is None:
            return
        self.kept.pop(unit, None)
        if delivery.transaction is not None:
            delivery.transaction.members.pop(unit, None)
            delivery.transaction = None
        suspended = delivery.observed_link.suspended
        if suspended.get(delivery.delivery_tag) is delivery:
            del suspended[delivery.delivery_tag]
        delivery.unit = None

    def _keep(self, delivery: ObservedDelivery) -> None:
        """Hold a delivery that has no delivery-id; above the limit the oldest is given up."""
        assert delivery.unit is not None
        self.kept[delivery.unit] = delivery
        if len(self.kept) > self.limits.unsettled:
            self.end(self.kept[next(iter(self.kept))])

    def _suspend(self, delivery: ObservedDelivery) -> None:
        """A delivery has no delivery-id until it's resumed."""
        delivery.observed_link.suspended[delivery.delivery_tag] = delivery
        self._keep(delivery)

    # Sessions and links.

    def session_over(self, session: SessionModel) -> None:
        """Nothing refers to delivery-ids of a session any more; links that outlive it are suspended."""
        links = {id(each): each for half in session.halves for each in half.handles.values()}
        open_: dict[int, ObservedDelivery] = {}
        for half in session.halves:
            for each in half.deliveries.values():
                if isinstance(each, ObservedDelivery) and each.unit is not None:
                    open_[each.unit] = each
        for _, delivery in sorted(open_.items()):
            link = delivery.observed_link
            links[id(link)] = link
            if link.outlives_session or delivery.transaction is not None:
                self._suspend(delivery)
            else:
                self.end(delivery)
        for each_link in links.values():
            if isinstance(each_link, ObservedLink) and not each_link.suspended:
                self._forget(each_link)

    def attached(self, link: ObservedLink, side: int, answers: bool) -> None:
        """A side has attached a link: it goes on with the deliveries of the last one of its name, unless it has closed
        that one."""
        key = (link.name, link.sender)
        known = self.links.get(key)
        if known is not link:
            if known is not None and known.halves[side].state is not states.Link.CLOSED:
                known.suspended.update(known.open)
                link.suspended = known.suspended
            self.links[key] = link
            for oldest in trim(self.links, self.limits.consumers).values():
                for each in [each for each in oldest.suspended.values() if not each.numbered]:
                    self.end(each)
        link.locate()
        if answers:
            self._compare(link)

    def detached(self, link: ObservedLink, side: int, failed: bool) -> None:
        """A side has detached a link; `failed`: with an error."""
        key = (link.name, link.sender)
        if link.origin is None and side != link.sender:
            # The coordinator rolls back what isn't discharged (part 4 section 4.1).
            for number, transaction in list(self.transactions.items()):
                if transaction.declared_on == key and (failed or not transaction.ending):
                    del self.transactions[number]
                    self._discharge(transaction, False)
        if link.half_attached:
            return
        closed = any([half.state is states.Link.CLOSED for half in link.halves])
        open_ = link.open
        for delivery in open_.values():
            if closed and delivery.transaction is None:
                self.end(delivery)
            elif not delivery.numbered:
                self._suspend(delivery)
        if closed or not open_:
            self._forget(link)

    def _forget(self, link: ObservedLink) -> None:
        key = (link.name, link.sender)
        if self.links.get(key) is link:
            del self.links[key]

    def _compare(self, link: ObservedLink) -> None:
        """Both sides have attached again: what their maps say of open deliveries (part 2 section 2.6.13)."""
        sender, receiver = link.halves[link.sender].attach, link.halves[1 - link.sender].attach
        if sender is None or receiver is None or (sender.unsettled is receiver.unsettled is None):
            return
        open_ = link.open
        for side in (1 - link.sender, link.sender):
            for tag, state in _map(link.halves[side].attach).items():
                delivery = open_.get(tag)
                if delivery is not None and delivery.transaction is None and _is_told(state):
                    delivery.say(side, state, None)
                    self._tell(delivery)
        own = None if sender.incomplete_unsettled or sender.unsettled is None else _map(sender)
        for tag, delivery in open_.items():
            if own is not None and tag not in own and delivery.transaction is None:
                # The sender has forgotten it, which is what settling is.
                self._settle(delivery, delivery.told())
            elif not delivery.numbered:
                self._keep(delivery)

    # Transactions.

    def _request(self, delivery: ObservedDelivery, message: Message | None) -> None:
        """A declare or a discharge (part 4 sections 4.2 and 4.3)."""
        try:
            body = None if message is None else message.body
        except CodecError:
            return
        if isinstance(body, Discharge):
            delivery.request = body
            found = self._find(body.txn_id)
            if found is not None:
                found.ending = True

    def _answer(self, delivery: ObservedDelivery, state: State | None) -> None:
        """The coordinator's word on a declare or a discharge."""
        controller = delivery.link.sender
        if isinstance(state, Declared):
            before = self.transactions.pop((controller, state.txn_id), None)
            if before is not None:
                self._abandon(before)
            self._declare(state.txn_id, controller, (delivery.link.name, controller))
        elif delivery.request is not None and isinstance(state, Accepted | Rejected):
            request, delivery.request = delivery.request, None
            found = self.transactions.pop((controller, request.txn_id), None)
            if found is not None:
                self._discharge(found, isinstance(state, Accepted) and not request.fail)

    def _declare(self, key: object, controller: int, declared_on: tuple[str, int] | None) -> Transaction:
        if len(self.transactions) >= self.limits.calls:
            self._abandon(self.transactions.pop(next(iter(self.transactions))))
        found = self.transactions[controller, key] = Transaction(key, controller, declared_on)
        return found

    def _find(self, key: object) -> Transaction | None:
        return self.transactions.get((CLIENT, key)) or self.transactions.get((SERVER, key))

    def _join(self, delivery: ObservedDelivery, state: State | None) -> Transaction | None:
        """A delivery belongs to the transaction that a state names; one that wasn't seen declared is the client's."""
        if not isinstance(state, TransactionalState) or delivery.unit is None:
            return None
        found = self._find(state.txn_id) or self._declare(state.txn_id, CLIENT, None)
        if delivery.transaction is not found:
            if delivery.transaction is not None:
                delivery.transaction.members.pop(delivery.unit, None)
            found.members[delivery.unit] = delivery
            delivery.transaction = found
        return found

    def _abandon(self, transaction: Transaction) -> None:
        """Nobody knows how a transaction ended; what a side has settled in it is open for good."""
        for delivery in list(transaction.members.values()):
            if delivery.settled:
                self.end(delivery)
            else:
                delivery.transaction = None

    def _discharge(self, transaction: Transaction, committed: bool) -> None:
        """A transaction is over (part 4 section 4.4)."""
        for delivery in list(transaction.members.values()):
            told: Outcome | None = None
            word = None
            if committed:
                told = delivery.provisional(transaction.key)
                if told is None and delivery.settled:
                    told = delivery.told() or self._default_outcome(delivery)
                    word = "settled"
            elif delivery.link.sender == transaction.controller or delivery.acquired:
                word = "released"
            elif delivery.settled:
                told = self._default_outcome(delivery)
                word = "released"
            delivery.transaction = None
            if told is not None or word is not None:
                self._done(delivery, word if told is None else told.NAME, told)


def error_text(error: Error) -> str:
    """An error's condition, and its description where it has one."""
    return f"{error.condition}: {error.description}" if error.description else str(error.condition)


def _is_told(state: object) -> TypeGuard[Outcome]:
    """Whether a state is an outcome of a message (part 3 section 3.4)."""
    return isinstance(state, _OUTCOMES)


def _map(attach: Attach | None) -> dict[bytes, Any]:
    """An attach's unsettled map, as far as it can be read."""
    try:
        return {tag: state for tag, state in ((attach and attach.unsettled) or {}).items() if isinstance(tag, bytes)}
    except CodecError:
        return {}
