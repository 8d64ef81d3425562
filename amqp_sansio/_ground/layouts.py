"""The layout numbers of pickled states: they change with the slots of what is pickled."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from .._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

CLASSIC: Final = 1952021543
"""A connection of 0-8 or 0-9-1."""
AMQP_0_10: Final = 2083531314
"""A connection of 0-10."""
AMQP_1_0: Final = 3975833438
"""A connection of 1.0."""
SESSION_0_10: Final = 1863746265
"""The state of a detached session of 0-10."""
OBSERVER: Final = 1958327374
"""An observer of any version."""
LIFECYCLE: Final = 2251757
"""A lifecycle of messages."""
REPLAY: Final = 88868953
"""A replay of a flow into tables."""
REASSEMBLER: Final = 1711353567
"""A reassembler of TCP streams."""
BROKER: Final = 2426935130
"""A broker with its clients."""

__all__ = [
    "AMQP_0_10",
    "AMQP_1_0",
    "BROKER",
    "CLASSIC",
    "LIFECYCLE",
    "OBSERVER",
    "REASSEMBLER",
    "REPLAY",
    "SESSION_0_10",
]
