"""Selectors: filters for messages in the language of JMS (a part of SQL-92's conditional expressions).

`parse` compiles a text into a program; `selecting` runs it on messages. Neither recurses, so a selector may have as
many terms as fit into its longest text.

| precedence, lowest first | |
|---|---|
| `OR` | |
| `AND` | |
| `NOT` | |
| `=` `<>` `>` `>=` `<` `<=`, `[NOT] BETWEEN .. AND`, `[NOT] IN (..)`, `[NOT] LIKE .. [ESCAPE ..]`, `IS [NOT] NULL` | |
| `+` `-` | |
| `*` `/` | |
| `+` `-` in front, names, literals, parentheses | |

Keywords are case-insensitive, names aren't. A name in double quotes may contain any characters. An integer outside of
64 bits counts as a floating point number.
"""

from __future__ import annotations

from typing import Any, Final

from .pattern import Pattern

Step = tuple[str, Any]
Program = tuple[Step, ...]
"""Steps of a stack machine: ("name", text) and ("value", value) push one value; ("=", None) and the like pop two and
push one. ("jump", (truth, place)) continues at `place` if that truth is on top, which decides the AND or OR."""

_DEEPEST: Final = 100
"""Most levels of parentheses accepted from a client."""
LONGEST: Final = 65_536
"""Default of the characters accepted from a client (`BrokerLimits.selector`)."""
_SHOWN: Final = 200
"""Most characters of the selector repeated in an error."""

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

