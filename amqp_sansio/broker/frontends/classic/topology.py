"""Exchanges, queues and bindings: the methods of classes exchange and queue (0-9-1 sections 1.6 and 1.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...model.commands import (
    Bind,
    BindExchange,
    DeclareExchange,
    DeclareQueue,
    DeleteExchange,
    DeleteQueue,
    PurgeQueue,
    Unbind,
    UnbindExchange,
)
from ...model.faults import Fault, FaultKind
from ...model.options import ARGUMENTS, NO_ARGUMENTS, WITHOUT_EFFECT, as_text, queue_options
from ...model.topology import check_queue_name
from ...rabbitmq import advice, deprecated
from . import direct_reply
from .errors import INTERNAL_ERROR, PRECONDITION_FAILED, Refusal

if TYPE_CHECKING:
    from ...model.exchange import Exchange
    from ...model.queue import Queue
    from .channel import ChannelFrontend, ClassicChannel

_EXCHANGE_RABBIT: Final = ("type", "durable", "auto_delete", "internal", "alternate")
_EXCHANGE_0_9_1: Final = ("type", "durable", "arguments")
_QUEUE_RABBIT: Final = ("exclusive", "durable", "auto_delete", "arguments")
_QUEUE_0_9_1: Final = ("durable", "exclusive", "arguments")
_EXCHANGE_0_8: Final = ("type",)
"""Properties that a repeated declaration must match: 0-8 ignores most (exchange.declare, queue.declare)."""


_OF_STREAMS: Final = (
    "x-max-age",
    "x-stream-max-segment-size-bytes",
    "x-stream-filter-size-bytes",
    "x-initial-cluster-size",
)
_OF_OTHER_TYPES: Final[Mapping[str, frozenset[str]]] = {
    "classic": frozenset(
        {
            *("x-delivery-limit", "x-quorum-initial-group-size", "x-dead-letter-strategy"),
            *("x-max-in-memory-length", "x-max-in-memory-bytes", *_OF_STREAMS),
        }
    ),
    "quorum": frozenset({"x-max-priority", "x-queue-mode", "x-queue-version", "x-queue-master-locator", *_OF_STREAMS}),
}
"""RabbitMQ's arguments that a queue of a type can't have."""

_NOT_BOUND: Final = FaultKind.BINDING_NOT_FOUND, FaultKind.NOT_FOUND
"""The binding, or one of the ends that it would have, doesn't exist."""


def queue_name(channel: ClassicChannel, name: str) -> str:
    """Return the queue that a name means: an empty one is the last queue declared on the channel."""
    return name or channel.current


# Exchanges.


