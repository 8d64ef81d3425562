"""The names of `typing` that a module needs when it runs; those that annotations alone need are imported for checkers.

A client does without `typing`: importing it costs a sixth of what importing a version does. Here its names do nothing.
Checkers see the real ones.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""True for checkers, which know it by its name."""

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import Generic as Generic
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
    from typing import cast as cast
    from typing import overload as overload
else:
    Any = object

    class Generic:
        """A base that takes parameters and leaves them."""

        __slots__ = ()

        def __class_getitem__(cls, _: object) -> type:
            return cls

    Protocol = Generic

    def TypeVar(name: str, *_: object, **__: object) -> str:
        """Return the name."""
        return name

    def cast(_: object, value: object) -> object:
        """Return the value."""
        return value

    def overload(function: object) -> object:
        """Return the function."""
        return function


__all__ = ["TYPE_CHECKING", "Any", "Generic", "Protocol", "TypeVar", "cast", "overload"]
