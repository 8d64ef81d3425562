"""Inflating: how a capture is compressed, by its first octets, and what undoes that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from .gz import MAGIC as GZIP_MAGIC
from .gz import Gunzip
from .records import NotACapture

LONGEST: Final = 4
"""Octets that tell how a file is compressed."""
_MAGICS: Final = {GZIP_MAGIC: "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}


class Inflate(Protocol):
    """Undoes one compression. After damage, `error` describes it and the rest is ignored."""

    error: str

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Inflate `data`, in pieces of bounded size."""
        ...

    def finish(self) -> str:
        """Note the end of the input; return its error, or an empty text."""
        ...


Inflaters = Mapping[str, Callable[[], Inflate]]
"""What undoes each compression, by its name: "zstd" or "lz4". gzip needs none."""


def compression_of(head: bytes) -> str | None:
    """Return the name of the compression of a file that begins so; None if it isn't compressed.

    >>> compression_of(b"\\x1f\\x8b\\x08"), compression_of(b"\\x28\\xb5\\x2f\\xfd"), compression_of(b"PK")
    ('gzip', 'zstd', None)
    """
    return next((name for magic, name in _MAGICS.items() if head.startswith(magic)), None)


def may_be_compressed(head: bytes) -> bool:
    """Whether more octets may tell that a file is compressed."""
    return any([magic.startswith(head) for magic in _MAGICS])


def inflater(name: str, inflaters: Inflaters, file: str = "") -> Inflate:
    """Return what undoes the compression `name`. Raises NotACapture, with what to do, if nothing can."""
    if name == "gzip":
        return Gunzip()
    make = inflaters.get(name)
    if make is None:
        program, shown = ("zstd" if name == "zstd" else "lz4"), file or "the data"
        raise NotACapture(f"{shown}: compressed by {name}; pipe it: {program} -dc {file or 'FILE'} | ... -")
    return make()


__all__ = ["LONGEST", "Inflate", "Inflaters", "compression_of", "inflater", "may_be_compressed"]