def _declare_exchange(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    compare = _EXCHANGE_RABBIT if front.is_rabbit else _EXCHANGE_0_8 if front.is_old else _EXCHANGE_0_9_1
    front.hub.apply(
        DeclareExchange(
            channel.owner,
            method.exchange,
            method.type,
            passive=method.passive,
            durable=method.durable,
            auto_delete=method.auto_delete,
            internal=method.internal,
            arguments=method.arguments,
            compare=compare,
        )
    )
    return front.named["exchange.declare-ok"]()


def _delete_exchange(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    with _Forgiving(front, FaultKind.NOT_FOUND):
        front.hub.apply(DeleteExchange(channel.owner, method.exchange, method.if_unused))
    return front.named["exchange.delete-ok"]()


def _bind_exchange(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    front.hub.apply(
        BindExchange(channel.owner, method.destination, method.source, method.routing_key, method.arguments)
    )
    return front.named["exchange.bind-ok"]()


def _unbind_exchange(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    with _Forgiving(front, *_NOT_BOUND):
        front.hub.apply(
            UnbindExchange(channel.owner, method.destination, method.source, method.routing_key, method.arguments)
        )
    return front.named["exchange.unbind-ok"]()


def _exchange_bound(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    """Answer Qpid's question whether a binding exists: 0 for yes, else a code for the missing part."""
    vhost = channel.owner.vhost
    exchange = vhost.exchanges.get(method.exchange)
    queue = vhost.queues.get(method.queue)
    code, text = 0, ""
    if exchange is None:
        code, text = 1, f"no exchange '{method.exchange}'"
    elif method.queue and queue is None:
        code, text = 2, f"no queue '{method.queue}'"
    elif not _is_bound(exchange, queue, method.routing_key):
        code, text = _missing(method.queue, method.routing_key)
    return front.named["exchange.bound-ok"](code, text)


def _is_bound(exchange: Exchange, queue: Queue | None, routing_key: str) -> bool:
    if not exchange.name:
        # Every queue is bound to the nameless exchange by its own name.
        return queue is not None and routing_key in ("", queue.name)
    return exchange.is_bound(queue, routing_key or None)


def _missing(queue: str, routing_key: str) -> tuple[int, str]:
    if queue and routing_key:
        return 6, f"queue '{queue}' isn't bound with key '{routing_key}'"
    if queue:
        return 4, f"queue '{queue}' isn't bound"
    if routing_key:
        return 5, f"no queue is bound with key '{routing_key}'"
    return 3, "no queue is bound"


# Queues.


def _declare_queue(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    if method.passive and front.is_rabbit and method.queue.startswith(direct_reply.PSEUDO_QUEUE):
        messages, consumers = direct_reply.look(channel, method.queue)
        channel.current = method.queue
        return front.named["queue.declare-ok"](method.queue, messages, consumers)
    compare: tuple[str, ...] = _QUEUE_RABBIT
    if not front.is_rabbit:
        compare = () if front.is_old else _QUEUE_0_9_1
    elif not method.passive:
        _check_type(channel, method)
        if not front.is_old:
            _check_release(front, channel, method)
            _check_known(front, channel, method)
    # By the letter of 0-8 an exclusive queue is deleted after its last use; Qpid's brokers keep it with its connection.
    exclusive_goes = method.exclusive and front.is_old and front.dialect.strict
    queue = front.hub.apply(
        DeclareQueue(
            channel.owner,
            method.queue,
            passive=method.passive,
            durable=method.durable,
            auto_delete=method.auto_delete or exclusive_goes,
            exclusive_to=front.owner if method.exclusive else None,
            arguments=method.arguments,
            compare=compare,
            expires_at_head=front.is_rabbit and not front.is_old,
            delivery_limit=front.release.delivery_limit if front.is_rabbit and not front.is_old else None,
        )
    )
    channel.current = queue.name
    return front.named["queue.declare-ok"](queue.name, queue.ready, len(queue.consumers))


def _check_type(channel: ClassicChannel, method: Any) -> None:
    """Raise Refusal for an argument that RabbitMQ has for queues of other types only."""
    arguments = method.arguments
    if not arguments:
        return
    kind = as_text(arguments.get("x-queue-type", "classic"))
    others = _OF_OTHER_TYPES.get(kind or "")
    if others is None:
        # The model refuses the type.
        return
    for name in arguments:
        if name in others:
            where = f"queue '{method.queue}' in vhost '{channel.owner.vhost.name}'"
            text = f"invalid arg '{name}' for {where} of queue type rabbit_{kind}_queue"
            raise Refusal(PRECONDITION_FAILED, text)


def _check_release(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    """Raise Refusal for a new queue that the release of RabbitMQ doesn't make, Fault for its name and arguments."""
    arguments: Mapping[str, Any] = method.arguments or NO_ARGUMENTS
    where = f"queue '{method.queue}' in vhost '{channel.owner.vhost.name}'"
    is_new = not method.queue or method.queue not in channel.owner.vhost.queues
    release = front.release
    if as_text(arguments.get("x-queue-type", "classic")) == "quorum":
        if not method.queue:
            text = "Cannot declare a server-named queue for type rabbit_quorum_queue"
            raise Refusal(PRECONDITION_FAILED, text)
        for wrong, name in (
            (method.auto_delete, "auto-delete"),
            (method.exclusive, "exclusive-owner"),
            (not method.durable, "non-durable"),
        ):
            if wrong and is_new:
                raise Refusal(PRECONDITION_FAILED, f"invalid property '{name}' for {where}")
        return
    if not release.storage_arguments:
        for name in ("x-queue-mode", "x-queue-version"):
            if name in arguments and (name == "x-queue-mode" or arguments[name] == 1):
                front.hub.warn(("release", name), advice(release.name, f"{name} of {where}", "leave it out"))
                text = f"invalid arg '{name}' for {where} of queue type rabbit_classic_queue"
                raise Refusal(PRECONDITION_FAILED, text)
    if is_new and not release.transient_queues and not method.durable and not method.exclusive:
        # RabbitMQ looks at the name and the arguments first.
        check_queue_name(method.queue)
        queue_options(arguments)
        what = f"{where}, which is neither durable nor exclusive"
        front.hub.warn(("release", "transient_nonexcl_queues"), advice(release.name, what, "declare it durable"))
        raise Refusal(INTERNAL_ERROR, deprecated("transient_nonexcl_queues"), is_hard=True)


def _check_known(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    """Warn of arguments that the broker doesn't know, which RabbitMQ ignores too."""
    for name in method.arguments or ():
        if name not in ARGUMENTS and name not in WITHOUT_EFFECT and name.startswith("x-"):
            where = f"queue {method.queue!r} in vhost {channel.owner.vhost.name!r}"
            from difflib import get_close_matches  # Declarations without a mistake don't load it.

            near = get_close_matches(name, sorted({*ARGUMENTS, *WITHOUT_EFFECT}), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            front.hub.warn(("argument", name), f"argument {name!r} of {where} isn't known and has no effect{hint}")


def _bind(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    queue, key = method.queue, method.routing_key
    if not queue and not key:
        key = channel.current
    queue = queue_name(channel, queue)
    _check_durable(front, channel, queue, method.exchange)
    try:
        front.hub.apply(Bind(channel.owner, queue, method.exchange, key, method.arguments))
    except Fault as fault:
        if not _is_own_binding(front, fault, queue, key):
            raise
    return front.named["queue.bind-ok"]()


def _unbind(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    queue = queue_name(channel, method.queue)
    with _Forgiving(front, *_NOT_BOUND):
        front.hub.apply(Unbind(channel.owner, queue, method.exchange, method.routing_key, method.arguments))
    return front.named["queue.unbind-ok"]()


def _purge(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    count = front.hub.apply(PurgeQueue(channel.owner, queue_name(channel, method.queue)))
    return front.named["queue.purge-ok"](count)


def _delete_queue(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    name = queue_name(channel, method.queue)
    count = 0
    with _Forgiving(front, FaultKind.NOT_FOUND):
        count = front.hub.apply(
            DeleteQueue(
                channel.owner, name, method.if_unused, method.if_empty and not _looks_empty(front, channel, name)
            )
        )
    return front.named["queue.delete-ok"](count)


# Internals.


class _Forgiving:
    """RabbitMQ treats missing things as already deleted or undone; the specifications require an exception."""

    __slots__ = ("_front", "_kinds")

    def __init__(self, front: ChannelFrontend, *kinds: FaultKind) -> None:
        self._front = front
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        return self._front.is_rabbit and isinstance(error, Fault) and error.kind in self._kinds


def _looks_empty(front: ChannelFrontend, channel: ClassicChannel, name: str) -> bool:
    """Whether RabbitMQ considers a queue empty: unsettled messages of clients don't count."""
    queue = channel.owner.vhost.queues.get(name)
    return front.is_rabbit and queue is not None and not queue.ready


def _is_own_binding(front: ChannelFrontend, fault: Fault, queue: str, key: str) -> bool:
    """Whether a request names a queue's implicit binding to the nameless exchange (0-9-1 queue.bind)."""
    return fault.kind is FaultKind.DEFAULT_EXCHANGE and not front.is_rabbit and not front.is_old and key == queue


def _check_durable(front: ChannelFrontend, channel: ClassicChannel, queue: str, exchange: str) -> None:
    """Refuse to bind a durable queue to a transient exchange (0-8)."""
    if not front.is_old or front.is_rabbit:
        return
    vhost = channel.owner.vhost
    source, destination = vhost.exchanges.get(exchange), vhost.queues.get(queue)
    if source is None or destination is None or not destination.durable:
        return
    if not source.durable:
        text = f"queue '{queue}' is durable, exchange '{exchange}' in vhost '{vhost.name}' isn't"
        raise Fault(FaultKind.BAD_ARGUMENT, text, "durable")


METHODS: Final[Mapping[str, Callable[[ChannelFrontend, ClassicChannel, Any], Any]]] = {
    "exchange.declare": _declare_exchange,
    "exchange.delete": _delete_exchange,
    "exchange.bind": _bind_exchange,
    "exchange.unbind": _unbind_exchange,
    "exchange.bound": _exchange_bound,
    "queue.declare": _declare_queue,
    "queue.bind": _bind,
    "queue.unbind": _unbind,
    "queue.purge": _purge,
    "queue.delete": _delete_queue,
}
