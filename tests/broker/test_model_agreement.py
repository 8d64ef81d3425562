"""The broker's model and the naive one do the same, whatever is asked of them in whatever order.

`Plain` has owners, queues, messages and consumers that come and go, `Routed` exchanges and bindings, `Flowing` nothing
but messages and consumers, `Transacted` transactions; `Branched` has distributed ones.
"""

from pickle import dumps, loads
from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.model.dtx import Branches
from amqp_sansio.amqp_0_10.model.execution import ExecutionError
from amqp_sansio.broker.model import commands
from tests.broker.both_models import same
from tests.broker.model_choices import (
    ALTERNATE,
    COMPARED,
    CREDIT,
    EXCHANGE,
    EXCHANGES,
    FEW,
    KEY,
    MAIL,
    MATCHES,
    NAME,
    NATURE,
    PATTERN,
    PICK,
    QUEUE,
    SECONDS,
    SELDOM,
    TERMS,
    TYPE,
    VERDICT,
    Credit,
    Mail,
    Nature,
    Terms,
    Verdict,
    picked,
    queue_arguments,
    some,
)
from tests.broker.model_play import Play, is_held
from tests.broker.naive_branches import LIMIT, NaiveBranches, Refused, plain

WORK = st.lists(st.one_of(MAIL, VERDICT), min_size=1, max_size=4)
XIDS = [spec.Xid(number, b"g", b"") for number in range(LIMIT + 1)]
RELEASED = Verdict("release", True, False, False, False, False)


class Owners(Play):
    """Owners come and go."""

    @rule(number=PICK, below=st.booleans(), goes=st.booleans(), redelivered=st.booleans())
    def come_and_go(self, number: int, below: bool, goes: bool, redelivered: bool) -> None:
        """Another owner, or one less with what is below it; connections go seldom."""
        owner = self.owner(number)
        if not goes and len(self.both.naive.owners) < 7:
            self.open(owner if below else None)
        elif goes and (below or self.both.naive.owners[owner].parent is not None):
            self.close(owner, redelivered)


class Queues(Play):
    """Queues come and go."""

    @rule(owner=PICK, name=QUEUE, arguments=queue_arguments(), nature=NATURE, passive=SELDOM, compare=COMPARED)
    def declare_queue(
        self, owner: int, name: str, arguments: dict[str, Any], nature: Nature, passive: bool, compare: tuple[str, ...]
    ) -> None:
        """A queue, new or known."""
        self.declare(owner, name, arguments, nature, passive, compare)

    @rule(owner=PICK, number=NAME, if_unused=SELDOM, if_empty=SELDOM, sure=st.booleans())
    def delete_queue(self, owner: int, number: int, if_unused: bool, if_empty: bool, sure: bool) -> None:
        both, asks, name = self.both, self.owner(owner), self.queue(number)
        if not sure and name in both.naive.queues:
            return
        result, expected = both.do(
            commands.DeleteQueue(both.owners[asks], name, if_unused, if_empty),
            lambda: both.naive.delete_queue(asks, name, if_unused=if_unused, if_empty=if_empty),
        )
        same(result, expected, "deleted messages")

    @rule(owner=PICK, number=NAME, undo=st.booleans())
    def link(self, owner: int, number: int, undo: bool) -> None:
        """A link of 1.0 uses a queue, or doesn't any more."""
        both, asks, name = self.both, self.owner(owner), self.queue(number)
        if undo:
            both.do(commands.UnlinkQueue(both.owners[asks], name), lambda: both.naive.unlink(asks, name))
        else:
            both.do(commands.LinkQueue(both.owners[asks], name), lambda: both.naive.link(asks, name))


