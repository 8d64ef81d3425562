"""Items of the state of an observed connection: its channels or sessions, consumers or links, and open requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..._watching.holders import Holder


class StateItem(NamedTuple):
    """Something that is open on a connection.

    `kind` is "channel", "session", "consumer", "link" or "call". `side` is the one that began it, for a call the one
    that waits. `name` is the consumer tag, destination, link's name, or the request's name. `queue` is the source of
    its messages, or the address of a link. `limit` is the most that the receiver may hold, `room` what the sender may
    still send; None: not known, or without limit. `held` is what the receiver holds, where that is the client;
    `since_ns` when it began, where the account says so. `unit` is the one that began it, where the observer keeps that.
    """

    kind: str
    channel: int
    name: str = ""
    side: str = ""
    state: str = ""
    queue: str | None = None
    limit: int | None = None
    room: int | None = None
    unit: int | None = None
    held: int | None = None
    since_ns: int | None = None


def consumers(holders: Iterable[Holder]) -> Iterator[StateItem]:
    """Yield the consumers of an account, each at its channel."""
    for each in holders:
        state = "no-ack" if each.no_ack else ""
        yield StateItem(
            "consumer",
            each.channel,
            each.name,
            "client",
            state,
            each.queue,
            each.most,
            each.room,
            held=each.held,
            since_ns=each.opened_ns,
        )
