"""Publishes that may come back, found by what a returned message repeats of them.

The server routes the publishes of a channel in their order, so of those that are alike the oldest comes back first
(0-9-1 section 1.8.3.10). Endpoint and observer keep the same books: `number` is what they call a publish.
"""

from __future__ import annotations

from collections import deque

from ..._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

Key: TypeAlias = "tuple[Any, ...]"
"""The part of a publish that a return repeats: exchange, routing key, and what identifies the body."""

_SLACK: Final = 64
"""Settled publishes that stay among few open ones."""


class _Alike:
    """Publishes with one key, the oldest first."""

    __slots__ = ("numbers", "open")

    def __init__(self) -> None:
        # How many of them may still come back.
        self.open = 0
        # All of them; those that were settled since stay until they are passed over, or are more than the open ones.
        self.numbers: deque[int] = deque()


class Returnable:
    """The publishes of a channel that may come back. Nothing here takes longer for those that are open beside one."""

    __slots__ = ("_alike", "_keys")

    def __init__(self) -> None:
        # By what a return repeats of a publish.
        self._alike: dict[Key, _Alike] = {}
        # Of each publish that is open, by its number.
        self._keys: dict[int, Key] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, number: int) -> bool:
        return number in self._keys

    def add(self, number: int, key: Key) -> None:
        """Add the newest publish."""
        self._keys[number] = key
        alike = self._alike.get(key)
        if alike is None:
            alike = self._alike[key] = _Alike()
        alike.open += 1
        alike.numbers.append(number)

    def forget(self, number: int) -> None:
        """A publish is settled, and doesn't come back any more; nothing happens if it is not one of these."""
        key = self._keys.pop(number, None)
        if key is None:
            return
        alike = self._alike[key]
        alike.open -= 1
        if not alike.open:
            del self._alike[key]
        elif len(alike.numbers) > 2 * alike.open + _SLACK:
            alike.numbers = deque([each for each in alike.numbers if each in self._keys])

    def take(self, key: Key, after: int = 0) -> int | None:
        """Take out and return the oldest publish with this key, of those above number `after`; None if there is none.

        Older ones are forgotten: what comes back is in the order of the publishes.
        """
        alike = self._alike.get(key)
        while alike is not None and alike.numbers:
            number = alike.numbers.popleft()
            if number in self._keys:
                self.forget(number)
                if number > after:
                    return number
        return None


__all__ = ["Key", "Returnable"]