class Exchanges(Play):
    """Exchanges and bindings."""

    @rule(
        name=EXCHANGE,
        type=TYPE,
        nature=NATURE,
        internal=SELDOM,
        alternate=ALTERNATE,
        later=st.booleans(),
        passive=SELDOM,
        compare=SELDOM,
    )
    def declare_exchange(
        self,
        name: str,
        type: str,
        nature: Nature,
        internal: bool,
        alternate: str | None,
        later: bool,
        passive: bool,
        compare: bool,
    ) -> None:
        """An exchange, new or known."""
        compared = ("type", "durable", "auto_delete", "internal", "alternate") if compare else ()
        self.make_exchange(
            name,
            type,
            passive=passive,
            durable=nature.durable,
            auto_delete=nature.auto_delete,
            internal=internal,
            alternate=alternate,
            later=later,
            compare=compared,
        )

    @rule(number=NAME, if_unused=st.booleans(), alternates=st.booleans(), sure=SELDOM)
    def delete_exchange(self, number: int, if_unused: bool, alternates: bool, sure: bool) -> None:
        both, name = self.both, self.exchange(number)
        if not sure and name in EXCHANGES:
            return
        both.do(
            commands.DeleteExchange(both.owners[self.owner(0)], name, if_unused, alternates),
            lambda: both.naive.delete_exchange(name, if_unused=if_unused, alternates=alternates),
        )

    @rule(
        owner=PICK,
        number=NAME,
        at=NAME,
        key=PATTERN,
        arguments=st.sampled_from(MATCHES),
        by_arguments=st.booleans(),
        undo=SELDOM,
    )
    def bind_queue(
        self, owner: int, number: int, at: int, key: str, arguments: dict[str, Any], by_arguments: bool, undo: bool
    ) -> None:
        """A binding of a queue comes or goes."""
        self.bind(owner, self.queue(number), self.exchange(at), key, arguments, by_arguments, undo)

    @rule(number=NAME, at=NAME, key=PATTERN, arguments=st.sampled_from(MATCHES), undo=SELDOM)
    def bind_exchange(self, number: int, at: int, key: str, arguments: dict[str, Any], undo: bool) -> None:
        """A binding between exchanges comes or goes."""
        self.bind_exchanges(self.exchange(number), self.exchange(at), key, arguments, undo)

    @precondition(lambda self: self.both.naive.bindings)
    @rule(number=st.integers(0, 99), by_arguments=st.booleans())
    def unbind(self, number: int, by_arguments: bool) -> None:
        """A binding that there is goes."""
        source, kind, name, key, items = picked(self.both.naive.bindings, number)
        arguments = {each: value for each, (_, value) in items}
        if kind == "queue":
            owner = self.both.naive.queues[name].exclusive
            place = 0 if owner is None else list(self.both.naive.owners).index(owner)
            self.bind(place, name, source, key, arguments, by_arguments, True)
        else:
            self.bind_exchanges(name, source, key, arguments, True)

    @rule(owner=PICK, at=NAME, key=KEY, mail=MAIL)
    def publish_to_any(self, owner: int, at: int, key: str, mail: Mail) -> None:
        self.send(owner, self.exchange(at), key, mail)

    @precondition(lambda self: self.both.naive.bindings)
    @rule(owner=PICK, number=NAME, first=st.booleans(), key=KEY, mail=MAIL)
    def publish_to_bound(self, owner: int, number: int, first: bool, key: str, mail: Mail) -> None:
        """A message to an exchange that has a binding, mostly with that key."""
        binding = picked(self.both.naive.bindings, number)
        self.send(owner, "ea" if first else binding.source, key if number % 4 == 3 else binding.key, mail)


