"""Endpoints of 0-10 that many tests here begin with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.wire_0_10 import CLIENT, SERVER, Facing


def _of_side(side: Any) -> str:
    return str(side.value)


@pytest.fixture(params=[CLIENT, SERVER], ids=_of_side)
def facing(request: pytest.FixtureRequest) -> Facing:
    """An endpoint with a session on channel 0, in step both ways; the test runs for each side."""
    return Facing.attached(request.param)


@pytest.fixture
def client() -> Facing:
    """A client with a session on channel 0, in step both ways."""
    return Facing.attached(CLIENT)


@pytest.fixture
def server() -> Facing:
    """A server with a session on channel 0, in step both ways."""
    return Facing.attached(SERVER)


@pytest.fixture(params=[CLIENT, SERVER], ids=_of_side)
def opened(request: pytest.FixtureRequest) -> Facing:
    """An endpoint of an open connection without a session; the test runs for each side."""
    return Facing.opened(request.param)
