"""Dialects: the implementations of 0-8 and 0-9-1 by name."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ...versions import AMQP_0_8
from .dialect_record import Dialect as Dialect

if TYPE_CHECKING:
    from typing import Final

    from ...versions import Version

DIALECTS: Final = ("0-8", "0-8-rabbit", "0-8-qpid", "0-9-1", "0-9-1-rabbit", "0-9-1-qpid")
"""The names that `get_dialect` knows."""


def get_dialect(name: str) -> Dialect:
    """The dialect of that name; only its own version's records are imported.

    Raises ValueError for a name that isn't in `DIALECTS`.
    """
    if name not in DIALECTS:
        raise ValueError(f"no dialect is called {name!r}; there are {', '.join(DIALECTS)}")
    if name.startswith("0-8"):
        from .methods_0_8 import DIALECTS as OLD

        return OLD[name]
    from .methods_0_9_1 import DIALECTS as NEW

    return NEW[name]


def default_dialect(version: Version) -> Dialect:
    """The dialect that most peers of a version speak today: RabbitMQ's."""
    return get_dialect("0-8-rabbit" if version is AMQP_0_8 else "0-9-1-rabbit")
