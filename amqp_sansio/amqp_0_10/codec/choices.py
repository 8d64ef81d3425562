"""Choices that 0-10 spells as numbers: accept and acquire modes, flow modes, units of credit, and XA's status codes."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

EXPLICIT: Final = 0
"""accept-mode explicit: whoever gets a message says so (class 4, accept-mode)."""
NONE: Final = 1
"""accept-mode none, and acquire-mode not-acquired."""
PRE_ACQUIRED: Final = 0
"""acquire-mode pre-acquired: a message that is sent is its recipient's (class 4, acquire-mode)."""
NOT_ACQUIRED: Final = 1
"""acquire-mode not-acquired: it stays at the queue until it is acquired."""

CREDIT: Final = 0
"""flow-mode credit: what is granted is used up (class 4, flow-mode)."""
WINDOW: Final = 1
"""flow-mode window: completing a transfer gives back what it used."""
MESSAGE: Final = 0
"""credit-unit message (class 4, credit-unit)."""
BYTE: Final = 1
"""credit-unit byte."""
INFINITE: Final = 0xFFFFFFFF
"""A grant without a bound."""

XA_OK: Final = 0
"""The branch did as it was told (class 6, xa-status)."""
XA_RBROLLBACK: Final = 1
"""It was rolled back, for an unnamed reason."""
XA_RBTIMEOUT: Final = 2
"""It was rolled back, for it took too long."""
XA_HEURHAZ: Final = 3
"""It may have been completed heuristically."""
XA_HEURCOM: Final = 4
"""It was committed heuristically."""
XA_HEURRB: Final = 5
"""It was rolled back heuristically."""
XA_HEURMIX: Final = 6
"""It was committed in part and rolled back in part."""
XA_RDONLY: Final = 7
"""It was read-only, and is committed."""
