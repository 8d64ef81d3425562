"""Resuming links: what is saved of one, and what its sender does about each unsettled delivery.

Part 2 section 2.6.13, part 3 section 3.4.6 (the fourteen cases of its example).
"""

from __future__ import annotations

from enum import Enum

from ..._checking import TYPE_CHECKING
from ..._ground.record import record
from ...errors import LocalProtocolError
from ..codec.performatives import Received
from .link_state import is_outcome

if TYPE_CHECKING:
    from typing import Final

    from ..codec.performatives import Coordinator, Source, Target
    from .link_state import State


class Resend(Enum):
    """A sender's action for a delivery that it has unsettled."""

    NEW = "send it as a new delivery"
    """The receiver knows nothing of it (tags 1 and 5)."""
    CONTINUE = "resume it from a position"
    """The receiver has a part of it, or none (tags 2, 4 and 6)."""
    ABORT = "abort it, then send it anew where it can be"
    """The sender no longer has the part that the receiver lacks (tags 7, 9, 11 and 14)."""
    SETTLE = "settle it with the outcome"
    """Both have the same outcome, or the receiver's is taken over (tags 3, 8 and 12)."""
    RESTATE = "tell the sender's outcome and wait for the receiver to settle"
    """The outcomes differ; the sender's counts (tag 13)."""
    FORGET = "nothing"
    """The receiver has settled it (tag 10)."""


@record
class ResumeAction:
    """An action and its state: a position to go on from, or an outcome."""

    resend: Resend
    state: State | None = None


def resume_action(local: State | None, known: bool, remote: State | None) -> ResumeAction:
    """Choose the sender's action for a delivery: `local` is its state in the sender's unsettled map, `remote` that in
    the receiver's, where `known` says that it is in there.

    >>> resume_action(None, False, None).resend
    <Resend.NEW: 'send it as a new delivery'>
    >>> resume_action(None, True, Received(3, 0)).state
    Received(section_number=3, section_offset=0)
    """
    decided = is_outcome(local)
    if not known:
        return ResumeAction(Resend.FORGET if decided else Resend.NEW, local if decided else None)
    if is_outcome(remote):
        if not decided:
            return ResumeAction(Resend.SETTLE, remote)
        if remote == local:
            return ResumeAction(Resend.SETTLE, None)
        return ResumeAction(Resend.RESTATE, local)
    if decided:
        return ResumeAction(Resend.ABORT, None)
    wanted = _position(remote)
    if _position(local) > wanted:
        return ResumeAction(Resend.ABORT, None)
    return ResumeAction(Resend.CONTINUE, remote if isinstance(remote, Received) else None)


def _position(state: State | None) -> tuple[int, int]:
    """Null, and states that say nothing of the data, mean the beginning."""
    if isinstance(state, Received):
        return state.section_number, state.section_offset
    return (0, 0)


@record
class SavedDelivery:
    """An unsettled delivery of a saved link.

    Sender: `payload` is the whole message, None when it isn't there any more. Receiver: what has come of it.
    `local` and `remote` are the states that both ends told last.
    """

    delivery_tag: bytes
    message_format: int
    payload: bytes | None
    local: State | None
    remote: State | None


ROUNDS: Final = 1024
"""So many resumptions in a row with maps that don't fit their frames may settle nothing of what this end has.

Each settles what one frame of the receiver names, so this is far beyond what peers need that answer by the rules.
"""
_SHOWN: Final = 8


@record
class LinkState:
    """The state that resumes a link on another session or connection: `open_sender(None, state=...)` or
    `open_receiver(None, state=...)`.

    `next_tag` is the number of the next generated delivery-tag. `unsettled` is in the order in which the next attach
    names deliveries, as far as its frame has room. `rounds` counts the resumptions in a row that had maps which didn't
    fit their frames and settled nothing of `unsettled`; after 1024 of them resuming raises LocalProtocolError.
    Picklable; keep it with the application's data.
    """

    name: str
    is_sender: bool
    source: Source | None
    target: Target | Coordinator | None
    snd_settle_mode: int
    rcv_settle_mode: int
    next_tag: int
    unsettled: tuple[SavedDelivery, ...]
    rounds: int = 0


def check_rounds(state: LinkState) -> None:
    """Raise LocalProtocolError when resuming the link once more is of no use."""
    if state.rounds < ROUNDS:
        return
    tags = ", ".join([each.delivery_tag.hex() or "(empty)" for each in state.unsettled[:_SHOWN]])
    more = len(state.unsettled) - _SHOWN
    raise LocalProtocolError(
        f"link {state.name!r} was resumed {state.rounds} times with unsettled maps that didn't fit their frames, and "
        f"the peer settled nothing: {len(state.unsettled)} deliveries are in doubt, with the delivery-tags {tags}"
        f"{f' and {more} more' if more > 0 else ''}; find out what became of them, then attach without `state`",
        rule="1.0/transport/resume/incomplete",
    )
