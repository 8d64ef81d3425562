"""Exchanges, queues and bindings: making, comparing and deleting them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from . import consuming, publishing
from .commands import Lifetime
from .effects import Cancelled, NodeDeleted
from .entry import EntryInput
from .exchange import ALTERNATE, Binding, binding_key, make_exchange, predeclared
from .faults import Fault, FaultKind
from .options import ARGUMENTS, as_text, queue_options
from .queue import Queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import commands
    from .broker import Broker
    from .exchange import Exchange
    from .options import QueueOptions
    from .owner import Owner
    from .vhost import VirtualHost

RESERVED: Final = "amq."
_OWN: Final = frozenset([each.name for each in predeclared()])
"""The exchanges that every virtual host has."""
_SINGLE: Final = ("failover",)
"""The types of which a virtual host has one exchange (0-10 section 11.1.2.3)."""


# Exchanges.


def declare_exchange(broker: Broker, command: commands.DeclareExchange) -> Exchange:
    """`DeclareExchange`."""
    vhost = command.owner.vhost
    name = command.name
    found = vhost.exchanges.get(name)
    if not name:
        raise Fault(FaultKind.DEFAULT_EXCHANGE, f"the default exchange of vhost {vhost.name!r} can't be declared")
    if command.passive:
        return find_exchange(vhost, name)
    alternate = command.alternate or as_text(command.arguments.get(ALTERNATE))
    if found is not None:
        _compare_exchange(vhost, found, command, alternate)
        return found
    if command.reserved and name.startswith(RESERVED):
        text = f"exchange name {name!r} contains reserved prefix 'amq.*'"
        raise Fault(FaultKind.RESERVED_NAME, text, "exchange")
    if alternate is not None and command.alternate is not None and alternate not in vhost.exchanges:
        raise Fault(FaultKind.NOT_FOUND, f"no exchange {alternate!r} in vhost {vhost.name!r}", "alternate")
    if len(vhost.exchanges) >= broker.limits.exchanges:
        raise _limit(vhost, "exchanges", broker.limits.exchanges)
    exchange = make_exchange(
        name,
        command.type,
        durable=command.durable,
        auto_delete=command.auto_delete,
        internal=command.internal,
        alternate=alternate,
        arguments=command.arguments,
    )
    if exchange.type in _SINGLE and any(each.type == exchange.type for each in vhost.exchanges.values()):
        text = f"vhost {vhost.name!r} has its exchange of type {exchange.type!r} and can't have {name!r} beside it"
        raise Fault(FaultKind.NOT_ALLOWED, text, "type")
    vhost.exchanges[name] = exchange
    return exchange


def delete_exchange(broker: Broker, command: commands.DeleteExchange) -> None:
    """`DeleteExchange`."""
    vhost = command.owner.vhost
    name = command.name
    if not name:
        raise Fault(FaultKind.DEFAULT_EXCHANGE, f"the default exchange of vhost {vhost.name!r} can't be deleted")
    exchange = find_exchange(vhost, name)
    if name in _OWN:
        text = f"exchange {name!r} in vhost {vhost.name!r} is one of the broker's own and can't be deleted"
        raise Fault(FaultKind.RESERVED_NAME, text, "exchange")
    if command.alternates and _is_alternate(vhost, name):
        text = f"exchange {name!r} in vhost {vhost.name!r} is the alternate of another exchange or of a queue"
        raise Fault(FaultKind.USED_AS_ALTERNATE, text, "exchange")
    if command.if_unused and exchange.bindings:
        raise Fault(FaultKind.IN_USE, f"exchange {name!r} in vhost {vhost.name!r} in use", "exchange")
    _remove_exchange(broker, vhost, exchange)


def bind_exchange(broker: Broker, command: commands.BindExchange) -> bool:
    """`BindExchange`."""
    vhost = command.owner.vhost
    source = _bindable(vhost, command.source)
    destination = _bindable(vhost, command.destination)
    return _add_binding(broker, vhost, source, destination, command.routing_key, command.arguments, True)


def unbind_exchange(broker: Broker, command: commands.UnbindExchange) -> None:
    """`UnbindExchange`."""
    vhost = command.owner.vhost
    source = _bindable(vhost, command.source)
    destination = _bindable(vhost, command.destination)
    _remove_binding(broker, vhost, source, destination, command.routing_key, command.arguments, True)


# Queues.


def declare_queue(broker: Broker, command: commands.DeclareQueue) -> Queue:
    """`DeclareQueue`."""
    owner = command.owner
    vhost = owner.vhost
    name = command.name
    if command.passive:
        queue = find_queue(owner, name)
        queue.used_at = broker.now
        return queue
    options = queue_options(command.arguments, strict=command.strict)
    found = vhost.queues.get(name) if name else None
    if found is not None:
        _check_owner(owner, found)
        _compare_queue(vhost, found, command, options)
        found.used_at = broker.now
        return found
    if command.reserved and name.startswith(RESERVED):
        text = f"queue name {name!r} contains reserved prefix 'amq.*'"
        raise Fault(FaultKind.RESERVED_NAME, text, "queue")
    if command.alternate is not None and command.alternate not in vhost.exchanges:
        text = f"no exchange {command.alternate!r} in vhost {vhost.name!r}"
        raise Fault(FaultKind.NOT_FOUND, text, "alternate")
    if len(vhost.queues) >= broker.limits.queues:
        raise _limit(vhost, "queues", broker.limits.queues)
    queue = Queue(
        name or _new_name(broker, vhost),
        vhost,
        options,
        durable=command.durable,
        auto_delete=command.auto_delete,
        exclusive_to=command.exclusive_to,
        alternate=command.alternate,
        arguments=command.arguments,
        lifetime=command.lifetime,
        outlives=command.outlives,
        creator=owner,
        now=broker.now,
    )
    vhost.queues[queue.name] = queue
    if queue.exclusive_to is not None:
        queue.exclusive_to.exclusive[queue.name] = queue
    if queue.lifetime is not None:
        owner.created[queue.name] = queue
    if options.expires is not None:
        broker.watch(queue)
    return queue


def delete_queue_by_name(broker: Broker, command: commands.DeleteQueue) -> int:
    """`DeleteQueue`."""
    queue = find_queue(command.owner, command.name)
    where = f"queue {queue.name!r} in vhost {queue.vhost.name!r}"
    if command.if_unused and queue.consumers:
        raise Fault(FaultKind.IN_USE, f"{where} in use", "queue")
    if command.if_empty and queue.messages:
        raise Fault(FaultKind.NOT_EMPTY, f"{where} not empty", "queue")
    count = queue.ready
    delete_queue(broker, queue, "the queue was deleted")
    return count


def delete_queue(broker: Broker, queue: Queue, reason: str) -> None:
    """A queue goes, with its bindings, consumers and messages. What somebody has stays theirs until it's settled; what
    isn't accepted then is orphaned, as all others are now."""
    if queue.is_deleted:
        return
    vhost = queue.vhost
    queue.is_deleted = True
    del vhost.queues[queue.name]
    if queue.exclusive_to is not None:
        queue.exclusive_to.exclusive.pop(queue.name, None)
    if queue.creator is not None:
        queue.creator.created.pop(queue.name, None)
        queue.creator = None
    if queue.links:
        # Theirs mustn't count for the next queue of that name.
        for owner in broker.owners.values():
            if owner.vhost is vhost:
                owner.links.pop(queue.name, None)
    for consumer in list(queue.consumers.values()):
        consuming.remove_consumer(broker, consumer)
        broker.effects.append(Cancelled(consumer, reason))
    _unbind_everywhere(broker, vhost, queue)
    for entry in list(queue.available()):
        publishing.die(broker, entry, "orphaned", EntryInput.DROP)
    broker.runnable.pop(queue, None)
    broker.unwatch(queue)
    broker.effects.append(NodeDeleted(vhost.name, "queue", queue.name))


