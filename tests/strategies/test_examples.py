"""How many examples the Hypothesis tests of the default suite try."""

# pyright: reportPrivateUsage=false
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.kit.examples import EXAMPLES_SHARE, STEPS_SHARE, _scale, in_system, sample


def settings_of(test: Any) -> settings:
    """What a Hypothesis test is run with."""
    found: settings = test._hypothesis_internal_use_settings
    return found


@settings(max_examples=20)
@given(value=st.none())
def test_a_part_of_many_examples_is_tried(pytestconfig: pytest.Config, value: None) -> None:
    """It has all of them with `--full-examples`, and any number when new ones are explored."""
    assert value is None
    if pytestconfig.getoption("--explore") is None:
        full = pytestconfig.getoption("--full-examples")
        assert settings_of(test_a_part_of_many_examples_is_tried).max_examples == (20 if full else 5)


@settings(max_examples=2)
@given(value=st.none())
def test_all_of_few_examples_are_tried(pytestconfig: pytest.Config, value: None) -> None:
    assert value is None
    if pytestconfig.getoption("--explore") is None:
        assert settings_of(test_all_of_few_examples_are_tried).max_examples == 2


@sample(4)
@settings(max_examples=20)
@given(value=st.none())
def test_a_costly_test_names_how_many_are_tried(pytestconfig: pytest.Config, value: None) -> None:
    assert value is None
    if pytestconfig.getoption("--explore") is None:
        full = pytestconfig.getoption("--full-examples")
        assert settings_of(test_a_costly_test_names_how_many_are_tried).max_examples == (20 if full else 4)


class Machine(RuleBasedStateMachine):
    """A state machine whose numbers are the profile's."""

    @rule(value=st.none())
    def step(self, value: None) -> None:
        """Do nothing."""
        assert value is None


def test_a_state_machine_has_fewer_steps_too() -> None:
    case = Machine.TestCase
    _scale(case, EXAMPLES_SHARE, STEPS_SHARE)
    assert (case.settings.max_examples, case.settings.stateful_step_count) == (6, 15)


def test_this_is_not_the_system_suite(request: Any) -> None:
    assert not in_system(request.node)
