"""The handles that events end, and a check that every end is told once."""

from typing import Any

from amqp_sansio import Abandoned, Closed, Event, Failed, Opened, Pending, Replied, Scope, Settled


def ended_by(event: Event) -> tuple[Pending[Any], ...]:
    """The handles that an event ends."""
    if isinstance(event, Settled | Failed | Abandoned):
        return event.pendings
    if isinstance(event, Opened | Replied) and event.pending is not None:
        return (event.pending,)
    return ()


class Telling:
    """Checks that every end is told once, and nothing after the connection's."""

    def __init__(self) -> None:
        self.ended: dict[int, Event | None] = {}
        self.kept: list[Any] = []
        self.closed = False

    def __call__(self, event: Event) -> None:
        assert not self.closed, event
        repr(event)
        for handle in ended_by(event):
            assert handle.done, event
            self.end(handle, event)
        if isinstance(event, Closed) and event.scope is Scope.CONNECTION:
            self.closed = True

    def end(self, handle: Pending[Any], event: Event | None) -> None:
        """A handle has ended."""
        assert id(handle) not in self.ended, (handle, event, self.ended[id(handle)])
        self.ended[id(handle)] = event
        self.kept.append(handle)
