"""Exchange: routes published messages, one class for each type; Binding: a route from an exchange.

Sources: 0-9-1 section 3.1.3, 0-10 section 11.1; bindings between exchanges are RabbitMQ's. `VirtualHost.route` follows
several of them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from ...errors import CodecError
from .faults import Fault, FaultKind
from .headers import HeadersIndex, comparable_items, match_mode
from .options import NO_ARGUMENTS, as_text
from .sizes import BINDING_OCTETS, EXCHANGE_OCTETS, GIVEN_OCTETS, PAIR_OCTETS, WORD_OCTETS, octets_of
from .topic import TopicTrie

if TYPE_CHECKING:
    from .content import Content

BindingKey: TypeAlias = tuple[str, str, str, Hashable]
"""Kind and name of the destination, the routing key, and a key for the arguments: None for any."""
_Given: TypeAlias = tuple[tuple[str, str] | None, str | None, Hashable]
"""Kind and name of the destination, or None, the routing key, or None, and a key for the arguments."""


class Destination:
    """The base of what a binding leads to: a queue or an exchange."""

    __slots__ = ()

    name: str
    is_deleted: bool

    @property
    def is_private(self) -> bool:
        """Whether it belongs to one owner."""
        return False


class Nodes(Protocol):
    """The queues of a virtual host, and the queues' names that serve a system exchange, by the service's name."""

    @property
    def queues(self) -> Mapping[str, Destination]: ...

    @property
    def services(self) -> Mapping[str, str]: ...


_NOBODY: Final[Collection[Destination]] = ()


def binding_key(
    destination: Destination, routing_key: str, arguments: Mapping[str, Any], by_arguments: bool
) -> BindingKey:
    """Return the key that identifies a binding of an exchange.

    With `by_arguments`, bindings with the same destination and routing key are distinct if their arguments differ
    (0-9-1); otherwise they are the same (0-10 exchange.bind). Raises Fault: BAD_ARGUMENT, for unreadable arguments.
    """
    kind = "exchange" if isinstance(destination, Exchange) else "queue"
    if not by_arguments:
        return kind, destination.name, routing_key, None
    try:
        return kind, destination.name, routing_key, comparable_items(arguments)
    except CodecError as error:
        raise _unreadable(error) from error


class Binding:
    """A binding of an exchange to a queue or another exchange; immutable."""

    __slots__ = ("arguments", "by_arguments", "destination", "key", "octets", "routing_key")

    def __init__(
        self,
        destination: Destination,
        routing_key: str = "",
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        by_arguments: bool = True,
    ) -> None:
        self.destination = destination
        """The queue or exchange that messages go to."""
        self.routing_key = routing_key
        """A pattern for topic exchanges; others compare it or ignore it."""
        self.arguments = arguments
        """As the client gave them; what they mean is the exchange's."""
        self.by_arguments = by_arguments
        """Whether they are part of what makes it one; if not, it equals every binding with the same destination and
        routing key (0-10)."""
        self.key: BindingKey = binding_key(destination, routing_key, arguments, True)
        """Identifies it within its exchange, as computed by `binding_key`."""
        self.octets = BINDING_OCTETS + len(routing_key) + (GIVEN_OCTETS + 2 * octets_of(arguments) if arguments else 0)
        """What it counts for, in `Ledger.topology`."""

    def __repr__(self) -> str:
        kind, name, routing_key, _ = self.key
        return f"<Binding to {kind} {name!r} by {routing_key!r}>"


