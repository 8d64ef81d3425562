"""Exceptions for the use of a 0-10 session after its end (0-10 part 1 section 3.6)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from amqp_sansio.errors import SessionEnded

if TYPE_CHECKING:
    from amqp_sansio.events import CloseReport


def session_ended(name: bytes, report: CloseReport, resumable: bool = False) -> SessionEnded:
    """Return the exception for the use of a session after its end."""
    text = f"session {name.decode('utf-8', 'backslashreplace')!r}: {report}"
    if resumable:
        text += "; it can be resumed, see session.detached_state()"
    return SessionEnded(text, report, name, resumable)


def again(error: SessionEnded) -> SessionEnded:
    """Return the same exception for another caller, with its cause."""
    copied = copy.copy(error)
    copied.__cause__ = error.__cause__
    return copied


__all__ = ["again", "session_ended"]
