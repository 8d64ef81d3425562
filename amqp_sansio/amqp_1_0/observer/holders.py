"""The holders of 1.0: the links on which the server sends, with the credit that the client grants them.

A link is open from its first attach to its first detach. When it's detached while deliveries are open, and a link of
its name is attached again, that goes on with them (1.0 part 2 sections 2.6.7 and 2.6.13).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from ..._watching import holders
from ..._watching.holders import Consumer, Group
from ..._watching.observation import Observed
from ...endpoint import Side
from ..model.link_state import CLIENT, SERVER
from ..model.states import SND_SETTLED
from .outcomes import ObservedLink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...limits import Limits


class Books(Protocol):
    """The model, as far as it says which link a side has attached with a handle."""

    def link_at(self, side: int, channel: int, handle: int) -> ObservedLink | None: ...


class Holders(holders.Holders):
    """The links of one connection.

    `places` are the links by side and channel, then by handle; `suspended` are those by name that are detached and hold
    deliveries.
    """

    __slots__ = ("model", "places", "suspended")

    def __init__(self, model: Books, limits: Limits) -> None:
        super().__init__(limits)
        self.model = model
        self.places: dict[tuple[int, int], dict[int, Consumer]] = {}
        self.suspended: dict[str, Consumer] = {}

    def known(self) -> Iterator[Consumer]:
        yield from {id(each): each for place in self.places.values() for each in place.values()}.values()

    def _step(self, event: Observed) -> None:
        message = event.event == "transfer" and event.unit == "content" and event.sender is Side.SERVER
        given = message and event.context is not None
        if event.settles and not given:
            self.settle(event)
        follow = _FOLLOW.get(event.event)
        if follow is not None and event.content.__class__ is not bytes:
            follow(self, event, CLIENT if event.sender is Side.CLIENT else SERVER)

    def transfer(self, event: Observed, side: int) -> None:
        """A transfer on a link."""
        frame = event.content
        if side != SERVER:
            return
        place = self.places.get((side, event.channel))
        consumer = None if place is None else place.get(frame.handle)
        if event.unit == "content" and event.context is not None:
            if consumer is None:
                # Its beginning wasn't seen.
                (_, address, _, name), _, _ = event.context
                consumer = Consumer(Group(), event.channel, name or "", address, False, self.now_ns, seen=False)
                self._place(consumer, side, event.channel, frame.handle)
                consumer.places -= 1
            self.give(consumer, event)
        if consumer is not None:
            self._judge(consumer, self.model.link_at(side, event.channel, frame.handle))

    def flow(self, event: Observed, side: int) -> None:
        """Credit of a link, or what its sender says of it."""
        frame = event.content
        if frame.handle is None:
            return
        place = self.places.get((side, event.channel))
        consumer = None if place is None else place.get(frame.handle)
        if consumer is not None:
            self._judge(consumer, self.model.link_at(side, event.channel, frame.handle))

    def _judge(self, consumer: Consumer, link: ObservedLink | None) -> None:
        """The credit of a link may be another one."""
        if not consumer.stopped:
            consumer.room = None if link is None else link.room
            consumer.granted = None if link is None else link.granted
            consumer.judge(self.now_ns)

    def attach(self, event: Observed, side: int) -> None:
        """A side attaches a link."""
        frame = event.content
        self._leave(side, event.channel, frame.handle)
        link = self.model.link_at(side, event.channel, frame.handle)
        if link is None or link.sender != SERVER or link.origin is None:
            return
        consumer = link.consumer
        if consumer is None or consumer.stopped:
            consumer = self._attached(link, event.channel)
        if side == CLIENT or consumer.handle is None:
            consumer.handle = frame.handle
            consumer.channel = event.channel
        consumer.queue = link.origin[1]
        consumer.no_ack = link.snd_settle_mode == SND_SETTLED
        self._place(consumer, side, event.channel, frame.handle)
        self._judge(consumer, link)

    def _attached(self, link: ObservedLink, channel: int) -> Consumer:
        """A link begins, or goes on with the deliveries of the one of its name."""
        consumer = self.suspended.pop(link.name, None)
        if consumer is None or not consumer.held:
            consumer = Consumer(Group(), channel, link.name, None, False, self.now_ns)
            consumer.places = 0
        else:
            consumer.reopen(self.now_ns)
            consumer.handle = None
        link.consumer = consumer
        return consumer

    def _place(self, consumer: Consumer, side: int, channel: int, handle: int) -> None:
        place = self.places.setdefault((side, channel), {})
        place[handle] = consumer
        consumer.places += 1
        if len(place) > self.limits.consumers:
            self._leave(side, channel, next(iter(place)))
        if len(self.places) > 2 * self.limits.channels:
            self._session_over(*next(iter(self.places)))

    def _leave(self, side: int, channel: int, handle: int) -> None:
        """A side has left a link, if it had one with this handle."""
        place = self.places.get((side, channel))
        consumer = None if place is None else place.pop(handle, None)
        if consumer is not None:
            consumer.close(self.now_ns)
            self.leave(consumer)
            if not consumer.places and consumer.held:
                self.suspended.pop(consumer.name, None)
                self.suspended[consumer.name] = consumer
                if len(self.suspended) > self.limits.consumers:
                    del self.suspended[next(iter(self.suspended))]

    def detach(self, event: Observed, side: int) -> None:
        """A side detaches a link."""
        frame = event.content
        self._leave(side, event.channel, frame.handle)

    def _session_over(self, side: int, channel: int) -> None:
        for handle in [*self.places.get((side, channel), ())]:
            self._leave(side, channel, handle)
        self.places.pop((side, channel), None)

    def session(self, event: Observed, side: int) -> None:
        """A side begins or ends a session on a channel."""
        self._session_over(side, event.channel)

    def finish(self, end_ns: int, closed: bool) -> list[Consumer]:
        found = super().finish(end_ns, closed)
        self.places = {}
        self.suspended = {}
        return found


_FOLLOW: Final[Mapping[str, Callable[[Holders, Observed, int], None]]] = {
    "transfer": Holders.transfer,
    "flow": Holders.flow,
    "attach": Holders.attach,
    "detach": Holders.detach,
    "begin": Holders.session,
    "end": Holders.session,
}
"""What each unit means to the account, by its name."""
