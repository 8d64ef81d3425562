"""OutgoingDelivery: a delivery of a sender; Resending: what a resumed link does about one."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import CodecError
from ...events import Handle, Settled
from ..codec.message import position_octets
from ..codec.performatives import Received, Transfer
from ..model.link_state import DeliveryModel, is_outcome
from ..model.resume import Resend

if TYPE_CHECKING:
    from ..model.link_state import State
    from ..model.resume import SavedDelivery
    from .sender import Sender


_UNSETTLED: Final = 0


class OutgoingDelivery(DeliveryModel):
    """A delivery of a sender: its handle, and the whole `message` as long as it may have to be sent again.

    `payload` are the octets that are being sent, `rest` where those begin that aren't sent yet (both None when none
    are); `last` says that they end the delivery, `whole` that it was given as a whole message.
    """

    __slots__ = ("frame", "handle", "last", "message", "payload", "rest", "whole")

    link: Sender

    def __init__(self, link: Sender, delivery_id: int, delivery_tag: bytes) -> None:
        DeliveryModel.__init__(self, link, delivery_id, delivery_tag)
        self.handle: Handle[Any] = Handle((link.name, "out", delivery_tag))
        self.message: bytes | None = None
        self.payload: bytes | None = None
        self.rest: int | None = None
        self.last = True
        self.whole = True
        self.frame: Transfer | None = None


class Resending:
    """What a sender does about one delivery of a resumed link (part 3 section 3.4.6)."""

    __slots__ = ("handle", "link", "saved")

    def __init__(self, link: Sender, saved: SavedDelivery, handle: Handle[Any]) -> None:
        self.link = link
        self.saved = saved
        self.handle = handle

    def do(self, resend: Resend, state: State | None) -> None:
        """Send what `resume_action` says."""
        payload = self.saved.payload
        if resend is Resend.NEW:
            self._go(payload or b"", None, resume=False)
        elif resend is Resend.CONTINUE and (start := self._start(state)) is not None:
            self._go((payload or b"")[start:], state, resume=True, keep=payload)
        elif resend is Resend.ABORT or resend is Resend.CONTINUE:
            self._whole(Transfer(*self._first(), resume=True, aborted=True), b"")
            if payload is not None:
                self.link.send_anew(self.saved, self.handle)
            else:
                self._done(None)
        elif resend is Resend.SETTLE:
            self._settle(state)
        else:
            delivery = self._whole(Transfer(*self._first(), state=state, resume=True), b"")
            delivery.handle = self.handle

    def _settle(self, state: State | None) -> None:
        link = self.link
        mixed = link.snd_settle_mode != _UNSETTLED
        frame = Transfer(*self._first(), settled=mixed or None, state=state, resume=True)
        delivery = self._whole(frame, b"")
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

    def _first(self) -> tuple[int, int, bytes, int]:
        link = self.link
        number = link.session.next_delivery_id
        return link.number, number, self.saved.delivery_tag, self.saved.message_format

    def _go(
        self, octets: bytes, state: State | None, *, resume: bool, keep: bytes | None = None
    ) -> None:
        frame = Transfer(*self._first(), state=state, resume=resume)
        delivery = self.link.launch(frame, octets, whole=True, keep=keep)
        delivery.handle = self.handle

    def _whole(self, frame: Transfer, octets: bytes) -> OutgoingDelivery:
        return self.link.launch(frame, octets, whole=True)

    def _done(self, state: State | None) -> None:
        self.handle._complete(state)
        if self.saved.delivery_tag in self.link.unknown:
            self.link.unknown.discard(self.saved.delivery_tag)
            return
        self.link.session.connection._events.append(Settled((self.handle,), state))


def decided(state: State | None) -> State | None:
    """An outcome; None for what says only how far the data has come, or nothing."""
    return state if is_outcome(state) else None


def told(saved: SavedDelivery) -> State | None:
    """The state of a delivery in the sender's map: no outcome before the receiver surely needs no data."""
    local = saved.local
    if is_outcome(local) and (is_outcome(saved.remote) or saved.payload is None):
        return local
    return local if isinstance(local, Received) else None
