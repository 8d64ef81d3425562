"""Clients of 0-10 on a `Stage`: what is done to both models in the words of this version, and back."""

# When an engine tells completions can only be changed from inside.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amqp_sansio import Accepted
from amqp_sansio import amqp_0_10 as amqp
from tests.broker.front_0_10_ground import FORCED, Ground_0_10, Sent
from tests.broker.front_models import Actor, Answer, Handle, Note, Place, Room, same
from tests.broker.naive_0_10 import Flow, Terms
from tests.broker.naive_values import Copy, Refusal

REASONS = {0: "full", 1: "unroutable", 2: "immediate"}
"""What the codes of message.reject say of a publish."""
SETTLING: dict[str, Any] = {"accept": amqp.MessageAccept, "reject": amqp.MessageReject, "release": amqp.MessageRelease}


class Stage_0_10(Ground_0_10):
    """A stage on which all speak 0-10."""

    def __init__(self, sizes: Sequence[int] = (1 << 16,)) -> None:
        super().__init__(sizes)
        self.quiet: set[Place] = set()
        """The subscriptions with accept-mode none."""

    # Exchanges and queues.

    def tell_declare_queue(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        """queue.declare, which says nothing of what is in the queue."""
        told = dict(options)
        answer = self.ask(actor, amqp.QueueDeclare(name, told.pop("alternate", None), **told))
        return answer._replace(value=answer.value or (name, None, None))

    def tell_delete_queue(self, actor: Actor, name: str, *, if_unused: bool, if_empty: bool) -> Answer:
        """queue.delete."""
        return self.ask(actor, amqp.QueueDelete(name, if_unused, if_empty))

    def tell_purge(self, actor: Actor, name: str) -> Answer:
        """queue.purge."""
        return self.ask(actor, amqp.QueuePurge(name))

    def tell_declare_exchange(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        """exchange.declare."""
        told: dict[str, Any] = {"type": "direct", **options}
        return self.ask(actor, amqp.ExchangeDeclare(name, told.pop("type"), told.pop("alternate", None), **told))

    def tell_delete_exchange(self, actor: Actor, name: str, *, if_unused: bool) -> Answer:
        """exchange.delete."""
        return self.ask(actor, amqp.ExchangeDelete(name, if_unused))

    def tell_bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        """exchange.bind."""
        return self.ask(actor, amqp.ExchangeBind(queue, exchange, key, arguments or None))

    def tell_unbind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        """exchange.unbind."""
        return self.ask(actor, amqp.ExchangeUnbind(queue, exchange, key))

    def query(self, actor: Actor, queue: str) -> None:
        """queue.query: what there is, or nothing at all."""
        answer = self.ask(actor, amqp.QueueQuery(queue))
        there = self.judge(actor, "query", answer, lambda: (self.naive.queues.get(queue),))
        result = answer.value
        told = (
            result.queue, result.alternate_exchange, result.durable, result.exclusive, result.auto_delete,
            result.message_count, result.subscriber_count,
        )  # fmt: skip
        if there is None or there[0] is None:
            same(told, (None, None, False, False, False, None, None), f"queue.query of {queue}")
            return
        found = there[0]
        same(
            told,
            (
                queue, found.alternate, found.durable, found.exclusive is not None, found.auto_delete,
                len(found.ordered()), len(found.consumers),
            ),
            f"queue.query of {queue}",
        )  # fmt: skip

    def synchronize(self, actor: Actor) -> None:
        """execution.sync: nothing is left to be done."""
        number = actor.core._state.sending.next_id
        handle = actor.core.sync()
        self.carry(actor, number)
        self.judge(actor, "synchronize", self._answer(actor, handle), lambda: None)
        same(actor.core.pending, (), f"what {actor} waits for")

    def query_exchange(self, actor: Actor, name: str) -> None:
        """exchange.query."""
        answer = self.ask(actor, amqp.ExchangeQuery(name))
        there = self.judge(actor, "query_exchange", answer, lambda: (self.naive.exchanges.get(name),))
        found = None if there is None else there[0]
        expected = (None, False, True) if found is None else (found.type, found.durable, False)
        result = answer.value
        same((result.type, result.durable, result.not_found), expected, f"exchange.query of {name}")

    def query_binding(self, actor: Actor, exchange: str, queue: str, key: str | None) -> None:
        """exchange.bound. Of a queue that isn't bound at all nothing is said of the key."""
        answer = self.ask(actor, amqp.ExchangeBound(exchange, queue, key))
        found = self.judge(actor, "query_binding", answer, lambda: self.naive.bound(exchange, queue, key))
        names = ["exchange_not_found", "queue_not_found", "queue_not_matched"]
        if found is not None and "queue_not_matched" not in found:
            names.append("key_not_matched")
        told = {name: True for name in names if getattr(answer.value, name)}
        same(told, {name: True for name in names if found and name in found}, f"exchange.bound of {exchange}")

    # Publishing.

    def publish(
        self, actor: Actor, exchange: str, key: str, *, size: int = 0, headers: dict[str, Any] | None = None,
        priority: int | None = None, ttl: float | None = None, branch: int | None = None, **options: Any
    ) -> None:
        """message.transfer. `options` are those of `Terms`; without a priority it's 4."""
        terms = Terms(**options)
        note = Note(self.new_body(size), exchange, key, headers, 4 if priority is None else priority, ttl)
        transaction = actor.branch if branch is None else branch
        answer = self.tell_publish(actor, note, {"terms": terms, "priority": priority}, transaction)
        if transaction is not None:
            self.dtx.worked(actor.owner)
        fate = self.judge(
            actor, "publish", answer, lambda: self.naive.transfer(actor.owner, note, terms, transaction)
        )
        if fate is not None:
            same(answer.value, fate if terms.explicit else None, f"what is told of publishing {note.body!r}")

    def tell_publish(self, actor: Actor, note: Note, options: dict[str, Any], branch: int | None) -> Answer:
        """The value: what the publisher is told of its message, None with accept-mode none."""
        terms: Terms = options["terms"]
        told: dict[str, Any] = {
            "discard_unroutable": terms.discards,
            "immediate": terms.immediate,
            "redelivered": terms.redelivered,
            "priority": options["priority"],
            "delivery_mode": 2 if terms.persistent else None,
            "ttl": None if note.ttl is None else int(note.ttl * 1000),
            "routing_key": note.key,
        }
        others = (amqp.MessageProperties(application_headers=note.headers),) if note.headers else ()
        whole = amqp.DeliveryProperties(exchange=note.exchange, **told)
        size = len(amqp.encode_headers((whole, *others))) + len(note.body)
        self.sent[note.body] = Sent(whole, note.headers or None, size)
        message = amqp.Message(
            note.body, delivery_properties=amqp.DeliveryProperties(**told),
            message_properties=others[0] if others else None,
        )
        number = actor.core._state.sending.next_id
        sent = actor.core.transfer(
            note.exchange, message, accept_mode=amqp.EXPLICIT if terms.explicit else amqp.NONE, sync=True
        )
        self.carry(actor, number)
        answer = self._answer(actor, sent.outcome or sent.completion)
        match answer.value:
            case Accepted():
                return Answer("accepted")
            case amqp.Rejected(code):
                return Answer(REASONS[code])
            case _:
                return answer

    # Subscriptions and their credit.

    def subscribe(self, actor: Actor, queue: str, **options: Any) -> Place | None:
        """message.subscribe. `options`: accepts, acquires, exclusive, priority; `name` is one that there is already."""
        place, answer = self.tell_subscribe(actor, queue, options)
        known = place in self.places
        flow = Flow()
        if not known:
            # Deliveries come before the naive model has said its number.
            self.places[place] = self.naive.numbers + 1
            self.flows[place] = flow
        acquires = options.get("acquires", True)
        accepts = options.get("accepts", True)

        def command() -> int:
            if known or (self.modes.get(actor.owner) == "tx" and not accepts):
                # No second one of a name; with standard transactions only explicit accepts (tx.select).
                raise Refusal("not-allowed")
            return self.naive.subscribe(
                actor.owner, queue, place, [flow.room, self.gates[actor.owner]],
                acquires=acquires,
                settles=acquires and not accepts,
                exclusive=options.get("exclusive", False),
                priority=options.get("priority", 0),
                octets_of=lambda note: self.sent[note.body].size,
            )  # fmt: skip

        number = self.judge(actor, "subscribe", answer, command)
        if number is not None:
            if not accepts:
                self.quiet.add(place)
            return place
        if not known:
            self.forget_place(place)
        return None

    def tell_subscribe(self, actor: Actor, queue: str, options: dict[str, Any]) -> tuple[Place, Answer]:
        """message.subscribe; Qpid's argument for the priority is "x-priority"."""
        self.names += 1
        name: str = options.get("name") or f"d{self.names}"
        priority = options.get("priority", 0)
        answer = self.ask(
            actor,
            amqp.MessageSubscribe(
                queue,
                name,
                amqp.EXPLICIT if options.get("accepts", True) else amqp.NONE,
                amqp.PRE_ACQUIRED if options.get("acquires", True) else amqp.NOT_ACQUIRED,
                options.get("exclusive", False),
                arguments={"x-priority": priority} if priority else None,
            ),
        )
        return (actor.owner, name), answer

    def rooms_for(self, actor: Actor, place: Place, options: dict[str, Any]) -> list[Room]:
        """Those of its `Flow`, which is made with it."""
        return [self.flows[place].room, self.gates[actor.owner]]

    def tell_cancel(self, actor: Actor, place: Place) -> Answer:
        """message.cancel."""
        return self.ask(actor, amqp.MessageCancel(place[1]))

    def ask_for_nobody(self, actor: Actor, command: Any) -> None:
        """A command for a destination that is no subscription."""
        answer = self.ask(actor, command)

        def refuse() -> None:
            raise Refusal("not-found")

        self.judge(actor, "cancel", answer, refuse)

    def grant(self, actor: Actor, place: Place, *, octets: bool, value: int | None) -> None:
        """message.flow; None: without limit."""
        answer = self.ask(actor, amqp.MessageFlow(place[1], amqp.BYTE if octets else amqp.MESSAGE, value))
        flow = self.flows[place]

        def command() -> None:
            flow.grant(octets, value)
            self.naive.change_room(flow.room, 0, 0, add=True)

        self.judge(actor, "grant", answer, command)

    def stop(self, actor: Actor, place: Place, *, flush: bool) -> None:
        """message.stop or message.flush: afterwards there is no credit."""
        # Before a flush is done, everything has come that can.
        answer = self.ask(actor, amqp.MessageFlush(place[1]) if flush else amqp.MessageStop(place[1]))
        flow = self.flows[place]

        def command() -> None:
            flow.zero()
            self.naive.change_room(flow.room, 0, 0, add=True)

        self.judge(actor, "stop", answer, command)

    def set_flow_mode(self, actor: Actor, place: Place, *, window: bool) -> None:
        """message.set-flow-mode, which needs both balances to be zero if it changes anything (mode-switching)."""
        answer = self.ask(actor, amqp.MessageSetFlowMode(place[1], amqp.WINDOW if window else amqp.CREDIT))
        flow = self.flows[place]

        def command() -> None:
            if window != flow.is_window and not flow.is_zero:
                raise Refusal("illegal-state")
            flow.is_window = window

        self.judge(actor, "set_flow_mode", answer, command)

    # What clients say of messages.

    def complete(self, actor: Actor, handles: Sequence[Handle]) -> None:
        """session.completed of transfers: windows open again."""
        for handle in handles:
            actor.core.complete(handle[1])
            actor.core._incoming.tell_completed()
        self.pump()

        def command() -> None:
            for handle in handles:
                self._completed([handle])

        self.judge(actor, "complete", Answer(), command)

    def _completed(self, handles: Sequence[Handle]) -> None:
        """What is told at once counts subscription by subscription."""
        flows: dict[Flow, list[Handle]] = {}
        for handle in sorted(handles):
            flows.setdefault(self.untold.pop(handle), []).append(handle)
        for flow, theirs in flows.items():
            messages, octets = flow.complete(theirs)
            if flow in self.flows.values():
                self.naive.change_room(flow.room, messages, octets, add=True)

    def settle(
        self, actor: Actor, handles: Sequence[Handle], outcome: str, *, branch: int | None = None, **options: Any
    ) -> None:
        """message.accept, which a transaction decides of, or reject, release, which none does. `options`: `completes`
        (what isn't yet completed is by that), and for a release `set_redelivered`."""
        # They're named in the order of their ids.
        taken = {each: self.held.pop(each) for each in sorted(handles)}
        transaction = (actor.branch if branch is None else branch) if outcome == "accept" else None
        completes = options.get("completes", True) and self.cuts is None
        untold = [each for each in handles if completes and each in self.untold]
        answer = self.tell_settle(actor, handles, outcome, {**options, "completes": completes}, transaction)
        if transaction is not None:
            self.undecided.setdefault(transaction, {}).update(taken)
            self.dtx.worked(actor.owner)

        def command() -> None:
            self.naive.settle(
                actor.owner, list(taken.values()), outcome, transaction=transaction,
                redelivered="redelivered" in self.settle_flags(outcome, options),
            )  # fmt: skip
            self._completed(untold)

        self.judge(actor, "settle", answer, command)

    def tell_settle(
        self, actor: Actor, handles: Sequence[Handle], outcome: str, options: dict[str, Any], branch: int | None
    ) -> Answer:
        """With the completion, or without."""
        ids = amqp.SequenceSet.of(*[each[1] for each in handles])
        more: dict[str, Any] = {"set_redelivered": True} if self.settle_flags(outcome, options) else {}
        if not options["completes"]:
            return self.ask(actor, SETTLING[outcome](ids, **more))
        handle = getattr(actor.core, outcome)(*ids, sync=True, **more)
        actor.core._incoming.tell_completed()
        self.pump()
        return self._answer(actor, handle)

    def settle_flags(self, outcome: str, options: dict[str, Any]) -> dict[str, bool]:
        """A release says itself whether it marks."""
        return {"redelivered": True} if outcome == "release" and options.get("set_redelivered") else {}

    def acquire(self, actor: Actor, handles: Sequence[Handle]) -> None:
        """message.acquire of what was only shown: the result names what was still there."""
        answer = self.ask(actor, amqp.MessageAcquire(amqp.SequenceSet.of(*[each[1] for each in handles])))

        def command() -> list[Handle]:
            wanted: dict[Copy, Handle] = {}
            for each in sorted(handles):
                wanted.setdefault(self.looked[each], each)
            # All at once: nobody gets one of them because another one is gone.
            return [wanted[copy] for copy in self.naive.acquire(actor.owner, list(wanted), None)]

        found = self.judge(actor, "acquire", answer, command)
        if found is not None:
            same(sorted(answer.value.transfers or ()), [each[1] for each in found], "acquired transfers")
            for each in found:
                self.held[each] = self.looked.pop(each)

    def settle_looked(self, actor: Actor, handles: Sequence[Handle], outcome: str) -> None:
        """What isn't acquired may be released; a reject of it is ignored, an accept is a release (lenient-accepts)."""
        ids = amqp.SequenceSet.of(*[each[1] for each in handles])
        answer = self.ask(actor, SETTLING[outcome](ids))
        if answer.value == FORCED and outcome == "accept":
            # The specification doesn't allow it, the broker takes it: Qpid's browsers do so.
            answer = answer._replace(value=None)
        self.judge(actor, "settle_looked", answer, lambda: None)
        if outcome != "reject":
            for each in handles:
                self.looked.pop(each, None)

    # Transactions.

    def tell_begin(self, actor: Actor) -> Answer:
        """tx.select."""
        return self.ask(actor, amqp.TxSelect())

    def begin(self, actor: Actor) -> None:
        """tx.select, once, with nothing but explicit accepts, and not beside class dtx."""
        answer = self.tell_begin(actor)
        quiet = any(each in self.quiet for each in self.places_of(actor))

        def command() -> int:
            faults = ["illegal-state"] if actor.owner in self.modes else []
            faults += ["not-allowed"] if quiet else []
            if faults:
                raise Refusal(*faults)
            return self.naive.begin(actor.owner)

        branch = self.judge(actor, "begin", answer, command)
        if branch is not None:
            actor.branch = branch
            self.modes[actor.owner] = "tx"

    def tell_commit(self, actor: Actor, branch: int) -> Answer:
        """tx.commit."""
        return self.ask(actor, amqp.TxCommit())

    def tell_roll_back(self, actor: Actor, branch: int) -> Answer:
        """tx.rollback."""
        return self.ask(actor, amqp.TxRollback())

    def end_nothing(self, actor: Actor, *, rolls_back: bool) -> None:
        """tx.commit and tx.rollback on a session that isn't selected for them."""
        answer = self.ask(actor, amqp.TxRollback() if rolls_back else amqp.TxCommit())

        def refuse() -> None:
            raise Refusal("illegal-state")

        self.judge(actor, "commit", answer, refuse)

    def coordinate(self, actor: Actor, command: Any) -> None:
        """A command of class dtx."""
        if isinstance(command, amqp.DtxSetTimeout) and command.timeout:
            self.step_aside(command.timeout)
            if actor.is_over:
                return
        answer = self.ask(actor, command)

        def execute() -> tuple[object]:
            mode = self.modes.get(actor.owner)
            if (isinstance(command, amqp.DtxSelect) and mode == "tx") or (
                isinstance(command, (amqp.DtxStart, amqp.DtxEnd)) and mode != "dtx"
            ):
                raise Refusal("illegal-state")
            result = self.dtx.execute(actor.owner, command, self.now)
            if isinstance(command, amqp.DtxSelect):
                self.modes[actor.owner] = "dtx"
            self.dtx.decide(self.undecided)
            return (result,)

        found = self.judge(actor, "coordinate", answer, execute)
        if found is not None:
            same(_plain(answer.value), found[0], f"the result of {command}")
            if not actor.is_over and self.modes.get(actor.owner) == "dtx":
                actor.branch = self.dtx.branch_of(actor.owner)


def _plain(result: object) -> object:
    """What a result says."""
    match result:
        case amqp.XaResult():
            return result.status
        case amqp.GetTimeoutResult():
            return result.timeout
        case amqp.RecoverResult():
            return list(result.in_doubt or ())
        case _:
            return result


__all__ = ["Stage_0_10"]
