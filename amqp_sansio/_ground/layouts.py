"""The layout numbers of pickled states: they change with the slots of what is pickled."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from typing import Final

CLASSIC: Final = 4078366641
"""A connection of 0-8 or 0-9-1."""
AMQP_0_10: Final = 2295378451
"""A connection of 0-10."""
AMQP_1_0: Final = 2410795431
"""A connection of 1.0."""
SESSION_0_10: Final = 3779188999
"""The state of a detached session of 0-10."""
OBSERVER: Final = 2298038467
"""An observer of any version."""
LIFECYCLE: Final = 24037419
"""A lifecycle of messages."""
REPLAY: Final = 13013231
"""A replay of a flow into tables."""
REASSEMBLER: Final = 2446363818
"""A reassembler of TCP streams."""
BROKER: Final = 4026003596
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
