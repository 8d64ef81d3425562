"""Inflates gzip in bounded steps, member by member, and keeps everything before damage (RFC 1952)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

MAGIC: Final = b"\x1f\x8b"
STEP: Final = 262_144
"""Most octets inflated at a time."""
SLICE: Final = 4096
"""Most compressed octets taken at a time: zlib copies the rest of them after each member and each step, and they may
inflate a thousandfold.
"""
_GZIP_WINDOW: Final = 31


class _Inflate(Protocol):
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...
    def copy(self) -> _Inflate: ...


class Gunzip:
    """One gzip stream of any number of members.

    After damage, `error` describes it and the rest is ignored.
    """

    __slots__ = ("_inflate", "error")

    def __init__(self) -> None:
        self._inflate: _Inflate | None = zlib.decompressobj(_GZIP_WINDOW)
        self.error = ""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Inflate `data`, in pieces of at most `STEP` octets."""
        for start in range(0, len(data), SLICE):
            if self.error:
                return
            yield from self._feed(data[start : start + SLICE])

    def _feed(self, data: bytes) -> Iterator[bytes]:
        more = bool(data)
        while more and not self.error:
            if self._inflate is None:
                data = data.lstrip(b"\0")  # padding between and after members
                if not data:
                    return
                self._inflate = zlib.decompressobj(_GZIP_WINDOW)
            inflate = self._inflate
            before = inflate.copy()
            try:
                piece = inflate.decompress(data, STEP)
            except zlib.error as error:
                self.error = str(error)
                yield from _before_error(before, data)
                return
            if inflate.eof:
                data = inflate.unused_data
                self._inflate = None
                more = bool(data)
            else:
                data = inflate.unconsumed_tail
                more = bool(data) or len(piece) == STEP
            if piece:
                yield piece

    def finish(self) -> str:
        """Note the end of the input; return its error, or an empty text."""
        if not self.error and self._inflate is not None:
            return "the compressed data ends inside of a gzip member"
        return ""


def _before_error(inflate: _Inflate, data: bytes) -> Iterator[bytes]:
    """Yield the output of `data` before the octet that raises, found by bisection."""
    size = len(data)
    while size:
        trial = inflate.copy()
        try:
            piece = trial.decompress(data[:size], STEP)
        except zlib.error:
            size //= 2
            continue
        rest = trial.unconsumed_tail + data[size:]
        if not piece and len(rest) == len(data):
            return
        if piece:
            yield piece
        inflate, data = trial, rest
