"""Pytest plug-in: a run fails where the module in C isn't there, so that nothing passes by being skipped."""

import pytest


def pytest_collection() -> None:
    """Look before any test is collected."""
    import amqp_sansio

    if not amqp_sansio.COMPILED:
        raise pytest.UsageError(f"the module in C isn't beside {amqp_sansio.__file__}")