def leave_owner(broker: Broker, queue: Queue) -> None:
    """The owner that has a queue for itself is gone."""
    if queue.outlives and not queue.auto_delete:
        queue.exclusive_to = None
    else:
        delete_queue(broker, queue, "its owner is gone")


def leave_if_unused(broker: Broker, queue: Queue) -> None:
    """A queue whose last user went goes too, if it was declared so."""
    if queue.is_deleted:
        return
    is_bound_to_owner = queue.outlives and queue.exclusive_to is not None
    if queue.auto_delete and queue.had_consumer and not queue.consumers and not is_bound_to_owner:
        delete_queue(broker, queue, "its last consumer is gone")
    elif queue.lifetime is not None and _is_over(queue):
        delete_queue(broker, queue, "its lifetime is over")


def link_queue(_: Broker, command: commands.LinkQueue) -> None:
    """`LinkQueue`."""
    owner = command.owner
    queue = find_queue(owner, command.name)
    queue.links += 1
    owner.links[queue.name] = owner.links.get(queue.name, 0) + 1


def unlink_queue(broker: Broker, command: commands.UnlinkQueue) -> None:
    """`UnlinkQueue`."""
    if command.name in command.owner.links:
        unlink(broker, command.owner, command.name, 1)


def unlink(broker: Broker, owner: Owner, name: str, times: int) -> None:
    """So many links of an owner don't use a queue any more."""
    left = owner.links.pop(name) - times
    if left:
        owner.links[name] = left
    queue = owner.vhost.queues.get(name)
    if queue is not None:
        queue.links -= times
        leave_if_unused(broker, queue)


