"""Requests of clients about exchanges, queues and bindings, as rows, and the resulting topology."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ...broker.model.topic import TopicTrie
from .asking import Acts, fold_amqp_0_10, fold_amqp_1_0, fold_classic
from .columns import TOPOLOGY_COLUMNS, Happening

_NAMES: Final = tuple([name for name, _ in TOPOLOGY_COLUMNS])
_FOLDS: Final[dict[str | None, Callable[[Acts, Happening], None]]] = {
    "0-8": fold_classic,
    "0-9-1": fold_classic,
    "0-10": fold_amqp_0_10,
    "1.0": fold_amqp_1_0,
}

EVENTS: Final = frozenset(
    {
        *("exchange.declare", "exchange.declare-ok", "exchange.delete", "exchange.delete-ok"),
        *("exchange.bind", "exchange.bind-ok", "exchange.unbind", "exchange.unbind-ok"),
        *("queue.declare", "queue.declare-ok", "queue.delete", "queue.delete-ok"),
        *("queue.bind", "queue.bind-ok", "queue.unbind", "queue.unbind-ok"),
        *("connection.open", "connection.close", "channel.open", "channel.close", "channel.close-ok"),
        *("execution.exception", "session.completed", "session.detached"),
        *("open", "attach", "transfer"),
    }
)
"""The events that matter to the topology; others may be left out before `fold_topology`."""


def fold_topology(events: Iterable[Happening]) -> Iterator[tuple[Any, ...]]:
    """Yield rows of the topology (`TOPOLOGY_COLUMNS`) from the events of connections, one connection after the other,
    each in the order of `seq`.

    A row is one act: a declare, delete, bind or unbind. `state` is its result: "done" (answered, or in need of no
    answer), "refused" with the reason in `text`, or "asked": no answer was seen.

    >>> declare = '{"queue":"jobs","no_wait":true,"durable":true,"arguments":{}}'
    >>> [row] = fold_topology([Happening("c", 7, 1_000, "client", "0-9-1", 1, "queue.declare", declare, None)])
    >>> dict(zip((name for name, _ in TOPOLOGY_COLUMNS), row, strict=True))["name"]
    'jobs'
    """
    folding: TopologyFold | None = None
    for event in events:
        if folding is None or folding.connection != event.connection:
            if folding is not None:
                yield from folding.finish()
            folding = TopologyFold(event.connection)
        yield from folding.push(event)
    if folding is not None:
        yield from folding.finish()


class TopologyFold:
    """Makes rows of the topology from the events of one connection, as they come."""

    def __init__(self, connection: str) -> None:
        self.connection = connection
        self._acts = Acts(connection)

    def push(self, event: Happening) -> list[tuple[Any, ...]]:
        """Take the next event; return the rows that are complete now."""
        acts = self._acts
        fold = _FOLDS.get(event.protocol)
        if fold is not None and event.event in EVENTS:
            fold(acts, event)
        return [_row(act) for act in acts.take()] if acts.done else []

    def finish(self) -> list[tuple[Any, ...]]:
        """Note the end of the connection; return the remaining rows."""
        return [_row(act) for act in self._acts.finish()]


def _row(act: dict[str, Any]) -> tuple[Any, ...]:
    arguments = act.get("arguments")
    if arguments is not None:
        act["arguments"] = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
    return tuple([act.get(name) for name in _NAMES])


class Topology:
    """A broker's topology over time, from the acts in a trace: the queues that a publish may have reached.

    Built from rows of `fold_topology` in any order; refused acts don't count.

    >>> topology = Topology([])
    >>> topology.reaches(None, "orders", "eu", "jobs", 1_000) is None
    True
    """

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        acts = [dict(zip(_NAMES, row, strict=True)) for row in rows]
        acts.sort(key=lambda act: (act["ts_ns"], act["connection"], act["seq"]))
        self._types: dict[tuple[str | None, str], str] = {}
        self._bindings: dict[tuple[str | None, str], list[_Binding]] = {}
        for act in acts:
            if act["state"] != "refused":
                self._take(act)

    def _take(self, act: dict[str, Any]) -> None:
        vhost, at = act["vhost"], act["ts_ns"]
        if act["kind"] == "exchange":
            if act["act"] == "declare" and act["type"]:
                self._types[vhost, act["name"]] = act["type"]
        elif act["source"] is not None and act["destination"] is not None:
            key = act["routing_key"] or ""
            bindings = self._bindings.setdefault((vhost, act["source"]), [])
            if act["act"] == "bind":
                bindings.append(_Binding(act["destination_kind"], act["destination"], key, at))
            else:
                for binding in bindings:
                    named = (binding.kind, binding.destination, binding.key)
                    if binding.until is None and named == (act["destination_kind"], act["destination"], key):
                        binding.until = act["done_ns"] or at

    def reaches(self, vhost: str | None, exchange: str, key: str, queue: str, at: int) -> bool | None:
        """Whether bindings in the trace led from an exchange to a queue at that time (nanoseconds).

        None: the trace has no such bindings, but there may be some.
        """
        if exchange == "":
            return key == queue
        seen = {exchange}
        pending = [exchange]
        while pending:
            source = pending.pop()
            kind = self._types.get((vhost, source)) or _predeclared(source)
            for binding in self._bindings.get((vhost, source), ()):
                if binding.since > at or (binding.until is not None and binding.until < at):
                    continue
                if not _matches(kind, binding.key, key):
                    continue
                if binding.kind == "queue" and binding.destination == queue:
                    return True
                if binding.kind == "exchange" and binding.destination not in seen:
                    seen.add(binding.destination)
                    pending.append(binding.destination)
        return None


class _Binding:
    __slots__ = ("destination", "key", "kind", "since", "until")

    def __init__(self, kind: str, destination: str, key: str, since: int) -> None:
        self.kind = kind
        self.destination = destination
        self.key = key
        self.since = since
        self.until: int | None = None


def _predeclared(exchange: str) -> str | None:
    kind = exchange.removeprefix("amq.")
    return kind if kind != exchange else None


def _matches(kind: str | None, pattern: str, key: str) -> bool:
    """Whether a binding matches a message by its key; arguments are ignored."""
    if kind in ("fanout", "headers", "match"):
        return True
    if kind == "topic":
        trie = TopicTrie[bool]()
        trie.add(pattern, True)
        return bool(trie.match(key))
    return pattern == key


__all__ = ["EVENTS", "Topology", "TopologyFold", "fold_topology"]
