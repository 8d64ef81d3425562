"""Fast path of 1.0: each script at the bounds, from every base of delivery-ids."""

import pytest

from tests.amqp_1_0.endpoint.test_fast_path import BASES, SCRIPTS, Step, assert_no_difference_at_the_bounds


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("steps", SCRIPTS.values(), ids=SCRIPTS)
def test_the_shortcuts_make_no_difference_at_the_bounds(base: int, steps: list[Step]) -> None:
    assert_no_difference_at_the_bounds(base, steps)
