"""FrameLines: one line of text for each frame of a connection, without its secrets, for logs.

The lines are for people, as those of PN_TRACE_FRM: `-> 1 queue.declare(queue='jobs', ...)`. Programs read an observer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from .._watching.observation import Identified, Observed, Skipped, Violation
from ..events import Signal
from ..observer import Observer
from ._json import SECRET

if TYPE_CHECKING:
    from .._watching.observation import ObserverEvent

LONGEST: Final = 500
"""Most characters of a line."""
_TOKEN: Final = "security_token"
_IS: Final = ": "
_CLOSING: Final = 2
"""Most characters behind a key before that: its quote, and the bracket of its type."""
_CLIENT: Final = "client"
_SERVER: Final = "server"


class FrameLines:
    """The lines of one connection's frames, from the octets that its end `is_client` sends and receives.

    `from_start` says that the first octets are the connection's; else lines begin with the first frames that are
    recognised for sure. A message with all its frames is one line, with the size of its body in place of the body.

    >>> lines = FrameLines(is_client=True)
    >>> list(lines.feed(b"AMQP\\x00\\x00\\x09\\x01", sent=True))
    ['-> 0 AMQP 0-0-9-1']
    """

    def __init__(self, *, is_client: bool, from_start: bool = True) -> None:
        self._own = _CLIENT if is_client else _SERVER
        self._other = _SERVER if is_client else _CLIENT
        self._observer = Observer(client=_CLIENT, from_start=from_start, body="size")
        self._known: tuple[tuple[object, ...], str] = (), ""

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
        return ""

    def _shown(self, event: Observed) -> str:
        content, properties = event.content, event.properties
        if event.unit == "header":
            text = f"AMQP {'-'.join(map(str, content[4:]))}"
        elif isinstance(content, bytes) or content is None:
            text = event.event if event.unit == "heartbeat" else f"{event.event} ({event.size} octets)"
        elif event.event in SECRET:
            mechanism: object = getattr(content, "mechanism", None)
            text = f"{event.event}({'' if mechanism is None else f'mechanism={mechanism!r}, '}...)"
        else:
            text = _without_tokens(f"{event.event}({repr(content).partition('(')[2]}")
        octets: tuple[object, ...] = getattr(properties, "CLASS_ID", None), getattr(properties, "raw", None)
        if octets[1] is None or octets != self._known[0]:
            # Most messages have the properties of the one before.
            structs: tuple[object, ...] = getattr(properties, "structs", (properties,))
            self._known = octets, _without_tokens("".join([f" {each!r}" for each in structs if each is not None]))
        text += self._known[1]
        if event.unit in ("content", "part", "partial"):
            text += f", body of {event.body_size} octets"
        return text


def _without_tokens(text: str) -> str:
    """Return the text of records without the tokens that a map has under the key of a token."""
    at = text.find(_TOKEN)
    if at < 0:
        return text
    shown, start = "", 0
    while at >= 0:
        value = text.find(_IS, at)
        at += len(_TOKEN)
        if at < value <= at + _CLOSING:
            value += len(_IS)
            shown += f"{text[start:value]}..."
            start = at = _end_of_value(text, value)
        at = text.find(_TOKEN, at)
    return shown + text[start:]


def _end_of_value(text: str, at: int) -> int:
    """Return where the `repr` ends that begins there: at a comma or bracket that isn't its own."""
    depth, quote = 0, ""
    while at < len(text):
        each = text[at]
        if quote:
            if each == "\\":
                at += 1
            elif each == quote:
                quote = ""
        elif each in "'\"":
            quote = each
        elif each in "([{":
            depth += 1
        elif each in ")]},":
            if not depth:
                break
            depth -= each != ","
        at += 1
    return at


__all__ = ["LONGEST", "FrameLines"]
