"""Text from peers, made safe for people: nothing in it controls a terminal, and all of it can be printed.

Every text that the library shows to people passes through here: error messages, reports of closes, `repr`, JSON.
"""

from __future__ import annotations

from collections.abc import Callable

from ._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final


class _Escapes(dict[int, str]):
    """A table for `str.translate`: replaces unprintable and given characters by the escape that `escape` makes."""

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
    """Return `text` with Python escapes for everything that may control a terminal or that a stream can't encode.

    These are the control characters (of ASCII and of Latin-1), characters that change the direction of text, invisible
    and unassigned ones, all spaces and line ends but the plain space, and lone surrogates.

    >>> printable("caf\\u00e9 \\x1b[2J\\u202e\\n")
    'café \\\\x1b[2J\\\\u202e\\\\n'
    """
    return text if text.isprintable() else text.translate(_PYTHON)


def visible(text: str) -> str:
    """Do the same as `printable` for a text of several lines: line ends stay.

    >>> visible("a\\x00b\\nc")
    'a\\\\x00b\\nc'
    """
    return "\n".join([printable(line) for line in text.split("\n")])


def json_string(text: str) -> str:
    """Return `text` as a JSON string, with everything that `printable` escapes as JSON escapes.

    >>> json_string('say "hi"\\u202e')
    '"say \\\\"hi\\\\"\\\\u202e"'
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_JSON)}"'


__all__ = ["json_string", "printable", "visible"]
