"""HeadersIndex: the bindings of a headers exchange, and the equality of values.

Sources: 0-9-1 section 3.1.3.4, 0-10 section 11.1.2.1; "all-with-x" and "any-with-x" are RabbitMQ's.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Generic, TypeVar

from ...errors import CodecError
from .faults import Fault, FaultKind
from .options import as_text

_D = TypeVar("_D")

X_MATCH: Final = "x-match"
"""The argument that selects how many of the others must match."""
MODES: Final = ("all", "any", "all-with-x", "any-with-x")
STANDARD_MODES: Final = MODES[:2]
_LONGEST: Final = 65_536
"""Most items of a sequence that are compared; a longer one equals nothing else."""
_LONGEST_REPEATED: Final = 256
"""Most items compared in a 1.0 array of items without octets, of which a few octets can declare any number."""
_DEEPEST: Final = 64
"""Most levels of nested lists and maps that are compared."""
_MOMENTS: Final = {
    "amqp_sansio._classic.codec.table_rules.Timestamp": 1000,
    "amqp_sansio.amqp_0_10.codec.values.Datetime": 1000,
    "amqp_sansio.amqp_1_0.codec.types.Timestamp": 1,
}
"""Timestamp classes that are integers, by name, so that no engine is imported for them, with the milliseconds in their
unit."""


def comparable(value: Any, depth: int = _DEEPEST) -> Hashable:
    """Return a key for a value of a table or map: keys are equal if type and value are.

    Types are void, boolean, integer (of any width), floating point (of any width), decimal, timestamp, text, uuid,
    list, map. Octets equal the text that they encode in UTF-8. 1 differs from 1.0 and true. A NaN equals only itself.
    Values nested deeper than `depth` levels equal nothing. Numbers become text, whose hash no peer can predict. Raises
    CodecError for damaged octets.
    """
    kind: type[object] = value.__class__
    if kind is str or value is None:
        key: Hashable = value
        return key
    if kind is int:
        return ("integer", int.__repr__(value))
    if kind is bool:
        return ("boolean", value)
    text = as_text(value)
    if text is not None:
        return str(text)
    if isinstance(value, int):
        unit = _MOMENTS.get(f"{kind.__module__}.{kind.__qualname__}")
        return ("integer" if unit is None else "moment", int.__repr__(value * (unit or 1)))
    if isinstance(value, float):
        return ("float", float.__repr__(value + 0.0))  # the sum is 0.0 for both zeros
    if hasattr(value, "to_decimal"):
        value = value.to_decimal()
    if isinstance(value, Decimal):
        return ("decimal", _digits(value))
    if issubclass(kind, Mapping):
        return ("map", comparable_items(value, depth - 1)) if depth else object()
    if issubclass(kind, Sequence):
        if not depth or len(value) > _LONGEST or getattr(value, "repeats", 0) > _LONGEST_REPEATED:
            return object()
        return ("list", tuple([comparable(item, depth - 1) for item in value]))
    return (f"{kind.__module__}.{kind.__qualname__}", repr(value))


def _digits(number: Decimal) -> str:
    """Return a decimal as text that is the same for all equal ones."""
    sign, digits, exponent = number.as_tuple()
    if isinstance(exponent, str):
        return str(number)
    text = "".join(map(str, digits))
    shortest = text.rstrip("0")
    return f"{'-' * sign}{shortest}e{exponent + len(text) - len(shortest)}" if shortest else "0"


def comparable_items(values: Mapping[Any, Any], depth: int = _DEEPEST) -> tuple[tuple[Hashable, Hashable], ...]:
    """Return the names with `comparable` values, in an order that doesn't depend on theirs."""
    if not values:
        return ()
    return tuple(sorted([(comparable(name), comparable(values[name], depth)) for name in values], key=repr))


def match_mode(arguments: Mapping[str, Any], *, standard: bool) -> str:
    """Return how a binding with these arguments matches, one of `MODES`; the default is "all".

    With `standard` the mode is required, and is "all" or "any" (0-10). Raises Fault: BAD_ARGUMENT.
    """
    modes = STANDARD_MODES if standard else MODES
    value = arguments.get(X_MATCH)
    if value is None and not standard and X_MATCH not in arguments:
        return "all"
    mode = as_text(value)
    if mode is None or mode not in modes:
        what = repr(value) if X_MATCH in arguments else "missing"
        text = f"invalid arg {X_MATCH!r}: {what}; a binding to a headers exchange has one of {', '.join(modes)}"
        raise Fault(FaultKind.BAD_ARGUMENT, text, X_MATCH)
    return mode


