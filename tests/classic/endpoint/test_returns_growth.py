"""Returned messages find their publish without a search, whatever else may come back."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import pytest

from amqp_sansio._classic.endpoint.channel import Returns
from amqp_sansio._classic.model.returnable import Returnable
from tests.kit.steps import count_steps

FEW: Final = 60
MANY: Final = 2000
OUTCOME: Final[Any] = object()
LIKE: Final = ("", "q", 1, 1)


def test_what_comes_back_is_the_next_one_like_it() -> None:
    returns = Returns()
    for number, key in enumerate(("A", "B", "A", "B", "A"), 1):
        returns.expect(number, ("", key, 1, 1))
    assert returns.came_back(("", "B", 1, 1), OUTCOME) == 2
    # Publish 1 is older than what came back, so it doesn't come back any more.
    assert returns.came_back(("", "A", 1, 1), OUTCOME) == 3
    assert returns.came_back(("", "B", 1, 1), OUTCOME) == 4
    assert returns.came_back(("", "B", 1, 1), OUTCOME) == 0
    assert returns.settle(1) is None
    assert returns.settle(2) == OUTCOME
    assert returns.came_back(("", "A", 1, 1), OUTCOME) == 5


def test_a_confirmed_publish_does_not_come_back() -> None:
    returns = Returns()
    returns.expect(1, LIKE)
    returns.expect(2, LIKE)
    assert returns.settle(1) is None
    assert returns.came_back(LIKE, OUTCOME) == 2
    assert returns.came_back(LIKE, OUTCOME) == 0


def returned_again_and_again(count: int) -> int:
    """A server returns the second publish, and then claims the first one, again and again."""
    returns = Returns()
    for number in range(1, count + 1):
        returns.expect(number, ("", "A" if number == 1 else "B", 1, 1))
    returns.came_back(("", "B", 1, 1), OUTCOME)
    return count_steps(lambda: [returns.came_back(("", "A", 1, 1), OUTCOME) for _ in range(50)])


def confirmed_backwards(count: int) -> int:
    """All are alike, and the newest is confirmed first."""
    returns = Returns()
    for number in range(1, count + 1):
        returns.expect(number, LIKE)
    for number in range(count, FEW // 2, -1):
        returns.settle(number)
    return count_steps(lambda: [returns.settle(number) for number in range(FEW // 2, 0, -1)])


def passed_over(count: int) -> int:
    """What comes back is behind many that don't."""
    returns = Returns()
    for number in range(1, count + 1):
        returns.expect(number, LIKE)
    for number in range(1, count):
        returns.settle(number)
    return count_steps(partial(returns.came_back, LIKE, OUTCOME))


@pytest.mark.parametrize("kind", [returned_again_and_again, confirmed_backwards, passed_over])
def test_many_open_publishes_cost_nothing(kind: Any) -> None:
    few, many = kind(FEW), kind(MANY)
    assert many <= few + 400, f"beside {FEW} {few} steps, beside {MANY} {many}"


def test_settled_publishes_are_not_kept_for_one_that_stays_open() -> None:
    books = Returnable()
    books.add(1, LIKE)
    for number in range(2, 10_000):
        books.add(number, LIKE)
        books.forget(number)
    assert len(books) == 1
    assert len(books._alike[LIKE].numbers) < 100  # pyright: ignore[reportPrivateUsage]
