"""AMQP 0-8: the connection, its configuration and events; `spec` has a record for every method.

The machine is shared with the other classic version; method numbers, arguments and field tables are this version's own.
"""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from .._classic.codec.dialect import Dialect, get_dialect
from .._classic.codec.methods_0_8 import BasicProperties
from .._classic.codec.table import FieldValue, Table
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
from ..versions import AMQP_0_8, Version
from . import spec

if TYPE_CHECKING:
    from typing import ClassVar


class Connection(_Connection):
    """A client's or server's end of an AMQP 0-8 connection; see `amqp_sansio.Endpoint` for the edge."""

    VERSION: ClassVar[Version] = AMQP_0_8

    __slots__ = ()


__all__ = [
    "BasicProperties",
    "Blocked",
    "Channel",
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
    "MethodReceived",
    "Published",
    "Redirected",
    "Request",
    "Returned",
    "Table",
    "Unblocked",
    "get_dialect",
    "spec",
]
