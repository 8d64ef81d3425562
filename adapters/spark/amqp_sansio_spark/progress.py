"""The progress of a read: a record for each piece of a file, in Spark's log of its Python workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .comments import commented

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .bulk import BulkReader
    from .plans import Piece

LOGGING: Final = "spark.sql.pyspark.worker.logging.enabled"
"""The setting that makes Spark keep a log of its Python workers."""
_NAME: Final = "amqp_sansio_spark.progress"
_COUNTS: Final = ("octets", "packets", "segments", "rows", "problems")


def progress(spark: SparkSession) -> DataFrame:
    """Return what this session has read so far, and what it left out: a row for each file of each read.

    The columns: `read` (one planned query), `file`, `pieces` done `of` those planned, `octets` read of `size`,
    `packets`, `segments` (packets with TCP), `other` (packets without: left out), `rows` made, `filtered` (segments and
    problems that the options or filters left out), `problems`, and `seconds` of the workers' time. It can be called
    while a query runs, and shows the finished pieces, of a compressed file, which is one piece, also how far it is.

    Spark keeps the log only with `spark.sql.pyspark.worker.logging.enabled=true`, set before the query. A piece that
    Spark reads again, because a worker died or a query runs twice, counts once. Raises ValueError without that setting.
    """
    from pyspark.sql import functions as f

    if str(spark.conf.get(LOGGING, "false")).lower() != "true":
        raise ValueError(f"set {LOGGING}=true before you read: without it Spark keeps no record")
    logs = spark.tvf.python_worker_logs().where(f.col("logger") == _NAME)

    pieces = logs.select(
        *[f.col("context")[name].alias(name) for name in ("read", "file")],
        *[f.col("context")[name].cast("bigint").alias(name) for name in ("number", "of", "size", "done", *_COUNTS)],
        f.col("context")["seconds"].cast("double").alias("seconds"),
    )
    once = pieces.groupBy("read", "file", "number", "of", "size").agg(
        *[f.max(name).alias(name) for name in ("done", *_COUNTS, "seconds")]
    )
    files = once.groupBy("read", "file", "of", "size").agg(
        *[f.sum(name).alias(name) for name in ("done", *_COUNTS, "seconds")]
    )
    rows = files.select(
        "read",
        "file",
        f.col("done").alias("pieces"),
        "of",
        "octets",
        "size",
        "packets",
        "segments",
        (f.col("packets") - f.col("segments")).alias("other"),
        "rows",
        (f.col("segments") + f.col("problems") - f.col("rows")).alias("filtered"),
        "problems",
        f.round("seconds", 3).alias("seconds"),
    )
    return commented(rows, "progress")


def report(piece: Piece, reader: BulkReader, seconds: float, read: str, done: bool) -> None:
    """Log the reading of a piece."""
    import logging

    logger = logging.getLogger(_NAME)
    logger.setLevel(logging.INFO)
    counts = reader.counts
    planned = piece.stop - piece.start
    read_of_file = reader.offset - piece.start if reader.packed is None else reader.packed
    octets = planned if done else min(planned, max(0, read_of_file))
    context = {
        "read": read,
        "file": piece.name,
        "number": str(piece.number),
        "of": str(piece.of),
        "size": str(piece.size),
        "done": str(int(done)),
        "octets": str(octets),
        "packets": str(counts.packets),
        "segments": str(counts.segments),
        "rows": str(counts.rows),
        "problems": str(counts.damages),
        "seconds": f"{seconds:.6f}",
    }
    logger.info(
        "%s: %d packets, %d segments, %d rows, %d problems in %d octets",
        *(piece.name, counts.packets, counts.segments, counts.rows, counts.damages, octets),
        extra={"context": context},
    )
