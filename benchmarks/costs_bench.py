"""The cost of options: confirmed publishes of the asyncio client with one (`ours`) and without (`peer`).

On a RabbitMQ started by this run. uvloop is a choice of the same kind: another event loop.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from benchmarks.asyncio_bench import prepare, run_client
from benchmarks.measure import Case, case_of
from tests.interop.brokers.rabbitmq import install_rabbitmq, run_rabbitmq

CASES: Final = (
    ("asyncio confirm, recorded, vs plain", "recorded"),
    ("asyncio confirm, frames logged, vs plain", "logged"),
    ("asyncio confirm, on uvloop, vs plain", "uvloop"),
)


def cases(count: int = 30_000, rounds: int = 5) -> list[Case]:
    """Run each beside the plain client, in turn; seconds for 100k messages."""
    install_rabbitmq()
    results: list[Case] = []
    with tempfile.TemporaryDirectory() as folder, run_rabbitmq(Path(folder)) as broker:
        prepare(broker, "confirm", count)
        for label, how in CASES:
            pairs = [
                (run_client(how, "confirm", broker.url, count), run_client("ours", "confirm", broker.url, count))
                for _ in range(rounds + 1)
            ][1:]
            results.append(case_of(label, pairs, "s CPU/100k", None, 100_000 / count))
    return results
