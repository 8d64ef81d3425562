"""Sessions of the broker, attached or not, with their work, and the register of all of them (0-10 class 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...._ground.invariants import ensure
from ....amqp_0_10.codec.dialect import Dialect
from ....amqp_0_10.model.dtx import Branches
from ....amqp_0_10.model.execution import UNAUTHORIZED_ACCESS, ExecutionError
from ....amqp_0_10.model.open_ids import OpenIds
from ....errors import EndpointClosed, LimitExceeded
from ...model.commands import Begin, ChangeWindows, CloseOwner, Commit, Outcome, Rollback, Settle, SetWindow
from ...model.consumer import Window
from ...model.states import State
from ..frontend import Alarm, Frontend, Lasting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ....amqp_0_10.codec.records import FilePublish, Xid
    from ....amqp_0_10.codec.sequence_set import SequenceSet
    from ....amqp_0_10.codec.structs import Struct
    from ....amqp_0_10.endpoint.connection import Connection
    from ....amqp_0_10.endpoint.session import Session
    from ....amqp_0_10.endpoint.session_state import SessionState
    from ....events import Pending
    from ...model.consumer import Consumer
    from ...model.entry import Entry
    from ...model.owner import Owner, Transaction
    from ..frontend import HubContext
    from .content_classes import FileContent, TransferMeasure

Key: TypeAlias = tuple[str, str, bytes]
"""Virtual host, user and name: the same name of another user is another session."""

MOST_KEPT: Final = 10_000
"""Detached sessions that are kept; when there are more, the one that would end first does."""
_LABEL: Final = "0-10"
_FEW: Final = 64
FILE_OCTETS: Final = 512
"""Octets counted for a file on top of its content, so that an empty one counts too."""
_UNTOLD: Final = 128
"""Messages that the engine must have room for: more than clients complete without being asked."""
_UNSURE: Final = ("EXTERNAL",)
"""Mechanisms whose user the engine doesn't know, because the certificate names it."""
Result: TypeAlias = "Struct | Answer | None"
"""The command's result, None for one that has none; or why it isn't completed now."""
Execute: TypeAlias = "Callable[[SessionFrontend, ServedSession, Any, Any], Result]"
"""Executes a command."""


class Answer(Enum):
    """The command must not be completed now."""

    GIVEN = "given"
    """It was rejected."""
    LATER = "later"
    """It waits for another command."""


class Work:
    """A transaction, with the messages that a rollback gives back to the sessions that accepted them.

    `accepted` maps the numbers of session owners to sessions with the transfers that they accepted, by command id;
    `deferred` are settlements of some of them that came later, which a rollback carries out; `files` are acknowledged
    or rejected files: their tags can't be used again, so a rollback returns them to their queues.
    """

    __slots__ = ("accepted", "deferred", "files", "transaction")

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.accepted: dict[int, tuple[ServedSession, OpenIds[Entry]]] = {}
        self.deferred: list[Settle] = []
        self.files: list[Entry] = []

    def accept(self, session: ServedSession, entries: dict[int, Entry]) -> None:
        """Record accepted transfers."""
        _, accepted = self.accepted.setdefault(session.owner.number, (session, OpenIds()))
        for number, entry in entries.items():
            accepted.add(number, entry)

    def defer(self, session: ServedSession, ids: SequenceSet, outcome: Outcome, *, redelivered: bool) -> None:
        """Settle otherwise what the session has accepted, once the transaction is rolled back."""
        _, accepted = self.accepted.get(session.owner.number, (session, None))
        entries = tuple([accepted.pop(number) for number in accepted.named(ids)]) if accepted else ()
        if entries:
            self.deferred.append(Settle(session.owner, entries, outcome, redelivered=redelivered))

    def commit(self, hub: HubContext) -> None:
        """Commit the transaction."""
        hub.apply(Commit(self.transaction))

    def roll_back(self, hub: HubContext) -> None:
        """Roll back the transaction."""
        hub.apply(Rollback(self.transaction))
        for each in self.deferred:
            kept = tuple([entry for entry in each.entries if entry.owner is each.owner])
            if kept:
                hub.apply(Settle(each.owner, kept, each.outcome, redelivered=each.redelivered))
        for entry in self.files:
            if entry.owner is not None:
                hub.apply(Settle(entry.owner, (entry,), Outcome.RELEASE, redelivered=True))


