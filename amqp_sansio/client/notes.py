"""Noting: what a client keeps to be told: lines for the driver's log, and failures that no caller has been told."""

from __future__ import annotations

import copy
from collections import deque
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from ..errors import AmqpError, EndpointClosed
from ..events import By
from .driver import CoreT

if TYPE_CHECKING:
    from ..events import CloseReport

_PARTS = ("channel ", "session ", "link ")
"""How errors of parts of a connection begin."""
NOTES = 1000
"""Lines for a log that are kept for the driver; the oldest go first."""

_Error = TypeVar("_Error", bound=AmqpError)


class Note(NamedTuple):
    """A line for a log of what happened; `warns`: an operator should see it."""

    text: str
    warns: bool = False


class Noting(Generic[CoreT]):
    """The notes of a client; see `BaseClient`."""

    def __init__(self, core: CoreT) -> None:
        # The connection of this moment: recovery puts another in its place.
        self.core = core
        # Host and port of the server, for lines of the log.
        self.where = ""
        # Lines that the driver hasn't logged yet; the oldest go first.
        self.notes: deque[Note] = deque(maxlen=NOTES)
        # Failures of the connection and its parts that no caller was told, by what failed.
        self.unseen: dict[object, EndpointClosed] = {}

    def note(self, text: str, *, warns: bool = False) -> None:
        """Keep a line for the log; `warns`: an operator should see it."""
        self.notes.append(Note(text, warns))

    def take_notes(self) -> list[Note]:
        """Take the lines for a log of what happened since the last call."""
        notes = list(self.notes)
        self.notes.clear()
        return notes

    def whose(self, report: CloseReport) -> str:
        """Return what an error of a part of the connection says of the connection, if the peer refused something."""
        if report.by is not By.REMOTE or not (report.code or report.condition) or not self.where:
            return ""
        name = self.core.config.properties.get("connection_name")
        return f" (connection {f'{name!r} ' if name else ''}to {self.where})"

    def for_caller(self, error: _Error) -> _Error:
        """Return an error for one more caller, with its cause, and note that a caller has been told.

        It is a copy: each raising adds to an exception's traceback.
        """
        found = copy.copy(error)
        found.__cause__ = error.__cause__
        report = getattr(error, "report", None)
        if report is not None and str(error).startswith(_PARTS):
            whose = self.whose(report)
            if whose and not str(error).endswith(whose):
                found.args = (f"{error}{whose}",)
        self.seen(report)
        return found

    def seen(self, report: CloseReport | None) -> None:
        """Note that a caller has been told of a failure."""
        for key, error in list(self.unseen.items()):
            if key == 0 or error.report == report:
                del self.unseen[key]

    def take_unseen(self, before: dict[object, EndpointClosed]) -> EndpointClosed | None:
        """Take the failures that no caller has been told; return the first.

        `before` is a copy of `unseen` before the close of somebody who doesn't show its report to anybody.
        """
        unseen = before | self.unseen
        self.unseen.clear()
        return next(iter(unseen.values()), None)


__all__ = ["Note", "Noting"]
