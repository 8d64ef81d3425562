"""Pattern: a regular expression that is matched in time linear in the pattern and the text, whatever either is.

It has what names are searched with: characters, `.`, sets, `\\d \\w \\s` and their opposites, `^ $`, groups, `|`, and
the repetitions `* + ? {m} {m,} {m,n}`. Back references and assertions, which no automaton has, are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

_MOST: Final = 2000
"""Steps of an automaton: repetitions are written out."""
_LONGEST: Final = 255
"""Characters of a pattern."""
_DEEPEST: Final = 50
"""Groups within groups."""
_MOST_REPEATED: Final = 255

Test = Callable[[str], bool]


class BadPattern(ValueError):
    """A text that isn't a regular expression, or one that isn't supported."""


class _Step(NamedTuple):
    """A step: a character that passes `test`, a place ("^" or "$"), a fork to `ways`, or with "" the end."""

    kind: str
    test: Test | None = None
    ways: tuple[int, ...] = ()


class Pattern:
    """A compiled pattern; large and small letters are the same to it. Raises BadPattern.

    >>> Pattern("^jobs\\\\.[0-9]+$").is_in("JOBS.12"), Pattern("a|b").is_in("xyz")
    (True, False)
    """

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise BadPattern(f"a pattern has at most {_LONGEST} characters")
        self._steps = (*_Parser(text).parse(), _Step(""))
        """The automaton: each step leads to the next one, a fork to several."""

    @property
    def cost(self) -> int:
        """Steps that a character of a text takes at most."""
        return len(self._steps)

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches somewhere in the text."""
        text = text.lower()
        states: dict[int, None] = {}
        for at in range(len(text) + 1):
            # A match may begin at each character.
            self._enter(states, 0, at, len(text))
            if len(self._steps) - 1 in states:
                return True
            if at == len(text):
                return False
            following: dict[int, None] = {}
            for state in states:
                test = self._steps[state].test
                if test is not None and test(text[at]):
                    self._enter(following, state + 1, at + 1, len(text))
            states = following
        return False

    def _enter(self, states: dict[int, None], first: int, at: int, end: int) -> None:
        """Add a state with all that it leads to without a character."""
        left = [first]
        while left:
            state = left.pop()
            if state in states:
                continue
            states[state] = None
            step = self._steps[state]
            if step.kind == "fork":
                left += [state + each for each in reversed(step.ways)]
            elif (step.kind == "^" and at == 0) or (step.kind == "$" and at == end):
                left.append(state + 1)


class _Parser:
    """Reads a pattern; forks name their ways by the distance."""

    def __init__(self, text: str) -> None:
        self._text = text
        """The pattern that is read."""
        self._at = 0
        """The next character."""

    def parse(self) -> list[_Step]:
        found = self._either(0)
        if self._at < len(self._text):
            raise BadPattern("a parenthesis is closed that isn't open")
        return found

    def _next(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _take(self) -> str:
        found = self._next()
        if not found:
            raise BadPattern("the pattern ends too early")
        self._at += 1
        return found

    def _either(self, depth: int) -> list[_Step]:
        if depth > _DEEPEST:
            raise BadPattern(f"more than {_DEEPEST} groups within each other")
        found = self._sequence(depth)
        while self._next() == "|":
            self._at += 1
            other = self._sequence(depth)
            found = [_fork(1, len(found) + 2), *found, _fork(len(other) + 1), *other]
            _check(found)
        return found

    def _sequence(self, depth: int) -> list[_Step]:
        found: list[_Step] = []
        while self._next() not in ("", "|", ")"):
            found += self._repeated(self._one(depth))
            _check(found)
        return found

    def _one(self, depth: int) -> list[_Step]:
        char = self._take()
        if char == "(":
            if self._next() == "?":
                self._at += 1
                if self._take() != ":":
                    raise BadPattern("assertions and named groups aren't supported")
            found = self._either(depth + 1)
            if self._take() != ")":
                raise BadPattern("a parenthesis isn't closed")
            return found
        if char in "*+?":
            raise BadPattern(f"nothing is before {char!r}")
        if char in "^$":
            return [_Step(char)]
        if char == ".":
            return [_Step("", _any)]
        if char == "[":
            return [_Step("", self._set())]
        return [_Step("", self._escaped() if char == "\\" else _is(char))]

    def _escaped(self) -> Test:
        char = self._take()
        known = _CLASSES.get(char)
        if known is not None:
            return known
        if char.isalnum():
            plain = _CONTROLS.get(char)
            if plain is None:
                raise BadPattern(f"\\{char} isn't supported")
            return _is(plain)
        return _is(char)

    def _set(self) -> Test:
        is_negated = self._next() == "^"
        if is_negated:
            self._at += 1
        tests: list[Test] = []
        while not tests or self._next() != "]":
            char = self._take()
            if char == "\\":
                tests.append(self._escaped())
                continue
            if self._next() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                last = self._take()
                if last == "\\" or last < char:
                    raise BadPattern(f"{char}-{last} is no range")
                tests.append(_between(char, last))
            else:
                tests.append(_is(char))
        self._at += 1
        return lambda each: any([test(each) for test in tests]) is not is_negated

    def _repeated(self, found: list[_Step]) -> list[_Step]:
        if self._next() and self._next() in "*+?{":
            least, most = self._count()
            if most is not None and (most < least or most > _MOST_REPEATED):
                raise BadPattern(f"a repetition from {least} to {most}")
            if least > _MOST_REPEATED:
                raise BadPattern(f"a repetition from {least} on")
            _check(found * (most or least or 1))
            if most is None:
                again = [_fork(1, len(found) + 2), *found, _fork(-len(found) - 1)]
                found = [*(found * least), *again]
            else:
                found = [*(found * least), *([_fork(1, len(found) + 1), *found] * (most - least))]
            _check(found)
            if self._next() == "?":
                # The least that matches is asked for; whether something matches is the same.
                self._at += 1
            if self._next() and self._next() in "*+?{":
                raise BadPattern("a repetition is repeated")
        return found

    def _count(self) -> tuple[int, int | None]:
        char = self._take()
        if char != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        text = ""
        while (char := self._take()) != "}":
            text += char
        least, comma, most = text.partition(",")
        numbers = [least, *([most] if most else [])]
        if any([not each.isdecimal() or len(each) > 3 for each in numbers]):
            raise BadPattern(f"{{{text}}} is no repetition")
        return int(least), int(most) if most else None if comma else int(least)


def _fork(*ways: int) -> _Step:
    return _Step("fork", None, ways)


def _check(steps: list[_Step]) -> None:
    if len(steps) > _MOST:
        raise BadPattern(f"the pattern has more than {_MOST} steps")


def _any(char: str) -> bool:
    return char != "\n"


def _is(wanted: str) -> Test:
    folded = wanted.lower()
    return lambda char: char == folded


def _between(first: str, last: str) -> Test:
    return lambda char: first <= char <= last or first <= char.upper() <= last


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _not(test: Test) -> Test:
    return lambda char: not test(char)


_CLASSES: Final[dict[str, Test]] = {
    "d": str.isdecimal,
    "w": _is_word,
    "s": str.isspace,
    "D": _not(str.isdecimal),
    "W": _not(_is_word),
    "S": _not(str.isspace),
}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r"}

__all__ = ["BadPattern", "Pattern"]
