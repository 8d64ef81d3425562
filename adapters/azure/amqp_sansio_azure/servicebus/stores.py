"""Stores: the messages of a queue, a subscription or a sub-queue, with their locks, sessions and times.

A store knows no AMQP: whoever takes messages is a `Taker`. Time is the broker's, by the `Service` that it belongs to.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from amqp_sansio.amqp_1_0.codec.conditions import MESSAGE_SIZE_EXCEEDED, NOT_ALLOWED, RESOURCE_LIMIT_EXCEEDED

from ..conditions import (
    ARGUMENT_ERROR,
    ENTITY_DISABLED,
    MESSAGE_LOCK_LOST,
    MESSAGE_NOT_FOUND,
    SESSION_CANNOT_BE_LOCKED,
    SESSION_LOCK_LOST,
)
from ..timers import Due
from .messages import ACTIVE, DEFERRED, SCHEDULED, Arrival, Lock, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from amqp_sansio.broker.nodes import Refusal

    from ..timers import Timers

REASON: Final = "DeadLetterReason"
DESCRIPTION: Final = "DeadLetterErrorDescription"
_NO_CHANGES: Final[dict[Any, Any]] = {}
_HOPS: Final = 4
"""Times that a message is forwarded."""
_ID: Final = 128
"""Characters of a message-id, session-id and partition key."""


class Options(NamedTuple):
    """The properties of a queue or subscription. Times are in seconds, sizes in octets.

    `duplicate_window` 0: duplicates are taken. `default_ttl` None: messages live for good. `status` is Active,
    Disabled, SendDisabled or ReceiveDisabled.
    """

    lock_duration: float = 60.0
    max_delivery_count: int = 10
    default_ttl: float | None = None
    dead_letters_expired: bool = False
    dead_letters_filter_errors: bool = True
    requires_session: bool = False
    duplicate_window: float = 0.0
    forward_to: str = ""
    forward_dead_letters_to: str = ""
    max_octets: int = 1 << 30
    max_message_size: int = 262_144
    status: str = "Active"


class Service(Protocol):
    """The part of a namespace that stores use."""

    timers: Timers

    @property
    def now(self) -> float: ...

    @property
    def unix_time(self) -> float: ...

    def new_token(self) -> bytes: ...

    def refusal(self, condition: str, text: str, path: str = "") -> Refusal: ...

    def forward(self, path: str, arrival: Arrival, origin: int, hops: int) -> bool:
        """Put a message into another entity; return whether it took it."""
        ...


class Taker(Protocol):
    """Who receives from a store: `settles` at once, or under locks. `session` is the session that it holds."""

    settles: bool
    session: Session | None

    @property
    def credit(self) -> int: ...

    def take(self, message: Stored) -> bool:
        """Take a message, locked unless it `settles`; return False if it can't be sent."""
        ...

    def granted(self, session: Session) -> None:
        """The session that it waited for is its own now."""
        ...

    def session_lost(self, session: Session) -> None:
        """The lock of its session has expired."""
        ...

    def gone(self) -> None:
        """The entity is deleted."""
        ...


class Session:
    """A session: its state, its messages that are ready, and who holds it until when (Unix seconds)."""

    __slots__ = ("count", "holder", "id", "locked", "ready", "state", "until", "updated")

    def __init__(self, id: str) -> None:
        self.id = id
        self.state: bytes | None = None
        self.updated = 0.0
        """When its state was set."""
        self.ready: list[int] = []
        self.locked: dict[int, Stored] = {}
        """Its locked messages, by number."""
        self.count = 0
        """Messages that it has, in any state."""
        self.holder: Taker | None = None
        self.until = 0.0


