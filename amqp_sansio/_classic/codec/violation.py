"""Reply codes of 0-8 and 0-9-1, and the violations that several rules share.

The codes are those of 0-9-1 section 1.2 and of the 0-8 constants; where a version has no code of its own for a case,
`Codes` says which is used instead.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._core.violation import SILENT as SILENT
from ..._core.violation import Violation as Violation
from ..._ground.record import record
from ...errors import LocalProtocolError, Scope
from ...versions import AMQP_0_8, Version
from .rule_ids import rule_id

if TYPE_CHECKING:
    from typing import Final

CONTENT_TOO_LARGE: Final = 311
ACCESS_REFUSED: Final = 403
FRAME_ERROR: Final = 501
SYNTAX_ERROR: Final = 502
COMMAND_INVALID: Final = 503
CHANNEL_ERROR: Final = 504
RESOURCE_ERROR: Final = 506
NOT_ALLOWED: Final = 530
NOT_IMPLEMENTED: Final = 540


@record
class Codes:
    """Reply codes that differ by version."""

    unexpected_frame: int
    unknown_tag: int
    not_transacted: int
    no_queue: int


_CODES_0_8: Final = Codes(FRAME_ERROR, 404, COMMAND_INVALID, NOT_ALLOWED)
_CODES_0_9_1: Final = Codes(505, 406, 406, 404)


def codes_of(version: Version) -> Codes:
    """The reply codes of 0-8 or 0-9-1."""
    return _CODES_0_8 if version is AMQP_0_8 else _CODES_0_9_1


def misuse(
    version: Version, text: str, rule: str | None, kind: type[LocalProtocolError] = LocalProtocolError
) -> LocalProtocolError:
    """Make the error for a caller who breaks `rule` (an identifier without the version)."""
    return kind(text, rule=rule_id(version, rule) if rule else None)


def misplaced(version: Version, text: str) -> Violation:
    """The violation of a frame where another one must come, or of one that is too short (section 4.2.6)."""
    return Violation(codes_of(version).unexpected_frame, text, rule="wire/content-incomplete")


def too_many(what: str, limit: str, scope: Scope = Scope.CHANNEL) -> Violation:
    """The violation of a peer that has reached the bound of `Limits` named `limit`."""
    return Violation(RESOURCE_ERROR, f"{what}, Limits.{limit} allows no more", scope=scope)
