"""The publishes of one body: lines of indistinguishable ones, and each queue's handling of their messages."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .columns import Message
from .places import AMQP_1_0, Route

_SEARCHED: Final = 256
"""Most lines of other routes or versions examined for a delivery; the newest first."""
_LOOKS: Final = 64
"""Most returned messages of a queue examined for a delivery; the oldest first."""


class Copy:
    """A queue's copy of a message: `back_ns` is when it returned to the queue (None: it hasn't), `rejected_ns` when a
    client rejected it, and `held` says that no settlement or end of its last delivery was seen.
    """

    __slots__ = ("back_ns", "held", "rejected_ns")

    def __init__(self) -> None:
        self.back_ns: int | None = None
        self.rejected_ns: int | None = None
        self.held = False


class History:
    """One message: its publish, or, `unseen`, the first sight of it, and its copies by queue."""

    __slots__ = ("_rejections", "copies", "id", "message", "number", "steps", "unseen")

    def __init__(self, name: str, message: Message, *, unseen: bool = False) -> None:
        self.id = name
        self.message = message
        self.unseen = unseen
        self.copies: dict[Any, Copy] = {}
        self.number = 0
        self.steps = 0
        # When which queue's copy was rejected, by time; a copy that was delivered again since is passed over.
        self._rejections: list[tuple[int, str | None]] = []

    @property
    def published_ns(self) -> int | None:
        """When it was published, in nanoseconds; None if that wasn't seen."""
        return None if self.unseen else self.message.ts_ns

    def deliver(
        self, queue: str | None, back_ns: int | None, *, rejected_ns: int | None = None, held: bool = False
    ) -> None:
        """Record a delivery from a queue and how it ended."""
        copy = self.copies.get(queue)
        if copy is None:
            copy = self.copies[queue] = Copy()
        copy.back_ns = back_ns
        copy.rejected_ns = rejected_ns
        copy.held = held
        if rejected_ns is not None:
            insort(self._rejections, (rejected_ns, queue), key=_time)

    def last_rejected(self, at: int) -> tuple[str | None, int | None]:
        """Return the queue whose copy was rejected last before `at`, and when."""
        place = bisect_right(self._rejections, at, key=_time)
        while place:
            rejected_ns, queue = self._rejections[place - 1]
            if self.copies[queue].rejected_ns == rejected_ns:
                return queue, rejected_ns
            # Nobody asks for it again.
            place -= 1
            del self._rejections[place]
        return None, None


def _time(rejection: tuple[int, str | None]) -> int:
    return rejection[0]


