"""Waits of the embedded broker that last long on a machine that does other work too."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from unittest import mock

from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_pytest.faults import Fault
from amqp_sansio_pytest.history import HistoryView

PATIENCE = 60.0
"""Seconds after which a test gives up what it waits for; it takes milliseconds."""


@contextmanager
def patient() -> Generator[None]:
    """Within it a wait that names no limit has that one."""
    with (
        mock.patch.object(EmbeddedBroker.wait_for, "__kwdefaults__", {"timeout": PATIENCE}),
        mock.patch.object(HistoryView.wait_for, "__kwdefaults__", {"timeout": PATIENCE, "count": 1}),
        mock.patch.object(Fault.wait_hit, "__defaults__", (PATIENCE,)),
    ):
        yield
