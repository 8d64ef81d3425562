"""A small world of queues that keeps the truth: which delivery is of which publish. For tests of histories."""

import json
from typing import Any

from amqp_sansio.recorded.histories import Message

STEP = 1_000_000_000


class Copy:
    """A message in a queue."""

    def __init__(self, origin: str, fields: dict[str, Any], place: int) -> None:
        self.origin = origin
        self.fields = fields
        self.place = place
        self.delivered = False
        self.deaths: list[dict[str, Any]] = []


class World:
    """Queues that are first in, first out, exchanges as lists of queues, clients as names of connections.

    `messages` are the rows that a capture of it would have, `truth` says of each delivery, by (connection, seq), which
    publish it is of ("connection/seq").
    """

    def __init__(self, protocol: str = "0-9-1", *, deaths_are_told: bool = True) -> None:
        self.protocol = protocol
        self.deaths_are_told = deaths_are_told
        self.now = STEP
        self.messages: list[Message] = []
        self.truth: dict[tuple[str, int], str] = {}
        self.queues: dict[str, list[Copy]] = {}
        self.exchanges: dict[str, list[str]] = {}
        self.dead_letters: dict[str, tuple[str, str]] = {}
        self._seqs: dict[str, int] = {}
        self._placed = 0
        self._held: dict[tuple[str, int], tuple[int, str, Copy]] = {}

    def queue(self, name: str, *exchanges: str, dead_letter: tuple[str, str] | None = None) -> None:
        """A queue, bound to exchanges; `dead_letter` is the exchange and queue of its dead letters."""
        self.queues[name] = []
        for exchange in exchanges:
            self.exchanges.setdefault(exchange, []).append(name)
        if dead_letter is not None:
            self.dead_letters[name] = dead_letter

    def publish(self, connection: str, exchange: str, key: str, body: str, **more: Any) -> str:
        """Publish; gives the id of its history."""
        fields = {"exchange": exchange, "routing_key": key, "body_sha256": body, "body_size": len(body), **more}
        seq = self._note(connection, "publish", fields, outcome="settled")
        origin = f"{connection}/{seq}"
        for name in [key] if exchange == "" else self.exchanges.get(exchange, []):
            self._placed += 1
            self.queues[name].append(Copy(origin, fields, self._placed))
        return origin

    def deliver(self, connection: str, name: str) -> tuple[str, int] | None:
        """The next message of a queue goes to a client; gives how to settle it, None when the queue is empty."""
        if not self.queues[name]:
            return None
        copy = self.queues[name].pop(0)
        fields = dict(copy.fields)
        if copy.deaths and self.deaths_are_told:
            fields["headers"] = json.dumps({**json.loads(fields.get("headers") or "{}"), "x-death": copy.deaths})
        elif self.protocol == "0-10":
            fields["exchange"] = None
        flag = copy.delivered
        seq = self._note(connection, "deliver", {**fields, "queue": name, "redelivered": flag}, outcome=None)
        copy.delivered = True
        self.truth[connection, seq] = copy.origin
        self._held[connection, seq] = (len(self.messages) - 1, name, copy)
        return connection, seq

    def settle(self, delivery: tuple[str, int], outcome: str) -> None:
        """A client settles what it holds: accepted, released or rejected."""
        index, name, copy = self._held.pop(delivery)
        self.now += STEP
        self.messages[index] = self.messages[index]._replace(outcome=outcome, settled_ns=self.now)
        if outcome == "released":
            self._give_back(name, copy)
        elif outcome == "rejected" and name in self.dead_letters:
            self._die(name, copy)

    def end(self, connection: str) -> None:
        """A connection ends; what it holds goes back."""
        self.now += STEP
        for delivery in [each for each in self._held if each[0] == connection]:
            index, name, copy = self._held.pop(delivery)
            self.messages[index] = self.messages[index]._replace(ended_ns=self.now)
            self._give_back(name, copy)

    @property
    def held(self) -> list[tuple[str, int]]:
        """What clients hold."""
        return list(self._held)

    def _give_back(self, name: str, copy: Copy) -> None:
        queue = self.queues[name]
        queue.append(copy)
        queue.sort(key=lambda each: each.place)

    def _die(self, name: str, copy: Copy) -> None:
        exchange, destination = self.dead_letters[name]
        self._placed += 1
        dead = Copy(copy.origin, {**copy.fields, "exchange": exchange}, self._placed)
        death: dict[str, Any] = {"queue": name, "reason": "rejected", "count": 1, "time": self.now // STEP}
        death["exchange"] = copy.fields["exchange"]
        death["routing-keys"] = [copy.fields["routing_key"]]
        dead.deaths = [death, *copy.deaths]
        self.queues[destination].append(dead)

    def _note(self, connection: str, kind: str, fields: dict[str, Any], outcome: str | None) -> int:
        self.now += STEP
        seq = self._seqs[connection] = self._seqs.get(connection, 0) + 1
        blank: dict[str, Any] = dict.fromkeys(Message._fields)
        row: dict[str, Any] = {**blank, "protocol": self.protocol, "vhost": "/", "channel": 1, **fields}
        row.update(connection=connection, seq=seq, ts_ns=self.now, kind=kind, outcome=outcome)
        self.messages.append(Message(**row))
        return seq