class Book:
    """The transaction branches of a virtual host, and the work done for each."""

    __slots__ = ("branches", "vhost", "works")

    def __init__(self, vhost: str, branches: Branches) -> None:
        self.vhost = vhost
        self.branches = branches
        self.works: dict[Xid, Work] = {}

    def work(self, hub: HubContext, owner: int) -> Work | None:
        """Return the work of a session's current branch; None: the session isn't in one."""
        xid = self.branches.current(owner)
        if xid is None:
            return None
        found = self.works.get(xid)
        if found is None:
            # It outlives the sessions that work for it.
            found = self.works[xid] = Work(hub.apply(Begin(None, self.vhost)))
        self.branches.mark_work(owner)
        return found

    def decide(self, hub: HubContext) -> list[tuple[Xid, bool, list[ServedSession]]]:
        """Commit and roll back decided branches; return each with its outcome and the sessions that took part.

        Messages consumed in a rolled-back branch return to their queues (class 6, dtx.rollback).
        """
        found: list[tuple[Xid, bool, list[ServedSession]]] = []
        for xid, outcome in self.branches.take_outcomes():
            work = self.works.pop(xid, None)
            if work is None:
                continue
            committed = outcome == "committed"
            if committed:
                work.commit(hub)
            else:
                work.roll_back(hub)
            sessions: list[ServedSession] = []
            for session, entries in work.accepted.values():
                if session.is_over:
                    continue
                sessions.append(session)
                for entry in entries.values():
                    if not committed and entry.owner is session.owner:
                        hub.apply(Settle(session.owner, (entry,), Outcome.RELEASE, redelivered=True))
            found.append((xid, committed, sessions))
        return found


class Desk:
    """`opened` are identifiers of files that the client is about to stage; `staged` are the complete files, with
    `octets` in total; `awaiting` are publishes of files that aren't complete, with their command ids.

    `sending` are deliveries whose client was asked to accept the file, `unacked` those without an ack, by delivery tag.
    `window` is the prefetch shared by all its file consumers.
    """

    __slots__ = ("awaiting", "octets", "opened", "sending", "staged", "tags", "unacked", "window")

    def __init__(self) -> None:
        self.opened: deque[str] = deque()
        self.staged: dict[str, FileContent] = {}
        self.octets = 0
        self.awaiting: dict[str, list[tuple[FilePublish, int]]] = {}
        self.sending: deque[tuple[Subscription, Entry]] = deque()
        self.unacked: dict[int, Entry] = {}
        self.tags = 0
        self.window = Window(refills=True)

    def new_tag(self) -> int:
        """Return a delivery tag; never 0 (file.deliver, non-zero)."""
        self.tags += 1
        return self.tags

    def put(self, identifier: str, content: FileContent) -> None:
        """Store a complete file."""
        self.drop(identifier)
        self.staged[identifier] = content
        self.octets += content.octets + FILE_OCTETS

    def check(self, where: object) -> None:
        """Check that the octets of complete files are counted. For tests; raises AssertionError."""
        octets = sum([each.octets + FILE_OCTETS for each in self.staged.values()])
        ensure(self.octets == octets, where, "`octets` counts the complete files", self.octets, octets)

    def drop(self, identifier: str) -> FileContent | None:
        """Remove and return a file; None if there is none of that name."""
        content = self.staged.pop(identifier, None)
        if content is not None:
            self.octets -= content.octets + FILE_OCTETS
        return content


