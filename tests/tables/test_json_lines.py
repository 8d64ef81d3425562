"""JSON lines of any columns, in both ways: of a whole table by its own function, of others by a loop."""

import json
from random import Random
from typing import Any

import pytest

from amqp_sansio.recorded.json_lines import json_lines
from amqp_sansio.recorded.tables import COLUMNS, STATE_COLUMNS

VALUES: dict[str, tuple[Any, ...]] = {
    "string": (None, "", 'a "quoted" \\ text', "100 %s", "\x1b[1m", "x" * 300),
    "int64": (None, 0, -1, (1 << 63) - 1),
    "bool": (None, False, True),
    "timestamp": (None, 0, 1_790_000_000_000_001),
    "json": (None, '{"a":[1,"%s"]}'),
}
WHOLE = [*COLUMNS.values(), STATE_COLUMNS]


@pytest.mark.parametrize("columns", WHOLE)
def test_a_choice_of_columns_has_the_members_that_the_whole_line_has(columns: tuple[tuple[str, str], ...]) -> None:
    random = Random(len(columns))
    choices = [[place] for place in range(len(columns))]
    choices += [random.sample(range(len(columns)), random.randrange(1, len(columns))) for _ in range(10)]
    rows = [tuple([random.choice(VALUES[kind]) for _, kind in columns]) for _ in range(20)]
    wholes = [json.loads(line) for line in json_lines(columns, rows)]
    assert all([list(whole) == [name for name, _ in columns] for whole in wholes])
    for places in choices:
        chosen = [columns[place] for place in places]
        lines = list(json_lines(chosen, [tuple([row[place] for place in places]) for row in rows]))
        found = [list(json.loads(line).items()) for line in lines]
        assert found == [[(name, whole[name]) for name, _ in chosen] for whole in wholes]


def test_names_of_columns_are_written_as_they_are() -> None:
    assert list(json_lines((("100 %s", "int64"), ('"', "bool")), [(1, True)])) == ['{"100 %s":1,"\\"":true}']
