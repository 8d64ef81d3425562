"""A hundred thousand topic bindings that don't match cost a message nothing."""

import pytest

from tests.broker import test_routing_topic


@pytest.mark.parametrize("form", test_routing_topic.FORMS)
def test_bindings_that_do_not_match_cost_nothing(form: str) -> None:
    test_routing_topic.test_bindings_that_do_not_match_cost_nothing(form, 100_000)
