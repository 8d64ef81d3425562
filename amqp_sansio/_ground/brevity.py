"""How much an observer keeps of what a peer has sent: of each value so little that the number of values says it all.

Frames are as large as their limits allow, and a session, link, request or delivery is kept until its end comes, which
may be never.
"""

from __future__ import annotations

from functools import cache
from itertools import islice

from .._checking import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_T = TypeVar("_T", str, bytes)
_K = TypeVar("_K")
_V = TypeVar("_V")

KEPT: Final = 1024
"""Octets of the largest frame that is kept as it is; of a larger one only what rules need stays."""
_SHORT: Final = 256
_BEGIN: Final = 64


def short(name: _T) -> _T:
    """A name up to 256 characters or octets as it is, a longer one as its begin and digest: equal ones stay equal.

    >>> short("a name"), len(short("n" * 5000)), short(b"n" * 5000) == short(b"n" * 5000)
    ('a name', 128, True)
    """
    if len(name) <= _SHORT:
        return name
    if isinstance(name, bytes):
        return name[:_BEGIN] + _digest(name).encode()
    return name[:_BEGIN] + _digest(name.encode("utf-8", "surrogatepass"))


def treated(body: bytes, treatment: str) -> tuple[bytes | None, str | None]:
    """The body as far as it's kept, and its digest; `treatment` is one of `observer.BODIES`."""
    if treatment == "keep":
        return body, None
    digest = None if treatment == "size" else _digest(body)
    return body if treatment == "all" else None, digest


def _digest(octets: bytes) -> str:
    digest: str = _sha256()(octets).hexdigest()
    return digest


@cache
def _sha256() -> Callable[[bytes], Any]:
    """SHA-256: its libraries take milliseconds to load, and the import itself twice as long as a small digest."""
    from hashlib import sha256

    return sha256


def trim(entries: dict[_K, _V], most: int) -> dict[_K, _V]:
    """Forget the oldest entries where there are more than `most`, a 64th of them at once; return them, in order.

    To find the first entry of a dict costs a step for each one that was deleted before it.

    >>> kept = {"a": 1, "b": 2, "c": 3}
    >>> trim(kept, 2), kept
    ({'a': 1}, {'b': 2, 'c': 3})
    """
    if len(entries) <= most:
        return {}
    oldest = dict(islice(entries.items(), max(1, most // 64)))
    for key in oldest:
        del entries[key]
    return oldest
