"""Codes of 0-10, and the violations and errors that have them (classes 1 to 3)."""

from __future__ import annotations

from enum import Enum

from ..._checking import TYPE_CHECKING
from ..._core.violation import SILENT as SILENT
from ..._core.violation import Violation as Violation
from ...errors import CodecError, LocalProtocolError, Scope

if TYPE_CHECKING:
    from typing import Final

NORMAL: Final = 200
CONNECTION_FORCED: Final = 320
INVALID_PATH: Final = 402
FRAMING_ERROR: Final = 501
CLOSE_CODES: Final = {
    NORMAL: "normal",
    CONNECTION_FORCED: "connection-forced",
    INVALID_PATH: "invalid-path",
    FRAMING_ERROR: "framing-error",
}
"""The names of the codes of connection.close (connection.close-code)."""


class DetachCode(Enum):
    """Why a session isn't attached (session.detach-code)."""

    NORMAL = 0
    SESSION_BUSY = 1
    TRANSPORT_BUSY = 2
    NOT_ATTACHED = 3
    UNKNOWN_IDS = 4


DETACH_CODES: Final = {each.value: each.name.lower().replace("_", "-") for each in DetachCode}
"""Their names by their numbers."""


def exception(code: int, text: str, rule: str | None = None, *, harmless: bool = False) -> Violation:
    """Make the violation that ends a session with execution.exception."""
    return Violation(code, text, rule=rule, scope=Scope.SESSION, harmless=harmless)


def framing_error(text: str, rule: str | None = None) -> Violation:
    """Make the violation that ends the connection with framing-error."""
    return Violation(FRAMING_ERROR, text, rule=rule)


def misuse(text: str, rule: str | None = None) -> LocalProtocolError:
    """Make the error for a caller whose command would break a rule."""
    return LocalProtocolError(text, rule=f"0-10/{rule}" if rule else None)


def unreadable(error: CodecError, *, known: bool) -> str:
    """The rule that octets break which can't be read; `known`: their control or command is one of the specification."""
    rule = error.rule or ("wire/struct-size-includes" if known else "wire/struct-code")
    return rule.removeprefix("0-10/")
