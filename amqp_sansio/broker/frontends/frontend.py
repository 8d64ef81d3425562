"""Frontend: one client's connection, between the engine of its version and the model; what it may use of its hub.

Between the hub's turns, as `Frontend.check` of each version says: a front end has each of its owners in the model, and
what these hold is what it has told its client of, or is about to; the windows of the model have what the client's
credit or prefetch leaves; its consumers are those of the model; and the engine's books are right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Protocol

from ..._ground.invariants import ensure
from ...events import PAUSED
from ..model.consumer import Window

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from ..._core.send_buffer import SendBuffer
    from ...endpoint import CloseHint, Endpoint
    from ...events import Event, Signal
    from ..counting import Counts
    from ..model.broker import Broker
    from ..model.commands import Command
    from ..model.consumer import Consumer
    from ..model.content import Content
    from ..model.effects import Effect
    from ..model.entry import Entry
    from ..model.owner import Owner
    from ..nodes import Namespace
    from ..settings import Settings


REQUEST_STEPS: Final = 20
"""Steps of `BrokerLimits.turn` that a request and its reply count for, beside what the request causes."""


class Unfinished(Protocol):
    """A client that has events left for a later turn."""

    number: int

    def next_event(self) -> Signal: ...


class HubContext(Protocol):
    """The part of `Hub` that clients and front ends use; see there."""

    settings: Settings
    model: Broker
    now: float
    fronts: dict[int, Frontend]
    is_blocked: str
    is_closing: bool
    counts: Counts
    shared: dict[str, Any]
    namespace: Namespace | None

    @property
    def is_dirty(self) -> bool: ...

    def apply(self, command: Command) -> Any: ...

    def own(self, owner: Owner, front: Frontend | None) -> None: ...

    def disown(self, owner: Owner) -> None: ...

    def set_alarm(self, key: Hashable, deadline: float, alarm: Alarm) -> None: ...

    def clear_alarm(self, key: Hashable) -> None: ...

    def touch(self, number: int) -> None: ...

    def put_off(self, client: Unfinished) -> None: ...

    def settle(self) -> None: ...

    def forget(self, number: int) -> None: ...

    def not_sent(self, consumer: Consumer, entry: Entry, why: str) -> None: ...
    def warn(self, key: Hashable, text: str) -> None: ...
    def not_read(self, owner: Owner, exchange: str, routing_key: str, content: Content, why: str) -> None: ...


class ClientContext(Protocol):
    """The part of `Client` that a front end uses; see there."""

    is_secure: bool
    peer_name: str

    @property
    def close_hint(self) -> CloseHint: ...

    def connection_lost(self, reason: str, now: float) -> None: ...


class Alarm(ABC):
    """Work of a front end to be done at a given time (`Hub.set_alarm`); a value that pickles."""

    __slots__ = ()

    @abstractmethod
    def ring(self, hub: HubContext) -> None:
        """Do the work; `hub.now` is the time. Effects are performed afterwards."""


class Lasting(ABC):
    """State that front ends of one version keep between connections, in `HubContext.shared`, if it has owners."""

    __slots__ = ()

    @abstractmethod
    def owners(self) -> Iterable[Owner]:
        """Return the owners in the model that it has."""

    @abstractmethod
    def check(self) -> None:
        """Check its invariants between turns. For tests; raises AssertionError."""


class Frontend(ABC):
    """The interface of each version's front end, called by `Hub` and `Client`.

    `connection` is the engine's server end. `gate` is a window shared by every consumer of the connection: it limits
    the octets that a client may leave unread, and `Client` refills it when the client has read. `publishes`: the client
    has published, so it is held while the broker is full. `is_held_up`: the client's events wait until it has read
    more; `is_put_off`: until the hub's next turn, because this turn's budget is spent, or until what its last command
    has left is done.
    """

    __slots__ = (
        "_high",
        "_waiting",
        "again",
        "connection",
        "gate",
        "hub",
        "is_held_up",
        "is_put_off",
        "ledger",
        "number",
        "publishes",
    )

    connection: Any

    def __init__(self, hub: HubContext, number: int, connection: Endpoint) -> None:
        self.hub = hub
        self.number = number
        self.connection = connection
        self._waiting: SendBuffer = self.connection.send_buffer
        """The octets that wait to be sent to the client."""
        self._high = hub.settings.limits.backlog_high
        """Octets of these, and of deliveries that `gate` lets through, up to which the client isn't behind."""
        self.gate = Window(octets=self._high, overdraws=True)
        self.publishes = False
        self.is_held_up = False
        self.is_put_off = False
        self.again: Event | Signal | None = None
        """The event whose command was postponed (`Postponed`)."""
        self.ledger = hub.model.ledger

    @property
    def is_behind(self) -> bool:
        """Whether the client has left more than `backlog_high` of answers, returns and confirms unread, beside the
        deliveries within `gate`."""
        backlog, high = self._waiting.size, self._high
        if backlog <= high:
            # `gate` never has more than that: most clients are far from being behind.
            return False
        room = self.gate.octets
        allowed = 2 * high - (high if room is None else room)
        return backlog > allowed and not self.connection.is_ending

    def next_event(self) -> Event | Signal:
        """Return the engine's next event; none for a client that is behind, or whose turn is over."""
        # `is_behind` costs a call, for each event: below the mark it says no.
        if self._waiting.size > self._high and self.is_behind:
            self.is_held_up = True
            return PAUSED
        self.is_held_up = False
        if self.ledger.room <= 0:
            self.is_put_off = True
            return PAUSED
        if self.again is not None:
            again, self.again = self.again, None
            return again
        event: Event | Signal = self.connection.next_event()
        return event

    def postpone(self, event: Event | Signal) -> None:
        """Handle an event once more in a later turn: its command has changed nothing."""
        self.again = event
        self.is_put_off = True

    @property
    def must_wait(self) -> bool:
        """Whether commands of this client have left work, so that it isn't known yet what comes of them."""
        return self.ledger.actor in self.ledger.busy

    @abstractmethod
    def take_events(self) -> None:
        """Take the engine's events until there are none, and carry each out.

        Calls `hub.settle()` after every event, so a reply is queued before the effects that must follow it.
        """

    @abstractmethod
    def perform(self, effect: Effect) -> None:
        """Carry out an effect on one of this front's consumers or entries: send a delivery, a cancel."""

    @abstractmethod
    def block(self, reason: str) -> None:
        """Tell the client that the broker is full, if its version can express that."""

    @abstractmethod
    def unblock(self) -> None:
        """Tell the client that the broker has room again."""

    @abstractmethod
    def caught_up(self) -> None:
        """Continue after the client has read: `gate` is open again, and the model's deliveries for it are made."""

    @abstractmethod
    def node_deleted(self, kind: str, name: str) -> None:
        """Handle the deletion of a queue or exchange of its virtual host."""

    @abstractmethod
    def shut_down(self, text: str) -> None:
        """Close the connection because the broker ends (320, amqp:connection:forced)."""

    @abstractmethod
    def describe(self) -> tuple[str, str]:
        """Return the user and virtual host, "" before they are known."""

    @abstractmethod
    def owners(self) -> Iterable[Owner]:
        """Return the owners in the model that this connection has, without those that may outlive it."""

    def check(self) -> None:
        """Check the module's invariants between turns, and the engine's. For tests; raises AssertionError."""
        for number, consumer in self.gate.consumers.items():
            known = consumer.owner.consumers.get(number) is consumer
            ensure(known, self, "`gate` counts for consumers that there are", number)
        room = self.gate.octets
        ensure(room is not None and room <= self._high, self, "`backlog_high` bounds what `gate` lets through", room)
        self.connection.check()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of client {self.number}>"
