"""Topology: exchanges and bindings, declaring, comparing and deleting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .chores import Chore
from .effects import NodeDeleted
from .exchange import ALTERNATE, Binding, binding_key, make_exchange, predeclared
from .faults import Fault, FaultKind
from .options import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import commands
    from .chores import Chores
    from .exchange import Destination, Exchange
    from .ledger import Ledger
    from .vhost import VirtualHost

RESERVED: Final = "amq."
LONGEST_NAME: Final = 255
"""Octets of a name: 0-8, 0-9-1 and 0-10 count them in one octet."""
_OWN: Final = frozenset([each.name for each in predeclared()])
"""The exchanges that every virtual host has."""
_SINGLE: Final = ("failover",)
"""The types of which a virtual host may have only one exchange (0-10 section 11.1.2.3)."""


class Unbinding(Chore):
    """The end of all bindings to a deleted queue or exchange, and of those from a deleted exchange."""

    __slots__ = ("_destination", "_from_here", "_source", "_sources", "_to_here", "_topology", "_vhost")

    def __init__(
        self, topology: Topology, vhost: VirtualHost, destination: Destination, source: Exchange | None = None
    ) -> None:
        self._topology = topology
        """Deletes exchanges whose last binding goes."""
        self._vhost = vhost
        """Counts the bindings that are left."""
        self._destination = destination
        """The deleted queue or exchange."""
        self._source = source
        """The same if it is an exchange, whose own bindings go too."""
        self._from_here = [] if source is None else [*source.bindings.values()][::-1]
        """Bindings from it that are left, the first one last."""
        self._sources = list(vhost.sources.pop(destination, ()))[::-1]
        """Names of exchanges with bindings to it, the first one last."""
        self._to_here: list[Binding] = []
        """Bindings of the exchange at hand that are left."""
        vhost.leaving += 1

    def go_on(self, ledger: Ledger) -> bool:
        vhost, source = self._vhost, self._source
        while self._from_here and source is not None:
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            vhost.uncount_binding(source, self._from_here.pop().destination)
        while self._sources:
            found = vhost.exchanges.get(self._sources[-1])
            if found is not None:
                if not self._to_here:
                    self._to_here = [*found.bindings_to(self._destination)][::-1]
                while self._to_here:
                    if ledger.room <= 0 and ledger.is_spent:
                        return False
                    ledger.room -= 1
                    self._topology.forget_binding(vhost, found, self._to_here.pop())
                self._topology.leave_if_unbound(vhost, found)
            self._to_here.clear()
            self._sources.pop()
        vhost.leaving -= 1
        return True


class Topology:
    """Carries out the commands for exchanges and bindings."""

    __slots__ = ("_chores", "_ledger")

    def __init__(self, ledger: Ledger, chores: Chores) -> None:
        self._ledger = ledger
        self._chores = chores
        """Takes what doesn't fit into a turn."""

    def declare_exchange(self, command: commands.DeclareExchange) -> Exchange:
        """Carry out `DeclareExchange`."""
        vhost = command.owner.vhost
        name = command.name
        found = vhost.exchanges.get(name)
        if not name:
            raise Fault(FaultKind.DEFAULT_EXCHANGE, f"the default exchange of vhost {vhost.name!r} can't be declared")
        if command.passive:
            return vhost.find_exchange(name)
        alternate = command.alternate or as_text(command.arguments.get(ALTERNATE))
        if found is not None:
            _compare_exchange(vhost, found, command, alternate)
            return found
        check_name("exchange", name)
        if command.reserved and name.startswith(RESERVED):
            text = f"exchange name {name!r} contains reserved prefix 'amq.*'"
            raise Fault(FaultKind.RESERVED_NAME, text, "exchange")
        if alternate is not None and command.alternate is not None and alternate not in vhost.exchanges:
            raise Fault(FaultKind.NOT_FOUND, f"no exchange {alternate!r} in vhost {vhost.name!r}", "alternate")
        if len(vhost.exchanges) >= self._ledger.limits.exchanges:
            raise limit_reached(vhost, "exchanges", self._ledger.limits.exchanges)
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
        self._ledger.count(exchange.octets, f"exchange {name!r}")
        vhost.exchanges[name] = exchange
        return exchange

    def delete_exchange(self, command: commands.DeleteExchange) -> None:
        """Carry out `DeleteExchange`."""
        vhost = command.owner.vhost
        name = command.name
        if not name:
            raise Fault(FaultKind.DEFAULT_EXCHANGE, f"the default exchange of vhost {vhost.name!r} can't be deleted")
        exchange = vhost.find_exchange(name)
        if name in _OWN:
            text = f"exchange {name!r} in vhost {vhost.name!r} is one of the broker's own and can't be deleted"
            raise Fault(FaultKind.RESERVED_NAME, text, "exchange")
        if command.alternates and vhost.is_alternate(name):
            text = f"exchange {name!r} in vhost {vhost.name!r} is the alternate of another exchange or of a queue"
            raise Fault(FaultKind.USED_AS_ALTERNATE, text, "exchange")
        if command.if_unused and exchange.bindings:
            raise Fault(FaultKind.IN_USE, f"exchange {name!r} in vhost {vhost.name!r} in use", "exchange")
        self._remove_exchange(vhost, exchange)

    def bind_exchange(self, command: commands.BindExchange) -> bool:
        """Carry out `BindExchange`."""
        vhost = command.owner.vhost
        source = vhost.bindable(command.source)
        destination = vhost.bindable(command.destination)
        return self._add_binding(vhost, source, destination, command.routing_key, command.arguments, True)

    def unbind_exchange(self, command: commands.UnbindExchange) -> None:
        """Carry out `UnbindExchange`."""
        vhost = command.owner.vhost
        source = vhost.bindable(command.source)
        destination = vhost.bindable(command.destination)
        self._remove_binding(vhost, source, destination, command.routing_key, command.arguments, True)

    def bind(self, command: commands.Bind) -> bool:
        """Carry out `Bind`."""
        owner = command.owner
        vhost = owner.vhost
        queue = owner.find_queue(command.queue)
        exchange = vhost.bindable(command.exchange)
        return self._add_binding(vhost, exchange, queue, command.routing_key, command.arguments, command.by_arguments)

    def unbind(self, command: commands.Unbind) -> None:
        """Carry out `Unbind`."""
        owner = command.owner
        vhost = owner.vhost
        queue = owner.find_queue(command.queue)
        exchange = vhost.bindable(command.exchange)
        self._remove_binding(vhost, exchange, queue, command.routing_key, command.arguments, command.by_arguments)

    def unbinding(self, vhost: VirtualHost, destination: Destination) -> Unbinding:
        """Return the chore that removes all bindings to a destination."""
        return Unbinding(self, vhost, destination)

    def forget_binding(self, vhost: VirtualHost, source: Exchange, binding: Binding) -> None:
        """Remove a binding to a destination that is gone."""
        before = source.octets
        if source.remove(binding.key) is not None:
            self._ledger.count(source.octets - before, "")
            vhost.bindings -= 1

    def keep_durable(self, vhost: VirtualHost) -> None:
        """Remove the exchanges that don't survive a restart."""
        for exchange in list(vhost.exchanges.values()):
            if not (exchange.durable or exchange.name in _OWN):
                self._remove_exchange(vhost, exchange)

    def _add_binding(
        self,
        vhost: VirtualHost,
        source: Exchange,
        destination: Destination,
        routing_key: str,
        arguments: Mapping[str, Any],
        by_arguments: bool,
    ) -> bool:
        source.check(destination, routing_key, arguments, by_arguments=by_arguments)
        binding = Binding(destination, routing_key, arguments, by_arguments=by_arguments)
        was_bound, before = source.was_bound, source.octets
        if not source.add(binding):
            return False
        try:
            if vhost.bindings >= self._ledger.limits.bindings:
                raise limit_reached(vhost, "bindings", self._ledger.limits.bindings)
            self._ledger.count(source.octets - before, f"a binding to {destination.name!r}")
        except Fault:
            source.remove(binding.key)
            source.was_bound = was_bound
            raise
        vhost.count_binding(source, destination)
        return True

    def _remove_binding(
        self,
        vhost: VirtualHost,
        source: Exchange,
        destination: Destination,
        routing_key: str,
        arguments: Mapping[str, Any],
        by_arguments: bool,
    ) -> None:
        key = binding_key(destination, routing_key, arguments, by_arguments)
        before = source.octets
        if source.remove(key) is None:
            text = (
                f"no binding {routing_key!r} between exchange {source.name!r} and {destination.name!r} "
                f"in vhost {vhost.name!r}"
            )
            raise Fault(FaultKind.BINDING_NOT_FOUND, text, "binding")
        self._ledger.count(source.octets - before, "")
        vhost.uncount_binding(source, destination)
        self.leave_if_unbound(vhost, source)

    def leave_if_unbound(self, vhost: VirtualHost, exchange: Exchange) -> None:
        """Delete an exchange without bindings, if it was declared so."""
        if exchange.auto_delete and exchange.was_bound and not exchange.bindings:
            self._remove_exchange(vhost, exchange)

    def _remove_exchange(self, vhost: VirtualHost, exchange: Exchange) -> None:
        if vhost.exchanges.get(exchange.name) is not exchange:
            return
        del vhost.exchanges[exchange.name]
        exchange.is_deleted = True
        self._ledger.count(-exchange.octets, "")
        self._ledger.effects.append(NodeDeleted(vhost.name, "exchange", exchange.name))
        self._chores.begin(Unbinding(self, vhost, exchange, exchange))


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
            raise inequivalent(what, name, *given[name])