class HeadersIndex(Generic[_D]):
    """Destinations by the headers that they require.

    Each binding is indexed by pairs of name and value that it can't match without, so the cost of a message depends on
    the bindings its own headers find, not on all bindings.
    """

    __slots__ = ("_always", "_by_name", "_patterns", "tried")

    def __init__(self) -> None:
        self.tried = 0
        """Bindings that the last `match` tried."""
        self._patterns: dict[Hashable, _Pattern[_D]] = {}
        """All bindings, by what makes each one."""
        self._by_name: dict[str, dict[Hashable, dict[_Pattern[_D], None]]] = {}
        """By name and value; None, the void, for any value."""
        self._always: dict[_Pattern[_D], None] = {}
        """Bindings that require nothing."""

    def add(self, key: Hashable, arguments: Mapping[str, Any], destination: _D) -> None:
        """Add a binding under `key`, for its removal. Raises Fault: BAD_ARGUMENT."""
        mode = match_mode(arguments, standard=False)
        with_x = mode.endswith("-with-x")
        wanted = [
            (name, comparable(arguments[name]))
            for name in arguments
            if not name.startswith("x-") or (with_x and name != X_MATCH)
        ]
        pattern = _Pattern(destination, mode.startswith("any"), tuple(wanted))
        self._patterns[key] = pattern
        if not wanted:
            if not pattern.any_of:
                self._always[pattern] = None
            return
        if not pattern.any_of:
            # All must be present, so one is enough for the index: the one that the fewest other bindings share.
            pattern.found_by = (min(wanted, key=self._shared),)
        for name, value in pattern.found_by:
            self._by_name.setdefault(name, {}).setdefault(value, {})[pattern] = None

    def remove(self, key: Hashable) -> None:
        """Remove a binding. Raises KeyError if it doesn't exist."""
        pattern = self._patterns.pop(key)
        self._always.pop(pattern, None)
        for name, value in pattern.found_by:
            values = self._by_name[name]
            del values[value][pattern]
            if not values[value]:
                del values[value]
            if not values:
                del self._by_name[name]

    def match(self, headers: Mapping[str, Any]) -> Collection[_D]:
        """The destinations whose bindings match a message's headers, each once."""
        found: dict[_D, None] = {pattern.destination: None for pattern in self._always}
        self.tried = len(found)
        by_name = self._by_name
        if not by_name or not headers:
            return found
        known: dict[str, Hashable] = {}
        for name in headers:
            values = by_name.get(name)
            if values is None:
                continue
            value = known[name] = _read(headers[name])
            for wanted in (None,) if value is None else (value, None):
                patterns = values.get(wanted, ())
                self.tried += len(patterns)
                for pattern in patterns:
                    if pattern.any_of or pattern.destination in found or _has_all(pattern.wanted, headers, known):
                        found[pattern.destination] = None
        return found

    @property
    def is_empty(self) -> bool:
        """Whether the index is empty."""
        return not self._patterns and not self._by_name and not self._always

    def _shared(self, pair: tuple[str, Hashable]) -> int:
        return len(self._by_name.get(pair[0], {}).get(pair[1], ()))


class _Pattern(Generic[_D]):
    """A binding, in the form that messages are compared with."""

    __slots__ = ("any_of", "destination", "found_by", "wanted")

    def __init__(self, destination: _D, any_of: bool, wanted: tuple[tuple[str, Hashable], ...]) -> None:
        self.destination = destination
        """Where messages go that match."""
        self.any_of = any_of
        """Whether one of the headers is enough; otherwise all are required."""
        self.wanted = wanted
        """Names with comparable values."""
        self.found_by = wanted if any_of else ()
        """Those of them that it is indexed by: all for any, the rarest for all."""


def _read(value: Any) -> Hashable:
    try:
        return comparable(value)
    except CodecError:
        # It is present, and equals nothing else.
        return object()


def _has_all(wanted: tuple[tuple[str, Hashable], ...], headers: Mapping[str, Any], known: dict[str, Hashable]) -> bool:
    for name, value in wanted:
        if name not in known:
            if name not in headers:
                return False
            known[name] = _read(headers[name])
        if value is not None and known[name] != value:
            return False
    return True
