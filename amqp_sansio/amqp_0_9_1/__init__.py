"""AMQP 0-9-1: the connection, its configuration and events, and a record for every method.

The machine is shared with the other classic version; method numbers, arguments and field tables are this version's own.
"""

from __future__ import annotations

from typing import ClassVar

from .._classic.codec import methods_0_9_1 as _methods
from .._classic.codec.dialect import Dialect, get_dialect
from .._classic.codec.method import Method
from .._classic.codec.method import Request as RequestMethod
from .._classic.codec.methods_0_9_1 import *  # noqa: F403
from .._classic.codec.properties import Properties
from .._classic.codec.table import FieldValue, Table, Timestamp, Typed
from .._classic.endpoint.channel import Channel
from .._classic.endpoint.config import Config
from .._classic.endpoint.connection import Connection as _Connection
from .._classic.endpoint.events import (
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
from .._classic.model.channel_state import ChannelState
from ..versions import AMQP_0_9_1, Version


class Connection(_Connection):
    """A client's or server's end of an AMQP 0-9-1 connection; see `amqp_sansio.Endpoint` for the edge."""

    VERSION: ClassVar[Version] = AMQP_0_9_1

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
