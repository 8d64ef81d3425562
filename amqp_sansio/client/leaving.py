"""Leaving: what bounds the end of a part of a connection, such as a channel, a session, a link or a consumer.

Who leaves a part waits for the peer's answer, but not for ever: `BaseClient.leave` gives the part up after
`close_timeout`, or when the wait is interrupted. The harm is as small as its cause: a link that is given up leaves its
session usable, and a late answer is taken as if somebody still waited for it. Only until then other ends on the
connection, such as those of the session or of the connection itself, don't wait for an answer either, so that nested
contexts take no longer than the innermost one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .recovery import Steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..events import CloseReport, Pending


class Part(Protocol):
    """A part of a connection that can be left."""

    @property
    def closed(self) -> Pending[None]:
        """Done when it has ended."""
        ...

    @property
    def is_overdue(self) -> bool:
        """Whether it was given up, and the peer still owes the answer."""
        ...

    def give_up(self, report: CloseReport) -> None:
        """Take it as over, and wake who waits for that."""
        ...


class Both:
    """Two parts that are left together."""

    def __init__(self, first: Part, second: Part) -> None:
        # They have ended when both have.
        self._parts = first, second

    @property
    def closed(self) -> Pending[None]:
        """Done when both have ended."""
        first, second = self._parts
        return second.closed if first.closed.done else first.closed

    @property
    def is_overdue(self) -> bool:
        """Whether either was given up, and the peer still owes the answer."""
        return any(each.is_overdue for each in self._parts)

    def give_up(self, report: CloseReport) -> None:
        """Take those as over that haven't ended."""
        for each in self._parts:
            if not each.closed.done:
                each.give_up(report)


class Late(Steps):
    """Gives a part up when its time is over, by a function that returns whether it hadn't ended. `has_come` says that
    this has happened.
    """

    def __init__(self, give_up: Callable[[], bool]) -> None:
        # Whether the part hadn't ended when its time was over.
        self.has_come = False
        # Takes the part as over; returns whether it wasn't.
        self._give_up = give_up

    def answered(self, pending: Pending[Any]) -> None:
        """Give the part up, unless it has ended meanwhile."""
        self.has_come = self._give_up()


__all__ = ["Both", "Late", "Part"]