class Store:
    """Messages by sequence number. `dead_letters` is the store for dead ones; None: this is one."""

    def __init__(self, service: Service, path: str, options: Options, dead_letters: Store | None = None) -> None:
        self.service = service
        self.path = path
        self.options = options
        self.dead_letters = dead_letters
        self.messages: dict[int, Stored] = {}
        self.sessions: dict[str, Session] = {}
        self.octets = 0
        self.sequence = 0
        """The last number given."""
        self._ready: list[int] = []
        self._locked: dict[bytes, Stored] = {}
        self._bound: set[bytes] = set()
        """The tokens of locks whose messages a transaction decides on."""
        self._takers: list[Taker] = []
        self._seekers: list[Taker] = []
        """Those who wait for any session."""
        self._ids: dict[Any, float] = {}
        """Message-ids, and when each may come again."""
        self._is_pumping = False

    # Figures.

    def count(self, state: int) -> int:
        """Return how many messages are in a state."""
        return sum([each.state == state for each in self.messages.values()])

    @property
    def locked(self) -> int:
        """How many messages are locked."""
        return len(self._locked)

    @property
    def takers(self) -> int:
        """How many receive or wait for a session."""
        return (
            len(self._takers) + len(self._seekers) + sum([each.holder is not None for each in self.sessions.values()])
        )

    # Messages in.

    def check(self, arrivals: Iterable[Arrival]) -> None:
        """Raise Refusal unless the store may take these messages."""
        options = self.options
        if options.status in ("Disabled", "SendDisabled"):
            raise self.service.refusal(ENTITY_DISABLED, "The messaging entity is currently disabled.", self.path)
        size = 0
        for each in arrivals:
            size += each.octets
            if len(each.rest) > options.max_message_size:
                text = f"The message of {len(each.rest)} octets exceeds the limit of {options.max_message_size} octets."
                raise self.service.refusal(MESSAGE_SIZE_EXCEEDED, text, self.path)
            if options.requires_session and each.session_id is None:
                text = (
                    "The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have "
                )
                text += (
                    "session support enabled can only receive messages that have the SessionId set to a valid value."
                )
                raise self.service.refusal(NOT_ALLOWED, text, self.path)
            for value in (each.message_id, each.session_id):
                if isinstance(value, str) and len(value) > _ID:
                    raise self.service.refusal(NOT_ALLOWED, f"an id has more than {_ID} characters", self.path)
        if self.octets + size > options.max_octets:
            text = f"The maximum entity size has been reached or exceeded. Size: {self.octets} octets."
            raise self.service.refusal(RESOURCE_LIMIT_EXCEEDED, text, self.path)

    def put(self, arrival: Arrival, *, origin: int = 0, hops: int = 0) -> int:
        """Take a message that was checked; return its sequence number, 0 for one that isn't kept."""
        if self._is_duplicate(arrival):
            return 0
        if arrival.scheduled is not None and arrival.scheduled > self.service.unix_time:
            return self._schedule(self._new(arrival, origin), arrival.scheduled)
        return self.arrive(arrival, origin=origin, hops=hops)

    def schedule(self, arrival: Arrival, when: float, number: int) -> None:
        """Take a message for a Unix time, under a number that was reserved."""
        stored = self._new(arrival, 0, number)
        if when > self.service.unix_time:
            self._schedule(stored, when)
        else:
            self.arrive(arrival, origin=0, hops=0)

    def arrive(self, arrival: Arrival, *, origin: int, hops: int) -> int:
        """Take a message whose time has come; return its number, 0 for one that isn't kept."""
        options = self.options
        if options.forward_to:
            if hops < _HOPS and self.service.forward(options.forward_to, arrival, origin, hops + 1):
                return 0
            stored = self._new(arrival, origin)
            reason = "MaxTransferHopCountExceeded" if hops >= _HOPS else "ForwardingFailed"
            self._bury(stored, reason, f"the message can't be forwarded to {options.forward_to!r}")
            return stored.number
        stored = self._new(arrival, origin)
        self._enter(stored)
        self.pump()
        return stored.number

    def bury_new(self, arrival: Arrival, reason: str, description: str) -> None:
        """Put a message that never was in the store into its dead letters."""
        self._bury(self._new(arrival, 0), reason, description)

    def reserve(self) -> int:
        """Return the next sequence number."""
        self.sequence += 1
        return self.sequence

    def put_dead(self, stored: Stored, source: str) -> None:
        """Take a dead message of another store, with its number."""
        self.sequence = max(self.sequence, stored.number)
        if stored.number in self.messages:
            stored.number = self.reserve()
        stored.source = source
        stored.expires = None
        stored.state = ACTIVE
        self._keep(stored)
        self._make_ready(stored)
        self.pump()

    def update(self, options: Options) -> None:
        """Take other options, for what comes from now on: messages keep their time to live, and locks their end.

        Raises Refusal for what an entity has for good.
        """
        fixed = (
            ("RequiresSession", self.options.requires_session, options.requires_session),
            ("RequiresDuplicateDetection", bool(self.options.duplicate_window), bool(options.duplicate_window)),
        )
        for name, was, wanted in fixed:
            if was != wanted:
                raise self.service.refusal(ARGUMENT_ERROR, f"{name} can't be changed, it is {was}.", self.path)
        self.options = options

    # Takers.

    def check_receiving(self) -> None:
        """Raise Refusal unless messages may be received."""
        if self.options.status in ("Disabled", "ReceiveDisabled"):
            raise self.service.refusal(ENTITY_DISABLED, "The messaging entity is currently disabled.", self.path)
        if self.options.forward_to:
            text = "a receiver can't be opened on an entity that forwards its messages"
            raise self.service.refusal(NOT_ALLOWED, text, self.path)

    def add(self, taker: Taker) -> None:
        """Begin to give messages to a taker without a session. Raises Refusal."""
        self.check_receiving()
        if self.options.requires_session:
            text = (
                "It is not possible for an entity that requires sessions to create a non-sessionful message receiver."
            )
            raise self.service.refusal(NOT_ALLOWED, text, self.path)
        self._takers.append(taker)

    def remove(self, taker: Taker) -> None:
        """Give a taker nothing more. Its messages stay locked, unless it had a session, which is given back."""
        for takers in (self._takers, self._seekers):
            if taker in takers:
                takers.remove(taker)
        session = taker.session
        if session is not None and session.holder is taker:
            self._give_back(session, counts=False)

    def accept_session(self, taker: Taker, id: str) -> Session:
        """Give a session to a taker. Raises Refusal if another one holds it."""
        self._check_sessions()
        session = self.sessions.get(id)
        if session is not None and session.holder is not None:
            text = f"The requested session '{id[:60]}' cannot be accepted. It may be locked by another receiver."
            raise self.service.refusal(SESSION_CANNOT_BE_LOCKED, text, self.path)
        if session is None:
            session = self.sessions[id] = Session(id)
        self._grant(session, taker)
        return session

    def seek_session(self, taker: Taker) -> Session | None:
        """Give the next free session with messages to a taker; None: it waits for `granted`. Raises Refusal."""
        self._check_sessions()
        for session in self.sessions.values():
            if session.holder is None and self._first(session.ready) is not None:
                self._grant(session, taker)
                return session
        self._seekers.append(taker)
        return None

    def pump(self, first: Taker | None = None) -> None:
        """Give out what is ready, to `first` before others, as far as the takers have credit."""
        if first is not None and first.session is not None:
            self._pump_session(first.session)
            return
        if self._is_pumping:
            return
        self._is_pumping = True
        unable: list[Taker] = []
        try:
            while (message := self._first(self._ready)) is not None:
                taker = self._next_taker(first, unable)
                if taker is None:
                    return
                heapq.heappop(self._ready)
                if not self._hand(message, taker):
                    # It is too large for this one, and may not be for another.
                    heapq.heappush(self._ready, message.number)
                    unable.append(taker)
        finally:
            self._is_pumping = False

    # Locks.

    def held(self, token: bytes) -> Stored:
        """Return the message of a lock. Raises Refusal (message-lock-lost)."""
        found = self._locked.get(token)
        if found is None:
            text = (
                "The lock supplied is invalid. Either the lock expired, or the message has already been removed from "
                "the queue."
            )
            raise self.service.refusal(MESSAGE_LOCK_LOST, text, self.path)
        return found

    def bind(self, tokens: Iterable[bytes]) -> None:
        """A transaction decides what becomes of the messages of these locks, until `unbind`. Raises Refusal, also where
        another step of a transaction does."""
        bound: set[bytes] = set()
        for token in tokens:
            self.held(token)
            if token in self._bound or token in bound:
                text = "The outcome of the message is decided by a transaction already."
                raise self.service.refusal(NOT_ALLOWED, text, self.path)
            bound.add(token)
        self._bound |= bound

    def unbind(self, tokens: Iterable[bytes]) -> None:
        """The transaction has ended."""
        self._bound.difference_update(tokens)

    def complete(self, token: bytes) -> None:
        """Remove a message for good. Raises Refusal."""
        self._drop(self.held(token))

    def abandon(self, token: bytes, changes: Mapping[Any, Any] = _NO_CHANGES, *, counts: bool = True) -> None:
        """Make a message available again, with one more failed delivery if that `counts`. Raises Refusal."""
        stored = self.held(token)
        stored.arrival.modify(changes)
        self._unlock(stored, counts=counts)
        self.pump()

    def defer(self, token: bytes, changes: Mapping[Any, Any] = _NO_CHANGES) -> None:
        """Put a message aside, for who asks for its number. Raises Refusal."""
        stored = self.held(token)
        stored.arrival.modify(changes)
        self._release(stored)
        stored.state = DEFERRED

    def dead_letter(
        self, token: bytes, reason: str, description: str, changes: Mapping[Any, Any] = _NO_CHANGES
    ) -> None:
        """Move a message to the dead letters. Raises Refusal."""
        stored = self.held(token)
        stored.arrival.modify(changes)
        if self.dead_letters is None:
            text = "a message of a dead-letter queue can't be dead-lettered"
            raise self.service.refusal(NOT_ALLOWED, text, self.path)
        self._bury(stored, reason, description)

    def renew(self, token: bytes) -> float:
        """Begin the time of a lock anew; return its end in Unix seconds. Raises Refusal."""
        stored = self.held(token)
        assert stored.lock is not None
        self._set_lock(stored, stored.lock.token)
        return stored.lock.until

    # Sessions.

    def held_session(self, id: str) -> Session:
        """Return a session that is held. Raises Refusal (session-lock-lost)."""
        session = self.sessions.get(id)
        if session is None or session.holder is None:
            text = f"The session lock has expired on the session '{id[:60]}'. Accept a new session."
            raise self.service.refusal(SESSION_LOCK_LOST, text, self.path)
        return session

    def renew_session(self, id: str) -> float:
        """Begin the time of a session's lock anew; return its end in Unix seconds. Raises Refusal."""
        session = self.held_session(id)
        self._lock_session(session)
        return session.until

    def set_state(self, id: str, state: bytes | None) -> None:
        """Set the state of a session that is held. Raises Refusal."""
        session = self.held_session(id)
        session.state = state
        session.updated = self.service.unix_time

    def session_ids(self, since: float | None) -> list[str]:
        """Return the sessions whose state was set since a Unix time; None: those with messages or a state."""
        if since is None:
            return [each.id for each in self.sessions.values() if each.count or each.state is not None]
        return [each.id for each in self.sessions.values() if each.updated >= since and each.state is not None]

    # By number.

    def peek(self, start: int, count: int, session: str | None = None) -> list[Stored]:
        """Return messages in any state, from a number on."""
        wanted = [
            each
            for each in self.messages.values()
            if each.number >= start and (session is None or each.arrival.session_id == session)
        ]
        return heapq.nsmallest(count, wanted, key=_number_of)

    def receive_deferred(self, numbers: Iterable[int], *, locks: bool, session: str | None = None) -> list[Stored]:
        """Take deferred messages by their numbers, under locks or for good. Raises Refusal if one isn't there."""
        found: list[Stored] = []
        for number in numbers:
            each = self.messages.get(number)
            is_there = each is not None and each.state == DEFERRED and each.lock is None
            if each is None or not is_there or (session is not None and each.arrival.session_id != session):
                text = f"the message with sequence number {number} isn't deferred here"
                raise self.service.refusal(MESSAGE_NOT_FOUND, text, self.path)
            found.append(each)
        for each in found:
            if locks:
                self._set_lock(each, self.service.new_token())
            else:
                self._drop(each)
        return found

    def cancel(self, numbers: Iterable[int]) -> None:
        """Remove scheduled messages. Raises Refusal if one isn't there."""
        found: list[Stored] = []
        for number in numbers:
            each = self.messages.get(number)
            if each is None or each.state != SCHEDULED:
                text = f"there is no scheduled message with sequence number {number}"
                raise self.service.refusal(MESSAGE_NOT_FOUND, text, self.path)
            found.append(each)
        for each in found:
            self._drop(each)

    def delete(self, count: int, before: float) -> int:
        """Remove up to `count` messages that came before a Unix time and aren't locked; return how many."""
        gone = [
            each
            for each in sorted(self.messages.values(), key=_number_of)
            if each.lock is None and each.state == ACTIVE and each.enqueued <= before
        ][:count]
        for each in gone:
            self._drop(each)
        return len(gone)

    def purge(self) -> int:
        """Remove every message; return how many there were."""
        gone = list(self.messages.values())
        for each in gone:
            self._drop(each)
        return len(gone)

    def close(self) -> None:
        """Forget everything, because the entity is deleted."""
        holders = [each.holder for each in self.sessions.values() if each.holder is not None]
        for taker in (*self._takers, *self._seekers, *holders):
            taker.gone()
        self.purge()
        for session in self.sessions.values():
            self.service.timers.clear(("session", self.path, session.id))
        self.sessions.clear()
        self._takers.clear()
        self._seekers.clear()

    # For timers.

    def lock_expired(self, number: int) -> None:
        """The lock of a message has expired."""
        stored = self.messages.get(number)
        if stored is not None and stored.lock is not None:
            self._unlock(stored, counts=True)
            self.pump()

    def session_expired(self, id: str) -> None:
        """The lock of a session has expired."""
        session = self.sessions.get(id)
        if session is not None and session.holder is not None:
            holder = session.holder
            self._give_back(session, counts=True)
            holder.session_lost(session)

    def message_expired(self, number: int) -> None:
        """A message has lived long enough; one that is locked stays until it is unlocked."""
        stored = self.messages.get(number)
        if stored is not None and stored.lock is None and stored.state != SCHEDULED:
            self._expire(stored)

    def scheduled_due(self, number: int) -> None:
        """A scheduled message enters the entity, as if it were sent now: with a new number."""
        stored = self.messages.get(number)
        if stored is None or stored.state != SCHEDULED:
            return
        self._drop(stored)
        stored.arrival.scheduled = None
        self.arrive(stored.arrival, origin=0, hops=0)

    # Internals: numbers and times.

    def _is_duplicate(self, arrival: Arrival) -> bool:
        window, ids, now = self.options.duplicate_window, self._ids, self.service.now
        if not window or arrival.message_id is None:
            return False
        while ids:
            # All stay for the same time, so the oldest comes first.
            oldest = next(iter(ids))
            if ids[oldest] > now:
                break
            del ids[oldest]
        if arrival.message_id in ids:
            return True
        ids[arrival.message_id] = now + window
        return False

    def _new(self, arrival: Arrival, origin: int, number: int = 0) -> Stored:
        """Give a message a number, the time, and its end."""
        now = self.service.unix_time
        lives = [each for each in (arrival.ttl, self.options.default_ttl) if each is not None]
        stored = Stored(arrival, number or self.reserve(), now, now + min(lives) if lives else None)
        if origin:
            stored.origin = origin
        return stored

    def _keep(self, stored: Stored) -> None:
        self.messages[stored.number] = stored
        self.octets += stored.arrival.octets
        if self.options.requires_session:
            self._session_of(stored).count += 1

    def _enter(self, stored: Stored) -> None:
        self._keep(stored)
        if stored.expires is not None:
            when = self.service.now + stored.expires - self.service.unix_time
            self.service.timers.set(("ttl", self.path, stored.number), when, MessageExpired(self, stored.number))
        self._make_ready(stored)

    def _schedule(self, stored: Stored, when: float) -> int:
        stored.state = SCHEDULED
        self._keep(stored)
        due = self.service.now + when - self.service.unix_time
        self.service.timers.set(("scheduled", self.path, stored.number), due, ScheduledDue(self, stored.number))
        return stored.number

    def _make_ready(self, stored: Stored) -> None:
        if not self.options.requires_session:
            heapq.heappush(self._ready, stored.number)
            return
        session = self._session_of(stored)
        heapq.heappush(session.ready, stored.number)
        if session.holder is not None:
            self._pump_session(session)
        elif self._seekers:
            taker = self._seekers.pop(0)
            self._grant(session, taker)
            taker.granted(session)

    def _first(self, ready: list[int]) -> Stored | None:
        """Return the first message that is ready; numbers of others are left out."""
        while ready:
            stored = self.messages.get(ready[0])
            if stored is not None and stored.state == ACTIVE and stored.lock is None:
                return stored
            heapq.heappop(ready)
        return None

    def _session_of(self, stored: Stored) -> Session:
        id = str(stored.arrival.session_id)
        found = self.sessions.get(id)
        if found is None:
            found = self.sessions[id] = Session(id)
        return found

    # Internals: giving out.

    def _next_taker(self, first: Taker | None, unable: list[Taker]) -> Taker | None:
        if first is not None and first in self._takers and first not in unable and first.credit:
            return first
        takers = self._takers
        for _ in range(len(takers)):
            taker = takers.pop(0)
            takers.append(taker)
            if taker not in unable and taker.credit:
                return taker
        return None

    def _hand(self, stored: Stored, taker: Taker) -> bool:
        if not taker.settles:
            self._set_lock(stored, self.service.new_token())
        if not taker.take(stored):
            if stored.lock is not None:
                self._release(stored)
            return False
        if taker.settles:
            self._drop(stored)
        return True

    def _pump_session(self, session: Session) -> None:
        holder = session.holder
        while holder is not None and holder.credit and (message := self._first(session.ready)) is not None:
            heapq.heappop(session.ready)
            if not self._hand(message, holder):
                heapq.heappush(session.ready, message.number)
                return

    # Internals: locks and ends.

    def _set_lock(self, stored: Stored, token: bytes) -> None:
        service, timers = self.service, self.service.timers
        if self.options.requires_session:
            # The lock of a session is that of its messages.
            session = self._session_of(stored)
            session.locked[stored.number] = stored
            until = session.until
        else:
            until = service.unix_time + self.options.lock_duration
            when = service.now + self.options.lock_duration
            timers.set(("lock", self.path, stored.number), when, LockExpired(self, stored.number))
        stored.lock = Lock(token, until)
        self._locked[token] = stored

    def _release(self, stored: Stored) -> None:
        """Take a message's lock away."""
        if stored.lock is not None:
            self._locked.pop(stored.lock.token, None)
            stored.lock = None
            if self.options.requires_session:
                self._session_of(stored).locked.pop(stored.number, None)
            else:
                self.service.timers.clear(("lock", self.path, stored.number))

    def _unlock(self, stored: Stored, *, counts: bool) -> None:
        """Make a message available again, or bury it."""
        self._release(stored)
        if counts:
            stored.delivery_count += 1
        if stored.expires is not None and stored.expires <= self.service.unix_time:
            self._expire(stored)
        elif counts and self.dead_letters is not None and stored.delivery_count >= self.options.max_delivery_count:
            text = f"Message could not be consumed after {stored.delivery_count} delivery attempts."
            self._bury(stored, "MaxDeliveryCountExceeded", text)
        elif stored.state == ACTIVE:
            self._make_ready(stored)

    def _drop(self, stored: Stored) -> None:
        """Remove a message."""
        self._release(stored)
        if self.messages.pop(stored.number, None) is None:
            return
        self.octets -= stored.arrival.octets
        timers = self.service.timers
        timers.clear(("ttl", self.path, stored.number))
        timers.clear(("scheduled", self.path, stored.number))
        if self.options.requires_session:
            session = self._session_of(stored)
            session.count -= 1
            self._forget_if_empty(session)

    def _expire(self, stored: Stored) -> None:
        if self.options.dead_letters_expired and self.dead_letters is not None:
            self._bury(stored, "TTLExpiredException", "The message expired and was dead lettered.")
        else:
            self._drop(stored)

    def _bury(self, stored: Stored, reason: str, description: str) -> None:
        """Move a message to the dead letters, or where they are forwarded to."""
        self._drop(stored)
        changes = {name: text for name, text in ((REASON, reason), (DESCRIPTION, description)) if text}
        stored.arrival.modify(changes)
        forward = self.options.forward_dead_letters_to
        if forward and self.service.forward(forward, stored.arrival, stored.number, 1):
            return
        if self.dead_letters is not None:
            self.dead_letters.put_dead(stored, self.path)

    # Internals: sessions.

    def _check_sessions(self) -> None:
        self.check_receiving()
        if not self.options.requires_session:
            text = "A receiver of sessions cannot be created on an entity that does not require sessions."
            raise self.service.refusal(NOT_ALLOWED, text, self.path)

    def _grant(self, session: Session, taker: Taker) -> None:
        session.holder = taker
        taker.session = session
        self._lock_session(session)

    def _lock_session(self, session: Session) -> None:
        service = self.service
        duration = self.options.lock_duration
        session.until = service.unix_time + duration
        service.timers.set(("session", self.path, session.id), service.now + duration, SessionExpired(self, session.id))
        for each in session.locked.values():
            if each.lock is not None:
                each.lock.until = session.until

    def _give_back(self, session: Session, *, counts: bool) -> None:
        """Free a session; its locked messages are available to the next holder."""
        holder, session.holder = session.holder, None
        if holder is not None:
            holder.session = None
        self.service.timers.clear(("session", self.path, session.id))
        for each in list(session.locked.values()):
            self._unlock(each, counts=counts)
        if session.holder is None and self._seekers and self._first(session.ready) is not None:
            taker = self._seekers.pop(0)
            self._grant(session, taker)
            taker.granted(session)
        self._forget_if_empty(session)

    def _forget_if_empty(self, session: Session) -> None:
        if not session.count and session.state is None and session.holder is None:
            self.sessions.pop(session.id, None)


class _OfMessage(Due):
    """What is due for a message."""

    __slots__ = ("number", "store")

    def __init__(self, store: Store, number: int) -> None:
        self.store = store
        self.number = number


class LockExpired(_OfMessage):
    """A lock ends."""

    __slots__ = ()

    def ring(self, now: float) -> None:
        self.store.lock_expired(self.number)


class MessageExpired(_OfMessage):
    """A message ends."""

    __slots__ = ()

    def ring(self, now: float) -> None:
        self.store.message_expired(self.number)


class ScheduledDue(_OfMessage):
    """A scheduled message is due."""

    __slots__ = ()

    def ring(self, now: float) -> None:
        self.store.scheduled_due(self.number)


class SessionExpired(Due):
    """The lock of a session ends."""

    __slots__ = ("id", "store")

    def __init__(self, store: Store, id: str) -> None:
        self.store = store
        self.id = id

    def ring(self, now: float) -> None:
        self.store.session_expired(self.id)


def _number_of(stored: Stored) -> int:
    return stored.number


__all__ = ["DESCRIPTION", "REASON", "Options", "Service", "Session", "Store", "Taker"]
