"""VirtualHost: the exchanges and queues of one virtual host, and the ways of messages between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .exchange import Exchange, predeclared
from .faults import Fault, FaultKind
from .queue import Queue

if TYPE_CHECKING:
    from collections.abc import Collection

    from .content import Content
    from .exchange import Destination


class VirtualHost:
    """The contents of one virtual host; created with the exchanges that every virtual host has."""

    __slots__ = ("bindings", "exchanges", "leaving", "name", "queues", "services", "sources")

    def __init__(self, name: str) -> None:
        self.name = name
        """Unique in the broker."""
        self.exchanges: dict[str, Exchange] = {each.name: each for each in predeclared()}
        """Those that aren't deleted, by name."""
        self.queues: dict[str, Queue] = {}
        """Those that aren't deleted, by name."""
        self.services: dict[str, str] = {}
        """The names that a system exchange serves, with the queue of each."""
        self.sources: dict[Destination, dict[str, int]] = {}
        """Every bound queue and exchange, with the names of the exchanges it is bound to and the number of bindings of
        each."""
        self.bindings = 0
        """The number of bindings; `BrokerLimits` bounds them."""
        self.leaving = 0
        """Number of deleted queues and exchanges of which there are still bindings."""

    def find_exchange(self, name: str) -> Exchange:
        """Return the exchange of that name. Raises Fault NOT_FOUND."""
        exchange = self.exchanges.get(name)
        if exchange is None:
            raise Fault(FaultKind.NOT_FOUND, f"no exchange {name!r} in vhost {self.name!r}", "exchange")
        return exchange

    def bindable(self, name: str) -> Exchange:
        """Do the same as `find_exchange`, but refuse the default exchange. Raises Fault."""
        if not name:
            text = f"operation not permitted on the default exchange of vhost {self.name!r}"
            raise Fault(FaultKind.DEFAULT_EXCHANGE, text, "exchange")
        return self.find_exchange(name)

    def is_alternate(self, name: str) -> bool:
        """Whether an exchange or queue has the exchange of that name as its alternate."""
        return any(each.alternate == name for each in self.exchanges.values()) or any(
            each.alternate == name for each in self.queues.values()
        )

    def count_binding(self, source: Exchange, destination: Destination) -> None:
        """Count a new binding."""
        self.bindings += 1
        sources = self.sources.setdefault(destination, {})
        sources[source.name] = sources.get(source.name, 0) + 1

    def uncount_binding(self, source: Exchange, destination: Destination) -> None:
        """Count a binding that was removed."""
        self.bindings -= 1
        sources = self.sources.get(destination)
        if sources is not None and source.name in sources:
            sources[source.name] -= 1
            if not sources[source.name]:
                del sources[source.name]
            if not sources:
                del self.sources[destination]

    def route(
        self, exchange: Exchange, routing_key: str, content: Content, *, alternates: bool = True, chained: bool = False
    ) -> list[Queue]:
        """Return the queues for a message published to `exchange`: each once, always in the same order.

        Exchanges bound in a circle route each message once. An exchange without a matching binding passes it to its
        alternate, if `alternates` is set (0-10 unsets it if the publisher is told instead). The alternate's own
        alternate isn't used (0-10 exchange.declare, rule double-failure), unless `chained` (RabbitMQ).
        """
        if self.leaving:
            return self._route_on(exchange, routing_key, content, alternates, chained)
        found = exchange.targets(self, routing_key, content)
        if not found:
            if exchange.alternate is None or not alternates:
                return []
        elif not exchange.forwards:
            # Without bindings to exchanges, all are queues.
            queues: Collection[Any] = found
            return list(queues)
        return self._route_on(exchange, routing_key, content, alternates, chained)

    def _route_on(
        self, exchange: Exchange, routing_key: str, content: Content, alternates: bool, chained: bool
    ) -> list[Queue]:
        queues: dict[Queue, None] = {}
        tried = 0
        seen: dict[Exchange, None] = {exchange: None}
        reached = [exchange]
        while reached:
            unmatched: list[Exchange] = []
            # The list grows during the loop.
            for each in reached:
                targets = each.targets(self, routing_key, content)
                tried += 1 + each.tried + len(targets)
                if self.leaving:
                    targets = [target for target in targets if not target.is_deleted]
                if not targets:
                    unmatched.append(each)
                for target in targets:
                    if isinstance(target, Queue):
                        queues[target] = None
                    elif isinstance(target, Exchange) and target not in seen:
                        seen[target] = None
                        reached.append(target)
            if not alternates:
                break
            following: list[Exchange] = []
            for each in unmatched:
                alternate = None if each.alternate is None else self.exchanges.get(each.alternate)
                if alternate is not None and alternate not in seen:
                    seen[alternate] = None
                    following.append(alternate)
            reached = following
            alternates = chained
        exchange.tried = tried
        return list(queues)

    def __repr__(self) -> str:
        return f"<VirtualHost {self.name!r}>"
