"""Endpoint: the interface that every version's connection shares, and the names of its two sides."""

from __future__ import annotations

from ._checking import TYPE_CHECKING
from ._sides import CloseHint, Role, Side

if TYPE_CHECKING:
    from ._interface import Endpoint


def __getattr__(name: str) -> object:
    # A protocol is made by `typing`, which nobody else loads who imports one version.
    if name == "Endpoint":
        from ._interface import Endpoint

        return Endpoint
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["CloseHint", "Endpoint", "Role", "Side"]