def inequivalent(what: str, name: str, given: object, current: object) -> Fault:
    """Return the fault of a declaration that differs from the node that exists."""
    text = f"inequivalent arg '{name}' for {what}: received {_shown(given)} but current is {_shown(current)}"
    return Fault(FaultKind.INEQUIVALENT, text, name)


def _shown(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"'{str(value).lower()}'"
    return f"'{as_text(value) if isinstance(value, (bytes, bytearray)) else value}'"


def check_name(what: str, name: str) -> None:
    """Check that every version can say the name of a new queue or exchange. Raises Fault."""
    size = len(name.encode("utf-8", "surrogateescape"))
    if size > LONGEST_NAME:
        text = f"{what} name {name[:40]!r}... has {size} octets, a name has at most {LONGEST_NAME}"
        raise Fault(FaultKind.BAD_ARGUMENT, text, what)


def check_queue_name(name: str, *, reserved: bool = True) -> None:
    """Check the name of a new queue; `reserved`: it may not be one of the broker's. Raises Fault."""
    check_name("queue", name)
    if reserved and name.startswith(RESERVED):
        raise Fault(FaultKind.RESERVED_NAME, f"queue name {name!r} contains reserved prefix 'amq.*'", "queue")


def limit_reached(vhost: VirtualHost, what: str, limit: int) -> Fault:
    """Return the fault of a declaration above a limit."""
    return Fault(FaultKind.LIMIT, f"vhost {vhost.name!r} has {limit} {what}, BrokerLimits.{what} allows no more")
