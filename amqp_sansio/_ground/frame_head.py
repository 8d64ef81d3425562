"""The begin of a frame as it is shown: its name, its size, and which frames belong to the same unit."""

from __future__ import annotations

from typing import NamedTuple


class FrameHead(NamedTuple):
    """A frame's name, its whole size in octets, and its place: frames of one unit have the same one."""

    name: str
    size: int
    place: tuple[int, ...]


__all__ = ["FrameHead"]
