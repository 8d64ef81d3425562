"""The events of AMQP 1.0 that other versions don't have, and its own kinds of the shared ones.

`channel` is the number on which this end sends in the session, `link` the handle that this end has given the link;
`connection.session(channel).link(link)` is the object while it lives.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.record import record
from ...errors import CodecError
from ...events import Closed, DeliveryReceived, Event, Failed, Opened, Pending
from ..codec.message import LenientMessage, Message
from ..model.harm import message_fault

if TYPE_CHECKING:
    from typing import Any

    from ...errors import RemoteProtocolError
    from ..codec.performatives import Attach, Begin, Declare, Discharge
    from ..codec.types import AmqpMap
    from ..model.link_state import State


@record
class TlsStarted(Event):
    """Both ends have sent the TLS header (part 5 section 5.2): the octets that follow are TLS, and the adapter's.

    Write `data_to_send`, give `connection.tls_octets()` to TLS and nothing more to the connection, do the handshake,
    the client's end as the client, and call `tls_established()`. From then on all octets of the connection pass
    through the tunnel.
    """


@record
class SessionRequested(Event):
    """The peer begins a session with `begin`; answer with its `accept()` or `refuse(condition, description)`."""

    channel: int
    begin: Begin


@record
class LinkRequested(Event):
    """The peer attaches a link with `attach`; answer with its `accept_attach()` or `refuse_attach(...)`."""

    channel: int
    link: int
    attach: Attach


@record
class LinkOpened(Opened):
    """A link is attached on both sides (part 2 section 2.6.3); ends `pending` when this end opened it."""

    link: int = 0
    name: str = ""


@record
class LinkFailed(Failed):
    """An error ends a link; `LinkClosed` follows."""

    link: int = 0
    name: str = ""


@record
class LinkClosed(Closed):
    """The last event of a link. `resumable`: it wasn't closed, `saved_state()` can be resumed."""

    link: int = 0
    name: str = ""
    resumable: bool = False


class _Unread(DeliveryReceived):
    """A place for the message that a delivery's payload becomes; a fast path leaves it empty."""

    __slots__ = ("_message",)


@record
class Delivery(_Unread):
    """A whole message has arrived on a link (part 2 section 2.7.5).

    `payload` are the octets of all its sections, `message` is made of them on first access, `body` is the message's.
    `settled`: the sender has settled it, nothing is to be said of it. `state` is what the sender said of it.
    `resumed`: it continues a delivery of an earlier attachment of the link.
    """

    channel: int
    link: int
    delivery_id: int
    delivery_tag: bytes
    message_format: int
    settled: bool
    state: State | None
    payload: bytes
    resumed: bool = False

    @property
    def message(self) -> Message:
        """The message; its sections are decoded on access, odd fields left out. Access may raise CodecError."""
        found: Message | None = getattr(self, "_message", None)
        if found is None:
            found = LenientMessage.from_wire(self.payload)
            object.__setattr__(self, "_message", found)
        return found

    def fault(self) -> CodecError | None:
        """Read the whole message; return what makes it unfit, None where nothing does, or only what does no harm."""
        try:
            self.read_strictly()
        except CodecError:
            return message_fault(self.payload)
        return None

    def read_strictly(self) -> None:
        """Read the whole message. Raises CodecError for anything that isn't as it must be, harmless or not."""
        found = Message.from_wire(self.payload)
        found.check()
        object.__setattr__(self, "_message", found)

    @property
    def body(self) -> Any:
        """The message's body. Raises CodecError for a payload that is no message."""
        return self.message.body

    def __hash__(self) -> int:
        return hash((self.channel, self.link, self.delivery_id, self.delivery_tag))

    def __repr__(self) -> str:
        return (
            f"<Delivery {self.delivery_id} on channel {self.channel}, link {self.link}, "
            f"{len(self.payload)} octets{', settled' if self.settled else ''}>"
        )


@record
class DeliveryAborted(Event):
    """The sender gave up a delivery under way; what had come of it is dropped."""

    channel: int
    link: int
    delivery_id: int
    delivery_tag: bytes


@record
class DeliveryRefused(Event):
    """A message came that can't be read, as `error` says: it was rejected, or dropped where it was settled before."""

    channel: int
    link: int
    delivery_id: int
    delivery_tag: bytes
    error: RemoteProtocolError


@record
class DeliveryUpdated(Event):
    """The sender said something of deliveries received: their `state`, or that it `settled` them."""

    channel: int
    delivery_ids: tuple[int, ...]
    state: State | None
    settled: bool


@record
class TransactionRequested(Event):
    """A coordinator is asked to declare or discharge a transaction (part 4 sections 4.2 and 4.3).

    Answer with the receiving link's `update([delivery], state, settled=True)`: Declared(txn_id), Accepted() or
    Rejected(error).
    """

    channel: int
    link: int
    delivery: Delivery
    request: Declare | Discharge


@record
class CreditChanged(Event):
    """The receiver of one of this end's senders said how much it takes: `credit` deliveries more.

    With `drain` it wants what is left sent at once and the rest of the credit given up: `sender.drained()`.
    `properties` are the flow's, such as `txn-id` (part 4 section 4.4.3).
    """

    channel: int
    link: int
    credit: int
    drain: bool
    properties: AmqpMap | None = None


@record
class Drained(Event):
    """The sender has used up or given up all credit of one of this end's receivers."""

    channel: int
    link: int


@record
class AvailableChanged(Event):
    """The sender says how many messages wait for credit."""

    channel: int
    link: int
    available: int


@record
class Updated(Event):
    """The receiver told the `state` of deliveries without settling them; `Settled` is still to come."""

    pendings: tuple[Pending[object], ...]
    state: object


@record
class Resumed(Event):
    """A link was resumed and both unsettled maps compared (part 2 section 2.6.13).

    `pendings` are the deliveries of a sender that go on or are sent again. `forgotten` are the delivery-tags that
    the other end has settled meanwhile, `lost` those of which the data is gone on both ends. `incomplete`: one map
    didn't fit its frame; when what it names is settled, detach and resume once more.
    """

    channel: int
    link: int
    pendings: tuple[Pending[object], ...]
    forgotten: tuple[bytes, ...]
    lost: tuple[bytes, ...]
    incomplete: bool