class Messages(Play):
    """Publishing, consuming, fetching, settling."""

    @rule(owner=PICK, number=NAME, mail=MAIL, count=FEW)
    def publish(self, owner: int, number: int, mail: Mail, count: int) -> None:
        """Messages to a queue, one like the other."""
        for _ in range(count):
            self.send(owner, "", self.queue(number), mail)

    @rule(owner=PICK, mail=MAIL, count=FEW)
    def publish_to_two(self, owner: int, mail: Mail, count: int) -> None:
        """Messages to all that are bound to an exchange."""
        for _ in range(count):
            self.send(owner, "amq.fanout", "a", mail)

    @rule(
        owner=PICK,
        number=NAME,
        credits=st.lists(CREDIT, max_size=1),
        shares=st.lists(PICK, max_size=1),
        terms=TERMS,
        goes_on=st.booleans(),
    )
    def subscribe(
        self, owner: int, number: int, credits: list[Credit], shares: list[int], terms: Terms, goes_on: bool
    ) -> None:
        if len(self.both.naive.consumers) < 7:
            self.consume(owner, self.queue(number), credits, shares, terms, goes_on)

    @rule(owner=PICK, first=PICK, count=FEW, verdict=VERDICT, wrong=SELDOM)
    def settle(self, owner: int, first: int, count: int, verdict: Verdict, wrong: bool) -> None:
        """Messages are settled by who has them, or now and then by somebody else."""
        self.settle_some(owner, first, count, verdict, wrong=wrong and first == 9)

    @rule(first=PICK, verdict=VERDICT)
    def settle_one(self, first: int, verdict: Verdict) -> None:
        self.settle_some(0, first, 1, verdict)

    @precondition(lambda self: self.both.windows)
    @rule(number=PICK, credit=CREDIT, add=st.booleans())
    def change_window(self, number: int, credit: Credit, add: bool) -> None:
        """A window gets more room, or has so much from now on."""
        both, (_, window, room) = self.both, picked(self.both.windows, number)
        if add:
            more = credit.messages or 0, credit.octets or 0
            both.do(commands.Grant(window, *more), lambda: both.naive.change_room(room, *more, add=True))
        else:
            both.do(
                commands.SetWindow(window, credit.messages, credit.octets),
                lambda: both.naive.change_room(room, credit.messages, credit.octets, add=False),
            )

    @precondition(lambda self: self.both.consumers)
    @rule(number=PICK, credits=st.lists(CREDIT, max_size=1), shares=st.lists(PICK, max_size=1), ends=st.booleans())
    def change_consumer(self, number: int, credits: list[Credit], shares: list[int], ends: bool) -> None:
        """A consumer has other windows from now on, or ends."""
        both = self.both
        which = picked(list(both.naive.consumers) or list(both.consumers), number)
        if ends:
            self.cancel(which)
            return
        known = both.naive.consumers.get(which) or both.naive.former[which]
        windows = self.chosen_windows(known.owner, credits, shares)
        both.do(
            commands.ChangeWindows(both.consumers[which], tuple([each.window for each in windows])),
            lambda: both.naive.change_rooms(which, [each.room for each in windows]),
        )

    @rule(owner=PICK, number=NAME, settles=SELDOM)
    def get(self, owner: int, number: int, settles: bool) -> None:
        """A message is fetched."""
        both, asks, name = self.both, self.owner(owner), self.queue(number)
        entry, copy = both.do(
            commands.Get(both.owners[asks], name, settles), lambda: both.naive.get(asks, name, settles)
        )
        self.are_same([] if entry is None else [entry], [] if copy is None else [copy])

    @rule(owner=PICK, number=NAME, first=PICK, count=FEW, empties=SELDOM)
    def acquire(self, owner: int, number: int, first: int, count: int, empties: bool) -> None:
        """Messages are acquired by who has seen them, if they are there; or a queue is emptied."""
        both, asks, name = self.both, self.owner(owner), self.queue(number)
        if empties:
            self.purge(owner, name)
        known = [each for each in both.record.copies.items() if each[1].queue.name == name]
        if empties or not known:
            return
        queue = picked(known, first)[1].queue
        theirs = [each.number for each in queue.consumers if each.owner == asks]
        whose = picked(theirs, first) if theirs and first % 2 else None
        chosen = some([each for each in known if each[1].queue is queue][-8:], first, count)
        taken, expected = both.do(
            commands.Acquire(
                both.owners[asks], tuple([each for each, _ in chosen]), None if whose is None else both.consumers[whose]
            ),
            lambda: both.naive.acquire(asks, [copy for _, copy in chosen], whose),
        )
        self.are_same(list(taken), expected)


