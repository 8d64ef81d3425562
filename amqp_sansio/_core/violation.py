"""Violation: how the rules of 0-8, 0-9-1 and 0-10 say no, before it becomes an exception, an event or a row."""

from __future__ import annotations

from enum import Enum
from typing import Final

from ..errors import Scope
from ..printing import printable

SILENT: Final = 0
"""The code of a violation that is answered by closing the socket without a word."""


class Violation(Exception):
    """A broken rule. Raised inside an engine only; each door turns it into what its caller expects.

    `code` is the reply code, SILENT when the specification wants the socket closed without a word; in 0-10's sessions
    it's that of execution.exception, unless `detach` tells the error, as the code of session.detached. `rule` is the
    rule's identifier without the version. `harmless`: observers warn of it, since it's ignored or only untidy.
    """

    def __init__(
        self, code: int, text: str, *, rule: str | None = None, scope: Scope = Scope.CONNECTION,
        detach: Enum | None = None, harmless: bool = False,
    ) -> None:  # fmt: skip
        self.text = printable(text)
        super().__init__(self.text)
        self.code = code
        self.rule = rule
        self.scope = scope
        self.detach = detach
        self.harmless = harmless


def refuse(*broken: Violation | None) -> None:
    """Raise the first of the broken rules, if there is one."""
    for each in broken:
        if each is not None:
            raise each
