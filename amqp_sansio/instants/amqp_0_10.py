"""The state of an observed connection of 0-10, as both ends know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..amqp_0_10.observer.open_messages import OpenMessages
from .items import StateItem

if TYPE_CHECKING:
    from ..amqp_0_10.observer.observed_model import Half, ObservedModel


def state_items(model: ObservedModel) -> Iterator[StateItem]:
    """Yield the attached sessions with their subscriptions, and the requests that wait for an answer."""
    messages = model.messages
    sessions = messages.sessions if isinstance(messages, OpenMessages) else {}
    for side, asked in zip(("server", "client"), model.asked, strict=True):
        for (channel, name), units in asked.items():
            for unit in units:
                yield StateItem("call", max(channel, 0), name, side, unit=unit)
    for channel, halves in model.channels.items():
        client = halves[1]
        if client.attached is False:
            continue
        session = sessions.get(channel)
        name = (client.name or b"").decode("utf-8", "backslashreplace")
        mode = client.begun.mode.value
        yield StateItem("session", channel, name, "client", mode if mode != "normal" else "")
        for side, half in zip(("server", "client"), halves, strict=True):
            yield from _commands(channel, side, half)
        for destination in client.begun.subscriptions:
            context = None if session is None else session.subscriptions.get(destination)
            queue = None if context is None else context[0][1]
            yield StateItem("consumer", channel, destination, "client", queue=queue, room=_credit(client, destination))


def _commands(channel: int, side: str, half: Half) -> Iterator[StateItem]:
    for unit in half.due.values():
        yield StateItem("call", channel, "a command with a result", side, unit=unit)
    for name, units in half.asked.items():
        for unit in units:
            yield StateItem("call", channel, name, side, unit=unit)


def _credit(client: Half, destination: str) -> int | None:
    known = None if client.whole is None else client.whole.credit.destinations.get(destination)
    return known.credits[-1].messages if known is not None and known.live else None


__all__ = ["state_items"]
