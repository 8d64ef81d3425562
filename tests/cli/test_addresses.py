"""Addresses of the commands: which of them are the same, and the file that says where a command listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio_cli.addresses import announce, leads_to
from amqp_sansio_cli.errors import CommandError
from amqp_sansio_cli.record import check_recording


def is_local(host: str) -> bool:
    return host.startswith("127.") or host in ("::1", "192.0.2.7")


@pytest.mark.parametrize(
    ("upstream", "listening", "same"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("127.0.0.2", "127.0.0.1", False),
        ("::1", "127.0.0.1", False),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("::", "::1", True),
        ("192.0.2.7", "0.0.0.0", True),
        ("127.0.0.1", "0.0.0.0", True),
        ("127.0.0.1", "::", False),
        ("0.0.0.0", "0.0.0.0", True),
        ("192.0.2.8", "0.0.0.0", False),
        ("::1", "::", True),
        ("2001:db8::1", "::", False),
    ],
)
def test_an_upstream_that_is_the_proxy(upstream: str, listening: str, same: bool) -> None:
    assert leads_to((upstream, 5672), [("10.0.0.1", 1), (listening, 5672)], is_local) is same
    assert not leads_to((upstream, 5673), [(listening, 5672)], is_local)


def test_a_ready_file_has_a_line_for_each_address(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    announce(ready, ["127.0.0.1:5672", "[::1]:5673"])
    assert ready.read_bytes() == b"127.0.0.1:5672\n[::1]:5673\n"
    assert list(tmp_path.iterdir()) == [ready]


def test_a_recording_that_can_be_there_is_not_changed_by_the_check(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    check_recording(path)
    assert not path.exists()
    path.write_bytes(b"")
    check_recording(path)
    path.write_bytes(b"\x0a\x0d\x0d\x0a torn")
    check_recording(path)
    assert path.read_bytes() == b"\x0a\x0d\x0d\x0a torn"
    path.write_bytes(b"notes")
    with pytest.raises(CommandError, match="exists and is no pcapng recording"):
        check_recording(path)