class Subscription:
    """A subscription (message.subscribe), or a consumer of the file or stream class, by `kind`.

    `name` is its destination or tag. `window` is its credit, for files the session's prefetch. `settles`: what was sent
    is settled (accept-mode none, no-ack). `keeps_local` is false when what its own connection publishes is thrown away.
    """

    __slots__ = ("accept_mode", "acquire_mode", "consumer", "keeps_local", "kind", "measure", "name", "window")

    def __init__(
        self,
        kind: str,
        name: str,
        consumer: Consumer,
        window: Window,
        measure: TransferMeasure,
        *,
        accept_mode: int = 0,
        acquire_mode: int = 0,
        keeps_local: bool = True,
    ) -> None:
        self.kind = kind
        self.name = name
        self.consumer = consumer
        self.window = window
        self.measure = measure
        self.accept_mode = accept_mode
        self.acquire_mode = acquire_mode
        self.keeps_local = keeps_local


class ServedSession:
    """One session: what it has in the model, and its connection.

    `front` and `core` are the connection and the engine's session while it is attached; `state` is the engine's state
    from its last detach. `gate` is open while it is attached and the engine takes deliveries.

    By command id, `delivered` are messages waiting to be accepted, rejected or released, `seen` those shown without
    being acquired, which the client may acquire. `taken` are publishes to accept, which are completed already;
    `accepting` is the last message.accept that asked for its completion. `late` are the results of commands that were
    executed while it was detached.
    """

    __slots__ = (
        "accepting",
        "acquiring",
        "core",
        "decisions",
        "delivered",
        "desk",
        "flushing",
        "front",
        "gate",
        "is_held",
        "is_over",
        "key",
        "late",
        "most_seen",
        "owner",
        "refused",
        "seen",
        "state",
        "subscriptions",
        "taken",
        "users",
        "was_held",
        "work",
    )

    def __init__(self, key: Key, owner: Owner) -> None:
        self.key = key
        self.owner = owner
        self.front: SessionFrontend | None = None
        self.core: Session | None = None
        self.state: SessionState | None = None
        self.gate = Window(0)
        self.subscriptions: dict[tuple[str, str], Subscription] = {}
        """By kind and name."""
        self.users: dict[int, Subscription] = {}
        """The same by the numbers of their consumers in the model."""
        self.delivered: OpenIds[Entry] = OpenIds()
        self.seen: OpenIds[Entry] = OpenIds()
        self.most_seen = _FEW
        self.flushing: dict[int, str] = {}
        """Incomplete message.flush commands, whose clients have much to read first."""
        self.taken: list[int] = []
        self.accepting: Pending[None] | None = None
        self.acquiring: tuple[list[tuple[Entry, int]], list[int]] | None = None
        """A message.acquire that is in progress: the messages that it still asks for, the last first, and the command
        ids that it has acquired."""
        self.late: dict[int, Struct | None] = {}
        self.refused: dict[int, tuple[int, str]] = {}
        """Publishes that couldn't be rejected because it was detached: code and text."""
        self.work: Work | None = None
        """The standard transaction (tx.select)."""
        self.decisions: list[tuple[Xid, bool]] = []
        """Branches that ended while it was detached, and whether they were committed."""
        self.desk = Desk()
        self.is_held = False
        self.was_held = False
        self.is_over = False

    def is_local(self, publisher: int) -> bool:
        """Whether a message was published by a session of its connection."""
        front = self.front
        return publisher == self.owner.number or (front is not None and publisher in front.owned)

    def windows(self, window: Window) -> tuple[Window, ...]:
        """Return all windows that a delivery needs room in."""
        front = self.front
        return (window, self.gate) if front is None else (window, self.gate, front.gate)

    def see(self, number: int, entry: Entry) -> None:
        """Record a message that was shown. Occasionally removes entries that are gone."""
        self.seen[number] = entry
        if len(self.seen) > self.most_seen:
            for each in [each for each, one in self.seen.items() if one.state is State.ARCHIVED]:
                del self.seen[each]
            self.most_seen = 2 * len(self.seen) + _FEW

    def add(self, subscription: Subscription) -> None:
        """Add a subscription."""
        self.subscriptions[subscription.kind, subscription.name] = subscription
        self.users[subscription.consumer.number] = subscription

    def remove(self, kind: str, name: str) -> Subscription | None:
        """Remove a subscription."""
        found = self.subscriptions.pop((kind, name), None)
        if found is not None:
            del self.users[found.consumer.number]
        return found

    def check(self, works: Iterable[Work | None]) -> None:
        """Check that subscriptions are the model's, and that what the owner holds is known here; `works` are those that
        may have settled some. For tests; raises AssertionError."""
        ensure(not self.is_over, self, "no session is known that is over")
        attached = (self.front is None) == (self.core is None)
        ensure(attached, self, "both connection and engine have it, or none")
        numbers = {each.consumer.number for each in self.subscriptions.values()}
        ensure(set(self.users) == numbers, self, "`users` has each subscription", set(self.users), numbers)
        strange = set(self.owner.consumers) - numbers
        ensure(not strange, self, "each consumer of the model is a subscription", strange)
        decided = [entry for work in (self.work, *works) if work is not None for entry in work.files]
        desk = self.desk
        mine = {*self.delivered.values(), *desk.unacked.values(), *[each for _, each in desk.sending], *decided}
        lost = set(self.owner.held) - mine
        ensure(not lost, self, "what the owner holds was sent, or is about to be", lost)
        ensure(len(self.seen) <= self.most_seen, self, "`most_seen` bounds what was shown", len(self.seen))
        desk.check(self)
        core = self.core
        if core is None or self.front is None or self.owner.number in self.front.full or not core.is_attached:
            return
        for (kind, name), each in self.subscriptions.items():
            if kind == "message":
                given, left = core.credit(name), (each.window.messages, each.window.octets)
                ensure(left == given, self, "a subscription's window has its credit", name, left, given)

    def __repr__(self) -> str:
        where = "detached" if self.front is None else f"on connection {self.front.number}"
        return f"<Session {self.key[2]!r} of {self.key[1]!r}, {where}>"


