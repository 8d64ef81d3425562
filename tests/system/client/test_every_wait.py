"""The awaits of tests/client/test_every_wait.py, cancelled in each way: before and with the answer, with any peer."""

from __future__ import annotations

import pytest

from tests.client.test_every_wait import NAMES, ROWS, Bed, Row, cancelled_at_each_step
from tests.kit.asyncio_stepping import Suspend, at_once, with_the_answer


@pytest.mark.parametrize(("kind", "row"), ROWS, ids=NAMES)
@pytest.mark.parametrize("cancel", [at_once, with_the_answer], ids=["at once", "with the answer"])
def test_it_can_be_cancelled_while_the_peer_answers(kind: type[Bed], row: Row, cancel: Suspend) -> None:
    cancelled_at_each_step(kind, row, cancel, is_silent=False)