class Line:
    """Publishes with the same ids, headers, route and virtual host, by time."""

    __slots__ = (
        "_arriving",
        "_back",
        "_begin",
        "_fresh",
        "_histories",
        "_rejected",
        "_returned",
        "correlation_id",
        "headers",
        "message_id",
        "protocol",
        "route",
        "vhost",
    )

    def __init__(self, first: Message, route: Route, vhost: str | None) -> None:
        self.message_id = first.message_id
        self.correlation_id = first.correlation_id
        self.headers = own_headers(first.headers)
        self.protocol = first.protocol
        self.route = route
        self.vhost = vhost
        self._histories: list[History] = []
        self._begin = 0
        self._fresh: dict[Any, int] = {}
        self._back: dict[Any, list[int]] = {}
        self._rejected: list[tuple[int, int, str | None]] = []
        # The numbers of those that may be in a queue, ascending.
        self._arriving: list[int] = []
        # The publishes that came back, by connection, oldest first, each until its return is seen.
        self._returned: dict[str, deque[History]] = {}

    def __len__(self) -> int:
        return len(self._histories)

    def add(self, history: History) -> None:
        """Add the newest publish."""
        history.number = self._begin + len(self._histories)
        self._histories.append(history)
        if _can_arrive(history.message):
            self._arriving.append(history.number)
        if history.message.outcome == "returned":
            self._returned.setdefault(history.message.connection, deque()).append(history)

    def drop(self, count: int) -> None:
        """Forget the oldest publishes."""
        del self._histories[:count]
        self._begin += count
        del self._arriving[: bisect_left(self._arriving, self._begin)]

    def take_returned(self, connection: str) -> History | None:
        """Return the oldest returned publish of a connection, each once."""
        waiting = self._returned.get(connection)
        while waiting:
            history = waiting.popleft()
            if history.number >= self._begin:
                return history
        return None

    def pick(self, message: Message, queue: str | None, *, dead: bool, died: str | None) -> tuple[History, bool] | None:
        """Return the publish that a delivery from `queue` belongs to, and whether there are other candidates.

        `dead`: it is a dead letter, of the queue `died` if that is known, so messages rejected there come first, in the
        order of the rejections.
        """
        again = self._taken_back(message, queue)
        fresh = self._not_delivered(queue)
        if dead:
            fresh = self._rejected_in(died, message, queue) or fresh
        if message.redelivered or message.protocol == AMQP_1_0:
            # 1.0 doesn't mark released messages as redelivered; returned ones are at the head of the queue.
            first, second = again, fresh
        else:
            first, second = fresh, again if message.redelivered is None else None
        chosen = first if first is not None else second
        if chosen is None:
            return None
        if first is not None and second is not None:
            return chosen, True
        return chosen, not message.redelivered and self._not_delivered(queue, chosen.number + 1) is not None

    def commit(self, history: History, message: Message, queue: str | None, *, dead: bool = False) -> None:
        """Record the delivery of a publish, which leaves the queue; `dead`: it came there as a dead letter."""
        if dead and queue not in history.copies:
            for place, (_, number, _) in enumerate(self._rejected[:_LOOKS]):
                if number == history.number:
                    del self._rejected[place]
                    break
        back = self._back.get(queue)
        if back:
            place = bisect_left(back, history.number)
            if place < len(back) and back[place] == history.number:
                del back[place]
        released = message.outcome in ("released", "modified") and message.settled_ns is not None
        if released or (message.outcome is None and message.ended_ns is not None):
            insort(self._back.setdefault(queue, []), history.number)
        if message.outcome == "rejected" and message.settled_ns is not None:
            insort(self._rejected, (message.settled_ns, history.number, queue), key=_when)

    def has_rejected(self, at: int) -> bool:
        """Whether one of the messages was rejected before `at` and hasn't moved on since."""
        return bool(self._rejected) and self._rejected[0][0] <= at

    def _rejected_in(self, died: str | None, message: Message, queue: str | None) -> History | None:
        for rejected_ns, number, there in self._rejected[:_LOOKS]:
            if rejected_ns > message.ts_ns:
                return None
            if number >= self._begin and (died is None or died == there):
                history = self._histories[number - self._begin]
                if queue not in history.copies:
                    return history
        return None

    def _not_delivered(self, queue: str | None, start: int = 0) -> History | None:
        arriving = self._arriving
        place = bisect_left(arriving, max(self._fresh.get(queue, 0), self._begin, start))
        found = None
        while place < len(arriving):
            history = self._histories[arriving[place] - self._begin]
            if queue not in history.copies:
                found = history
                break
            place += 1
        if not start:
            self._fresh[queue] = self._begin + len(self._histories) if found is None else found.number
        return found

    def _taken_back(self, message: Message, queue: str | None) -> History | None:
        for number in self._back.get(queue, ())[:_LOOKS]:
            if number < self._begin:
                continue
            history = self._histories[number - self._begin]
            back = history.copies[queue].back_ns
            if back is not None and back <= message.ts_ns:
                return history
        return None


def _when(rejection: tuple[int, int, str | None]) -> tuple[int, int]:
    return rejection[:2]


def _can_arrive(message: Message) -> bool:
    """Whether a publish may be in a queue: not if it was returned, rolled back or refused."""
    return message.kind != "publish" or message.outcome not in ("returned", "released", "rejected")


