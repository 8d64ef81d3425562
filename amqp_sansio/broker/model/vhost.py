"""VirtualHost: exchanges, queues and their bindings, of which nothing is seen from another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exchange import predeclared

if TYPE_CHECKING:
    from .exchange import Exchange
    from .queue import Queue


class VirtualHost:
    """What one virtual host has; made with the exchanges that every virtual host has.

    `services` are what a system exchange sends to: the queue that serves each name. `sources` are, for every queue and
    exchange that is bound, the exchanges it is bound to, each with how many bindings there are.
    """

    __slots__ = ("bindings", "exchanges", "name", "queues", "services", "sources")

    def __init__(self, name: str) -> None:
        self.name = name
        self.exchanges: dict[str, Exchange] = {each.name: each for each in predeclared()}
        self.queues: dict[str, Queue] = {}
        self.services: dict[str, str] = {}
        self.sources: dict[Queue | Exchange, dict[str, int]] = {}
        self.bindings = 0

    def __repr__(self) -> str:
        return f"<VirtualHost {self.name!r}>"