class Exchange(Destination):
    """The base of all exchanges. The model changes it; everybody may read.

    A custom type is a subclass that maintains the data of `match` in `_added` and `_removed`, has a `type` that begins
    with "x-", and is given to `make_exchange`.
    """

    type: ClassVar[str] = ""
    delays: ClassVar[bool] = False
    """Whether it holds messages for the time in their header x-delay."""
    __slots__ = (
        "_by_destination",
        "_by_routing_key",
        "_given",
        "_with_arguments",
        "alternate",
        "arguments",
        "auto_delete",
        "bindings",
        "durable",
        "forwards",
        "internal",
        "is_deleted",
        "name",
        "octets",
        "tried",
        "was_bound",
    )

    def __init__(
        self,
        name: str,
        *,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        alternate: str | None = None,
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
    ) -> None:
        self.name = name
        """Unique in its virtual host; "" is the default exchange."""
        self.durable = durable
        """Whether it survives `Broker.restart`."""
        self.auto_delete = auto_delete
        """Whether it is deleted with its last binding, once it had one."""
        self.internal = internal
        """Whether clients can't publish to it, only other exchanges."""
        self.alternate = alternate
        """The name of the exchange that takes what it can't route."""
        self.arguments = arguments
        """As it was declared; a second declaration must have equal ones."""
        self.bindings: dict[BindingKey, Binding] = {}
        """Those from it, by key, in the order in which they were made."""
        self.was_bound = False
        """Whether it ever had a binding; only then is it deleted automatically."""
        self.is_deleted = False
        """Set once; routes that still lead here end."""
        self.forwards = 0
        """How many of its bindings lead to other exchanges."""
        self.tried = 0
        """Patterns or bindings that the last route from here tried."""
        self.octets = EXCHANGE_OCTETS + octets_of(name) + octets_of(arguments)
        """What it counts for with its bindings, in `Ledger.topology`."""
        self._by_destination: dict[Destination, dict[BindingKey, Binding]] = {}
        """The bindings again, for a queue or exchange that is deleted."""
        self._by_routing_key: dict[str, dict[BindingKey, Binding]] = {}
        """The bindings again, for questions by routing key."""
        self._with_arguments: dict[tuple[str, str, str], dict[BindingKey, None]] = {}
        """Bindings with arguments, by the rest of their key, for callers that ignore arguments."""
        self._given: dict[_Given, int] = {}
        """How many bindings have some arguments: in all, to each destination, and with each routing key."""

    # Bindings.

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse a binding that this type doesn't support, before it is made.

        With `by_arguments` false (0-10), a headers exchange requires "all" or "any". Raises Fault: NOT_ALLOWED,
        BAD_ARGUMENT, DEFAULT_EXCHANGE.
        """

    def add(self, binding: Binding) -> bool:
        """Add a binding that has passed `check`; return whether it is new."""
        kind, name, routing_key, arguments = key = binding.key
        if self._find(key if binding.by_arguments else (kind, name, routing_key, None)) is not None:
            return False
        self._added(binding)
        self.octets += binding.octets
        destination = binding.destination
        self.bindings[key] = binding
        self._by_destination.setdefault(destination, {})[key] = binding
        self._by_routing_key.setdefault(routing_key, {})[key] = binding
        if arguments:
            self._with_arguments.setdefault((kind, name, routing_key), {})[key] = None
            for given in _givens(key):
                self._given[given] = self._given.get(given, 0) + 1
        if isinstance(destination, Exchange):
            self.forwards += 1
        self.was_bound = True
        return True

    def remove(self, key: BindingKey) -> Binding | None:
        """Remove and return the binding with this key; None if there is none.

        A key that leaves the arguments open removes the oldest binding without arguments, then the oldest with some.
        """
        binding = self._find(key)
        if binding is None:
            return None
        kind, name, routing_key, arguments = key = binding.key
        destination = binding.destination
        del self.bindings[key]
        theirs = self._by_destination[destination]
        del theirs[key]
        if not theirs:
            del self._by_destination[destination]
        alike = self._by_routing_key[routing_key]
        del alike[key]
        if not alike:
            del self._by_routing_key[routing_key]
        if arguments:
            same = self._with_arguments[kind, name, routing_key]
            del same[key]
            if not same:
                del self._with_arguments[kind, name, routing_key]
            for given in _givens(key):
                self._given[given] -= 1
                if not self._given[given]:
                    del self._given[given]
        if isinstance(destination, Exchange):
            self.forwards -= 1
        self._removed(binding)
        self.octets -= binding.octets
        return binding

    def remove_destination(self, destination: Destination) -> int:
        """Remove all bindings to a destination and return their number, without looking at other bindings."""
        keys = list(self._by_destination.get(destination, ()))
        for key in keys:
            self.remove(key)
        return len(keys)

    @property
    def destinations(self) -> Collection[Destination]:
        """All bound destinations, each once, in the order of their first bindings."""
        return self._by_destination.keys()

    def bindings_to(self, destination: Destination) -> Collection[Binding]:
        """Return all bindings to one destination, in order."""
        return self._by_destination.get(destination, {}).values()

    def bindings_of(self, destination: Destination, routing_key: str) -> list[Binding]:
        """Return the bindings to one destination with one routing key, which differ in their arguments."""
        kind, name, _, _ = binding_key(destination, routing_key, NO_ARGUMENTS, True)
        keys = (kind, name, routing_key, ()), *self._with_arguments.get((kind, name, routing_key), ())
        return [self.bindings[key] for key in keys if key in self.bindings]

    def is_bound(
        self,
        destination: Destination | None = None,
        routing_key: str | None = None,
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
    ) -> bool:
        """Whether there is a binding to a destination, with a routing key, with equal arguments; what isn't given
        doesn't count. None of the bindings is looked at. Raises Fault: BAD_ARGUMENT, for unreadable arguments."""
        if not arguments:
            if destination is None:
                return bool(self.bindings) if routing_key is None else routing_key in self._by_routing_key
            if routing_key is None:
                return destination in self._by_destination
            kind, name, _, _ = binding_key(destination, routing_key, NO_ARGUMENTS, False)
            return (kind, name, routing_key, ()) in self.bindings or (kind, name, routing_key) in self._with_arguments
        try:
            wanted = comparable_items(arguments)
        except CodecError as error:
            raise _unreadable(error) from error
        if destination is None:
            return (None, routing_key, wanted) in self._given
        kind, name, _, _ = binding_key(destination, "", NO_ARGUMENTS, False)
        if routing_key is None:
            return ((kind, name), None, wanted) in self._given
        return (kind, name, routing_key, wanted) in self.bindings

    def _find(self, key: BindingKey) -> Binding | None:
        kind, name, routing_key, arguments = key
        if arguments is not None:
            return self.bindings.get(key)
        found = self.bindings.get((kind, name, routing_key, ()))
        if found is None:
            for each in self._with_arguments.get((kind, name, routing_key), ()):
                return self.bindings[each]
        return found

    # For subclasses.

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return the destinations of a message by its bindings, each once; don't change the result."""
        raise NotImplementedError

    def targets(self, vhost: Nodes, routing_key: str, content: Content) -> Collection[Destination]:
        """Do the same as `match`; overridden by types that also route without bindings."""
        return self.match(routing_key, content)

    def _added(self, binding: Binding) -> None:
        """Called when a binding was added."""

    def _removed(self, binding: Binding) -> None:
        """Called when a binding was removed."""

    def __repr__(self) -> str:
        return f"<Exchange {self.name!r}, {self.type}>"


