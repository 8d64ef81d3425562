"""What 0-10 has in the naive model beside what all versions have: how it refuses, publishes, counts credit, and its
distributed transactions, whose states are those of the naive model of class dtx alone."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from amqp_sansio.amqp_0_10 import Xid
from tests.amqp_0_10.model.test_dtx_model import Model, Refused
from tests.broker.naive_model import NaiveBroker
from tests.broker.naive_values import Copy, NaiveQueue, Note, Refusal, Room, Witness

Fate = Literal["accepted", "unroutable", "immediate", "full"]
"""What becomes of a publish, as its publisher is told: accepted, or rejected for this reason."""
Handle = tuple[int, ...]


class Terms(NamedTuple):
    """How a message is published: accept-mode explicit or none, and the flags of its delivery-properties."""

    explicit: bool = True
    discards: bool = False
    immediate: bool = False
    redelivered: bool = False
    persistent: bool = False


class Flow:
    """The credit of one subscription (message.set-flow-mode): `room` is what is left of it, None without limit.

    `untold` are the transfers that aren't completed, with their sizes; `stale` those of them that took of a credit
    which was zeroed since: their completion gives nothing back.
    """

    def __init__(self) -> None:
        self.room = Room(0, 0, False)
        self.is_window = True
        self.untold: dict[Handle, int] = {}
        self.stale: set[Handle] = set()

    @property
    def is_zero(self) -> bool:
        return self.room.messages == 0 and self.room.octets == 0

    def zero(self) -> None:
        """message.stop, and the end of message.flush."""
        self.room.messages = self.room.octets = 0
        self.stale.update(self.untold)

    def grant(self, is_octets: bool, value: int | None) -> None:
        """message.flow; None: without limit, until it's zeroed."""
        if is_octets:
            self.room.octets = None if value is None or self.room.octets is None else self.room.octets + value
        else:
            self.room.messages = None if value is None or self.room.messages is None else self.room.messages + value

    def complete(self, handles: list[Handle]) -> tuple[int, int]:
        """What the completion of transfers gives back: messages and octets."""
        fresh = [each for each in handles if each not in self.stale]
        octets = sum(self.untold[each] for each in fresh)
        for each in handles:
            del self.untold[each]
            self.stale.discard(each)
        return (len(fresh), octets) if self.is_window else (0, 0)


