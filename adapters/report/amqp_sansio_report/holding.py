"""The deliveries that each consumer or link of a connection held over time, and could have held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from .measures import Series
from .records import Holder

_STEPS: Final = 128
_MOST: Final = 256
"""Most consumers of a connection that are distinguished; others share one entry."""
_OTHERS: Final = "(others)"
_ENDLESS: Final = 0xFFFF_FFFF
"""Unlimited credit (0-10, message.flow)."""

Fields = Mapping[str, Any]

WATCHED: Final = frozenset(
    {
        *("basic.qos", "basic.consume", "basic.consume-ok"),
        *("message.subscribe", "message.flow", "message.set-flow-mode", "message.stop", "message.transfer"),
        *("attach", "flow", "transfer"),
    }
)
"""The units whose fields are needed here."""


class Holding:
    """The consumers and links of one connection; takes its units and messages in the order of their rows.

    The deliveries they hold are also added to `total`.
    """

    __slots__ = ("_handles", "_limits", "_links", "_names", "_total", "holders")

    def __init__(self, total: Series) -> None:
        self._total = total
        self.holders: dict[tuple[int, str], Holder] = {}
        self._limits: dict[int, int] = {}  # the prefetch of a channel
        self._handles: dict[tuple[str, int, int], str] = {}
        self._links: dict[str, _Link] = {}
        self._names: dict[int, str] = {}  # of consumers whose name the server chooses

    def event(self, event: str, sender: str, channel: int, ts_ns: int, fields: Fields) -> None:
        """Take a unit of `WATCHED`."""
        if event.startswith("basic."):
            self._classic(event, channel, ts_ns, fields)
        elif event.startswith("message."):
            self._amqp_0_10(event, sender, channel, ts_ns, fields)
        else:
            self._amqp_1_0(event, sender, channel, ts_ns, fields)

    def opened(self, channel: int) -> None:
        """Note that a channel of 0-8 or 0-9-1 was opened, without prefetch."""
        self._limits.pop(channel, None)

    def message(
        self,
        channel: int,
        name: str,
        source: str,
        ts_ns: int,
        outcome: str | None,
        settled_ns: int | None,
        ended_ns: int | None,
    ) -> None:
        """Take a delivery; the last three arguments are from the table of messages."""
        if name in self._links:
            channel = self._links[name].channel  # the client's number, which may differ from the server's
        holder = self._holder(channel, name, source, ts_ns)
        holder.deliveries += 1
        if settled_ns is None and outcome == "settled":
            return  # it was sent settled
        self._add(holder, ts_ns, 1)
        until = ended_ns if settled_ns is None else settled_ns
        if until is not None:
            self._add(holder, until, -1)
            holder.last_ns = max(holder.last_ns, until)
        if settled_ns is None:
            holder.open += 1
            holder.oldest_ns = ts_ns if holder.oldest_ns is None else min(holder.oldest_ns, ts_ns)

    def finish(self, connection: str, client: str, end_ns: int, closed: bool) -> Iterator[Holder]:
        """Yield the holders of the connection, which ended at `end_ns`: closed, or at the end of the capture."""
        for holder in self.holders.values():
            if not holder.deliveries:
                continue
            holder.connection, holder.client = connection, client
            holder.peak = max([level for _, level in holder.held.levels()], default=0)
            holder.full_ns = _full(holder)
            holder.could = holder.window.total
            if closed and holder.could:
                holder.window.add(end_ns, -holder.could)
            yield holder

    def _add(self, holder: Holder, ts_ns: int, amount: int) -> None:
        holder.held.add(ts_ns, amount)
        self._total.add(ts_ns, amount)

    def _holder(self, channel: int, name: str, source: str, ts_ns: int) -> Holder:
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

    def _classic(self, event: str, channel: int, ts_ns: int, fields: Fields) -> None:
        if event == "basic.qos":
            count = fields.get("prefetch_count")
            self._limits[channel] = count if isinstance(count, int) else 0
            return
        tag = str(fields.get("consumer_tag", ""))
        if event == "basic.consume":
            self._names[channel] = str(fields.get("queue", ""))
            if not tag:
                return  # consume-ok has the name chosen by the server
        limit = self._limits.get(channel, 0)
        known = self.holders.get((channel, tag))
        holder = self._holder(channel, tag, self._names.get(channel, ""), ts_ns)
        if limit and (known is None or known.limit == ""):
            holder.limit = "prefetch"
            holder.window.add(ts_ns, limit)

    def _amqp_0_10(self, event: str, sender: str, channel: int, ts_ns: int, fields: Fields) -> None:
        name = str(fields.get("destination", ""))
        if event == "message.transfer":
            known = self._links.get(f"{channel} {name}")
            if sender == "server" and known is not None and not known.window and 0 < known.credit < _ENDLESS:
                self._credit(known, known.credit - 1, ts_ns)
            return
        link = self._links.setdefault(f"{channel} {name}", _Link(channel, name))
        if event == "message.subscribe":
            self._holder(channel, name, str(fields.get("queue", "")), ts_ns)
        elif event == "message.set-flow-mode":
            link.window = fields.get("flow_mode") == 1
        elif event == "message.stop":
            self._credit(link, 0, ts_ns)
        elif fields.get("unit") == 0:
            value = fields.get("value")
            if isinstance(value, int):
                self._credit(link, min(link.credit + value, _ENDLESS), ts_ns)

    def _amqp_1_0(self, event: str, sender: str, channel: int, ts_ns: int, fields: Fields) -> None:
        handle = fields.get("handle")
        if not isinstance(handle, int):
            return
        place = (sender, channel, handle)
        if event == "attach":
            name = str(fields.get("name", ""))
            # The role is the sender's own: these are links on which the server sends.
            if (fields.get("role") is True) == (sender == "client"):
                self._handles[place] = name
                attached = self._links.setdefault(name, _Link(channel, name))
                if sender == "client":
                    attached.channel = channel
                else:
                    attached.count = _number(fields.get("initial_delivery_count")) or 0
            else:
                self._handles.pop(place, None)
            return
        known = self._handles.get(place)
        link = self._links.get(known) if known is not None else None
        if link is None:
            return
        if event == "flow":
            credit = _number(fields.get("link_credit"))
            count = _number(fields.get("delivery_count"))
            if credit is None:
                return
            if sender == "server":
                if count is not None:
                    link.count = count
                self._credit(link, credit, ts_ns)
            else:
                ahead = 0 if count is None else (link.count - count) % (1 << 32)
                self._credit(link, max(0, credit - ahead), ts_ns)
        elif sender == "server":
            if not link.within:
                link.count = (link.count + 1) % (1 << 32)
                self._credit(link, max(0, link.credit - 1), ts_ns)
            link.within = fields.get("more") is True and fields.get("aborted") is not True

    def _credit(self, link: _Link, credit: int, ts_ns: int) -> None:
        holder = self._holder(link.channel, link.name, "", ts_ns)
        shown = 0 if credit >= _ENDLESS else credit
        before = 0 if link.credit >= _ENDLESS else link.credit
        link.credit = credit
        if credit < _ENDLESS:
            holder.limit = "credit"
        if shown != before:
            holder.window.add(ts_ns, shown - before)


class _Link:
    """The known credit of a link, or of a subscription of 0-10."""

    __slots__ = ("channel", "count", "credit", "name", "window", "within")

    def __init__(self, channel: int, name: str) -> None:
        self.channel = channel
        self.name = name
        self.credit = 0
        self.count = 0
        self.window = False
        self.within = False


def _full(holder: Holder) -> int:
    """Return how long a consumer had no room: it held its whole prefetch, or the link had no credit."""
    if not holder.limit:
        return 0
    held, window = dict(holder.held.levels()), dict(holder.window.levels())
    times = sorted({*held, *window, holder.last_ns})
    full = level = limit = 0
    for begin, end in pairwise(times):
        level, limit = held.get(begin, level), window.get(begin, limit)
        if (limit and level >= limit) if holder.limit == "prefetch" else limit == 0:
            full += max(0, end - begin)
    return full


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


__all__ = ["WATCHED", "Fields", "Holding"]
