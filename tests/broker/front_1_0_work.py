"""Transactions of 1.0 in the naive model and at a whole broker: posting, retiring, acquiring, discharging (part 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.events import Handle
from tests.broker.front_1_0 import Stage_1_0, frames
from tests.broker.front_1_0_ties import Line_1_0, Spout, Tap
from tests.broker.front_1_0_values import CONDITIONS, Note_1_0, act_of
from tests.broker.front_stage import Actor, Seen, same
from tests.broker.naive_values import Copy, NaiveQueue

ROLLBACK = "amqp:transaction:rollback"
UNKNOWN = "amqp:transaction:unknown-id"


class Had(NamedTuple):
    """A delivery that a transaction has to do with."""

    tap: Tap
    tag: bytes
    copy: Copy


class Control:
    """A control link."""

    def __init__(self, actor: Actor, engine: Any, serial: int) -> None:
        self.serial = serial
        assert isinstance(actor.line, Line_1_0)
        self.actor, self.line = actor, actor.line
        self.controller = amqp.Controller(engine)
        self.wire = (actor.line, actor.core.channel, engine.handle)


class Work:
    """A transaction. `branch` is the naive model's number, `fails`: it can't be committed. `promised` is what was
    posted, `settled` what was retired settled, `retired` what was retired unsettled, with its outcome, `acquired` what
    was delivered in it, `posted` what the client has to settle."""

    def __init__(self, control: Control, txn_id: bytes, branch: int) -> None:
        self.control, self.txn_id, self.branch = control, txn_id, branch
        self.fails = False
        self.promised: list[Note_1_0] = []
        self.settled: list[Had] = []
        self.retired: dict[tuple[Tap, bytes], tuple[Had, amqp.DeliveryState, Handle[Any]]] = {}
        self.acquired: list[Had] = []
        self.shown: dict[tuple[Tap, bytes], tuple[amqp.DeliveryState, Handle[Any]]] = {}
        self.posted: list[tuple[Spout, Handle[Any], amqp.DeliveryState]] = []

    def has(self, tap: Tap, tag: bytes) -> bool:
        """Whether the outcome of a delivery is bound to it."""
        return (tap, tag) in self.retired or (tap, tag) in self.shown


class TransactedStage(Stage_1_0):
    """All that clients of 1.0 do. `controls` are the control links, `works` the transactions that aren't over."""

    def __init__(self, sizes: Sequence[int] = (1 << 16,)) -> None:
        Stage_1_0.__init__(self, sizes)
        self.controls: list[Control] = []
        self.works: list[Work] = []
        self.taken: list[tuple[int, Copy, int]] = []
        """What was sent settled in a transaction and isn't part of it in the naive model yet."""

    # Control links.

    def control(self, actor: Actor) -> Control:
        """Attach to the coordinator."""
        engine = actor.core.open_sender(amqp.Coordinator())
        self.pump()
        same(engine.is_open, True, "a coordinator is there")
        control = Control(actor, engine, self.new_serial())
        self.controls.append(control)
        return control

    def controls_of(self, actor: Actor) -> list[int]:
        return [each.serial for each in self.controls if each.actor is actor]

    def end_control(self, actor: Actor, serial: int) -> None:
        (control,) = [each for each in self.controls if each.serial == serial]
        self._drop(control)

    def close_control(self, control: Control, *, closed: bool) -> None:
        """A client leaves a control link: what it has begun is rolled back."""
        if closed:
            control.controller.sender.close()
        else:
            control.controller.sender.detach()
        self.pump()
        same(self.told(control.wire), "", "how a control link ended")
        self._drop(control)
        self.compare()

    def _drop(self, control: Control) -> None:
        self.controls.remove(control)
        gone = [each for each in self.works if each.control is control]
        for work in gone:
            # All are over at once: what one of them gives back isn't delivered for another.
            self._is_over(work)
        for work in gone:
            self._roll_back(work)

    # Work.

    def declare(self, control: Control) -> Work:
        """Begin a transaction."""
        handle: Handle[Any] = control.controller.declare()
        self.pump()
        told = handle.result if handle.done else None
        if not isinstance(told, amqp.Declared):
            raise AssertionError(f"declaring gave {told}")
        assert isinstance(told.txn_id, bytes)
        work = Work(control, told.txn_id, self.naive.begin(control.line.owner))
        self.works.append(work)
        self.compare()
        return work

    def post(self, spout: Spout, note: Note_1_0, work: Work, *, settled: bool | None = None) -> None:
        """Send a message in a transaction (part 4 section 4.4.1)."""
        link = spout.engine
        if not link.credit:
            return
        handle = link.send(note.message(), settled=settled, state=amqp.TransactionalState(work.txn_id))
        is_settled = settled or link.snd_settle_mode == 1
        self.pump()
        if work not in self.works:
            same(self.told(spout), UNKNOWN, f"what {spout} was told of a transaction that is over")
            self.destroy(spout)
            self.compare()
            return
        owner = spout.line.owner
        assert owner is not None
        _, kinds = self.ask(lambda: self.address(spout, note))
        queues = self._takers(note) if not kinds else []
        routed = bool(queues)
        if any(self.naive.refuses(each, note) for each in queues):
            kinds = ("full",)
        elif routed:
            _, kinds = self.ask(lambda: self.naive.publish(owner, note, transaction=work.branch, promised=True))
        if is_settled or (kinds and not self.knows(spout, "rejected")):
            work.fails = work.fails or bool(kinds) or not routed
        unheard = is_settled or not self.knows(spout, "rejected")
        if (kinds and unheard and spout.spot.kind == "anonymous") or (
            not kinds and not routed and self.hears_nothing(spout)
        ):
            work.fails = True
            right = [CONDITIONS[each] for each in kinds] or ["amqp:not-found"]
            same(self.told(spout) in right, True, f"{spout} ends, because of {right}")
            self.destroy(spout)
            self.compare()
            return
        if not kinds and routed:
            work.promised.append(note)
        if not is_settled:
            told = handle.result if handle.done else link.unsettled[handle.key[2]].states[1]
            same((told.txn_id, handle.done), (work.txn_id, not link.rcv_settle_mode), f"what was told on {spout}")
            if kinds and not self.knows(spout, "rejected"):
                same(isinstance(told.outcome, amqp.Rejected), True, f"what was told on {spout}")
            else:
                self.check_outcome(spout, told.outcome, kinds, routed)
            if not handle.done:
                work.posted.append((spout, handle, told.outcome))
        self.compare()

    def retire(self, tap: Tap, tags: Sequence[bytes], state: amqp.DeliveryState, work: Work, *, settled: bool) -> None:
        """Bind outcomes to a transaction (part 4 section 4.4.2)."""
        settled = settled and not any(self.is_second(tap, each) for each in tags)
        ids = [tap.deliveries[tag].delivery_id for tag in tags]
        handles = tap.engine.update(ids, amqp.TransactionalState(work.txn_id, state), settled=settled)
        told = dict(zip(tags, handles, strict=True))
        self.pump()
        for group in frames(tags, ids):
            if work not in self.works:
                same(self.told(tap), UNKNOWN, f"what {tap} was told of a transaction that is over")
                # What is settled goes back when the link is there no more: to others only.
                self.suspend(tap)
                for tag in group if settled else ():
                    self.decide(tap, [tag], None)
                self.destroy(tap)
                break
            bound = [other for other in self.works if other is not work and any(other.has(tap, tag) for tag in group)]
            if bound:
                control = bound[0].control
                same(self.told(control.wire), ROLLBACK, "the control link of the transaction with the first outcome")
                self._drop(control)
                for tag in group if settled else ():
                    self.decide(tap, [tag], None)
            else:
                self._bind(tap, {tag: told[tag] for tag in group}, state, work, settled=settled)
        self.compare()

    def _bind(
        self, tap: Tap, handles: dict[bytes, Handle[Any]], state: amqp.DeliveryState, work: Work, *, settled: bool
    ) -> None:
        for tag, handle in handles.items():
            copy = self.held.get(tap.handle(tag))
            if copy is None:
                # An outcome of what a browser was shown has no effect.
                work.shown[tap, tag] = state, handle
                if settled:
                    tap.deliveries.pop(tag)
                continue
            had = Had(tap, tag, copy)
            work.retired.pop((tap, tag), None)
            if settled:
                work.settled.append(had)
                self.decide(tap, [tag], state, work.branch)
            else:
                work.retired[tap, tag] = had, state, handle

    def acquire(self, tap: Tap, credit: int, work: Work, *, drain: bool = False) -> None:
        """Let what is delivered belong to a transaction (part 4 section 4.4.3)."""
        properties = {amqp.Symbol("txn-id"): work.txn_id}
        if work not in self.works:
            tap.engine.flow(credit, properties=properties)
            self.pump()
            same(self.told(tap), UNKNOWN, f"what {tap} was told of a transaction that is over")
            self.destroy(tap)
            self.compare()
            return
        tap.branch = work.branch
        if tap.consumer is not None:
            tap.consumer.settles = False
        self.flow(tap, credit, drain=drain, properties=properties)

    def check_delivery(self, seen: Seen, copy: Copy) -> None:
        Stage_1_0.check_delivery(self, seen, copy)
        (tap,) = [each for each in self.taps() if each.seat == seen.place]
        event: amqp.Delivery = seen.event
        if tap.branch is None:
            same(event.state, None, f"the state of {event}")
            return
        (work,) = [each for each in self.works if each.branch == tap.branch]
        same(event.state, amqp.TransactionalState(work.txn_id), f"the state of {event}")
        if tap.moves:
            work.acquired.append(Had(tap, event.delivery_tag, copy))
            if event.settled:
                self.taken.append((tap.owner, copy, work.branch))

    def compare(self) -> None:
        # Nobody says any more what becomes of what was sent settled.
        for owner, copy, branch in self.taken:
            self.naive.settle(owner, [copy], "accept", transaction=branch)
        self.taken.clear()
        Stage_1_0.compare(self)

    # The end.

    def discharge(self, work: Work, *, fail: bool) -> None:
        """Commit or roll back (part 4 section 4.3)."""
        handle: Handle[Any] = work.control.controller.discharge(work.txn_id, fail=fail)
        self.pump()
        told = handle.result if handle.done else None
        if work not in self.works:
            self._is_rejected(told, UNKNOWN)
            return
        if fail or not self._can_commit(work):
            if fail:
                same(told, amqp.Accepted(), "rolling back")
            else:
                self._is_rejected(told, ROLLBACK)
            self._roll_back(work)
        else:
            same(told, amqp.Accepted(), "committing")
            self._commit(work)
        self.compare()

    @staticmethod
    def _is_rejected(told: object, condition: str) -> None:
        error = told.error if isinstance(told, amqp.Rejected) else None
        same(None if error is None else str(error.condition), condition, f"discharging gave {told}")

    def _can_commit(self, work: Work) -> bool:
        if work.fails:
            return False
        for note in work.promised:
            if not self._takers(note):
                return False
        for tap, tag in work.retired:
            copy = self.held.get(tap.handle(tag))
            if copy is None or copy.owner != tap.owner or copy.transaction is not None:
                return False
        return True

    def _takers(self, note: Note_1_0) -> list[NaiveQueue]:
        """The queues to which a message would go now."""
        naive = self.naive
        return naive.route(note, note.exchange) if note.exchange in naive.exchanges else []

    def _commit(self, work: Work) -> None:
        self._is_over(work)
        for had, state, handle in work.retired.values():
            self._ends(had.tap, had.tag, state, handle)
            self.decide(had.tap, [had.tag], state, work.branch)
        for (tap, tag), (state, handle) in work.shown.items():
            if tag in tap.deliveries:
                self._ends(tap, tag, state, handle)
                del tap.deliveries[tag]
        self.naive.commit(work.branch)
        for spout, handle, outcome in work.posted:
            if spout.is_attached:
                same(handle.result if handle.done else None, outcome, f"what became of a posting on {spout}")

    @staticmethod
    def _ends(tap: Tap, tag: bytes, state: amqp.DeliveryState, handle: Handle[Any]) -> None:
        """A commit settles a delivery, whether a link is attached or not: no later attachment brings it again. The
        client is told on the link on which it has retired it."""
        if tag in tap.again:
            tap.again.remove(tag)
        elif handle.error is None:
            same((handle.done, handle.result if handle.done else None), (True, state), f"what {tap} was told")

    def _roll_back(self, work: Work) -> None:
        """What was posted was never there, what was retired is as before or has the default outcome where the client
        can't decide any more, what was acquired is available (part 4 section 4.4.4)."""
        if work in self.works:
            self._is_over(work)
        line = work.control.line
        acquired = {(each.tap, each.tag) for each in work.acquired}
        ours = [each for each in work.acquired if self._has_still(work, each)]
        for each in [*work.settled, *work.acquired]:
            if each.copy.owner is not None or each.copy.transaction != work.branch:
                continue
            # Its link isn't there any more; the default outcome holds all the same.
            each.copy.owner = line.owner
        self.naive.roll_back(work.branch)
        for had in work.acquired:
            had.tap.deliveries.pop(had.tag, None)
            if had.tag in had.tap.again:
                had.tap.again.remove(had.tag)
            self.held.pop(had.tap.handle(had.tag), None)
            if had in ours:
                assert had.copy.owner is not None
                self.naive.settle(had.copy.owner, [had.copy], "release", redelivered=True)
        for had in work.settled:
            if (had.tap, had.tag) not in acquired:
                self._default(had)
        if not line.is_lost:
            for spout, handle, _ in work.posted:
                if spout.is_attached and not handle.done:
                    # A disposition without a state takes back none that was told: that one is provisional.
                    state = spout.engine.unsettled[handle.key[2]].states[1]
                    same(isinstance(state, amqp.TransactionalState), True, f"the state of a posting on {spout}")
                    spout.engine.settle(handle)
            self.pump()

    def _has_still(self, work: Work, had: Had) -> bool:
        """Whether a message that was acquired in a transaction is still with it, or with its link."""
        return had.copy.transaction == work.branch or self.held.get(had.tap.handle(had.tag)) is had.copy

    def _default(self, had: Had) -> None:
        act, found = act_of(None, had.tap.terms.default)
        note, owner = had.copy.note, had.copy.owner
        assert isinstance(note, Note_1_0)
        assert owner is not None
        self.naive.settle(
            owner, [had.copy], act.outcome, redelivered=act.redelivered, failed=act.failed, excluded=act.excluded,
            rewritten=note.after(found, had.copy.count),
        )  # fmt: skip

    def _is_over(self, work: Work) -> None:
        self.works.remove(work)
        for tap in self.taps():
            if tap.branch == work.branch:
                tap.branch = None
                if tap.consumer is not None:
                    tap.consumer.settles = tap.settled


__all__ = ["Control", "TransactedStage", "Work"]
