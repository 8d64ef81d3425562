"""The nodes of Service Bus: an entity that messages are sent to, and a store that they are received from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from amqp_sansio.amqp_1_0 import Accepted, Described, Error, Modified, Rejected, Released, Source, Symbol
from amqp_sansio.amqp_1_0.codec.conditions import NOT_ALLOWED, NOT_FOUND
from amqp_sansio.amqp_1_0.spec import ReceiverSettleMode, SenderSettleMode, ULong
from amqp_sansio.broker.nodes import ACCEPTED, Attachment, Node, Refusal, Step

from ..conditions import SESSION_LOCK_LOST, TIMEOUT
from ..requests import Host
from ..timers import Due
from ..tokens import LISTEN, SEND, path_of
from .messages import arrivals_of
from .stores import DESCRIPTION, REASON, Service

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from amqp_sansio.amqp_1_0 import Delivery, DeliveryState
    from amqp_sansio.broker.nodes import Peer

    from .messages import Arrival, Stored
    from .stores import Session, Store

SESSION: Final = Symbol("com.microsoft:session-filter")
LOCKED_UNTIL: Final = Symbol("com.microsoft:locked-until-utc")
VIA: Final = Symbol("com.microsoft:transfer-destination-address")
BATCH_SIZE: Final = Symbol("com.microsoft:max-message-batch-size")
WAIT: Final = Symbol("com.microsoft:timeout")
_TICKS: Final = 621_355_968_000_000_000
"""Ticks of .NET (100 ns) at the beginning of Unix time."""
_SECOND: Final = 10_000_000
_TAKER: Final = "taker"
_DESTINATION: Final = "destination"
_NO_INFO: Final[dict[Any, Any]] = {}
_NOTHING: Final = object()


class EntityHost(Host, Service, Protocol):
    """The part of the namespace that nodes use."""

    session_wait: float
    """Seconds that a link waits for the next session."""

    def require(self, peer: Peer, right: str, path: str) -> None: ...

    def store_for_sending(self, path: str) -> Store | None: ...

    def trackers(self, path: str = "") -> str: ...


class EntityNode(Node):
    """One entity, or a sub-queue: `store` has its messages."""

    # The SDKs for Java and .NET wait for an answer before they go on; the lock holds the message, not its delivery.
    settles_retired = True

    def __init__(self, host: EntityHost, store: Store, *, takes_messages: bool) -> None:
        self.host = host
        self.store = store
        self.takes_messages = takes_messages
        """Whether messages may be sent to it."""
        self.gives_messages = True

    # Links.

    def attach(self, link: Attachment) -> None:
        if link.is_sender:
            self._attach_receiver(link)
        else:
            self._attach_sender(link)

    def closed(self, link: Attachment) -> None:
        self.host.left(link)
        taker: LinkTaker | None = link.notes.pop(_TAKER, None)
        if taker is not None:
            self.host.timers.clear(taker.key)
            self.store.remove(taker)

    def _attach_sender(self, link: Attachment) -> None:
        host, path = self.host, self.store.path
        if not self.takes_messages:
            raise host.refusal(NOT_ALLOWED, "messages can't be sent to this entity", path)
        host.require(link.peer, SEND, path)
        properties = link.attach.properties or {}
        via: object = properties.get(VIA)
        store = self.store
        if via is not None:
            destination = path_of(str(via))
            host.require(link.peer, SEND, destination)
            found = host.store_for_sending(destination)
            if found is None:
                raise host.refusal(NOT_ALLOWED, f"there is no entity {destination!r} to send to via this one", path)
            store = found
        store.check(())
        link.notes[_DESTINATION] = store
        properties_told: dict[Any, Any] = {BATCH_SIZE: ULong(store.options.max_message_size)}
        if via is not None:
            properties_told[VIA] = via
        # The SDKs ask for mode second, and wait for ever unless the first answer settles.
        link.accept(
            rcv_settle_mode=ReceiverSettleMode.FIRST,
            max_message_size=store.options.max_message_size,
            properties=properties_told,
        )
        host.joined(link, path)

    def _attach_receiver(self, link: Attachment) -> None:
        host, store = self.host, self.store
        if not self.gives_messages:
            raise host.refusal(NOT_ALLOWED, "messages are received from a topic's subscriptions", store.path)
        host.require(link.peer, LISTEN, store.path)
        taker = LinkTaker(host, store, link)
        source: Any = link.attach.source
        wanted: Mapping[Any, Any] = (source.filter if isinstance(source, Source) else None) or {}
        session: object = _plain(wanted.get(SESSION, _NOTHING))
        link.notes[_TAKER] = taker
        if session is _NOTHING:
            store.add(taker)
            link.accept()
            host.joined(link, store.path)
        elif session is None:
            found = store.seek_session(taker)
            if found is not None:
                taker.granted(found)
            else:
                taker.wait()
        else:
            taker.granted(store.accept_session(taker, str(session)))

    # Messages in.

    def receive(self, link: Attachment, delivery: Delivery) -> DeliveryState:
        store: Store = link.notes[_DESTINATION]
        self.host.used(link)
        arrivals = self._checked(store, delivery)
        for each in arrivals:
            store.put(each)
        return ACCEPTED

    def post(self, link: Attachment, delivery: Delivery) -> tuple[DeliveryState, Step | None]:
        store: Store = link.notes[_DESTINATION]
        self.host.used(link)
        return ACCEPTED, SendStep(store, self._checked(store, delivery))

    def _checked(self, store: Store, delivery: Delivery) -> list[Arrival]:
        arrivals = arrivals_of(delivery.payload, delivery.message_format)
        store.check(arrivals)
        return arrivals

    # Messages out.

    def send(self, link: Attachment) -> None:
        taker: LinkTaker | None = link.notes.get(_TAKER)
        if taker is not None:
            self.store.pump(taker)

    def decide(self, link: Attachment, tags: tuple[bytes, ...], outcome: DeliveryState | None) -> DeliveryState | None:
        self.host.used(link)
        lost: list[bytes] = []
        text: Refusal | None = None
        for tag in tags:
            try:
                settle(self.store, tag, outcome)
            except Refusal as refusal:
                lost.append(tag)
                text = refusal
        if text is not None:
            if len(lost) == len(tags):
                raise text
            link.settle(lost, Rejected(Error(Symbol(text.condition), text.text[:240], _NO_INFO)))
        # The SDKs take an outcome with an error for one that couldn't be carried out.
        return Rejected() if isinstance(outcome, Rejected) else outcome

    def retire(self, link: Attachment, tags: tuple[bytes, ...], outcome: DeliveryState | None) -> Step | None:
        self.host.used(link)
        return SettleStep(self.store, tags, outcome).bound()


class LinkTaker:
    """A link that receives: its session is accepted with the attach, at once or when one is free."""

    __slots__ = ("host", "is_waiting", "link", "session", "settles", "store")

    def __init__(self, host: EntityHost, store: Store, link: Attachment) -> None:
        self.host = host
        self.store = store
        self.link = link
        self.settles = link.attach.snd_settle_mode == SenderSettleMode.SETTLED
        self.session: Session | None = None
        self.is_waiting = False

    @property
    def key(self) -> tuple[object, ...]:
        """The key of its timer."""
        return "seeks", self.link.peer.number, self.link.place

    @property
    def credit(self) -> int:
        """Messages that it takes now."""
        return self.link.credit

    def take(self, message: Stored) -> bool:
        """Send a message."""
        tag = None if message.lock is None else message.lock.token
        if self.link.send(message.payload(), delivery_tag=tag, settled=self.settles or None) is None:
            return False
        self.host.used(self.link)
        return True

    def granted(self, session: Session) -> None:
        """Answer the attach with the session."""
        link, source = self.link, self.link.attach.source
        assert isinstance(source, Source)
        self.is_waiting = False
        self.host.timers.clear(self.key)
        ticks = int(session.until * _SECOND) + _TICKS
        asked: object = (source.filter or {}).get(SESSION)
        # The client reads the form that it has written: Go's knows none but described filters, Python's none but plain.
        told = Described(asked.descriptor, session.id) if isinstance(asked, Described) else session.id
        filters: dict[Any, Any] = {SESSION: told}
        link.accept(source=source.replace(filter=filters), properties={LOCKED_UNTIL: ticks})
        self.host.joined(link, self.store.path)
        link.peer.touch()

    def wait(self) -> None:
        """Wait for a session, as long as the client says."""
        found: object = (self.link.attach.properties or {}).get(WAIT)
        seconds = found / 1000 if isinstance(found, int) else self.host.session_wait
        self.is_waiting = True
        self.host.joined(self.link, self.store.path)
        self.host.timers.set(self.key, self.host.now + seconds, NoSession(self))

    def give_up(self) -> None:
        """Refuse the attach: no session has come."""
        self.store.remove(self)
        text = f"The operation did not complete within the allotted timeout. {self.host.trackers(self.store.path)}"
        self.link.refuse(TIMEOUT, text)

    def session_lost(self, session: Session) -> None:
        """End the link: its session isn't its own any more."""
        text = f"The session lock has expired on the session '{session.id[:60]}'. Accept a new session."
        self.link.detach(SESSION_LOCK_LOST, f"{text} {self.host.trackers(self.store.path)}")

    def gone(self) -> None:
        """End the link: its entity is deleted."""
        text = f"The messaging entity '{self.store.path}' could not be found. {self.host.trackers(self.store.path)}"
        if self.is_waiting:
            self.host.timers.clear(self.key)
            self.link.refuse(NOT_FOUND, text)
        else:
            self.link.detach(NOT_FOUND, text)


