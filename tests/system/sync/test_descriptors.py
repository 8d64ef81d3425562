"""An outage while a thread waits costs no descriptors, however many attempts fail."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.client.recovery import Recovering, RecoveryPolicy
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect

FOLDER = Path("/proc/self/fd")
ATTEMPTS = 30


@pytest.mark.skipif(not FOLDER.exists(), reason="only Linux shows a process its descriptors")
def test_failed_attempts_leave_no_descriptors() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Nobody listens there.
        nobody = f"amqp://guest:guest@127.0.0.1:{taken.getsockname()[1]}/"
        with EmbeddedBroker(clock="real") as broker:
            policy = RecoveryPolicy(addresses=(nobody,), first_delay=0.01, ceiling=0.01)
            connection = connect(broker.url, recover=policy)
            channel = connection.open_channel()
            channel.declare_queue("jobs", durable=True)
            events: Any = iter(connection.events(Recovering))
            ended: list[BaseException] = []

            def waits() -> None:
                try:
                    next(iter(channel.consume("jobs")))
                except BaseException as error:
                    ended.append(error)

            thread = threading.Thread(target=waits)
            thread.start()
        counts: list[int] = []
        for _ in range(ATTEMPTS):
            next(events)
            counts.append(len(os.listdir(FOLDER)))
        connection.close()
        thread.join(30)
    assert len(ended) == 1
    assert max(counts[ATTEMPTS // 2 :]) <= max(counts[:5]) + 6
