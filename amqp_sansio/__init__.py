"""A sans-I/O protocol core for AMQP: octets in, events and octets out.

Each version has its own package (`amqp_sansio.amqp_0_9_1`, `amqp_sansio.amqp_0_8`) with its connection, configuration
and method records; this package has the parts that all versions share.
"""

from __future__ import annotations

from ._checking import TYPE_CHECKING
from ._compiled import COMPILED
from ._version import __version__
from .endpoint import CloseHint, Role, Side
from .errors import (
    AmqpError,
    AnswerTimeout,
    CodecError,
    ConsumerEnded,
    EndpointClosed,
    LimitExceeded,
    LinkEnded,
    LocalProtocolError,
    NotAccepted,
    RemoteProtocolError,
    Scope,
    SessionEnded,
    StaleDelivery,
    TransactionFailed,
)
from .events import (
    NEED_DATA,
    PAUSED,
    Abandoned,
    Accepted,
    AuthenticationRequested,
    By,
    Closed,
    CloseReport,
    DeliveryReceived,
    Event,
    Failed,
    Opened,
    OpenRequested,
    Pending,
    Rejected,
    Released,
    Replied,
    ScramKeysRequested,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
)
from .limits import Limits
from .negotiation import Acceptor, Refused
from .versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version, version_of

if TYPE_CHECKING:
    from .endpoint import Endpoint
    from .observer import Observed, Observer, Skipped
    from .observer import Violation as Violation

_LATER = {"Observer", "Observed", "Skipped", "Violation"}


def __getattr__(name: str) -> object:
    # An observer needs the engine of every version; a client or server needs one.
    if name in _LATER:
        from . import observer

        return getattr(observer, name)
    if name == "Endpoint":
        from .endpoint import Endpoint

        return Endpoint
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AMQP_0_8",
    "AMQP_0_9_1",
    "AMQP_0_10",
    "AMQP_1_0",
    "COMPILED",
    "NEED_DATA",
    "PAUSED",
    "Abandoned",
    "Accepted",
    "Acceptor",
    "AmqpError",
    "AnswerTimeout",
    "AuthenticationRequested",
    "By",
    "CloseHint",
    "CloseReport",
    "Closed",
    "CodecError",
    "ConsumerEnded",
    "DeliveryReceived",
    "Endpoint",
    "EndpointClosed",
    "Event",
    "Failed",
    "LimitExceeded",
    "Limits",
    "LinkEnded",
    "LocalProtocolError",
    "NotAccepted",
    "Observed",
    "Observer",
    "OpenRequested",
    "Opened",
    "Pending",
    "Refused",
    "Rejected",
    "Released",
    "RemoteProtocolError",
    "Replied",
    "Role",
    "Scope",
    "ScramKeysRequested",
    "SendPaused",
    "SendResumed",
    "SessionEnded",
    "Settled",
    "Side",
    "Signal",
    "Skipped",
    "StaleDelivery",
    "TransactionFailed",
    "Version",
    "Violation",
    "__version__",
    "version_of",
]
