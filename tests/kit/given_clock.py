"""A clock that a test sets, for modules that ask `time` for the time."""


class GivenClock:
    """Stands still at `now`, in seconds, until `now` is set."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def time(self) -> float:
        """As `time.time()`."""
        return self.now