class DirectExchange(Exchange):
    """Routes to bindings whose key equals the message's routing key."""

    type = "direct"

    __slots__ = ("_by_key",)

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._by_key: dict[str, dict[Destination, int]] = {}
        """Destinations by routing key, with the number of bindings that lead there."""

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return the destinations of a message by its bindings, each once; don't change the result."""
        return self._by_key.get(routing_key, _NOBODY)

    def _added(self, binding: Binding) -> None:
        counts = self._by_key.setdefault(binding.routing_key, {})
        counts[binding.destination] = counts.get(binding.destination, 0) + 1

    def _removed(self, binding: Binding) -> None:
        counts = self._by_key[binding.routing_key]
        counts[binding.destination] -= 1
        if not counts[binding.destination]:
            del counts[binding.destination]
            if not counts:
                del self._by_key[binding.routing_key]


class DefaultExchange(Exchange):
    """The nameless exchange: every queue is bound to it by its own name, and by nothing else."""

    type = "direct"

    __slots__ = ()

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse every binding. Raises Fault: DEFAULT_EXCHANGE."""
        text = "nothing can be bound to the default exchange: it knows every queue by its name already"
        raise Fault(FaultKind.DEFAULT_EXCHANGE, text, "exchange")

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return nothing: it has no bindings."""
        return _NOBODY

    def targets(self, vhost: Nodes, routing_key: str, content: Content) -> Collection[Destination]:
        """Return the queue of that name."""
        queue = vhost.queues.get(routing_key)
        return _NOBODY if queue is None else (queue,)


