"""The books of an observed connection of 1.0: sessions, links, deliveries that nothing has settled, transactions.

They are kept by what frames say, whoever was seen to say it: a session or link whose begin or attach wasn't seen
gets a book when a frame of it comes. Sides are 0 for the client and 1 for the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ..model.link_state import EACH

if TYPE_CHECKING:
    from ..._core.observation import Observed
    from ..._core.outcomes import MessageRecord
    from ..codec.performatives import Attach

CLIENT: Final = 0
SERVER: Final = 1

_EXPIRING: Final = (None, "session-end", "link-detach")


def side_of(event: Observed) -> int:
    """Who sent the unit."""
    return CLIENT if event.sender is Side.CLIENT else SERVER


class Delivery:
    """One delivery that isn't settled for good, or a request on a link to a coordinator.

    `told` is the outcome that a side named, `error` what it says of it; `final` says that it was the sender, whose word
    is the last. Within a transaction, `promised` is the outcome that holds when it is committed, `acquired` says that
    the message was taken in it, and `gone` that a side has settled the delivery.
    """

    __slots__ = (
        "acquired", "error", "final", "gone", "id", "link", "promised", "record", "request", "sender", "seq",
        "session", "tag", "told", "transaction",
    )  # fmt: skip

    def __init__(
        self, record: MessageRecord | None, seq: int, link: LinkHistory, tag: bytes | None
    ) -> None:
        self.record = record
        self.request: tuple[object, bool] | None = None
        self.seq = seq
        self.link = link
        self.sender = link.sender
        self.tag = tag
        self.session: SessionHistory | None = None
        self.id: int | None = None
        self.told: str | None = None
        self.promised: str | None = None
        self.error: str | None = None
        self.final = False
        self.acquired = False
        self.gone = False
        self.transaction: Transaction | None = None

    def put(self, session: SessionHistory, number: int) -> Delivery | None:
        """Book it as unsettled under its delivery-id; give the one that had the id, which is forgotten."""
        before = session.deliveries[self.sender].get(number)
        if before is not None:
            before.forget()
        self.session, self.id = session, number
        session.deliveries[self.sender][number] = self
        session.allowance[self.sender] += EACH
        if self.record is not None:
            self.link.open[self.key] = self
        return before

    def forget(self) -> None:
        """Take it out of the books of its session and link: nobody refers to it any more."""
        self.unnumber()
        if self.link.open.get(self.key) is self:
            del self.link.open[self.key]

    def unnumber(self) -> None:
        """Its delivery-id means nothing any more (1.0 part 2 section 2.6.13)."""
        if self.session is not None and self.id is not None:
            numbered = self.session.deliveries[self.sender]
            if numbered.get(self.id) is self:
                del numbered[self.id]
        self.session = None

    @property
    def key(self) -> bytes | int:
        """What the link knows it by: its tag, or without one its own number."""
        return self.seq if self.tag is None else self.tag


class UnderWay:
    """A delivery of several transfers that isn't complete: what its frames have said so far.

    `words` are the last dispositions of each side: unit, state, whether it's settled.
    """

    __slots__ = ("number", "resume", "settled", "state", "tag", "words")

    def __init__(self) -> None:
        self.number: int | None = None
        self.tag: bytes | None = None
        self.settled = False
        self.state: Any = None
        self.resume = False
        self.words: dict[int, tuple[Observed, Any, bool]] = {}

    def take(self, transfer: Any) -> None:
        """Take one more transfer (1.0 part 2 section 2.7.5)."""
        if self.number is None:
            self.number = transfer.delivery_id
        if self.tag is None:
            self.tag = transfer.delivery_tag
        self.settled = self.settled or bool(transfer.settled)
        self.resume = self.resume or bool(transfer.resume)
        if transfer.state is not None:
            self.state = transfer.state


class LinkHistory:
    """One link in one direction, attached or suspended. `sender` is the side that sends on it.

    `halves` are the last attaches of both sides, `places` where these hold: session and handle. `anew` says who has
    attached since both were. `open` are the deliveries that aren't settled, by tag. `closed` says who closed it for
    good. `coordinator` says that it leads to a coordinator of transactions (1.0 part 4 section 4.1), `declared` are
    those that were declared on it and not discharged.

    `address` is the node at the server: the target of what a client sends, the source of what it receives; None
    also where each message says where it goes (`anonymous`).
    """

    __slots__ = (
        "address", "anew", "anonymous", "closed", "coordinator", "declared", "halves", "name", "open", "places",
        "sender", "under_way",
    )  # fmt: skip

    def __init__(self, name: str | None, sender: int) -> None:
        self.name = name
        self.sender = sender
        self.halves: list[Attach | None] = [None, None]
        self.places: list[tuple[SessionHistory, int] | None] = [None, None]
        self.anew = [False, False]
        self.closed = [False, False]
        self.open: dict[bytes | int, Delivery] = {}
        self.under_way: UnderWay | None = None
        self.coordinator = False
        self.declared: dict[object, Transaction] = {}
        self.address: str | None = None
        self.anonymous = False

    def attach(self, side: int, frame: Attach, session: SessionHistory) -> None:
        """One side attaches its half."""
        self.halves[side] = frame
        self.places[side] = (session, frame.handle)
        self.anew[side] = True
        session.handles[side][frame.handle] = self
        self.coordinator = self.coordinator or _name(frame.target) == "coordinator"
        terminus = self.terminus("target" if self.sender == CLIENT else "source")
        address = getattr(terminus, "address", None)
        self.address = address if isinstance(address, str) else None
        target = self.terminus("target")
        self.anonymous = target is not None and getattr(target, "address", "") is None

    def terminus(self, name: str) -> Any:
        """The "source" as the sender says, the "target" as the receiver says (1.0 part 2 section 2.6.3).

        The other side's wish stands where the one that decides hasn't spoken.
        """
        decides = self.sender if name == "source" else 1 - self.sender
        for side in (decides, 1 - decides):
            half = self.halves[side]
            terminus = None if half is None else getattr(half, name)
            if terminus is not None:
                return terminus
        return None

    @property
    def default_outcome(self) -> str | None:
        """What holds for a delivery that is settled without an outcome (1.0 part 3 section 3.5.3)."""
        outcome = getattr(self.terminus("source"), "default_outcome", None)
        return outcome_name(outcome)

    @property
    def outlives_session(self) -> bool:
        """Whether a terminus is kept when its session ends (1.0 part 3 section 3.5.6)."""
        for name in ("source", "target"):
            terminus = self.terminus(name)
            if getattr(terminus, "expiry_policy", None) not in _EXPIRING:
                return True
            if getattr(terminus, "timeout", 0):
                return True
        return False

    def unplace(self, side: int) -> None:
        """One side's half isn't attached any more."""
        place = self.places[side]
        if place is not None:
            session, handle = place
            if session.handles[side].get(handle) is self:
                del session.handles[side][handle]
            if side == self.sender:
                self.drop()
            self.places[side] = None

    def drop(self) -> None:
        """The delivery under way, if any, won't be completed."""
        way, place = self.under_way, self.places[self.sender]
        self.under_way = None
        if way is not None and way.number is not None and place is not None:
            place[0].under_way[self.sender].pop(way.number, None)


