"""Two hundred clients that came and went leave nothing in a hub."""

import pytest

from tests.broker import test_hub_isolation


@pytest.mark.parametrize("label", test_hub_isolation.LABELS)
def test_nothing_grows_with_the_clients_that_were_there(label: str) -> None:
    test_hub_isolation.test_nothing_grows_with_the_clients_that_were_there(label, 200)
