"""The specification of AMQP 0-9-1 as records: one for each method and content class, their bases, values, dialects."""

from __future__ import annotations

from .._classic.codec import methods_0_9_1 as _methods
from .._classic.codec.method import Method
from .._classic.codec.method import Request as RequestMethod
from .._classic.codec.methods_0_9_1 import *  # noqa: F403
from .._classic.codec.properties import Properties
from .._classic.codec.table import Timestamp, Typed

__all__ = ["Method", "Properties", "RequestMethod", "Timestamp", "Typed"]
__all__ += _methods.__all__
