"""AMQP 0-8: the connection, its configuration and events, and a record for every method.

The machine is shared with the other classic version; method numbers, arguments and field tables are this version's own.
"""

from __future__ import annotations

from typing import ClassVar

from .._classic.bookkeeping import ChannelState
from .._classic.channel import Channel
from .._classic.config import Config
from .._classic.connection import Connection as _Connection
from .._classic.dialect import Dialect, get_dialect
from .._classic.events import (
    Blocked,
    ConsumerCancelled,
    ContentAborted,
    ContentBegun,
    ContentChunk,
    ContentReceived,
    Delivery,
    FlowChanged,
    HeartbeatReceived,
    Message,
    MessageReturned,
    MethodReceived,
    Published,
    Redirected,
    Request,
    Returned,
    Unblocked,
)
from .._classic.method import Method
from .._classic.method import Request as RequestMethod
from .._classic.properties import Properties
from .._classic.table import FieldValue, Table, Timestamp, Typed
from ..versions import AMQP_0_8, Version
from . import _methods
from ._methods import *  # noqa: F403


class Connection(_Connection):
    """A client's or server's end of an AMQP 0-8 connection; see `amqp_sansio.Endpoint` for the edge."""

    VERSION: ClassVar[Version] = AMQP_0_8

    __slots__ = ()


__all__ = [
    "Blocked",
    "Channel",
    "ChannelState",
    "Config",
    "Connection",
    "ConsumerCancelled",
    "ContentAborted",
    "ContentBegun",
    "ContentChunk",
    "ContentReceived",
    "Delivery",
    "Dialect",
    "FieldValue",
    "FlowChanged",
    "HeartbeatReceived",
    "Message",
    "MessageReturned",
    "Method",
    "MethodReceived",
    "Properties",
    "Published",
    "Redirected",
    "Request",
    "RequestMethod",
    "Returned",
    "Table",
    "Timestamp",
    "Typed",
    "Unblocked",
    "get_dialect",
]
__all__ += _methods.__all__
