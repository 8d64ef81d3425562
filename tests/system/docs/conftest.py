"""Waits for the broker's thread have a generous limit."""

from collections.abc import Iterator

import pytest

from tests.kit.patience import patient


@pytest.fixture(autouse=True)
def _patient() -> Iterator[None]:
    with patient():
        yield
