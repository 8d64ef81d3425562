"""Receiver: the end of a link that receives: credit, deliveries, outcomes (part 2 sections 2.6.7 to 2.6.14)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct

from ..._checking import TYPE_CHECKING
from ..._ground.serial import distance
from ...errors import CodecError, LocalProtocolError, Scope
from ...events import Pending
from ..codec import conditions
from ..codec.frames import PACK_PLAIN, PLAIN
from ..codec.message import LenientMessage, has_sections
from ..codec.octets import UINTS
from ..codec.performatives import (
    ACCEPTED,
    Coordinator,
    Declare,
    Discharge,
    Disposition,
    Error,
    Modified,
    Received,
    Rejected,
    Released,
    TransactionalState,
    Transfer,
)
from ..codec.sections import position_octets, section_position
from ..codec.types import Symbol
from ..codec.violation import Violation, misuse
from ..model.harm import message_fault, violation_of
from ..model.link_state import ID_SIZE, DeliveryModel, is_outcome
from ..model.resume import SavedDelivery
from ..model.states import ABORTED, MAPPED, OPEN, SENDING
from .events import AvailableChanged, Delivery, DeliveryAborted, DeliveryRefused, Drained, Resumed, TransactionRequested
from .link import Link
from .outgoing import shorten

if TYPE_CHECKING:
    from typing import Final

    from ..codec.performatives import DeliveryState, Flow
    from ..codec.types import AmqpMap
    from ..model.link_state import SessionViolation, State
    from .outgoing import SessionEnd

_RELEASED: Final = Released()
_ACCEPTING: Final = {size: bytes((0x00, 0x53, 0x15, 0xC0, size + 8, 5, 0x41)) for size in (1, 2, 5)}
"""A receiver's disposition with five fields, by the size of the delivery-id that follows."""
_WHOLE: Final = {size: bytes((0x00, 0x53, 0x15, 0xC0, size + 9, 6, 0x41)) for size in (1, 2, 5)}
"""The same where whole lists are written, with a null behind the state."""
_AS_ACCEPTED: Final = b"\x40\x41\x00\x53\x24\x45"
"""One delivery only, settled as accepted."""
_WITH_NULL: Final = _AS_ACCEPTED + b"\x40"
_PACK_ACCEPTED: Final = Struct(">IHH7sBI").pack
"""A disposition up to the delivery-id, in five octets, as nearly all are."""


class IncomingDelivery(DeliveryModel):
    """A delivery of a receiver: the octets so far while it comes, and the pending of what was said of it."""

    __slots__ = ("fault", "ignored", "parts", "pending", "skip")

    link: Receiver

    def __init__(self, link: Receiver, delivery_id: int, delivery_tag: bytes) -> None:
        DeliveryModel.__init__(self, link, delivery_id, delivery_tag)
        # Its payload so far, until it is whole.
        self.parts: list[bytes] = []
        # What `accept` or another outcome returned, which ends when the sender settles too; None: nothing is waited
        # for.
        self.pending: Pending[DeliveryState | None] | None = None
        # Octets at its beginning that are known from an earlier attachment of the link.
        self.skip = 0
        # Whether nobody wants it: its octets count and are dropped.
        self.ignored = False
        # Why it can't be given to the application; told when it is whole.
        self.fault: Violation | None = None


