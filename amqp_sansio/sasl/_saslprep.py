"""SASLprep: the preparation of user names and passwords before comparison (RFC 4013)."""

from __future__ import annotations

import stringprep
from collections.abc import Callable
from unicodedata import ucd_3_2_0

_PROHIBITED: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("a non-ASCII space", stringprep.in_table_c12),
    ("a control character", stringprep.in_table_c21_c22),
    ("a private use character", stringprep.in_table_c3),
    ("a non-character", stringprep.in_table_c4),
    ("a surrogate", stringprep.in_table_c5),
    ("a character unfit for plain text", stringprep.in_table_c6),
    ("a character unfit for canonical representation", stringprep.in_table_c7),
    ("a character that changes display", stringprep.in_table_c8),
    ("a tagging character", stringprep.in_table_c9),
)


def prepare(text: str, *, allow_unassigned: bool) -> str:
    """Return `text` mapped, normalized and checked.

    `allow_unassigned` permits code points that Unicode 3.2 doesn't assign, as RFC 3454 section 7 does for queries;
    stored strings can't contain them. Raises ValueError, which names the kind of character and never the text.

    >>> prepare("I\\u00adX", allow_unassigned=False)
    'IX'
    >>> prepare("\\u2168", allow_unassigned=False)
    'IX'
    >>> prepare("a\\u0007", allow_unassigned=False)
    Traceback (most recent call last):
    ValueError: it holds a control character
    """
    mapped = "".join(
        [
            " " if stringprep.in_table_c12(character) else character
            for character in text
            if not stringprep.in_table_b1(character)
        ]
    )
    prepared = ucd_3_2_0.normalize("NFKC", mapped)
    for kind, prohibits in _PROHIBITED:
        if any(map(prohibits, prepared)):
            raise ValueError(f"it holds {kind}")
    if not allow_unassigned and any(map(stringprep.in_table_a1, prepared)):
        raise ValueError("it holds a character that Unicode 3.2 doesn't know")
    # RFC 3454 section 6: right-to-left text doesn't mix with left-to-right letters and has
    # a right-to-left letter at both ends.
    if any(map(stringprep.in_table_d1, prepared)):
        if any(map(stringprep.in_table_d2, prepared)):
            raise ValueError("it mixes right-to-left and left-to-right letters")
        if not (stringprep.in_table_d1(prepared[0]) and stringprep.in_table_d1(prepared[-1])):
            raise ValueError("its right-to-left text doesn't begin and end with such a letter")
    return prepared
