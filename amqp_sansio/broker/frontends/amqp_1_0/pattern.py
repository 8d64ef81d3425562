"""Pattern: the right side of a LIKE, matched in time linear in the text for every pattern."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

_LONGEST: Final = 1024
"""Most characters between two % if they mix text and _. Each character of a message's text costs that many bits."""
_SHOWN: Final = 200


class Pattern:
    """A pattern in which _ matches one character and % any number of them, unless `escape` precedes them.

    Raises ValueError for an escape that isn't one character, an escape at the end, and for more than 1,024 characters
    between two % if they contain a _ between other characters.

    >>> Pattern("b%u_").matches("blue")
    True
    """

    __slots__ = ("_first", "_last", "_middle", "_shortest")

    def __init__(self, text: str, escape: str = "") -> None:
        if len(escape) > 1:
            raise ValueError(f"ESCAPE takes one character, not {escape[:_SHOWN]!r}")
        parts: list[list[str | None]] = [[]]
        characters = iter(text)
        for char in characters:
            if char == escape:
                following = next(characters, None)
                if following is None:
                    raise ValueError(f"pattern {text[:_SHOWN]!r} ends with its escape character")
                parts[-1].append(following)
            elif char == "%":
                parts.append([])
            else:
                parts[-1].append(None if char == "_" else char)
        self._first = _Part(parts[0])
        self._last = _Part(parts[-1]) if len(parts) > 1 else None
        self._middle = tuple([_Floating(part) for part in parts[1:-1] if part])
        self._shortest = sum([len(part) for part in parts])

    def matches(self, text: str) -> bool:
        """Whether the pattern matches a whole text. Takes time proportional to the text and the pattern."""
        first, last = self._first, self._last
        if len(text) < self._shortest or not first.is_at(text, 0):
            return False
        if last is None:
            return len(text) == self._shortest
        at, end = first.length, len(text) - last.length
        if not last.is_at(text, end):
            return False
        for part in self._middle:
            # The first match leaves most room for the following parts.
            at = part.find_end(text, at, end)
            if at < 0:
                return False
        return True


class _Part:
    """A run of characters; None matches any single one."""

    __slots__ = ("length", "texts")

    def __init__(self, part: list[str | None]) -> None:
        self.length = len(part)
        edges = [-1, *[at for at, char in enumerate(part) if char is None], len(part)]
        self.texts = tuple(
            [
                (start + 1, "".join([char or "" for char in part[start + 1 : stop]]))
                for start, stop in pairwise(edges)
                if stop - start > 1
            ]
        )
        """The literal texts in it, with their offsets."""

    def is_at(self, text: str, at: int) -> bool:
        return all([text.startswith(each, at + offset) for offset, each in self.texts])


class _Floating(_Part):
    """A part that may match anywhere."""

    __slots__ = ("any", "masks")

    def __init__(self, part: list[str | None]) -> None:
        super().__init__(part)
        self.masks: dict[str, int] = {}
        """Bit masks of positions by character; `any` has the positions that match every character."""
        self.any = 0
        if len(self.texts) < 2:
            return
        if len(part) > _LONGEST:
            raise ValueError(
                f"a pattern with _ and others in {len(part)} characters between two %, {_LONGEST} is the most"
            )
        self.any = sum([1 << at for at, char in enumerate(part) if char is None])
        for at, char in enumerate(part):
            if char is not None:
                self.masks[char] = self.masks.get(char, self.any) | 1 << at

    def find_end(self, text: str, at: int, end: int) -> int:
        """Return the end of its first match in a range of a text, -1 if there is none."""
        length = self.length
        if end - at < length:
            return -1
        if not self.texts:
            return at + length
        if len(self.texts) == 1:
            offset, only = self.texts[0]
            found = text.find(only, at + offset, end - length + offset + len(only))
            return found - offset + length if found >= 0 else -1
        # One bit for each start that matches the characters so far (shift-and algorithm of Baeza-Yates and Gonnet).
        masks, anything, whole = self.masks, self.any, 1 << (length - 1)
        agreeing = 0
        for place in range(at, end):
            agreeing = (agreeing << 1 | 1) & masks.get(text[place], anything)
            if agreeing & whole:
                return place + 1
        return -1
