"""`demo`, and `replay` and `report` with `--engine spark`: whole runs, and what they say when something is missing."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_cli.demo_traffic import MESSAGES, ROUTES
from tests.cli.test_replay import one_line
from tests.kit.captures import named
from tests.kit.spark_session import SECONDS
from tests.kit.tables import local_rows, segments_of

Run = Callable[..., subprocess.CompletedProcess[str]]
NAMES = ("o091_pika_basic.pcap", "o091d_exchange_gap.pcap")
OF_A_REPORT = ("o_mixed_4_protocols.pcap", "o091_pika_nack_reject_requeue.pcap", "o091d_exchange_gap.pcap")

IN_TURN = """
import json, sys
from amqp_sansio_cli.main import main

for arguments in json.loads(sys.argv[1]):
    status = main(arguments)
    print("status", status, file=sys.stderr, flush=True)
"""
"""Commands in one process, whose JVM they share: to start it is most of the work."""


@pytest.mark.spark
def test_the_demo_shows_the_tables_and_answers(process: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    done = process("demo", env={"COLUMNS": "100", "TMPDIR": str(tmp_path)}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    titles = [line[3:] for line in lines if line.startswith("== ")]
    assert [title.partition(":")[0] for title in titles[: len(COLUMNS)]] == list(COLUMNS)
    assert titles[0] == "connections: 11 rows"
    assert titles[3] == "violations: 0 rows"
    # Every version published, and every message came to another version or is accounted for.
    queues = tuple([route.queue for route in ROUTES])
    fates = [line for line in lines if line.startswith(queues)]
    assert len(fates) == MESSAGES * len(ROUTES)
    for route in ROUTES:
        one, other = (f" {version.label} " for version in route)
        of_route = [line for line in fates if line.startswith(route.queue)]
        assert len([line for line in of_route if one in line and other in line]) == MESSAGES
        assert len([line for line in of_route if "rejected, 0-9-1 accepted" in line]) == 1
        assert len([line for line in of_route if "released, " in line]) == 1
        assert len([line for line in of_route if "unsettled" in line]) == 1
    assert len(titles) == 10
    assert "nothing" not in lines
    shown = [line for line in lines if not line.startswith("  ")]
    assert max(map(len, shown)) <= 100
    assert not list(tmp_path.iterdir()), "it leaves files behind"


@pytest.mark.spark
def test_parquet_and_page_are_those_of_the_local_engine(
    cli: Run, cli_environment: Mapping[str, str], tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra `spark`")
    paths, of_page = [named(name) for name in NAMES], [named(name) for name in OF_A_REPORT]
    output, page = tmp_path / "out", tmp_path / "spark.html"
    replay = ("replay", *paths, "--engine", "spark", "--output", output)
    report = ("report", *of_page, "--engine", "spark", "--output", page)
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, json.dumps([list(map(str, each)) for each in (replay, replay, report)])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        env=cli_environment,
        cwd=tmp_path,
        check=False,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    wanted = local_rows(segments_of(paths))
    assert done.stderr.splitlines() == [
        *[f"amqp-sansio: {len(wanted[table]):,} rows in {output / table}" for table in COLUMNS],
        "status 0",
        f"amqp-sansio: {output}: exists and isn't an empty folder",
        "status 2",
        f"amqp-sansio: 6 connections, 62 messages in {page}",
        "status 0",
    ]
    for table, columns in COLUMNS.items():
        found = parquet.read_table(output / table)
        assert found.column_names == [name for name, _ in columns]
        assert found.num_rows == len(wanted[table])
    local = tmp_path / "local.html"
    assert cli("report", *of_page, "--output", local).returncode == 0
    assert page.read_text() == local.read_text()


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "is 11"),
        ("echo 'java version \"1.8.0_401\"' >&2", "is 8"),
        ("exit 1", "doesn't run"),
        (
            "case $1 in --*) exit 1 ;; esac; echo 'openjdk version \"21.0.8\"' >&2",
            "lacks the module jdk.incubator.vector",
        ),
    ],
)
def test_a_java_that_does_not_do_is_one_line(cli: Run, tmp_path: Path, script: str, wanted: str) -> None:
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    assert wanted in one_line(cli("demo", env={"JAVA_HOME": str(tmp_path)}))


def test_a_missing_pyspark_is_one_line(process: Run, cli_environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ImportError('not here')\n")
    path = os.pathsep.join([str(tmp_path), cli_environment["PYTHONPATH"]])
    said = one_line(process("demo", env={"PYTHONPATH": path}))
    assert said == "amqp-sansio: pyspark can't be imported: not here\n"


def test_replay_needs_no_spark_and_no_report(tmp_path: Path, process: Run, cli_environment: dict[str, str]) -> None:
    for name in ("pyspark", "pyarrow", "pandas", "amqp_sansio_report"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')\n")
    path = os.pathsep.join([str(tmp_path), cli_environment["PYTHONPATH"]])
    for command in ("replay", "lint"):
        done = process(command, named(NAMES[0]), env={"PYTHONPATH": path})
        assert done.returncode == 0, done.stderr
