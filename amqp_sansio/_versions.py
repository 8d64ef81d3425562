"""Scouts: detect the version of one direction of a connection observed from the middle, by the frames of every version.

The version whose frame is proven by the fewest octets wins; but octets within an incomplete frame prove nothing:
messages may contain frames of another version (0-9-1 section 4.2.3, 0-10 section 4.4, 1.0 part 2 section 2.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ._classic.observer import detection as classic
from .amqp_0_10.observer import detection as amqp_0_10
from .amqp_1_0.observer import detection as amqp_1_0
from .versions import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version

if TYPE_CHECKING:
    from ._watching.detection import Scout
    from .endpoint import Side

_VERSIONS: Final = (AMQP_0_9_1, AMQP_0_10, AMQP_1_0)


class Scouts:
    """The scouts of one direction, until one of them has found a frame; that one continues alone.

    0-8 is reported as 0-9-1: their frames are the same, and their common observer finds out more. `pieces` are the
    octets examined so far, None for a gap.
    """

    __slots__ = ("_amqp_0_10", "_amqp_1_0", "_classic", "_pieces", "version")

    def __init__(self) -> None:
        self._classic = classic.Scout()
        self._amqp_0_10 = amqp_0_10.Scout()
        self._amqp_1_0 = amqp_1_0.Scout()
        self._pieces: list[bytes | None] = []
        self.version: Version | None = None

    @property
    def side(self) -> Side | None:
        """The sender's side, if it is certain."""
        return None if self.version is None else self._scout(self.version).side

    @property
    def is_equal(self) -> bool:
        """Whether no later octets can tell the sender's side."""
        return self.version is AMQP_1_0 and self._amqp_1_0.equal

    def receive(self, octets: bytes) -> None:
        """Examine more octets."""
        if octets:
            self._look(octets)

    def gap(self) -> None:
        """Note that octets are missing here."""
        self._look(None)

    def finish(self) -> None:
        """Note the end of the octets."""
        for version in _VERSIONS:
            if self.version in (None, version):
                self._scout(version).finish()
        if self.version is None:
            self._take(self._verdict())

    def _scout(self, version: Version) -> Scout[Any]:
        if version is AMQP_1_0:
            return self._amqp_1_0
        return self._amqp_0_10 if version is AMQP_0_10 else self._classic

    def _look(self, piece: bytes | None) -> None:
        if self.version is not None:
            _show(self._scout(self.version), piece)
            return
        self._pieces.append(piece)
        for version in _VERSIONS:
            _show(self._scout(version), piece)
        found = self._verdict()
        if sum([self._scout(version).proven for version in _VERSIONS]) > 1:
            found = self._earliest()
        self._take(found)

    def _take(self, version: Version | None) -> None:
        self.version = version
        if version is not None:
            self._pieces = []

    def _verdict(self) -> Version | None:
        """Return the version proven so far; None while that isn't certain."""
        found: Version | None = None
        begin = before = -1
        for version, scout in ((AMQP_0_10, self._amqp_0_10), (AMQP_1_0, self._amqp_1_0)):
            if scout.proven and (found is None or scout.at < begin):
                found, begin = version, scout.at
            elif not scout.proven and (before < 0 or scout.scanned < before):
                before = scout.scanned
        if self._classic.proven and (found is None or self._classic.at < begin):
            found, begin = AMQP_0_9_1, self._classic.at
        # A frame of a version that isn't refuted yet may begin earlier.
        return found if found is None or before < 0 or begin < before else None

    def _earliest(self) -> Version | None:
        """Return the verdict on the shortest prefix of the last piece that gives one."""
        *before, last = self._pieces
        least, most = 0, 0 if last is None else len(last)
        found = self._verdict()
        while least < most:
            half = (least + most) // 2
            earlier = Scouts()
            earlier._pieces = [*before, b"" if last is None else last[:half]]
            for piece in earlier._pieces:
                for version in _VERSIONS:
                    _show(earlier._scout(version), piece)
            verdict = earlier._verdict()
            if verdict is None:
                least = half + 1
            else:
                most = half
                found = verdict
        return found


def _show(scout: Scout[Any], piece: bytes | None) -> None:
    if piece is None:
        scout.gap()
    else:
        scout.receive(piece)


__all__ = ["Scouts"]
