"""ObservedDialect: a dialect as an observer reads it, who names each method that any dialect has.

A client may speak another dialect than its server names, and the dialect may change while requests wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..codec.dialect import DIALECTS, Dialect, get_dialect

if TYPE_CHECKING:
    from ...endpoint import Side
    from ..codec.method import Method
    from ..codec.properties import Properties


class ObservedDialect(Dialect):
    """A dialect with the methods of all others, where their numbers mean nothing else in it.

    So `methods`, `senders` and `replies` have every number that any dialect has, and `properties` every class with
    content: a lookup can't fail, whatever the dialect was when a method came. `own` is the dialect alone.
    """

    __slots__ = ("own",)

    def __init__(self, own: Dialect) -> None:
        methods: dict[int, type[Method]] = {}
        senders: dict[int, tuple[Side, ...]] = {}
        replies: dict[int, tuple[type[Method], ...]] = {}
        properties: dict[int, type[Properties]] = {}
        known = [get_dialect(name) for name in DIALECTS]
        # Its own first, then what has the same version.
        for each in sorted(known, key=lambda each: (each is not own, each.version is not own.version)):
            methods = {**each.methods, **methods}
            senders = {**each.senders, **senders}
            replies = {**each.replies, **replies}
            properties = {**each.properties, **properties}
        foreign = [kind for number, kind in methods.items() if number not in own.methods]
        # Of two methods with one name the dialect's own is named.
        ordered = (*foreign, *own.methods.values())
        super().__init__(
            own.name,
            own.version,
            ordered,
            tuple(properties.values()),
            own.tables,
            own.codes,
            senders,
            replies,
            observed_dialect,
        )
        self.own: Final = own


def observed_dialect(name: str) -> ObservedDialect:
    """The dialect of that name as an observer reads it; the same name is the same object.

    Raises KeyError for a name that isn't in `DIALECTS`.
    """
    return _OBSERVED[name]


_OBSERVED: Final = {name: ObservedDialect(get_dialect(name)) for name in DIALECTS}
