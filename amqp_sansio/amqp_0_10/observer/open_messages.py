"""OpenMessages: which unit settles which message on an observed connection of 0-10. Messages are named by their units.

The client's messages are settled when they are completed, by an exception, or with their transaction; the server's
by message.accept, release and reject, or file.ack and reject, or when they are completed where nothing else was agreed
(part 1 sections 3.2 and 10; classes 4 to 6, 9 and 10).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from ..._ground.brevity import trim
from ..._ground.invariants import ensure
from ..._watching.settlements import AT_ONCE, ENDED, OPEN_FOR_GOOD, SETTLED, STAGED, TOLD
from ..codec.choices import NONE
from ..model.open_ids import OpenIds
from ..model.transfers import EACH, FREE

if TYPE_CHECKING:
    from ..._watching.settlements import Settlement, Settlements
    from ...limits import Limits
    from ..codec.records import Xid
    from ..codec.sequence_set import SequenceSet

Content: TypeAlias = tuple[Any, int, str | None]
"""Properties of a message, octets of its body and their digest."""
Context: TypeAlias = tuple[str | None, str | None, Content | None]
"""Name of a message's session, queue of a delivery, and the content of a file that was staged before."""

_OK: Final = 0
_ENDS: Final[dict[int, str]] = {1: "released", 2: "released", 5: "released", 4: "accepted", 7: "accepted"}
"""How a branch ends by its xa-status: rbrollback, rbtimeout and heurrb; heurcom and rdonly (class 6)."""


class Step(NamedTuple):
    """A command that one side has sent. `answers` is the unit that it answers, `content` its message's content."""

    unit: int
    client: bool
    command: Any
    number: int | None
    answers: int | None
    content: Content


class Work:
    """Messages that wait together: a session's own, or those that a transaction, or a part of a branch, holds back."""

    __slots__ = ("deferred", "deliveries", "files", "publishes")

    def __init__(self) -> None:
        # The client's message.transfer, by their command ids.
        self.publishes: OpenIds[int] = OpenIds()
        # The server's, by theirs.
        self.deliveries: OpenIds[int] = OpenIds()
        # Those of file.deliver, by their delivery tags.
        self.files: dict[int, int] = {}
        # Deliveries that have another outcome after a rollback, with that.
        self.deferred: list[tuple[int, str]] = []

    @property
    def units(self) -> list[int]:
        """All messages."""
        deferred = [unit for unit, _ in self.deferred]
        return [*self.publishes.values(), *self.deliveries.values(), *self.files.values(), *deferred]

    def check(self, where: str, limits: Limits) -> None:
        """Check that the messages are bounded. Raises AssertionError."""
        count = len(self.publishes)
        ensure(count <= limits.unconfirmed, where, "`Limits.unconfirmed` bounds publishes", count)
        count = max(len(self.deliveries), len(self.files), len(self.deferred))
        ensure(
            count <= limits.unsettled, where, "`Limits.unsettled` bounds deliveries, files and what is deferred", count
        )


