"""`report` as a process: a live pipe."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.kit.captures import named
from tests.kit.processes import LIMIT, running
from tests.kit.sync_user import wait_until


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
