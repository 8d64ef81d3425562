"""Selectors: which messages a consumer wants, in the language of JMS (a part of SQL-92's conditional expressions).

`parse` makes a tree of nested tuples of a text; `selecting` evaluates it on messages.

| precedence, lowest first | |
|---|---|
| `OR` | |
| `AND` | |
| `NOT` | |
| `=` `<>` `>` `>=` `<` `<=`, `[NOT] BETWEEN .. AND`, `[NOT] IN (..)`, `[NOT] LIKE .. [ESCAPE ..]`, `IS [NOT] NULL` | |
| `+` `-` | |
| `*` `/` | |
| `+` `-` in front, names, literals, parentheses | |

Keywords are case-insensitive, names aren't. A name may be written in double quotes, then it may have any characters.
"""

from __future__ import annotations

from typing import Any, Final

Tree = tuple[Any, ...]
"""An operation and its operands: ("name", text), ("value", value), ("and", tree, tree) and so on."""

_DEEPEST: Final = 100
"""Levels of nesting of what a client may send."""
_LONGEST: Final = 65_536
"""Characters of what a client may send."""

_WORDS: Final = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE"})
_SIGNS: Final = ("<>", "<=", ">=", "!=", "=", "<", ">", "(", ")", ",", "+", "-", "*", "/", "%")
_COMPARISONS: Final = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LITERALS: Final = {"TRUE": True, "FALSE": False, "NULL": None}
_INTEGER: Final = "integer"
_DOUBLE: Final = "double"
_TEXT: Final = "text"
_NAME: Final = "name"
_WORD: Final = "word"
_SIGN: Final = "sign"
_END: Final = "end"

_Token = tuple[str, Any, int]


class SelectorError(ValueError):
    """A text that is no selector; it says what is wrong and where."""


def parse(text: str) -> Tree:
    """The tree of a selector. Raises SelectorError.

    >>> parse("a = 1 AND NOT b")
    ('and', ('=', ('name', 'a'), ('value', 1)), ('not', ('name', 'b')))
    """
    if len(text) > _LONGEST:
        raise SelectorError(f"a selector of {len(text)} characters, {_LONGEST} is the most")
    return _Parser(text).whole()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    pos, end = 0, len(text)
    while pos < end:
        char = text[pos]
        if char.isspace():
            pos += 1
            continue
        start = pos
        if char in "'\"":
            value, pos = _quoted(text, pos, char)
            found.append((_TEXT if char == "'" else _NAME, value, start))
        elif char.isdecimal() or (char == "." and text[pos + 1 : pos + 2].isdecimal()):
            token, pos = _number(text, pos)
            found.append(token)
        elif char.isalpha() or char in "_$":
            while pos < end and (text[pos].isalnum() or text[pos] in "_$."):
                pos += 1
            name = text[start:pos]
            word = name.upper()
            found.append((_WORD, word, start) if word in _WORDS else (_NAME, name, start))
        else:
            sign = next((each for each in _SIGNS if text.startswith(each, pos)), None)
            if sign is None:
                raise SelectorError(f"character {char!r} at position {pos} of selector {text!r}")
            found.append((_SIGN, sign, start))
            pos += len(sign)
    found.append((_END, "", end))
    return found


def _quoted(text: str, pos: int, quote: str) -> tuple[str, int]:
    """A text in quotes; two quotes inside stand for one."""
    parts: list[str] = []
    at = pos + 1
    while True:
        stop = text.find(quote, at)
        if stop < 0:
            raise SelectorError(f"the quote at position {pos} of selector {text!r} isn't closed")
        parts.append(text[at:stop])
        if text[stop + 1 : stop + 2] != quote:
            return quote.join(parts), stop + 1
        at = stop + 2


def _number(text: str, pos: int) -> tuple[_Token, int]:
    """An exact number, in the notations of Java's integers, or an approximate one."""
    start, end = pos, len(text)
    if text[pos] == "0" and text[pos + 1 : pos + 2] in ("x", "X", "b", "B"):
        base = 16 if text[pos + 1] in "xX" else 2
        pos += 2
        while pos < end and text[pos].isalnum() and text[pos] not in "lL":
            pos += 1
        return _integer(text, start, pos, text[start + 2 : pos], base)
    while pos < end and text[pos].isdecimal():
        pos += 1
    whole = text[start:pos]
    is_double = False
    if text[pos : pos + 1] == ".":
        is_double = True
        pos += 1
        while pos < end and text[pos].isdecimal():
            pos += 1
    if text[pos : pos + 1] in ("e", "E"):
        after = pos + 1
        if text[after : after + 1] in ("+", "-"):
            after += 1
        if not text[after : after + 1].isdecimal():
            raise SelectorError(f"the number at position {start} of selector {text!r} has no exponent behind its e")
        is_double = True
        pos = after
        while pos < end and text[pos].isdecimal():
            pos += 1
    if is_double or text[pos : pos + 1] in ("f", "F", "d", "D"):
        value = float(text[start:pos])
        if text[pos : pos + 1] in ("f", "F", "d", "D"):
            pos += 1
        _check_end(text, start, pos)
        return (_DOUBLE, value, start), pos
    octal = len(whole) > 1 and whole[0] == "0"
    return _integer(text, start, pos, whole, 8 if octal else 10)


def _integer(text: str, start: int, pos: int, digits: str, base: int) -> tuple[_Token, int]:
    try:
        value = int(digits, base)
    except ValueError:
        raise SelectorError(f"{text[start:pos]!r} at position {start} of a selector is no number") from None
    if text[pos : pos + 1] in ("l", "L"):
        pos += 1
    _check_end(text, start, pos)
    return (_INTEGER, value, start), pos