def bind(broker: Broker, command: commands.Bind) -> bool:
    """`Bind`."""
    owner = command.owner
    vhost = owner.vhost
    queue = find_queue(owner, command.queue)
    exchange = _bindable(vhost, command.exchange)
    return _add_binding(
        broker, vhost, exchange, queue, command.routing_key, command.arguments, command.by_arguments
    )


def unbind(broker: Broker, command: commands.Unbind) -> None:
    """`Unbind`."""
    owner = command.owner
    vhost = owner.vhost
    queue = find_queue(owner, command.queue)
    exchange = _bindable(vhost, command.exchange)
    _remove_binding(
        broker, vhost, exchange, queue, command.routing_key, command.arguments, command.by_arguments
    )


# Finding.


def find_queue(owner: Owner, name: str) -> Queue:
    """The queue of a name that an owner may use. Raises Fault: NAME_MISSING, NOT_FOUND, LOCKED."""
    if not name:
        raise Fault(FaultKind.NAME_MISSING, "a queue's name is needed here", "queue")
    queue = owner.vhost.queues.get(name)
    if queue is None:
        raise Fault(FaultKind.NOT_FOUND, f"no queue {name!r} in vhost {owner.vhost.name!r}", "queue")
    if queue.exclusive_to is not None:
        _check_owner(owner, queue)
    return queue


def find_exchange(vhost: VirtualHost, name: str) -> Exchange:
    """The exchange of a name. Raises Fault NOT_FOUND."""
    exchange = vhost.exchanges.get(name)
    if exchange is None:
        raise Fault(FaultKind.NOT_FOUND, f"no exchange {name!r} in vhost {vhost.name!r}", "exchange")
    return exchange


def keep_durable(broker: Broker, vhost: VirtualHost) -> None:
    """Drop what doesn't survive a restart."""
    for queue in list(vhost.queues.values()):
        for entry in list(queue.available()):
            if not (queue.durable and entry.message.content.persistent):
                # It is lost: no dead letter, no orphan for an alternate.
                queue.archive(entry, EntryInput.DROP)
                broker.drop(entry.message)
                if broker.history is not None:
                    broker.history.add(
                        "dropped", broker.now, vhost.name, entry.message, queue=queue.name, reason="restarted"
                    )
        if not queue.durable:
            delete_queue(broker, queue, "the broker was stopped")
    for exchange in list(vhost.exchanges.values()):
        if not (exchange.durable or exchange.name in _OWN):
            _remove_exchange(broker, vhost, exchange)


# Inside.


def _check_owner(owner: Owner, queue: Queue) -> None:
    if queue.exclusive_to is not None and not owner.is_within(queue.exclusive_to):
        text = (
            f"cannot obtain exclusive access to locked queue {queue.name!r} in vhost {queue.vhost.name!r}. "
            "It could be originally declared on another connection or the exclusive property value does not "
            "match that of the original declaration."
        )
        raise Fault(FaultKind.LOCKED, text, "queue")


def _bindable(vhost: VirtualHost, name: str) -> Exchange:
    if not name:
        text = f"operation not permitted on the default exchange of vhost {vhost.name!r}"
        raise Fault(FaultKind.DEFAULT_EXCHANGE, text, "exchange")
    return find_exchange(vhost, name)


def _add_binding(
    broker: Broker,
    vhost: VirtualHost,
    source: Exchange,
    destination: Queue | Exchange,
    routing_key: str,
    arguments: Mapping[str, Any],
    by_arguments: bool,
) -> bool:
    source.check(destination, routing_key, arguments, by_arguments=by_arguments)
    binding = Binding(destination, routing_key, arguments, by_arguments=by_arguments)
    was_bound = source.was_bound
    if not source.add(binding):
        return False
    if vhost.bindings >= broker.limits.bindings:
        source.remove(binding.key)
        source.was_bound = was_bound
        raise _limit(vhost, "bindings", broker.limits.bindings)
    vhost.bindings += 1
    sources = vhost.sources.setdefault(destination, {})
    sources[source.name] = sources.get(source.name, 0) + 1
    return True


def _remove_binding(
    broker: Broker,
    vhost: VirtualHost,
    source: Exchange,
    destination: Queue | Exchange,
    routing_key: str,
    arguments: Mapping[str, Any],
    by_arguments: bool,
) -> None:
    key = binding_key(destination, routing_key, arguments, by_arguments)
    if source.remove(key) is None:
        text = (
            f"no binding {routing_key!r} between exchange {source.name!r} and {destination.name!r} "
            f"in vhost {vhost.name!r}"
        )
        raise Fault(FaultKind.BINDING_NOT_FOUND, text, "binding")
    vhost.bindings -= 1
    sources = vhost.sources[destination]
    sources[source.name] -= 1
    if not sources[source.name]:
        del sources[source.name]
    if not sources:
        del vhost.sources[destination]
    _leave_if_unbound(broker, vhost, source)


