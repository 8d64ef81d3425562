"""The error conditions of Service Bus and Event Hubs, and the status codes of their replies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from amqp_sansio.amqp_1_0 import Symbol
from amqp_sansio.amqp_1_0.codec import conditions

TIMEOUT: Final = Symbol("com.microsoft:timeout")
SERVER_BUSY: Final = Symbol("com.microsoft:server-busy")
ARGUMENT_ERROR: Final = Symbol("com.microsoft:argument-error")
ARGUMENT_OUT_OF_RANGE: Final = Symbol("com.microsoft:argument-out-of-range")
ENTITY_DISABLED: Final = Symbol("com.microsoft:entity-disabled")
ENTITY_ALREADY_EXISTS: Final = Symbol("com.microsoft:entity-already-exists")
AUTH_FAILED: Final = Symbol("com.microsoft:auth-failed")
MESSAGE_LOCK_LOST: Final = Symbol("com.microsoft:message-lock-lost")
MESSAGE_NOT_FOUND: Final = Symbol("com.microsoft:message-not-found")
SESSION_LOCK_LOST: Final = Symbol("com.microsoft:session-lock-lost")
SESSION_CANNOT_BE_LOCKED: Final = Symbol("com.microsoft:session-cannot-be-locked")
SESSION_NOT_FOUND: Final = Symbol("com.microsoft:session-not-found")
DEAD_LETTER: Final = Symbol("com.microsoft:dead-letter")

STATUS: Final[Mapping[str, int]] = {
    conditions.NOT_ALLOWED: 400,
    conditions.INVALID_FIELD: 400,
    ARGUMENT_ERROR: 400,
    ARGUMENT_OUT_OF_RANGE: 400,
    ENTITY_DISABLED: 400,
    conditions.UNAUTHORIZED_ACCESS: 401,
    AUTH_FAILED: 401,
    conditions.RESOURCE_LIMIT_EXCEEDED: 403,
    conditions.MESSAGE_SIZE_EXCEEDED: 403,
    conditions.NOT_FOUND: 404,
    MESSAGE_NOT_FOUND: 404,
    SESSION_NOT_FOUND: 404,
    TIMEOUT: 408,
    ENTITY_ALREADY_EXISTS: 409,
    MESSAGE_LOCK_LOST: 410,
    SESSION_LOCK_LOST: 410,
    SESSION_CANNOT_BE_LOCKED: 410,
    conditions.STOLEN: 410,
    conditions.INTERNAL_ERROR: 500,
    conditions.NOT_IMPLEMENTED: 501,
    SERVER_BUSY: 503,
}
"""The status code of a reply that fails with a condition."""


def status_of(condition: str) -> int:
    """Return the status code of a condition; 500 for one without.

    >>> status_of("com.microsoft:message-lock-lost"), status_of("other")
    (410, 500)
    """
    return STATUS.get(condition, 500)


__all__ = [
    "ARGUMENT_ERROR",
    "ARGUMENT_OUT_OF_RANGE",
    "AUTH_FAILED",
    "DEAD_LETTER",
    "ENTITY_ALREADY_EXISTS",
    "ENTITY_DISABLED",
    "MESSAGE_LOCK_LOST",
    "MESSAGE_NOT_FOUND",
    "SERVER_BUSY",
    "SESSION_CANNOT_BE_LOCKED",
    "SESSION_LOCK_LOST",
    "SESSION_NOT_FOUND",
    "STATUS",
    "TIMEOUT",
    "status_of",
]