class Receiver(Link):
    """One end of a link, the one that receives. See `Link` for what both kinds share."""

    ROLE = True
    DELIVERY = IncomingDelivery

    __slots__ = ("_recalling", "draining", "unused")

    unsettled: dict[bytes, IncomingDelivery]
    current: IncomingDelivery | None

    def __init__(self, session: SessionEnd, name: str) -> None:
        Link.__init__(self, session, name, 1 - session.side)
        # Whether the sender was asked to use its credit or to give it up, and hasn't yet (part 2 section 2.6.7).
        self.draining = False
        # Whether that was asked for as credit 0: it ends when the sender says that it has none.
        self._recalling = False
        # Credit that brought the application no Delivery: of aborted or known ones, or given up by the sender.
        self.unused = 0

    # State.

    @property
    def credit(self) -> int:
        """Deliveries that the sender may still begin, by what it was told."""
        limit = self.credit_limit
        return 0 if limit is None else max(0, distance(self.delivery_count, limit))

    # Commands.

    def flow(self, credit: int, *, drain: bool = False, echo: bool = False, properties: AmqpMap | None = None) -> None:
        """Let the sender begin `credit` deliveries, counted from now (part 2 section 2.6.7); 0 stops it.

        `credit` is how many `Delivery` events may come: for one that is aborted, or only restates what was
        known before the link was resumed, the sender is given another one when the credit is used up.

        `drain` asks it to use the credit up at once or give it back: `Drained` says when. `properties` may name
        a transaction (`txn-id`, part 4 section 4.4.3).

        RabbitMQ 3 ends the session when a drain finds a queue empty. There the credit is taken back instead, and
        what comes until the sender says that it has none left comes before `Drained` as ever.
        """
        self._check()
        check_credit(credit)
        recall = drain and self._dies_of_draining()
        if not recall:
            self.session.send_flow(self, credit=credit, drain=drain, echo=echo, properties=properties)
        else:
            if credit > self.credit:
                self.session.send_flow(self, credit=credit, properties=properties)
            self.session.send_flow(self, credit=0, echo=True, properties=properties)
        self.draining = drain
        self._recalling = recall
        self.unused = 0

    def top_up(self, target: int) -> bool:
        """Raise the credit to `target` when half of it is used up; whether a flow was sent.

        To be called at the application's pace: when it takes a delivery.
        """
        if self.credit * 2 > target or self.draining:
            return False
        self.flow(target)
        return True

    def drain(self) -> None:
        """Ask the sender to use up or give back the credit it has: the end of it is `Drained`."""
        self.flow(self.credit, drain=True)

    def accept(self, *deliveries: Delivery | int) -> tuple[Pending[DeliveryState | None], ...]:
        """The deliveries are taken over. See `update`."""
        if len(deliveries) == 1:
            pending = self._accept_fast(deliveries[0])
            if pending is not None:
                return (pending,)
        return self.update(deliveries, ACCEPTED)

    def reject(
        self, *deliveries: Delivery | int, error: Error | None = None
    ) -> tuple[Pending[DeliveryState | None], ...]:
        """The deliveries are invalid and can't be processed; `error` says why. See `update`."""
        return self.update(deliveries, Rejected(error))

    def release(self, *deliveries: Delivery | int) -> tuple[Pending[DeliveryState | None], ...]:
        """The deliveries weren't and won't be processed here. See `update`."""
        return self.update(deliveries, _RELEASED)

    def modify(
        self,
        *deliveries: Delivery | int,
        delivery_failed: bool | None = None,
        undeliverable_here: bool | None = None,
        message_annotations: AmqpMap | None = None,
    ) -> tuple[Pending[DeliveryState | None], ...]:
        """The deliveries weren't processed here, and are given back changed. See `update`."""
        return self.update(deliveries, Modified(delivery_failed, undeliverable_here, message_annotations))

    def update(
        self, deliveries: Iterable[Delivery | int], state: DeliveryState | None, *, settled: bool | None = None
    ) -> tuple[Pending[DeliveryState | None], ...]:
        """Tell the sender the state of deliveries, those with consecutive ids in one frame.

        They are settled at once with an outcome in rcv-settle-mode first, or where `settled` says so; else each pending
        ends by `Settled` when the sender has settled. Handles of deliveries that are settled now are done.

        Raises LocalProtocolError for a delivery that isn't unsettled on this link, and for settling before the
        sender in mode second, with nothing sent.
        """
        self._check()
        found = [self._find(each) for each in deliveries]
        groups: dict[bool, list[IncomingDelivery]] = {False: [], True: []}
        for each in found:
            groups[self._settles(each, state, settled)].append(each)
        pendings: list[Pending[DeliveryState | None]] = []
        frame = Disposition(True, 0xFFFF_FFFF, 0xFFFF_FFFF, settled=True, state=state)
        transport = self.session.transport
        transport.check_frames(frame)
        if len(found) > 1:
            transport.check_backlog((len(transport.octets(frame)) + 8) * len(found))
        if state is not None:
            # All of them can get it, so that none does when one can't.
            try:
                for each in found:
                    each.check_told(self.session.side, state)
            except Violation as violation:
                raise misuse(violation) from None
        for settling, group in groups.items():
            if group:
                self.session.disposition(True, [each.delivery_id for each in group], state, settling)
        for each in found:
            pending = each.pending
            if pending is None:
                pending = self.pending_of(each.delivery_tag)
                each.pending = pending
            if each.settled:
                pending.complete(state)
            pendings.append(pending)
        return tuple(pendings)

    # For the session.

    def receive(self, delivery: IncomingDelivery, frame: Transfer, payload: bytes) -> None:
        """The model has a transfer of this link: assemble, and give the application what is whole."""
        if delivery.progress is ABORTED:
            self._aborted(delivery)
            self._gave_nothing()
            return
        first = not delivery.parts and delivery.size == len(payload)
        if frame.resume and first and not delivery.ignored:
            self._resumes(delivery, frame)
        if delivery.progress is SENDING:
            self._take(delivery, payload)
            return
        if delivery.parts or delivery.skip:
            self._take(delivery, payload, last=True)
            payload = b"".join(delivery.parts)
            self.session.transport.let_go(delivery.parts)
            delivery.parts = []
        if delivery.ignored:
            delivery.forget(self.session.peer.deliveries)
            self._gave_nothing()
        elif delivery.resumed and self._restates(delivery, frame):
            self._gave_nothing()
        else:
            self._deliver(delivery, payload)

    def drop(self) -> None:
        """Let go of the octets of a delivery that won't be completed here."""
        delivery = self.current
        if delivery is not None and delivery.parts and not delivery.ignored:
            self.session.transport.let_go(delivery.parts)
            delivery.ignored = True

    def _saved_deliveries(self, undecided: Mapping[bytes, bytes]) -> Iterable[SavedDelivery]:
        side = self.session.side
        for tag, delivery in self.unsettled.items():
            told = delivery.states[side]
            if delivery.progress is SENDING:
                yield SavedDelivery(tag, delivery.message_format, b"".join(delivery.parts), None, None)
            elif is_outcome(told):
                # Undecided ones aren't kept: the sender sends them again as new ones (part 3 section 3.4.6, tag 4).
                yield SavedDelivery(tag, delivery.message_format, None, told, None)
            elif tag in undecided:
                yield SavedDelivery(tag, delivery.message_format, undecided[tag], None, None)
        for tag, saved in (self._restored or {}).items():
            if tag not in self.unsettled:
                yield saved

    def _unsettled_states(self) -> dict[bytes, State | None]:
        restored = (self._restored or {}).items()
        return {tag: _reached(saved.payload or b"") if saved.local is None else saved.local for tag, saved in restored}

    def compare(self) -> None:
        restored, remote, local = self._restored, self.remote, self.local
        if restored is None or remote is None or local is None:
            return
        theirs = restored if remote.incomplete_unsettled else remote.unsettled or {}
        forgotten = [tag for tag in restored if tag not in theirs]
        for tag in forgotten:
            self.session.complete([(self.pending_of(tag), restored.pop(tag).local)])
        self._restored = self._name_later(restored)
        incomplete = self._incomplete or remote.incomplete_unsettled
        self._count_round(incomplete)
        self.tell(Resumed, (), tuple(forgotten), (), incomplete)

    def ended(self) -> list[Pending[object]]:
        self.drop()
        return [each.pending for each in self.unsettled.values() if each.pending is not None and not each.pending.done]

    # Inside.

    def _find(self, which: Delivery | int) -> IncomingDelivery:
        number = which if isinstance(which, int) else getattr(which, "delivery_id", None)
        if number is None:
            raise TypeError(f"deliveries, or their ids, are given one by one, as in accept(*deliveries); got {which!r}")
        found = self.session.peer.deliveries.get(number)
        if not isinstance(found, IncomingDelivery) or found.link is not self:
            raise LocalProtocolError(
                f"delivery {number} isn't unsettled on link {self.name!r}; it was settled before, or isn't this link's"
            )
        return found

    def _settles(self, delivery: IncomingDelivery, state: DeliveryState | None, settled: bool | None) -> bool:
        may = delivery.may_settle
        if settled and not may:
            raise LocalProtocolError(
                f"delivery {delivery.delivery_id} of link {self.name!r} has rcv-settle-mode second: the sender "
                "settles it first",
                rule="1.0/transport/transfer/rcv-second",
            )
        if settled is None:
            # A transaction's outcome is only provisional, and settling it is the controller's choice.
            return may and (is_outcome(state) or isinstance(state, TransactionalState))
        return settled

    def _take(self, delivery: IncomingDelivery, payload: bytes, *, last: bool = False) -> None:
        """Keep a part of a delivery, without what was known before."""
        if delivery.ignored:
            return
        if delivery.skip:
            known = min(delivery.skip, len(payload))
            delivery.skip -= known
            payload = payload[known:]
        if not payload:
            return
        transport = self.session.transport
        if not last and transport.bodies + len(payload) > transport.limits.bodies:
            text = f"messages under way have {transport.bodies} octets, Limits.bodies allows no more"
            raise self.error(self.sender, conditions.RESOURCE_LIMIT_EXCEEDED, text, "transport/error/resource-limit")
        transport.bodies += len(payload)
        delivery.parts.append(payload)

    def _deliver(self, delivery: IncomingDelivery, payload: bytes) -> None:
        session = self.session
        transport = session.transport
        if self._incomplete and not delivery.resumed:
            text = f"a new delivery on link {self.name!r} after an incomplete unsettled map"
            raise self.error(self.sender, conditions.NOT_ALLOWED, text, "transport/attach/incomplete-detach")
        event = Delivery(
            session.channel,
            self.number,
            delivery.delivery_id,
            delivery.delivery_tag,
            delivery.message_format,
            delivery.settled,
            delivery.states[self.sender],
            payload,
            delivery.resumed,
        )
        validate = transport.config.validate_content
        if validate is None:
            validate = session.side == 1
        fault = delivery.fault
        asks = isinstance(self.target, Coordinator)
        if fault is None and (validate or asks) and not delivery.message_format:
            error = message_fault(payload, strict=transport.config.strict)
            if error is not None and (transport.config.strict or (asks and not has_sections(payload))):
                raise self._undecodable(error)
            fault = None if error is None else violation_of(error)
        if fault is not None:
            self._refuse_delivery(delivery, fault)
            return
        if asks:
            self._deliver_request(event)
        else:
            transport.events.append(event)
        self._used_credit()

    def _gave_nothing(self) -> None:
        """A delivery took credit, and the application gets none for it: who waits for one would wait for ever."""
        self.unused += 1
        self._used_credit()

    def _used_credit(self) -> None:
        """Whether that was the last of it: the end of a drain, or time to give again what brought no delivery."""
        if not (self.draining or self.unused) or self.credit:
            return
        if self.draining:
            if not self._recalling:
                self.draining = False
                self.tell(Drained)
        elif self.is_open:
            self.flow(self.unused)

    def _refuse_delivery(self, delivery: IncomingDelivery, fault: Violation) -> None:
        """A message that can't be read goes no further: reject it, or drop one that is settled. The link goes on."""
        error = fault.error()
        error.scope = Scope.MESSAGE
        error.channel = self.session.channel
        if not delivery.settled:
            rejected = Rejected(Error(Symbol(fault.condition), shorten(str(fault))))
            self.update([delivery.delivery_id], outcome_in(delivery.states[self.sender], rejected))
        self.tell(DeliveryRefused, delivery.delivery_id, delivery.delivery_tag, error)
        self._gave_nothing()

    def _undecodable(self, error: CodecError) -> SessionViolation:
        rule = (error.rule or "1.0/transport/error/decode-error").removeprefix("1.0/")
        return self.error(self.sender, error.condition or conditions.DECODE_ERROR, str(error), rule)

    def _deliver_request(self, event: Delivery) -> None:
        """Report a message to a coordinator: it declares or discharges a transaction (part 4 sections 4.2 and 4.3)."""
        if event.settled:
            text = f"a message to the coordinator on link {self.name!r} was sent settled"
            raise self.error(self.sender, conditions.NOT_ALLOWED, text, "transactions/declare/settled-detach")
        try:
            request = request_of(event.payload)
        except CodecError as error:
            raise self._undecodable(error) from error
        self.tell(TransactionRequested, event, request)

    def _aborted(self, delivery: IncomingDelivery) -> None:
        if delivery.parts:
            self.session.transport.let_go(delivery.parts)
            delivery.parts = []
        known = (self._restored or {}).pop(delivery.delivery_tag, None)
        if (delivery.resumed and known is None) or delivery.ignored:
            return
        self.tell(DeliveryAborted, delivery.delivery_id, delivery.delivery_tag)

    def _resumes(self, delivery: IncomingDelivery, frame: Transfer) -> None:
        """The first transfer of a delivery that this end may know (part 2 section 2.6.13)."""
        known = (self._restored or {}).get(delivery.delivery_tag)
        if known is None:
            delivery.ignored = True
            return
        if known.local is not None:
            delivery.say(self.session.side, known.local, None)
            return
        held = known.payload or b""
        start = 0
        state = frame.state
        if isinstance(state, Received):
            try:
                start = position_octets(held, state.section_number, state.section_offset)
            except CodecError as error:
                text = f"delivery {delivery.delivery_id} of link {self.name!r} goes on behind what came of it: {error}"
                raise self.error(self.sender, conditions.INVALID_FIELD, text, "received/offset-meaning") from error
        delivery.skip = max(0, len(held) - start)
        if held:
            delivery.parts = [held]
            self.session.transport.bodies += len(held)
        (self._restored or {}).pop(delivery.delivery_tag, None)

    def _restates(self, delivery: IncomingDelivery, frame: Transfer) -> bool:
        """A resumed delivery of which this end had decided: the sender tells the outcome, or settles."""
        known = (self._restored or {}).pop(delivery.delivery_tag, None)
        if known is None or known.local is None:
            return False
        state = delivery.states[self.sender] or known.local
        if not delivery.settled:
            outcome = delivery.states[self.sender]
            if not is_outcome(outcome):
                # The sender goes on with the data: it didn't take over what was decided here.
                return False
            # The sender's outcome counts: it is echoed and settled (part 3 section 3.4.6, tag 13).
            delivery.unsay(self.session.side)
            self.session.disposition(True, [delivery.delivery_id], outcome, True)
        self.session.complete([(self.pending_of(delivery.delivery_tag), state)])
        return True

    def sender_flow(self, frame: Flow, credit: int) -> None:
        """Tell the application what the sender's flow says, and answer it if it asks; `credit` was left before it."""
        if frame.available is not None:
            self.tell(AvailableChanged, frame.available)
        if self.draining:
            if self._recalling:
                self.draining = bool(frame.link_credit)
            else:
                self.draining = self.credit_limit is None or self.credit > 0
            if not self.draining:
                self.tell(Drained)
        elif credit > self.credit:
            # The late answer to a drain that was given up takes credit that was given since.
            self.unused += credit - self.credit
            self._used_credit()
        if frame.echo:
            self.session.send_flow(self, credit=self.credit, drain=self.draining and not self._recalling)

    def _dies_of_draining(self) -> bool:
        """RabbitMQ 3's sessions end with amqp:internal-error when a drain leaves credit over."""
        peer = self.session.transport.model.halves[self.sender].open
        told = (peer and peer.properties) or {}
        return told.get("product") == "RabbitMQ" and str(told.get("version", "")).startswith("3.")

    def _accept_fast(self, which: Delivery | int) -> Pending[DeliveryState | None] | None:
        """Settle one delivery as accepted; None when that isn't all.

        A shortcut: it equals `update`, a test takes both ways. Anything else, an error included, is left to that, with
        nothing changed.
        """
        session = self.session
        transport = session.transport
        side = session.side
        number = which if isinstance(which, int) else getattr(which, "delivery_id", -1)
        delivery = session.halves[1 - side].deliveries.get(number)
        out = transport.out
        if (
            not isinstance(delivery, IncomingDelivery)
            or delivery.link is not self
            or delivery.pending is not None
            or out.closed
            or transport.half.state is not OPEN
            or session.halves[side].state is not MAPPED
            or session.report is not None
            or out.size + 64 > out.hard
            or session.take_usual_disposition(side, True, number, number, ACCEPTED) is None
        ):
            return None
        # One call for the usual form: number by number costs more than all else here.
        head, end = (_WHOLE, _WITH_NULL) if transport.whole else (_ACCEPTING, _AS_ACCEPTED)
        if number < 256:
            identity = UINTS[number]
            size = len(identity)
            out.queue(PACK_PLAIN(15 + size + len(end), PLAIN, session.channel) + head[size] + identity + end)
        else:
            out.queue(_PACK_ACCEPTED(20 + len(end), PLAIN, session.channel, head[5], 0x70, number) + end)
        pending: Pending[DeliveryState | None] = Pending((self.name, "in", delivery.delivery_tag))
        delivery.pending = pending
        pending.complete(ACCEPTED)
        return pending


