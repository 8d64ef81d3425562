"""What the peer's dispositions do to the deliveries of an endpoint (1.0 part 2 section 2.7.6)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...events import Handle, Settled
from ..model import states
from ..model.link_state import is_outcome
from .events import DeliveryUpdated, Updated

if TYPE_CHECKING:
    from ..codec.performatives import Disposition
    from ..model.link_state import State
    from .connection import Connection
    from .outgoing import OutgoingDelivery

_MAPPED: Final = states.Session.MAPPED


def receiver_said(
    connection: Connection, session: Any, deliveries: list[Any], frame: Disposition
) -> None:
    """The peer received what this end sent."""
    state = frame.state
    for delivery in deliveries:
        if delivery.handle.done and delivery.link.report is not None:
            # The end of the link has ended it, but what is said of a delivery counts all the same while the link isn't
            # closed (part 2 section 2.7.6). Who knows it by its tag hears of it.
            delivery.handle = Handle(delivery.handle.key)
    if frame.settled:
        _settle(connection, deliveries, state)
        return
    if state is None:
        return
    settling: list[OutgoingDelivery] = []
    told: list[OutgoingDelivery] = []
    can = session.own.state is _MAPPED and is_outcome(state)
    for delivery in deliveries:
        said = delivery.states[connection._side]
        if not can or not delivery.link.auto_settle or delivery.rest is not None:
            told.append(delivery)
        elif is_outcome(said) and said != state:
            # What this end has said of its outcome before stays (part 3 section 3.4).
            session.disposition(False, [delivery.delivery_id], said, True)
            _settle(connection, [delivery], said)
        else:
            settling.append(delivery)
    if told:
        connection._events.append(Updated(tuple([each.handle for each in told]), state))
    if settling:
        session.disposition(False, [each.delivery_id for each in settling], state, True)
        _settle(connection, settling, state)


def sender_said(
    connection: Connection, session: Any, deliveries: list[Any], frame: Disposition
) -> None:
    """The peer sent what this end received."""
    ended: list[tuple[Handle[Any], State | None]] = []
    others: list[int] = []
    for delivery in deliveries:
        handle = delivery.handle
        if frame.settled and handle is not None and not handle.done:
            ended.append((handle, frame.state or delivery.states[connection._side]))
        else:
            others.append(delivery.delivery_id)
    _complete(connection, ended)
    if others:
        connection._events.append(
            DeliveryUpdated(session.channel, tuple(others), frame.state, frame.settled)
        )


def _settle(connection: Connection, deliveries: list[Any], state: State | None) -> None:
    """Deliveries of this end are settled, with the state told now or before."""
    peer = 1 - connection._side
    ended: list[tuple[Handle[Any], State | None]] = []
    for delivery in deliveries:
        delivery.link.forget(delivery)
        if not delivery.handle.done:
            ended.append((delivery.handle, delivery.states[peer] if state is None else state))
    _complete(connection, ended)


def _complete(connection: Connection, ended: list[tuple[Handle[Any], State | None]]) -> None:
    """One event for each run of handles that end with the same state."""
    groups: list[tuple[State | None, list[Handle[Any]]]] = []
    for handle, final in ended:
        handle._complete(final)
        if groups and groups[-1][0] == final:
            groups[-1][1].append(handle)
        else:
            groups.append((final, [handle]))
    for final, handles in groups:
        connection._events.append(Settled(tuple(handles), final))