_OPEN, _OR, _AND, _NOT, _CONDITION, _SUM, _PRODUCT, _SIGNED = range(8)
"""Binding strength of operators. An open parenthesis separates the operators before it from those inside."""
_BINDING: Final = {
    **{"(": _OPEN, "in": _OPEN, "not in": _OPEN, "or": _OR, "and": _AND, "not": _NOT},
    **dict.fromkeys((*_COMPARISONS.values(), "low", "between"), _CONDITION),
    **{"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT, "minus": _SIGNED},
}
_DECIDES: Final = {"or": True, "and": False}

_Token = tuple[str, Any, int]


class SelectorError(ValueError):
    """An invalid selector; the text says what is wrong and where."""


def parse(text: str) -> Program:
    """Compile a selector. Raises SelectorError.

    >>> parse("a = 1 AND NOT b")
    (('name', 'a'), ('value', 1), ('=', None), ('jump', (False, 7)), ('name', 'b'), ('not', None), ('and', None))
    """
    parsing = Parsing(text)
    while not parsing.is_done:
        parsing.go_on(len(text) + 1)
    if parsing.program is None:
        raise parsing.error or SelectorError("no program")
    return parsing.program


def bounded(value: int) -> int | float:
    """Return an integer of 64 bits, signed or not, or a float for a larger one. Raises OverflowError."""
    return value if -(2**63) <= value < 2**64 else float(value)


def _token(text: str, pos: int) -> tuple[_Token, int]:
    """Return the token that begins at a position, and where the next one may."""
    end = len(text)
    while pos < end and text[pos].isspace():
        pos += 1
    if pos == end:
        return (_END, "", end), end
    char, start = text[pos], pos
    if char in "'\"":
        value, pos = _quoted(text, pos, char)
        return (_TEXT if char == "'" else _NAME, value, start), pos
    if char.isdecimal() or (char == "." and text[pos + 1 : pos + 2].isdecimal()):
        return _number(text, pos)
    if char.isalpha() or char in "_$":
        while pos < end and (text[pos].isalnum() or text[pos] in "_$."):
            pos += 1
        name = text[start:pos]
        word = name.upper()
        return ((_WORD, word, start) if word in _WORDS else (_NAME, name, start)), pos
    sign = next((each for each in _SIGNS if text.startswith(each, pos)), None)
    if sign is None:
        raise SelectorError(f"character {char!r} at position {pos} of selector {text[:_SHOWN]!r}")
    return (_SIGN, sign, start), pos + len(sign)


def _quoted(text: str, pos: int, quote: str) -> tuple[str, int]:
    """Read a quoted text; two quotes inside stand for one."""
    parts: list[str] = []
    at = pos + 1
    while True:
        stop = text.find(quote, at)
        if stop < 0:
            raise SelectorError(f"the quote at position {pos} of selector {text[:_SHOWN]!r} isn't closed")
        parts.append(text[at:stop])
        if text[stop + 1 : stop + 2] != quote:
            return quote.join(parts), stop + 1
        at = stop + 2


def _number(text: str, pos: int) -> tuple[_Token, int]:
    """Read an exact number, in Java's integer notations, or an approximate one."""
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
            raise SelectorError(
                f"the number at position {start} of selector {text[:_SHOWN]!r} has no exponent behind its e"
            )
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
        value = bounded(int(digits, base))
    except (ValueError, OverflowError):
        raise SelectorError(f"{text[start:pos][:_SHOWN]!r} at position {start} of a selector is no number") from None
    if text[pos : pos + 1] in ("l", "L"):
        pos += 1
    _check_end(text, start, pos)
    return (_INTEGER, value, start), pos


def _check_end(text: str, start: int, pos: int) -> None:
    if pos < len(text) and (text[pos].isalnum() or text[pos] in "_$"):
        raise SelectorError(f"{text[start : pos + 1][:_SHOWN]!r} at position {start} of a selector is no number")


class Parsing:
    """The compilation of a text, in pieces. An operator waits until one comes that binds no tighter."""

    def __init__(self, text: str, most: int = LONGEST) -> None:
        """`most`: characters accepted."""
        self.text = text
        self.program: Program | None = None
        """The result, once it is done."""
        self.error: SelectorError | None = None
        """What is wrong with the text, once it was found."""
        if len(text) > most:
            self.error = SelectorError(f"a selector of {len(text)} characters, BrokerLimits.selector allows {most}")
        self.tokens: list[_Token] = []
        self.pos = 0
        self.at = 0
        self.steps: list[Step] = []
        self.waiting: list[tuple[str, int]] = []
        """Waiting operators, with an AND's or OR's jump, the choices of an IN, or the negation of a BETWEEN."""
        self.depth = 0

    @property
    def is_done(self) -> bool:
        """Whether there is a program, or an error."""
        return self.program is not None or self.error is not None

    def go_on(self, count: int) -> int:
        """Read `count` tokens more, or order as many operators; return how many are left."""
        try:
            return self._go_on(count)
        except SelectorError as error:
            self.error = error
            return count

    def _go_on(self, count: int) -> int:
        tokens = self.tokens
        while not tokens or tokens[-1][0] != _END:
            if count <= 0:
                return 0
            count -= 1
            token, self.pos = _token(self.text, self.pos)
            tokens.append(token)
        if not self.at:
            self.operand()
        while tokens[self.at][0] != _END:
            if count <= 0:
                return 0
            count -= 1
            self.operator()
        self.settle(_OR)
        if self.waiting:
            raise self.wrong(")")
        self.program = tuple(self.steps)
        return count

    def operand(self) -> None:
        """Read signs, negations and opening parentheses, and then a name or a literal."""
        while True:
            kind, value, _ = self.tokens[self.at]
            if kind in (_NAME, _INTEGER, _DOUBLE, _TEXT) or (kind == _WORD and value in _LITERALS):
                step = "name" if kind == _NAME else "value"
                self.steps.append((step, _LITERALS[value] if kind == _WORD else value))
                self.at += 1
                return
            if self.takes(_SIGN, "("):
                self.open("(")
            elif self.takes(_SIGN, "-"):
                self.turn("minus")
            elif not self.takes(_SIGN, "+"):
                if (self.waiting and _BINDING[self.waiting[-1][0]] > _NOT) or not self.takes(_WORD, "NOT"):
                    raise self.wrong("a name, a literal or a parenthesis")
                self.turn("not")

    def turn(self, name: str) -> None:
        """Queue a sign or negation; two of them cancel out."""
        if self.waiting and self.waiting[-1][0] == name:
            self.waiting.pop()
        else:
            self.waiting.append((name, 0))

    def open(self, name: str) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise SelectorError(f"a selector nested deeper than {_DEEPEST} levels")
        self.waiting.append((name, 1))

    def operator(self) -> None:
        """Read from after an operand: a closing parenthesis, a test, or an operator and the rest."""
        kind, value, _ = self.tokens[self.at]
        if kind == _SIGN and value != "(":
            if value == ")":
                self.close()
            elif value == ",":
                self.next_choice()
            else:
                self.at += 1
                self.join(_COMPARISONS.get(value) or str(value))
        elif self.takes(_WORD, "OR"):
            self.join("or")
        elif self.takes(_WORD, "AND"):
            self.settle(_SUM)
            if self.waiting and self.waiting[-1][0] == "low":
                self.waiting[-1] = "between", self.waiting[-1][1]
                self.operand()
            else:
                self.join("and")
        elif self.takes(_WORD, "IS"):
            self.settle(_CONDITION)
            negated = self.takes(_WORD, "NOT")
            self.expect(_WORD, "NULL")
            self.add("null", None, negated)
        else:
            self.test(self.takes(_WORD, "NOT"))

    def test(self, negated: bool) -> None:
        """Read BETWEEN, IN or LIKE."""
        if self.takes(_WORD, "BETWEEN"):
            self.settle(_CONDITION)
            self.waiting.append(("low", negated))
            self.operand()
        elif self.takes(_WORD, "IN"):
            self.settle(_CONDITION)
            self.expect(_SIGN, "(")
            self.open("not in" if negated else "in")
            self.operand()
        elif self.takes(_WORD, "LIKE"):
            self.settle(_CONDITION)
            self.add("like", self.pattern(), negated)
        else:
            raise self.wrong("BETWEEN, IN or LIKE" if negated else "an operator or the end")

    def join(self, name: str) -> None:
        """Queue an operator between two operands."""
        self.settle(_BINDING[name])
        self.waiting.append((name, len(self.steps)))
        if name in _DECIDES:
            self.steps.append(("jump", None))
        self.operand()

    def next_choice(self) -> None:
        self.settle(_OR)
        if not self.waiting or self.waiting[-1][0] == "(":
            raise self.wrong("an operator or the end")
        self.at += 1
        name, choices = self.waiting[-1]
        self.waiting[-1] = name, choices + 1
        self.operand()

    def close(self) -> None:
        self.settle(_OR)
        if not self.waiting:
            raise self.wrong("the end")
        self.at += 1
        self.depth -= 1
        name, choices = self.waiting.pop()
        if name != "(":
            self.add("in", choices, name == "not in")

    def settle(self, binding: int) -> None:
        """Emit the waiting operators that bind at least as tightly."""
        while self.waiting and _BINDING[self.waiting[-1][0]] >= binding:
            name, number = self.waiting.pop()
            if name == "low":
                raise self.wrong("AND")
            self.add(name, None, name == "between" and bool(number))
            if name in _DECIDES:
                self.steps[number] = "jump", (_DECIDES[name], len(self.steps))

    def add(self, name: str, argument: Any, negated: bool) -> None:
        self.steps.append((name, argument))
        if negated:
            self.steps.append(("not", None))

    def pattern(self) -> Pattern:
        text = self.literal_text()
        escape = self.literal_text() if self.takes(_WORD, "ESCAPE") else ""
        try:
            return Pattern(text, escape)
        except ValueError as error:
            raise SelectorError(str(error)) from None

    def literal_text(self) -> str:
        kind, value, _ = self.tokens[self.at]
        if kind != _TEXT:
            raise self.wrong("a text in single quotes")
        self.at += 1
        return str(value)

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
        found = "its end" if kind == _END else repr(value)[:_SHOWN]
        return SelectorError(f"selector {self.text[:_SHOWN]!r} has {found} at position {pos}, where {wanted} should be")
