"""`database`: the tables of captures in DuckDB, with the views of the worked queries."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa

from .readers import Tables, tables
from .reading import Captures
from .sorting import MEMORY
from .whole import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "amqp_"
"""What the views' names begin with; tables have names without it too."""
_GROUP_ROWS: Final = 65_536
"""Rows that are inserted at a time."""
_PA: Final[Any] = pa
_TYPES: Final = {"string": "varchar", "int64": "bigint", "bool": "boolean", "timestamp": "timestamptz", "json": "json"}

_MACROS: Final = (
    "create macro variant_get(value, path, kind) as json_extract_string(value, path)",
    "create macro percentile(value, part) as quantile_cont(value, part)",
    "create macro timestamp_micros(micros) as make_timestamptz(micros)",
    "create macro unix_micros(moment) as epoch_us(moment::timestamptz)",
)
"""Spark's names for functions that DuckDB calls otherwise."""

VIEWS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "unacked": (
        ("messages",),
        """
select * from amqp_messages
where kind in ('deliver', 'get') and coalesce(settled_ns, ended_ns) is null
      and (outcome is null or outcome <> 'settled')
order by ts_ns, connection, seq
""",
    ),
    "open": (
        ("connections", "events", "messages", "consumers"),
        """
select connection, 'connection' as kind, null::bigint as channel, null::bigint as seq, connection_name as name,
       null::varchar as queue, opened_ns as from_ns, closed_ns as until_ns
from amqp_connections
union all
select connection, 'consumer', channel, null, consumer, queue, opened_ns, closed_ns
from amqp_consumers
where opened_ns is not null
union all
select connection, case when kind = 'publish' then 'publish' else 'delivery' end, channel, seq,
       coalesce(consumer_tag, link, tag::varchar), coalesce(queue, address, routing_key), ts_ns,
       coalesce(settled_ns, ended_ns)
from amqp_messages
where kind <> 'return' and (outcome is null or settled_ns is not null)
union all
select a.connection, 'call', a.channel, a.seq, a.event, null, a.ts_ns, b.ts_ns
from amqp_events a join amqp_events b on b.connection = a.connection and b.answers = a.seq
where a.sender = 'client' and b.sender = 'server'
union all
select e.connection, 'blocked', null, e.seq, e.event, null, e.ts_ns,
       coalesce((select min(u.ts_ns) from amqp_events u where u.connection = e.connection
                 and u.event = 'connection.unblocked' and u.ts_ns >= e.ts_ns), c.closed_ns)
from amqp_events e join amqp_connections c using (connection)
where e.event = 'connection.blocked'
""",
    ),
    "rpc": (
        ("messages",),
        """
with asked as (
  select connection as requester, ts_ns as request_ns, seq as request_seq, exchange, routing_key, address, reply_to,
         body_sha256, coalesce(correlation_id, message_id) as correlation_id,
         row_number() over (partition by connection, coalesce(correlation_id, message_id) order by ts_ns, seq) as turn
  from amqp_messages
  where kind = 'publish' and reply_to is not null and coalesce(correlation_id, message_id) is not null
), came as (
  select connection, correlation_id, ts_ns as reply_ns, seq as reply_seq,
         row_number() over (partition by connection, correlation_id order by ts_ns, seq) as turn
  from amqp_messages where kind in ('deliver', 'get') and correlation_id is not null
), taken as (
  select connection as responder, ts_ns as taken_ns, coalesce(correlation_id, message_id) as correlation_id, body_sha256
  from amqp_messages where kind in ('deliver', 'get') and reply_to is not null
), answered as (
  select connection as responder, correlation_id, ts_ns as answered_ns
  from amqp_messages where kind = 'publish' and correlation_id is not null
), served as (
  select a.*, c.reply_ns, c.reply_seq, t.responder, t.taken_ns, w.answered_ns,
         row_number() over (partition by a.requester, a.request_seq
                            order by t.taken_ns, w.answered_ns, t.responder) as nearest
  from asked a
  left join came c on c.connection = a.requester and c.correlation_id = a.correlation_id and c.turn = a.turn
       and c.reply_ns >= a.request_ns
  left join taken t on t.correlation_id = a.correlation_id and t.body_sha256 is not distinct from a.body_sha256
       and t.taken_ns >= a.request_ns and (c.reply_ns is null or t.taken_ns <= c.reply_ns)
  left join answered w on w.responder = t.responder and w.correlation_id = a.correlation_id
       and w.answered_ns >= t.taken_ns
)
select requester, request_ns, request_seq, exchange, routing_key, address, reply_to, correlation_id, reply_ns,
       reply_seq, reply_ns - request_ns as latency_ns, responder, taken_ns, answered_ns,
       answered_ns - taken_ns as service_ns
from served where nearest = 1
""",
    ),
}
"""The views besides the tables: what each is made of, and its SQL. Spark has the same (`amqp_sansio_spark.joining`)."""


