"""The holders of 0-10: subscriptions, with the credit that the client grants them, and consumers of files and streams.

A subscription that is cancelled may still get what is on its way, until its session is gone (class 4, message.cancel).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ..._watching import holders
from ..._watching.holders import Consumer, Group
from ..._watching.observation import Observed
from ...endpoint import Side
from ..codec.choices import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...limits import Limits

_DELIVERIES: Final = frozenset({"message.transfer", "file.deliver", "stream.deliver"})


class Books(Protocol):
    """The model, as far as it says what a channel's session and its credit are."""

    def session_on(self, channel: int) -> object: ...

    def room_of(self, channel: int, destination: str) -> tuple[int | None, int | None]: ...

    def take_restored(self, channel: int) -> Iterable[str]: ...


class Holders(holders.MethodHolders):
    """The subscriptions and consumers of one connection. Each is known by its class and its name."""

    __slots__ = ("model",)

    DELIVERIES = _DELIVERIES

    def __init__(self, model: Books, limits: Limits) -> None:
        super().__init__(limits)
        self.model = model

    def _follow(self, event: Observed) -> None:
        follow = _FOLLOW.get(event.event)
        if follow is not None:
            follow(self, event)

    def _group(self, channel: int) -> Group:
        return self.group(channel, self.model.session_on(channel))

    def subscribe(self, event: Observed) -> None:
        """A subscription begins."""
        command = event.content
        if event.sender is Side.CLIENT:
            no_ack = command.accept_mode == NONE
            self._open(event, "message", command.destination or "", command.queue, no_ack)

    def consume(self, event: Observed) -> None:
        """A consumer of files or of a stream begins."""
        command = event.content
        if event.sender is Side.CLIENT:
            kind = event.event.partition(".")[0]
            no_ack = bool(getattr(command, "no_ack", True))
            self._open(event, kind, command.consumer_tag or "", command.queue, no_ack)

    def _open(self, event: Observed, kind: str, name: str, queue: str | None, no_ack: bool) -> None:
        group = self._group(event.channel)
        consumer = Consumer(group, event.channel, name, queue, no_ack, self.now_ns)
        self.put((kind, name), consumer)
        if kind == "message":
            self._judge(consumer)

    def deliver(self, event: Observed) -> None:
        """The server has sent a message to a consumer."""
        command = event.content
        kind = event.event.partition(".")[0]
        name = (command.destination if kind == "message" else command.consumer_tag) or ""
        group = self._group(event.channel)
        consumer = group.consumers.get((kind, name))
        if consumer is None:
            # Its beginning wasn't seen.
            queue = None if event.context is None else event.context[1]
            consumer = Consumer(group, event.channel, name, queue, False, self.now_ns, seen=False)
            self.put((kind, name), consumer)
        self.give(consumer, event)
        if kind == "message":
            self._judge(consumer)

    def _judge(self, consumer: Consumer) -> None:
        """The credit of a subscription may be another one."""
        if not consumer.stopped:
            consumer.room, consumer.granted = self.model.room_of(consumer.channel, consumer.name)
            consumer.judge(self.now_ns)

    def credit(self, event: Observed) -> None:
        """A command about the credit of a destination."""
        command = event.content
        group = self.groups.get(event.channel)
        consumer = None if group is None else group.consumers.get(("message", command.destination or ""))
        if consumer is not None and event.sender is Side.CLIENT:
            self._judge(consumer)

    def cancel(self, event: Observed) -> None:
        """A consumer is cancelled; what is on its way still comes."""
        command = event.content
        kind = event.event.partition(".")[0]
        name = command.destination if kind == "message" else command.consumer_tag
        group = self.groups.get(event.channel)
        consumer = None if group is None else group.consumers.get((kind, name or ""))
        if consumer is not None:
            consumer.close(self.now_ns)

    def completed(self, event: Observed) -> None:
        """Completions give credit back, where the mode is the window's."""
        group = self.groups.get(event.channel)
        for name in self.model.take_restored(event.channel):
            consumer = None if group is None else group.consumers.get(("message", name))
            if consumer is not None:
                self._judge(consumer)

    def session(self, event: Observed) -> None:
        """The channel may have another session now, or none."""
        group = self.groups.get(event.channel)
        if group is not None and group.session is not self.model.session_on(event.channel):
            self.end_group(event.channel)


_FOLLOW: Final[Mapping[str, Callable[[Holders, Observed], None]]] = {
    "message.subscribe": Holders.subscribe,
    "file.consume": Holders.consume,
    "stream.consume": Holders.consume,
    **dict.fromkeys(_DELIVERIES, Holders.deliver),
    **dict.fromkeys(("message.flow", "message.stop", "message.flush", "message.set-flow-mode"), Holders.credit),
    **dict.fromkeys(("message.cancel", "file.cancel", "stream.cancel"), Holders.cancel),
    "session.completed": Holders.completed,
    **dict.fromkeys(("session.attach", "session.attached", "session.detach", "session.detached"), Holders.session),
}
"""What each unit means to the account, by its name."""
