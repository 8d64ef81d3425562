"""Returns: which publishes of a channel came back before they were confirmed (basic.return, RabbitMQ's confirms)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from .events import Returned

Key: TypeAlias = "tuple[str, str, int, int]"
"""What a returned message has in common with its publish: exchange, routing key, size and checksum of the body."""


class Returns:
    """The publishes that may come back (mandatory or immediate), and the outcome of those that did.

    The server routes the publishes of a channel in their order and returns before it confirms, so what comes back is
    in the order of the publishes; others may be confirmed between.
    """

    __slots__ = ("_counts", "_newest", "_outcomes", "_passed", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[int, Key] = {}
        self._counts: dict[Key, int] = {}
        self._outcomes: dict[int, Returned] = {}
        self._newest = 0
        self._passed = 0

    def expect(self, number: int, key: Key) -> None:
        """Publish `number` may come back."""
        if not self._waiting:
            self._passed = number - 1
        self._waiting[number] = key
        self._counts[key] = self._counts.get(key, 0) + 1
        self._newest = number

    def came_back(self, key: Key, outcome: Returned) -> int:
        """The number of the publish that came back: the next one like it; 0 when there is none."""
        if key not in self._counts:
            return 0
        for number in range(self._passed + 1, self._newest + 1):
            if self._waiting.get(number) == key:
                self._passed = number
                self._outcomes[number] = outcome
                self._forget(number)
                return number
        return 0

    def settle(self, number: int) -> Returned | None:
        """Publish `number` was confirmed: how it came back, if it did."""
        if number in self._waiting:
            self._forget(number)
        if number == self._passed + 1:
            self._passed = number
        return self._outcomes.pop(number, None)

    def _forget(self, number: int) -> None:
        key = self._waiting.pop(number)
        left = self._counts[key] - 1
        if left:
            self._counts[key] = left
        else:
            del self._counts[key]
