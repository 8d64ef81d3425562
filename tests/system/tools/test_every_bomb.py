"""Every bomb of the fuzzer costs what its octets allow; tests/tools tries one for each target and kind."""

import pytest

from tests.tools import test_fuzz
from tools.fuzz.bombs import Bomb, bombs


@pytest.mark.parametrize("bomb", bombs(), ids=test_fuzz.bomb_id)
def test_more_octets_take_no_more_steps_and_memory_than_they_may(bomb: Bomb) -> None:
    test_fuzz.test_more_octets_take_no_more_steps_and_memory_than_they_may(bomb)
