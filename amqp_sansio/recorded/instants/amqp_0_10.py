"""The state of an observed connection of 0-10, as both ends know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .items import StateItem, consumers

if TYPE_CHECKING:
    from ...amqp_0_10.observer.observed_model import Half, ObservedModel


def state_items(model: ObservedModel) -> Iterator[StateItem]:
    """Yield the attached sessions with their subscriptions, and the requests that wait for an answer."""
    for side, asked in zip(("server", "client"), model.asked, strict=True):
        for (channel, name), units in asked.items():
            for unit in units:
                yield StateItem("call", max(channel, 0), name, side, unit=unit)
    for channel, halves in model.channels.items():
        client = halves[1]
        if client.attached is False:
            continue
        name = (client.name or b"").decode("utf-8", "backslashreplace")
        mode = client.begun.mode.value
        yield StateItem("session", channel, name, "client", mode if mode != "normal" else "")
        for side, half in zip(("server", "client"), halves, strict=True):
            yield from _commands(channel, side, half)
    yield from consumers(model.holders())


def _commands(channel: int, side: str, half: Half) -> Iterator[StateItem]:
    for unit in half.due.values():
        yield StateItem("call", channel, "a command with a result", side, unit=unit)
    for name, units in half.asked.items():
        for unit in units:
            yield StateItem("call", channel, name, side, unit=unit)


__all__ = ["state_items"]
