"""Find the open commands that a set of ids covers, at a fitting price (0-10 part 1 section 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import MASK, distance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..codec.sequence_set import SequenceSet

_FEW: Final = 64


def covered(pending: Mapping[int, Any], commands: SequenceSet) -> list[int]:
    """The keys of `pending`, which came in the order of their ids, that are in `commands`, in their order.

    >>> from amqp_sansio.amqp_0_10 import SequenceSet
    >>> covered({4294967295: "a", 0: "b", 1: "c"}, SequenceSet([(4294967295, 0)]))
    [4294967295, 0]
    """
    if not pending or not commands:
        return []
    lower, upper = commands.ranges[0]
    if lower == upper and len(commands.ranges) == 1:
        return [lower] if lower in pending else []
    first = next(iter(pending))
    if len(commands) <= _FEW:
        found = [number for number in dict.fromkeys(commands) if number in pending]
        return sorted(found, key=lambda number: (number - first) & MASK)
    places = [(distance(first, lower), distance(first, upper)) for lower, upper in commands.ranges]
    places = sorted([(lower, upper) for lower, upper in places if upper >= 0])
    covering: list[int] = []
    at = 0
    for number in pending:
        place = distance(first, number)
        while at < len(places) and places[at][1] < place:
            at += 1
        if at == len(places):
            break
        if places[at][0] <= place:
            covering.append(number)
    return covering
