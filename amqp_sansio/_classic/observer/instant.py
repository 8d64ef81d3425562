"""The state of an observed connection of 0-8 or 0-9-1, as both ends know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..._core.instant import StateItem
from .observed_model import ObservedChannel

if TYPE_CHECKING:
    from ..model.channel_state import ChannelState
    from .observed_model import ObservedModel


def state_items(model: ObservedModel) -> Iterator[StateItem]:
    """Yield the channels with their consumers, and the requests that wait for an answer."""
    for channel in (model.zero, *model.channels.values()):
        if channel is not model.zero:
            yield StateItem("channel", channel.number, side="client", state=_state_of(channel))
        yield from _calls(channel)
        if isinstance(channel, ObservedChannel):
            yield from _consumers(channel)


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


def _consumers(channel: ObservedChannel) -> Iterator[StateItem]:
    shared = channel.shared or None
    room = None if shared is None else max(0, shared - len(channel.unsettled))
    for tag, no_ack in channel.consumers.items():
        limit = None if no_ack else channel.windows.get(tag) or None
        state = "no-ack" if no_ack else ""
        yield StateItem("consumer", channel.number, tag, "client", state, channel.queues.get(tag), limit, room)


__all__ = ["state_items"]
