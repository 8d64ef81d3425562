"""Maps the model's faults to 1.0's error conditions and texts (part 2 section 2.8.15)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ....amqp_1_0 import Error, Symbol
from ....amqp_1_0.codec.conditions import (
    FRAME_SIZE_TOO_SMALL,
    ILLEGAL_STATE,
    INTERNAL_ERROR,
    INVALID_FIELD,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    RESOURCE_LIMIT_EXCEEDED,
    RESOURCE_LOCKED,
)
from ....errors import LimitExceeded, LocalProtocolError
from ...model.faults import FaultKind

if TYPE_CHECKING:
    from ....amqp_1_0 import Connection
    from ...model.faults import Fault

CONDITIONS: Final[Mapping[FaultKind, Symbol]] = {
    FaultKind.NOT_FOUND: NOT_FOUND,
    FaultKind.BINDING_NOT_FOUND: NOT_FOUND,
    FaultKind.INEQUIVALENT: PRECONDITION_FAILED,
    FaultKind.TYPE_UNKNOWN: NOT_IMPLEMENTED,
    FaultKind.RESERVED_NAME: NOT_ALLOWED,
    FaultKind.NAME_MISSING: INVALID_FIELD,
    FaultKind.DEFAULT_EXCHANGE: NOT_ALLOWED,
    FaultKind.LOCKED: RESOURCE_LOCKED,
    FaultKind.EXCLUSIVE: RESOURCE_LOCKED,
    FaultKind.INTERNAL: NOT_ALLOWED,
    FaultKind.IN_USE: PRECONDITION_FAILED,
    FaultKind.NOT_EMPTY: PRECONDITION_FAILED,
    FaultKind.USED_AS_ALTERNATE: PRECONDITION_FAILED,
    FaultKind.BAD_ARGUMENT: INVALID_FIELD,
    FaultKind.UNKNOWN_ARGUMENT: INVALID_FIELD,
    FaultKind.NOT_ALLOWED: NOT_ALLOWED,
    FaultKind.LIMIT: RESOURCE_LIMIT_EXCEEDED,
    FaultKind.ILLEGAL_STATE: ILLEGAL_STATE,
}

_SHORT: Final = 240
_LONGEST: Final = 1024
_AROUND: Final = 272
"""Octets of a description, and of what stands around it in a frame."""

_TOO_LONG: Final = ("1.0/transport/open/max-frame-size", "1.0/transport/error/frame-size-too-small")
"""Rules that an answer longer than the client's frame size breaks."""


class Refusal(Exception):
    """A refused link or message: the condition and description of the answer."""

    def __init__(self, condition: str, text: str) -> None:
        super().__init__(text)
        self.condition = condition
        self.text = text

    def __reduce__(self) -> tuple[object, ...]:
        return Refusal, (self.condition, self.text)

    @property
    def error(self) -> Error:
        """The error as a record for outcomes."""
        return Error(Symbol(self.condition), short(self.text))


def refusal_of(fault: Fault) -> Refusal:
    """Translate the model's fault into 1.0."""
    return Refusal(CONDITIONS.get(fault.kind, ILLEGAL_STATE), fault.text)


def condition_of(error: Exception) -> Symbol:
    """Return the condition for an answer that the engine can't send to a client."""
    if isinstance(error, LimitExceeded):
        return RESOURCE_LIMIT_EXCEEDED
    if isinstance(error, LocalProtocolError) and error.rule in _TOO_LONG:
        return FRAME_SIZE_TOO_SMALL
    return INTERNAL_ERROR


def short(text: str) -> str:
    """Return a description that fits into any frame."""
    octets = text.encode("utf-8", "backslashreplace")
    return octets[:_SHORT].decode("utf-8", "ignore")


def fitting(text: str, connection: Connection) -> str:
    """Return a description that fits into the client's frames; `short` is for any client's."""
    peer = connection.peer_open
    room = _LONGEST if peer is None else min(_LONGEST, peer.max_frame_size - _AROUND)
    octets = text.encode("utf-8", "backslashreplace")
    return octets[: max(_SHORT, room)].decode("utf-8", "ignore")
