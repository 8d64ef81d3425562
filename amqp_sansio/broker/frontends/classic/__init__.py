"""The front end of 0-8 and 0-9-1: `ClassicFrontend` serves clients of both versions."""

from __future__ import annotations

from .frontend import ClassicFrontend

__all__ = ["ClassicFrontend"]
