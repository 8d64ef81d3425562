"""The columns that tasks make, and their schemas as Spark writes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from amqp_sansio.recorded.tables import COLUMNS, wanted_columns

_SPARK_TYPES = {"string": "string", "json": "string", "int64": "bigint", "bool": "boolean"}


def spark_schema(columns: tuple[tuple[str, str], ...], separator: str = " ") -> str:
    """Return the core's columns as a Spark schema, without timestamps, which Spark derives from nanoseconds."""
    return ", ".join(f"{name}{separator}{_SPARK_TYPES[kind]}" for name, kind in columns if kind in _SPARK_TYPES)


def schema_of(table: str, names: Sequence[str]) -> str:
    """Return the schema of these columns of a table."""
    kinds = dict(COLUMNS[table])
    return spark_schema(tuple([(name, kinds[name]) for name in names]))


def schema_of_all() -> str:
    """Return the schema of all tables at once: a struct for each."""
    return ", ".join(f"{table} struct<{spark_schema(columns, ': ')}>" for table, columns in COLUMNS.items())


def carried(tables: Collection[str] | Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """Return the columns that workers make for these: nanoseconds in place of a timestamp, which Spark derives."""
    found: dict[str, tuple[str, ...]] = {}
    for table, names in wanted_columns(tables).items():
        kinds = dict(COLUMNS[table])
        found[table] = tuple(dict.fromkeys([name if kinds[name] in _SPARK_TYPES else f"{name}_ns" for name in names]))
    return found


__all__ = ["carried", "schema_of", "schema_of_all", "spark_schema"]
