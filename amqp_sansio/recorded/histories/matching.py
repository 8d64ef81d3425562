"""Matcher: joins the publishes and deliveries of messages with the same body into histories, across connections.

All copies of a message share its body, in every version, so messages are joined body by body: those of one body are
pushed in the order of their time, and each returns the steps that it adds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from .columns import Message
from .lines import History, Line, Lines
from .places import AMQP_1_0, queue_of, route_of
from .topology import Topology

Step = tuple[Any, ...]
"""One value for each of `HISTORY_COLUMNS`."""

CERTAIN: Final = "certain"
LIKELY: Final = "likely"
POSSIBLE: Final = "possible"
_STRONG: Final = frozenset({"message-id", "correlation-id", "route", "queue", "binding", "x-death"})
"""The evidence that tells a publish from others with its body."""
_RANKS: Final = {"publish": 0, "return": 1}
_SECOND: Final = 1_000_000_000


def body_key(message: Message) -> tuple[str, int]:
    """Return the common key of a message's copies: the body's digest, or without one only its size."""
    return message.body_sha256 or "", -1 if message.body_size is None else message.body_size


def order_key(message: Message, skew_ns: int = 0) -> tuple[int, int, str, int]:
    """The order in which a `Matcher` takes its messages."""
    rank = 2 if message.kind is None else _RANKS.get(message.kind, 2)
    return (message.ts_ns - skew_ns if rank == 0 else message.ts_ns, rank, message.connection, message.seq)


def histories(messages: Iterable[Message], topology: Topology | None = None, *, skew_ns: int = 0) -> Iterator[Step]:
    """Yield the histories of messages in any order: steps (`HISTORY_COLUMNS`). Messages are held in memory and sorted.

    `topology` has the exchanges and queues in the trace. `skew_ns` is the largest difference between the clocks of the
    captures: a delivery may precede its publish by that much.

    >>> list(histories([]))
    []
    """
    ordered = sorted(messages, key=lambda each: (body_key(each), order_key(each, skew_ns)))
    for _, group in groupby(ordered, key=body_key):
        matcher = Matcher(topology)
        for message in group:
            yield from matcher.push(message)


class Matcher:
    """Joins messages of one body, in the order of `order_key`: `push` returns the steps that each adds to a history.

    A delivery belongs to a publish that nothing contradicts: ids that both have are equal, and so are routes and
    virtual hosts if both have them. Of several it is the oldest that this queue hasn't delivered yet, or has taken
    back: queues are first in, first out. `evidence` names the facts that support the join, `certainty` is "certain"
    (only one publish is possible), "likely" (several, told apart by their order, or one, by its body alone) or
    "possible" (several, by their bodies and order alone).

    Memory: `most` publishes of a body are kept, the oldest go first.
    """

    def __init__(self, topology: Topology | None = None, *, most: int = 100_000) -> None:
        self._topology = topology
        self._lines = Lines(most)
        self._delivered: dict[str, History] = {}
        self._most = most

    def push(self, message: Message) -> list[Step]:
        """Take the next message; return its steps."""
        if message.body_size is None or message.kind is None:
            return []  # The capture cut it, or nobody knows who sent it.
        if message.kind == "publish":
            return self._publish(message)
        if message.kind == "return":
            return self._return(message)
        return self._deliver(message)

    def _publish(self, message: Message) -> list[Step]:
        history = History(f"{message.connection}/{message.seq}", message)
        before = self._delivered.get(message.connection)
        follows = before.id if before is not None and before.message.body_size else None
        steps = [_step(history, message, "publish", message.ts_ns, follows=follows)]
        self._lines.add(history, route_of(message))
        if message.outcome in ("accepted", "rejected", "released") and message.settled_ns is not None:
            after = message.settled_ns - message.ts_ns
            steps.append(_step(history, message, "confirm", message.settled_ns, outcome=message.outcome, latency=after))
        return steps

    def _return(self, message: Message) -> list[Step]:
        for line in self._lines.with_route(message.message_id, message.correlation_id, route_of(message)):
            history = line.take_returned(message.connection)
            if history is not None:
                after = message.ts_ns - history.message.ts_ns
                step = _step(
                    history,
                    message,
                    "return",
                    message.ts_ns,
                    outcome="returned",
                    latency=after,
                    text=f"{message.reply_code} {message.reply_text or ''}".strip(),
                    evidence="body, connection, route",
                    certainty=CERTAIN,
                )
                return [step]
        history = History(f"{message.connection}/{message.seq}", message)
        return [_step(history, message, "return", message.ts_ns, outcome="returned")]

    def _deliver(self, message: Message) -> list[Step]:
        queue = queue_of(message)
        deaths = _deaths(message)
        found = self._find(message, queue, deaths)
        steps: list[Step] = []
        if found is None:
            history = History(f"{message.connection}/{message.seq}", message, unseen=True)
            self._lines.add(history, route_of(message)).commit(history, message, queue)
            evidence, certainty, again = None, None, bool(message.redelivered)
            since = None
        else:
            history, evidence, certainty = found
            copy = history.copies.get(queue)
            again = copy is not None
            since = copy.back_ns if copy is not None else history.published_ns
            steps += self._dead_letter(history, message, queue, deaths, evidence, certainty)
        what = "redeliver" if again else "get" if message.kind == "get" else "deliver"
        latency = None if since is None else message.ts_ns - since
        step = _step(
            history, message, what, message.ts_ns, queue=queue, latency=latency, evidence=evidence, certainty=certainty
        )
        steps.append(step)
        steps += self._settle(history, message, queue)
        if message.connection not in self._delivered and len(self._delivered) >= self._most:
            del self._delivered[next(iter(self._delivered))]
        self._delivered[message.connection] = history
        return steps

    def _settle(self, history: History, message: Message, queue: str | None) -> list[Step]:
        """Return the steps for the end of a delivery, and update the queue's copy."""
        outcome, at = message.outcome, message.settled_ns
        if outcome == "settled" and at is None:
            history.deliver(queue, None)
            return []
        if outcome is not None and at is not None:
            back = outcome in ("released", "modified")
            history.deliver(queue, at if back else None, rejected_ns=at if outcome == "rejected" else None)
            latency = at - message.ts_ns
            step = _step(
                history, message, "settle", at, queue=queue, outcome=outcome, latency=latency, text=message.reply_text
            )
            return [step]
        if message.ended_ns is not None:
            history.deliver(queue, message.ended_ns)
            latency = message.ended_ns - message.ts_ns
            return [_step(history, message, "end", message.ended_ns, queue=queue, latency=latency)]
        history.deliver(queue, None, held=True)
        return []

    def _dead_letter(
        self,
        history: History,
        message: Message,
        queue: str | None,
        deaths: list[dict[str, Any]],
        evidence: str | None,
        certainty: str | None,
    ) -> list[Step]:
        """Return the step before the first delivery from a queue that the message entered as a dead letter."""
        if queue in history.copies:
            return []
        if deaths:
            death = deaths[0]
            died, reason = death.get("queue"), death.get("reason")
            copy = history.copies.get(died)
            at = copy.rejected_ns if copy is not None else None
            if at is None:
                at = _nanoseconds(death.get("time"))
        elif evidence is not None and "rejected" in evidence:
            died, at = history.last_rejected(message.ts_ns)
            reason = "rejected"
        else:
            return []
        if isinstance(died, str) and died in history.copies:
            history.copies[died].back_ns = None
        since = None if at is None or history.published_ns is None else at - history.published_ns
        step = _step(
            history,
            message,
            "dead-letter",
            at,
            queue=_name(died),
            outcome=_name(reason),
            latency=since,
            evidence=evidence,
            certainty=certainty,
        )
        return [step]

    # The publish of a delivery.

    def _find(
        self, message: Message, queue: str | None, deaths: list[dict[str, Any]]
    ) -> tuple[History, str, str] | None:
        """Return the history, its evidence, and the certainty."""
        best: tuple[tuple[bool, int, str, int], Line, History, bool] | None = None
        alone = True
        for line in self._lines.compatible(message, deaths, self._dies_to(message, queue)):
            dead = bool(deaths)
            if line.route.queue is not None and queue is not None and line.route.queue != queue and not dead:
                dead = line.has_rejected(message.ts_ns)
                if not dead and not self._may_lead(line, message, queue):
                    continue
            pick = line.pick(message, queue, dead=dead, died=_name(deaths[0].get("queue")) if deaths else None)
            if pick is None:
                continue
            history, more = pick
            alone = alone and best is None and not more
            weak = line.route.exchange is None or message.exchange is None
            published = history.message
            rank = (weak, published.ts_ns, published.connection, published.seq)
            if best is None or rank < best[0]:
                best = (rank, line, history, dead)
        if best is None:
            return None
        _, line, history, dead = best
        evidence = self._evidence(line, history, message, queue, deaths)
        if not alone:
            evidence.append("order")
        strong = not _STRONG.isdisjoint(evidence)
        empty = not message.body_size
        if alone:
            certainty = CERTAIN if strong and (not empty or "message-id" in evidence) else LIKELY
        else:
            certainty = LIKELY if strong else POSSIBLE
        line.commit(history, message, queue, dead=dead)
        return history, ", ".join(evidence), certainty

    def _may_lead(self, line: Line, message: Message, queue: str) -> bool:
        """Whether a publish to another name may be in this queue: the name may be an exchange's."""
        if not line.route.loose and message.protocol != AMQP_1_0:
            return False
        if "/" in queue:
            return True
        reaches = self._topology is not None and self._topology.reaches(
            line.vhost, line.route.queue or "", line.route.routing_key or "", queue, message.ts_ns
        )
        return bool(reaches)

    def _dies_to(self, message: Message, queue: str | None) -> bool:
        """Whether a delivery without deaths may be a dead letter's: 0-10 and 1.0 don't show them."""
        return message.protocol in ("0-10", AMQP_1_0) and queue is not None and not message.redelivered

    def _evidence(
        self, line: Line, history: History, message: Message, queue: str | None, deaths: list[dict[str, Any]]
    ) -> list[str]:
        published = history.message
        evidence: list[str] = []
        if message.message_id is not None and published.message_id == message.message_id:
            evidence.append("message-id")
        if message.correlation_id is not None and published.correlation_id == message.correlation_id:
            evidence.append("correlation-id")
        evidence.append("body" if message.body_sha256 else "body size")
        route = line.route
        if deaths:
            evidence.append("x-death")
        elif route.exchange is not None and message.exchange is not None:
            evidence.append("route")
        if queue is not None and route.queue == queue:
            evidence.append("queue")
        elif (
            queue is not None
            and route.exchange
            and self._topology is not None
            and self._topology.reaches(line.vhost, route.exchange, route.routing_key or "", queue, message.ts_ns)
        ):
            evidence.append("binding")
        if queue in history.copies:
            evidence.append("redelivered")
        elif _came_as_dead_letter(history, message, deaths, evidence):
            evidence.append("rejected")
        return evidence


