"""Sender: the end of a link that sends: credit, transfers, settlement, resending (part 2 sections 2.6.7 to 2.6.14).

A delivery is launched when there is credit, and pushed as far as the session's window goes; what is left waits, and
nothing overtakes it. It stays in `unsettled` until one side settles it. After a resumption what both sides know of each
delivery decides what is done with it (`resume_action`), in order, before new ones are sent.

Between two calls these hold: at most one delivery is under way (`waiting`, or begun by the application); while
`resending` has some there is no credit for others; `kept_octets` are those of the messages that are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from struct import Struct

from ..._checking import TYPE_CHECKING
from ..._ground.serial import HALF, MASK, distance
from ...errors import CodecError, LimitExceeded, LocalProtocolError
from ...events import Pending
from ..codec.frames import PLAIN
from ..codec.message import Message
from ..codec.octets import NEW, PACK_U32, UINTS
from ..codec.performatives import Coordinator, Received, TransactionalState, Transfer
from ..codec.sections import position_octets
from ..codec.violation import Violation, misuse
from ..model.link_state import ID_SIZE, DeliveryModel, is_outcome
from ..model.resume import LinkState, Resend, SavedDelivery, resume_action
from ..model.states import MAPPED, OPEN, SENDING, SENT, SND_SETTLED, SND_UNSETTLED
from .events import CreditChanged, Resumed
from .link import Link
from .receiver import request_of

if TYPE_CHECKING:
    from typing import Any, Final

    from ..codec.performatives import DeliveryState
    from ..codec.types import AmqpMap
    from ..model.link_state import State
    from .outgoing import SessionEnd

_PACK_LEAD: Final = Struct(">IHHIBB").pack
_PACK_SHORT: Final = Struct(">BB").pack
_TRANSFER: Final = 0x0053_14C0
"""The numeric descriptor, and a list of at most 255 octets, whose size and count follow."""
_NULLS: Final = b"\x40" * 7
"""The fields of a transfer behind its message-format, where whole lists are written."""


class NoCredit(LocalProtocolError):
    """The receiver takes nothing at the moment; `CreditChanged` says when it does again."""


class OutgoingDelivery(DeliveryModel):
    """A delivery of a sender, from its command until it is settled."""

    __slots__ = ("frame", "last", "message", "payload", "pending", "rest", "whole")

    link: Sender

    def __init__(self, link: Sender, delivery_id: int, delivery_tag: bytes) -> None:
        DeliveryModel.__init__(self, link, delivery_id, delivery_tag)
        # What `send` returned; the outcome ends it.
        self.pending = link.pending_of(delivery_tag)
        # The whole message, as long as it may have to be sent again; `kept_octets` counts it.
        self.message: bytes | None = None
        # The octets that are being sent; None when nothing of them is left.
        self.payload: bytes | None = None
        # Where those begin in `payload` that aren't sent; None when all are.
        self.rest: int | None = None
        # Whether `payload` ends the delivery: if not, the application gives more.
        self.last = True
        # Whether it was given as a whole message, so that it can be sent again.
        self.whole = True
        # The transfer that repeats for each of its frames, while some wait; None otherwise.
        self.frame: Transfer | None = None


class Resending:
    """Carries out a sender's action for one delivery of a resumed link (part 3 section 3.4.6)."""

    __slots__ = ("link", "pending", "saved")

    def __init__(self, link: Sender, saved: SavedDelivery, pending: Pending[DeliveryState | None]) -> None:
        # The one that is resumed.
        self.link = link
        # The delivery as it stood at the end of the earlier attachment.
        self.saved = saved
        # That of its `send`, which goes on.
        self.pending = pending

    def do(self, resend: Resend, state: State | None) -> None:
        """Send what `resume_action` says."""
        payload = self.saved.payload
        if resend is Resend.NEW:
            self._send(payload or b"").pending = self.pending
        elif resend is Resend.CONTINUE and (start := self._start(state)) is not None:
            self._send((payload or b"")[start:], payload, state=state, resume=True).pending = self.pending
        elif resend is Resend.ABORT or resend is Resend.CONTINUE:
            self._send(b"", resume=True, aborted=True)
            if payload is not None:
                self.link.send_anew(self.saved, self.pending)
            else:
                self._done(None)
        elif resend is Resend.SETTLE:
            self._settle(state)
        else:
            self._send(b"", state=state, resume=True).pending = self.pending

    def _settle(self, state: State | None) -> None:
        link = self.link
        mixed = link.snd_settle_mode != SND_UNSETTLED
        delivery = self._send(b"", settled=mixed or None, state=state, resume=True)
        if not mixed:
            # Such a sender settles no transfer (part 2 section 2.7.5), but afterwards it may.
            link.session.disposition(False, [delivery.delivery_id], state, True)
            link.forget(delivery)
        self._done(self.saved.local if state is None else state)

    def _start(self, state: State | None) -> int | None:
        """Where to go on in the message; None where it doesn't reach so far, or is gone."""
        payload = self.saved.payload
        if payload is None:
            return None
        if not isinstance(state, Received):
            return 0
        try:
            return position_octets(payload, state.section_number, state.section_offset)
        except CodecError:
            return None

    def _send(self, octets: bytes, keep: bytes | None = None, **fields: object) -> OutgoingDelivery:
        link, saved = self.link, self.saved
        number = link.session.next_delivery_id
        frame = Transfer(link.number, number, saved.delivery_tag, saved.message_format).replace(**fields)
        return link.launch(frame, octets, whole=True, keep=keep)

    def _done(self, state: State | None) -> None:
        if self.saved.delivery_tag in self.link.unknown:
            self.pending.complete(state)
            self.link.unknown.discard(self.saved.delivery_tag)
        else:
            self.link.session.complete([(self.pending, state)])


