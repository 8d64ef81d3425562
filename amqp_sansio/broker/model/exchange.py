"""Exchange: where messages are published to, one class for each type; Binding: what leads on from there.

Sources: 0-9-1 section 3.1.3, 0-10 section 11.1; bindings between exchanges are RabbitMQ's. `routing` goes
through several of them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from ...errors import CodecError
from .commands import NO_ARGUMENTS
from .faults import Fault, FaultKind
from .headers import HeadersIndex, comparable_items, match_mode
from .options import as_text
from .topic import TopicTrie

if TYPE_CHECKING:
    from .content import Content
    from .queue import Queue
    from .vhost import VirtualHost

Destination: TypeAlias = "Queue | Exchange"
BindingKey: TypeAlias = tuple[str, str, str, Hashable]
"""Kind and name of the destination, the routing key, and what stands for the arguments: None for any."""

_NOBODY: Final[Collection[Destination]] = ()


def binding_key(
    destination: Destination, routing_key: str, arguments: Mapping[str, Any], by_arguments: bool
) -> BindingKey:
    """What tells one binding of an exchange from another.

    With `by_arguments` bindings to one destination with one routing key are two when their arguments differ (0-9-1);
    else all of them are the same (0-10 exchange.bind). Raises Fault: BAD_ARGUMENT, for arguments that can't be read.
    """
    kind = "exchange" if isinstance(destination, Exchange) else "queue"
    if not by_arguments:
        return kind, destination.name, routing_key, None
    try:
        return kind, destination.name, routing_key, comparable_items(arguments)
    except CodecError as error:
        raise _unreadable(error) from error


class Binding:
    """What leads from an exchange to a queue, or to another exchange; immutable.

    `key` tells it from others, as `binding_key` makes it of its arguments. With `by_arguments` false it is no new one
    where one with the same destination and routing key is (0-10).
    """

    __slots__ = ("arguments", "by_arguments", "destination", "key", "routing_key")

    def __init__(
        self,
        destination: Destination,
        routing_key: str = "",
        arguments: Mapping[str, Any] = NO_ARGUMENTS,
        by_arguments: bool = True,
    ) -> None:
        self.destination = destination
        self.routing_key = routing_key
        self.arguments = arguments
        self.by_arguments = by_arguments
        self.key: BindingKey = binding_key(destination, routing_key, arguments, True)

    def __repr__(self) -> str:
        kind, name, routing_key, _ = self.key
        return f"<Binding to {kind} {name!r} by {routing_key!r}>"


class Exchange:
    """The base of all exchanges. The model changes it; everybody may read.

    `was_bound` is whether it ever had a binding, without which it isn't deleted automatically; `forwards` how many of
    its bindings lead to exchanges. A type of one's own is a subclass that keeps what `match` needs in `_added` and
    `_removed`, has a `type` that begins with "x-", and is given to `make_exchange`.
    """

    type: ClassVar[str] = ""

    __slots__ = (
        "_by_destination", "_with_arguments", "alternate", "arguments", "auto_delete", "bindings", "durable",
        "forwards", "internal", "name", "was_bound",
    )  # fmt: skip

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
        self.durable = durable
        self.auto_delete = auto_delete
        self.internal = internal
        self.alternate = alternate
        self.arguments = arguments
        self.bindings: dict[BindingKey, Binding] = {}
        self.was_bound = False
        self.forwards = 0
        self._by_destination: dict[Destination, dict[BindingKey, Binding]] = {}
        self._with_arguments: dict[tuple[str, str, str], dict[BindingKey, None]] = {}
        """Those that have arguments, by all of their key but these, for who doesn't tell them apart by them."""

    # Bindings.

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse a binding that this type doesn't take, before it is made.

        `by_arguments` false is 0-10, where a headers exchange wants to be told "all" or "any".
        Raises Fault: NOT_ALLOWED, BAD_ARGUMENT, DEFAULT_EXCHANGE.
        """

    def add(self, binding: Binding) -> bool:
        """Add a binding that `check` found right; whether it is new."""
        kind, name, routing_key, arguments = key = binding.key
        if self._find(key if binding.by_arguments else (kind, name, routing_key, None)) is not None:
            return False
        self._added(binding)
        destination = binding.destination
        self.bindings[key] = binding
        self._by_destination.setdefault(destination, {})[key] = binding
        if arguments:
            self._with_arguments.setdefault((kind, name, routing_key), {})[key] = None
        if isinstance(destination, Exchange):
            self.forwards += 1
        self.was_bound = True
        return True

    def remove(self, key: BindingKey) -> Binding | None:
        """Remove the binding with a key, and return it; None if there is none.

        With a key that leaves the arguments open it is the oldest of those without, then of those with arguments.
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
        if arguments:
            same = self._with_arguments[kind, name, routing_key]
            del same[key]
            if not same:
                del self._with_arguments[kind, name, routing_key]
        if isinstance(destination, Exchange):
            self.forwards -= 1
        self._removed(binding)
        return binding

    def remove_destination(self, destination: Destination) -> int:
        """Remove all bindings to a destination, and return how many there were; it costs nothing for others."""
        keys = list(self._by_destination.get(destination, ()))
        for key in keys:
            self.remove(key)
        return len(keys)

    @property
    def destinations(self) -> Collection[Destination]:
        """All that is bound, each once, in the order of their first bindings."""
        return self._by_destination.keys()

    def bindings_to(self, destination: Destination) -> Collection[Binding]:
        """All bindings to one destination, in their order."""
        return self._by_destination.get(destination, {}).values()

    def _find(self, key: BindingKey) -> Binding | None:
        kind, name, routing_key, arguments = key
        if arguments is not None:
            return self.bindings.get(key)
        found = self.bindings.get((kind, name, routing_key, ()))
        if found is None:
            for each in self._with_arguments.get((kind, name, routing_key), ()):
                return self.bindings[each]
        return found

    # What a type is made of.

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Where its bindings send a message, each destination once; not to be changed."""
        raise NotImplementedError

    def targets(self, vhost: VirtualHost, routing_key: str, content: Content) -> Collection[Destination]:
        """`match`, for types that don't send by bindings as well."""
        return self.match(routing_key, content)

    def _added(self, binding: Binding) -> None:
        """A binding comes."""

    def _removed(self, binding: Binding) -> None:
        """A binding is gone."""

    def __repr__(self) -> str:
        return f"<Exchange {self.name!r}, {self.type}>"


