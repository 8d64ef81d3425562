"""What a case can come to, and what was seen."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple


class Verdict(Enum):
    """The verdict on one case; its value is the word of every report."""

    CONFORMS = "conforms"
    OTHER_CODE = "conforms, other code"
    NON_STRICT = "non-strict"
    DOCUMENTED = "deviates, documented"
    BREAKS = "breaks"
    UNCLEAN = "unclean"
    HARMED = "harmed"
    UNSTABLE = "unstable"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"
    INFORMATIONAL = "informational"


FAILURES: Final = frozenset({Verdict.BREAKS, Verdict.UNCLEAN, Verdict.HARMED, Verdict.UNSTABLE})
"""Verdicts that a case is run again for, and that a list of expectations names."""
FAULTS: Final = frozenset({Verdict.BREAKS, Verdict.HARMED})
"""Verdicts that make the exit status 1 without a list."""
ATTEMPTS: Final = 3
"""Runs of a failing case that were on time; and the runs that may be late until it is inconclusive."""
KEPT: Final = frozenset({Verdict.CONFORMS, Verdict.OTHER_CODE})
"""Verdicts with which a rule counts as kept."""


class Seen(NamedTuple):
    """A verdict, and in words what the peer did."""

    verdict: Verdict
    text: str


def judged(keeps: object, text: str) -> Seen:
    """Return what a case that knows only right and wrong has seen: the rule is kept, or broken."""
    return Seen(Verdict.CONFORMS if keeps else Verdict.BREAKS, text)


class Surprise(Exception):
    """The peer ended a step that only prepares the case; the text says how."""


class Unusable(Exception):
    """The peer can't be probed: nothing listens, the login is refused, or it speaks something else."""