def check_credit(credit: int) -> None:
    """Raise for a credit beyond what serial numbers can tell (part 2 section 2.6.7)."""
    if not 0 <= credit <= 0x7FFF_FFFF:
        raise LocalProtocolError(f"credit {credit} is outside 0 to 2147483647")


def outcome_in(state: State | None, outcome: DeliveryState) -> DeliveryState:
    """An outcome, in the transaction that the sender's state names (part 4 section 4.4.1)."""
    return TransactionalState(state.txn_id, outcome) if isinstance(state, TransactionalState) else outcome


def _reached(payload: bytes) -> Received:
    """The position behind what has come of a message."""
    return Received(*section_position(payload, len(payload)))


def request_of(payload: bytes) -> Declare | Discharge:
    """The request in a message to a coordinator; its other sections don't count. Raises CodecError."""
    body = LenientMessage.from_wire(payload).body
    if isinstance(body, (Declare, Discharge)):
        if isinstance(body, Discharge) and isinstance(body.txn_id, bytes) and len(body.txn_id) > ID_SIZE:
            text = f"a txn-id of {len(body.txn_id)} octets, 32 is the most"
            raise CodecError(text, rule="1.0/transactions/txn-id-size", condition=conditions.INVALID_FIELD)
        return body
    text = f"a message to a coordinator holds {type(body).__name__}, not declare or discharge"
    raise CodecError(text, rule="1.0/transactions/declare/body", condition=conditions.NOT_IMPLEMENTED)