class NoSession(Due):
    """A link has waited long enough for a session."""

    __slots__ = ("taker",)

    def __init__(self, taker: LinkTaker) -> None:
        self.taker = taker

    def ring(self, now: float) -> None:
        self.taker.give_up()


class SendStep(Step):
    """Messages of a transaction."""

    __slots__ = ("arrivals", "store")

    def __init__(self, store: Store, arrivals: Iterable[Arrival]) -> None:
        self.store = store
        self.arrivals = tuple(arrivals)

    def problem(self) -> str:
        try:
            self.store.check(self.arrivals)
        except Refusal as refusal:
            return refusal.text
        return ""

    def commit(self) -> None:
        for each in self.arrivals:
            self.store.put(each)


class SettleStep(Step):
    """Outcomes of a transaction."""

    __slots__ = ("outcome", "store", "tags")

    def __init__(self, store: Store, tags: tuple[bytes, ...], outcome: DeliveryState | None) -> None:
        self.store = store
        self.tags = tags
        self.outcome = outcome

    def problem(self) -> str:
        outcome = self.outcome
        try:
            for tag in self.tags:
                stored = self.store.held(tag)
                stored.arrival.copy().modify(_changes_of(outcome)[0])
        except Refusal as refusal:
            return refusal.text
        if isinstance(outcome, Rejected) and self.store.dead_letters is None:
            return "a message of a dead-letter queue can't be dead-lettered"
        return ""

    def bound(self) -> Self:
        """Return it, for a transaction: its locks are no other step's until that ends. Raises Refusal."""
        self.store.bind(self.tags)
        return self

    def commit(self) -> None:
        self.store.unbind(self.tags)
        for tag in self.tags:
            settle(self.store, tag, self.outcome)

    def roll_back(self) -> None:
        self.store.unbind(self.tags)


