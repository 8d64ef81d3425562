"""Large field tables that a peer chose to be slow."""

from time import process_time

import pytest

from tests.classic.codec.test_table import HOSTILE, read_hostile


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_time_grows_with_the_octets(name: str) -> None:
    def took(size: int) -> float:
        raw = HOSTILE[name](size)
        best = 1e9
        for _ in range(3):
            began = process_time()
            read_hostile(raw)
            best = min(best, process_time() - began)
        return best

    # Eight times the octets: 8 when it's linear, 64 when it's quadratic.
    assert took(560_000) < 24 * max(took(70_000), 0.0005)
