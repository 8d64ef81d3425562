"""The state of an observed connection of 0-8 or 0-9-1, as both ends know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._classic.observer.observed_model import ObservedChannel
from .items import StateItem

if TYPE_CHECKING:
    from .._classic.codec.method import Method
    from .._classic.model.channel_state import ChannelState
    from .._classic.observer.observed_model import ObservedModel


class Windows:
    """The prefetch of channels and consumers, by the methods that set it; 0 is none.

    basic.qos is about the consumers to come, or with global about the whole channel, as brokers read it.
    """

    def __init__(self) -> None:
        self.shared: dict[int, int] = {}
        self.consumers: dict[tuple[int, str], int] = {}
        self._next: dict[int, int] = {}

    def take(self, channel: int, method: Method) -> None:
        """Take a method."""
        name = method.NAME
        if name == "basic.qos":
            limits = self.shared if getattr(method, "global_", False) else self._next
            limits[channel] = method.prefetch_count  # type: ignore[attr-defined]
        elif name in ("basic.consume", "basic.consume-ok"):
            tag: str = method.consumer_tag  # type: ignore[attr-defined]
            self.consumers[channel, tag] = self._next.get(channel, 0)
        elif name == "channel.open":
            self.shared.pop(channel, None)
            self._next.pop(channel, None)
            self.consumers = {key: limit for key, limit in self.consumers.items() if key[0] != channel}


def state_items(model: ObservedModel, windows: Windows) -> Iterator[StateItem]:
    """Yield the channels with their consumers, and the requests that wait for an answer."""
    for channel in (model.zero, *model.channels.values()):
        if channel is not model.zero:
            yield StateItem("channel", channel.number, side="client", state=_state_of(channel))
        yield from _calls(channel)
        if isinstance(channel, ObservedChannel):
            yield from _consumers(channel, windows)


def _state_of(channel: ChannelState) -> str:
    words = [channel.state.value]
    if channel.mode.value != "normal":
        words.append(channel.mode.value)
    for side, stopped in (("client", channel.client_stopped), ("server", channel.server_stopped)):
        if stopped:
            words.append(f"the {side} is to send no content (channel.flow)")
    return ", ".join(words)


def _calls(channel: ChannelState) -> Iterator[StateItem]:
    for side, calls in (("client", channel.client_calls), ("server", channel.server_calls)):
        for call in calls or ():
            yield StateItem("call", channel.number, call.request.NAME, side, unit=call.token)


def _consumers(channel: ObservedChannel, windows: Windows) -> Iterator[StateItem]:
    shared = windows.shared.get(channel.number) or None
    room = None if shared is None else max(0, shared - len(channel.unsettled))
    for tag, no_ack in channel.consumers.items():
        limit = None if no_ack else windows.consumers.get((channel.number, tag)) or None
        state = "no-ack" if no_ack else ""
        yield StateItem("consumer", channel.number, tag, "client", state, channel.queues.get(tag), limit, room)


__all__ = ["Windows", "state_items"]