def _check_end(text: str, start: int, pos: int) -> None:
    if pos < len(text) and (text[pos].isalnum() or text[pos] in "_$"):
        raise SelectorError(f"{text[start : pos + 1]!r} at position {start} of a selector is no number")


class _Parser:
    """Recursive descent, one method for each level of precedence."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def whole(self) -> Tree:
        tree = self.either()
        if self.tokens[self.at][0] != _END:
            raise self.wrong("the end")
        return tree

    def either(self) -> Tree:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise SelectorError(f"a selector nested deeper than {_DEEPEST} levels")
        tree = self.both()
        while self.takes(_WORD, "OR"):
            tree = ("or", tree, self.both())
        self.depth -= 1
        return tree

    def both(self) -> Tree:
        tree = self.negation()
        while self.takes(_WORD, "AND"):
            tree = ("and", tree, self.negation())
        return tree

    def negation(self) -> Tree:
        negations = 0
        while self.takes(_WORD, "NOT"):
            negations += 1
        tree = self.condition()
        return ("not", tree) if negations % 2 else tree

    def condition(self) -> Tree:
        left = self.total()
        kind, value, _ = self.tokens[self.at]
        while kind == _SIGN and value in _COMPARISONS:
            self.at += 1
            left = (_COMPARISONS[value], left, self.total())
            kind, value, _ = self.tokens[self.at]
        if self.takes(_WORD, "IS"):
            negated = self.takes(_WORD, "NOT")
            self.expect(_WORD, "NULL")
            return _negated(("null", left), negated)
        negated = self.takes(_WORD, "NOT")
        if self.takes(_WORD, "BETWEEN"):
            low = self.total()
            self.expect(_WORD, "AND")
            high = self.total()
            return _negated(("and", (">=", left, low), ("<=", left, high)), negated)
        if self.takes(_WORD, "IN"):
            return _negated(("in", left, self.choices()), negated)
        if self.takes(_WORD, "LIKE"):
            return _negated(("like", left, self.pattern()), negated)
        if negated:
            raise self.wrong("BETWEEN, IN or LIKE")
        return left

    def choices(self) -> tuple[Tree, ...]:
        self.expect(_SIGN, "(")
        found = [self.total()]
        while self.takes(_SIGN, ","):
            found.append(self.total())
        self.expect(_SIGN, ")")
        return tuple(found)

    def pattern(self) -> tuple[tuple[str, str], ...]:
        """The pattern as its pieces: one character, any one, or any number of any."""
        pattern = self.literal_text()
        escape = ""
        if self.takes(_WORD, "ESCAPE"):
            escape = self.literal_text()
            if len(escape) != 1:
                raise SelectorError(f"ESCAPE takes one character, not {escape!r}")
        pieces: list[tuple[str, str]] = []
        at = 0
        while at < len(pattern):
            char = pattern[at]
            at += 1
            if char == escape:
                if at == len(pattern):
                    raise SelectorError(f"pattern {pattern!r} ends with its escape character")
                pieces.append(("char", pattern[at]))
                at += 1
            elif char == "%":
                pieces.append(("many", ""))
            elif char == "_":
                pieces.append(("one", ""))
            else:
                pieces.append(("char", char))
        return tuple(pieces)

    def literal_text(self) -> str:
        kind, value, _ = self.tokens[self.at]
        if kind != _TEXT:
            raise self.wrong("a text in single quotes")
        self.at += 1
        return str(value)

    def total(self) -> Tree:
        tree = self.product()
        while self.tokens[self.at][:2] in ((_SIGN, "+"), (_SIGN, "-")):
            sign = self.tokens[self.at][1]
            self.at += 1
            tree = (sign, tree, self.product())
        return tree

    def product(self) -> Tree:
        tree = self.signed()
        while self.tokens[self.at][:2] in ((_SIGN, "*"), (_SIGN, "/"), (_SIGN, "%")):
            sign = self.tokens[self.at][1]
            self.at += 1
            tree = (sign, tree, self.signed())
        return tree

    def signed(self) -> Tree:
        minus = False
        while True:
            if self.takes(_SIGN, "-"):
                minus = not minus
            elif not self.takes(_SIGN, "+"):
                break
        tree = self.primary()
        if not minus:
            return tree
        return ("value", -tree[1]) if tree[0] == "value" and _is_number(tree[1]) else ("minus", tree)

    def primary(self) -> Tree:
        kind, value, _ = self.tokens[self.at]
        self.at += 1
        if kind == _NAME:
            return ("name", value)
        if kind in (_INTEGER, _DOUBLE, _TEXT):
            return ("value", value)
        if kind == _WORD and value in _LITERALS:
            return ("value", _LITERALS[value])
        if kind == _SIGN and value == "(":
            tree = self.either()
            self.expect(_SIGN, ")")
            return tree
        self.at -= 1
        raise self.wrong("a name, a literal or a parenthesis")

    def takes(self, kind: str, value: str) -> bool:
        if self.tokens[self.at][:2] != (kind, value):
            return False
        self.at += 1
        return True

    def expect(self, kind: str, value: str) -> None:
        if not self.takes(kind, value):
            raise self.wrong(value)

    def wrong(self, wanted: str) -> SelectorError:
        kind, value, pos = self.tokens[self.at]
        found = "its end" if kind == _END else repr(value)
        return SelectorError(f"selector {self.text[:200]!r} has {found} at position {pos}, where {wanted} should be")


def _negated(tree: Tree, negated: bool) -> Tree:
    return ("not", tree) if negated else tree


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


__all__ = ["SelectorError", "Tree", "parse"]
