"""`write`: the tables of a replay, and what is made of them, as Parquet, from one pass over the captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.recorded.tables import COLUMNS

from .joining import histories as join_histories
from .joining import topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .tables import Replay

_SHREDDING: Final = "spark.sql.variant.inferShreddingSchema"


def write(tables: Replay, path: str, *, histories: bool = True, mode: str = "error") -> dict[str, DataFrame]:
    """Write the tables as Parquet below `path`, each in a folder of its name; return them as they are read back.

    One pass over the captures makes the five tables; its rows are in memory and on the disks of the workers until they
    are written. `histories` and `topology` are joined from the written tables, so nothing is decoded twice. `mode` is
    that of Spark's writer: "error", "overwrite", "append" or "ignore".
    """
    session = tables.sorted_segments.sparkSession
    before = session.conf.get(_SHREDDING, None)
    # Readers can't merge columns that each file shreds in its own way.
    session.conf.set(_SHREDDING, "false")
    held = not tables.is_cached
    tables.cache()
    try:
        found = {table: _written(getattr(tables, table), path, table, mode) for table in COLUMNS}
        if histories:
            joined = join_histories(found["messages"], found["events"], skew_ns=tables.skew_ns)
            found["histories"] = _written(joined, path, "histories", mode)
            found["topology"] = _written(topology(found["events"]), path, "topology", mode)
    finally:
        if held:
            tables.unpersist()
        if before is None:
            session.conf.unset(_SHREDDING)
        else:
            session.conf.set(_SHREDDING, before)
    return found


def _written(frame: DataFrame, path: str, table: str, mode: str) -> DataFrame:
    where = f"{path.rstrip('/')}/{table}"
    frame.write.mode(mode).parquet(where)
    return frame.sparkSession.read.parquet(where)


__all__ = ["write"]
