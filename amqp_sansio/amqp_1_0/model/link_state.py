"""The books of sessions, links and deliveries: what both halves have said, whoever keeps them.

Endpoints and observers keep the same books. Sides are numbers here: CLIENT and SERVER index every pair. Sequence
numbers are those of RFC 1982 (part 2 section 2.8.10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ...endpoint import Side
from ..codec.composite import DeliveryState
from . import states

if TYPE_CHECKING:
    from typing import TypeGuard

    from ..codec.performatives import Attach, Begin
    from ..codec.values import Described

    State = DeliveryState | Described
    """A delivery state; of a type that nobody here knows where it's described."""

CLIENT: Final = 0
SERVER: Final = 1


def number_of(side: Side) -> int:
    """The side as an index into a pair."""
    return CLIENT if side is Side.CLIENT else SERVER


def is_outcome(state: State | None) -> TypeGuard[DeliveryState]:
    """Whether the state is terminal (part 3 section 3.4)."""
    return isinstance(state, DeliveryState) and state.OUTCOME


class SessionHalf:
    """What one side has sent on a session, and what the other lets it send.

    `next_outgoing_id` is the id of the next transfer frame of this side. `window_limit` is the id of the first one that
    the other side doesn't take, by its last word; `window_known` the farthest such limit there was, which an
    older flow may have told. None: not known, because the begin wasn't seen. `deliveries` are this side's,
    by delivery-id, until they are settled. `handles` are the links this side has attached. `allowance` are the steps
    that dispositions may still take over deliveries that stay, of the transfers up to `counted`.
    """

    __slots__ = (
        "allowance",
        "begin",
        "channel",
        "counted",
        "deliveries",
        "handles",
        "initial_outgoing_id",
        "next_outgoing_id",
        "state",
        "window_known",
        "window_limit",
    )

    def __init__(self) -> None:
        self.state = states.Session.UNMAPPED
        self.channel = 0
        self.begin: Begin | None = None
        self.initial_outgoing_id = 0
        self.next_outgoing_id = 0
        self.allowance = 0
        self.counted = 0
        self.window_limit: int | None = 0
        self.window_known: int | None = 0
        self.deliveries: dict[int, DeliveryModel] = {}
        self.handles: dict[int, LinkModel] = {}

    def renumber(self, next_outgoing_id: int) -> None:
        """The side says which id its next transfer has; what it skips is no transfer."""
        self.counted += next_outgoing_id - self.next_outgoing_id
        self.next_outgoing_id = next_outgoing_id


class SessionModel:
    """One session: its two halves, and its links by name and sending side (`names`), attached or not.

    `initiator` is the side that began it, None when that wasn't seen. `failed` are the links that ended in an error
    and may only be resumed (part 2 section 2.6.5), `crossed` the names of those that one side closed and the other
    only detached, the latest ones.
    """

    __slots__ = ("crossed", "failed", "halves", "initiator", "names")

    def __init__(self, initiator: int | None) -> None:
        self.initiator = initiator
        self.halves = (SessionHalf(), SessionHalf())
        self.names: dict[tuple[str, int], LinkModel] = {}
        self.failed: dict[tuple[str, int], int] = {}
        self.crossed: dict[tuple[str, int], LinkModel] = {}

    def new_link(self, name: str, sender: int) -> LinkModel:
        """A book for a link of this session; endpoints have their own kind."""
        return LinkModel(self, name, sender)


class LinkHalf:
    """What one side has sent on a link. `attaches` counts its attaches under this name."""

    __slots__ = ("attach", "attaches", "handle", "state")

    def __init__(self) -> None:
        self.attaches = 0
        self.state = states.Link.DETACHED
        self.handle = 0
        self.attach: Attach | None = None


class LinkModel:
    """One link: its two halves and the state of its flow.

    `sender` is the side that sends. `delivery_count` is the sender's; `credit_limit` the count at which its credit
    ends by the receiver's last word, `credit_known` the farthest such limit (both None: not known), `granted` the
    credit of its last flow. `current` is the
    delivery whose transfers have begun and not ended. `unsettled` are the deliveries by tag. `answered` is the side
    whose attach answered the other's. `quick` is what an endpoint's shortcut knows of it since the last attach.
    """

    __slots__ = (
        "answered",
        "available",
        "credit_known",
        "credit_limit",
        "current",
        "delivery_count",
        "drain_wanted",
        "granted",
        "halves",
        "name",
        "quick",
        "sender",
        "session",
        "unsettled",
    )

    def __init__(self, session: SessionModel, name: str, sender: int) -> None:
        self.session = session
        self.name = name
        self.sender = sender
        self.halves = (LinkHalf(), LinkHalf())
        self.answered: int | None = None
        self.delivery_count = 0
        self.credit_limit: int | None = 0
        self.credit_known: int | None = 0
        self.drain_wanted = False
        self.granted = 0
        self.available = 0
        self.current: DeliveryModel | None = None
        self.unsettled: dict[bytes, DeliveryModel] = {}
        self.quick: tuple[int, ...] | None = None

    @property
    def source(self) -> object:
        """The source as the sender says, or None while it hasn't (part 2 section 2.6.3)."""
        attach = self.halves[self.sender].attach
        return None if attach is None else attach.source

    @property
    def target(self) -> object:
        """The target as the receiver says, or None while it hasn't."""
        attach = self.halves[1 - self.sender].attach
        return None if attach is None else attach.target

    @property
    def snd_settle_mode(self) -> int | None:
        """How the sender settles, by its own word; None while it hasn't attached."""
        attach = self.halves[self.sender].attach
        return None if attach is None else attach.snd_settle_mode

    @property
    def rcv_settle_mode(self) -> int | None:
        """How the receiver settles, by its own word; None while it hasn't attached."""
        attach = self.halves[1 - self.sender].attach
        return None if attach is None else attach.rcv_settle_mode

    @property
    def is_attached(self) -> bool:
        """Whether both sides have attached it."""
        attached = states.Link.ATTACHED
        one, other = self.halves
        return one.state is attached and other.state is attached

    def new_delivery(self, delivery_id: int, delivery_tag: bytes) -> DeliveryModel:
        """A book for a delivery of this link; endpoints have their own kind."""
        return DeliveryModel(self, delivery_id, delivery_tag)

    def __getstate__(self) -> object:
        # What the shortcut knows is found again; commands that raise leave everything else as it was.
        _, values = cast("tuple[None, dict[str, object]]", object.__getstate__(self))
        return None, {**values, "quick": None}


class DeliveryModel:
    """One delivery. `states` and `settled` are what each side said of it; `size` the payload so far, in octets."""

    __slots__ = (
        "delivery_id",
        "delivery_tag",
        "link",
        "message_format",
        "progress",
        "rcv_settle_mode",
        "resumed",
        "settled",
        "size",
        "states",
    )

    def __init__(self, link: LinkModel, delivery_id: int, delivery_tag: bytes) -> None:
        self.link = link
        self.delivery_id = delivery_id
        self.delivery_tag = delivery_tag
        self.message_format = 0
        self.progress = states.Delivery.NOT_SENT
        self.resumed = False
        self.rcv_settle_mode: int | None = None
        self.size = 0
        self.settled = False
        self.states: list[State | None] = [None, None]
