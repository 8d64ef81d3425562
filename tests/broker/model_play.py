"""What the machines that compare both models can do to both of them, and whom they can choose."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.consumer import Window
from amqp_sansio.broker.model.content import Content
from amqp_sansio.broker.model.entry import Entry
from tests.broker.both_models import (
    OUTCOMES,
    Both,
    KeyLength,
    OddLength,
    Shared,
    classic_content,
    key_length,
    same,
    wants_odd,
)
from tests.broker.model_choices import (
    CREDIT,
    EXCHANGES,
    GROUND,
    LIMITS,
    NAME,
    PICK,
    QUEUES,
    SIMPLE,
    TERMS,
    WAYS,
    Credit,
    Mail,
    Nature,
    Terms,
    Verdict,
    Way,
    named,
    picked,
    some,
)
from tests.broker.naive_values import Copy, Note, Room, fail


class Play(RuleBasedStateMachine):
    """Both models, and who is there. The methods do one thing to both and compare what comes of it."""

    both: Both

    @initialize(
        limits=LIMITS,
        history=st.sampled_from((True, True, True, False)),
        arguments=GROUND,
        ways=WAYS,
        consumers=st.lists(st.tuples(PICK, NAME, CREDIT, TERMS), max_size=4),
    )
    def arrive(
        self,
        limits: dict[str, int],
        history: bool,
        arguments: list[dict[str, Any]],
        ways: list[Way],
        consumers: list[tuple[int, int, Credit, Terms]],
    ) -> None:
        """Two connections, one of them with two channels; queues, of which two get what is published to amq.fanout,
        exchanges, consumers."""
        both = Both(limits, history=history)
        self.both = both
        for parent in (None, 1, 1, None):
            self.open(parent)
        for name, told in zip(QUEUES, arguments, strict=False):
            self.declare(0, name, told)
        for name in QUEUES[:2]:
            self.bind(1, name, "amq.fanout")
        for number, way in enumerate(ways):
            name, queue = EXCHANGES[number], QUEUES[number]
            self.make_exchange(name, way.type, auto_delete=way.auto_delete, alternate=way.alternate, later=True)
            self.bind(1, queue, name, way.key)
            if number:
                self.bind_exchanges(name, EXCHANGES[number - 1], way.key)
        for owner, number, credit, terms in consumers:
            self.consume(owner, named(both.naive.queues, number), [credit], [], terms)

    @invariant()
    def agree(self) -> None:
        """Both are in the same state."""
        self.both.check()

    # Whom.

    def owner(self, number: int) -> int:
        """One of those who are there."""
        if not self.both.naive.owners:
            self.open(None)
        return picked(list(self.both.naive.owners), number)

    def queue(self, number: int) -> str:
        """The name of a queue, mostly of one that there is."""
        return named(self.both.naive.queues, number)

    def exchange(self, number: int) -> str:
        """The name of an exchange, mostly of one that there is."""
        return named(self.both.naive.exchanges, number)

    def transaction(self, number: int) -> int:
        """One that isn't over, mostly."""
        both = self.both
        going = [each for each, branch in both.naive.branches.items() if not branch.is_over]
        return picked(list(both.transactions) if number == 9 or not going else going, number)

    def work_of(self, owner: int) -> int | None:
        """The transaction that what an owner does belongs to if it doesn't say so."""
        return None

    # What.

    def open(self, parent: int | None) -> None:
        """Somebody comes."""
        both = self.both
        above = None if parent is None else both.owners[parent]
        both.do(commands.OpenOwner(parent=above), lambda: both.naive.open_owner(parent), makes="owners")

    def close(self, owner: int, redelivered: bool) -> None:
        """Somebody goes."""
        both = self.both
        both.do(
            commands.CloseOwner(both.owners[owner], redelivered), lambda: both.naive.close_owner(owner, redelivered)
        )

    def declare(
        self,
        owner: int,
        name: str,
        arguments: dict[str, Any],
        nature: Nature = SIMPLE,
        passive: bool = False,
        compare: tuple[str, ...] = (),
    ) -> None:
        """A queue, new or known."""
        both, asks = self.both, self.owner(owner)
        above = both.naive.owners[asks].parent
        exclusive = None if not nature.exclusive else asks if owner % 2 or above is None else above
        result, expected = both.do(
            commands.DeclareQueue(
                both.owners[asks],
                name,
                passive,
                nature.durable,
                nature.auto_delete,
                None if exclusive is None else both.owners[exclusive],
                nature.alternate,
                arguments,
                compare,
                nature.strict,
                True,
                nature.lifetime,
                nature.outlives,
            ),
            lambda: both.naive.declare_queue(
                asks,
                name or ("" if both.result is None else both.result.name),
                passive=passive,
                durable=nature.durable,
                auto_delete=nature.auto_delete,
                exclusive=exclusive,
                alternate=nature.alternate,
                arguments=arguments,
                compare=compare,
                lifetime=None if nature.lifetime is None else nature.lifetime.value,
                reserved=name != "",
                strict=nature.strict,
                outlives=nature.outlives,
            ),
        )
        if result is not None:
            same((result.name, result.ready, len(result.consumers)), expected, "declare-ok")

    def bind(
        self,
        owner: int,
        queue: str,
        source: str,
        key: str = "",
        arguments: dict[str, Any] | None = None,
        by_arguments: bool = True,
        undo: bool = False,
    ) -> None:
        """A binding of a queue comes or goes."""
        both, asks, told = self.both, self.owner(owner), arguments or {}
        command = commands.Unbind if undo else commands.Bind
        how = both.naive.unbind if undo else both.naive.bind
        result, expected = both.do(
            command(both.owners[asks], queue, source, key, told, by_arguments),
            lambda: how("queue", queue, source, key, told, asks, by_arguments),
        )
        same(result, expected, "is new")

    def make_exchange(
        self,
        name: str,
        type: str,
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        alternate: str | None = None,
        later: bool = False,
        compare: tuple[str, ...] = (),
    ) -> None:
        """An exchange, new or known; `later`: the alternate is an argument, and needn't be there."""
        both = self.both
        arguments = {} if alternate is None or not later else {"alternate-exchange": alternate}
        both.do(
            commands.DeclareExchange(
                both.owners[self.owner(0)],
                name,
                type,
                passive,
                durable,
                auto_delete,
                internal,
                None if later else alternate,
                arguments,
                compare,
            ),
            lambda: both.naive.declare_exchange(
                name,
                type,
                passive=passive,
                durable=durable,
                auto_delete=auto_delete,
                internal=internal,
                alternate=alternate,
                compare=compare,
                later=later,
            ),
        )

    def bind_exchanges(
        self, name: str, source: str, key: str, arguments: dict[str, Any] | None = None, undo: bool = False
    ) -> None:
        """A binding between exchanges comes or goes."""
        both, asks, told = self.both, self.owner(0), arguments or {}
        command = commands.UnbindExchange if undo else commands.BindExchange
        how = both.naive.unbind if undo else both.naive.bind
        result, expected = both.do(
            command(both.owners[asks], name, source, key, told),
            lambda: how("exchange", name, source, key, told, asks, True),
        )
        same(result, expected, "is new")

    def send(self, owner: int, exchange: str, key: str, mail: Mail, transaction: int | None = None) -> None:
        asks = self.owner(owner)
        if transaction is None:
            transaction = self.work_of(asks)
        self.both.publish(
            asks,
            exchange,
            key,
            size=mail.size,
            headers=mail.headers,
            priority=mail.priority,
            milliseconds=mail.milliseconds,
            mandatory=mail.mandatory,
            immediate=mail.immediate,
            transaction=transaction,
            persistent=mail.persistent,
            alternates=mail.alternates,
            chained=mail.chained,
            rerouted=mail.rerouted,
            promised=mail.promised,
        )

    def chosen_windows(self, owner: int, credits: list[Credit], shares: list[int]) -> list[Shared]:
        """New windows, and such that others of the owner have too."""
        mine = [each for each in self.both.windows if each.owner == owner]
        windows = [picked(mine, number) for number in shares] if mine else []
        for credit in credits:
            overdraws = credit.overdraws and not credit.refills
            idle = credit.octets or None if credit.idles and not overdraws else None
            window = Window(credit.messages, credit.octets, refills=credit.refills, overdraws=overdraws)
            window.idle_octets = idle
            room = Room(credit.messages, credit.octets, credit.refills, overdraws, idle)
            windows.append(Shared(owner, window, room))
            self.both.windows.append(windows[-1])
        return windows

    def consume(
        self, owner: int, name: str, credits: list[Credit], shares: list[int], terms: Terms, goes_on: bool = False
    ) -> None:
        """A consumer; `goes_on`: a browser, where one stopped that isn't any more."""
        both, asks = self.both, self.owner(owner)
        windows = self.chosen_windows(asks, credits, shares)
        key = f"c{len(both.consumers)}"
        after = self.former_browser(name, terms) if goes_on else None
        both.do(
            commands.Subscribe(
                both.owners[asks],
                name,
                key,
                tuple([each.window for each in windows]),
                terms.acquires,
                terms.settles,
                terms.exclusive,
                terms.no_local,
                terms.priority,
                OddLength() if terms.choosy else None,
                () if after is None else tuple(both.consumers[after].cursors),
                KeyLength() if terms.measured else None,
            ),
            lambda: both.naive.subscribe(
                asks,
                name,
                key,
                [each.room for each in windows],
                acquires=terms.acquires,
                settles=terms.settles,
                exclusive=terms.exclusive,
                no_local=terms.no_local,
                priority=terms.priority,
                accepts=wants_odd if terms.choosy else None,
                octets_of=key_length if terms.measured else None,
                after=after,
            ),
            makes="consumers",
        )

    def former_browser(self, name: str, terms: Terms) -> int | None:
        """A browser of a queue that isn't any more, and wanted the same as one with these terms."""
        queue = self.both.naive.queues.get(name)
        if terms.acquires or terms.no_local:
            return None
        for each in self.both.naive.former.values():
            same_wants = not each.no_local and (each.accepts is not None) == terms.choosy
            if each.queue is queue and not each.acquires and same_wants:
                return each.number
        return None

    def cancel(self, consumer: int) -> None:
        """A consumer ends, perhaps once more."""
        both = self.both
        both.do(commands.Cancel(both.consumers[consumer]), lambda: both.naive.cancel(consumer))

    def purge(self, owner: int, name: str) -> None:
        """A queue is emptied."""
        both, asks = self.both, self.owner(owner)
        result, expected = both.do(commands.PurgeQueue(both.owners[asks], name), lambda: both.naive.purge(asks, name))
        same(result, expected, "purged messages")

    def settle_some(
        self, owner: int, first: int, count: int, verdict: Verdict, transaction: int | None = None, wrong: bool = False
    ) -> None:
        """Somebody who has some settles messages; `wrong`: somebody does, whoever has them."""
        held = [each for each in self.both.record.copies.items() if wrong or is_held(each[1])]
        if held:
            whose = self.owner(owner) if wrong else held[first % len(held)][1].owner
            assert whose is not None
            chosen = some([each for each in held if wrong or each[1].owner == whose], first, count)
            self.settle_all(whose, chosen, verdict, transaction)

    def settle_all(
        self, owner: int, chosen: list[tuple[Entry, Copy]], verdict: Verdict, transaction: int | None = None
    ) -> None:
        """An owner settles these messages; with what it writes on it the first one of them alone."""
        both = self.both
        if transaction is None:
            transaction = self.work_of(owner)
        content, rewritten = None, None
        if verdict.rewritten and verdict.how != "accept":
            chosen = chosen[:1]
            content, rewritten = written_on(chosen[0][1].note)
        how, redelivered, failed, excluded, unsaid, _ = verdict
        unsaid = unsaid and how == "reject"
        both.do(
            commands.Settle(
                both.owners[owner],
                tuple([entry for entry, _ in chosen]),
                OUTCOMES[how],
                redelivered,
                failed,
                excluded,
                content,
                None if transaction is None else both.transactions[transaction],
                unsaid,
            ),
            lambda: both.naive.settle(
                owner,
                [copy for _, copy in chosen],
                how,
                redelivered=redelivered,
                failed=failed,
                excluded=excluded,
                transaction=transaction,
                unsaid=unsaid,
                rewritten=rewritten,
            ),
        )

    def begin(self, owner: int | None) -> int | None:
        """A transaction, of an owner or of nobody; None when it's refused."""
        both = self.both
        _, number = both.do(
            commands.Begin(None if owner is None else both.owners[owner]),
            lambda: both.naive.begin(owner),
            makes="transactions",
        )
        return None if number is None else int(number)

    def commit(self, which: int) -> None:
        """All of a transaction is done."""
        both = self.both
        returned, expected = both.do(commands.Commit(both.transactions[which]), lambda: both.naive.commit(which))
        if expected is not None:
            same([each.content.body for each in returned], [each.body for each in expected], "returned")

    def roll_back(self, which: int) -> None:
        """None of a transaction is done."""
        both = self.both
        both.do(commands.Rollback(both.transactions[which]), lambda: both.naive.roll_back(which))

    def are_same(self, entries: list[Entry], copies: list[Copy]) -> None:
        """The broker's entries are these copies."""
        if len(entries) != len(copies):
            fail(f"the broker gave {entries}, and should have given {len(copies)}")
        for entry, copy in zip(entries, copies, strict=True):
            if not self.both.record.is_same(entry, copy):
                fail(f"the broker gave {entry}, and should have given {copy.note.body!r}")


def is_held(copy: Copy) -> bool:
    """Whether somebody can settle it."""
    return copy.state == "acquired" and copy.owner is not None and copy.transaction is None


def written_on(note: Note) -> tuple[Content, Note]:
    """A message with what its consumer wrote on it."""
    body = note.body + b"*"
    content = classic_content(body, None, note.priority, None)
    new = Note(body, note.exchange, note.key, None, note.priority, None, note.publisher, kept=content.octets)
    new.walk = note.walk
    return content, new
