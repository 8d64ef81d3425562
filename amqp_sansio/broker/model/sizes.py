"""Octets that exchanges, queues, bindings and consumers count for in the broker's memory: estimates, never below half.

What a peer gives for them counts as it is kept, decoded: a few octets on the wire may be many here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

QUEUE_OCTETS: Final = 1536
EXCHANGE_OCTETS: Final = 768
BINDING_OCTETS: Final = 640
GIVEN_OCTETS: Final = 640
"""For a binding with arguments, by which it is found."""
CONSUMER_OCTETS: Final = 768
WORD_OCTETS: Final = 384
"""For each node in the tree of a topic exchange."""
PAIR_OCTETS: Final = 896
"""For each pair that a binding to a headers exchange requires."""
STEP_OCTETS: Final = 160
"""For each operation of a selector."""
_VALUE: Final = 64
_DEEPEST: Final = 32


def octets_of(value: Any, depth: int = _DEEPEST) -> int:
    """Return the octets for a decoded value, such as a table of arguments."""
    if isinstance(value, str | bytes | bytearray):
        return _VALUE + len(value)
    if not depth:
        return _VALUE
    kept: Any = value
    if isinstance(value, Mapping):
        items: Mapping[Any, Any] = kept
        return _VALUE + sum([octets_of(name, depth - 1) + octets_of(items[name], depth - 1) for name in items])
    if isinstance(value, Sequence):
        parts: Sequence[Any] = kept
        return _VALUE + sum([octets_of(part, depth - 1) for part in parts])
    return _VALUE
