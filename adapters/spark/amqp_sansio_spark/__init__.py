"""Recorded AMQP traffic in Spark: captures as TCP segments, segments as tables.

Needs the extra: `pip install amqp-sansio[spark]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .joining import histories, rpc, topology, unacked
from .tables import Replay, replay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make the format `amqp-capture` known to a session."""
    from .source import CaptureSource

    spark.dataSource.register(CaptureSource)


__all__ = ["Replay", "histories", "register", "replay", "rpc", "topology", "unacked"]
