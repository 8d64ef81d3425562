"""Rules of subscriptions: SQL and correlation filters, and SQL actions.

The conditions of Service Bus are translated into those of the broker's selectors, which compile and evaluate them: the
scope `sys.` becomes the fields of the message, `user.` is left out, a name in brackets becomes one in double quotes,
and EXISTS(name) becomes `name IS NOT NULL`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.amqp_1_0 import Properties, Symbol
from amqp_sansio.broker.frontends.amqp_1_0.selecting import evaluate
from amqp_sansio.broker.frontends.amqp_1_0.selector import Program, SelectorError, parse
from amqp_sansio.errors import CodecError

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Message

LONGEST: Final = 1024
"""Characters of a condition or an action."""
DEFAULT: Final = "$Default"
"""The rule that a subscription begins with: everything."""
_CORRELATION: Final = 32
"""Properties of a correlation filter."""

FIELDS: Final[Mapping[str, str]] = {
    "messageid": "message_id",
    "correlationid": "correlation_id",
    "to": "to",
    "replyto": "reply_to",
    "label": "subject",
    "subject": "subject",
    "sessionid": "group_id",
    "replytosessionid": "reply_to_group_id",
    "contenttype": "content_type",
}
"""The names of the scope `sys.`, in lower case, and the fields of a message's properties."""


class RuleError(ValueError):
    """A rule that can't be: the text says why."""


class Filter(ABC):
    """What a rule selects."""

    __slots__ = ()

    @abstractmethod
    def matches(self, message: Message) -> bool:
        """Return whether a message is selected."""


class TrueFilter(Filter):
    """Selects everything."""

    __slots__ = ()

    def matches(self, message: Message) -> bool:
        return True


class FalseFilter(Filter):
    """Selects nothing."""

    __slots__ = ()

    def matches(self, message: Message) -> bool:
        return False


class SqlFilter(Filter):
    """A condition of SQL. Raises RuleError if it doesn't parse.

    >>> SqlFilter("sys.Label = 'red' AND EXISTS(quantity) AND [max price] > 3").program[0]
    ('name', 'amqp.subject')
    """

    __slots__ = ("expression", "program")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.program = compiled(expression)

    def matches(self, message: Message) -> bool:
        return evaluate(self.program, message) is True


class CorrelationFilter(Filter):
    """Values of the message's fields and application properties, all of which have to be equal.

    `fields` are by the names of a message's properties (`correlation_id`, `subject` and so on).
    """

    __slots__ = ("fields", "properties")

    def __init__(self, fields: Mapping[str, str] | None = None, properties: Mapping[str, Any] | None = None) -> None:
        self.fields = dict(fields or {})
        self.properties = dict(properties or {})
        unknown = set(self.fields) - set(FIELDS.values())
        if unknown:
            raise RuleError(f"a correlation filter has no field {min(unknown)!r}")
        if not self.fields and not self.properties:
            raise RuleError("a correlation filter needs at least one field or property")
        if len(self.properties) > _CORRELATION:
            raise RuleError(f"a correlation filter has at most {_CORRELATION} properties")

    def matches(self, message: Message) -> bool:
        try:
            found = message.properties
            for name, value in self.fields.items():
                there: Any = None if found is None else getattr(found, name)
                if there is None or str(there) != value:
                    return False
            application = message.application_properties
            return all(_are_equal(application.get(name), value) for name, value in self.properties.items())
        except CodecError:
            return False


class Action:
    """An SQL action: SET and REMOVE of properties, separated by semicolons. Raises RuleError if it doesn't parse.

    >>> Action("SET priority = 'high'; REMOVE colour").steps[1]
    ('colour', None)
    """

    __slots__ = ("expression", "steps")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.steps: list[tuple[str, Program | None]] = [
            _step(each) for each in _statements(_checked(expression)) if each.strip()
        ]
        if not self.steps:
            raise RuleError("an action needs a statement: SET name = value, or REMOVE name")

    def apply(self, message: Message) -> Message:
        """Return the message as the action leaves it. Raises RuleError for a field that can't have the value."""
        for name, program in self.steps:
            value = None if program is None else evaluate(program, message)
            message = _changed(message, name, value)
        return message


class Rule:
    """A rule of a subscription: its name, filter, action, and when it was made (Unix time)."""

    __slots__ = ("action", "created", "filter", "name")

    def __init__(self, name: str, filter: Filter, action: Action | None = None, created: float = 0.0) -> None:
        if not name or len(name) > 50:
            raise RuleError(f"a rule's name has 1 to 50 characters, not {len(name)}")
        self.name = name
        self.filter = filter
        self.action = action
        self.created = created


def compiled(expression: str) -> Program:
    """Return the program of a condition or value. Raises RuleError."""
    text = _translated(_checked(expression))
    try:
        return parse(text)
    except (SelectorError, ValueError) as error:
        raise RuleError(f"the expression doesn't parse: {error}") from None


def _checked(expression: str) -> str:
    if not expression.strip() or len(expression) > LONGEST:
        raise RuleError(f"an expression has 1 to {LONGEST} characters, not {len(expression)}")
    return expression


