"""The broker of these tests has neither a thread nor a port; tests/system/pytest_plugin has the real one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kit.held_broker import HeldBroker


@pytest.fixture
def amqp_broker() -> Iterator[HeldBroker]:
    """In place of the plug-in's fixture."""
    with HeldBroker() as broker:
        yield broker
