"""A client's session for the tests of links, transfers, credit and settlement."""

import pytest

from tests.kit.links_1_0 import Mapped


@pytest.fixture
def facing() -> Mapped:
    """A client with a session that it began and the peer, which the test makes up, answered."""
    return Mapped.begun()
