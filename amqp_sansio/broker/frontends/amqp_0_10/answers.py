"""What executing a command comes to: a result, or an answer that was given already or comes later."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ....amqp_0_10.codec.record import Struct


class Answer(Enum):
    """The command isn't to be completed now."""

    GIVEN = "given"
    """It was rejected, or is among those that are accepted together."""
    LATER = "later"
    """It waits for another command."""


if TYPE_CHECKING:
    Result: TypeAlias = Struct | Answer | None
    """The command's result, None for one that has none; or why it isn't completed now."""
