"""The state machines for Hypothesis: they find a consumer's bug, and find none where there is none."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from amqp_sansio.testing.simulate import RANDOM, Fault, World
from amqp_sansio.testing.stateful import Drawn, WorldMachine
from tests.simulate.test_world import jobs

WITHOUT_SHRINKING = settings(max_examples=500, phases=[Phase.generate], print_blob=False)


class Jobs(WorldMachine):
    """A consumer that works before it accepts."""

    accept_first = False

    def scene(self) -> None:
        jobs(accept_first=self.accept_first)(self.world)


class Early(Jobs):
    """A consumer that accepts before it works."""

    accept_first = True


TestJobs = Jobs.TestCase


def test_a_machine_finds_the_consumer_that_accepts_before_it_works() -> None:
    with pytest.raises(AssertionError, match="lost: ") as caught:
        run_state_machine_as_test(Early, settings=WITHOUT_SHRINKING)
    assert "FAULT: consumer crashes" in str(caught.value)


@settings(max_examples=10)
@given(st.data())
def test_hypothesis_is_a_source_of_choices(data: st.DataObject) -> None:
    faults = tuple(each for each in Fault if each is not Fault.WIPE)
    with World(Drawn(data), RANDOM.but(faults=faults)) as world:
        jobs()(world)
        world.run()
        assert world.findings() == []