class SessionFrontend(Frontend):
    """The half of the front end that sessions and commands use.

    `attached` are its sessions by channel, `owned` by the number of their owner in the model. In `full` are sessions
    whose engine takes no more deliveries at the moment, in `held` those told to stop publishing.
    """

    __slots__ = ("attached", "full", "held", "large", "owned", "register", "user")

    connection: Connection

    def __init__(self, hub: HubContext, number: int, connection: Connection) -> None:
        super().__init__(hub, number, connection)
        self.register: Register = register_of(hub)
        self.user = ""
        self.attached: dict[int, ServedSession] = {}
        self.owned: dict[int, ServedSession] = {}
        self.full: dict[int, ServedSession] = {}
        self.held: dict[int, ServedSession] = {}
        limits = connection.config.limits
        few = min(limits.replay, limits.calls) < 2 * _UNTOLD
        self.large = 0 if few else limits.replay_octets // _UNTOLD
        """Messages with more octets than this request their completion individually."""

    @property
    def is_qpid(self) -> bool:
        """Whether the behaviour of Qpid's brokers applies where it differs from the letter."""
        dialect: Dialect = self.connection.config.dialect
        return dialect is Dialect.QPID

    def owners(self) -> list[Owner]:
        """Return none: sessions may outlive the connection, so the register has their owners."""
        return []

    def check(self) -> None:
        """As every front end's, and that it knows its sessions."""
        super().check()
        for channel, session in self.attached.items():
            core = session.core
            ensure(session.front is self, self, "an attached session is this connection's", channel)
            placed = core is not None and core.channel == channel
            ensure(placed, self, "each session is kept by its channel", channel)
            ensure(self.register.known.get(session.key) is session, self, "each session is registered", session)
            ensure(self.owned.get(session.owner.number) is session, self, "each session is known by its owner", session)
        here = set(self.attached.values())
        for books in (self.owned, self.full, self.held):
            gone = [each for each in books.values() if each not in here]
            ensure(not gone, self, "sessions that are waited for are attached", gone)

    def complete(self, session: ServedSession, number: int, result: Struct | None = None) -> None:
        """Complete an executed command, or record that for when the session is resumed."""
        core = session.core
        if session.is_over or core is None:
            return
        try:
            core.complete(number, result)
        except EndpointClosed:
            session.late[number] = result

    def fail(
        self, session: ServedSession, error: ExecutionError, number: int | None = None, field: str | None = None
    ) -> None:
        """End a session with an exception, including everything it has in the model."""
        core = session.core
        if session.is_over:
            return
        self.accept_of(session)
        self.register.end(session)
        if core is not None:
            try:
                core.fail(error, number, field=field)
            except EndpointClosed:
                # The connection is gone: nobody can receive the exception.
                return

    def accept_next(self, session: ServedSession) -> None:
        """Accept the publishes of one session, unless its client still has to complete the accept before.

        So the publishes of one accept depend on the client's commands alone. If they depended on what a read brings, so
        would the ids of all later commands, which neither end sends (part 1 section 3.2).
        """
        if session.accepting is None or session.accepting.done:
            session.accepting = self.accept_of(session, sync=True)

    def accept_of(self, session: ServedSession, *, sync: bool = False) -> Pending[None] | None:
        """Accept the publishes of one session now; return its pending, None if nothing could be sent."""
        core = session.core
        if not session.taken or core is None:
            return None
        pending: Pending[None] | None = None
        try:
            pending = core.accept(*session.taken, sync=sync)
        except EndpointClosed:
            return None
        except LimitExceeded:
            # The client doesn't complete what it is sent; their completion says as much.
            pending = None
        session.taken.clear()
        return pending

    def check_user(self, user_id: bytes | None) -> None:
        """Check that a user-id is the user logged in, if only the broker knows that. Raises ExecutionError."""
        if user_id is not None and self.connection.mechanism in _UNSURE and user_id != self.user.encode():
            raise ExecutionError(
                UNAUTHORIZED_ACCESS,
                f"message.transfer with the user-id {user_id!r}, logged in is {self.user!r}",
                rule="0-10/message.message-properties/user-id",
            )


