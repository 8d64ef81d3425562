"""`lint` on recordings of services: what `$cbs` and `$management` refused is a warning, and no token is shown."""

from pathlib import Path

from tests.cli.conftest import Run
from tests.kit.tunnels import ETHERNET, frame, wrapped
from tests.report.test_services import Asking
from tests.tables.test_tables import packets


def _saved(asking: Asking, path: Path) -> Path:
    path.write_bytes(wrapped(packets(asking.talk), ETHERNET, frame))
    return path


def test_a_refused_token_is_a_warning_of_its_connection(cli: Run, tmp_path: Path) -> None:
    asking = Asking()
    asking.put(202, "Accepted")
    asking.put(401, "the signature is wrong")
    done = cli("lint", _saved(asking, tmp_path / "bus.pcap"))
    lines = done.stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if line.endswith("warning  answer to put-token"))
    assert lines[place + 1] == "      server: 401 the signature is wrong (orders)"
    assert "0 errors, 1 warning in 1 connection" in done.stderr
    assert done.returncode == 1
    assert "s3cret" not in done.stdout + done.stderr
    assert cli("lint", "--fail-on", "error", tmp_path / "bus.pcap").returncode == 0


def test_a_refused_request_says_what_it_means(cli: Run, tmp_path: Path) -> None:
    asking = Asking()
    asking.ask(2, {}, operation="com.microsoft:renew-lock")
    asking.answer(3, 0, statusCode=410, statusDescription="gone", errorCondition="com.microsoft:message-lock-lost")
    lines = cli("lint", _saved(asking, tmp_path / "bus.pcap")).stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if "answer to com.microsoft:renew-lock" in line)
    assert lines[place + 1].startswith("      server: com.microsoft:message-lock-lost 410 gone (orders/$management): ")


def test_what_is_answered_well_is_nothing_to_warn_of(cli: Run, tmp_path: Path) -> None:
    asking = Asking()
    asking.put(200, "OK")
    done = cli("lint", _saved(asking, tmp_path / "bus.pcap"))
    assert (done.stdout, done.stderr) == ("", "amqp-sansio: 0 errors, 0 warnings in 1 connection\n")
