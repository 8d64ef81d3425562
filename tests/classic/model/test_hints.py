"""Hints: each close that has a usual cause names it, whoever looks at it: an end, an observer, a recorded unit."""

from __future__ import annotations

from typing import Final

import pytest

from amqp_sansio import AMQP_0_9_1
from amqp_sansio._classic.model.hints import for_close
from amqp_sansio._core.hints import LOGIN_FAILED
from amqp_sansio.recorded.ends import end_of_unit
from tests.kit.facing import CLIENT
from tests.kit.facing_classic import Facing
from tests.kit.observing import Talk

USUAL: Final = {
    312: "queue is bound",
    320: "shutting down",
    403: "permission",
    404: "does not exist in this virtual host",
    405: "exclusively",
    406: "other properties",
    501: "read a frame",
    504: "isn't open",
    505: "mixed on one channel",
    530: "virtual host does not exist",
}
"""Codes of 0-8 and 0-9-1 whose cause is mostly the same, and words of it (0-9-1 section 1.2)."""
OTHERS: Final = (200, 310, 311, 313, 402, 502, 503, 506, 540, 541)
LOGIN: Final = ((10, 11), (10, 21))
"""connection.start-ok and secure-ok: what a refused login is the answer to."""


@pytest.mark.parametrize("code", [*USUAL, *OTHERS])
def test_a_code_with_a_usual_cause_names_that_one(code: int) -> None:
    hint = for_close(code, "", 0, 0)
    assert (hint != "") is (code in USUAL)
    assert [other for other, words in USUAL.items() if words in hint] == [code] * (code in USUAL)


@pytest.mark.parametrize("blamed", [*LOGIN, (10, 12), (10, 22), (11, 11), (0, 11), (10, 40), (60, 21)])
def test_a_close_that_answers_the_login_has_the_same_hint_for_everyone(blamed: tuple[int, int]) -> None:
    """One that names another method, or none, has that of its code."""
    facing = Facing.opened(AMQP_0_9_1, CLIENT)
    close = facing.method("connection.close", 0, reply_code=403, class_id=blamed[0], method_id=blamed[1])
    facing.feed(close)
    assert facing.end.report is not None
    talk = Talk().login().server(Talk().named("connection.close", 403, "", *blamed)).finish()
    unit = {"reply_code": 403, "reply_text": "", "class_id": blamed[0], "method_id": blamed[1]}
    end = end_of_unit("connection.close", "server", unit)
    assert end is not None
    expected = LOGIN_FAILED if blamed in LOGIN else for_close(403, "", 0, 0)
    assert [facing.end.report.hint, talk.lifecycle.connection.hint, end.hint] == [expected] * 3