class DirectExchange(Exchange):
    """To those whose binding has the message's routing key."""

    type = "direct"

    __slots__ = ("_by_key",)

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._by_key: dict[str, dict[Destination, int]] = {}

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Where its bindings send a message, each destination once; not to be changed."""
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
    """The nameless one, to the queue that the routing key names: every queue is bound to it by that name alone."""

    type = "direct"

    __slots__ = ()

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse every binding. Raises Fault: DEFAULT_EXCHANGE."""
        text = "nothing can be bound to the default exchange: it knows every queue by its name already"
        raise Fault(FaultKind.DEFAULT_EXCHANGE, text, "exchange")

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Nowhere: it has no bindings."""
        return _NOBODY

    def targets(self, vhost: VirtualHost, routing_key: str, content: Content) -> Collection[Destination]:
        """The queue of that name."""
        queue = vhost.queues.get(routing_key)
        return _NOBODY if queue is None else (queue,)


class FanoutExchange(Exchange):
    """To all that are bound."""

    type = "fanout"

    __slots__ = ()

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Where its bindings send a message, each destination once; not to be changed."""
        return self._by_destination


class TopicExchange(Exchange):
    """To those whose binding has a pattern that the routing key matches."""

    type = "topic"

    __slots__ = ("_trie",)

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._trie: TopicTrie[Destination] = TopicTrie()

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Where its bindings send a message, each destination once; not to be changed."""
        return self._trie.match(routing_key)

    def _added(self, binding: Binding) -> None:
        self._trie.add(binding.routing_key, binding.destination)

    def _removed(self, binding: Binding) -> None:
        self._trie.remove(binding.routing_key, binding.destination)


class HeadersExchange(Exchange):
    """To those whose binding's arguments the message's headers match."""

    type = "headers"

    __slots__ = ("_index",)

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._index: HeadersIndex[Destination] = HeadersIndex()

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse an x-match that it doesn't know. Raises Fault: BAD_ARGUMENT."""
        try:
            match_mode(arguments, standard=not by_arguments)
        except CodecError as error:
            raise _unreadable(error) from error

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Where its bindings send a message, each destination once; not to be changed."""
        return self._index.match(content.headers)

    def _added(self, binding: Binding) -> None:
        self._index.add(binding.key, binding.arguments, binding.destination)

    def _removed(self, binding: Binding) -> None:
        self._index.remove(binding.key)


class SystemExchange(Exchange):
    """To the service that the routing key names: the queue that `VirtualHost.services` has for it."""

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
        """Nowhere: it has no bindings."""
        return _NOBODY

    def targets(self, vhost: VirtualHost, routing_key: str, content: Content) -> Collection[Destination]:
        """The queue that serves that name."""
        name = vhost.services.get(routing_key)
        queue = None if name is None else vhost.queues.get(name)
        return _NOBODY if queue is None else (queue,)


class FailoverExchange(Exchange):
    """Tells private queues where else the broker can be reached (0-10 section 11.1.2.3).

    The model sends these updates, to `destinations`; what clients publish to it goes nowhere.
    """

    type = "failover"

    __slots__ = ()

    def check(
        self, destination: Destination, routing_key: str, arguments: Mapping[str, Any], *, by_arguments: bool = True
    ) -> None:
        """Refuse all but private queues. Raises Fault: NOT_ALLOWED."""
        if isinstance(destination, Exchange) or destination.exclusive_to is None:
            raise Fault(
                FaultKind.NOT_ALLOWED,
                f"{_named(destination)} can't be bound to exchange {self.name!r}: a failover exchange takes private "
                "queues only; declare the queue as exclusive",
                "exchange",
            )

    def match(self, routing_key: str, content: Content) -> Collection[Destination]:
        """Nowhere."""
        return _NOBODY


TYPES: Final[Mapping[str, type[Exchange]]] = {
    each.type: each
    for each in (
        DirectExchange, FanoutExchange, TopicExchange, HeadersExchange, SystemExchange, FailoverExchange
    )
}  # fmt: skip
"""The types of the specifications."""
ALTERNATE: Final = "alternate-exchange"
"""The argument that names the alternate exchange where the method has no field for it (RabbitMQ)."""


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
    """An exchange of a type. `types` may have more than the specifications do, all with names that begin with "x-".

    Raises Fault: TYPE_UNKNOWN, BAD_ARGUMENT.
    """
    made = TYPES.get(type)
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
    """The exchanges that every virtual host has from the start; durable all.

    A headers exchange has two: 0-9-1 names it by its type in one place and "amq.match" in another.
    """
    return (
        DefaultExchange("", durable=True),
        *[each(f"amq.{each.type}", durable=True) for each in TYPES.values()],
        HeadersExchange("amq.match", durable=True),
    )


def _unreadable(error: CodecError) -> Fault:
    return Fault(FaultKind.BAD_ARGUMENT, f"the arguments of a binding can't be read: {error}", "arguments")


def _named(destination: Destination) -> str:
    kind = "exchange" if isinstance(destination, Exchange) else "queue"
    return f"{kind} {destination.name!r}"
