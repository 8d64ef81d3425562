"""AMQP 1.0: connection, configuration, sessions, links, events, messages; `spec` has the records of the wire."""

from __future__ import annotations

from importlib import import_module

from .._checking import TYPE_CHECKING
from .codec.composite import DeliveryState
from .codec.message import AmqpSequence, AmqpValue, Data, Message
from .codec.performatives import Accepted, Error, Header, Modified, Properties, Rejected, Released, Source, Target
from .codec.values import Described, Symbol, Timestamp

if TYPE_CHECKING:
    from typing import Final

    from . import spec as spec
    from .endpoint.config import Config
    from .endpoint.connection import Connection
    from .endpoint.events import (
        AvailableChanged,
        CreditChanged,
        Delivery,
        DeliveryAborted,
        DeliveryRefused,
        DeliveryUpdated,
        Drained,
        LinkClosed,
        LinkFailed,
        LinkOpened,
        LinkRequested,
        Resumed,
        SessionRequested,
        TlsStarted,
        TransactionRequested,
        Updated,
    )
    from .endpoint.receiver import Receiver
    from .endpoint.sender import NoCredit, Sender
    from .endpoint.session import Session
    from .endpoint.transactions import Controller, Resource, Transaction
    from .model.resume import LinkState, SavedDelivery

_LATER: Final = {
    "AvailableChanged": "endpoint.events",
    "Config": "endpoint.config",
    "Connection": "endpoint.connection",
    "Controller": "endpoint.transactions",
    "CreditChanged": "endpoint.events",
    "Delivery": "endpoint.events",
    "DeliveryAborted": "endpoint.events",
    "DeliveryRefused": "endpoint.events",
    "DeliveryUpdated": "endpoint.events",
    "Drained": "endpoint.events",
    "LinkClosed": "endpoint.events",
    "LinkFailed": "endpoint.events",
    "LinkOpened": "endpoint.events",
    "LinkRequested": "endpoint.events",
    "LinkState": "model.resume",
    "NoCredit": "endpoint.sender",
    "Receiver": "endpoint.receiver",
    "Resource": "endpoint.transactions",
    "Resumed": "endpoint.events",
    "SavedDelivery": "model.resume",
    "Sender": "endpoint.sender",
    "Session": "endpoint.session",
    "SessionRequested": "endpoint.events",
    "TlsStarted": "endpoint.events",
    "Transaction": "endpoint.transactions",
    "TransactionRequested": "endpoint.events",
    "Updated": "endpoint.events",
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
    "Accepted",
    "AmqpSequence",
    "AmqpValue",
    "AvailableChanged",
    "Config",
    "Connection",
    "Controller",
    "CreditChanged",
    "Data",
    "Delivery",
    "DeliveryAborted",
    "DeliveryRefused",
    "DeliveryState",
    "DeliveryUpdated",
    "Described",
    "Drained",
    "Error",
    "Header",
    "LinkClosed",
    "LinkFailed",
    "LinkOpened",
    "LinkRequested",
    "LinkState",
    "Message",
    "Modified",
    "NoCredit",
    "Properties",
    "Receiver",
    "Rejected",
    "Released",
    "Resource",
    "Resumed",
    "SavedDelivery",
    "Sender",
    "Session",
    "SessionRequested",
    "Source",
    "Symbol",
    "Target",
    "Timestamp",
    "TlsStarted",
    "Transaction",
    "TransactionRequested",
    "Updated",
    "spec",
]