@contextmanager
def database(
    captures: Captures,
    names: Iterable[str] | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    body: str = "size",
    clock_skew: float = 0.0,
    clock_offset: str = "",
    memory: int = MEMORY,
) -> Generator[duckdb.DuckDBPyConnection]:
    """Read captures into a DuckDB database, in one pass, and give the connection to it.

    `names` are tables and views (None: all): `connections`, `events`, `messages`, `violations`, `consumers`,
    `histories`, `topology`, and `unacked`, `rpc` and `open`; those that they are made of are there too. Each has a
    second name with `amqp_` before it, as in Spark. `fields` and `headers` are JSON. Spark's functions of the worked
    queries (`amqp_sansio_arrow.queries`) are there by its names, and nulls are ordered as there.

    The database is in `file`, which must not be there yet, and stays; by default in a temporary file, which goes with
    the block. The other arguments are those of `tables`. Raises ValueError for a wrong argument, FileExistsError, and
    what readers raise.
    """
    wanted = tables_of(tuple(TABLES) + tuple(VIEWS) if names is None else tuple(names))
    made = tables(captures, columns=columns, body=body, clock_skew=clock_skew, clock_offset=clock_offset, memory=memory)
    if file is not None and os.path.exists(file):
        raise FileExistsError(f"{os.fspath(file)}: is there already")
    with tempfile.TemporaryDirectory(prefix="amqp-sansio-") as folder:
        where = Path(folder, "tables.duckdb") if file is None else Path(file)
        with duckdb.connect(str(where)) as connection:
            try:
                _fill(connection, made, wanted)
            except BaseException:
                if file is not None:
                    connection.close()
                    where.unlink()
                raise
            yield connection


def tables_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the tables that tables and views are made of. Raises ValueError for a name that isn't there.

    >>> tables_of(["open", "histories"])
    ('connections', 'events', 'messages', 'histories')
    """
    found: dict[str, None] = {}
    for name in names:
        if name in VIEWS:
            found.update(dict.fromkeys(VIEWS[name][0]))
        elif name in TABLES:
            found[name] = None
        else:
            raise ValueError(f"no table is called {name!r}; there are {', '.join([*TABLES, *VIEWS])}")
    return tuple(found)


def named_in(sql: str) -> tuple[str, ...]:
    """Return the tables and views whose names are words of a query: at least those that it reads.

    >>> named_in("select count(*) from messages m join amqp_connections using (connection)")
    ('connections', 'messages')
    """
    words = {word.removeprefix(PREFIX) for word in re.findall(r"\w+", sql.lower())}
    return tuple([name for name in (*TABLES, *VIEWS) if name in words])


def _fill(connection: duckdb.DuckDBPyConnection, made: Tables, wanted: Sequence[str]) -> None:
    connection.execute("set timezone = 'UTC'")
    connection.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for macro in _MACROS:
        connection.execute(macro)
    kinds = {table: dict(TABLES[table]) for table in wanted}
    for table in wanted:
        columns = ", ".join([f'"{name}" {_TYPES[kinds[table][name]]}' for name in made.schema(table).names])
        connection.execute(f"create table {table} ({columns})")
        connection.execute(f"create view {PREFIX}{table} as select * from {table}")
    held: dict[str, list[pa.RecordBatch]] = {table: [] for table in wanted}
    for table, batch in made.batches(wanted):
        held[table].append(batch)
        if sum([each.num_rows for each in held[table]]) >= _GROUP_ROWS:
            _insert(connection, table, held[table])
    for table, batches in held.items():
        _insert(connection, table, batches)
    for name, (needs, sql) in VIEWS.items():
        if set(needs) <= set(wanted):
            connection.execute(f"create view {PREFIX}{name} as {sql}")
            connection.execute(f"create view {name} as select * from {PREFIX}{name}")


def _insert(connection: duckdb.DuckDBPyConnection, table: str, batches: list[pa.RecordBatch]) -> None:
    if batches:
        connection.register("inserted", _PA.Table.from_batches(batches))
        connection.execute(f"insert into {table} select * from inserted")
        connection.unregister("inserted")
        batches.clear()


__all__ = ["PREFIX", "VIEWS", "database", "named_in", "tables_of"]
