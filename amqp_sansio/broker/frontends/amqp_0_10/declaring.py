"""Exchanges, queues and bindings (classes 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_0_10.codec.records import ExchangeBoundResult, ExchangeQueryResult, QueueQueryResult
from ...model.commands import (
    NO_ARGUMENTS,
    Bind,
    DeclareExchange,
    DeclareQueue,
    DeleteExchange,
    DeleteQueue,
    PurgeQueue,
    Unbind,
)
from ...model.exchange import HeadersExchange
from ...model.faults import Fault, FaultKind
from .failover import tell_queue

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import (
        ExchangeBind,
        ExchangeBound,
        ExchangeDeclare,
        ExchangeDelete,
        ExchangeQuery,
        ExchangeUnbind,
        QueueDeclare,
        QueueDelete,
        QueuePurge,
        QueueQuery,
    )
    from .sessions import Result, ServedSession, SessionFrontend

_SELECTOR: Final = "x-filter-jms-selector"
"""The selector that Qpid's JMS client sends with every binding to a topic exchange; an empty one selects everything."""

# Exchanges.


def declare_exchange(front: SessionFrontend, session: ServedSession, command: ExchangeDeclare, event: object) -> Result:
    """`exchange.declare`: an existing one must have the same type and alternate exchange. Raises Fault."""
    alternate = command.alternate_exchange or None
    arguments = command.arguments or NO_ARGUMENTS
    if not command.passive:
        _refuse_unknown(arguments, "exchanges have no arguments here")
    front.hub.apply(
        DeclareExchange(
            session.owner,
            command.exchange or "",
            command.type or "",
            passive=command.passive,
            durable=command.durable,
            auto_delete=command.auto_delete,
            alternate=alternate,
            compare=("type",) if alternate is None else ("type", "alternate"),
        )
    )
    return None


def delete_exchange(front: SessionFrontend, session: ServedSession, command: ExchangeDelete, event: object) -> Result:
    """`exchange.delete`. Raises Fault."""
    front.hub.apply(DeleteExchange(session.owner, command.exchange or "", if_unused=command.if_unused, alternates=True))
    return None


def query_exchange(front: SessionFrontend, session: ServedSession, command: ExchangeQuery, event: object) -> Result:
    """`exchange.query`."""
    exchange = session.owner.vhost.exchanges.get(command.name or "")
    if exchange is None:
        return ExchangeQueryResult(not_found=True)
    return ExchangeQueryResult(exchange.type, exchange.durable, arguments=exchange.arguments)


def bind(front: SessionFrontend, session: ServedSession, command: ExchangeBind, event: object) -> Result:
    """`exchange.bind`: an existing binding stays unchanged. Raises Fault."""
    name = command.exchange or ""
    arguments = command.arguments or NO_ARGUMENTS
    queue = command.queue or ""
    exchange = session.owner.vhost.exchanges.get(name)
    if not queue:
        raise Fault(FaultKind.NAME_MISSING, "a queue's name is needed to bind it", "queue")
    if exchange is not None and name and not isinstance(exchange, HeadersExchange):
        told = {key: value for key, value in arguments.items() if key != _SELECTOR or value}
        _refuse_unknown(told, f"bindings to {exchange.type} exchange {name!r} have no arguments")
    is_new = front.hub.apply(Bind(session.owner, queue, name, command.binding_key or "", arguments, by_arguments=False))
    if is_new and exchange is not None and exchange.type == "failover":
        tell_queue(front.hub, session.owner, exchange.name, queue)
    return None


def unbind(front: SessionFrontend, session: ServedSession, command: ExchangeUnbind, event: object) -> Result:
    """`exchange.unbind`. Raises Fault."""
    front.hub.apply(
        Unbind(
            session.owner, command.queue or "", command.exchange or "", command.binding_key or "", by_arguments=False
        )
    )
    return None


def bound(front: SessionFrontend, session: ServedSession, command: ExchangeBound, event: object) -> Result:
    """`exchange.bound`: report the first of queue, key, arguments without a binding that matches all so far."""
    vhost = session.owner.vhost
    exchange = vhost.exchanges.get(command.exchange or "")
    queue = vhost.queues.get(command.queue or "")
    misses_queue = bool(command.queue) and queue is None
    if exchange is None or misses_queue:
        return ExchangeBoundResult(exchange_not_found=exchange is None, queue_not_found=misses_queue)
    if not exchange.name:
        return _bound_by_default(vhost.queues, command)
    result = {"queue_not_matched": queue is not None and not exchange.is_bound(queue)}
    if result["queue_not_matched"]:
        # Without a binding to the queue it is asked whether there is one with this key at all.
        queue = None
    key = command.binding_key
    result["key_not_matched"] = key is not None and not exchange.is_bound(queue, key)
    if result["key_not_matched"]:
        key = None
    arguments = command.arguments or NO_ARGUMENTS
    result["args_not_matched"] = bool(arguments) and not exchange.is_bound(queue, key, arguments)
    return ExchangeBoundResult(**result)


# Queues.


def declare_queue(front: SessionFrontend, session: ServedSession, command: QueueDeclare, event: object) -> Result:
    """`queue.declare`: an existing one must have the same alternate exchange. Raises Fault."""
    name = command.queue or ""
    if not name:
        raise Fault(FaultKind.NAME_MISSING, "a queue's name is needed, the broker generates none", "queue")
    alternate = command.alternate_exchange or None
    front.hub.apply(
        DeclareQueue(
            session.owner,
            name,
            passive=command.passive,
            durable=command.durable,
            auto_delete=command.auto_delete,
            exclusive_to=session.owner if command.exclusive else None,
            alternate=alternate,
            arguments=command.arguments or NO_ARGUMENTS,
            strict=True,
            compare=() if alternate is None else ("alternate",),
            outlives=True,
        )
    )
    return None


def delete_queue(front: SessionFrontend, session: ServedSession, command: QueueDelete, event: object) -> Result:
    """`queue.delete`. Raises Fault."""
    front.hub.apply(
        DeleteQueue(session.owner, command.queue or "", if_unused=command.if_unused, if_empty=command.if_empty)
    )
    return None


def purge_queue(front: SessionFrontend, session: ServedSession, command: QueuePurge, event: object) -> Result:
    """`queue.purge`. Raises Fault."""
    front.hub.apply(PurgeQueue(session.owner, command.queue or ""))
    return None


def query_queue(front: SessionFrontend, session: ServedSession, command: QueueQuery, event: object) -> Result:
    """`queue.query`: the result for an unknown queue is empty."""
    queue = session.owner.vhost.queues.get(command.queue or "")
    if queue is None:
        return QueueQueryResult()
    return QueueQueryResult(
        queue.name,
        queue.alternate,
        queue.durable,
        queue.exclusive_to is not None,
        queue.auto_delete,
        queue.arguments,
        queue.ready,
        len(queue.consumers),
    )


# Internals.


def _refuse_unknown(arguments: Mapping[str, Any], text: str) -> None:
    for name in arguments:
        raise Fault(FaultKind.UNKNOWN_ARGUMENT, f"{text}, {name!r} was given", "arguments")


def _bound_by_default(queues: Iterable[str], command: ExchangeBound) -> ExchangeBoundResult:
    """Answer for the default exchange, to which every queue is bound by its name alone."""
    key, queue = command.binding_key, command.queue
    return ExchangeBoundResult(
        key_not_matched=key is not None and (key != queue if queue else key not in queues),
        args_not_matched=bool(command.arguments),
    )
