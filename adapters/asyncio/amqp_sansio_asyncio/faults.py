"""Faults: injects faults between a served broker and its clients, at the transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .clock import Timer


class Line(Protocol):
    """One client's connection, for `Faults`."""

    @property
    def number(self) -> int:
        """The number of the hub's client (`Hub.clients`)."""
        ...

    def give(self, data: bytes) -> None:
        """Give the broker octets, as if the client had just sent them."""
        ...

    def put(self, data: bytes) -> None:
        """Give the client octets, ahead of everything queued for it."""
        ...

    def cut(self) -> None:
        """End the transport at once, with a RST, discarding unwritten octets."""
        ...

    def hold(self, held: bool) -> None:
        """Read nothing from the client while `held`; its buffers fill up and it waits."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` after that many seconds of the broker's clock."""
        ...


class Faults:
    """Passes everything on; subclasses don't.

    A subclass may pass on octets later, with `Line.give` and `Line.put`: for a delay, call `line.call_later(0.1,
    lambda: line.give(data))` and return nothing. All methods are called in the event loop's thread.
    """

    def connected(self, line: Line) -> bool:
        """A client has connected. False resets its connection at once."""
        return True

    def received(self, line: Line, data: bytes) -> bytes:
        """The client sent `data`; return the octets for the broker."""
        return data

    def sending(self, line: Line, data: bytes) -> bytes:
        """The broker sends `data`; return the octets to write."""
        return data

    def received_end(self, line: Line, end: Callable[[], None]) -> None:
        """The client has ended its side of the stream; call `end` to tell the broker.

        Pass on delayed octets before; afterwards `Line.give` does nothing.
        """
        end()

    def sending_end(self, line: Line, end: Callable[[], None]) -> None:
        """The broker has sent everything; call `end` to end the stream. Afterwards `Line.put` does nothing."""
        end()

    def lost(self, line: Line) -> None:
        """The transport is gone."""


__all__ = ["Faults", "Line"]
