"""The rules of what becomes of deliveries: their states, and who settles them when.

Part 2 section 2.7.6, part 3 section 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._core.serial import MASK, add, distance
from ..codec import conditions
from ..codec.performatives import Received
from ..codec.violation import link_error, session_error
from . import states
from .link_state import DeliveryModel, LinkModel, SessionHalf, SessionModel, is_outcome

if TYPE_CHECKING:
    from ..codec.performatives import Disposition
    from .link_state import State

_SECOND: Final = 1
_SENDING: Final = states.Delivery.SENDING

FREE: Final = 256
"""Steps that one disposition may take over deliveries that stay unsettled, or aren't there, at no charge."""
EACH: Final = 8
"""Steps more that each transfer pays for."""


def disposition(
    side: int, channel: int, session: SessionModel, frame: Disposition
) -> list[DeliveryModel]:
    """A disposition (part 2 section 2.7.6): the deliveries it is about that weren't settled before.

    A delivery that it settles is paid for by its transfer. Looking at the others costs the allowance of their side, or
    a frame of 58 octets could cost a step for each delivery, again and again.
    """
    # role names the issuer's end: a receiver speaks of what the other side sent.
    owner = 1 - side if frame.role else side
    half = session.halves[owner]
    deliveries = half.deliveries
    first = frame.first
    state, settled = frame.state, frame.settled
    says = settled or state is not None
    if frame.last is None or frame.last == first:
        one = deliveries.get(first)
        found = [] if one is None or not says else [one]
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
        if not says:
            return []
        steps = min(count + 1, len(deliveries))
        if steps > FREE:
            _check_allowance(channel, session, half, steps, settled)
        if count < len(deliveries):
            ids = [add(first, index) for index in range(count + 1)]
            found = [deliveries[each] for each in ids if each in deliveries]
        else:
            found = [
                each for number, each in deliveries.items() if 0 <= distance(first, number) <= count
            ]
        if steps > FREE:
            steps -= len([each for each in found if each.progress is not _SENDING]) if settled else 0
            half.allowance -= steps if steps > FREE else 0
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
            if delivery.progress is not _SENDING:
                forget(delivery, deliveries)
    return found


def _check_allowance(
    channel: int, session: SessionModel, half: SessionHalf, steps: int, settled: bool
) -> None:
    """Raise Violation when nothing is left that pays for looking at deliveries.

    A disposition that settles pays afterwards, for what it looked at in vain.
    """
    earned = (half.next_outgoing_id - half.counted) & MASK
    half.counted = half.next_outgoing_id
    # What stays can't need more: it isn't saved for later.
    half.allowance = min(half.allowance + EACH * earned, EACH * len(half.deliveries))
    if half.allowance < (0 if settled else steps):
        raise session_error(
            conditions.RESOURCE_LIMIT_EXCEEDED,
            f"a disposition is about {steps} deliveries, and the ones before have looked at so many without settling "
            f"them that no transfer pays for more; say at most {EACH} times what becomes of a delivery, or name at "
            f"most {FREE} at a time",
            "transport/error/resource-limit",
            channel,
            session,
        )


def tell(
    channel: int,
    link: LinkModel,
    delivery: DeliveryModel,
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
    link: LinkModel,
    delivery: DeliveryModel,
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


def _check_second(channel: int, link: LinkModel, delivery: DeliveryModel, sender: int) -> None:
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


def forget(delivery: DeliveryModel, deliveries: dict[int, DeliveryModel]) -> None:
    """A settled delivery isn't kept."""
    deliveries.pop(delivery.delivery_id, None)
    unsettled = delivery.link.unsettled
    if unsettled.get(delivery.delivery_tag) is delivery:
        del unsettled[delivery.delivery_tag]