class SessionMessages(Work):
    """The open messages of one session: those of no transaction are its own (`Work`), the others are in parts.

    Its own `publishes` aren't completed; its own `deliveries` wait for a message.accept; its own `files` for a
    file.ack. A transaction's Work has those that its end decides on.
    """

    __slots__ = (
        "allowance",
        "branch",
        "consumers",
        "context",
        "distributed",
        "ending",
        "given",
        "last_tag",
        "name",
        "opened",
        "ordered",
        "parts",
        "returnable",
        "staged",
        "subscriptions",
        "transacted",
        "transaction",
        "unsure",
        "wanted",
    )

    def __init__(self, name: bytes | None) -> None:
        super().__init__()
        # What both sides know the session by; None: it wasn't seen.
        self.name = name
        link = None if name is None else name.decode("utf-8", "surrogateescape")
        # What a message says of its session, for the tables.
        self.context: Context = (link, None, None)
        # Deliveries that wait for nothing but their completion (accept-mode none).
        self.given: OpenIds[int] = OpenIds()
        # Whether the tags of files have grown so far: then a tag may mean all before it.
        self.ordered = True
        # The last of these tags.
        self.last_tag = 0
        # By destination: what a message of it says, and its accept-mode.
        self.subscriptions: dict[str, tuple[Context, int]] = {}
        # By class and consumer tag: queue and no-ack.
        self.consumers: dict[tuple[str, str], tuple[str | None, bool]] = {}
        # Publishes that may be returned, the oldest first, by what a return says of them.
        self.returnable: dict[tuple[object, ...], deque[int]] = {}
        # By its unit: side (True: the client) and identifier of each file.open and file.open-ok that waits for its
        # file.stage.
        self.opened: dict[int, tuple[bool, str]] = {}
        # By side and identifier: the content that was staged.
        self.staged: dict[tuple[bool, str], Content] = {}
        # By side and identifier: the message whose content is still to come.
        self.wanted: dict[tuple[bool, str], int] = {}
        # Whether tx.select came.
        self.transacted = False
        # What the open transaction holds back.
        self.transaction = Work()
        # The transactions whose tx.commit (True) or tx.rollback isn't completed, by its id.
        self.ending: OpenIds[tuple[bool, Work]] = OpenIds()
        # Whether dtx.select came.
        self.distributed = False
        # The session's parts of branches.
        self.parts: dict[Xid, Work] = {}
        # The one that it's associated with.
        self.branch: Xid | None = None
        # Whether it may be associated with another one.
        self.unsure = False
        # Accepts in transactions that the deliveries pay for.
        self.allowance = 0

    @property
    def place(self) -> Work:
        """The transaction or part of a branch that the client's messages and acceptances belong to; else itself."""
        if self.transacted:
            return self.transaction
        part = None if self.branch is None else self.parts.get(self.branch)
        return self if part is None else part

    def check_all(self, where: str, limits: Limits) -> None:
        """Check the messages, wherever they wait, and what is known for them. Raises AssertionError."""
        works: list[Work] = [self, self.transaction, *[work for _, work in self.ending.values()], *self.parts.values()]
        for work in works:
            work.check(where, limits)
        ensure(len(self.given) <= limits.unsettled, where, "`Limits.unsettled` bounds what is given", len(self.given))
        units = [*self.given.values(), *[unit for work in works for unit in work.units]]
        ensure(len(units) == len(set(units)), where, "a message waits in one place", units)
        count = max(len(self.subscriptions), len(self.consumers))
        ensure(count <= limits.consumers, where, "`Limits.consumers` bounds subscriptions and consumers", count)
        waiting = (self.returnable, self.opened, self.staged, self.wanted, self.ending)
        count = max([len(each) for each in waiting])
        ensure(count <= limits.calls, where, "`Limits.calls` bounds what waits for an answer", count)

    def published(self) -> list[OpenIds[int]]:
        """The client's open messages, wherever they wait."""
        ending = [work for _, work in self.ending.values()]
        return [work.publishes for work in (self, *ending, self.transaction, *self.parts.values())]

    def named_files(self, tag: int | None, multiple: bool | None) -> list[int]:
        """The tags of open files that a tag names, with `multiple` all up to it; 0 is all (class 9, file.ack)."""
        if not multiple:
            return [tag] if tag is not None and tag in self.files else []
        found: list[int] = []
        for each in self.files:
            if not tag or each <= tag:
                found.append(each)
            elif self.ordered:
                break
        return found

    def returned(self, key: tuple[object, ...]) -> int | None:
        """The oldest open publish that fits a return; it isn't open any more."""
        numbers = self.returnable.get(key, deque())
        places = self.published()
        while numbers:
            number = numbers.popleft()
            for waiting in places:
                if number in waiting:
                    return waiting.pop(number)
        self.returnable.pop(key, None)
        return None

    def undecided(self) -> list[int]:
        """Forget the transactions, as nobody will say how they end; their messages."""
        works = [self.transaction, *[work for _, work in self.ending.values()]]
        self.transaction = Work()
        self.ending.clear()
        return [unit for work in works for unit in work.units]

    def flush(self) -> list[int]:
        """Nothing settles the session's messages any more, but those of branches that may still be committed."""
        units = [*self.undecided(), *self.units, *self.given.values()]
        for waiting in (self.publishes, self.deliveries, self.given, self.files):
            waiting.clear()
        self.subscriptions = {}
        self.consumers = {}
        self.returnable = {}
        self.opened = {}
        self.staged = {}
        self.wanted = {}
        self.branch = None
        return sorted(units)


