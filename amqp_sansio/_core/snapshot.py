"""Pickled states of slotted classes: their slots in order, and the layout number that they were written in."""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from ..errors import LocalProtocolError

if TYPE_CHECKING:
    from typing import ClassVar


class Slotted:
    """A class whose pickled state is the values of its slots: a tuple, smaller than a dict of them."""

    __slots__: tuple[str, ...] = ()

    def __getstate__(self) -> tuple[object, ...]:
        return tuple([getattr(self, name) for name in self.__slots__])

    def __setstate__(self, state: tuple[object, ...]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            setattr(self, name, value)


class Laid(Slotted):
    """The same with its layout number in front, so that the state of another release is refused before it is read."""

    __slots__ = ()

    _LAYOUT: ClassVar[int]
    """A number of `_ground.layouts`."""
    _WHAT: ClassVar[str]
    """The object with the state, in words for the error."""

    def __getstate__(self) -> tuple[object, ...]:
        return (self._LAYOUT, *super().__getstate__())

    def __setstate__(self, state: tuple[object, ...]) -> None:
        if state[0] != self._LAYOUT:
            text = f"the state of {self._WHAT} has layout {state[0]}, this release reads {self._LAYOUT}"
            raise LocalProtocolError(text)
        super().__setstate__(state[1:])


__all__ = ["Laid", "Slotted"]
