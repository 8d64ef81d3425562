"""Source filters that the broker supports: those proposed by Apache (apache-filters, registered with OASIS)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Described, Symbol
from ....amqp_1_0.codec.conditions import INVALID_FIELD
from ....errors import CodecError
from ...conversion import as_1_0
from ...model.content import Filter
from ...model.headers import HeadersIndex
from ...model.sizes import PAIR_OCTETS, WORD_OCTETS
from ...model.topic import TopicTrie
from .errors import Refusal
from .selecting import Selector
from .selector import Parsing, SelectorError
from .value_types import is_map

if TYPE_CHECKING:
    from ...model.content import Message

DIRECT: Final = Symbol("apache.org:legacy-amqp-direct-binding:string")
TOPIC: Final = Symbol("apache.org:legacy-amqp-topic-binding:string")
HEADERS: Final = Symbol("apache.org:legacy-amqp-headers-binding:map")
NO_LOCAL: Final = Symbol("apache.org:no-local-filter:list")
SELECTOR: Final = Symbol("apache.org:selector-filter:string")

_CODES: Final[Mapping[int, Symbol]] = {
    0x0000_468C_0000_0000: DIRECT,
    0x0000_468C_0000_0001: TOPIC,
    0x0000_468C_0000_0002: HEADERS,
    0x0000_468C_0000_0003: NO_LOCAL,
    0x0000_468C_0000_0004: SELECTOR,
}
_KNOWN: Final = frozenset(_CODES.values())
_X_MATCH: Final = "x-match"


class AllOf(Filter):
    """Accepts messages that several filters all accept."""

    __slots__ = ("filters",)

    def __init__(self, filters: tuple[Filter, ...]) -> None:
        self.filters = filters

    @property
    def cost(self) -> int:
        return sum([each.cost for each in self.filters])

    @property
    def octets(self) -> int:
        return sum([each.octets for each in self.filters])

    def accepts(self, message: Message) -> bool:
        return all([each.accepts(message) for each in self.filters])


class NoLocal(Filter):
    """Accepts messages from other connections; `connection` is the number of the receiving one's owner."""

    __slots__ = ("connection",)

    def __init__(self, connection: int) -> None:
        self.connection = connection

    def accepts(self, message: Message) -> bool:
        return message.publisher != self.connection


class SubjectIs(Filter):
    """Accepts messages with a given subject."""

    __slots__ = ("subject",)

    def __init__(self, subject: str) -> None:
        self.subject = subject

    def accepts(self, message: Message) -> bool:
        return subject_of(message) == self.subject


class SubjectLike(Filter):
    """Accepts messages whose subject matches a topic pattern; only "#" matches a missing subject."""

    __slots__ = ("pattern", "trie")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.trie: TopicTrie[bool] = TopicTrie()
        self.trie.add(pattern, True)

    @property
    def octets(self) -> int:
        return WORD_OCTETS * (1 + self.trie.nodes)

    def accepts(self, message: Message) -> bool:
        subject = subject_of(message)
        if subject is None:
            return self.pattern == "#"
        return bool(self.trie.match(subject))


class HeadersLike(Filter):
    """Accepts messages with all or any of the given pairs in their application-properties."""

    __slots__ = ("index", "pairs")

    def __init__(self, pairs: Mapping[str, Any]) -> None:
        self.index: HeadersIndex[bool] = HeadersIndex()
        self.index.add("", pairs, True)
        self.pairs = len(pairs)

    @property
    def octets(self) -> int:
        return PAIR_OCTETS * (1 + self.pairs)

    def accepts(self, message: Message) -> bool:
        return bool(self.index.match(as_1_0(message).headers))


class Filters:
    """The filters of one source: requested, supported, and their meaning.

    `reported` is the filter set for the answering attach. `binding` is the kind and value of a filter that, for an
    exchange, becomes the binding of the link's queue.
    """

    def __init__(
        self, asked: Mapping[Any, Any] | None, connection: int, compiled: Mapping[str, Parsing] | None = None
    ) -> None:
        """Raises Refusal for a filter whose value has the wrong type. `compiled` has selectors, by their text."""
        self.reported: dict[Any, Any] = {}
        self.binding: tuple[Symbol, Any] | None = None
        self._filters: list[Filter] = []
        self._binding_filter: Filter | None = None
        for name, value in (asked or {}).items():
            kind, inner = _kind_of(value)
            if kind is None:
                continue
            self.reported[name] = value
            found = _filter_of(kind, inner, connection, compiled or {})
            if kind in (DIRECT, TOPIC, HEADERS):
                self.binding = (kind, inner)
                self._binding_filter = found
            else:
                self._filters.append(found)

    def filter(self, *, bound: bool) -> Filter | None:
        """Return the filter for a consumer; with `bound`, a binding replaces the legacy filters."""
        found = list(self._filters)
        if not bound and self._binding_filter is not None:
            found.append(self._binding_filter)
        if not found:
            return None
        return found[0] if len(found) == 1 else AllOf(tuple(found))


def subject_of(message: Message) -> str | None:
    """Return the subject of a message in 1.0."""
    content = as_1_0(message)
    if content.message_format:
        return None
    try:
        return content.message.subject
    except CodecError:
        return None


def binding_arguments(pairs: Mapping[Any, Any]) -> dict[str, Any]:
    """Return arguments for a binding to a headers exchange that are equivalent to the legacy headers filter."""
    return {str(key): str(value) if isinstance(value, Symbol) else value for key, value in pairs.items()}


def _kind_of(value: object) -> tuple[Symbol | None, Any]:
    """Return the kind of filter and the value that a described value holds (part 3 section 3.5.8)."""
    if not isinstance(value, Described):
        return None, None
    descriptor = value.descriptor
    if isinstance(descriptor, int):
        return _CODES.get(int(descriptor)), value.value
    return (Symbol(str(descriptor)) if str(descriptor) in _KNOWN else None), value.value


def compile_more(asked: Mapping[Any, Any] | None, compiling: dict[str, Parsing], count: int, most: int) -> int:
    """Compile the selectors of a filter set, of which some may be done: read `count` tokens more at most, and return
    how many are left; 0 if it isn't done. `most` is the length of a selector. What is wrong is left to `Filters`."""
    for value in (asked or {}).values():
        kind, text = _kind_of(value)
        if kind != SELECTOR or not isinstance(text, str):
            continue
        parsing = compiling.setdefault(text, Parsing(text, most))
        if not parsing.is_done:
            count = parsing.go_on(count)
        if not parsing.is_done:
            return 0
    return max(1, count)


def _filter_of(kind: Symbol, value: Any, connection: int, compiled: Mapping[str, Parsing]) -> Filter:
    if kind == NO_LOCAL:
        return NoLocal(connection)
    if kind == HEADERS:
        if not is_map(value):
            raise Refusal(INVALID_FIELD, f"filter {kind} takes a map, not {value!r}")
        mode = value.get(_X_MATCH)
        if str(mode) not in ("all", "any"):
            raise Refusal(INVALID_FIELD, f"filter {kind} needs x-match with all or any, not {mode!r}")
        return HeadersLike(binding_arguments(value))
    if not isinstance(value, str):
        raise Refusal(INVALID_FIELD, f"filter {kind} takes a string, not {value!r}")
    if kind == DIRECT:
        return SubjectIs(value)
    if kind == TOPIC:
        return SubjectLike(value)
    try:
        parsing = compiled.get(value)
        if parsing is not None and parsing.error is not None:
            raise parsing.error
        return Selector(value, None if parsing is None else parsing.program)
    except SelectorError as error:
        raise Refusal(INVALID_FIELD, str(error)) from None
