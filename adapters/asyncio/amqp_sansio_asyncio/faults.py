"""Faults: what goes wrong on purpose between a served broker and its clients, at the border of the transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .clock import Timer


class Line(Protocol):
    """One client's connection as `Faults` gets at it."""

    @property
    def number(self) -> int:
        """The number that the hub's client has (`Hub.clients`)."""
        ...

    def give(self, data: bytes) -> None:
        """Let the broker have octets, as if the client had just sent them."""
        ...

    def put(self, data: bytes) -> None:
        """Let the client have octets, past whatever else is queued for it."""
        ...

    def cut(self) -> None:
        """End the transport at once, with a RST, whatever is still to be written."""
        ...

    def hold(self, held: bool) -> None:
        """Read nothing from the client while `held`; it fills its buffers and waits."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` when so many seconds have passed on the broker's clock."""
        ...


class Faults:
    """Lets everything pass; a subclass doesn't.

    What a subclass keeps back it may hand on later, with `Line.give` and `Line.put`: a delay is
    `line.call_later(0.1, lambda: line.give(data))` and nothing returned. Everything is called where the event loop
    runs.
    """

    def connected(self, line: Line) -> bool:
        """A client has come. False turns it away with a RST, before a word is said."""
        return True

    def received(self, line: Line, data: bytes) -> bytes:
        """The client sent `data`: what the broker gets of it."""
        return data

    def sending(self, line: Line, data: bytes) -> bytes:
        """The broker sends `data`: what is written of it."""
        return data

    def received_end(self, line: Line, end: Callable[[], None]) -> None:
        """The client has ended its side of the stream: `end` lets the broker know.

        What is kept back of its octets comes before; `Line.give` gives nothing after it.
        """
        end()

    def sending_end(self, line: Line, end: Callable[[], None]) -> None:
        """The broker has said all: `end` ends the stream. `Line.put` puts nothing after it."""
        end()

    def lost(self, line: Line) -> None:
        """The transport is gone."""


__all__ = ["Faults", "Line"]
