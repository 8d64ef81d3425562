"""A line that shows the progress of long work, only for people: on a terminal, on standard error."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

# Consoles of Windows may show an escape sequence instead of following it.
_CLEAR: Final = "\r\x1b[K" if os.name != "nt" else f"\r{' ' * 78}\r"
_EVERY = 0.2
_PATIENCE = 1.0


class Progress:
    """Shows a percentage after the first second; shows nothing if standard error isn't a terminal."""

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown and sys.stderr.isatty()
        """Whether standard error is a terminal."""
        self._label = ""
        """What goes on."""
        self._total = 0
        """Octets in all; 0: not known."""
        self._done = 0
        """Octets so far."""
        self._next = 0.0
        """When it is written next, in seconds."""
        self._dirty = False
        """Whether a line stands there that has to go."""

    def start(self, label: str, total: int) -> None:
        """Begin a piece of work of `total` steps."""
        self.stop()
        self._label = label
        self._total = total
        self._done = 0
        if self._shown:
            self._next = time.monotonic() + _PATIENCE

    def step(self, count: int = 1) -> None:
        """Count finished steps."""
        self._done += count
        if self._shown and (now := time.monotonic()) >= self._next:
            self._next = now + _EVERY
            share = min(100, 100 * self._done // max(1, self._total))
            self.show(f"{self._label} {share} %" if self._total else f"{self._label} {self._done:,} octets")

    def show(self, text: str) -> None:
        """Show a line in place of the last one."""
        if self._shown:
            sys.stderr.write(f"{_CLEAR}{text}")
            sys.stderr.flush()
            self._dirty = True

    def stop(self) -> None:
        """Remove the line."""
        if self._dirty:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._dirty = False
