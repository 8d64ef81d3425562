"""A look behind the blocking objects, for tests of what cannot be seen from outside."""

from typing import Any


def driver_of(thing: Any) -> Any:
    """The driver of a connection or a part of it."""
    old = getattr(thing, "wire", None)
    return thing._driver if old is None else old


def state_of(channel: Any) -> Any:
    """The routes of a channel."""
    return channel._inner._state
