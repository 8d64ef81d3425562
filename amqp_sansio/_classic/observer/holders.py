"""The holders of 0-8 and 0-9-1: consumers, and the prefetch that says how much they may hold.

basic.qos is about each consumer that is started behind it, or with global about the whole channel, as RabbitMQ reads
it: the channel's consumers share that, those before it too. Deliveries that need no acknowledgement have no limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ..._ground.brevity import trim
from ..._watching.holders import Consumer, Group, MethodHolders
from ..._watching.observation import Observed
from ...endpoint import Side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...limits import Limits
    from ..model.channel_state import ChannelState

_DELIVERIES: Final = frozenset({"basic.deliver", "file.deliver", "stream.deliver"})


class Books(Protocol):
    """The model, as far as it says what the consumers of a channel are."""

    channels: dict[int, ChannelState]

    def queue_of(self, number: int, tag: str) -> str | None: ...


class ClassicHolders(MethodHolders):
    """The consumers of one connection."""

    __slots__ = ("model",)

    DELIVERIES = _DELIVERIES

    def __init__(self, model: Books, limits: Limits) -> None:
        super().__init__(limits)
        self.model = model

    def _follow(self, event: Observed) -> None:
        follow = _FOLLOW.get(event.event)
        if follow is not None:
            follow(self, event)

    def _no_ack(self, number: int, tag: str) -> bool | None:
        """Whether a consumer needs no acknowledgement; None when there is no such consumer."""
        channel = self.model.channels.get(number)
        return None if channel is None else channel.consumers.get(tag)

    def deliver(self, event: Observed) -> None:
        """The server has sent a message to a consumer."""
        method = event.content
        group = self.group(event.channel)
        tag = method.consumer_tag
        consumer = group.consumers.get(tag)
        if consumer is None:
            # Its beginning wasn't seen, or the server has chosen its tag and nothing said so.
            unnamed = group.consumers.pop("", None)
            if unnamed is None:
                queue = event.context if isinstance(event.context, str) else None
                no_ack = bool(self._no_ack(event.channel, tag))
                consumer = Consumer(group, event.channel, tag, queue, no_ack, self.now_ns, seen=False)
            else:
                consumer = unnamed
                consumer.name = tag
            self.put(tag, consumer)
        self.give(consumer, event)

    def qos(self, event: Observed) -> None:
        """A prefetch, for later consumers or the whole channel."""
        method = event.content
        group = self.group(event.channel)
        if not method.global_:
            group.next_most = method.prefetch_count
            return
        group.most = method.prefetch_count
        group.judge(self.now_ns)

    def consume(self, event: Observed) -> None:
        """A consumer is asked for."""
        method = event.content
        group = self.group(event.channel)
        if method.no_wait:
            self._open(group, event.channel, method.consumer_tag, group.next_most)
        else:
            group.asked[event.seq] = group.next_most
            trim(group.asked, self.limits.calls)

    def consume_ok(self, event: Observed) -> None:
        """A consumer begins."""
        method = event.content
        group = self.group(event.channel)
        most = group.next_most if event.answers is None else group.asked.pop(event.answers, group.next_most)
        self._open(group, event.channel, method.consumer_tag, most)

    def _open(self, group: Group, channel: int, tag: str, most: int) -> None:
        no_ack = self._no_ack(channel, tag)
        if no_ack is None:
            return
        queue = self.model.queue_of(channel, tag)
        limit = None if no_ack else most
        self.put(tag, Consumer(group, channel, tag, queue, no_ack, self.now_ns, limit=limit))

    def cancel(self, event: Observed) -> None:
        """A consumer that is cancelled without a reply may still get what is on its way."""
        method = event.content
        group = self.groups.get(event.channel)
        consumer = None if group is None else group.consumers.get(method.consumer_tag)
        if group is None or consumer is None or self._no_ack(event.channel, method.consumer_tag) is not None:
            return
        if event.sender is Side.CLIENT:
            consumer.close(self.now_ns)
        else:
            self.remove(group, method.consumer_tag)

    def channel_over(self, event: Observed) -> None:
        """The channel is over, or begins anew."""
        if event.event != "channel.close" or event.sender is Side.SERVER:
            self.end_group(event.channel)


_FOLLOW: Final[Mapping[str, Callable[[ClassicHolders, Observed], None]]] = {
    "basic.qos": ClassicHolders.qos,
    **dict.fromkeys(_DELIVERIES, ClassicHolders.deliver),
    **dict.fromkeys(("basic.consume", "file.consume", "stream.consume"), ClassicHolders.consume),
    **dict.fromkeys(("basic.consume-ok", "file.consume-ok", "stream.consume-ok"), ClassicHolders.consume_ok),
    **dict.fromkeys(("basic.cancel", "file.cancel", "stream.cancel"), ClassicHolders.cancel),
    **dict.fromkeys(("basic.cancel-ok", "file.cancel-ok", "stream.cancel-ok"), ClassicHolders.cancel),
    **dict.fromkeys(("channel.open", "channel.close", "channel.close-ok"), ClassicHolders.channel_over),
}
"""What each unit means to the account, by its name."""
