"""Alarms: what front ends want done later; a Hub keeps them (`set_alarm`) and rings them when their time has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..hub import Hub


class Alarm(ABC):
    """Something to be done at a time; a value that pickles."""

    __slots__ = ()

    @abstractmethod
    def ring(self, hub: Hub) -> None:
        """Do it; `hub.now` is the time. Effects are performed afterwards."""
