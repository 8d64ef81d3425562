"""The attributes that have a word beside them: a figure that may only rise, and how it is counted.

`python -m tools.explained` prints it, and with `--places ROOM` the attributes without a word.
"""

from __future__ import annotations

from typing import Final

import pytest

from tools.explained import ROOMS, attributes, read, says_something, share

FLOORS: Final = {"model": 91, "endpoint": 99, "_core": 99, "client": 96, "broker/model": 96, "adapters": 63}
"""Of a hundred attributes, those that are explained today."""
SHOWN: Final = 10
"""Attributes in a failure's text."""


@pytest.mark.parametrize("room", ROOMS)
def test_attributes_are_explained(room: str) -> None:
    found = share(room)
    if found < FLOORS[room]:
        bare = [f"{each.file}:{each.line} {each.owner}.{each.name}" for each in attributes(room) if not each.explained]
        more = f"`python -m tools.explained --places {room}` lists all {len(bare)}; the first are:"
        pytest.fail("\n".join([f"{room}: {found} %, and {FLOORS[room]} % before; {more}", *bare[:SHOWN]]))
    if found > FLOORS[room]:
        floors = FLOORS | {room: found}
        pytest.fail(f"{room}: {found} %, more than before. Write:\nFLOORS: Final = {floors}".replace("'", '"'))


def _count(code: str) -> list[tuple[str, bool]]:
    return [(each.name, each.explained) for each in read(code)]


@pytest.mark.parametrize(
    ("lines", "explained"),
    [
        pytest.param(["self.count = 0"], False, id="no word"),
        pytest.param(["self.count = 0  # deliveries under way"], True, id="behind it"),
        pytest.param(["# Deliveries under way.", "self.count = 0"], True, id="before it"),
        pytest.param(["# Deliveries that", "# are under way.", "self.count = 0"], True, id="two lines before it"),
        pytest.param(["self.count = 0", '"""Deliveries under way."""'], True, id="a docstring"),
        pytest.param(["self.count: int = 0  # deliveries under way"], True, id="with a type"),
        pytest.param(["# Deliveries under way.", "", "self.count = 0"], False, id="a line apart"),
        pytest.param(["# The count.", "self.count = 0"], False, id="the name again"),
        pytest.param(["# The counter of Kind.", "self.count = 0"], False, id="the name and the class"),
        pytest.param(["self.count = 0  # type: ignore[misc]"], False, id="a word for checkers"),
        pytest.param(["if True:", "    # Deliveries under way.", "    self.count = 0"], True, id="in a block"),
    ],
)
def test_a_word_beside_an_attribute(lines: list[str], explained: bool) -> None:
    body = "".join(f"        {line}\n" for line in lines)
    assert _count(f"class Kind:\n    def __init__(self):\n{body}") == [("count", explained)]


def test_an_annotation_in_the_body_may_have_the_word() -> None:
    code = (
        'class Kind:\n    count: int\n    """Deliveries under way."""\n\n'
        "    def __init__(self):\n        self.count = 0\n"
    )
    assert _count(code) == [("count", True)]


def test_each_attribute_counts_once_and_only_those_of_self() -> None:
    code = (
        "class Kind:\n    def __init__(self, other):\n        self.a, self.b = 1, 2\n        self.a = 3\n"
        "        other.c = 4\n\n    def later(self):\n        self.d = 5\n"
    )
    assert _count(code) == [("a", False), ("b", False)]


@pytest.mark.parametrize(
    ("said", "known", "enough"),
    [
        pytest.param("The deliveries of the link.", "deliveries Link", False, id="only known words"),
        pytest.param("By their delivery-id.", "deliveries Link", True, id="a key"),
        pytest.param("In seconds.", "timeout", False, id="one word"),
    ],
)
def test_an_explanation_says_more_than_the_name(said: str, known: str, enough: bool) -> None:
    assert says_something(said, known) is enough