class Time(Play):
    """Time passes; the broker is saved and read back, and started anew."""

    @rule(seconds=SECONDS, late=SELDOM)
    def pass_time(self, seconds: float, late: bool) -> None:
        """Some seconds; `late`: no timer says so."""
        if late:
            self.both.now += seconds
        else:
            self.both.pass_time(seconds)

    @rule(restarts=SELDOM, seconds=SECONDS)
    def save(self, restarts: bool, seconds: float) -> None:
        """What goes on is a copy, now and then that of a broker that is started anew."""
        self.both = self.both.copied()
        if restarts:
            self.both.now += seconds
            self.both.restart()

    @rule(reason=st.sampled_from(("", "a reason")))
    def hold_publishers(self, reason: str) -> None:
        """Publishers are held up, or aren't any more."""
        self.both.hold_publishers(reason)


class Transactions(Messages):
    """Transactions."""

    @rule(owner=PICK, free=SELDOM)
    def select(self, owner: int, free: bool) -> None:
        """A transaction, of an owner or of nobody."""
        self.begin(None if free else self.owner(owner))

    @precondition(lambda self: self.both.transactions)
    @rule(which=PICK, work=WORK)
    def work(self, which: int, work: list[Mail | Verdict]) -> None:
        """Messages are published and settled in a transaction."""
        transaction = self.transaction(which)
        for number, each in enumerate(work):
            if isinstance(each, Verdict):
                self.settle_some(which, number + which, 1, each, transaction)
            else:
                exchange, key = ("amq.fanout", "a") if number % 3 == 2 else ("", self.queue(which))
                self.send(which, exchange, key, each, transaction)

    @precondition(lambda self: self.both.transactions)
    @rule(which=PICK, undo=SELDOM)
    def end(self, which: int, undo: bool) -> None:
        """All of it is done, or none of it."""
        (self.roll_back if undo else self.commit)(self.transaction(which))


