"""Where a message goes: through bindings between exchanges, and to the alternate exchange where nothing matched."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .exchange import Exchange

if TYPE_CHECKING:
    from .content import Content
    from .queue import Queue
    from .vhost import VirtualHost


def route(
    vhost: VirtualHost,
    exchange: Exchange,
    routing_key: str,
    content: Content,
    *,
    alternates: bool = True,
    chained: bool = False,
) -> list[Queue]:
    """The queues that get a message published to `exchange`: each once, in the same order every time.

    Exchanges bound in a circle send each message once. An exchange of which no binding matches passes it to its
    alternate, if `alternates` are used (0-10 leaves them out where the publisher is told instead). The alternate's own
    alternate isn't used (0-10 exchange.declare, rule double-failure), unless `chained` (RabbitMQ).
    """
    found = exchange.targets(vhost, routing_key, content)
    if not found:
        if exchange.alternate is None or not alternates:
            return []
    elif not exchange.forwards:
        # Without bindings to exchanges all are queues.
        return cast("list[Queue]", list(found))
    return _route_on(vhost, exchange, routing_key, content, alternates, chained)


def _route_on(
    vhost: VirtualHost, exchange: Exchange, routing_key: str, content: Content, alternates: bool, chained: bool
) -> list[Queue]:
    queues: dict[Queue, None] = {}
    seen: dict[Exchange, None] = {exchange: None}
    reached = [exchange]
    while reached:
        unmatched: list[Exchange] = []
        # It grows on the way.
        for each in reached:
            targets = each.targets(vhost, routing_key, content)
            if not targets:
                unmatched.append(each)
            for target in targets:
                if not isinstance(target, Exchange):
                    queues[target] = None
                elif target not in seen:
                    seen[target] = None
                    reached.append(target)
        if not alternates:
            break
        following: list[Exchange] = []
        for each in unmatched:
            alternate = None if each.alternate is None else vhost.exchanges.get(each.alternate)
            if alternate is not None and alternate not in seen:
                seen[alternate] = None
                following.append(alternate)
        reached = following
        alternates = chained
    return list(queues)