def _deaths(message: Message) -> list[dict[str, Any]]:
    """Return RabbitMQ's record of a message's dead-lettering, the latest first."""
    if message.headers is None or '"x-death"' not in message.headers:
        return []
    headers: dict[str, Any] = json.loads(message.headers)
    deaths: list[Any] = headers["x-death"] if isinstance(headers.get("x-death"), list) else []
    return [each for each in deaths if isinstance(each, dict)]


def _came_as_dead_letter(history: History, message: Message, deaths: list[dict[str, Any]], evidence: list[str]) -> bool:
    """Whether a queue off the publish's route has the message because a client rejected it elsewhere."""
    if deaths or "queue" in evidence or "binding" in evidence:
        return False
    return history.last_rejected(message.ts_ns)[1] is not None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _nanoseconds(value: Any) -> int | None:
    """Return a timestamp of a table, which has whole seconds."""
    return value * _SECOND if isinstance(value, int) else None


def _step(
    history: History,
    message: Message,
    what: str,
    ts_ns: int | None,
    *,
    queue: str | None = None,
    outcome: str | None = None,
    text: str | None = None,
    latency: int | None = None,
    evidence: str | None = None,
    certainty: str | None = None,
    follows: str | None = None,
) -> Step:
    number = history.steps
    history.steps += 1
    published = history.published_ns
    since = None if published is None or ts_ns is None else ts_ns - published
    return (
        history.id,
        number,
        what,
        ts_ns,
        message.connection,
        message.seq,
        message.protocol,
        message.channel,
        message.vhost,
        message.exchange,
        message.routing_key,
        queue,
        message.message_id,
        message.correlation_id,
        message.body_size,
        message.body_sha256,
        outcome,
        text,
        latency,
        since,
        evidence,
        certainty,
        follows,
    )


__all__ = ["Matcher", "Step", "body_key", "histories", "order_key"]
