"""The rules of what becomes of deliveries: their states, and who settles them when.

Part 2 section 2.7.6, part 3 section 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._serial import add, distance
from . import conditions, states
from ._performatives import Received
from .books import DeliveryBook, LinkBook, SessionBook, is_outcome
from .violation import link_error, session_error

if TYPE_CHECKING:
    from ._performatives import Disposition
    from .books import State

_SECOND: Final = 1


def disposition(
    side: int, channel: int, session: SessionBook, frame: Disposition
) -> list[DeliveryBook]:
    """A disposition (part 2 section 2.7.6): the deliveries it is about that weren't settled before."""
    # role names the issuer's end: a receiver speaks of what the other side sent.
    owner = 1 - side if frame.role else side
    deliveries = session.halves[owner].deliveries
    first = frame.first
    if frame.last is None or frame.last == first:
        one = deliveries.get(first)
        found = [] if one is None else [one]
    else:
        count = distance(first, frame.last)
        if count < 0:
            raise session_error(
                conditions.INVALID_FIELD,
                f"disposition of deliveries {first} to {frame.last}",
                "transport/disposition/range",
                channel,
                session,
            )
        if count < len(deliveries):
            ids = [add(first, index) for index in range(count + 1)]
            found = [deliveries[each] for each in ids if each in deliveries]
        else:
            found = [
                each for number, each in deliveries.items() if 0 <= distance(first, number) <= count
            ]
    state, settled = frame.state, frame.settled
    if state is None and not settled:
        return found
    for delivery in found:
        if settled and frame.role:
            _check_second(channel, delivery.link, delivery, owner)
        if state is not None:
            check_told(channel, delivery.link, delivery, side, state)
    for delivery in found:
        if state is not None:
            delivery.states[side] = state
        if settled:
            delivery.settled = True
            if delivery.progress is not states.Delivery.SENDING:
                forget(delivery, deliveries)
    return found


def tell(
    channel: int,
    link: LinkBook,
    delivery: DeliveryBook,
    side: int,
    state: State,
    *,
    first: bool = False,
) -> None:
    """A side says what state a delivery has there. Raises as `check_told`."""
    check_told(channel, link, delivery, side, state, first=first)
    delivery.states[side] = state


def check_told(
    channel: int,
    link: LinkBook,
    delivery: DeliveryBook,
    side: int,
    state: State,
    *,
    first: bool = False,
) -> None:
    """Whether a side may say that a delivery has a state: an outcome is its last word (part 3 section 3.4)."""
    told = delivery.states[side]
    if is_outcome(told) and told != state:
        raise link_error(
            conditions.ILLEGAL_STATE,
            f"delivery {delivery.delivery_id} of link {link.name!r} was {told!r}, now {state!r}",
            "delivery-state/terminal-final",
            channel,
            link,
        )
    if isinstance(state, Received) and side == link.sender and not (first and delivery.resumed):
        raise link_error(
            conditions.INVALID_FIELD,
            f"the sender of link {link.name!r} says received of delivery {delivery.delivery_id}",
            "received/sender-only-first-resume",
            channel,
            link,
        )


def _check_second(channel: int, link: LinkBook, delivery: DeliveryBook, sender: int) -> None:
    """In mode second the sender settles first (part 2 section 2.7.5, rcv-settle-mode)."""
    mode = delivery.rcv_settle_mode
    if mode is None:
        mode = link.rcv_settle_mode
    outcome = delivery.states[sender]
    if mode == _SECOND and not delivery.settled and not is_outcome(outcome):
        raise link_error(
            conditions.NOT_ALLOWED,
            f"the receiver of link {link.name!r} settles delivery {delivery.delivery_id} before the sender",
            "transport/transfer/rcv-second",
            channel,
            link,
        )


def forget(delivery: DeliveryBook, deliveries: dict[int, DeliveryBook]) -> None:
    """A settled delivery isn't kept."""
    deliveries.pop(delivery.delivery_id, None)
    unsettled = delivery.link.unsettled
    if unsettled.get(delivery.delivery_tag) is delivery:
        del unsettled[delivery.delivery_tag]


__all__ = ["check_told", "disposition", "forget", "tell"]
