"""Violation: what a frame did wrong, with the condition, scope and rule that go with it (1.0 part 2 section 2.8.14)."""

from __future__ import annotations

from ...errors import LocalProtocolError, RemoteProtocolError, Scope
from ...printing import printable


class Violation(Exception):
    """Raised while a frame is looked at; never leaves the core.

    `condition` is the error symbol, `rule` the rule's identifier without the version, `scope` what ends by it.
    """

    def __init__(
        self, condition: str, text: str, *, rule: str, scope: Scope = Scope.CONNECTION, channel: int = 0
    ) -> None:
        super().__init__(printable(text))
        self.condition = condition
        self.rule = rule
        self.scope = scope
        self.channel = channel

    def error(self, offset: int | None = None) -> RemoteProtocolError:
        """The error as events carry it; `offset` is where the faulty frame begins in the peer's stream."""
        return RemoteProtocolError(
            str(self),
            scope=self.scope,
            channel=self.channel,
            offset=offset,
            rule=f"1.0/{self.rule}",
            condition=self.condition,
        )


class LateViolation(Violation):
    """A frame on a channel whose session its sender has just ended: it does nothing, and nothing ends by it."""


def misuse(violation: Violation) -> LocalProtocolError:
    """Make the error for a caller whose command would break a rule."""
    return LocalProtocolError(str(violation), rule=f"1.0/{violation.rule}")