class FanoutExchange(Exchange):
    """Routes to all destinations."""

    type = "fanout"

    __slots__ = ()

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return the destinations of a message by its bindings, each once; don't change the result."""
        return self._by_destination


class TopicExchange(Exchange):
    """Routes by patterns that the routing key must match."""

    type = "topic"

    __slots__ = ("_trie",)

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._trie: TopicTrie[Destination] = TopicTrie()
        """Destinations by the words of their patterns."""

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return the destinations of a message by its bindings, each once; don't change the result."""
        found = self._trie.match(routing_key)
        self.tried = self._trie.tried
        return found

    def _added(self, binding: Binding) -> None:
        before = self._trie.nodes
        self._trie.add(binding.routing_key, binding.destination)
        self.octets += (self._trie.nodes - before) * WORD_OCTETS

    def _removed(self, binding: Binding) -> None:
        before = self._trie.nodes
        self._trie.remove(binding.routing_key, binding.destination)
        self.octets -= (before - self._trie.nodes) * WORD_OCTETS


class HeadersExchange(Exchange):
    """Routes by matching the message's headers with the bindings' arguments."""

    type = "headers"

    __slots__ = ("_index",)

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._index: HeadersIndex[Destination] = HeadersIndex()
        """Destinations by the headers that they require."""

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse an unknown x-match. Raises Fault: BAD_ARGUMENT."""
        try:
            match_mode(arguments, standard=not by_arguments)
        except CodecError as error:
            raise _unreadable(error) from error

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return the destinations of a message by its bindings, each once; don't change the result."""
        found = self._index.match(content.headers)
        self.tried = self._index.tried
        return found

    def _added(self, binding: Binding) -> None:
        self._index.add(binding.key, binding.arguments, binding.destination)
        self.octets += len(binding.arguments) * PAIR_OCTETS

    def _removed(self, binding: Binding) -> None:
        self._index.remove(binding.key)
        self.octets -= len(binding.arguments) * PAIR_OCTETS


class SystemExchange(Exchange):
    """Routes to the service named by the routing key: a queue in `VirtualHost.services`."""

    type = "system"

    __slots__ = ()

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse every binding. Raises Fault: NOT_ALLOWED."""
        raise Fault(
            FaultKind.NOT_ALLOWED,
            f"{_named(destination)} can't be bound to exchange {self.name!r}: a system exchange takes no bindings, "
            "it sends to the broker's services by their names",
            "exchange",
        )

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return nothing: it has no bindings."""
        return _NOBODY

    def targets(self, vhost: Nodes, routing_key: str, content: Content) -> Collection[Destination]:
        """Return the queue that serves that name."""
        name = vhost.services.get(routing_key)
        queue = None if name is None else vhost.queues.get(name)
        return _NOBODY if queue is None else (queue,)


