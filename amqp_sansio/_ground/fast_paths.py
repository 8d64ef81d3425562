"""Entry: what a version's table of fast paths says of one."""

from __future__ import annotations

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A fast path: a method that does in one step what the general way does in several, or returns None.

    It leaves all but the common case, an error included, to the general way, with nothing changed. A test takes both
    ways with the same octets, and compares events, output and state.

    `method` is an attribute of `owner`, and `makes` has the classes whose slots it sets by hand. `stand_in` is the
    general way when that is a method of `owner` with the same parameters; else the caller takes it when it gets None.
    """

    name: str
    owner: Any
    method: str
    taken: str
    writes: str
    equals: str
    makes: tuple[type[Any], ...] = ()
    stand_in: str | None = None
