"""Forcing: what a broker does to a client by itself, in the way of each version: it ends a connection, a channel, a
session, a link or a consumer. For tests that need a broker which does so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import EndpointClosed
from ..versions import AMQP_0_8, AMQP_0_10, AMQP_1_0
from .model import commands
from .model.effects import Cancelled

if TYPE_CHECKING:
    from .client import Client

_FORCED_1_0: Final = "amqp:connection:forced"
_INTERNAL_1_0: Final = "amqp:internal-error"
_DETACHED_1_0: Final = "amqp:link:detach-forced"
_FORCED: Final = 320
_PRECONDITION_FAILED: Final = 406


class Part(NamedTuple):
    """A part of a client's connection, by its kind: "channel", "session", "link" or "consumer"; `end` ends it."""

    kind: str
    name: str
    end: Callable[[], object]


def close_connection(client: Client, code: int | str, text: str) -> None:
    """Close an open connection, with a code for its version; the other kind of code selects the version's own."""
    front: Any = client.front
    if client.version is AMQP_1_0:
        front.connection.close(code if isinstance(code, str) else _FORCED_1_0, text)
    else:
        front.connection.close(code if isinstance(code, int) else _FORCED, text)


def close_channels(client: Client, code: int | str, text: str, channel: int | None = None) -> int:
    """Close the channel of this number, or all, and return how many: sessions in 0-10 and 1.0.

    `code` is a reply code, in 0-10 that of an exception, in 1.0 an error condition. Raises ValueError for a condition
    in another version.
    """
    front: Any = client.front
    if client.version is AMQP_1_0:
        condition = code if isinstance(code, str) else _INTERNAL_1_0
        numbers = [each for each in front.connection.sessions if channel in (None, each)]
        for number in numbers:
            front.connection.session(number).close(condition, text)
        return len(numbers)
    if isinstance(code, str):
        raise ValueError(f"in {client.version} a code is a number, not {code!r}")
    if client.version is AMQP_0_10:
        from ..amqp_0_10 import ExecutionError

        sessions = [each for number, each in front.attached.items() if channel in (None, number)]
        for session in sessions:
            front.fail(session, ExecutionError(code, text))
        return len(sessions)
    channels = [each for number, each in front.channels.items() if channel in (None, number)]
    for each in channels:
        each.engine.close(code, text)
        front.end_channel(each)
    return len(channels)


def parts(client: Client) -> list[Part]:
    """Return the open parts of a client's connection that the broker can end by itself in its version.

    Channels are those of 0-8 and 0-9-1, sessions those of 0-10 and 1.0, links those of 1.0, and consumers those of
    0-9-1 whose clients take a cancellation.
    """
    front: Any = client.front
    if front is None or not client.is_open:
        return []
    version = client.version
    found: list[Part] = []
    if version is AMQP_1_0:
        for number in list(front.connection.sessions):
            found.append(Part("session", str(number), partial(_end_channel, client, number)))
        for (number, handle), each in list(front.links.items()):
            found.append(Part("link", f"{number}/{handle}", partial(_end_link, client, each)))
    elif version is AMQP_0_10:
        for number in list(front.attached):
            found.append(Part("session", str(number), partial(_end_channel, client, number)))
    else:
        for number in list(front.channels):
            found.append(Part("channel", str(number), partial(_end_channel, client, number)))
        if version is not AMQP_0_8 and front.takes_cancel:
            for consumer in list(front.consumers.values()):
                if consumer.model is not None:
                    found.append(Part("consumer", consumer.tag, partial(_cancel, client, consumer)))
    return found


def refuse_next(client: Client) -> None:
    """Let queues refuse the client's next publish that is in no transaction, as if they were full: with basic.nack in
    0-9-1, an outcome in 1.0, message.reject or the end of the session in 0-10; nothing tells a client of 0-8."""
    front: Any = client.front
    if client.version is AMQP_1_0:
        owners = [front.connection_owner]
    elif client.version is AMQP_0_10:
        owners = [each.owner for each in front.attached.values()]
    else:
        owners = [front.owner]
    client.hub.model.publishing.refusing.update(each.connection for each in owners)


def _done(client: Client) -> None:
    client.next_event()
    client.hub.touch(client.number)
    client.hub.settle()


def _end_channel(client: Client, number: int) -> None:
    code = _INTERNAL_1_0 if client.version is AMQP_1_0 else _PRECONDITION_FAILED
    with suppress(EndpointClosed):
        close_channels(client, code, "PRECONDITION_FAILED - the broker ends it", number)
    _done(client)


def _end_link(client: Client, link: Any) -> None:
    with suppress(EndpointClosed):
        link.link.close(_DETACHED_1_0, "the broker ends this link")
    _done(client)


def _cancel(client: Client, consumer: Any) -> None:
    front: Any = client.front
    client.hub.apply(commands.Cancel(consumer.model))
    front.perform(Cancelled(consumer.model, "the broker cancels it"))
    _done(client)


__all__ = ["Part", "close_channels", "close_connection", "parts", "refuse_next"]
