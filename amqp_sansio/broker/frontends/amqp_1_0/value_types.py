"""Type guards for decoded values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeGuard


def is_map(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether it is a map."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether it is a list."""
    return isinstance(value, list)
