"""The front end of 0-8 and 0-9-1: `ClassicFrontend` does what clients of both versions ask for."""

from __future__ import annotations

from .frontend import ClassicFrontend

__all__ = ["ClassicFrontend"]
