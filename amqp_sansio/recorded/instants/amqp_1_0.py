"""The state of an observed connection of 1.0, as both ends know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..._ground.serial import distance
from ...amqp_1_0.model import states
from ...amqp_1_0.model.link_state import CLIENT, SERVER
from ...amqp_1_0.observer.observed_model import ObservedSession
from ...amqp_1_0.observer.outcomes import ObservedLink
from .items import StateItem

if TYPE_CHECKING:
    from ...amqp_1_0.observer.observed_model import ObservedModel

_SIDES: Final = {SERVER: "server", CLIENT: "client"}


def state_items(model: ObservedModel) -> Iterator[StateItem]:
    """Yield the sessions with their links, and the begins, ends, attaches and detaches that wait for an answer."""
    sessions = {id(each): each for half in model.halves for each in half.channels.values()}
    for session in sessions.values():
        if isinstance(session, ObservedSession):
            yield from _session(session)


def _session(session: ObservedSession) -> Iterator[StateItem]:
    begun = [side for side in (SERVER, CLIENT) if session.halves[side].state is states.Session.MAPPED]
    first = session.initiator if session.initiator is not None else CLIENT
    channel = session.halves[CLIENT if CLIENT in begun else SERVER].channel
    room = [_window(session, side) for side in (CLIENT, SERVER)]
    words = [
        f"{_SIDES[side]} may send {left} transfers"
        for side, left in zip((CLIENT, SERVER), room, strict=True)
        if left is not None
    ]
    yield StateItem("session", channel, side=_SIDES[first], state=", ".join(words))
    if len(begun) == 1:
        (side,) = begun
        waits_to_end = session.halves[1 - side].state is states.Session.ENDED
        who, name, units = (1 - side, "end", session.ended) if waits_to_end else (side, "begin", session.begun)
        yield StateItem("call", channel, name, _SIDES[who], unit=units[who])
    for link in session.names.values():
        if isinstance(link, ObservedLink):
            yield from _link(channel, link)


def _window(session: ObservedSession, side: int) -> int | None:
    half = session.halves[side]
    return None if half.window_limit is None else max(0, distance(half.next_outgoing_id, half.window_limit))


def _link(channel: int, link: ObservedLink) -> Iterator[StateItem]:
    attached = [side for side in (SERVER, CLIENT) if link.halves[side].state is states.Link.ATTACHED]
    state = (
        "" if len(attached) == 2 else ", ".join(f"{_SIDES[side]}: {link.halves[side].state.value}" for side in _SIDES)
    )
    if link.drain_wanted:
        state = ", ".join(part for part in (state, "drained") if part)
    address = None if link.origin is None else link.origin[1]
    held = None
    if link.sender == SERVER:
        held = 0 if link.consumer is None else link.consumer.held
    yield StateItem("link", channel, link.name, _SIDES[link.sender], state, address, link.granted, link.room, held=held)
    if len(attached) == 1:
        (side,) = attached
        leaves = link.halves[1 - side].attaches > 0
        who, name, units = (1 - side, "detach", link.detached) if leaves else (side, "attach", link.attached)
        yield StateItem("call", channel, name, _SIDES[who], unit=units[who])


__all__ = ["state_items"]