class SessionHistory:
    """One session: its channel on each side (None: not known), and by side its handles and its own deliveries:
    those that are complete and not settled, and those under way, by delivery-id. `allowance` is by side what
    dispositions may still do to these without settling them.
    """

    __slots__ = ("allowance", "channels", "deliveries", "ended", "handles", "under_way")

    def __init__(self) -> None:
        self.allowance = [0, 0]
        self.channels: list[int | None] = [None, None]
        self.ended = [False, False]
        self.handles: tuple[dict[int, LinkHistory], dict[int, LinkHistory]] = ({}, {})
        self.deliveries: tuple[dict[int, Delivery], dict[int, Delivery]] = ({}, {})
        self.under_way: tuple[dict[int, UnderWay], dict[int, UnderWay]] = ({}, {})

    @property
    def over(self) -> bool:
        """Whether both sides have ended it, as far as they are known."""
        return all(
            [
                ended or channel is None
                for ended, channel in zip(self.ended, self.channels, strict=True)
            ]
        )


class Transaction:
    """What one transaction holds: deliveries that were posted, acquired or retired in it, by their number.

    `controller` is the side that declared it, `link` the one it was declared on (None: not seen), `ending` says that
    its discharge was sent.
    """

    __slots__ = ("controller", "ending", "id", "link", "members")

    def __init__(self, key: object, controller: int, link: LinkHistory | None) -> None:
        self.id = key
        self.controller = controller
        self.link = link
        self.ending = False
        self.members: dict[int, Delivery] = {}
        if link is not None:
            link.declared[key] = self

    def undeclare(self) -> None:
        """It's over: the link knows it no more."""
        if self.link is not None and self.link.declared.get(self.id) is self:
            del self.link.declared[self.id]


def outcome_name(state: Any) -> str | None:
    """The outcome that a delivery state is, None for one that isn't terminal."""
    name = _name(state)
    return name if name in _OUTCOMES else None


_OUTCOMES: Final = ("accepted", "rejected", "released", "modified")


def _name(value: Any) -> str:
    name: str = getattr(value, "NAME", "")
    return name
