"""Deliveries that a client holds for too long: RabbitMQ closes their channel (consumer_timeout, x-consumer-timeout)."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from ..frontend import Alarm
from .errors import PRECONDITION_FAILED, Refusal

if TYPE_CHECKING:
    from ..frontend import HubContext
    from .channel import ChannelFrontend, ClassicChannel

_KEY: Final = "classic consumer timeouts"
_FEW: Final = 64
"""Marks of a channel that may be older than its deliveries."""


class Timeouts(Alarm):
    """When to look at which channel next: one alarm of the hub for all of them, since there may be many."""

    __slots__ = ("_due", "_most")

    def __init__(self) -> None:
        self._due: list[tuple[float, int, int]] = []
        """Deadlines with the numbers of a client and of its channel, as a heap; some of these are gone."""
        self._most = _FEW
        """Number of deadlines at which those of channels that are gone are dropped."""

    def __len__(self) -> int:
        return len(self._due)

    def watch(self, hub: HubContext, front: ChannelFrontend, channel: ClassicChannel, deadline: float) -> None:
        """Look at a channel at a deadline; an earlier one stays."""
        channel.is_watched = True
        heappush(self._due, (deadline, front.number, channel.number))
        if len(self._due) > self._most:
            kept: dict[tuple[int, int], tuple[float, int, int]] = {}
            for each in sorted(self._due):
                # Of several channels that had one number the first deadline stays: a look too early does no harm.
                if _find(hub, each[1], each[2])[1] is not None:
                    kept.setdefault((each[1], each[2]), each)
            self._due = list(kept.values())
            self._most = 2 * len(self._due) + _FEW
        hub.set_alarm(_KEY, self._due[0][0], self)

    def ring(self, hub: HubContext) -> None:
        due = self._due
        while due and due[0][0] <= hub.now:
            _, number, channel_number = heappop(due)
            front, channel = _find(hub, number, channel_number)
            if front is not None and channel is not None and channel.is_watched:
                channel.is_watched = False
                _look(hub, self, front, channel)
        if due:
            hub.set_alarm(_KEY, due[0][0], self)


def _find(hub: HubContext, number: int, channel: int) -> tuple[ChannelFrontend | None, ClassicChannel | None]:
    front: Any = hub.fronts.get(number)
    return front, None if front is None else front.channels.get(channel)


def note(front: ChannelFrontend, channel: ClassicChannel, tag: int) -> None:
    """Note that a delivery has begun, of which the client owes the end."""
    hub = front.hub
    marks = channel.marks
    if not marks or marks[-1][0] != hub.now:
        marks.append((hub.now, tag))
        if len(marks) > 2 * len(channel.entries) + _FEW:
            _prune(channel)
    if channel.is_watched:
        wait = channel.entries[tag].queue.options.consumer_timeout
        if wait is None or wait >= channel.shortest_wait:
            return
    wait = _wait(front, channel, tag)
    if wait is not None:
        channel.shortest_wait = wait
        _of(hub).watch(hub, front, channel, hub.now + wait)


def _of(hub: HubContext) -> Timeouts:
    found: Timeouts = hub.shared.setdefault(_KEY, Timeouts())
    return found


def _wait(front: ChannelFrontend, channel: ClassicChannel, tag: int) -> float | None:
    own = channel.entries[tag].queue.options.consumer_timeout
    return front.hub.settings.consumer_timeout if own is None else own


def _look(hub: HubContext, timeouts: Timeouts, front: ChannelFrontend, channel: ClassicChannel) -> None:
    """Close a channel one of whose deliveries is too old; otherwise say when to look again."""
    nearest: tuple[float, float] | None = None
    marks = _prune(channel)
    at = 0
    for tag in channel.entries:
        while at + 1 < len(marks) and marks[at + 1][1] <= tag:
            at += 1
        wait = _wait(front, channel, tag)
        if wait is not None and marks and (nearest is None or marks[at][0] + wait < nearest[0]):
            nearest = marks[at][0] + wait, wait
    if nearest is None:
        return
    deadline, wait = nearest
    if deadline > hub.now:
        channel.shortest_wait = wait
        timeouts.watch(hub, front, channel, deadline)
        return
    text = (
        f"delivery acknowledgement on channel {channel.number} timed out. Timeout value used: {round(wait * 1000)} ms. "
        "This timeout value can be configured, see consumers doc guide to learn more"
    )
    front.refuse(channel, Refusal(PRECONDITION_FAILED, text))
    hub.touch(front.number)


def _prune(channel: ClassicChannel) -> list[tuple[float, int]]:
    """Drop the marks of deliveries that are settled; return the others."""
    first = min(channel.entries, default=None)
    marks = channel.marks
    if first is None:
        marks.clear()
        return marks
    at = 0
    while at + 1 < len(marks) and marks[at + 1][1] <= first:
        at += 1
    del marks[:at]
    return marks


__all__ = ["Timeouts", "note"]