class Lines:
    """All lines of one body, found by the fields of a delivery."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._lines: dict[tuple[Any, ...], Line] = {}
        self._by_id: dict[str | None, dict[tuple[Any, ...], Line]] = {}

    def add(self, history: History, route: Route) -> Line:
        """Add the newest publish and return its line; above the limit, the oldest line loses its oldest."""
        message = history.message
        vhost = _vhost(message)
        key = (message.message_id, message.correlation_id, route, vhost, own_headers(message.headers))
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(message, route, vhost)
            self._by_id.setdefault(message.message_id, {})[key] = line
        line.add(history)
        self._count += 1
        if self._count > self._most:
            self._forget()
        return line

    def _forget(self) -> None:
        key = next(iter(self._lines))
        line = self._lines[key]
        count = min(len(line), max(1, self._most // 8))
        line.drop(count)
        self._count -= count
        if not len(line):
            del self._lines[key]
            lines = self._by_id[line.message_id]
            del lines[key]
            if not lines:
                del self._by_id[line.message_id]

    def with_route(self, message_id: str | None, correlation_id: str | None, route: Route) -> Iterator[Line]:
        """Yield the lines with exactly these ids and this route."""
        for (own_id, own_correlation, own_route, _, _), line in list(self._by_id.get(message_id, {}).items()):
            if (own_id, own_correlation, own_route) == (message_id, correlation_id, route):
                yield line

    def compatible(self, message: Message, deaths: list[dict[str, Any]], may_die: bool) -> Iterator[Line]:
        """Yield the lines that nothing in a delivery contradicts."""
        vhost = _vhost(message)
        looked = 0
        for lines in self._searched(message):
            for line in reversed(lines.values()):
                if _agrees(line, message, vhost, deaths, may_die):
                    yield line
                looked += 1
                if looked >= _SEARCHED:
                    return

    def _searched(self, message: Message) -> Iterable[dict[tuple[Any, ...], Line]]:
        own = self._by_id.get(message.message_id)
        if own is not None:
            yield own
        if message.message_id is None and (own is None or len(self._by_id) > 1):
            # Another version may have had an id that this one can't express.
            yield {
                key: line
                for lines in list(self._by_id.values())[-_SEARCHED:]
                for key, line in lines.items()
                if line.message_id is not None and line.protocol != message.protocol
            }


def own_headers(headers: str | None) -> str | None:
    """Return the headers from the application (JSON): those that begin with x- are the brokers'."""
    if headers is None or '"x-' not in headers:
        return None if headers == "{}" else headers
    own = {name: value for name, value in json.loads(headers).items() if not name.startswith("x-")}
    return json.dumps(own, separators=(",", ":"), ensure_ascii=False) if own else None


def _vhost(message: Message) -> str | None:
    """Return the virtual host; in 1.0, only a hostname that says so is one."""
    if message.protocol != AMQP_1_0 or message.vhost is None:
        return message.vhost
    return message.vhost.removeprefix("vhost:") if message.vhost.startswith("vhost:") else None


def _agrees(line: Line, message: Message, vhost: str | None, deaths: list[dict[str, Any]], may_die: bool) -> bool:
    if line.vhost is not None and vhost is not None and line.vhost != vhost:
        return False
    same_protocol = line.protocol == message.protocol
    if line.correlation_id != message.correlation_id and (same_protocol or message.correlation_id is not None):
        return False
    if same_protocol and line.headers != own_headers(message.headers):
        return False
    route = line.route
    if deaths:
        first = deaths[-1]
        keys = first.get("routing-keys")
        if first.get("exchange") == (route.exchange or "") and isinstance(keys, list):
            return route.routing_key in keys or (route.routing_key is None and not keys)
        return route.exchange is None
    if route.exchange is not None and message.exchange is not None and message.protocol != AMQP_1_0:
        return (route.exchange, route.routing_key) == (message.exchange, message.routing_key)
    if message.protocol == "0-10" and route.routing_key is not None and message.routing_key is not None:
        return route.routing_key == message.routing_key or may_die
    return True


__all__ = ["Copy", "History", "Line", "Lines", "own_headers"]
