"""ClickHouse's lines of docs/arrow.md, in the engine of `clickhouse local` as PyPI has it (chdb)."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import duckdb
import pytest

import amqp_sansio_arrow
from tests.docs.test_pages import DOCS
from tests.kit.captures import named

QUERIES: Final = re.findall(r'^clickhouse local -q "(.*)"$', (DOCS / "arrow.md").read_text(encoding="utf-8"), re.M)


@pytest.mark.skipif(find_spec("chdb") is None, reason="needs chdb; the group clickhouse installs it")
def test_the_query_of_the_page_gives_what_duckdb_gives(tmp_path: Path) -> None:
    amqp_sansio_arrow.write([named("o091_pika_nack_reject_requeue.pcap")], tmp_path / "tables")
    [query] = QUERIES
    run = subprocess.run(
        [sys.executable, "-m", "chdb", query, "CSV"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = [(queue, None if late == r"\N" else float(late)) for queue, late in csv.reader(run.stdout.splitlines())]
    table = tmp_path / "tables" / "messages.parquet"
    expected = duckdb.connect().execute(
        f"select coalesce(queue, '\\N'), quantile_cont(latency_ns, 0.99) / 1e6 from '{table}' group by queue"
    )
    rows = dict(expected.fetchall())
    assert found
    assert dict(found).keys() == rows.keys()
    for queue, late in found:
        assert (late is None) == (rows[queue] is None)
        if late is not None:
            assert abs(late - rows[queue]) <= 1e-6 * max(1, rows[queue])
