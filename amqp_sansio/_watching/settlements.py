"""The words of an observed unit for the messages that it settles: `Observed.settles`."""

from __future__ import annotations

from typing import Final, TypeAlias

Settlement: TypeAlias = tuple[int | None, str | None, str]
"""Unit of a message (None: the unit at hand), its outcome, and how sure that is."""
Settlements: TypeAlias = tuple[Settlement, ...]

SETTLED: Final = "settled"
"""The unit at hand settles the message."""
TOLD: Final = "told"
"""This outcome holds if nothing settles the message."""
ENDED: Final = "ended"
"""Nothing settles the message any more: without an outcome, the one that was told before holds."""
STAGED: Final = "staged"
"""The unit at hand brings the message's content."""
AT_ONCE: Final[Settlements] = ((None, "settled", ENDED),)
"""The message of the unit at hand needs no settlement."""
OPEN_FOR_GOOD: Final[Settlements] = ((None, None, ENDED),)
"""Nothing settles the message of the unit at hand, though something should."""
