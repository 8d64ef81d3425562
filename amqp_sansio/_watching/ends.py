"""The ends of calls that get no answer: each fails with one error, and one event says so."""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from ..events import Abandoned

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Collection
    from typing import Any

    from ..errors import AmqpError, EndpointClosed
    from ..events import CloseReport, Event, Pending


def failed(pendings: Collection[Pending[Any]], error: AmqpError) -> tuple[Pending[Any], ...]:
    """End calls with an error, for the event that tells of it."""
    for pending in pendings:
        pending.fail(error)
    return tuple(pendings)


def tell_abandoned(
    events: deque[Event],
    pendings: Collection[Pending[Any]],
    error: EndpointClosed,
    report: CloseReport,
    resumable: bool = False,
) -> None:
    """End calls that will never be answered, and tell of them if there are any."""
    if pendings:
        events.append(Abandoned(failed(pendings, error), report, resumable))
