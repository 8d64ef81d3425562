"""The specification of AMQP 0-10 as records: one for each control, command and struct, their bases, and its choices."""

from __future__ import annotations

from .codec import records as _records
from .codec.record import Command, Control
from .codec.records import *  # noqa: F403
from .codec.structs import Struct
from .codec.violation import DetachCode

__all__ = ["Command", "Control", "DetachCode", "Struct"]
__all__ += _records.__all__
