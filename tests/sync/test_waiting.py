"""Waits where nothing interrupts them: they end often enough for the handlers of signals to run."""

from __future__ import annotations

import select
import socket
from typing import cast

import pytest

from amqp_sansio_sync import transport


@pytest.mark.parametrize(("asked", "waited"), [(None, 0.5), (3600, 0.5), (0.1, 0.1)])
def test_a_wait_for_a_socket_is_cut(monkeypatch: pytest.MonkeyPatch, asked: float | None, waited: float) -> None:
    pauses: list[float] = []

    def note(readers: list[object], writers: list[object], _: list[object], pause: float) -> tuple[list[object], ...]:
        pauses.append(pause)
        return [], [], []

    monkeypatch.setattr(select, "select", note)
    none = cast("socket.socket", None)
    assert not transport.ready_by_select(none, none, True, False, asked)
    assert pauses == [waited]
