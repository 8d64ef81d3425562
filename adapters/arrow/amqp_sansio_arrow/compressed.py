"""Captures compressed by zstd or lz4: inflated where a library is installed, which is looked up by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from amqp_sansio.capture.inflating import Inflate, Inflaters

_STEP: Final = 262_144
"""Most octets inflated at a time, where the library can be told."""
_ZSTD_SLICE: Final = 1024
"""Most compressed octets taken at a time of a library that can't: a block of 128 KiB takes four of them."""
_WINDOW: Final = 27
"""Binary logarithm of the largest window: what `zstd --long` uses without a number."""


class _Bounded:
    """Inflates by objects of one frame each, which take the most octets of an output."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.error = ""
        self._name = name
        self._make = make
        self._frame: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Inflate `data`, in pieces of bounded size."""
        while not self.error:
            if self._frame is None:
                if not data:
                    return
                self._frame = self._make()
            frame = self._frame
            try:
                piece: bytes = frame.decompress(data, _STEP)
            except Exception as error:
                # Each library has its own exceptions for damaged octets.
                self.error = f"{self._name}: {error}"
                return
            data = b""
            if piece:
                yield piece
            if frame.eof:
                data = frame.unused_data or b""
                self._frame = None
            elif frame.needs_input:
                return

    def finish(self) -> str:
        """Note the end of the input; return its error, or an empty text."""
        if not self.error and self._frame is not None:
            return f"the compressed data ends inside of a frame of {self._name}"
        return ""


class _Zstandard:
    """Inflates by the library zstandard, whose outputs are bounded by their inputs."""

    def __init__(self, library: Any) -> None:
        self.error = ""
        self._make = library.ZstdDecompressor(max_window_size=1 << _WINDOW).decompressobj
        self._frame: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Inflate `data`, in pieces of bounded size."""
        for start in range(0, len(data), _ZSTD_SLICE):
            rest = data[start : start + _ZSTD_SLICE]
            while rest and not self.error:
                self._frame = self._frame or self._make()
                frame = self._frame
                try:
                    piece: bytes = frame.decompress(rest)
                except Exception as error:
                    # ZstdError, which only the library names.
                    self.error = f"zstd: {error}"
                    return
                if piece:
                    yield piece
                rest = b""
                if frame.eof:
                    rest = frame.unused_data
                    self._frame = None

    def finish(self) -> str:
        """Note the end of the input; return its error, or an empty text."""
        if not self.error and self._frame is not None:
            return "the compressed data ends inside of a frame of zstd"
        return ""


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _zstd() -> Callable[[], Inflate] | None:
    own = _module("compression.zstd") or _module("backports.zstd")
    if own is not None:
        window = {own.DecompressionParameter.window_log_max: _WINDOW}
        return lambda: _Bounded("zstd", lambda: own.ZstdDecompressor(options=window))
    other = _module("zstandard")
    return None if other is None else lambda: _Zstandard(other)


def _lz4() -> Callable[[], Inflate] | None:
    library = _module("lz4.frame")
    return None if library is None else lambda: _Bounded("lz4", library.LZ4FrameDecompressor)


class _Installed(Mapping[str, Callable[[], Inflate]]):
    """Looks for a library when a capture needs it: to import those that most captures don't need takes milliseconds."""

    def __getitem__(self, name: str) -> Callable[[], Inflate]:
        make = _LOOKED_UP[name]()
        if make is None:
            raise KeyError(name)
        return make

    def __iter__(self) -> Iterator[str]:
        return (name for name, look_up in _LOOKED_UP.items() if look_up() is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


_LOOKED_UP: Final = {"zstd": _zstd, "lz4": _lz4}


def installed() -> Inflaters:
    """Return what can be inflated here besides gzip: by compression.zstd of Python 3.14, zstandard, lz4."""
    return _Installed()


__all__ = ["installed"]
