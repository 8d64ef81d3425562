"""docs/queries.md: the worked queries of the package."""

from __future__ import annotations

import sys

from amqp_sansio_arrow.queries import QUERIES
from amqp_sansio_spark import PREFIX
from amqp_sansio_spark.views import VIEWS
from tools.docs.pages import run

HEAD = """# Queries

Written by `python -m tools.docs.queries`; a test runs each query and compares the two.

```python
from amqp_sansio_spark import QUERIES, register, replay

register(spark)
tables = replay(spark.read.format("amqp-capture").load("captures/")).cache()
register(spark, tables)
spark.sql("select protocol, count(*) from amqp_connections group by all").show()
spark.sql(QUERIES["unacked"].sql).show()
```

The same steps as a table, and a worked query:

```python
from amqp_sansio_spark import QUERIES, histories, register

steps = histories(tables)  # publish, confirm, deliver, redeliver, settle, dead-letter
steps.where("what = 'deliver'").selectExpr("percentile(latency_ns, 0.99) / 1e6 as p99_ms").show()
register(spark, tables.cache())  # views: amqp_messages, amqp_histories, amqp_topology, ...
spark.sql(QUERIES["slowest_consumers"].sql).show()
```

The same queries run in DuckDB, without Spark: `amqp-sansio query unacked captures/`, or with SQL of your own in place
of the name ([Tables without Spark](arrow.md)). They use what means the same in both; in Spark alone
`fields:reply_code::int` is shorter.

The views are lazy, and belong to the session. With `cache()` one pass over the capture serves all queries.

| view | content |
|---|---|
"""

TAIL = """
Columns: [tables.md](tables.md), [histories.md](histories.md). `fields` of `amqp_events` is a VARIANT in Spark, and JSON
in DuckDB.
"""


def page() -> str:
    """Return the text of docs/queries.md."""
    views = "".join([f"| `{PREFIX}{name}` | {text} |\n" for name, text in VIEWS.items()])
    queries = "".join(
        [f'\n## {query.question}\n\n`QUERIES["{name}"]`\n\n```sql{query.sql}```\n' for name, query in QUERIES.items()]
    )
    return HEAD + views + TAIL + queries


def main(arguments: list[str] | None = None) -> int:
    """Write or check docs/queries.md; return the exit status."""
    return run("queries.md", page, arguments)


if __name__ == "__main__":
    sys.exit(main())
