"""`query`: SQL over captures, in DuckDB."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import duckdb
import pytest

from amqp_sansio_arrow.database import VIEWS, database, named_in, tables_of
from amqp_sansio_arrow.queries import QUERIES
from amqp_sansio_arrow.whole import TABLES
from tests.kit.captures import named

Run = Callable[..., subprocess.CompletedProcess[str]]
ERRORS = "o091_pika_channel_errors.pcap"
COUNTED = "select event, count(*) as n, max(ts) as last from events group by 1 order by n desc, event limit 2"


def test_a_query_prints_a_table_or_rows(cli: Run) -> None:
    table = cli("query", COUNTED, named(ERRORS))
    assert (table.returncode, table.stderr) == (0, "")
    lines = table.stdout.splitlines()
    assert lines[0].split() == ["event", "n", "last"] and lines[1].startswith("-----")
    rows = [json.loads(line) for line in cli("query", COUNTED, named(ERRORS), "--format", "jsonl").stdout.splitlines()]
    assert [line.split()[:2] for line in lines[2:]] == [[row["event"], str(row["n"])] for row in rows]
    assert all(row["last"].endswith("Z") for row in rows)
    written = list(csv.DictReader(StringIO(cli("query", COUNTED, named(ERRORS), "--format", "csv").stdout)))
    assert written == [{name: str(value) for name, value in row.items()} for row in rows]


def test_fields_are_json(cli: Run) -> None:
    sql = "select fields, fields->>'reply_code' as code from events where event = 'channel.close' order by seq limit 1"
    (line,) = cli("query", sql, named(ERRORS), "--format", "jsonl").stdout.splitlines()
    row = json.loads(line)
    assert str(row["fields"]["reply_code"]) == row["code"]


@pytest.mark.parametrize("name", QUERIES)
def test_a_worked_query_runs_by_its_name(cli: Run, name: str) -> None:
    done = cli("query", name, named(ERRORS), "--format", "csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout.count("\n") > 1) == (name in ("channel_closes", "churn", "never_delivered"))


def test_the_database_can_stay(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "traffic.duckdb"
    done = cli("query", "select count(*) as n from messages", named(ERRORS), "--database", path, "--format", "csv")
    assert (done.returncode, done.stderr) == (0, f"amqp-sansio: the tables are in {path}: duckdb {path}\n")
    with duckdb.connect(str(path), read_only=True) as again:
        found = {name for (name,) in again.execute("select table_name from information_schema.tables").fetchall()}
        assert found == {*TABLES, *VIEWS, *[f"amqp_{name}" for name in (*TABLES, *VIEWS)]}
        for name in sorted(found):
            again.execute(f"select * from {name}").fetchall()
    assert f"{path}: is there already" in cli("query", COUNTED, named(ERRORS), "--database", path).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["select no from events", ERRORS], 'DuckDB: Binder Error: Referenced column "no" not found in FROM clause!'),
        (["select * from eventss", ERRORS], "there is no table 'eventss'; did you mean 'events'?"),
        (["select * from rows", ERRORS], "there is no table 'rows'; known are connections, consumers, events, "),
        (["select nope(1) from events", ERRORS], "DuckDB: Catalog Error: Scalar Function with name nope"),
        (["selec 1", ERRORS], "DuckDB: Parser Error: syntax error at or near"),
        (["unaked", ERRORS], "'unaked' is neither SQL nor a worked query: unacked, channel_closes"),
        (["select 1", "-"], "query reads files, not standard input"),
        (["select 1 from events", "none.pcap"], "none.pcap: no such file"),
    ],
)
def test_what_cant_be_asked_is_one_line(cli: Run, arguments: list[str], words: str) -> None:
    done = cli("query", *[str(named(each)) if each == ERRORS else each for each in arguments])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr


def test_the_help_names_every_table(cli: Run) -> None:
    told = cli("query", "--help").stdout
    assert [name for name in (*TABLES, *VIEWS) if name not in told] == []


@pytest.mark.parametrize("package", ["duckdb", "pyarrow"])
def test_what_is_missing_is_named(cli: Run, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in (package, "amqp_sansio_arrow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    done = cli("query", "unacked", named(ERRORS))
    assert (done.returncode, done.stderr) == (
        2,
        f"amqp-sansio: query needs {package}: pip install 'amqp-sansio[arrow]' duckdb\n",
    )


def test_only_the_tables_that_a_query_names_are_made() -> None:
    assert named_in("SELECT * FROM amqp_Messages, events_of") == ("messages",)
    assert tables_of(["unacked", "topology"]) == ("messages", "topology")
    with pytest.raises(ValueError, match="no table is called 'x'"):
        tables_of(["x"])
    with database(named(ERRORS), ["messages"]) as connection:
        names = {name for (name,) in connection.execute("select table_name from information_schema.tables").fetchall()}
    assert names == {f"{prefix}{name}" for prefix in ("", "amqp_") for name in ("messages", "unacked", "rpc")}


def test_a_database_that_fails_leaves_no_file(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_text("nothing of the kind")
    with pytest.raises(Exception, match="begins with"), database(broken, file=tmp_path / "x.duckdb"):
        pass
    assert os.listdir(tmp_path) == ["broken.pcap"]
