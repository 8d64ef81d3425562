"""Items of the state of an observed connection: its channels or sessions, consumers or links, and open requests."""

from __future__ import annotations

from typing import NamedTuple


class StateItem(NamedTuple):
    """Something that is open on a connection.

    `kind` is "channel", "session", "consumer", "link" or "call". `side` is the one that began it, for a call the one
    that waits. `name` is the consumer tag, destination, link's name, or the request's name. `queue` is the source of
    its messages, or the address of a link. `limit` is the most that the receiver may hold, `room` what the sender may
    still send; None: not known, or without limit. `unit` is the one that began it, where the observer keeps that.
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