class Branched(Owners, Messages):
    """Distributed transactions: owners are sessions of 0-10, and what they do belongs to the branch they work for."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = Branches(default_timeout=5, limit=LIMIT)
        self.known = NaiveBranches(True, 5)
        self.works: dict[spec.Xid, int] = {}

    def work_of(self, owner: int) -> int | None:
        """The transaction of the branch, which begins with the first work."""
        xid = self.known.current(owner)
        same(self.branches.mark_work(owner), xid, "the branch")
        if xid is None:
            return None
        self.known.works[xid].worked = True
        if xid not in self.works:
            number = self.begin(None)
            if number is None:
                return None
            self.works[xid] = number
        return self.works[xid]

    def execute(self, owner: int, command: spec.Command[Any]) -> None:
        """A command of class dtx, and what has been decided by it."""
        said: object
        try:
            said = plain(self.branches.execute(owner, command, self.both.now))
        except ExecutionError as error:
            said = error.code
        try:
            expected = self.known.execute(owner, command, self.both.now)
        except Refused as refused:
            expected = refused.args[0]
        same(said, expected, str(command))
        self.carry_out()

    def carry_out(self) -> None:
        """Commit and roll back; what somebody accepted in a branch that is rolled back goes back to its queue."""
        outcomes = self.branches.take_outcomes()
        same(sorted(outcomes, key=str), sorted(self.known.outcomes, key=str), "outcomes")
        # A session gives its branches up in the order in which it got them, which the naive ones don't know.
        graves = self.known.graves
        last = [xid for xid, _ in outcomes if xid in graves]
        self.known.graves = [xid for xid in graves if xid not in last] + last
        self.known.outcomes.clear()
        for xid, outcome in outcomes:
            which = self.works.pop(xid, None)
            if which is None:
                continue
            accepted = [each for each in self.both.record.copies.items() if each[1].transaction == which]
            if outcome == "committed":
                self.commit(which)
                continue
            self.roll_back(which)
            for entry, copy in accepted:
                if is_held(copy):
                    self.settle_all(cast("int", copy.owner), [(entry, copy)], RELEASED)

    @rule(number=PICK, xid=st.sampled_from(XIDS))
    def start(self, number: int, xid: spec.Xid) -> None:
        """An owner works for a branch from now on: a new one, or one of its own, or somebody else's."""
        owner = self.owner(number)
        if owner not in self.known.selected:
            self.execute(owner, spec.DtxSelect())
        work = self.known.works.get(xid)
        resume = work is not None and owner in work.waiting
        self.execute(owner, spec.DtxStart(xid, work is not None and not resume, resume))

    @precondition(lambda self: self.known.works)
    @rule(number=PICK, suspend=SELDOM, fail=SELDOM)
    def stop(self, number: int, suspend: bool, fail: bool) -> None:
        """An owner doesn't any more, or fails."""
        workers = [(owner, xid) for xid, work in self.known.works.items() for owner in work.workers]
        if workers:
            owner, xid = picked(workers, number)
            self.execute(cast("int", owner), spec.DtxEnd(xid, fail, suspend))

    @precondition(lambda self: self.known.works)
    @rule(number=PICK, free=st.booleans(), how=st.sampled_from(("prepare", "commit", "at once", "rollback", "forget")))
    def conclude(self, number: int, free: bool, how: str) -> None:
        """A branch is prepared, committed, rolled back or forgotten, mostly one that nobody works for."""
        known = self.known.works
        xid = picked([each for each, work in known.items() if work.free and free] or list(known), number)
        ways: dict[str, spec.Command[Any]] = {
            "prepare": spec.DtxPrepare(xid),
            "commit": spec.DtxCommit(xid),
            "at once": spec.DtxCommit(xid, True),
            "rollback": spec.DtxRollback(xid),
            "forget": spec.DtxForget(xid),
        }
        self.execute(self.owner(number), ways[how])
        self.execute(self.owner(number), spec.DtxRecover())

    @rule(seconds=SECONDS, xid=st.sampled_from(XIDS), timeout=st.integers(0, 3))
    def pass_time(self, seconds: float, xid: spec.Xid, timeout: int) -> None:
        """A branch gets another timeout, and some time passes."""
        self.execute(self.owner(0), spec.DtxSetTimeout(xid, timeout))
        self.both.pass_time(seconds)
        now = self.both.now
        due = {each for each, work in self.known.works.items() if work.due is not None and work.due <= now}
        timed_out = self.branches.handle_timeout(now)
        same(set(timed_out), due, "branches whose time is over")
        for each in timed_out:
            self.known.doom(each, "timeout")
        self.carry_out()

    def close(self, owner: int, redelivered: bool) -> None:
        """A session goes, after those below it; the branches that it works for can only be rolled back."""
        for each in [each.number for each in self.both.naive.owners.values() if each.parent == owner]:
            self.close(each, redelivered)
        super().close(owner, redelivered)
        self.branches.close_session(owner)
        self.known.close(owner)
        self.carry_out()

    @rule()
    def save(self) -> None:
        """What goes on is a copy."""
        self.both = self.both.copied()
        self.branches = loads(dumps(self.branches))


class Plain(Owners, Queues, Messages, Time):
    """All but transactions and the ways that messages go."""


class Routed(Queues, Exchanges, Time):
    """Exchanges and bindings."""


class Flowing(Messages, Time):
    """Messages and consumers."""


class Transacted(Owners, Transactions, Time):
    """Transactions over a few queues."""


TestPlain = Plain.TestCase
TestRouted = Routed.TestCase
TestFlowing = Flowing.TestCase
TestTransacted = Transacted.TestCase
TestBranched = Branched.TestCase
TestPlain.settings = settings(stateful_step_count=50)
TestFlowing.settings = TestPlain.settings
TestTransacted.settings = TestPlain.settings
TestRouted.settings = settings(stateful_step_count=50)
TestBranched.settings = TestRouted.settings