def _translated(text: str) -> str:
    """Return a condition in the words of the broker's selectors."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "'":
            stop = _end_of_text(text, at)
            parts.append(text[at:stop])
            at = stop
        elif char in '["':
            name, at = _delimited(text, at)
            parts.append(_quoted(name))
        elif char == "@":
            raise RuleError(f"parameter at position {at}: parameters aren't supported")
        elif char.isalpha() or char == "_":
            name, stop = _name(text, at)
            if name.upper() == "EXISTS" and text[stop:].lstrip().startswith("("):
                found, at = _exists(text, stop)
                parts.append(f"({found} IS NOT NULL)")
            else:
                parts.append(name if name.upper() in _WORDS else _quoted(_field(name)))
                at = stop
        else:
            parts.append(char)
            at += 1
    return "".join(parts)


_WORDS: Final = frozenset({"AND", "OR", "NOT", "IN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE"})


def _name(text: str, at: int) -> tuple[str, int]:
    """Return the name at a position, with its scope, and where it ends."""
    stop = at
    while stop < len(text) and (text[stop].isalnum() or text[stop] in "_$."):
        stop += 1
    name = text[at:stop]
    if name.endswith(".") and text[stop : stop + 1] in ("[", '"'):
        rest, stop = _delimited(text, stop)
        return name + rest, stop
    return name, stop


def _field(name: str) -> str:
    """Return the broker's name of a property. Raises RuleError for an unknown one of the scope `sys.`."""
    scope, dot, rest = name.partition(".")
    if dot and scope.lower() == "sys":
        field = FIELDS.get(rest.lower())
        if field is None:
            raise RuleError(f"there is no property {name!r} in filters")
        return f"amqp.{field}"
    if dot and scope.lower() == "user":
        return rest
    return name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _delimited(text: str, at: int) -> tuple[str, int]:
    """Return a name in brackets or double quotes, and where it ends; the closing sign doubled stands for itself."""
    closing = "]" if text[at] == "[" else '"'
    parts: list[str] = []
    start = at + 1
    while True:
        stop = text.find(closing, start)
        if stop < 0:
            raise RuleError(f"the name at position {at} isn't closed")
        parts.append(text[start:stop])
        if text[stop + 1 : stop + 2] != closing:
            return closing.join(parts), stop + 1
        start = stop + 2


def _end_of_text(text: str, at: int) -> int:
    """Return where a text in quotes ends; two quotes inside stand for one."""
    start = at + 1
    while True:
        stop = text.find("'", start)
        if stop < 0:
            raise RuleError(f"the quote at position {at} isn't closed")
        if text[stop + 1 : stop + 2] != "'":
            return stop + 1
        start = stop + 2


def _exists(text: str, at: int) -> tuple[str, int]:
    """Return the name of an EXISTS whose parenthesis comes next, and where it ends."""
    start = text.index("(", at) + 1
    stop = text.find(")", start)
    inside = text[start:stop].strip() if stop >= 0 else ""
    if not inside:
        raise RuleError(f"EXISTS at position {at} needs one property")
    if inside[0] in '["':
        name, end = _delimited(inside, 0)
    else:
        name, end = _name(inside, 0)
        name = _field(name)
    if end != len(inside):
        raise RuleError(f"EXISTS at position {at} needs one property, not {inside[:60]!r}")
    return _quoted(name), stop + 1


def _statements(text: str) -> list[str]:
    """Return the statements of an action."""
    found: list[str] = []
    start = at = 0
    while at < len(text):
        if text[at] == "'":
            at = _end_of_text(text, at)
        elif text[at] in '["':
            at = _delimited(text, at)[1]
        else:
            if text[at] == ";":
                found.append(text[start:at])
                start = at + 1
            at += 1
    return [*found, text[start:]]


def _step(statement: str) -> tuple[str, Program | None]:
    """Return the property that a statement changes, and its value's program; None: it is removed."""
    words = statement.strip()
    verb, _, rest = words.partition(" ")
    rest = rest.lstrip()
    if verb.upper() not in ("SET", "REMOVE") or not rest:
        raise RuleError(f"statement {words[:60]!r} is neither SET name = value nor REMOVE name")
    if rest[0] in '["':
        name, stop = _delimited(rest, 0)
    elif rest[0].isalpha() or rest[0] == "_":
        name, stop = _name(rest, 0)
        name = _field(name)
    else:
        raise RuleError(f"statement {words[:60]!r} names no property")
    rest = rest[stop:].strip()
    if verb.upper() == "REMOVE":
        if rest:
            raise RuleError(f"statement {words[:60]!r} has more than a name")
        return name, None
    if not rest.startswith("="):
        raise RuleError(f"statement {words[:60]!r} has no value")
    return name, compiled(rest[1:])


def _changed(message: Message, name: str, value: Any) -> Message:
    if name.startswith("amqp."):
        field = name.removeprefix("amqp.")
        properties = message.properties or Properties()
        if value is not None:
            value = Symbol(str(value)) if field == "content_type" else str(value)
        return message.replace(properties=properties.replace(**{field: value}))
    application = dict(message.application_properties)
    if value is None:
        application.pop(name, None)
    else:
        application[name] = value
    return message.replace(application_properties=application)


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    return one is not None and bool(one == other)


__all__ = [
    "DEFAULT",
    "FIELDS",
    "LONGEST",
    "Action",
    "CorrelationFilter",
    "FalseFilter",
    "Filter",
    "Rule",
    "RuleError",
    "SqlFilter",
    "TrueFilter",
    "compiled",
]
