"""SessionEnded: what who uses a session after its end gets (0-10 part 1 section 3.6)."""

from __future__ import annotations

from amqp_sansio import CloseReport, EndpointClosed


class SessionEnded(EndpointClosed):
    """A session of 0-10 isn't attached any more; `session` is its name, `report` says who ended it and why.

    `resumable`: both ends still know it, so that `resume_session` with its `detached_state()` goes on; what waited for
    an answer gets it there, see `pending`.
    """

    def __init__(
        self,
        text: str,
        report: CloseReport | None = None,
        session: bytes = b"",
        resumable: bool = False,
    ) -> None:
        super().__init__(text, report)
        self.session = session
        self.resumable = resumable

    @property
    def code(self) -> int:
        """The error's code, such as 404 (execution.error-code), or why the server detached it (session.detach-code).

        0 where there was no error.
        """
        return 0 if self.report is None else self.report.code

    @property
    def condition(self) -> str:
        """The name of the code ("not-found", "session-busy"); "" where there was no error."""
        return "" if self.report is None else self.report.condition

    def __reduce__(self) -> tuple[object, ...]:
        return self.__class__, (str(self), self.report, self.session, self.resumable)


__all__ = ["SessionEnded"]
