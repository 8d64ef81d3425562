"""Sessions as the broker knows them, attached or not, and the register of all of them (0-10 class 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ....amqp_0_10.model.dtx import Branches
from ...model.commands import ChangeWindows, CloseOwner, SetWindow
from ...model.consumer import Window
from ...model.entry import State
from ...model.timers import Alarm
from .files import Desk
from .transaction_work import Book, Work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....amqp_0_10.codec.record import Struct
    from ....amqp_0_10.codec.records import Xid
    from ....amqp_0_10.endpoint.session import Session
    from ....amqp_0_10.model.session_state import SessionState
    from ...hub import Hub
    from ...model.consumer import Consumer
    from ...model.entry import Entry
    from ...model.owner import Owner
    from .content_classes import TransferMeasure
    from .frontend import ZeroTenFrontend

Key: TypeAlias = tuple[str, str, bytes]
"""Virtual host, user and name: the same name of another user is another session."""

MOST_KEPT: Final = 10_000
"""Detached sessions that are kept; when there are more, the one that would end first does."""
_LABEL: Final = "0-10"
_FEW: Final = 64


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
    """One session: what it has in the model, and where it's attached.

    `front` and `core` are the connection and the engine's session that it is attached to, `state` is what the engine
    knew when it was detached. `gate` lets deliveries through while it's attached and the engine takes them.

    `delivered` are the messages that wait to be accepted, rejected or released, by their command ids, `seen` those that
    weren't acquired, and may be. `taken` are the publishes that are to be accepted, `late` the commands that were
    executed when nobody could be told any more, with their results.
    """

    __slots__ = (
        "core", "decisions", "delivered", "desk", "flushing", "front", "gate", "is_held", "is_over", "key", "late",
        "most_seen", "owner", "refused", "seen", "state", "subscriptions", "taken", "users", "was_held", "work",
    )  # fmt: skip

    def __init__(self, key: Key, owner: Owner) -> None:
        self.key = key
        self.owner = owner
        self.front: ZeroTenFrontend | None = None
        self.core: Session | None = None
        self.state: SessionState | None = None
        self.gate = Window(0)
        self.subscriptions: dict[tuple[str, str], Subscription] = {}
        """By kind and name."""
        self.users: dict[int, Subscription] = {}
        """The same by the numbers of their consumers in the model."""
        self.delivered: dict[int, Entry] = {}
        self.seen: dict[int, Entry] = {}
        self.most_seen = _FEW
        self.flushing: dict[int, str] = {}
        """The message.flush commands that aren't done: their clients have a lot to read first."""
        self.taken: list[int] = []
        self.late: dict[int, Struct | None] = {}
        self.refused: dict[int, tuple[int, str]] = {}
        """Publishes that couldn't be rejected for the same reason: code and text."""
        self.work: Work | None = None
        """The standard transaction (tx.select)."""
        self.decisions: list[tuple[Xid, bool]] = []
        """Branches that ended while it was detached, and whether they were committed."""
        self.desk = Desk()
        self.is_held = self.was_held = self.is_over = False

    def is_local(self, publisher: int) -> bool:
        """Whether a message was published by its connection: by it or another session there."""
        front = self.front
        return publisher == self.owner.number or (front is not None and publisher in front.owned)

    def windows(self, window: Window) -> tuple[Window, ...]:
        """All that has to have room for a delivery."""
        front = self.front
        return (window, self.gate) if front is None else (window, self.gate, front.gate)

    def see(self, number: int, entry: Entry) -> None:
        """A message was shown. Now and then those are forgotten that aren't there any more."""
        self.seen[number] = entry
        if len(self.seen) > self.most_seen:
            self.seen = {each: one for each, one in self.seen.items() if one.state is not State.ARCHIVED}
            self.most_seen = 2 * len(self.seen) + _FEW

    def add(self, subscription: Subscription) -> None:
        """A subscription begins."""
        self.subscriptions[subscription.kind, subscription.name] = subscription
        self.users[subscription.consumer.number] = subscription

    def remove(self, kind: str, name: str) -> Subscription | None:
        """It ends."""
        found = self.subscriptions.pop((kind, name), None)
        if found is not None:
            del self.users[found.consumer.number]
        return found

    def __repr__(self) -> str:
        where = "detached" if self.front is None else f"on connection {self.front.number}"
        return f"<Session {self.key[2]!r} of {self.key[1]!r}, {where}>"


class Register:
    """All sessions of a hub by their keys, those that wait to be resumed with their deadlines, and the transaction
    branches of each virtual host."""

    __slots__ = ("_deadlines", "books", "hub", "known")

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.known: dict[Key, ServedSession] = {}
        self.books: dict[str, Book] = {}
        self._deadlines: dict[Key, float | None] = {}

    # Sessions.

    def attach(self, session: ServedSession, front: ZeroTenFrontend, core: Session) -> None:
        """A session is attached to a connection: what it gets counts there."""
        self._deadlines.pop(session.key, None)
        self._watch_sessions()
        session.front, session.core, session.state = front, core, None
        front.attached[core.channel] = session
        front.owned[session.owner.number] = session
        self.hub.own(session.owner, front)
        self._change_windows(session)

    def detach(self, session: ServedSession, state: SessionState | None) -> None:
        """It isn't any more. With a `state` it is kept for its timeout, else it is over."""
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
        """A session is over, attached or not: what it has in the model goes."""
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
        """End the sessions that nobody has resumed in time."""
        now = self.hub.now
        for key in [key for key, each in self._deadlines.items() if each is not None and each <= now]:
            self.end(self.known[key])
        self._watch_sessions()

    def _leave(self, session: ServedSession) -> None:
        """Nothing can be sent on it any more."""
        front, core = session.front, session.core
        if front is None or core is None:
            return
        self.hub.apply(SetWindow(session.gate, 0))
        if front.attached.get(core.channel) is session:
            del front.attached[core.channel]
        front.owned.pop(session.owner.number, None)
        front.full.pop(session.owner.number, None)
        front.held.pop(session.owner.number, None)
        # They come again when it's resumed.
        session.flushing.clear()
        session.desk.awaiting.clear()
        session.front = session.core = None
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
        """The branches of a virtual host."""
        found = self.books.get(vhost)
        if found is None:
            found = self.books[vhost] = Book(vhost, Branches())
        return found

    def decide(self, book: Book) -> None:
        """Do with the work of branches what their ends ask for, and tell the sessions that took part."""
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
    """Rings when the first of the kept sessions ends."""

    __slots__ = ()

    def ring(self, hub: Hub) -> None:
        """End those whose time is over."""
        register_of(hub).expire()


class BranchAlarm(Alarm):
    """Rings when a transaction branch's time is over."""

    __slots__ = ("vhost",)

    def __init__(self, vhost: str) -> None:
        self.vhost = vhost

    def ring(self, hub: Hub) -> None:
        """Time out the branches whose time is over."""
        register = register_of(hub)
        book = register.book(self.vhost)
        book.branches.handle_timeout(hub.now)
        register.decide(book)


def register_of(hub: Hub) -> Register:
    """The register of a hub."""
    shared: Mapping[str, Any] = hub.shared
    found = shared.get(_LABEL)
    if found is None:
        found = hub.shared[_LABEL] = Register(hub)
    assert isinstance(found, Register)
    return found
