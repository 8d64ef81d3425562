"""The error conditions, capabilities and choices that the specification of AMQP 1.0 names."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from .types import Symbol

if TYPE_CHECKING:
    from typing import Final

SENDER: Final = False
"""The role of a sender, in attach and disposition."""
RECEIVER: Final = True
"""The role of a receiver."""

INTERNAL_ERROR: Final = Symbol("amqp:internal-error")
NOT_FOUND: Final = Symbol("amqp:not-found")
UNAUTHORIZED_ACCESS: Final = Symbol("amqp:unauthorized-access")
DECODE_ERROR: Final = Symbol("amqp:decode-error")
RESOURCE_LIMIT_EXCEEDED: Final = Symbol("amqp:resource-limit-exceeded")
NOT_ALLOWED: Final = Symbol("amqp:not-allowed")
INVALID_FIELD: Final = Symbol("amqp:invalid-field")
NOT_IMPLEMENTED: Final = Symbol("amqp:not-implemented")
RESOURCE_LOCKED: Final = Symbol("amqp:resource-locked")
PRECONDITION_FAILED: Final = Symbol("amqp:precondition-failed")
RESOURCE_DELETED: Final = Symbol("amqp:resource-deleted")
ILLEGAL_STATE: Final = Symbol("amqp:illegal-state")
FRAME_SIZE_TOO_SMALL: Final = Symbol("amqp:frame-size-too-small")

CONNECTION_FORCED: Final = Symbol("amqp:connection:forced")
FRAMING_ERROR: Final = Symbol("amqp:connection:framing-error")
CONNECTION_REDIRECT: Final = Symbol("amqp:connection:redirect")

WINDOW_VIOLATION: Final = Symbol("amqp:session:window-violation")
ERRANT_LINK: Final = Symbol("amqp:session:errant-link")
HANDLE_IN_USE: Final = Symbol("amqp:session:handle-in-use")
UNATTACHED_HANDLE: Final = Symbol("amqp:session:unattached-handle")

DETACH_FORCED: Final = Symbol("amqp:link:detach-forced")
TRANSFER_LIMIT_EXCEEDED: Final = Symbol("amqp:link:transfer-limit-exceeded")
MESSAGE_SIZE_EXCEEDED: Final = Symbol("amqp:link:message-size-exceeded")
LINK_REDIRECT: Final = Symbol("amqp:link:redirect")
STOLEN: Final = Symbol("amqp:link:stolen")

MOVE: Final = Symbol("move")
"""The distribution mode that takes messages from the node."""
COPY: Final = Symbol("copy")
"""The distribution mode that leaves messages at the node."""

LOCAL_TRANSACTIONS: Final = Symbol("amqp:local-transactions")
DISTRIBUTED_TRANSACTIONS: Final = Symbol("amqp:distributed-transactions")
PROMOTABLE_TRANSACTIONS: Final = Symbol("amqp:promotable-transactions")
MULTI_TXNS_PER_SSN: Final = Symbol("amqp:multi-txns-per-ssn")
MULTI_SSNS_PER_TXN: Final = Symbol("amqp:multi-ssns-per-txn")

TRANSACTION_UNKNOWN_ID: Final = Symbol("amqp:transaction:unknown-id")
TRANSACTION_ROLLBACK: Final = Symbol("amqp:transaction:rollback")
TRANSACTION_TIMEOUT: Final = Symbol("amqp:transaction:timeout")


class SenderSettleMode:
    """When a sender settles: attach.snd-settle-mode (1.0 part 2 section 2.8.2)."""

    UNSETTLED: Final = 0
    SETTLED: Final = 1
    MIXED: Final = 2


class ReceiverSettleMode:
    """When a receiver settles: attach.rcv-settle-mode and transfer.rcv-settle-mode (1.0 part 2 section 2.8.3)."""

    FIRST: Final = 0
    SECOND: Final = 1


class TerminusDurability:
    """The part of a terminus that survives: source.durable and target.durable (1.0 part 3 section 3.5.5)."""

    NONE: Final = 0
    CONFIGURATION: Final = 1
    UNSETTLED_STATE: Final = 2


class TerminusExpiryPolicy:
    """When a terminus begins to expire: expiry-policy (1.0 part 3 section 3.5.6)."""

    LINK_DETACH: Final = Symbol("link-detach")
    SESSION_END: Final = Symbol("session-end")
    CONNECTION_CLOSE: Final = Symbol("connection-close")
    NEVER: Final = Symbol("never")


class SaslCode:
    """How an authentication ended: sasl-outcome.code (1.0 part 5 section 5.3.3.6)."""

    OK: Final = 0
    AUTH: Final = 1
    SYS: Final = 2
    SYS_PERM: Final = 3
    SYS_TEMP: Final = 4
