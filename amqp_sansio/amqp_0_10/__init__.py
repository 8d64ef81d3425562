"""AMQP 0-10: connections and sessions as client and server, messages and values; `spec` has the records of the wire."""

from __future__ import annotations

from importlib import import_module

from .._checking import TYPE_CHECKING
from .codec.dialect import Dialect
from .codec.message import Headers, Message
from .codec.message_fields import ObservedCommand
from .codec.records import DeliveryProperties, MessageProperties
from .codec.sequence_set import SequenceSet
from .codec.types import Map

if TYPE_CHECKING:
    from typing import Final

    from . import spec as spec
    from .endpoint.config import Config
    from .endpoint.connection import Connection
    from .endpoint.events import (
        BodyAborted,
        BodyReceived,
        CommandReceived,
        Completed,
        CreditChanged,
        MessageBegun,
        MessageReceived,
        Redirected,
        Rejected,
        Released,
        Resumed,
        SessionClosed,
        SessionRequested,
    )
    from .endpoint.kept_sessions import KeptSessions
    from .endpoint.outgoing import NoCredit, Transferred
    from .endpoint.session import Session
    from .endpoint.session_state import SessionState
    from .model.execution import ExecutionError

_LATER: Final = {
    "BodyAborted": "endpoint.events",
    "BodyReceived": "endpoint.events",
    "CommandReceived": "endpoint.events",
    "Completed": "endpoint.events",
    "Config": "endpoint.config",
    "Connection": "endpoint.connection",
    "CreditChanged": "endpoint.events",
    "ExecutionError": "model.execution",
    "KeptSessions": "endpoint.kept_sessions",
    "MessageBegun": "endpoint.events",
    "MessageReceived": "endpoint.events",
    "NoCredit": "endpoint.outgoing",
    "Redirected": "endpoint.events",
    "Rejected": "endpoint.events",
    "Released": "endpoint.events",
    "Resumed": "endpoint.events",
    "Session": "endpoint.session",
    "SessionClosed": "endpoint.events",
    "SessionRequested": "endpoint.events",
    "SessionState": "endpoint.session_state",
    "Transferred": "endpoint.outgoing",
}
"""Names of what only an endpoint needs, with their modules: who only observes, or reads octets, doesn't load them."""


def __getattr__(name: str) -> object:
    if name == "spec":
        # Importing a submodule binds it here.
        return import_module(".spec", __name__)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # From now on it is there as an imported name is.
    found = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return found


__all__ = [
    "BodyAborted",
    "BodyReceived",
    "CommandReceived",
    "Completed",
    "Config",
    "Connection",
    "CreditChanged",
    "DeliveryProperties",
    "Dialect",
    "ExecutionError",
    "Headers",
    "KeptSessions",
    "Map",
    "Message",
    "MessageBegun",
    "MessageProperties",
    "MessageReceived",
    "NoCredit",
    "ObservedCommand",
    "Redirected",
    "Rejected",
    "Released",
    "Resumed",
    "SequenceSet",
    "Session",
    "SessionClosed",
    "SessionRequested",
    "SessionState",
    "Transferred",
    "spec",
]
