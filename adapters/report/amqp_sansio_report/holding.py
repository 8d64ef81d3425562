"""The deliveries that each consumer or link of a connection held over time, and could have held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .measures import Series
from .records import Holder

_STEPS: Final = 128
_MOST: Final = 256
"""Most consumers of a connection that are distinguished; others share one entry."""
_WITH_CREDIT: Final = ("0-10", "1.0")
_OTHERS: Final = "(others)"


class Holding:
    """The consumers and links of one connection: of its rows of messages what they held when, of its rows of consumers
    what they could have held. The deliveries are also added to `total`.
    """

    __slots__ = ("_total", "holders")

    def __init__(self, total: Series) -> None:
        self._total = total
        self.holders: dict[tuple[int | None, str], Holder] = {}

    def message(self, row: Any, name: str, source: str) -> None:
        """Take a delivery: its row of `messages`, with the consumer's name and source as they are shown."""
        ts_ns, settled_ns = row.ts_ns, row.settled_ns
        # In 1.0 the row has the server's number of the session, and names the link alone.
        channel = row.channel if row.consumer_tag is not None or row.kind == "get" or row.link is None else None
        holder = self._holder(channel, name, source, ts_ns)
        holder.deliveries += 1
        if settled_ns is None and row.outcome == "settled":
            return  # it was sent settled
        self._add(holder, ts_ns, 1)
        until = row.ended_ns if settled_ns is None else settled_ns
        if until is not None:
            self._add(holder, until, -1)
            holder.last_ns = max(holder.last_ns, until)
        if settled_ns is None:
            holder.open += 1
            holder.oldest_ns = ts_ns if holder.oldest_ns is None else min(holder.oldest_ns, ts_ns)

    def consumer(self, row: Any, name: str, source: str) -> None:
        """Take a row of `consumers`, with its name and source as they are shown."""
        opened_ns, closed_ns = row.opened_ns, row.closed_ns
        key = (row.channel if row.handle is None else None), name
        if opened_ns is None and key not in self.holders:
            return
        holder = self._holder(*key, source, self.holders[key].first_ns if opened_ns is None else opened_ns)
        if row.channel is not None:
            holder.channel = row.channel
        if closed_ns is not None:
            holder.last_ns = max(holder.last_ns, closed_ns)
        holder.full_ns += row.no_room_ns
        if row.most is not None or row.no_room_ns:
            holder.limit = "prefetch"
        if row.most:
            holder.could = row.most
            holder.window.add(holder.first_ns if opened_ns is None else opened_ns, row.most)
            if closed_ns is not None:
                holder.window.add(closed_ns, -row.most)

    def finish(self, connection: str, client: str, protocol: str | None) -> Iterator[Holder]:
        """Yield the holders of the connection that got anything."""
        for holder in self.holders.values():
            if holder.deliveries:
                if holder.limit and protocol in _WITH_CREDIT:
                    holder.limit = "credit"
                holder.connection = connection
                holder.client = client
                holder.peak = max([level for _, level in holder.held.levels()], default=0)
                yield holder

    def _add(self, holder: Holder, ts_ns: int, amount: int) -> None:
        holder.held.add(ts_ns, amount)
        self._total.add(ts_ns, amount)

    def _holder(self, channel: int | None, name: str, source: str, ts_ns: int) -> Holder:
        holder = self.holders.get((channel, name))
        if holder is None:
            if len(self.holders) >= _MOST:
                channel, name, source = 0, _OTHERS, ""
                holder = self.holders.get((channel, name))
            if holder is None:
                holder = Holder("", "", name, source, channel, "", Series(_STEPS), Series(_STEPS), first_ns=ts_ns)
                self.holders[channel, name] = holder
        if source and not holder.source:
            holder.source = source
        holder.first_ns = min(holder.first_ns, ts_ns)
        holder.last_ns = max(holder.last_ns, ts_ns)
        return holder


__all__ = ["Holding"]
