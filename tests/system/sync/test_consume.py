"""Consumers over a socket, and a process that closes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import wait_until
from tests.sync.test_consume import (
    channel,
    fill_jobs,
    settlements,
    test_a_settlement_is_told_by_itself,
    test_settlements_go_together,
)

ROOT = Path(__file__).resolve().parents[3]

FORGETFUL = """
import sys
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_sync import connect, driver, keeper

driver.SOON = 60.0                          # nothing but the end tells it
channel = connect(sys.argv[1]).open_channel()
deliveries = channel.consume("jobs", prefetch=5)
one = next(deliveries)
channel.call(QueueDeclare("other", durable=True))  # its answer comes behind the deliveries
keeper.Keeper.ring = lambda self: None
one.accept()
"""


def test_a_program_that_closes_nothing_tells_what_was_put_off(broker: ScriptedBroker) -> None:
    fill_jobs(broker, 5)
    folders = [ROOT, ROOT / "adapters" / "sync"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder) for folder in folders])}
    subprocess.run([sys.executable, "-c", FORGETFUL, broker.url], env=environment, timeout=60, check=True)
    wait_until(lambda: settlements(broker) == ["basic.ack"])


__all__ = [
    "channel",
    "test_a_program_that_closes_nothing_tells_what_was_put_off",
    "test_a_settlement_is_told_by_itself",
    "test_settlements_go_together",
]
