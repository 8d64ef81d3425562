"""Evaluates selectors: three-valued logic on the fields and application-properties of a message.

A comparison of values of different kinds (numbers, texts, booleans) is false; one with null is unknown, and so is
arithmetic on anything but numbers. Only a true condition selects a message. For every message, evaluation ends without
an exception, in time linear in the selector and the texts it examines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import fmod, nan
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ....amqp_1_0 import Symbol
from ....amqp_1_0.codec.values import Char, Decimal32, Decimal64, Decimal128
from ....errors import CodecError
from ...conversion import as_1_0
from ...model.content import Filter
from ...model.sizes import STEP_OCTETS
from .selector import bounded, parse

if TYPE_CHECKING:
    from ....amqp_1_0 import Message as Sections
    from ...model.content import Message
    from .pattern import Pattern
    from .selector import Program

_JMS_TYPES: Final = (Symbol("x-opt-jms-type"), Symbol("jms-type"))
_PER_STEP: Final = 8
"""Operations of a selector that count for one step of `BrokerLimits.turn`."""
_COMPARED: Final = (bool, str, bytes, Char, UUID)
"""Types other than numbers whose values can be equal."""


class Selector(Filter):
    """The selector filter of the Apache filters (apache.org:selector-filter:string). Raises SelectorError.

    >>> Selector("colour = 'blue'").text
    "colour = 'blue'"
    """

    __slots__ = ("program", "text")

    def __init__(self, text: str, program: Program | None = None) -> None:
        """With `program`, the text is compiled already."""
        self.text = text
        self.program: Program = parse(text) if program is None else program

    @property
    def cost(self) -> int:
        """Steps that it takes to judge a message: its operations run faster than other steps."""
        return 1 + len(self.program) // _PER_STEP

    @property
    def octets(self) -> int:
        """Octets that it takes, with its operations."""
        return 1024 + len(self.text) + len(self.program) * STEP_OCTETS

    def accepts(self, message: Message) -> bool:
        """Whether the condition is true of the message; false for an unreadable one."""
        content = as_1_0(message)
        return not content.message_format and evaluate(self.program, content.message) is True

    def __reduce__(self) -> tuple[object, ...]:
        return Selector, (self.text, self.program)


def evaluate(program: Program, message: Sections) -> Any:
    """Return the value of a program for a message: a number, text, boolean, or None for null and unknown.

    It is also None if a section that it needs is damaged.
    """
    stack: list[Any] = []
    at = 0
    while at < len(program):
        name, argument = program[at]
        at += 1
        if name == "name":
            try:
                stack.append(_field(argument, message))
            except CodecError:
                return None
        elif name == "value":
            stack.append(argument)
        elif name == "jump":
            if _truth(stack[-1]) is argument[0]:
                at = argument[1]
        elif name in _OF_TWO:
            right = stack.pop()
            stack[-1] = _OF_TWO[name](stack[-1], right)
        elif name == "between":
            high, low = stack.pop(), stack.pop()
            stack[-1] = _and(_compare(">=", stack[-1], low), _compare("<=", stack[-1], high))
        elif name == "in":
            choices = stack[-argument:]
            del stack[-argument:]
            stack[-1] = _in(stack[-1], choices)
        else:
            stack[-1] = _OF_ONE[name](stack[-1], argument)
    return stack[0]


def _field(name: str, message: Sections) -> Any:
    if name.startswith("amqp."):
        field = FIELDS.get(name[5:])
        if field is not None:
            return _plain(field(message))
    elif name in JMS_FIELDS:
        return _plain(FIELDS[JMS_FIELDS[name]](message))
    return _plain(message.application_properties.get(name))


def _and(left: Any, right: Any) -> bool | None:
    left, right = _truth(left), _truth(right)
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: Any, right: Any) -> bool | None:
    left, right = _truth(left), _truth(right)
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _not(value: Any, _: object) -> bool | None:
    truth = _truth(value)
    return None if truth is None else not truth


def _compare(operator: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if _is_number(left) and _is_number(right):
        return _ORDERS[operator](left, right)
    if operator == "=":
        return _are_equal(left, right)
    return operator == "<>" and _are_alike(left, right) and left != right


def _null(value: Any, _: object) -> bool:
    return value is None


def _in(value: Any, choices: list[Any]) -> bool | None:
    if value is None:
        return None
    if any([_are_equal(value, choice) for choice in choices]):
        return True
    return None if None in choices else False


def _like(value: Any, pattern: Pattern) -> bool | None:
    return None if value is None else isinstance(value, str) and pattern.matches(value)


def _calculate(operator: str, left: Any, right: Any) -> float | None:
    if not (_is_number(left) and _is_number(right)):
        return None
    try:
        value = _ARITHMETIC[operator](left, right)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return bounded(value) if isinstance(value, int) else value


def _minus(value: Any, _: object) -> float | None:
    return -value if _is_number(value) else None


def _divide(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return left / right


def _remainder(left: float, right: float) -> float:
    if isinstance(left, int) and isinstance(right, int):
        return left - right * int(_divide(left, right))
    return fmod(left, right)


def _truth(value: Any) -> bool | None:
    """Return a value as a condition; anything but a boolean is unknown."""
    return value if isinstance(value, bool) else None


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two values other than numbers are of one kind, so that they can be equal."""
    return type(one) is type(other) and isinstance(one, _COMPARED)