def _unbind_everywhere(broker: Broker, vhost: VirtualHost, destination: Queue | Exchange) -> None:
    for name, count in vhost.sources.pop(destination, {}).items():
        source = vhost.exchanges.get(name)
        if source is not None:
            source.remove_destination(destination)
            vhost.bindings -= count
            _leave_if_unbound(broker, vhost, source)


def _leave_if_unbound(broker: Broker, vhost: VirtualHost, exchange: Exchange) -> None:
    if exchange.auto_delete and exchange.was_bound and not exchange.bindings:
        _remove_exchange(broker, vhost, exchange)


def _remove_exchange(broker: Broker, vhost: VirtualHost, exchange: Exchange) -> None:
    if vhost.exchanges.get(exchange.name) is not exchange:
        return
    del vhost.exchanges[exchange.name]
    for binding in exchange.bindings.values():
        vhost.bindings -= 1
        sources = vhost.sources.get(binding.destination)
        if sources is not None:
            sources[exchange.name] -= 1
            if not sources[exchange.name]:
                del sources[exchange.name]
            if not sources:
                del vhost.sources[binding.destination]
    _unbind_everywhere(broker, vhost, exchange)
    broker.effects.append(NodeDeleted(vhost.name, "exchange", exchange.name))


def _is_alternate(vhost: VirtualHost, name: str) -> bool:
    return any(each.alternate == name for each in vhost.exchanges.values()) or any(
        each.alternate == name for each in vhost.queues.values()
    )


def _is_over(queue: Queue) -> bool:
    """Whether a dynamic node's lifetime has ended (1.0 part 3 section 5)."""
    if queue.lifetime is Lifetime.ON_CLOSE:
        return queue.creator is None
    if queue.lifetime is Lifetime.ON_NO_LINKS:
        return queue.creator is None and not queue.links
    if queue.lifetime is Lifetime.ON_NO_MESSAGES:
        return queue.creator is None and not queue.messages
    return queue.creator is None and not queue.links and not queue.messages


def _compare_exchange(
    vhost: VirtualHost, found: Exchange, command: commands.DeclareExchange, alternate: str | None
) -> None:
    what = f"exchange {found.name!r} in vhost {vhost.name!r}"
    given: dict[str, tuple[object, object]] = {
        "type": (command.type, found.type),
        "durable": (command.durable, found.durable),
        "auto_delete": (command.auto_delete, found.auto_delete),
        "internal": (command.internal, found.internal),
        "alternate": (alternate, found.alternate),
    }
    for name in command.compare:
        if name in given and given[name][0] != given[name][1]:
            raise _inequivalent(what, name, *given[name])


def _compare_queue(
    vhost: VirtualHost, found: Queue, command: commands.DeclareQueue, options: QueueOptions
) -> None:
    what = f"queue {found.name!r} in vhost {vhost.name!r}"
    given: dict[str, tuple[object, object]] = {
        "durable": (command.durable, found.durable),
        "exclusive": (command.exclusive_to is not None, found.exclusive_to is not None),
        "auto_delete": (command.auto_delete, found.auto_delete),
        "alternate": (command.alternate, found.alternate),
    }
    for name in command.compare:
        if name in given and given[name][0] != given[name][1]:
            raise _inequivalent(what, name, *given[name])
    if "arguments" in command.compare and options != found.options:
        said = [name for name in ARGUMENTS if name in command.arguments or name in found.arguments]
        for name in said:
            if getattr(options, ARGUMENTS[name]) != getattr(found.options, ARGUMENTS[name]):
                raise _inequivalent(what, name, command.arguments.get(name), found.arguments.get(name))


def _inequivalent(what: str, name: str, given: object, current: object) -> Fault:
    text = f"inequivalent arg '{name}' for {what}: received {_shown(given)} but current is {_shown(current)}"
    return Fault(FaultKind.INEQUIVALENT, text, name)


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"'{str(value).lower()}'"
    return f"'{as_text(value) if isinstance(value, (bytes, bytearray)) else value}'"


def _limit(vhost: VirtualHost, what: str, limit: int) -> Fault:
    return Fault(
        FaultKind.LIMIT, f"vhost {vhost.name!r} has {limit} {what}, BrokerLimits.{what} allows no more"
    )


def _new_name(broker: Broker, vhost: VirtualHost) -> str:
    while True:
        broker.names += 1
        digest = sha256(broker.seed + broker.names.to_bytes(8, "big")).digest()[:16]
        name = f"amq.gen-{urlsafe_b64encode(digest).decode().rstrip('=')}"
        if name not in vhost.queues:
            return name
