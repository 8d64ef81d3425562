"""Every row of `FAST_PATHS`, switched off in more runs than the default suite has."""

import pytest

from tests.test_fast_paths import ROWS, assert_no_difference


@pytest.mark.parametrize("name", ROWS)
def test_a_fast_path_makes_no_difference_in_any_run(name: str) -> None:
    assert_no_difference(name, range(12))
