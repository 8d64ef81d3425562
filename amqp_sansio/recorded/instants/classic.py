"""The state of an observed connection of 0-8 or 0-9-1, as both ends know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .items import StateItem, consumers

if TYPE_CHECKING:
    from ..._classic.model.channel_state import ChannelState
    from ..._classic.observer.observed_model import ObservedModel


def state_items(model: ObservedModel) -> Iterator[StateItem]:
    """Yield the channels, the requests that wait for an answer, and the consumers."""
    for channel in (model.zero, *model.channels.values()):
        if channel is not model.zero:
            yield StateItem("channel", channel.number, side="client", state=_state_of(channel))
        yield from _calls(channel)
    yield from consumers(model.holders())


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


__all__ = ["state_items"]
