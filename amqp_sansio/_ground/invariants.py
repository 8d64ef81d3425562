"""Invariants of the objects that keep state: how their `check()` says which one doesn't hold, and where.

A class that keeps books has `check()`: it counts again, from the things themselves, what its methods count as they go.
It looks at everything there is, so it is for tests, for fuzzers, and for whoever changes the class; nothing here calls
it. Each invariant is one that the class's module states. A plain `assert` is dropped by `python -O`, and says nothing
of the rule.
"""

from __future__ import annotations

from .._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

_SHOWN: Final = 400
"""Characters that are shown of what was found."""


def ensure(holds: object, where: object, invariant: str, *found: object) -> None:
    """Raise AssertionError unless an invariant holds: it names the object, the invariant, and what is there instead.

    >>> ensure(2 == 2, "queue 'q'", "`ready` counts the messages that are available")
    >>> ensure(2 == 3, "queue 'q'", "`ready` counts the messages that are available", 2, 3)
    Traceback (most recent call last):
    ...
    AssertionError: queue 'q': `ready` counts the messages that are available; found 2, 3
    """
    if not holds:
        seen = f"; found {', '.join(map(repr, found)):.{_SHOWN}}" if found else ""
        raise AssertionError(f"{where}: {invariant}{seen}")


__all__ = ["ensure"]
