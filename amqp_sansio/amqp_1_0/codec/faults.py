"""How the codec says what is wrong: one exception, with the rule and the error condition."""

from __future__ import annotations

from struct import error as StructError

from ..._checking import TYPE_CHECKING
from ...errors import CodecError

if TYPE_CHECKING:
    from typing import Final

DECODE: Final = "amqp:decode-error"
INVALID: Final = "amqp:invalid-field"

READ_FAULTS: Final = (IndexError, StructError, UnicodeDecodeError, KeyError, ValueError, TypeError)
"""Exceptions that straight-line decoding raises for octets that aren't as expected; CodecError is a ValueError."""
WRITE_FAULTS: Final = (AttributeError, LookupError, OverflowError, StructError, TypeError, ValueError)
"""Exceptions that straight-line encoding raises for values that aren't as expected."""


def fault(text: str, offset: int | None, rule: str, condition: str = DECODE) -> CodecError:
    """A CodecError whose rule is named without the version in front."""
    return CodecError(text, offset=offset, rule="1.0/" + rule, condition=condition)
