"""Hints: each code of a close that has a usual cause names it, and no other does."""

from __future__ import annotations

from typing import Final

import pytest

from amqp_sansio.amqp_0_10.model.hints import for_close

USUAL: Final = {320: "shutting down", 402: "virtual host", 501: "read a frame"}
"""Codes of connection.close (0-10 part 2 section 7) and words of their hints."""


@pytest.mark.parametrize("code", [200, *USUAL, 403, 404, 405, 500, 502, 503, 505, 506, 507, 540, 541])
def test_a_code_with_a_usual_cause_names_that_one(code: int) -> None:
    hint = for_close(code)
    assert (hint != "") is (code in USUAL)
    assert [other for other, words in USUAL.items() if words in hint] == [code] * (code in USUAL)
