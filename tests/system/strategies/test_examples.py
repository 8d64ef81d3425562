"""The Hypothesis tests of this suite try all their examples."""

# pyright: reportPrivateUsage=false
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.examples import in_system


@settings(max_examples=20)
@given(value=st.none())
def test_all_examples_are_tried(pytestconfig: pytest.Config, value: None) -> None:
    assert value is None
    if pytestconfig.getoption("--explore") is None:
        test: Any = test_all_examples_are_tried
        assert test._hypothesis_internal_use_settings.max_examples == 20


def test_this_is_the_system_suite(request: Any) -> None:
    assert in_system(request.node)