class Naive_0_10(NaiveBroker):
    """The naive model with the rules of 0-10. `passed` is told of the time, for sessions and branches."""

    def __init__(self, witness: Witness, passed: Callable[[float], None]) -> None:
        super().__init__(witness)
        self.passed = passed

    def pass_time(self, now: float) -> None:
        super().pass_time(now)
        self.passed(now)

    # Refusing.

    def declare_exchange(self, name: str, type: str, **told: Any) -> None:
        """Only the type is compared, and the alternate exchange if one is given (exchange.declare)."""
        told["compare"] = ("type",) if told.get("alternate") is None else ("type", "alternate")
        super().declare_exchange(name, type, **told)

    def delete_exchange(self, name: str, *, if_unused: bool = False, alternates: bool = True) -> None:
        """Not while it's somebody's alternate (exchange.delete, used-as-alternate)."""
        super().delete_exchange(name, if_unused=if_unused, alternates=alternates)

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
        """Arguments are for exchanges of type headers (exchange.bind, unknown-argument)."""
        exchange = self.exchanges.get(source)
        if arguments and source and exchange is not None and exchange.type != "headers":
            faults = ["unknown-argument"]
            try:
                self._check_ends(kind, destination, source, owner)
            except Refusal as refusal:
                faults += refusal.kinds
            raise Refusal(*faults)
        return super().bind(kind, destination, source, key, arguments, owner, by_arguments)

    def declare_queue(self, owner: int, name: str, **told: Any) -> tuple[str, int, int]:
        """Only the alternate exchange is compared, if one is given; arguments that aren't known are refused; an
        exclusive queue is its session's, and goes with it only if it's auto-delete (queue.declare)."""
        if not name:
            raise Refusal("name-missing")
        told["compare"] = () if told.get("alternate") is None else ("alternate",)
        told["reserved"] = told["outlives"] = True
        return super().declare_queue(owner, name, strict=True, **told)

    # Asking.

    def bound(self, exchange: str, queue: str, key: str | None) -> dict[str, bool]:
        """exchange.bound: what there is not."""
        found: dict[str, bool] = {}
        if exchange not in self.exchanges:
            found["exchange_not_found"] = True
        if queue and queue not in self.queues:
            found["queue_not_found"] = True
        if found:
            return found
        if not exchange:
            names = [queue] if queue else list(self.queues)
            return {"key_not_matched": True} if key is not None and key not in names else {}
        there = [each for each in self.bindings if each.source == exchange]
        if queue and all(each.destination != queue for each in there):
            found["queue_not_matched"] = True
        elif queue:
            there = [each for each in there if each.destination == queue]
        if key is not None and all(each.key != key for each in there):
            found["key_not_matched"] = True
        return found

    # Publishing.

    def transfer(self, owner: int, note: Note, terms: Terms, branch: int | None) -> Fate:
        """message.transfer to an exchange.

        Who is told of each message (accept-mode explicit, discard-unroutable not set) is told at once if it's
        unroutable, also in a transaction; it goes to the alternate exchange for those alone who aren't told.
        """
        exchange = self.exchanges.get(note.exchange)
        if exchange is None:
            raise Refusal("not-found")
        tells = terms.explicit and not terms.discards
        alternates = not (terms.explicit or terms.discards)
        queues = self.route(note, note.exchange, False)
        unawaited = terms.immediate and any(not self.is_awaited(each, note) for each in queues)
        if tells and not queues:
            return "unroutable"
        if tells and unawaited:
            return "immediate"
        if unawaited:
            # It counts as unroutable.
            if alternates and branch is None:
                self._reroute(note)
                self._finish()
            elif alternates:
                self.branches[branch or 0].work.append((self._reroute, (note,)))
            return "accepted"
        result = self.publish(owner, note, transaction=branch, alternates=alternates)
        if result is None or not result[2]:
            return "accepted"
        if not terms.explicit:
            raise Refusal("limit")
        return "full"

    def is_awaited(self, queue: NaiveQueue, note: Note) -> bool:
        """Whether a subscription of a queue is able to receive a message (delivery-properties.immediate)."""
        return any(each.acquires and each.has_room(note) for each in self._ready(queue))

    def _reroute(self, note: Note) -> None:
        """To the alternate exchange of the one that it was published to, if there is one then."""
        exchange = self.exchanges.get(note.exchange)
        if exchange is not None and exchange.alternate in self.exchanges:
            for queue in self.route(note, exchange.alternate or "", False):
                self._enqueue(queue, note)


class Distributed:
    """Class dtx: the branches, and what is done for each in the naive model."""

    def __init__(self, naive: NaiveBroker) -> None:
        self.naive = naive
        self.model = Model(True, 0)
        self.works: dict[Xid, int] = {}

    def execute(self, owner: int, command: Any, now: float) -> object:
        """A command; what its result says. Raises Refusal with the code."""
        try:
            return self.model.execute(owner, command, now)
        except Refused as refused:
            raise Refusal(str(refused.args[0])) from None

    def branch_of(self, owner: int) -> int | None:
        """The transaction that a session works for."""
        xid = self.model.current(owner)
        if xid is None:
            return None
        if xid not in self.works:
            self.works[xid] = self.naive.begin(None)
        return self.works[xid]

    def worked(self, owner: int) -> None:
        """A session has published or accepted something."""
        xid = self.model.current(owner)
        if xid is not None:
            self.model.works[xid].worked = True

    def deadlines(self) -> list[tuple[float, Xid]]:
        """When which branch's time is over."""
        return [(each.due, xid) for xid, each in self.model.works.items() if each.due is not None]

    def decide(self, undecided: dict[int, dict[Handle, Copy]]) -> None:
        """Do what has become of branches. What a rolled-back one has consumed goes back to its queues."""
        outcomes, self.model.outcomes = self.model.outcomes, []
        for xid, outcome in outcomes:
            number = self.works.pop(xid, None)
            if number is None:
                continue
            consumed = undecided.pop(number, {})
            if outcome == "committed":
                self.naive.commit(number)
                continue
            owners = [handle[0] for handle in consumed]
            # Those of sessions that are there, session by session; what the others had goes back by itself.
            kept = [(handle[0], copy) for handle, copy in consumed.items() if copy.owner == handle[0]]
            self.naive.roll_back(number)
            for owner, copy in sorted(kept, key=lambda each: owners.index(each[0])):
                self.naive.settle(owner, [copy], "release", redelivered=True)
