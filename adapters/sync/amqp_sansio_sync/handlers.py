"""Calls in signal handlers: closing something there mustn't wait for the thread that the signal interrupted.

A handler runs between two instructions of the main thread. If that was inside of this package it may hold a lock, or be
the reader of the socket, and continues only when the handler returns.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Final

from amqp_sansio import By, CloseReport, EndpointClosed

if TYPE_CHECKING:
    from .system import System

_PACKAGE: Final = __name__.partition(".")[0]
_BELOW: Final = f"{_PACKAGE}.simulated"
"""The module whose frames stand below a program's in a simulated world, where `threading`'s stand in a thread."""

_logger = logging.getLogger(_PACKAGE)


def interrupts_itself() -> bool:
    """Whether the current call comes from code that interrupted a call of this package in the same thread.

    The stack shows it at any instruction, without bookkeeping that an exception could leave behind.
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    while frame is not None and not _is_ours(frame):
        frame = frame.f_back
    return frame is not None


def aside(system: System, what: str, call: Callable[[], object]) -> CloseReport:
    """Make a call in another thread without waiting for it; return a report that says so."""

    def make() -> None:
        # A caller that continues with the ended object gets the reason there.
        with suppress(EndpointClosed):
            try:
                call()
            except TimeoutError as error:
                _logger.warning("called in a signal handler: %s", error)

    system.start(make, f"amqp-sansio-{what}")
    return CloseReport(By.LOCAL, 0, f"{what} is under way, a signal handler asked for it")


def _is_ours(frame: FrameType) -> bool:
    name: str = frame.f_globals.get("__name__", "")
    return name != _BELOW and (name == _PACKAGE or name.startswith(_PACKAGE + "."))


__all__ = ["aside", "interrupts_itself"]