def _are_equal(one: Any, other: Any) -> bool:
    return ((_is_number(one) and _is_number(other)) or _are_alike(one, other)) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Convert a value to the types that selectors know: bool, int, float, str, or one that equals nothing else."""
    if value is None or isinstance(value, bool | Char):
        return value
    if isinstance(value, Decimal32 | Decimal64 | Decimal128):
        number = value.to_decimal()
        # Python has no signalling float.
        return nan if number.is_nan() else float(number)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    return value


def _durable(message: Sections) -> Any:
    return message.durable


def _jms_type(message: Sections) -> Any:
    for each in _JMS_TYPES:
        found = message.message_annotations.get(each)
        if found is not None:
            return found
    return message.subject


class _Property:
    """Reads a field of the properties section."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, message: Sections) -> Any:
        properties = message.properties
        return None if properties is None else getattr(properties, self.name)


FIELDS: Final[Mapping[str, Callable[[Sections], Any]]] = {
    **{
        name: _Property(name)
        for name in (
            *("message_id", "user_id", "to", "subject", "reply_to", "correlation_id", "content_type"),
            *("content_encoding", "absolute_expiry_time", "creation_time", "group_id", "group_sequence"),
            "reply_to_group_id",
        )
    },
    "durable": _durable,
    "priority": lambda message: message.priority,
    "ttl": lambda message: message.ttl,
    "first_acquirer": lambda message: message.first_acquirer,
    "delivery_count": lambda message: message.delivery_count,
    "delivery_mode": lambda message: "PERSISTENT" if message.durable else "NON_PERSISTENT",
    "redelivered": lambda message: message.delivery_count > 0,
    "jms_type": _jms_type,
}
"""Names that begin with "amqp.": the field of that name, with underscores for hyphens."""

JMS_FIELDS: Final[Mapping[str, str]] = {
    "JMSCorrelationID": "correlation_id",
    "JMSDeliveryMode": "delivery_mode",
    "JMSDestination": "to",
    "JMSExpiration": "absolute_expiry_time",
    "JMSMessageID": "message_id",
    "JMSPriority": "priority",
    "JMSRedelivered": "redelivered",
    "JMSReplyTo": "reply_to",
    "JMSTimestamp": "creation_time",
    "JMSType": "jms_type",
}
"""Equivalent JMS names, which clients should have translated."""

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _divide,
    "%": _remainder,
}
_OF_TWO: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "and": _and,
    "or": _or,
    **{name: partial(_compare, name) for name in _ORDERS},
    **{name: partial(_calculate, name) for name in _ARITHMETIC},
}
_OF_ONE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"not": _not, "null": _null, "like": _like, "minus": _minus}
"""Operations on one value, with the argument of the step."""