class FailoverExchange(Exchange):
    """Tells private queues the broker's other addresses (0-10 section 11.1.2.3).

    The model sends these updates to `destinations`; messages that clients publish here go nowhere.
    """

    type = "failover"

    __slots__ = ()

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse all queues that aren't private. Raises Fault: NOT_ALLOWED."""
        if not destination.is_private:
            raise Fault(
                FaultKind.NOT_ALLOWED,
                f"{_named(destination)} can't be bound to exchange {self.name!r}: a failover exchange takes private "
                "queues only; declare the queue as exclusive",
                "exchange",
            )

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Return nothing."""
        return _NOBODY


class DelayedDirectExchange(DirectExchange):
    """A direct exchange that holds messages for a while (the type of RabbitMQ's plug-in)."""

    type = "x-delayed-message"
    delays = True

    __slots__ = ()


class DelayedFanoutExchange(FanoutExchange):
    """A fanout exchange that does."""

    type = "x-delayed-message"
    delays = True

    __slots__ = ()


class DelayedTopicExchange(TopicExchange):
    """A topic exchange that does."""

    type = "x-delayed-message"
    delays = True

    __slots__ = ()


class DelayedHeadersExchange(HeadersExchange):
    """A headers exchange that does."""

    type = "x-delayed-message"
    delays = True

    __slots__ = ()


DELAYED_TYPE: Final = "x-delayed-message"
ROUTES_AS: Final = "x-delayed-type"
"""The argument of an exchange that delays: the type whose routing it has."""
_DELAYED: Final[Mapping[str, type[Exchange]]] = {
    "direct": DelayedDirectExchange,
    "fanout": DelayedFanoutExchange,
    "topic": DelayedTopicExchange,
    "headers": DelayedHeadersExchange,
}

TYPES: Final[Mapping[str, type[Exchange]]] = {
    each.type: each
    for each in (DirectExchange, FanoutExchange, TopicExchange, HeadersExchange, SystemExchange, FailoverExchange)
}
"""The exchange types of the specifications."""
ALTERNATE: Final = "alternate-exchange"
"""The argument for the alternate exchange, where the method has no field for it (RabbitMQ)."""


def make_exchange(
    name: str,
    type: str,
    *,
    durable: bool = False,
    auto_delete: bool = False,
    internal: bool = False,
    alternate: str | None = None,
    arguments: Mapping[str, Any] = NO_ARGUMENTS,
    types: Mapping[str, type[Exchange]] = TYPES,
) -> Exchange:
    """Create an exchange. `types` may add to the types of the specifications; added names begin with "x-".

    Raises Fault: TYPE_UNKNOWN, BAD_ARGUMENT.
    """
    made = TYPES.get(type)
    if type == DELAYED_TYPE:
        routes_as = as_text(arguments.get(ROUTES_AS))
        made = _DELAYED.get(routes_as or "")
        if made is None:
            text = (
                f"invalid arg {ROUTES_AS!r} of exchange {name!r}: {arguments.get(ROUTES_AS)!r} is none of "
                f"{', '.join(_DELAYED)}"
            )
            raise Fault(FaultKind.BAD_ARGUMENT, text, ROUTES_AS)
    if made is None and type.startswith("x-"):
        made = types.get(type)
    if made is None:
        known = ", ".join(dict.fromkeys((*TYPES, *types)))
        text = f"exchange {name!r} can't be of type {type!r}: there is no such type; those of this broker are {known}"
        raise Fault(FaultKind.TYPE_UNKNOWN, text, "type")
    if ALTERNATE in arguments and as_text(arguments[ALTERNATE]) is None:
        text = f"invalid arg {ALTERNATE!r} of exchange {name!r}: {arguments[ALTERNATE]!r} is no text"
        raise Fault(FaultKind.BAD_ARGUMENT, text, ALTERNATE)
    return made(
        name, durable=durable, auto_delete=auto_delete, internal=internal, alternate=alternate, arguments=arguments
    )


def predeclared() -> tuple[Exchange, ...]:
    """Create the exchanges that every virtual host has from the start; all are durable.

    There are two headers exchanges: 0-9-1 names it by its type in one place and "amq.match" in another.
    """
    return (
        DefaultExchange("", durable=True),
        *[each(f"amq.{each.type}", durable=True) for each in TYPES.values()],
        HeadersExchange("amq.match", durable=True),
    )


def _givens(key: BindingKey) -> tuple[_Given, ...]:
    """Return under what a binding with arguments counts in `Exchange._given`."""
    kind, name, routing_key, arguments = key
    return (None, None, arguments), ((kind, name), None, arguments), (None, routing_key, arguments)


def _unreadable(error: CodecError) -> Fault:
    return Fault(FaultKind.BAD_ARGUMENT, f"the arguments of a binding can't be read: {error}", "arguments")


def _named(destination: Destination) -> str:
    kind = "exchange" if isinstance(destination, Exchange) else "queue"
    return f"{kind} {destination.name!r}"
