"""Registers the format `amqp-capture` with Spark, which imports every module named `pyspark_*`."""

from __future__ import annotations

from amqp_sansio_spark.source import CaptureSource as DefaultSource

__all__ = ["DefaultSource"]
