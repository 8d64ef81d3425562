"""A ledger of a hub's history: what became of every message, by the broker's records alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from amqp_sansio.broker import Hub
from amqp_sansio.broker.model.queue import Queue

if TYPE_CHECKING:
    from amqp_sansio.broker.model.history import Happened

_TOKEN = re.compile(rb"<[^<>]+>")


class Ledger:
    """What became of every message in every queue, by the broker's history alone.

    `update` reads what was added since the last time and compares: what came into a queue and was neither accepted,
    rejected, expired, dropped nor purged is still there, and nothing else is. Only who had got a message decides of it.
    """

    def __init__(self) -> None:
        self.read = 0
        self.alive: dict[tuple[str, str, int], None] = {}
        self.had: dict[tuple[str, str, int], set[int]] = {}
        self.known: dict[tuple[str, str], Queue] = {}
        self.orphans: dict[tuple[str, str, int], None] = {}
        """Those whose queue was deleted when somebody had them."""
        self.routed: dict[int, list[str]] = {}
        self.ended: dict[tuple[str, str, int], str] = {}
        self.numbers: dict[bytes, int] = {}
        """The number of each message that a witness published, by the name that it gave it."""
        self.refused: set[int] = set()
        """Those that a full queue didn't take."""

    def update(self, hub: Hub) -> None:
        """Go on to now, and compare with what there is."""
        broker = hub.model
        history = broker.history
        assert history is not None
        assert not history.dropped, "the history is too short"
        for number in range(self.read, len(history.records)):
            self._take(history.records[number])
        self.read = len(history.records)
        found = {(each.queue.vhost.name, each.queue.name, each.message.number) for each in broker.entries()}
        queues = {(each.name, name): queue for each in broker.vhosts.values() for name, queue in each.queues.items()}
        gone = {key for key, queue in self.known.items() if queues.get(key) is not queue}
        # They went with their queue, or somebody has them and can't give them back any more.
        self.orphans.update(dict.fromkeys([each for each in self.alive if each[:2] in gone]))
        missing = set(self.alive) - found
        for key in [each for each in missing if each in self.orphans or self.known.get(each[:2]) is None]:
            missing.discard(key)
            del self.alive[key]
        assert not missing, f"lost without a word: {sorted(missing)}"
        assert found <= set(self.alive), f"nobody knows from where: {sorted(found - set(self.alive))}"
        self.known = queues

    def _take(self, each: Happened) -> None:
        key = each.vhost, each.queue, each.number
        match each.kind:
            case "published":
                octets: Any = getattr(each.content, "body", None) or getattr(each.content, "payload", b"")
                found = _TOKEN.search(octets)
                if found is not None:
                    self.numbers.setdefault(found.group(), each.number)
            case "routed":
                assert key not in self.alive, each
                self.alive[key] = None
                self.routed.setdefault(each.number, []).append(each.queue)
            case "refused":
                self.refused.add(each.number)
            case "delivered" | "got":
                self.had.setdefault(key, set()).add(each.connection)
            case "accepted" | "rejected" | "released":
                assert each.connection in self.had.get(key, ()), each
                if each.kind != "released":
                    self._end(key, each.kind)
            case "expired" | "dead-lettered" | "dropped" | "purged":
                self._end(key, each.kind)
            case _:
                pass

    def _end(self, key: tuple[str, str, int], kind: str) -> None:
        self.alive.pop(key, None)
        self.ended[key] = kind
