"""The scripts of tests/client/test_hostile_servers.py against the blocking adapter, over loopback."""

import pytest

from tests.client.test_hostile_servers import break_client, play
from tests.kit import hostile_sync


def test_no_script_hangs_a_client_or_gets_an_undocumented_exception_out_of_it() -> None:
    play(hostile_sync.run_on_loopback, 40)


def test_an_undocumented_exception_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    break_client(monkeypatch)
    with pytest.raises(AssertionError, match="nobody expects this"):
        for seed in range(200):
            hostile_sync.run_on_loopback(seed)
