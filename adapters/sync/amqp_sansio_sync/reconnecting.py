"""Reconnecting: what a driver needs to open another transport for a client that recovers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from amqp_sansio.client.recovery import State

from .transport import Transport

if TYPE_CHECKING:
    from amqp_sansio.client.driving import BaseClient

Reopen: TypeAlias = "Callable[[int], tuple[Any, Callable[[], Transport]]]"
"""Takes the place of an address; returns a new core, and what opens the transport. The latter raises OSError."""


class Nowhere(Transport):
    """The transport while there is none: it has no octets and takes none; `wait` ends by `wake` alone."""

    __slots__ = ("_other",)

    def __init__(self) -> None:
        one, self._other = socket.socketpair()
        super().__init__(one, None)

    def read(self, budget: int) -> bytes | None:
        return None

    def write(self, octets: bytes | memoryview) -> int:
        return len(octets)

    def close(self) -> None:
        self._other.close()
        super().close()


class Attempt:
    """Done when an attempt of recovery has succeeded or failed."""

    __slots__ = ("_client",)

    def __init__(self, client: BaseClient[Any]) -> None:
        self._client = client

    @property
    def done(self) -> bool:
        recovery = self._client.recovery
        return recovery is None or recovery.state not in (State.CONNECTING, State.RESTORING)


def close_all(transports: list[Transport]) -> None:
    """Close transports that nobody waits on any more."""
    for each in transports:
        with suppress(OSError):
            each.close()
    transports.clear()


__all__ = ["Attempt", "Nowhere", "Reopen", "close_all"]