class Sender(Link):
    """One end of a link, the one that sends. See `Link` for what both kinds share."""

    ROLE = False

    DELIVERY = OutgoingDelivery

    __slots__ = ("_put_off", "_tags", "auto_settle", "begun", "kept_octets", "resending", "unknown", "waiting")

    unsettled: dict[bytes, OutgoingDelivery]

    def __init__(self, session: SessionEnd, name: str) -> None:
        Link.__init__(self, session, name, session.side)
        # Whether this end settles as soon as the receiver has said an outcome.
        self.auto_settle = True
        # Of messages that may have to be sent again; `Limits.bodies` bounds them.
        self.kept_octets = 0
        # The number that the next delivery-tag is made of: a tag never repeats on a link.
        self._tags = 0
        # The delivery that is sent in part, because window or credit is missing; nothing overtakes it.
        self.waiting: OutgoingDelivery | None = None
        # The last one that was begun in parts and settled: nothing else knows it once the link has ended.
        self.begun: OutgoingDelivery | None = None
        # Deliveries of the earlier attachment that still have to go out: with what to do (part 3 section 3.4.6), the
        # state to name, and the pending.
        self.resending: deque[tuple[SavedDelivery, Resend, State | None, Pending[DeliveryState | None]]] = deque()
        # The tags among these of which the application has heard the end long ago.
        self.unknown: set[bytes] = set()
        # The pendings of deliveries that only the next resumption of the link may send.
        self._put_off: list[Pending[object]] = []

    # State.

    @property
    def credit(self) -> int:
        """Deliveries that may be sent now; 0 while one waits for the session's window, or resent ones for credit."""
        if not self.is_open or self.waiting is not None or self.resending or self.current is not None:
            return 0
        limit = self.credit_limit
        if limit is None or not self.session.outgoing_window:
            return 0
        return max(0, distance(self.delivery_count, limit))

    @property
    def pending(self) -> Mapping[bytes, Pending[DeliveryState | None]]:
        """The pendings of deliveries that aren't settled, by delivery-tag, in the order they were sent."""
        pendings = {tag: delivery.pending for tag, delivery in self.unsettled.items()}
        pendings.update({each[0].delivery_tag: each[3] for each in self.resending})
        return pendings

    # Commands.

    def send(
        self,
        message: Message | bytes,
        *,
        delivery_tag: bytes | None = None,
        settled: bool | None = None,
        state: DeliveryState | None = None,
        message_format: int = 0,
        rcv_settle_mode: int | None = None,
        batchable: bool = False,
    ) -> Pending[DeliveryState | None]:
        """Send a whole message: a Message, or its sections' octets (in another `message_format`: any octets).

        The pending ends by `Settled` with the state that settled it: Accepted, Rejected, Released, Modified, or None
        when the receiver told none. `settled`: send it settled, which needs no answer (None: as the link's
        snd-settle-mode says); then the pending is done at once. `state` is the delivery's state here, such as
        TransactionalState. A message of many frames goes out as the session's window allows.

        Raises NoCredit while the receiver takes nothing, LimitExceeded when what is unsettled or queued gets too
        much, LocalProtocolError for a tag of more than 32 octets or one that is unsettled already, and for a
        message above the peer's max-message-size.
        """
        octets = message if isinstance(message, bytes) else message.encode()
        if settled is None and state is None and rcv_settle_mode is None and not (message_format or batchable):
            pending = self._send_fast(octets, delivery_tag)
            if pending is not None:
                return pending
        wanted = (delivery_tag, message_format, settled, False, rcv_settle_mode, state)
        return self._start(Transfer(self.number, None, *wanted, batchable=batchable), octets, True).pending

    def begin(
        self,
        octets: bytes,
        *,
        delivery_tag: bytes | None = None,
        settled: bool | None = None,
        state: DeliveryState | None = None,
        message_format: int = 0,
        rcv_settle_mode: int | None = None,
        batchable: bool = False,
    ) -> Pending[DeliveryState | None]:
        """Send the first octets of a message; `continue_delivery` or `abort` next. Raises as `send`.

        The link keeps none of the parts: a resumed link can't send such a delivery again.
        """
        wanted = (delivery_tag, message_format, settled, False, rcv_settle_mode, state)
        return self._start(Transfer(self.number, None, *wanted, batchable=batchable), octets, False).pending

    def continue_delivery(self, octets: bytes, *, more: bool = True, state: DeliveryState | None = None) -> None:
        """Send further octets of the delivery begun; without `more` they are its last.

        Raises NoCredit while earlier octets wait for the session's window.
        """
        delivery = self._begun()
        if delivery.rest is not None:
            raise NoCredit(
                f"octets of delivery {delivery.delivery_id} wait for the session's window; "
                "go on when CreditChanged says so"
            )
        limit = self.max_message_size
        if limit and delivery.size + len(octets) > limit:
            text = f"delivery {delivery.delivery_id} gets larger than the {limit} octets the peer takes"
            raise LocalProtocolError(text, rule="1.0/transport/attach/max-message-size")
        self.session.transport.check_backlog(len(octets))
        frame = Transfer(self.number, state=state)
        if len(self.session.transport.octets(frame)) + 16 > self.session.transport.max_frame:
            text = f"the state of delivery {delivery.delivery_id} doesn't fit the peer's frames"
            raise LocalProtocolError(text, rule="1.0/transport/error/frame-size-too-small")
        before = delivery.last
        delivery.payload = octets
        delivery.rest = 0
        delivery.last = not more
        delivery.frame = frame
        try:
            self.push(delivery)
        except LocalProtocolError:
            delivery.payload = None
            delivery.rest = None
            delivery.frame = None
            delivery.last = before
            raise

    def abort(self) -> None:
        """Give up the delivery begun: the receiver drops what it has of it. Its pending ends with None."""
        delivery = self._begun()
        frame = Transfer(self.number, aborted=True)
        self._step(frame, 0)
        transport = self.session.transport
        transport.queue(self.session.channel, transport.octets(frame))
        delivery.rest = None
        if self.waiting is delivery:
            self.waiting = None
        self._settle(delivery, None)

    def settle(self, which: Pending[DeliveryState | None] | bytes, state: DeliveryState | None = None) -> None:
        """Forget a delivery and tell the receiver so; `state` is its final one here (None: as told before).

        The pending ends with that state, or with the one the receiver told. A resumed link doesn't send the delivery
        again any more; a receiver that knows of it is told when there is credit.
        """
        if self._settle_unsent(which, state):
            return
        delivery = self._find(which)
        final: State | None = state
        if final is None:
            final = delivery.states[self.session.side] or delivery.states[1 - self.session.side]
        self.session.disposition(False, [delivery.delivery_id], final, True)
        self._settle(delivery, final)

    def update(self, which: Pending[DeliveryState | None] | bytes, state: DeliveryState) -> None:
        """Tell the receiver the state of a delivery here without settling it."""
        self.session.disposition(False, [self._find(which).delivery_id], state, False)

    def send_again(self, state: LinkState) -> int:
        """Send the unsettled messages of an earlier attachment as new deliveries, as credit comes; return how many.

        For a peer that has forgotten that attachment: it may get messages twice. Until they are sent there is no
        credit for others. Their pendings are those of `go_on_with`.
        """
        self._check()
        self._tags = max(self._tags, state.next_tag)
        for saved in state.unsettled:
            self.resending.append((saved, Resend.NEW, None, self.pending_of(saved.delivery_tag)))
        self.resend()
        return len(state.unsettled)

    def withdraw(self) -> tuple[SavedDelivery, ...]:
        """Take back the messages that are to be sent again as new ones and aren't yet; their pendings stay open."""
        found = tuple([each[0] for each in self.resending if each[1] is Resend.NEW])
        self.resending = deque([each for each in self.resending if each[1] is not Resend.NEW])
        return found

    def set_available(self, count: int, *, echo: bool = False) -> None:
        """Tell the receiver how many messages wait for credit (part 2 section 2.6.7)."""
        self._check()
        before = self.available
        self.offer(count)
        try:
            self.send_flow(echo=echo)
        except BaseException:
            self.offer(before)
            raise

    def drained(self) -> None:
        """Give up the credit that is left, as a receiver that drains wants it; nothing happens without credit."""
        self._check()
        limit = self.credit_limit
        before = self.delivery_count
        if limit is not None and distance(before, limit) > 0:
            if self.current is not None or self.resending:
                raise LocalProtocolError(f"link {self.name!r} has a delivery under way")
            self.advance(limit)
        try:
            if self.drain_wanted:
                self.send_flow()
        except BaseException:
            self.advance(before)
            raise

    # For the session.

    def send_flow(self, *, echo: bool = False) -> None:
        """The state of this end of the link."""
        limit = self.credit_limit
        credit = 0 if limit is None else max(0, distance(self.delivery_count, limit))
        self.session.send_flow(self, credit=credit, drain=self.drain_wanted, echo=echo)

    def credit_came(self, drain: bool, properties: AmqpMap | None) -> None:
        """The model has the receiver's flow: go on with what waits, and tell the application."""
        self.resend()
        self.tell(CreditChanged, self.credit, drain, properties)

    def window_came(self) -> None:
        """The session's window has room: send what waits for it, and tell the application when all of it went out."""
        delivery = self.waiting
        if delivery is None:
            return
        self.push(delivery)
        self.resend()
        if self.waiting is None:
            self.tell(CreditChanged, self.credit, self.drain_wanted, None)

    def push(self, delivery: OutgoingDelivery) -> None:
        """Send as much of a delivery as the session's window and the frames take."""
        session = self.session
        transport = session.transport
        payload, frame, start = delivery.payload, delivery.frame, delivery.rest
        assert payload is not None
        assert frame is not None
        assert start is not None
        total = len(payload)
        room = transport.max_frame - 8
        while True:
            if not session.outgoing_window:
                self._wait(delivery, frame, start)
                return
            body = transport.octets(frame)
            last = delivery.last
            if len(body) + total - start > room or not last:
                frame.more = True
                frame.wire = None
                body = transport.octets(frame)
            take = min(total - start, room - len(body))
            done = start + take == total
            if done and last and frame.more:
                # Without the flag the frame is shorter, so what fitted with it fits.
                frame.more = False
                frame.wire = None
                body = transport.octets(frame)
            self._step(frame, take)
            piece = payload if take == total else payload[start : start + take]
            transport.queue(session.channel, body, piece)
            start += take
            if done:
                break
            frame = Transfer(self.number, settled=frame.settled, state=_repeated(frame.state))
        delivery.rest = None
        delivery.frame = None
        delivery.payload = None
        if delivery.settled and delivery.last:
            if not delivery.whole:
                self._settle(delivery, None)
            else:
                if not delivery.pending.done:
                    delivery.pending.complete(None)
                self.forget(delivery)
        if self.waiting is delivery:
            self.waiting = None

    def forget(self, delivery: OutgoingDelivery) -> None:
        """A delivery is settled: its message isn't needed any more."""
        if delivery.message is not None:
            self.kept_octets -= len(delivery.message)
            delivery.message = None

    def _next_tag(self) -> int:
        return self._tags

    def _number_tags(self, tag: int) -> None:
        self._tags = tag

    def _saved_deliveries(self, undecided: Mapping[bytes, bytes]) -> Iterable[SavedDelivery]:
        side = self.session.side
        for tag, delivery in self.unsettled.items():
            ours, theirs = delivery.states[side], delivery.states[1 - side]
            outcome = next((each for each in (ours, theirs) if is_outcome(each)), None)
            yield SavedDelivery(tag, delivery.message_format, delivery.message, outcome, theirs)
        for entry in self.resending:
            if entry[0].delivery_tag not in self.unknown:
                yield entry[0]
        yield from (self._restored or {}).values()

    def _unsettled_states(self) -> dict[bytes, State | None]:
        return {tag: _told(saved) for tag, saved in (self._restored or {}).items()}

    def restore(self, state: LinkState) -> None:
        Link.restore(self, state)
        self._tags = state.next_tag

    def compare(self) -> None:
        restored, remote = self._restored, self.remote
        if restored is None or remote is None:
            return
        theirs = remote.unsettled or {}
        pendings: list[Pending[object]] = []
        forgotten: list[bytes] = []
        lost: list[bytes] = []
        incomplete = self._incomplete or remote.incomplete_unsettled
        local = self.local
        ours = (local.unsettled if local is not None else None) or {}
        left: dict[bytes, SavedDelivery] = {}
        for tag, saved in restored.items():
            known = tag in theirs
            if not known and (remote.incomplete_unsettled or tag not in ours):
                # A delivery that an incomplete map leaves out may be unsettled all the same (part 2 section 2.6.13).
                left[tag] = saved
                continue
            action = resume_action(_told(saved), known, theirs.get(tag))
            pending = self.pending_of(tag)
            if action.resend is Resend.FORGET:
                forgotten.append(tag)
                self.session.complete([(pending, saved.local)])
                continue
            if action.resend is Resend.NEW and saved.payload is None:
                lost.append(tag)
                continue
            if action.resend is Resend.ABORT and saved.payload is None:
                lost.append(tag)
            pendings.append(pending)
            self.resending.append((saved, action.resend, action.state, pending))
        self._restored = self._name_later(left)
        if self._incomplete:
            self._settle_unknown([tag for tag in theirs if tag not in restored], theirs)
        self._count_round(remote.incomplete_unsettled)
        self.tell(Resumed, tuple(pendings), tuple(forgotten), tuple(lost), incomplete)
        self.resend()

    def _settle_unknown(self, tags: list[bytes], theirs: AmqpMap) -> None:
        """Settle what the receiver names and this end has settled before: an incomplete map doesn't tell that it has.

        So each resumption takes from what the receiver has, until its map is complete.
        """
        self.unknown.update(tags)
        for tag in tags:
            pending = self.pending_of(tag)
            action = resume_action(None, True, theirs[tag])
            saved = SavedDelivery(tag, 0, None, None, theirs[tag])
            self.resending.append((saved, action.resend, action.state, pending))

    def send_anew(self, saved: SavedDelivery, pending: Pending[DeliveryState | None]) -> None:
        """Send an aborted message as a new delivery: at once, or in the next resumption when the receiver takes no new
        ones before (part 2 section 2.7.3, incomplete-unsettled)."""
        remote = self.remote
        if remote is None or not remote.incomplete_unsettled:
            self.resending.appendleft((saved, Resend.NEW, None, pending))
            return
        self._put_off.append(pending)
        fresh = SavedDelivery(saved.delivery_tag, saved.message_format, saved.payload, None, None)
        self._restored = {**(self._restored or {}), saved.delivery_tag: fresh}

    def resend(self) -> None:
        """Go on with the unsettled deliveries of a resumed link, as far as credit and window allow."""
        while self.resending and self.waiting is None and self._has_credit():
            saved, resend, state, pending = self.resending.popleft()
            Resending(self, saved, pending).do(resend, state)

    def drop(self) -> None:
        # The session's window may open again when the link is detached.
        self.waiting = None

    def ended(self) -> list[Pending[object]]:
        self.drop()
        pendings = [each.pending for each in self.unsettled.values() if not each.pending.done]
        if self.begun is not None and not self.begun.pending.done:
            pendings.append(self.begun.pending)
        return pendings + [each[3] for each in self.resending] + self._put_off

    # Inside.

    def _send_fast(self, octets: bytes, given: bytes | None) -> Pending[DeliveryState | None] | None:
        """Send a whole message unsettled in one frame, with a tag of its own or one given; None when that isn't all.

        A shortcut: it equals `_start`, a test takes both ways. Anything else, an error included, is left to that, with
        nothing changed.
        """
        session = self.session
        transport = session.transport
        out = transport.out
        side = session.side
        own = session.halves[side]
        tags = self._tags
        number = session.next_delivery_id
        size = len(octets)
        total = 64 + size
        limit, window_limit = self.credit_limit, own.window_limit
        if (
            out.closed
            or transport.half.state is not OPEN
            or own.state is not MAPPED
            or session.halves[1 - side].state is not MAPPED
            or session.report is not None
            or self.waiting is not None
            or self.resending
            or tags >= MASK
            or limit is None
            or window_limit is None
            or not 0 < (limit - self.delivery_count) & MASK < HALF
            or not 0 < (window_limit - own.next_outgoing_id) & MASK < HALF
            or self.kept_octets + size > transport.limits.bodies
            or out.size + total > out.hard
            or total > transport.max_frame
            or self.number > 255
        ):
            return None
        tag = tags.to_bytes(4, "big") if given is None else given
        delivery: Any = NEW(OutgoingDelivery)
        delivery.link = self
        delivery.delivery_id = number
        delivery.delivery_tag = tag
        delivery.message_format = 0
        delivery.progress = SENT
        delivery.resumed = False
        delivery.rcv_settle_mode = None
        delivery.size = size
        delivery.settled = False
        delivery.states = [None, None]
        pending: Pending[DeliveryState | None] = (
            Pending((self.name, "out", tag)) if self._going_on is None else self.pending_of(tag)
        )
        delivery.pending = pending
        delivery.message = octets
        delivery.payload = None
        delivery.rest = None
        delivery.last = True
        delivery.whole = True
        delivery.frame = None
        if not self.take_usual_transfer(number, tag, size, transport.limits.unsettled, delivery):
            return None
        name = UINTS[self.number]
        identity = UINTS[number] if number < 256 else PACK_U32(0x70, number)
        count, rest = (11, _NULLS) if transport.whole else (4, b"")
        size_of_tag = len(tag)
        length = len(name) + len(identity) + 3 + size_of_tag + len(rest)
        lead = _PACK_LEAD(14 + length + size, PLAIN, session.channel, _TRANSFER, length + 1, count)
        out.queue(b"".join((lead, name, identity, _PACK_SHORT(0xA0, size_of_tag), tag, b"\x43", rest, octets)))
        if given is None:
            self._tags = tags + 1
        session.next_delivery_id = (number + 1) & MASK
        self.kept_octets += size
        return pending

    # Checks before sending: credit, sizes, tags and settle modes (part 2 sections 2.6.7 and 2.7.5).

    def _check_sendable(self, size: int) -> None:
        """Raise unless a message of `size` octets can be sent now: NoCredit, LocalProtocolError, EndpointClosed."""
        self._check()
        if not self.credit:
            if self.current is not None and self.waiting is None:
                text = f"a delivery on link {self.name!r} is under way; deliveries of one link don't mix"
                raise LocalProtocolError(text, rule="1.0/transport/transfer/no-interleave")
            limit = self.credit_limit
            why = "the receiver gave none"
            if limit is not None and distance(self.delivery_count, limit) > 0:
                why = "the session's window is full"
            if self.waiting is not None or self.resending:
                why = "an earlier delivery isn't sent yet"
            if not self.is_open:
                why = "it isn't attached by the peer"
            raise NoCredit(
                f"link {self.name!r} has no credit, {why}; wait for CreditChanged", rule="1.0/transport/flow/no-credit"
            )
        most = self.max_message_size
        if most and size > most:
            text = f"a message of {size} octets, the peer takes {most} on link {self.name!r}"
            raise LocalProtocolError(text, rule="1.0/transport/attach/max-message-size")
        remote = self.remote
        if remote is not None and remote.incomplete_unsettled:
            raise LocalProtocolError(
                f"the receiver's unsettled map of link {self.name!r} was incomplete: settle what it names, "
                "detach and resume the link before sending anything new",
                rule="1.0/transport/attach/incomplete-no-new",
            )

    def _new_tag(self, delivery_tag: bytes | None) -> bytes:
        """The tag for a new delivery: as given, or the next generated one. Raises LocalProtocolError."""
        if delivery_tag is None:
            number = self._tags
            while (tag := number.to_bytes(8 if number >> 32 else 4, "big")) in self.unsettled:
                number += 1
            return tag
        if len(delivery_tag) > ID_SIZE:
            raise LocalProtocolError(
                f"a delivery-tag of {len(delivery_tag)} octets, 32 is the most", rule="1.0/transport/delivery/tag-size"
            )
        if delivery_tag in self.unsettled:
            text = f"delivery-tag {delivery_tag!r} belongs to an unsettled delivery of link {self.name!r}"
            raise LocalProtocolError(text, rule="1.0/transport/delivery/tag-unique")
        return delivery_tag

    def _settledness(self, settled: bool | None) -> bool:
        """Whether a delivery is sent settled, as given or as the link says. Raises LocalProtocolError."""
        mode = self.snd_settle_mode
        if isinstance(self.target, Coordinator) and (settled or mode == SND_SETTLED):
            text = "what goes to a coordinator isn't sent settled: its outcome is the answer"
            raise LocalProtocolError(text, rule="1.0/transactions/declare/unsettled")
        if settled is None:
            return mode == SND_SETTLED
        if mode in (SND_UNSETTLED, SND_SETTLED) and settled != (mode == SND_SETTLED):
            name = "unsettled" if mode == SND_UNSETTLED else "settled"
            text = f"link {self.name!r} was attached with snd-settle-mode {name}"
            raise LocalProtocolError(text, rule=f"1.0/transport/transfer/settled-mode-{name}")
        return settled

    def _has_credit(self) -> bool:
        limit = self.credit_limit
        return limit is not None and distance(self.delivery_count, limit) > 0 and self.session.outgoing_window > 0

    def _check_request(self, octets: bytes, whole: bool) -> None:
        """Raise LocalProtocolError for what a coordinator doesn't take (part 4 sections 4.2 and 4.3)."""
        try:
            if whole:
                request_of(octets)
                return
            text = "what goes to a coordinator is sent whole"
        except CodecError as error:
            text = f"link {self.name!r} goes to a coordinator: {error}"
        raise LocalProtocolError(text, rule="1.0/transactions/declare/body")

    def _start(self, frame: Transfer, octets: bytes, whole: bool) -> OutgoingDelivery:
        """Begin a delivery with what a caller wants of its first transfer; tag and settledness may be left out."""
        self._check_sendable(len(octets))
        tag = self._new_tag(frame.delivery_tag)
        settled = self._settledness(frame.settled)
        session = self.session
        limits = session.transport.limits
        own = session.own
        if not settled:
            if len(own.deliveries) >= limits.unsettled:
                raise LimitExceeded(
                    f"session {session.channel} has {len(own.deliveries)} unsettled deliveries, "
                    "Limits.unsettled allows no more"
                )
            if self.kept_octets + len(octets) > limits.bodies:
                raise LimitExceeded(
                    f"link {self.name!r} keeps {self.kept_octets} octets of unsettled messages, "
                    f"{len(octets)} more would pass Limits.bodies"
                )
        self.session.transport.check_backlog(len(octets))
        if frame.rcv_settle_mode == 1 and not settled and self.rcv_settle_mode == 0:
            text = f"link {self.name!r} has rcv-settle-mode first, a delivery can't have second"
            raise LocalProtocolError(text, rule="1.0/transport/transfer/rcv-illegal")
        if isinstance(frame.state, TransactionalState) and isinstance(self.target, Coordinator):
            text = f"link {self.name!r} goes to the coordinator, transactional work goes over others"
            raise LocalProtocolError(text, rule="1.0/transactions/control-link-no-work")
        if isinstance(self.target, Coordinator):
            self._check_request(octets, whole)
        generated = frame.delivery_tag is None
        frame.delivery_id = session.next_delivery_id
        frame.delivery_tag = tag
        frame.settled = settled or None
        delivery = self.launch(frame, octets, whole=whole)
        if generated:
            self._tags = int.from_bytes(tag, "big") + 1
        return delivery

    def launch(self, frame: Transfer, octets: bytes, *, whole: bool, keep: bytes | None = None) -> OutgoingDelivery:
        """Send the first frames of a delivery that was checked."""
        session = self.session
        transport = session.transport
        body = transport.octets(frame)
        if whole and len(body) + len(octets) + 8 <= transport.max_frame:
            delivery = self._step(frame, len(octets))
            transport.queue(session.channel, body, octets)
        else:
            delivery = self._launch_long(frame, octets, whole)
        session.next_delivery_id = (delivery.delivery_id + 1) & MASK
        delivery.whole = whole
        if not delivery.settled:
            if whole:
                delivery.message = octets if keep is None else keep
                self.kept_octets += len(delivery.message)
        elif not whole:
            self.begun = delivery
        elif not delivery.pending.done:
            delivery.pending.complete(None)
        return delivery

    def _launch_long(self, frame: Transfer, octets: bytes, whole: bool) -> OutgoingDelivery:
        session = self.session
        transport = session.transport
        frame.more = True
        frame.wire = None
        body = transport.octets(frame)
        take = min(len(octets), transport.max_frame - 8 - len(body))
        if take < 0:
            text = f"a transfer of link {self.name!r} doesn't fit the peer's frames of {transport.max_frame} octets"
            raise LocalProtocolError(text, rule="1.0/transport/error/frame-size-too-small")
        delivery = self._step(frame, take)
        transport.queue(session.channel, body, octets[:take])
        if whole or take < len(octets):
            delivery.payload = octets
            delivery.rest = take
            delivery.last = whole
            delivery.whole = whole
            delivery.frame = Transfer(self.number, settled=frame.settled, state=_repeated(frame.state))
            self.push(delivery)
        return delivery

    def _wait(self, delivery: OutgoingDelivery, frame: Transfer, start: int) -> None:
        delivery.frame = frame
        delivery.rest = start
        self.waiting = delivery
        stalled = self.session.stalled
        if self not in stalled:
            stalled.append(self)

    def _step(self, frame: Transfer, size: int) -> OutgoingDelivery:
        """Step the model for a transfer of this end. Raises LocalProtocolError, with nothing changed."""
        session = self.session
        try:
            delivery = session.transport.model.try_transfer(session.side, session.channel, frame, size)
        except Violation as violation:
            raise misuse(violation) from None
        assert isinstance(delivery, OutgoingDelivery)
        return delivery

    def _begun(self) -> OutgoingDelivery:
        self._check()
        delivery = self.current
        if not isinstance(delivery, OutgoingDelivery) or (delivery.last and delivery.rest is not None):
            raise LocalProtocolError(f"no delivery on link {self.name!r} was begun in parts")
        return delivery

    def _find(self, which: Pending[DeliveryState | None] | bytes) -> OutgoingDelivery:
        self._check()
        tag = which if isinstance(which, bytes) else which.key[2]
        delivery = self.unsettled.get(tag) if isinstance(tag, bytes) else None
        if delivery is None or (not isinstance(which, bytes) and which != delivery.pending):
            raise LocalProtocolError(f"link {self.name!r} has no unsettled delivery {which!r}")
        if delivery.progress is SENDING:
            raise LocalProtocolError(
                f"delivery {delivery.delivery_id} of link {self.name!r} isn't all sent; abort it instead"
            )
        return delivery

    def _settle_unsent(self, which: Pending[DeliveryState | None] | bytes, state: DeliveryState | None) -> bool:
        """Settle what waits for being sent again; whether it was that."""
        tag = which if isinstance(which, bytes) else which.key[2]
        for at, (saved, resend, _, pending) in enumerate(self.resending):
            if saved.delivery_tag == tag:
                self._check()
                if resend is Resend.NEW:
                    del self.resending[at]
                    self.session.complete([(pending, state)])
                else:
                    self.resending[at] = (saved, Resend.SETTLE, state, pending)
                return True
        return False

    def _settle(self, delivery: OutgoingDelivery, state: State | None) -> None:
        self.forget(delivery)
        self.session.complete([(delivery.pending, state)])


def _repeated(state: State | None) -> State | None:
    """Every frame of a transactional delivery names its transaction (part 4 section 4.4.1)."""
    return state if isinstance(state, TransactionalState) else None


def _told(saved: SavedDelivery) -> State | None:
    """The state of a delivery in the sender's map: no outcome before the receiver surely needs no data."""
    local = saved.local
    if is_outcome(local) and (is_outcome(saved.remote) or saved.payload is None):
        return local
    return local if isinstance(local, Received) else None
