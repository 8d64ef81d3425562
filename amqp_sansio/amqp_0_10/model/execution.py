"""ExecutionError: why a command can't be executed, with the code that execution.exception has for it (0-10 class 3).

An exception ends the session and all that both ends know of it (part 1 section 3.4.1.3).
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ...errors import AmqpError

if TYPE_CHECKING:
    from typing import Final

UNAUTHORIZED_ACCESS: Final = 403
NOT_FOUND: Final = 404
RESOURCE_LOCKED: Final = 405
PRECONDITION_FAILED: Final = 406
RESOURCE_DELETED: Final = 408
ILLEGAL_STATE: Final = 409
COMMAND_INVALID: Final = 503
RESOURCE_LIMIT_EXCEEDED: Final = 506
NOT_ALLOWED: Final = 530
ILLEGAL_ARGUMENT: Final = 531
NOT_IMPLEMENTED: Final = 540
INTERNAL_ERROR: Final = 541
INVALID_ARGUMENT: Final = 542

ERROR_CODES: Final = {
    UNAUTHORIZED_ACCESS: "unauthorized-access",
    NOT_FOUND: "not-found",
    RESOURCE_LOCKED: "resource-locked",
    PRECONDITION_FAILED: "precondition-failed",
    RESOURCE_DELETED: "resource-deleted",
    ILLEGAL_STATE: "illegal-state",
    COMMAND_INVALID: "command-invalid",
    RESOURCE_LIMIT_EXCEEDED: "resource-limit-exceeded",
    NOT_ALLOWED: "not-allowed",
    ILLEGAL_ARGUMENT: "illegal-argument",
    NOT_IMPLEMENTED: "not-implemented",
    INTERNAL_ERROR: "internal-error",
    INVALID_ARGUMENT: "invalid-argument",
}
"""The names of the codes of execution.exception (execution.error-code)."""


class ExecutionError(AmqpError):
    """A command can't be executed: `code` is that of execution.exception, `rule` the rule's full identifier or None.

    >>> str(ExecutionError(404, "no queue 'jobs'")), ExecutionError(404, "").condition
    ("no queue 'jobs'", 'not-found')
    """

    def __init__(self, code: int, text: str, *, rule: str | None = None) -> None:
        super().__init__(text)
        # That of execution.exception.
        self.code = code
        # The rule's full identifier; None where no single rule says it.
        self.rule = rule

    @property
    def condition(self) -> str:
        """The code's name ("not-found"); the number where the specification has none."""
        return ERROR_CODES.get(self.code, str(self.code))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.code, str(self), self.rule)


def _rebuild(code: int, text: str, rule: str | None) -> ExecutionError:
    return ExecutionError(code, text, rule=rule)
