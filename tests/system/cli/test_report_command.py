"""`report` as a process: a live pipe, and Spark's engine."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.kit.captures import named
from tests.kit.processes import LIMIT, running
from tests.kit.sync_user import wait_until

Run = Callable[..., subprocess.CompletedProcess[str]]


MIXED = "o_mixed_4_protocols.pcap"


def test_the_page_of_a_pipe_is_written_meanwhile(cli_environment: Mapping[str, str], tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    command = [sys.executable, "-m", "amqp_sansio_cli", "report", "-", "--output", str(page), "--every", "0"]
    with running(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=cli_environment) as process:
        assert process.stdin is not None
        process.stdin.write(named("o010_messaging_authfail.pcap").read_bytes())
        process.stdin.flush()
        wait_until(lambda: page.exists() and "</html>" in page.read_text())
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(LIMIT) == 0
    assert page.read_text().count("</html>") == 1


@pytest.mark.spark
def test_spark_makes_the_same_page(cli: Run, process: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    paths = [named(MIXED), named("o091_pika_nack_reject_requeue.pcap"), named("o091d_exchange_gap.pcap")]
    local, spark = tmp_path / "local.html", tmp_path / "spark.html"
    assert cli("report", *paths, "--output", local).returncode == 0
    done = process("report", *paths, "--output", spark, "--engine", "spark")
    assert done.returncode == 0, done.stderr
    assert spark.read_text() == local.read_text()
