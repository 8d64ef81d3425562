"""Choices that octets make: what random peers, applications and plays are steered by."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Choices that octets make, one octet each; at the end of them always the first."""

    def __init__(self, octets: bytes) -> None:
        self.octets = octets
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.octets)

    def below(self, count: int) -> int:
        """A number from 0."""
        if not self:
            return 0
        self.at += 1
        return self.octets[self.at - 1] % count

    def of(self, several: Sequence[T]) -> T:
        return several[self.below(len(several))]

    def rarely(self) -> bool:
        """Mostly false."""
        return self.below(8) == 7
