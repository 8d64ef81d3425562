"""Growth: matching a message costs the same however many were matched before, in usual orders and odd ones."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any, Final

import pytest

from amqp_sansio.recorded.histories import Matcher, Message
from tests.kit.steps import count_steps

FEW: Final = 60
MANY: Final = 600
MEASURED: Final = 6
ROOM: Final = 80
"""Steps by which a later message may be dearer, for a search in a sorted list."""
SECOND: Final = 1_000_000_000

PUBLISHED: Final = ("accepted", "returned", "released", None)
TAKEN: Final = ("accepted", "released", "rejected", "settled", None)
CASES: Final = [*product(PUBLISHED, TAKEN, ("alike", "ids", "queues", "connections"))]


def message(kind: str, number: int, variety: str, outcome: str | None, **changes: Any) -> Message:
    """A row of messages; `variety` says what tells it from the others."""
    base = Message(
        connection=f"c{number}" if variety == "connections" else "c",
        ts_ns=number * SECOND,
        protocol="0-9-1",
        channel=1,
        kind=kind,
        exchange="",
        routing_key="q",
        address=None,
        message_id=f"m{number}" if variety == "ids" else None,
        correlation_id=None,
        redelivered=False,
        body_size=1,
        body_sha256="x",
        headers=None,
        outcome=outcome,
        settled_ns=None if outcome is None else number * SECOND + 5,
        seq=number,
        queue=f"q{number}" if variety == "queues" and kind == "deliver" else "q" if kind == "deliver" else None,
        reply_code=312 if kind == "return" else None,
        reply_text="NO_ROUTE" if kind == "return" else None,
        ended_ns=None,
        vhost="/",
    )
    return base._replace(**changes)


def steps_of_the_next(count: int, published: str | None, taken: str | None, variety: str, most: int) -> int:
    """Match that many, and return the steps of what follows the next publish."""
    matcher = Matcher(most=most)
    for number in range(count + MEASURED):
        matcher.push(message("publish", number, variety, published))

    def act(number: int) -> None:
        matcher.push(message("publish", count + MEASURED + number, variety, published))
        if published == "returned":
            matcher.push(message("return", number, variety, None))
        matcher.push(message("deliver", number, variety, taken, redelivered=taken is None and number % 2 == 1))

    for number in range(count):
        act(number)
    return sum([count_steps(partial(act, number), 1_000_000) for number in range(count, count + MEASURED)]) // MEASURED


@pytest.mark.parametrize(("published", "taken", "variety"), CASES, ids=["-".join(map(str, each)) for each in CASES])
def test_a_match_is_not_searched(published: str | None, taken: str | None, variety: str) -> None:
    few = steps_of_the_next(FEW, published, taken, variety, 100_000)
    many = steps_of_the_next(MANY, published, taken, variety, 100_000)
    assert many <= 1.15 * few + ROOM, f"after {FEW} {few} steps, after {MANY} {many}"


@pytest.mark.parametrize("variety", ["alike", "ids"])
@pytest.mark.parametrize("published", PUBLISHED)
def test_nor_at_the_bound(published: str | None, variety: str) -> None:
    few = steps_of_the_next(FEW, published, "accepted", variety, FEW // 2)
    many = steps_of_the_next(MANY, published, "accepted", variety, MANY // 2)
    assert many <= 1.15 * few + ROOM, f"with a bound of {FEW // 2} {few} steps, with {MANY // 2} {many}"