def settle(store: Store, token: bytes, outcome: DeliveryState | None) -> None:
    """Carry out a receiver's outcome. Raises Refusal."""
    if isinstance(outcome, Accepted):
        store.complete(token)
    elif isinstance(outcome, Modified):
        changes = _changes_of(outcome)[0]
        if outcome.undeliverable_here:
            store.defer(token, changes)
        else:
            store.abandon(token, changes, counts=outcome.delivery_failed is not False)
    elif isinstance(outcome, Rejected):
        told, reason, description = _changes_of(outcome)
        store.dead_letter(token, reason, description, told)
    else:
        # Released, or settled without an outcome: nobody has used it.
        assert outcome is None or isinstance(outcome, Released)
        store.abandon(token, counts=False)


def _plain(value: object) -> object:
    """Return what a filter says, without its descriptor."""
    return value.value if isinstance(value, Described) else value


def _changes_of(outcome: DeliveryState | None) -> tuple[Mapping[Any, Any], str, str]:
    """Return the properties that an outcome changes, and why it makes a dead letter."""
    if isinstance(outcome, Modified):
        return outcome.message_annotations or {}, "", ""
    if not isinstance(outcome, Rejected):
        return {}, "", ""
    error = outcome.error
    info: Mapping[Any, Any] = {} if error is None or error.info is None else error.info
    told = {str(key): value for key, value in info.items()}
    reason = str(told.pop(REASON, "") or "")
    description = str(told.pop(DESCRIPTION, "") or ("" if error is None else error.description or ""))
    return told, reason, description


__all__ = ["EntityHost", "EntityNode", "LinkTaker", "SendStep", "SettleStep", "settle"]