class Register(Lasting):
    """All sessions of a hub by key, deadlines of detached ones, and transaction branches of each virtual host."""

    __slots__ = ("_deadlines", "books", "hub", "known")

    def __init__(self, hub: HubContext) -> None:
        self.hub = hub
        self.known: dict[Key, ServedSession] = {}
        self.books: dict[str, Book] = {}
        self._deadlines: dict[Key, float | None] = {}

    def owners(self) -> list[Owner]:
        """Return those of all sessions, attached or not."""
        return [each.owner for each in self.known.values()]

    def check(self) -> None:
        """Check each session, and that a detached one has a deadline, or none for ever, and gets nothing."""
        ensure(len(self._deadlines) <= MOST_KEPT, "sessions", "few detached ones are kept", len(self._deadlines))
        works = [each for book in self.books.values() for each in book.works.values()]
        for key, session in self.known.items():
            ensure(session.key == key, "sessions", "each is kept by its key", key, session.key)
            session.check(works)
            detached = session.front is None
            ensure((key in self._deadlines) == detached, session, "a session has a deadline while it's detached")
            ensure(not detached or session.gate.messages == 0, session, "a detached session's gate is shut")
        strange = set(self._deadlines) - set(self.known)
        ensure(not strange, "sessions", "deadlines are those of sessions", strange)

    # Sessions.

    def attach(self, session: ServedSession, front: SessionFrontend, core: Session) -> None:
        """Attach a session to a connection, whose window its deliveries use."""
        self._deadlines.pop(session.key, None)
        self._watch_sessions()
        session.front = front
        session.core = core
        session.state = None
        front.attached[core.channel] = session
        front.owned[session.owner.number] = session
        self.hub.own(session.owner, front)
        self._change_windows(session)

    def detach(self, session: ServedSession, state: SessionState | None) -> None:
        """Detach a session. With a `state` it is kept for its timeout, otherwise it ends."""
        self._leave(session)
        timeout = 0 if state is None else state.timeout
        if timeout == 0:
            self.end(session)
            return
        session.state = state
        self._deadlines[session.key] = None if timeout is None else self.hub.now + timeout
        if len(self._deadlines) > MOST_KEPT:
            last = float("inf")
            first = min(self._deadlines, key=lambda each: self._deadlines[each] or last)
            self.end(self.known[first])
        self._watch_sessions()

    def end(self, session: ServedSession) -> None:
        """End a session, attached or not, and everything it has in the model."""
        if session.is_over:
            return
        session.is_over = True
        self._leave(session)
        if self.known.get(session.key) is session:
            del self.known[session.key]
            self._deadlines.pop(session.key, None)
            self._watch_sessions()
        book = self.books.get(session.owner.vhost.name)
        if book is not None:
            book.branches.close_session(session.owner.number)
        self.hub.apply(CloseOwner(session.owner))
        self.hub.disown(session.owner)
        if book is not None:
            self.decide(book)

    def expire(self) -> None:
        """End the detached sessions that are due."""
        now = self.hub.now
        for key in [key for key, each in self._deadlines.items() if each is not None and each <= now]:
            self.end(self.known[key])
        self._watch_sessions()

    def _leave(self, session: ServedSession) -> None:
        """Remove a session from its connection."""
        front, core = session.front, session.core
        if front is None or core is None:
            return
        self.hub.apply(SetWindow(session.gate, 0))
        if front.attached.get(core.channel) is session:
            del front.attached[core.channel]
        front.owned.pop(session.owner.number, None)
        front.full.pop(session.owner.number, None)
        front.held.pop(session.owner.number, None)
        # Flushes and file publishes come again on resuming.
        session.flushing.clear()
        session.desk.awaiting.clear()
        session.front = None
        session.core = None
        self.hub.own(session.owner, None)
        self._change_windows(session)

    def _change_windows(self, session: ServedSession) -> None:
        for each in session.subscriptions.values():
            if not each.consumer.is_cancelled:
                self.hub.apply(ChangeWindows(each.consumer, session.windows(each.window)))

    def _watch_sessions(self) -> None:
        deadlines = [each for each in self._deadlines.values() if each is not None]
        if deadlines:
            self.hub.set_alarm((_LABEL, "sessions"), min(deadlines), SessionAlarm())
        else:
            self.hub.clear_alarm((_LABEL, "sessions"))

    # Distributed transactions.

    def book(self, vhost: str) -> Book:
        """Return the branches of a virtual host."""
        found = self.books.get(vhost)
        if found is None:
            found = self.books[vhost] = Book(vhost, Branches())
        return found

    def decide(self, book: Book) -> None:
        """Commit or roll back decided branches, and tell the sessions that took part."""
        for xid, committed, owners in book.decide(self.hub):
            for session in owners:
                core = session.core
                if core is not None and core.is_attached:
                    core.decide(xid, committed=committed)
                else:
                    session.decisions.append((xid, committed))
        deadline = book.branches.next_deadline
        if deadline is None:
            self.hub.clear_alarm((_LABEL, "branches", book.vhost))
        else:
            self.hub.set_alarm((_LABEL, "branches", book.vhost), deadline, BranchAlarm(book.vhost))


class SessionAlarm(Alarm):
    """Alarm for the expiry of detached sessions."""

    __slots__ = ()

    def ring(self, hub: HubContext) -> None:
        """End the sessions that are due."""
        register_of(hub).expire()


class BranchAlarm(Alarm):
    """Alarm for the timeout of a transaction branch."""

    __slots__ = ("vhost",)

    def __init__(self, vhost: str) -> None:
        self.vhost = vhost

    def ring(self, hub: HubContext) -> None:
        """Time out the branches that are due."""
        register = register_of(hub)
        book = register.book(self.vhost)
        book.branches.handle_timeout(hub.now)
        register.decide(book)


def register_of(hub: HubContext) -> Register:
    """Return the register of a hub, creating it if necessary."""
    shared: Mapping[str, Any] = hub.shared
    found = shared.get(_LABEL)
    if found is None:
        found = hub.shared[_LABEL] = Register(hub)
    assert isinstance(found, Register)
    return found
