"""Source filters that the broker supports: those proposed by Apache (apache-filters, registered with OASIS)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ....amqp_1_0 import Described, Symbol
from ....amqp_1_0.codec.conditions import INVALID_FIELD
from ....errors import CodecError
from ...conversion import as_1_0
from ...model.content import Filter
from ...model.exchange import DirectExchange, Exchange, HeadersExchange, TopicExchange
from ...model.headers import HeadersIndex
from ...model.sizes import PAIR_OCTETS, WORD_OCTETS
from ...model.topic import TopicTrie
from .errors import Refusal
from .selecting import Selector
from .selector import Parsing, SelectorError
from .termini import LEGACY_FILTERS, NO_LOCAL, SELECTOR
from .value_types import is_map

if TYPE_CHECKING:
    from ...model.content import Message

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


class Asking(NamedTuple):
    """The link that asks for a filter, as far as a filter needs it."""

    connection: int
    """The number of the owner of the connection."""
    compiled: Mapping[str, Parsing]
    """Selectors that are compiled, by their text."""


class FilterKind(NamedTuple):
    """A kind of filter that a source may ask for."""

    descriptor: Symbol
    """The symbol that describes its value; it stands in answers."""
    number: int
    """The same as a ulong."""
    capability: Symbol
    """A source offers it if the broker knows the kind."""
    exchange: type[Exchange] | None
    """The exchanges for which it is the binding of the link's queue; None: it is no binding."""
    make: Callable[[Symbol, Any, Asking], Filter]
    """Makes the filter of a value. Raises Refusal for one of the wrong type."""


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
        self.binding: tuple[FilterKind, Any] | None = None
        self._filters: list[Filter] = []
        self._binding_filter: Filter | None = None
        asking = Asking(connection, compiled or {})
        for name, value in (asked or {}).items():
            kind, inner = _kind_of(value)
            if kind is None:
                continue
            self.reported[name] = value
            found = kind.make(kind.descriptor, inner, asking)
            if kind.exchange is not None:
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


def _kind_of(value: object) -> tuple[FilterKind | None, Any]:
    """Return the kind of filter and the value that a described value holds (part 3 section 3.5.8)."""
    if not isinstance(value, Described):
        return None, None
    descriptor = value.descriptor
    key = int(descriptor) if isinstance(descriptor, int) else str(descriptor)
    return _BY_DESCRIPTOR.get(key), value.value


def compile_more(asked: Mapping[Any, Any] | None, compiling: dict[str, Parsing], count: int, most: int) -> int:
    """Compile the selectors of a filter set, of which some may be done: read `count` tokens more at most, and return
    how many are left; 0 if it isn't done. `most` is the length of a selector. What is wrong is left to `Filters`."""
    for value in (asked or {}).values():
        kind, text = _kind_of(value)
        if kind is None or kind.make is not _selector or not isinstance(text, str):
            continue
        parsing = compiling.setdefault(text, Parsing(text, most))
        if not parsing.is_done:
            count = parsing.go_on(count)
        if not parsing.is_done:
            return 0
    return max(1, count)


def _text_of(descriptor: Symbol, value: object) -> str:
    if not isinstance(value, str):
        raise Refusal(INVALID_FIELD, f"filter {descriptor} takes a string, not {value!r}")
    return value


def _subject_is(descriptor: Symbol, value: object, _: Asking) -> Filter:
    return SubjectIs(_text_of(descriptor, value))


def _subject_like(descriptor: Symbol, value: object, _: Asking) -> Filter:
    return SubjectLike(_text_of(descriptor, value))


def _headers_like(descriptor: Symbol, value: object, _: Asking) -> Filter:
    if not is_map(value):
        raise Refusal(INVALID_FIELD, f"filter {descriptor} takes a map, not {value!r}")
    mode = value.get(_X_MATCH)
    if str(mode) not in ("all", "any"):
        raise Refusal(INVALID_FIELD, f"filter {descriptor} needs x-match with all or any, not {mode!r}")
    return HeadersLike(binding_arguments(value))


def _no_local(_: Symbol, __: object, asking: Asking) -> Filter:
    return NoLocal(asking.connection)


def _selector(descriptor: Symbol, value: object, asking: Asking) -> Filter:
    text = _text_of(descriptor, value)
    try:
        parsing = asking.compiled.get(text)
        if parsing is not None and parsing.error is not None:
            raise parsing.error
        return Selector(text, None if parsing is None else parsing.program)
    except SelectorError as error:
        raise Refusal(INVALID_FIELD, str(error)) from None


def _kind(
    name: str, number: int, capability: Symbol, exchange: type[Exchange] | None, make: Callable[..., Filter]
) -> FilterKind:
    return FilterKind(Symbol(f"apache.org:{name}"), 0x0000_468C_0000_0000 + number, capability, exchange, make)


KINDS: Final = (
    _kind("legacy-amqp-direct-binding:string", 0, LEGACY_FILTERS, DirectExchange, _subject_is),
    _kind("legacy-amqp-topic-binding:string", 1, LEGACY_FILTERS, TopicExchange, _subject_like),
    _kind("legacy-amqp-headers-binding:map", 2, LEGACY_FILTERS, HeadersExchange, _headers_like),
    _kind("no-local-filter:list", 3, NO_LOCAL, None, _no_local),
    _kind("selector-filter:string", 4, SELECTOR, None, _selector),
)
"""The kinds that the broker knows. Another one is a row here, and one in docs/broker.md."""
CAPABILITIES: Final = tuple(dict.fromkeys(each.capability for each in KINDS))
"""Capabilities that a source offers for them."""
_BY_DESCRIPTOR: Final[Mapping[int | str, FilterKind]] = {
    **{each.number: each for each in KINDS},
    **{str(each.descriptor): each for each in KINDS},
}
