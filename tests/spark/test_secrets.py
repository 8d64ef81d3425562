"""The rows that Spark's workers make show no secret, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

pytest.importorskip("pyspark", reason="needs the extra `spark`")

import pyarrow as pa

from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_spark.join_worker import StepsTask
from amqp_sansio_spark.plans import Setting
from amqp_sansio_spark.segments import ARROW_SCHEMA, to_batches
from amqp_sansio_spark.worker import ReplayTask
from tests.kit.observing import Conversation
from tests.tables.test_secrets import PLACES, shows
from tests.tables.test_tables import packets

WHOLE: Final = Setting(body="base64")


def rows(task: ReplayTask, talk: Conversation) -> str:
    """Return the rows that a worker makes of the conversation, as Spark gets them."""
    segments = pa.Table.from_batches(to_batches(packets(talk), 1 << 20), ARROW_SCHEMA).to_batches()
    return repr([batch.to_pylist() for batch in task(iter(segments))])


OUTPUTS: Final[dict[str, Callable[[Conversation], str]]] = {
    "all tables": lambda talk: rows(ReplayTask(tuple(COLUMNS), WHOLE), talk),
    "events alone": lambda talk: rows(ReplayTask(("events",), WHOLE), talk),
    "messages alone": lambda talk: rows(ReplayTask(("messages",), WHOLE), talk),
    "what histories are joined from": lambda talk: rows(StepsTask(WHOLE), talk),
}


@pytest.mark.parametrize("place", PLACES)
def test_no_worker_shows_a_secret(place: str) -> None:
    talk = PLACES[place]()
    made = {name: output(talk) for name, output in OUTPUTS.items()}
    assert "connection" in made["all tables"]
    assert [name for name, text in made.items() if shows(text)] == []


def test_what_is_no_secret_is_shown() -> None:
    """The check would see it."""
    talk = PLACES["0-9-1 headers, text"]()
    assert "security_token" in rows(ReplayTask(("events",), WHOLE), talk)
