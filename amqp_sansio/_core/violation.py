"""Violation: how the rules of 0-8, 0-9-1 and 0-10 say no, before it becomes an exception, an event or a row."""

from __future__ import annotations

from enum import Enum

from .._checking import TYPE_CHECKING
from ..errors import Scope
from ..printing import printable

if TYPE_CHECKING:
    from typing import Final

SILENT: Final = 0
"""The code of a violation that is answered by closing the socket without a word."""


class Violation(Exception):
    """A broken rule. Raised inside an engine only; each of its callers turns it into what its own caller expects."""

    def __init__(
        self,
        code: int,
        text: str,
        *,
        rule: str | None = None,
        scope: Scope = Scope.CONNECTION,
        detach: Enum | None = None,
        harmless: bool = False,
    ) -> None:
        # The sentence for people; a peer's words in it can't control a terminal.
        self.text = printable(text)
        super().__init__(self.text)
        # The reply code; SILENT where the specification wants the socket closed without a word. In 0-10's sessions it
        # is that of execution.exception, unless `detach` is set.
        self.code = code
        # The rule's identifier without its version; None where no single rule says it.
        self.rule = rule
        # How much ends because of it: the connection, or only the channel or session.
        self.scope = scope
        # In 0-10, the code of session.detached, where the session ends by that.
        self.detach = detach
        # Whether observers only warn of it, since it's ignored or untidy.
        self.harmless = harmless


def refuse(*broken: Violation | None) -> None:
    """Raise the first of the broken rules, if there is one."""
    for each in broken:
        if each is not None:
            raise each
