"""A second model of the broker, as naive as can be: lists, loops and names, written from the specifications alone.

It decides nothing that the specifications leave open: whose turn it is among equal consumers. For that it asks a
`Witness`, which has seen what the other model did, and checks that it was one of the things that may be done. What it
checks: results, faults, order, flags and counts of deliveries, the content of queues, and that nothing waits that could
be delivered.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tests.broker.naive_flow import NaiveFlow
from tests.broker.naive_values import (
    KNOWN,
    MESSAGE,
    TYPES,
    Binding,
    Branch,
    Copy,
    NaiveConsumer,
    NaiveExchange,
    NaiveOwner,
    NaiveQueue,
    Note,
    Refusal,
    Room,
    argument_faults,
    typed_items,
)

OTHERS = 2
"""Exchanges of the other model, for services and for failing over, that this one doesn't have."""
DEFAULTS = (("x-overflow", "drop-head"), ("x-single-active-consumer", False))
"""Arguments that say what is so without them."""


class NaiveBroker(NaiveFlow):
    """Every method is a command. What it refuses it refuses with a `Refusal`."""

    # Owners.

    def open_owner(self, parent: int | None) -> int:
        number = self.next_number()
        connection = number if parent is None else self.owners[parent].connection
        self.owners[number] = NaiveOwner(number, parent, connection)
        return number

    def close_owner(self, number: int, redelivered: bool = True) -> None:
        self._close(number, redelivered)
        self._finish()

    def _close(self, number: int, redelivered: bool) -> None:
        for child in [each.number for each in self.owners.values() if each.parent == number]:
            self._close(child, redelivered)
        left: list[NaiveQueue] = []
        for consumer in [each for each in self.consumers.values() if each.owner == number]:
            left.append(consumer.queue)
            self._end_consumer(consumer)
        for branch in [each for each in self.branches.values() if each.owner == number and not each.is_over]:
            self._roll_back(branch)
        for each in [each for each in self.every if each.state == "acquired" and each.owner == number]:
            if each.transaction is None:
                each.redelivered = each.redelivered or redelivered
                self._happened("released", each.queue, each.note)
                self._put_back(each)
            else:
                # Somebody else's transaction decides.
                each.owner = None
        for queue in list(self.queues.values()):
            self._expire(queue)
        self._enforce_all([*self.queues.values()])
        for queue in list(self.queues.values()):
            if queue.exclusive == number:
                if queue.outlives and not queue.auto_delete:
                    queue.exclusive = None
                else:
                    self._delete_queue(queue)
        for queue in left:
            self._leave_if_unused(queue)
        for queue in self.queues.values():
            queue.links = [each for each in queue.links if each != number]
        del self.owners[number]

    # Exchanges.

    def declare_exchange(
        self,
        name: str,
        type: str,
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        alternate: str | None = None,
        compare: Sequence[str] = (),
        later: bool = False,
        reserved: bool = True,
    ) -> None:
        """With `later` the alternate needn't be there yet (RabbitMQ's argument)."""
        there = self.exchanges.get(name)
        if name == "":
            raise Refusal("default-exchange", "name-missing")
        if passive:
            if there is None:
                raise Refusal("not-found")
            return
        faults: list[str] = []
        if there is not None:
            told: dict[str, object] = {
                "type": type,
                "durable": durable,
                "auto_delete": auto_delete,
                "internal": internal,
                "alternate": alternate,
            }
            if any(name in told and getattr(there, name) != told[name] for name in compare):
                faults.append("inequivalent")
        else:
            if name.startswith("amq.") and reserved:
                faults.append("reserved-name")
            if type == "failover":
                # There is one already.
                faults.append("not-allowed")
            elif type not in TYPES:
                faults.append("type-unknown")
            if alternate is not None and alternate not in self.exchanges and not later:
                faults.append("not-found")
            if self._is_limit("exchanges", len(self.exchanges) + OTHERS):
                faults.append("limit")
        if faults:
            raise Refusal(*faults)
        if there is None:
            made = self.exchanges[name] = NaiveExchange(name, type)
            made.durable = durable
            made.auto_delete = auto_delete
            made.internal = internal
            made.alternate = alternate

    def delete_exchange(self, name: str, *, if_unused: bool = False, alternates: bool = False) -> None:
        there = self.exchanges.get(name)
        if name == "":
            raise Refusal("default-exchange", "name-missing")
        if there is None:
            raise Refusal("not-found")
        faults: list[str] = []
        if there.own:
            faults.append("reserved-name")
        if if_unused and any(each.source == name for each in self.bindings):
            faults.append("in-use")
        used = [each.alternate for each in self.exchanges.values()]
        used += [each.alternate for each in self.queues.values()]
        if alternates and name in used:
            faults.append("used-as-alternate")
        if faults:
            raise Refusal(*faults)
        self._delete_exchange(name)
        self._finish()

    # Bindings.

    def bind(
        self,
        kind: str,
        destination: str,
        source: str,
        key: str,
        arguments: dict[str, Any],
        owner: int,
        by_arguments: bool,
    ) -> bool:
        self._check_ends(kind, destination, source, owner)
        self._check_binding(source, arguments, by_arguments)
        new = Binding(source, kind, destination, key, typed_items(arguments))
        if self._same(new, by_arguments):
            return False
        if self._is_limit("bindings", len(self.bindings)):
            raise Refusal("limit")
        self.bindings.append(new)
        return True

    def unbind(
        self,
        kind: str,
        destination: str,
        source: str,
        key: str,
        arguments: dict[str, Any],
        owner: int,
        by_arguments: bool,
    ) -> None:
        self._check_ends(kind, destination, source, owner)
        same = self._same(Binding(source, kind, destination, key, typed_items(arguments)), by_arguments)
        if not same:
            raise Refusal("binding-not-found")
        # Where the arguments don't count, it is the one without any, or the oldest.
        same.sort(key=lambda each: each.arguments != ())
        self._remove_bindings([same[0]])
        self._finish()

    # Queues.

    def declare_queue(
        self,
        owner: int,
        name: str,
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        exclusive: int | None = None,
        alternate: str | None = None,
        arguments: dict[str, Any] | None = None,
        compare: Sequence[str] = (),
        lifetime: str | None = None,
        reserved: bool = True,
        strict: bool = False,
        outlives: bool = False,
    ) -> tuple[str, int, int]:
        """Returns the name, the available messages and the consumers. `reserved` false: the broker made the name."""
        given = arguments or {}
        arguments = {key: given[key] for key in given if key in KNOWN and (key, given[key]) not in DEFAULTS}
        there = self.queues.get(name)
        faults: list[str] = []
        if there is not None and self._is_locked(there, owner):
            faults.append("locked")
        if passive:
            if there is None:
                raise Refusal(*(["not-found"] if name else ["name-missing", "not-found"]))
        else:
            if there is not None:
                told: dict[str, object] = {
                    "durable": durable,
                    "auto_delete": auto_delete,
                    "alternate": alternate,
                    "arguments": arguments,
                }
                if any(each in told and getattr(there, each) != told[each] for each in compare) or (
                    "exclusive" in compare and (there.exclusive is None) != (exclusive is None)
                ):
                    faults.append("inequivalent")
                takes = outlives and exclusive is not None and there.exclusive is None
                if takes and any(not self.is_within(each.owner, exclusive or 0) for each in there.consumers):
                    faults.append("locked")
            else:
                if reserved and name.startswith("amq."):
                    faults.append("reserved-name")
                if alternate is not None and alternate not in self.exchanges:
                    faults.append("not-found")
                if self._is_limit("queues", len(self.queues)):
                    faults.append("limit")
            faults += argument_faults(given, strict)
        if faults:
            raise Refusal(*faults)
        if there is not None and not passive and outlives and exclusive is not None and there.exclusive is None:
            there.exclusive = exclusive
            there.outlives = True
        if there is None:
            there = self.queues[name] = NaiveQueue(name, arguments, self.now)
            there.durable = durable
            there.auto_delete = auto_delete
            there.exclusive = exclusive
            there.alternate = alternate
            there.outlives = outlives
            there.lifetime = lifetime
            there.creator = owner if lifetime is not None else None
        there.used = self.now
        return name, len(there.ordered()), len(there.consumers)

    def delete_queue(self, owner: int, name: str, *, if_unused: bool = False, if_empty: bool = False) -> int:
        queue = self._queue(owner, name)
        faults: list[str] = []
        if if_unused and queue.consumers:
            faults.append("in-use")
        if if_empty and queue.copies:
            faults.append("not-empty")
        if faults:
            raise Refusal(*faults)
        count = len(queue.ordered())
        self._delete_queue(queue)
        self._finish()
        return count

    def purge(self, owner: int, name: str) -> int:
        dropped = self._queue(owner, name).ordered()
        for each in dropped:
            self._archive(each)
            self._happened("purged", each.queue, each.note)
        self._finish()
        return len(dropped)

    def link(self, owner: int, name: str) -> None:
        self._queue(owner, name).links.append(owner)

    def unlink(self, owner: int, name: str) -> None:
        queue = self.queues.get(name)
        if queue is not None and owner in queue.links:
            queue.links.remove(owner)
        self._finish()

    # Consuming.

    def subscribe(
        self,
        owner: int,
        name: str,
        key: Hashable,
        rooms: list[Room],
        *,
        acquires: bool = True,
        settles: bool = False,
        exclusive: bool = False,
        no_local: bool = False,
        priority: int = 0,
        accepts: Callable[[Note], bool] | None = None,
        octets_of: Callable[[Note], int] | None = None,
        after: int | None = None,
    ) -> int:
        """A browser goes on where the consumer `after` stopped."""
        queue = self._queue(owner, name)
        faults: list[str] = []
        alone = queue.consumers or queue.arguments.get("x-single-active-consumer")
        if (exclusive and alone) or any(each.exclusive for each in queue.consumers):
            faults.append("exclusive")
        if self._is_limit("consumers", len(queue.consumers)):
            faults.append("limit")
        if faults:
            raise Refusal(*faults)
        consumer = NaiveConsumer(self.next_number(), owner, queue, key, rooms)
        consumer.acquires = acquires
        consumer.settles = settles
        consumer.exclusive = exclusive
        consumer.no_local = no_local
        consumer.priority = priority
        consumer.accepts = accepts
        consumer.octets_of = octets_of
        if after is not None:
            consumer.passed = dict(self.former[after].passed)
        queue.consumers.append(consumer)
        self.consumers[consumer.number] = consumer
        if queue.active is None and acquires:
            queue.active = consumer
        self._finish()
        return consumer.number

    def cancel(self, number: int) -> None:
        consumer = self.consumers.get(number)
        if consumer is not None:
            self._end_consumer(consumer)
            self._leave_if_unused(consumer.queue)
        self._finish()

    def change_room(self, room: Room, messages: int | None, octets: int | None, *, add: bool) -> None:
        if add:
            room.move(messages or 0, octets or 0)
        else:
            room.messages = messages
            room.octets = octets
        self._forgive_turns()
        self._finish()

    def change_rooms(self, number: int, rooms: list[Room]) -> None:
        consumer = self.consumers.get(number)
        if consumer is not None:
            consumer.rooms = rooms
        self._forgive_turns()
        self._finish()

    def get(self, owner: int, name: str, settles: bool) -> Copy | None:
        queue = self._queue(owner, name)
        if any(each.exclusive for each in queue.consumers):
            raise Refusal("exclusive")
        queue.used = self.now
        waiting = queue.ordered()
        if not waiting:
            return None
        first = waiting[0]
        first.state = "acquired"
        first.owner = owner
        first.consumer = None
        self._happened("got", queue, first.note)
        if settles:
            self._archive(first)
            self._happened("accepted", queue, first.note)
        self._finish()
        return first

    def acquire(self, owner: int, copies: Sequence[Copy], consumer: int | None) -> list[Copy]:
        taken = [each for each in copies if each.state == "available"]
        for each in taken:
            each.state = "acquired"
            each.owner = owner
            each.consumer = None if consumer is None else self.consumers.get(consumer)
        self._finish()
        return taken

    # Messages.

    def publish(
        self,
        owner: int,
        note: Note,
        *,
        mandatory: bool = False,
        immediate: bool = False,
        transaction: int | None = None,
        alternates: bool = True,
        chained: bool = False,
        rerouted: bool = False,
        promised: bool = False,
    ) -> tuple[bool, bool, bool] | None:
        """Returns whether it was routed, consumed and refused."""
        exchange = self.exchanges.get(note.exchange)
        if exchange is None:
            raise Refusal("not-found")
        if exchange.internal:
            raise Refusal("internal")
        note.publisher = self.owners[owner].connection
        if transaction is not None:
            branch = self.branches[transaction]
            if branch.is_over:
                raise Refusal("illegal-state")
            octets = MESSAGE + note.kept
            going = [each.octets for each in self.branches.values() if not each.is_over]
            if self._is_limit("transaction_octets", branch.octets, octets):
                raise Refusal("limit")
            if self._is_limit("memory_high", sum(going), octets):
                raise Refusal("limit")
            branch.octets += octets
            branch.work.append((self._publish, (note, immediate, mandatory, alternates, chained, rerouted, promised)))
            return None
        result = self._publish(note, immediate, mandatory, alternates, chained, rerouted, promised)
        self._finish()
        return result[0]

    def settle(
        self,
        owner: int,
        copies: Sequence[Copy],
        outcome: str,
        *,
        redelivered: bool = False,
        failed: bool = False,
        excluded: bool = False,
        transaction: int | None = None,
        unsaid: bool = False,
        rewritten: Note | None = None,
    ) -> None:
        branch = None if transaction is None else self.branches[transaction]
        if branch is not None and branch.is_over:
            raise Refusal("illegal-state")
        for each in copies:
            if each.owner != owner or each.transaction is not None or each.state != "acquired":
                raise Refusal("illegal-state")
        if branch is not None:
            for each in copies:
                each.transaction = transaction
            branch.copies += copies
            told = (list(copies), outcome, redelivered, failed, excluded, unsaid, rewritten)
            branch.work.append((self._settle, told))
            return
        self._settle(copies, outcome, redelivered, failed, excluded, unsaid, rewritten)
        self._finish()

    # Transactions.

    def begin(self, owner: int | None) -> int:
        if self._is_limit("transactions", sum(not each.is_over for each in self.branches.values())):
            raise Refusal("limit")
        number = self.next_number()
        self.branches[number] = Branch(owner)
        return number

    def commit(self, number: int) -> list[Note]:
        """Returns the mandatory messages that no queue took, and the immediate ones that no consumer got."""
        branch = self.branches[number]
        if branch.is_over:
            raise Refusal("illegal-state")
        branch.is_over = True
        returned: list[Note] = []
        for function, arguments in branch.work:
            result = function(*arguments)
            if result is not None and result[1]:
                returned.append(arguments[0])
        self._finish()
        return returned

    def roll_back(self, number: int) -> None:
        branch = self.branches[number]
        if branch.is_over:
            raise Refusal("illegal-state")
        self._roll_back(branch)
        self._finish()

    # Time.

    def pass_time(self, now: float) -> None:
        self.now = now
        for queue in list(self.queues.values()):
            self._expire(queue)
        for queue in list(self.queues.values()):
            unused = queue.arguments.get("x-expires")
            if unused is not None and not queue.consumers and now >= queue.used + unused / 1000:
                self._delete_queue(queue)
        self._finish()

    def restart(self, now: float) -> None:
        """What is durable is there again, everybody is gone, and nobody is told anything."""
        self.pass_time(now)
        for branch in self.branches.values():
            if not branch.is_over:
                self._roll_back(branch)
        for number in [each.number for each in self.owners.values() if each.parent is None]:
            self._close(number, True)
        self._finish()
        for queue in [each for each in self.queues.values() if not each.durable]:
            # Its messages go nowhere else.
            queue.alternate = None
            self._delete_queue(queue)
        for each in [each for each in self.every if each.state == "available" and not each.note.persistent]:
            self._happened("dropped", each.queue, each.note)
            self._archive(each)
        for name in [each.name for each in self.exchanges.values() if not each.durable]:
            if name in self.exchanges:
                self._delete_exchange(name)
        self.events.clear()
