"""Which rules commands of 0-10's message class break, by what their sender did and must have known (class 4).

The credit that a server has is the most it may have: what the client has granted counts as soon as it's sent, and what
the client has taken back until the server says that it's done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import distance
from ..model.open_ids import covered
from .session_state import INFINITE, Destination

if TYPE_CHECKING:
    from ..codec.sequence_set import SequenceSet
    from .observed_model import ObservedModel
    from .session_state import ObservedSide

Sizes = tuple[int, int]
"""The octets of a message's header and body, as far as they are known."""
Judge = Callable[["ObservedModel", "ObservedSide", Any, int, Sizes], None]
"""Takes the joint, the books of the sender, the command, its id and the sizes of its message."""

NONE: Final = 1
"""accept-mode none, and acquire-mode not-acquired."""

_MESSAGE: Final = 0
_BYTE: Final = 1
_WINDOW: Final = 1


# Transfers and what settles them.


def _transfer(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    books.transferred(number, command.acquire_mode != NONE)
    client = books.peer
    if books.client or client is None or client.destinations is None:
        return
    # Only the payloads of header and body frames count (rule byte-accounting).
    octets = sum(sizes)
    name = command.destination or ""
    books.transit[number] = (name, octets)
    if len(books.transit) > books.most:
        oldest = next(iter(books.transit))
        _restore(client, *books.transit.pop(oldest))
    destination = client.destinations.get(name)
    if destination is None:
        text = f"message.transfer for {name!r}, which the client hasn't subscribed"
        joint.blame("message.subscribe/zero-credit", text)
    elif destination.spend(octets) is None:
        _blame_credit(joint, name, destination, octets)


def _blame_credit(joint: ObservedModel, name: str, destination: Destination, octets: int) -> None:
    text = f"message.transfer for {name!r}"
    last = destination.credits[-1]
    if not any([credit.granted for credit in destination.credits]):
        if last.name in ("message.stop", "message.flush"):
            joint.blame(f"{last.name}/zero", f"{text} behind the completion of {last.name}")
        else:
            joint.blame("message.subscribe/zero-credit", f"{text}, which has no credit yet")
    elif not any([credit.messages != 0 for credit in destination.credits]):
        joint.blame(
            "message.subscribe/zero-credit", f"{text}, which has no credit of messages left"
        )
    else:
        text += f" of {octets} octets in header and body, which is more than its credit"
        joint.blame("message.set-flow-mode/byte-accounting", text)


def _restore(client: ObservedSide, name: str, octets: int) -> None:
    destination = None if client.destinations is None else client.destinations.get(name)
    if destination is not None:
        destination.restore(octets)


def _settle(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """message.accept, reject or release: of messages that the other side has transferred, and once."""
    peer = books.peer
    transfers: SequenceSet | None = command.transfers
    if peer is None or not transfers:
        return
    rejects = command.NAME == "message.reject"
    rule = "message.reject/acquisition" if rejects else "message.accept/acquisition"
    wrong = peer.not_open(transfers)
    if wrong is not None:
        sent = distance(wrong, peer.next_id) > 0
        why = "is settled, or no message" if sent else "hasn't come"
        joint.blame(rule, f"{command.NAME} of the command {wrong}, which {why}")
    elif command.NAME != "message.release":
        browsed = [each for each in covered(peer.open, transfers) if not peer.open[each]]
        if browsed:
            text = f"{command.NAME} of the message {browsed[0]}, which isn't acquired"
            joint.blame(rule, text, "warning" if rejects else "error")
    settled = peer.settled(transfers)
    if books.transacted and command.NAME == "message.accept" and books.accepted is not None:
        books.accepted.update(dict.fromkeys(settled))
        if len(books.accepted) > books.most:
            books.accepted = None


def _acquire(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """The result says what was acquired; until then it may be all."""
    peer = books.peer
    if peer is not None and command.transfers:
        for each in covered(peer.open, command.transfers):
            peer.open[each] = True


# Subscriptions and their credit.


def _subscribe(
    joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes
) -> None:
    explicit = command.accept_mode != NONE
    if books.transacted and not explicit:
        text = "message.subscribe with accept-mode none on a session with standard transactions"
        joint.blame("tx.select/explicit-accepts", text)
    if books.destinations is None:
        return
    name = command.destination or ""
    destination = books.destinations.get(name)
    if destination is None:
        destination = books.destinations[name] = Destination()
    elif not destination.live:
        # What the subscription before it has is for its messages, which may still be on their way.
        books.zeroing[number] = name
    destination.live = True
    destination.explicit = explicit
    destination.zero(command.NAME, number)
    destination.credits[-1].window = True
    if len(books.destinations) > joint.limits.consumers:
        books.destinations = None
        books.zeroing = {}


def _of_destination(joint: ObservedModel, books: ObservedSide, command: Any) -> Destination | None:
    """The subscription that a command of the client names; None where it has none, or not all are known."""
    if not books.client or books.destinations is None:
        # What a server names is an exchange, and a session's whole publishing.
        return None
    name = command.destination or ""
    destination = books.destinations.get(name)
    if destination is None or not destination.live:
        text = f"{command.NAME} for {name!r}, which isn't subscribed"
        joint.blame("message.cancel/not-found", text)
        return None
    return destination


def _zero(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """message.stop, flush and cancel: the credit is gone when the server has executed them."""
    destination = _of_destination(joint, books, command)
    if destination is None:
        return
    destination.zero(command.NAME, number)
    if command.NAME == "message.cancel":
        destination.live = False
    books.zeroing[number] = command.destination or ""
    if len(books.zeroing) > books.most:
        # Its completion won't be noticed: the credit counts as long as a later one isn't completed.
        del books.zeroing[next(iter(books.zeroing))]


def _flow(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    destination = _of_destination(joint, books, command)
    if destination is None:
        return
    value = None if command.value in (None, INFINITE) else command.value
    credit = destination.credits[-1]
    credit.granted = credit.granted or value != 0
    credit.add(0 if command.unit == _BYTE else value, 0 if command.unit == _MESSAGE else value)


def _set_flow_mode(
    joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes
) -> None:
    destination = _of_destination(joint, books, command)
    if destination is None:
        return
    credit = destination.credits[-1]
    left = credit.messages != 0 or credit.octets != 0
    if len(destination.credits) == 1 and credit.granted and left:
        name = command.destination or ""
        text = f"message.set-flow-mode for {name!r}, which has credit that wasn't taken back"
        joint.blame("message.set-flow-mode/mode-switching", text)
    # With credit of the window mode left, completions may still give some back.
    credit.window = command.flow_mode == _WINDOW or (credit.window and credit.granted)


# Completion.


def completes(books: ObservedSide, commands: SequenceSet) -> None:
    """A side has executed commands of the other one."""
    peer = books.peer
    if peer is None:
        return
    for number in covered(peer.transit, commands):
        _restore(books, *peer.transit.pop(number))
    for number in covered(peer.zeroing, commands):
        name = peer.zeroing.pop(number)
        destination = None if peer.destinations is None else peer.destinations.get(name)
        if destination is None or peer.destinations is None:
            continue
        destination.zeroed(number)
        if not destination.live and len(destination.credits) == 1:
            del peer.destinations[name]


def never_sent(books: ObservedSide, commands: SequenceSet) -> int | None:
    """The last of some ids that the other side has sent no command with; None when there's none."""
    peer = books.peer
    if peer is None:
        return None
    for _, upper in commands.ranges:
        if distance(peer.next_id, upper) >= 0:
            return upper
    return None


MESSAGE_JUDGES: Final[dict[str, Judge]] = {
    "message.transfer": _transfer,
    "message.accept": _settle,
    "message.reject": _settle,
    "message.release": _settle,
    "message.acquire": _acquire,
    "message.subscribe": _subscribe,
    "message.cancel": _zero,
    "message.stop": _zero,
    "message.flush": _zero,
    "message.flow": _flow,
    "message.set-flow-mode": _set_flow_mode,
}
"""Who judges a command, by its name."""
