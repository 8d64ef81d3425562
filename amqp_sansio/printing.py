"""Text that a peer may have written, for people: nothing in it acts on a terminal, and all of it can be printed.

Every text of the library that people see goes through here: messages of errors, reports of closes, `repr`, JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final


class _Escapes(dict[int, str]):
    """For `str.translate`: what isn't printable, and what is given with it, as the escape that `escape` makes."""

    def __init__(self, escape: Callable[[str], str], always: dict[int, str]) -> None:
        super().__init__(always)
        self._escape = escape

    def __missing__(self, code: int) -> str:
        character = chr(code)
        return character if character.isprintable() else self._escape(character)


def _in_python(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join([f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)])


_PYTHON: Final = _Escapes(_in_python, {})
_JSON: Final = _Escapes(
    _in_json, {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}
)


def printable(text: str) -> str:
    """`text` with escapes, as Python writes them, for what a terminal may act on or a stream can't encode.

    These are the control characters (of ASCII and of Latin-1), those that change the direction of text, that are
    invisible or assigned to nobody, all spaces and ends of lines but the plain space, and lone surrogates.

    >>> printable("caf\\u00e9 \\x1b[2J\\u202e\\n")
    'café \\\\x1b[2J\\\\u202e\\\\n'
    """
    return text if text.isprintable() else text.translate(_PYTHON)


def visible(text: str) -> str:
    """`printable` for a text of several lines: their ends stay.

    >>> visible("a\\x00b\\nc")
    'a\\\\x00b\\nc'
    """
    return "\n".join([printable(line) for line in text.split("\n")])


def json_string(text: str) -> str:
    """`text` as a JSON string, in which everything that `printable` escapes is escaped, and reads as it was.

    >>> json_string('say "hi"\\u202e')
    '"say \\\\"hi\\\\"\\\\u202e"'
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_JSON)}"'


__all__ = ["json_string", "printable", "visible"]
