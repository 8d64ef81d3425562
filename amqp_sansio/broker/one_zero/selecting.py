"""Evaluating selectors: three-valued logic on the fields and application-properties of a message.

A comparison of values of different kinds (numbers, texts, truth values) is false, one with null is unknown, and so is
arithmetic on what are no numbers. Only a condition that is true selects a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import fmod
from typing import TYPE_CHECKING, Any, Final

from ...amqp_1_0 import Char, Decimal32, Decimal64, Decimal128, Symbol
from ...errors import CodecError
from ..consumer import Filter
from ..conversion import as_one_zero
from .selector import parse

if TYPE_CHECKING:
    from ...amqp_1_0 import Message as Sections
    from ..entry import Message
    from .selector import Tree

_JMS_TYPES: Final = (Symbol("x-opt-jms-type"), Symbol("jms-type"))


class Selector(Filter):
    """The selector filter of the Apache filters (apache.org:selector-filter:string). Raises SelectorError.

    >>> Selector("colour = 'blue'").text
    "colour = 'blue'"
    """

    __slots__ = ("text", "tree")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree: Tree = parse(text)

    def accepts(self, message: Message) -> bool:
        """Whether the condition is true of the message; of one that can't be read it isn't."""
        content = as_one_zero(message)
        if content.message_format:
            return False
        try:
            return evaluate(self.tree, content.message) is True
        except CodecError:
            return False

    def __reduce__(self) -> tuple[object, ...]:
        return Selector, (self.text,)


def evaluate(tree: Tree, message: Sections) -> Any:
    """The value of a tree for a message: a number, text, truth value, or None for null and unknown."""
    return _EVALUATE[tree[0]](tree, message)


def _value(tree: Tree, message: Sections) -> Any:
    return tree[1]


def _name(tree: Tree, message: Sections) -> Any:
    name: str = tree[1]
    if name.startswith("amqp."):
        field = FIELDS.get(name[5:])
        if field is not None:
            return _plain(field(message))
    elif name in JMS_FIELDS:
        return _plain(FIELDS[JMS_FIELDS[name]](message))
    return _plain(message.application_properties.get(name))


def _and(tree: Tree, message: Sections) -> Any:
    left = _truth(evaluate(tree[1], message))
    if left is False:
        return False
    right = _truth(evaluate(tree[2], message))
    if right is False:
        return False
    return None if left is None or right is None else True


def _or(tree: Tree, message: Sections) -> Any:
    left = _truth(evaluate(tree[1], message))
    if left is True:
        return True
    right = _truth(evaluate(tree[2], message))
    if right is True:
        return True
    return None if left is None or right is None else False


def _not(tree: Tree, message: Sections) -> Any:
    value = _truth(evaluate(tree[1], message))
    return None if value is None else not value


def _compare(tree: Tree, message: Sections) -> Any:
    operator, left, right = tree[0], evaluate(tree[1], message), evaluate(tree[2], message)
    if left is None or right is None:
        return None
    if _is_number(left) and _is_number(right):
        return _ORDERS[operator](left, right)
    alike = type(left) is type(right)
    if operator == "=":
        return alike and left == right
    if operator == "<>":
        return alike and left != right
    return False


def _null(tree: Tree, message: Sections) -> Any:
    return evaluate(tree[1], message) is None


def _in(tree: Tree, message: Sections) -> Any:
    value = evaluate(tree[1], message)
    if value is None:
        return None
    unknown = False
    for each in tree[2]:
        choice = evaluate(each, message)
        if choice is None:
            unknown = True
        elif _are_alike(value, choice) and value == choice:
            return True
    return None if unknown else False


def _like(tree: Tree, message: Sections) -> Any:
    value = evaluate(tree[1], message)
    if value is None:
        return None
    return isinstance(value, str) and matches(value, tree[2])


def matches(text: str, pattern: tuple[tuple[str, str], ...]) -> bool:
    """Whether a whole text is as a pattern says. Takes time in proportion to both lengths multiplied at most."""
    at = piece = 0
    many = back = -1
    while at < len(text):
        kind, char = pattern[piece] if piece < len(pattern) else ("end", "")
        if kind == "one" or (kind == "char" and char == text[at]):
            at += 1
            piece += 1
        elif kind == "many":
            many, back = piece, at
            piece += 1
        elif many >= 0:
            # The last one that stands for many takes one character more.
            back += 1
            at, piece = back, many + 1
        else:
            return False
    return all(each[0] == "many" for each in pattern[piece:])


def _calculate(tree: Tree, message: Sections) -> Any:
    left, right = evaluate(tree[1], message), evaluate(tree[2], message)
    if not (_is_number(left) and _is_number(right)):
        return None
    try:
        return _ARITHMETIC[tree[0]](left, right)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def _minus(tree: Tree, message: Sections) -> Any:
    value = evaluate(tree[1], message)
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
    """A value as a condition: what is no truth value is unknown."""
    return value if isinstance(value, bool) else None


def _are_alike(one: Any, other: Any) -> bool:
    """Whether two values are of one kind, so that they can be equal."""
    return (_is_number(one) and _is_number(other)) or type(one) is type(other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """A value of AMQP as the kinds that selectors know: bool, int, float, str, or one that is like nothing else."""
    if value is None or isinstance(value, bool | Char):
        return value
    if isinstance(value, Decimal32 | Decimal64 | Decimal128):
        return float(value.to_decimal())
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
    """A field of the properties section."""

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
"""What names that begin with "amqp." mean: the field of that name, with underscores for hyphens."""

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
"""The names of JMS for them, which clients should have translated."""

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
_EVALUATE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "value": _value,
    "name": _name,
    "and": _and,
    "or": _or,
    "not": _not,
    **dict.fromkeys(_ORDERS, _compare),
    "null": _null,
    "in": _in,
    "like": _like,
    **dict.fromkeys(_ARITHMETIC, _calculate),
    "minus": _minus,
}

__all__ = ["FIELDS", "JMS_FIELDS", "Selector", "evaluate", "matches"]
