"""Reconnecting: what a driver needs to open another transport for a client that recovers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from amqp_sansio.client.driving import BaseClient
    from amqp_sansio.client.reaching import Reopening

    from .recording import Recorder
    from .transport import Transport

OpenTransport: TypeAlias = "Callable[[], Transport]"
"""Opens the transport of an attempt. Raises OSError."""
Reopen: TypeAlias = "Callable[[BaseClient[Any], Recorder | None, int], tuple[Reopening, OpenTransport]]"
"""Takes a client, its recording and the place of an address; returns the attempt, and what opens its transport."""


class Attempt:
    """Done when the attempt of recovery that is under way now has succeeded or failed, whatever comes then."""

    __slots__ = ("_client", "_number")

    def __init__(self, client: BaseClient[Any]) -> None:
        self._client = client
        """Whose recovery it belongs to."""
        self._number = 0 if client.recovery is None else client.recovery.number
        """That of the attempt: a later one doesn't count."""

    @property
    def done(self) -> bool:
        recovery = self._client.recovery
        return recovery is None or not recovery.tries(self._number)


def close_all(transports: list[Transport]) -> None:
    """Close transports that nobody waits on any more."""
    for each in transports:
        with suppress(OSError):
            each.close()
    transports.clear()


__all__ = ["Attempt", "OpenTransport", "Reopen", "close_all"]