class Unrecorded:
    """The open messages where no records are wanted: there are none. `OpenMessages` says what each step means."""

    __slots__ = ()

    def take_settled(self) -> Settlements:
        return ()

    def lost(self, client: bool) -> Settlements:
        return ()

    def session_on(self, channel: int) -> SessionMessages | None:
        """The messages of the session that a channel has now."""
        return None

    def attach(self, channel: int, name: bytes | None) -> None:
        """No message is open."""

    def detached(self, channel: int) -> None:
        """No message is open."""

    def completed(self, channel: int, client: bool, commands: SequenceSet) -> None:
        """No message is open."""

    def concerns(self, name: str) -> bool:
        return False

    def take(self, channel: int, step: Step) -> Context | None:
        return None

    def check(self) -> None:
        """No message is open."""


class OpenMessages(Unrecorded):
    """The open messages of one connection, by channel. `settled` is what becomes of messages, for the next unit to say.

    `branches` are the sessions that have parts of a branch, which may be gone; `branched` is at least the number of
    messages in them. `resolving` are name and branch of the dtx.prepare, dtx.commit and dtx.rollback without a result,
    by their units.
    """

    __slots__ = ("branched", "branches", "limits", "resolving", "sessions", "settled")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.settled: list[Settlement] = []
        self.sessions: dict[int, SessionMessages] = {}
        self.branches: dict[Xid, list[SessionMessages]] = {}
        self.branched = 0
        self.resolving: dict[int, tuple[str, Xid]] = {}

    def check(self) -> None:
        """Check that open messages are bounded, and the branches that hold some back. Raises AssertionError."""
        limits, where = self.limits, "the open messages"
        ensure(len(self.sessions) <= limits.channels, where, "`Limits.channels` bounds sessions", len(self.sessions))
        for channel, session in self.sessions.items():
            session.check_all(f"the messages of the session on channel {channel}", limits)
            strange = [xid for xid in session.parts if session not in self.branches.get(xid, ())]
            ensure(not strange, where, "each part of a session is one of a branch", strange)
        count = max(len(self.branches), len(self.resolving))
        ensure(count <= limits.calls, where, "`Limits.calls` bounds branches and what ends them", count)
        parts = [each.parts.get(xid) for xid, sessions in self.branches.items() for each in sessions]
        ensure(None not in parts, where, "each session of a branch has a part of it", len(parts))
        held = sum([len(each.units) for each in parts if each is not None])
        ensure(held <= self.branched, where, "`branched` is at least the messages in branches", self.branched, held)
        most = limits.unconfirmed
        ensure(self.branched <= most, where, "`Limits.unconfirmed` bounds `branched`", self.branched)

    def take_settled(self) -> Settlements:
        """Take the settlements since the last unit."""
        settled = self.settled
        if not settled:
            return ()
        self.settled = []
        return tuple(settled)

    def lost(self, client: bool) -> Settlements:
        """Octets of a side became no unit: what belongs to a transaction isn't sure any more."""
        if client:
            for session in self.sessions.values():
                self._end(session.undecided())
                session.unsure = session.distributed
                session.branch = None
            for xid in list(self.branches):
                self._drop_branch(xid)
            self.branched = 0
        return self.take_settled()

    # Sessions.

    def session_on(self, channel: int) -> SessionMessages | None:
        return self.sessions.get(channel)

    def attach(self, channel: int, name: bytes | None) -> None:
        """session.attach or session.attached."""
        before = self.sessions.get(channel)
        if before is None or before.name != name:
            self.detached(channel)
            self._keep(channel, SessionMessages(name))

    def detached(self, channel: int) -> None:
        """The session is gone from its channel."""
        session = self.sessions.pop(channel, None)
        if session is not None:
            self._end(session.flush())

    def _keep(self, channel: int, session: SessionMessages) -> SessionMessages:
        self.sessions[channel] = session
        for oldest in trim(self.sessions, self.limits.channels).values():
            self._end(oldest.flush())
        return session

    def completed(self, channel: int, client: bool, commands: SequenceSet) -> None:
        """The commands of the other side that are done (part 1 section 3.2.3)."""
        session = self.sessions.get(channel)
        if session is None:
            return
        if client:
            self._settle(_taken(session.given, commands), "settled")
            return
        self._settle(_taken(session.publishes, commands), "accepted")
        for number in session.ending.named(commands):
            self._end_transaction(session, *session.ending.pop(number))

    # Commands.

    def concerns(self, name: str) -> bool:
        """Whether the command of this name concerns messages."""
        return name in self._FOLLOW

    def take(self, channel: int, step: Step) -> Context | None:
        """Take such a command; what is known of its message by what came before it."""
        session = self.sessions.get(channel)
        if session is None:
            # It's assumed to be attached when that wasn't seen.
            session = self._keep(channel, SessionMessages(None))
        return self._FOLLOW[step.command.NAME](self, session, step)

    def _put(self, waiting: dict[int, int], number: int, unit: int, most: int) -> None:
        """A message is open; at most `most` are."""
        before = waiting.pop(number, None)
        if before is not None:
            self._end((before,))
        if isinstance(waiting, OpenIds):
            waiting.add(number, unit)
        else:
            waiting[number] = unit
        self._bound_to(waiting, most)

    def _end(self, units: Iterable[int]) -> None:
        """Nothing settles messages any more."""
        self.settled += [(unit, None, ENDED) for unit in units]

    def _settle(self, units: Iterable[int], word: str) -> None:
        """The unit at hand settles messages."""
        self.settled += [(unit, word, SETTLED) for unit in units]

    # Messages of the client.

    def _transfer(self, session: SessionMessages, step: Step) -> Context:
        if step.client:
            self._publish(session, step)
            return session.context
        command, number = step.command, step.number
        unsubscribed = session.context, 0
        context, mode = session.subscriptions.get(command.destination or "", unsubscribed)
        if command.accept_mode is not None:
            mode = command.accept_mode
        if mode == NONE:
            self._give(session, step)
        elif number is None:
            self.settled += OPEN_FOR_GOOD
        else:
            session.allowance += EACH
            self._put(session.deliveries, number, step.unit, self.limits.unsettled)
        return context

    def _publish(self, session: SessionMessages, step: Step, *, streamed: bool = False) -> None:
        """A message of the client waits for its completion, or, unless `streamed`, for the end of its transaction."""
        if step.number is None or (session.unsure and not streamed):
            self.settled += OPEN_FOR_GOOD
            return
        place = session if streamed else session.place
        self._put(place.publishes, step.number, step.unit, self.limits.unconfirmed)
        if place is not session and not session.transacted:
            self._bound_branches(1)

    def _file_publish(self, session: SessionMessages, step: Step) -> Context:
        content = self._staged_content(session, step, wants=step.number is not None)
        self._publish(session, step)
        self._may_return(session, step, content)
        return (session.context[0], None, content)

    def _stream_publish(self, session: SessionMessages, step: Step) -> Context:
        self._publish(session, step, streamed=True)
        self._may_return(session, step, step.content)
        return session.context

    def _may_return(self, session: SessionMessages, step: Step, content: Content | None) -> None:
        """Remember a publish that asks to be returned, for as long as it's open."""
        command = step.command
        if step.number is None or not (command.mandatory or command.immediate):
            return
        numbers = session.returnable.setdefault(_return_key(command, content), deque())
        places = session.published()
        while numbers and not any([numbers[0] in waiting for waiting in places]):
            numbers.popleft()
        numbers.append(step.number)
        trim(session.returnable, self.limits.calls)

    def _return(self, session: SessionMessages, step: Step) -> Context:
        """A message comes back: it's the oldest open publish like it, whose content may not have been staged here."""
        publish = session.returned(_return_key(step.command, step.content))
        if publish is None:
            publish = session.returned(_return_key(step.command, None))
        if publish is not None:
            self._settle((publish,), "returned")
        self.settled += AT_ONCE
        return session.context

    # Messages of the server.

    def _subscribe(self, session: SessionMessages, step: Step) -> None:
        command = step.command
        context = (session.context[0], command.queue, None)
        session.subscriptions[command.destination or ""] = context, command.accept_mode or 0
        trim(session.subscriptions, self.limits.consumers)

    def _cancel(self, session: SessionMessages, step: Step) -> None:
        session.subscriptions.pop(step.command.destination or "", None)

    def _consume(self, session: SessionMessages, step: Step) -> None:
        """Cancelled, a consumer stays known: messages may be on their way."""
        command = step.command
        key = (command.NAME.partition(".")[0], command.consumer_tag or "")
        session.consumers.pop(key, None)
        session.consumers[key] = (command.queue, bool(getattr(command, "no_ack", True)))
        trim(session.consumers, self.limits.consumers)

    def _file_deliver(self, session: SessionMessages, step: Step) -> Context:
        command = step.command
        tag: int | None = command.delivery_tag
        queue, no_ack = session.consumers.get(("file", command.consumer_tag or ""), (None, False))
        content = self._staged_content(session, step, wants=(step.number if no_ack else tag) is not None)
        if no_ack:
            self._give(session, step)
        elif tag is None:
            self.settled += OPEN_FOR_GOOD
        else:
            session.ordered = session.ordered and tag > session.last_tag
            session.last_tag = tag
            self._put(session.files, tag, step.unit, self.limits.unsettled)
        return (session.context[0], queue, content)

    def _stream_deliver(self, session: SessionMessages, step: Step) -> Context:
        command = step.command
        queue, _ = session.consumers.get(("stream", command.consumer_tag or ""), (None, True))
        self._give(session, step)
        return (session.context[0], queue or command.queue, None)

    def _give(self, session: SessionMessages, step: Step) -> None:
        """A delivery that waits for nothing but its completion."""
        if step.number is None:
            self.settled += AT_ONCE
        else:
            self.settled.append((None, "settled", TOLD))
            self._put(session.given, step.number, step.unit, self.limits.unsettled)

    # Staging: a file and the command that publishes or delivers it have the same identifier, whichever comes first.

    def _open(self, session: SessionMessages, step: Step) -> None:
        key = (step.client, step.command.identifier or "")
        session.opened[step.unit] = key
        trim(session.opened, self.limits.calls)
        # A message that already waits for such a content belongs to an earlier file.
        session.wanted.pop(key, None)

    def _open_ok(self, session: SessionMessages, step: Step) -> None:
        key = None if step.answers is None else session.opened.pop(step.answers, None)
        if key is not None:
            session.opened[step.unit] = key

    def _stage(self, session: SessionMessages, step: Step) -> None:
        key = None if step.answers is None else session.opened.pop(step.answers, None)
        if key is None:
            return
        unit = session.wanted.pop(key, None)
        if unit is not None:
            self.settled.append((unit, None, STAGED))
            return
        session.staged.pop(key, None)
        session.staged[key] = step.content
        trim(session.staged, self.limits.calls)

    def _staged_content(self, session: SessionMessages, step: Step, *, wants: bool) -> Content | None:
        """The content that was staged for a command; without it the message may wait for it, if it `wants`."""
        key = (step.client, step.command.identifier or "")
        content = session.staged.pop(key, None)
        if content is None and wants:
            session.wanted[key] = step.unit
            trim(session.wanted, self.limits.calls)
        return content

    # Settlement.

    def _accept(self, session: SessionMessages, step: Step) -> None:
        transfers = step.command.transfers
        if not transfers:
            return
        if not step.client:
            # Messages in a transaction settle when it ends.
            self._settle(_taken(session.publishes, transfers), "accepted")
            return
        waiting = session.deliveries
        self._consumed(session, waiting, waiting.named(transfers), session.place.deliveries)

    def _ack(self, session: SessionMessages, step: Step) -> None:
        if step.client:
            tags = session.named_files(step.command.delivery_tag, step.command.multiple)
            self._consumed(session, session.files, tags, session.place.files)

    def _consumed(
        self, session: SessionMessages, waiting: dict[int, int], numbers: list[int], held: dict[int, int]
    ) -> None:
        """The client accepts deliveries; a transaction or branch has them `held`, elsewhere, until it ends."""
        lost = session.unsure
        if held is not waiting and len(numbers) > FREE:
            # Rolled back time and again, deliveries cost more than they are worth (`Transfers.check_paid`).
            session.allowance -= len(numbers)
            lost = lost or session.allowance < 0
        if lost:
            self._end([waiting.pop(number) for number in numbers])
        elif held is waiting:
            self._settle([waiting.pop(number) for number in numbers], "accepted")
        else:
            for number in numbers:
                self._put(held, number, waiting.pop(number), self.limits.unsettled)
            if not session.transacted:
                self._bound_branches(len(numbers))

    def _take_back(self, session: SessionMessages, step: Step) -> None:
        """message.release and message.reject: at once, in a transaction too, except for what it has accepted."""
        word = "released" if step.command.NAME == "message.release" else "rejected"
        transfers = step.command.transfers
        if transfers:
            work = session.place
            if step.client and work is not session:
                work.deferred += [(unit, word) for unit in _taken(work.deliveries, transfers)]
                above = max(0, len(work.deferred) - self.limits.unsettled)
                self._end([unit for unit, _ in work.deferred[:above]])
                del work.deferred[:above]
            for waiting in [session.deliveries] if step.client else session.published():
                self._settle(_taken(waiting, transfers), word)

    def _file_reject(self, session: SessionMessages, step: Step) -> None:
        if step.client:
            tags = session.named_files(step.command.delivery_tag, multiple=False)
            word = "released" if step.command.requeue else "rejected"
            self._settle([session.files.pop(tag) for tag in tags], word)

    def _exception(self, session: SessionMessages, step: Step) -> None:
        """A command has failed: when it's a message's, that's its end (part 1 section 3.4.1.3)."""
        number: int | None = step.command.command_id
        if step.client or number is None:
            return
        for waiting in session.published():
            if number in waiting:
                self._settle((waiting.pop(number),), "rejected")
                return

    # Standard transactions (class 5).

    def _select(self, session: SessionMessages, step: Step) -> None:
        session.transacted = True

    def _end_asked(self, session: SessionMessages, step: Step) -> None:
        """tx.commit or tx.rollback: what follows belongs to the next transaction."""
        session.transacted = True
        if step.number is None:
            self._end(session.undecided())
            return
        _, before = session.ending.pop(step.number, (False, Work()))
        self._end(before.units)
        session.ending[step.number] = (step.command.NAME == "tx.commit", session.transaction)
        session.transaction = Work()
        for _, oldest in trim(session.ending, self.limits.calls).values():
            self._end(oldest.units)

    def _end_transaction(self, session: SessionMessages, committed: bool, work: Work) -> None:
        """It's over; after a rollback its deliveries are open again (class 5, tx.rollback)."""
        if committed:
            self._settle(work.units, "accepted")
            return
        self._settle(work.publishes.values(), "released")
        for unit, word in work.deferred:
            self._settle((unit,), word)
        self._reopen(session.deliveries, work.deliveries)
        self._reopen(session.files, work.files)

    def _reopen(self, waiting: dict[int, int], held: dict[int, int]) -> None:
        """Deliveries wait again, in the order in which they came, but for those whose number another one has now."""
        back = {number: unit for number, unit in held.items() if number not in waiting}
        self._end([unit for number, unit in held.items() if number in waiting])
        if isinstance(waiting, OpenIds):
            waiting.put_back(back)
        elif back:
            ordered = sorted({**back, **waiting}.items(), key=lambda item: item[1])
            waiting.clear()
            waiting.update(ordered)
        self._bound_to(waiting, self.limits.unsettled)

    def _bound_to(self, waiting: dict[int, int], most: int) -> None:
        """The oldest messages end where more than `most` are open, a 64th of them at once."""
        while len(waiting) > most:
            count = max(1, most // 64)
            if isinstance(waiting, OpenIds):
                self._end(waiting.pop_oldest(count))
            else:
                self._end([waiting.pop(number) for number in tuple(islice(waiting, count))])

    # Branches of distributed transactions (class 6). One may have parts in several sessions of the connection; it ends
    # where its dtx.commit or dtx.rollback has a result, on whichever of them that is.

    def _select_dtx(self, session: SessionMessages, step: Step) -> None:
        session.distributed = True

    def _start(self, session: SessionMessages, step: Step) -> None:
        """From now on the session works for a branch."""
        xid: Xid | None = step.command.xid
        if not step.client or xid is None:
            return
        session.unsure = False
        session.distributed = True
        session.branch = xid
        if xid in session.parts:
            return
        session.parts[xid] = Work()
        self.branches.setdefault(xid, []).append(session)
        if len(self.branches) > self.limits.calls:
            self._drop_branch(next(iter(self.branches)))

    def _stop(self, session: SessionMessages, step: Step) -> None:
        """dtx.end: what follows belongs to no branch."""
        if step.client:
            session.unsure = False
            session.branch = None

    def _resolve(self, session: SessionMessages, step: Step) -> None:
        """The end of a branch is asked for; the result says whether it's so."""
        xid: Xid | None = step.command.xid
        if step.client and xid is not None and xid in self.branches:
            self.resolving[step.unit] = (step.command.NAME, xid)
            trim(self.resolving, self.limits.calls)

    def _result(self, session: SessionMessages, step: Step) -> None:
        asked = None if step.answers is None else self.resolving.pop(step.answers, None)
        status = getattr(step.command.value, "status", None)
        if asked is None or status is None:
            return
        name, xid = asked
        if status != _OK:
            self._end_branch(xid, _ENDS.get(status))
        elif name != "dtx.prepare":
            self._end_branch(xid, "released" if name == "dtx.rollback" else "accepted")

    def _forget(self, session: SessionMessages, step: Step) -> None:
        xid: Xid | None = step.command.xid
        if step.client and xid is not None:
            self._end_branch(xid, None)

    def _end_branch(self, xid: Xid, word: str | None) -> None:
        """A branch is over: rolled back, what it consumed goes to its queues again (class 6, dtx.rollback)."""
        units = sorted([unit for _, part in self._take_parts(xid) for unit in part.units])
        if word is None:
            self._end(units)
        else:
            self._settle(units, word)

    def _take_parts(self, xid: Xid) -> list[tuple[SessionMessages, Work]]:
        """The parts of a branch, which isn't known any more, with their sessions."""
        return [(each, each.parts.pop(xid)) for each in self.branches.pop(xid, ()) if xid in each.parts]

    def _drop_branch(self, xid: Xid) -> int:
        """Nobody will say how a branch ends; the number of its messages."""
        dropped = 0
        for session, part in self._take_parts(xid):
            self._end(part.units)
            dropped += len(part.units)
            if session.branch == xid:
                # Its work goes on, and the oldest of it is forgotten.
                session.parts[xid] = Work()
                self.branches.setdefault(xid, []).append(session)
        return dropped

    def _bound_branches(self, more: int) -> None:
        """`more` messages have come into branches, which hold no more together than one session may."""
        self.branched += more
        most = self.limits.unconfirmed
        if self.branched <= most:
            return
        # Messages that have left their branch are still in the count.
        parts = [session.parts.get(xid) for xid, sessions in self.branches.items() for session in sessions]
        self.branched = sum([len(part.units) for part in parts if part is not None])
        while self.branched > most:
            self.branched -= self._drop_branch(next(iter(self.branches)))

    _FOLLOW: ClassVar[Mapping[str, Callable[..., Context | None]]] = {
        "message.transfer": _transfer,
        "message.subscribe": _subscribe,
        "message.cancel": _cancel,
        "message.accept": _accept,
        "message.release": _take_back,
        "message.reject": _take_back,
        "execution.exception": _exception,
        "execution.result": _result,
        "tx.select": _select,
        "tx.commit": _end_asked,
        "tx.rollback": _end_asked,
        "dtx.select": _select_dtx,
        "dtx.start": _start,
        "dtx.end": _stop,
        "dtx.prepare": _resolve,
        "dtx.commit": _resolve,
        "dtx.rollback": _resolve,
        "dtx.forget": _forget,
        "file.open": _open,
        "file.open-ok": _open_ok,
        "file.stage": _stage,
        "file.publish": _file_publish,
        "file.consume": _consume,
        "file.deliver": _file_deliver,
        "file.return": _return,
        "file.ack": _ack,
        "file.reject": _file_reject,
        "stream.publish": _stream_publish,
        "stream.consume": _consume,
        "stream.deliver": _stream_deliver,
        "stream.return": _return,
    }
    """The handler of each command that concerns messages, by its name."""


def _taken(waiting: OpenIds[int], commands: SequenceSet) -> list[int]:
    """The open messages that ids name; they aren't open any more."""
    return [waiting.pop(number) for number in waiting.named(commands)]


def _return_key(command: Any, content: Content | None) -> tuple[object, ...]:
    """The fields of a return that name its message, with the content where that was known."""
    key = (command.exchange or "", command.routing_key or "")
    return key if content is None else (*key, *content[1:])
