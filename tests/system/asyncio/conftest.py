"""The tests here run over sockets, and so do those of tests/asyncio that they take over."""

import pytest

from tests.kit import asyncio_loops


@pytest.fixture(autouse=True)
def real_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `run` take a real event loop."""
    monkeypatch.setattr(asyncio_loops, "is_real", True)
