"""FrameLines: one line of text for each frame of a connection, without its secrets, for logs.

The lines are for people, as those of PN_TRACE_FRM: `-> 1 queue.declare {"queue":"jobs",...}`, with the fields as in the
table of events. Programs read an observer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from .._watching.observation import Identified, Observed, Skipped, Violation
from ..events import Signal
from ..observer import Observer
from ._json import FieldWriter

if TYPE_CHECKING:
    from .._watching.observation import ObserverEvent

LONGEST: Final = 500
"""Most characters of a line."""
_CLIENT: Final = "client"
_SERVER: Final = "server"


class FrameLines:
    """The lines of one connection's frames, from the octets that its end `is_client` sends and receives.

    `from_start` says that the first octets are the connection's; else lines begin with the first frames that are
    recognised for sure. A message with all its frames is one line, with the size of its body in place of the body; of
    passwords and tokens a line has their size.

    >>> lines = FrameLines(is_client=True)
    >>> list(lines.feed(b"AMQP\\x00\\x00\\x09\\x01", sent=True))
    ['-> 0 AMQP 0-0-9-1']
    """

    def __init__(self, *, is_client: bool, from_start: bool = True) -> None:
        self._own = _CLIENT if is_client else _SERVER
        self._other = _SERVER if is_client else _CLIENT
        self._observer = Observer(client=_CLIENT, from_start=from_start, body="size")
        self._fields = FieldWriter("size", secrets=False)
        """Writes what the tables' column `fields` has, without secrets."""

    def feed(self, octets: bytes, *, sent: bool) -> Iterator[str]:
        """Take octets that were sent or received; yield a line for each frame that they complete."""
        observer = self._observer
        observer.receive_data(octets, self._own if sent else self._other, 0)
        while not isinstance(event := observer.next_event(), Signal):
            line = self._line(event)
            if line:
                yield line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"

    def _line(self, event: ObserverEvent) -> str:
        if isinstance(event, Observed):
            arrow = "->" if event.sender.value == self._own else "<-"
            return f"{arrow} {event.channel} {self._shown(event)}"
        if isinstance(event, Violation):
            return f"!! {event.channel} {event.rule}: {event.text}"
        if isinstance(event, Skipped):
            return f"!! {event.octets} octets skipped"
        assert isinstance(event, Identified)
        self._fields.forget()
        return ""

    def _shown(self, event: Observed) -> str:
        if event.unit == "header":
            return f"AMQP {'-'.join(map(str, event.content[4:]))}"
        if isinstance(event.content, bytes) or event.content is None:
            return event.event if event.unit == "heartbeat" else f"{event.event} ({event.size} octets)"
        fields = self._fields.write(event)
        return event.event if fields == "{}" else f"{event.event} {fields}"


__all__ = ["FrameLines"]
