"""Receiver: the end of a link that receives: credit, deliveries, outcomes (part 2 sections 2.6.7 to 2.6.14)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import distance
from ...errors import CodecError, LocalProtocolError
from ...events import Handle, Settled
from ..codec import conditions
from ..codec.message import check_message, position_octets, section_position
from ..codec.performatives import (
    Accepted,
    Coordinator,
    Disposition,
    Error,
    Modified,
    Received,
    Rejected,
    Released,
    TransactionalState,
    Transfer,
)
from ..codec.violation import Violation, link_error, misuse
from ..model import states
from ..model.link_state import DeliveryModel, is_outcome
from ..model.resume import SavedDelivery
from ..model.settlement import check_told
from . import fastpath_commands
from .events import Delivery, DeliveryAborted, Drained, Resumed, TransactionRequested
from .link import Link
from .session import check_credit

if TYPE_CHECKING:
    from ..codec.performatives import DeliveryState, Flow, Open
    from ..model.link_state import State
    from .session import Session

_SECOND: Final = 1
_ABORTED: Final = states.Delivery.ABORTED
_SENDING: Final = states.Delivery.SENDING
_ACCEPTED: Final = Accepted()
_RELEASED: Final = Released()


class IncomingDelivery(DeliveryModel):
    """A delivery of a receiver: the octets so far while it comes, and the handle of what was said of it.

    `skip` octets of what comes are known from an earlier attachment of the link; `ignored`: nobody wants it.
    """

    __slots__ = ("handle", "ignored", "parts", "skip")

    link: Receiver

    def __init__(self, link: Receiver, delivery_id: int, delivery_tag: bytes) -> None:
        DeliveryModel.__init__(self, link, delivery_id, delivery_tag)
        self.parts: list[bytes] = []
        self.handle: Handle[Any] | None = None
        self.skip = 0
        self.ignored = False


class Receiver(Link):
    """One end of a link, the one that receives. See `Link` for what both kinds share."""

    ROLE = True

    __slots__ = ("draining", "recalling", "unused")

    unsettled: dict[bytes, IncomingDelivery]  # type: ignore[assignment]
    current: IncomingDelivery | None  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, session: Session, name: str) -> None:
        Link.__init__(self, session, name, 1 - session.side)
        # `recalling`: the drain is asked for as credit 0, and ends when the sender says that it has none.
        self.draining = self.recalling = False
        # Credit that deliveries took of which the application gets no Delivery: aborted, or known from before.
        self.unused = 0

    def new_delivery(self, delivery_id: int, delivery_tag: bytes) -> IncomingDelivery:
        return IncomingDelivery(self, delivery_id, delivery_tag)

    # State.

    @property
    def credit(self) -> int:
        """Deliveries that the sender may still begin, by what it was told."""
        limit = self.credit_limit
        return 0 if limit is None else max(0, distance(self.delivery_count, limit))

    # Commands.

    def flow(
        self,
        credit: int,
        *,
        drain: bool = False,
        echo: bool = False,
        properties: Mapping[Any, Any] | None = None,
    ) -> None:
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
        recall = drain and _dies_of_draining(self.session.connection.peer_open)
        if not recall:
            self.session._send_flow(
                self, credit=credit, drain=drain, echo=echo, properties=properties
            )
        else:
            if credit > self.credit:
                self.session._send_flow(self, credit=credit, properties=properties)
            self.session._send_flow(self, credit=0, echo=True, properties=properties)
        self.draining, self.recalling = drain, recall
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

    def accept(self, *deliveries: Delivery | int) -> tuple[Handle[Any], ...]:
        """The deliveries are taken over. See `update`."""
        if len(deliveries) == 1:
            handle = fastpath_commands.accept(self, deliveries[0])
            if handle is not None:
                return (handle,)
        return self.update(deliveries, _ACCEPTED)

    def reject(
        self, *deliveries: Delivery | int, error: Error | None = None
    ) -> tuple[Handle[Any], ...]:
        """The deliveries are invalid and can't be processed; `error` says why. See `update`."""
        return self.update(deliveries, Rejected(error))

    def release(self, *deliveries: Delivery | int) -> tuple[Handle[Any], ...]:
        """The deliveries weren't and won't be processed here. See `update`."""
        return self.update(deliveries, _RELEASED)

    def modify(
        self,
        *deliveries: Delivery | int,
        delivery_failed: bool | None = None,
        undeliverable_here: bool | None = None,
        message_annotations: Mapping[Any, Any] | None = None,
    ) -> tuple[Handle[Any], ...]:
        """The deliveries weren't processed here, and are given back changed. See `update`."""
        state = Modified(delivery_failed, undeliverable_here, message_annotations)
        return self.update(deliveries, state)

    def update(
        self,
        deliveries: Iterable[Delivery | int],
        state: DeliveryState | None,
        *,
        settled: bool | None = None,
    ) -> tuple[Handle[Any], ...]:
        """Tell the sender the state of deliveries, those with consecutive ids in one frame.

        They are settled at once with an outcome in rcv-settle-mode first, or where `settled` says so; else each handle
        ends by `Settled` when the sender has settled. Handles of deliveries that are settled now are done.

        Raises LocalProtocolError for a delivery that isn't unsettled on this link, and for settling before the
        sender in mode second, with nothing sent.
        """
        self._check()
        found = [self._find(each) for each in deliveries]
        groups: dict[bool, list[IncomingDelivery]] = {False: [], True: []}
        for each in found:
            groups[self._settles(each, state, settled)].append(each)
        handles: list[Handle[Any]] = []
        frame = Disposition(True, 0xFFFF_FFFF, 0xFFFF_FFFF, settled=True, state=state)
        connection = self.session.connection
        connection._check_frames(frame)
        if len(found) > 1:
            connection._check_backlog((len(frame.encode()) + 8) * len(found))
        self._check_told(found, state)
        for settling, group in groups.items():
            if group:
                self.session.disposition(True, [each.delivery_id for each in group], state, settling)
        for each in found:
            handle = each.handle
            if handle is None:
                handle = each.handle = Handle((self.name, "in", each.delivery_tag))
            if each.settled:
                handle._complete(state)
            handles.append(handle)
        return tuple(handles)

    def _check_told(self, deliveries: list[IncomingDelivery], state: DeliveryState | None) -> None:
        """All of them can get the state, so that none does when one can't."""
        if state is None:
            return
        session = self.session
        try:
            for each in deliveries:
                check_told(session.channel, self, each, session.side, state)
        except Violation as violation:
            raise misuse(violation) from None

    # For the engine.

    def receive(self, delivery: IncomingDelivery, frame: Transfer, payload: bytes) -> None:
        """A transfer of this link is booked: assemble, and give the application what is whole."""
        if delivery.progress is _ABORTED:
            self._aborted(delivery)
            self._gave_nothing()
            return
        first = not delivery.parts and delivery.size == len(payload)
        if frame.resume and first and not delivery.ignored:
            self._resumes(delivery, frame)
        if delivery.progress is _SENDING:
            self._take(delivery, payload)
            return
        if delivery.parts or delivery.skip:
            self._take(delivery, payload, last=True)
            payload = b"".join(delivery.parts)
            self.session.connection._bodies -= sum(map(len, delivery.parts))
            delivery.parts = []
        if delivery.ignored:
            self.unsettled.pop(delivery.delivery_tag, None)
            self.session.peer.deliveries.pop(delivery.delivery_id, None)
            self._gave_nothing()
        elif delivery.resumed and self._restates(delivery, frame):
            self._gave_nothing()
        else:
            self._deliver(delivery, payload)

    def drop(self) -> None:
        """Let go of the octets of a delivery that won't be completed here."""
        delivery = self.current
        if delivery is not None and delivery.parts and not delivery.ignored:
            self.session.connection._bodies -= sum(map(len, delivery.parts))
            delivery.ignored = True

    def settled_by_sender(self, deliveries: list[IncomingDelivery]) -> list[Handle[Any]]:
        """The sender settled; the handles that wait for it."""
        handles = [each.handle for each in deliveries if each.handle is not None]
        return [each for each in handles if not each.done]

    def saved_deliveries(self) -> Iterable[SavedDelivery]:
        side = self.session.side
        for tag, delivery in self.unsettled.items():
            told = delivery.states[side]
            if delivery.progress is _SENDING:
                payload = b"".join(delivery.parts)
                yield SavedDelivery(tag, delivery.message_format, payload, None, None)
            elif is_outcome(told):
                # Undecided ones aren't kept: the sender sends them again as new ones (part 3 section 3.4.6, tag 4).
                yield SavedDelivery(tag, delivery.message_format, None, told, None)
        for tag, saved in (self.restored or {}).items():
            if tag not in self.unsettled:
                yield saved

    def unsettled_states(self) -> dict[bytes, State | None]:
        found: dict[bytes, State | None] = {}
        for tag, saved in (self.restored or {}).items():
            state = saved.local
            if state is None:
                number, offset = section_position(saved.payload or b"", len(saved.payload or b""))
                state = Received(number, offset)
            found[tag] = state
        return found

    def compare(self) -> None:
        restored, remote, local = self.restored, self.remote, self.local
        if restored is None or remote is None or local is None:
            return
        theirs = remote.unsettled or {}
        forgotten: list[bytes] = []
        if not remote.incomplete_unsettled:
            forgotten = [tag for tag in restored if tag not in theirs]
        events = self.session.connection._events
        for tag in forgotten:
            saved = restored.pop(tag)
            handle: Handle[Any] = Handle((self.name, "in", tag))
            handle._complete(saved.local)
            events.append(Settled((handle,), saved.local))
        self.restored = self.name_later(restored)
        incomplete = self.incomplete or remote.incomplete_unsettled
        self.count_round(incomplete)
        events.append(
            Resumed(self.session.channel, self.number, (), tuple(forgotten), (), incomplete)
        )

    def ended(self) -> list[Handle[Any]]:
        self.drop()
        return [
            each.handle
            for each in self.unsettled.values()
            if each.handle is not None and not each.handle.done
        ]

    # Inside.

    def _find(self, which: Delivery | int) -> IncomingDelivery:
        number = which if isinstance(which, int) else which.delivery_id
        found: Any = self.session.peer.deliveries.get(number)
        if found is None or found.link is not self:
            raise LocalProtocolError(
                f"delivery {number} isn't unsettled on link {self.name!r}; it was settled before, or isn't this link's"
            )
        return found  # type: ignore[no-any-return]

    def _settles(
        self, delivery: IncomingDelivery, state: DeliveryState | None, settled: bool | None
    ) -> bool:
        mode = delivery.rcv_settle_mode
        if mode is None:
            mode = self.rcv_settle_mode
        outcome = delivery.states[self.sender]
        may = mode != _SECOND or is_outcome(outcome)
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
        connection = self.session.connection
        if not last and connection._bodies + len(payload) > connection.config.limits.bodies:
            raise link_error(
                conditions.RESOURCE_LIMIT_EXCEEDED,
                f"messages under way have {connection._bodies} octets, Limits.bodies allows no more",
                "transport/error/resource-limit",
                self.session.peer.channel,
                self,
            )
        connection._bodies += len(payload)
        delivery.parts.append(payload)

    def _deliver(self, delivery: IncomingDelivery, payload: bytes) -> None:
        session = self.session
        connection = session.connection
        if self.incomplete and not delivery.resumed:
            raise link_error(
                conditions.NOT_ALLOWED,
                f"a new delivery on link {self.name!r} after an incomplete unsettled map",
                "transport/attach/incomplete-detach",
                session.peer.channel,
                self,
            )
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
        validate = connection.config.validate_content
        if validate is None:
            validate = session.side == 1
        if validate and not delivery.message_format:
            try:
                check_message(payload)
            except CodecError as error:
                raise self._undecodable(error) from error
        if isinstance(self.target, Coordinator):
            self._deliver_request(event)
        else:
            connection._events.append(event)
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
            if not self.recalling:
                self.draining = False
                self.session.connection._events.append(Drained(self.session.channel, self.number))
        elif self.is_open:
            self.flow(self.unused)

    def _undecodable(self, error: CodecError) -> Violation:
        rule = (error.rule or "1.0/transport/error/decode-error").removeprefix("1.0/")
        return link_error(
            error.condition or conditions.DECODE_ERROR, str(error), rule, self.session.peer.channel, self
        )

    def _deliver_request(self, event: Delivery) -> None:
        """Who sends to a coordinator declares or discharges a transaction (part 4 sections 4.2 and 4.3)."""
        from .transactions import request_of

        if event.settled:
            raise link_error(
                conditions.NOT_ALLOWED,
                f"a message to the coordinator on link {self.name!r} was sent settled",
                "transactions/declare/settled-detach",
                self.session.peer.channel,
                self,
            )
        try:
            request = request_of(event.payload)
        except CodecError as error:
            raise self._undecodable(error) from error
        self.session.connection._events.append(
            TransactionRequested(self.session.channel, self.number, event, request)
        )

    def _aborted(self, delivery: IncomingDelivery) -> None:
        connection = self.session.connection
        if delivery.parts:
            connection._bodies -= sum(map(len, delivery.parts))
            delivery.parts = []
        known = (self.restored or {}).pop(delivery.delivery_tag, None)
        if (delivery.resumed and known is None) or delivery.ignored:
            return
        connection._events.append(
            DeliveryAborted(
                self.session.channel, self.number, delivery.delivery_id, delivery.delivery_tag
            )
        )

    def _resumes(self, delivery: IncomingDelivery, frame: Transfer) -> None:
        """The first transfer of a delivery that this end may know (part 2 section 2.6.13)."""
        known = (self.restored or {}).get(delivery.delivery_tag)
        if known is None:
            delivery.ignored = True
            return
        if known.local is not None:
            delivery.states[self.session.side] = known.local
            return
        held = known.payload or b""
        start = 0
        state = frame.state
        if isinstance(state, Received):
            try:
                start = position_octets(held, state.section_number, state.section_offset)
            except CodecError as error:
                raise link_error(
                    conditions.INVALID_FIELD,
                    f"delivery {delivery.delivery_id} of link {self.name!r} goes on behind what came of it: {error}",
                    "received/offset-meaning",
                    self.session.peer.channel,
                    self,
                ) from error
        delivery.skip = max(0, len(held) - start)
        if held:
            delivery.parts = [held]
            self.session.connection._bodies += len(held)
        (self.restored or {}).pop(delivery.delivery_tag, None)

    def _restates(self, delivery: IncomingDelivery, frame: Transfer) -> bool:
        """A resumed delivery of which this end had decided: the sender tells the outcome, or settles."""
        known = (self.restored or {}).pop(delivery.delivery_tag, None)
        if known is None or known.local is None:
            return False
        session = self.session
        handle: Handle[Any] = Handle((self.name, "in", delivery.delivery_tag))
        state = delivery.states[self.sender] or known.local
        if not delivery.settled:
            outcome = delivery.states[self.sender]
            if not is_outcome(outcome):
                # The sender goes on with the data: it didn't take over what was decided here.
                return False
            # The sender's outcome counts: it is echoed and settled (part 3 section 3.4.6, tag 13).
            delivery.states[session.side] = None
            session.disposition(True, [delivery.delivery_id], outcome, True)
        handle._complete(state)
        session.connection._events.append(Settled((handle,), state))
        return True

    def ends_drain(self, frame: Flow) -> bool:
        """The sender's flow has been booked; whether that ends a drain."""
        if not self.draining:
            return False
        limit = self.credit_limit
        if self.recalling:
            self.draining = bool(frame.link_credit)
        else:
            self.draining = limit is None or distance(self.delivery_count, limit) > 0
        return not self.draining


def _dies_of_draining(peer: Open | None) -> bool:
    """RabbitMQ 3's sessions end with amqp:internal-error when a drain leaves credit over."""
    told = (peer and peer.properties) or {}
    return told.get("product") == "RabbitMQ" and str(told.get("version", "")).startswith("3.")
